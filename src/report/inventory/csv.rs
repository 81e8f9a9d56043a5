//! `gpucost inventory` as comma-separated values.

use super::{addresses, currency, idle_storage_monthly, volume_gib};
use crate::analysis::{ListedInstance, Listing};
use crate::report::shared::text::{rounded, spreadsheet_safe, tags_cell};

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
