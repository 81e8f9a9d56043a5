//! Coverage against a count by tokens, and what holds whatever is bought.

use super::tests::{PLAN, covered, owned, plan, reserved, used};
use super::*;
use crate::domain::ReservedInstances;
use crate::savings::instances as instances_of;
use proptest::collection::vec;
use proptest::prelude::*;
use std::cmp::Reverse;

/// A token is 24 units: a vt1.3xlarge, an eighth of a vt1.24xlarge.
const TYPES: [(&str, usize); 3] = [("vt1.3xlarge", 1), ("vt1.6xlarge", 2), ("vt1.24xlarge", 8)];
const ZONES: [&str; 2] = ["us-east-1a", "us-east-1b"];

/// One token at a time: tokens of every instance, and of every commitment, by
/// turns, until one side has none left. Covered tokens by hour and instance.
fn token_by_token(
    instances: &[(usize, usize, Vec<bool>)],
    reserved: &[(usize, Option<usize>, u32)],
    plans: &[u32],
    hours: usize,
) -> Vec<Vec<usize>> {
    let mut by_hour = Vec::new();
    for hour in 0..hours {
        let mut covered = vec![0_usize; instances.len()];
        // The smallest first; of equals what runs longest, and then by zone and place.
        let place = |index: &usize| {
            let (kind, zone, running) = &instances[*index];
            let hours = running.iter().filter(|ran| **ran).count();
            (TYPES[*kind].1, Reverse((hours, running)), *zone, *index)
        };
        let mut give = |tokens: usize, takes: &dyn Fn(usize) -> bool| {
            for _ in 0..tokens {
                let mut hungry: Vec<usize> = (0..instances.len())
                    .filter(|index| instances[*index].2[hour] && takes(*index))
                    .filter(|index| covered[*index] < TYPES[instances[*index].0].1)
                    .collect();
                hungry.sort_by_key(place);
                if let Some(next) = hungry.first() {
                    covered[*next] += 1;
                }
            }
        };
        for (kind, zone, count) in reserved {
            let tokens = *count as usize * TYPES[*kind].1;
            if let Some(zone) = zone {
                let fits =
                    |index: usize| instances[index].0 == *kind && instances[index].1 == *zone;
                give(tokens, &fits);
            }
        }
        for (kind, zone, count) in reserved {
            if zone.is_none() {
                give(*count as usize * TYPES[*kind].1, &|_| true);
            }
        }
        // Every size saves half under a plan: the lowest rate comes first.
        for tokens in plans {
            give(*tokens as usize, &|_| true);
        }
        by_hour.push(covered);
    }
    by_hour
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(192) })]

    #[test]
    fn it_equals_a_count_token_by_token(
        instances in vec((0..3_usize, 0..2_usize, vec(any::<bool>(), 3)), 0..7),
        reservations in vec((0..3_usize, proptest::option::of(0..2_usize), 1..3_u32), 0..4),
        plans in vec(0..12_u32, 0..3),
    ) {
        let fleet: Vec<UsedInstance> = instances
            .iter()
            .enumerate()
            .map(|(index, (kind, zone, running))| {
                let (instance_type, tokens) = TYPES[*kind];
                let mut instance = used(&format!("i-{index}"), instance_type, running);
                instance.zone = Some(ZONES[*zone].to_owned());
                instance.on_demand_hourly = Some(Decimal::from(2 * tokens));
                instance.plan_rates.insert(PLAN, Decimal::from(tokens));
                instance
            })
            .collect();
        let mine = owned(
            reservations
                .iter()
                .enumerate()
                .map(|(index, (kind, zone, count))| ReservedInstances {
                    zone: zone.map(|zone| ZONES[zone].to_owned()),
                    ..reserved(&format!("r-{index}"), TYPES[*kind].0, *count)
                })
                .collect(),
            plans
                .iter()
                .enumerate()
                .map(|(index, hourly)| plan(&format!("p-{index}"), "vt1", &hourly.to_string()))
                .collect(),
        );
        let coverage = covered(&fleet, &mine, 3);
        let expected = token_by_token(&instances, &reservations, &plans, 3);
        for (index, instance) in coverage.instances.iter().enumerate() {
            let tokens = Decimal::from(TYPES[instances[index].0].1);
            for (hour, uncovered) in instance.uncovered.iter().enumerate() {
                let ran = instances_of(fleet[index].hours[hour]);
                let by_tokens = ran - Decimal::from(expected[hour][index]) / tokens;
                prop_assert_eq!(instances_of(*uncovered), by_tokens, "{} in hour {}", index, hour);
            }
            prop_assert_eq!(
                instance.covered_hours() + instance.uncovered_hours(),
                instance.running_hours
            );
        }
    }

    #[test]
    fn nothing_gives_more_than_it_has_and_no_hour_is_covered_twice(
        sizes in vec((0..3_usize, vec(any::<bool>(), 4), 1..200_u32), 1..6),
        counts in vec((0..3_usize, 1..4_u32), 0..3),
        plans in vec(1..5_000_u32, 0..3),
    ) {
        // Rates that no decimal divides evenly.
        let fleet: Vec<UsedInstance> = sizes
            .iter()
            .enumerate()
            .map(|(index, (kind, running, cents))| {
                let mut instance = used(&format!("i-{index}"), TYPES[*kind].0, running);
                instance.on_demand_hourly = Some(Decimal::from(3));
                instance.plan_rates.insert(PLAN, Decimal::new(i64::from(*cents) * 3 + 1, 2));
                instance
            })
            .collect();
        let reservations = counts.iter().enumerate();
        let plans = plans.iter().enumerate();
        let mine = owned(
            reservations
                .map(|(index, (kind, count))| reserved(&format!("r-{index}"), TYPES[*kind].0, *count))
                .collect(),
            plans
                .map(|(index, mils)| {
                    plan(&format!("p-{index}"), "vt1", &Decimal::new(i64::from(*mils), 3).to_string())
                })
                .collect(),
        );
        let coverage = covered(&fleet, &mine, 4);
        for commitment in &coverage.commitments {
            let used = commitment.utilization.expect("its term is the window's");
            prop_assert!(used >= Decimal::ZERO && used <= Decimal::ONE, "{used}");
            prop_assert!(commitment.covered_hours <= commitment.eligible_hours);
            prop_assert!(
                commitment.unused_monthly.is_some_and(|money| money.amount() >= Decimal::ZERO)
            );
        }
        for (instance_coverage, instance) in coverage.instances.iter().zip(&fleet) {
            for (uncovered, ran) in instance_coverage.uncovered.iter().zip(&instance.hours) {
                prop_assert!(uncovered <= ran);
            }
            let rounding = Decimal::new(1, 20);
            let sum = instance_coverage.covered_hours() + instance_coverage.uncovered_hours();
            prop_assert!((sum - instance_coverage.running_hours).abs() < rounding);
        }
    }
}
