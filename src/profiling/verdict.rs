//! The verdict on a run: how much of the GPUs it used.

use super::diagnosis::FEWEST_READINGS;
use crate::domain::{Classification, Confidence, Looks, Policy, Verdict, decimals_apart, floored};

/// What a look that counts has told of.
pub(super) const OF_THE_HOST: &str = "at least half of the GPUs";
pub(super) const OF_ONE_GPU: &str = "this GPU";

/// Why so many looks at a host are too few for a verdict; `None` when they are enough.
pub fn shortfall(looks: Looks, policy: &Policy) -> Option<String> {
    shortfall_of(OF_THE_HOST, looks, policy)
}

fn shortfall_of(what: &str, looks: Looks, policy: &Policy) -> Option<String> {
    if looks.told < u64::from(FEWEST_READINGS) {
        let words = if looks.told == 1 { "look" } else { "looks" };
        return Some(format!(
            "{} {words} at the GPUs, {FEWEST_READINGS} needed",
            looks.told
        ));
    }
    if looks.coverage() >= policy.min_coverage {
        return None;
    }
    let needed = policy.min_coverage * 100.0;
    let (
        Looks {
            told,
            taken,
            missed,
        },
        due,
    ) = (looks, looks.due());
    let percent = floored(looks.coverage() * 100.0, 1);
    Some(if told == taken {
        format!(
            "{taken} of {due} looks that were due were taken ({percent} %), {needed:.0} % needed"
        )
    } else if missed == 0 {
        format!("{percent} % of the looks told of {what}, {needed:.0} % needed")
    } else {
        format!(
            "{told} of {due} looks that were due told of {what} ({percent} %), \
             {needed:.0} % needed; {missed} were never taken"
        )
    })
}

/// Judges a mean utilization over looks that told of the host or of one GPU. A run is
/// no fortnight, so its state is not judged.
pub(super) fn judge(what: &str, mean: Option<f64>, looks: Looks, policy: &Policy) -> Verdict {
    let Some(mean) = mean.filter(|_| looks.told > 0) else {
        return insufficient("GPU utilization was not read".to_owned());
    };
    if let Some(reason) = shortfall_of(what, looks, policy) {
        return insufficient(reason);
    }
    let coverage = looks.coverage();
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
