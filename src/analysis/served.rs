//! A workload as planners need it: how busy its GPUs are, what they hold, and what it is paid.

use super::Audit;
use crate::domain::{
    HourlyRate, InstanceShape, Policy, PriceKey, PriceOption, PurchaseOption, Signal, Workload,
    WorkloadKind, nearest_names,
};
use crate::planners::capacity::Utilized;
use crate::planners::paying::Today;
use crate::planners::serving::MeasuredMemory;
use crate::savings::{Demand, MissingData};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// A workload whose GPUs were measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredService {
    pub utilized: Utilized,
    pub kind: WorkloadKind,
    pub shape: InstanceShape,
    /// Of its type under on-demand prices.
    pub key: PriceKey,
}

/// A workload as it runs and is paid.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningWorkload {
    pub name: String,
    /// As a tag declares it.
    pub kind: WorkloadKind,
    /// Whether a tag declares that it may be interrupted and restarted.
    pub restartable: bool,
    pub shape: InstanceShape,
    /// Of its type under on-demand prices.
    pub key: PriceKey,
    pub purchase_option: PurchaseOption,
    pub instances: u32,
    /// Mean of an hour of one instance, with what commitments pay of it; absent where it has
    /// no price.
    pub rate: Option<HourlyRate>,
    /// Share of the window that its instances ran, 0–1.
    pub running_share: Option<Decimal>,
    /// What it uses of its type.
    pub demand: Result<Demand, MissingData>,
    /// What its GPUs held; absent where one of them did not report its memory.
    pub memory: Option<MeasuredMemory>,
}

impl RunningWorkload {
    /// Whether commitments pay of it, which cost as much when it ends.
    pub fn is_committed(&self) -> bool {
        !matches!(self.purchase_option, PurchaseOption::OnDemand | PurchaseOption::Spot)
    }

    /// What it runs on and is paid.
    pub fn today(&self) -> Today {
        Today {
            name: self.name.clone(),
            instance_type: self.key.instance_type.clone(),
            instances: self.instances,
            rate: self.rate,
            is_committed: self.is_committed(),
        }
    }
}

/// Why a workload does not say how busy its GPUs are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotMeasured {
    #[error("no workload `{name}` in scope")]
    Unknown {
        name: String,
        /// Names like it, best first.
        nearest: Vec<String>,
    },
    #[error("{count} workloads have the name `{name}`")]
    Several {
        name: String,
        count: usize,
        /// The id of the first of them.
        first: String,
    },
    #[error("the type {0} has no GPU in the catalog")]
    NoGpu(String),
    #[error("the GPU utilization of `{0}` was not measured for long enough")]
    Unmeasured(String),
}

/// The workload of an id or a name.
///
/// # Errors
/// When none or several have it, or when too few samples of its GPUs are there.
pub fn measured_service(
    audit: &Audit,
    name: &str,
    policy: &Policy,
) -> Result<MeasuredService, NotMeasured> {
    let workload = find(audit, name)?;
    let shape = workload.shape.as_ref().filter(|shape| shape.gpu.is_some());
    let shape = shape.ok_or_else(|| NotMeasured::NoGpu(workload.key.instance_type.clone()))?;
    let unmeasured = || NotMeasured::Unmeasured(workload.name.clone());
    let utilization = workload.utilization.as_ref();
    let utilization = utilization
        .filter(|summary| summary.signal == Signal::GpuUtilization && summary.suffices(policy))
        .ok_or_else(unmeasured)?;
    let running = workload.running_share.and_then(|share| share.to_f64());
    let devices = shape.gpu.as_ref().map_or(0, |gpu| gpu.share.visible_devices());
    let gpus = workload.instances.len() as f64 * f64::from(devices);
    Ok(MeasuredService {
        utilized: Utilized {
            name: workload.name.clone(),
            gpus: gpus * running.ok_or_else(unmeasured)?,
            mean_percent: utilization.distribution.mean,
            samples: utilization.n_samples,
        },
        kind: workload.kind,
        shape: shape.clone(),
        key: workload.price_key.with_option(PriceOption::OnDemand),
    })
}

/// What the workload of an id or a name runs on, what it uses and what that costs.
///
/// # Errors
/// When none or several have it, or when its type has no GPU.
pub fn running_workload(
    audit: &Audit,
    name: &str,
    policy: &Policy,
) -> Result<RunningWorkload, NotMeasured> {
    let workload = find(audit, name)?;
    let shape = workload.shape.as_ref().filter(|shape| shape.gpu.is_some());
    let shape = shape.ok_or_else(|| NotMeasured::NoGpu(workload.key.instance_type.clone()))?;
    let cost = workload.cost.as_ref();
    Ok(RunningWorkload {
        name: workload.name.clone(),
        kind: workload.declared_kind(),
        restartable: workload.restartable,
        shape: shape.clone(),
        key: workload.price_key.with_option(PriceOption::OnDemand),
        purchase_option: workload.key.purchase_option,
        instances: u32::try_from(workload.instances.len()).unwrap_or(u32::MAX),
        rate: cost.and_then(|cost| HourlyRate::new(cost.per_instance(), cost.hourly.currency())),
        running_share: workload.running_share,
        demand: Demand::of(workload, policy),
        memory: workload.vram().map(|vram| MeasuredMemory {
            name: workload.name.clone(),
            instance_type: workload.key.instance_type.clone(),
            peak_mib: vram.peak_mib,
        }),
    })
}

fn find<'a>(audit: &'a Audit, name: &str) -> Result<&'a Workload, NotMeasured> {
    let workloads = || audit.workloads.iter().map(|audited| &*audited.workload);
    if let Some(workload) = workloads().find(|workload| workload.id() == name) {
        return Ok(workload);
    }
    let named: Vec<&Workload> = workloads().filter(|workload| workload.name == name).collect();
    match named.as_slice() {
        [only] => Ok(*only),
        [] => Err(NotMeasured::Unknown {
            name: name.to_owned(),
            nearest: nearest_names(name, workloads().map(|workload| workload.name.as_str())),
        }),
        [first, ..] => Err(NotMeasured::Several {
            name: name.to_owned(),
            count: named.len(),
            first: first.id(),
        }),
    }
}
