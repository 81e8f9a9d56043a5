//! What may hold a GPU back, and the signs by which it shows.

use crate::domain::{Comparator, after_number, decimals_apart, named_enum};
use crate::savings::Bound;

named_enum! {
    /// What holds a GPU back.
    Bottleneck {
        /// Nothing runs and no memory is held.
        Idle = "idle",
        /// Nothing runs and memory is held.
        Parked = "parked",
        /// Arithmetic: the best that can happen.
        Compute = "compute-bound",
        /// Its memory moves data as fast as it can.
        MemoryBandwidth = "memory-bandwidth-bound",
        /// The link to the host is full.
        Pcie = "pcie-bound",
        /// It waits for the host to bring data.
        Input = "input-starved",
        /// Many small kernels: batches are too small.
        Launch = "launch-bound",
        /// Nothing stands out, and it works.
        Healthy = "healthy",
        /// A signal is missing, or no rule holds.
        Unknown = "unknown",
    }
}

impl Bottleneck {
    /// Which figure of another GPU counts for this work.
    pub fn bound(self) -> Bound {
        match self {
            Self::Compute => Bound::Compute,
            Self::MemoryBandwidth => Bound::Bandwidth,
            _ => Bound::Unknown,
        }
    }
}

named_enum! {
    /// The signals that a diagnosis had.
    Tier {
        /// Counters of the multiprocessors (GPM, Hopper and newer).
        Counters = "counters",
        /// Utilization of GPU and memory, and power.
        Nvml = "nvml",
        /// Utilization, and little else.
        UtilizationOnly = "utilization-only",
    }
}

/// An observed figure beside the threshold that it was judged by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sign {
    /// What was observed, such as `GPU utilization`.
    pub figure: &'static str,
    pub observed: f64,
    pub comparator: Comparator,
    /// The threshold; `docs/diagnosis.md` says where it comes from.
    pub threshold: f64,
    /// Unit of both, such as `%`.
    pub unit: &'static str,
}

impl Sign {
    /// Whether it is on the stated side of its threshold.
    pub fn holds(&self) -> bool {
        match self.comparator {
            Comparator::LessThan => self.observed < self.threshold,
            Comparator::AtMost => self.observed <= self.threshold,
            Comparator::GreaterThan => self.observed > self.threshold,
            Comparator::AtLeast => self.observed >= self.threshold,
            Comparator::Equal => self.observed == self.threshold,
        }
    }

    /// The sign in words: `host CPU 96.0% (≥ 85%)`.
    pub fn words(&self) -> String {
        let Self { figure, observed, comparator, threshold, unit } = self;
        let decimals = decimals_apart(*observed, *threshold);
        let comparator = comparator.sign();
        let unit = after_number(unit);
        format!("{figure} {observed:.decimals$}{unit} ({comparator} {threshold}{unit})")
    }
}
