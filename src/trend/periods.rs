//! A history by day, week or month, and by what it was spent on.

use super::dates::{Span, Step};
use super::ledger::Ledger;
use super::sums::Sums;
use crate::domain::WorkloadDay;
use jiff::civil::Date;
use std::collections::BTreeMap;

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
    let inside = ledger.rows().iter().filter(|row| span.holds(row.day));
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
        let by_spend = right.sums.spend.cmp(&left.sums.spend);
        by_spend.then_with(|| left.key.cmp(&right.key))
    });
    shares
}
