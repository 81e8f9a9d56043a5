//! What a run on a host cost, and what its work could run on instead: the same
//! right-sizing as an audit's, from a profile.

use super::seen_gpus::contradictions;
use crate::analysis::Sized;
use crate::catalog::Prices;
use crate::domain::{
    ACTIVE_PERCENT, GpuOffer, GpuShare, HourlyRate, InstanceCost, InstanceShape, Money, NoPrice,
    Policy, PriceKey, Risk, WorkloadCost, WorkloadKind,
};
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
pub(super) fn hours(profile: &RunProfile) -> Option<Decimal> {
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
