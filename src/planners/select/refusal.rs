//! Why a type is out.

use crate::domain::{GpuShare, Money};
use crate::planners::model::{Dtype, parameters};
use crate::planners::paying::Paying;
use crate::planners::serving::ServingRefusal;
use rust_decimal::prelude::ToPrimitive;
use std::cmp::Ordering;
use std::fmt;

const MIB_OF_GIB: f64 = 1024.0;

/// Why a type is out, in the order in which it is asked: what it is, what it has, whether
/// it is sold, and last what it costs. The first reason that holds is reported.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// Work that was not shown to need no GPU.
    NoGpu,
    /// An accelerator with other drivers and libraries than CUDA's that `--gpu` does not name.
    Accelerator,
    /// Another GPU than the one that was named.
    OtherGpu,
    Architecture,
    Gpus {
        needed: GpuShare,
        there: GpuShare,
    },
    /// Too little memory on each GPU.
    Vram {
        needed_mib: f64,
        usable_mib: u64,
    },
    /// Too little memory on all GPUs together.
    VramTotal {
        needed_mib: f64,
        usable_mib: u64,
    },
    /// Its GPUs do not hold the model, whatever they cost.
    Model {
        params: u64,
        dtype: Dtype,
        /// GPUs of the type.
        gpus: u16,
        reason: ServingRefusal,
    },
    NvLink,
    Efa,
    /// Too little host memory.
    Memory {
        needed_mib: f64,
        there_mib: u64,
    },
    Vcpu {
        needed: f64,
        there: u32,
    },
    /// A fact about it is missing in the catalog.
    Unknown {
        fact: &'static str,
    },
    /// AWS launches no new instances of it.
    NotLaunchable,
    /// No source has a price of it in the regions asked for.
    NotOffered,
    /// It is sold there, and not in this way.
    NoPrice {
        paying: Paying,
        is_sold_in_blocks: bool,
    },
    /// Its price and the budget are in two currencies.
    Currency,
    OverHourly {
        over: Money,
    },
    OverMonthly {
        over: Money,
    },
}

