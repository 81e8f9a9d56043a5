//! The cost of a fleet is a function of the fleet, before the plan and after it: what commitments
//! cover does not depend on ids, and every saving is a drop of that cost. Worked out by hand.

use crate::rules::builder::{A10G_MIB, Machine, as_of, audited, estate, flat, last, split};
use crate::rules::committed::reserved;
use crate::rules::same_fleet::renamed;
use gpucost::analysis::{Audit, audit, planned_commitments};
use gpucost::domain::{
    ActionKind, CommitmentTerm, Currency, Metric, Money, Policy, PurchaseOption, ReservedInstances,
    ResourceId, Risk, SavingsPlan, SavingsPlanKind, Statistic,
};
use gpucost::usage::Estate;
use jiff::SignedDuration;
use rust_decimal::Decimal;

fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal")
}

/// A g5.xlarge that is busy around the clock, or idle by every sign.
fn machine(id: &str, is_busy: bool) -> Machine {
    let (gpu, cpu) = if is_busy { (90.0, 5.0) } else { (0.0, 1.0) };
    Machine::new(id, "g5.xlarge")
        .cpu(flat(cpu))
        .series(Metric::CpuUtilization, Statistic::Maximum, None, flat(cpu))
        .series(Metric::NetworkIn, Statistic::Sum, None, flat(1_000.0))
        .series(Metric::NetworkOut, Statistic::Sum, None, flat(1_000.0))
        .gpu(0, flat(gpu))
        .vram(0, 200.0, A10G_MIB)
}

/// So many g5.xlarge at 0.60 an hour: 438.00 a month each; 734.38 on demand.
fn at_sixty_cents(count: u32) -> ReservedInstances {
    ReservedInstances { recurring_hourly: decimal("0.6"), ..reserved(count) }
}

fn with(machines: Vec<Machine>, reservation: ReservedInstances) -> Estate {
    let mut fleet = estate(machines);
    fleet.commitments.reserved_instances = vec![reservation];
    fleet
}

fn amount(money: Option<Money>) -> Decimal {
    money.expect("priced").amount()
}

fn total(audit: &Audit) -> Decimal {
    amount(audit.totals.monthly_cost)
}

fn planned(audit: &Audit) -> Decimal {
    amount(audit.totals.planned_monthly_cost)
}

fn bought(audit: &Audit) -> Vec<(String, u32)> {
    let purchases = audit.purchases.iter();
    purchases.map(|purchase| (purchase.key.instance_type.clone(), purchase.count)).collect()
}

#[test]
fn stopped_machines_leave_their_cover_to_the_others() {
    for idle_first in [true, false] {
        let machines = (0..10).map(|index| {
            let is_idle = if idle_first { index < 3 } else { index >= 7 };
            machine(&format!("i-{index}"), !is_idle)
        });
        let report = audited(&with(machines.collect(), at_sixty_cents(6)));
        // 6 × 438.00 + 4 × 734.38.
        assert_eq!(total(&report), decimal("5565.52"));
        // Seven remain, of which six are reserved and one is bought: 6 × 438.00 + 462.66.
        assert_eq!(planned(&report), decimal("3090.66"));
        // 3 × 734.38: what the others then need not pay.
        assert_eq!(amount(report.totals.monthly_waste), decimal("2203.14"));
        assert_eq!(bought(&report), [("g5.xlarge".to_owned(), 1)]);
        let stops = report.workloads.iter().flat_map(|workload| &workload.actions);
        let stops = stops.filter(|action| action.kind() == ActionKind::Stop);
        assert_eq!(stops.count(), 3);
        // 734.38 − 462.66, all of it in the row that nothing covers.
        let commits = report.workloads.iter().flat_map(|workload| &workload.actions);
        let commits = commits.filter(|action| action.kind() == ActionKind::Commit);
        let saved: Vec<_> = commits.map(|action| action.monthly_savings().amount()).collect();
        assert_eq!(saved, [decimal("271.72")]);
    }
}

