//! A fleet is one fleet however it is recorded: whatever its machines, accounts and commitments
//! are called, in whichever order and in how many records its series come, and in which UTC
//! offset its times are written.

use crate::rules::builder::as_of;
use crate::rules::honest::{cases, draft};
use gpucost::analysis::{Audit, audit};
use gpucost::domain::{
    ActionKind, CommitmentTerm, Currency, Money, OfferingClass, OperatingSystem, PaymentOption,
    Policy, Rejected, ReservedInstances, ResourceId, Risk, SavingsPlan, SavingsPlanKind, Statistic,
    Tenancy, Window,
};
use gpucost::sources::files::{parse_estate, write_estate};
use gpucost::usage::{Estate, Points, Series};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde_json::Value;
use std::collections::BTreeMap;

const ACCOUNTS: [&str; 2] = ["111122223333", "444455556666"];
/// What they may be called instead: in the same order, in the other one, and as each other.
const OTHER_NAMES: [[&str; 2]; 3] = [
    ["200000000001", "300000000001"],
    ["900000000001", "000000000001"],
    ["444455556666", "111122223333"],
];
/// Types with families whose rates under a savings plan are known.
const FAMILIES: [(&str, &str); 3] =
    [("g5.xlarge", "g5"), ("g6e.xlarge", "g6e"), ("p3.8xlarge", "p3")];

/// What a fleet has beside what every property draws.
#[derive(Debug, Clone)]
struct More {
    /// A second purchase of reserved instances: type, count, days since it began and until it
    /// ends, whether it can be exchanged, and whether it was paid at once.
    reserved: Option<(usize, u32, i64, i64, bool, bool)>,
    /// An EC2 Instance Savings Plan: family, cents per hour, days since it began.
    plan: Option<(usize, i64, i64)>,
    /// The account that owns what was bought, and whether it shares it.
    owner: Option<usize>,
    is_unshared: bool,
    /// Seconds between the points of the series of machines that are not read by the hour, and
    /// whether each is, in turn.
    cadence: u32,
    are_hourly: Vec<bool>,
}

fn more() -> impl Strategy<Value = More> {
    let age = prop_oneof![3 => Just(100_i64), 2 => 1..14_i64, 1 => Just(-5_i64)];
    let left = prop_oneof![3 => Just(265_i64), 2 => 1..20_i64];
    let reserved = (0..FAMILIES.len(), 1..4_u32, age.clone(), left, any::<bool>(), any::<bool>());
    let cadence = prop_oneof![4 => Just(3_600_u32), 1 => Just(900_u32), 1 => Just(300_u32)];
    (
        prop::option::weighted(0.4, reserved),
        prop::option::weighted(0.3, (0..FAMILIES.len(), 10..300_i64, age)),
        prop::option::weighted(0.7, 0..ACCOUNTS.len()),
        prop::bool::weighted(0.3),
        cadence,
        prop::collection::vec(any::<bool>(), 1..4),
    )
        .prop_map(|(reserved, plan, owner, is_unshared, cadence, are_hourly)| More {
            reserved,
            plan,
            owner,
            is_unshared,
            cadence,
            are_hourly,
        })
}

fn days(count: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * count)
}

impl More {
    fn add_to(&self, fleet: &mut Estate) {
        let bought = &mut fleet.commitments;
        if let Some((kind, count, age, left, is_convertible, is_upfront)) = self.reserved {
            bought.reserved_instances.push(ReservedInstances {
                id: "ri-2".to_owned(),
                account: None,
                region: "us-east-1".to_owned(),
                zone: None,
                instance_type: FAMILIES[kind].0.to_owned(),
                operating_system: OperatingSystem::Linux,
                tenancy: Tenancy::Shared,
                count,
                class: if is_convertible {
                    OfferingClass::Convertible
                } else {
                    OfferingClass::Standard
                },
                payment: if is_upfront {
                    PaymentOption::AllUpfront
                } else {
                    PaymentOption::NoUpfront
                },
                start: as_of() - days(age),
                // One that is queued ends after it begins.
                end: as_of() + days(left.max(1 - age)),
                currency: Currency::Usd,
                upfront: Decimal::from(if is_upfront { 4_000 } else { 0 }),
                recurring_hourly: Decimal::new(if is_upfront { 0 } else { 55 }, 2),
            });
        }
        if let Some((family, cents, age)) = self.plan {
            bought.savings_plans.push(SavingsPlan {
                id: "sp-2".to_owned(),
                account: None,
                kind: SavingsPlanKind::Ec2Instance,
                region: Some("us-east-1".to_owned()),
                family: Some(FAMILIES[family].1.to_owned()),
                currency: Currency::Usd,
                commitment_hourly: Decimal::new(cents, 2),
                term: CommitmentTerm::ONE_YEAR_NO_UPFRONT,
                start: as_of() - days(age),
                end: as_of() + days(265),
            });
        }
        bought.is_unshared = self.is_unshared;
        if let Some(owner) = self.owner {
            bought.set_owner(ACCOUNTS[owner]);
        }
        let hourly = self.are_hourly.iter().copied().cycle();
        let of: BTreeMap<ResourceId, bool> =
            fleet.instances.iter().map(|instance| instance.id.clone()).zip(hourly).collect();
        for series in &mut fleet.metrics {
            if !of[&series.instance] {
                *series = at_cadence(series, self.cadence, fleet.window);
            }
        }
        fleet.period_seconds = self.cadence;
    }
}

