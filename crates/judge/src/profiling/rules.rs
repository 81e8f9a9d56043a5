//! The rules of the diagnosis, first that holds. `docs/diagnosis.md` shows them
//! with the sources of their thresholds; a test compares the two.

use super::signals::{Bottleneck, Figure, Sign, Signals, Tier};
use crate::domain::{Comparator, Confidence, Policy};

/// Share of readings below 1% from which nothing runs: the same as a p99 below
/// that (own).
pub(super) const IDLE_SHARE: f64 = 99.0;
/// NVIDIA, DCGM guide: 80% SM activity is necessary for effective use.
pub(super) const SM_BUSY: f64 = 80.0;
/// NVIDIA, DCGM guide: below 50% SM activity use is likely ineffective.
pub(super) const SM_EFFECTIVE: f64 = 50.0;
/// Tensor activity from which arithmetic is what counts (own).
pub(super) const TENSOR_BUSY: f64 = 50.0;
/// NVIDIA, DCGM guide: about 80% is what memory reaches in practice; 60% of
/// that (own) leaves it room.
pub(super) const DRAM_FREE_BELOW: f64 = 48.0;
/// Memory activity from which it is what counts (own).
pub(super) const DRAM_BUSY: f64 = 60.0;
/// Share of the PCIe link from which it is full (own).
pub(super) const PCIE_BUSY: f64 = 60.0;
/// SM activity below which a full link holds it back (own).
pub(super) const PCIE_SM_BELOW: f64 = 30.0;
/// Utilization below which a GPU may wait for data (own).
pub(super) const WAITS_BELOW: f64 = 70.0;
/// Share of low and of high readings from which a GPU alternates (own).
pub(super) const ALTERNATION_SHARE: f64 = 20.0;
/// Rises from low to high from which a GPU alternates (own).
pub(super) const ALTERNATION_RISES: f64 = 3.0;
/// Longest period of an alternation in seconds (own).
pub(super) const ALTERNATION_SECONDS: f64 = 60.0;
/// Host CPU from which it is what a GPU waits for (own).
pub(super) const HOST_CPU_BUSY: f64 = 85.0;
/// Busiest CPU from which one thread is what a GPU waits for (own).
pub(super) const CORE_BUSY: f64 = 95.0;
/// I/O wait and pressure from which disks are what a GPU waits for (own).
pub(super) const IO_BUSY: f64 = 20.0;
/// Utilization from which a steady one below [`WAITS_BELOW`] is not idle (own).
pub(super) const STARVED_FROM: f64 = 20.0;
/// Host CPU from which a GPU that does not alternate may wait for it (own).
pub(super) const HOST_CPU_HIGH: f64 = 80.0;
/// Utilization from which kernels run all the time, though they may be small
/// (own).
pub(super) const LAUNCH_BUSY: f64 = 80.0;
/// SM activity below which kernels are small (own).
pub(super) const LAUNCH_SM_BELOW: f64 = 40.0;
/// Occupancy below which kernels are small (own).
pub(super) const LAUNCH_OCCUPANCY_BELOW: f64 = 15.0;
/// Memory activity below which small kernels move little (own).
pub(super) const LAUNCH_DRAM_BELOW: f64 = 30.0;
/// Power below which kernels that always run are small (own).
pub(super) const LAUNCH_POWER_BELOW: f64 = 40.0;
/// Memory utilization below which small kernels move little (own).
pub(super) const LAUNCH_MEMORY_BELOW: f64 = 20.0;
/// Utilization from which a GPU is full (own).
pub(super) const FULL: f64 = 90.0;
/// Power from which arithmetic is what counts (own).
pub(super) const POWER_BUSY: f64 = 70.0;
/// Share of samples held at the power limit from which arithmetic is what counts
/// (own).
pub(super) const POWER_CAPPED: f64 = 50.0;
/// Memory utilization from which memory is what counts (own).
pub(super) const MEMORY_BUSY: f64 = 60.0;
/// Power from which memory works hard (own).
pub(super) const MEMORY_POWER_FROM: f64 = 40.0;

