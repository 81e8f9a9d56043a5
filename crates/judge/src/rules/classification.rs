//! The verdict on a workload, from GPU signals alone. CPU and network never
//! stand in for the GPU, and make its idleness less certain; no data is
//! `insufficient-data`, never 0%.

use crate::catalog::{BUSY_POWER_PERCENT, gpu_spec};
use crate::domain::{
    ACTIVE_PERCENT, Classification, Confidence, GpuUsage, InstanceShape, Measured, Policy,
    ProfileBasis, RESTING_SM_PERCENT, Samples, Signal, UsageState, UtilizationSummary, Verdict,
    decimals_apart, floored,
};
use jiff::Timestamp;

/// Mean from which GPUs that do no work are stalled.
pub(super) const STALLED_FROM_PERCENT: f64 = 60.0;
/// Points within which a power p99 counts as the card's idle draw.
pub(super) const IDLE_POWER_MARGIN_POINTS: f64 = 5.0;
/// Share of hours in which a GPU works below which a workload is mostly idle.
pub const MOSTLY_IDLE_HOURS_SHARE: f64 = 0.10;
/// Share of hours close to 100% from which a workload is saturated.
pub const SATURATED_HOURS_SHARE: f64 = 0.10;

/// Instances whose use suffices for a verdict.
#[derive(Clone, Copy)]
struct Case<'a> {
    workload: Measured<'a>,
    utilization: &'a UtilizationSummary,
    policy: &'a Policy,
    as_of: Timestamp,
}

/// Judges instances as of an instant: by what was measured over the window, else
/// over profiled runs of complete commands. Whether several of them are idle is reported
/// of each alone, never of all together.
pub fn classify(workload: Measured<'_>, policy: &Policy, as_of: Timestamp) -> Verdict {
    match workload.profile {
        None => over_the_window(workload, policy, as_of),
        Some(ProfileBasis::NotEnough(why)) => {
            let verdict = over_the_window(workload, policy, as_of);
            match verdict.classification {
                Classification::InsufficientData => {
                    Verdict::insufficient(format!("{}; {why}", verdict.reason))
                }
                _ => verdict,
            }
        }
        Some(basis) => over_runs(workload, policy, &basis.in_words().unwrap_or_default()),
    }
}

/// Runs tell how busy the GPUs are while the command works, and nothing about the
/// time between: no state, so that nothing is stopped or scheduled.
fn over_runs(workload: Measured<'_>, policy: &Policy, runs: &str) -> Verdict {
    let Some(utilization) = workload.utilization else {
        return Verdict::insufficient(without_periods(workload).to_owned());
    };
    let (classification, reason) = Classification::of_mean(utilization.distribution.mean, policy);
    Verdict {
        classification,
        confidence: Some(Confidence::Derived),
        ..Verdict::insufficient(format!("{reason} over {runs}"))
    }
}

fn over_the_window(workload: Measured<'_>, policy: &Policy, as_of: Timestamp) -> Verdict {
    if let Some(reason) = workload.usage.iter().find_map(|usage| usage.contradiction()) {
        return Verdict::insufficient(reason.to_owned());
    }
    let Some(utilization) = workload.utilization else {
        return Verdict::insufficient(without_periods(workload).to_owned());
    };
    let hours = utilization.sampled_hours();
    if hours < policy.min_hours {
        let decimals = decimals_apart(hours, policy.min_hours);
        return Verdict::insufficient(format!(
            "{hours:.decimals$} h of samples, {} h needed",
            policy.min_hours
        ));
    }
    if utilization.coverage() < policy.min_coverage {
        return Verdict::insufficient(format!(
            "coverage {}%, {:.0}% needed",
            floored(utilization.coverage() * 100.0, 0),
            policy.min_coverage * 100.0
        ));
    }
    if let Some(missing) = utilization.outage.in_words(policy, utilization.window.end) {
        return Verdict::insufficient(missing);
    }
    let case = Case { workload, utilization, policy, as_of };
    match utilization.signal {
        Signal::GpuUtilization => by_utilization(case),
        Signal::GpuPowerUtilization => by_power(case),
    }
}