/// The points of a series with their times.
fn timed(series: &Series) -> impl Iterator<Item = (Timestamp, f64)> {
    let (start, period) = (series.points.start(), series.points.period_seconds());
    series.points.iter().map(move |(index, value)| {
        let seconds = i64::from(index) * i64::from(period);
        (start + SignedDuration::from_secs(seconds), value)
    })
}

fn of_points(series: &Series, raw: Vec<(Timestamp, f64)>, period: u32, window: Window) -> Series {
    let what = (series.metric, series.statistic);
    let (points, rejected) = Points::clean(raw, what, window, period);
    assert_eq!(rejected, Rejected::default());
    Series { points, ..series.clone() }
}

/// A series of hours with as many points in each as a finer cadence has.
fn at_cadence(series: &Series, seconds: u32, window: Window) -> Series {
    let in_an_hour = 3_600 / seconds;
    let parts = f64::from(match series.statistic {
        Statistic::Sum => in_an_hour,
        Statistic::Average | Statistic::Maximum => 1,
    });
    let raw = timed(series).flat_map(|(time, value)| {
        let places = 0..i64::from(in_an_hour);
        let after = move |place| SignedDuration::from_secs(place * i64::from(seconds));
        places.map(move |place| (time + after(place), value / parts))
    });
    of_points(series, raw.collect(), seconds, window)
}

/// The same fleet with other ids, in another order, and by its new ids the old ones.
pub fn renamed(fleet: &Estate, seed: usize) -> (Estate, BTreeMap<ResourceId, ResourceId>) {
    let mut changed = fleet.clone();
    let mut old = BTreeMap::new();
    let mut new = BTreeMap::new();
    for (place, instance) in fleet.instances.iter().enumerate() {
        let name = ResourceId::named(format!("i-{:02}", (place * 7 + seed * 3 + 5) % 97));
        old.insert(name.clone(), instance.id.clone());
        new.insert(instance.id.clone(), name);
    }
    for instance in &mut changed.instances {
        instance.id = new[&instance.id].clone();
    }
    for series in &mut changed.metrics {
        series.instance = new[&series.instance].clone();
    }
    let mut order = fastrand::Rng::with_seed(seed as u64);
    order.shuffle(&mut changed.instances);
    order.shuffle(&mut changed.metrics);
    (changed, old)
}

/// The accounts of a fleet under other names.
fn with_accounts(fleet: &mut Estate, names: [&str; 2]) {
    let name = |account: &mut String| {
        let place = ACCOUNTS.iter().position(|known| known == account);
        *account = names[place.expect("an account of the fleet")].to_owned();
    };
    fleet.accounts.iter_mut().for_each(name);
    fleet.accounts.sort();
    let instances = fleet.instances.iter_mut();
    instances.for_each(|instance| name(&mut instance.account));
    let bought = &mut fleet.commitments;
    let reserved = bought.reserved_instances.iter_mut();
    let plans = bought.savings_plans.iter_mut();
    let rooms = bought.capacity_reservations.iter_mut();
    let owners = reserved.filter_map(|reserved| reserved.account.as_mut());
    let owners = owners.chain(plans.filter_map(|plan| plan.account.as_mut()));
    let owners = owners.chain(rooms.filter_map(|room| room.account.as_mut()));
    owners.for_each(name);
}

/// What was bought under other ids, in their order.
fn with_other_purchases(fleet: &mut Estate) {
    let name = |id: &str| match id.split_once('-') {
        Some((kind, "1")) => format!("{kind}-9"),
        Some((kind, _)) => format!("{kind}-0"),
        None => id.to_owned(),
    };
    let bought = &mut fleet.commitments;
    bought.ids_and_owners_mut().for_each(|(id, _)| *id = name(id));
    bought.reserved_instances.reverse();
    bought.savings_plans.reverse();
    for instance in &mut fleet.instances {
        if let Some(id) = &mut instance.capacity_reservation_id {
            *id = name(id);
        }
    }
}

