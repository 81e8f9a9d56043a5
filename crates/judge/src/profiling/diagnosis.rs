//! What holds a GPU back, from the best signals that there are. A rule whose
//! signal was not read says so; it never guesses.

use super::rules::{IO_BUSY, Rule, alternates, rules};
use super::signals::{Bottleneck, Sign, Signals, Tier};
use super::windows::FEWEST_READINGS;
use crate::domain::{Confidence, Policy};

/// What is missing where there are fewer than [`FEWEST_READINGS`].
const ENOUGH_READINGS: &str = "enough readings";

/// What holds a GPU back, why that is believed, and what to try.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    pub bottleneck: Bottleneck,
    /// The signals that were there; absent when there were none.
    pub tier: Option<Tier>,
    /// How sure it is; absent for an unknown one.
    pub confidence: Option<Confidence>,
    /// What speaks for it; empty for an unknown one.
    pub evidence: Vec<Sign>,
    /// Signals without which a rule could not be judged; empty unless unknown.
    pub missing: Vec<&'static str>,
    /// Why, in one sentence without a stop.
    pub reason: String,
    /// What to try next, the most promising first.
    pub advice: Vec<String>,
}

impl Diagnosis {
    /// Whether there were readings to judge by, and enough of them.
    pub(super) fn has_enough_readings(&self) -> bool {
        self.tier.is_some() && !self.missing.contains(&ENOUGH_READINGS)
    }

    pub(super) fn unknown(
        tier: Option<Tier>,
        missing: Vec<&'static str>,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            bottleneck: Bottleneck::Unknown,
            tier,
            confidence: None,
            evidence: Vec::new(),
            missing,
            reason: reason.into(),
            advice: Vec::new(),
        }
    }
}

/// The best tier for which there are signals.
fn tier(signals: &Signals) -> Option<Tier> {
    signals.busy?;
    Some(if signals.sm.is_some() {
        Tier::Counters
    } else if signals.power.is_some() && signals.memory_utilization.is_some() {
        Tier::Nvml
    } else {
        Tier::UtilizationOnly
    })
}

fn confidence(tier: Tier) -> Confidence {
    match tier {
        Tier::Counters => Confidence::Measured,
        Tier::Nvml => Confidence::Derived,
        Tier::UtilizationOnly => Confidence::Heuristic,
    }
}

/// The diagnosis of one GPU; `is_divisible` says that the card is known to have
/// MIG.
pub(super) fn diagnose(signals: &Signals, policy: &Policy, is_divisible: bool) -> Diagnosis {
    let (Some(tier), Some(busy)) = (tier(signals), signals.busy) else {
        return Diagnosis::unknown(
            None,
            vec!["GPU utilization"],
            "GPU utilization is not available; this does not mean idle",
        );
    };
    if signals.readings < FEWEST_READINGS {
        let (readings, needed) = (signals.readings, FEWEST_READINGS);
        let reason = format!("{readings} readings are too few, {needed} needed");
        return Diagnosis::unknown(Some(tier), vec![ENOUGH_READINGS], reason);
    }
    // Rules that nothing speaks against and that a signal is missing for, and these signals.
    let (mut candidates, mut lacking) = (Vec::new(), Vec::new());
    for rule in rules(tier, signals, policy) {
        // What a rule lacks may be what would have spoken against the next one;
        // only a rule that all signals are there for may still decide.
        if rule.bottleneck == Bottleneck::Healthy && !candidates.is_empty() {
            continue;
        }
        match outcome(&rule) {
            None => {}
            Some(Err(missing)) => {
                add(&mut candidates, [rule.bottleneck.name()]);
                add(&mut lacking, missing);
            }
            Some(Ok(evidence)) => {
                let words: Vec<String> = evidence.iter().map(Sign::words).collect();
                return Diagnosis {
                    bottleneck: rule.bottleneck,
                    tier: Some(tier),
                    confidence: Some(rule.confidence.unwrap_or(confidence(tier))),
                    evidence,
                    missing: Vec::new(),
                    reason: words.join(", "),
                    advice: advice(rule.bottleneck, signals, is_divisible),
                };
            }
        }
    }
    if candidates.is_empty() {
        return Diagnosis::unknown(Some(tier), Vec::new(), pattern_free(busy, signals));
    }
    let words = format!("may be {}; not read: {}", candidates.join(" or "), lacking.join(", "));
    Diagnosis::unknown(Some(tier), lacking, words)
}

