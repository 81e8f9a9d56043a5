//! What to check before moving.

use super::candidates::Considered;
use super::needs::Demand;
use super::price::Today;
use super::projection::{RatioBasis, is_same_gpu};
use crate::catalog::zones;
use crate::domain::AcceleratorKind;

/// What to check before a workload moves: always quota, zone and driver.
pub fn steps(today: &Today<'_>, demand: &Demand, to: &Considered) -> Vec<String> {
    let shape = to.shape;
    let zones = zones(&shape.instance_type, today.region)
        .map(|zones| format!(" (of {}: {})", today.region, zones.join(", ")))
        .unwrap_or_default();
    let mut steps = vec![
        format!(
            "check the vCPU quota for {} in {}",
            shape.family(),
            today.region
        ),
        format!(
            "check that your zone{zones} offers {} and your image's driver supports it",
            shape.instance_type
        ),
    ];
    if shape.architecture != today.shape.architecture {
        steps.push("build images and libraries for the other CPU architecture".to_owned());
    }
    if shape.accelerator == AcceleratorKind::Cpu {
        steps.push("check that the software runs without a GPU".to_owned());
    }
    if let Some(projection) = to
        .projection
        .filter(|found| found.ratio.basis != RatioBasis::SameGpu)
    {
        steps.push(format!(
            "measure one instance first: {:.1} % of each GPU is projected by {}",
            projection.utilization,
            match projection.ratio.basis {
                RatioBasis::Compute => "dense FP16 throughput",
                _ => "memory bandwidth",
            }
        ));
    }
    let holders = demand.gpus_held.saturating_sub(demand.gpus_active);
    let keeps = shape
        .gpu
        .as_ref()
        .is_some_and(|gpu| gpu.share.visible_devices() >= demand.gpus_needed(true));
    if holders > 0 && !keeps {
        steps.push(format!(
            "find out what holds memory on GPUs that never compute ({holders} of an instance)"
        ));
    }
    if demand.cpu_p95.is_none() && shape.vcpu < today.shape.vcpu {
        steps.push(format!(
            "verify CPU: {} vCPUs instead of {}",
            shape.vcpu, today.shape.vcpu
        ));
    }
    if shape.memory_mib < today.shape.memory_mib && demand.memory_p95_mib.is_none() {
        steps.push(format!(
            "verify host memory: {} GiB instead of {} GiB",
            shape.memory_mib / 1024,
            today.shape.memory_mib / 1024
        ));
    }
    if let Some(runs) = &demand.runs {
        steps.push(format!(
            "profile a second, typical run first: this rests on {runs}"
        ));
    }
    if to.count < demand.instances && to.count == 1 {
        steps.push("one instance is no redundancy: keep two where that matters".to_owned());
    }
    if today.shape.local_storage_gb.is_some() {
        steps.push("confirm that nothing on the instance store is needed".to_owned());
    }
    steps
}

/// What kind of move it is, for a recommendation.
pub(super) fn advice(today: &Today<'_>, demand: &Demand, to: &Considered) -> String {
    let (Some(offer), Some(other)) = (&today.shape.gpu, &to.shape.gpu) else {
        return "right-size to a type without a GPU".to_owned();
    };
    let fewer_instances = to.count < demand.instances;
    if !is_same_gpu(offer, other) {
        let what = match other.share {
            crate::domain::GpuShare::Fraction(part) => {
                format!("{} of an {}", part.normalize(), other.model)
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
