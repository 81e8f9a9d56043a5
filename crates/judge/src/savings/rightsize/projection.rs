//! How busy a workload would be on another GPU.

use super::needs::{Bound, Demand};
use super::rejection::Rejection;
use crate::catalog::{gpu_spec, whole_device_spec};
use crate::domain::{GpuOffer, GpuShare, Policy, WorkloadKind, named_enum};
use rust_decimal::prelude::ToPrimitive;

named_enum! {
    /// What two GPUs were compared by.
    RatioBasis {
        SameGpu = "same-gpu",
        /// Memory bandwidth.
        Bandwidth = "bandwidth",
        /// Dense FP16 throughput.
        Compute = "compute",
    }
}

/// What a GPU of today does over what another does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Above 1 when the other is slower.
    pub value: f64,
    /// The figure that was compared.
    pub basis: RatioBasis,
}

/// A workload elsewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Projection {
    /// Peak of each GPU in use, percent, at most 100: what falls behind works all the time,
    /// and longer.
    pub utilization: f64,
    /// How many times as long the work takes, at least 1.
    pub slowdown: f64,
    pub ratio: Ratio,
}

impl Projection {
    /// A utilization on GPUs that are slower by a ratio; above 100 where it would fall
    /// behind.
    pub(super) fn at(today: f64, ratio: Ratio) -> Self {
        let utilization = today * ratio.value;
        Self {
            utilization,
            // The same GPU does the same work.
            slowdown: match ratio.basis {
                RatioBasis::SameGpu => 1.0,
                _ => (utilization / 100.0).max(1.0),
            },
            ratio,
        }
    }

    /// The same within what a GPU can be busy.
    pub(super) fn shown(self) -> Self {
        Self { utilization: self.utilization.min(100.0), ..self }
    }

    /// Whether a workload may be so busy; where `is_shared`, by several of today's GPUs on each,
    /// which need room like who answers requests. Who answers requests needs room for
    /// the next ones; other work may take a little longer. A workload of unknown
    /// kind may be either, so that it gets the room.
    pub(super) fn check(
        self,
        demand: &Demand,
        policy: &Policy,
        is_shared: bool,
    ) -> Result<Self, Rejection> {
        if !is_shared && self.ratio.basis == RatioBasis::SameGpu {
            return Ok(self);
        }
        let answers = matches!(demand.kind, WorkloadKind::Serving | WorkloadKind::Unknown);
        if (answers || is_shared) && self.utilization > policy.serving_target_percent {
            return Err(Rejection::Utilization {
                projected: self.utilization,
                most: policy.serving_target_percent,
            });
        }
        if self.slowdown > policy.slowdown_limit {
            return Err(Rejection::Slowdown {
                projected: self.slowdown,
                most: policy.slowdown_limit,
            });
        }
        Ok(self)
    }
}

/// Whether two offers are of the same GPU: model, memory and part of a device.
pub(super) fn is_same_gpu(today: &GpuOffer, other: &GpuOffer) -> bool {
    let part = |share: GpuShare| match share {
        GpuShare::Whole(_) => None,
        GpuShare::Fraction(part) => Some(part),
    };
    today.model == other.model
        && today.vram_mib == other.vram_mib
        && part(today.share) == part(other.share)
}

/// Bandwidth in GB/s or dense FP16 throughput in TFLOPS of one visible device;
/// a part of a device has that part of them.
///
/// # Errors
/// When the catalog does not know it.
pub fn performance(offer: &GpuOffer, basis: RatioBasis) -> Result<f64, Rejection> {
    let spec = whole_device_spec(offer);
    let (figure, fact) = match basis {
        RatioBasis::Bandwidth => {
            (spec.and_then(|spec| spec.memory_bandwidth_gbps), "memory bandwidth")
        }
        _ => (
            spec.and_then(|spec| spec.fp16_dense_tflops.or(spec.bf16_dense_tflops)),
            "dense FP16 throughput",
        ),
    };
    let part = match offer.share {
        GpuShare::Whole(_) => Some(1.0),
        GpuShare::Fraction(part) => part.to_f64(),
    };
    figure
        .zip(part)
        .map(|(figure, part)| figure * part)
        .filter(|figure| *figure > 0.0)
        .ok_or_else(|| Rejection::unknown(fact, &offer.model))
}

/// How much slower another GPU is, by what binds the work.
///
/// # Errors
/// When the catalog does not know the figure of one of them.
pub fn ratio(today: &GpuOffer, other: &GpuOffer, bound: Bound) -> Result<Ratio, Rejection> {
    if is_same_gpu(today, other) {
        return Ok(Ratio { value: 1.0, basis: RatioBasis::SameGpu });
    }
    let by = |basis: RatioBasis| {
        Ok(Ratio { value: performance(today, basis)? / performance(other, basis)?, basis })
    };
    match bound {
        Bound::Bandwidth => by(RatioBasis::Bandwidth),
        Bound::Compute => by(RatioBasis::Compute),
        Bound::Unknown => {
            let bandwidth = by(RatioBasis::Bandwidth)?;
            let compute = by(RatioBasis::Compute)?;
            Ok(if compute.value > bandwidth.value { compute } else { bandwidth })
        }
    }
}

/// Memory of one visible device as its driver reports it, MiB: of a part of a device that
/// of its partition. `None` where no source states it.
pub fn reported_vram_mib(offer: &GpuOffer) -> Option<u64> {
    match offer.share {
        GpuShare::Fraction(_) => offer.vram_mib,
        GpuShare::Whole(_) => gpu_spec(offer)?.memory_mib_reported,
    }
}

/// Memory of one visible device that a model has to fit into, MiB.
///
/// # Errors
/// When the catalog does not know it.
pub fn usable_vram_mib(today: &GpuOffer, other: &GpuOffer) -> Result<u64, Rejection> {
    reported_vram_mib(other)
        // The card of today holds what it holds.
        .or_else(|| other.vram_mib.filter(|_| is_same_gpu(today, other)))
        .ok_or_else(|| Rejection::unknown("driver-reported memory", &other.model))
}

/// A compute capability such as `8.9`, or a Neuron version, as a number to
/// compare; `None` for what has no order.
pub(super) fn capability_number(text: &str) -> Option<(u32, u32)> {
    if let Some(version) = text.strip_prefix("neuron-v") {
        return Some((version.parse().ok()?, 0));
    }
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
