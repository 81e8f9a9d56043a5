//! What is not known of the time and the metrics of a workload, and what to do about it. That
//! depends on where a machine is: the CloudWatch agent is for AWS.

use crate::domain::{
    ApiUsage, Cause, CauseKind, EstateSource, Gap, GapSubject, InstanceUsage, Metric, Outage,
    POINT_REJECTIONS, Policy, Provider, Rejected, Samples, UtilizationSummary,
};
use jiff::Timestamp;

const HELM: &str = "`gpucost setup metrics --prometheus` prints the Helm values of its exporters";

/// Who was asked for metrics.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueriedSources {
    prometheus: bool,
    /// Nodes of AWS may be read without AWS.
    aws: bool,
}

impl QueriedSources {
    pub(super) fn of(api: &ApiUsage, source: EstateSource) -> Self {
        let mut operations = api.by_operation.keys();
        Self {
            prometheus: operations.any(|operation| operation.starts_with("prometheus:")),
            aws: source != EstateSource::Kubernetes,
        }
    }
}

/// Names what helps a machine of a provider, where that is another thing than what a
/// cause says of all machines.
pub(super) fn advise(gap: &mut Gap, provider: Provider, asked: QueriedSources) {
    let Some(cause) = &gap.cause else { return };
    let is_of_aws = provider == Provider::Aws;
    let advice = match (cause.kind(), is_of_aws && asked.aws) {
        (CauseKind::RunningTimeAssumed, false) if is_of_aws => {
            "read the AWS account of the nodes too, with `--with-aws`".to_owned()
        }
        (kind, false) if is_of_gpu_metrics(kind) && asked.prometheus => {
            format!("have the Prometheus server scrape this machine too; {HELM}")
        }
        (kind, false) if is_of_gpu_metrics(kind) => {
            format!("read GPU metrics of a Prometheus server with `--prometheus-url`; {HELM}")
        }
        (kind, true) if is_of_gpu_metrics(kind) && asked.prometheus => {
            format!("{}; or have the Prometheus server scrape this machine too", gap.hint)
        }
        (CauseKind::RunningTimeAssumed, false) => {
            "add its `cpu_utilization` series to an estate file".to_owned()
        }
        _ => return,
    };
    gap.hint = advice;
}

/// Whether a cause is that GPU metrics are missing.
fn is_of_gpu_metrics(kind: CauseKind) -> bool {
    matches!(
        kind,
        CauseKind::NoVerdict
            | CauseKind::NotReported
            | CauseKind::NotMeasured
            | CauseKind::OnlyPower
            | CauseKind::GpuMetricsPartial
    )
}

/// Notes the facts of instances on which no action may rest, up to the end of a window. What a
/// verdict cannot rest on is the reason of that verdict.
pub(super) fn outage_gaps(
    (id, usage): (&str, &[InstanceUsage]),
    utilization: Option<&UtilizationSummary>,
    (policy, end): (&Policy, Timestamp),
    gaps: &mut Vec<Gap>,
) {
    let is_said = utilization.is_some_and(|summary| summary.outage.forbids(policy));
    let of_gpus = |samples: fn(&InstanceUsage) -> Vec<Samples>| -> Outage {
        let outages = usage.iter().flat_map(samples).map(|samples| samples.outage);
        outages.filter(|outage| outage.forbids(policy)).fold(Outage::default(), Outage::plus)
    };
    let utilization = of_gpus(|instance| {
        let gpus = instance.gpus.iter();
        gpus.flat_map(|gpu| [Some(gpu.samples), gpu.maxima.map(|maxima| maxima.samples)])
            .flatten()
            .collect()
    });
    let vram = of_gpus(|instance| {
        instance.gpus.iter().filter_map(|gpu| Some(gpu.vram?.samples)).collect()
    });
    let cpu = of_gpus(|instance| instance.cpu_samples.into_iter().collect());
    let network =
        of_gpus(|instance| instance.network.iter().map(|network| network.samples).collect());
    let facts = [
        (GapSubject::GpuUtilization, utilization),
        (GapSubject::VramUse, vram),
        (GapSubject::CpuUtilization, cpu),
        (GapSubject::Metric(Metric::NetworkIn), network),
    ];
    for (subject, outage) in facts {
        let is_reason = subject == GapSubject::GpuUtilization && is_said;
        if let Some(words) = outage.in_words(policy, end).filter(|_| !is_reason) {
            gaps.push(Gap::of(subject, id, Cause::of(CauseKind::SamplesOutage, [&words])));
        }
    }
}

