//! Capacity reservations: their unused room is billed as the instances that would fill it,
//! and whatever leaves one saves only what lowering it saves, once.

use super::{
    HELD_MIB, WORKS, assert_totals, box_in, capacity, committed, idle, inside, kinds, late_half,
    of_type, only_stop, working, young,
};
use crate::rules::builder::{A10G_MIB, Machine, as_of, audited, estate, flat};
use crate::rules::committed::reserved;
use crate::rules::fixtures::{decimal, dollars, of, only};
use gpucost::analysis::{Audit, audit};
use gpucost::domain::{ActionKind, CapacityReservation, Confidence, Money, Policy, Risk};
use gpucost::usage::Estate;
use jiff::SignedDuration;

const ROOM: &str = "idle-capacity-reservation";

fn with(machines: Vec<Machine>, reservation: CapacityReservation) -> Estate {
    let mut fleet = estate(machines);
    fleet.commitments.capacity_reservations = vec![reservation];
    fleet
}

/// What unused room and unused fees cost a month.
fn unused(audit: &Audit) -> Option<rust_decimal::Decimal> {
    audit.totals.unused_monthly_cost.map(Money::amount)
}

#[test]
fn an_idle_box_and_its_reservation_end_in_one_step() {
    let audit = audited(&with(vec![inside(idle("i-1"))], capacity(1, 0)));
    // 734.38, once: the box fills the room, and later there is neither.
    assert_totals(&audit, ["734.38", "0", "734.38", "0"]);
    assert_eq!(kinds(&audit), [ActionKind::Stop]);
    let detail = only_stop(&audit).detail();
    assert!(detail.contains("lower the capacity reservation cr-1 by 1 of 1"), "{detail}");
    assert_eq!(dollars(only(&audit, "idle-gpu")), Some(decimal("734.38")));
    assert!(of(&audit, ROOM).is_empty());
    assert!(audit.unused.is_empty(), "{:?}", audit.unused);
    // A box outside says nothing about reservations.
    let free = audited(&estate(vec![idle("i-1")]));
    assert_totals(&free, ["734.38", "0", "734.38", "0"]);
    assert!(!only_stop(&free).detail().contains("reservation"));
}

#[test]
fn a_reservation_that_cannot_be_lowered_takes_the_dollars() {
    let fleet = with(vec![inside(idle("i-1"))], committed(1, 0));
    let audit = audited(&fleet);
    assert_totals(&audit, ["734.38", "734.38", "0", "0"]);
    assert_eq!(kinds(&audit), []);
    assert_eq!(dollars(only(&audit, "idle-gpu")), None);
    // One that was committed until now can be lowered.
    let mut over = fleet.clone();
    over.commitments.capacity_reservations[0].committed_until = Some(as_of());
    let audit = audited(&over);
    assert_totals(&audit, ["734.38", "0", "734.38", "0"]);
    // One that is not in sight is somebody else's.
    let mut unseen = fleet;
    unseen.commitments.capacity_reservations.clear();
    let audit = audited(&unseen);
    assert_totals(&audit, ["734.38", "734.38", "0", "0"]);
    assert_eq!(dollars(only(&audit, "idle-gpu")), None);
}

#[test]
fn only_what_leaves_the_reservation_and_what_is_free_in_it_is_waste() {
    let machines = vec![inside(working("i-1")), inside(idle("i-2"))];
    let audit = audited(&with(machines.clone(), capacity(3, 1)));
    // Three rooms at 734.38: one works and is reserved (271.7206), one is idle, one free.
    assert_totals(&audit, ["2203.14", "462.66", "1468.76", "271.72"]);
    assert_eq!(unused(&audit), Some(decimal("734.38")));
    assert_eq!(dollars(only(&audit, ROOM)), Some(decimal("734.38")));
    assert_eq!(dollars(only(&audit, "idle-gpu")), Some(decimal("734.38")));
    assert_eq!(only_stop(&audit).monthly_savings().amount(), decimal("734.38"));
    // Committed to, all three go on: only the one that works may be paid otherwise.
    let audit = audited(&with(machines, committed(3, 1)));
    assert_totals(&audit, ["2203.14", "1931.42", "0", "271.72"]);
    assert_eq!(unused(&audit), Some(decimal("734.38")));
    assert!(of(&audit, ROOM).iter().all(|finding| dollars(finding).is_none()));
}

