//! What an engineer who knows the system would ask first: the network between nodes,
//! how long a request takes, double precision, requests in the hours off, and what
//! slower work costs.

use super::{
    act, assert_more_risk_saves_no_less, at, considered, daily, moved, only_daily, sending, sole,
    to, vram_when, why_not,
};
use crate::rules::builder::{A10G_MIB, Machine, estate, flat, g5};
use crate::rules::fixtures::{decimal, only};
use gpucost::domain::{ActionKind, InstanceState, OperatingSystem, Risk};
use gpucost::usage::Estate;
use rust_decimal::Decimal;

/// Memory of an A100 and of a V100 as their drivers report it.
const A100_MIB: f64 = 40_960.0;
const V100_MIB: f64 = 16_160.0;

/// Eight nodes of a tag group.
fn nodes(instance_type: &str, kind: &str, gbps: f64, gpus: impl Fn(Machine) -> Machine) -> Estate {
    let machines = (0..8).map(|index| {
        let machine = Machine::new(&format!("i-{index}"), instance_type)
            .tag("gpucost:workload", "fit")
            .tag("gpucost:kind", kind)
            .cpu(flat(2.0));
        sending(gpus(machine), |_| gbps)
    });
    estate(machines.collect())
}

/// A machine with eight A100 of which so many work and the others never did.
fn a100s(machine: Machine, active: u16, percent: f64) -> Machine {
    (0..8).fold(machine, |machine, index| {
        let (level, used_mib) = if index < active { (percent, 3_000.0) } else { (0.0, 3.0) };
        machine.gpu(index, flat(level)).vram(index, used_mib, A100_MIB)
    })
}

#[test]
fn nodes_that_train_on_all_their_gpus_stay_what_they_are() {
    // Nothing below 21.957642 an hour has eight GPUs and NVLink.
    let fleet = nodes("p4d.24xlarge", "training", 15.0, |machine| a100s(machine, 8, 20.0));
    for risk in [Risk::Low, Risk::Medium, Risk::High] {
        assert_eq!(moved(&fleet, risk), None, "{risk}");
    }
    let candidates = considered(&fleet, Risk::High);
    for name in ["g5.48xlarge", "g6.48xlarge"] {
        let reason = why_not(&candidates, name).expect("a reason");
        assert!(["nvlink", "efa", "network"].contains(&reason), "{name}: {reason}");
    }
}

#[test]
fn nodes_that_train_on_one_gpu_each_keep_efa_and_network_or_become_one() {
    // They talk to each other at 15 Gbit/s, and nodes that train at the same time keep
    // EFA and 400 Gbit/s, whatever stands unused beside that GPU. Of what is cheaper
    // only a g7e.12xlarge (8.28608) has both; with 25 Gbit/s a g6.8xlarge has not.
    // One p4d.24xlarge has a GPU for each of the eight, and 8 × 15 × 1.2 = 144 of its 400
    // Gbit/s: 7 × 21.957642 × 730 = 112 203.55 less.
    let fleet = nodes("p4d.24xlarge", "training", 15.0, |machine| a100s(machine, 1, 20.0));
    let candidates = considered(&fleet, Risk::Medium);
    assert_eq!(why_not(&candidates, "g6e.xlarge"), Some("efa"));
    assert_eq!(why_not(&candidates, "g5.xlarge"), Some("efa"));
    assert_eq!(why_not(&candidates, "g6.8xlarge"), Some("network"));
    assert_eq!(why_not(&candidates, "g5.8xlarge"), Some("network"));
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("p4d.24xlarge", 1, "112203.55"));
    // Two GPUs at work on each node keep what links them.
    let pairs = nodes("p4d.24xlarge", "training", 15.0, |machine| a100s(machine, 2, 20.0));
    assert_eq!(why_not(&considered(&pairs, Risk::Medium), "g7e.12xlarge"), Some("nvlink"));
}

fn one_a10g(machine: Machine) -> Machine {
    machine.gpu(0, flat(20.0)).vram(0, 3_000.0, A10G_MIB)
}

