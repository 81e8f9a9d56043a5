//! What is kept of an audit for later: what each workload cost on each day that was over, what the
//! plan advised, with how its workloads ran then, and what the run could see.

mod expectation;
mod facts;
mod rows;

pub use expectation::{RecordedExpectation, TooManyHours};
pub use facts::DayFacts;
pub use rows::{DayCost, day_costs};

use self::facts::{kept, kept_money};
use self::rows::{HOURS_OF_A_DAY, Rows, currency_of, gpus_per_instance, of_day};
use crate::analysis::Audit;
use crate::domain::{
    Action, ActionBaseline, CostKind, Fnv, Hidden, InstanceHour, Money, PastGap, RecordedAction,
    RecordedRun, Workload, WorkloadDay, action_id, hidden,
};
use crate::savings::term_totals;
use jiff::civil::Date;
use jiff::tz::TimeZone;
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
        let past = audit.past();
        let scope = scope_of(audit);
        let run_id = format!("{}-{scope}", audit.as_of.strftime("%Y%m%dT%H%M%SZ"));
        let shared = Rows { audit, facts, hours_per_month, run_id: &run_id };
        let rows = shared.of(&facts.days);
        let mut actions = of_plan(&shared);
        actions.extend(of_unused(audit, &rows));
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
            days: facts.days.clone(),
            totals: past.totals,
            promises: Some(term_totals(&audit.purchases)),
            gaps_count: audit.gaps.len() as u64,
            unread: past.gaps.into_iter().filter(hides).collect(),
            gpucost_version: env!("CARGO_PKG_VERSION").to_owned(),
            prices_seen_on: audit.prices.oldest_seen_on(),
        };
        Self { run, rows, actions, hours: facts.hours.clone() }
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

/// Every action of the plan, in the order of the audit. The baseline is that of the days that
/// were over, or of now where none was.
fn of_plan(shared: &Rows<'_>) -> Vec<RecordedAction> {
    let workloads = shared.audit.workloads.iter();
    workloads
        .flat_map(|audited| {
            let baseline = baseline(&audited.workload, shared);
            let (workload, key) = (&audited.workload, &audited.workload.key);
            let (id, job) = (workload.id(), key.job());
            audited.actions.iter().filter_map(move |action| {
                let names = [&key.account, &key.region, &id, &job, &workload.name];
                Some(recorded(action, names.map(String::as_str), baseline.clone()?, shared.audit))
            })
        })
        .collect()
}

/// An action on what has an account, a region, an id, a job and a name.
fn recorded(
    action: &Action,
    [account, region, id, job, name]: [&str; 5],
    baseline: ActionBaseline,
    audit: &Audit,
) -> RecordedAction {
    RecordedAction {
        action_id: action_id(id, action.kind(), action.target()),
        account: account.to_owned(),
        region: region.to_owned(),
        job: job.to_owned(),
        workload: id.to_owned(),
        name: name.to_owned(),
        kind: action.kind(),
        target: action.target().cloned(),
        expected_monthly: action.monthly_savings(),
        baseline,
        risk: action.risk(),
        first_seen: audit.as_of,
        last_seen: audit.as_of,
    }
}

/// How a workload runs; absent of one without a price.
fn baseline(workload: &Workload, shared: &Rows<'_>) -> Option<ActionBaseline> {
    if !workload.key.running {
        return of_storage(workload, shared.hours_per_month);
    }
    let cost = workload.cost.as_ref()?;
    let currency = currency_of(workload);
    let days = &shared.facts.days;
    let sums =
        days.iter().flat_map(|day| of_day(workload, shared.facts, *day, currency).into_values());
    let (mut hours, mut effective) = (Decimal::ZERO, Decimal::ZERO);
    for sum in sums {
        hours += sum.hours;
        effective += sum.effective?;
    }
    let daily = hours.checked_div(Decimal::from(days.len()));
    let (hours_daily, hourly) = match daily.filter(|daily| !daily.is_zero()) {
        Some(daily) => (daily, effective.checked_div(hours)?),
        None => {
            let monthly: Decimal =
                cost.instances.iter().map(|instance| instance.monthly_hours).sum();
            let daily = (monthly * HOURS_OF_A_DAY).checked_div(shared.hours_per_month)?;
            (daily, cost.per_instance())
        }
    };
    let members = workload.members.iter();
    let mut prices = members.filter_map(|member| shared.facts.instances.get(&member.id)?.list);
    Some(ActionBaseline {
        instance_type: workload.key.instance_type.clone(),
        hours_daily: kept(hours_daily),
        gpu_hours_daily: gpus_per_instance(workload).map(|gpus| kept(hours_daily * gpus)),
        effective_hourly: kept_money(hourly, currency),
        price: prices.find(|price| price.hourly.currency() == currency),
    })
}

/// Of volumes and addresses, which are there all day.
fn of_storage(workload: &Workload, hours_per_month: Decimal) -> Option<ActionBaseline> {
    let monthly: Money = workload.idle_storage.monthly?;
    let hourly = monthly.amount().checked_div(hours_per_month)?;
    Some(ActionBaseline {
        instance_type: workload.key.instance_type.clone(),
        hours_daily: HOURS_OF_A_DAY,
        gpu_hours_daily: None,
        effective_hourly: kept_money(hourly, monthly.currency()),
        price: None,
    })
}

/// The actions about commitments that are not used, each with the hours of their last row.
fn of_unused(audit: &Audit, rows: &[WorkloadDay]) -> Vec<RecordedAction> {
    let unused = audit.unused.iter();
    unused
        .flat_map(|commitment| {
            let mut own = rows.iter().rev();
            let last =
                own.find(|row| row.kind == CostKind::Unused && row.workload == commitment.id);
            commitment.actions.iter().filter_map(move |action| {
                let last = last?;
                let effective = last.effective?;
                let hourly = effective.amount().checked_div(last.hours)?;
                let baseline = ActionBaseline {
                    instance_type: String::new(),
                    hours_daily: last.hours,
                    gpu_hours_daily: None,
                    effective_hourly: kept_money(hourly, effective.currency()),
                    price: None,
                };
                let id = &commitment.id;
                let names = [&last.account, &last.region, id, id, &commitment.name];
                Some(recorded(action, names.map(String::as_str), baseline, audit))
            })
        })
        .collect()
}
