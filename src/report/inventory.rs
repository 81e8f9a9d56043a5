//! `gpucost inventory`: the instances with their shape, state, purchase option
//! and price, one row each.

use super::SCHEMA_VERSION;
use super::gaps::GapView;
use super::plain_table::PlainTable;
use super::text::{ABSENT, counted, fit, json_document, json_rate, spreadsheet_safe};
use crate::analysis::{instance_shape, price_key};
use crate::catalog::Prices;
use crate::domain::{Estate, Instance, PriceQuote};
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;
use std::collections::BTreeMap;

/// Instances in order of account, region, type and id, with the price each is
/// billed by while it runs.
fn rows(estate: &Estate) -> Vec<(&Instance, Option<PriceQuote>)> {
    let prices = Prices::new(&estate.prices);
    let mut rows: Vec<_> = estate
        .instances
        .iter()
        .map(|instance| {
            let quote = price_key(instance).and_then(|key| prices.get(&key).ok());
            (instance, quote)
        })
        .collect();
    rows.sort_by(|(left, _), (right, _)| {
        (&left.account, &left.region, &left.instance_type, &left.id).cmp(&(
            &right.account,
            &right.region,
            &right.instance_type,
            &right.id,
        ))
    });
    rows
}

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
    hourly_cost: Option<f64>,
    price_origin: Option<&'static str>,
    price_effective_date: Option<String>,
    volumes: Vec<VolumeView>,
    addresses: Vec<String>,
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
pub fn inventory_json(estate: &Estate) -> Result<String, serde_json::Error> {
    json_document(&Document {
        schema_version: SCHEMA_VERSION,
        as_of: estate.as_of.to_string(),
        accounts: estate.accounts.clone(),
        regions: estate.regions.clone(),
        instances: rows(estate)
            .iter()
            .map(|(instance, quote)| view(estate, instance, quote.as_ref()))
            .collect(),
        gaps: GapView::list(&estate.gaps),
    })
}

fn view(estate: &Estate, instance: &Instance, quote: Option<&PriceQuote>) -> InstanceView {
    let shape = instance_shape(estate, &instance.instance_type);
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
        hourly_cost: quote.and_then(|quote| json_rate(quote.rate.amount())),
        price_origin: quote.map(|quote| quote.origin.name()),
        price_effective_date: quote.map(|quote| quote.effective_date.to_string()),
        volumes: instance
            .volumes
            .iter()
            .map(|volume| VolumeView {
                id: volume.id.clone(),
                volume_type: volume.volume_type.clone(),
                size_gib: volume.size_gib,
            })
            .collect(),
        addresses: instance
            .addresses
            .iter()
            .map(|address| address.id.clone())
            .collect(),
        tags: instance.tags.clone(),
    }
}

/// The inventory as comma-separated values, one row an instance.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn inventory_csv(estate: &Estate) -> Result<String, csv::Error> {
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
        "volume_gib",
        "addresses",
    ])?;
    for (instance, quote) in rows(estate) {
        let shape = instance_shape(estate, &instance.instance_type);
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
            quote
                .as_ref()
                .map_or(String::new(), |quote| quote.rate.currency().to_string()),
            quote.as_ref().map_or(String::new(), |quote| {
                quote.rate.amount().round_dp(6).normalize().to_string()
            }),
            quote
                .as_ref()
                .map_or(String::new(), |quote| quote.origin.to_string()),
            quote
                .as_ref()
                .map_or(String::new(), |quote| quote.effective_date.to_string()),
            volume_gib(instance).map_or(String::new(), |gib| gib.to_string()),
            text(
                &instance
                    .addresses
                    .iter()
                    .map(|address| address.id.as_str())
                    .collect::<Vec<_>>()
                    .join(" "),
            ),
        ])?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// GiB of its volumes; absent when one of them is unknown.
fn volume_gib(instance: &Instance) -> Option<u64> {
    instance.volumes.iter().map(|volume| volume.size_gib).sum()
}

/// Columns of the table that is not wide.
const TABLE_WIDTH: usize = 100;

/// The inventory for a terminal: what matters first, the name last, because it
/// gives way where the columns end.
pub fn inventory_table(estate: &Estate, wide: bool) -> String {
    let mut header = vec!["ID", "$/HOUR", "BOUGHT AS", "TYPE", "GPU", "REGION"];
    if wide {
        header.extend([
            "ACCOUNT", "ZONE", "OS", "LAUNCHED", "GROUP", "VOLUMES", "PRICE OF",
        ]);
    }
    header.push("NAME");
    let mut table = PlainTable::new(&header, [1]);
    let rows = rows(estate);
    for (instance, quote) in &rows {
        let mut row = vec![
            fit(instance.id.as_str(), 19),
            quote.as_ref().map_or("unpriced".to_owned(), |quote| {
                format!(
                    "{}{}",
                    quote.rate.currency().sign(),
                    quote.rate.amount().round_dp(6).normalize()
                )
            }),
            if instance.state.is_running() {
                instance.purchase_option().to_string()
            } else {
                instance.state.to_string()
            },
            fit(&instance.instance_type, 18),
            fit(&gpu(estate, instance), 20),
            fit(&instance.region, 16),
        ];
        if wide {
            row.extend([
                fit(&instance.account, 16),
                fit(instance.zone.as_deref().unwrap_or(ABSENT), 18),
                instance.operating_system.to_string(),
                instance.launch_time.strftime("%Y-%m-%d %H:%M").to_string(),
                fit(instance.auto_scaling_group.as_deref().unwrap_or(ABSENT), 24),
                volume_gib(instance).map_or(ABSENT.to_owned(), |gib| format!("{gib} GiB")),
                quote.as_ref().map_or(ABSENT.to_owned(), |quote| {
                    format!("{} ({})", quote.effective_date, quote.origin)
                }),
            ]);
        }
        row.push(fit(instance.name().unwrap_or(ABSENT), 48));
        table.row(row);
    }
    let lines = if wide {
        table.lines()
    } else {
        table.lines_within(TABLE_WIDTH)
    };
    format!(
        "{}\n\n{} in {}\n",
        lines.join("\n"),
        counted(rows.len() as u64, "instance", "instances"),
        counted(estate.regions.len() as u64, "region", "regions"),
    )
}

fn gpu(estate: &Estate, instance: &Instance) -> String {
    let Some(shape) = instance_shape(estate, &instance.instance_type) else {
        return "unknown type".to_owned();
    };
    match &shape.gpu {
        Some(offer) => format!("{} × {}", offer.share, offer.model),
        None => shape.accelerator.name().to_owned(),
    }
}
