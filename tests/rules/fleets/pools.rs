//! A plan pays what it buys: fees and the hours above them, on the hours that today's
//! cost is of; by operating system and tenancy; beside plans whose rates are known and
//! those whose rates are not.

use super::{
    HELD_MIB, WORKS, assert_totals, bought, box_in, early_half, fees, has_gap, idle, kinds,
    late_half, of_type, stopped_for, tagged, windows, working, young,
};
use crate::rules::builder::{Machine, as_of, audited, estate};
use crate::rules::fixtures::decimal;
use gpucost::analysis::{AuditedWorkload, PoolOption, ReservedFleet, assess_commitments, audit};
use gpucost::domain::{
    ActionKind, CommitmentTerm, Currency, GapSubject, HourlyRate, Lifecycle, Money,
    OperatingSystem, Policy, PriceBasis, PriceKey, PriceOption, PriceOrigin, PriceQuote,
    PurchaseOption, Risk, SavingsPlan, SavingsPlanKind, Tenancy,
};
use gpucost::usage::Estate;
use jiff::SignedDuration;
use rust_decimal::Decimal;

const TERM: CommitmentTerm = CommitmentTerm::ONE_YEAR_NO_UPFRONT;

/// Adds what a price list says.
fn priced(estate: &mut Estate, key: PriceKey, hourly: &str) {
    let day = jiff::civil::date(2026, 10, 31);
    let quote = PriceQuote {
        rate: HourlyRate::new(decimal(hourly), Currency::Usd).expect("positive"),
        instalments: None,
        origin: PriceOrigin::Api,
        basis: PriceBasis::Observed,
        effective_date: day,
        seen_on: day,
        source: "test".to_owned(),
    };
    estate.prices.insert(key, quote);
}

fn g5_key() -> PriceKey {
    PriceKey::linux_on_demand("us-east-1", "g5.xlarge")
}

/// A savings plan of so much an hour that holds everywhere for another hundred days.
fn savings_plan(kind: SavingsPlanKind, hourly: &str) -> SavingsPlan {
    SavingsPlan {
        id: "sp-1".to_owned(),
        account: None,
        kind,
        region: None,
        family: None,
        currency: Currency::Usd,
        commitment_hourly: decimal(hourly),
        term: TERM,
        start: as_of() - SignedDuration::from_hours(24 * 265),
        end: as_of() + SignedDuration::from_hours(24 * 100),
    }
}

/// The same for one family in us-east-1.
fn of_family(family: &str, hourly: &str) -> SavingsPlan {
    SavingsPlan {
        region: Some("us-east-1".to_owned()),
        family: Some(family.to_owned()),
        ..savings_plan(SavingsPlanKind::Ec2Instance, hourly)
    }
}

fn two_beside(plan: SavingsPlan) -> Estate {
    let mut fleet = estate(vec![working("i-1"), working("i-2")]);
    fleet.commitments.savings_plans = vec![plan];
    fleet
}

fn assessed(estate: &Estate) -> ReservedFleet {
    assess_commitments(estate, &Policy::default())
}

/// What one year without upfront would buy for the only pool.
#[track_caller]
fn one_year(fleet: &ReservedFleet) -> &PoolOption {
    let [pool] = fleet.reserved.as_slice() else {
        panic!("one pool: {:?}", fleet.reserved);
    };
    let mut options = pool.options.iter();
    options.find(|option| option.term == TERM).expect("it is sold")
}

fn named(prefix: &str, count: u32, make: fn(&str) -> Machine) -> Vec<Machine> {
    let ids = (1..=count).map(|index| format!("i-{prefix}-{index}"));
    ids.map(|id| make(&id)).collect()
}

#[test]
fn of_six_boxes_of_which_five_are_up_half_of_the_time_one_is_reserved() {
    let mut machines = named("half", 5, late_half);
    machines.push(young("i-young", 8 * 24, WORKS));
    // 5 × 367.19 + 734.38 = 2 570.33. The young one ran all 192 h that it was seen and
    // so all before: N is 6 in one half of the hours and 1 in the other. The first unit
    // is used in every hour and saves 271.7206; the second in half, less than 63%.
    let expected = ["2570.33", "2298.61", "0", "271.72"];
    for machines in [machines.clone(), tagged(machines, "renderer")] {
        let estate = estate(machines);
        let audit = audited(&estate);
        assert_totals(&audit, expected);
        assert_eq!(bought(&audit), 1);
        assert_eq!(fees(&audit), decimal("462.66"));
        assert_eq!(audit.purchases[0].term.option, PriceOption::Reserved(TERM));
        // `reserved` sizes the same pool on the same hours.
        let fleet = assessed(&estate);
        assert_eq!(fleet.reserved[0].usage.peak(), 6);
        let option = one_year(&fleet);
        assert_eq!(option.amount, Decimal::ONE);
        assert_eq!(option.monthly_savings.amount(), decimal("271.72"));
    }
}

