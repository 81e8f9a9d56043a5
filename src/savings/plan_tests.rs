use super::*;
use crate::domain::{CommitmentTerm, Currency};
use proptest::prelude::*;

/// A window of four hours stands for the month: 730 h = 4 × 182.5.
const HOURS: usize = 4;

fn usd(cents: i64) -> Money {
    Money::new(Decimal::new(cents, 2), Currency::Usd)
}

fn rate(millis: i64) -> HourlyRate {
    HourlyRate::new(Decimal::new(millis, 3), Currency::Usd).expect("positive")
}

/// Instances of a type that run all the time.
fn running(instance_type: &str, count: u32, millis: i64) -> Alternatives {
    let monthly = Decimal::new(millis, 3) * Decimal::from(count) * Decimal::from(730);
    Alternatives {
        cost: Money::new(monthly, Currency::Usd).rounded(),
        today: Some(Stage {
            instance_type: instance_type.to_owned(),
            count,
            hourly: rate(millis),
            monthly,
        }),
        end: None,
        schedule: None,
        resizes: Vec::new(),
        spot: BTreeMap::new(),
        committable: Some(Committable {
            key: PriceKey::linux_on_demand("us-east-1", instance_type),
            running: vec![count; HOURS],
        }),
    }
}

fn resize(kind: ActionKind, name: &str, count: u32, millis: i64, risk: Risk) -> ResizeOffer {
    ResizeOffer {
        kind,
        target: Target {
            instance_type: name.to_owned(),
            count,
        },
        hourly: rate(millis),
        monthly: Decimal::new(millis, 3) * Decimal::from(count) * Decimal::from(730),
        risk,
        detail: "resize".to_owned(),
    }
}

fn half_off() -> ScheduleOffer {
    ScheduleOffer {
        on_share: Decimal::new(5, 1),
        on: vec![true, true, false, false],
        risk: Risk::Low,
        detail: "half".to_owned(),
    }
}

fn term(millis: i64, risk: Risk) -> TermOffer {
    TermOffer {
        name: "term".to_owned(),
        option: PriceOption::Reserved(CommitmentTerm::ONE_YEAR_NO_UPFRONT),
        effective_hourly: rate(millis),
        risk,
    }
}

fn planned(workloads: &[Alternatives], accepted: Risk, sold: &[TermOffer]) -> Plan {
    plan(
        workloads,
        &Terms {
            accepted,
            hours_per_month: Decimal::from(730),
            commitments: &|_| sold.to_vec(),
        },
    )
}

fn savings(plan: &Plan) -> Vec<Vec<(ActionKind, String)>> {
    let of = |action: &Action| {
        let saving = action.monthly_savings().amount().to_string();
        (action.kind(), saving)
    };
    plan.actions
        .iter()
        .map(|actions| actions.iter().map(of).collect())
        .collect()
}

#[test]
fn each_action_works_on_what_the_one_before_left() {
    // 2 × 4.00 $/h = 5,840. Half of the hours: 2,920. On half the size: 1,460.
    // On spot at a quarter of that rate: 365.
    let mut one = running("big", 2, 4_000);
    one.schedule = Some(half_off());
    one.resizes = vec![
        resize(ActionKind::Rightsize, "small", 2, 2_000, Risk::Low),
        resize(ActionKind::Share, "big", 1, 4_100, Risk::Medium),
    ];
    one.spot.insert(
        "small".to_owned(),
        SpotMarket {
            hourly: rate(450),
            effective_hourly: rate(500),
            figures: None,
            risk: Risk::Medium,
            detail: "spot".to_owned(),
        },
    );
    let saved = |kind, amount: &str| (kind, amount.to_owned());
    assert_eq!(
        savings(&planned(&[one.clone()], Risk::Medium, &[])),
        [vec![
            saved(ActionKind::Schedule, "2920.00"),
            saved(ActionKind::Rightsize, "1460.00"),
            saved(ActionKind::Spot, "1095.00"),
        ]]
    );
    assert_eq!(
        savings(&planned(&[one], Risk::Low, &[])),
        [vec![
            saved(ActionKind::Schedule, "2920.00"),
            saved(ActionKind::Rightsize, "1460.00"),
        ]]
    );
}

#[test]
fn what_ends_takes_no_other_action_and_no_part_of_a_pool() {
    let mut idle = running("big", 1, 1_000);
    idle.end = Action::saving(
        ActionKind::Stop,
        None,
        "stop",
        idle.cost,
        idle.cost,
        Risk::Low,
    );
    idle.schedule = Some(half_off());
    let busy = running("big", 1, 1_000);
    let plan = planned(&[idle, busy], Risk::Medium, &[term(600, Risk::Medium)]);
    let kinds: Vec<Vec<ActionKind>> = plan
        .actions
        .iter()
        .map(|actions| actions.iter().map(Action::kind).collect())
        .collect();
    assert_eq!(kinds, [vec![ActionKind::Stop], vec![ActionKind::Commit]]);
    assert_eq!(plan.purchases[0].count, 1);
    // 0.4 $/h × 730 h.
    assert_eq!(plan.purchases[0].monthly_savings, usd(29_200));
}