#[test]
fn where_nobody_can_use_the_cover_a_stop_saves_nothing() {
    let report = audited(&with(vec![machine("i-1", false)], at_sixty_cents(1)));
    assert_eq!(total(&report), decimal("438.00"));
    assert_eq!(planned(&report), decimal("438.00"));
    assert!(report.workloads[0].actions.is_empty());
}

#[test]
fn a_savings_plan_is_paid_on_when_all_that_it_covers_ends() {
    let mut fleet = estate(vec![machine("i-1", false)]);
    fleet.commitments.savings_plans = vec![plan_of("0.5")];
    let report = audited(&fleet);
    // 0.50 an hour is 365.00 a month, and covers less than a g5.xlarge at 1.006 an hour: the
    // rest of its hours is all that its stop saves.
    assert!(total(&report) > decimal("365.00") && total(&report) < decimal("734.38"));
    assert_eq!(planned(&report), decimal("365.00"));
}

/// So much an hour for g5, of which a g5.xlarge takes 0.63378.
fn plan_of(hourly: &str) -> SavingsPlan {
    let reserved = reserved(1);
    SavingsPlan {
        id: "sp-1".to_owned(),
        account: None,
        kind: SavingsPlanKind::Ec2Instance,
        region: Some("us-east-1".to_owned()),
        family: Some("g5".to_owned()),
        currency: Currency::Usd,
        commitment_hourly: decimal(hourly),
        term: CommitmentTerm::ONE_YEAR_NO_UPFRONT,
        start: reserved.start,
        end: reserved.end,
    }
}

/// A g5.xlarge that works in 8 of 24 hours.
fn by_day(id: &str) -> Machine {
    let day = |value: f64| move |period: u32| (period % 288 < 96).then_some(value);
    Machine::new(id, "g5.xlarge")
        .cpu(day(5.0))
        .gpu(0, day(90.0))
        .vram(0, 200.0, A10G_MIB)
        .seen_before()
}

#[test]
fn a_plan_that_is_used_up_pays_the_same_cents_whatever_the_ids() {
    for (always, day) in [("i-1", "i-2"), ("i-2", "i-1")] {
        let mut fleet = estate(vec![machine(always, true), by_day(day)]);
        fleet.commitments.savings_plans = vec![plan_of("0.5")];
        let report = audited(&fleet);
        let cost = |id: &str| {
            let mut workloads = report.workloads.iter();
            let workload =
                workloads.find(|workload| workload.workload.instances == [ResourceId::named(id)]);
            amount(workload.and_then(|workload| workload.workload.monthly_cost()))
        };
        // The plan pays 0.5 / 0.63378 = 78.89% of what runs longest: (0.5 + 21.11% × 1.006) × 730
        // = 520.0149; 1.006 × 730 / 3 = 244.7933.
        assert_eq!(cost(always), decimal("520.01"));
        assert_eq!(cost(day), decimal("244.79"));
        // The other way around, 591.47 + 173.34 would be 764.81.
        assert_eq!(total(&report), decimal("764.80"));
    }
}

#[test]
fn fees_that_are_used_in_part_are_the_same_cents_whatever_the_ids() {
    let fee = |id: &str, hourly: &str| ReservedInstances {
        id: id.to_owned(),
        recurring_hourly: decimal(hourly),
        ..reserved(1)
    };
    for (low, high) in [("ri-1", "ri-2"), ("ri-2", "ri-1")] {
        let mut fleet = estate(vec![by_day("i-1")]);
        fleet.commitments.reserved_instances = vec![fee(low, "0.60001"), fee(high, "0.60002")];
        let report = audited(&fleet);
        // 0.60001 × 730 = 438.0073, of which 146.0024 are used and 292.0049 are not; and 438.0146.
        // With the other one used it would be 146.0049 + 292.0097 + 438.0073 = 876.02.
        assert_eq!(total(&report), decimal("876.01"));
    }
}

