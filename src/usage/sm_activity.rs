//! Activity of the multiprocessors of one GPU.

use super::Points;
use super::cadence::Cadence;
use super::counted::Counted;
use super::histogram::{Histogram, Scale};
use super::kept::StoredFigures;
use crate::domain::SmSummary;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SmActivity {
    counted: Counted,
    percents: Histogram,
}

impl SmActivity {
    pub(super) fn of(points: &Points, percents: Histogram) -> Self {
        Self { counted: Counted::of(points), percents }
    }

    pub(super) fn kept(&self) -> StoredFigures {
        StoredFigures { counts: self.percents.counts().collect(), ..self.counted.kept() }
    }

    /// `None` if a figure is missing.
    pub(super) fn of_kept(kept: &StoredFigures) -> Option<Self> {
        Some(Self { counted: kept.counted()?, percents: kept.histogram(Scale::Percent)? })
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.counted.merge(other.counted);
        self.percents = self.percents.merge(&other.percents);
    }

    pub(super) fn figures(&self, running_seconds: i64, cadence: Cadence) -> Option<SmSummary> {
        let [p95_percent] = self.percents.quantiles(Scale::Percent, [0.95])?;
        Some(SmSummary { p95_percent, samples: self.counted.over(running_seconds, cadence) })
    }
}
