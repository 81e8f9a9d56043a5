//! What an account has bought: hours out of an estate, and the findings about
//! invalid commitments file themselves.

use crate::rules::builder::{A10G_MIB, Machine, as_of, audited, estate, flat, window};
use gpucost::catalog::Prices;
use gpucost::domain::{
    CapacityReservation, CommitmentTerm, Commitments, Currency, Finding, GapSubject, Lifecycle,
    OfferingClass, OperatingSystem, PaymentOption, Policy, PurchaseOption, ReservedInstances,
    ResourceId, SavingsPlan, SavingsPlanKind, Tenancy,
};
use gpucost::rules::{CLUSTER_RULES, COMMITMENT_RULES, commitment_findings};
use gpucost::savings::{Coverage, Standing, Unused, existing_coverage};
use gpucost::usage::Estate;
use jiff::SignedDuration;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal")
}

/// Two p4d.24xlarge, reserved for a year that ends in so many days.
fn reserved(days: i64) -> ReservedInstances {
    ReservedInstances {
        id: "ri-1".to_owned(),
        account: None,
        region: "us-east-1".to_owned(),
        zone: None,
        instance_type: "p4d.24xlarge".to_owned(),
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        count: 2,
        class: OfferingClass::Standard,
        payment: PaymentOption::NoUpfront,
        start: as_of() - SignedDuration::from_hours(24 * (365 - days)),
        end: as_of() + SignedDuration::from_hours(24 * days),
        currency: Currency::Usd,
        upfront: Decimal::ZERO,
        recurring_hourly: decimal("13.921094"),
    }
}

fn capacity(total: u32, available: u32) -> CapacityReservation {
    CapacityReservation {
        zone: "us-east-1b".to_owned(),
        instance_type: "p4d.24xlarge".to_owned(),
        ..crate::rules::fleets::capacity(total, available)
    }
}

fn evaluation(estate: &Estate) -> (Coverage, Vec<Finding>) {
    let policy = Policy::default();
    let discounts = BTreeMap::new();
    let prices = Prices::new(&estate.prices, &discounts);
    let coverage =
        existing_coverage((estate, &estate.measured()), &prices, &policy, &Standing::default());
    let unused = Unused { coverage: &coverage, estate, prices: &prices, policy: &policy };
    let findings = commitment_findings(&unused.rows().0, &coverage, &[], estate.as_of);
    (coverage, findings)
}

fn findings_of(commitments: Commitments) -> Vec<Finding> {
    let mut nothing = estate(Vec::new());
    nothing.commitments = commitments;
    evaluation(&nothing).1
}

fn with_reserved(days: i64) -> Commitments {
    Commitments { reserved_instances: vec![reserved(days)], ..Commitments::default() }
}

fn with_capacity(reservation: CapacityReservation) -> Commitments {
    Commitments { capacity_reservations: vec![reservation], ..Commitments::default() }
}

fn rules(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(Finding::rule).collect()
}

#[test]
fn the_hours_of_an_estate_are_those_its_cost_follows() {
    // The first ran for the whole fortnight, the second by day, 8 of 24 hours,
    // the third is spot and needs no cover.
    let machine = |id| Machine::new(id, "p4d.24xlarge");
    let mut spot = machine("i-3").cpu(flat(5.0));
    spot.instance.lifecycle = Lifecycle::Spot;
    let mut fleet = estate(vec![
        machine("i-1").cpu(flat(5.0)),
        machine("i-2").cpu(|period| (period % 288 < 96).then_some(5.0)),
        spot,
    ]);
    fleet.commitments = with_reserved(100);
    let (coverage, findings) = evaluation(&fleet);
    let hours = i64::from(14 * 24);
    assert_eq!(window().seconds() / 3_600, hours);
    let running: Vec<(String, Decimal)> = coverage
        .instances
        .iter()
        .map(|instance| (instance.id.to_string(), instance.running_hours))
        .collect();
    let expected = [("i-1", hours), ("i-2", hours / 3)];
    assert_eq!(running, expected.map(|(id, hours)| (id.to_owned(), Decimal::from(hours))));
    let second = coverage.of(&ResourceId::named("i-2")).expect("it is there");
    let paid = second.committed().expect("all of it");
    assert_eq!(paid.purchase_option(), PurchaseOption::Reserved);
    // (336 + 112) of 672 hours.
    let used = coverage.commitments[0].utilization.expect("it overlaps");
    assert_eq!(used.round_dp(6), decimal("0.666667"));
    assert_eq!(rules(&findings), ["underused-commitment"]);
}

#[test]
fn idle_capacity_costs_the_on_demand_price_of_what_is_free() {
    let findings = findings_of(with_capacity(capacity(4, 3)));
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    // 3 × 21.957642 × 730 = 48 087.23598.
    assert_eq!(finding.monthly_savings.map(|money| money.amount()), Some(decimal("48087.24")));
    assert_eq!(finding.id(), "idle-capacity-reservation:cr-1");
    assert_eq!(
        finding.title,
        "capacity for 3 of 4 × p4d.24xlarge in us-east-1b is reserved but not used"
    );
    assert_eq!(finding.evidence()[0].observed, 3.0);
}

