//! `check --terraform-plan --format json`: the layout that scripts read. Only
//! the types here are serialized.

use crate::analysis::gate::GateReport;
use crate::analysis::{PlannedChange, PlannedRow, PlannedSide, PlannedTotals};
use crate::domain::{Currency, Missing, Planned};
use crate::report::SCHEMA_VERSION;
use crate::report::gate::caveats::Caveats;
use crate::report::gate::json::{
    CheckView, MissingDataView, SettingsView, SuppressedView, ViolationView, check, missing_data,
    settings, suppressed, views,
};
use crate::report::shared::gaps::GapView;
use crate::report::shared::text::{json_document, json_money, json_rate};
use jiff::Timestamp;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;
use std::collections::BTreeMap;

/// A plan and the gate's report on it as a JSON document. `plan` is what the user
/// calls the plan; `unjudged` are rules that a plan cannot be held against.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn terraform_json(
    change: &PlannedChange,
    report: &GateReport,
    unjudged: &[&str],
    plan: &str,
    as_of: Timestamp,
) -> Result<String, serde_json::Error> {
    // A plan has no findings.
    let caveats = Caveats::default();
    json_document(&Document {
        schema_version: SCHEMA_VERSION,
        gpucost_version: env!("CARGO_PKG_VERSION"),
        as_of: as_of.to_string(),
        source: "terraform-plan",
        outcome: report.outcome.name(),
        policy: report.policy_file.as_deref(),
        settings: report.settings.as_ref().map(settings),
        plan: PlanView {
            file: plan,
            terraform_version: change.terraform_version.as_deref(),
            resources: change.resources,
            other_providers: &change.other_providers,
            nothing: change.nothing(),
            hours_per_month: change.hours_per_month.to_f64(),
            instances_before: change.instances_before,
            instances_after: change.instances_after,
            unpriced: change.unpriced,
            totals: change.totals.iter().map(totals).collect(),
            changes: change.rows.iter().map(row).collect(),
        },
        checks: report.checks.iter().map(check).collect(),
        violations: views(&report.violations, &caveats),
        notices: views(&report.notices, &caveats),
        suppressed: report
            .suppressed
            .iter()
            .map(|one| suppressed(one, &caveats))
            .collect(),
        missing_data: report.missing_data.iter().map(missing_data).collect(),
        unjudged,
        gaps: GapView::list(&change.gaps),
    })
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: &'static str,
    gpucost_version: &'static str,
    as_of: String,
    source: &'static str,
    outcome: &'static str,
    policy: Option<&'a str>,
    settings: Option<SettingsView>,
    plan: PlanView<'a>,
    checks: Vec<CheckView>,
    violations: Vec<ViolationView>,
    notices: Vec<ViolationView>,
    suppressed: Vec<SuppressedView>,
    missing_data: Vec<MissingDataView>,
    unjudged: &'a [&'a str],
    gaps: Vec<GapView>,
}

#[derive(Serialize)]
struct PlanView<'a> {
    file: &'a str,
    terraform_version: Option<&'a str>,
    resources: u64,
    other_providers: &'a BTreeMap<String, u64>,
    nothing: Option<String>,
    hours_per_month: Option<f64>,
    instances_before: u64,
    instances_after: u64,
    unpriced: u64,
    totals: Vec<TotalsView>,
    changes: Vec<RowView<'a>>,
}

#[derive(Serialize)]
struct TotalsView {
    currency: &'static str,
    monthly_before: Option<f64>,
    monthly_after: Option<f64>,
    monthly_delta: Option<f64>,
}

#[derive(Serialize)]
struct RowView<'a> {
    address: &'a str,
    resource_type: &'a str,
    action: &'static str,
    currency: Option<&'static str>,
    monthly_delta: Option<f64>,
    before: Option<SideView<'a>>,
    after: Option<SideView<'a>>,
}

