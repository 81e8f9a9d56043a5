//! Fewer instances: only of declared services whose replicas are interchangeable.
//! A g5.xlarge is 1.006 × 730 = 734.38 a month, a g6.xlarge 0.8048 × 730 = 587.504.
//! An L4 has half the memory bandwidth of an A10G (300 of 600 GB/s).

use super::{act, assert_more_risk_saves_no_less, at, daily, moved, only_daily, sole, to};
use crate::rules::builder::{A10G_MIB, Machine, estate, flat, g5};
use crate::rules::fixtures::decimal;
use gpucost::domain::{ActionKind, InstanceState, Risk};
use gpucost::usage::Estate;

const LEVELS: [Risk; 3] = [Risk::Low, Risk::Medium, Risk::High];

/// So many g5.xlarge of one tag group.
fn group(count: u32, replica: impl Fn(u32, Machine) -> Machine) -> Estate {
    let machines = (0..count).map(|index| {
        let machine = g5(&format!("i-{index:02}")).tag("gpucost:workload", "chat");
        replica(index, machine)
    });
    estate(machines.collect())
}

/// A declared service whose replicas are declared to answer for each other.
fn serving(machine: Machine) -> Machine {
    machine.tag("gpucost:kind", "serving").tag("gpucost:replicas", "interchangeable")
}

fn in_auto_scaling_group(mut machine: Machine) -> Machine {
    machine.instance.auto_scaling_group = Some("pool".to_owned());
    machine
}

#[test]
fn replicas_that_are_full_for_an_hour_of_every_day_all_stay() {
    // 10 × 90 = 900 at noon, / 80 = 11.25: twelve and not fewer than ten. On an L4
    // 90% would be 180%. The busy hour is 4.2% of the day, which no p95 shows.
    let fleet = group(10, |_, machine| {
        serving(machine).gpu(0, daily((12, 13), 90.0, 10.0)).vram(0, 19_000.0, A10G_MIB)
    });
    for risk in LEVELS {
        assert_eq!(moved(&fleet, risk), None, "{risk}");
        assert_eq!(act(&fleet, risk, ActionKind::Share), None, "{risk}");
    }
}

#[test]
fn five_full_minutes_of_a_fortnight_keep_the_number_and_not_the_model() {
    // The sum is 900 once, so that nothing shrinks. That once is 0.02% of the periods
    // and one of fourteen days: the peak of a GPU is 10%, on an L4 20%.
    // 10 × 734.38 = 7 343.80 less 10 × 587.504 = 5 875.04.
    let fleet = group(10, |_, machine| {
        serving(machine)
            .gpu(0, |period| Some(if period == 2_000 { 90.0 } else { 10.0 }))
            .vram(0, 9_000.0, A10G_MIB)
    });
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g6.xlarge", 10, "1468.76"));
}

#[test]
fn replicas_at_a_seventh_shrink_to_two() {
    // 10 × 15 = 150, / 80 = 1.875: two. 7 343.80 − 2 × 734.38 = 5 875.04. As L4s
    // 300 / 80 = 3.75: four, 4 × 0.8048 > 2 × 1.006.
    let fleet =
        group(10, |_, machine| serving(machine).gpu(0, flat(15.0)).vram(0, 9_000.0, A10G_MIB));
    let action = act(&fleet, Risk::Medium, ActionKind::Rightsize).expect("fewer");
    assert_eq!(action.risk(), Risk::Medium);
    let caveats = action.caveats().join("\n");
    assert!(caveats.contains("2 replicas instead of 10"), "{caveats}");
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g5.xlarge", 2, "5875.04"));
    assert_eq!(moved(&fleet, Risk::Low), None);
    assert_more_risk_saves_no_less(&fleet);
}

