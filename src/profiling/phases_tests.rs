use super::super::scenes::{gpu, reading, run_of, run_of_readings};
use super::*;
use proptest::prelude::*;

fn times(percent: f64, count: usize) -> impl Iterator<Item = f64> {
    std::iter::repeat_n(percent, count)
}

fn reported(phases: &[Phase]) -> Vec<(PhaseKind, f64, f64)> {
    phases.iter().map(|phase| (phase.kind, phase.from_seconds, phase.to_seconds)).collect()
}

#[test]
fn loading_work_and_tail_are_separate() {
    let run = run_of(times(3.0, 40).chain(times(90.0, 140)).chain(times(0.0, 20)));
    assert_eq!(
        reported(&run.phases),
        [
            (PhaseKind::StartUp, 0.0, 40.0),
            (PhaseKind::Steady, 40.0, 180.0),
            (PhaseKind::Tail, 180.0, 200.0),
        ]
    );
    let steady = run.phases[1];
    assert_eq!((steady.share, steady.utilization_percent), (0.7, Some(90.0)));
    assert_eq!((steady.vram_mib, steady.host_cpu_percent), (Some(12_000.0), None));
    // The class is that of the whole run: (40 × 3 + 140 × 90) / 200.
    assert!((run.utilization.expect("measured").mean - 63.6).abs() < 1e-9);
}

#[test]
fn work_begins_when_half_of_the_memory_is_held() {
    let readings = (0..100).map(|at| match at {
        0..30 => reading(95.0, 3_000.0),
        _ => reading(95.0, 20_000.0),
    });
    let run = run_of_readings(gpu(0), readings);
    assert_eq!(
        reported(&run.phases),
        [(PhaseKind::StartUp, 0.0, 30.0), (PhaseKind::Steady, 30.0, 100.0)]
    );
}

#[test]
fn a_minute_without_work_is_a_pause_and_less_is_not() {
    let with_gap = |gap| times(80.0, 50).chain(times(1.0, gap)).chain(times(80.0, 50));
    assert_eq!(reported(&run_of(with_gap(59)).phases), [(PhaseKind::Steady, 0.0, 159.0)]);
    assert_eq!(
        reported(&run_of(with_gap(60)).phases),
        [
            (PhaseKind::Steady, 0.0, 50.0),
            (PhaseKind::Pause, 50.0, 110.0),
            (PhaseKind::Steady, 110.0, 160.0),
        ]
    );
}

#[test]
fn short_edges_belong_to_the_work() {
    let run = run_of(times(0.0, 9).chain(times(80.0, 182)).chain(times(0.0, 9)));
    assert_eq!(reported(&run.phases), [(PhaseKind::Steady, 0.0, 200.0)]);
    // Of 40 s a tenth is 4 s.
    let run = run_of(times(0.0, 4).chain(times(80.0, 36)));
    assert_eq!(run.phases[0].kind, PhaseKind::StartUp);
}

#[test]
fn what_never_works_has_one_phase() {
    assert_eq!(reported(&run_of(times(4.9, 30)).phases), [(PhaseKind::Idle, 0.0, 30.0)]);
    let silent = std::iter::repeat_n(crate::domain::GpuReading::default(), 30);
    let run = run_of_readings(gpu(0), silent);
    assert_eq!(reported(&run.phases), [(PhaseKind::Unmeasured, 0.0, 30.0)]);
    assert_eq!(run.phases[0].utilization_percent, None);
    assert!(run_of([]).phases.is_empty());
}

#[test]
fn a_long_run_keeps_its_phases_at_the_length_of_its_windows() {
    // 20 000 s make windows of 128 s.
    let run = run_of(times(0.0, 1_280).chain(times(70.0, 17_000)).chain(times(0.0, 1_720)));
    let kinds: Vec<PhaseKind> = run.phases.iter().map(|phase| phase.kind).collect();
    assert_eq!(kinds, [PhaseKind::StartUp, PhaseKind::Steady, PhaseKind::Tail]);
    assert_eq!(run.phases[1].from_seconds, 1_280.0);
    assert!((run.phases[2].from_seconds - 18_280.0).abs() <= 128.0);
}

proptest! {
    #[test]
    fn phases_touch_and_cover_the_run(
        blocks in prop::collection::vec((0.0..=100.0_f64, 1_usize..200), 1..12),
    ) {
        let run = run_of(blocks.iter().flat_map(|(percent, count)| times(*percent, *count)));
        let elapsed = blocks.iter().map(|(_, count)| *count as f64).sum::<f64>();
        prop_assert_eq!(run.phases[0].from_seconds, 0.0);
        prop_assert_eq!(run.phases.last().map(|phase| phase.to_seconds), Some(elapsed));
        for pair in run.phases.windows(2) {
            prop_assert_eq!(pair[0].to_seconds, pair[1].from_seconds);
            prop_assert_ne!(pair[0].kind, pair[1].kind);
        }
        let shares: f64 = run.phases.iter().map(|phase| phase.share).sum();
        prop_assert!((shares - 1.0).abs() < 1e-9);
    }
}
