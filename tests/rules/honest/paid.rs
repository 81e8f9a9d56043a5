//! What a plan buys, it pays.

use super::config;
use super::draft::{Box_, estate_of, fleet};
use crate::rules::builder::{Machine, as_of, audited, estate};
use gpucost::analysis::Audit;
use gpucost::domain::{ActionKind, Currency, InstanceState, Money};
use jiff::SignedDuration;
use proptest::prelude::*;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

fn planned(audit: &Audit) -> Decimal {
    let planned = audit.totals.planned_monthly_cost;
    planned.map_or(Decimal::ZERO, Money::amount)
}

/// Hours of the window.
const HOURS: usize = 336;
/// A g5.xlarge in us-east-1: on demand, and reserved for a year without upfront.
const ON_DEMAND: Decimal = Decimal::from_parts(1_006, 0, 0, false, 3);
const RESERVED: Decimal = Decimal::from_parts(63_378, 0, 0, false, 5);

/// A busy box: how many hours ago it was first seen, and how many hours it is up in each
/// stretch of so many.
type Life = (usize, usize, usize);

fn lives() -> impl Strategy<Value = Vec<Life>> {
    let age = prop_oneof![2 => Just(2_000_usize), 2 => 168..HOURS];
    // Fewer than five hours a day are too few samples for a verdict.
    let life = (age, 5..=24_usize, Just(24_usize));
    prop::collection::vec(life, 1..6)
}

fn runs((age, up, every): Life, hour: usize) -> bool {
    hour % every < up && hour + age.min(HOURS) >= HOURS
}

fn machine(index: usize, life: Life) -> Machine {
    let ran = move |hour: u32| runs(life, hour as usize);
    let mut machine = Machine::new(&format!("i-{index}"), "g5.xlarge")
        .with_period(3_600)
        .tag("gpucost:kind", "training")
        .cpu(move |hour| ran(hour).then_some(5.0))
        .gpu(0, move |hour| ran(hour).then_some(90.0))
        .vram(0, 20_000.0, 23_028.0);
    let first_seen = as_of() - SignedDuration::from_hours(life.0 as i64);
    machine.instance.attached_time = Some(first_seen);
    machine.instance.launch_time = first_seen;
    let last = (0..HOURS).rev().find(|hour| runs(life, *hour)).expect("it runs");
    let off = (HOURS - 1 - last) as i64;
    if off > 0 {
        let stopped = as_of() - SignedDuration::from_hours(off);
        let time = stopped.strftime("%Y-%m-%d %H:%M:%S GMT");
        machine.instance.state = InstanceState::Stopped;
        machine.instance.state_transition_reason = Some(format!("User initiated ({time})"));
    }
    machine
}

/// Today's cost and the cheapest over every number of reservations, hour by hour, worked
/// out in thousandths of an hour without the program.
fn brute_force(lives: &[Life]) -> (Decimal, u32, Decimal) {
    let mut pool = [0_u64; HOURS];
    let mut young = Vec::new();
    let mut today = Decimal::ZERO;
    // The young ones follow each other by how long they were seen.
    let mut lives = lives.to_vec();
    lives.sort_by_cached_key(|life| {
        let seen = HOURS - life.0.min(HOURS);
        let ran: Vec<bool> = (seen..HOURS).map(|hour| runs(*life, hour)).collect();
        (seen, ran)
    });
    for life in &lives {
        let seen = HOURS - life.0.min(HOURS);
        let ran: u64 = (seen..HOURS).filter(|hour| runs(*life, *hour)).count() as u64;
        (seen..HOURS).filter(|hour| runs(*life, *hour)).for_each(|hour| pool[hour] += 1_000_000);
        let share = Decimal::from(ran) / Decimal::from(HOURS - seen);
        today += (ON_DEMAND * Decimal::from(730) * share).round_dp(2);
        if seen > 0 {
            young.push((seen, ran * 1_000_000 * seen as u64 / (HOURS - seen) as u64));
        }
    }
    for (seen, mut left) in young {
        let mut order: Vec<usize> = (0..seen).collect();
        order.sort_by(|a, b| pool[*b].cmp(&pool[*a]).then(b.cmp(a)));
        for hour in order {
            let part = left.min(1_000_000);
            pool[hour] += part;
            left -= part;
        }
    }
    let cost = |count: u32| -> Decimal {
        let fees = RESERVED * Decimal::from(count) * Decimal::from(730);
        let above: u64 =
            pool.iter().map(|running| running.saturating_sub(u64::from(count) * 1_000_000)).sum();
        let above = Decimal::from(above) / Decimal::from(1_000_000 * HOURS as u64);
        fees + above * ON_DEMAND * Decimal::from(730)
    };
    let best = (0..=lives.len() as u32)
        .min_by_key(|count| (cost(*count), *count))
        .expect("none is one of them");
    (today, best, cost(best))
}

