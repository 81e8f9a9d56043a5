//! When a smaller type is offered: what its price must be comparable with, and
//! what it may not have more of.

use crate::rules::builder::{A10G_MIB, Machine, as_of, estate, flat, judge};
use crate::rules::fixtures::decimal;
use gpucost::analysis::audit;
use gpucost::domain::{
    Action, ActionKind, Currency, HourlyRate, Lifecycle, Policy, PriceBasis, PriceKey, PriceOption,
    PriceOrigin, PriceQuote, Risk,
};
use gpucost::usage::Estate;
use jiff::civil::{Date, date};

/// A machine that uses its GPU at 12% and fits a g5.xlarge: 1 000 MiB of VRAM,
/// 5% of the vCPUs.
fn small(id: &str, instance_type: &str) -> Machine {
    Machine::new(id, instance_type).cpu(flat(5.0)).gpu(0, flat(12.0)).vram(0, 1_000.0, A10G_MIB)
}

fn spot(id: &str, zone: &str) -> Machine {
    let mut machine = small(id, "g5.4xlarge").tag("gpucost:workload", "renderer");
    machine.instance.lifecycle = Lifecycle::Spot;
    machine.instance.zone = Some(zone.to_owned());
    machine
}

fn quote(hourly: &str, origin: PriceOrigin, effective_date: Date) -> PriceQuote {
    PriceQuote {
        rate: HourlyRate::new(decimal(hourly), Currency::Usd).expect("positive"),
        instalments: None,
        origin,
        basis: PriceBasis::Observed,
        effective_date,
        seen_on: effective_date,
        source: "test".to_owned(),
    }
}

/// Adds a spot price of a zone, as the API gave it on a day.
fn read_on(estate: &mut Estate, (zone, name): (&str, &str), hourly: &str, day: Date) {
    let key = PriceKey::linux_on_demand("us-east-1", name)
        .with_option(PriceOption::Spot)
        .in_zone(Some(zone));
    let quote = quote(hourly, PriceOrigin::Api, day);
    estate.prices.insert(key, quote);
}

fn today() -> Date {
    as_of().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// The move that the plan makes with the only workload.
fn moved(estate: &Estate) -> Option<Action> {
    moved_at(estate, Risk::Medium)
}

fn moved_at(estate: &Estate, accepted: Risk) -> Option<Action> {
    let audit = audit(estate, &Policy::default(), accepted);
    let [only] = audit.workloads.as_slice() else {
        panic!("one workload");
    };
    only.actions.iter().find(|action| action.kind() == ActionKind::Rightsize).cloned()
}

#[test]
fn a_live_spot_price_is_not_compared_with_the_books_average() {
    // 0.80 now, against averages of May for the g5.xlarge and the g5.2xlarge.
    let mut estate = estate(vec![spot("i-1", "us-east-1a")]);
    read_on(&mut estate, ("us-east-1a", "g5.4xlarge"), "0.80", today());
    assert_eq!(moved(&estate), None);
    // Nor with the price of another day, or of another zone.
    let xlarge = ("us-east-1a", "g5.xlarge");
    read_on(&mut estate, xlarge, "0.40", date(2026, 10, 1));
    read_on(&mut estate, ("us-east-1b", "g5.xlarge"), "0.40", today());
    assert_eq!(moved(&estate), None);
}

#[test]
fn spot_prices_of_one_reading_compare_zone_by_zone() {
    // Of undeclared nodes nobody knows whether they talk; a declared batch does not.
    let batch = |id, zone| spot(id, zone).tag("gpucost:kind", "batch");
    let mut estate = estate(vec![
        batch("i-1", "us-east-1a"),
        batch("i-2", "us-east-1b"),
        batch("i-3", "us-east-1b"),
    ]);
    for (zone, name, hourly) in [
        ("us-east-1a", "g5.4xlarge", "0.80"),
        ("us-east-1b", "g5.4xlarge", "0.70"),
        ("us-east-1a", "g5.xlarge", "0.50"),
        ("us-east-1b", "g5.xlarge", "0.45"),
    ] {
        read_on(&mut estate, (zone, name), hourly, today());
    }
    let action = moved(&estate).expect("a move");
    let target = action.target().expect("a type");
    assert_eq!((target.instance_type.as_str(), target.count), ("g5.xlarge", 3));
    // (0.80 + 2 × 0.70 − 0.50 − 2 × 0.45) × 730 = 0.80 × 730.
    assert_eq!(action.monthly_savings().amount(), decimal("584.00"));
}

#[test]
fn the_books_spot_averages_of_one_day_compare() {
    // 0.73632 × 730 = 537.51 less 0.37198 × 730 = 271.55: a g6.xlarge was cheaper
    // in May than a g5.2xlarge at 0.49254, and 12% of an A10G are 24% of an L4.
    let action = moved(&estate(vec![spot("i-1", "us-east-1a")])).expect("a move");
    let target = action.target().expect("a type");
    assert_eq!(target.instance_type, "g6.xlarge");
    assert_eq!(action.monthly_savings().amount(), decimal("265.96"));
}

#[test]
fn a_cheaper_type_with_more_of_everything_is_not_a_right_size() {
    // The g5.xlarge at the catalog's spot average of 0.6086, the g5.2xlarge at
    // 0.49254; the same for a negotiated price on demand.
    let mut machine = spot("i-1", "us-east-1a");
    machine.instance.instance_type = "g5.xlarge".to_owned();
    let bought = estate(vec![machine]);
    assert_eq!(moved_at(&bought, Risk::Low), None);
    // Another GPU model is: 12% of an A10G are 24% of an L4.
    let target = moved(&bought).and_then(|action| Some(action.target()?.instance_type.clone()));
    assert_eq!(target.as_deref(), Some("g6.xlarge"));
    let mut negotiated = estate(vec![small("i-1", "g5.xlarge")]);
    negotiated.prices.insert(
        PriceKey::linux_on_demand("us-east-1", "g5.2xlarge"),
        quote("0.50", PriceOrigin::User, today()),
    );
    assert_eq!(moved_at(&negotiated, Risk::Low), None);
    let target = moved(&negotiated).and_then(|action| Some(action.target()?.instance_type.clone()));
    assert_eq!(target.as_deref(), Some("g6.xlarge"));
}

#[test]
fn host_memory_is_verified_only_where_it_falls() {
    let steps = |machine: Machine| {
        let judged = judge(machine);
        let finding = judged.finding("overprovisioned-gpu").expect("a finding");
        finding.recommendation.steps.join("\n")
    };
    // 64 GiB of a g5.4xlarge, 16 GiB of a g5.xlarge.
    let falls = steps(small("i-1", "g5.4xlarge"));
    assert!(falls.contains("verify host memory: 16 GiB instead of 64 GiB"), "{falls}");
    // A g5.12xlarge has 192 GiB and 48 vCPUs. At 100% they take the 64 vCPUs of
    // a g5.16xlarge, which has 256 GiB and one GPU.
    let rises = (1..4).fold(
        Machine::new("i-1", "g5.12xlarge")
            .cpu(flat(100.0))
            .gpu(0, flat(40.0))
            .vram(0, 1_000.0, A10G_MIB),
        |machine, gpu| machine.gpu(gpu, flat(0.0)).vram(gpu, 3.0, A10G_MIB),
    );
    let rises = steps(rises);
    assert!(rises.contains("check the vCPU quota"), "{rises}");
    assert!(!rises.contains("host memory"), "{rises}");
}