impl Refusal {
    /// The name used in files, and to count by.
    pub fn name(&self) -> &'static str {
        self.name_and_rank().0
    }

    /// How near it came: higher is nearer.
    fn rank(&self) -> u8 {
        self.name_and_rank().1
    }

    /// The one that came nearer first: the later reason, then what misses by less.
    pub(super) fn nearer(&self, other: &Self) -> Ordering {
        let missing = |refusal: &Self| refusal.shortfall().unwrap_or_default();
        let by_rank = other.rank().cmp(&self.rank());
        by_rank.then_with(|| missing(self).total_cmp(&missing(other)))
    }

    fn name_and_rank(&self) -> (&'static str, u8) {
        match self {
            Self::NoGpu => ("no-gpu", 0),
            Self::Accelerator => ("accelerator", 1),
            Self::OtherGpu => ("other-gpu", 2),
            Self::NotLaunchable => ("not-launchable", 3),
            Self::NotOffered => ("not-offered", 4),
            Self::Unknown { .. } => ("unknown-fact", 5),
            Self::Architecture => ("architecture", 6),
            Self::Gpus { .. } => ("gpus", 7),
            Self::Vram { .. } => ("vram", 8),
            Self::VramTotal { .. } => ("vram-total", 9),
            Self::Model { .. } => ("model", 10),
            Self::NvLink => ("nvlink", 11),
            Self::Efa => ("efa", 12),
            Self::Memory { .. } => ("memory", 13),
            Self::Vcpu { .. } => ("vcpu", 14),
            Self::NoPrice { .. } => ("no-price", 15),
            Self::Currency => ("currency", 16),
            Self::OverMonthly { .. } => ("budget-monthly", 17),
            Self::OverHourly { .. } => ("budget-hourly", 18),
        }
    }

    /// How much is missing, in the unit of the reason; absent where it is yes or no.
    pub fn shortfall(&self) -> Option<f64> {
        Some(match self {
            // What would hold it, were its GPUs linked, has all the memory.
            Self::Model {
                reason: ServingRefusal::Memory { needed_mib, usable_mib, gpus, .. },
                ..
            } => (needed_mib - *usable_mib as f64) * f64::from(*gpus),
            Self::Gpus { needed, there } => (needed.count() - there.count()).to_f64()?,
            Self::Vram { needed_mib, usable_mib } | Self::VramTotal { needed_mib, usable_mib } => {
                needed_mib - *usable_mib as f64
            }
            Self::Memory { needed_mib, there_mib } => needed_mib - *there_mib as f64,
            Self::Vcpu { needed, there } => needed - f64::from(*there),
            Self::OverHourly { over } | Self::OverMonthly { over } => over.amount().to_f64()?,
            _ => return None,
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGpu => f.write_str("a CPU type, and the work may need a GPU"),
            Self::Accelerator => f.write_str("not an NVIDIA GPU; name it with `--gpu`"),
            Self::OtherGpu => f.write_str("another GPU than `--gpu` names"),
            Self::Architecture => f.write_str("different CPU architecture"),
            Self::Gpus { needed, there } => write!(f, "GPUs: {needed} needed, {there} there"),
            Self::Vram { needed_mib, usable_mib } => {
                write!(f, "VRAM of a GPU: {needed_mib:.0} MiB needed, {usable_mib} MiB usable")
            }
            Self::VramTotal { needed_mib, usable_mib } => {
                write!(f, "VRAM of all GPUs: {needed_mib:.0} MiB needed, {usable_mib} MiB usable")
            }
            Self::Model { params, dtype, gpus, reason } => {
                write!(f, "{} in {dtype}: ", parameters(*params))?;
                unheld(f, reason, *gpus)
            }
            Self::NvLink => f.write_str("its GPUs have no NVLink"),
            Self::Efa => f.write_str("it has no EFA"),
            Self::Memory { needed_mib, there_mib } => {
                write!(f, "host memory: {needed_mib:.0} MiB needed, {there_mib} MiB there")
            }
            Self::Vcpu { needed, there } => write!(f, "vCPUs: {needed:.2} needed, {there} there"),
            Self::Unknown { fact } => write!(f, "{fact} is unknown"),
            Self::NotLaunchable => f.write_str("no longer available for launch"),
            Self::NotOffered => f.write_str("not available or not priced in the region"),
            Self::NoPrice { paying, is_sold_in_blocks } => {
                write!(f, "no {paying} price")?;
                if *is_sold_in_blocks {
                    f.write_str("; sold in Capacity Blocks")?;
                }
                Ok(())
            }
            Self::Currency => f.write_str("its price and the budget are in two currencies"),
            Self::OverHourly { over } => {
                write!(f, "{} per hour over the budget", to_six_decimals(*over))
            }
            Self::OverMonthly { over } => write!(f, "{over} per month over the budget"),
        }
    }
}

/// Why GPUs of a type do not hold a model.
fn unheld(f: &mut fmt::Formatter<'_>, reason: &ServingRefusal, there: u16) -> fmt::Result {
    let ServingRefusal::Memory { needed_mib, usable_mib, gpus, .. } = reason else {
        return write!(f, "{reason}");
    };
    let of = match (*gpus, there) {
        (1, 1) => "the GPU".to_owned(),
        (1, _) => format!("one of its {there} GPUs"),
        _ => format!("each of {gpus} GPUs"),
    };
    write!(
        f,
        "needs {:.1} GiB on {of}, has {:.1} GiB",
        needed_mib / MIB_OF_GIB,
        *usable_mib as f64 / MIB_OF_GIB
    )
}

/// A price of an hour with all that is left of its six decimals, and at least cents.
fn to_six_decimals(price: Money) -> String {
    let amount = price.amount().round_dp(6).normalize();
    let decimals = amount.scale().max(2) as usize;
    format!("{}{amount:.decimals$}", price.currency().sign())
}
