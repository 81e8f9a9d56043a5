use super::*;
use crate::domain::{
    CommitmentTerm, Currency, HourlyRate, OfferingClass, OperatingSystem, PaymentOption, PriceKey,
    PriceOption, ReservedInstances, SavingsPlan, SavingsPlanKind, Tenancy,
};
use std::collections::BTreeMap;

pub(super) const PLAN: PriceOption =
    PriceOption::Ec2InstanceSavingsPlan(CommitmentTerm::ONE_YEAR_NO_UPFRONT);

pub(super) fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal")
}

fn at(hour: i64) -> Timestamp {
    Timestamp::from_second(hour * HOUR_SECONDS).expect("in range")
}

pub(super) fn used(id: &str, instance_type: &str, running: &[bool]) -> UsedInstance {
    UsedInstance {
        is_room: false,
        rests: false,
        figures: Figures::default(),
        id: ResourceId::named(id),
        account: String::new(),
        key: PriceKey::linux_on_demand("us-east-1", instance_type),
        zone: Some("us-east-1a".to_owned()),
        hours: running.iter().map(|ran| u64::from(*ran) * INSTANCE).collect(),
        on_demand_hourly: None,
        plan_rates: BTreeMap::new(),
    }
}

pub(super) fn reserved(id: &str, instance_type: &str, count: u32) -> ReservedInstances {
    ReservedInstances {
        id: id.to_owned(),
        account: None,
        region: "us-east-1".to_owned(),
        zone: None,
        instance_type: instance_type.to_owned(),
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        count,
        class: OfferingClass::Standard,
        payment: PaymentOption::NoUpfront,
        start: at(-100),
        end: at(1_000),
        currency: Currency::Usd,
        upfront: Decimal::ZERO,
        recurring_hourly: decimal("13.921094"),
    }
}

pub(super) fn plan(id: &str, family: &str, hourly: &str) -> SavingsPlan {
    SavingsPlan {
        id: id.to_owned(),
        account: None,
        kind: SavingsPlanKind::Ec2Instance,
        region: Some("us-east-1".to_owned()),
        family: Some(family.to_owned()),
        currency: Currency::Usd,
        commitment_hourly: decimal(hourly),
        term: CommitmentTerm::ONE_YEAR_NO_UPFRONT,
        start: at(-100),
        end: at(1_000),
    }
}

pub(super) fn owned(reserved: Vec<ReservedInstances>, plans: Vec<SavingsPlan>) -> Commitments {
    Commitments { reserved_instances: reserved, savings_plans: plans, ..Commitments::default() }
}

pub(super) fn covered(
    instances: &[UsedInstance],
    commitments: &Commitments,
    hours: i64,
) -> Coverage {
    let policy = Policy::default();
    coverage(instances, commitments, hours as usize, at(hours), &policy)
}

/// How the hours of an instance are paid for.
fn option_of(instance: &InstanceCoverage) -> PurchaseOption {
    let paid = instance.committed();
    paid.map_or(PurchaseOption::OnDemand, |paid| paid.purchase_option())
}

/// Covered hours by instance.
fn hours(coverage: &Coverage) -> Vec<String> {
    let hours = coverage.instances.iter().map(InstanceCoverage::covered_hours);
    hours.map(|hours| hours.normalize().to_string()).collect()
}

#[test]
fn factors_are_those_of_the_published_table() {
    for (instance_type, factor) in [
        ("t3.nano", "0.25"),
        ("t3.micro", "0.5"),
        ("t3.small", "1"),
        ("t3.medium", "2"),
        ("t3.large", "4"),
        ("m5.medium", "2"),
        ("m5.large", "4"),
        ("g5.xlarge", "8"),
        ("trn1.2xlarge", "16"),
        ("vt1.3xlarge", "24"),
        ("trn1.32xlarge", "256"),
        ("p3.xlarge", "8"),
        ("p3.2xlarge", "16"),
        ("p3.8xlarge", "64"),
        ("p4d.24xlarge", "192"),
        ("p5.48xlarge", "384"),
        ("m7i.metal-24xl", "192"),
        // The largest g4dn is a 16xlarge, the largest g5g too.
        ("g4dn.metal", "128"),
        ("g5g.metal", "128"),
    ] {
        let text = normalization_factor(instance_type).map(|units| units.to_string());
        assert_eq!(text.as_deref(), Some(factor), "{instance_type}");
    }
    for unknown in [
        "p3", "p3.huge", "p3.0xlarge", "p3.99999999999xlarge", "z9.metal", "xlarge", "g5.",
        "g5.bigxlarge", "g5.-1xlarge",
    ] {
        assert_eq!(normalization_factor(unknown), None, "{unknown}");
    }
}

