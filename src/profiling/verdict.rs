//! The verdict on a run: how much of the GPUs it used.

use super::diagnosis::FEWEST_READINGS;
use crate::domain::{Classification, Confidence, Policy, Verdict, decimals_apart};

/// Judges a mean utilization over so many looks, which are that share (0–1) of
/// the looks that were due. A run is no fortnight, so its state is not judged.
pub(super) fn judge(mean: Option<f64>, looks: u64, coverage: f64, policy: &Policy) -> Verdict {
    let Some(mean) = mean.filter(|_| looks > 0) else {
        return insufficient("GPU utilization was not read".to_owned());
    };
    if looks < u64::from(FEWEST_READINGS) {
        let plural = if looks == 1 { "" } else { "s" };
        return insufficient(format!(
            "{looks} look{plural} at the GPUs, {FEWEST_READINGS} needed"
        ));
    }
    if coverage < policy.min_coverage {
        return insufficient(format!(
            "{:.1} % of the looks told of at least half of the GPUs, {:.0} % needed",
            coverage * 100.0,
            policy.min_coverage * 100.0
        ));
    }
    let (classification, comparator, bound) = Classification::of_mean(mean, policy);
    let confidence = if coverage >= policy.measured_coverage {
        Confidence::Measured
    } else {
        Confidence::Derived
    };
    let (comparator, decimals) = (comparator.sign(), decimals_apart(mean, bound));
    Verdict {
        classification,
        state: None,
        confidence: Some(confidence),
        reason: format!("mean GPU utilization {mean:.decimals$} % ({comparator} {bound} %)"),
        idle_power_percent: None,
    }
}

/// No verdict, for a reason.
pub(super) fn insufficient(reason: String) -> Verdict {
    Verdict {
        classification: Classification::InsufficientData,
        state: None,
        confidence: None,
        reason,
        idle_power_percent: None,
    }
}
