//! What is kept of an audit for later: what each workload cost on each day that was over, what
//! the plan advised, and what the run could see.

mod actions;
mod expectation;
mod facts;
mod parts;
mod rows;

pub use expectation::{RecordedExpectation, TooManyHours};
pub use facts::DayFacts;
pub use rows::{DayCost, day_costs};

use crate::analysis::Audit;
use crate::domain::{
    Fnv, Hidden, InstanceHour, PastAudit, PastGap, RecordedAction, RecordedRun, WorkloadDay, hidden,
};
use crate::savings::term_totals;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rows::Rows;
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// An audit as it is kept: the run, what each workload cost on each day, and what the plan
/// advised.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredAudit {
    pub run: RecordedRun,
    /// By day.
    pub rows: Vec<WorkloadDay>,
    pub actions: Vec<RecordedAction>,
    /// How instances of EC2 ran, by account, region, instance and hour.
    pub hours: Vec<InstanceHour>,
}

impl StoredAudit {
    /// Of every day of which there are facts.
    pub fn of(audit: &Audit, facts: &DayFacts, hours_per_month: Decimal) -> Self {
        let past = PastAudit::of(audit);
        let scope = scope_of(audit);
        let run_id = format!("{}-{scope}", audit.as_of.strftime("%Y%m%dT%H%M%SZ"));
        let rows = Rows { audit, facts, hours_per_month, run_id: &run_id };
        let rows = rows.of(facts.days());
        let mut actions = actions::of_plan(audit, facts, hours_per_month);
        actions.extend(actions::of_unused(audit, &rows));
        // What any rule of money rests on.
        let hides = |gap: &PastGap| {
            !matches!(hidden(&gap.what, gap.cause), Hidden::Claims | Hidden::Figures | Hidden::Sums)
        };
        let run = RecordedRun {
            run_id,
            as_of: audit.as_of,
            scope,
            source: past.source,
            accounts: past.accounts,
            regions: past.regions,
            tag_filters: past.tag_filters,
            days: facts.days().to_vec(),
            totals: past.totals,
            promises: Some(term_totals(&audit.purchases)),
            gaps_count: audit.gaps.len() as u64,
            unread: past.gaps.into_iter().filter(hides).collect(),
            gpucost_version: env!("CARGO_PKG_VERSION").to_owned(),
            prices_seen_on: audit.prices.oldest_seen_on(),
        };
        Self { run, rows, actions, hours: facts.hours().to_vec() }
    }

    /// Leaves out days that another run has kept.
    pub fn leave_out(&mut self, kept: &BTreeSet<Date>) {
        self.run.days.retain(|day| !kept.contains(day));
        self.rows.retain(|row| !kept.contains(&row.day));
        self.hours.retain(|hour| {
            let day = hour.hour.to_zoned(TimeZone::UTC).date();
            !kept.contains(&day)
        });
    }
}

/// A number for what an audit was about: where from, and which accounts, regions and tags.
fn scope_of(audit: &Audit) -> String {
    let mut number = Fnv::default();
    number.add(audit.source.name());
    for names in [&audit.accounts, &audit.regions] {
        for name in names {
            number.add(name);
        }
        // Where the list ends.
        number.add("");
    }
    for filter in &audit.tag_filters {
        let sign = if filter.is_excluded { "-" } else { "+" };
        for text in [sign, &filter.key, &filter.value] {
            number.add(text);
        }
    }
    number.hex()
}
