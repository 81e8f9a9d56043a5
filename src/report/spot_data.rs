//! `gpucost spot` for programs: JSON and CSV.

use super::SCHEMA_VERSION;
use super::gaps::GapView;
use super::text::{json_document, json_figure, json_money, json_rate, spreadsheet_safe};
use crate::analysis::{SpotAssessment, SpotReport, ZonePrice};
use crate::domain::{Currency, HourlyRate, Money};
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
    workloads: Vec<SpotView>,
    gaps: Vec<GapView>,
}

#[derive(Serialize)]
struct SpotView {
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
}

#[derive(Serialize)]
struct WorkloadView {
    id: String,
    name: String,
    account: String,
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

fn view(found: &SpotAssessment) -> SpotView {
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
            account: workload.account.clone(),
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

/// Spot for one type as CSV: one row. Prices by zone are in the JSON only.
///
/// # Errors
/// When the row cannot be written.
pub fn spot_type_csv(found: &SpotAssessment) -> Result<String, csv::Error> {
    rows(std::iter::once(found))
}

/// Spot for a fleet as CSV: one row a workload. Prices by zone are in the JSON
/// only.
///
/// # Errors
/// When a row cannot be written.
pub fn spot_fleet_csv(report: &SpotReport) -> Result<String, csv::Error> {
    rows(report.assessments.iter())
}

fn rows<'a>(found: impl Iterator<Item = &'a SpotAssessment>) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(CSV_HEADER)?;
    for one in found {
        writer.write_record(csv_row(one)?)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

const CSV_HEADER: &[&str] = &[
    "id",
    "name",
    "account",
    "purchase_option",
    "monthly_cost",
    "region",
    "instance_type",
    "instances",
    "operating_system",
    "kind",
    "restartable",
    "nodes",
    "currency",
    "on_demand_hourly",
    "on_demand_date",
    "spot_hourly",
    "spot_basis",
    "spot_date",
    "interruption_band",
    "interruption_band_date",
    "band_interruptions_per_node_hour",
    "interruptions_per_hour",
    "interruptions_basis",
    "checkpoint_cost_seconds",
    "restart_cost_seconds",
    "checkpoint_interval_seconds",
    "checkpoint_interval_basis",
    "lost_seconds_per_interruption",
    "checkpoint_share_percent",
    "overhead_percent",
    "effective_hourly",
    "naive_savings_percent",
    "effective_savings_percent",
    "naive_monthly_savings",
    "effective_monthly_savings",
    "break_even_interruptions_per_hour",
    "eligible",
    "reason",
    "risk",
];

/// The cells of a row, under the names that the JSON has.
fn csv_row(found: &SpotAssessment) -> Result<Vec<String>, csv::Error> {
    let view = serde_json::to_value(view(found)).map_err(std::io::Error::from)?;
    Ok(CSV_HEADER
        .iter()
        .map(|name| match &view[*name] {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => spreadsheet_safe(text),
            other => other.to_string(),
        })
        .collect())
}
