//! `gpucost pricing` for programs: JSON.

use crate::analysis::Offer;
use crate::catalog::zones;
use crate::domain::{CommitmentTerm, Money, PriceOption, PriceQuote};
use crate::report::SCHEMA_VERSION;
use crate::report::shared::text::{json_document, json_money, json_rate};
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