/// Every series as so many records, of stretches of so many points in turn.
fn in_records(fleet: &mut Estate, records: usize, stretch: usize) {
    let window = fleet.window;
    let split = |series: &Series| {
        let mut raw = vec![Vec::new(); records];
        for (place, point) in timed(series).enumerate() {
            raw[place / stretch % records].push(point);
        }
        let period = series.points.period_seconds();
        let parts = raw.into_iter().filter(|raw| !raw.is_empty());
        let parts = parts.map(|raw| of_points(series, raw, period, window));
        parts.collect::<Vec<_>>()
    };
    fleet.metrics = fleet.metrics.iter().flat_map(split).collect();
}

/// A fleet as its file says it, with every time in another UTC offset.
fn in_offset(fleet: &Estate, minutes: i32) -> Estate {
    let mut text = Vec::new();
    write_estate(fleet, &mut text).expect("memory takes everything");
    let mut file: Value = serde_json::from_slice(&text).expect("JSON");
    let offset = Offset::from_seconds(minutes * 60).expect("an offset");
    let written = shift(&mut file, &TimeZone::fixed(offset));
    assert!(written > 3, "{written} times");
    parse_estate(file.to_string().as_bytes()).expect("an estate")
}

/// How many times of a document were written in another zone.
fn shift(value: &mut Value, zone: &TimeZone) -> usize {
    match value {
        Value::String(text) => {
            let Ok(time) = text.parse::<Timestamp>() else { return 0 };
            let there = time.to_zoned(zone.clone());
            *text = there.strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string();
            1
        }
        Value::Array(items) => items.iter_mut().map(|part| shift(part, zone)).sum(),
        Value::Object(fields) => fields.values_mut().map(|part| shift(part, zone)).sum(),
        _ => 0,
    }
}

/// What no name and no form of a recording may decide.
#[derive(Debug, PartialEq)]
struct Facts {
    amounts: [Option<Money>; 6],
    by_action: BTreeMap<ActionKind, Money>,
    counts: [u64; 5],
    plan_risk: Risk,
    purchases: Vec<String>,
    states: BTreeMap<ResourceId, String>,
}

impl Facts {
    /// Those of an audit, in the names that a recording began with.
    fn of(
        audit: &Audit,
        id: impl Fn(&ResourceId) -> ResourceId,
        account: impl Fn(&str) -> String,
    ) -> Self {
        let totals = &audit.totals;
        let purchases = audit.purchases.iter().map(|purchase| {
            let owner = purchase.account.as_deref().map(&account);
            let (saved, upfront) =
                (purchase.monthly_savings, purchase.promise().map(|promise| promise.upfront));
            let option = purchase.term.option;
            format!("{owner:?} {} {} {option} {saved} {upfront:?}", purchase.count, purchase.key)
        });
        let mut purchases: Vec<String> = purchases.collect();
        purchases.sort();
        let members = audit.workloads.iter().flat_map(|workload| &workload.workload.members);
        Self {
            amounts: [
                totals.monthly_cost, totals.planned_monthly_cost, totals.monthly_waste,
                totals.monthly_optimization, totals.committed_monthly_cost,
                totals.unused_monthly_cost,
            ],
            by_action: totals.by_action.clone(),
            counts: [
                totals.instances, totals.stopped_instances, totals.gpus, totals.unpriced_instances,
                totals.ignored_workloads,
            ],
            plan_risk: audit.plan_risk,
            purchases,
            states: members.map(|member| (id(&member.id), format!("{:?}", member.state))).collect(),
        }
    }
}