/// Notes the gaps of a workload, whose instances were used like this.
pub(super) fn usage_gaps(id: &str, usage: &[InstanceUsage], gaps: &mut Vec<Gap>) {
    let total = usage.len();
    let some = |kind, part: usize| Cause::of(kind, [&part.to_string(), &total.to_string()]);
    let unproved = usage.iter().filter(|usage| !usage.running.proved).count();
    if unproved > 0 {
        let cause = some(CauseKind::RunningTimeAssumed, unproved);
        gaps.push(Gap::of(GapSubject::RunningTime, id, cause));
    }
    let unmeasured = usage.iter().filter(|usage| usage.signal.is_none()).count();
    if unmeasured > 0 && unmeasured < total {
        let cause = some(CauseKind::GpuMetricsPartial, unmeasured);
        gaps.push(Gap::of(GapSubject::GpuUtilization, id, cause));
    }
    let rejected = usage.iter().fold(Rejected::default(), |sum, usage| sum.plus(usage.rejected));
    if rejected.total() > 0 {
        let counts = [
            rejected.not_a_number, rejected.negative, rejected.over_100, rejected.duplicate,
            rejected.future,
        ];
        let parts = counts.iter().zip(POINT_REJECTIONS).filter(|(count, _)| **count > 0);
        let parts: Vec<String> = parts.map(|(count, reason)| format!("{count} {reason}")).collect();
        let cause =
            Cause::of(CauseKind::PointsDropped, [&rejected.total().to_string(), &parts.join(", ")]);
        gaps.push(Gap::of(GapSubject::MetricPoints, id, cause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Cause, GapSubject};

    #[test]
    fn the_agent_of_aws_is_advised_on_aws_alone() {
        let hint_of = |provider, prometheus, aws| {
            let cause = Cause::of(CauseKind::OnlyPower, []);
            let mut gap = Gap::of(GapSubject::GpuUtilization, "i-1", cause);
            advise(&mut gap, provider, QueriedSources { prometheus, aws });
            gap.hint
        };
        let hint = |provider, prometheus| hint_of(provider, prometheus, true);
        let agent = "`gpucost setup metrics` prints the CloudWatch agent configuration";
        assert_eq!(hint(Provider::Aws, false), agent);
        assert_eq!(
            hint(Provider::Aws, true),
            format!("{agent}; or have the Prometheus server scrape this machine too")
        );
        // Of a node of AWS that was read without AWS, its agent is not asked.
        let without_aws = hint_of(Provider::Aws, false, false);
        assert!(!without_aws.contains("CloudWatch"), "{without_aws}");
        for provider in [Provider::Gcp, Provider::Azure, Provider::OnPremises] {
            let without = hint(provider, false);
            assert!(without.contains("`--prometheus-url`"), "{without}");
            let with = hint(provider, true);
            assert!(with.starts_with("have the Prometheus server"), "{with}");
            for text in [without, with] {
                assert!(!text.contains("CloudWatch"), "{text}");
            }
        }
    }

    #[test]
    fn other_gaps_keep_their_advice() {
        let cause = Cause::of(CauseKind::NothingPriced, []);
        let mut gap = Gap::of(GapSubject::Price, "everything", cause);
        let before = gap.clone();
        let asked = |prometheus| QueriedSources { prometheus, aws: true };
        advise(&mut gap, Provider::OnPremises, asked(true));
        assert_eq!(gap, before);
        let cause = Cause::of(CauseKind::RunningTimeAssumed, ["1", "2"]);
        let mut gap = Gap::of(GapSubject::RunningTime, "rack-1", cause);
        advise(&mut gap, Provider::OnPremises, asked(false));
        assert!(!gap.hint.contains("cloudwatch"), "{}", gap.hint);
    }

    #[test]
    fn a_server_was_asked_where_its_calls_are_counted() {
        let api = |operation: &str| ApiUsage {
            by_operation: [(operation.to_owned(), 1)].into(),
            ..ApiUsage::default()
        };
        let asked = |operation: &str, source| {
            let sources = QueriedSources::of(&api(operation), source);
            (sources.prometheus, sources.aws)
        };
        let (kubernetes, aws) = (EstateSource::Kubernetes, EstateSource::Aws);
        assert_eq!(asked("prometheus:query_range", kubernetes), (true, false));
        assert_eq!(asked("ec2:DescribeInstances", aws), (false, true));
    }
}
