//! `gpucost pricing` as comma-separated values.

use crate::analysis::Offer;
use crate::domain::{Currency, HourlyRate, PriceQuote};
use crate::report::shared::csv::{cell, document, rate};
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
    let rows = offers.iter().map(|offer| csv_row(offer, hours_per_month));
    document(CSV_HEADER, rows)
}

fn csv_row(offer: &Offer, hours_per_month: Decimal) -> Vec<String> {
    let priced = |quote: &Option<PriceQuote>| {
        [
            rate(quote.as_ref().map(|quote| quote.rate.amount())),
            cell(quote.as_ref().map(|quote| quote.seen_on)),
        ]
    };
    let gpus = offer.gpus.as_ref();
    let monthly = offer.hourly().map(|rate| {
        let monthly = rate.times_hours(hours_per_month);
        monthly.rounded().amount()
    });
    let mut row = vec![
        spreadsheet_safe(&offer.provider),
        spreadsheet_safe(offer.region.as_deref().unwrap_or_default()),
        spreadsheet_safe(&offer.instance_type),
        spreadsheet_safe(gpus.map_or("", |gpus| &gpus.model)),
        rate(gpus.map(|gpus| gpus.count)),
        cell(gpus.and_then(|gpus| gpus.vram_mib)),
        cell(offer.vcpu),
        cell(offer.memory_mib),
        offer.unit.name().to_owned(),
        cell(offer.currency().map(Currency::code)),
        rate(offer.hourly().map(HourlyRate::amount)),
        rate(monthly),
        rate(offer.per_gpu_hour()),
        rate(offer.per_vram_gib_hour()),
        rate(offer.per_bf16_tflops_hour()),
        cell(offer.on_demand.as_ref().map(|quote| quote.seen_on)),
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
    row.push(cell(stated.map(|quote| quote.origin)));
    row
}