#[test]
fn a_zone_goes_first_then_the_region_then_the_plan() {
    let mut instances: Vec<UsedInstance> =
        ["i-a", "i-b", "i-c"].into_iter().map(|id| used(id, "g5.xlarge", &[true; 4])).collect();
    instances[2].zone = Some("us-east-1b".to_owned());
    for instance in &mut instances {
        instance.on_demand_hourly = Some(decimal("1.006"));
        instance.plan_rates.insert(PLAN, decimal("0.634"));
    }
    let mut zonal = reserved("z", "g5.xlarge", 1);
    zonal.zone = Some("us-east-1a".to_owned());
    zonal.recurring_hourly = decimal("0.6");
    let mut regional = reserved("a", "g5.xlarge", 1);
    regional.recurring_hourly = decimal("0.65");
    let plans = vec![plan("p", "g5", "0.317")];
    let coverage = covered(&instances, &owned(vec![regional, zonal], plans), 4);
    let parts: Vec<(&str, String, String)> = coverage
        .instances
        .iter()
        .map(|instance| {
            let [part] = instance.parts.as_slice() else { panic!("{:?}", instance.parts) };
            let text = |number: Decimal| number.normalize().to_string();
            (part.commitment.as_str(), text(part.hours), text(part.cost.amount()))
        })
        .collect();
    // Four hours at 0.6 and at 0.65; half of each of four hours at 0.634.
    let expected = [("z", "4", "2.4"), ("a", "4", "2.6"), ("p", "2", "1.268")];
    let expected = expected.map(|(id, hours, cost)| (id, hours.to_owned(), cost.to_owned()));
    assert_eq!(parts, expected);
    let options: Vec<PurchaseOption> = coverage.instances.iter().map(option_of).collect();
    use PurchaseOption::{Mixed, Reserved};
    assert_eq!(options, [Reserved, Reserved, Mixed]);
    // (1.268 + 2 × 1.006) / 4; half of 0.634 is paid when it stops.
    let mixed = &coverage.instances[2];
    let paid = mixed.committed().expect("half of it");
    let rate = |text, currency| HourlyRate::new(decimal(text), currency).expect("positive");
    let on_demand = |currency| paid.hourly(rate("1.006", currency));
    assert_eq!(on_demand(Currency::Usd), Some(rate("0.82", Currency::Usd)));
    assert_eq!(on_demand(Currency::Cny), None);
    assert_eq!(paid.committed_hourly(), decimal("0.317"));
    assert_eq!(paid.parts[0].end, Some(at(1_000)));
    assert_eq!(mixed.covered_share(), Some(decimal("0.5")));
    let kinds: Vec<(&str, CommitmentKind)> = coverage
        .commitments
        .iter()
        .map(|commitment| (commitment.id.as_str(), commitment.kind))
        .collect();
    use CommitmentKind::{Ec2InstanceSavingsPlan, RegionalReserved, ZonalReserved};
    assert_eq!(
        kinds,
        [("z", ZonalReserved), ("a", RegionalReserved), ("p", Ec2InstanceSavingsPlan)]
    );
    assert!(
        coverage.commitments.iter().all(|commitment| commitment.utilization == Some(Decimal::ONE))
    );
    // Three instances ran four hours each, and the region's covers one of them.
    assert_eq!(coverage.commitments[1].eligible_hours, Decimal::from(12));
    let third = Decimal::ONE / Decimal::from(3);
    assert_eq!(coverage.commitments[1].coverage(), Some(third));
}

