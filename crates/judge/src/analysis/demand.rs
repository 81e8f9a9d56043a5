//! A workload as planners need it: how busy its GPUs are, what they hold and what it is paid, and
//! what it asked of them over time, for a replay of autoscaling.

use super::Audit;
use super::plan::EstateCommitments;
use super::workloads::Grouped;
use crate::catalog::Prices;
use crate::domain::{
    GpuOffer, Group, HourlyRate, InstanceShape, Policy, PriceKey, PriceOption, PurchaseOption,
    ResourceId, Signal, Workload, WorkloadKind, nearest_names,
};
use crate::planners::Today;
use crate::planners::autoscale::{
    AutoscaleSubject, Demand, DemandError, Held, HeldModels, KnownPeriod,
};
use crate::planners::capacity::Utilized;
use crate::planners::serving::MeasuredMemory;
use crate::savings::{self, MissingData, reported_vram_mib};
use crate::usage::{Estate, Timeline};
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names that an error lists at most.
const LISTED: usize = 5;

/// The demand of a workload, with what it ran on.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadDemand {
    pub subject: AutoscaleSubject,
    pub demand: Demand,
    pub gpus_per_instance: u32,
    pub held: Held,
    /// The price on demand of one instance.
    pub key: PriceKey,
    pub instances: usize,
}

/// Why a workload cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoDemand {
    #[error("no workload `{asked}`")]
    NotFound {
        asked: String,
        /// The nearest ones, best first; else some of those that are there.
        nearest: Vec<String>,
    },
    #[error("{workloads} running workloads: one can be replayed at a time")]
    NotNamed {
        workloads: usize,
        /// Some of them, services first.
        some: Vec<String>,
    },
    #[error("no running workloads")]
    Empty,
    #[error("{name} is training: no request starts it, and it may use several GPUs together")]
    Training {
        name: String,
        /// Some services.
        services: Vec<String>,
    },
    #[error("the GPUs of the type {instance_type} are unknown")]
    UnknownType { instance_type: String },
    #[error("GPU utilization of {id} was not measured")]
    Unmeasured { id: String },
    #[error("the demand of {id} cannot be replayed")]
    Demand { id: String, source: DemandError },
}

/// The demand of the workload with an id or a name; without one, of the only service that
/// runs, else of the only workload.
///
/// # Errors
/// With the reason why it is absent.
pub fn workload_demand(
    estate: &Estate,
    policy: &Policy,
    asked: Option<&str>,
) -> Result<WorkloadDemand, NoDemand> {
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    let (groups, _, _) = EstateCommitments::groups(estate, &prices, policy);
    let running = groups.iter().filter(|group| group.workload.key.running);
    let mut running: Vec<&Arc<Workload>> = running.map(|group: &Grouped| &group.workload).collect();
    running.sort_by_key(|workload| workload.id());
    let workload = find(&running, asked)?;
    if workload.kind == WorkloadKind::Training {
        return Err(NoDemand::Training {
            name: workload.name.clone(),
            services: services(&running).collect(),
        });
    }
    of_workload(estate, policy, workload)
}

/// Some services, by name where nothing else has it, else by id.
fn services<'a>(running: &'a [&'a Arc<Workload>]) -> impl Iterator<Item = String> + 'a {
    let names = running.iter().filter(|workload| is_service(workload)).map(move |service| {
        let alike = running.iter().filter(|other| other.name == service.name);
        if alike.count() == 1 { service.name.clone() } else { service.id() }
    });
    names.take(LISTED)
}

fn is_service(workload: &Workload) -> bool {
    workload.declared_kind() == WorkloadKind::Serving
}

fn find<'a>(
    running: &[&'a Arc<Workload>],
    asked: Option<&str>,
) -> Result<&'a Arc<Workload>, NoDemand> {
    let ids = || running.iter().map(|workload| workload.id());
    let Some(asked) = asked else {
        let serving = running.iter().copied().filter(|workload| is_service(workload));
        let serving: Vec<&'a Arc<Workload>> = serving.collect();
        return match (serving.as_slice(), running) {
            (_, []) => Err(NoDemand::Empty),
            ([only], _) | ([], [only]) => Ok(*only),
            _ => Err(NoDemand::NotNamed {
                workloads: running.len(),
                some: services(running).chain(ids()).take(LISTED).collect(),
            }),
        };
    };
    let mut by_name = running.iter().filter(|workload| workload.name == asked);
    let named = by_name.next().filter(|_| by_name.next().is_none());
    let by_id = running.iter().find(|workload| workload.id() == asked);
    if let Some(workload) = by_id.or(named).copied() {
        return Ok(workload);
    }
    let known: Vec<String> =
        ids().chain(running.iter().map(|workload| workload.name.clone())).collect();
    let mut nearest = nearest_names(asked, known.iter().map(String::as_str));
    nearest.dedup();
    if nearest.is_empty() {
        nearest = ids().take(LISTED).collect();
    }
    Err(NoDemand::NotFound { asked: asked.to_owned(), nearest })
}

