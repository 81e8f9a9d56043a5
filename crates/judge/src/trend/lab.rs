//! Histories for tests: nights from 2026-06-01 on, a Monday, each read at 3:00 of the next day.

use super::Ledger;
use super::dates::plus_days;
use crate::domain::{
    ActionBaseline, ActionKind, CostKind, CostSource, Currency, DatedPrice, HourlyRate, Money,
    PastTotals, PriceOrigin, Provider, PurchaseOption, RecordedAction, RecordedRun, Risk, Target,
    WorkloadDay, action_id,
};
use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

pub fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal")
}

pub fn usd(text: &str) -> Money {
    Money::new(decimal(text), Currency::Usd)
}

/// So many days after 2026-06-01.
pub fn day(number: i64) -> Date {
    plus_days(jiff::civil::date(2026, 6, 1), number)
}

/// 3:00 of a day.
pub fn night(number: i64) -> Timestamp {
    let text = format!("{}T03:00:00Z", day(number));
    text.parse().expect("an instant")
}

pub fn price(hourly: &str) -> DatedPrice {
    DatedPrice {
        hourly: HourlyRate::new(decimal(hourly), Currency::Usd).expect("positive"),
        effective_date: None,
        seen_on: day(0),
        origin: PriceOrigin::Bundled,
    }
}

/// Hours of instances with one GPU at $1 on demand, which cost as much as they are stated to,
/// measured and never idle.
pub fn row(number: i64, job: &str, hours: &str, effective: &str) -> WorkloadDay {
    let hours = decimal(hours);
    WorkloadDay {
        run_id: format!("run-{number}"),
        day: day(number),
        provider: Provider::Aws,
        account: "111122223333".to_owned(),
        region: "us-east-1".to_owned(),
        workload: job.to_owned(),
        job: job.to_owned(),
        name: format!("name of {job}"),
        tags: BTreeMap::new(),
        kind: CostKind::Compute,
        instance_type: "g5.xlarge".to_owned(),
        gpus_per_instance: Some(Decimal::ONE),
        option: PurchaseOption::OnDemand,
        commitment: None,
        committed_until: None,
        hours,
        gpu_hours: Some(hours),
        list: Some(Money::new(hours, Currency::Usd)),
        contracted: Some(Money::new(hours, Currency::Usd)),
        effective: Some(usd(effective)),
        useful_gpu_hours: Some(hours),
        idle_gpu_hours: Some(Decimal::ZERO),
        unmeasured_gpu_hours: Some(Decimal::ZERO),
        source: CostSource::Estimate,
        price: Some(price("1")),
    }
}

/// The same on another type with so many GPUs at another price.
pub fn on_type(mut row: WorkloadDay, name: &str, gpus: u32, hourly: &str) -> WorkloadDay {
    row.instance_type = name.to_owned();
    row.gpus_per_instance = Some(Decimal::from(gpus));
    row.gpu_hours = Some(row.hours * Decimal::from(gpus));
    row.useful_gpu_hours = row.gpu_hours;
    row.list = Some(Money::new(row.hours * decimal(hourly), Currency::Usd));
    row.contracted = row.list;
    row.price = Some(price(hourly));
    row
}

/// The same paid for in another way.
pub fn paid(mut row: WorkloadDay, option: PurchaseOption) -> WorkloadDay {
    row.option = option;
    if !matches!(option, PurchaseOption::OnDemand | PurchaseOption::Spot) {
        row.commitment = Some("ri-1".to_owned());
    }
    row
}

/// The run of the night after a day.
pub fn run(number: i64) -> RecordedRun {
    RecordedRun {
        run_id: format!("run-{number}"),
        as_of: night(number + 1),
        scope: "all".to_owned(),
        source: "aws".to_owned(),
        accounts: vec!["111122223333".to_owned()],
        regions: vec!["eu-west-1".to_owned(), "us-east-1".to_owned()],
        tag_filters: Vec::new(),
        days: vec![day(number)],
        totals: PastTotals {
            currency: Currency::Usd,
            instances: 0,
            gpus: 0,
            unpriced_instances: 0,
            monthly_cost: None,
            planned_monthly_cost: None,
            monthly_savings: None,
            monthly_waste: None,
        },
        promises: None,
        gaps_count: 0,
        unread: Vec::new(),
        gpucost_version: "0.1.0".to_owned(),
        prices_seen_on: None,
    }
}

/// The history of so many nights.
pub fn ledger(nights: i64, rows: Vec<WorkloadDay>) -> Ledger {
    let runs: Vec<RecordedRun> = (0..nights).map(run).collect();
    Ledger::of(rows, &runs, night(nights))
}

/// A job that costs the same every day of some nights.
pub fn steady(nights: i64, job: &str, daily: &str) -> Vec<WorkloadDay> {
    (0..nights).map(|day| row(day, job, daily, daily)).collect()
}

/// An action that was advised for a job of [`row`] with so many hours a day, first and last
/// in the night after two days.
pub fn action(
    (kind, target): (ActionKind, Option<(&str, u32)>),
    job: &str,
    hours: &str,
    expected_monthly: &str,
    (first, last): (i64, i64),
) -> RecordedAction {
    let target = target.map(|(name, count)| Target { instance_type: name.to_owned(), count });
    RecordedAction {
        action_id: action_id(job, kind, target.as_ref()),
        account: "111122223333".to_owned(),
        region: "us-east-1".to_owned(),
        workload: job.to_owned(),
        job: job.to_owned(),
        name: format!("name of {job}"),
        kind,
        target,
        expected_monthly: usd(expected_monthly),
        baseline: ActionBaseline {
            instance_type: "g5.xlarge".to_owned(),
            hours_daily: decimal(hours),
            gpu_hours_daily: Some(decimal(hours)),
            effective_hourly: usd("1"),
            price: Some(price("1")),
        },
        risk: Risk::Low,
        first_seen: night(first + 1),
        last_seen: night(last + 1),
    }
}
