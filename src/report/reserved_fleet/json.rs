//! `gpucost reserved` of a fleet for programs: JSON.

use super::concurrency;
use crate::analysis::{
    CapacityUse, FamilyPool, PoolOption, ReservedFleet, ReservedPool, planned_option,
};
use crate::domain::PriceQuote;
use crate::report::SCHEMA_VERSION;
use crate::report::audit::purchase_json::{PurchaseView, purchase};
use crate::report::shared::gaps::GapView;
use crate::report::shared::text::{currency_code, json_document, json_money, json_rate};
use crate::savings::{CommitmentUse, Purchase};
use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::Serialize;

#[derive(Serialize)]
struct Document {
    schema_version: &'static str,
    as_of: String,
    window_start: String,
    window_end: String,
    sized_on: &'static str,
    reserved_pools: Vec<ReservedView>,
    savings_plan_pools: Vec<FamilyView>,
    commitments: Vec<CommitmentView>,
    capacity_reservations: Vec<CapacityView>,
    gaps: Vec<GapView>,
}

#[derive(Serialize)]
pub(super) struct ReservedView {
    account: Option<String>,
    region: String,
    instance_type: String,
    operating_system: &'static str,
    tenancy: &'static str,
    size_flexible: bool,
    currency: &'static str,
    on_demand_hourly: Option<f64>,
    on_demand_date: String,
    on_demand_origin: &'static str,
    hours: u64,
    peak: u32,
    concurrency: Vec<ConcurrencyView>,
    options: Vec<OptionView>,
    purchase: Option<PurchaseView>,
    capacity_block_hourly: Option<f64>,
    capacity_block_date: Option<String>,
    capacity_block_origin: Option<&'static str>,
}

/// So many instances, from the first number to the last, ran in the same hours.
#[derive(Serialize)]
struct ConcurrencyView {
    from: u32,
    to: u32,
    share: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct FamilyView {
    account: Option<String>,
    region: String,
    family: String,
    instance_types: Vec<String>,
    currency: &'static str,
    hours: u64,
    on_demand_peak_hourly: Option<f64>,
    on_demand_mean_hourly: Option<f64>,
    options: Vec<OptionView>,
    purchase: Option<PurchaseView>,
}

#[derive(Serialize)]
struct OptionView {
    term_years: u8,
    payment: &'static str,
    planned: bool,
    /// Of reserved instances.
    count: Option<u64>,
    /// Of a savings plan.
    commitment_hourly: Option<f64>,
    effective_hourly: Option<f64>,
    upfront_total: Option<f64>,
    break_even_utilization: Option<f64>,
    break_even_month: Option<u32>,
    full_use_share: Option<f64>,
    monthly_savings: Option<f64>,
    committed_total: Option<f64>,
    downside_when_halved: Option<f64>,
    basis: &'static str,
    date: Option<String>,
    origin: Option<&'static str>,
}

#[derive(Serialize)]
struct CommitmentView {
    id: String,
    kind: &'static str,
    name: String,
    currency: &'static str,
    monthly_cost: Option<f64>,
    utilization: Option<f64>,
    coverage: Option<f64>,
    unused_monthly: Option<f64>,
    end: String,
    days_to_expiry: i64,
}

#[derive(Serialize)]
struct CapacityView {
    id: String,
    region: String,
    zone: String,
    instance_type: String,
    total: u32,
    available: u32,
    capacity_block: bool,
    currency: Option<&'static str>,
    unused_monthly: Option<f64>,
    end: Option<String>,
}

/// The commitments of a fleet as JSON.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn reserved_fleet_json(fleet: &ReservedFleet) -> Result<String, serde_json::Error> {
    json_document(&Document {
        schema_version: SCHEMA_VERSION,
        as_of: fleet.as_of.to_string(),
        window_start: fleet.window.start.to_string(),
        window_end: fleet.window.end.to_string(),
        sized_on: if fleet.is_today {
            "usage-today"
        } else {
            "usage-after-plan"
        },
        reserved_pools: fleet.reserved.iter().map(reserved).collect(),
        savings_plan_pools: fleet.families.iter().map(family).collect(),
        commitments: fleet.commitments.iter().map(commitment).collect(),
        capacity_reservations: fleet.capacity.iter().map(capacity).collect(),
        gaps: GapView::list(&fleet.gaps),
    })
}

/// Shares have four decimals, half away from zero.
fn share(value: Decimal) -> Option<f64> {
    let strategy = RoundingStrategy::MidpointAwayFromZero;
    value.round_dp_with_strategy(4, strategy).to_f64()
}

