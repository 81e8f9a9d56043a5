//! Whether the GPUs of a type hold a language model, and how fast they serve it.

use crate::catalog::{GpuSpec, shape, whole_device_spec};
use crate::domain::{GpuModel, GpuShare, HourlyRate, InstanceShape, MIB, Money};
use crate::planners::model::{Dtype, Model};
use crate::planners::roofline::{EFFICIENCY, LINKED_EFFICIENCY, Pace, Peak, Work};
use crate::savings::reported_vram_mib;
use rust_decimal::Decimal;
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
    fn of(shape: &InstanceShape, dtype: Dtype) -> Result<Self, ServingRefusal> {
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
        // Bandwidth and throughput are shared by the parts of a GPU.
        let part = match offer.share {
            GpuShare::Whole(_) => Some(1.0),
            GpuShare::Fraction(part) => part.to_f64(),
        };
        let part = part.ok_or_else(|| unknown("share of a GPU"))?;
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

const MIB_OF_GIB: f64 = 1024.0;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ServingRefusal {
    #[error("only NVIDIA GPUs are computed")]
    Vendor,
    #[error("the {fact} of {model} is unknown")]
    Unknown { fact: &'static str, model: GpuModel },
    #[error("{model} does not run {dtype}")]
    Dtype { model: GpuModel, dtype: Dtype },
    #[error(
        "needs {:.1} GiB on each GPU, has {:.1}; holds {holds} sequences",
        needed_mib / MIB_OF_GIB,
        *usable_mib as f64 / MIB_OF_GIB
    )]
    Memory {
        /// Of each GPU, with headroom.
        needed_mib: f64,
        /// Of each GPU, as its driver reports it.
        usable_mib: u64,
        gpus: u16,
        /// Sequences that all copies on it hold.
        holds: u64,
        /// Whether the weights without any sequence fit.
        weights_fit: bool,
    },
    #[error("{gpus} GPUs would hold it, but {model} has no NVLink")]
    NotLinked { gpus: u16, model: GpuModel },
    #[error("{gpus} GPUs would hold it, but do not divide {kv_heads} heads of keys and values")]
    Heads { gpus: u16, kv_heads: u32 },
}

/// GPUs that hold one copy together.
const GROUPS: [u16; 4] = [1, 2, 4, 8];
const SECONDS_OF_HOUR: f64 = 3_600.0;
/// By how much a larger group must be faster to be worth it.
const FASTER: f64 = 1.0 + 1e-9;

/// What is served at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Tokens that the cache holds for each sequence, at least prompt and answer.
    pub context_tokens: u64,
    /// Tokens of a prompt, at least one.
    pub input_tokens: u64,
    /// Tokens of an answer, at least one.
    pub output_tokens: u64,
    /// Sequences in flight, at least one.
    pub sequences: u32,
}

/// What the figures assume.
#[derive(Debug, Clone, PartialEq)]
pub struct ServingTerms {
    pub kv_dtype: Dtype,
    /// Memory of each GPU for the CUDA context, activations and buffers.
    pub runtime_mib: f64,
    /// Factor on all memory, at least 1.
    pub headroom: f64,
    /// Share of the peak that is reached; absent for the defaults.
    pub efficiency: Option<f64>,
    /// Share of the hours in which so many sequences are in flight, above 0 and at most 1.
    pub utilization: f64,
}

impl ServingTerms {
    /// Share of the peak that so many GPUs reach together.
    pub fn efficiency_of(&self, gpus: u16) -> f64 {
        let usual = if gpus == 1 { EFFICIENCY } else { LINKED_EFFICIENCY };
        self.efficiency.unwrap_or(usual)
    }

    /// Of an hour in which so many sequences are in flight, rounded to six decimals: it pays
    /// for the others as well.
    pub fn hourly_of_use(&self, rate: HourlyRate) -> Option<Money> {
        let cost = rate.amount().checked_div(Decimal::try_from(self.utilization).ok()?)?;
        Some(Money::new(cost.round_dp(6), rate.currency()))
    }
}

/// A model with what is served of it at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedModel {
    pub model: Model,
    pub dtype: Dtype,
    pub load: Load,
    pub terms: ServingTerms,
}

impl ServedModel {
    /// How a type holds it, wherever that is sold.
    ///
    /// # Errors
    /// [`ServingRefusal`] where it does not.
    pub fn on(&self, shape: &InstanceShape) -> Result<Layout, ServingRefusal> {
        let card = Card::of(shape, self.dtype)?;
        Layouts { served: self, card: &card }.fastest()
    }

