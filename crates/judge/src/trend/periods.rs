//! A history by day, week or month, by what it was spent on, how fast its fleet grows, and what
//! the units of work cost that somebody counted on each day.

use super::dates::{Span, Step};
use super::ledger::Ledger;
use super::realised::UnitsByDay;
use super::sums::{Sums, cents};
use crate::domain::{CostKind, DatedUnits, PurchaseOption, UnitCost, WorkUnits, WorkloadDay};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// What a history is broken down by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrendKey {
    /// [`WorkloadDay::job`], so that a workload stays one when its type changes.
    Workload,
    Account,
    InstanceType,
    /// The value of a tag.
    Tag(String),
}

impl TrendKey {
    /// The key of a row; empty for one without, such as an untagged workload.
    pub fn of<'a>(&self, row: &'a WorkloadDay) -> &'a str {
        match self {
            Self::Workload => &row.job,
            Self::Account => &row.account,
            Self::InstanceType => &row.instance_type,
            Self::Tag(key) => row.tags.get(key).map_or("", String::as_str),
        }
    }
}

/// A step of a trend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// Its days, within those of the history.
    pub span: Span,
    /// Days that were recorded, and those among them with something that was not read.
    pub recorded_days: u32,
    pub partial_days: u32,
    pub sums: Sums,
}

impl Period {
    /// Days without a record: what they cost is unknown and not in the sums.
    pub fn missing_days(&self) -> u32 {
        self.span.days().saturating_sub(self.recorded_days)
    }
}

/// A history step by step, from a day on. Steps without any recorded day are left out.
pub fn by_step(ledger: &Ledger, step: Step, since: Option<Date>) -> Vec<Period> {
    let (Some(first), Some(last)) = (ledger.first_day(), ledger.last_day()) else {
        return Vec::new();
    };
    let first = since.map_or(first, |since| since.max(first));
    let mut periods: BTreeMap<Date, Period> = BTreeMap::new();
    for (day, read) in ledger.days().filter(|(day, _)| *day >= first) {
        let whole = step.around(day);
        let period = periods.entry(whole.first).or_insert_with(|| Period {
            span: Span { first: whole.first.max(first), last: whole.last.min(last) },
            recorded_days: 0,
            partial_days: 0,
            sums: Sums::default(),
        });
        period.recorded_days += 1;
        period.partial_days += u32::from(!read.missing.is_empty());
        for row in ledger.rows_on(day) {
            period.sums.add(ledger, row);
        }
    }
    periods.into_values().collect()
}

/// What one key of a breakdown was spent on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The key as [`TrendKey::of`] has it.
    pub key: String,
    /// Its newest name for people; the key itself but of workloads.
    pub name: String,
    pub sums: Sums,
}

/// A history by key over some days, the most expensive first, then by key.
pub fn shares(ledger: &Ledger, key: &TrendKey, span: Span) -> Vec<Share> {
    let mut shares: BTreeMap<&str, Share> = BTreeMap::new();
    let inside = ledger.rows.iter().filter(|row| span.holds(row.day));
    for row in inside {
        let own = key.of(row);
        let share = shares.entry(own).or_insert_with(|| Share {
            key: own.to_owned(),
            name: own.to_owned(),
            sums: Sums::default(),
        });
        if *key == TrendKey::Workload && share.name != row.name {
            share.name.clone_from(&row.name);
        }
        share.sums.add(ledger, row);
    }
    let mut shares: Vec<Share> = shares.into_values().collect();
    shares.sort_by(|left, right| {
        right.sums.spend.cmp(&left.sums.spend).then_with(|| left.key.cmp(&right.key))
    });
    shares
}

/// The growth of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonthlyGrowth {
    /// A share such as 0.03, to four decimals.
    pub share: Decimal,
    pub before: Span,
    pub after: Span,
}

/// Days of a month.
const MONTH_DAYS: u32 = 30;
/// Whole days that each of the two months must have.
const LEAST_DAYS: usize = 20;

/// GPU hours of a mean whole day of the last thirty days, over those of the thirty days before
/// them, less one: of the hours that a commitment may cover. `None` where one of the months
/// has fewer than twenty whole days, and where nothing ran in the first.
pub fn monthly_growth(ledger: &Ledger) -> Option<MonthlyGrowth> {
    let after = Span::ending(ledger.last_whole_day()?, MONTH_DAYS);
    let before = after.before();
    let share = mean_day(ledger, after)?.checked_div(mean_day(ledger, before)?)?;
    Some(MonthlyGrowth { share: (share - Decimal::ONE).round_dp(4), before, after })
}

fn mean_day(ledger: &Ledger, span: Span) -> Option<Decimal> {
    let days: Vec<_> = ledger.whole_days(span).map(|(day, _)| day).collect();
    if days.len() < LEAST_DAYS {
        return None;
    }
    let eligible = days.iter().flat_map(|day| ledger.rows_on(*day)).filter(|row| {
        row.kind == CostKind::Compute
            && matches!(
                row.option,
                PurchaseOption::OnDemand | PurchaseOption::Reserved | PurchaseOption::SavingsPlan
            )
    });
    eligible.filter_map(|row| row.gpu_hours).sum::<Decimal>().checked_div(Decimal::from(days.len()))
}

