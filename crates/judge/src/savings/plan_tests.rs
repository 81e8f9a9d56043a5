use super::super::pool::INSTANCE;
use super::super::{
    BilledMember, Class, CommitAfter, ConcurrentUsage, Existing, Fewer, RejectedKinds, ResizeOffer,
    ScheduleOffer, ScheduledHours, SpotMarket, Stage, StageMember, Step, TermOffer,
    commitment_pools,
};
use super::*;
use crate::domain::{
    CommitmentTerm, Currency, HourlyRate, Instalments, PriceKey, PriceOption, ResourceId, Target,
};
use proptest::prelude::*;

/// A window of four hours stands for the month: 730 h = 4 × 182.5.
const HOURS: usize = 4;

fn usd(cents: i64) -> Money {
    Money::new(Decimal::new(cents, 2), Currency::Usd)
}

fn rate(millis: i64) -> HourlyRate {
    HourlyRate::new(Decimal::new(millis, 3), Currency::Usd).expect("positive")
}

/// What takes the place of so many instances of today, `count` in all.
fn stage(instance_type: &str, count: u32, millis: i64, today: u32) -> Stage {
    let monthly = Decimal::new(millis, 3) * Decimal::from(count) * Decimal::from(730);
    // Thirds of a cent would not add up again.
    let total = Decimal::from(today);
    let whole = (monthly / total).round_dp(3);
    let member = |place| StageMember {
        hourly: rate(millis),
        monthly: if place == 0 { monthly - whole * (total - Decimal::ONE) } else { whole },
    };
    Stage {
        instance_type: instance_type.to_owned(),
        count,
        members: (0..today).map(member).collect(),
    }
}

/// Instances of a type that run all the time.
fn running(instance_type: &str, count: u32, millis: i64) -> Alternatives {
    let today = stage(instance_type, count, millis, count);
    let key = PriceKey::linux_on_demand("us-east-1", instance_type);
    let member = |place: usize| BilledMember {
        rested: [].into(),
        id: ResourceId::named(format!("i-{place}")),
        place: Some(place),
        is_ended: false,
        is_sized: true,
        class: Class {
            pool: CommitmentPool::shared(key.clone()),
            account: String::new(),
            zone: None,
            is_room: false,
        },
        seen: vec![INSTANCE; HOURS].into(),
        monthly: today.members[place].monthly,
        open_monthly: today.members[place].monthly,
        hourly: today.members[place].hourly,
        most_years: None,
    };
    Alternatives {
        id: instance_type.to_owned(),
        cost: Money::new(today.monthly(), Currency::Usd).rounded(),
        list: Money::new(today.monthly(), Currency::Usd).rounded(),
        end: None,
        schedule: None,
        resizes: Vec::new(),
        spot: BTreeMap::new(),
        billed: (0..count as usize).map(member).collect(),
        commit_after: CommitAfter::Nothing,
        today: Some(today),
    }
}

/// The same instances, seen for some hours in which they ran or not; what they cost
/// follows.
fn seen(mut workload: Alternatives, hours: &[u64]) -> Alternatives {
    let share = Decimal::from(hours.iter().sum::<u64>()) / Decimal::from(hours.len());
    workload.today = workload.today.map(|today| today.in_share(share));
    let monthly = workload.today.as_ref().map_or(Decimal::ZERO, Stage::monthly);
    workload.cost = Money::new(monthly, Currency::Usd).rounded();
    workload.list = workload.cost;
    for member in &mut workload.billed {
        member.monthly *= share;
        member.seen = hours.iter().map(|ran| ran * INSTANCE).collect();
    }
    workload
}

fn resize(
    kind: ActionKind,
    name: &str,
    (count, today): (u32, u32),
    millis: i64,
    risk: Risk,
) -> ResizeOffer {
    let to = stage(name, count, millis, today);
    ResizeOffer {
        step: Step {
            kind,
            target: Some(Target { instance_type: name.to_owned(), count }),
            detail: "resize".to_owned(),
            risk,
            caveats: Vec::new(),
        },
        fewer: (count != today).then(|| Fewer {
            by_hour: vec![Decimal::from(count) / Decimal::from(today); HOURS],
            share: Decimal::from(count) / Decimal::from(today),
            after: vec![Decimal::from(count); HOURS],
        }),
        slowdown: 1.0,
        scheduled: None,
        monthly_at_todays_hours: to.monthly(),
        commit_after: CommitAfter::Nothing,
        to,
    }
}

