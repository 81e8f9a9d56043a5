//! Instances with accelerators in one region, what hangs on stopped ones, and what their types
//! offer: as the bundled catalog says, which corrects AWS's own errors (g6f and gr6f report zero
//! GPUs), else as DescribeInstanceTypes does.

use super::answers::all_pages;
use super::error::{Failed, UNREADABLE};
use super::session::{RegionClients, timestamp};
use crate::Outcome;
use crate::catalog;
use crate::domain::{
    AcceleratorKind, Address, Architecture, Cause, CauseKind, Gap, GapSubject, Gathered, GpuModel,
    GpuOffer, GpuShare, Instance, InstanceShape, InstanceState, Lifecycle, OperatingSystem,
    Provider, ResourceId, Tenancy, Volume,
};
use crate::error::or_gap;
use aws_sdk_ec2::operation::describe_instances::DescribeInstancesOutput;
use aws_sdk_ec2::types::{Filter, Instance as Ec2Instance, InstanceType, InstanceTypeInfo, Tag};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::collections::BTreeMap;

/// Families with accelerators, as EC2's filter matches them: every type that
/// begins with g (GPU) or p (GPU), Inferentia, Trainium, deep learning, media.
/// A family that starts tomorrow under one of these letters is found too.
const ACCELERATED_TYPES: &[&str] = &["dl*", "g*", "inf*", "p*", "trn*", "vt*"];

/// Whether a type is of one of these families.
pub(super) fn is_accelerated(instance_type: &str) -> bool {
    ACCELERATED_TYPES.iter().any(|family| instance_type.starts_with(family.trim_end_matches('*')))
}

/// States that an inventory shows; terminated instances are invisible soon.
const STATES: &[&str] = &["pending", "running", "stopping", "stopped"];

const PAGE_SIZE: i32 = 1000;
/// Volumes are asked for by id, so many at a time.
const VOLUMES_AT_ONCE: usize = 200;

/// Every instance with an accelerator, running or stopped, in the order of the answer.
///
/// # Errors
/// When EC2 refuses or does not answer.
pub async fn inventory(clients: &RegionClients) -> Outcome<Gathered<Vec<Instance>>> {
    let mut inventory = Gathered::default();
    all_pages::<Instance>(INSTANCES, usize::MAX, async |token| {
        let next = match described(clients, &[], token).await {
            Ok(page) => {
                add(&mut inventory, &page, clients);
                page.next_token
            }
            Err(Failed { error, unread }) => {
                let unread = unread.unwrap_or_default();
                let ids = texts_of("instanceId", &unread);
                // What follows the place where a page is cut cannot be asked for.
                let is_whole = unread.trim_end().ends_with("</DescribeInstancesResponse>");
                if error.code != UNREADABLE || ids.is_empty() || !is_whole {
                    return Err(error);
                }
                one_by_one(clients, ids, &mut inventory).await?;
                texts_of("nextToken", &unread).pop()
            }
        };
        Ok((Vec::new(), next))
    })
    .await?;
    Ok(inventory)
}

const INSTANCES: &str = "ec2:DescribeInstances";
/// Values that a filter may have.
const IDS_AT_ONCE: usize = 200;

/// A page of instances: those of some ids, or all.
async fn described(
    clients: &RegionClients,
    ids: &[String],
    token: Option<String>,
) -> Result<DescribeInstancesOutput, Failed> {
    // A filter, unlike a list of ids, does not fail for one that is gone.
    let wanted = (!ids.is_empty()).then(|| filter("instance-id", ids));
    let kinds = [filter("instance-type", ACCELERATED_TYPES), filter("instance-state-name", STATES)];
    let request = clients
        .ec2
        .describe_instances()
        .set_filters(Some(kinds.into_iter().chain(wanted).collect()))
        .max_results(PAGE_SIZE)
        .set_next_token(token);
    clients.attempted(INSTANCES, || request.clone().send()).await
}

/// Reads the instances of a page that cannot be read as a whole: in halves, and
/// halves of these, until what cannot be read stands alone.
async fn one_by_one(
    clients: &RegionClients,
    ids: Vec<String>,
    inventory: &mut Gathered<Vec<Instance>>,
) -> Outcome<()> {
    let mut parts: Vec<Vec<String>> = ids.chunks(IDS_AT_ONCE).map(<[String]>::to_vec).collect();
    while let Some(mut part) = parts.pop() {
        match described(clients, &part, None).await {
            Ok(page) => add(inventory, &page, clients),
            Err(Failed { error, .. }) if error.code != UNREADABLE => return Err(error),
            Err(Failed { error, .. }) => {
                let half = part.split_off(part.len() / 2);
                if part.is_empty() {
                    let gap = |id: String| error.gap(GapSubject::Instance, id, "it is omitted");
                    inventory.gaps.extend(half.into_iter().map(gap));
                } else {
                    parts.extend([part, half]);
                }
            }
        }
    }
    Ok(())
}