#[test]
fn unused_room_is_cost_and_waste_where_it_can_be_cancelled() {
    let audit = audited(&with(vec![working("i-1")], capacity(4, 4)));
    // 734.38 + 4 × 734.38; the box outside is reserved: 271.7206.
    assert_totals(&audit, ["3671.90", "462.66", "2937.52", "271.72"]);
    assert_eq!(kinds(&audit), [ActionKind::Commit, ActionKind::Release]);
    let finding = only(&audit, ROOM);
    assert_eq!(dollars(finding), Some(decimal("2937.52")));
    assert_eq!(finding.confidence, Confidence::Measured);
    // A term is committed cost.
    let audit = audited(&with(vec![working("i-1")], committed(4, 4)));
    assert_totals(&audit, ["3671.90", "3400.18", "0", "271.72"]);
    assert_eq!(kinds(&audit), [ActionKind::Commit]);
    assert!(of(&audit, ROOM).is_empty());
    // So is a Capacity Block, which is committed.
    let block = CapacityReservation { capacity_block: true, ..capacity(4, 4) };
    let audit = audited(&with(vec![working("i-1")], block));
    let waste = audit.totals.monthly_waste.map(Money::amount);
    assert_eq!(waste, Some(decimal("0")));
    assert!(of(&audit, ROOM).is_empty());
    // One that has ended holds nothing.
    let ended = CapacityReservation { end: Some(as_of()), ..capacity(4, 4) };
    let audit = audited(&with(vec![working("i-1")], ended));
    assert_totals(&audit, ["734.38", "462.66", "0", "271.72"]);
}

#[test]
fn room_is_what_its_own_members_leave_at_each_hour() {
    // Up in half of the hours, the box costs 367.19 and leaves room for as much.
    let audit = audited(&with(vec![inside(late_half("i-1"))], capacity(1, 0)));
    assert_totals(&audit, ["734.38", "367.19", "367.19", "0"]);
    assert_eq!(unused(&audit), Some(decimal("367.19")));
    let audit = audited(&with(vec![inside(late_half("i-1"))], committed(1, 0)));
    assert_totals(&audit, ["734.38", "734.38", "0", "0"]);
    assert_eq!(unused(&audit), Some(decimal("367.19")));
    // Outside, the same box leaves all of the room.
    let audit = audited(&with(vec![late_half("i-1")], capacity(1, 1)));
    assert_totals(&audit, ["1101.57", "367.19", "734.38", "0"]);
}

#[test]
fn room_that_a_reserved_instance_pays_for_costs_nothing_more() {
    let both = |count: u32| {
        let mut fleet = with(vec![working("i-1")], capacity(1, 1));
        fleet.commitments.reserved_instances = vec![reserved(count)];
        fleet
    };
    // Two reserved instances: one pays the box, the other the room. 2 × 462.6594 are the
    // fees, and nothing ends before them.
    let audit = audited(&both(2));
    assert_totals(&audit, ["925.32", "925.32", "0", "0"]);
    assert!(of(&audit, ROOM).iter().all(|finding| dollars(finding).is_none()));
    assert_eq!(kinds(&audit), []);
    // Of one nothing is left for the room: 462.66 + 734.38.
    let audit = audited(&both(1));
    assert_totals(&audit, ["1197.04", "462.66", "734.38", "0"]);
    assert_eq!(dollars(only(&audit, ROOM)), Some(decimal("734.38")));
    // Of three one pays for nothing at all: 3 × 462.6594 = 1 387.9782, neither waste nor
    // savable.
    let audit = audited(&both(3));
    assert_totals(&audit, ["1387.98", "1387.98", "0", "0"]);
}

#[test]
fn an_idle_box_in_a_reservation_that_a_reserved_instance_pays_saves_nothing() {
    let mut fleet = with(vec![inside(idle("i-1"))], capacity(1, 0));
    fleet.commitments.reserved_instances = vec![reserved(1)];
    let audit = audited(&fleet);
    assert_totals(&audit, ["462.66", "462.66", "0", "0"]);
    assert_eq!(kinds(&audit), []);
    assert_eq!(dollars(only(&audit, "idle-gpu")), None);
}

