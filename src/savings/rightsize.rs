//! The safest move: a smaller type with the same GPU model.

use crate::catalog::{Prices, gpu_spec, smaller_types};
use crate::domain::{
    Action, ActionKind, GpuOffer, GpuShare, InstanceCost, InstanceShape, Money, Policy, PriceKey,
    PriceOption, PriceQuote, Risk, Target, Workload, WorkloadCost,
};
use rust_decimal::Decimal;

/// A cheaper type that the workload fits, with the figures it was chosen by.
#[derive(Debug, Clone, PartialEq)]
pub struct Rightsizing {
    /// The move.
    pub action: Action,
    /// GPUs that the fullest instance ever used.
    pub gpus_needed: u16,
    /// Whether each instance gives up GPUs, and not only vCPUs and memory.
    pub frees_gpus: bool,
    /// The prices of the new type: one for most workloads, one a zone for spot.
    pub quotes: Vec<(PriceKey, PriceQuote)>,
    /// What to check before moving.
    pub steps: Vec<String>,
}

/// What a workload needs of each of its instances.
struct Needs {
    gpus: u16,
    vram_mib: f64,
    vcpu: f64,
    memory_mib: f64,
}

/// The cheapest smaller type with whole GPUs of the same model that holds what
/// each instance of the workload uses: GPUs ever active, VRAM peak and vCPU p95
/// with headroom, and host memory: all of today's at low risk, else as much per
/// GPU as today or twice the VRAM needed plus 8 GiB, whichever is less. `None`
/// when a figure is missing, prices cannot be compared or nothing is cheaper.
pub fn smaller_with_same_gpu(
    workload: &Workload,
    prices: &Prices<'_>,
    policy: &Policy,
    accepted: Risk,
) -> Option<Rightsizing> {
    let shape = workload.shape.as_ref()?;
    let offer = shape.gpu.as_ref()?;
    let cost = workload.cost.as_ref()?;
    let needs = needs_of(workload, shape, offer, policy, accepted)?;
    let moved = smaller_types(shape)
        .filter(|candidate| fits(candidate, shape, &needs))
        .filter_map(|candidate| Move::of(cost, candidate, prices))
        .min_by(|left, right| {
            (left.monthly.amount(), &left.to.instance_type)
                .cmp(&(right.monthly.amount(), &right.to.instance_type))
        })?;
    let count = u32::try_from(workload.instances.len()).ok()?;
    let action = Action::saving(
        ActionKind::Rightsize,
        Some(Target {
            instance_type: moved.to.instance_type.clone(),
            count,
        }),
        format!(
            "{} × {} at {}/h instead of {}/h: the busiest instance uses {} of {} {}",
            count,
            moved.to.instance_type,
            moved.per_instance().normalize(),
            cost.per_instance().normalize(),
            needs.gpus,
            offer.share,
            offer.model
        ),
        cost.compute_monthly.checked_sub(moved.monthly).ok()?,
        cost.compute_monthly,
        if moved.to.memory_mib < shape.memory_mib {
            Risk::Medium
        } else {
            Risk::Low
        },
    )?;
    Some(Rightsizing {
        action,
        gpus_needed: needs.gpus,
        frees_gpus: moved
            .to
            .gpu
            .as_ref()
            .is_some_and(|to| to.share.count() < offer.share.count()),
        steps: steps(workload, shape, moved.to),
        quotes: moved.quotes,
    })
}

/// Every instance of a workload on another type.
struct Move {
    to: &'static InstanceShape,
    /// The price for each instance, in their order.
    quotes: Vec<(PriceKey, PriceQuote)>,
    /// All of them per month at today's running time, rounded to cents.
    monthly: Money,
}

impl Move {
    /// `None` when one of the instances has no price on the other type, or none
    /// that compares with today's.
    fn of(cost: &WorkloadCost, to: &'static InstanceShape, prices: &Prices<'_>) -> Option<Self> {
        let currency = cost.hourly.currency();
        let mut quotes = Vec::with_capacity(cost.instances.len());
        let mut monthly = Money::zero(currency);
        for today in &cost.instances {
            let (key, quote) = prices.find(&today.key.with_type(&to.instance_type)).ok()?;
            if !compares(today, &key, &quote) {
                return None;
            }
            let month = quote.rate.times_hours(today.monthly_hours);
            monthly = monthly.checked_add(month).ok()?;
            quotes.push((key, quote));
        }
        Some(Self {
            to,
            quotes,
            monthly: monthly.rounded(),
        })
    }