#[test]
fn replicas_that_take_turns_are_added_up_by_the_minute() {
    // In hour 0 to 9 one is at 90% and nine are at 10%: 180, / 80 = 2.25: three.
    // The sum of the peaks would have been 900. 7 343.80 − 3 × 734.38 = 5 140.66. As
    // L4s 360 / 80 = 4.5: five, 5 × 0.8048 = 4.024 > 3.018; as L40S (864 GB/s)
    // 125 / 80: two, 2 × 1.861 = 3.722.
    let fleet = group(10, |index, machine| {
        serving(machine).gpu(0, daily((index, index + 1), 90.0, 10.0)).vram(0, 9_000.0, A10G_MIB)
    });
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g5.xlarge", 3, "5140.66"));
}

#[test]
fn one_replica_stays_in_every_zone() {
    // Two would do and three zones are in use. 7 343.80 − 2 203.14 = 5 140.66.
    let zones = ["us-east-1a", "us-east-1b", "us-east-1c"];
    let fleet = group(10, |index, machine| {
        let mut machine = serving(machine).gpu(0, flat(15.0)).vram(0, 9_000.0, A10G_MIB);
        machine.instance.zone = Some(zones[index as usize % 3].to_owned());
        machine
    });
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g5.xlarge", 3, "5140.66"));
    // And no zone is left without one at high risk.
    let (_, count, _) = moved(&fleet, Risk::High).expect("fewer");
    assert!(count >= 3, "{count}");
}

#[test]
fn an_auto_scaling_group_alone_proves_nothing() {
    // The same load undeclared: ten stay ten, on L4s. 7 343.80 − 5 875.04 = 1 468.76.
    let fleet = group(10, |_, machine| {
        in_auto_scaling_group(machine).gpu(0, flat(15.0)).vram(0, 9_000.0, A10G_MIB)
    });
    for risk in [Risk::Medium, Risk::High] {
        let target = moved(&fleet, risk);
        assert_eq!(target, to("g6.xlarge", 10, "1468.76"), "{risk}");
        assert_eq!(act(&fleet, risk, ActionKind::Share), None, "{risk}");
    }
    assert_eq!(moved(&fleet, Risk::Low), None);
}

#[test]
fn equal_memory_and_a_common_tag_prove_nothing() {
    // The load of two, declared to serve, with the same memory on every GPU: ten stay ten.
    let of = |declared: fn(Machine) -> Machine| {
        let fleet = group(10, |_, machine| {
            declared(machine.tag("gpucost:kind", "serving"))
                .gpu(0, flat(15.0))
                .vram(0, 9_000.0, A10G_MIB)
        });
        moved(&fleet, Risk::Medium)
    };
    assert_eq!(of(|machine| machine), to("g6.xlarge", 10, "1468.76"));
    // A group that starts them from one template, or a tag, declares it.
    assert_eq!(of(in_auto_scaling_group), to("g5.xlarge", 2, "5875.04"));
    assert_eq!(of(serving), to("g5.xlarge", 2, "5875.04"));
}

#[test]
fn data_parallel_training_never_shrinks() {
    // 8 × 15 = 120 would be two GPUs of 80%. 8 × 734.38 = 5 875.04 less
    // 8 × 587.504 = 4 700.03.
    let fleet = group(8, |_, machine| {
        machine.tag("gpucost:kind", "training").gpu(0, flat(15.0)).vram(0, 9_000.0, A10G_MIB)
    });
    for risk in [Risk::Medium, Risk::High] {
        let target = moved(&fleet, risk);
        assert_eq!(target, to("g6.xlarge", 8, "1175.01"), "{risk}");
        assert_eq!(act(&fleet, risk, ActionKind::Share), None, "{risk}");
    }
    assert_eq!(moved(&fleet, Risk::Low), None);
}

