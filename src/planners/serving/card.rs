//! What the GPUs of a type offer to a model.

use super::refusal::ServingRefusal;
use crate::catalog::{GpuSpec, whole_device_spec};
use crate::domain::{GpuModel, GpuOffer, GpuShare, InstanceShape};
use crate::planners::model::Dtype;
use crate::savings::reported_vram_mib;
use rust_decimal::prelude::ToPrimitive;

/// Compute capability from which a type is read in 16 bits where the card does not compute
/// it: FP8 by the kernels of vLLM 0.32 (its page on FP8, read on 2026-11-23), integers by
/// those of GPTQ (its page on supported hardware).
const READS_FP8: (u32, u32) = (7, 5);
const READS_INTEGERS: (u32, u32) = (7, 0);

/// What a weight becomes when it is multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Computes {
    /// It stays what it is.
    AsStored,
    /// 16 bits: quantization saves memory and reading, and no arithmetic.
    In16Bits,
}

/// The GPUs of a type; of a part of one GPU, that part.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    pub model: GpuModel,
    pub gpus: u16,
    /// Memory of each GPU, as its driver reports it.
    pub usable_mib: u64,
    pub bytes_per_second: f64,
    /// Operations a second of each GPU in the type that is computed in.
    pub flops: f64,
    pub computes: Computes,
    pub has_nvlink: bool,
}

impl Card {
    /// # Errors
    /// [`ServingRefusal`] when the catalog does not have a figure, or the card does not run
    /// the type.
    pub(super) fn of(shape: &InstanceShape, dtype: Dtype) -> Result<Self, ServingRefusal> {
        let offer = shape.gpu.as_ref().ok_or(ServingRefusal::Vendor)?;
        if offer.model.vendor() != Some("NVIDIA") {
            return Err(ServingRefusal::Vendor);
        }
        let unknown = |fact| ServingRefusal::Unknown { fact, model: offer.model.clone() };
        let spec = whole_device_spec(offer).ok_or_else(|| unknown("specification"))?;
        let in_16_bits = spec.fp16_dense_tflops;
        let in_16_bits = in_16_bits.ok_or_else(|| unknown("throughput"))?;
        let (tflops, computes) = speed(spec, in_16_bits, dtype)?;
        let bandwidth = spec.memory_bandwidth_gbps;
        let part = part_of(offer).ok_or_else(|| unknown("share of a GPU"))?;
        Ok(Self {
            model: offer.model.clone(),
            gpus: offer.share.visible_devices(),
            usable_mib: reported_vram_mib(offer).ok_or_else(|| unknown("memory"))?,
            bytes_per_second: bandwidth.ok_or_else(|| unknown("memory bandwidth"))? * 1e9 * part,
            flops: tflops * 1e12 * part,
            computes,
            has_nvlink: spec.nvlink_gbps.is_some_and(|link| link > 0.0),
        })
    }
}

/// Bandwidth and throughput are shared by the parts of a GPU.
fn part_of(offer: &GpuOffer) -> Option<f64> {
    match offer.share {
        GpuShare::Whole(_) => Some(1.0),
        GpuShare::Fraction(part) => part.to_f64(),
    }
}

/// Dense TFLOPS of a card for a type.
fn speed(spec: &GpuSpec, in_16_bits: f64, dtype: Dtype) -> Result<(f64, Computes), ServingRefusal> {
    let (as_stored, reads_from) = match dtype {
        Dtype::Fp32 => (spec.fp32_tflops, None),
        Dtype::Fp16 => (Some(in_16_bits), None),
        Dtype::Bf16 => (spec.bf16_dense_tflops, None),
        Dtype::Fp8 => (spec.fp8_dense_tflops, Some(READS_FP8)),
        Dtype::Int8 | Dtype::Int4 => (None, Some(READS_INTEGERS)),
    };
    let reads = || Some(capability(spec)? >= reads_from?);
    match as_stored {
        Some(tflops) => Ok((tflops, Computes::AsStored)),
        None if reads() == Some(true) => Ok((in_16_bits, Computes::In16Bits)),
        None => Err(ServingRefusal::Dtype { model: spec.model.clone(), dtype }),
    }
}

fn capability(spec: &GpuSpec) -> Option<(u32, u32)> {
    let (major, minor) = spec.compute_capability.as_ref()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
