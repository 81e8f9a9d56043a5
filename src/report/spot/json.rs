//! `gpucost spot` for programs: JSON.

use crate::analysis::{SpotAssessment, SpotReport, ZonePrice};
use crate::domain::{Currency, HourlyRate, Money};
use crate::report::SCHEMA_VERSION;
use crate::report::shared::gaps::GapView;
use crate::report::shared::text::{
    json_account, json_document, json_figure, json_money, json_rate,
};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;

#[derive(Serialize)]
struct TypeDocument {
    schema_version: &'static str,
    spot: SpotView,
}

#[derive(Serialize)]
struct FleetDocument {
    schema_version: &'static str,
    as_of: String,
    sized_on: &'static str,
    workloads: Vec<SpotView>,
    gaps: Vec<GapView>,
}

#[derive(Serialize)]
pub(super) struct SpotView {
    #[serde(flatten)]
    workload: Option<WorkloadView>,
    region: String,
    instance_type: String,
    instances: usize,
    operating_system: &'static str,
    kind: &'static str,
    restartable: bool,
    nodes: u32,
    currency: Option<&'static str>,
    on_demand_hourly: Option<f64>,
    on_demand_date: Option<String>,
    spot_hourly: Option<f64>,
    spot_basis: Option<&'static str>,
    spot_date: Option<String>,
    zones: Vec<ZoneView>,
    interruption_band: Option<&'static str>,
    interruption_band_date: Option<String>,
    band_interruptions_per_node_hour: Option<f64>,
    interruptions_per_hour: Option<f64>,
    interruptions_basis: Option<&'static str>,
    checkpoint_cost_seconds: i64,
    restart_cost_seconds: i64,
    checkpoint_interval_seconds: Option<i64>,
    checkpoint_interval_basis: &'static str,
    lost_seconds_per_interruption: Option<i64>,
    checkpoint_share_percent: Option<f64>,
    overhead_percent: Option<f64>,
    effective_hourly: Option<f64>,
    naive_savings_percent: Option<f64>,
    effective_savings_percent: Option<f64>,
    naive_monthly_savings: Option<f64>,
    effective_monthly_savings: Option<f64>,
    break_even_interruptions_per_hour: Option<f64>,
    eligible: bool,
    reason: Option<String>,
    risk: Option<&'static str>,
    caveats: Vec<String>,
}

#[derive(Serialize)]
struct WorkloadView {
    id: String,
    name: String,
    account: Option<String>,
    purchase_option: &'static str,
    monthly_cost: Option<f64>,
}

#[derive(Serialize)]
struct ZoneView {
    zone: String,
    mean: Option<f64>,
    now: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    p95: Option<f64>,
    volatility_percent: Option<f64>,
    date: String,
    origin: &'static str,
}

/// Spot for one type as a JSON document.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn spot_type_json(found: &SpotAssessment) -> Result<String, serde_json::Error> {
    json_document(&TypeDocument {
        schema_version: SCHEMA_VERSION,
        spot: view(found),
    })
}

/// Spot for a fleet as a JSON document.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn spot_fleet_json(report: &SpotReport) -> Result<String, serde_json::Error> {
    json_document(&FleetDocument {
        schema_version: SCHEMA_VERSION,
        as_of: report.as_of.to_string(),
        sized_on: if report.is_today {
            "usage-today"
        } else {
            "usage-after-plan"
        },
        workloads: report.assessments.iter().map(view).collect(),
        gaps: GapView::list(&report.gaps),
    })
}