/// A step that leads nowhere.
fn plain(kind: ActionKind, risk: Risk) -> Step {
    Step { kind, target: None, detail: kind.to_string(), risk, caveats: Vec::new() }
}

fn half_off() -> ScheduleOffer {
    ScheduleOffer {
        step: plain(ActionKind::Schedule, Risk::Low),
        hours: ScheduledHours { on_share: Decimal::new(5, 1), on: vec![true, true, false, false] },
    }
}

fn term(millis: i64, risk: Risk) -> TermOffer {
    TermOffer {
        name: "term".to_owned(),
        option: PriceOption::Reserved(CommitmentTerm::ONE_YEAR_NO_UPFRONT),
        effective_hourly: rate(millis),
        instalments: Instalments { upfront: Decimal::ZERO, hourly: rate(millis).amount() },
        risk,
    }
}

fn planned(workloads: &[Alternatives], accepted: Risk, sold: &[TermOffer]) -> Plan {
    let pools = commitment_pools(workloads).into_iter();
    let sold = pools.map(|pool| (pool, sold.to_vec())).collect();
    plan(
        workloads,
        &Terms {
            accepted,
            hours_per_month: Decimal::from(730),
            window_hours: HOURS,
            sold: &sold,
            rejected: &RejectedKinds::new(),
            existing: &Existing::default(),
        },
    )
}

fn savings(plan: &Plan) -> Vec<Vec<(ActionKind, String)>> {
    let of = |action: &Action| {
        let saving = format!("{:.2}", action.monthly_savings().amount());
        (action.kind(), saving)
    };
    plan.actions.iter().map(|actions| actions.iter().map(of).collect()).collect()
}

#[test]
fn each_action_works_on_what_the_one_before_left() {
    // 2 × 4.00 $/h = 5,840. Half of the hours: 2,920. On half the size: 1,460.
    // On spot at a quarter of that rate: 365.
    let mut workload = running("big", 2, 4_000);
    workload.schedule = Some(half_off());
    workload.resizes = vec![
        resize(ActionKind::Rightsize, "small", (2, 2), 2_000, Risk::Low),
        resize(ActionKind::Share, "big", (1, 2), 4_100, Risk::Medium),
    ];
    workload.spot.insert(
        "small".to_owned(),
        SpotMarket {
            step: plain(ActionKind::Spot, Risk::Medium),
            hourly: rate(450),
            effective_hourly: rate(500),
        },
    );
    let saved = |kind, amount: &str| (kind, amount.to_owned());
    assert_eq!(
        savings(&planned(&[workload.clone()], Risk::Medium, &[])),
        [vec![
            saved(ActionKind::Schedule, "2920.00"),
            saved(ActionKind::Rightsize, "1460.00"),
            saved(ActionKind::Spot, "1095.00"),
        ]]
    );
    assert_eq!(
        savings(&planned(&[workload], Risk::Low, &[])),
        [vec![saved(ActionKind::Schedule, "2920.00"), saved(ActionKind::Rightsize, "1460.00"),]]
    );
}

#[test]
fn what_ends_takes_no_other_action_and_no_part_of_a_pool() {
    let mut idle = running("big", 1, 1_000);
    idle.end = Action::saving(ActionKind::Stop, None, "stop", idle.cost, idle.cost, Risk::Low);
    idle.schedule = Some(half_off());
    idle.today = None;
    idle.billed.clear();
    let busy = running("big", 1, 1_000);
    let plan = planned(&[idle, busy], Risk::Medium, &[term(600, Risk::Medium)]);
    let kinds: Vec<Vec<ActionKind>> =
        plan.actions.iter().map(|actions| actions.iter().map(Action::kind).collect()).collect();
    assert_eq!(kinds, [vec![ActionKind::Stop], vec![ActionKind::Commit]]);
    assert_eq!(plan.purchases[0].count, 1);
    // 0.4 $/h × 730 h.
    assert_eq!(plan.purchases[0].monthly_savings, usd(29_200));
}

#[test]
fn pools_are_sized_on_what_is_left_and_shared_to_the_cent() {
    // Three boxes in a pool, one of them only half of the time: N(t) = 3 3 2 2.
    // At 0.6 of the price the third would need more than 60% of the hours.
    let mut scheduled = running("a", 1, 1_000);
    scheduled.schedule = Some(half_off());
    let fleet = [running("a", 1, 1_000), scheduled, running("a", 1, 1_000)];
    let plan = planned(&fleet, Risk::Medium, &[term(600, Risk::Medium)]);
    assert_eq!(plan.purchases[0].count, 2);
    assert_eq!(plan.purchases[0].monthly_savings, usd(58_400));
    // 584 by 730 : 365 : 730.
    let parts: Vec<String> = plan
        .actions
        .iter()
        .filter_map(|actions| actions.last())
        .map(|action| format!("{:.2}", action.monthly_savings().amount()))
        .collect();
    assert_eq!(parts, ["233.60", "116.80", "233.60"]);
}