#[derive(Serialize)]
struct SideView<'a> {
    instance_types: Option<&'a [String]>,
    more_types: bool,
    count: Option<u64>,
    on_demand: Option<u64>,
    spot: Option<u64>,
    capacity_block: Option<u64>,
    most: Option<u64>,
    gpus: Option<f64>,
    region: Option<&'a str>,
    zone: Option<&'a str>,
    account: Option<&'a str>,
    operating_system: Option<&'static str>,
    tenancy: Option<&'static str>,
    tags: &'a BTreeMap<String, Option<String>>,
    more_tags: bool,
    unknown: Vec<&'static str>,
    hourly: Option<f64>,
    monthly_cost: Option<f64>,
    prices: Vec<PriceView<'a>>,
}

#[derive(Serialize)]
struct PriceView<'a> {
    option: String,
    instances: u64,
    hourly: Option<f64>,
    origin: &'static str,
    seen_on: String,
    source: &'a str,
}

fn totals((currency, sums): (&Currency, &PlannedTotals)) -> TotalsView {
    TotalsView {
        currency: currency.code(),
        monthly_before: json_money(sums.before),
        monthly_after: json_money(sums.after),
        monthly_delta: json_money(sums.delta),
    }
}

fn row(row: &PlannedRow) -> RowView<'_> {
    RowView {
        address: &row.address,
        resource_type: &row.resource_type,
        action: row.action.name(),
        currency: row.currency().map(Currency::code),
        monthly_delta: row.monthly_delta().and_then(json_money),
        before: row.before.as_ref().map(side),
        after: row.after.as_ref().map(side),
    }
}

fn side(side: &PlannedSide) -> SideView<'_> {
    let instances = &side.instances;
    let payment = instances.payment.as_ref().ok();
    let types = instances.types.as_slice();
    SideView {
        instance_types: (!types.is_empty()).then_some(types),
        more_types: instances.more_types.is_some(),
        count: side.count,
        on_demand: payment.map(|payment| payment.on_demand),
        spot: payment.map(|payment| payment.spot),
        capacity_block: payment.map(|payment| payment.capacity_block),
        most: instances.most,
        gpus: side.gpus.and_then(|gpus| gpus.to_f64()),
        region: instances.region.as_deref().ok(),
        zone: instances.zone.as_deref(),
        account: instances.account.as_deref(),
        operating_system: instances
            .operating_system
            .as_ref()
            .ok()
            .map(|system| system.name()),
        tenancy: instances
            .tenancy
            .as_ref()
            .ok()
            .map(|tenancy| tenancy.name()),
        tags: &instances.tags,
        more_tags: instances.more_tags,
        unknown: unknown(side),
        hourly: hourly(side),
        monthly_cost: side.monthly.as_ref().ok().copied().and_then(json_money),
        prices: side
            .quotes
            .iter()
            .map(|(key, instances, quote)| PriceView {
                option: key.option.to_string(),
                instances: *instances,
                hourly: json_rate(quote.rate.amount()),
                origin: quote.origin.name(),
                seen_on: quote.seen_on.to_string(),
                source: &quote.source,
            })
            .collect(),
    }
}

fn hourly(side: &PlannedSide) -> Option<f64> {
    side.monthly.as_ref().ok()?;
    let all = side.quotes.iter();
    json_rate(
        all.map(|(_, number, quote)| quote.rate.amount() * Decimal::from(*number))
            .sum(),
    )
}

/// What is known only after apply.
fn unknown(side: &PlannedSide) -> Vec<&'static str> {
    fn is_open<T>(planned: &Planned<T>) -> bool {
        matches!(planned, Err(Missing::AfterApply))
    }
    let instances = &side.instances;
    let is_type_open = instances.more_types == Some(Missing::AfterApply);
    let is_market_open = instances.count.is_ok() && is_open(&instances.payment);
    let open = [
        ("count", is_open(&instances.count)),
        ("instance_types", is_type_open),
        ("market", is_market_open),
        ("operating_system", is_open(&instances.operating_system)),
        ("region", is_open(&instances.region)),
        ("tags", instances.more_tags),
        ("tenancy", is_open(&instances.tenancy)),
    ];
    let open = open.into_iter().filter(|(_, is_open)| *is_open);
    open.map(|(what, _)| what).collect()
}