/// What stands in the elements of a name, in an answer that is not otherwise read.
fn texts_of(element: &str, answer: &str) -> Vec<String> {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let mut texts = Vec::new();
    for rest in answer.split(&open).skip(1) {
        if let Some((text, _)) = rest.split_once(&close)
            && !text.contains(['<', '&'])
        {
            texts.push(text.to_owned());
        }
    }
    texts.dedup();
    texts
}

fn add(
    inventory: &mut Gathered<Vec<Instance>>,
    page: &DescribeInstancesOutput,
    clients: &RegionClients,
) {
    for reservation in page.reservations() {
        let account = reservation.owner_id().unwrap_or("unknown");
        for listed in reservation.instances() {
            match instance(listed, account, &clients.region) {
                Ok(instance) => inventory.value.push(instance),
                Err(gap) => inventory.gaps.push(gap),
            }
        }
    }
}

pub(super) fn filter<S: Clone + Into<String>>(name: &str, values: &[S]) -> Filter {
    let values = values.iter().cloned().map(Into::into);
    Filter::builder().name(name).set_values(Some(values.collect())).build()
}

fn instance(instance: &Ec2Instance, account: &str, region: &str) -> Result<Instance, Gap> {
    let id = instance.instance_id().unwrap_or("unknown id");
    let unreadable = |field: &str| {
        Gap::of(GapSubject::Instance, id, Cause::of(CauseKind::InstanceNotReadable, [field]))
    };
    let state_name = instance.state().and_then(|state| state.name()).map(|name| name.as_str());
    let tags = tags(instance.tags());
    let placement = instance.placement();
    Ok(Instance {
        id: ResourceId::new(Provider::Aws, account, region, id),
        account: account.to_owned(),
        region: region.to_owned(),
        zone: placement.and_then(|placement| placement.availability_zone()).map(str::to_owned),
        instance_type: instance
            .instance_type()
            .map(|name| name.as_str().to_owned())
            .ok_or_else(|| unreadable("type"))?,
        state: state_name.and_then(InstanceState::from_name).ok_or_else(|| unreadable("state"))?,
        lifecycle: instance
            .instance_lifecycle()
            .map_or(Some(Lifecycle::OnDemand), |name| Lifecycle::from_name(name.as_str()))
            .ok_or_else(|| unreadable("lifecycle"))?,
        capacity_reservation_id: text(instance.capacity_reservation_id()),
        capacity_block_id: text(instance.capacity_block_id()),
        operating_system: OperatingSystem::from_ec2(
            instance.usage_operation().filter(|text| !text.is_empty()),
            instance.platform_details().filter(|text| !text.is_empty()),
            instance.platform().map(|platform| platform.as_str()),
        ),
        tenancy: tenancy(placement.and_then(|place| place.tenancy()).map(|name| name.as_str())),
        launch_time: instance
            .launch_time()
            .and_then(timestamp)
            .ok_or_else(|| unreadable("launch time"))?,
        attached_time: primary_attachment(instance),
        state_transition_reason: text(instance.state_transition_reason()),
        auto_scaling_group: tags.get("aws:autoscaling:groupName").cloned(),
        private_dns_name: text(instance.private_dns_name()),
        volumes: instance
            .block_device_mappings()
            .iter()
            .filter_map(|mapping| mapping.ebs()?.volume_id())
            .map(|id| Volume { id: id.to_owned(), volume_type: None, size_gib: None })
            .collect(),
        addresses: Vec::new(),
        tags,
    })
}

pub(super) fn tags(all: &[Tag]) -> BTreeMap<String, String> {
    all.iter()
        .filter_map(|tag| Some((tag.key()?.to_owned(), tag.value().unwrap_or("").to_owned())))
        .collect()
}

pub(super) fn text(value: Option<&str>) -> Option<String> {
    value.filter(|value| !value.is_empty()).map(str::to_owned)
}

pub(super) fn tenancy(name: Option<&str>) -> Tenancy {
    match name {
        Some("dedicated") => Tenancy::Dedicated,
        Some("host") => Tenancy::Host,
        _ => Tenancy::Shared,
    }
}

fn primary_attachment(instance: &Ec2Instance) -> Option<jiff::Timestamp> {
    instance
        .network_interfaces()
        .iter()
        .filter_map(|interface| interface.attachment())
        .find(|attachment| attachment.device_index() == Some(0))?
        .attach_time()
        .and_then(timestamp)
}

