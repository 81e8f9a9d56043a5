//! What each job cost day by day, ready to be continued.

use super::dates::{Span, days_from};
use super::ledger::Ledger;
use super::series::{Chooser, DailySeries};
use crate::domain::WorkloadDay;
use jiff::civil::Date;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeMap;

/// Costs by job and day, over all days of a history.
pub(super) struct JobSeries<'a> {
    pub(super) first: Date,
    /// The last whole day.
    pub(super) last: Date,
    pub(super) jobs: BTreeMap<&'a str, Chooser>,
}

impl<'a> JobSeries<'a> {
    /// Of some rows; `None` without a whole day.
    pub(super) fn of(ledger: &'a Ledger, keep: impl Fn(&WorkloadDay) -> bool) -> Option<Self> {
        let (first, last) = (ledger.first_day()?, ledger.last_whole_day()?);
        let days = Span { first, last };
        let is_whole: Vec<bool> = days.each().map(|day| ledger.is_whole(day)).collect();
        let nothing = || -> Vec<Option<f64>> {
            let known = is_whole.iter();
            known.map(|whole| whole.then_some(0.0)).collect()
        };
        let mut costs: BTreeMap<&str, Vec<Option<f64>>> = BTreeMap::new();
        let rows = ledger.rows().iter().filter(|row| keep(row));
        for row in rows {
            let place = usize::try_from(days_from(first, row.day)).ok();
            let cost = ledger.amount(row.effective).and_then(|cost| cost.to_f64());
            let job = costs.entry(row.job.as_str()).or_insert_with(nothing);
            let (Some(place), Some(cost)) = (place, cost) else {
                continue;
            };
            if let Some(Some(value)) = job.get_mut(place) {
                *value += cost;
            }
        }
        let jobs = costs.into_iter();
        let jobs = jobs.map(|(job, values)| (job, Chooser::new(DailySeries::new(first, values))));
        Some(Self { first, last, jobs: jobs.collect() })
    }

    /// The place of the first day that is not known.
    pub(super) fn origin(&self) -> usize {
        usize::try_from(days_from(self.first, self.last) + 1).unwrap_or(0)
    }

    /// The least and the most that so many days may cost by the simple ways.
    pub(super) fn range(&self, days: usize) -> Option<(f64, f64)> {
        let mut sums = [None; 3];
        for job in self.jobs.values() {
            let ways = job.series().ways(self.origin(), days);
            for (sum, way) in sums.iter_mut().zip(ways) {
                if let Some(way) = way {
                    *sum = Some(sum.map_or(way, |sum: f64| sum + way));
                }
            }
        }
        let bounds = sums.into_iter().flatten().map(|sum| (sum, sum));
        bounds.reduce(|(least, most), (sum, _)| (f64::min(least, sum), f64::max(most, sum)))
    }
}
