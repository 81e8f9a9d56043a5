//! What hours under a commitment cost in an audit, how they group instances, and
//! what is left to save on them. Every figure is worked out by hand.

use crate::rules::builder::{A10G_MIB, Machine, as_of, audited, estate, flat};
use gpucost::analysis::{
    Audit, AuditedWorkload, GroupKey, Groups, assess_commitments, list_instances,
};
use gpucost::domain::{
    ActionKind, CapacityReservation, CommitmentTerm, Currency, GapSubject, HourlyRate,
    OfferingClass, OperatingSystem, PaymentOption, Policy, PriceBasis, PriceKey, PriceOption,
    PriceOrigin, PriceQuote, PurchaseOption, ReservedInstances, SavingsPlan, SavingsPlanKind,
    Tenancy,
};
use gpucost::usage::Estate;
use jiff::SignedDuration;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal")
}

/// So many g5.xlarge at 0.63378 an hour for another hundred days; 1.006 on
/// demand.
pub fn reserved(count: u32) -> ReservedInstances {
    ReservedInstances {
        id: "ri-1".to_owned(),
        account: None,
        region: "us-east-1".to_owned(),
        zone: None,
        instance_type: "g5.xlarge".to_owned(),
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        count,
        class: OfferingClass::Standard,
        payment: PaymentOption::NoUpfront,
        start: as_of() - SignedDuration::from_hours(24 * 265),
        end: as_of() + SignedDuration::from_hours(24 * 100),
        currency: Currency::Usd,
        upfront: Decimal::ZERO,
        recurring_hourly: decimal("0.63378"),
    }
}

/// A g5.xlarge at a utilization around the clock.
pub fn machine(id: &str, percent: f64) -> Machine {
    Machine::new(id, "g5.xlarge").cpu(flat(4.0)).gpu(0, flat(percent)).vram(0, 200.0, A10G_MIB)
}

/// The same in 8 of 24 hours.
pub fn by_day(id: &str, percent: f64) -> Machine {
    let day = move |value: f64| move |period: u32| (period % 288 < 96).then_some(value);
    Machine::new(id, "g5.xlarge").cpu(day(5.0)).gpu(0, day(percent))
}

pub fn owned(machines: Vec<Machine>, count: u32) -> Estate {
    let mut fleet = estate(machines);
    fleet.commitments.reserved_instances = vec![reserved(count)];
    fleet
}

fn of<'a>(audit: &'a Audit, id: &str) -> &'a AuditedWorkload {
    let mut workloads = audit.workloads.iter();
    workloads
        .find(|workload| workload.workload.id() == id)
        .unwrap_or_else(|| panic!("{id} is not there"))
}

fn cost(workload: &AuditedWorkload) -> Decimal {
    workload.workload.monthly_cost().expect("priced").amount()
}

fn committed_cost(workload: &AuditedWorkload) -> Decimal {
    workload.workload.committed_cost().expect("paid upfront").monthly.amount()
}

#[test]
fn an_hour_costs_what_pays_for_it() {
    // The first takes the reservation by day, 112 of 336 hours; the second, which
    // is idle, has it in the other 224 and costs the on-demand price in 112.
    let audit = audited(&owned(vec![by_day("i-1", 90.0), machine("i-2", 0.0)], 1));
    let (first, second) = (of(&audit, "i-1"), of(&audit, "i-2"));
    assert_eq!(first.workload.key.purchase_option, PurchaseOption::Reserved);
    assert_eq!(second.workload.key.purchase_option, PurchaseOption::Mixed);
    // 0.63378 × 730 / 3 = 154.2198.
    assert_eq!((cost(first), committed_cost(first)), (decimal("154.22"), decimal("154.22")));
    // 0.63378 × 2/3 + 1.006 / 3 = 0.757853 an hour, of which 0.42252 is committed.
    assert_eq!((cost(second), committed_cost(second)), (decimal("553.23"), decimal("308.44")));
    // Both parts of the reservation are all of it: 0.63378 × 730 = 462.6594.
    assert_eq!(committed_cost(first) + committed_cost(second), decimal("462.66"));
    // Stopping ends what costs the on-demand price: 553.23 − 308.44.
    let [stop] = second.actions.as_slice() else { panic!("{:?}", second.actions) };
    assert_eq!(stop.kind(), ActionKind::Stop);
    assert_eq!(stop.monthly_savings().amount(), decimal("244.79"));
    let planned = second.planned_monthly_cost().expect("priced").amount();
    assert_eq!(planned, decimal("308.44"));
    let totals = &audit.totals;
    let amount = |money: Option<gpucost::domain::Money>| money.expect("known").amount();
    assert_eq!(amount(totals.monthly_cost), decimal("707.45"));
    assert_eq!(amount(totals.monthly_waste), decimal("244.79"));
    assert_eq!(amount(totals.planned_monthly_cost), decimal("462.66"));
    assert_eq!(amount(totals.committed_monthly_cost), decimal("462.66"));
    assert!(audit.gaps.iter().all(|gap| gap.what != GapSubject::Commitments));
}

