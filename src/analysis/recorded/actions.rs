//! The actions of a plan, with how their workloads ran when they were advised.

use super::facts::{DayFacts, kept, kept_money};
use super::parts::{gpus_per_instance, of_day};
use super::rows::currency_of;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    Action, ActionBaseline, CostKind, Money, RecordedAction, Workload, WorkloadDay, action_id,
};
use jiff::civil::Date;
use rust_decimal::Decimal;

const HOURS_OF_A_DAY: Decimal = Decimal::from_parts(24, 0, 0, false, 0);

/// Every action of the plan, in the order of the audit. The baseline is that of the days that
/// were over, or of now where none was.
pub(super) fn of_plan(
    audit: &Audit,
    facts: &DayFacts,
    hours_per_month: Decimal,
) -> Vec<RecordedAction> {
    let workloads = audit.workloads.iter();
    workloads
        .flat_map(|audited| {
            let baseline = baseline(audited, facts, hours_per_month);
            let (workload, key) = (&audited.workload, &audited.workload.key);
            let (id, job) = (workload.id(), key.job());
            audited.actions.iter().filter_map(move |action| {
                let names = [&key.account, &key.region, &id, &job, &workload.name];
                Some(recorded(action, names.map(String::as_str), baseline.clone()?, audit))
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
fn baseline(
    audited: &AuditedWorkload,
    facts: &DayFacts,
    hours_per_month: Decimal,
) -> Option<ActionBaseline> {
    let workload = &audited.workload;
    if !workload.key.running {
        return of_storage(workload, hours_per_month);
    }
    let cost = workload.cost.as_ref()?;
    let currency = currency_of(workload);
    let days = facts.days();
    let sums = days.iter();
    let sums = sums.flat_map(|day: &Date| of_day(workload, facts, *day, currency).into_values());
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
            let daily = (monthly * HOURS_OF_A_DAY).checked_div(hours_per_month)?;
            (daily, cost.per_instance())
        }
    };
    let members = workload.members.iter();
    let mut prices = members.filter_map(|member| facts.of_instance(&member.id)?.list);
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
pub(super) fn of_unused(audit: &Audit, rows: &[WorkloadDay]) -> Vec<RecordedAction> {
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
