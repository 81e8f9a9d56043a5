//! `gpucost inventory`: the instances with their shape, state, purchase option
//! and price, one row each.

use super::SCHEMA_VERSION;
use super::gaps::{GapView, gap_section};
use super::plain_table::PlainTable;
use super::style::TableStyle;
use super::text::{
    ABSENT, counted, fit, json_document, json_money, json_rate, money_or_absent, rounded,
    spreadsheet_safe, tags_cell,
};
use crate::analysis::{ListedInstance, Listing};
use crate::domain::{Currency, IdleStorageCosts, Instance, InstanceShape, Money};
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
    gaps: Vec<GapView>,
}

#[derive(Serialize)]
struct InstanceView {
    id: String,
    name: Option<String>,
    account: String,
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
        gaps: GapView::list(&listing.gaps),
    })
}

fn view(listed: &ListedInstance<'_>) -> InstanceView {
    let ListedInstance {
        instance,
        shape,
        quote,
        idle_storage,
    } = listed;
    InstanceView {
        id: instance.id.to_string(),
        name: instance.name().map(str::to_owned),
        account: instance.account.clone(),
        region: instance.region.clone(),
        zone: instance.zone.clone(),
        instance_type: instance.instance_type.clone(),
        state: instance.state.name(),
        purchase_option: instance.purchase_option().name(),
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
        hourly_cost: quote
            .as_ref()
            .and_then(|quote| json_rate(quote.rate.amount())),
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

/// What a stopped instance costs each month; absent when nothing is priced.
fn idle_storage_monthly(idle_storage: Option<&IdleStorageCosts>) -> Option<Money> {
    idle_storage.and_then(|costs| costs.monthly)
}

/// The currency of what it costs; absent when nothing of it is priced.
fn currency(listed: &ListedInstance<'_>) -> Option<Currency> {
    let running = listed.quote.as_ref().map(|quote| quote.rate.currency());
    running.or(idle_storage_monthly(listed.idle_storage.as_ref()).map(Money::currency))
}

/// Volumes or addresses of an instance; absent when they were not read: they
/// are read for stopped ones alone, where they are what still costs.
fn known<'a, T>(instance: &Instance, resources: &'a [T]) -> Option<&'a [T]> {
    let unread = instance.state.is_running() && resources.is_empty();
    (!unread).then_some(resources)
}

