//! Demand in GPUs, period by period, and what a fleet holds in memory, whatever its demand is.

use crate::savings::{Tenant, pack_processes_where};
use jiff::{SignedDuration, Timestamp};

/// Periods that are replayed at most: two years of five minutes.
pub const MOST_PERIODS: usize = 210_240;
/// Grid of demand that was not measured on one.
const PERIOD_SECONDS: i64 = 300;
/// How long a sample stands for what follows.
const LONGEST_HOLD_SECONDS: i64 = 3_600;
/// Share of the GPUs that ran from which demand may have been higher, 0–1.
const SATURATED_SHARE: f64 = 0.95;

/// What was known of one period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownPeriod {
    /// GPUs that were busy; absent where that was not measured.
    pub busy_gpus: Option<f64>,
    /// Instances that ran; absent where nothing says how many.
    pub instances: Option<u32>,
}

/// Demand on a grid of periods.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    pub start: Timestamp,
    pub period_seconds: i64,
    /// In each period; where it is unknown, as in the last one that is known.
    pub(super) gpus: Vec<f64>,
    /// Instances as they ran in each period; absent where one of them is unknown.
    pub(super) ran: Option<Vec<u32>>,
    pub unknown_periods: usize,
    /// Periods in which 95% or more of the GPUs that ran were busy; absent where it is
    /// unknown what ran.
    pub saturated_periods: Option<usize>,
}

/// Why a record cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DemandError {
    #[error("no period of it has a demand that is known")]
    Unknown,
    #[error("it has {periods} periods; at most {MOST_PERIODS} are replayed")]
    TooLong { periods: usize },
    #[error("it has one time only")]
    OneInstant,
}

impl Demand {
    /// Demand of periods in order; each instance has so many GPUs.
    ///
    /// # Errors
    /// When nothing of it is known, or it is too long.
    pub fn new(
        start: Timestamp,
        period_seconds: i64,
        gpus_per_instance: u32,
        periods: &[KnownPeriod],
    ) -> Result<Self, DemandError> {
        if periods.len() > MOST_PERIODS {
            return Err(DemandError::TooLong { periods: periods.len() });
        }
        let known = |period: &KnownPeriod| period.busy_gpus.filter(|gpus| gpus.is_finite());
        let mut last = periods.iter().find_map(known).ok_or(DemandError::Unknown)?;
        let mut gpus = Vec::with_capacity(periods.len());
        for period in periods {
            last = known(period).unwrap_or(last).max(0.0);
            gpus.push(last);
        }
        let ran: Option<Vec<u32>> = periods.iter().map(|period| period.instances).collect();
        let saturated = |ran: &Vec<u32>| {
            let saturated = periods.iter().zip(ran).filter(|(period, instances)| {
                let up = f64::from(**instances) * f64::from(gpus_per_instance);
                up > 0.0 && known(period).is_some_and(|busy| busy >= up * SATURATED_SHARE)
            });
            saturated.count()
        };
        Ok(Self {
            start,
            period_seconds: period_seconds.max(1),
            saturated_periods: ran.as_ref().map(saturated),
            ran,
            unknown_periods: periods.iter().filter(|period| known(period).is_none()).count(),
            gpus,
        })
    }

