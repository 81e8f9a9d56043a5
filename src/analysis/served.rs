//! A workload as planners need it: how busy its GPUs are, what they hold, and what it is paid.

use super::Audit;
use crate::domain::{
    HourlyRate, InstanceShape, Policy, PriceKey, PriceOption, PurchaseOption, Signal, Workload,
    WorkloadKind, nearest_names,
};
use crate::planners::Today;
use crate::planners::capacity::Utilized;
use crate::planners::serving::MeasuredMemory;
use crate::savings::{Demand, MissingData};
use rust_decimal::prelude::ToPrimitive;
use std::sync::Arc;

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
    pub workload: Arc<Workload>,
    pub shape: InstanceShape,
    /// What it runs on and is paid: the mean of an hour of one instance, with what commitments pay
    /// of it.
    pub today: Today,
    /// What it uses of its type.
    pub demand: Result<Demand, MissingData>,
    /// What its GPUs held; absent where one of them did not report its memory.
    pub memory: Option<MeasuredMemory>,
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
    let (workload, shape) = find(audit, name)?;
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
    let (workload, shape) = find(audit, name)?;
    let cost = workload.cost.as_ref();
    let option = workload.key.purchase_option;
    Ok(RunningWorkload {
        shape: shape.clone(),
        today: Today {
            name: workload.name.clone(),
            instance_type: workload.key.instance_type.clone(),
            instances: u32::try_from(workload.instances.len()).unwrap_or(u32::MAX),
            rate: cost
                .and_then(|cost| HourlyRate::new(cost.per_instance(), cost.hourly.currency())),
            is_committed: !matches!(option, PurchaseOption::OnDemand | PurchaseOption::Spot),
        },
        demand: Demand::of(workload, policy),
        memory: workload.vram().map(|vram| MeasuredMemory {
            name: workload.name.clone(),
            instance_type: workload.key.instance_type.clone(),
            peak_mib: vram.peak_mib,
        }),
        workload: Arc::clone(workload),
    })
}

/// The workload of an id or a name, with its type, which has a GPU.
fn find<'a>(
    audit: &'a Audit,
    name: &str,
) -> Result<(&'a Arc<Workload>, &'a InstanceShape), NotMeasured> {
    let workloads = || audit.workloads.iter().map(|audited| &audited.workload);
    let by_id = workloads().find(|workload| workload.id() == name);
    let named: Vec<&Arc<Workload>> = workloads().filter(|workload| workload.name == name).collect();
    let workload = match (by_id, named.as_slice()) {
        (Some(workload), _) => workload,
        (None, [workload]) => *workload,
        (None, []) => {
            return Err(NotMeasured::Unknown {
                name: name.to_owned(),
                nearest: nearest_names(name, workloads().map(|workload| workload.name.as_str())),
            });
        }
        (None, [first, ..]) => {
            return Err(NotMeasured::Several {
                name: name.to_owned(),
                count: named.len(),
                first: first.id(),
            });
        }
    };
    let shape = workload.shape.as_ref().filter(|shape| shape.gpu.is_some());
    let shape = shape.ok_or_else(|| NotMeasured::NoGpu(workload.key.instance_type.clone()))?;
    Ok((workload, shape))
}