#[test]
fn of_six_boxes_that_are_all_up_half_of_the_time_none_is_reserved() {
    let mut machines = named("half", 5, late_half);
    let half = |period: u32| period % 288 >= 144 && period >= 6 * 288;
    machines.push(box_in("i-young", WORKS, HELD_MIB, half).launched_hours_ago(8 * 24));
    let fleet = estate(machines);
    let audit = audited(&fleet);
    // 6 × 367.19; half of the hours are less than 63%.
    assert_totals(&audit, ["2203.14", "2203.14", "0", "0"]);
    assert_eq!(bought(&audit), 0);
    assert_eq!(one_year(&assessed(&fleet)).amount, Decimal::ZERO);
}

#[test]
fn two_halves_of_a_day_are_one_box_around_the_clock() {
    let halves = estate(vec![early_half("i-1"), late_half("i-2")]);
    let audit = audited(&halves);
    // 2 × 367.19, of which one reservation takes all: 462.6594 are paid.
    assert_totals(&audit, ["734.38", "462.66", "0", "271.72"]);
    assert_eq!(bought(&audit), 1);
    let fleet = assessed(&halves);
    assert_eq!(fleet.reserved[0].usage.peak(), 1);
    assert_eq!(one_year(&fleet).monthly_savings.amount(), decimal("271.72"));
    // The same half twice is two boxes in half of the hours.
    let audit = audited(&estate(named("half", 2, late_half)));
    assert_totals(&audit, ["734.38", "734.38", "0", "0"]);
}

#[test]
fn a_young_member_fills_no_valley_that_nobody_saw_it_in() {
    let half = |period: u32| period % 288 < 144 && period >= 6 * 288;
    let young = stopped_for(box_in("i-young", WORKS, HELD_MIB, half), 12);
    let young = young.launched_hours_ago(8 * 24);
    let estate = estate(vec![late_half("i-1"), young]);
    let audit = audited(&estate);
    // Seen for 192 h, in which one of the two runs at a time. Its share of the 144 h
    // before is 72 h, and these are where the other ran: there N is 2, and 0 in 72 h. One
    // unit is used in 264 of 336 h, 78.6%: 730 × (1.006 × 264 / 336 − 0.63378) =
    // 730 × 0.156648571 = 114.3535. Both cost 367.19.
    assert_totals(&audit, ["734.38", "620.03", "0", "114.35"]);
    assert_eq!(bought(&audit), 1);
    let fleet = assessed(&estate);
    assert_eq!(fleet.reserved[0].usage.peak(), 2);
    assert_eq!(one_year(&fleet).monthly_savings.amount(), decimal("114.35"));
}

#[test]
fn nothing_is_bought_for_a_member_of_six_days() {
    let audit = audited(&estate(vec![young("i-1", 6 * 24, WORKS)]));
    assert_totals(&audit, ["734.38", "734.38", "0", "0"]);
    assert!(audit.purchases.is_empty());
    let audit = audited(&estate(vec![young("i-1", 7 * 24, WORKS)]));
    assert_totals(&audit, ["734.38", "462.66", "0", "271.72"]);
    // In a group the others are not held up by it, and it is not bought for with them.
    let with = |hours: u32| {
        let mut machines = named("old", 2, working);
        machines.push(young("i-young", hours, WORKS));
        estate(tagged(machines, "renderer"))
    };
    // 3 × 734.38 = 2 203.14; 2 × 271.7206 = 543.4412, 3 × 271.7206 = 815.1618.
    let (six, eight) = (with(6 * 24), with(8 * 24));
    let audit = audited(&six);
    assert_totals(&audit, ["2203.14", "1659.70", "0", "543.44"]);
    assert_eq!(bought(&audit), 2);
    assert_eq!(assessed(&six).reserved[0].usage.peak(), 2);
    let audit = audited(&eight);
    assert_totals(&audit, ["2203.14", "1387.98", "0", "815.16"]);
    assert_eq!(bought(&audit), 3);
    assert_eq!(assessed(&eight).reserved[0].usage.peak(), 3);
}

