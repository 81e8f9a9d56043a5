//! `gpucost inventory` as comma-separated values.

use super::{addresses, currency, idle_storage_monthly, volume_gib};
use crate::analysis::{ListedInstance, Listing};
use crate::report::shared::csv::{cell, document, money, rate};
use crate::report::shared::text::{spreadsheet_safe as text, tags_cell};

/// The inventory as comma-separated values, one row an instance.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn inventory_csv(listing: &Listing<'_>) -> Result<String, csv::Error> {
    let header = [
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
    ];
    let rows = listing.instances.iter().map(|listed| {
        let ListedInstance {
            instance,
            shape,
            purchase_option,
            quote,
            hourly,
            idle_storage,
        } = listed;
        let offer = shape.and_then(|shape| shape.gpu.as_ref());
        [
            text(instance.id.as_str()),
            text(instance.name().unwrap_or("")),
            text(&instance.account),
            text(&instance.region),
            text(instance.zone.as_deref().unwrap_or("")),
            text(&instance.instance_type),
            instance.state.to_string(),
            purchase_option.to_string(),
            text(offer.map_or("", |offer| offer.model.name())),
            cell(offer.map(|offer| offer.share)),
            cell(offer.and_then(|offer| offer.vram_mib)),
            cell(shape.map(|shape| shape.vcpu)),
            cell(shape.map(|shape| shape.memory_mib)),
            instance.operating_system.to_string(),
            instance.tenancy.to_string(),
            instance.launch_time.to_string(),
            text(instance.auto_scaling_group.as_deref().unwrap_or("")),
            cell(currency(listed)),
            rate(hourly.map(|rate| rate.amount())),
            cell(quote.as_ref().map(|quote| quote.origin)),
            cell(quote.as_ref().map(|quote| quote.effective_date)),
            money(idle_storage_monthly(idle_storage.as_ref())),
            cell(volume_gib(instance)),
            text(&addresses(instance).unwrap_or_default()),
            text(&tags_cell(&instance.tags)),
        ]
    });
    document(header, rows)
}
