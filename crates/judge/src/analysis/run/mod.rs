//! A profiled run: what it cost, what it did by the lines of its log, what its work could run on
//! instead, by the same right-sizing as an audit's, and whether its GPUs are those of a type.

mod compare;
mod seen_gpus;

pub use self::compare::{
    RunDiff, RunFigure, RunFigureKind, RunValue, RunVerdict, USUAL_NOISE_PERCENT,
};
pub use self::seen_gpus::{contradictions, unnamed_gpus};

use crate::analysis::Sized;
use crate::catalog::{GpuSpec, Prices, spec_of_card};
use crate::domain::{
    ACTIVE_PERCENT, GpuOffer, GpuShare, HourlyRate, InstanceCost, InstanceShape, Money, NoPrice,
    Policy, PriceKey, Risk, UnitCost, WorkloadCost, WorkloadKind,
};
use crate::planners::model::Dtype;
use crate::profiling::{GpuProfile, RunProfile};
use crate::savings::{Demand, MissingData, Today};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;

/// VRAM from which a GPU that computes nothing counts as holding a model.
const HELD_VRAM_PERCENT: f64 = 5.0;

/// A century: what is longer is an error in a log.
const LONGEST_RUN_HOURS: f64 = 876_000.0;

/// What a run cost, and what its work could run on instead.
#[derive(Debug, Clone, PartialEq)]
pub struct RunCost {
    /// The host's type.
    pub shape: &'static InstanceShape,
    pub region: String,
    /// One such instance that runs all month.
    pub today: WorkloadCost,
    /// The run, rounded to cents; absent where it is not believable how long it
    /// took.
    pub run: Option<Money>,
    /// The rate over the GPUs and their mean utilization; absent where nothing
    /// was measured or used.
    pub useful_gpu_hour: Option<HourlyRate>,
    /// What else would do, or why nothing was evaluated.
    pub sizing: Result<Sized, String>,
}

/// A host in a price list.
#[derive(Debug, Clone, PartialEq)]
pub struct PricedHost {
    pub shape: &'static InstanceShape,
    /// Where, and how it was bought.
    pub key: PriceKey,
    pub kind: WorkloadKind,
}

impl RunCost {
    /// Prices a run and sizes its work.
    ///
    /// # Errors
    /// When the host has no price.
    pub fn of(
        profile: &RunProfile,
        host: &PricedHost,
        prices: &Prices<'_>,
        policy: &Policy,
        accepted: Risk,
    ) -> Result<Self, NoPrice> {
        let instance = instance_cost(&host.key, prices, policy)?;
        let rate = instance.quote.rate;
        let today = WorkloadCost {
            hourly: rate,
            compute_monthly: rate.times_hours(instance.monthly_hours).rounded(),
            instances: vec![instance],
        };
        let sizing = demand(profile, host).map(|demand| {
            let of_today =
                Today { shape: host.shape, cost: &today, region: &host.key.region, activity: None };
            Sized::of(&of_today, demand, prices, policy, accepted)
        });
        Ok(Self {
            shape: host.shape,
            region: host.key.region.clone(),
            run: hours(profile).map(|hours| rate.times_hours(hours).rounded()),
            useful_gpu_hour: useful_gpu_hour(profile, host.shape, rate),
            today,
            sizing,
        })
    }
}

/// How long a run took; absent where a log says what cannot be.
fn hours(profile: &RunProfile) -> Option<Decimal> {
    let hours = profile.end.elapsed_seconds / 3_600.0;
    (0.0..=LONGEST_RUN_HOURS).contains(&hours).then(|| Decimal::from_f64(hours)).flatten()
}

/// One instance that runs all month.
///
/// # Errors
/// When it has no price.
pub fn instance_cost(
    key: &PriceKey,
    prices: &Prices<'_>,
    policy: &Policy,
) -> Result<InstanceCost, NoPrice> {
    let (key, quote) = prices.find(key)?;
    Ok(InstanceCost {
        key,
        committed: None,
        hourly: quote.rate,
        quote,
        monthly_hours: policy.hours_per_month,
    })
}