#[test]
fn a_resize_onto_an_unused_reservation_needs_no_other() {
    let oversized = Machine::new("i-1", "g5.2xlarge")
        .cpu(flat(5.0))
        .gpu(0, flat(50.0))
        .vram(0, 2_000.0, A10G_MIB);
    let report = audited(&with(vec![oversized], at_sixty_cents(1)));
    // 1.212 × 730 = 884.76, and 438.00 that nothing uses.
    assert_eq!(total(&report), decimal("1322.76"), "{:?}", report.workloads[0].actions);
    assert_eq!(planned(&report), decimal("438.00"));
    assert!(report.purchases.is_empty(), "{:?}", report.purchases);
    let actions = &report.workloads[0].actions;
    let target = actions[0].target().map(|to| to.instance_type.as_str());
    assert_eq!((actions.len(), target), (1, Some("g5.xlarge")));
    assert_eq!(actions[0].monthly_savings().amount(), decimal("884.76"));
}

#[test]
fn hours_that_one_of_two_leaves_open_are_bought_whatever_the_ids() {
    let up = |period: u32| (period % 288 < 19 * 12).then_some(90.0);
    let by_day = |id: &str| {
        Machine::new(id, "g5.xlarge")
            .cpu(move |period| up(period).map(|_| 5.0))
            .gpu(0, up)
            .vram(0, 200.0, A10G_MIB)
            .seen_before()
    };
    for (part_time, always) in [("i-1", "i-2"), ("i-2", "i-1")] {
        let machines = vec![by_day(part_time), machine(always, true)];
        let report = audited(&with(machines, at_sixty_cents(1)));
        // 19 of 24 hours are uncovered: 734.38 × 19/24 = 581.38, of which 462.66 pays.
        assert_eq!(bought(&report), [("g5.xlarge".to_owned(), 1)]);
        assert_eq!(report.purchases[0].monthly_savings.amount(), decimal("118.72"));
        assert_eq!(total(&report) - planned(&report), decimal("118.72"));
    }
}

#[test]
fn a_commitment_counts_in_full_however_young_it_is() {
    let mut young = at_sixty_cents(1);
    young.start = as_of() - SignedDuration::from_hours(4 * 24);
    let report = audited(&with(vec![machine("i-1", true)], young.clone()));
    assert_eq!(total(&report), decimal("438.00"));
    assert!(report.purchases.is_empty());
    let option = report.workloads[0].workload.key.purchase_option;
    assert_eq!(option, PurchaseOption::Reserved);
    // One that is queued pays for nothing yet, and nothing is bought in its place.
    let mut queued = young;
    queued.start = as_of() + SignedDuration::from_hours(24);
    let report = audited(&with(vec![machine("i-1", true)], queued));
    assert_eq!(total(&report), decimal("734.38"));
    assert!(report.purchases.is_empty(), "{:?}", report.purchases);
}

#[test]
fn a_young_machine_takes_no_hours_from_an_old_one() {
    for (old, young) in [("i-1", "i-2"), ("i-2", "i-1")] {
        let periods = 4 * 288;
        let young = Machine::new(young, "g5.xlarge")
            .launched_hours_ago(4 * 24)
            .cpu(last(periods, 5.0))
            .gpu(0, last(periods, 90.0))
            .vram(0, 200.0, A10G_MIB);
        let report = audited(&with(vec![machine(old, true), young], at_sixty_cents(1)));
        // Both run always, one of them is covered: 438.00 + 734.38.
        assert_eq!(total(&report), decimal("1172.38"));
    }
}

