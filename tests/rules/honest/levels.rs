//! More risk saves at least as much, and another hour of the day costs the same.

use super::config;
use super::draft::{estate_of, fleet};
use crate::rules::builder::{Machine, as_of, audited, estate};
use crate::rules::properties::check_sums;
use gpucost::analysis::audit;
use gpucost::domain::{InstanceState, Money, Policy, Risk};
use jiff::SignedDuration;
use proptest::prelude::*;
use rust_decimal::Decimal;

/// A g5.xlarge that is up from 08:00 to 20:00 every day, audited as though the window
/// ended so many hours later in a day.
fn by_day(shift: i64) -> Decimal {
    let up = move |period: u32| {
        let hour = (i64::from(period) / 12 + shift).rem_euclid(24);
        (8..20).contains(&hour)
    };
    let mut machine = Machine::new("i-1", "g5.xlarge").cpu(|period| up(period).then_some(5.0));
    machine.instance.attached_time = Some(as_of() - SignedDuration::from_hours(2_000));
    let last = (0..crate::rules::builder::PERIODS).rev().find(|period| up(*period));
    let last = i64::from(last.expect("it is up"));
    let from_end = i64::from(crate::rules::builder::PERIODS) - 1 - last;
    machine.instance.launch_time = as_of() - SignedDuration::from_secs((from_end + 144) * 300);
    if from_end > 0 {
        machine.instance.state = InstanceState::Stopped;
        let stopped = as_of() - SignedDuration::from_secs(from_end * 300);
        let time = stopped.strftime("%Y-%m-%d %H:%M:%S GMT");
        machine.instance.state_transition_reason = Some(format!("User initiated ({time})"));
    }
    let audit = audited(&estate(vec![machine]));
    audit.totals.monthly_cost.expect("priced").amount()
}

#[test]
fn a_box_up_half_of_the_day_costs_half_at_every_hour() {
    // 1.006 × 730 / 2.
    for shift in 0..24 {
        assert_eq!(by_day(shift), Decimal::new(36_719, 2), "{shift} h later");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn more_risk_never_saves_less((boxes, bought) in fleet()) {
        let estate = estate_of(&boxes, &bought);
        let saved = [Risk::Low, Risk::Medium, Risk::High].map(|risk| {
            let totals = audit(&estate, &Policy::default(), risk).totals;
            totals.monthly_savings().map_or(Decimal::ZERO, Money::amount)
        });
        // Of two currencies the totals hold one; the plan weighs both.
        let currencies = boxes.iter().any(|drawn| drawn.is_in_china);
        prop_assert!(currencies || saved.is_sorted(), "{saved:?}");
    }

    #[test]
    fn sums_hold((mut boxes, bought) in fleet()) {
        // Yuan are in no sum of dollars.
        boxes.iter_mut().for_each(|drawn| drawn.is_in_china = false);
        check_sums(&audited(&estate_of(&boxes, &bought)))?;
    }
}
