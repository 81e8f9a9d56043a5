//! What to check before moving.

use super::candidates::{Considered, link_gbps};
use super::needs::Demand;
use super::price::Spread;
use super::price::Today;
use super::projection::{RatioBasis, is_same_gpu};
use crate::catalog::{gpu_spec, has_full_rate_fp64, zones};
use crate::domain::{
    AcceleratorKind, GpuOffer, InstanceShape, VRAM_TAG, WorkloadKind, counted, with_article,
};
use std::cmp::Ordering;

fn has_nvlink(offer: &GpuOffer) -> bool {
    gpu_spec(offer).and_then(|spec| spec.nvlink_gbps).is_some_and(|gbps| gbps > 0.0)
}

/// What somebody waits for.
pub(in crate::savings) fn unit_of_work(kind: WorkloadKind) -> &'static str {
    match kind {
        WorkloadKind::Serving | WorkloadKind::Unknown => "a request",
        WorkloadKind::Training => "an epoch",
        WorkloadKind::Batch | WorkloadKind::Evaluation | WorkloadKind::Development => "a job",
    }
}

/// What would stop an engineer who knows the system, the gravest first.
pub fn caveats(today: &Today<'_>, demand: &Demand, to: &Considered) -> Vec<String> {
    let mut caveats = Vec::new();
    let (old, new) = (today.shape, to.shape);
    if let (Some(offer), Some(other)) = (&old.gpu, &new.gpu)
        && has_full_rate_fp64(&offer.model)
        && !has_full_rate_fp64(&other.model)
    {
        caveats.push(format!(
            "{} has full-rate double precision (FP64) and {} does not",
            offer.model, other.model
        ));
    }
    let loses_link = |offer: &GpuOffer, other: &GpuOffer| has_nvlink(offer) && !has_nvlink(other);
    let devices = |shape: &InstanceShape| {
        let offer = shape.gpu.as_ref();
        offer.map_or(0, |offer| offer.share.visible_devices())
    };
    let is_split = to.moves_work(demand) && devices(new) < demand.gpus_active;
    if let (Some(offer), Some(other)) = (&old.gpu, &new.gpu)
        && demand.gpus_active > 1
        && (loses_link(offer, other) || is_split)
    {
        let lost = if loses_link(offer, other) {
            "NVLink is lost"
        } else {
            "the GPUs of a machine are divided"
        };
        caveats.push(match demand.gpus_linked {
            Some(_) => format!("{lost}: confirm that each GPU holds its own model"),
            None => format!("{lost}, and whether the GPUs work as one is unknown"),
        });
    }
    let ratio = to.projection.map_or(1.0, |projection| projection.ratio.value);
    if ratio > 1.0 {
        let work = unit_of_work(demand.kind);
        caveats.push(format!("{work} may take up to {ratio:.2} times as long"));
    }
    // Of machines that are divided, each GPU is a replica.
    let (left, today) = match to.spread {
        Spread::Replicas if is_split => {
            let left = u64::from(to.count) * u64::from(devices(new));
            (left, demand.gpus_active_in_all)
        }
        _ => (u64::from(to.count), u64::from(demand.instances)),
    };
    if left < today {
        let (one, many) = match to.spread {
            Spread::Replicas => ("replica", "replicas"),
            _ => ("machine", "machines"),
        };
        caveats.push(format!(
            "{} instead of {today}: each failure removes more of the capacity",
            counted(left, one, many)
        ));
    }
    if let (true, Some(other)) = (to.shares_gpus(), &new.gpu) {
        caveats.push(format!(
            "the work of up to {} GPUs of today shares each {}: without walls, one process can \
             slow, starve or crash the others",
            to.per_gpu, other.model
        ));
    }
    if old.efa == Some(true) && new.efa != Some(true) {
        caveats.push("EFA is lost".to_owned());
    }
    if let (None, Some(before), Some(after)) =
        (demand.network_gbps, link_gbps(&old.instance_type), link_gbps(&new.instance_type))
        && after < before
    {
        caveats.push(format!(
            "network usage is not measured: {after} Gbit/s instead of {before} Gbit/s"
        ));
    }
    if let Some(before) = old.local_storage_gb
        && new.local_storage_gb.is_none_or(|after| after < before)
    {
        caveats.push(match new.local_storage_gb {
            None => format!("{} of instance store are lost", counted(before, "GB", "GB")),
            Some(after) => format!(
                "{} of instance store instead of {}",
                counted(after, "GB", "GB"),
                counted(before, "GB", "GB")
            ),
        });
    }
    caveats
}

/// What memory that an engine took ahead does not show, and what settles it.
pub fn reserved_vram(peak_mib: f64) -> String {
    format!(
        "{:.1} GiB of VRAM are reserved by an engine, and what is needed of it is unknown: read \
         the usage of its cache (vllm:kv_cache_usage_perc, or nv_gpu_memory_used_bytes of Triton) \
         and tag the instances with {VRAM_TAG}, such as {VRAM_TAG}=8GiB",
        peak_mib / 1024.0
    )
}

/// Seconds of the averages that a move rests on, where they hide peaks that count: on another
/// GPU, or on fewer of them.
pub fn averaged(demand: &Demand, to: &Considered) -> Option<u32> {
    let is_busier = to.is_another_card() || to.spread == Spread::Replicas;
    demand.averaged_seconds.filter(|_| is_busier)
}

/// What averages over so many seconds do not show.
pub fn averaged_away(seconds: u32) -> String {
    let over = match (seconds % 3_600, seconds % 60) {
        (0, _) => counted(seconds / 3_600, "hour", "hours"),
        (_, 0) => counted(seconds / 60, "minute", "minutes"),
        _ => counted(seconds, "second", "seconds"),
    };
    format!("peaks shorter than {over} are averaged away")
}