#[test]
fn idle_capacity_is_not_seen_where_there_is_none_to_give_up() {
    let full = capacity(4, 0);
    let over = CapacityReservation { end: Some(as_of()), ..capacity(4, 3) };
    for reservation in [full, over] {
        assert_eq!(rules(&findings_of(with_capacity(reservation))), Vec::<&str>::new());
    }
    let unknown = CapacityReservation { instance_type: "z9.large".to_owned(), ..capacity(1, 1) };
    let findings = findings_of(with_capacity(unknown));
    assert_eq!(rules(&findings), ["idle-capacity-reservation"]);
    assert_eq!(findings[0].monthly_savings, None, "unpriced, and not zero");
    assert!(findings[0].recommendation.steps[0].contains("unpriced"));
}

#[test]
fn a_block_that_is_paid_for_is_named_with_its_end_and_saves_nothing() {
    let block = CapacityReservation {
        capacity_block: true,
        end: Some(as_of() + SignedDuration::from_hours(48)),
        ..capacity(4, 3)
    };
    let findings = findings_of(with_capacity(block.clone()));
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!(finding.id(), "idle-capacity-block:cr-1");
    assert_eq!(finding.monthly_savings, None);
    // Two days after 1 November.
    assert_eq!(
        finding.title,
        "3 of 4 × p4d.24xlarge in us-east-1b are unused in a Capacity Block that is paid until \
         2026-11-03"
    );
    assert_eq!(finding.evidence()[0].observed, 3.0);
    // Two of the three have failed: only one can be launched, and no other is idle.
    let failed = CapacityReservation { available: 1, ..block.clone() };
    let findings = findings_of(with_capacity(failed));
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!(finding.evidence()[0].observed, 1.0);
    assert!(finding.title.starts_with("1 of 4 × p4d.24xlarge"), "{}", finding.title);
    // What is full now has no room that could still be used.
    let full = CapacityReservation { available: 0, ..block };
    assert_eq!(rules(&findings_of(with_capacity(full))), Vec::<&str>::new());
}

#[test]
fn a_commitment_that_nobody_uses_is_sunk_and_saves_nothing() {
    let findings = findings_of(with_reserved(100));
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!(finding.rule(), "underused-commitment");
    assert_eq!(finding.monthly_savings, None);
    // 2 × 13.921094 × 730 = 20 324.79724.
    assert_eq!(
        finding.title,
        "the reservation of 2 × p4d.24xlarge in us-east-1 is 0% utilized: USD 20324.80 per \
         month is unused"
    );
    assert!(finding.recommendation.steps[0].contains("stopping saves nothing"));
}

#[test]
fn the_border_of_underuse_is_four_fifths_and_that_of_expiry_sixty_days() {
    let with = |machines: usize, count: u32, days: i64| {
        let fleet = (0..machines)
            .map(|index| Machine::new(&format!("i-{index}"), "p4d.24xlarge").cpu(flat(5.0)))
            .collect();
        let mut estate = estate(fleet);
        estate.commitments.reserved_instances = vec![ReservedInstances { count, ..reserved(days) }];
        let (_, findings) = evaluation(&estate);
        findings.iter().map(Finding::rule).collect::<Vec<_>>()
    };
    assert_eq!(with(4, 5, 100), Vec::<&str>::new(), "80%");
    assert_eq!(with(3, 4, 100), ["underused-commitment"], "75%");
    assert_eq!(with(1, 1, 60), ["expiring-commitment"]);
    assert_eq!(with(1, 1, 61), Vec::<&str>::new());
    assert_eq!(with(0, 1, 0), Vec::<&str>::new(), "it has ended: nothing is left to decide");
}

#[test]
fn a_compute_plan_is_not_called_underused_but_it_does_end() {
    let plan = SavingsPlan {
        id: "sp-1".to_owned(),
        account: None,
        kind: SavingsPlanKind::Compute,
        region: None,
        family: None,
        currency: Currency::Usd,
        commitment_hourly: decimal("5"),
        term: CommitmentTerm::ONE_YEAR_NO_UPFRONT,
        start: as_of() - SignedDuration::from_hours(24 * 355),
        end: as_of() + SignedDuration::from_hours(24 * 10),
    };
    let findings = findings_of(Commitments { savings_plans: vec![plan], ..Commitments::default() });
    assert_eq!(rules(&findings), ["expiring-commitment"]);
    assert_eq!(findings[0].evidence()[0].observed, 10.0);
    // 5 × 730.
    assert_eq!(findings[0].recommendation.steps[0], "it costs USD 3650.00 per month, used or not");
}