#[test]
fn an_instance_stopped_leaves_its_coverage_to_the_next() {
    let first = used("i-1", "p4d.24xlarge", &[true, true, false, false]);
    let second = used("i-2", "p4d.24xlarge", &[false, true, true, false]);
    let mine = owned(vec![reserved("r", "p4d.24xlarge", 1)], Vec::new());
    let coverage = covered(&[first, second], &mine, 4);
    // Hour 0 and 1 go to the first, hour 2 to the second, hour 3 to none.
    assert_eq!(hours(&coverage), ["2", "1"]);
    assert_eq!(coverage.instances[1].uncovered, [0, INSTANCE, 0, 0]);
    let commitment = &coverage.commitments[0];
    assert_eq!(commitment.utilization, Some(decimal("0.75")));
    assert_eq!(commitment.coverage(), Some(decimal("0.75")));
    // 13.921094 × 730 = 10 162.39862, a quarter of it 2 540.599655.
    assert_eq!(commitment.monthly_cost.amount(), decimal("10162.40"));
    assert_eq!(commitment.unused_monthly.map(Money::amount), Some(decimal("2540.60")));
    assert_eq!(commitment.name, "1 × p4d.24xlarge in us-east-1");
}

#[test]
fn flexible_sizes_are_covered_by_units_the_smallest_first() {
    let fleet = [used("i-1", "vt1.24xlarge", &[true]), used("i-2", "vt1.3xlarge", &[true])];
    // 48 units: 24 for the 3xlarge, 24 of 192 for the 24xlarge.
    let mine = owned(vec![reserved("r", "vt1.6xlarge", 1)], Vec::new());
    let coverage = covered(&fleet, &mine, 1);
    assert_eq!(hours(&coverage), ["0.125", "1"]);
    assert_eq!(coverage.commitments[0].utilization, Some(Decimal::ONE));
    // A 24xlarge of 192 units covers two 3xlarge and a 6xlarge, and has 96 left.
    let fleet = [
        used("i-1", "vt1.3xlarge", &[true]),
        used("i-2", "vt1.3xlarge", &[true]),
        used("i-3", "vt1.6xlarge", &[true]),
    ];
    let mine = owned(vec![reserved("r", "vt1.24xlarge", 1)], Vec::new());
    let coverage = covered(&fleet, &mine, 1);
    assert_eq!(hours(&coverage), ["1", "1", "1"]);
    assert_eq!(coverage.commitments[0].utilization, Some(decimal("0.5")));
    // Half of 13.921094 × 730, whatever the units: 5 081.19931.
    assert_eq!(coverage.commitments[0].unused_monthly.map(Money::amount), Some(decimal("5081.20")));
    // An eighth of an hour's rate is what the 3xlarge costs.
    let cost = coverage.instances[0].parts[0].cost.amount();
    assert_eq!(cost.round_dp(6), decimal("1.740137"));
}

#[test]
fn where_sizes_are_not_flexible_only_the_same_type_is_covered() {
    let hours_of = |reservation: &ReservedInstances, instance: &UsedInstance| {
        let mine = owned(vec![reservation.clone()], Vec::new());
        let coverage = covered(std::slice::from_ref(instance), &mine, 1);
        hours(&coverage).remove(0)
    };
    let whole = reserved("r", "vt1.6xlarge", 1);
    let small = used("i-1", "vt1.3xlarge", &[true]);
    assert_eq!(hours_of(&whole, &small), "1", "this family is flexible");
    let of = |name| reserved("r", name, 1);
    // So is p3, which is no longer sold and whose reservations still run.
    let small = used("i-1", "p3.2xlarge", &[true]);
    assert_eq!(hours_of(&of("p3.8xlarge"), &small), "1");
    // The catalog says no of g5 and p5, nothing of g7e, and does not know z9.
    for (bought, runs) in [
        ("g5.2xlarge", "g5.xlarge"),
        ("p5.48xlarge", "p5.4xlarge"),
        ("g7e.4xlarge", "g7e.2xlarge"),
        ("z9.2xlarge", "z9.xlarge"),
        ("vt1.6xlarge", "g5.xlarge"),
    ] {
        assert_eq!(hours_of(&of(bought), &used("i-1", runs, &[true])), "0", "{bought}");
        assert_eq!(hours_of(&of(bought), &used("i-1", bought, &[true])), "1", "{bought}");
    }
    let mut zonal = whole.clone();
    zonal.zone = Some("us-east-1a".to_owned());
    assert_eq!(hours_of(&zonal, &small), "0");
    for (operating_system, tenancy) in [
        (OperatingSystem::Windows, Tenancy::Shared),
        (OperatingSystem::Rhel, Tenancy::Shared),
        (OperatingSystem::Sles, Tenancy::Shared),
        (OperatingSystem::Linux, Tenancy::Dedicated),
    ] {
        let other = ReservedInstances { operating_system, tenancy, ..whole.clone() };
        let key = PriceKey { operating_system, tenancy, ..small.key.clone() };
        let like = UsedInstance { key: key.clone(), ..small.clone() };
        assert_eq!(hours_of(&other, &like), "0", "{operating_system} {tenancy}");
        let same = UsedInstance { key: key.with_type("vt1.6xlarge"), ..like.clone() };
        assert_eq!(hours_of(&other, &same), "1", "{operating_system} {tenancy}");
        assert_eq!(hours_of(&whole, &like), "0", "another platform");
    }
    let key = PriceKey { region: "eu-west-1".to_owned(), ..small.key.clone() };
    let elsewhere = UsedInstance { key, ..small };
    assert_eq!(hours_of(&whole, &elsewhere), "0");
}