/// A figure, and how it is judged where it was read.
pub(super) struct Clue {
    pub(super) figure: &'static str,
    /// Absent where it was not read.
    pub(super) sign: Option<Sign>,
}

/// Clues of which one is enough.
pub(super) type Term = Vec<Clue>;

/// A bottleneck, and the terms that must all hold for it.
pub(super) struct Rule {
    pub(super) bottleneck: Bottleneck,
    pub(super) terms: Vec<Term>,
    /// Its own confidence, where that is not the tier's.
    pub(super) confidence: Option<Confidence>,
}

impl Rule {
    /// The same with one more term, of whose clues one is enough.
    fn with_any(mut self, clues: impl Into<Term>) -> Self {
        self.terms.push(clues.into());
        self
    }
}

fn clue((figure, unit, observed): Figure, comparator: Comparator, threshold: f64) -> Clue {
    let sign = observed.map(|observed| Sign { figure, observed, comparator, threshold, unit });
    Clue { figure, sign }
}

fn at_least(figure: Figure, threshold: f64) -> Clue {
    clue(figure, Comparator::AtLeast, threshold)
}

fn below(figure: Figure, threshold: f64) -> Clue {
    clue(figure, Comparator::LessThan, threshold)
}

fn rule(bottleneck: Bottleneck, terms: impl IntoIterator<Item = Clue>) -> Rule {
    Rule { bottleneck, terms: terms.into_iter().map(|clue| vec![clue]).collect(), confidence: None }
}

/// The rules for a tier, in the order in which they are tried.
pub(super) fn rules(tier: Tier, signals: &Signals, policy: &Policy) -> Vec<Rule> {
    let held = policy.idle_held_vram_percent;
    let rests = || at_least(signals.idle_share(), IDLE_SHARE);
    let mut rules = vec![
        rule(Bottleneck::Idle, [rests(), below(signals.vram_peak(), held)]),
        rule(Bottleneck::Parked, [rests(), at_least(signals.vram_peak(), held)]),
    ];
    rules.extend(match tier {
        Tier::Counters => with_counters(signals),
        Tier::Nvml => with_nvml(signals, policy),
        Tier::UtilizationOnly => with_utilization(signals),
    });
    let mut healthy = vec![at_least(signals.busy(), policy.underutilized_below_percent)];
    if tier == Tier::Counters {
        healthy.push(at_least(signals.sm(), SM_EFFECTIVE));
    }
    rules.push(rule(Bottleneck::Healthy, healthy));
    rules
}

fn with_counters(signals: &Signals) -> Vec<Rule> {
    let (sm, tensor, dram) = (signals.sm(), signals.tensor(), signals.dram());
    let compute =
        [at_least(sm, SM_BUSY), at_least(tensor, TENSOR_BUSY), below(dram, DRAM_FREE_BELOW)];
    let launch = [
        at_least(signals.busy(), LAUNCH_BUSY),
        below(sm, LAUNCH_SM_BELOW),
        below(signals.occupancy(), LAUNCH_OCCUPANCY_BELOW),
        below(dram, LAUNCH_DRAM_BELOW),
    ];
    vec![
        rule(Bottleneck::Compute, compute),
        rule(Bottleneck::MemoryBandwidth, [at_least(dram, DRAM_BUSY), below(tensor, TENSOR_BUSY)]),
        rule(Bottleneck::Pcie, [below(sm, PCIE_SM_BELOW), at_least(signals.pcie(), PCIE_BUSY)]),
        alternating(signals),
        rule(Bottleneck::Launch, launch),
        slowed(signals),
    ]
}

