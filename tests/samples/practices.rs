//! Which practices 80 real GPU containers follow, as though each were a p5.4xlarge.

use crate::samples::containers::{MIN_HOURS, Readings, both, policy};
use crate::samples::fixes::{TYPE, high_mean, instances, of_instances, rate};
use crate::support::data::shared;
use gpucost::analysis::{Practice, audit, practice_standings};
use gpucost::domain::Risk;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// What a second is worth on the GPU of a g7e, an RTX PRO 6000, by the bandwidth of both cards
/// in GB/s.
const BUSIER: f64 = 3_350.0 / 1_597.0;
/// What the driver of an RTX PRO 6000 reports.
const USABLE_MIB: f64 = 97_887.0;

fn number(value: Decimal) -> f64 {
    value.to_string().parse().expect("a number")
}

/// Cost per month of the containers that were read for too short, of those that an RTX PRO 6000
/// would serve at most 80% busy, and of the others; and how many there are of each.
fn reckoned(grid: u32, of: (&Readings, f64)) -> [(f64, u32); 3] {
    let (utilization, peak_mib) = of;
    assert!(peak_mib * 1.2 <= USABLE_MIB, "{peak_mib} MiB");
    let period = i64::from(grid);
    let seconds = utilization.values().flatten().map(|(second, _)| *second);
    let end = (seconds.max().expect("readings") / period + 1) * period;
    let mut sums = [(0.0, 0); 3];
    for readings in utilization.values() {
        let periods = readings.iter().map(|(second, _)| second / period);
        let periods: BTreeSet<i64> = periods.collect();
        let ran = periods.len() as f64 * f64::from(grid);
        let share = (ran / (end - readings[0].0) as f64).min(1.0);
        let which = if ran < MIN_HOURS * 3_600.0 {
            0
        } else if high_mean(readings, grid) * BUSIER <= 80.0 {
            1
        } else {
            2
        };
        sums[which].0 += rate(TYPE) * 730.0 * share;
        sums[which].1 += 1;
    }
    sums
}

/// Nothing tags an owner, no container is in an Auto Scaling group, and all serve.
#[test]
fn practices_of_real_containers_are_those_of_their_readings() {
    let Some(folder) = shared("practices of containers", "samples/gpu-containers") else {
        return;
    };
    let (utilization, memory) = both(&folder);
    let (utilization, memory) = (of_instances(utilization), of_instances(memory));
    let held = memory.values().flatten().map(|(_, bytes)| *bytes);
    let peak_mib = held.fold(0.0, f64::max) / 1_024.0 / 1_024.0;
    // The figures of docs/practices.md, which a program of its own computed from the readings.
    let expected = [
        (60, "followed", 10, "86.2", "4.7"),
        (300, "not-followed", 57, "23.8", "4.6"),
    ];
    for (grid, right_sizing, moves, stays, short) in expected {
        let estate = instances(&utilization, &memory, grid);
        let audit = audit(&estate, &policy(), Risk::Medium);
        let all = practice_standings(&audit);
        let found: BTreeMap<&str, &str> = all
            .iter()
            .map(|one| (one.practice.name(), one.standing.name()))
            .collect();
        let standings = BTreeMap::from([
            ("right-sizing", right_sizing),
            // The seven that were read for too short are all that could be about it.
            ("sharing", "unknown"),
            ("spot", "not-applicable"),
            ("schedules", "not-applicable"),
            ("commitments", "not-applicable"),
            ("batching", "unknown"),
            ("quantization", "unknown"),
            ("autoscaling", "not-followed"),
            ("monitoring", "followed"),
            ("chargeback", "not-followed"),
            ("queueing", "unknown"),
            ("rent-or-buy", "unknown"),
        ]);
        assert_eq!(found, standings, "{grid} s");

        let [(few, containers), (smaller, moved), (same, _)] =
            reckoned(grid, (&utilization, peak_mib));
        assert_eq!((containers, moved), (7, moves), "{grid} s");
        let share_of = |practice: Practice| {
            let one = all.iter().find(|one| one.practice == practice);
            let share = one.and_then(|one| one.share).expect("a share");
            [share.following, share.known, share.unknown].map(number)
        };
        // A container that was there close to the end counts as there until the end.
        for (practice, reckoned) in [
            (Practice::RightSizing, [same, smaller + same, few]),
            (Practice::Autoscaling, [0.0, few + smaller + same, 0.0]),
            (Practice::Chargeback, [0.0, few + smaller + same, 0.0]),
            (Practice::Monitoring, [80.0, 80.0, 0.0]),
            (Practice::Sharing, [0.0, 0.0, few]),
        ] {
            for (found, reckoned) in share_of(practice).into_iter().zip(reckoned) {
                assert!(
                    (found - reckoned).abs() <= 5e-4 * reckoned,
                    "{grid} s: {practice:?}: {found}, {reckoned}"
                );
            }
        }
        let percent = |part: f64, of: f64| format!("{:.1}", 100.0 * part / of);
        let shown = (
            percent(same, smaller + same),
            percent(few, few + smaller + same),
        );
        assert_eq!(shown, (stays.to_owned(), short.to_owned()), "{grid} s");
    }
}
