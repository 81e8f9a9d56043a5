//! `docs/diagnosis.md` names the thresholds that the code has.

use super::{AlertKind, Bottleneck};
use super::{alerts, phases, rules, windows};
use crate::domain::{Policy, after_number};

const PAGE: &str = include_str!("../../../../docs/diagnosis.md");

/// The rows of all tables that begin with a cell, and those below them without one.
#[track_caller]
fn rows(first_cell: &str) -> String {
    let start = format!("| `{first_cell}` |");
    let mut is_inside = false;
    let rows: Vec<&str> = PAGE
        .lines()
        .filter(|line| {
            is_inside = line.starts_with(&start) || (is_inside && line.starts_with("| | "));
            is_inside
        })
        .collect();
    assert!(!rows.is_empty(), "{first_cell} is not on the page");
    rows.join("\n")
}

#[track_caller]
fn says(first_cell: &str, words: &[String]) {
    let rows = rows(first_cell);
    for word in words {
        assert!(rows.contains(word.as_str()), "{first_cell}: {word} is not in\n{rows}");
    }
}

#[test]
fn every_rule_stands_on_the_page_with_its_thresholds() {
    use rules::*;
    let policy = Policy::default();
    let (held, used) = (policy.idle_held_vram_percent, policy.underutilized_below_percent);
    says("idle", &[format!("≥ {IDLE_SHARE}%"), format!("< {held}%")]);
    says("parked", &[format!("≥ {held}%")]);
    says(
        "compute-bound",
        &[
            format!(
                "SM ≥ {SM_BUSY}%, tensor ≥ {TENSOR_BUSY}%, memory activity < {DRAM_FREE_BELOW}%"
            ),
            format!("utilization ≥ {FULL}%, and power ≥ {POWER_BUSY}% or ≥ {POWER_CAPPED}%"),
        ],
    );
    says(
        "memory-bandwidth-bound",
        &[
            format!("memory activity ≥ {DRAM_BUSY}%, tensor < {TENSOR_BUSY}%"),
            format!(
                "utilization ≥ {FULL}%, memory utilization ≥ {MEMORY_BUSY}%, power \
                 {MEMORY_POWER_FROM} – < {POWER_BUSY}%"
            ),
        ],
    );
    says(
        "pcie-bound",
        &[
            format!("SM < {PCIE_SM_BELOW}%, ≥ {PCIE_BUSY}% of the PCIe link"),
            format!("utilization < {used}% (policy), ≥ {PCIE_BUSY}% of the PCIe link"),
        ],
    );
    says(
        "input-starved",
        &[
            format!(
                "utilization < {WAITS_BELOW}%; ≥ {ALTERNATION_SHARE}% of readings below {}% \
                 and ≥ {ALTERNATION_SHARE}% above {}%",
                windows::LOW_BELOW_PERCENT,
                windows::HIGH_ABOVE_PERCENT
            ),
            format!(
                "at least {ALTERNATION_RISES} rises from low to high, one in {ALTERNATION_SECONDS} s"
            ),
            format!(
                "host CPU ≥ {HOST_CPU_BUSY}%, a core ≥ {CORE_BUSY}%, I/O wait ≥ {IO_BUSY}% \
                 or I/O pressure ≥ {IO_BUSY}%"
            ),
            format!(
                "utilization {STARVED_FROM} – < {WAITS_BELOW}%, and host CPU ≥ \
                 {HOST_CPU_HIGH}% or a core ≥ {CORE_BUSY}%"
            ),
        ],
    );
    says(
        "launch-bound",
        &[
            format!(
                "utilization ≥ {LAUNCH_BUSY}%, SM < {LAUNCH_SM_BELOW}%, occupancy < \
                 {LAUNCH_OCCUPANCY_BELOW}%, memory activity < {LAUNCH_DRAM_BELOW}%"
            ),
            format!(
                "utilization ≥ {LAUNCH_BUSY}%, power < {LAUNCH_POWER_BELOW}%, memory \
                 utilization < {LAUNCH_MEMORY_BELOW}%"
            ),
            format!(
                "utilization ≥ {LAUNCH_BUSY}%, power < {LAUNCH_POWER_BELOW}%, and memory \
                 utilization < {LAUNCH_MEMORY_BELOW}% where it was read"
            ),
        ],
    );
    says(
        "healthy",
        &[format!("utilization ≥ {used}% (policy); with counters SM ≥ {SM_EFFECTIVE}%")],
    );
    for bottleneck in Bottleneck::ALL {
        rows(bottleneck.name());
    }
    assert!(PAGE.contains(&format!("than {} readings", windows::FEWEST_READINGS)));
}

#[test]
fn every_phase_stands_on_the_page_with_its_thresholds() {
    use phases::*;
    assert_eq!(LEVEL_QUANTILE, 0.75, "the page says upper quartile");
    let percent = ESTABLISHED_SHARE * 100.0;
    let idle = windows::IDLE_BELOW_PERCENT;
    says(
        "start-up",
        &[
            format!("reaches {percent}% of the level"),
            format!("holds {percent}% of"),
            format!("at least {idle}%"),
        ],
    );
    says("steady", &[format!("shorter than {PAUSE_SECONDS} s")]);
    says("pause", &[format!("{PAUSE_SECONDS} s below {idle}%")]);
    for kind in PhaseKind::ALL {
        rows(kind.name());
    }
    assert!(PAGE.contains(&format!("shorter than {EDGE_SECONDS} s")));
    assert!(PAGE.contains(&format!("at most {} windows", windows::MOST_WINDOWS)));
}

#[test]
fn every_alert_stands_on_the_page_with_its_threshold_and_time() {
    for kind in AlertKind::ALL {
        let row = rows(kind.name());
        if let Some(threshold) = kind.threshold() {
            assert!(row.contains(&format!(" {threshold}{}", after_number(kind.unit()))), "{row}");
        }
        if kind.seconds() > 0.0 {
            assert!(row.contains(&format!("| {} min", kind.seconds() / 60.0)), "{row}");
        }
    }
    assert!(rows("sm-occupancy-low").contains(&format!("≥ {}%", alerts::WORKING_FROM_PERCENT)));
}
