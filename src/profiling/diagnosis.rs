//! What holds a GPU back, from the best signals that there are. A rule whose
//! signal was not read says so; it never guesses.

use super::advice::advice;
use super::bottleneck::{Bottleneck, Sign, Tier};
use super::rules::{Rule, Term, rules};
use super::signals::Signals;
use super::windows::FEWEST_READINGS;
use crate::domain::{Confidence, Policy};
use crate::savings::Bound;

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
    /// Which figure of another GPU counts for this work.
    pub fn bound(&self) -> Bound {
        self.bottleneck.bound()
    }

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
    let mut undecided = Undecided::default();
    for rule in rules(tier, signals, policy) {
        // What a rule lacks may be what would have spoken against the next one;
        // only a rule that all signals are there for may still decide.
        if rule.bottleneck == Bottleneck::Healthy && !undecided.candidates.is_empty() {
            continue;
        }
        match outcome(&rule) {
            Outcome::Quiet => {}
            Outcome::Missing(signals) => undecided.add(rule.bottleneck, signals),
            Outcome::Fires(evidence) => {
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
    if undecided.candidates.is_empty() {
        return Diagnosis::unknown(Some(tier), Vec::new(), pattern_free(busy, signals));
    }
    Diagnosis::unknown(Some(tier), undecided.missing.clone(), undecided.words())
}

/// Rules that nothing speaks against and that a signal is missing for.
#[derive(Default)]
struct Undecided {
    candidates: Vec<&'static str>,
    missing: Vec<&'static str>,
}

impl Undecided {
    fn add(&mut self, bottleneck: Bottleneck, missing: Vec<&'static str>) {
        if !self.candidates.contains(&bottleneck.name()) {
            self.candidates.push(bottleneck.name());
        }
        for signal in missing {
            if !self.missing.contains(&signal) {
                self.missing.push(signal);
            }
        }
    }

    fn words(&self) -> String {
        format!("may be {}; not read: {}", self.candidates.join(" or "), self.missing.join(", "))
    }
}

/// Why no rule holds although all signals are there.
fn pattern_free(busy: f64, signals: &Signals) -> String {
    if super::rules::alternates(signals) {
        return format!(
            "active {busy:.1}% of the time, in bursts with waits in between, but neither CPU \
             nor disk of this host is busy during the waits"
        );
    }
    format!("active {busy:.1}% of the time, but no pattern identifies the bottleneck")
}

/// What became of a rule.
enum Outcome {
    Quiet,
    Fires(Vec<Sign>),
    Missing(Vec<&'static str>),
}

/// A rule is quiet as soon as one of its terms does not hold, whatever else was
/// not read.
fn outcome(rule: &Rule) -> Outcome {
    let mut evidence = Vec::new();
    let mut missing = Vec::new();
    for term in &rule.terms {
        match holding(term) {
            None => missing.extend(term.first().map(|clue| clue.figure)),
            Some(signs) if signs.is_empty() => return Outcome::Quiet,
            Some(signs) => evidence.extend(signs),
        }
    }
    if missing.is_empty() { Outcome::Fires(evidence) } else { Outcome::Missing(missing) }
}

/// The signs of a term that hold, one of which is enough; `None` when none of
/// them was read.
fn holding(term: &Term) -> Option<Vec<Sign>> {
    let read: Vec<Sign> = term.iter().filter_map(|clue| clue.sign()).collect();
    if read.is_empty() {
        return None;
    }
    Some(read.into_iter().filter(super::rules::holds).collect())
}

#[cfg(test)]
#[path = "diagnosis_tests.rs"]
mod tests;