#[test]
fn a_zonal_reservation_changes_its_scope_before_anything_is_bought() {
    let mut zonal = at_sixty_cents(1);
    zonal.instance_type = "g4dn.xlarge".to_owned();
    zonal.zone = Some("us-east-1b".to_owned());
    let busy = Machine::new("i-1", "g4dn.xlarge")
        .cpu(flat(50.0))
        .gpu(0, flat(90.0))
        .vram(0, 14_000.0, 15_360.0);
    let fleet = with(vec![busy], zonal);
    let report = audited(&fleet);
    assert!(report.purchases.is_empty(), "{:?}", report.purchases);
    let [action] = report.workloads[0].actions.as_slice() else {
        panic!("{:?}", report.workloads[0].actions)
    };
    assert_eq!(action.kind(), ActionKind::Commit);
    // 0.526 × 730 = 383.98.
    assert_eq!(action.monthly_savings().amount(), decimal("383.98"));
    assert!(action.detail().contains("no fee"), "{}", action.detail());
    assert!(action.caveats()[0].contains("us-east-1b"));
    // The finding about it says the same.
    let mut findings = report.findings.iter();
    let finding = findings.find(|finding| finding.rule() == "underused-commitment");
    let finding = finding.expect("nothing runs in its zone");
    assert_eq!(finding.monthly_savings.map(Money::amount), Some(decimal("383.98")));
    assert_eq!(finding.recommendation.to, "us-east-1 instead of us-east-1b");
    // `reserved` too.
    let reserved = planned_commitments(&report, &fleet, &Policy::default());
    assert_eq!(reserved.scope_changes, report.scope_changes);
    assert_eq!(reserved.scope_changes[0].monthly_savings.amount(), decimal("383.98"));
}

/// A resize to a g5.xlarge with a year of it would cost 219.00 + 462.66; the reservation of the
/// next zone covers the machine as it is: 0.30 × 730.
#[test]
fn a_change_of_scope_is_before_a_resize_that_leaves_what_is_paid_for() {
    let mut zonal = at_sixty_cents(1);
    zonal.instance_type = "g5.2xlarge".to_owned();
    zonal.recurring_hourly = decimal("0.3");
    zonal.zone = Some("us-east-1b".to_owned());
    let half = Machine::new("i-1", "g5.2xlarge")
        .cpu(flat(20.0))
        .gpu(0, flat(50.0))
        .vram(0, 8_000.0, A10G_MIB);
    let report = audited(&with(vec![half], zonal));
    // 219.00 + 1.212 × 730.
    assert_eq!(total(&report), decimal("1103.76"));
    assert_eq!(planned(&report), decimal("219.00"));
    assert!(report.purchases.is_empty(), "{:?}", report.purchases);
    assert_eq!(report.scope_changes[0].monthly_savings.amount(), decimal("884.76"));
}

#[test]
fn what_a_zone_holds_for_an_idle_machine_serves_those_of_other_zones() {
    let mut zonal = at_sixty_cents(2);
    zonal.zone = Some("us-east-1b".to_owned());
    for busy in [["i-1", "i-2"], ["i-0", "i-1"]] {
        let idle = if busy[0] == "i-0" { "i-2" } else { "i-0" };
        let [first, second] = busy.map(|id| machine(id, true));
        let machines = vec![first, second, machine(idle, false)];
        let mut fleet = with(machines, zonal.clone());
        // The others are in us-east-1a.
        let mut own = fleet.instances.iter_mut();
        let own = own.find(|instance| instance.id == ResourceId::named(idle));
        own.expect("the idle one").zone = Some("us-east-1b".to_owned());
        let report = audited(&fleet);
        // 2 × 438.00, of which one is unused, + 2 × 734.38.
        assert_eq!(total(&report), decimal("2344.76"));
        // Without the idle one, for the whole region: both of those that remain are covered.
        assert_eq!(planned(&report), decimal("876.00"));
        assert!(report.purchases.is_empty(), "{:?}", report.purchases);
        let mut rows = report.workloads.iter();
        let row = rows.find(|row| row.workload.members[0].id == ResourceId::named(idle));
        let row = row.expect("its row");
        let [stop] = row.actions.as_slice() else { panic!("{:?}", row.actions) };
        assert_eq!(stop.kind(), ActionKind::Stop);
        // Without the change of scope it saves nothing, and says so.
        assert_eq!(stop.risk(), Risk::Medium);
        let first = &stop.caveats()[0];
        assert!(first.starts_with("saves only once"), "{first}");
        let low = audit(&fleet, &Policy::default(), Risk::Low);
        assert_eq!(planned(&low), total(&low));
    }
}

/// Three g5.xlarge by zone, idle or not, under one purchase of the zone of the first.
fn zonal(machines: [(&str, bool, &str); 3], bought: ReservedInstances) -> Estate {
    let fleet = machines.iter().map(|(id, is_busy, _)| machine(id, *is_busy)).collect();
    let zone = Some(machines[0].2.to_owned());
    let mut fleet = with(fleet, ReservedInstances { zone, ..bought });
    for (instance, (_, _, zone)) in fleet.instances.iter_mut().zip(machines) {
        instance.zone = Some(zone.to_owned());
    }
    fleet
}