    /// Mean hourly rate of one instance.
    fn per_instance(&self) -> Decimal {
        let sum: Decimal = self
            .quotes
            .iter()
            .map(|(_, quote)| quote.rate.amount())
            .sum();
        sum / Decimal::from(self.quotes.len().max(1))
    }
}

/// Whether the difference of two prices is a saving. List prices hold until they
/// change; spot prices move by the day and by zone, so that those of different
/// origin, date or scope tell nothing about each other.
fn compares(today: &InstanceCost, key: &PriceKey, quote: &PriceQuote) -> bool {
    key.option != PriceOption::Spot
        || (today.quote.origin == quote.origin
            && today.quote.effective_date == quote.effective_date
            && today.key.zone == key.zone)
}

fn needs_of(
    workload: &Workload,
    shape: &InstanceShape,
    offer: &GpuOffer,
    policy: &Policy,
    accepted: Risk,
) -> Option<Needs> {
    let GpuShare::Whole(devices) = offer.share else {
        return None;
    };
    if !workload.is_fully_measured() {
        return None;
    }
    let mut gpus = 0;
    for usage in &workload.usage {
        if usage.gpus.len() < usize::from(devices) {
            return None;
        }
        let mut active = 0;
        for gpu in &usage.gpus {
            // At low risk a GPU that only holds memory, or may hold some, counts
            // too.
            let holds = accepted == Risk::Low && gpu.is_allocated() != Some(false);
            active += u16::from(gpu.is_active()? || holds);
        }
        gpus = gpus.max(active);
    }
    let vram_mib = workload.vram()?.peak_mib * policy.vram_headroom;
    let vcpu = workload
        .usage
        .iter()
        .map(|usage| usage.cpu_p95)
        .try_fold(0.0_f64, |largest, cpu| Some(largest.max(cpu?)))
        .map(|p95| p95 / 100.0 * f64::from(shape.vcpu) * policy.vcpu_headroom)?;
    let today_per_gpu = shape.memory_mib as f64 / f64::from(devices);
    Some(Needs {
        gpus: gpus.max(1),
        vram_mib,
        vcpu,
        // CloudWatch has no host memory: low risk keeps today's.
        memory_mib: if accepted == Risk::Low {
            shape.memory_mib as f64
        } else {
            (today_per_gpu * f64::from(gpus.max(1))).min(2.0 * vram_mib + 8.0 * 1024.0)
        },
    })
}

fn fits(candidate: &InstanceShape, today: &InstanceShape, needs: &Needs) -> bool {
    let Some(offer) = candidate.gpu.as_ref() else {
        return false;
    };
    let reported = gpu_spec(offer).and_then(|spec| spec.memory_mib_reported);
    let holds_vram = reported
        .or(offer.vram_mib)
        .is_some_and(|mib| mib as f64 >= needs.vram_mib);
    // Several active GPUs may talk to each other over the fabric they have.
    let keeps_fabric = needs.gpus <= 1 || today.efa != Some(true) || candidate.efa == Some(true);
    offer.share.visible_devices() >= needs.gpus
        && holds_vram
        && f64::from(candidate.vcpu) >= needs.vcpu
        && candidate.memory_mib as f64 >= needs.memory_mib
        && candidate.architecture == today.architecture
        && keeps_fabric
}

fn steps(workload: &Workload, today: &InstanceShape, candidate: &InstanceShape) -> Vec<String> {
    let mut steps = vec![
        format!(
            "check the vCPU quota for {} in {}",
            candidate.family(),
            workload.key.region
        ),
        format!(
            "check that your zone offers {} and your image's driver supports it",
            candidate.instance_type
        ),
    ];
    if candidate.memory_mib < today.memory_mib {
        steps.push(format!(
            "verify host memory: {} GiB instead of {} GiB",
            candidate.memory_mib / 1024,
            today.memory_mib / 1024
        ));
    }
    if workload.has_instance_store() {
        steps.push("confirm that nothing on the instance store is needed".to_owned());
    }
    steps
}