#[test]
fn a_commitment_counts_as_it_stands_at_the_instant() {
    // Bought an hour ago, it covers all hours, queued or ended none.
    let of_term = |id, start, end| ReservedInstances {
        start: at(start),
        end: at(end),
        ..reserved(id, "p4d.24xlarge", 1)
    };
    let machines = ["i-1", "i-2"].map(|id| used(id, "p4d.24xlarge", &[true; 4]));
    let mine =
        vec![of_term("a-queued", 5, 900), of_term("b-ended", -9, 4), of_term("c-young", 3, 900)];
    let coverage = covered(&machines, &owned(mine, Vec::new()), 4);
    assert_eq!(hours(&coverage), ["4", "0"]);
    let use_of: Vec<_> = coverage
        .commitments
        .iter()
        .map(|commitment| {
            (commitment.id.as_str(), commitment.utilization, commitment.unused_monthly.is_some())
        })
        .collect();
    let (young, queued) = (("c-young", Some(Decimal::ONE), true), ("a-queued", None, false));
    assert_eq!(use_of, [young, queued]);
}

#[test]
fn of_equals_what_computes_nothing_is_shown_as_covered_last() {
    let mut fleet = ["i-1", "i-2"].map(|id| used(id, "p4d.24xlarge", &[true; 2]));
    fleet[0].rests = true;
    let mine = owned(vec![reserved("r", "p4d.24xlarge", 1)], Vec::new());
    assert_eq!(hours(&covered(&fleet, &mine, 2)), ["0", "2"]);
}

#[test]
fn days_to_expiry_are_whole_and_never_negative() {
    let mut mine = reserved("r", "p4d.24xlarge", 1);
    mine.end = at(4 + 24 * 41 + 23);
    let days = |mine: &ReservedInstances| {
        let coverage = covered(&[], &owned(vec![mine.clone()], Vec::new()), 4);
        // Paid for in every hour of the window, though nothing runs at all.
        (coverage.commitments[0].days_to_expiry, coverage.commitments[0].utilization)
    };
    assert_eq!(days(&mine), (41, Some(Decimal::ZERO)));
    mine.end = at(5);
    assert_eq!(days(&mine), (0, Some(Decimal::ZERO)));
}

#[test]
fn plans_cover_what_saves_most_and_say_whose_rate_is_unknown() {
    let mut small_saving = used("i-1", "g5.xlarge", &[true]);
    small_saving.on_demand_hourly = Some(Decimal::ONE);
    small_saving.plan_rates.insert(PLAN, decimal("0.9"));
    let mut large_saving = used("i-2", "g5.2xlarge", &[true]);
    large_saving.on_demand_hourly = Some(Decimal::TWO);
    large_saving.plan_rates.insert(PLAN, Decimal::ONE);
    let unknown = used("i-3", "g5.4xlarge", &[true]);
    let other_family = used("i-4", "p4d.24xlarge", &[true]);
    let fleet = [small_saving, large_saving, unknown, other_family];
    let coverage = covered(&fleet, &owned(Vec::new(), vec![plan("p", "g5", "1.45")]), 1);
    // 1.00 for the second, and 0.45 of 0.90 for the first.
    assert_eq!(hours(&coverage), ["0.5", "1", "0", "0"]);
    assert_eq!(coverage.commitments[0].unrated, [ResourceId::named("i-3")]);
    assert_eq!(coverage.commitments[0].eligible_hours, Decimal::TWO);
    assert_eq!(coverage.commitments[0].name, "USD 1.45/h for g5 in us-east-1");
    assert_eq!(option_of(&coverage.instances[1]), PurchaseOption::SavingsPlan);
    assert_eq!(option_of(&coverage.instances[3]), PurchaseOption::OnDemand);
}