#[test]
fn a_change_of_scope_weakens_no_stop_that_saves_without_it() {
    let (a, b) = ("us-east-1a", "us-east-1b");
    let fleet = zonal([("i-1", false, a), ("i-2", true, b), ("i-3", false, a)], at_sixty_cents(1));
    let report = audited(&fleet);
    // 438.00 + 2 × 734.38; only the busy one remains, and is covered.
    assert_eq!(total(&report), decimal("1906.76"));
    assert_eq!(planned(&report), decimal("438.00"));
    let actions = |id: &str| {
        let mut rows = report.workloads.iter();
        let row = rows.find(|row| row.workload.members[0].id == ResourceId::named(id));
        let actions = row.expect("a row").actions.iter();
        actions
            .map(|action| (action.kind(), action.risk(), action.monthly_savings().amount()))
            .collect::<Vec<_>>()
    };
    // One of the two ends what is paid on demand, certainly.
    let stops = [actions("i-1"), actions("i-3")].concat();
    let certain = (ActionKind::Stop, Risk::Low, decimal("734.38"));
    assert!(stops.contains(&certain), "{stops:?}");
    // The other frees the reservation of its zone: 734.38 by the stop and the change of scope,
    // in proportion of 438.00, which its row has, to 734.38.
    let freeing = (ActionKind::Stop, Risk::Medium, decimal("274.36"));
    assert!(stops.contains(&freeing), "{stops:?}");
    assert_eq!(actions("i-2"), [(ActionKind::Commit, Risk::Medium, decimal("460.02"))]);
    assert_eq!(amount(report.totals.monthly_waste), decimal("734.38"));
}

/// A g4dn.2xlarge of a zone whose GPU is busy 30% of the time.
fn t4(id: &str, vram_mib: f64) -> Machine {
    Machine::new(id, "g4dn.2xlarge").cpu(flat(10.0)).gpu(0, flat(30.0)).vram(0, vram_mib, 15_360.0)
}

/// The reservation of a zone is larger than what its machine is resized to: only for the whole
/// region does it cover the other machine, and the small one is bought for.
#[test]
fn a_resize_that_waits_for_a_change_of_scope_counts_no_dollar_twice() {
    let (a, b) = ("us-east-1a", "us-east-1b");
    let zonal = ReservedInstances {
        instance_type: "g4dn.2xlarge".to_owned(),
        recurring_hourly: decimal("0.3"),
        zone: Some(a.to_owned()),
        ..reserved(1)
    };
    let mut fleet = with(vec![t4("i-0", 3_000.0), t4("i-1", 10_000.0)], zonal);
    for (instance, zone) in fleet.instances.iter_mut().zip([a, b]) {
        instance.zone = Some(zone.to_owned());
    }
    let report = audited(&fleet);
    // 0.30 × 730 + 0.752 × 730.
    assert_eq!(total(&report), decimal("767.96"));
    // 219.00 covers the g4dn.2xlarge; the g4dn.xlarge is 0.331 × 730 for a year.
    assert_eq!(planned(&report), decimal("460.63"));
    assert_eq!(bought(&report), [("g4dn.xlarge".to_owned(), 1)]);
    let saved = report.workloads.iter().flat_map(|row| &row.actions);
    let saved: Decimal = saved.map(|action| action.monthly_savings().amount()).sum();
    assert_eq!(saved, decimal("307.33"));
}

