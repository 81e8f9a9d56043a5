//! Traffic of an instance in one direction.

use super::Points;
use super::counted::Counted;
use crate::domain::HOUR_SECONDS;
use std::collections::BTreeMap;

/// One direction of the traffic of an instance. What was measured in other hours adds up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Traffic {
    pub(super) counted: Counted,
    pub(super) bytes: u64,
    pub(super) busiest_hour_gbps: f64,
}

impl Traffic {
    /// `None` of no points. Hours are those of UTC.
    pub(super) fn of(points: &Points) -> Option<Self> {
        let period = i64::from(points.period_seconds().max(1));
        let start = points.start().as_second();
        let mut hours: BTreeMap<i64, (f64, i64)> = BTreeMap::new();
        let mut total: u64 = 0;
        for (index, bytes) in points.iter() {
            let hour = (start + i64::from(index) * period).div_euclid(HOUR_SECONDS);
            let (sum, seconds) = hours.entry(hour).or_default();
            *sum += bytes;
            *seconds += period;
            total = total.saturating_add(bytes.round() as u64);
        }
        let rates = hours.values().map(|(bytes, seconds)| bytes * 8.0 / *seconds as f64 / 1e9);
        Some(Self {
            counted: Counted::of(points),
            bytes: total,
            busiest_hour_gbps: rates.reduce(f64::max)?,
        })
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.counted.merge(other.counted);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.busiest_hour_gbps = self.busiest_hour_gbps.max(other.busiest_hour_gbps);
    }
}