pub(super) fn reserved(pool: &ReservedPool) -> ReservedView {
    let block = pool.capacity_block.as_ref();
    ReservedView {
        account: pool.account.clone(),
        region: pool.key.region.clone(),
        instance_type: pool.key.instance_type.clone(),
        operating_system: pool.key.operating_system.name(),
        tenancy: pool.key.tenancy.name(),
        size_flexible: pool.covers_other_sizes,
        currency: pool.on_demand.rate.currency().code(),
        on_demand_hourly: json_rate(pool.on_demand.rate.amount()),
        on_demand_date: pool.on_demand.seen_on.to_string(),
        on_demand_origin: pool.on_demand.origin.name(),
        hours: pool.usage.hours(),
        peak: pool.usage.peak(),
        concurrency: concurrency(&pool.usage)
            .into_iter()
            .map(|(from, to, ran)| ConcurrencyView {
                from,
                to,
                share: share(ran),
            })
            .collect(),
        options: options(&pool.options, pool.purchase.as_ref(), true),
        purchase: pool.purchase.as_ref().map(purchase),
        capacity_block_hourly: block.and_then(|quote| json_rate(quote.rate.amount())),
        capacity_block_date: block.map(|quote| quote.seen_on.to_string()),
        capacity_block_origin: block.map(|quote| quote.origin.name()),
    }
}

pub(super) fn family(pool: &FamilyPool) -> FamilyView {
    FamilyView {
        account: pool.account.clone(),
        region: pool.region.clone(),
        family: pool.family.clone(),
        instance_types: pool.instance_types.clone(),
        currency: pool.on_demand_peak.currency().code(),
        hours: pool.hours,
        on_demand_peak_hourly: json_rate(pool.on_demand_peak.amount()),
        on_demand_mean_hourly: json_rate(pool.on_demand_mean.amount()),
        options: options(&pool.options, pool.purchase.as_ref(), false),
        purchase: pool.purchase.as_ref().map(purchase),
    }
}

fn options(all: &[PoolOption], purchase: Option<&Purchase>, instances: bool) -> Vec<OptionView> {
    let planned = planned_option(all, purchase);
    let view = |(index, option): (usize, &PoolOption)| {
        let oldest = option.quotes.iter().min_by_key(|quote| quote.seen_on);
        let derived = |quote: &PriceQuote| quote.basis.name() == "derived";
        OptionView {
            term_years: option.term.years,
            payment: option.term.payment.name(),
            planned: planned == Some(index),
            count: option.amount.to_u64().filter(|_| instances),
            commitment_hourly: json_rate(option.amount).filter(|_| !instances),
            effective_hourly: json_rate(option.hourly.amount()),
            upfront_total: option
                .paid
                .upfront
                .round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero)
                .to_f64(),
            break_even_utilization: share(option.break_even_utilization),
            break_even_month: option.break_even_month,
            full_use_share: option.full_use_share.and_then(share),
            monthly_savings: json_money(option.monthly_savings),
            committed_total: json_money(option.committed),
            downside_when_halved: json_money(option.downside),
            basis: if option.quotes.iter().any(derived) {
                "derived"
            } else {
                "observed"
            },
            date: oldest.map(|quote| quote.seen_on.to_string()),
            origin: oldest.map(|quote| quote.origin.name()),
        }
    };
    all.iter().enumerate().map(view).collect()
}

fn commitment(one: &CommitmentUse) -> CommitmentView {
    CommitmentView {
        id: one.id.clone(),
        kind: one.kind.name(),
        name: one.name.clone(),
        currency: one.monthly_cost.currency().code(),
        monthly_cost: json_money(one.monthly_cost),
        utilization: one.utilization.and_then(share),
        coverage: one.coverage().and_then(share),
        unused_monthly: one.unused_monthly.and_then(json_money),
        end: one.end.to_string(),
        days_to_expiry: one.days_to_expiry,
    }
}

fn capacity(one: &CapacityUse) -> CapacityView {
    let held = &one.reservation;
    CapacityView {
        id: held.id.clone(),
        region: held.region.clone(),
        zone: held.zone.clone(),
        instance_type: held.instance_type.clone(),
        total: held.total,
        available: held.available,
        capacity_block: held.capacity_block,
        currency: currency_code(one.unused_monthly),
        unused_monthly: one.unused_monthly.and_then(json_money),
        end: held.end.map(|end| end.to_string()),
    }
}