/// Interruptions an hour to six decimals: they are rare.
fn per_hour(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// The currency of everything that has a price.
fn currency(found: &SpotAssessment) -> Option<Currency> {
    let zones = found.zones.iter().map(|zone| &zone.quote);
    let mut quotes = found.on_demand.iter().chain(zones);
    let workload = found.workload.as_ref();
    let cost = workload.and_then(|workload| workload.monthly_cost);
    let of_quote = quotes.next().map(|quote| quote.rate.currency());
    of_quote.or(cost.map(Money::currency))
}

pub(super) fn view(found: &SpotAssessment) -> SpotView {
    let figures = found.figures.as_ref();
    let interruptions = figures.map(|figures| figures.interruptions);
    let rate = |rate: Option<HourlyRate>| rate.and_then(|rate| json_rate(rate.amount()));
    let percent = |share: Option<Decimal>| {
        share.and_then(|share| Some(json_figure((share * Decimal::ONE_HUNDRED).to_f64()?)))
    };
    let plain = |percent: Option<Decimal>| percent.and_then(|p| Some(json_figure(p.to_f64()?)));
    let checkpointing = &found.job.checkpointing;
    SpotView {
        workload: found.workload.as_ref().map(|workload| WorkloadView {
            id: workload.id.clone(),
            name: workload.name.clone(),
            account: json_account(&workload.account),
            purchase_option: workload.purchase_option.name(),
            monthly_cost: workload.monthly_cost.and_then(json_money),
        }),
        region: found.key.region.clone(),
        instance_type: found.key.instance_type.clone(),
        instances: found.instances,
        operating_system: found.key.operating_system.name(),
        kind: found.job.kind.name(),
        restartable: found.job.restartable,
        nodes: found.job.nodes,
        currency: currency(found).map(Currency::code),
        on_demand_hourly: rate(found.on_demand.as_ref().map(|quote| quote.rate)),
        on_demand_date: found
            .on_demand
            .as_ref()
            .map(|quote| quote.seen_on.to_string()),
        spot_hourly: rate(figures.map(|figures| figures.spot.rate)),
        spot_basis: figures.map(|figures| figures.spot.basis.name()),
        spot_date: figures.map(|figures| figures.spot.seen_on.to_string()),
        zones: found.zones.iter().map(zone).collect(),
        interruption_band: found.band.map(|(band, _)| band.name()),
        interruption_band_date: found.band.map(|(_, date)| date.to_string()),
        band_interruptions_per_node_hour: interruptions
            .and_then(|known| known.band_per_node_hour)
            .map(per_hour),
        interruptions_per_hour: interruptions.map(|known| per_hour(known.per_hour)),
        interruptions_basis: interruptions.map(|known| {
            if known.is_prudence {
                "prudence"
            } else {
                "band"
            }
        }),
        checkpoint_cost_seconds: checkpointing.cost.as_secs(),
        restart_cost_seconds: checkpointing.restart.as_secs(),
        checkpoint_interval_seconds: figures
            .map(|figures| figures.checkpoint_interval.as_secs())
            .or(checkpointing.interval.map(|given| given.as_secs())),
        checkpoint_interval_basis: if checkpointing.interval.is_some() {
            "given"
        } else {
            "best"
        },
        lost_seconds_per_interruption: figures
            .map(|figures| figures.lost_per_interruption.as_secs()),
        checkpoint_share_percent: percent(figures.map(|figures| figures.checkpoint_share)),
        overhead_percent: percent(figures.map(|figures| figures.overhead)),
        effective_hourly: rate(figures.and_then(|figures| figures.effective)),
        naive_savings_percent: plain(figures.map(|figures| figures.naive_savings_percent())),
        effective_savings_percent: plain(
            figures.and_then(|figures| figures.effective_savings_percent()),
        ),
        naive_monthly_savings: found.naive_monthly_savings.and_then(json_money),
        effective_monthly_savings: found.effective_monthly_savings.and_then(json_money),
        break_even_interruptions_per_hour: figures
            .and_then(|figures| figures.break_even_per_hour)
            .map(per_hour),
        eligible: found.eligibility.is_ok(),
        reason: found.eligibility.as_ref().err().cloned(),
        risk: found.eligibility.as_ref().ok().map(|risk| risk.name()),
        caveats: found.caveats.clone(),
    }
}

fn zone(price: &ZonePrice) -> ZoneView {
    let history = price.history.as_ref();
    ZoneView {
        zone: price.zone.clone(),
        mean: json_rate(price.quote.rate.amount()),
        now: history.and_then(|history| json_rate(history.now)),
        min: history.and_then(|history| json_rate(history.min)),
        max: history.and_then(|history| json_rate(history.max)),
        p95: history.and_then(|history| json_rate(history.p95)),
        volatility_percent: history
            .and_then(|history| Some(json_figure(history.volatility_percent.to_f64()?))),
        date: price.quote.seen_on.to_string(),
        origin: price.quote.origin.name(),
    }
}
