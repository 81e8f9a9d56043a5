//! The rows of a history that count: each job's day once, of days that were over.

use super::dates::{Span, date_of, days_from, plus_days};
use super::missing::{self, DayRead};
use crate::domain::{CostSource, Currency, Money, RecordedRun, WorkloadDay, latest_believed};
use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Days from the last recorded one until now, of a recorder that missed a weekend.
const LATE_DAYS: i64 = 4;
/// The most that a day of a workload costs, or has of hours: beyond it, sums of years and
/// fleets would overflow exact decimals.
const MOST: Decimal = Decimal::from_parts(1_410_065_408, 2, 0, false, 0);

/// The rows that count, in one currency, and what was read of each day.
#[derive(Debug, Clone, PartialEq)]
pub struct Ledger {
    pub currency: Currency,
    /// Every row that counts, ascending by day, then by account, region, job and the rest.
    pub rows: Vec<WorkloadDay>,
    days: BTreeMap<Date, DayRead>,
    /// The day on which the history is read.
    today: Date,
    /// What does not count.
    pub skipped: SkippedRows,
}

/// What does not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkippedRows {
    /// Rows in every other currency, by its code.
    pub other_currencies: BTreeMap<&'static str, u64>,
    /// Runs of a clock that was more than a day ahead.
    pub runs_ahead: u64,
    /// Rows of a run that was not kept, or of a day that was not over when it was read.
    pub rows_without_run: u64,
    /// Rows with figures that no day has.
    pub rows_beyond: u64,
}

impl Ledger {
    /// The rows that count in the currency that most of them have.
    pub fn of(rows: Vec<WorkloadDay>, runs: &[RecordedRun], now: Timestamp) -> Self {
        let mut counts: BTreeMap<Currency, u64> = BTreeMap::new();
        for currency in rows.iter().filter_map(currency_of) {
            *counts.entry(currency).or_default() += 1;
        }
        // Of equals the first.
        let most = counts.iter().rev().max_by_key(|(_, rows)| **rows);
        Self::in_currency(rows, runs, now, most.map_or(Currency::Usd, |(currency, _)| *currency))
    }

    /// The rows that count in one currency. Of runs with the same scope the newest says what
    /// a day was; of several scopes with the same job the one with a bill, else one that no tag
    /// limits, else the newest.
    pub fn in_currency(
        rows: Vec<WorkloadDay>,
        runs: &[RecordedRun],
        now: Timestamp,
        currency: Currency,
    ) -> Self {
        let limit = latest_believed(now);
        let ahead = runs.iter().filter(|run| run.as_of > limit);
        let mut skipped =
            SkippedRows { runs_ahead: ahead.count() as u64, ..SkippedRows::default() };
        let runs: Vec<&RecordedRun> = runs.iter().filter(|run| run.as_of <= limit).collect();
        let newest = newest_by_scope(&runs);
        let mut rows = in_bounds(rows, &runs, &newest, &mut skipped);
        once_per_job(&mut rows, &runs);
        rows.retain(|row| match currency_of(row) {
            Some(other) if other != currency => {
                *skipped.other_currencies.entry(other.code()).or_default() += 1;
                false
            }
            _ => true,
        });
        rows.sort_by(|left, right| order(left).cmp(&order(right)));
        let mut days: BTreeMap<Date, DayRead> = BTreeMap::new();
        for ((day, _), run) in &newest {
            days.entry(*day).or_default().add(run);
        }
        missing::mark(&mut days, &rows);
        Self { currency, rows, days, today: date_of(now), skipped }
    }

    /// The same with some of its rows alone.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&WorkloadDay) -> bool) -> Self {
        let mut days = self.days.clone();
        for read in days.values_mut() {
            read.missing.retain(|row| keep(row));
        }
        let rows = self.rows.iter().filter(|row| keep(row)).cloned();
        Self {
            currency: self.currency,
            rows: rows.collect(),
            days,
            today: self.today,
            skipped: self.skipped.clone(),
        }
    }

    /// The same as it was known when a day was the last.
    #[must_use]
    pub fn until(&self, last: Date) -> Self {
        let days = self.days.range(..=last);
        Self {
            currency: self.currency,
            rows: self.rows[..self.place_of(plus_days(last, 1))].to_vec(),
            days: days.map(|(day, read)| (*day, read.clone())).collect(),
            today: plus_days(last, 1),
            skipped: self.skipped.clone(),
        }
    }

    /// The rows of one day.
    pub fn rows_on(&self, day: Date) -> &[WorkloadDay] {
        let end = self.rows.partition_point(|row| row.day <= day);
        &self.rows[self.place_of(day).min(end)..end]
    }

    fn place_of(&self, day: Date) -> usize {
        self.rows.partition_point(|row| row.day < day)
    }

    /// Every recorded day, with what was read of it.
    pub fn days(&self) -> impl DoubleEndedIterator<Item = (Date, &DayRead)> {
        self.days.iter().map(|(day, read)| (*day, read))
    }

    /// Days that were recorded whole, with what was read of them.
    pub(super) fn whole_days(&self, span: Span) -> impl Iterator<Item = (Date, &DayRead)> {
        let days = self.days().filter(move |(day, _)| span.holds(*day));
        days.filter(|(_, read)| read.missing.is_empty())
    }

    /// What was read of a day; `None` of one that no run recorded.
    pub fn day(&self, day: Date) -> Option<&DayRead> {
        self.days.get(&day)
    }

    /// Whether a day was recorded, with everything that ran on the days beside it.
    pub fn is_whole(&self, day: Date) -> bool {
        self.day(day).is_some_and(|read| read.missing.is_empty())
    }

    /// Whether a day of this history would have the job of a row, had it run.
    pub(super) fn reads(&self, read: &DayRead, row: &WorkloadDay) -> bool {
        read.reads(row, self.day(row.day).map_or(&[], |own| own.filters_of(row)))
    }

    pub fn first_day(&self) -> Option<Date> {
        self.days.keys().next().copied()
    }

    /// The last day that was recorded, whole or not.
    pub fn last_day(&self) -> Option<Date> {
        self.days.keys().next_back().copied()
    }

    /// The last day that was recorded, where more days after it are over than a recorder that
    /// runs is late.
    pub fn ended_on(&self) -> Option<Date> {
        let last = self.last_day()?;
        let is_late = days_from(last, self.today) > LATE_DAYS;
        is_late.then_some(last)
    }

    /// The last day that was recorded whole.
    pub fn last_whole_day(&self) -> Option<Date> {
        self.days.iter().rev().find(|(_, read)| read.missing.is_empty()).map(|(day, _)| *day)
    }

    /// An amount of this history.
    pub fn money(&self, amount: Decimal) -> Money {
        Money::new(amount, self.currency)
    }

    /// An amount of a row as a number; absent in another currency.
    pub(super) fn amount(&self, amount: Option<Money>) -> Option<Decimal> {
        amount.filter(|amount| amount.currency() == self.currency).map(Money::amount)
    }
}

