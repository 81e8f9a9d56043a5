//! What to do about metrics that are missing. It depends on where a machine is: the
//! CloudWatch agent is for AWS.

use crate::domain::{ApiUsage, CauseKind, Gap, Provider};

const HELM: &str = "`gpucost metrics setup --prometheus` prints the Helm values of its exporters";

/// Whether a Prometheus server was asked.
pub(in crate::analysis) fn asks_prometheus(api: &ApiUsage) -> bool {
    let mut operations = api.by_operation.keys();
    operations.any(|operation| operation.starts_with("prometheus:"))
}

/// Names what helps a machine of a provider, where that is another thing than what a
/// cause says of all machines.
pub(in crate::analysis) fn advise(gap: &mut Gap, provider: Provider, asks_prometheus: bool) {
    let Some(cause) = &gap.cause else { return };
    let advice = match (cause.kind(), provider == Provider::Aws) {
        (kind, false) if is_of_gpu_metrics(kind) && asks_prometheus => {
            format!("have the Prometheus server scrape this machine too; {HELM}")
        }
        (kind, false) if is_of_gpu_metrics(kind) => {
            format!("read GPU metrics of a Prometheus server with `--prometheus-url`; {HELM}")
        }
        (kind, true) if is_of_gpu_metrics(kind) && asks_prometheus => format!(
            "{}; or have the Prometheus server scrape this machine too",
            gap.hint
        ),
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
        let hint = |provider, asks| {
            let cause = Cause::of(CauseKind::OnlyPower, []);
            let mut gap = Gap::of(GapSubject::GpuUtilization, "i-1", cause);
            advise(&mut gap, provider, asks);
            gap.hint
        };
        let agent = "`gpucost metrics setup` prints the CloudWatch agent configuration";
        assert_eq!(hint(Provider::Aws, false), agent);
        assert_eq!(
            hint(Provider::Aws, true),
            format!("{agent}; or have the Prometheus server scrape this machine too")
        );
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
        advise(&mut gap, Provider::OnPremises, true);
        assert_eq!(gap, before);
        let cause = Cause::of(CauseKind::RunningTimeAssumed, ["1", "2"]);
        let mut gap = Gap::of(GapSubject::RunningTime, "rack-1", cause);
        advise(&mut gap, Provider::OnPremises, false);
        assert!(!gap.hint.contains("cloudwatch"), "{}", gap.hint);
    }

    #[test]
    fn a_server_was_asked_where_its_calls_are_counted() {
        let api = |operation: &str| ApiUsage {
            by_operation: [(operation.to_owned(), 1)].into(),
            ..ApiUsage::default()
        };
        assert!(asks_prometheus(&api("prometheus:query_range")));
        assert!(!asks_prometheus(&api("ec2:DescribeInstances")));
    }
}