/// What the units of one kind cost in one month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitMonth {
    /// Its first day.
    pub month: Date,
    /// Days on which units were counted and the whole cost is known.
    pub days: u32,
    /// Units and cost of those days.
    pub cost: UnitCost,
}

/// Units that no workload of a history has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no workload in the history is called `{name}`")]
pub struct UnknownUnits {
    pub name: String,
    /// Names of workloads.
    pub known: Vec<String>,
}

/// The cost of units by month, in order of name, unit and month. Days without units, and
/// those on which a part of the cost is unknown, count on neither side.
///
/// # Errors
/// With the first name that is neither name, job nor id of a workload.
pub fn unit_months(ledger: &Ledger, units: &[DatedUnits]) -> Result<Vec<UnitMonth>, UnknownUnits> {
    let mut months: BTreeMap<(&str, &str, Date), UnitMonth> = BTreeMap::new();
    let known: BTreeSet<&str> = names(ledger).collect();
    for day_units in units {
        let WorkUnits { name, unit, count, .. } = &day_units.units;
        if !known.contains(name.as_str()) {
            return Err(UnknownUnits { name: name.clone(), known: people_names(ledger) });
        }
        let Some(cost) = cost_on(ledger, name, day_units.day) else { continue };
        let first = Step::Month.around(day_units.day).first;
        let month =
            months.entry((name.as_str(), unit.as_str(), first)).or_insert_with(|| UnitMonth {
                month: first,
                days: 0,
                cost: UnitCost {
                    name: name.clone(),
                    unit: unit.clone(),
                    count: Decimal::ZERO,
                    cost: Some(ledger.money(Decimal::ZERO)),
                },
            });
        month.days += 1;
        month.cost.count += *count;
        let sum = month.cost.cost.map_or(cost, |sum| sum.amount() + cost);
        month.cost.cost = Some(ledger.money(sum));
    }
    let mut months: Vec<UnitMonth> = months.into_values().collect();
    for month in &mut months {
        month.cost.cost = month.cost.cost.map(|cost| ledger.money(cents(cost.amount())));
    }
    Ok(months)
}

/// The names of workloads for people, each once.
fn people_names(ledger: &Ledger) -> Vec<String> {
    let names: BTreeSet<&str> = ledger.rows.iter().map(|row| row.name.as_str()).collect();
    names.into_iter().map(str::to_owned).collect()
}

fn names(ledger: &Ledger) -> impl Iterator<Item = &str> {
    ledger.rows.iter().flat_map(|row| [&row.name, &row.job, &row.workload].map(String::as_str))
}

fn is_called(row: &WorkloadDay, name: &str) -> bool {
    row.name == name || row.job == name || row.workload == name
}

/// What everything with a name cost on a whole day; `None` where a part is unknown.
fn cost_on(ledger: &Ledger, name: &str, day: Date) -> Option<Decimal> {
    if ledger.day(day)?.missing.iter().any(|row| is_called(row, name)) {
        return None;
    }
    let own = ledger.rows_on(day).iter().filter(|row| is_called(row, name));
    own.map(|row| ledger.amount(row.effective)).sum()
}

/// Units by job, for comparing what a job cost before an action and after it. Of several
/// kinds of units of a job the first by name counts.
pub fn units_by_job(ledger: &Ledger, units: &[DatedUnits]) -> UnitsByDay {
    let mut jobs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in &ledger.rows {
        for name in [&row.name, &row.job, &row.workload] {
            jobs.entry(name).or_default().insert(&row.job);
        }
    }
    let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
    for day_units in units {
        let kind = kinds.entry(&day_units.units.name).or_insert(&day_units.units.unit);
        *kind = (*kind).min(day_units.units.unit.as_str());
    }
    let mut by_day = UnitsByDay::new();
    for day_units in units {
        let WorkUnits { name, unit, count, .. } = &day_units.units;
        let own = jobs.get(name.as_str()).into_iter().flatten();
        // Several jobs of one name share their units, and none of them has its own.
        let mut own = own.copied();
        if let (Some(job), None) = (own.next(), own.next())
            && kinds.get(name.as_str()) == Some(&unit.as_str())
        {
            by_day.entry(job.to_owned()).or_default().insert(day_units.day, *count);
        }
    }
    by_day
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trend::lab::{day, decimal, ledger, paid, row};

    fn grown(nights: i64) -> Vec<WorkloadDay> {
        let hours = |number: i64| if number < nights - 30 { "40" } else { "42" };
        (0..nights).map(|number| row(number, "a", hours(number), "40")).collect()
    }

    #[test]
    fn two_more_hours_of_forty_are_five_percent() {
        let growth = monthly_growth(&ledger(60, grown(60))).expect("two months");
        assert_eq!(growth.share, decimal("0.05"));
        assert_eq!((growth.before.first, growth.after.last), (day(0), day(59)));
        // Spot is not committed to.
        let mut rows = grown(60);
        rows.extend((30..60).map(|number| paid(row(number, "s", "99", "9"), PurchaseOption::Spot)));
        assert_eq!(monthly_growth(&ledger(60, rows)).expect("two months").share, decimal("0.05"));
    }

    #[test]
    fn a_short_history_has_no_growth() {
        assert!(monthly_growth(&ledger(49, grown(49))).is_none());
        assert!(monthly_growth(&ledger(50, grown(50))).is_some());
        assert!(monthly_growth(&ledger(60, Vec::new())).is_none());
    }
}
