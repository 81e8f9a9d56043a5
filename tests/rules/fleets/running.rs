//! What a box costs follows the hours that it ran, whether an audit finds it up or
//! stopped, and whenever it was last started.

use super::{
    FREE_MIB, HELD_MIB, WORKS, assert_totals, bought, box_in, early_half, idle, kinds, late_half,
    only_workload, stopped_for, tagged, working, young,
};
use crate::rules::builder::{Machine, audited, estate};
use crate::rules::fixtures::{decimal, dollars, of, only};
use gpucost::analysis::Audit;
use gpucost::domain::{ActionKind, UsageState, Volume};

fn alone(machine: Machine) -> Audit {
    audited(&estate(vec![machine]))
}

/// A g5.xlarge that works in some hours of the window and stopped so many hours ago.
fn works_in(ran: impl Fn(u32) -> bool + Copy, stopped_hours_ago: i64) -> Machine {
    let machine = box_in("i-1", WORKS, HELD_MIB, move |period| ran(period / 12));
    stopped_for(machine, stopped_hours_ago)
}

/// With 500 GiB gp3: 40.00 a month.
fn with_volume(mut machine: Machine) -> Machine {
    machine.instance.volumes.push(Volume {
        id: "vol-1".to_owned(),
        volume_type: Some("gp3".to_owned()),
        size_gib: Some(500),
    });
    machine
}

#[test]
fn half_of_the_time_costs_the_same_found_up_or_stopped() {
    // 734.38 × 168 / 336.
    let expected = ["367.19", "367.19", "0", "0"];
    let (up, stopped) = (alone(late_half("i-1")), alone(early_half("i-1")));
    assert_totals(&up, expected);
    assert_totals(&stopped, expected);
    assert_eq!(
        only_workload(&up).verdict.classification,
        only_workload(&stopped).verdict.classification
    );
    assert_eq!(only_workload(&up).verdict.state, Some(UsageState::Steady));
    assert_eq!(only_workload(&stopped).verdict.state, Some(UsageState::Steady));
    assert_eq!(up.totals.stopped_instances, 0);
    assert_eq!(stopped.totals.stopped_instances, 1);
    // EC2 does not always say when: then the last hour that ran does.
    let mut silent = early_half("i-1");
    silent.instance.state_transition_reason = None;
    assert_totals(&alone(silent), expected);
}

#[test]
fn members_found_up_and_stopped_are_one_workload() {
    let machines = tagged(vec![late_half("i-1"), early_half("i-2")], "renderer");
    let audit = audited(&estate(machines));
    // 2 × 367.19, which one reservation takes: 271.7206.
    assert_totals(&audit, ["734.38", "462.66", "0", "271.72"]);
    assert_eq!(only_workload(&audit).workload.instances.len(), 2);
    // Two that are up at once are two in half of the hours.
    let machines = tagged(vec![late_half("i-1"), late_half("i-2")], "renderer");
    let audit = audited(&estate(machines));
    assert_totals(&audit, ["734.38", "734.38", "0", "0"]);
}

#[test]
fn a_box_has_ended_after_three_days_of_rest_that_it_never_took_before() {
    // Up for the first 264 h: 734.38 × 264 / 336 = 577.0129. That is 78.6% of the hours,
    // more than 63%, so that it is paid for all of them: 577.0129 − 462.6594 = 114.3535.
    let at_the_border = alone(with_volume(works_in(|hour| hour < 264, 72)));
    assert_totals(&at_the_border, ["577.01", "462.66", "0", "114.35"]);
    // An hour more, and its compute has ended: 500 × 0.08 stay, and nobody calls them
    // forgotten in the first week.
    let ended = alone(with_volume(works_in(|hour| hour < 263, 73)));
    assert_totals(&ended, ["40.00", "40.00", "0", "0"]);
    assert_eq!(ended.totals.stopped_instances, 1);
}

#[test]
fn a_box_of_one_day_a_week_has_not_ended() {
    // Up on the first day of both weeks: it rested for 144 h before, and does so again.
    // 734.38 × 48 / 336 = 104.9114.
    let weekly = alone(works_in(|hour| hour % 168 < 24, 144));
    assert_totals(&weekly, ["104.91", "104.91", "0", "0"]);
    // After half a day of rest, 276 h are more than a habit.
    let ended = alone(works_in(|hour| hour < 24 || (36..60).contains(&hour), 276));
    assert_totals(&ended, ["0", "0", "0", "0"]);
}

#[test]
fn twice_the_longest_rest_is_the_border() {
    // Up for 12 h and for 24 h, with 100 h between and 200 h since:
    // 734.38 × 36 / 336 = 78.6836.
    let habit = |hour: u32| hour < 12 || (112..136).contains(&hour);
    assert_totals(&alone(works_in(habit, 200)), ["78.68", "78.68", "0", "0"]);
    // 201 h since.
    let ended = |hour: u32| hour < 12 || (112..135).contains(&hour);
    assert_totals(&alone(works_in(ended, 201)), ["0", "0", "0", "0"]);
}

#[test]
fn a_start_this_morning_makes_no_box_young() {
    // First seen two months ago by its network interface: half of 336 h.
    let attached = late_half("i-1").launched_hours_ago(12).seen_before();
    assert_totals(&alone(attached), ["367.19", "367.19", "0", "0"]);
    // Without that it is as old as its start, and was up ever since.
    let audit = alone(young("i-1", 12, WORKS));
    assert_totals(&audit, ["734.38", "734.38", "0", "0"]);
}

#[test]
fn what_is_bought_and_stopped_goes_by_when_it_was_first_seen() {
    // 271.7206 for one that works.
    let old = alone(working("i-1").launched_hours_ago(6).seen_before());
    assert_totals(&old, ["734.38", "462.66", "0", "271.72"]);
    assert_eq!(bought(&old), 1);
    let new = alone(young("i-1", 6, WORKS));
    assert_totals(&new, ["734.38", "734.38", "0", "0"]);
    // One that is idle for two weeks ends, however lately it was started.
    let old = alone(idle("i-1").launched_hours_ago(6).seen_before());
    assert_totals(&old, ["734.38", "0", "734.38", "0"]);
    assert_eq!(kinds(&old), [ActionKind::Stop]);
    assert_eq!(dollars(only(&old, "idle-gpu")), Some(decimal("734.38")));
    // One of two days is idle so far.
    let begins = crate::rules::builder::PERIODS - 48 * 12;
    let new = box_in("i-1", 0.0, FREE_MIB, move |period| period >= begins);
    let new = alone(new.launched_hours_ago(48));
    assert_totals(&new, ["734.38", "734.38", "0", "0"]);
    assert_eq!(dollars(only(&new, "idle-so-far")), None);
    assert!(of(&new, "idle-gpu").is_empty());
}