/// The inventory as comma-separated values, one row an instance.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn inventory_csv(listing: &Listing<'_>) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "id",
        "name",
        "account",
        "region",
        "zone",
        "instance_type",
        "state",
        "purchase_option",
        "gpu_model",
        "gpu_count",
        "gpu_vram_mib",
        "vcpu",
        "memory_mib",
        "operating_system",
        "tenancy",
        "launch_time",
        "auto_scaling_group",
        "currency",
        "hourly_cost",
        "price_origin",
        "price_effective_date",
        "idle_storage_monthly_cost",
        "volume_gib",
        "addresses",
        "tags",
    ])?;
    for listed in &listing.instances {
        let ListedInstance {
            instance,
            shape,
            quote,
            idle_storage,
        } = listed;
        let idle_storage = idle_storage_monthly(idle_storage.as_ref());
        let offer = shape.and_then(|shape| shape.gpu.as_ref());
        let text = spreadsheet_safe;
        let number = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        writer.write_record([
            text(instance.id.as_str()),
            text(instance.name().unwrap_or("")),
            text(&instance.account),
            text(&instance.region),
            text(instance.zone.as_deref().unwrap_or("")),
            text(&instance.instance_type),
            instance.state.to_string(),
            instance.purchase_option().to_string(),
            text(offer.map_or("", |offer| offer.model.name())),
            offer.map_or(String::new(), |offer| offer.share.to_string()),
            number(offer.and_then(|offer| offer.vram_mib)),
            number(shape.map(|shape| u64::from(shape.vcpu))),
            number(shape.map(|shape| shape.memory_mib)),
            instance.operating_system.to_string(),
            instance.tenancy.to_string(),
            instance.launch_time.to_string(),
            text(instance.auto_scaling_group.as_deref().unwrap_or("")),
            currency(listed).map_or(String::new(), |currency| currency.to_string()),
            quote.as_ref().map_or(String::new(), |quote| {
                quote.rate.amount().round_dp(6).normalize().to_string()
            }),
            quote
                .as_ref()
                .map_or(String::new(), |quote| quote.origin.to_string()),
            quote
                .as_ref()
                .map_or(String::new(), |quote| quote.effective_date.to_string()),
            idle_storage.map_or(String::new(), |cost| rounded(cost.amount(), 2)),
            volume_gib(instance).map_or(String::new(), |gib| gib.to_string()),
            text(&addresses(instance).unwrap_or_default()),
            text(&tags_cell(&instance.tags)),
        ])?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// GiB of its volumes; absent when they were not read or one is unknown.
fn volume_gib(instance: &Instance) -> Option<u64> {
    let volumes = known(instance, &instance.volumes)?;
    volumes.iter().map(|volume| volume.size_gib).sum()
}

/// Its addresses, separated by blanks; absent when they were not read.
fn addresses(instance: &Instance) -> Option<String> {
    let ids: Vec<&str> = known(instance, &instance.addresses)?
        .iter()
        .map(|address| address.id.as_str())
        .collect();
    Some(ids.join(" "))
}

/// The inventory for a terminal: what matters first, the name last, because it
/// gives way where the columns end; then what could not be seen.
pub fn inventory_table(listing: &Listing<'_>, style: TableStyle) -> String {
    let mut header = vec!["ID", "$/HOUR", "BOUGHT AS", "TYPE", "GPU", "REGION"];
    if style.wide {
        header.extend([
            "ACCOUNT",
            "ZONE",
            "OS",
            "LAUNCHED",
            "GROUP",
            "VOLUMES",
            "ADDRESSES",
            "IDLE $/MONTH",
            "PRICE DATE",
        ]);
    }
    header.push("NAME");
    let mut table = PlainTable::new(&header, if style.wide { vec![1, 13] } else { vec![1] });
    for listed in &listing.instances {
        let mut row = table_row(listed);
        if style.wide {
            row.extend(wide_cells(listed));
        }
        row.push(fit(listed.instance.name().unwrap_or(ABSENT), 48));
        table.row(row);
    }
    let mut out = table.text(style);
    // Writing to a string cannot fail.
    let _ = gap_section(&listing.gaps, style, &mut out);
    out.push_str(&format!(
        "{} in {}\n",
        counted(listing.instances.len() as u64, "instance", "instances"),
        counted(listing.estate.regions.len() as u64, "region", "regions"),
    ));
    out
}

fn table_row(listed: &ListedInstance<'_>) -> Vec<String> {
    let instance = listed.instance;
    let is_running = instance.state.is_running();
    let price = match &listed.quote {
        Some(quote) => format!(
            "{}{}",
            quote.rate.currency().sign(),
            quote.rate.amount().round_dp(6).normalize()
        ),
        None if is_running => "unpriced".to_owned(),
        None => ABSENT.to_owned(),
    };
    vec![
        fit(instance.id.as_str(), 19),
        price,
        if is_running {
            instance.purchase_option().to_string()
        } else {
            instance.state.to_string()
        },
        fit(&instance.instance_type, 18),
        fit(&gpu(listed.shape), 20),
        fit(&instance.region, 16),
    ]
}

fn wide_cells(listed: &ListedInstance<'_>) -> [String; 9] {
    let instance = listed.instance;
    let text = |value: Option<&str>, width| fit(value.unwrap_or(ABSENT), width);
    let addresses = addresses(instance).filter(|ids| !ids.is_empty());
    [
        fit(&instance.account, 16),
        text(instance.zone.as_deref(), 18),
        instance.operating_system.to_string(),
        instance.launch_time.strftime("%Y-%m-%d %H:%M").to_string(),
        text(instance.auto_scaling_group.as_deref(), 24),
        volume_gib(instance).map_or(ABSENT.to_owned(), |gib| format!("{gib} GiB")),
        text(addresses.as_deref(), 40),
        money_or_absent(idle_storage_monthly(listed.idle_storage.as_ref())),
        listed.quote.as_ref().map_or(ABSENT.to_owned(), |quote| {
            format!("{} ({})", quote.effective_date, quote.origin)
        }),
    ]
}

fn gpu(shape: Option<&InstanceShape>) -> String {
    let Some(shape) = shape else {
        return "unknown type".to_owned();
    };
    match &shape.gpu {
        Some(offer) => format!("{} × {}", offer.share, offer.model),
        None => shape.accelerator.name().to_owned(),
    }
}