#[test]
fn room_before_the_reservation_began_is_not_counted() {
    // Up for the last 84 h, so that nothing is bought for it: 734.38.
    let half_week = || vec![inside(young("i-1", 84, WORKS))];
    let begun = CapacityReservation {
        start: Some(as_of() - SignedDuration::from_hours(7 * 24)),
        ..capacity(1, 0)
    };
    // Free in 84 of the 168 h since it began: 367.19.
    let audit = audited(&with(half_week(), begun.clone()));
    assert_totals(&audit, ["1101.57", "734.38", "367.19", "0"]);
    // From before the window on it was free in 252 of 336 h: 550.785.
    let audit = audited(&with(half_week(), capacity(1, 0)));
    assert_totals(&audit, ["1285.17", "734.38", "550.79", "0"]);
    // A box that was there before it began leaves no room since.
    let audit = audited(&with(vec![inside(working("i-1"))], begun));
    assert_totals(&audit, ["734.38", "462.66", "0", "271.72"]);
    assert_eq!(unused(&audit), None);
}

#[test]
fn room_of_a_shared_reservation_is_derived_and_no_waste() {
    // Five in all, one of them free, one own: three are of others. The box is reserved,
    // 271.7206, and the room of now could be given up, 734.38.
    let audit = audited(&with(vec![inside(working("i-1"))], capacity(5, 1)));
    assert_totals(&audit, ["1468.76", "462.66", "0", "1006.10"]);
    let finding = only(&audit, ROOM);
    assert_eq!(finding.confidence, Confidence::Derived);
    assert_eq!(dollars(finding), Some(decimal("734.38")));
    // Two in all, one of them free, one own: nobody else's.
    let audit = audited(&with(vec![inside(working("i-1"))], capacity(2, 1)));
    assert_totals(&audit, ["1468.76", "462.66", "734.38", "271.72"]);
    assert_eq!(only(&audit, ROOM).confidence, Confidence::Measured);
}

#[test]
fn no_schedule_inside_a_reservation() {
    // Up around the clock, at work in the second half of every day: 84 of 168 hours off.
    let notebook = || {
        let level = |period: u32| Some(if period % 288 >= 144 { WORKS } else { 0.0 });
        let machine = Machine::new("i-1", "g5.xlarge")
            .cpu(flat(5.0))
            .gpu(0, level)
            .vram(0, HELD_MIB, A10G_MIB);
        machine.tag("gpucost:kind", "development")
    };
    let at_low = |estate: &Estate| audit(estate, &Policy::default(), Risk::Low);
    let free = at_low(&estate(vec![notebook()]));
    assert_eq!(kinds(&free), [ActionKind::Schedule]);
    assert_totals(&free, ["734.38", "367.19", "0", "367.19"]);
    for reservation in [capacity(1, 0), committed(1, 0)] {
        let held = at_low(&with(vec![inside(notebook())], reservation.clone()));
        assert_eq!(kinds(&held), []);
        assert_totals(&held, ["734.38", "734.38", "0", "0"]);
        let held = audited(&with(vec![inside(notebook())], reservation));
        assert!(!kinds(&held).contains(&ActionKind::Schedule));
    }
}

#[test]
fn a_move_out_of_a_reservation_lowers_it_in_the_same_action() {
    let small = || of_type(box_in("i-1", 12.0, 1_000.0, |_| true), "g5.2xlarge");
    let of_2xlarge = |reservation: CapacityReservation| CapacityReservation {
        instance_type: "g5.2xlarge".to_owned(),
        ..reservation
    };
    let words = "lower the capacity reservation cr-1 by 1 of 1";
    let says = |audit: &Audit| -> Vec<bool> {
        let actions = audit.workloads.iter().flat_map(|workload| &workload.actions);
        actions
            .filter(|action| action.kind() == ActionKind::Rightsize)
            .map(|action| action.detail().contains(words))
            .collect()
    };
    let free = audited(&estate(vec![small()]));
    assert_eq!(says(&free), [false]);
    let fleet = with(vec![inside(small())], of_2xlarge(capacity(1, 0)));
    let lowered = audited(&fleet);
    assert_eq!(says(&lowered), [true]);
    // What moves out saves as much as outside, and no room is counted beside it.
    assert_eq!(lowered.totals.planned_monthly_cost, free.totals.planned_monthly_cost);
    assert_eq!(unused(&lowered), None);
    // One that cannot be lowered keeps the box.
    let fleet = with(vec![inside(small())], of_2xlarge(committed(1, 0)));
    let kept = kinds(&audited(&fleet));
    for kind in [ActionKind::Rightsize, ActionKind::Share, ActionKind::Spot] {
        assert!(!kept.contains(&kind), "{kept:?}");
    }
}