#[test]
fn what_remains_of_steady_boxes_are_the_fees_of_all_pools() {
    let machines = vec![
        working("i-1"),
        working("i-2"),
        of_type(working("i-3"), "g5.2xlarge"),
        of_type(working("i-4"), "g6.xlarge"),
    ];
    let audit = audited(&estate(machines));
    // 2 × 734.38 + 884.76 + 587.50 = 2 941.02. Fees: 2 × 462.6594 = 925.32, 557.3988 =
    // 557.40 and 382.4616 = 382.46, together 1 865.18. Saved: 543.44 + 327.36 + 205.04.
    assert_totals(&audit, ["2941.02", "1865.18", "0", "1075.84"]);
    assert_eq!(fees(&audit), decimal("1865.18"));
    assert_eq!(audit.purchases.len(), 3);
    assert_eq!(bought(&audit), 4);
}

#[test]
fn another_member_never_lowers_what_its_pool_costs_after_the_plan() {
    let late = |period: u32| period % 288 >= 144 && period >= 6 * 288;
    let machines = [
        // N is 1 in half of the hours: 367.19, and nothing pays.
        (late_half("i-1"), "367.19"),
        // 2 in half of them: 734.38.
        (late_half("i-2"), "734.38"),
        // 2 and 1: 1 101.57 − 271.7206.
        (early_half("i-3"), "829.85"),
        // 3 and 2: 1 835.95 − 543.4412.
        (young("i-4", 8 * 24, WORKS), "1292.51"),
        // Up in half of 8 days, and so in 72 of the 144 h before, where the others are
        // most: 4 and 2, 2 203.14 − 543.4412.
        (box_in("i-5", WORKS, HELD_MIB, late).launched_hours_ago(8 * 24), "1659.70"),
        // Six days are too few to buy for: 734.38 more.
        (young("i-6", 6 * 24, WORKS), "2394.08"),
        // Around the clock, 5 and 3: 2 203.14 + 2 × 734.38 − 3 × 271.7206 = 2 856.7382.
        (working("i-7"), "2856.74"),
    ];
    let mut fleet = Vec::new();
    let mut before = Decimal::ZERO;
    for (machine, planned) in machines {
        fleet.push(machine);
        let audit = audited(&estate(fleet.clone()));
        let after = audit.totals.planned_monthly_cost.map(Money::amount);
        assert_eq!(after, Some(decimal(planned)), "{} boxes", fleet.len());
        assert!(after >= Some(before));
        assert!(after >= Some(fees(&audit)));
        before = decimal(planned);
    }
}

#[test]
fn linux_and_windows_of_one_group_are_two_pools() {
    let machines =
        vec![working("i-1"), working("i-2"), windows(working("i-3")), windows(working("i-4"))];
    let fleet = estate(tagged(machines, "renderer"));
    let audit = audited(&fleet);
    // 2 × 734.38 + 2 × 868.70 = 3 206.16; 2 × 271.7206 = 543.4412. No Windows is sold
    // for one year without upfront.
    assert_totals(&audit, ["3206.16", "2662.72", "0", "543.44"]);
    let [purchase] = audit.purchases.as_slice() else { panic!("{:?}", audit.purchases) };
    assert_eq!(purchase.count, 2);
    assert_eq!(purchase.key.operating_system, OperatingSystem::Linux);
    for pool in &assessed(&fleet).reserved {
        assert_eq!(pool.usage.peak(), 2, "{}", pool.key);
    }
    // The same under Linux alone is one pool of four: 4 × 271.7206 = 1 086.8824.
    let same = audited(&estate(tagged(named("same", 4, working), "renderer")));
    assert_totals(&same, ["2937.52", "1850.64", "0", "1086.88"]);
    assert_eq!(bought(&same), 4);
}