/// Fills in volumes and addresses of stopped instances. What is denied becomes
/// a gap and stays unknown.
pub async fn idle_storage_resources(
    clients: &RegionClients,
    inventory: &mut Gathered<Vec<Instance>>,
) {
    let stopped = || inventory.value.iter().filter(|instance| !instance.state.is_running());
    let volume_ids: Vec<String> = stopped()
        .flat_map(|instance| instance.volumes.iter().map(|volume| volume.id.clone()))
        .collect();
    let instance_ids: Vec<String> = stopped().map(|instance| instance.id.to_string()).collect();
    if instance_ids.is_empty() {
        return;
    }
    let known = volumes(clients, &volume_ids).await;
    let known = or_gap(known, GapSubject::Volumes, &clients.region, "");
    let known = known.leave_gaps(&mut inventory.gaps);
    for volume in inventory.value.iter_mut().flat_map(|instance| &mut instance.volumes) {
        if let Some((volume_type, size_gib)) = known.get(&volume.id) {
            volume.volume_type.clone_from(volume_type);
            volume.size_gib = *size_gib;
        }
    }
    let found = addresses(clients, &instance_ids).await;
    let found = or_gap(found, GapSubject::Addresses, &clients.region, "");
    for (id, address) in found.leave_gaps(&mut inventory.gaps) {
        let mut instances = inventory.value.iter_mut();
        if let Some(owner) = instances.find(|instance| instance.id.as_str() == id) {
            owner.addresses.push(Address { id: address });
        }
    }
}

type VolumeFacts = BTreeMap<String, (Option<String>, Option<u64>)>;

async fn volumes(clients: &RegionClients, ids: &[String]) -> Outcome<VolumeFacts> {
    let mut known = VolumeFacts::new();
    for some in ids.chunks(VOLUMES_AT_ONCE) {
        // A filter, unlike a list of ids, does not fail for one that is gone.
        let (ec2, own) = (&clients.ec2, || filter("volume-id", some));
        let send = |token| ec2.describe_volumes().filters(own()).set_next_token(token).send();
        let listed = clients.paged("ec2:DescribeVolumes", send, |page| {
            let volumes = page.volumes().iter().filter_map(|volume| {
                let size = volume.size().and_then(unsigned);
                let kind = volume.volume_type().map(|kind| kind.as_str().to_owned());
                Some((volume.volume_id()?.to_owned(), (kind, size)))
            });
            (volumes.collect(), page.next_token)
        });
        known.extend(listed.await?);
    }
    Ok(known)
}

/// Elastic addresses by instance: these stay allocated, and billed, while the
/// instance is stopped.
async fn addresses(
    clients: &RegionClients,
    instance_ids: &[String],
) -> Outcome<Vec<(String, String)>> {
    let mut addresses = Vec::new();
    for some in instance_ids.chunks(VOLUMES_AT_ONCE) {
        let own = || filter("instance-id", some);
        let send = || clients.ec2.describe_addresses().filters(own()).send();
        let answer = clients.patient("ec2:DescribeAddresses", send).await?;
        addresses.extend(answer.addresses().iter().filter_map(|address| {
            let id = address.allocation_id().or(address.public_ip())?;
            Some((address.instance_id()?.to_owned(), id.to_owned()))
        }));
    }
    Ok(addresses)
}

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
    let kinds = [
        (info.gpu_info().is_some(), AcceleratorKind::Gpu),
        (info.neuron_info().is_some(), AcceleratorKind::Neuron),
        (info.inference_accelerator_info().is_some(), AcceleratorKind::Inference),
        (info.media_accelerator_info().is_some(), AcceleratorKind::Media),
        (info.fpga_info().is_some(), AcceleratorKind::Fpga),
    ];
    let known = kinds.into_iter().find(|(has_info, _)| *has_info);
    let accelerator = known.map_or(AcceleratorKind::Cpu, |(_, kind)| kind);
    Some(InstanceShape {
        instance_type: name.to_owned(),
        accelerator,
        gpu,
        vcpu: u32::try_from(info.v_cpu_info()?.default_v_cpus()?).ok()?,
        memory_mib: unsigned(info.memory_info()?.size_in_mib()?)?,
        architecture: info
            .processor_info()
            .and_then(|processor| processor.supported_architectures().first())
            .and_then(|architecture| Architecture::from_name(architecture.as_str())),
        local_storage_gb: info
            .instance_storage_info()
            .and_then(|storage| unsigned(storage.total_size_in_gb()?)),
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
        vram_mib: device.memory_info().and_then(|memory| unsigned(memory.size_in_mib()?)),
    })
}

fn neuron_devices(info: &InstanceTypeInfo) -> Option<GpuOffer> {
    let device = info.neuron_info()?.neuron_devices().first()?;
    Some(GpuOffer {
        model: GpuModel::from_name(device.name()?),
        share: GpuShare::from_count(Decimal::from(device.count()?))?,
        vram_mib: device.memory_info().and_then(|memory| unsigned(memory.size_in_mib()?)),
    })
}

fn unsigned(amount: impl TryInto<u64>) -> Option<u64> {
    amount.try_into().ok()
}