#[test]
fn what_a_compute_plan_pays_for_elsewhere_is_not_called_unused() {
    let term = CommitmentTerm::ONE_YEAR_NO_UPFRONT;
    let compute = SavingsPlan {
        kind: SavingsPlanKind::Compute,
        region: None,
        family: None,
        ..plan("c", "", "2")
    };
    let models = SavingsPlan { kind: SavingsPlanKind::Other, ..plan("o", "g5", "9") };
    let mut machine = used("i-1", "g5.xlarge", &[true]);
    machine.plan_rates.insert(PriceOption::ComputeSavingsPlan(term), Decimal::ONE);
    let coverage = covered(&[machine], &owned(Vec::new(), vec![compute, models]), 1);
    let [commitment] = coverage.commitments.as_slice() else {
        panic!("one plan covers instances: {:?}", coverage.commitments)
    };
    assert_eq!(commitment.utilization, Some(decimal("0.5")));
    assert_eq!(commitment.unused_monthly, None);
    assert_eq!(commitment.name, "USD 2/h for any compute");
}

/// Instances of accounts A and B that ran for two hours.
fn of_two_accounts() -> [UsedInstance; 2] {
    [("i-1", "B"), ("i-2", "A")].map(|(id, account)| UsedInstance {
        account: account.to_owned(),
        ..used(id, "p4d.24xlarge", &[true; 2])
    })
}

#[test]
fn a_commitment_covers_its_own_account_first_and_then_the_others() {
    let fleet = of_two_accounts();
    // One instance of A, although B's comes first by id; two are enough for both.
    for (count, expected) in [(1, ["0", "2"]), (2, ["2", "2"])] {
        let mut mine = owned(vec![reserved("r-1", "p4d.24xlarge", count)], Vec::new());
        assert_eq!(hours(&covered(&fleet, &mine, 2))[0], "2", "no owner");
        mine.set_owner("A");
        assert_eq!(hours(&covered(&fleet, &mine, 2)), expected, "{count}");
        mine.is_unshared = true;
        assert_eq!(hours(&covered(&fleet, &mine, 2)), ["0", "2"], "{count}");
    }
}

#[test]
fn every_account_uses_its_own_before_those_of_others() {
    // A's two would be enough for both, and come first by id.
    let fleet = of_two_accounts();
    let both = [("r-1", 2), ("r-2", 1)].map(|(id, count)| reserved(id, "p4d.24xlarge", count));
    let mut mine = owned(both.into(), Vec::new());
    for (reservation, account) in mine.reserved_instances.iter_mut().zip(["A", "B"]) {
        reservation.account = Some(account.to_owned());
    }
    let coverage = covered(&fleet, &mine, 2);
    let by: Vec<&str> =
        coverage.instances.iter().map(|instance| instance.parts[0].commitment.as_str()).collect();
    assert_eq!(by, ["r-2", "r-1"]);
    // A plan: 4 an hour at a rate of 3 covers A's first and a third of B's.
    let with_rate = of_two_accounts().map(|mut instance| {
        instance.on_demand_hourly = Some(decimal("6"));
        instance.plan_rates.insert(PLAN, decimal("3"));
        instance
    });
    let mut mine = owned(Vec::new(), vec![plan("p-1", "p4d", "4")]);
    mine.set_owner("A");
    let coverage = covered(&with_rate, &mine, 2);
    let shares: Vec<String> =
        hours(&coverage).iter().map(|hours| hours.chars().take(5).collect()).collect();
    assert_eq!(shares, ["0.666", "2"]);
}

#[test]
fn a_zone_is_known_in_its_own_account_only() {
    let fleet = of_two_accounts();
    let zonal = ReservedInstances {
        zone: Some("us-east-1a".to_owned()),
        ..reserved("r-1", "p4d.24xlarge", 2)
    };
    let mut mine = owned(vec![zonal], Vec::new());
    assert_eq!(hours(&covered(&fleet, &mine, 2)), ["2", "2"]);
    mine.set_owner("A");
    assert_eq!(hours(&covered(&fleet, &mine, 2)), ["0", "2"]);
}
