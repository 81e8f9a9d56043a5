//! How much of a series there is.

use super::Points;
use super::cadence::Cadence;
use super::kept::StoredFigures;
use crate::domain::{DAY_SECONDS, Samples};

/// How many samples a metric has, and what time each stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    count: u64,
    period_seconds: u32,
}

impl Counted {
    pub(super) fn of(points: &Points) -> Self {
        Self { count: points.len() as u64, period_seconds: points.period_seconds() }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.count += other.count;
    }

    pub(super) fn over(self, running_seconds: i64, cadence: Cadence) -> Samples {
        Samples {
            outage: cadence.outage,
            ..Samples::over(self.count, running_seconds, self.seconds(cadence))
        }
    }

    /// What a sample stands for.
    pub(super) fn seconds(self, cadence: Cadence) -> u32 {
        self.period_seconds.saturating_mul(cadence.step)
    }

    pub(super) fn kept(self) -> StoredFigures {
        StoredFigures {
            count: Some(self.count),
            period_seconds: Some(self.period_seconds),
            ..StoredFigures::default()
        }
    }

    pub(super) fn days(self, cadence: Cadence) -> f64 {
        self.count as f64 * f64::from(self.seconds(cadence)) / DAY_SECONDS as f64
    }
}

impl StoredFigures {
    pub(super) fn counted(&self) -> Option<Counted> {
        Some(Counted { count: self.count?, period_seconds: self.period_seconds? })
    }
}
