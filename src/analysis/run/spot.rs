//! What an interruption took from a run, and how often the work should be saved.

use super::cost::LONGEST_RUN_HOURS;
use crate::catalog::bundled_interruption_band;
use crate::domain::{
    CheckpointCost, HourlyRate, InterruptionBand, Money, Policy, PriceKey, SpotRun,
};
use crate::profiling::RunProfile;
use crate::savings::{Checkpointing, Interruptions};
use jiff::SignedDuration;
use jiff::civil::Date;
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;

/// What a run under the spot guard means in money and time.
#[derive(Debug, Clone, PartialEq)]
pub struct SpotOutcome {
    /// What the interruption took at most; absent without one, and where it is not known.
    pub lost: Option<LostWork>,
    /// Absent where the time of a checkpoint is not known.
    pub advice: Option<CheckpointAdvice>,
}

/// Work that no checkpoint holds.
#[derive(Debug, Clone, PartialEq)]
pub struct LostWork {
    pub seconds: f64,
    /// The same on every GPU of the host; absent where no whole GPU was seen.
    pub gpu_seconds: Option<f64>,
    /// The price of the host for this time, to the cent; absent without a price.
    pub cost: Option<Money>,
}

/// How often a run should save its work.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckpointAdvice {
    pub cost: CheckpointCost,
    /// How often the type is interrupted, and when that was read.
    pub band: Option<(InterruptionBand, Date)>,
    /// Of this host alone.
    pub interruptions: Interruptions,
    /// The interval that loses least, from a second to an hour.
    pub every: SignedDuration,
    /// Time from an interruption until work continues, which is assumed.
    pub restart: SignedDuration,
    /// Share of the time that is lost at this interval, 0–1.
    pub overhead: f64,
    /// The interval that the run kept, in seconds, with its share.
    pub kept: Option<(f64, f64)>,
}

impl SpotOutcome {
    /// What follows from a run; `host` is how its instance was bought. `None` where no guard
    /// watched.
    pub fn of(
        profile: &RunProfile,
        host: Option<&PriceKey>,
        rate: Option<HourlyRate>,
        policy: &Policy,
    ) -> Option<Self> {
        let spot = profile.end.spot.as_ref()?;
        Some(Self {
            lost: profile
                .end
                .lost_seconds()
                .map(|seconds| LostWork::of(seconds, profile.gpu_count(), rate)),
            advice: CheckpointAdvice::of(spot, host, policy),
        })
    }
}

impl LostWork {
    fn of(seconds: f64, gpus: usize, rate: Option<HourlyRate>) -> Self {
        let hours = Some(seconds / 3_600.0).filter(|hours| *hours <= LONGEST_RUN_HOURS);
        let hours = hours.and_then(Decimal::from_f64);
        Self {
            seconds,
            gpu_seconds: (gpus > 0).then_some(seconds * gpus as f64),
            cost: rate
                .zip(hours)
                .map(|(rate, hours)| rate.times_hours(hours).rounded()),
        }
    }
}

