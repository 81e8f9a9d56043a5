//! The verdict on a workload, from GPU signals alone. CPU and network never
//! stand in for the GPU, and no data is `insufficient-data`, never 0 %.

use crate::catalog::gpu_spec;
use crate::domain::{
    ACTIVE_PERCENT, Classification, Confidence, GpuUsage, Policy, ProfileBasis, Signal, UsageState,
    UtilizationSummary, Verdict, Workload, WorkloadKind, decimals_apart, floored,
};
use jiff::Timestamp;

/// Points within which a power p99 counts as the card's idle draw.
pub(super) const IDLE_POWER_MARGIN_POINTS: f64 = 5.0;
/// Mean power above which a card certainly works.
const BUSY_POWER_PERCENT: f64 = 60.0;
/// Share of hours close to 100 % from which a workload is saturated.
pub(super) const SATURATED_HOURS_SHARE: f64 = 0.10;

/// Judges a workload as of an instant: by what was measured over the window, else
/// over profiled runs of complete commands.
pub fn classify(workload: &Workload, policy: &Policy, as_of: Timestamp) -> Verdict {
    match &workload.profile {
        None => over_the_window(workload, policy, as_of),
        Some(ProfileBasis::NotEnough(why)) => {
            let verdict = over_the_window(workload, policy, as_of);
            match verdict.classification {
                Classification::InsufficientData => {
                    insufficient(format!("{}; {why}", verdict.reason))
                }
                _ => verdict,
            }
        }
        Some(basis) => over_runs(workload, policy, &basis.in_words().unwrap_or_default()),
    }
}

/// Runs tell how busy the GPUs are while the command works, and nothing about the
/// time between: no state, so that nothing is stopped or scheduled.
fn over_runs(workload: &Workload, policy: &Policy, runs: &str) -> Verdict {
    let Some(utilization) = &workload.utilization else {
        return insufficient(without_periods(workload).to_owned());
    };
    let (classification, reason) = class(utilization.distribution.mean, policy);
    Verdict {
        classification,
        state: None,
        confidence: Some(Confidence::Derived),
        reason: format!("{reason} over {runs}"),
        idle_power_percent: None,
    }
}

fn over_the_window(workload: &Workload, policy: &Policy, as_of: Timestamp) -> Verdict {
    let Some(utilization) = &workload.utilization else {
        return insufficient(without_periods(workload).to_owned());
    };
    let hours = utilization.sampled_hours();
    if hours < policy.min_hours {
        let decimals = decimals_apart(hours, policy.min_hours);
        return insufficient(format!(
            "{hours:.decimals$} h of samples, {} h needed",
            policy.min_hours
        ));
    }
    if utilization.coverage() < policy.min_coverage {
        return insufficient(format!(
            "coverage {} %, {:.0} % needed",
            floored(utilization.coverage() * 100.0, 0),
            policy.min_coverage * 100.0
        ));
    }
    match utilization.signal {
        Signal::GpuUtilization => by_utilization(workload, utilization, policy, as_of),
        Signal::GpuPowerUtilization => by_power(workload, utilization, policy, as_of),
    }
}

/// Why no period counts.
fn without_periods(workload: &Workload) -> &'static str {
    let signals = workload.usage.iter().filter_map(|usage| usage.signal);
    match signals.map(|(signal, _)| signal).min() {
        None => "no GPU metric was delivered",
        Some(Signal::GpuUtilization) => {
            "fewer than half of the GPUs reported utilization at any time"
        }
        Some(Signal::GpuPowerUtilization) => {
            "fewer than half of the GPUs reported power at any time"
        }
    }
}

fn insufficient(reason: String) -> Verdict {
    Verdict {
        classification: Classification::InsufficientData,
        state: None,
        confidence: None,
        reason,
        idle_power_percent: None,
    }
}

fn by_utilization(
    workload: &Workload,
    utilization: &UtilizationSummary,
    policy: &Policy,
    as_of: Timestamp,
) -> Verdict {
    let (classification, reason) = class(utilization.distribution.mean, policy);
    let confidence = if utilization.coverage() >= policy.measured_coverage {
        Confidence::Measured
    } else {
        Confidence::Derived
    };
    Verdict {
        classification,
        state: state(workload, utilization, policy, as_of),
        confidence: Some(confidence),
        reason,
        idle_power_percent: None,
    }
}

/// The class of a mean, with the border that decides.
fn class(mean: f64, policy: &Policy) -> (Classification, String) {
    let (classification, comparator, bound) = Classification::of_mean(mean, policy);
    let (comparator, decimals) = (comparator.sign(), decimals_apart(mean, bound));
    let reason = format!("mean GPU utilization {mean:.decimals$} % ({comparator} {bound} %)");
    (classification, reason)
}

