//! Power draw of one GPU.

use super::Points;
use super::cadence::Cadence;
use super::histogram::{Histogram, Scale};
use super::kept::StoredFigures;
use super::whole::WholeSum;
use crate::domain::{PowerSummary, Samples};

/// Milliwatts in a watt: power is added up in whole ones, so that it adds up in any order.
const MILLIWATTS: f64 = 1_000.0;
/// Files have power by the hour.
const KEPT_SECONDS: u32 = 3_600;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Power {
    milliwatts: WholeSum,
    /// In whole ones, on the scale of MiB, which is exact below 2,048; empty where a file
    /// has their sum alone.
    watts: Histogram,
    period_seconds: u32,
}

impl Power {
    pub(super) fn of(points: &Points, watts: Histogram) -> Self {
        let milliwatts = points.values().map(|watts| watts * MILLIWATTS);
        Self { milliwatts: milliwatts.collect(), watts, period_seconds: points.period_seconds() }
    }

    pub(super) fn kept(&self) -> StoredFigures {
        StoredFigures {
            count: Some(self.milliwatts.count),
            sum: Some(self.milliwatts.sum),
            counts: self.watts.counts().collect(),
            ..StoredFigures::default()
        }
    }

    /// `None` if a figure is missing or no series can have it.
    pub(super) fn of_kept(kept: &StoredFigures) -> Option<Self> {
        let watts = if kept.counts.is_empty() {
            Histogram::default()
        } else {
            kept.histogram(Scale::Mebibytes)?
        };
        Some(Self {
            milliwatts: WholeSum { count: kept.count?, sum: kept.sum? },
            watts,
            period_seconds: KEPT_SECONDS,
        })
    }

    pub(super) fn merge(&mut self, other: &Self) {
        // Percentiles of a part of the time are none of all of it.
        self.watts = if self.watts.is_empty() || other.watts.is_empty() {
            Histogram::default()
        } else {
            self.watts.merge(&other.watts)
        };
        self.milliwatts.merge(&other.milliwatts);
    }

    pub(super) fn figures(&self, running_seconds: i64, cadence: Cadence) -> Option<PowerSummary> {
        let p95 = self.watts.quantiles(Scale::Mebibytes, [0.95]);
        let count = self.milliwatts.count;
        Some(PowerSummary {
            mean_w: self.milliwatts.mean()? / MILLIWATTS,
            p95_w: p95.map(|[p95]| p95),
            samples: Samples {
                outage: cadence.outage,
                ..Samples::over(count, running_seconds, self.period_seconds * cadence.step)
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(watts: &[u16]) -> Power {
        let mut bins: Vec<(u16, u32)> = Vec::new();
        for level in watts {
            bins.push((*level, 1));
        }
        Power {
            milliwatts: watts.iter().map(|level| f64::from(*level) * MILLIWATTS).collect(),
            watts: Histogram::of(bins),
            period_seconds: KEPT_SECONDS,
        }
    }

    #[test]
    fn parts_have_the_percentiles_of_the_whole_and_a_bare_sum_has_none() {
        let mut parts = of(&[60, 61]);
        parts.merge(&of(&[62, 300]));
        assert_eq!(parts, of(&[60, 61, 62, 300]));
        let figures = parts.figures(4 * 3_600, Cadence::EVERY_PERIOD).expect("four readings");
        assert_eq!(figures.mean_w, 483.0 / 4.0);
        // Rank 0.95 × 3 = 2.85: 62 + 0.85 × 238.
        assert_eq!(figures.p95_w.map(|watts| (watts * 10.0).round()), Some(2_643.0));
        let bare = StoredFigures { counts: Vec::new(), ..parts.kept() };
        let bare = Power::of_kept(&bare).expect("count and sum");
        assert_eq!(
            bare.figures(4 * 3_600, Cadence::EVERY_PERIOD).map(|power| power.p95_w),
            Some(None)
        );
        parts.merge(&bare);
        assert_eq!(
            parts.figures(8 * 3_600, Cadence::EVERY_PERIOD).and_then(|power| power.p95_w),
            None
        );
        assert_eq!(Power::of_kept(&of(&[60, 61]).kept()), Some(of(&[60, 61])));
    }
}
