//! The verdict on a run: how much of the GPUs it used.

use super::windows::FEWEST_READINGS;
use crate::domain::{Classification, Confidence, Policy, SampleCounts, Verdict, counted, floored};

/// What a sample that counts has reported.
pub(super) const OF_THE_HOST: &str = "at least half of the GPUs";
pub(super) const OF_ONE_GPU: &str = "this GPU";

/// Why so many samples of a host are too few for a verdict; `None` when they are enough.
pub fn shortfall(samples: SampleCounts, policy: &Policy) -> Option<String> {
    shortfall_of(OF_THE_HOST, samples, policy)
}

fn shortfall_of(what: &str, samples: SampleCounts, policy: &Policy) -> Option<String> {
    if samples.reported < u64::from(FEWEST_READINGS) {
        return Some(format!(
            "{} of the GPUs, {FEWEST_READINGS} needed",
            counted(samples.reported, "sample", "samples")
        ));
    }
    if samples.coverage() >= policy.min_coverage {
        return None;
    }
    let needed = policy.min_coverage * 100.0;
    let (SampleCounts { reported, taken, missed }, due) = (samples, samples.due());
    let percent = floored(samples.coverage() * 100.0, 1);
    Some(if reported == taken {
        format!("{taken} of {due} expected samples were taken ({percent}%), {needed:.0}% needed")
    } else if missed == 0 {
        format!("{percent}% of the samples reported {what}, {needed:.0}% needed")
    } else {
        format!(
            "{reported} of {due} expected samples reported {what} ({percent}%), {needed:.0}% \
             needed; {missed} were not taken"
        )
    })
}

/// Judges a mean utilization over samples that reported on the host or on one GPU. A run is
/// no fortnight, so its state is not judged.
pub(super) fn judge(
    what: &str,
    mean: Option<f64>,
    samples: SampleCounts,
    policy: &Policy,
) -> Verdict {
    let Some(mean) = mean.filter(|_| samples.reported > 0) else {
        return Verdict::insufficient("GPU utilization was not read".to_owned());
    };
    if let Some(reason) = shortfall_of(what, samples, policy) {
        return Verdict::insufficient(reason);
    }
    let (classification, reason) = Classification::of_mean(mean, policy);
    let confidence = if samples.coverage() >= policy.measured_coverage {
        Confidence::Measured
    } else {
        Confidence::Derived
    };
    Verdict { classification, confidence: Some(confidence), ..Verdict::insufficient(reason) }
}