/// Why no period counts.
fn without_periods(workload: Measured<'_>) -> &'static str {
    match workload.usage.iter().filter_map(|usage| usage.signal).map(|(signal, _)| signal).min() {
        None if workload.gpus().next().is_some() => "no utilization of a whole GPU was reported",
        None => "no GPU metric was reported",
        Some(Signal::GpuUtilization) => {
            "fewer than half of the GPUs reported utilization at any time"
        }
        Some(Signal::GpuPowerUtilization) => {
            "fewer than half of the GPUs reported power at any time"
        }
    }
}

fn by_utilization(case: Case<'_>) -> Verdict {
    let Case { workload, utilization, policy, .. } = case;
    let (classification, reason) = Classification::of_mean(utilization.distribution.mean, policy);
    let state = state(case);
    let is_idle = state.is_some_and(UsageState::is_idle);
    let is_measured = utilization.coverage() >= policy.measured_coverage
        && workload.sees_every_gpu()
        // Idleness is reported of every GPU, so that the one seen least counts; a sign of
        // use beside them makes it less certain.
        && (!is_idle
            || workload.gpus().all(|gpu| sees_all_of(gpu, policy))
                && workload.usage.iter().all(|usage| usage.use_signs(policy).is_empty()));
    Verdict {
        classification,
        state,
        confidence: Some(if is_measured { Confidence::Measured } else { Confidence::Derived }),
        reason,
        idle_power_percent: None,
        busy_cpu_percent: busy_cpu_percent(workload, policy).filter(|_| is_idle),
    }
}

/// p95 of the CPU, where that of every instance shows that it works.
fn busy_cpu_percent(workload: Measured<'_>, policy: &Policy) -> Option<f64> {
    let busy = workload.usage.iter().map(|usage| usage.busy_cpu_percent(policy));
    let busy: Option<Vec<f64>> = busy.collect();
    busy?.into_iter().reduce(f64::min)
}

fn sees_all_of(gpu: &GpuUsage, policy: &Policy) -> bool {
    let vram = gpu.vram.map(|vram| vram.samples);
    let mut series = [Some(gpu.samples), gpu.maxima.map(|maxima| maxima.samples), vram].into_iter();
    series.all(|samples| samples.is_none_or(|own| own.coverage() >= policy.measured_coverage))
}

/// First that holds: idle, idle-so-far, idle-held, stalled, mostly-idle, saturated, bursty,
/// steady. `None` when the GPUs seem idle but maxima or memory were not measured: without maxima a
/// short job is not seen, without memory idle and idle-held cannot be distinguished.
fn state(case: Case<'_>) -> Option<UsageState> {
    let Case { workload, utilization, policy, .. } = case;
    let is_old_enough = is_old_enough(case);
    let computes_nothing = computes_nothing(workload, utilization)?;
    if computes_nothing && !is_old_enough && utilization.max < ACTIVE_PERCENT {
        return Some(UsageState::IdleSoFar);
    }
    if computes_nothing && is_old_enough {
        let vram = workload.vram()?;
        if !vram.samples.suffice(policy) {
            return None;
        }
        let held = vram.peak_percent()? >= policy.idle_held_vram_percent;
        return Some(if held { UsageState::IdleHeld } else { UsageState::Idle });
    }
    if is_stalled(workload, utilization, policy) {
        return Some(UsageState::Stalled);
    }
    if is_mostly_idle(workload, utilization) {
        return Some(UsageState::MostlyIdle);
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

/// Whether one instance computes nothing; `None` when only maxima could tell and
/// there are none. Of several nothing is said: each is evaluated by itself.
fn computes_nothing(workload: Measured<'_>, utilization: &UtilizationSummary) -> Option<bool> {
    let [only] = workload.usage else { return Some(false) };
    // A maximum is at least its average, so that averages alone can rule it out.
    let measures_every_gpu =
        workload.visible_gpus().is_some_and(|visible| only.measures_every_gpu(visible));
    let is_ruled_out = !measures_every_gpu
        || workload.gpus().any(GpuUsage::encodes)
        || utilization.working_periods_a_week > spared_periods(utilization)
        || utilization.distribution.p99 >= ACTIVE_PERCENT;
    if is_ruled_out { Some(false) } else { utilization.maximum_p99.map(|p99| p99 < ACTIVE_PERCENT) }
}

/// Whether GPUs work in few of the hours. Where one of them is not seen, or encodes, the hours
/// do not tell.
fn is_mostly_idle(workload: Measured<'_>, utilization: &UtilizationSummary) -> bool {
    let share = utilization.active_hours_share;
    share.is_some_and(|share| share < MOSTLY_IDLE_HOURS_SHARE)
        && workload.sees_every_gpu()
        && !workload.gpus().any(GpuUsage::encodes)
}

/// Why busy GPUs do no work: a hung collective and a spinning kernel read 100%.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(super) enum Standstill {
    /// Each draws what an idle card does: p95 of the one that draws most, and the watts up to
    /// which a card does no work.
    Power { watts: f64, rests_up_to: f64 },
    /// The multiprocessors of each have nothing to do: p95 of the busiest, percent.
    Sm { percent: f64 },
}

/// Watts up to which a card does no work. `None` without its idle draw and limit.
pub(super) fn stalled_below_watts(shape: Option<&InstanceShape>) -> Option<f64> {
    gpu_spec(shape?.gpu.as_ref()?)?.rests_up_to_watts()
}

/// What shows that GPUs do no work, however busy they are; `None` where one of them works, or
/// neither power nor SM activity was measured on each for long enough.
pub(super) fn standstill(
    gpus: &[GpuUsage],
    shape: Option<&InstanceShape>,
    policy: &Policy,
) -> Option<Standstill> {
    let most = |figure: fn(&GpuUsage) -> Option<(f64, Samples)>| {
        let each = gpus.iter().map(&figure);
        let each = each.map(|reading| reading.filter(|(_, samples)| samples.suffice(policy)));
        let each: Option<Vec<f64>> = each.map(|reading| Some(reading?.0)).collect();
        each?.into_iter().reduce(f64::max)
    };
    let watts = most(|gpu| gpu.power.and_then(|power| Some((power.p95_w?, power.samples))));
    let power = watts.zip(stalled_below_watts(shape));
    if let Some((watts, rests_up_to)) = power.filter(|(watts, rests_up_to)| watts <= rests_up_to) {
        return Some(Standstill::Power { watts, rests_up_to });
    }
    let percent = most(|gpu| gpu.sm.map(|activity| (activity.p95_percent, activity.samples)));
    let percent = percent.filter(|percent| *percent < RESTING_SM_PERCENT)?;
    Some(Standstill::Sm { percent })
}

/// Whether the GPUs of one instance are busy by their utilization and do no work. Of several
/// instances nothing is said: each is evaluated by itself.
fn is_stalled(workload: Measured<'_>, utilization: &UtilizationSummary, policy: &Policy) -> bool {
    let [only] = workload.usage else { return false };
    utilization.distribution.mean >= STALLED_FROM_PERCENT
        && workload.visible_gpus() == Some(workload.gpus().count())
        && standstill(&only.gpus, workload.shape, policy).is_some()
}

/// Periods of a week in which an idle GPU may have worked: one, which is a health check
/// and no job. What works for an hour a week is not idle, whatever the period.
fn spared_periods(utilization: &UtilizationSummary) -> u64 {
    u64::from(utilization.period_seconds < 3_600)
}

/// Nothing is called idle before it was observed, and existed, for a week.
fn is_old_enough(Case { workload, utilization, policy, as_of }: Case<'_>) -> bool {
    policy.is_long_enough(utilization.observed_seconds, utilization.period_seconds)
        && as_of.duration_since(workload.first_seen) > policy.idle_grace()
}

fn by_power(case: Case<'_>) -> Verdict {
    let Case { workload, utilization, policy, .. } = case;
    let (mean, p99) = (utilization.distribution.mean, utilization.distribution.p99);
    let spec = workload.shape.and_then(|shape| gpu_spec(shape.gpu.as_ref()?));
    let idle_power_percent = spec.and_then(|spec| spec.idle_power_percent());
    let verdict = |classification, state, reason| Verdict {
        classification,
        state,
        // Power tells less than utilization, however complete it is.
        confidence: Some(Confidence::Derived),
        reason,
        idle_power_percent,
        busy_cpu_percent: busy_cpu_percent(workload, policy)
            .filter(|_| state.is_some_and(UsageState::is_idle)),
    };
    if mean > BUSY_POWER_PERCENT {
        let decimals = decimals_apart(mean, BUSY_POWER_PERCENT);
        return verdict(
            Classification::WellUtilized,
            None,
            format!("mean power {mean:.decimals$}% of the limit (> {BUSY_POWER_PERCENT}%)"),
        );
    }
    let Some(idle) = idle_power_percent else {
        return Verdict::insufficient(format!(
            "power only, mean {mean:.1}% of the limit, and the idle power of the card is unknown"
        ));
    };
    let bound = idle + IDLE_POWER_MARGIN_POINTS;
    let decimals = decimals_apart(p99, bound);
    let power = format!("p99 {p99:.decimals$}%");
    let of_idle = format!(
        "{bound:.decimals$}%, {IDLE_POWER_MARGIN_POINTS} points above the card's idle power \
         of {idle:.1}%"
    );
    if p99 > bound {
        return Verdict::insufficient(format!(
            "power only: {power} is more than {of_idle}, and the mean of {mean:.1}% is not \
             above {BUSY_POWER_PERCENT}% of the limit"
        ));
    }
    let state = match workload.usage {
        [_] if workload.gpus().any(GpuUsage::encodes) => None,
        [_] if is_old_enough(case) => Some(UsageState::Idle),
        [_] => Some(UsageState::IdleSoFar),
        _ => None,
    };
    verdict(Classification::Overprovisioned, state, format!("power {power} is at most {of_idle}"))
}
