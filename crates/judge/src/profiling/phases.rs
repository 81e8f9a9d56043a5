//! The run in phases. Loading is not the work, and neither is what comes after
//! it: the diagnosis reads the steady phase.

use super::windows::{IDLE_BELOW_PERCENT, Mean, Window, Windows};
use crate::domain::named_enum;

/// Quantile of the windows in which something runs that is the level of the work.
pub(super) const LEVEL_QUANTILE: f64 = 0.75;
/// Share of that level that a window must reach to count as work, and of
/// the memory held in the fullest window that must be held by then.
pub(super) const ESTABLISHED_SHARE: f64 = 0.5;
/// Seconds without work from which an interruption is a phase of its own; what
/// alternates faster belongs to the work.
pub(super) const PAUSE_SECONDS: f64 = 60.0;
/// Seconds that a start-up or a tail lasts at least, or a tenth of the run where
/// that is less.
pub(super) const EDGE_SECONDS: f64 = 10.0;
const EDGE_SHARE: f64 = 0.1;

named_enum! {
    /// What a part of a run is.
    PhaseKind {
        /// Before the work is under way: data and models load.
        StartUp = "start-up",
        /// The work.
        Steady = "steady",
        /// An interruption of the work.
        Pause = "pause",
        /// After the last work.
        Tail = "tail",
        /// The whole run, when no part of it had work worth the name.
        Idle = "idle",
        /// The whole run, when it is not known whether a GPU worked.
        Unmeasured = "unmeasured",
    }
}

/// A part of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    pub kind: PhaseKind,
    /// When it begins, in seconds of the run.
    pub from_seconds: f64,
    /// When it ends, in seconds of the run.
    pub to_seconds: f64,
    /// Share of the run, 0–1.
    pub share: f64,
    /// Mean utilization of the GPUs in use; absent where it was not measured.
    pub utilization_percent: Option<f64>,
    /// Mean memory held by all of them together; absent where it was not measured.
    pub vram_mib: Option<f64>,
    /// Mean use of the host's CPUs; absent where it was not measured.
    pub host_cpu_percent: Option<f64>,
}

/// What a window says about the work.
#[derive(Debug, Clone, Copy)]
struct Level {
    busy: Option<f64>,
    vram_mib: Option<f64>,
}

/// The phases of a run, and which of them each window belongs to.
#[derive(Default)]
pub(super) struct Phases {
    pub(super) list: Vec<Phase>,
    /// Kind of each window.
    pub(super) kinds: Vec<PhaseKind>,
}

impl Phases {
    /// The phases of a run of so many seconds, by the work of the GPUs (or MIG
    /// instances) at these places.
    pub(super) fn of(windows: &Windows, rows: &[usize], elapsed_seconds: f64) -> Self {
        let levels: Vec<Level> = windows.list.iter().map(|w| level(w, rows)).collect();
        let starts: Vec<f64> = windows.list.iter().map(|w| windows.begin_seconds(w)).collect();
        let end = starts.last().map_or(elapsed_seconds, |last| elapsed_seconds.max(*last));
        let kinds = kinds(&levels, &starts, end);
        Self { list: merged(windows, &levels, &kinds, &starts, end), kinds }
    }
}

fn level(window: &Window, rows: &[usize]) -> Level {
    let mut busy = Mean::default();
    let mut vram_mib = None;
    for row in rows {
        let Some(gpu) = window.gpus.get(*row) else { continue };
        busy.add(gpu.busy.value());
        if let Some(mib) = gpu.vram_mib.value() {
            *vram_mib.get_or_insert(0.0) += mib;
        }
    }
    Level { busy: busy.value(), vram_mib }
}

/// What the work usually reaches.
fn level_of_work(levels: &[Level]) -> Option<f64> {
    let busy = levels.iter().filter_map(|level| level.busy);
    let mut working: Vec<f64> = busy.filter(|busy| *busy >= IDLE_BELOW_PERCENT).collect();
    working.sort_by(f64::total_cmp);
    crate::usage::quantile(&working, LEVEL_QUANTILE)
}

fn kinds(levels: &[Level], starts: &[f64], end: f64) -> Vec<PhaseKind> {
    let Some(usual) = level_of_work(levels) else {
        let seen = levels.iter().any(|level| level.busy.is_some());
        let kind = if seen { PhaseKind::Idle } else { PhaseKind::Unmeasured };
        return vec![kind; levels.len()];
    };
    let fullest = levels.iter().filter_map(|level| level.vram_mib).fold(0.0, f64::max);
    let is_idle = |level: &Level| level.busy.is_some_and(|busy| busy < IDLE_BELOW_PERCENT);
    let works = |level: &Level| level.busy.is_some_and(|busy| busy >= IDLE_BELOW_PERCENT);
    let is_under_way = |level: &Level| {
        level.busy.is_some_and(|busy| busy >= usual * ESTABLISHED_SHARE)
            && level.vram_mib.is_none_or(|mib| mib >= fullest * ESTABLISHED_SHARE)
    };
    let start_of = |at: usize| starts.get(at).copied().unwrap_or(end);
    let shortest_edge = EDGE_SECONDS.min(end * EDGE_SHARE);
    let mut kinds = vec![PhaseKind::Steady; levels.len()];
    let mut first = levels.iter().position(is_under_way).unwrap_or(0);
    if start_of(first) < shortest_edge {
        first = 0;
    }
    let mut after = levels.iter().rposition(works).map_or(0, |last| last + 1);
    if end - start_of(after) < shortest_edge {
        after = levels.len();
    }
    kinds[..first].fill(PhaseKind::StartUp);
    kinds[after.max(first)..].fill(PhaseKind::Tail);
    let mut at = first;
    while at < after {
        let idle = levels[at..after].iter().take_while(|level| is_idle(level)).count();
        if start_of(at + idle) - start_of(at) >= PAUSE_SECONDS {
            kinds[at..at + idle].fill(PhaseKind::Pause);
        }
        at += idle.max(1);
    }
    kinds
}

fn merged(
    windows: &Windows,
    levels: &[Level],
    kinds: &[PhaseKind],
    starts: &[f64],
    end: f64,
) -> Vec<Phase> {
    let mut phases = Vec::new();
    let mut at = 0;
    while at < kinds.len() {
        let next = at + kinds[at..].iter().take_while(|kind| **kind == kinds[at]).count();
        // What lies before the first sample belongs to the first phase.
        let from_seconds = if at == 0 { 0.0 } else { starts[at] };
        let to_seconds = starts.get(next).copied().unwrap_or(end);
        let (mut busy, mut vram_mib, mut cpu) = (Mean::default(), Mean::default(), Mean::default());
        for (level, window) in levels.iter().zip(&windows.list).take(next).skip(at) {
            busy.add(level.busy);
            vram_mib.add(level.vram_mib);
            cpu.add(window.host.cpu.value());
        }
        phases.push(Phase {
            kind: kinds[at],
            from_seconds,
            to_seconds,
            share: if end > 0.0 { (to_seconds - from_seconds) / end } else { 1.0 },
            utilization_percent: busy.value(),
            vram_mib: vram_mib.value(),
            host_cpu_percent: cpu.value(),
        });
        at = next;
    }
    phases
}

#[cfg(test)]
mod tests {
    use super::super::lab::{gpu, reading, run_of, run_of_readings};
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
}