#[test]
fn shared_and_dedicated_hardware_of_one_group_are_two_pools() {
    let mut dedicated = working("i-3");
    dedicated.instance.tenancy = Tenancy::Dedicated;
    let machines = vec![working("i-1"), working("i-2"), dedicated];
    let mut fleet = estate(tagged(machines, "renderer"));
    let key = PriceKey { tenancy: Tenancy::Dedicated, ..g5_key() };
    // 2 × 734.38 + 1.10 × 730 = 2 271.76; 2 × 271.7206 = 543.4412.
    priced(&mut fleet, key.clone(), "1.10");
    let audit = audited(&fleet);
    assert_totals(&audit, ["2271.76", "1728.32", "0", "543.44"]);
    assert_eq!(bought(&audit), 2);
    // Where a dedicated one is sold at 0.70: 803.00 − 511.00 = 292.00 more.
    let reserved = key.with_option(PriceOption::Reserved(TERM));
    priced(&mut fleet, reserved, "0.70");
    let audit = audited(&fleet);
    assert_totals(&audit, ["2271.76", "1436.32", "0", "835.44"]);
    let counts = audit.purchases.iter().map(|purchase| (purchase.key.tenancy, purchase.count));
    let counts: Vec<(Tenancy, u32)> = counts.collect();
    assert!(counts.contains(&(Tenancy::Shared, 2)), "{counts:?}");
    assert!(counts.contains(&(Tenancy::Dedicated, 1)), "{counts:?}");
    // At most one action of a kind, for its parts in both pools.
    assert_eq!(kinds(&audit), [ActionKind::Commit]);
}

#[test]
fn spot_is_for_groups_of_one_system() {
    let g6 = |id: &str| {
        of_type(working(id), "g6.xlarge")
            .tag("gpucost:kind", "training")
            .tag("gpucost:restartable", "true")
    };
    // 0.37198 on spot. Two nodes are interrupted 2 / 24 times an hour; checkpoints of a
    // minute each sqrt(2 / 60 × 12) = 0.632 h and 5 min to start again take 6%, so that
    // an hour of work costs 0.396, less than 0.52392.
    let same = audited(&estate(tagged(vec![g6("i-1"), g6("i-2")], "renderer")));
    assert_eq!(kinds(&same), [ActionKind::Spot]);
    assert!(same.purchases.is_empty());
    // 587.50 + 0.9888 × 730 = 1 309.32; the Linux one is reserved: 205.0424.
    let machines = vec![g6("i-1"), windows(g6("i-2"))];
    let mixed = audited(&estate(tagged(machines, "renderer")));
    assert_eq!(kinds(&mixed), [ActionKind::Commit]);
    assert_totals(&mixed, ["1309.32", "1104.28", "0", "205.04"]);
}

#[test]
fn nothing_is_bought_beside_a_plan_of_unknown_rate() {
    let estate = two_beside(savings_plan(SavingsPlanKind::Compute, "0.80"));
    let audit = audited(&estate);
    assert!(audit.purchases.is_empty(), "{:?}", audit.purchases);
    assert_eq!(kinds(&audit), []);
    assert!(has_gap(&audit, "savings plan rate"), "{:?}", audit.gaps);
    let totals = &audit.totals;
    assert_eq!(totals.planned_monthly_cost, totals.monthly_cost);
    let fleet = assessed(&estate);
    let mut options = fleet.reserved.iter().flat_map(|pool| &pool.options);
    assert!(options.all(|option| option.amount.is_zero()));
    assert!(fleet.gaps.iter().any(|gap| gap.what == GapSubject::SavingsPlanRate));
}

#[test]
fn a_plan_of_known_rate_covers_and_the_rest_is_bought_for() {
    let mut fleet = two_beside(savings_plan(SavingsPlanKind::Compute, "0.80"));
    let key = g5_key().with_option(PriceOption::ComputeSavingsPlan(TERM));
    priced(&mut fleet, key, "0.80");
    let audit = audited(&fleet);
    // The plan pays all of the first, 0.80 × 730 = 584.00; 734.38 for the other, which
    // is reserved: 271.7206.
    assert_totals(&audit, ["1318.38", "1046.66", "0", "271.72"]);
    assert_eq!(bought(&audit), 1);
    let option = |workload: &AuditedWorkload| workload.workload.key.purchase_option;
    let mut options: Vec<PurchaseOption> = audit.workloads.iter().map(option).collect();
    options.sort();
    assert_eq!(options, [PurchaseOption::OnDemand, PurchaseOption::SavingsPlan]);
    assert!(!has_gap(&audit, "savings plan rate"), "{:?}", audit.gaps);
}