#[test]
fn what_is_bought_for_a_young_member_is_paid() {
    // One box for four hours, which rests in the first, another for the last two: it
    // ran in both, and so in both before. N(t) = 1 2 2 2 at 0.6 of the price: two units
    // are used in 4 and 3 hours of four.
    let old = seen(running("a", 1, 1_000), &[0, 1, 1, 1]);
    let young = seen(running("a", 1, 1_000), &[1, 1]);
    let plan = planned(&[old, young], Risk::Medium, &[term(600, Risk::Medium)]);
    let [bought] = &plan.purchases[..] else {
        panic!("one pool");
    };
    assert_eq!(bought.count, 2);
    let n = [1, 2, 2, 2].map(|n| n * INSTANCE);
    assert_eq!(bought.usage, ConcurrentUsage::of(&n));
    // (7 − 8 × 0.6) / 4 × 730.
    assert_eq!(bought.monthly_savings, usd(40_150));
    assert_eq!(bought.shares.iter().map(|share| share.young).sum::<u32>(), 1);
}

#[test]
fn six_boxes_up_half_of_the_time_and_one_young_buy_one() {
    // The reckoning of fleets, on four hours: five boxes up in two of them, a sixth seen
    // for the last hour alone, in which it ran: it ran in all of them. N(t) = 1 6 6 1,
    // and only one unit is used in more than 60% of the hours.
    let mut fleet: Vec<Alternatives> =
        (0..5).map(|_| seen(running("a", 1, 1_000), &[0, 1, 1, 0])).collect();
    fleet.push(seen(running("a", 1, 1_000), &[1]));
    let plan = planned(&fleet, Risk::Medium, &[term(600, Risk::Medium)]);
    let [bought] = &plan.purchases[..] else {
        panic!("one pool");
    };
    assert_eq!(bought.count, 1);
    // 0.4 × 730: today 5 × 365 + 730 = 2 555, planned 438 + 1 825.
    assert_eq!(bought.monthly_savings, usd(29_200));
    assert_eq!(bought.monthly_fee(Decimal::from(730)), usd(43_800));
}

#[test]
fn slower_work_runs_longer_in_dollars_and_in_hours() {
    // Up in the second hour of four. On a card that takes 1.5 times as long the hour
    // becomes two: half of the month instead of a quarter.
    let mut workload = seen(running("a", 1, 1_000), &[0, 1, 0, 0]);
    let mut slow = resize(ActionKind::Rightsize, "b", (1, 1), 400, Risk::Low);
    slow.slowdown = 1.5;
    slow.monthly_at_todays_hours = Decimal::from(73);
    slow.to.members[0].monthly = Decimal::new(1_095, 1);
    workload.resizes = vec![slow];
    let plan = planned(&[workload], Risk::Low, &[term(150, Risk::Low)]);
    let saved = savings(&plan).remove(0);
    // 182.50 − 109.50; then one unit in half of the hours at 150 / 400 of the price:
    // (0.5 × 0.4 − 0.15) × 730 = 36.50, but only 109.50 − 0.15 × 730 = 0 is left of it.
    assert_eq!(saved, [(ActionKind::Rightsize, "73.00".to_owned())]);
}

#[test]
fn members_of_two_systems_are_two_pools_and_one_action() {
    let mut group = running("a", 2, 1_000);
    group.billed[1].class.pool.key.tenancy = crate::domain::Tenancy::Dedicated;
    let plan = planned(&[group], Risk::Medium, &[term(600, Risk::Medium)]);
    let counts: Vec<u32> = plan.purchases.iter().map(|purchase| purchase.count).collect();
    assert_eq!(counts, [1, 1]);
    assert_eq!(savings(&plan), [vec![(ActionKind::Commit, "584.00".to_owned())]]);
}

