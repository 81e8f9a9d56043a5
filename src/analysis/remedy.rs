//! What to do about metrics that are missing. It depends on where a machine is: the
//! CloudWatch agent is for AWS.

use crate::domain::{ApiUsage, CauseKind, EstateSource, Gap, Provider};

const HELM: &str = "`gpucost setup metrics --prometheus` prints the Helm values of its exporters";

/// Who was asked for metrics.
#[derive(Debug, Clone, Copy)]
pub(in crate::analysis) struct QueriedSources {
    prometheus: bool,
    /// Nodes of AWS may be read without AWS.
    aws: bool,
}

impl QueriedSources {
    pub(in crate::analysis) fn of(api: &ApiUsage, source: EstateSource) -> Self {
        let mut operations = api.by_operation.keys();
        Self {
            prometheus: operations.any(|operation| operation.starts_with("prometheus:")),
            aws: source != EstateSource::Kubernetes,
        }
    }
}

/// Names what helps a machine of a provider, where that is another thing than what a
/// cause says of all machines.
pub(in crate::analysis) fn advise(gap: &mut Gap, provider: Provider, asked: QueriedSources) {
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
