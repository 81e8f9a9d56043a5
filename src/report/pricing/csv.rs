//! `gpucost pricing` as comma-separated values.

use crate::analysis::Offer;
use crate::domain::{Money, PriceQuote};
use crate::report::shared::text::spreadsheet_safe;
use rust_decimal::Decimal;

const CSV_HEADER: &[&str] = &[
    "provider",
    "region",
    "instance_type",
    "gpu_model",
    "gpu_count",
    "gpu_vram_mib",
    "vcpu",
    "memory_mib",
    "price_basis",
    "currency",
    "on_demand_hourly",
    "on_demand_monthly",
    "on_demand_per_gpu_hourly",
    "on_demand_per_vram_gib_hourly",
    "on_demand_per_bf16_tflops_hourly",
    "on_demand_date",
    "spot_hourly",
    "spot_date",
    "commitment_1yr_hourly",
    "commitment_1yr_date",
    "commitment_3yr_hourly",
    "commitment_3yr_date",
    "capacity_block_hourly",
    "capacity_block_date",
    "origin",
];

/// A comparison as CSV, one row an offer.
///
/// # Errors
/// When a row cannot be written.
pub fn pricing_csv(offers: &[Offer], hours_per_month: Decimal) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(CSV_HEADER)?;
    for offer in offers {
        writer.write_record(csv_row(offer, hours_per_month))?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn csv_row(offer: &Offer, hours_per_month: Decimal) -> Vec<String> {
    let number = |value: Option<Decimal>| {
        value.map_or_else(String::new, |value| {
            value.round_dp(6).normalize().to_string()
        })
    };
    let text = |value: Option<String>| value.unwrap_or_default();
    let priced = |quote: &Option<PriceQuote>| {
        [
            number(quote.as_ref().map(|quote| quote.rate.amount())),
            text(quote.as_ref().map(|quote| quote.seen_on.to_string())),
        ]
    };
    let gpus = offer.gpus.as_ref();
    let monthly = offer.hourly().map(|rate| {
        Money::new(rate.amount() * hours_per_month, rate.currency())
            .rounded()
            .amount()
    });
    let mut row = vec![
        spreadsheet_safe(&offer.provider),
        spreadsheet_safe(offer.region.as_deref().unwrap_or_default()),
        spreadsheet_safe(&offer.instance_type),
        spreadsheet_safe(gpus.map_or("", |gpus| &gpus.model)),
        number(gpus.map(|gpus| gpus.count)),
        text(gpus.and_then(|gpus| Some(gpus.vram_mib?.to_string()))),
        text(offer.vcpu.map(|vcpu| vcpu.to_string())),
        text(offer.memory_mib.map(|mib| mib.to_string())),
        offer.unit.name().to_owned(),
        text(offer.currency().map(|currency| currency.code().to_owned())),
        number(offer.hourly().map(|rate| rate.amount())),
        number(monthly),
        number(offer.per_gpu_hour()),
        number(offer.per_vram_gib_hour()),
        number(offer.per_bf16_tflops_hour()),
        text(
            offer
                .on_demand
                .as_ref()
                .map(|quote| quote.seen_on.to_string()),
        ),
    ];
    for quote in [
        &offer.spot,
        &offer.commitment_1yr,
        &offer.commitment_3yr,
        &offer.capacity_block,
    ] {
        row.extend(priced(quote));
    }
    let stated = offer.on_demand.as_ref().or_else(|| offer.quotes().next());
    row.push(text(stated.map(|quote| quote.origin.name().to_owned())));
    row
}
