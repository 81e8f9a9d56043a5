//! Catches GPUs that compute nothing and hold nothing for days.
//!
//! Must not be fooled by a quiet CPU or network, which find nothing, nor by a busy one, which
//! forbids the stop or makes it less certain, by a job of an hour a week (more than
//! one active period a week is enough to spare it), by a box launched this
//! week, by an encoder at work, by a box whose memory was not measured, or by busy
//! neighbours in its group: every member is judged by itself. Power alone may call a GPU
//! idle but never recommends a stop by itself.

use super::classification::IDLE_POWER_MARGIN_POINTS;
use super::compute_optimizer::second_opinion;
pub(super) use super::subject::runs as applies;
use super::{Need, RuleMeta, Subject};
use crate::domain::{
    Assessment, Comparator, Finding, Provider, Recommendation, Severity, Statistic, UsageState,
    counted, decimals_apart,
};

pub(super) const META: RuleMeta = RuleMeta {
    id: "idle-gpu",
    title: "Idle GPUs that hold no memory",
    severity: Severity::Critical,
    needs: &[Need::Utilization, Need::Maxima, Need::Vram],
};

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    if subject.verdict.state != Some(UsageState::Idle) {
        return None;
    }
    let summary = subject.utilization()?;
    let by_power = subject.is_judged_by_power();
    let decisive = if by_power {
        let (p99, statistic) = (summary.distribution.p99, Statistic::Average);
        let most = subject.verdict.idle_power_percent? + IDLE_POWER_MARGIN_POINTS;
        subject.sampled("p99", statistic, p99, Comparator::AtMost, most)?
    } else {
        subject.idle_evidence()?
    };
    let further = subject
        .vram_evidence(Comparator::LessThan, subject.policy.idle_held_vram_percent)
        .into_iter()
        .chain(subject.cpu_evidence())
        .chain(second_opinion(subject.workload));
    let decimals = decimals_apart(decisive.observed, decisive.threshold);
    let judgement = Assessment {
        kind: subject.idle_kind(),
        title: format!(
            "{} is idle: {} {:.decimals$}% (p99) for {}{}",
            subject.members(),
            if by_power { "power stays at" } else { "the busiest GPU stays at" },
            decisive.observed,
            counted(format!("{:.0}", summary.sampled_hours() / 24.0), "day", "days"),
            subject.busy_cpu_words()
        ),
        monthly_savings: subject.idle_savings(),
        recommendation: subject
            .beside_busy_cpu()
            .unwrap_or_else(|| recommendation(subject, by_power)),
        ..subject.assessment(&META)
    };
    Some(Finding::new(META.id, subject.workload.id(), judgement, decisive, further))
}

fn recommendation(subject: &Subject<'_>, by_power: bool) -> Recommendation {
    let mut steps = vec!["ask the owner listed in the tags".to_owned()];
    if by_power {
        steps.insert(
            0,
            match subject.workload.key.provider {
                Provider::Aws => {
                    "install the CloudWatch agent (`gpucost setup metrics`): power data alone does \
                     not justify a stop"
                }
                _ => {
                    "publish GPU utilization to Prometheus (`gpucost setup metrics --prometheus`): \
                     power data alone does not justify a stop"
                }
            }
            .to_owned(),
        );
    } else {
        if subject.workload.has_instance_store() {
            steps.push(
                "copy the required data from the instance store: a stop erases it".to_owned(),
            );
        }
        steps.extend(subject.stop_steps());
        steps.extend(subject.committed());
    }
    Recommendation {
        action: subject.stop_or_confirm(if by_power { "confirm" } else { "stop" }),
        to: subject.members_to_stop(),
        steps,
        caveats: subject.stop_caveats(),
    }
}