#[test]
fn single_gpu_nodes_that_train_keep_efa_and_network() {
    // 20% of an A10G are 40% of an L4. A g6.8xlarge has EFA and the same 25 Gbit/s:
    // 8 × 2.448 × 730 = 14 296.32 less 8 × 2.0144 × 730 = 11 764.10.
    let fleet = nodes("g5.8xlarge", "training", 15.0, one_a10g);
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g6.8xlarge", 8, "2532.22"));
    let candidates = considered(&fleet, Risk::Medium);
    for name in ["g5.xlarge", "g6.xlarge", "g6.2xlarge"] {
        assert_eq!(why_not(&candidates, name), Some("efa"), "{name}");
    }
    // Hardly any traffic changes nothing about nodes that train together.
    let quiet = nodes("g5.8xlarge", "training", 0.5, one_a10g);
    let target = moved(&quiet, Risk::Medium);
    assert_eq!(target, to("g6.8xlarge", 8, "2532.22"));
}

#[test]
fn batch_nodes_keep_only_what_they_use_of_the_network() {
    // 0.5 × 1.2 = 0.6 Gbit/s fit 2.5. 14 296.32 less 8 × 0.8048 × 730 = 4 700.03.
    let quiet = nodes("g5.8xlarge", "batch", 0.5, one_a10g);
    let target = moved(&quiet, Risk::Medium);
    assert_eq!(target, to("g6.xlarge", 8, "9596.29"));
    // 15 of 25 Gbit/s are above a quarter of the link: EFA and the link stay.
    let busy = nodes("g5.8xlarge", "batch", 15.0, one_a10g);
    let target = moved(&busy, Risk::Medium);
    assert_eq!(target, to("g6.8xlarge", 8, "2532.22"));
}

#[test]
fn the_busiest_hour_with_a_fifth_on_top_decides() {
    // One hour in a fortnight at 2.1 Gbit/s: 2.52 > 2.5 of a g6.xlarge, so a g6.2xlarge
    // with 5: (1.624 − 0.9776) × 730 = 471.87. At 2.0: 2.4 fit, 598.02.
    let with_hour = |gbps: f64| {
        let machine = Machine::new("i-1", "g5.4xlarge")
            .cpu(flat(5.0))
            .gpu(0, flat(12.0))
            .vram(0, 1_000.0, A10G_MIB);
        estate(vec![sending(machine, |period| if period / 12 == 100 { gbps } else { 0.01 })])
    };
    let busy = with_hour(2.1);
    let target = moved(&busy, Risk::Medium);
    assert_eq!(target, to("g6.2xlarge", 1, "471.87"));
    let candidates = considered(&busy, Risk::Medium);
    assert_eq!(why_not(&candidates, "g6.xlarge"), Some("network"));
    let target = moved(&with_hour(2.0), Risk::Medium);
    assert_eq!(target, to("g6.xlarge", 1, "598.02"));
}

/// An undeclared endpoint at 3% with five minutes of more every day.
fn endpoint(burst: f64) -> Estate {
    let level = move |period: u32| Some(if period % 288 == 150 { burst } else { 3.0 });
    estate(vec![
        Machine::new("i-1", "g5.4xlarge").cpu(flat(5.0)).gpu(0, level).vram(0, 3_000.0, A10G_MIB),
    ])
}

#[test]
fn daily_bursts_to_100_percent_stay_on_the_model() {
    // 14 of 4 032 periods are 0.35%, beyond the 99.5th percentile; the median of the
    // daily maxima is 100. On an L4: 200%. (1.624 − 1.006) × 730 = 451.14.
    let fleet = endpoint(100.0);
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g5.xlarge", 1, "451.14"));
    let candidates = considered(&fleet, Risk::Medium);
    assert_eq!(why_not(&candidates, "g6.xlarge"), Some("utilization"));
    // It is the same card, and no request takes longer.
    let action = act(&fleet, Risk::Medium, ActionKind::Rightsize).expect("a move");
    let caveats = action.caveats().join("\n");
    assert!(!caveats.contains("times as long"), "{caveats}");
}