#[test]
fn replicas_that_hold_different_models_do_not_shrink() {
    let fleet = group(10, |index, machine| {
        let used_mib = [9_000.0, 4_000.0][index as usize % 2];
        serving(machine).gpu(0, flat(15.0)).vram(0, used_mib, A10G_MIB)
    });
    let answer = moved(&fleet, Risk::Medium);
    assert_eq!(answer, to("g6.xlarge", 10, "1468.76"));
    assert_eq!(moved(&fleet, Risk::Low), None);
    // Through MPS each keeps its model, and the memory adds up: of 10 800 MiB two a
    // card of 23 028, of 4 800 two beside the fifth and three on a fourth card.
    // 7 343.80 − 4 × 734.38 = 4 406.28.
    let share = act(&fleet, Risk::High, ActionKind::Share).expect("MPS");
    let target = share.target().expect("fewer");
    assert_eq!((target.instance_type.as_str(), target.count), ("g5.xlarge", 4));
    assert_eq!(share.monthly_savings().amount(), decimal("4406.28"));
    assert_more_risk_saves_no_less(&fleet);
}

#[test]
fn notebooks_are_not_put_on_one_card_and_through_mps_add_their_memory_up() {
    // Six hold 9 GiB each: 54 GiB, and 6 × 5 = 30% of one GPU.
    let fleet = group(6, |_, machine| {
        in_auto_scaling_group(machine)
            .tag("gpucost:kind", "development")
            .gpu(0, flat(5.0))
            .vram(0, 9_216.0, A10G_MIB)
    });
    assert_eq!(moved(&fleet, Risk::Low), None);
    // 6 × 734.38 = 4 406.28 less 6 × 587.504 = 3 525.02.
    let answer = moved(&fleet, Risk::Medium);
    assert_eq!(answer, to("g6.xlarge", 6, "881.26"));
    assert_eq!(act(&fleet, Risk::Medium, ActionKind::Share), None);
    // 9 216 × 1.2 = 11 059.2: two of 23 028 MiB, three cards. 4 406.28 − 2 203.14.
    let share = act(&fleet, Risk::High, ActionKind::Share).expect("MPS");
    assert_eq!(share.target().map(|target| target.count), Some(3));
    assert_eq!(share.monthly_savings().amount(), decimal("2203.14"));
    assert_eq!(share.risk(), Risk::High);
    assert_more_risk_saves_no_less(&fleet);
}

#[test]
fn two_replicas_are_the_fewest_whatever_they_use() {
    // 3 × 5 = 15, on L4s 30, would be one: two stay. 3 × 734.38 = 2 203.14 less
    // 2 × 587.504 = 1 175.01.
    let fleet =
        group(3, |_, machine| serving(machine).gpu(0, flat(5.0)).vram(0, 9_000.0, A10G_MIB));
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g6.xlarge", 2, "1028.13"));
    // A lone instance has no replica.
    let alone = estate(vec![serving(g5("i-1")).gpu(0, flat(5.0)).vram(0, 9_000.0, A10G_MIB)]);
    assert_eq!(moved(&alone, Risk::Medium), to("g6.xlarge", 1, "146.88"));
    assert_eq!(sole(&at(&alone, Risk::Low)).actions, []);
}

#[test]
fn fewer_replicas_save_nothing_in_the_hours_in_which_few_run() {
    // Two of four are up from 8 to 12 h only: 56 box-hours a day, 2 × 734.38 + 2 × 122.40
    // (4 / 24) = 1 713.56 a month. All at 20%, on L4s at 40%: 160, / 80 = 2. In 20 hours
    // two ran and go on, in four hours two of four do: 48 of 56 box-hours, which are
    // 2 × 587.504 = 1 175.01 and a cent that rounding left. Half of them all would be
    // 685.42.
    let fleet = group(4, |index, machine| {
        let up = if index < 2 { (0, 24) } else { (8, 12) };
        let machine = Machine::new(machine.instance.id.as_str(), "g5.xlarge")
            .cpu(only_daily(up, 5.0))
            .tag("gpucost:workload", "chat");
        let mut machine = serving(machine).gpu(0, only_daily(up, 20.0)).vram(0, 9_000.0, A10G_MIB);
        machine.instance.attached_time = Some(machine.instance.launch_time);
        if index >= 2 {
            machine.instance.state = InstanceState::Stopped;
            let time = "User initiated (2026-10-31 12:00:00 GMT)";
            machine.instance.state_transition_reason = Some(time.to_owned());
        }
        machine
    });
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g6.xlarge", 2, "538.54"));
}
