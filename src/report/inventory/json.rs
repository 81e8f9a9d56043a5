//! `gpucost inventory` for programs: JSON.

use super::jobs::{JobView, job_view};
use super::managed::{HostView, PlanView, host_view, plan_view};
use super::nodes_json::{ClaimView, NodeView, claim_view, node_view};
use super::{currency, idle_storage_monthly, known};
use crate::analysis::{ListedInstance, Listing};
use crate::domain::Currency;
use crate::report::SCHEMA_VERSION;
use crate::report::shared::gaps::GapView;
use crate::report::shared::text::{json_account, json_document, json_money, json_rate};
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Document {
    schema_version: &'static str,
    as_of: String,
    accounts: Vec<String>,
    regions: Vec<String>,
    instances: Vec<InstanceView>,
    /// Absent where no cluster was read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    claims: Vec<ClaimView>,
    /// Absent where none was read, as are the next two.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    component_hosts: Vec<HostView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    training_plans: Vec<PlanView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    training_jobs: Vec<JobView>,
    gaps: Vec<GapView>,
}

#[derive(Serialize)]
struct InstanceView {
    id: String,
    name: Option<String>,
    account: Option<String>,
    region: String,
    zone: Option<String>,
    instance_type: String,
    state: &'static str,
    purchase_option: &'static str,
    capacity_reservation_id: Option<String>,
    operating_system: &'static str,
    tenancy: &'static str,
    launch_time: String,
    auto_scaling_group: Option<String>,
    accelerator: Option<&'static str>,
    gpu: Option<GpuView>,
    vcpu: Option<u32>,
    memory_mib: Option<u64>,
    currency: Option<&'static str>,
    hourly_cost: Option<f64>,
    price_origin: Option<&'static str>,
    price_effective_date: Option<String>,
    idle_storage_monthly_cost: Option<f64>,
    volumes: Option<Vec<VolumeView>>,
    addresses: Option<Vec<String>>,
    tags: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct GpuView {
    model: String,
    count: Option<f64>,
    vram_mib: Option<u64>,
}

#[derive(Serialize)]
struct VolumeView {
    id: String,
    volume_type: Option<String>,
    size_gib: Option<u64>,
}

/// The inventory as a JSON document.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn inventory_json(listing: &Listing<'_>) -> Result<String, serde_json::Error> {
    json_document(&Document {
        schema_version: SCHEMA_VERSION,
        as_of: listing.estate.as_of.to_string(),
        accounts: listing.estate.accounts.clone(),
        regions: listing.estate.regions.clone(),
        instances: listing.instances.iter().map(view).collect(),
        nodes: listing.nodes.iter().map(node_view).collect(),
        claims: listing.claims.iter().map(claim_view).collect(),
        component_hosts: listing.hosts.iter().map(host_view).collect(),
        training_plans: listing.estate.managed.plans.iter().map(plan_view).collect(),
        training_jobs: listing.jobs.iter().map(job_view).collect(),
        gaps: GapView::list(&listing.gaps),
    })
}

fn view(listed: &ListedInstance<'_>) -> InstanceView {
    let ListedInstance {
        instance,
        shape,
        purchase_option,
        quote,
        hourly,
        idle_storage,
    } = listed;
    InstanceView {
        id: instance.id.to_string(),
        name: instance.name().map(str::to_owned),
        account: json_account(&instance.account),
        region: instance.region.clone(),
        zone: instance.zone.clone(),
        instance_type: instance.instance_type.clone(),
        state: instance.state.name(),
        purchase_option: purchase_option.name(),
        capacity_reservation_id: instance.capacity_reservation_id.clone(),
        operating_system: instance.operating_system.name(),
        tenancy: instance.tenancy.name(),
        launch_time: instance.launch_time.to_string(),
        auto_scaling_group: instance.auto_scaling_group.clone(),
        accelerator: shape.map(|shape| shape.accelerator.name()),
        gpu: shape
            .and_then(|shape| shape.gpu.as_ref())
            .map(|offer| GpuView {
                model: offer.model.name().to_owned(),
                count: offer.share.count().to_f64(),
                vram_mib: offer.vram_mib,
            }),
        vcpu: shape.map(|shape| shape.vcpu),
        memory_mib: shape.map(|shape| shape.memory_mib),
        currency: currency(listed).map(Currency::code),
        hourly_cost: hourly.and_then(|rate| json_rate(rate.amount())),
        price_origin: quote.as_ref().map(|quote| quote.origin.name()),
        price_effective_date: quote.as_ref().map(|quote| quote.effective_date.to_string()),
        idle_storage_monthly_cost: idle_storage_monthly(idle_storage.as_ref()).and_then(json_money),
        volumes: known(instance, &instance.volumes).map(|volumes| {
            volumes
                .iter()
                .map(|volume| VolumeView {
                    id: volume.id.clone(),
                    volume_type: volume.volume_type.clone(),
                    size_gib: volume.size_gib,
                })
                .collect()
        }),
        addresses: known(instance, &instance.addresses)
            .map(|addresses| addresses.iter().map(|address| address.id.clone()).collect()),
        tags: instance.tags.clone(),
    }
}