fn with_nvml(signals: &Signals, policy: &Policy) -> Vec<Rule> {
    let (busy, power, memory) = (signals.busy(), power(signals), signals.memory_utilization());
    let bandwidth = [
        at_least(busy, FULL),
        at_least(memory, MEMORY_BUSY),
        at_least(power, MEMORY_POWER_FROM),
        below(power, POWER_BUSY),
    ];
    let link =
        [below(busy, policy.underutilized_below_percent), at_least(signals.pcie(), PCIE_BUSY)];
    let launch = [
        at_least(busy, LAUNCH_BUSY),
        below(power, LAUNCH_POWER_BELOW),
        below(memory, LAUNCH_MEMORY_BELOW),
    ];
    vec![
        by_power(signals),
        rule(Bottleneck::MemoryBandwidth, bandwidth),
        rule(Bottleneck::Pcie, link),
        alternating(signals),
        slowed(signals),
        rule(Bottleneck::Launch, launch),
    ]
}

fn with_utilization(signals: &Signals) -> Vec<Rule> {
    let (busy, memory) = (signals.busy(), signals.memory_utilization());
    let mut launch = vec![at_least(busy, LAUNCH_BUSY), below(power(signals), LAUNCH_POWER_BELOW)];
    // The rule does without it; where it was read it may speak against it.
    if signals.memory_utilization.is_some() {
        launch.push(below(memory, LAUNCH_MEMORY_BELOW));
    }
    vec![
        by_power(signals),
        rule(Bottleneck::MemoryBandwidth, [at_least(busy, FULL), at_least(memory, MEMORY_BUSY)]),
        alternating(signals),
        slowed(signals),
        rule(Bottleneck::Launch, launch),
    ]
}

/// Power as a share of the limit; where there is none, by the name of what is
/// missing.
fn power(signals: &Signals) -> Figure {
    let (name, unit, observed) = signals.power();
    (if signals.lacks_power_limit { "power limit" } else { name }, unit, observed)
}

/// Works all the time and draws what arithmetic draws.
fn by_power(signals: &Signals) -> Rule {
    rule(Bottleneck::Compute, [at_least(signals.busy(), FULL)]).with_any([
        at_least(power(signals), POWER_BUSY),
        at_least(signals.power_capped(), POWER_CAPPED),
    ])
}

/// The clues of a GPU that works in turns.
fn turns(signals: &Signals) -> [Clue; 4] {
    [
        at_least(signals.low_share(), ALTERNATION_SHARE),
        at_least(signals.high_share(), ALTERNATION_SHARE),
        at_least(signals.rises(), ALTERNATION_RISES),
        clue(signals.rise_period_seconds(), Comparator::AtMost, ALTERNATION_SECONDS),
    ]
}

/// Whether a GPU works in turns, whatever it waits for.
pub(super) fn alternates(signals: &Signals) -> bool {
    turns(signals).iter().all(|clue| clue.sign.is_some_and(|sign| sign.holds()))
}

/// Works in turns, and the host is busy.
fn alternating(signals: &Signals) -> Rule {
    let waits = below(signals.busy(), WAITS_BELOW);
    rule(Bottleneck::Input, [waits].into_iter().chain(turns(signals))).with_any([
        at_least(signals.host_cpu(), HOST_CPU_BUSY),
        at_least(signals.busiest_core(), CORE_BUSY),
        at_least(signals.io_wait(), IO_BUSY),
        at_least(signals.io_pressure(), IO_BUSY),
    ])
}

/// Works a part of the time without visible turns, which may be finer than the
/// readings, and the host is busy.
fn slowed(signals: &Signals) -> Rule {
    let busy = signals.busy();
    let works = [at_least(busy, STARVED_FROM), below(busy, WAITS_BELOW)];
    let slowed = rule(Bottleneck::Input, works).with_any([
        at_least(signals.host_cpu(), HOST_CPU_HIGH),
        at_least(signals.busiest_core(), CORE_BUSY),
    ]);
    Rule { confidence: Some(Confidence::Heuristic), ..slowed }
}