#[test]
fn a_group_is_one_workload_whatever_pays_for_its_members() {
    let grouped = |id: &str| {
        let mut member = machine(id, 90.0);
        member.instance.auto_scaling_group = Some("web".to_owned());
        member
    };
    let fleet = || vec![grouped("i-1"), grouped("i-2"), grouped("i-3")];
    let audit = audited(&owned(fleet(), 1));
    let id = "111122223333/us-east-1/g5.xlarge/on-demand/asg:web";
    let option = |workload: &AuditedWorkload| workload.workload.key.purchase_option;
    let web = of(&audit, id);
    assert_eq!(web.workload.instances.len(), 3);
    assert_eq!(option(web), PurchaseOption::Mixed);
    // 462.66 + 2 × 1.006 × 730.
    assert_eq!(cost(web), decimal("1931.42"));
    assert!(!web.actions.is_empty(), "the others may be committed to");
    let report = audited(&estate(fleet()));
    assert_eq!(of(&report, id).workload.instances.len(), 3);
    assert_eq!(option(of(&report, id)), PurchaseOption::OnDemand);
    let report = audited(&owned(fleet(), 3));
    assert_eq!(of(&report, id).workload.instances.len(), 3);
    assert_eq!(option(of(&report, id)), PurchaseOption::Reserved);
    // What a commitment is sized on are the two that are not covered.
    let advised = assess_commitments(&owned(fleet(), 1), &Policy::default());
    assert_eq!(advised.reserved[0].usage.peak(), 2);
    let bought: u32 = audit.purchases.iter().map(|purchase| purchase.count).sum();
    assert_eq!(bought, 2);
}

#[test]
fn a_savings_plan_pays_for_what_it_reaches() {
    let mut fleet = estate(vec![machine("i-1", 20.0), machine("i-2", 20.0)]);
    let term = CommitmentTerm::ONE_YEAR_NO_UPFRONT;
    // One and a half machines at the rate of the catalog, 0.63378.
    fleet.commitments.savings_plans = vec![SavingsPlan {
        id: "sp-1".to_owned(),
        account: None,
        kind: SavingsPlanKind::Ec2Instance,
        region: Some("us-east-1".to_owned()),
        family: Some("g5".to_owned()),
        currency: Currency::Usd,
        commitment_hourly: decimal("0.95067"),
        term,
        start: as_of() - SignedDuration::from_hours(24 * 265),
        end: as_of() + SignedDuration::from_hours(24 * 100),
    }];
    let audit = audited(&fleet);
    let (first, second) = (of(&audit, "i-1"), of(&audit, "i-2"));
    let option = |workload: &AuditedWorkload| workload.workload.key.purchase_option;
    assert_eq!(option(first), PurchaseOption::SavingsPlan);
    assert_eq!(cost(first), decimal("462.66"));
    assert_eq!(option(second), PurchaseOption::Mixed);
    // (0.63378 + 1.006) / 2 × 730 = 598.5197.
    assert_eq!(cost(second), decimal("598.52"));
    // 0.31689 × 730 = 231.3297.
    assert_eq!(committed_cost(second), decimal("231.33"));
    // Its other half costs 367.19, and a g4dn.xlarge in its place 0.526 × 730 = 383.98.
    assert!(audit.workloads.iter().all(|workload| workload.actions.is_empty()));
}

