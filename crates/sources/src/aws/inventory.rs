//! Instances with accelerators in one region, what hangs on stopped ones, and what their types
//! offer: as the bundled catalog says, which corrects AWS's own errors (g6f and gr6f report zero
//! GPUs), else as DescribeInstanceTypes does.

use super::answers::{at, members, owned, text, value};
use super::service::{EC2, Fields, field, numbered};
use super::session::RegionClients;
use crate::Outcome;
use crate::catalog;
use crate::domain::{
    AcceleratorKind, Address, Architecture, Cause, CauseKind, Gap, GapSubject, Gathered, GpuModel,
    GpuOffer, GpuShare, Instance, InstanceShape, InstanceState, Lifecycle, OperatingSystem,
    Provider, ResourceId, Tenancy, Volume,
};
use crate::error::or_gap;
use roxmltree::Node;
use rust_decimal::Decimal;
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

/// Volumes are asked for by id, so many at a time.
const VOLUMES_AT_ONCE: usize = 200;

/// Results of the pages of EC2 that have no lower limit.
pub(super) const PAGE_SIZE: &str = "1000";

/// Every instance with an accelerator, running or stopped, in the order of the answer. One that
/// cannot be read is a gap.
///
/// # Errors
/// When EC2 refuses or does not answer.
pub async fn inventory(clients: &RegionClients) -> Outcome<Gathered<Vec<Instance>>> {
    let kinds = filter(1, "instance-type", ACCELERATED_TYPES);
    let states = filter(2, "instance-state-name", STATES);
    let fields = [kinds, states, field("MaxResults", PAGE_SIZE)].concat();
    let read = |reservation: Node<'_, '_>| {
        let account = text(reservation, &["ownerId"]).unwrap_or("unknown");
        let listed = members(reservation, &["instancesSet"]);
        Ok(listed.map(|node| instance(node, account, &clients.region)).collect())
    };
    let list = (fields, "reservationSet");
    let listed: Vec<Vec<_>> = clients.ask_members(&EC2, "DescribeInstances", list, read).await?;
    let mut inventory = Gathered::<Vec<Instance>>::default();
    for instance in listed.into_iter().flatten() {
        match instance {
            Ok(instance) => inventory.value.push(instance),
            Err(gap) => inventory.gaps.push(gap),
        }
    }
    Ok(inventory)
}

/// A filter of EC2: one of some values. It does not fail for a value that nothing has, unlike
/// a list of ids.
pub(super) fn filter<S: AsRef<str>>(number: u8, name: &str, values: &[S]) -> Fields {
    let filter = format!("Filter.{number}");
    let mut fields = field(&format!("{filter}.Name"), name);
    fields.extend(numbered(&format!("{filter}.Value"), values));
    fields
}

fn instance(node: Node<'_, '_>, account: &str, region: &str) -> Result<Instance, Gap> {
    let id = text(node, &["instanceId"]).unwrap_or("unknown id");
    let unreadable = |field: &str| {
        Gap::of(GapSubject::Instance, id, Cause::of(CauseKind::InstanceNotReadable, [field]))
    };
    let tags = tags(node);
    let state = text(node, &["instanceState", "name"]);
    let interfaces = members(node, &["networkInterfaceSet"]);
    let mut attachments = interfaces.filter_map(|interface| at(interface, &["attachment"]));
    let primary = attachments.find(|node| text(*node, &["deviceIndex"]) == Some("0"));
    let disks = members(node, &["blockDeviceMapping"]);
    let volume = |id| Volume { id, volume_type: None, size_gib: None };
    Ok(Instance {
        id: ResourceId::new(Provider::Aws, account, region, id),
        account: account.to_owned(),
        region: region.to_owned(),
        zone: owned(node, &["placement", "availabilityZone"]),
        instance_type: owned(node, &["instanceType"]).ok_or_else(|| unreadable("type"))?,
        state: state.and_then(InstanceState::from_name).ok_or_else(|| unreadable("state"))?,
        lifecycle: text(node, &["instanceLifecycle"])
            .map_or(Some(Lifecycle::OnDemand), Lifecycle::from_name)
            .ok_or_else(|| unreadable("lifecycle"))?,
        capacity_reservation_id: owned(node, &["capacityReservationId"]),
        capacity_block_id: owned(node, &["capacityBlockId"]),
        operating_system: OperatingSystem::from_ec2(
            text(node, &["usageOperation"]),
            text(node, &["platformDetails"]),
            text(node, &["platform"]),
        ),
        tenancy: tenancy(text(node, &["placement", "tenancy"])),
        launch_time: value(node, &["launchTime"]).ok_or_else(|| unreadable("launch time"))?,
        attached_time: primary.and_then(|attachment| value(attachment, &["attachTime"])),
        state_transition_reason: owned(node, &["reason"]),
        auto_scaling_group: tags.get("aws:autoscaling:groupName").cloned(),
        private_dns_name: owned(node, &["privateDnsName"]),
        volumes: disks.filter_map(|disk| owned(disk, &["ebs", "volumeId"])).map(volume).collect(),
        addresses: Vec::new(),
        tags,
    })
}