/// The currency of a row; absent of one without an amount.
fn currency_of(row: &WorkloadDay) -> Option<Currency> {
    row.effective.or(row.contracted).or(row.list).map(Money::currency)
}

fn order(row: &WorkloadDay) -> impl Ord + '_ {
    (
        row.day,
        [&row.account, &row.region, &row.job, &row.workload],
        row.kind,
        row.option,
        row.commitment.as_deref(),
    )
}

/// The newest run of each scope that recorded a day after it was over.
fn newest_by_scope<'a>(runs: &[&'a RecordedRun]) -> BTreeMap<(Date, &'a str), &'a RecordedRun> {
    let mut newest: BTreeMap<(Date, &str), &RecordedRun> = BTreeMap::new();
    for run in runs.iter().copied() {
        let today = date_of(run.as_of);
        for day in run.days.iter().filter(|day| **day < today) {
            let known = newest.entry((*day, run.scope.as_str())).or_insert(run);
            if (run.as_of, &run.run_id) > (known.as_of, &known.run_id) {
                *known = run;
            }
        }
    }
    newest
}

/// The rows of those runs, with figures that a day can have.
fn in_bounds(
    rows: Vec<WorkloadDay>,
    runs: &[&RecordedRun],
    newest: &BTreeMap<(Date, &str), &RecordedRun>,
    skipped: &mut SkippedRows,
) -> Vec<WorkloadDay> {
    let by_id: BTreeMap<&str, &RecordedRun> =
        runs.iter().map(|run| (run.run_id.as_str(), *run)).collect();
    let mut kept = Vec::with_capacity(rows.len());
    for row in rows {
        let run = by_id.get(row.run_id.as_str());
        let winner = run.and_then(|run| newest.get(&(row.day, run.scope.as_str())));
        match winner {
            None => skipped.rows_without_run += 1,
            Some(winner) if winner.run_id != row.run_id => {}
            Some(_) if !is_possible(&row) => skipped.rows_beyond += 1,
            Some(_) => kept.push(row),
        }
    }
    kept
}

fn is_possible(row: &WorkloadDay) -> bool {
    let amounts = [row.list, row.contracted, row.effective];
    let amounts = amounts.into_iter().flatten().map(Money::amount);
    let hours = [
        row.gpu_hours, row.gpus_per_instance, row.useful_gpu_hours, row.idle_gpu_hours,
        row.unmeasured_gpu_hours,
    ];
    let mut hours = hours.into_iter().flatten().chain([row.hours]);
    amounts.map(|amount| amount.abs()).all(|amount| amount <= MOST)
        && hours.all(|hour| hour >= Decimal::ZERO && hour <= MOST)
}

/// Which run has the row of a job: one with a bill, then one that no tag limits, because it
/// has all instances of the job, then the newest.
type Rank<'a> = (CostSource, bool, Timestamp, &'a str);

/// Rows of each job of a day from one run: runs of several scopes may have read it.
fn once_per_job(rows: &mut Vec<WorkloadDay>, runs: &[&RecordedRun]) {
    let by_id: BTreeMap<&str, &RecordedRun> =
        runs.iter().map(|run| (run.run_id.as_str(), *run)).collect();
    let rank = |row: &WorkloadDay| -> Rank<'_> {
        let run = by_id.get(row.run_id.as_str());
        (
            row.source,
            run.is_some_and(|run| run.tag_filters.is_empty()),
            run.map_or(Timestamp::MIN, |run| run.as_of),
            run.map_or("", |run| run.run_id.as_str()),
        )
    };
    let mut best: BTreeMap<(Date, [&str; 3]), Rank<'_>> = BTreeMap::new();
    for row in rows.iter() {
        let known = best.entry(day_of_job(row)).or_insert_with(|| rank(row));
        *known = rank(row).max(*known);
    }
    let is_best = |row| best.get(&day_of_job(row)) == Some(&rank(row));
    let mut kept = rows.iter().map(is_best).collect::<Vec<bool>>().into_iter();
    rows.retain(|_| kept.next() == Some(true));
}

fn day_of_job(row: &WorkloadDay) -> (Date, [&str; 3]) {
    (row.day, [&row.account, &row.region, &row.job])
}
