//! What a unit of work cost, month by month, from how many of them somebody counted on
//! each day.

use super::cents::cents;
use super::dates::Step;
use super::ledger::Ledger;
use super::realised::UnitsByDay;
use crate::domain::{DatedUnits, UnitCost, WorkUnits, WorkloadDay};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

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
    let names: BTreeSet<&str> = ledger.rows().iter().map(|row| row.name.as_str()).collect();
    names.into_iter().map(str::to_owned).collect()
}

fn names(ledger: &Ledger) -> impl Iterator<Item = &str> {
    ledger.rows().iter().flat_map(|row| [&row.name, &row.job, &row.workload].map(String::as_str))
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
    for row in ledger.rows() {
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
