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
#[path = "phases_tests.rs"]
mod tests;