/// Two of three g5.xlarge are covered. One of these may run on spot, which frees its cover for the
/// third: that saves more than to move the third, which saves something by itself.
#[test]
fn a_small_move_does_not_stand_in_the_way_of_a_large_one() {
    for ids in [["i-0", "i-1", "i-2"], ["i-2", "i-0", "i-1"], ["i-1", "i-2", "i-0"]] {
        let [trains, serves, other] = ids;
        let trains = Machine::new(trains, "g5.xlarge")
            .tag("gpucost:kind", "training")
            .tag("gpucost:restartable", "true")
            .cpu(flat(3.0))
            .gpu(0, flat(30.0))
            .vram(0, 200.0, A10G_MIB);
        let serves = Machine::new(serves, "g5.xlarge")
            .tag("env", "production")
            .cpu(flat(3.0))
            .gpu(0, flat(6.0))
            .vram(0, 200.0, A10G_MIB);
        let other = Machine::new(other, "g5.xlarge")
            .cpu(flat(3.0))
            .gpu(0, flat(15.0))
            .vram(0, 200.0, A10G_MIB);
        let bought = ReservedInstances { recurring_hourly: decimal("0.3"), ..reserved(2) };
        let report = audited(&with(vec![trains, serves, other], bought));
        // 2 × 219.00 + 734.38.
        assert_eq!(total(&report), decimal("1172.38"));
        // 2 × 219.00, and a g6.xlarge on spot with its interruptions.
        assert_eq!(planned(&report), decimal("721.08"), "{ids:?}");
        assert!(report.purchases.is_empty(), "{:?}", report.purchases);
    }
}

#[test]
fn what_is_covered_before_and_after_saves_nothing() {
    let (a, b) = ("us-east-1a", "us-east-1b");
    let thirty_cents = ReservedInstances { recurring_hourly: decimal("0.3"), ..at_sixty_cents(2) };
    let fleet = zonal([("i-0", false, b), ("i-1", false, b), ("i-2", true, a)], thirty_cents);
    let report = audited(&fleet);
    // 2 × 219.00 + 734.38, and then the fees alone.
    assert_eq!(total(&report), decimal("1172.38"));
    assert_eq!(planned(&report), decimal("438.00"));
    let mut rows = report.workloads.iter();
    let idle = rows.find(|row| row.actions.is_empty()).expect("one of the idle ones stays");
    assert_eq!(idle.workload.monthly_cost().map(Money::amount), Some(decimal("219.00")));
}

#[test]
fn what_works_most_is_shown_as_covered_whatever_the_ids() {
    let light = Machine::new("i-1", "g5.xlarge")
        .cpu(flat(5.0))
        .gpu(0, flat(1.0))
        .vram(0, 10_000.0, A10G_MIB);
    let fleet = with(vec![machine("i-0", true), light], at_sixty_cents(1));
    for seed in [0, 29] {
        let report = audit(&renamed(&fleet, seed).0, &Policy::default(), Risk::High);
        // 734.38 + 438.00: the busy one is reserved.
        assert_eq!(total(&report), decimal("1172.38"));
        // The busy one takes the reservation, the other becomes a g6.xlarge, which a GPU at 1%
        // uses too little for more than a year: 438.00 + 0.489 × 730, all upfront.
        assert_eq!(planned(&report), decimal("795.00"));
        // 587.50 at 0.8048 an hour less 357.00.
        let bought: Vec<_> =
            report.purchases.iter().map(|purchase| purchase.monthly_savings).collect();
        assert_eq!(
            bought.iter().map(|money| money.amount()).collect::<Vec<_>>(),
            [decimal("230.50")]
        );
        // 734.38 at 0.8048 × 730 less.
        let mut actions = report.workloads.iter().flat_map(|workload| &workload.actions);
        let resize = actions.find(|action| action.kind() == ActionKind::Rightsize);
        let saved = resize.map(|action| action.monthly_savings().amount());
        assert_eq!(saved, Some(decimal("146.88")));
    }
}

