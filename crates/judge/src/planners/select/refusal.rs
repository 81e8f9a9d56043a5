//! Why a type is out.

use crate::domain::{GpuShare, Money};
use crate::planners::Paying;
use crate::planners::model::{Dtype, parameters};
use crate::planners::serving::ServingRefusal;
use rust_decimal::prelude::ToPrimitive;
use std::cmp::Ordering;

const MIB_OF_GIB: f64 = 1024.0;

/// Why a type is out, in the order in which it is asked: what it is, what it has, whether
/// it is sold, and last what it costs. The first reason that holds is reported.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// Work that was not shown to need no GPU.
    #[error("a CPU type, and the work may need a GPU")]
    NoGpu,
    /// An accelerator with other drivers and libraries than CUDA's that `--gpu` does not name.
    #[error("not an NVIDIA GPU; name it with `--gpu`")]
    Accelerator,
    /// Another GPU than the one that was named.
    #[error("another GPU than `--gpu` names")]
    OtherGpu,
    #[error("different CPU architecture")]
    Architecture,
    #[error("GPUs: {needed} needed, {there} there")]
    Gpus { needed: GpuShare, there: GpuShare },
    /// Too little memory on each GPU.
    #[error("VRAM of a GPU: {needed_mib:.0} MiB needed, {usable_mib} MiB usable")]
    Vram { needed_mib: f64, usable_mib: u64 },
    /// Too little memory on all GPUs together.
    #[error("VRAM of all GPUs: {needed_mib:.0} MiB needed, {usable_mib} MiB usable")]
    VramTotal { needed_mib: f64, usable_mib: u64 },
    /// Its GPUs do not hold the model, whatever they cost.
    #[error("{} in {dtype}: {}", parameters(*params), unheld(reason, *gpus))]
    Model {
        params: u64,
        dtype: Dtype,
        /// GPUs of the type.
        gpus: u16,
        reason: ServingRefusal,
    },
    #[error("its GPUs have no NVLink")]
    NvLink,
    #[error("it has no EFA")]
    Efa,
    /// Too little host memory.
    #[error("host memory: {needed_mib:.0} MiB needed, {there_mib} MiB there")]
    Memory { needed_mib: f64, there_mib: u64 },
    #[error("vCPUs: {needed:.2} needed, {there} there")]
    Vcpu { needed: f64, there: u32 },
    /// A fact about it is missing in the catalog.
    #[error("{fact} is unknown")]
    Unknown { fact: &'static str },
    /// AWS launches no new instances of it.
    #[error("no longer available for launch")]
    NotLaunchable,
    /// No source has a price of it in the regions asked for.
    #[error("not available or not priced in the region")]
    NotOffered,
    /// It is sold there, and not in this way.
    #[error("no {paying} price{}", if *is_sold_in_blocks { "; sold in Capacity Blocks" } else { "" })]
    NoPrice { paying: Paying, is_sold_in_blocks: bool },
    /// Its price and the budget are in two currencies.
    #[error("its price and the budget are in two currencies")]
    Currency,
    #[error("{} per hour over the budget", to_six_decimals(*over))]
    OverHourly { over: Money },
    #[error("{over} per month over the budget")]
    OverMonthly { over: Money },
}

impl Refusal {
    /// The name used in files, and to count by.
    pub fn name(&self) -> &'static str {
        self.name_and_rank().0
    }

    /// The one that came nearer first: the later reason, then what misses by less.
    pub(super) fn nearer(&self, other: &Self) -> Ordering {
        let missing = |refusal: &Self| refusal.shortfall().unwrap_or_default();
        let by_rank = other.name_and_rank().1.cmp(&self.name_and_rank().1);
        by_rank.then_with(|| missing(self).total_cmp(&missing(other)))
    }

    /// Its name, and how near it came: higher is nearer.
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

/// Why GPUs of a type do not hold a model.
fn unheld(reason: &ServingRefusal, there: u16) -> String {
    let ServingRefusal::Memory { needed_mib, usable_mib, gpus, .. } = reason else {
        return reason.to_string();
    };
    let of = match (*gpus, there) {
        (1, 1) => "the GPU".to_owned(),
        (1, _) => format!("one of its {there} GPUs"),
        _ => format!("each of {gpus} GPUs"),
    };
    let (needed, usable) = (needed_mib / MIB_OF_GIB, *usable_mib as f64 / MIB_OF_GIB);
    format!("needs {needed:.1} GiB on {of}, has {usable:.1} GiB")
}

/// A price of an hour with all that is left of its six decimals, and at least cents.
fn to_six_decimals(price: Money) -> String {
    let amount = price.amount().round_dp(6).normalize();
    let decimals = amount.scale().max(2) as usize;
    format!("{}{amount:.decimals$}", price.currency().sign())
}