impl CheckpointAdvice {
    fn of(spot: &SpotRun, host: Option<&PriceKey>, policy: &Policy) -> Option<Self> {
        let cost = spot.checkpoint_cost?;
        let checkpointing = Checkpointing {
            cost: SignedDuration::try_from_secs_f64(cost.seconds).ok()?,
            ..Checkpointing::default()
        };
        let band = host.and_then(bundled_interruption_band);
        let interruptions = Interruptions::of(
            band.map(|(band, _)| band),
            1,
            policy.spot_interruptions_per_day,
        );
        let overhead = |interval| checkpointing.overhead(interval, interruptions.per_hour);
        let every = checkpointing.best_interval(interruptions.per_hour);
        let kept = spot.checkpoints.and_then(|seen| seen.interval_seconds());
        let kept = kept.and_then(|seconds| {
            let interval = SignedDuration::try_from_secs_f64(seconds).ok()?;
            interval
                .is_positive()
                .then(|| (seconds, overhead(interval)))
        });
        Some(Self {
            cost,
            band,
            interruptions,
            every,
            restart: checkpointing.restart,
            overhead: overhead(every),
            kept,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CheckpointBasis, Currency, RunCheckpoints};

    fn run(cost_seconds: f64) -> SpotRun {
        SpotRun {
            checkpoint_cost: Some(CheckpointCost {
                seconds: cost_seconds,
                basis: CheckpointBasis::Log,
            }),
            checkpoints: Some(RunCheckpoints {
                count: 4,
                first_seconds: Some(600.0),
                last_seconds: Some(2_400.0),
            }),
            ..SpotRun::default()
        }
    }

    fn policy(interruptions_per_day: f64) -> Policy {
        Policy {
            spot_interruptions_per_day: interruptions_per_day,
            ..Policy::default()
        }
    }

    #[test]
    fn the_example_of_the_page_by_hand() {
        // No band: one interruption a day. sqrt(2 × 60 s × 86 400 s) = 3 219.9 s.
        let advice = CheckpointAdvice::of(&run(60.0), None, &policy(1.0)).expect("a cost");
        assert_eq!(advice.every, SignedDuration::from_secs(3_220));
        // 60/3 220 + (1 610 + 300)/86 400 = 0.018634 + 0.022106.
        assert!((advice.overhead - 0.040_740).abs() < 1e-6, "{advice:?}");
        // Three intervals in 1 800 s: 60/600 + (300 + 300)/86 400.
        let (kept, overhead) = advice.kept.expect("an interval");
        assert_eq!(kept, 600.0);
        assert!((overhead - 0.106_944).abs() < 1e-6, "{overhead}");
    }

    /// Daly 2006, "A higher order estimate of the optimum checkpoint interval for restart
    /// dumps": for C < 2M, the time between checkpoints is
    /// sqrt(2CM) (1 + sqrt(C/2M)/3 + (C/2M)/9) − C.
    fn daly(cost: f64, mean_seconds: f64) -> f64 {
        let part = cost / (2.0 * mean_seconds);
        (2.0 * cost * mean_seconds).sqrt() * (1.0 + part.sqrt() / 3.0 + part / 9.0) - cost
    }

    #[test]
    fn daly_refines_the_interval_and_hardly_the_loss() {
        for cost in [5.0, 60.0, 300.0] {
            let advice = CheckpointAdvice::of(&run(cost), None, &policy(4.0)).expect("a cost");
            let refined = daly(cost, 21_600.0);
            let checkpointing = Checkpointing {
                cost: SignedDuration::from_secs(cost as i64),
                ..Checkpointing::default()
            };
            let interval = SignedDuration::from_secs(refined as i64);
            let overhead = checkpointing.overhead(interval, 4.0 / 24.0);
            assert!(
                (overhead - advice.overhead).abs() < 0.001,
                "{cost}: {overhead}"
            );
        }
        // C = 60 s, M = 86 400 s: 3 219.9 × (1 + 0.018634/3 + 0.000347/9) − 60 = 3 180.1.
        assert!((daly(60.0, 86_400.0) - 3_180.1).abs() < 0.1);
    }

    #[test]
    fn without_the_time_of_a_checkpoint_nothing_is_advised() {
        let unknown = SpotRun::default();
        assert_eq!(CheckpointAdvice::of(&unknown, None, &policy(1.0)), None);
        // What a log may say.
        let absurd = run(1e300);
        assert_eq!(CheckpointAdvice::of(&absurd, None, &policy(1.0)), None);
        // Nothing is ever interrupted: an hour all the same.
        let advice = CheckpointAdvice::of(&run(60.0), None, &policy(0.0)).expect("a cost");
        assert_eq!(advice.every, SignedDuration::from_hours(1));
    }

    #[test]
    fn lost_time_is_lost_on_every_gpu_and_has_a_price() {
        let rate = HourlyRate::new(Decimal::new(16_288, 3), Currency::Usd);
        let lost = LostWork::of(120.0, 8, rate);
        assert_eq!(lost.gpu_seconds, Some(960.0));
        // 16.288/h × 120 s / 3 600 s = 0.5429.
        let cost = lost.cost.map(|cost| cost.to_string());
        assert_eq!(cost.as_deref(), Some("$0.54"));
        let lost = LostWork::of(120.0, 0, None);
        assert_eq!((lost.gpu_seconds, lost.cost), (None, None));
    }
}