fn fleet_of(lives: &[Life]) -> Audit {
    let machines = lives.iter().enumerate();
    audited(&estate(machines.map(|(index, life)| machine(index, *life)).collect()))
}

proptest! {
    #![proptest_config(config())]

    /// Actions, purchases and what commitments that are there save for others are what a screen
    /// lists; steps list changes of scope apart. No cent is on two of these, and none on no list.
    #[test]
    fn what_is_listed_is_all_that_is_saved((boxes, bought) in fleet()) {
        let audit = audited(&estate_of(&boxes, &bought));
        let mut sums: BTreeMap<Currency, [Decimal; 3]> = BTreeMap::new();
        let mut add = |saving: Money, places: &[usize]| {
            let sums = sums.entry(saving.currency()).or_default();
            places.iter().for_each(|place| sums[*place] += saving.amount());
        };
        for action in audit.workloads.iter().flat_map(|workload| &workload.actions) {
            let is_commitment = action.kind() == ActionKind::Commit;
            let places: &[usize] = if is_commitment { &[0] } else { &[0, 1, 2] };
            add(action.monthly_savings(), places);
        }
        audit.purchases.iter().for_each(|purchase| add(purchase.monthly_savings, &[1, 2]));
        audit.scope_changes.iter().for_each(|change| add(change.monthly_savings, &[2]));
        for (place, lists_changes) in [(1, false), (2, true)] {
            let covered = audit.covered_by_existing(lists_changes).into_values();
            covered.for_each(|action| add(action.monthly_savings(), &[place]));
        }
        for (currency, [all, screen, steps]) in sums {
            prop_assert_eq!((screen, steps), (all, all), "{}", currency);
        }
    }

    #[test]
    fn a_plan_costs_at_least_the_fees_of_what_it_buys_and_keeps((boxes, bought_before) in fleet()) {
        let audit = audited(&estate_of(&boxes, &bought_before));
        let fee = |purchase: &gpucost::savings::Purchase| purchase.monthly_fee(Decimal::from(730)).amount();
        for purchase in &audit.purchases {
            let today: Decimal = purchase.shares.iter().map(|share| share.monthly).sum();
            let planned = today - purchase.monthly_savings.amount();
            let cent = Decimal::new(1, 2);
            prop_assert!(planned + cent >= fee(purchase), "{planned} of {}", fee(purchase));
        }
        let of_dollars = audit.purchases.iter();
        let bought: Decimal = of_dollars
            .filter(|purchase| purchase.on_demand_hourly.currency() == Currency::Usd)
            .map(fee)
            .sum();
        // Room that cannot be lowered may be paid by the reservations of what is stopped: their
        // fees at 0.60 an hour are all that is certain to be kept.
        let reserved = match bought_before.reserved {
            Some((_, count, days, _)) if days >= 0 => Decimal::new(438, 0) * Decimal::from(count),
            _ => Decimal::ZERO,
        };
        let committed = audit.totals.committed_monthly_cost.map_or(Decimal::ZERO, Money::amount);
        let kept = match bought_before.capacity {
            Some(_) => reserved.min(committed),
            None => committed,
        };
        let cents = Decimal::new(1 + audit.workloads.len() as i64, 2);
        prop_assert!(planned(&audit) + cents >= bought + kept, "{} {bought} {kept}", planned(&audit));
    }

    #[test]
    fn what_is_bought_is_the_best_of_every_number(lives in lives()) {
        let audit = fleet_of(&lives);
        let (today, count, cost) = brute_force(&lives);
        let monthly_cost = audit.totals.monthly_cost.expect("priced").amount();
        prop_assert!((monthly_cost - today).abs() <= Decimal::new(lives.len() as i64, 2));
        let bought: u32 = audit.purchases.iter().map(|purchase| purchase.count).sum();
        prop_assert_eq!(bought, count, "{:?}", lives);
        let slack = Decimal::new(2 + lives.len() as i64, 2);
        prop_assert!((planned(&audit) - cost).abs() <= slack, "{} {cost}", planned(&audit));
    }

    #[test]
    fn a_member_more_never_lowers_what_a_pool_costs(lives in lives(), more in lives()) {
        let mut longer = lives.clone();
        longer.push(more[0]);
        let (few, many) = (planned(&fleet_of(&lives)), planned(&fleet_of(&longer)));
        prop_assert!(many + Decimal::new(2, 2) >= few, "{few} -> {many}: {lives:?} {:?}", more[0]);
    }

    #[test]
    fn an_unrelated_box_changes_nothing((mut boxes, mut bought) in fleet()) {
        // What is bought for its type or for all types would not be unrelated.
        bought.plan = None;
        bought.reserved = bought.reserved.filter(|(kind, ..)| *kind != 4);
        for drawn in &mut boxes {
            drawn.kind %= 4;
            drawn.is_in_china = false;
        }
        let alone = Box_ {
            group: None,
            kind: 4,
            is_in_reservation: false,
            is_in_china: false,
            ..boxes[0].clone()
        };
        let mut more = boxes.clone();
        more.push(alone.clone());
        let nothing = super::draft::ExistingCommitments { reserved: None, capacity: None, plan: None };
        let own = planned(&audited(&estate_of(&[alone], &nothing)));
        let few = planned(&audited(&estate_of(&boxes, &bought)));
        let many = planned(&audited(&estate_of(&more, &bought)));
        prop_assert!((many - few - own).abs() <= Decimal::new(2, 2), "{few} + {own} -> {many}");
    }
}