/// The price is for all GPUs of the host: it says nothing where some of them
/// cannot be seen.
fn useful_gpu_hour(
    profile: &RunProfile,
    shape: &InstanceShape,
    rate: HourlyRate,
) -> Option<HourlyRate> {
    let devices = whole_devices(shape.gpu.as_ref()).ok()?;
    if profile.gpu_count() != usize::from(devices) {
        return None;
    }
    let mean = Decimal::from_f64(profile.utilization?.mean / 100.0)?;
    let amount = rate.amount().checked_div(Decimal::from(devices).checked_mul(mean)?)?;
    HourlyRate::new(amount, rate.currency())
}

/// What a run used, or why that says nothing about another type.
fn demand(profile: &RunProfile, host: &PricedHost) -> Result<Demand, String> {
    let verdict = &profile.verdict;
    if !verdict.is_shrinkable() {
        return Err(verdict.classification.to_string());
    }
    let devices = whole_devices(host.shape.gpu.as_ref())?;
    let gpus: Vec<&GpuProfile> = profile.whole().collect();
    let name = &host.shape.instance_type;
    if let Some(reason) = contradictions(&profile.facts.gpus, host.shape).first() {
        return Err(format!("{reason}; check `--type`"));
    }
    let seen = gpus.len();
    if seen < usize::from(devices) {
        return Err(format!("{seen} of the {devices} GPUs of {name} are visible on this host"));
    }
    let used: Vec<&GpuProfile> =
        gpus.iter().copied().filter(|gpu| gpu.is_used == Some(true)).collect();
    if gpus.iter().any(|gpu| gpu.is_used.is_none()) {
        return Err(MissingData::PerGpu.to_string());
    }
    if used.is_empty() {
        return Err("no GPU was used in this run".to_owned());
    }
    let vram_peak_mib = gpus
        .iter()
        .map(|gpu| gpu.vram_used_mib.map(|figures| figures.max))
        .try_fold(0.0_f64, |most, peak| Some(most.max(peak?)))
        .ok_or_else(|| MissingData::Vram.to_string())?;
    // What works less than an hour in twenty is not in its p95.
    let p95 = |gpu: &&GpuProfile| Some(gpu.utilization?.p95);
    let mut active = used.iter().map(|gpu| p95(gpu).filter(|p95| *p95 >= ACTIVE_PERCENT));
    let p95_sum = active.try_fold(0.0_f64, |sum, p95| Some(sum + p95?));
    let largest = used.iter().filter_map(p95).reduce(f64::max);
    let cpu_p95 = profile.host.cpu_percent.map(|figures| figures.p95);
    Ok(Demand {
        kind: host.kind,
        bound: profile.diagnosis.bottleneck.bound(),
        instances: 1,
        least_instances: 1,
        least_machines: 1,
        gpus_active: count(used.len()),
        gpus_held: count(gpus.iter().filter(|gpu| is_held(gpu)).count()),
        gpus_active_in_all: used.len() as u64,
        tenants: None,
        gpu_peak_largest: largest.filter(|_| p95_sum.is_some()),
        gpu_peak: p95_sum.map(|sum| sum / used.len() as f64),
        gpu_sum: p95_sum,
        gpus_unused: false,
        never_worked: false,
        needs_fp64: false,
        encodes: gpus
            .iter()
            .any(|gpu| gpu.ranges.encoder_percent.is_some_and(|encoder| encoder.max > 0.0)),
        gpus_linked: Some(used.len() > 1),
        may_share_gpus: false,
        vram_peak_mib,
        vram_is_reserved: false,
        cpu_p95,
        cpu_p95_sum: cpu_p95,
        memory_p95_mib: profile.host.memory_used_mib.map(|figures| figures.p95),
        network_gbps: None,
        network_gbps_sum: None,
        nodes_talk: false,
        averaged_seconds: None,
        runs: Some("this run".to_owned()),
    })
}

fn whole_devices(offer: Option<&GpuOffer>) -> Result<u16, String> {
    match offer.map(|offer| offer.share) {
        Some(GpuShare::Whole(devices)) => Ok(devices),
        Some(GpuShare::Fraction(_)) => Err(MissingData::Fraction.to_string()),
        None => Err(MissingData::Shape.to_string()),
    }
}

fn is_held(gpu: &GpuProfile) -> bool {
    gpu.is_used == Some(true)
        || gpu.vram_peak_percent().is_none_or(|percent| percent >= HELD_VRAM_PERCENT)
}

fn count(gpus: usize) -> u16 {
    u16::try_from(gpus).unwrap_or(u16::MAX)
}

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