#[test]
fn every_machine_of_a_split_takes_what_is_reserved_for_its_type() {
    let tenants = (0..4).fold(Machine::new("i-1", "p3.8xlarge"), |machine, gpu| {
        machine.gpu(gpu, flat(12.0)).vram(gpu, 3_000.0, 16_160.0)
    });
    let tenants =
        tenants.cpu(flat(5.0)).tag("gpucost:kind", "serving").tag("gpucost:gpus", "independent");
    // 12.24 × 730 = 8,935.20 against four g5.xlarge, each reserved, or bought at
    // 0.63378 × 730 = 462.66.
    for (reserved, paid, missing) in [(1, "438.00", 3), (6, "2628.00", 0)] {
        let report = audited(&with(vec![tenants.clone()], at_sixty_cents(reserved)));
        let paid = decimal(paid);
        assert_eq!(total(&report), decimal("8935.20") + paid);
        assert_eq!(planned(&report), paid + decimal("462.66") * Decimal::from(missing));
        let bought: u32 = report.purchases.iter().map(|purchase| purchase.count).sum();
        assert_eq!(bought, missing);
        let split = &report.workloads[0].actions[0];
        let to = split.target().map(|to| (to.instance_type.as_str(), to.count));
        assert_eq!(to, Some(("g5.xlarge", 4)));
    }
}

/// Reserved for a p3.2xlarge at 0.60, of which a p3.8xlarge is four: 438.00 a month cover a quarter
/// of one. Today 2 × 8,935.20 − 2,233.80 + 438.00; both stop, and the fee alone is left. Which one
/// is shown as covered, and so costs less, their ids decide.
#[test]
fn what_one_stop_saves_beyond_its_own_cost_another_saves() {
    let idle = |id: &str| {
        let machine = Machine::new(id, "p3.8xlarge").cpu(flat(1.0));
        (0..4).fold(machine, |machine, gpu| machine.gpu(gpu, flat(0.0)).vram(gpu, 3.0, 16_160.0))
    };
    let reservation =
        ReservedInstances { instance_type: "p3.2xlarge".to_owned(), ..at_sixty_cents(1) };
    for count in [2_u32, 3] {
        let machines = (0..count).map(|place| idle(&format!("i-{place}")));
        let report =
            audit(&with(machines.collect(), reservation.clone()), &Policy::default(), Risk::Medium);
        let today = decimal("8935.20") * Decimal::from(count) - decimal("1795.80");
        assert_eq!(total(&report), today);
        assert_eq!(planned(&report), decimal("438.00"));
        assert_eq!(amount(report.totals.monthly_waste), today - decimal("438.00"));
    }
}

/// A year pays from 63% of the hours on. What works 8 of 14 days, and rests since, works 57% of
/// them, though it ran in all; 10 days are 71%.
#[test]
fn hours_in_which_the_gpus_rest_justify_no_purchase() {
    for (days, count) in [(8, 0), (10, 1)] {
        let busy = Machine::new("i-1", "g5.xlarge")
            .tag("gpucost:kind", "training")
            .cpu(flat(20.0))
            .gpu(0, split(days * 288, 90.0, 0.0))
            .vram(0, 20_000.0, A10G_MIB);
        let report = audit(&estate(vec![busy]), &Policy::default(), Risk::Medium);
        let bought: u32 = report.purchases.iter().map(|purchase| purchase.count).sum();
        assert_eq!(bought, count, "{days} days");
        let advised = report.findings.iter();
        let advised = advised.filter(|finding| finding.rule() == "steady-on-demand");
        assert_eq!(advised.count(), count as usize, "{days} days");
    }
}

/// A reservation that ends in four days and its queued successor are one in the long run: two
/// machines need one more. 438.00 + 0.63378 × 730.
#[test]
fn a_queued_renewal_covers_what_it_renews_and_no_more() {
    let ending = ReservedInstances {
        end: as_of() + SignedDuration::from_hours(4 * 24),
        ..at_sixty_cents(1)
    };
    let renewal = ReservedInstances {
        id: "ri-2".to_owned(),
        start: ending.end,
        end: ending.end + SignedDuration::from_hours(8_760),
        ..at_sixty_cents(1)
    };
    let machines = vec![machine("i-1", true), machine("i-2", true)];
    let mut fleet = with(machines, ending);
    fleet.commitments.reserved_instances.push(renewal);
    let report = audited(&fleet);
    assert_eq!(total(&report), decimal("1172.38"));
    assert_eq!(bought(&report), [("g5.xlarge".to_owned(), 1)]);
    assert_eq!(planned(&report), decimal("900.66"));
}
