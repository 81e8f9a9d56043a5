//! What a machine did in a day, as plain figures that a file can keep.

use super::histogram::{Histogram, Scale};
use crate::domain::{JoinedBy, Metric, Rejected, SeriesSource, Statistic};

/// The largest percentage in hundredths.
pub(super) const MOST_HUNDREDTHS: u16 = 10_000;

/// What a machine did in a day of UTC. From it comes the same usage again, to the last bit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredUsage {
    /// One of each metric, GPU and statistic.
    pub series: Vec<StoredSeries>,
    /// The periods in which anything is known, in any order.
    pub periods: Vec<StoredPeriod>,
}

/// What one series amounted to.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSeries {
    pub metric: Metric,
    /// The GPU's index on the host; absent for metrics of the machine.
    pub gpu: Option<u16>,
    pub statistic: Statistic,
    pub source: SeriesSource,
    pub joined_by: JoinedBy,
    pub rejected: Rejected,
    /// Whether no point of it was valid.
    pub is_empty: bool,
    pub figures: StoredFigures,
}

/// Figures of a series; those that its metric has not are absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredFigures {
    pub count: Option<u64>,
    pub period_seconds: Option<u32>,
    /// Steps with how many points fell into them, ascending: hundredths of a percent, or MiB
    /// as [`super::Scale::Mebibytes`] counts them.
    pub counts: Vec<(u16, u32)>,
    pub min: Option<f64>,
    /// The largest point; of traffic the Gbit/s of the busiest hour.
    pub max: Option<f64>,
    /// Milliwatts or bytes.
    pub sum: Option<u64>,
    /// Points at which a GPU was active.
    pub active: Option<u64>,
    /// When the periods of the first and of the last point begin, seconds since the epoch.
    pub first: Option<i64>,
    pub last: Option<i64>,
}

/// One period of one signal. Of CPU and of encoder sessions, one that was reported is one with
/// a sample, or with a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoredPeriod {
    pub metric: Metric,
    pub source: SeriesSource,
    /// Place in the day.
    pub index: u32,
    /// How many GPUs reported.
    pub reported: u32,
    /// Sum of their averages, hundredths of a percent.
    pub sum: u64,
    /// How many of them delivered a maximum of their own.
    pub maxima: u32,
    /// The largest maximum, hundredths of a percent.
    pub maximum: Option<u16>,
    /// Whether the average of any of them was that of work.
    pub works: bool,
}

impl StoredFigures {
    /// The counts of steps of a scale; `None` if they are of none, or not in order.
    pub(super) fn histogram(&self, scale: Scale) -> Option<Histogram> {
        let most = match scale {
            Scale::Percent => MOST_HUNDREDTHS,
            Scale::Mebibytes => scale.bin(f64::MAX),
        };
        let ascend = self.counts.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let is_sound = ascend && self.counts.iter().all(|(bin, count)| *bin <= most && *count > 0);
        let is_known = !self.counts.is_empty();
        (is_sound && is_known).then(|| Histogram::of(self.counts.iter().copied()))
    }
}