fn of_workload(
    estate: &Estate,
    policy: &Policy,
    workload: &Workload,
) -> Result<WorkloadDemand, NoDemand> {
    let id = workload.id();
    let offer = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
    let Some(offer) = offer else {
        return Err(NoDemand::UnknownType { instance_type: workload.key.instance_type.clone() });
    };
    let gpus_per_instance = u32::from(offer.share.visible_devices());
    let grid = (estate.window, estate.period_seconds);
    let measured = estate.measured();
    let instances = estate.instances.iter().map(|instance| (&instance.id, instance));
    let instances: BTreeMap<&ResourceId, _> = instances.collect();
    let mut joint = Timeline::new(estate.window, estate.period_seconds);
    let mut is_measured = false;
    for usage in &workload.usage {
        let Some(instance) = instances.get(&usage.instance) else { continue };
        let (timeline, _) = measured.of(&instance.id).timeline(instance, Some(offer), grid);
        if usage.signal.is_some_and(|(signal, _)| signal == Signal::GpuUtilization) {
            is_measured = true;
            joint.add(&timeline);
        } else {
            joint.add_running_only(&timeline);
        }
    }
    if !is_measured {
        return Err(NoDemand::Unmeasured { id });
    }
    let periods: Vec<KnownPeriod> = joint
        .loads()
        .map(|load| KnownPeriod { busy_gpus: load.busy_gpus, instances: Some(load.instances) })
        .collect();
    let period = i64::from(estate.period_seconds);
    let demand = Demand::new(estate.window.start, period, gpus_per_instance, &periods);
    let demand = demand.map_err(|source| NoDemand::Demand { id, source })?;
    let (name, key) = (&workload.name, &workload.key);
    let (periods, seconds) = (demand.periods(), demand.period_seconds);
    Ok(WorkloadDemand {
        subject: AutoscaleSubject {
            source: format!("GPU utilization of {name}, {periods} periods of {seconds} s"),
            name: name.clone(),
            kind: Some(workload.declared_kind()),
            instance_type: workload.price_key.instance_type.clone(),
            region: workload.price_key.region.clone(),
            scaling_group: match &key.group {
                Group::AutoScaling(name) => Some(name.clone()),
                Group::Tag(_) | Group::Alone(_) => None,
            },
            purchase_option: Some(key.purchase_option),
        },
        demand,
        gpus_per_instance,
        held: held(workload, offer, policy),
        key: workload.price_key.with_option(PriceOption::OnDemand),
        instances: workload.instances.len(),
    })
}

/// What its GPUs hold, by the peak of each; unknown unless all of them report their memory.
fn held(workload: &Workload, offer: &GpuOffer, policy: &Policy) -> Held {
    if matches!(workload.key.group, Group::AutoScaling(_)) {
        return Held::Copies;
    }
    let gpus: Vec<_> = workload.gpus().collect();
    let holding = gpus.iter().filter(|gpu| gpu.is_allocated() != Some(false));
    let needed = holding.map(|gpu| Some(gpu.vram?.peak_mib * policy.vram_headroom));
    let needed: Option<Vec<f64>> = needed.collect();
    let are_all = Some(gpus.len() as u64) == workload.visible_gpus();
    match (needed, reported_vram_mib(offer).or(offer.vram_mib)) {
        (Some(needed), Some(mib)) if are_all => {
            Held::Models(HeldModels::packed(&needed, mib as f64))
        }
        _ => Held::Unknown,
    }
}

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
    pub demand: Result<savings::Demand, MissingData>,
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
    let (workload, shape) = named(audit, name)?;
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
    let (workload, shape) = named(audit, name)?;
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
        demand: savings::Demand::of(workload, policy),
        memory: workload.vram().map(|vram| MeasuredMemory {
            name: workload.name.clone(),
            instance_type: workload.key.instance_type.clone(),
            peak_mib: vram.peak_mib,
        }),
        workload: Arc::clone(workload),
    })
}

/// The workload of an id or a name, with its type, which has a GPU.
fn named<'a>(
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