#[test]
fn spot_yields_to_a_cheaper_commitment() {
    let mut workload = running("a", 1, 1_000);
    let market = |millis| SpotMarket {
        step: plain(ActionKind::Spot, Risk::Medium),
        hourly: rate(millis),
        effective_hourly: rate(millis),
    };
    let kind = |alternatives: &Alternatives| {
        planned(std::slice::from_ref(alternatives), Risk::Medium, &[term(600, Risk::Medium)])
            .actions[0][0]
            .kind()
    };
    workload.spot.insert("a".to_owned(), market(599));
    assert_eq!(kind(&workload), ActionKind::Spot);
    workload.spot.insert("a".to_owned(), market(601));
    assert_eq!(kind(&workload), ActionKind::Commit);
    // A reservation is paid in the hours in which it rests: 0.6 / (3/4) = 0.8.
    let workload = seen(workload, &[1, 1, 1, 0]);
    assert_eq!(kind(&workload), ActionKind::Spot);
}

#[test]
fn what_is_left_out_says_why() {
    let mut workload = running("a", 1, 1_000);
    workload.resizes = vec![
        resize(ActionKind::Rightsize, "b", (1, 1), 800, Risk::Low),
        resize(ActionKind::Share, "a", (1, 1), 900, Risk::Medium),
    ];
    let market = SpotMarket {
        step: plain(ActionKind::Spot, Risk::Medium),
        hourly: rate(700),
        effective_hourly: rate(700),
    };
    workload.spot.insert("b".to_owned(), market);
    let skipped = |accepted| {
        let sold = [term(600, Risk::Medium)];
        planned(std::slice::from_ref(&workload), accepted, &sold).skipped
    };
    assert_eq!(
        skipped(Risk::Medium),
        [BTreeMap::from([
            (ActionKind::Share, SkipReason::Instead(ActionKind::Rightsize)),
            (ActionKind::Spot, SkipReason::Instead(ActionKind::Commit)),
        ])]
    );
    let too_bold = SkipReason::Risk(Risk::Medium);
    assert_eq!(
        skipped(Risk::Low),
        [BTreeMap::from([
            (ActionKind::Share, too_bold),
            (ActionKind::Spot, too_bold),
            (ActionKind::Commit, too_bold),
        ])]
    );
}

fn risk() -> impl Strategy<Value = Risk> {
    prop_oneof![Just(Risk::Low), Just(Risk::Medium), Just(Risk::High)]
}

const NAMES: [&str; 3] = ["a", "b", "c"];

prop_compose! {
    /// A workload on types whose rates are given, in thousandths.
    fn workload(rates: [i64; 3])(
        today in 0_usize..2,
        count in 1_u32..4,
        off in proptest::option::of(proptest::collection::vec(any::<bool>(), HOURS)),
        resizes in proptest::collection::vec((any::<bool>(), 0_usize..3, 1_u32..4, risk()), 0..4),
        spot in proptest::collection::btree_map(0_usize..3, (20_i64..6_000, risk()), 0..3),
        ends in proptest::option::weighted(0.2, risk()),
    ) -> Alternatives {
        let mut alternatives = running(NAMES[today], count, rates[today]);
        alternatives.schedule = off.map(|on| ScheduleOffer {
            hours: ScheduledHours {
                on_share: Decimal::from(on.iter().filter(|on| **on).count())
                    / Decimal::from(HOURS),
                on,
            },
            step: plain(ActionKind::Schedule, Risk::Low),
        });
        alternatives.resizes = resizes
            .into_iter()
            .map(|(shares, to, to_count, risk)| {
                let kind = if shares { ActionKind::Share } else { ActionKind::Rightsize };
                resize(kind, NAMES[to], (to_count, count), rates[to], risk)
            })
            .collect();
        alternatives.spot = spot
            .into_iter()
            .map(|(to, (millis, risk))| (NAMES[to].to_owned(), SpotMarket {
                step: plain(ActionKind::Spot, risk),
                hourly: rate(millis),
                effective_hourly: rate(millis),
            }))
            .collect();
        alternatives.end = ends.and_then(|risk| {
            Action::saving(ActionKind::Stop, None, "", alternatives.cost, alternatives.cost, risk)
        });
        // What is idle as a whole has nothing that works.
        if alternatives.end.is_some() {
            alternatives.today = None;
            alternatives.billed.clear();
        }
        alternatives
    }
}

fn fleet() -> impl Strategy<Value = Vec<Alternatives>> {
    proptest::array::uniform3(100_i64..5_000)
        .prop_flat_map(|rates| proptest::collection::vec(workload(rates), 1..4))
}

/// Cents half-up, worked out without the types of the plan.
fn cents(amount: Decimal) -> i64 {
    use rust_decimal::prelude::ToPrimitive;
    (amount * Decimal::ONE_HUNDRED + Decimal::new(5, 1)).floor().to_i64().expect("small")
}

#[path = "plan_whole_tests.rs"]
mod whole;
