//! What a workload is judged to be.

use super::named::named_enum;
use super::{Comparator, Confidence, Policy, decimals_apart};

named_enum! {
    /// How much of the GPUs a workload uses, by mean utilization.
    Classification {
        /// Below 25% (policy).
        Overprovisioned = "overprovisioned",
        /// From 25 to below 60% (policy).
        Underutilized = "underutilized",
        /// 60% and above (policy).
        WellUtilized = "well-utilized",
        /// Too little was measured to say.
        InsufficientData = "insufficient-data",
    }
}

impl Classification {
    /// The class of a mean utilization, with the comparison that puts it there in words.
    pub fn of_mean(mean_percent: f64, policy: &Policy) -> (Self, String) {
        let (overprovisioned, underutilized) =
            (policy.overprovisioned_below_percent, policy.underutilized_below_percent);
        let (class, comparator, bound) = if mean_percent < overprovisioned {
            (Self::Overprovisioned, Comparator::LessThan, overprovisioned)
        } else if mean_percent < underutilized {
            (Self::Underutilized, Comparator::LessThan, underutilized)
        } else {
            (Self::WellUtilized, Comparator::AtLeast, underutilized)
        };
        let (sign, decimals) = (comparator.sign(), decimals_apart(mean_percent, bound));
        (class, format!("mean GPU utilization {mean_percent:.decimals$}% ({sign} {bound}%)"))
    }
}

named_enum! {
    /// How a workload behaves.
    UsageState {
        /// Nothing runs and nothing is held.
        Idle = "idle",
        /// Nothing runs and memory is held.
        IdleHeld = "idle-held",
        /// Nothing ran in all that was seen, which is too little to call it idle.
        IdleSoFar = "idle-so-far",
        /// Works in under a tenth of the hours, which is no reason to stop it for good.
        MostlyIdle = "mostly-idle",
        /// Kernels run and do no work: power stays close to the idle draw.
        Stalled = "stalled",
        /// Close to what the GPUs can do.
        Saturated = "saturated",
        /// Low on average with high peaks.
        Bursty = "bursty",
        /// None of these.
        Steady = "steady",
    }
}

impl UsageState {
    /// Whether nothing computes, memory held or not.
    pub fn is_idle(self) -> bool {
        matches!(self, Self::Idle | Self::IdleHeld)
    }

    /// Whether no work is done, however long that was observed, and whatever the utilization
    /// says.
    pub fn rests(self) -> bool {
        self.is_idle() || matches!(self, Self::IdleSoFar | Self::Stalled)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// How much of the GPUs it uses.
    pub classification: Classification,
    /// How it behaves; absent when that cannot be said.
    pub state: Option<UsageState>,
    /// How sure the judgement is; absent when there is none.
    pub confidence: Option<Confidence>,
    /// Why, in one sentence with the figures.
    pub reason: String,
    /// Power share of the card's idle draw, when power alone was judged.
    pub idle_power_percent: Option<f64>,
    /// p95 of its CPU, where its GPUs are idle and that shows that it works on something
    /// else; of several instances the smallest.
    pub busy_cpu_percent: Option<f64>,
}

impl Verdict {
    /// None, for a reason.
    pub fn insufficient(reason: String) -> Self {
        Self {
            classification: Classification::InsufficientData,
            state: None,
            confidence: None,
            reason,
            idle_power_percent: None,
            busy_cpu_percent: None,
        }
    }

    /// Whether nothing computes on it, memory held or not.
    pub fn is_idle(&self) -> bool {
        self.state.is_some_and(UsageState::is_idle)
    }

    /// The state that keeps it from the levers for what works: absent beside idle GPUs too
    /// where the CPU works.
    pub fn rest(&self) -> Option<UsageState> {
        self.state.filter(|state| state.rests() && self.busy_cpu_percent.is_none())
    }

    /// Whether the GPUs are used enough to keep what there is.
    pub fn is_used(&self) -> bool {
        matches!(self.classification, Classification::Underutilized | Classification::WellUtilized)
    }

    /// Whether less may do. A busy GPU may be on too large a host, so that every class is
    /// right-sized; what is idle is stopped, unless its CPU works.
    pub fn is_shrinkable(&self) -> bool {
        self.classification != Classification::InsufficientData && self.rest().is_none()
    }

    /// Whether the mean utilization is low, by the policy.
    pub fn is_low(&self) -> bool {
        matches!(
            self.classification,
            Classification::Overprovisioned | Classification::Underutilized
        )
    }
}