/// Two machines of which each uses one of four GPUs, and an unused reservation of a g5.2xlarge for
/// one of them. The one whose VRAM needs a whole card takes it, and the other a fraction of one,
/// whichever is first by its ID.
#[test]
fn a_free_reservation_goes_to_what_has_no_cheaper_place() {
    let machine = |vram_percent: u32| draft::Box_ {
        kind: 2,
        group: None,
        is_auto_scaling: false,
        declared: 0,
        is_restartable: false,
        zone: 1,
        is_windows: false,
        is_dedicated: false,
        is_second_account: false,
        is_in_china: false,
        is_spot: false,
        age: 2_000,
        up: 24,
        busy: 24,
        levels: [1, 0, 0, 0],
        vram_percent,
        network_mbps: None,
        holes: [1, 1, 1],
        is_in_reservation: false,
        is_ignored: false,
        volume_gib: None,
        until_days: None,
    };
    let bought = draft::ExistingCommitments {
        reserved: Some((1, 1, 100, None)),
        capacity: None,
        plan: None,
    };
    for needs in [[0, 11], [11, 0]] {
        let fleet = draft::estate_of(&needs.map(machine), &bought);
        let audit = audit(&fleet, &Policy::default(), Risk::High);
        let planned = audit.totals.planned_monthly_cost.expect("priced");
        // 0.60 × 730 are paid anyway; a g6f.large costs 0.2375 × 730.
        assert_eq!(planned.amount(), Decimal::new(61_138, 2), "{needs:?}");
        assert!(audit.purchases.is_empty(), "{needs:?}");
    }
}

/// Of four machines that share what one reservation and one savings plan free, the last by ID has
/// nothing left to save: a cent that rounding leaves goes to one that has.
#[test]
fn no_row_saves_a_cent_more_than_it_costs() {
    let machine = |kind, zone, busy, levels, holes| draft::Box_ {
        kind,
        group: None,
        is_auto_scaling: false,
        declared: 0,
        is_restartable: false,
        zone,
        is_windows: false,
        is_dedicated: false,
        is_second_account: false,
        is_in_china: false,
        is_spot: false,
        age: 2_000,
        up: 24,
        busy,
        levels,
        vram_percent: 0,
        network_mbps: None,
        holes,
        is_in_reservation: false,
        is_ignored: false,
        volume_gib: None,
        until_days: None,
    };
    let of_second_account = machine(2, 0, 16, [0, 10, 1, 0], [1, 1, 1]);
    let ignored = machine(2, 1, 24, [0, 0, 0, 0], [1, 1, 1]);
    let boxes = [
        draft::Box_ { is_second_account: true, ..of_second_account },
        machine(1, 0, 24, [1, 0, 0, 0], [1, 1, 2]),
        machine(2, 0, 2, [39, 77, 0, 0], [1, 1, 1]),
        draft::Box_ { is_ignored: true, ..ignored },
    ];
    let bought = draft::ExistingCommitments {
        reserved: Some((2, 2, 100, None)),
        capacity: Some((1, false)),
        plan: Some((0, 1, false)),
    };
    let mut fleet = draft::estate_of(&boxes, &bought);
    fleet.commitments.set_owner(ACCOUNTS[1]);
    let audit = audit(&fleet, &Policy::default(), Risk::High);
    let rows = audit.workloads.iter();
    let left: Vec<_> = rows.filter_map(|row| row.planned_monthly_cost()).collect();
    assert_eq!(left.len(), 4);
    assert!(left.iter().all(|left| !left.amount().is_sign_negative()), "{left:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(150)) })]

    #[test]
    fn no_name_and_no_form_of_a_recording_moves_a_total(
        (boxes, bought) in draft::fleet(),
        more in more(),
        risk in prop_oneof![1 => Just(Risk::Low), 2 => Just(Risk::Medium), 2 => Just(Risk::High)],
        (seed, names) in (0..1_000_usize, 0..OTHER_NAMES.len()),
        (records, stretch) in (1..4_usize, prop_oneof![Just(1_usize), 2..100_usize]),
        minutes in prop_oneof![Just(0_i32), Just(345_i32), Just(-570_i32), -719..=840_i32],
    ) {
        let mut fleet = draft::estate_of(&boxes, &bought);
        more.add_to(&mut fleet);
        let policy = Policy::default();
        let today = audit(&fleet, &policy, risk);
        let (mut changed, old) = renamed(&fleet, seed);
        with_accounts(&mut changed, OTHER_NAMES[names]);
        with_other_purchases(&mut changed);
        in_records(&mut changed, records, stretch);
        let changed_audit = audit(&in_offset(&changed, minutes), &policy, risk);
        let account = |name: &str| {
            let place = OTHER_NAMES[names].iter().position(|known| *known == name);
            ACCOUNTS[place.expect("an account of the fleet")].to_owned()
        };
        let facts = Facts::of(&changed_audit, |id| old[id].clone(), account);
        prop_assert_eq!(Facts::of(&today, ResourceId::clone, str::to_owned), facts);
        // No row saves more than it costs.
        for workload in &today.workloads {
            let planned = workload.planned_monthly_cost().map(Money::amount);
            prop_assert!(planned.is_none_or(|left| !left.is_sign_negative()));
        }
    }
}