/// The same, and how to see it.
pub fn averaged_peaks(seconds: u32) -> String {
    let what = averaged_away(seconds);
    format!(
        "{what}: run `gpucost profile --duration 1h` on the host in its busiest hour before \
         resizing"
    )
}

/// What to check before a workload moves: always quota, zone and driver.
pub fn steps(today: &Today<'_>, demand: &Demand, to: &Considered) -> Vec<String> {
    let shape = to.shape;
    let zones = zones(&shape.instance_type, today.region)
        .map(|zones| format!(" (of {}: {})", today.region, zones.join(", ")))
        .unwrap_or_default();
    let is_launched = shape.instance_type != today.shape.instance_type;
    let launch = [
        format!("check the vCPU quota for {} in {}", shape.family(), today.region),
        format!(
            "check that your zone{zones} offers {} and that your image's driver supports it",
            shape.instance_type
        ),
    ];
    let mut steps: Vec<String> = launch.into_iter().filter(|_| is_launched).collect();
    if shape.architecture != today.shape.architecture {
        steps.push("build images and libraries for the new CPU architecture".to_owned());
    }
    if shape.accelerator == AcceleratorKind::Cpu {
        steps.push("check that the software runs without a GPU".to_owned());
    }
    if let Some(projection) = to.projection.filter(|_| to.is_another_card()) {
        let basis = match projection.ratio.basis {
            RatioBasis::Compute => "dense FP16 throughput",
            _ => "memory bandwidth",
        };
        let projected = if projection.slowdown > 1.0 {
            format!("{:.2} times the duration", projection.slowdown)
        } else {
            format!("{:.1}% of each GPU", projection.utilization)
        };
        steps.push(format!("measure one instance first: {projected} is projected from {basis}"));
    }
    steps.extend(averaged(demand, to).map(averaged_peaks));
    if demand.vram_is_reserved {
        steps.push(reserved_vram(demand.vram_peak_mib));
    }
    let holders = demand.gpus_held.saturating_sub(demand.gpus_active);
    let keeps = shape
        .gpu
        .as_ref()
        .is_some_and(|gpu| gpu.share.visible_devices() >= demand.gpus_needed(true));
    if holders > 0 && !keeps {
        steps.push(format!(
            "find the processes that hold memory on GPUs that are never active ({holders} \
             per instance)"
        ));
    }
    if demand.cpu_p95.is_none() && shape.vcpu < today.shape.vcpu {
        steps.push(format!("verify CPU: {} vCPUs instead of {}", shape.vcpu, today.shape.vcpu));
    }
    if shape.memory_mib < today.shape.memory_mib && demand.memory_p95_mib.is_none() {
        steps.push(format!(
            "verify host memory: {} instead of {}",
            counted(shape.memory_mib / 1024, "GiB", "GiB"),
            counted(today.shape.memory_mib / 1024, "GiB", "GiB")
        ));
    }
    if demand.network_gbps.is_none()
        && link_gbps(&shape.instance_type) < link_gbps(&today.shape.instance_type)
    {
        steps.push(format!(
            "verify network: {} Gbit/s instead of {} Gbit/s",
            link_gbps(&shape.instance_type).unwrap_or_default(),
            link_gbps(&today.shape.instance_type).unwrap_or_default()
        ));
    }
    if let Some(runs) = &demand.runs {
        steps.push(format!("profile another typical run first: this is based on {runs}"));
    }
    if to.moves_work(demand) {
        let start = if is_launched { "start" } else { "keep" };
        let work = match to.per_gpu {
            1 => "one GPU".to_owned(),
            most => format!("up to {most} GPUs"),
        };
        steps.push(format!(
            "{start} {} × {} with the work of {work} of today on each GPU (CUDA_VISIBLE_DEVICES), \
             and end the others only when these do all of it",
            to.count, shape.instance_type
        ));
        steps.push("move volumes, addresses and names of the machines that end".to_owned());
    }
    if to.count < demand.instances && to.count == 1 {
        steps.push("one instance provides no redundancy: keep two where required".to_owned());
    }
    if today.shape.local_storage_gb.is_some() {
        steps.push("confirm that no data on the instance store is needed".to_owned());
    }
    steps
}

/// What kind of move it is, for a recommendation.
pub(super) fn advice(today: &Today<'_>, demand: &Demand, to: &Considered) -> String {
    let (Some(offer), Some(other)) = (&today.shape.gpu, &to.shape.gpu) else {
        return "right-size to a type without a GPU".to_owned();
    };
    if to.spread == Spread::Tenants {
        let change = match to.count.cmp(&demand.instances) {
            Ordering::Less => "pack on fewer",
            Ordering::Equal => "divide over as many",
            Ordering::Greater => "split into more",
        };
        let share = match to.per_gpu {
            1 => format!("one {} per GPU in use", other.model),
            most => format!("one {} per {most} GPUs in use", other.model),
        };
        return format!("{change} machines, {share}");
    }
    let fewer_instances = to.count < demand.instances;
    if !is_same_gpu(offer, other) {
        let what = match other.share {
            crate::domain::GpuShare::Fraction(part) => {
                format!("{} of {}", part.normalize(), with_article(other.model.name()))
            }
            crate::domain::GpuShare::Whole(_) => format!("{} GPUs", other.model),
        };
        return if fewer_instances {
            format!("right-size to fewer instances with {what}")
        } else {
            format!("right-size to {what}")
        };
    }
    if fewer_instances {
        "right-size to fewer instances"
    } else if other.share.count() < offer.share.count() {
        "right-size to fewer GPUs of the same model"
    } else {
        "right-size to a smaller type with the same GPU"
    }
    .to_owned()
}
