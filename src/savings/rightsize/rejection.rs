//! Why a type will not do.

use crate::domain::{GpuModel, Risk, counted};
use std::fmt;

/// Why a type will not do, in the order in which it is asked; the first reason
/// that holds is reported.
#[derive(Debug, Clone, PartialEq)]
pub enum Rejection {
    /// Another kind or maker of accelerator: other drivers, other code.
    Accelerator,
    NotLaunchable,
    /// No source has a price of it in the region.
    Unpriced,
    /// Its price is of another day, place or currency than today's.
    NotComparable,
    /// Another CPU architecture, which only `--risk high` accepts.
    Architecture,
    /// An older compute capability than today's.
    ComputeCapability {
        today: String,
        /// The candidate's.
        other: String,
    },
    /// The catalog lacks a fact about it.
    Unknown {
        fact: &'static str,
        /// What it is not known of.
        of: String,
    },
    /// The same GPU with more of something else.
    Larger,
    /// Fewer GPUs than are used.
    Gpus {
        /// How many are.
        needed: u16,
    },
    /// Too little memory on a GPU.
    Vram {
        /// Peak with headroom, MiB.
        needed_mib: f64,
        usable_mib: u64,
    },
    /// Less memory on a GPU than an engine took ahead, and what is needed of that is not
    /// known.
    ReservedVram {
        reserved_mib: f64,
        usable_mib: u64,
    },
    /// GPUs that talk to each other would lose NVLink.
    NvLink,
    /// And here EFA.
    Efa,
    /// Double precision at full rate, which a tag asks for.
    DoublePrecision,
    /// Too slow a network.
    Network {
        /// What the busiest hour needs with headroom, or what there is today, Gbit/s.
        needed_gbps: f64,
        usable_gbps: f64,
    },
    /// No GPU was seen working, so that it is not known how fast another must be.
    NeverWorked,
    /// Too few vCPUs.
    Vcpu {
        /// p95 with headroom.
        needed: f64,
    },
    /// A burstable type whose CPU would spend credits, or may.
    CpuBaseline {
        /// p95 with headroom; absent where CPU was not measured.
        needed: Option<f64>,
        /// vCPUs that it has at all times.
        baseline: f64,
    },
    /// Too little host memory.
    Memory {
        needed_mib: f64,
    },
    /// Too busy for a service.
    Utilization {
        /// Projected p95, percent.
        projected: f64,
        /// What is accepted.
        most: f64,
    },
    /// The work would take too long.
    Slowdown {
        /// Times as long.
        projected: f64,
        /// What is accepted.
        most: f64,
    },
    NotCheaper,
    /// It does the work, at more risk than is accepted: whether it is then the cheapest is open.
    Risk(Risk),
}

impl Rejection {
    pub(super) fn unknown(fact: &'static str, of: &GpuModel) -> Self {
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

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = |mib: f64| mib / 1024.0;
        match self {
            Self::Accelerator => f.write_str("different accelerator type or vendor"),
            Self::NotLaunchable => f.write_str("no longer available for launch"),
            Self::Unpriced => f.write_str("not available or not priced in the region"),
            Self::NotComparable => {
                f.write_str("its price differs in date, location or currency from today's")
            }
            Self::Architecture => f.write_str("different CPU architecture"),
            Self::ComputeCapability { today, other } => {
                write!(f, "compute capability {other}, below {today}")
            }
            Self::Unknown { fact, of } => write!(f, "{fact} of {of} is unknown"),
            Self::Larger => f.write_str("same GPU with more of the other resources"),
            Self::Gpus { needed } => {
                let needed = counted(needed, "GPU", "GPUs");
                write!(f, "fewer than the {needed} in use")
            }
            Self::Vram { needed_mib, usable_mib } => write!(
                f,
                "VRAM: {} needed, {} usable",
                counted(format!("{needed_mib:.0}"), "MiB", "MiB"),
                counted(usable_mib, "MiB", "MiB")
            ),
            Self::ReservedVram { reserved_mib, usable_mib } => write!(
                f,
                "VRAM: {} reserved, need unknown, {} usable",
                counted(format!("{reserved_mib:.0}"), "MiB", "MiB"),
                counted(usable_mib, "MiB", "MiB")
            ),
            Self::NvLink => f.write_str("the GPUs would lose NVLink"),
            Self::Efa => f.write_str("the GPUs would lose EFA"),
            Self::DoublePrecision => {
                f.write_str("no full-rate double precision, which its tag requires")
            }
            Self::Network { needed_gbps, usable_gbps } => {
                write!(f, "network: {needed_gbps:.1} Gbit/s needed, {usable_gbps} Gbit/s available")
            }
            Self::NeverWorked => f.write_str("no GPU was active, so the required speed is unknown"),
            Self::Vcpu { needed } => write!(f, "{needed:.1} vCPUs needed"),
            Self::CpuBaseline { needed, baseline } => match needed {
                Some(needed) => {
                    write!(f, "{needed:.1} vCPUs needed, and its baseline is {baseline:.1}")
                }
                None => f.write_str("burstable, and CPU was not measured"),
            },
            Self::Memory { needed_mib } => {
                write!(f, "{:.1} GiB of host memory needed", gib(*needed_mib))
            }
            Self::Utilization { projected, most } => {
                write!(f, "{projected:.1}% projected, maximum {most}%")
            }
            Self::Slowdown { projected, most } => {
                write!(f, "{projected:.2} times as long, maximum {most}")
            }
            Self::NotCheaper => f.write_str("not cheaper"),
            Self::Risk(risk) => write!(f, "needs `--risk {risk}`"),
        }
    }
}