#[test]
fn what_has_ended_pays_for_nothing_any_more() {
    let mut fleet = owned(vec![machine("i-1", 90.0)], 1);
    fleet.commitments.reserved_instances[0].end = as_of();
    let audit = audited(&fleet);
    let first = of(&audit, "i-1");
    assert_eq!(first.workload.key.purchase_option, PurchaseOption::OnDemand);
    assert_eq!(cost(first), decimal("734.38"));
    assert_eq!(first.workload.committed_cost(), None);
    assert_eq!(audit.totals.committed_monthly_cost, None);
}

#[test]
fn an_inventory_says_of_each_machine_what_its_audit_says() {
    let fleet = owned(vec![by_day("i-1", 90.0), machine("i-2", 0.0)], 1);
    let audit = audited(&fleet);
    let listing = list_instances(&fleet, &Policy::default());
    for listed in &listing.instances {
        let workload = &of(&audit, listed.instance.id.as_str()).workload;
        assert_eq!(listed.purchase_option, workload.key.purchase_option);
        let cost = workload.cost.as_ref().expect("priced");
        assert_eq!(listed.hourly, Some(cost.hourly));
    }
    let rates: Vec<(PurchaseOption, Decimal)> = listing
        .instances
        .iter()
        .map(|listed| {
            let rate = listed.hourly.expect("priced").amount();
            (listed.purchase_option, rate.round_dp(6))
        })
        .collect();
    // Under the reservation in all of its hours; 0.63378 × 2/3 + 1.006 / 3 = 0.757853.
    assert_eq!(
        rates,
        [
            (PurchaseOption::Reserved, decimal("0.63378")),
            (PurchaseOption::Mixed, decimal("0.757853")),
        ]
    );
    // Without the reservation both are on demand at list price.
    let free = estate(vec![machine("i-1", 90.0)]);
    let listing = list_instances(&free, &Policy::default());
    let alone = &listing.instances[0];
    assert_eq!(alone.purchase_option, PurchaseOption::OnDemand);
    let rate = alone.hourly.expect("priced").amount();
    assert_eq!(rate, decimal("1.006"));
}

/// Machines of a type under one regional reservation of another size at 1 an hour.
fn of_another_size(running: &str, count: usize, reserved_type: &str) -> Audit {
    let machines = (1..=count).map(|number| {
        Machine::new(&format!("i-{number}"), running).cpu(flat(50.0)).gpu(0, flat(70.0))
    });
    let mut fleet = estate(machines.collect());
    fleet.commitments.reserved_instances = vec![ReservedInstances {
        instance_type: reserved_type.to_owned(),
        recurring_hourly: Decimal::ONE,
        ..reserved(1)
    }];
    audited(&fleet)
}

#[test]
fn a_reservation_covers_other_sizes_of_a_flexible_family_alone() {
    // A p3.8xlarge has 64 units and a p3.2xlarge 16: it covers four of them.
    let flexible = of_another_size("p3.2xlarge", 4, "p3.8xlarge");
    for workload in &flexible.workloads {
        assert_eq!(workload.workload.key.purchase_option, PurchaseOption::Reserved);
        // 1 × 730 / 4 = 182.50.
        assert_eq!(cost(workload), decimal("182.50"));
    }
    assert!(flexible.unused.is_empty());
    // The units of a g5.2xlarge would be those of two g5.xlarge, and it covers none.
    let fixed = of_another_size("g5.xlarge", 2, "g5.2xlarge");
    for workload in &fixed.workloads {
        assert_eq!(workload.workload.key.purchase_option, PurchaseOption::OnDemand);
        // 1.006 × 730 = 734.38.
        assert_eq!(cost(workload), decimal("734.38"));
    }
    let unused = fixed.unused[0].monthly_cost.expect("priced");
    assert_eq!(unused.amount(), decimal("730"));
}