#[test]
fn daily_bursts_to_35_percent_move_with_a_word_on_latency() {
    // 70% of an L4, where a request takes 600 / 300 times as long.
    let fleet = endpoint(35.0);
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g6.xlarge", 1, "598.02"));
    let action = act(&fleet, Risk::Medium, ActionKind::Rightsize).expect("a move");
    let caveats = action.caveats().join("\n");
    assert!(caveats.contains("2.00 times as long"), "{caveats}");
    let audit = at(&fleet, Risk::Medium);
    let reported = &only(&audit, "overprovisioned-gpu").recommendation.caveats;
    assert!(reported.join("\n").contains("2.00 times"), "{reported:?}");
}

/// A p4d.24xlarge of which one GPU is used at 10%.
fn one_a100() -> Machine {
    a100s(Machine::new("i-1", "p4d.24xlarge").cpu(flat(2.0)), 1, 10.0)
}

#[test]
fn two_and_a_half_times_as_long_needs_high_risk() {
    // An A100 (1 555 GB/s, 312 TFLOPS) over an L40S (864, 362) is 1.80, over an A10G
    // (600, 70) 4.46, over an L4 (300, 121) 5.18. 21.957642 × 730 = 16 029.08 less
    // 1.861 × 730 = 1 358.53; at high less 587.50.
    let fleet = estate(vec![one_a100()]);
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g6e.xlarge", 1, "14670.55"));
    let candidates = considered(&fleet, Risk::Medium);
    assert_eq!(why_not(&candidates, "g5.xlarge"), Some("risk"));
    assert_eq!(why_not(&candidates, "g6.xlarge"), Some("risk"));
    let action = act(&fleet, Risk::Medium, ActionKind::Rightsize).expect("a move");
    assert!(action.caveats()[0].contains("FP64"), "{action:?}");
    let caveats = action.caveats().join("\n");
    assert!(caveats.contains("1.80 times as long"), "{caveats}");
    let target = moved(&fleet, Risk::High);
    assert_eq!(target, to("g6.xlarge", 1, "15441.58"));
    let action = act(&fleet, Risk::High, ActionKind::Rightsize).expect("a move");
    assert_eq!(action.risk(), Risk::High);
    assert!(action.caveats()[0].contains("FP64"), "{action:?}");
    assert!(action.caveats().join("\n").contains("5.18 times as long"));
    assert_more_risk_saves_no_less(&fleet);
}

#[test]
fn batch_takes_longer_and_has_no_latency() {
    // Declared batch may go to the L4 at medium: 10 × 5.18 = 51.8%.
    let fleet = estate(vec![one_a100().tag("gpucost:kind", "batch")]);
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g6.xlarge", 1, "15441.58"));
    let action = act(&fleet, Risk::Medium, ActionKind::Rightsize).expect("a move");
    let caveats = action.caveats().join("\n");
    assert!(caveats.contains("a job may take up to 5.18 times as long"), "{caveats}");
    assert!(!caveats.contains("a request"), "{caveats}");
}

#[test]
fn a_tag_for_double_precision_leaves_only_cards_that_have_it() {
    // A p5.4xlarge has one H100: 16 029.08 less 6.88 × 730 = 5 022.40.
    let fleet = estate(vec![one_a100().tag("gpucost:precision", "fp64")]);
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("p5.4xlarge", 1, "11006.68"));
    let candidates = considered(&fleet, Risk::High);
    for name in ["g6e.xlarge", "g6.xlarge", "g5.xlarge", "g7e.2xlarge"] {
        assert_eq!(why_not(&candidates, name), Some("double-precision"), "{name}");
    }
    let action = act(&fleet, Risk::Medium, ActionKind::Rightsize).expect("a move");
    assert!(!action.caveats().join("\n").contains("FP64"), "{action:?}");
}

/// A declared batch job on a p3.2xlarge.
fn v100(level: impl Fn(u32) -> Option<f64> + Copy) -> Machine {
    Machine::new("i-1", "p3.2xlarge")
        .tag("gpucost:kind", "batch")
        .cpu(flat(5.0))
        .gpu(0, level)
        .vram(0, 3_000.0, V100_MIB)
}