#[test]
fn pools_are_sized_on_what_is_left_and_shared_to_the_cent() {
    // Three boxes in a pool, one of them only half of the time: N(t) = 3 3 2 2.
    // At 0.6 of the price the third would need more than 60 % of the hours.
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
        .map(|action| action.monthly_savings().amount().to_string())
        .collect();
    assert_eq!(parts, ["233.60", "116.80", "233.60"]);
}

#[test]
fn a_pool_is_sized_on_the_hours_in_which_all_of_it_were_seen() {
    // One box for four hours, which rests in the first, another for the last two.
    let mut old = running("a", 1, 1_000);
    let mut young = running("a", 1, 1_000);
    for (one, hours) in [(&mut old, vec![0, 1, 1, 1]), (&mut young, vec![1, 1])] {
        one.committable.as_mut().expect("it runs").running = hours;
    }
    let plan = planned(&[old, young], Risk::Medium, &[term(600, Risk::Medium)]);
    // Both ran in all of the last two hours: 2 × 0.4 $/h × 730 h.
    assert_eq!(plan.purchases[0].count, 2);
    assert_eq!(plan.purchases[0].usage, ConcurrentUsage::of(&[2, 2]));
    assert_eq!(plan.purchases[0].monthly_savings, usd(58_400));
}

#[test]
fn spot_yields_to_a_cheaper_commitment() {
    let mut one = running("a", 1, 1_000);
    let market = |millis| SpotMarket {
        hourly: rate(millis),
        effective_hourly: rate(millis),
        figures: None,
        risk: Risk::Medium,
        detail: "spot".to_owned(),
    };
    let kind = |one: &Alternatives| {
        planned(
            std::slice::from_ref(one),
            Risk::Medium,
            &[term(600, Risk::Medium)],
        )
        .actions[0][0]
            .kind()
    };
    one.spot.insert("a".to_owned(), market(599));
    assert_eq!(kind(&one), ActionKind::Spot);
    one.spot.insert("a".to_owned(), market(601));
    assert_eq!(kind(&one), ActionKind::Commit);
    // A reservation is paid in the hours in which it rests: 0.6 / (3/4) = 0.8.
    if let Some(usage) = &mut one.committable {
        usage.running = vec![1, 1, 1, 0];
    }
    assert_eq!(kind(&one), ActionKind::Spot);
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
        let mut one = running(NAMES[today], count, rates[today]);
        one.schedule = off.map(|on| ScheduleOffer {
            on_share: Decimal::from(on.iter().filter(|on| **on).count()) / Decimal::from(HOURS),
            on,
            risk: Risk::Low,
            detail: String::new(),
        });
        one.resizes = resizes
            .into_iter()
            .map(|(shares, to, count, risk)| {
                let kind = if shares { ActionKind::Share } else { ActionKind::Rightsize };
                resize(kind, NAMES[to], count, rates[to], risk)
            })
            .collect();
        one.spot = spot
            .into_iter()
            .map(|(to, (millis, risk))| (NAMES[to].to_owned(), SpotMarket {
                hourly: rate(millis),
                effective_hourly: rate(millis),
                figures: None,
                risk,
                detail: String::new(),
            }))
            .collect();
        one.end = ends.and_then(|risk| {
            Action::saving(ActionKind::Stop, None, "", one.cost, one.cost, risk)
        });
        one
    }
}

fn fleet() -> impl Strategy<Value = Vec<Alternatives>> {
    proptest::array::uniform3(100_i64..5_000)
        .prop_flat_map(|rates| proptest::collection::vec(workload(rates), 1..4))
}

/// Cents half-up, worked out without the types of the plan.
fn cents(amount: Decimal) -> i64 {
    use rust_decimal::prelude::ToPrimitive;
    (amount * Decimal::ONE_HUNDRED + Decimal::new(5, 1))
        .floor()
        .to_i64()
        .expect("small")
}

/// How a workload ends up: what it costs after each stage, in cents, and what it
/// offers a pool.
#[derive(Debug, Clone)]
struct Outcome {
    stages: [i64; 3],
    /// Type, rate and instances by hour.
    pool: Option<(String, Decimal, Vec<u32>)>,
}