    /// With what less a type would hold it that does not, and how to ask for that.
    pub fn nearest_on(&self, shape: &InstanceShape) -> Option<String> {
        if let ServingRefusal::Memory { holds: holds @ 1.., .. } = self.on(shape).err()? {
            return Some(with_fewer(&shape.instance_type, self.dtype, holds));
        }
        // The largest first.
        let dtypes = [Dtype::Fp16, Dtype::Fp8, Dtype::Int4].into_iter();
        let mut smaller = dtypes.filter(|dtype| dtype.bytes() < self.dtype.bytes());
        let dtype =
            smaller.find(|dtype| Self { dtype: *dtype, ..self.clone() }.on(shape).is_ok())?;
        Some(format!("{} holds it in {dtype}: pass `--dtype {dtype}`", shape.instance_type))
    }
}

/// How to ask for fewer sequences of a model, which a type holds.
pub fn with_fewer(instance_type: &str, dtype: Dtype, sequences: u64) -> String {
    format!("{instance_type} holds {sequences} in {dtype}: pass `--concurrency {sequences}`")
}

/// The ways to spread copies of a model over the GPUs of a type.
struct Layouts<'a> {
    pub served: &'a ServedModel,
    pub card: &'a Card,
}

/// One of these ways.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// Of the weights.
    pub dtype: Dtype,
    pub card: Card,
    /// GPUs that hold one copy.
    pub gpus_each: u16,
    pub copies: u32,
    /// Memory that each GPU needs, with headroom.
    pub needed_mib: f64,
    /// Sequences that fit at most.
    pub holds: u64,
    /// Of the copy with the most sequences.
    pub pace: Pace,
    /// Output tokens of all copies.
    pub tokens_per_second: f64,
}

impl Layout {
    /// Of a million output tokens with the prompts before them, at the price of an hour;
    /// rounded to four decimals.
    pub fn per_million(&self, rate: HourlyRate, terms: &ServingTerms) -> Option<Money> {
        let an_hour = self.tokens_per_second * SECONDS_OF_HOUR * terms.utilization;
        let cost = rate.amount().checked_div(Decimal::try_from(an_hour / 1e6).ok()?)?;
        Some(Money::new(cost.round_dp(4), rate.currency()))
    }
}

