//! Why a type will not do.

use crate::domain::{Risk, counted};

/// Why a type will not do, in the order in which it is asked; the first reason
/// that holds is reported.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Rejection {
    /// Another kind or maker of accelerator: other drivers, other code.
    #[error("different accelerator type or vendor")]
    Accelerator,
    #[error("no longer available for launch")]
    NotLaunchable,
    /// No source has a price of it in the region.
    #[error("not available or not priced in the region")]
    Unpriced,
    /// Its price is of another day, place or currency than today's.
    #[error("its price differs in date, location or currency from today's")]
    NotComparable,
    /// Another CPU architecture, which only `--risk high` accepts.
    #[error("different CPU architecture")]
    Architecture,
    /// An older compute capability than today's.
    #[error("compute capability {other}, below {today}")]
    ComputeCapability {
        today: String,
        /// The candidate's.
        other: String,
    },
    /// The catalog lacks a fact about it.
    #[error("{fact} of {of} is unknown")]
    Unknown {
        fact: &'static str,
        /// What it is not known of.
        of: String,
    },
    /// The same GPU with more of something else.
    #[error("same GPU with more of the other resources")]
    Larger,
    /// Fewer GPUs than are used.
    #[error("fewer than the {} in use", counted(needed, "GPU", "GPUs"))]
    Gpus {
        /// How many are.
        needed: u16,
    },
    /// Too little memory on a GPU.
    #[error("VRAM: {} needed, {} usable", mib(*needed_mib), counted(usable_mib, "MiB", "MiB"))]
    Vram {
        /// Peak with headroom, MiB.
        needed_mib: f64,
        usable_mib: u64,
    },
    /// Less memory on a GPU than an engine took ahead, and what is needed of that is not
    /// known.
    #[error(
        "VRAM: {} reserved, need unknown, {} usable",
        mib(*reserved_mib),
        counted(usable_mib, "MiB", "MiB")
    )]
    ReservedVram { reserved_mib: f64, usable_mib: u64 },
    /// GPUs that talk to each other would lose NVLink.
    #[error("the GPUs would lose NVLink")]
    NvLink,
    /// And here EFA.
    #[error("the GPUs would lose EFA")]
    Efa,
    /// Double precision at full rate, which a tag asks for.
    #[error("no full-rate double precision, which its tag requires")]
    DoublePrecision,
    /// Too slow a network.
    #[error("network: {needed_gbps:.1} Gbit/s needed, {usable_gbps} Gbit/s available")]
    Network {
        /// What the busiest hour needs with headroom, or what there is today, Gbit/s.
        needed_gbps: f64,
        usable_gbps: f64,
    },
    /// No GPU was seen working, so that it is not known how fast another must be.
    #[error("no GPU was active, so the required speed is unknown")]
    NeverWorked,
    /// Too few vCPUs.
    #[error("{needed:.1} vCPUs needed")]
    Vcpu {
        /// p95 with headroom.
        needed: f64,
    },
    /// A burstable type whose CPU would spend credits, or may.
    #[error("{}", baseline_in_words(*needed, *baseline))]
    CpuBaseline {
        /// p95 with headroom; absent where CPU was not measured.
        needed: Option<f64>,
        /// vCPUs that it has at all times.
        baseline: f64,
    },
    /// Too little host memory.
    #[error("{:.1} GiB of host memory needed", needed_mib / 1024.0)]
    Memory { needed_mib: f64 },
    /// Too busy for a service.
    #[error("{projected:.1}% projected, maximum {most}%")]
    Utilization {
        /// Projected p95, percent.
        projected: f64,
        /// What is accepted.
        most: f64,
    },
    /// The work would take too long.
    #[error("{projected:.2} times as long, maximum {most}")]
    Slowdown {
        /// Times as long.
        projected: f64,
        /// What is accepted.
        most: f64,
    },
    #[error("not cheaper")]
    NotCheaper,
    /// It does the work, at more risk than is accepted: whether it is then the cheapest is open.
    #[error("needs `--risk {0}`")]
    Risk(Risk),
}

fn mib(amount: f64) -> String {
    counted(format!("{amount:.0}"), "MiB", "MiB")
}

fn baseline_in_words(needed: Option<f64>, baseline: f64) -> String {
    match needed {
        Some(needed) => {
            format!("{needed:.1} vCPUs needed, and its baseline is {baseline:.1}")
        }
        None => "burstable, and CPU was not measured".to_owned(),
    }
}

impl Rejection {
    pub(super) fn unknown(fact: &'static str, of: impl ToString) -> Self {
        Self::Unknown { fact, of: of.to_string() }
    }

    /// The name used in files, and to count by.
    pub fn name(&self) -> &'static str {
        self.name_and_rank().0
    }

    /// How near it came: higher is nearer.
    pub(super) fn rank(&self) -> u8 {
        self.name_and_rank().1
    }

    fn name_and_rank(&self) -> (&'static str, u8) {
        match self {
            Self::Accelerator => ("accelerator", 0),
            Self::NotLaunchable => ("not-launchable", 1),
            Self::Unpriced => ("unpriced", 2),
            Self::NotComparable => ("price-not-comparable", 3),
            // What costs more is no near miss, however well it fits.
            Self::NotCheaper => ("not-cheaper", 4),
            Self::Architecture => ("architecture", 5),
            Self::ComputeCapability { .. } => ("compute-capability", 6),
            Self::Unknown { .. } => ("unknown-fact", 7),
            Self::Larger => ("larger", 8),
            Self::Gpus { .. } => ("gpus", 9),
            Self::Vram { .. } => ("vram", 10),
            Self::ReservedVram { .. } => ("reserved-vram", 10),
            Self::NvLink => ("nvlink", 11),
            Self::Efa => ("efa", 12),
            Self::DoublePrecision => ("double-precision", 13),
            Self::Network { .. } => ("network", 14),
            Self::Vcpu { .. } => ("vcpu", 15),
            Self::CpuBaseline { .. } => ("cpu-baseline", 16),
            Self::Memory { .. } => ("memory", 17),
            Self::NeverWorked => ("never-worked", 18),
            Self::Utilization { .. } => ("utilization", 19),
            Self::Slowdown { .. } => ("slowdown", 20),
            Self::Risk(_) => ("risk", 21),
        }
    }
}
