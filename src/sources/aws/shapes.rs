//! Shapes from DescribeInstanceTypes, joined with the bundled catalog, which
//! corrects AWS's own errors (g6f and gr6f report zero GPUs).

use super::inventory::filter;
use super::session::RegionClients;
use crate::catalog;
use crate::domain::{AcceleratorKind, Architecture, GpuModel, GpuOffer, GpuShare, InstanceShape};
use crate::sources::Outcome;
use aws_sdk_ec2::types::{InstanceType, InstanceTypeInfo};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;

/// Types are asked for by name, so many at a time.
const TYPES_AT_ONCE: usize = 100;

/// Shapes of the types that EC2 knows in the region.
///
/// # Errors
/// When EC2 refuses or does not answer.
pub async fn shapes(clients: &RegionClients, types: &[String]) -> Outcome<Vec<InstanceShape>> {
    let mut shapes = Vec::new();
    for some in types.chunks(TYPES_AT_ONCE) {
        // A filter, unlike a list of names, does not fail for one that the region does not know.
        let (ec2, own) = (&clients.ec2, || filter("instance-type", some));
        let send = |next| ec2.describe_instance_types().filters(own()).set_next_token(next).send();
        let listed = clients.paged("ec2:DescribeInstanceTypes", send, |page| {
            (page.instance_types().iter().filter_map(shape).collect(), page.next_token)
        });
        shapes.extend(listed.await?);
    }
    Ok(shapes)
}

fn shape(info: &InstanceTypeInfo) -> Option<InstanceShape> {
    let name = info.instance_type().map(InstanceType::as_str)?;
    if let Some(known) = catalog::shape(name) {
        return Some(known.clone());
    }
    let gpu = gpus(info).or_else(|| neuron_devices(info));
    let accelerator = if info.gpu_info().is_some() {
        AcceleratorKind::Gpu
    } else if info.neuron_info().is_some() {
        AcceleratorKind::Neuron
    } else if info.inference_accelerator_info().is_some() {
        AcceleratorKind::Inference
    } else if info.media_accelerator_info().is_some() {
        AcceleratorKind::Media
    } else if info.fpga_info().is_some() {
        AcceleratorKind::Fpga
    } else {
        AcceleratorKind::Cpu
    };
    Some(InstanceShape {
        instance_type: name.to_owned(),
        accelerator,
        gpu,
        vcpu: u32::try_from(info.v_cpu_info()?.default_v_cpus()?).ok()?,
        memory_mib: u64::try_from(info.memory_info()?.size_in_mib()?).ok()?,
        architecture: info
            .processor_info()
            .and_then(|processor| processor.supported_architectures().first())
            .and_then(|architecture| Architecture::from_name(architecture.as_str())),
        local_storage_gb: info
            .instance_storage_info()
            .and_then(|storage| storage.total_size_in_gb())
            .and_then(|size| u64::try_from(size).ok()),
        efa: info.network_info().and_then(|network| network.efa_supported()),
    })
}

fn gpus(info: &InstanceTypeInfo) -> Option<GpuOffer> {
    let device = info.gpu_info()?.gpus().first()?;
    let partition =
        device.gpu_partition_size().and_then(Decimal::from_f64).filter(|size| *size < Decimal::ONE);
    Some(GpuOffer {
        model: GpuModel::from_name(device.name()?),
        share: GpuShare::from_count(partition.or_else(|| device.count().map(Decimal::from))?)?,
        vram_mib: device
            .memory_info()
            .and_then(|memory| memory.size_in_mib())
            .and_then(|mib| u64::try_from(mib).ok()),
    })
}

fn neuron_devices(info: &InstanceTypeInfo) -> Option<GpuOffer> {
    let device = info.neuron_info()?.neuron_devices().first()?;
    Some(GpuOffer {
        model: GpuModel::from_name(device.name()?),
        share: GpuShare::from_count(Decimal::from(device.count()?))?,
        vram_mib: device
            .memory_info()
            .and_then(|memory| memory.size_in_mib())
            .and_then(|mib| u64::try_from(mib).ok()),
    })
}
