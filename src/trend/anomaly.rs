//! Whether the last day was unusual: outside the band of a forecast of one day, and by enough
//! money and enough percent to matter.

use super::backtest::{self, Band};
use super::cents::cents;
use super::change::Change;
use super::dates::{Span, plus_days};
use super::ledger::Ledger;
use super::series::{Chooser, DailySeries, JobSeries};
use crate::domain::{Money, WorkloadDay};
use jiff::civil::Date;
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::collections::BTreeMap;

/// How much must change to be worth a message. The defaults are those of AWS Cost Anomaly
/// Detection for its summary: $100 and 40%.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnomalyLimits {
    pub amount: Decimal,
    pub percent: Decimal,
}

impl Default for AnomalyLimits {
    fn default() -> Self {
        Self { amount: Decimal::ONE_HUNDRED, percent: Decimal::from(40) }
    }
}

/// A day beside what was expected of it.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluatedDay {
    /// The job and its name; absent of all jobs together.
    pub job: Option<(String, String)>,
    pub expected: Money,
    pub low: Money,
    pub high: Money,
    pub actual: Money,
    pub by: Band,
    /// Whether it is outside the band and beyond both limits.
    pub is_unusual: bool,
}

/// What is said of the last whole day.
#[derive(Debug, Clone, PartialEq)]
pub struct DayReport {
    pub day: Date,
    /// Everything together; absent where the past is too short for a band.
    pub total: Option<EvaluatedDay>,
    /// The jobs that were unusual, the largest difference first, then by job.
    pub jobs: Vec<EvaluatedDay>,
    /// Why it differs from the whole day before it; absent without one.
    pub change: Option<Change>,
    /// The jobs that changed most since then, by name, with by how much.
    pub movers: Vec<(String, Money)>,
}

/// Jobs that are named as causes.
const MOVERS: usize = 3;

/// Judges the last whole day; `None` without one.
pub fn judge_last_day(ledger: &Ledger, limits: AnomalyLimits) -> Option<DayReport> {
    let series = JobSeries::of(ledger, |_| true)?;
    let day = series.last;
    let judge = Judge { ledger, limits, last: series.origin().checked_sub(1)? };
    let names = names(ledger);
    let sums = (0..series.origin()).map(|place| {
        let known = ledger.is_whole(plus_days(series.first, i64::try_from(place).ok()?));
        let costs = series.jobs.values().map(|job| job.series.actual(place, 1).unwrap_or(0.0));
        known.then(|| costs.sum())
    });
    let total = Chooser::new(DailySeries::new(series.first, sums.collect()));
    let jobs = series.jobs.iter().filter_map(|(job, chooser)| {
        let mut judged = judge.day(chooser)?;
        let name = names.get(job).map_or(*job, |row| row.name.as_str());
        judged.job = Some(((*job).to_owned(), name.to_owned()));
        judged.is_unusual.then_some(judged)
    });
    let mut jobs: Vec<EvaluatedDay> = jobs.collect();
    let difference =
        |judged: &EvaluatedDay| (judged.actual.amount() - judged.expected.amount()).abs();
    jobs.sort_by(|left, right| {
        difference(right).cmp(&difference(left)).then_with(|| left.job.cmp(&right.job))
    });
    let mut earlier = ledger.days().map(|(day, _)| day).rev();
    let before = earlier.find(|other| *other < day && ledger.is_whole(*other));
    Some(DayReport {
        day,
        total: judge.day(&total),
        jobs,
        change: before
            .and_then(|before| Change::between(ledger, Span::of_day(before), Span::of_day(day))),
        movers: before.map_or_else(Vec::new, |before| movers(ledger, before, day)),
    })
}

/// The newest row of each job, which has its name.
fn names(ledger: &Ledger) -> BTreeMap<&str, &WorkloadDay> {
    ledger.rows().iter().map(|row| (row.job.as_str(), row)).collect()
}

struct Judge<'a> {
    ledger: &'a Ledger,
    limits: AnomalyLimits,
    /// The place of the judged day.
    last: usize,
}

impl Judge<'_> {
    /// `None` where the past is too short.
    fn day(&self, chooser: &Chooser) -> Option<EvaluatedDay> {
        let by = backtest::band(&backtest::origins(&[chooser], 1), 1, self.last)?;
        let expected = chooser.forecast(self.last, 1)?;
        let actual = chooser.series.actual(self.last, 1)?;
        let money = |value: f64| Some(self.ledger.money(cents(Decimal::from_f64(value)?)));
        let (low, high) = (money(expected * by.low)?, money(expected * by.high)?);
        let (expected, actual) = (money(expected)?, money(actual)?);
        let apart = (actual.amount() - expected.amount()).abs();
        let is_outside = actual.amount() < low.amount() || actual.amount() > high.amount();
        let needed = self.limits.percent * expected.amount().abs();
        Some(EvaluatedDay {
            job: None,
            is_unusual: is_outside
                && apart >= self.limits.amount
                && apart * Decimal::ONE_HUNDRED >= needed,
            expected,
            low,
            high,
            actual,
            by,
        })
    }
}

/// The jobs whose cost differs most between two days, in cents.
fn movers(ledger: &Ledger, before: Date, after: Date) -> Vec<(String, Money)> {
    let mut jobs: BTreeMap<&str, (&str, Decimal)> = BTreeMap::new();
    for (day, sign) in [(before, Decimal::NEGATIVE_ONE), (after, Decimal::ONE)] {
        for row in ledger.rows_on(day) {
            let job = jobs.entry(row.job.as_str()).or_default();
            job.0 = row.name.as_str();
            job.1 += sign * ledger.amount(row.effective).unwrap_or_default();
        }
    }
    let mut jobs: Vec<(&str, Decimal)> = jobs.into_values().collect();
    jobs.retain(|(_, moved)| !cents(*moved).is_zero());
    jobs.sort_by(|left, right| right.1.abs().cmp(&left.1.abs()).then_with(|| left.0.cmp(right.0)));
    jobs.truncate(MOVERS);
    jobs.into_iter().map(|(name, moved)| (name.to_owned(), ledger.money(cents(moved)))).collect()
}
