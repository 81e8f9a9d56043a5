//! Sample audits for the tests of what keeps them.

use crate::domain::{
    ActionBaseline, ActionKind, CauseKind, CostKind, CostSource, Currency, DatedPrice, GapSubject,
    HourlyRate, Money, PastGap, PastTotals, PriceOrigin, Provider, PurchaseOption, RecordedAction,
    RecordedRun, Risk, TagFilter, Target, WorkloadDay,
};
use jiff::Timestamp;
use jiff::civil::date;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// What a future comes to.
pub(super) fn done<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().expect("a time stamp")
}

pub(super) fn usd(text: &str) -> Money {
    Money::new(text.parse().expect("a decimal"), Currency::Usd)
}

/// A run at a time about some days of November 2026.
pub(super) fn run(as_of: &str, scope: &str, days: &[i8]) -> RecordedRun {
    let as_of = at(as_of);
    RecordedRun {
        run_id: format!("{}-{scope}", as_of.strftime("%Y%m%dT%H%M%SZ")),
        as_of,
        scope: scope.to_owned(),
        source: "aws".to_owned(),
        accounts: vec!["111122223333".to_owned()],
        regions: vec!["eu-west-1".to_owned(), "us-east-1".to_owned()],
        tag_filters: vec![TagFilter {
            key: "team".to_owned(),
            value: "a\u{1b}[2J,\"b\"".to_owned(),
            is_excluded: true,
        }],
        days: days.iter().map(|day| date(2026, 11, *day)).collect(),
        totals: PastTotals {
            currency: Currency::Usd,
            instances: 3,
            gpus: 17,
            unpriced_instances: 1,
            monthly_cost: Some(usd("1234.56")),
            planned_monthly_cost: Some(usd("1000")),
            monthly_savings: Some(usd("234.56")),
            monthly_waste: None,
        },
        promises: Some(vec![usd("5575.04"), usd("27537.24")]),
        gaps_count: 2,
        unread: vec![PastGap {
            what: GapSubject::Region,
            place: "ap-south-1".to_owned(),
            cause: Some(CauseKind::CallFailed),
            reason: String::new(),
        }],
        gpucost_version: "0.1.0".to_owned(),
        prices_seen_on: Some(date(2026, 7, 20)),
    }
}

pub(super) fn price(hourly: &str) -> Option<DatedPrice> {
    let hourly = HourlyRate::new(hourly.parse().expect("a decimal"), Currency::Usd);
    Some(DatedPrice {
        hourly: hourly.expect("above zero"),
        effective_date: Some(date(2026, 5, 1)),
        seen_on: date(2026, 7, 20),
        origin: PriceOrigin::Api,
    })
}

/// What a workload cost on a day, as a run says.
pub(super) fn cost(run: &RecordedRun, day: i8, job: &str, effective: &str) -> WorkloadDay {
    let number = |text: &str| Some(text.parse::<Decimal>().expect("a decimal"));
    WorkloadDay {
        run_id: run.run_id.clone(),
        day: date(2026, 11, day),
        provider: Provider::Aws,
        account: "111122223333".to_owned(),
        region: "us-east-1".to_owned(),
        workload: format!("{job}/stopped"),
        job: job.to_owned(),
        name: "näme \u{202e}".to_owned(),
        tags: BTreeMap::from([("team".to_owned(), "=cmd()".to_owned())]),
        kind: CostKind::Compute,
        instance_type: "g5.xlarge".to_owned(),
        gpus_per_instance: number("0.125"),
        option: PurchaseOption::Reserved,
        commitment: Some("ri-1".to_owned()),
        committed_until: Some(date(2027, 2, 9)),
        hours: Decimal::from(24),
        gpu_hours: number("3"),
        list: Some(usd("24.144")),
        contracted: None,
        effective: Some(usd(effective)),
        useful_gpu_hours: number("0.333333"),
        idle_gpu_hours: None,
        unmeasured_gpu_hours: number("0"),
        source: CostSource::Estimate,
        price: price("1.006"),
    }
}

pub(super) fn bare(run: &RecordedRun, day: i8) -> WorkloadDay {
    WorkloadDay {
        kind: CostKind::Unused,
        tags: BTreeMap::new(),
        instance_type: String::new(),
        gpus_per_instance: None,
        commitment: None,
        committed_until: None,
        gpu_hours: None,
        list: None,
        effective: None,
        useful_gpu_hours: None,
        unmeasured_gpu_hours: None,
        price: None,
        ..cost(run, day, "plan", "0")
    }
}

pub(super) fn action(run: &RecordedRun, job: &str, target: Option<Target>) -> RecordedAction {
    RecordedAction {
        action_id: "9fe32031a5cd48fc".to_owned(),
        account: "111122223333".to_owned(),
        region: "us-east-1".to_owned(),
        workload: job.to_owned(),
        job: job.to_owned(),
        name: job.to_owned(),
        kind: ActionKind::Rightsize,
        target,
        expected_monthly: usd("100.50"),
        baseline: ActionBaseline {
            instance_type: "p4d.24xlarge".to_owned(),
            hours_daily: Decimal::from(12),
            gpu_hours_daily: Some(Decimal::from(96)),
            effective_hourly: usd("21.957642"),
            price: price("32.77"),
        },
        risk: Risk::High,
        first_seen: run.as_of,
        last_seen: run.as_of,
    }
}