#[test]
fn a_plan_of_the_family_whose_rate_is_in_the_book_covers_too() {
    // The rate of a g5.xlarge under it is that of the reserved instance, 0.63378.
    let audit = audited(&two_beside(of_family("g5", "0.63378")));
    // 462.66 + 734.38, and the other is reserved.
    assert_totals(&audit, ["1197.04", "925.32", "0", "271.72"]);
    assert_eq!(bought(&audit), 1);
    assert!(!has_gap(&audit, "savings plan rate"), "{:?}", audit.gaps);
}

#[test]
fn a_plan_of_the_family_without_a_rate_for_windows_holds_back_windows() {
    let boxes = || {
        let of_windows = |id: &str| windows(of_type(working(id), "g5.2xlarge"));
        estate(vec![of_windows("i-1"), of_windows("i-2")])
    };
    let at_high = |estate: &Estate| audit(estate, &Policy::default(), Risk::High);
    // 2 × 1.58 × 730 = 2 306.80; three years ahead 0.823706 an hour, and
    // 2 × 730 × 0.756294 = 1 104.18924.
    let free = at_high(&boxes());
    assert_totals(&free, ["2306.80", "1202.61", "0", "1104.19"]);
    assert_eq!(bought(&free), 2);
    let mut beside = boxes();
    beside.commitments.savings_plans = vec![of_family("g5", "1")];
    let audit = at_high(&beside);
    assert!(audit.purchases.is_empty(), "{:?}", audit.purchases);
    assert!(has_gap(&audit, "savings plan rate"), "{:?}", audit.gaps);
}

#[test]
fn a_plan_of_another_family_holds_nothing_back() {
    let audit = audited(&two_beside(of_family("g6", "0.52392")));
    // 2 × 734.38 and the fee of the plan, which nobody uses: 0.52392 × 730 = 382.4616.
    // It is neither waste nor saved before it ends. 2 × 271.7206 = 543.4412.
    assert_totals(&audit, ["1851.22", "1307.78", "0", "543.44"]);
    assert_eq!(bought(&audit), 2);
    assert!(!has_gap(&audit, "savings plan rate"), "{:?}", audit.gaps);
    let [row] = audit.unused.as_slice() else { panic!("{:?}", audit.unused) };
    assert_eq!(row.monthly_cost.map(Money::amount), Some(decimal("382.46")));
    assert_eq!(row.planned_monthly_cost(), row.monthly_cost);
}

#[test]
fn a_plan_that_covers_no_instances_or_has_ended_holds_nothing_back() {
    let of_sagemaker = savings_plan(SavingsPlanKind::Other, "0.80");
    let ended = SavingsPlan { end: as_of(), ..savings_plan(SavingsPlanKind::Compute, "0.80") };
    for plan in [of_sagemaker, ended] {
        let audit = audited(&two_beside(plan));
        assert_eq!(bought(&audit), 2);
        assert!(!has_gap(&audit, "savings plan rate"), "{:?}", audit.gaps);
    }
}

#[test]
fn what_a_plan_of_unknown_rate_may_pay_for_is_not_certain_to_end() {
    // An idle box: 734.38 that the plan may pay already.
    let mut fleet = estate(vec![idle("i-1")]);
    let alone = audited(&fleet);
    assert_totals(&alone, ["734.38", "0", "734.38", "0"]);
    let plan = savings_plan(SavingsPlanKind::Compute, "0.80");
    fleet.commitments.savings_plans = vec![plan];
    let audit = audited(&fleet);
    assert_totals(&audit, ["734.38", "0", "0", "734.38"]);
    let [stop] = audit.workloads[0].actions.as_slice() else {
        panic!("one action: {:?}", audit.workloads[0].actions);
    };
    assert!(stop.caveats()[0].contains("rate is unknown"), "{stop:?}");
    // No plan pays for spot.
    fleet.instances[0].lifecycle = Lifecycle::Spot;
    let audit = audited(&fleet);
    assert_eq!(audit.totals.monthly_waste, audit.totals.monthly_cost);
    let rest = audit.totals.monthly_optimization.map(Money::amount);
    assert_eq!(rest, Some(Decimal::ZERO));
}
