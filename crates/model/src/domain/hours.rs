//! A workload hour by hour: what schedules and commitments are sized on.

use super::ACTIVE_PERCENT;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::num::NonZeroU16;
use std::sync::Arc;

/// One whole hour of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ActivityHour {
    /// Its first instant, a whole hour of UTC.
    pub start: Timestamp,
    /// Largest maximum over all GPUs, percent. Absent where more than a tenth of
    /// the readings is missing, unless one of the others tells of work.
    pub maximum: Option<f64>,
    /// Whether a GPU encoded, which is work without a kernel.
    pub encodes: bool,
    /// Running time of all instances together, in instance-hours.
    pub instance_hours: Decimal,
}

impl ActivityHour {
    pub fn is_stopped(&self) -> bool {
        self.instance_hours.is_zero()
    }

    /// Whether a GPU is known to have worked.
    pub fn is_active(&self) -> bool {
        self.encodes || self.maximum.is_some_and(|maximum| maximum >= ACTIVE_PERCENT)
    }

    /// Whether no GPU worked: nothing ran, or every GPU stayed below 1%. What
    /// is not known is neither off nor active.
    pub fn is_off(&self) -> bool {
        let rests = self.maximum.is_some_and(|maximum| maximum < ACTIVE_PERCENT);
        !self.encodes && (self.is_stopped() || rests)
    }
}

/// One whole hour as it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HourCell {
    /// Largest maximum over all GPUs, hundredths of a percent; absent where it is
    /// not known.
    pub maximum: Option<u16>,
    /// Whether a GPU encoded.
    pub encodes: bool,
    /// Periods times instances that ran in them.
    pub instance_periods: u32,
}

/// Every whole hour of the window since a workload was first seen, ascending and
/// without a gap. Two bytes an hour, however many GPUs there are, and shared by
/// those that have the same.
#[derive(Debug, Clone, PartialEq)]
pub struct HourlyActivity {
    start: Timestamp,
    periods_per_hour: u32,
    /// Of each hour one more than its maximum.
    maxima: Arc<[Option<NonZeroU16>]>,
    /// Everything else, with for how many hours it stays the same.
    stretches: Arc<[(HourCell, usize)]>,
}

impl HourlyActivity {
    /// Hours from a whole hour of UTC on.
    pub fn new(start: Timestamp, periods_per_hour: u32, cells: Vec<HourCell>) -> Self {
        let maximum = |cell: &HourCell| NonZeroU16::MIN.checked_add(cell.maximum?);
        let rest = |cell: &HourCell| HourCell { maximum: None, ..*cell };
        let alike = cells.chunk_by(|left, right| rest(left) == rest(right));
        Self {
            start,
            periods_per_hour,
            maxima: cells.iter().map(maximum).collect(),
            stretches: alike.map(|same| (rest(&same[0]), same.len())).collect(),
        }
    }

    pub fn len(&self) -> usize {
        self.maxima.len()
    }

    pub fn is_empty(&self) -> bool {
        self.maxima.is_empty()
    }

    fn cells(&self) -> impl Iterator<Item = HourCell> + '_ {
        let stretches = self.stretches.iter();
        let rest = stretches.flat_map(|(cell, hours)| std::iter::repeat_n(*cell, *hours));
        rest.zip(self.maxima.iter())
            .map(|(cell, maximum)| HourCell { maximum: maximum.map(|more| more.get() - 1), ..cell })
    }

    /// The hours, ascending.
    pub fn hours(&self) -> impl Iterator<Item = ActivityHour> + '_ {
        let periods_per_hour = Decimal::from(self.periods_per_hour);
        let starts = (0..).map(|index| self.start + SignedDuration::from_hours(index));
        starts.zip(self.cells()).map(move |(start, cell)| ActivityHour {
            start,
            maximum: cell.maximum.map(|hundredths| f64::from(hundredths) / 100.0),
            encodes: cell.encodes,
            instance_hours: Decimal::from(cell.instance_periods) / periods_per_hour,
        })
    }

    /// How many instances ran in each hour, in billionths: a part of an hour counts
    /// as a part.
    pub fn instances(&self) -> impl Iterator<Item = u64> + '_ {
        let per_hour = u64::from(self.periods_per_hour);
        self.cells().map(move |cell| u64::from(cell.instance_periods) * 1_000_000_000 / per_hour)
    }

    /// The share of its running time in hours in which a GPU worked or may have, 0–1; all of it
    /// where there are no hours.
    pub fn share_at_work(&self) -> Decimal {
        let sum = |hours: &mut dyn Iterator<Item = ActivityHour>| -> Decimal {
            hours.map(|hour| hour.instance_hours).sum()
        };
        let at_work = sum(&mut self.hours().filter(|hour| !hour.is_off()));
        at_work.checked_div(sum(&mut self.hours())).unwrap_or(Decimal::ONE)
    }

    /// Whether any hour that ran tells what every GPU did in it.
    pub fn is_measured(&self) -> bool {
        self.maxima.iter().any(Option::is_some)
    }
}
