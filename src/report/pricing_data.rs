//! `gpucost pricing` for programs: JSON and CSV.

use super::SCHEMA_VERSION;
use super::text::{json_document, json_money, json_rate, spreadsheet_safe};
use crate::analysis::Offer;
use crate::catalog::zones;
use crate::domain::{CommitmentTerm, Money, PriceOption, PriceQuote};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;

#[derive(Serialize)]
struct Document {
    schema_version: &'static str,
    /// Absent when the prices are in more than one.
    currency: Option<&'static str>,
    prices: Vec<PriceView>,
}

#[derive(Serialize)]
struct PriceView {
    provider: String,
    region: Option<String>,
    instance_type: String,
    gpu: Option<GpuView>,
    vcpu: Option<u32>,
    memory_mib: Option<u64>,
    price_basis: &'static str,
    currency: Option<&'static str>,
    on_demand_hourly: Option<f64>,
    on_demand_monthly: Option<f64>,
    on_demand_per_gpu_hourly: Option<f64>,
    on_demand_per_vram_gib_hourly: Option<f64>,
    on_demand_per_bf16_tflops_hourly: Option<f64>,
    spot_hourly: Option<f64>,
    spot_date: Option<String>,
    spot_origin: Option<&'static str>,
    interruption_band: Option<&'static str>,
    interruption_band_date: Option<String>,
    commitment_1yr_hourly: Option<f64>,
    commitment_3yr_hourly: Option<f64>,
    reserved: Vec<ReservedView>,
    savings_plans: Vec<PlanView>,
    capacity_block_hourly: Option<f64>,
    capacity_block_date: Option<String>,
    zones: Option<Vec<String>>,
    launchable: Option<bool>,
    effective_date: Option<String>,
    seen_on: Option<String>,
    origin: Option<&'static str>,
    source: Option<String>,
}

#[derive(Serialize)]
struct GpuView {
    model: String,
    count: Option<f64>,
    vram_mib: Option<u64>,
}

#[derive(Serialize)]
struct ReservedView {
    term_years: u8,
    payment: &'static str,
    class: &'static str,
    upfront: Option<f64>,
    hourly: Option<f64>,
    effective_hourly: Option<f64>,
    basis: &'static str,
    date: String,
    origin: &'static str,
}

#[derive(Serialize)]
struct PlanView {
    plan: &'static str,
    term_years: u8,
    payment: &'static str,
    hourly: Option<f64>,
    basis: &'static str,
    date: String,
    origin: &'static str,
}

/// A comparison as JSON.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn pricing_json(
    offers: &[Offer],
    hours_per_month: Decimal,
) -> Result<String, serde_json::Error> {
    let mut currencies: Vec<_> = offers.iter().filter_map(Offer::currency).collect();
    currencies.dedup();
    json_document(&Document {
        schema_version: SCHEMA_VERSION,
        currency: match currencies[..] {
            [one] => Some(one.code()),
            _ => None,
        },
        prices: offers
            .iter()
            .map(|offer| price(offer, hours_per_month))
            .collect(),
    })
}

fn hourly(quote: Option<&PriceQuote>) -> Option<f64> {
    json_rate(quote?.rate.amount())
}

fn price(offer: &Offer, hours_per_month: Decimal) -> PriceView {
    let stated = offer.on_demand.as_ref().or_else(|| offer.quotes().next());
    let spot = offer.spot.as_ref();
    let block = offer.capacity_block.as_ref();
    PriceView {
        provider: offer.provider.clone(),
        region: offer.region.clone(),
        instance_type: offer.instance_type.clone(),
        gpu: offer.gpus.as_ref().map(|gpus| GpuView {
            model: gpus.model.clone(),
            count: gpus.count.to_f64(),
            vram_mib: gpus.vram_mib,
        }),
        vcpu: offer.vcpu,
        memory_mib: offer.memory_mib,
        price_basis: offer.unit.name(),
        currency: offer.currency().map(|currency| currency.code()),
        on_demand_hourly: hourly(offer.on_demand.as_ref()),
        on_demand_monthly: offer.hourly().and_then(|rate| {
            json_money(Money::new(rate.amount() * hours_per_month, rate.currency()))
        }),
        on_demand_per_gpu_hourly: offer.per_gpu_hour().and_then(json_rate),
        on_demand_per_vram_gib_hourly: offer.per_vram_gib_hour().and_then(json_rate),
        on_demand_per_bf16_tflops_hourly: offer.per_bf16_tflops_hour().and_then(json_rate),
        spot_hourly: hourly(spot),
        spot_date: spot.map(|quote| quote.seen_on.to_string()),
        spot_origin: spot.map(|quote| quote.origin.name()),
        interruption_band: offer.interruption.map(|(band, _)| band.name()),
        interruption_band_date: offer.interruption.map(|(_, date)| date.to_string()),
        commitment_1yr_hourly: hourly(offer.commitment_1yr.as_ref()),
        commitment_3yr_hourly: hourly(offer.commitment_3yr.as_ref()),
        reserved: offer.reserved.iter().map(reserved).collect(),
        savings_plans: offer.savings_plans.iter().filter_map(plan).collect(),
        capacity_block_hourly: hourly(block),
        capacity_block_date: block.map(|quote| quote.seen_on.to_string()),
        zones: offer
            .region
            .as_deref()
            .and_then(|region| zones(&offer.instance_type, region))
            .map(<[String]>::to_vec),
        launchable: offer.launchable,
        effective_date: stated.map(|quote| quote.effective_date.to_string()),
        seen_on: stated.map(|quote| quote.seen_on.to_string()),
        origin: stated.map(|quote| quote.origin.name()),
        source: stated.map(|quote| quote.source.clone()),
    }
}

fn reserved((term, quote): &(CommitmentTerm, PriceQuote)) -> ReservedView {
    ReservedView {
        term_years: term.years,
        payment: term.payment.name(),
        class: "standard",
        upfront: quote.instalments.and_then(|paid| paid.upfront.to_f64()),
        hourly: quote.instalments.and_then(|paid| json_rate(paid.hourly)),
        effective_hourly: json_rate(quote.rate.amount()),
        basis: quote.basis.name(),
        date: quote.seen_on.to_string(),
        origin: quote.origin.name(),
    }
}

fn plan((option, quote): &(PriceOption, PriceQuote)) -> Option<PlanView> {
    let (plan, term) = match option {
        PriceOption::Ec2InstanceSavingsPlan(term) => ("ec2-instance", term),
        PriceOption::ComputeSavingsPlan(term) => ("compute", term),
        _ => return None,
    };
    Some(PlanView {
        plan,
        term_years: term.years,
        payment: term.payment.name(),
        hourly: json_rate(quote.rate.amount()),
        basis: quote.basis.name(),
        date: quote.seen_on.to_string(),
        origin: quote.origin.name(),
    })
}

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