    /// Demand of samples in order of time, on a grid of five minutes: each stands for
    /// what follows until the next, for an hour at most, and a period has the mean of its
    /// known time. `instances` ran all the time.
    ///
    /// # Errors
    /// When it is one instant, or too long.
    pub fn of_samples(
        samples: &[(Timestamp, f64)],
        instances: Option<u32>,
        gpus_per_instance: u32,
    ) -> Result<Self, DemandError> {
        let seconds: Vec<i64> = samples.iter().map(|(at, _)| at.as_second()).collect();
        let (Some(first), Some(last)) = (seconds.first(), seconds.last()) else {
            return Err(DemandError::Unknown);
        };
        let step = match seconds.as_slice() {
            [.., before, last] if last > before => last - before,
            _ => PERIOD_SECONDS,
        };
        if first == last {
            return Err(DemandError::OneInstant);
        }
        let start = first - first.rem_euclid(PERIOD_SECONDS);
        let end = last + step.min(LONGEST_HOLD_SECONDS);
        let length = (end - start + PERIOD_SECONDS - 1) / PERIOD_SECONDS;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > MOST_PERIODS {
            return Err(DemandError::TooLong { periods: length });
        }
        // GPU seconds and known seconds of each period.
        let mut sums = vec![(0.0, 0_i64); length];
        for (index, (_, gpus)) in samples.iter().enumerate() {
            let from = seconds[index];
            let to = seconds.get(index + 1).copied().unwrap_or(end);
            let to = to.min(from + LONGEST_HOLD_SECONDS);
            let mut at = from;
            while at < to {
                let place = (at - start) / PERIOD_SECONDS;
                let until = to.min(start + (place + 1) * PERIOD_SECONDS);
                if let Some(sum) = sums.get_mut(place as usize) {
                    sum.0 += gpus * (until - at) as f64;
                    sum.1 += until - at;
                }
                at = until;
            }
        }
        let periods = sums.into_iter().map(|(sum, known)| KnownPeriod {
            busy_gpus: (known > 0).then(|| sum / known as f64),
            instances,
        });
        let periods: Vec<KnownPeriod> = periods.collect();
        let start = Timestamp::from_second(start).unwrap_or(Timestamp::MIN);
        Self::new(start, PERIOD_SECONDS, gpus_per_instance, &periods)
    }

    /// When a period begins.
    pub(super) fn at(&self, period: usize) -> Timestamp {
        self.start + SignedDuration::from_secs(period as i64 * self.period_seconds)
    }

    pub fn periods(&self) -> usize {
        self.gpus.len()
    }

    pub fn hours(&self) -> f64 {
        self.gpus.len() as f64 * self.period_seconds as f64 / 3_600.0
    }

    /// Hours of work of one GPU.
    pub fn gpu_hours(&self) -> f64 {
        self.gpus.iter().sum::<f64>() * self.period_seconds as f64 / 3_600.0
    }

    /// Largest demand of a period, GPUs.
    pub fn peak_gpus(&self) -> f64 {
        self.gpus.iter().copied().fold(0.0, f64::max)
    }

    /// The most instances that ran at a time, where that is known.
    pub fn most_ran(&self) -> Option<u32> {
        self.ran.as_ref()?.iter().copied().max()
    }
}

/// What the GPUs of a workload hold, and whether its instances are copies of one another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Held {
    /// Every instance of an Auto Scaling group is like the others.
    Copies,
    /// Each GPU may hold a model of its own.
    Models(HeldModels),
    /// Nothing says what GPUs hold.
    Unknown,
}

/// Models of which each has been on a GPU of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldModels {
    pub models: u32,
    /// Of all of them, headroom included, MiB.
    pub vram_needed_mib: f64,
    /// GPUs that hold all of them: the largest model first, each on the first GPU with room.
    pub gpus: u32,
}

impl HeldModels {
    /// Models that need so much memory each, headroom included, on GPUs that have so much.
    pub fn packed(needed_mib: &[f64], gpu_mib: f64) -> Self {
        let model = |mib: &f64| Tenant { vram_needed_mib: *mib, peak_percent: 0.0 };
        let models: Vec<Tenant> = needed_mib.iter().map(model).collect();
        let gpus = pack_processes_where(&models, gpu_mib, usize::MAX, |_, _| true);
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            models: count(models.len()),
            vram_needed_mib: needed_mib.iter().sum(),
            gpus: count(gpus.len()),
        }
    }

    /// Whole instances that hold all of them.
    pub fn instances(self, gpus_per_instance: u32) -> u32 {
        self.gpus.div_ceil(gpus_per_instance.max(1))
    }
}

impl Held {
    /// Instances without which a model would be on none; one where nothing says that there
    /// are several.
    pub fn least_instances(self, gpus_per_instance: u32) -> u32 {
        if let Self::Models(models) = self { models.instances(gpus_per_instance).max(1) } else { 1 }
    }
}
