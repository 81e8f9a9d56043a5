//! Catches GPUs that compute nothing and hold nothing for days.
//!
//! Must not be fooled by a quiet CPU or network, which find nothing, nor by a busy one, which
//! forbids the stop or makes it less certain, by a job of an hour a week (more than
//! one active period a week is enough to spare it), by a box launched this
//! week, by an encoder at work, by a box whose memory was not measured, or by busy
//! neighbours in its group: every member is judged by itself. Power alone may call a GPU
//! idle but never recommends a stop by itself.
//!
//! AWS Compute Optimizer's idle rule is a second opinion. It reads CPU and network, which never
//! stand in for the GPU. Where they show use, a stop is less certain, or none.

use super::classification::IDLE_POWER_MARGIN_POINTS;
pub(super) use super::subject::runs as applies;
use super::{Need, RuleMeta, Subject};
use crate::domain::{
    Comparator, Evidence, Finding, IDLE_CPU_PERCENT, IDLE_NETWORK_MB_PER_DAY, InstanceUsage,
    Provider, Recommendation, Severity, Signal, Statistic, UsageState, Workload, after_number,
    counted, decimals_apart,
};
use crate::profiling::Sign;

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
    Some(Finding {
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
        ..subject.finding(&META, decisive, further)
    })
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

/// Share of the window above which its GPUs count as idle, percent.
const IDLE_ABOVE_PERCENT: f64 = 99.0;
/// Use of VRAM below which it holds nothing, percent.
const VRAM_BELOW_PERCENT: f64 = 5.0;

/// One condition of the rule.
fn in_words(sign: &Sign) -> String {
    let Sign { figure, observed, comparator, threshold, unit } = sign;
    let decimals = decimals_apart(*observed, *threshold);
    format!("{figure} {observed:.decimals$}{} ({comparator} {threshold})", after_number(unit))
}

/// How many signs of the rule hold for the busiest instance of a workload, and
/// which; absent unless every series that the rule reads was delivered.
pub(super) fn second_opinion(workload: &Workload) -> Option<Evidence> {
    let signs = signs(workload)?;
    let holding = signs.iter().filter(|sign| sign.holds()).count();
    let agrees = holding == signs.len();
    let words: Vec<String> = signs.iter().map(in_words).collect();
    Some(Evidence::fact(
        "criteria of AWS Compute Optimizer's idle rule",
        &format!("the rule {}: {}", if agrees { "agrees" } else { "disagrees" }, words.join(", ")),
        holding as f64,
        (if agrees { Comparator::Equal } else { Comparator::LessThan }, signs.len() as f64),
        "signs",
    ))
}

fn signs(workload: &Workload) -> Option<[Sign; 5]> {
    let summary =
        workload.utilization.as_ref().filter(|summary| summary.signal == Signal::GpuUtilization)?;
    let below = |figure, observed, threshold, unit| Sign {
        figure,
        observed,
        comparator: Comparator::LessThan,
        threshold,
        unit,
    };
    let sessions = largest(workload.gpus(), |gpu| gpu.encoder_sessions_max)?;
    let cpu = largest(&workload.usage, |usage: &InstanceUsage| {
        usage.cpu_max.filter(|_| usage.cpu_max_samples.is_some())
    })?;
    let network = largest(&workload.usage, InstanceUsage::network_mb_per_day)?;
    Some([
        Sign {
            figure: "GPUs idle",
            observed: summary.idle_share? * 100.0,
            comparator: Comparator::GreaterThan,
            threshold: IDLE_ABOVE_PERCENT,
            unit: "% of the window",
        },
        // AWS says unused in 99% of the window. A series by the hour cannot
        // tell a tenth of a percent: no session at all is asked for.
        below("encoder sessions", sessions, 1.0, "concurrent"),
        below("VRAM", workload.vram()?.peak_percent()?, VRAM_BELOW_PERCENT, "%"),
        below("maximum CPU", cpu, IDLE_CPU_PERCENT, "%"),
        below("network", network, IDLE_NETWORK_MB_PER_DAY, "MB/day"),
    ])
}

/// The largest figure of any; absent unless every one of them was measured.
fn largest<T>(
    items: impl IntoIterator<Item = T>,
    figure: impl Fn(T) -> Option<f64>,
) -> Option<f64> {
    items.into_iter().map(figure).try_fold(0.0_f64, |largest, value| Some(largest.max(value?)))
}