#[test]
fn the_index_names_the_rules_about_commitments_and_clusters() {
    let index = crate::rules::fixtures::root().join("docs/rules/README.md");
    let index = std::fs::read_to_string(index).expect("an index");
    for rule in COMMITMENT_RULES.into_iter().chain(CLUSTER_RULES) {
        assert!(index.contains(&format!("| [`{rule}`]({rule}.md) |")), "{rule}");
    }
}

/// An idle box beside one that is used too little, the latter under a
/// reservation of one.
fn half_owned() -> Estate {
    let box_at = |id: &str, instance_type: &str, percent| {
        Machine::new(id, instance_type)
            .cpu(flat(5.0))
            .gpu(0, flat(percent))
            .vram(0, 200.0, A10G_MIB)
    };
    let mut fleet =
        estate(vec![box_at("i-free", "g5.2xlarge", 0.0), box_at("i-paid", "g5.xlarge", 0.0)]);
    fleet.commitments.reserved_instances = vec![ReservedInstances {
        instance_type: "g5.xlarge".to_owned(),
        count: 1,
        recurring_hourly: decimal("0.63378"),
        ..reserved(100)
    }];
    fleet
}

#[test]
fn what_is_paid_ahead_saves_nothing_and_the_rest_does() {
    let audit = audited(&half_owned());
    let of = |id: &str| {
        let mut workloads = audit.workloads.iter();
        workloads.find(|workload| workload.workload.id() == id).expect("it is there")
    };
    assert_eq!(of("i-free").actions.len(), 1);
    assert_eq!(of("i-paid").actions, []);
    // 0.63378 × 730 = 462.6594 is committed until the reservation ends, and so it stays.
    let paid = of("i-paid");
    let cost = paid.planned_monthly_cost().expect("priced");
    assert_eq!(cost.amount(), decimal("462.66"));
    assert_eq!(paid.workload.monthly_cost(), Some(cost));
    let committed_cost = paid.workload.committed_cost().expect("all of it");
    assert_eq!(committed_cost.monthly, cost);
    assert_eq!(of("i-free").workload.committed_cost(), None);
    assert_eq!(audit.totals.committed_monthly_cost, Some(cost));
    // 462.66 and 1.212 × 730 = 884.76.
    let total = audit.totals.monthly_cost.map(|money| money.amount());
    assert_eq!(total, Some(decimal("1347.42")));
    let savings: Vec<_> = audit
        .findings
        .iter()
        .filter(|finding| finding.workload() == "i-paid")
        .map(|finding| (finding.rule(), finding.monthly_savings))
        .collect();
    assert_eq!(savings, [("idle-gpu", None)]);
    // All of it is known: nomissing input.
    assert!(audit.gaps.iter().all(|gap| gap.what != GapSubject::Commitments));
    let end = half_owned().commitments.reserved_instances[0].end;
    let day = end.to_zoned(jiff::tz::TimeZone::UTC).date();
    assert_eq!(committed_cost.in_words(), format!("ri-1 until {day}"));
    let finding = audit.findings.iter().find(|finding| finding.workload() == "i-paid");
    let steps = &finding.expect("it is idle").recommendation.steps;
    let reported = format!(
        "USD 462.66 per month remains, committed by ri-1 until {day}: stopping frees those hours for \
         other instances"
    );
    assert_eq!(steps.last(), Some(&reported));
    // The same estate without the reservation stops both.
    let mut free = half_owned();
    free.commitments = Commitments::default();
    let free = audited(&free);
    assert!(free.workloads.iter().all(|workload| workload.actions.len() == 1));
    assert!(free.gaps.iter().all(|gap| gap.what != GapSubject::Commitments));
}

#[test]
fn an_audit_says_what_is_wrong_with_what_was_bought() {
    let mut fleet = half_owned();
    fleet.commitments.reserved_instances[0].count = 2;
    fleet.commitments.capacity_reservations = vec![capacity(4, 3)];
    let audit = audited(&fleet);
    let about = |id: &str| -> Vec<&str> {
        let findings = audit.findings.iter().filter(|finding| finding.workload() == id);
        findings.map(Finding::rule).collect()
    };
    assert_eq!(about("ri-1"), ["underused-commitment"]);
    assert_eq!(about("cr-1"), ["idle-capacity-reservation"]);
    // Dearest first: 48 087.24 of idle capacity is more than any box here.
    assert_eq!(audit.findings[0].workload(), "cr-1");
    // Two boxes and the capacity: three prices, and none of another type.
    let before = audited(&half_owned()).prices.by_origin();
    let sum = |origins: &BTreeMap<_, u64>| origins.values().sum::<u64>();
    assert_eq!(sum(&audit.prices.by_origin()), sum(&before) + 1);
}

#[test]
fn rules_about_commitments_have_ids_of_their_own() {
    assert!(COMMITMENT_RULES.is_sorted());
    for rule in gpucost::rules::RULES {
        assert!(!COMMITMENT_RULES.contains(&rule.meta().id));
        assert!(!CLUSTER_RULES.contains(&rule.meta().id));
    }
}
