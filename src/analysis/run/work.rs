//! What a run did, by the lines of its log: what each unit of work cost, and how much of the
//! arithmetic of its GPUs the model used.

use super::cost::hours;
use crate::catalog::{GpuSpec, spec_of_card};
use crate::domain::{HourlyRate, UnitCost};
use crate::planners::model::Dtype;
use crate::profiling::{GpuProfile, RunProfile};
use rust_decimal::Decimal;

/// What the user states of the steps of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepFacts {
    /// Tokens of a step on this host.
    pub tokens: Option<u64>,
    /// Operations that the model takes for a step on this host.
    pub flops: Option<f64>,
    /// Type that the matrices are multiplied in.
    pub dtype: Dtype,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq)]
pub struct RunWork {
    /// Units that were counted, in the order in which they were asked for, then tokens.
    pub units: Vec<UnitWork>,
    /// Absent where it is not stated how much a step computes; else why it is unknown.
    pub mfu: Option<Result<Mfu, String>>,
}

/// Units of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitWork {
    /// What they cost together, unrounded.
    pub cost: UnitCost,
    /// Absent where the run took no time.
    pub per_second: Option<f64>,
    /// Drawn by all GPUs for one; absent where that was not measured, and of no unit.
    pub energy_j: Option<f64>,
}

/// Model FLOPs utilization: operations that the model needs, of those that the GPUs in use
/// could have done in the time of the whole run (Chowdhery et al., PaLM, 2022, appendix B).
#[derive(Debug, Clone, PartialEq)]
pub struct Mfu {
    pub percent: f64,
    pub steps: u64,
    pub flops_per_step: f64,
    pub seconds: f64,
    pub gpus: usize,
    /// Of all GPUs in use, dense, as their data sheets state it.
    pub peak_tflops: f64,
    pub dtype: Dtype,
}

impl RunWork {
    /// By what the log of a run showed; `None` where nothing was counted or stated.
    pub fn of(profile: &RunProfile, rate: Option<HourlyRate>, facts: StepFacts) -> Option<Self> {
        let counted = profile.end.units.iter();
        let mut units: Vec<(String, Decimal, f64)> = counted
            .map(|unit_count| {
                (unit_count.unit.clone(), Decimal::from(unit_count.count), unit_count.count as f64)
            })
            .collect();
        let steps = steps(profile);
        if let Some((steps, tokens)) = steps.zip(facts.tokens)
            && let Some(count) = steps.checked_mul(tokens)
        {
            units.retain(|(unit, ..)| unit != TOKENS);
            units.push((TOKENS.to_owned(), Decimal::from(count), count as f64));
        }
        if units.is_empty() && facts.flops.is_none() && facts.tokens.is_none() {
            return None;
        }
        let seconds = profile.end.elapsed_seconds;
        let cost = rate.and_then(|rate| Some(rate.times_hours(hours(profile)?)));
        let energy = profile.energy_j();
        let units = units.into_iter().map(|(unit, count, number)| UnitWork {
            per_second: (seconds > 0.0).then(|| number / seconds),
            energy_j: energy.filter(|_| number > 0.0).map(|joules| joules / number),
            cost: UnitCost {
                name: profile.facts.instance_type.clone().unwrap_or_default(),
                unit,
                count,
                cost,
            },
        });
        let stated = facts.flops.is_some() || facts.tokens.is_some();
        let mfu = match (facts.flops, steps) {
            (_, None) if stated => Some(Err(format!("the run counted no unit `{STEPS}`"))),
            (Some(flops), Some(steps)) => Some(Mfu::of(profile, steps, flops, facts.dtype)),
            _ => None,
        };
        Some(Self { units: units.collect(), mfu })
    }
}

/// The unit that a step is counted in.
pub const STEPS: &str = "steps";
const TOKENS: &str = "tokens";

fn steps(profile: &RunProfile) -> Option<u64> {
    let mut units = profile.end.units.iter();
    units.find(|unit_count| unit_count.unit == STEPS).map(|unit_count| unit_count.count)
}

impl Mfu {
    /// # Errors
    /// Why it is not known.
    fn of(profile: &RunProfile, steps: u64, flops: f64, dtype: Dtype) -> Result<Self, String> {
        let seconds = profile.end.elapsed_seconds;
        if seconds <= 0.0 {
            return Err("the run took no time".to_owned());
        }
        if profile.whole().any(|gpu| gpu.identity.is_mig_enabled == Some(true)) {
            return Err("a GPU is in MIG mode".to_owned());
        }
        // One that was not measured may have worked.
        let in_use = || profile.whole().filter(|gpu| gpu.is_used != Some(false));
        let gpus = in_use().count();
        if gpus == 0 {
            return Err("no GPU was used".to_owned());
        }
        let mut peak_tflops = 0.0;
        for gpu in in_use() {
            peak_tflops += peak(gpu, dtype)?;
        }
        let percent = flops * steps as f64 / seconds / (peak_tflops * 1e12) * 100.0;
        if percent > 100.0 {
            return Err(format!(
                "the steps would take {percent:.0}% of what the data sheet states: check the \
                 operations of a step on this host, and the type of numbers"
            ));
        }
        Ok(Self { percent, steps, flops_per_step: flops, seconds, gpus, peak_tflops, dtype })
    }
}

/// Dense TFLOPS of a card.
///
/// # Errors
/// When the catalog does not have it.
fn peak(gpu: &GpuProfile, dtype: Dtype) -> Result<f64, String> {
    let name = gpu.identity.name.as_deref().unwrap_or("a GPU without a name");
    let spec = gpu.vram_total_mib.and_then(|memory| spec_of_card(name, memory));
    let spec = spec.ok_or_else(|| format!("the catalog has no specification of {name}"))?;
    tflops(spec, dtype).ok_or_else(|| format!("the catalog has no {dtype} throughput of {name}"))
}

fn tflops(spec: &GpuSpec, dtype: Dtype) -> Option<f64> {
    match dtype {
        Dtype::Fp32 => spec.fp32_tflops,
        Dtype::Fp16 => spec.fp16_dense_tflops,
        Dtype::Bf16 => spec.bf16_dense_tflops,
        Dtype::Fp8 => spec.fp8_dense_tflops,
        // Operations on integers are not FLOPs.
        Dtype::Int8 | Dtype::Int4 => None,
    }
}