/// Adds what a list does not have yet.
fn add(list: &mut Vec<&'static str>, names: impl IntoIterator<Item = &'static str>) {
    for name in names {
        if !list.contains(&name) {
            list.push(name);
        }
    }
}

/// Why no rule holds although all signals are there.
fn pattern_free(busy: f64, signals: &Signals) -> String {
    if alternates(signals) {
        return format!(
            "active {busy:.1}% of the time, in bursts with waits in between, but neither CPU \
             nor disk of this host is busy during the waits"
        );
    }
    format!("active {busy:.1}% of the time, but no pattern identifies the bottleneck")
}

/// The evidence of a rule, or the signals that it lacks. `None` as soon as one of its terms, of
/// whose signs one is enough, does not hold, whatever else was not read.
fn outcome(rule: &Rule) -> Option<Result<Vec<Sign>, Vec<&'static str>>> {
    let (mut evidence, mut missing) = (Vec::new(), Vec::new());
    for term in &rule.terms {
        let read: Vec<Sign> = term.iter().filter_map(|clue| clue.sign).collect();
        if read.is_empty() {
            missing.extend(term.first().map(|clue| clue.figure));
            continue;
        }
        let before = evidence.len();
        evidence.extend(read.into_iter().filter(Sign::holds));
        if evidence.len() == before {
            return None;
        }
    }
    Some(if missing.is_empty() { Ok(evidence) } else { Err(missing) })
}

/// What to try, the most promising first. MIG is named only for a card that is
/// known to have it.
fn advice(bottleneck: Bottleneck, signals: &Signals, is_divisible: bool) -> Vec<String> {
    let share = if is_divisible {
        "share the card: MIG slices for tenants that need isolation, MPS for your own processes"
    } else {
        "share the card between your own processes with MPS"
    };
    let waits_for_disk = signals.io_wait.is_some_and(|percent| percent >= IO_BUSY)
        || signals.io_pressure.is_some_and(|percent| percent >= IO_BUSY);
    let steps: &[&str] = match bottleneck {
        Bottleneck::Idle => &["assign work to it, or use a type with fewer or no GPUs"],
        Bottleneck::Parked => &[
            "end the process that holds its memory if it is not needed",
            "load the model on demand instead of keeping it resident", share,
        ],
        Bottleneck::Compute => &[
            "use a lower-precision data type: BF16 or FP16 instead of FP32, FP8 if the card \
             supports it",
            "a GPU with more tensor throughput helps; more memory bandwidth does not",
        ],
        Bottleneck::MemoryBandwidth => &[
            "use a lower-precision data type or quantized weights to move fewer bytes",
            "fuse kernels (torch.compile, flash attention) to keep results on the chip",
            "increase the batch size to reuse each loaded weight more often",
            "a GPU with more memory bandwidth helps; more tensor throughput does not",
        ],
        Bottleneck::Pcie => &[
            "keep data on the GPU between steps instead of copying it back and forth",
            "copy from pinned memory, asynchronously, and prefetch the next batch",
            "send smaller data types (uint8 images, FP16) and convert on the GPU",
        ],
        Bottleneck::Input if waits_for_disk => &[
            "keep the data set on local NVMe or in memory, in a few large files",
            "increase the data loader workers and prefetch more batches",
            "a type with faster storage keeps the GPU busier",
        ],
        Bottleneck::Input => &[
            "increase the data loader workers up to the number of vCPUs",
            "use pinned memory and prefetch batches while the GPU computes",
            "decode and augment once in advance, or on the GPU (DALI)",
            "a type with more vCPUs per GPU keeps it busier",
        ],
        Bottleneck::Launch => &[
            "increase the batch size",
            "launch fewer and larger kernels: torch.compile or CUDA graphs",
            share,
        ],
        Bottleneck::Healthy | Bottleneck::Unknown => &[],
    };
    steps.iter().map(|step| (*step).to_owned()).collect()
}

#[cfg(test)]
#[path = "diagnosis_tests.rs"]
mod tests;
