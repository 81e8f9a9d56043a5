//! What a type costs today at the public price, beside what it cost when an action was
//! advised: a price cut of the cloud is not a saving of an action.

use crate::domain::{CostKind, DatedPrice, RecordedAction, WorkloadDay};
use crate::trend::Ledger;
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Today's public on-demand price of a type in a region, of a price list; `None` where it has
/// none.
pub type PriceToday<'a> = &'a dyn Fn(&str, &str) -> Option<DatedPrice>;

/// Public prices of a job, per hour of one instance.
type Days = BTreeMap<Date, Decimal>;

/// Public prices by region, type and job, as the days of a history had them.
pub(super) struct PastPrices<'a> {
    by_type: ByType<'a>,
    /// The same of what an hour on demand costs after negotiated discounts.
    negotiated: ByType<'a>,
    today: PriceToday<'a>,
}

/// Prices by region and type, and then by job.
type ByType<'a> = BTreeMap<(&'a str, &'a str), BTreeMap<&'a str, Days>>;

impl<'a> PastPrices<'a> {
    pub(super) fn of(ledger: &'a Ledger, today: PriceToday<'a>) -> Self {
        Self {
            by_type: by_type(ledger, price_of),
            negotiated: by_type(ledger, negotiated_of),
            today,
        }
    }

    /// What an hour of the baseline would cost on demand on a day, after negotiated discounts:
    /// by the job itself, else by how another job of the type and region changed since.
    /// `None` where neither tells.
    pub(super) fn on_demand(
        &self,
        action: &RecordedAction,
        since: Date,
        day: Date,
    ) -> Option<Decimal> {
        let key = (action.region.as_str(), action.baseline.instance_type.as_str());
        let jobs = self.negotiated.get(&key)?;
        let own = jobs.get(action.job.as_str())?;
        if let Some(today) = own.get(&day) {
            return Some(*today);
        }
        let then = |days: &Days| days.range(..=since).next_back().map(|(_, price)| *price);
        let changed = jobs.values().find_map(|days| days.get(&day)?.checked_div(then(days)?))?;
        then(own)?.checked_mul(changed)
    }

    /// Today's price over that of the baseline, for a day: by the job itself, by another job
    /// of the same type and region that ran on both days, by one that pays the price of the
    /// baseline, or by the list. `None` where none of them tells.
    pub(super) fn ratio(&self, action: &RecordedAction, since: Date, day: Date) -> Option<Decimal> {
        let (baseline, seen_on) = {
            let price = action.baseline.price.as_ref()?;
            (price.hourly, price.seen_on)
        };
        let instance_type = action.baseline.instance_type.as_str();
        let key = (action.region.as_str(), instance_type);
        let old = baseline.amount();
        if let Some(jobs) = self.by_type.get(&key) {
            let on_day = |days: &Days| days.get(&day).copied();
            let own = jobs.get(action.job.as_str()).and_then(on_day);
            if let Some(own) = own {
                return own.checked_div(old);
            }
            let both = jobs.values().find_map(|days| {
                let then = days.range(..=since).next_back()?.1;
                on_day(days)?.checked_div(*then)
            });
            if both.is_some() {
                return both;
            }
            if jobs.values().filter_map(on_day).any(|price| price == old) {
                return Some(Decimal::ONE);
            }
        }
        let listed = (self.today)(&action.region, instance_type)?;
        if listed.hourly.currency() != baseline.currency() {
            return None;
        }
        // A list does not know the operating system of a machine that is gone. Of Linux, the
        // least expensive one, it claims too little at most.
        let is_old = |day: Date| listed.effective_date.is_none_or(|from| from <= day);
        if is_old(seen_on) || !is_old(day) {
            return Some(Decimal::ONE);
        }
        listed.hourly.amount().checked_div(old)
    }
}

fn by_type(ledger: &Ledger, hourly: fn(&Ledger, &WorkloadDay) -> Option<Decimal>) -> ByType<'_> {
    let mut by_type = ByType::new();
    for row in ledger.rows() {
        let Some(hourly) = hourly(ledger, row) else { continue };
        let key = (row.region.as_str(), row.instance_type.as_str());
        let days = by_type.entry(key).or_default().entry(row.job.as_str()).or_default();
        days.insert(row.day, hourly);
    }
    by_type
}

fn negotiated_of(ledger: &Ledger, row: &WorkloadDay) -> Option<Decimal> {
    let hourly = ledger.amount(row.contracted)?.checked_div(row.hours)?;
    (row.kind == CostKind::Compute && hourly > Decimal::ZERO).then_some(hourly)
}

fn price_of(ledger: &Ledger, row: &WorkloadDay) -> Option<Decimal> {
    let price = row.price.as_ref()?;
    let is_own = price.hourly.currency() == ledger.currency();
    is_own.then(|| price.hourly.amount())
}