/// Tries every combination of schedule, size and market, and takes the one whose
/// costs after each stage are lowest in the stated order.
fn brute_force(one: &Alternatives, accepted: Risk, sold: &[TermOffer]) -> Outcome {
    let cost = cents(one.cost.amount());
    if one.end.as_ref().is_some_and(|end| end.risk() <= accepted) {
        return Outcome {
            stages: [0; 3],
            pool: None,
        };
    }
    let today = one.today.as_ref().expect("it runs");
    let usage = one.committable.as_ref().expect("it runs");
    let cheapest = sold
        .iter()
        .filter(|term| term.risk <= accepted)
        .map(|term| term.effective_hourly.amount())
        .min();
    let mut outcomes = Vec::new();
    for scheduled in [false, true] {
        let (share, on) = match (&one.schedule, scheduled) {
            (_, false) => (Decimal::ONE, vec![true; HOURS]),
            (Some(offer), true) if offer.risk <= accepted => (offer.on_share, offer.on.clone()),
            _ => continue,
        };
        let first = cents(today.monthly * share);
        if scheduled && first >= cost {
            continue;
        }
        let stay = (
            today.instance_type.clone(),
            today.count,
            today.hourly,
            today.monthly,
        );
        let moves = one
            .resizes
            .iter()
            .filter(|offer| offer.risk <= accepted)
            .map(|offer| {
                let target = offer.target.clone();
                (
                    target.instance_type,
                    target.count,
                    offer.hourly,
                    offer.monthly,
                )
            });
        for (name, count, hourly, monthly) in moves.chain([stay.clone()]) {
            let second = cents(monthly * share);
            let moved = (&name, count, hourly) != (&stay.0, stay.1, stay.2);
            if moved && second >= first {
                continue;
            }
            let hours: Vec<u32> = usage
                .running
                .iter()
                .zip(&on)
                .map(|(n, on)| {
                    if *on {
                        (n * count).div_ceil(today.count)
                    } else {
                        0
                    }
                })
                .collect();
            let worked: u32 = hours.iter().sum();
            let committed = cheapest.filter(|_| worked > 0).map(|rate| {
                rate * Decimal::from(HOURS) * Decimal::from(count) / Decimal::from(worked)
            });
            outcomes.push(Outcome {
                stages: [first, second, second],
                pool: Some((name.clone(), hourly.amount(), hours)),
            });
            let market = one.spot.get(&name).filter(|market| market.risk <= accepted);
            if let Some(market) = market {
                let rate = market.effective_hourly.amount();
                let third = cents(monthly * share * rate / hourly.amount());
                if third < second && committed.is_none_or(|committed| rate < committed) {
                    outcomes.push(Outcome {
                        stages: [first, second, third],
                        pool: None,
                    });
                }
            }
        }
    }
    outcomes
        .into_iter()
        .min_by_key(|outcome| outcome.stages)
        .expect("nothing to do is one of them")
}

/// The most that commitments of one term can save on a pool: every number is
/// tried, up to one more than ever ran.
fn best_saving(rate: Decimal, running: &[u32], sold: &[TermOffer], accepted: Risk) -> Decimal {
    let most = running.iter().max().copied().unwrap_or(0) + 1;
    let scale = Decimal::from(730) / Decimal::from(HOURS);
    sold.iter()
        .filter(|term| term.risk <= accepted)
        .flat_map(|term| {
            (0..=most).map(move |count| {
                let covered: u32 = running.iter().map(|n| (*n).min(count)).sum();
                let paid = term.effective_hourly.amount() * Decimal::from(count as usize * HOURS);
                (rate * Decimal::from(covered) - paid) * scale
            })
        })
        .fold(Decimal::ZERO, Decimal::max)
}

proptest! {
    #[test]
    fn the_plan_is_what_trying_everything_in_the_stated_order_finds(
        fleet in fleet(),
        sold in proptest::collection::vec((50_i64..4_000, risk()), 0..3),
        accepted in risk(),
    ) {
        let sold: Vec<TermOffer> = sold.into_iter().map(|(millis, risk)| term(millis, risk)).collect();
        let plan = planned(&fleet, accepted, &sold);
        let mut pools: BTreeMap<String, (Decimal, Vec<u32>, i64)> = BTreeMap::new();
        for (one, actions) in fleet.iter().zip(&plan.actions) {
            let expected = brute_force(one, accepted, &sold);
            if let Some((name, rate, hours)) = expected.pool {
                let pool = pools.entry(name).or_insert((rate, vec![0; HOURS], 0));
                pool.1.iter_mut().zip(hours).for_each(|(sum, hour)| *sum += hour);
                pool.2 += expected.stages[2];
            }
            let own: i64 = actions
                .iter()
                .filter(|action| action.kind() != ActionKind::Commit)
                .map(|action| cents(action.monthly_savings().amount()))
                .sum();
            prop_assert_eq!(cents(one.cost.amount()) - own, expected.stages[2]);
            let all: i64 = actions
                .iter()
                .map(|action| cents(action.monthly_savings().amount()))
                .sum();
            prop_assert!((0..=cents(one.cost.amount())).contains(&all));
            let mut kinds: Vec<ActionKind> = actions.iter().map(Action::kind).collect();
            prop_assert!(kinds.is_sorted(), "in the order of the plan");
            kinds.dedup();
            prop_assert_eq!(kinds.len(), actions.len(), "one of each kind");
        }
        // Rows sum to what the best number of the best term saves on each pool.
        let commits: i64 = plan
            .actions
            .iter()
            .flatten()
            .filter(|action| action.kind() == ActionKind::Commit)
            .map(|action| cents(action.monthly_savings().amount()))
            .sum();
        let best: i64 = pools
            .values()
            .map(|(rate, hours, left)| cents(best_saving(*rate, hours, &sold, accepted)).min(*left))
            .sum();
        prop_assert_eq!(commits, best);
    }
}