impl Layouts<'_> {
    /// The way with the most tokens a second; of equal ones, that with the fewest GPUs for
    /// a copy.
    fn fastest(&self) -> Result<Layout, ServingRefusal> {
        let mut best: Option<Layout> = None;
        let allowed = self.groups().filter(|gpus| self.obstacle(*gpus).is_none());
        for layout in allowed.filter_map(|gpus| self.layout(gpus)) {
            let least = best.as_ref().map_or(0.0, |best| best.tokens_per_second);
            if layout.tokens_per_second > least * FASTER {
                best = Some(layout);
            }
        }
        best.ok_or_else(|| self.refusal())
    }

    /// Sizes of groups that the type has GPUs for.
    pub fn groups(&self) -> impl Iterator<Item = u16> {
        let gpus = self.card.gpus;
        GROUPS.into_iter().filter(move |group| *group <= gpus)
    }

    /// What keeps GPUs from holding a copy together. Each takes whole heads of keys and
    /// values, and every layer waits for all of them.
    pub fn obstacle(&self, gpus: u16) -> Option<ServingRefusal> {
        let kv_heads = self.served.model.kv_heads;
        if gpus > 1 && !self.card.has_nvlink {
            return Some(ServingRefusal::NotLinked { gpus, model: self.card.model.clone() });
        }
        let divides = kv_heads.is_multiple_of(u32::from(gpus));
        (!divides).then_some(ServingRefusal::Heads { gpus, kv_heads })
    }

    /// Copies, and the sequences of the fullest of them.
    pub fn shares(&self, gpus_each: u16) -> (u32, u32) {
        let sequences = self.served.load.sequences;
        let copies = u32::from(self.card.gpus / gpus_each).min(sequences);
        (copies, sequences.div_ceil(copies))
    }

    fn layout(&self, gpus_each: u16) -> Option<Layout> {
        let (copies, most) = self.shares(gpus_each);
        let needed_mib = self.needed_mib(gpus_each, most);
        if needed_mib > self.card.usable_mib as f64 {
            return None;
        }
        let (load, terms) = (&self.served.load, &self.served.terms);
        let work = Work {
            model: &self.served.model,
            dtype: self.served.dtype,
            kv_dtype: terms.kv_dtype,
            input_tokens: load.input_tokens,
            output_tokens: load.output_tokens,
        };
        let gpus = f64::from(gpus_each);
        let peak = Peak {
            bytes_per_second: self.card.bytes_per_second * gpus,
            flops: self.card.flops * gpus,
            efficiency: terms.efficiency_of(gpus_each),
        };
        let pace = work.pace(peak, f64::from(most));
        // Sequences that do not divide evenly leave some copies with one fewer.
        let full = load.sequences - (most - 1) * copies;
        let mut tokens_per_second = f64::from(full) * pace.tokens_per_second();
        if full < copies {
            let rest = work.pace(peak, f64::from(most - 1));
            tokens_per_second += f64::from(copies - full) * rest.tokens_per_second();
        }
        Some(Layout {
            dtype: self.served.dtype,
            card: self.card.clone(),
            gpus_each,
            copies,
            needed_mib,
            holds: self.holds(gpus_each),
            pace,
            tokens_per_second,
        })
    }

    /// Memory that each GPU needs: its part of the weights and of the cache, what the
    /// runtime takes, and headroom on all of it.
    pub fn needed_mib(&self, gpus_each: u16, sequences: u32) -> f64 {
        let bytes = self.weights() + f64::from(sequences) * self.cache_of_one();
        let terms = &self.served.terms;
        (bytes / f64::from(gpus_each) / MIB + terms.runtime_mib) * terms.headroom
    }

    /// Sequences that fit on all copies that fit.
    fn holds(&self, gpus_each: u16) -> u64 {
        let terms = &self.served.terms;
        let free_mib = self.card.usable_mib as f64 / terms.headroom - terms.runtime_mib;
        let bytes = free_mib * MIB * f64::from(gpus_each) - self.weights();
        let each = (bytes / self.cache_of_one()).floor().max(0.0);
        // A cast cuts at the largest number.
        (each as u64).saturating_mul(u64::from(self.card.gpus / gpus_each))
    }

    fn weights(&self) -> f64 {
        self.served.model.weight_bytes(self.served.dtype)
    }

    /// Bytes of the cache of one sequence.
    fn cache_of_one(&self) -> f64 {
        let of_token = self.served.model.kv_bytes_per_token(self.served.terms.kv_dtype);
        self.served.load.context_tokens as f64 * of_token
    }

    /// What is in the way where no group holds the model.
    fn refusal(&self) -> ServingRefusal {
        let mut would_hold = self.groups().filter(|gpus| self.layout(*gpus).is_some());
        if let Some(reason) = would_hold.find_map(|gpus| self.obstacle(gpus)) {
            return reason;
        }
        let allowed = self.groups().filter(|gpus| self.obstacle(*gpus).is_none());
        // One GPU alone is always allowed.
        let gpus = allowed.last().unwrap_or(1);
        let (_, most) = self.shares(gpus);
        ServingRefusal::Memory {
            needed_mib: self.needed_mib(gpus, most),
            usable_mib: self.card.usable_mib,
            gpus,
            holds: self.holds(gpus),
            weights_fit: self.needed_mib(gpus, 0) <= self.card.usable_mib as f64,
        }
    }
}

/// Memory that GPUs were seen to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredMemory {
    /// The workload, or the file of samples.
    pub name: String,
    /// In lower case.
    pub instance_type: String,
    /// Largest use of one GPU.
    pub peak_mib: f64,
}

/// Memory that one GPU takes by the formula: weights, cache and runtime, without headroom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComputedMemory {
    pub dtype: Dtype,
    /// GPUs that hold one copy.
    pub gpus_each: u16,
    pub mib: f64,
}

/// What each GPU of a type takes of each of these models, by how many GPUs may hold a copy,
/// whether it fits or not. Empty for a type without NVIDIA GPUs.
pub fn computed_memory(models: &[ServedModel], instance_type: &str) -> Vec<ComputedMemory> {
    let mut computed = Vec::new();
    let Some(instance) = shape(instance_type) else { return computed };
    for served in models {
        let Ok(card) = Card::of(instance, served.dtype) else { continue };
        let layouts = Layouts { served, card: &card };
        for gpus_each in layouts.groups() {
            if layouts.obstacle(gpus_each).is_none() {
                let (_, most) = layouts.shares(gpus_each);
                let mib = layouts.needed_mib(gpus_each, most) / served.terms.headroom;
                computed.push(ComputedMemory { dtype: served.dtype, gpus_each, mib });
            }
        }
    }
    computed
}

#[cfg(test)]
mod tests;