/// First that holds: idle, idle-held, saturated, bursty, steady. `None` when
/// the GPUs look idle but maxima or memory were not measured: without maxima a
/// short job is not seen, without memory idle and idle-held look the same.
fn state(
    workload: &Workload,
    utilization: &UtilizationSummary,
    policy: &Policy,
    as_of: Timestamp,
) -> Option<UsageState> {
    if computes_nothing(workload, utilization, policy, as_of)? {
        let held = workload.vram()?.peak_percent()? >= policy.idle_held_vram_percent;
        return Some(if held {
            UsageState::IdleHeld
        } else {
            UsageState::Idle
        });
    }
    let distribution = &utilization.distribution;
    let saturated = distribution.mean > policy.saturated_above_percent
        || utilization.saturated_hours_share >= SATURATED_HOURS_SHARE;
    let bursty = distribution.mean < policy.overprovisioned_below_percent
        && distribution.p95 >= policy.bursty_p95_percent;
    Some(if saturated {
        UsageState::Saturated
    } else if bursty {
        UsageState::Bursty
    } else {
        UsageState::Steady
    })
}

/// Whether it computes nothing; `None` when only maxima could tell and there
/// are none.
fn computes_nothing(
    workload: &Workload,
    utilization: &UtilizationSummary,
    policy: &Policy,
    as_of: Timestamp,
) -> Option<bool> {
    // A maximum is at least its average, so that averages alone can rule it out.
    let is_ruled_out = !workload.measures_every_gpu()
        || workload.gpus().any(GpuUsage::encodes)
        || utilization.has_consecutive_activity
        || utilization.distribution.p99 >= ACTIVE_PERCENT
        || !is_old_enough(workload, utilization, policy, as_of);
    if is_ruled_out {
        return Some(false);
    }
    utilization.maximum_p99.map(|p99| p99 < ACTIVE_PERCENT)
}

/// Nothing is called idle before it was observed, and existed, for a week.
fn is_old_enough(
    workload: &Workload,
    utilization: &UtilizationSummary,
    policy: &Policy,
    as_of: Timestamp,
) -> bool {
    utilization.sampled_hours() >= policy.idle_min_days * 24.0
        && as_of.duration_since(workload.youngest_launch) > policy.idle_grace()
}

fn by_power(
    workload: &Workload,
    utilization: &UtilizationSummary,
    policy: &Policy,
    as_of: Timestamp,
) -> Verdict {
    let (mean, p99) = (utilization.distribution.mean, utilization.distribution.p99);
    let idle_power_percent = workload
        .shape
        .as_ref()
        .and_then(|shape| shape.gpu.as_ref())
        .and_then(gpu_spec)
        .and_then(|spec| spec.idle_power_percent());
    let verdict = |classification, state, reason| Verdict {
        classification,
        state,
        // Power tells less than utilization, however complete it is.
        confidence: Some(Confidence::Derived),
        reason,
        idle_power_percent,
    };
    if mean > BUSY_POWER_PERCENT {
        let decimals = decimals_apart(mean, BUSY_POWER_PERCENT);
        return verdict(
            Classification::WellUtilized,
            None,
            format!("mean power {mean:.decimals$} % of the limit (> {BUSY_POWER_PERCENT} %)"),
        );
    }
    let Some(idle) = idle_power_percent else {
        return insufficient(format!(
            "power alone, mean {mean:.1} % of the limit, and the card's idle draw is unknown"
        ));
    };
    let bound = idle + IDLE_POWER_MARGIN_POINTS;
    let decimals = decimals_apart(p99, bound);
    let power = format!("p99 {p99:.decimals$} %");
    let of_idle = format!(
        "{bound:.decimals$} %, {IDLE_POWER_MARGIN_POINTS} points above the card's idle draw of \
         {idle:.1} %"
    );
    if p99 > bound {
        return insufficient(format!(
            "power alone: {power} is more than {of_idle}, and the mean of {mean:.1} % is no more \
             than {BUSY_POWER_PERCENT} % of the limit"
        ));
    }
    let is_idle = is_old_enough(workload, utilization, policy, as_of)
        && !workload.gpus().any(GpuUsage::encodes);
    verdict(
        Classification::Overprovisioned,
        is_idle.then_some(UsageState::Idle),
        format!("power {power} is at most {of_idle}"),
    )
}

/// Whether saturation matters: only where somebody waits for an answer.
pub(super) fn saturation_is_a_risk(kind: WorkloadKind) -> bool {
    kind == WorkloadKind::Serving
}