/// The first machine works 7 of 168 hours a week on a reservation that the second could use. It
/// moves to g6f.xlarge: the fee of 438.00 is left, and 7 of 168 hours of 0.2375 × 730 = 173.38, which
/// are 7.22. A third machine, which ends, changes nothing. By itself, the second would go to spot.
#[test]
fn a_reservation_that_a_schedule_frees_goes_before_spot() {
    let quiet = Box_ {
        kind: 2,
        group: None,
        is_auto_scaling: false,
        declared: 4,
        is_restartable: false,
        zone: 0,
        is_windows: false,
        is_dedicated: false,
        is_second_account: false,
        is_in_china: false,
        is_spot: false,
        age: 2000,
        up: 24,
        busy: 1,
        levels: [0, 0, 0, 1],
        vram_percent: 0,
        network_mbps: None,
        holes: [1, 1, 1],
        is_in_reservation: false,
        is_ignored: false,
        volume_gib: None,
        until_days: None,
    };
    let restartable = Box_ {
        declared: 3,
        is_restartable: true,
        busy: 24,
        levels: [0; 4],
        holes: [2, 1, 1],
        ..quiet.clone()
    };
    let unrelated = Box_ { kind: 4, ..quiet.clone() };
    let bought = super::draft::ExistingCommitments {
        reserved: Some((2, 1, 3, None)),
        capacity: None,
        plan: None,
    };
    let mut boxes = vec![quiet, restartable];
    for _ in 0..2 {
        let audit = audited(&estate_of(&boxes, &bought));
        assert_eq!(planned(&audit), Decimal::new(44_522, 2));
        boxes.push(unrelated.clone());
    }
}