/// The tags of a resource; a value may be empty, and has its spaces.
pub(super) fn tags(node: Node<'_, '_>) -> BTreeMap<String, String> {
    let part = |tag, name| at(tag, &[name]).and_then(|node| node.text()).unwrap_or_default();
    let tags = members(node, &["tagSet"]);
    tags.map(|tag| (part(tag, "key").to_owned(), part(tag, "value").to_owned())).collect()
}

pub(super) fn tenancy(name: Option<&str>) -> Tenancy {
    match name {
        Some("dedicated") => Tenancy::Dedicated,
        Some("host") => Tenancy::Host,
        _ => Tenancy::Shared,
    }
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
    let read = |node: Node<'_, '_>| {
        let facts = (owned(node, &["volumeType"]), value(node, &["size"]));
        Ok(owned(node, &["volumeId"]).map(|id| (id, facts)))
    };
    let mut known = VolumeFacts::new();
    for some in ids.chunks(VOLUMES_AT_ONCE) {
        let list = (filter(1, "volume-id", some), "volumeSet");
        let listed = clients.ask_members(&EC2, "DescribeVolumes", list, read).await?;
        known.extend(listed.into_iter().flatten());
    }
    Ok(known)
}

/// Elastic addresses by instance: these stay allocated, and billed, while the
/// instance is stopped.
async fn addresses(
    clients: &RegionClients,
    instance_ids: &[String],
) -> Outcome<Vec<(String, String)>> {
    let read = |node: Node<'_, '_>| {
        let id = owned(node, &["allocationId"]).or_else(|| owned(node, &["publicIp"]));
        Ok(owned(node, &["instanceId"]).zip(id))
    };
    let mut addresses = Vec::new();
    for some in instance_ids.chunks(VOLUMES_AT_ONCE) {
        let list = (filter(1, "instance-id", some), "addressesSet");
        let listed = clients.ask_members(&EC2, "DescribeAddresses", list, read).await?;
        addresses.extend(listed.into_iter().flatten());
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
        let list = (filter(1, "instance-type", some), "instanceTypeSet");
        let listed =
            clients.ask_members(&EC2, "DescribeInstanceTypes", list, |node| Ok(shape(node)));
        shapes.extend(listed.await?.into_iter().flatten());
    }
    Ok(shapes)
}

fn shape(node: Node<'_, '_>) -> Option<InstanceShape> {
    let name = text(node, &["instanceType"])?;
    if let Some(known) = catalog::shape(name) {
        return Some(known.clone());
    }
    let kinds = [
        ("gpuInfo", AcceleratorKind::Gpu),
        ("neuronInfo", AcceleratorKind::Neuron),
        ("inferenceAcceleratorInfo", AcceleratorKind::Inference),
        ("mediaAcceleratorInfo", AcceleratorKind::Media),
        ("fpgaInfo", AcceleratorKind::Fpga),
    ];
    let known = kinds.into_iter().find(|(info, _)| at(node, &[info]).is_some());
    let architectures = at(node, &["processorInfo", "supportedArchitectures"]);
    let architecture = architectures.and_then(|list| text(list, &["item"]));
    Some(InstanceShape {
        instance_type: name.to_owned(),
        accelerator: known.map_or(AcceleratorKind::Cpu, |(_, kind)| kind),
        gpu: devices(node, ["gpuInfo", "gpus"])
            .or_else(|| devices(node, ["neuronInfo", "neuronDevices"])),
        vcpu: value(node, &["vCpuInfo", "defaultVCpus"])?,
        memory_mib: value(node, &["memoryInfo", "sizeInMiB"])?,
        architecture: architecture.and_then(Architecture::from_name),
        local_storage_gb: value(node, &["instanceStorageInfo", "totalSizeInGB"]),
        efa: value(node, &["networkInfo", "efaSupported"]),
    })
}

/// The first devices of a list; of a part of a GPU, its size is their count.
fn devices(node: Node<'_, '_>, list: [&'static str; 2]) -> Option<GpuOffer> {
    let device = members(node, &list).next()?;
    let partition = value::<Decimal>(device, &["gpuPartitionSize"]);
    let partition = partition.filter(|size| *size < Decimal::ONE);
    Some(GpuOffer {
        model: GpuModel::from_name(text(device, &["name"])?),
        share: GpuShare::from_count(partition.or_else(|| value(device, &["count"]))?)?,
        vram_mib: value(device, &["memoryInfo", "sizeInMiB"]),
    })
}
