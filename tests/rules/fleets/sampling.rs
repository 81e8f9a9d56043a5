//! How often, when and in how many records a machine was measured: none of it may cost a
//! dollar or invent one.

use super::{FREE_MIB, HELD_MIB, WORKS, assert_totals, box_in, only_workload};
use crate::rules::builder::{A10G_MIB, Machine, PERIODS, audited, estate, flat};
use gpucost::analysis::{Audit, RunDays, daily_charges};
use gpucost::domain::{ActionKind, Classification, Kpi, KpiValue, Metric, Statistic, UsageState};
use gpucost::sources::files::{Keep, read_estate, write_estate};
use rust_decimal::Decimal;

/// Periods of a day.
const DAY: u32 = 288;

fn alone(machine: Machine) -> Audit {
    audited(&estate(vec![machine]))
}

fn stops(audit: &Audit) -> bool {
    let actions = &only_workload(audit).actions;
    actions.iter().any(|action| action.kind() == ActionKind::Stop)
}

fn has_actions(audit: &Audit) -> bool {
    !only_workload(audit).actions.is_empty()
}

fn says(audit: &Audit, words: &str) -> bool {
    audit.gaps.iter().any(|gap| gap.reason.contains(words))
}

/// A machine whose CPU is at 95% around the clock, and whose GPU rests in some periods and is
/// not measured in the others.
fn seen_in(seen: impl Fn(u32) -> bool + Copy) -> Machine {
    let mut machine = box_in("i-1", 0.0, FREE_MIB, seen);
    machine.series.retain(|series| series.metric != Metric::CpuUtilization);
    machine.cpu(flat(95.0))
}

/// A machine with the records of two, one after the other.
fn with_records(first: &Machine, second: &Machine) -> Machine {
    let mut both = first.clone();
    both.series.extend(second.series.iter().cloned());
    both
}

#[test]
fn a_quarter_of_an_hour_is_a_cadence_and_not_a_hole() {
    for step in [2, 3, 12] {
        let audit = alone(box_in("i-1", WORKS, HELD_MIB, move |period| period % step == 0));
        let workload = only_workload(&audit);
        let summary = workload.workload.utilization.as_ref().expect("measured");
        let expected = u64::from(PERIODS / step);
        assert_eq!((summary.n_samples, summary.expected_samples), (expected, expected));
        assert_eq!(workload.verdict.classification, Classification::WellUtilized);
        // 1.006 × 730; a reservation costs 462.66, as of a machine that is seen every five
        // minutes.
        assert_totals(&audit, ["734.38", "462.66", "0", "271.72"]);
    }
    // Three points are no cadence of four days: 3 × 5 minutes of 30 hours.
    let audit = alone(seen_in(|period| period % (4 * DAY) == 0 && period < 12 * DAY));
    let workload = only_workload(&audit);
    assert_eq!(workload.verdict.classification, Classification::InsufficientData);
}

#[test]
fn hourly_points_of_a_large_machine_cost_all_of_its_hours() {
    let hourly = |value: f64| move |period: u32| period.is_multiple_of(12).then_some(value);
    let mut machine = Machine::new("i-1", "p5.48xlarge").cpu(hourly(20.0));
    for gpu in 0..8 {
        machine = machine.gpu(gpu, hourly(WORKS));
    }
    let audit = alone(machine);
    // 55.04 × 730.
    let cost = only_workload(&audit).workload.monthly_cost().expect("priced");
    assert_eq!(cost.amount(), crate::rules::fixtures::decimal("40179.20"));
}

#[test]
fn records_of_one_series_are_one_whatever_their_order() {
    let early = box_in("i-1", WORKS, HELD_MIB, |period| period < PERIODS / 2);
    let late = box_in("i-1", WORKS, HELD_MIB, |period| period >= PERIODS / 2);
    let expected = ["734.38", "462.66", "0", "271.72"];
    for (first, second) in [(&early, &late), (&late, &early)] {
        assert_totals(&alone(with_records(first, second)), expected);
    }
    // It rested for a week and works since: what the second record says is not waste.
    let rested = box_in("i-1", 0.0, HELD_MIB, |period| period < PERIODS / 2);
    let mut totals = Vec::new();
    for (first, second) in [(&rested, &late), (&late, &rested)] {
        let audit = alone(with_records(first, second));
        assert!(!stops(&audit));
        let cost = only_workload(&audit).workload.monthly_cost();
        totals.push((cost, audit.totals.monthly_waste));
    }
    assert_eq!(totals[0], totals[1]);
}

