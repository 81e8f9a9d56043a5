//! Why the spend of two spans differs: usage, mix, prices of the cloud, discounts, what is paid
//! for and does not run, and what was in scope. The parts add up to the cent. Beside it whether
//! the last day was unusual: outside the band of a forecast of one day, and by enough money and
//! enough percent to matter.

use super::dates::{Span, plus_days};
use super::ledger::Ledger;
use super::missing::DayRead;
use super::series::{self, Band, Chooser, DailySeries, JobSeries};
use super::sums::{add_up, cents, share};
use crate::domain::{CostKind, Money, Provider, WorkloadDay, named_enum};
use jiff::civil::Date;
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::collections::{BTreeMap, BTreeSet};

named_enum! {
    /// Why a mean day costs more or less than one before.
    ChangePart {
        /// More or fewer GPU hours, at the mean cost of one before.
        Usage = "usage",
        /// The same number of GPU hours on other types, or in other regions.
        Mix = "mix",
        /// The cloud changed its public prices.
        Price = "price",
        /// Commitments, spot and negotiated discounts took more or less off those prices.
        Rate = "rate",
        /// What is paid for and does not run, and hours of unknown GPUs.
        Other = "other",
        /// Accounts, regions and tags that only one of the spans reads.
        Scope = "scope",
    }
}

/// The spend of a mean day of two spans, and why it differs. All of it is in cents, and
/// `before` and the parts sum to `after`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub before: Money,
    pub after: Money,
    /// In the order of [`ChangePart::ALL`].
    pub parts: [Money; 6],
}

impl Change {
    /// Compares the mean whole days of two spans; `None` where one of them has none, and
    /// where the figures are beyond exact decimals.
    pub fn between(ledger: &Ledger, before: Span, after: Span) -> Option<Self> {
        let left = mean_day(ledger, before, after)?;
        let right = mean_day(ledger, after, before)?;
        let mut parts = compute_parts(&left, &right)?;
        parts[ChangePart::Other as usize] = right.other - left.other;
        parts[ChangePart::Scope as usize] = right.scope - left.scope;
        let (from, to) = (cents(left.total), cents(right.total));
        add_up(&mut parts, to - from);
        Some(Self {
            before: ledger.money(from),
            after: ledger.money(to),
            parts: parts.map(|part| ledger.money(part)),
        })
    }

    /// Every part with what it is.
    pub fn named(&self) -> impl Iterator<Item = (ChangePart, Money)> + use<> {
        ChangePart::ALL.iter().copied().zip(self.parts)
    }

    /// What the later day costs more than the earlier one.
    pub fn total(&self) -> Money {
        Money::new(self.after.amount() - self.before.amount(), self.after.currency())
    }
}

/// Hours of one type in one place.
type CellKey<'a> = (Provider, &'a str, &'a str);

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    gpu_hours: Decimal,
    effective: Decimal,
    list: Decimal,
    /// Whether an hour of it has no public price.
    is_unlisted: bool,
}

/// A mean day of a span.
#[derive(Debug, Default)]
struct MeanDay<'a> {
    total: Decimal,
    cells: BTreeMap<CellKey<'a>, Cell>,
    other: Decimal,
    /// What the other span does not read.
    scope: Decimal,
}

/// The mean day of the whole days of a span, apart from what another span does not read.
fn mean_day(ledger: &Ledger, span: Span, other: Span) -> Option<MeanDay<'_>> {
    let reads: Vec<&DayRead> = ledger.whole_days(other).map(|(_, read)| read).collect();
    let days: Vec<_> = ledger.whole_days(span).map(|(day, _)| day).collect();
    let mut mean = MeanDay::default();
    for row in days.iter().flat_map(|day| ledger.rows_on(*day)) {
        let Some(effective) = ledger.amount(row.effective) else { continue };
        mean.total += effective;
        if reads.iter().any(|read| ledger.reads(read, row)) {
            mean.add(ledger, row, effective);
        } else {
            mean.scope += effective;
        }
    }
    mean.over(Decimal::from(days.len()))
}

impl<'a> MeanDay<'a> {
    fn add(&mut self, ledger: &Ledger, row: &'a WorkloadDay, effective: Decimal) {
        let hours = row.gpu_hours.filter(|hours| *hours > Decimal::ZERO);
        let (CostKind::Compute, Some(hours)) = (row.kind, hours) else {
            self.other += effective;
            return;
        };
        let key = (row.provider, row.region.as_str(), row.instance_type.as_str());
        let cell = self.cells.entry(key).or_default();
        cell.gpu_hours += hours;
        cell.effective += effective;
        match ledger.amount(row.list).filter(|list| *list > Decimal::ZERO) {
            Some(list) => cell.list += list,
            None => cell.is_unlisted = true,
        }
    }

    /// Of sums over so many days their mean.
    fn over(mut self, days: Decimal) -> Option<Self> {
        let mean = |sum: Decimal| sum.checked_div(days);
        for cell in self.cells.values_mut() {
            cell.gpu_hours = mean(cell.gpu_hours)?;
            cell.effective = mean(cell.effective)?;
            cell.list = mean(cell.list)?;
        }
        self.total = mean(self.total)?;
        self.other = mean(self.other)?;
        self.scope = mean(self.scope)?;
        Some(self)
    }

    fn sums(&self) -> (Decimal, Decimal) {
        self.cells.values().fold((Decimal::ZERO, Decimal::ZERO), |(hours, spend), cell| {
            (hours + cell.gpu_hours, spend + cell.effective)
        })
    }
}

/// Usage, mix, price and rate of compute; the rest is left at zero.
fn compute_parts(left: &MeanDay<'_>, right: &MeanDay<'_>) -> Option<[Decimal; 6]> {
    use ChangePart::{Mix, Price, Rate, Usage};
    let ((hours_before, spend_before), (hours_after, spend_after)) = (left.sums(), right.sums());
    let mut parts = [Decimal::ZERO; 6];
    if hours_before.is_zero() {
        parts[Usage as usize] = spend_after;
        return Some(parts);
    }
    // What the earlier mix would cost with the later hours.
    let scaled = |amount: Decimal| share(amount, hours_after, hours_before);
    parts[Usage as usize] = scaled(spend_before)? - spend_before;
    let keys: BTreeSet<&CellKey<'_>> = left.cells.keys().chain(right.cells.keys()).collect();
    for key in keys {
        match (left.cells.get(key), right.cells.get(key)) {
            (Some(old), None) => parts[Mix as usize] -= scaled(old.effective)?,
            (None, Some(new)) => parts[Mix as usize] += new.effective,
            (Some(old), Some(new)) => {
                let at_old_cost = share(old.effective, new.gpu_hours, old.gpu_hours)?;
                parts[Mix as usize] += at_old_cost - scaled(old.effective)?;
                if old.is_unlisted || new.is_unlisted {
                    parts[Rate as usize] += new.effective - at_old_cost;
                    continue;
                }
                let discounted = share(new.list, old.effective, old.list)?;
                parts[Price as usize] += discounted - at_old_cost;
                parts[Rate as usize] += new.effective - discounted;
            }
            (None, None) => {}
        }
    }
    Some(parts)
}

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
    ledger.rows.iter().map(|row| (row.job.as_str(), row)).collect()
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
        let by = series::band(&series::origins(&[chooser], 1), 1, self.last)?;
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