#[test]
fn what_is_unused_belongs_to_its_account() {
    let mut fleet = owned(vec![machine("i-1", 90.0)], 2);
    fleet.accounts = vec!["111122223333".to_owned(), "444455556666".to_owned()];
    fleet.commitments.set_owner("444455556666");
    let audit = audited(&fleet);
    // One of two at 0.63378 × 730 = 462.6594 is unused, and the owner pays for it.
    let rows: Vec<(Option<String>, Decimal)> = Groups::of(&audit, &[GroupKey::Account])
        .rows
        .into_iter()
        .map(|row| {
            let cost = row.sums.monthly_cost.expect("priced");
            (row.values[0].clone(), cost.amount())
        })
        .collect();
    let of = |account: &str| (Some(account.to_owned()), decimal("462.66"));
    assert!(rows.contains(&of("111122223333")), "{rows:?}");
    assert!(rows.contains(&of("444455556666")), "{rows:?}");
    assert_eq!(rows.len(), 2);
    // Whose it is cannot be said of several accounts without its owner.
    fleet.commitments.reserved_instances[0].account = None;
    assert_eq!(audited(&fleet).unused[0].account, None);
    // Of one account it is that one's.
    fleet.accounts.truncate(1);
    let account = audited(&fleet).unused[0].account.clone();
    assert_eq!(account.as_deref(), Some("111122223333"));
}

#[test]
fn a_capacity_block_at_its_own_price_is_committed_cost() {
    let mut held = Machine::new("i-1", "p4d.24xlarge").cpu(flat(5.0));
    for gpu in 0..8 {
        held = held.gpu(gpu, flat(0.0)).vram(gpu, 0.0, 40_960.0);
    }
    held.instance.capacity_block_id = Some("cb-1".to_owned());
    held.instance.capacity_reservation_id = Some("cr-1".to_owned());
    let mut fleet = estate(vec![held]);
    // No list has the price of a block that was sold.
    let listed = audited(&fleet);
    assert_eq!(of(&listed, "i-1").workload.monthly_cost(), None);
    assert_eq!(listed.totals.unpriced_instances, 1);

    let end = as_of() + SignedDuration::from_hours(24 * 10);
    fleet.commitments.capacity_reservations = vec![CapacityReservation {
        id: "cr-1".to_owned(),
        account: None,
        region: "us-east-1".to_owned(),
        zone: "us-east-1a".to_owned(),
        instance_type: "p4d.24xlarge".to_owned(),
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        total: 1,
        available: 0,
        capacity_block: true,
        start: None,
        committed_until: None,
        end: Some(end),
        tags: BTreeMap::new(),
    }];
    let day = jiff::civil::date(2026, 10, 31);
    let key = PriceKey::linux_on_demand("us-east-1", "p4d.24xlarge");
    fleet.prices.insert(
        key.with_option(PriceOption::CapacityBlock),
        PriceQuote {
            rate: HourlyRate::new(decimal("11.80"), Currency::Usd).expect("positive"),
            instalments: None,
            origin: PriceOrigin::User,
            basis: PriceBasis::Observed,
            effective_date: day,
            seen_on: day,
            source: "own.csv".to_owned(),
        },
    );
    let audit = audited(&fleet);
    let block = of(&audit, "i-1");
    let option = PurchaseOption::CapacityBlock;
    assert_eq!(block.workload.key.purchase_option, option);
    // 11.80 × 730, all of it paid until the block ends, however idle the machine is.
    let paid = decimal("8614.00");
    assert_eq!((cost(block), committed_cost(block)), (paid, paid));
    let committed = block.workload.committed_cost().expect("a block");
    assert_eq!(committed.commitments, [("cb-1".to_owned(), Some(end))].into());
    assert_eq!(block.actions, []);
    let waste = audit.totals.monthly_waste.expect("priced").amount();
    let saved = audit.totals.monthly_savings().expect("priced").amount();
    assert_eq!((waste, saved), (Decimal::ZERO, Decimal::ZERO));
    let listing = list_instances(&fleet, &Policy::default());
    let listed = &listing.instances[0];
    assert_eq!(listed.purchase_option, option);
    let rate = listed.hourly.expect("priced").amount();
    assert_eq!(rate, decimal("11.80"));
}