#[test]
fn records_that_are_apart_in_a_file_are_one_series() {
    let early = |id| box_in(id, WORKS, HELD_MIB, |period| period < PERIODS / 2);
    let late = |id| box_in(id, WORKS, HELD_MIB, |period| period >= PERIODS / 2);
    let mut written = estate(vec![early("i-1"), early("i-2")]);
    for id in ["i-1", "i-2"] {
        written.metrics.extend(late(id).series.iter().cloned());
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    write_estate(&written, &mut file.as_file()).expect("written");
    // The window stands before the series, behind them, and nowhere: 14 days are usual.
    let text = std::fs::read_to_string(file.path()).expect("a file");
    let ahead: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut nowhere = ahead.clone();
    nowhere.as_object_mut().expect("an object").retain(|key, _| !key.starts_with("window_"));
    let files = [ahead, nowhere].map(|value| {
        let file = tempfile::NamedTempFile::new().expect("a file");
        serde_json::to_writer(&file, &value).expect("written");
        file
    });
    for file in files.iter().chain([&file]) {
        let read = |keep| audited(&read_estate(file.path(), keep).expect("an estate"));
        let (points, usage) = (read(Keep::Points), read(Keep::Usage));
        // 2 × 734.38; two reservations save 2 × 271.7206.
        assert_totals(&usage, ["1468.76", "925.32", "0", "543.44"]);
        assert_totals(&points, ["1468.76", "925.32", "0", "543.44"]);
        for (of_points, of_usage) in points.workloads.iter().zip(&usage.workloads) {
            assert_eq!(of_points.workload.utilization, of_usage.workload.utilization);
        }
    }
}

#[test]
fn an_agent_that_died_says_nothing_about_today() {
    // The last day is missing: 24 hours are not more than 24.
    let audit = alone(seen_in(|period| period < PERIODS - DAY));
    assert_eq!(only_workload(&audit).verdict.state, Some(UsageState::Idle));
    // Five minutes more are.
    let audit = alone(seen_in(|period| period < PERIODS - DAY - 1));
    let workload = only_workload(&audit);
    assert_eq!(workload.verdict.classification, Classification::InsufficientData);
    assert!(!has_actions(&audit));
    // The last seven of fourteen days.
    let audit = alone(seen_in(|period| period < 7 * DAY));
    assert!(!has_actions(&audit));
    assert_totals(&audit, ["734.38", "734.38", "0", "0"]);
    assert!(says(
        &audit,
        "last sample 2026-10-25T00:00:00Z; 168 hours before the end of the window"
    ));
}

#[test]
fn hours_that_are_missing_day_after_day_are_not_idle() {
    let hour = |period: u32| period % DAY / 12;
    let day = |period: u32| !(10..18).contains(&hour(period));
    let audit = alone(seen_in(day));
    assert!(!has_actions(&audit));
    assert_totals(&audit, ["734.38", "734.38", "0", "0"]);
    assert!(says(&audit, "no data from 10:00 to 18:00 UTC on most days"));
    // On six of fourteen days, fewer than half.
    let audit = alone(seen_in(|period| day(period) || period >= 6 * DAY));
    assert_eq!(only_workload(&audit).verdict.state, Some(UsageState::Idle));
    // It does not run in these hours: it is idle in the others, and costs 16 / 24 of 734.38.
    let audit = alone(box_in("i-1", 0.0, FREE_MIB, day));
    assert_eq!(only_workload(&audit).verdict.state, Some(UsageState::Idle));
    let cost = only_workload(&audit).workload.monthly_cost().expect("priced");
    assert_eq!(cost.amount(), crate::rules::fixtures::decimal("489.59"));
}

#[test]
fn memory_that_is_not_measured_any_more_stops_nothing() {
    let early = |period: u32| (period < 9 * DAY).then_some(FREE_MIB);
    let mut machine = box_in("i-1", 0.0, FREE_MIB, |_| true);
    let used = Metric::GpuMemoryUsed;
    machine.series.retain(|series| series.metric != used);
    let machine = machine.series(used, Statistic::Average, Some(0), early).series(
        used,
        Statistic::Maximum,
        Some(0),
        early,
    );
    let audit = alone(machine);
    assert!(!stops(&audit));
    assert!(says(
        &audit,
        "last sample 2026-10-27T00:00:00Z; 120 hours before the end of the window: no action"
    ));
}

/// A card whose counter stands still, which holds 97% of its memory and draws so many watts. The
/// bound of an A10G: 57 + 15% × (300 − 57) = 93.45 W.
fn drawing(watts: f64) -> Machine {
    let draw = Metric::GpuPowerDraw;
    let machine = box_in("i-1", 0.0, A10G_MIB * 0.97, |_| true);
    machine.series(draw, Statistic::Average, Some(0), flat(watts))
}

#[test]
fn a_counter_that_stands_still_beside_the_power_of_work_is_a_contradiction() {
    let rests = alone(drawing(93.0));
    assert_eq!(only_workload(&rests).verdict.state, Some(UsageState::IdleHeld));
    let works = alone(drawing(280.0));
    let workload = only_workload(&works);
    assert_eq!(workload.verdict.classification, Classification::InsufficientData);
    assert!(!has_actions(&works));
    let gap = works.gaps.iter().find(|gap| {
        let words = "280 of 300 W, where idle is about 57 W: the metrics contradict each other";
        gap.reason.contains(words)
    });
    // To set up an agent that reports already would change nothing.
    let hint = &gap.expect("a gap").hint;
    assert!(hint.contains("`nvidia-smi dmon -s pu`"), "{hint}");
    // A month of one GPU is 730 hours.
    for (audit, idle, unmeasured) in [(&rests, Some(730.0), 0.0), (&works, None, 730.0)] {
        let of = |kpi| audit.kpis.get(kpi);
        assert_eq!(of(Kpi::IdleGpuHours), idle.and_then(KpiValue::measured));
        assert_eq!(of(Kpi::UnmeasuredGpuHours), KpiValue::measured(unmeasured));
        let gpus = u64::from(idle.is_none());
        let funnel = &audit.funnel;
        assert_eq!((funnel.unmeasured_gpus, funnel.total_gpus), (gpus, 1));
        // Its memory is measured.
        assert_eq!((funnel.allocated_gpus, funnel.active_gpus), (1, 0));
    }
    let days = RunDays::of(&estate(vec![drawing(280.0)]));
    let charges = daily_charges(&works, &days, Decimal::from(730));
    assert_eq!(charges.len(), 14);
    for charge in charges {
        assert_eq!(charge.split.unmeasured, charge.effective);
    }
}

#[test]
fn a_contradicted_gpu_beside_one_that_works_is_unmeasured_alone() {
    // A T4 idles at 33.51 W of 70: 33.51 + 15% × 36.49 = 38.98 W.
    let draw = Metric::GpuPowerDraw;
    let mut machine = Machine::new("i-1", "g4dn.12xlarge").cpu(flat(5.0));
    for gpu in 0..4 {
        let (percent, watts) = if gpu == 3 { (0.0, 39.0) } else { (50.0, 60.0) };
        machine = machine.gpu(gpu, flat(percent)).series(
            draw,
            Statistic::Average,
            Some(gpu),
            flat(watts),
        );
    }
    let audit = alone(machine);
    let funnel = &audit.funnel;
    assert_eq!((funnel.total_gpus, funnel.unmeasured_gpus), (4, 1));
    // 3 × 50%.
    assert_eq!((funnel.active_gpus, funnel.effective_gpus), (3, 1.5));
    // How the machine is used is not known: four GPUs for 730 hours.
    assert_eq!(audit.kpis.get(Kpi::UnmeasuredGpuHours), KpiValue::measured(2_920.0));
    assert!(!has_actions(&audit));
}

#[test]
fn a_silent_gpu_whose_power_is_not_known_beside_that_of_others_is_not_committed_to() {
    let draw = Metric::GpuPowerDraw;
    let bought = |watts: Option<f64>| {
        let mut machine = Machine::new("i-1", "g4dn.12xlarge").cpu(flat(5.0));
        for gpu in 0..4 {
            let (percent, watts) = match gpu {
                3 => (0.0, watts),
                _ => (70.0, Some(60.0)),
            };
            machine = machine.gpu(gpu, flat(percent)).vram(gpu, 10_000.0, 15_360.0).series(
                draw,
                Statistic::Average,
                Some(gpu),
                move |_| watts,
            );
        }
        alone(machine).purchases.len()
    };
    // A T4 rests below 38.98 W.
    assert_eq!(bought(Some(33.0)), 1);
    assert_eq!(bought(None), 0);
}