#[test]
fn away_from_a_v100_double_precision_is_the_first_word() {
    // A T4 has 320 of 900 GB/s: 20 × 2.8125 = 56.25%. (3.06 − 0.526) × 730.
    let fleet = estate(vec![v100(flat(20.0))]);
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g4dn.xlarge", 1, "1849.82"));
    let action = act(&fleet, Risk::Medium, ActionKind::Rightsize).expect("a move");
    assert!(action.caveats()[0].contains("FP64"), "{action:?}");
    // With the tag there is no cheaper card.
    let tagged = estate(vec![v100(flat(20.0)).tag("gpucost:precision", "fp64")]);
    assert_eq!(moved(&tagged, Risk::High), None);
    let candidates = considered(&tagged, Risk::High);
    assert_eq!(why_not(&candidates, "g4dn.xlarge"), Some("double-precision"));
    assert_eq!(why_not(&candidates, "g5.xlarge"), Some("double-precision"));
}

/// A g5.xlarge that works from 8 to 20 and rests at night; on an L4 70% would be 140%.
fn at_rest_by_night() -> Machine {
    g5("i-1").gpu(0, daily((8, 20), 70.0, 0.0)).vram(0, 3_000.0, A10G_MIB)
}

/// The schedule that each level of risk makes: its dollars and caveats.
fn schedules(machine: Machine) -> [Option<(Decimal, Risk, String)>; 3] {
    let fleet = estate(vec![machine]);
    assert_more_risk_saves_no_less(&fleet);
    [Risk::Low, Risk::Medium, Risk::High].map(|risk| {
        let action = act(&fleet, risk, ActionKind::Schedule)?;
        let saved = action.monthly_savings().amount();
        Some((saved, action.risk(), action.caveats().join("\n")))
    })
}

#[test]
fn a_service_or_production_at_rest_by_night_is_scheduled_at_high_risk_only() {
    // 84 of 168 hours of 734.38.
    let serving = || at_rest_by_night().tag("gpucost:kind", "serving");
    for machine in [
        serving(),
        serving().tag("env", "prod"),
        at_rest_by_night().tag("env", "prod"),
        at_rest_by_night().tag("gpucost:kind", "batch").tag("env", "production"),
    ] {
        let tags = format!("{:?}", machine.instance.tags);
        let [low, medium, high] = schedules(machine);
        assert_eq!((low, medium), (None, None), "{tags}");
        let (saved, risk, caveats) = high.expect("a schedule");
        assert_eq!((saved, risk), (decimal("367.19"), Risk::High), "{tags}");
        assert!(caveats.contains("fail"), "{tags}: {caveats}");
    }
}

#[test]
fn declared_evaluation_is_scheduled_at_low_risk_and_undeclared_work_at_medium() {
    let [low, ..] = schedules(at_rest_by_night().tag("gpucost:kind", "evaluation"));
    let (saved, risk, _) = low.expect("a schedule");
    assert_eq!((saved, risk), (decimal("367.19"), Risk::Low));
    let [low, medium, _] = schedules(at_rest_by_night());
    assert_eq!(low, None);
    let (saved, risk, caveats) = medium.expect("a schedule");
    assert_eq!((saved, risk), (decimal("367.19"), Risk::Medium));
    assert!(caveats.contains("not declared"), "{caveats}");
}

#[test]
fn nightly_work_on_a_slower_card_keeps_longer_windows() {
    // 42% of a V100 are 118.1% of a T4: 1.18 times as long, maximum 4 h become 4.7 and so 5.
    // 3.06 × 730 = 2 233.80, × 4 / 24 = 372.30; 0.526 × 730 = 383.98, × 5 / 24 = 80.00.
    // In windows of 4 h it would have been 64.00.
    let fleet = estate(vec![v100(daily((0, 4), 42.0, 0.0))]);
    let schedule = act(&fleet, Risk::Medium, ActionKind::Schedule).expect("a schedule");
    assert_eq!(schedule.monthly_savings().amount(), decimal("1861.50"));
    assert_eq!(schedule.risk(), Risk::Low);
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g4dn.xlarge", 1, "292.30"));
    let totals = at(&fleet, Risk::Medium).totals;
    let planned = totals.planned_monthly_cost.map(|cost| cost.amount());
    assert_eq!(planned, Some(decimal("80.00")));
    assert_more_risk_saves_no_less(&fleet);
}

#[test]
fn nightly_work_that_is_no_slower_keeps_its_windows() {
    // 30% of a V100 are 84.4% of a T4. 383.98 × 4 / 24 = 64.00; 372.30 − 64.00.
    let fleet = estate(vec![v100(daily((0, 4), 30.0, 0.0))]);
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g4dn.xlarge", 1, "308.30"));
}

#[test]
fn a_box_that_is_up_by_night_runs_longer_on_a_slower_card() {
    // Up 4 of 24 h: 372.30 a month. 383.98 × 4 / 24 × 1.18125 = 75.60 and not 64.00.
    let up = (20, 24);
    let machine = Machine::new("i-1", "p3.2xlarge")
        .tag("gpucost:kind", "batch")
        .launched_hours_ago(4)
        .seen_before()
        .cpu(only_daily(up, 5.0))
        .gpu(0, only_daily(up, 42.0));
    let machine = vram_when(machine, V100_MIB, only_daily(up, 3_000.0));
    let fleet = estate(vec![machine]);
    let audit = at(&fleet, Risk::Medium);
    let cost = audit.totals.monthly_cost.map(|cost| cost.amount());
    assert_eq!(cost, Some(decimal("372.30")));
    let target = moved(&fleet, Risk::Medium);
    assert_eq!(target, to("g4dn.xlarge", 1, "296.70"));
    // It is off already in the hours that it does not use.
    let mut actions = sole(&audit).actions.iter();
    assert!(actions.all(|action| action.kind() != ActionKind::Schedule));
}

/// Two members of one tag group: one that rests by night, and another.
fn beside_another(other: Machine) -> Estate {
    let team = |machine: Machine| machine.tag("gpucost:workload", "team");
    estate(vec![team(at_rest_by_night().seen_before()), team(other)])
}

#[test]
fn a_member_of_ten_days_has_no_habit_yet() {
    let night = |id: &str| g5(id).gpu(0, daily((8, 20), 70.0, 0.0)).vram(0, 3_000.0, A10G_MIB);
    let schedule = |fleet: &Estate| act(fleet, Risk::Medium, ActionKind::Schedule);
    // 2 × 734.38 / 2 once both were seen for two weeks.
    let old = schedule(&beside_another(night("i-2"))).expect("a schedule");
    assert_eq!(old.monthly_savings().amount(), decimal("734.38"));
    let young = beside_another(night("i-2").launched_hours_ago(240));
    assert_eq!(schedule(&young), None);
}

#[test]
fn each_member_saves_its_own_nights_at_its_own_price() {
    // A Windows box, 1.19 × 730 = 868.70 around the clock, is up from 8 to 20 h only:
    // 434.35, and nothing more to save. The other saves half of 734.38, 367.19; a third of
    // both, as their hours together would tell, is 389.58.
    let mut day = Machine::new("i-2", "g5.xlarge")
        .cpu(only_daily((8, 20), 5.0))
        .gpu(0, only_daily((8, 20), 70.0))
        .vram(0, 3_000.0, A10G_MIB)
        .seen_before();
    day.instance.operating_system = OperatingSystem::Windows;
    day.instance.state = InstanceState::Stopped;
    let time = "User initiated (2026-10-31 20:00:00 GMT)";
    day.instance.state_transition_reason = Some(time.to_owned());
    let schedule = act(&beside_another(day), Risk::Medium, ActionKind::Schedule);
    let saved = schedule.map(|action| action.monthly_savings().amount());
    assert_eq!(saved, Some(decimal("367.19")));
}

#[test]
fn where_no_hour_is_known_to_be_active_there_is_no_schedule() {
    // At rest in all hours but the last, in which a newest point is still on its way; its
    // memory is not measured, so that it cannot be called idle either.
    let fleet = estate(vec![g5("i-1").gpu(0, |period| (period < 14 * 288 - 3).then_some(0.0))]);
    for risk in [Risk::Low, Risk::Medium, Risk::High] {
        assert_eq!(act(&fleet, risk, ActionKind::Schedule), None, "{risk}");
    }
}
