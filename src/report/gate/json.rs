//! `check --format json`: the layout that scripts read. Only the types here are
//! serialized.

use super::caveats::Caveats;
use crate::analysis::Audit;
use crate::analysis::gate::{
    BaselineState, BaselineUse, Check, GateReport, MissingData, Place, SettingChange, SettingsUse,
    Suppressed, Violation,
};
use crate::report::SCHEMA_VERSION;
use crate::report::shared::gaps::GapView;
use crate::report::shared::text::{json_document, json_money};
use serde::Serialize;

/// The gate's report as a JSON document.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn gate_json(report: &GateReport, audit: &Audit) -> Result<String, serde_json::Error> {
    let caveats = Caveats::of(audit);
    json_document(&Document {
        schema_version: SCHEMA_VERSION,
        gpucost_version: env!("CARGO_PKG_VERSION"),
        as_of: audit.as_of.to_string(),
        source: audit.source.name(),
        outcome: report.outcome.name(),
        policy: report.policy_file.clone(),
        settings: report.settings.as_ref().map(settings),
        summary: Summary {
            instances: audit.totals.instances,
            currency: audit.totals.currency.code(),
            monthly_cost: audit.totals.monthly_cost.and_then(json_money),
            monthly_waste: audit.totals.monthly_waste.and_then(json_money),
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
        baseline: report.baseline.as_ref().map(baseline),
        gaps: GapView::list(&audit.gaps),
    })
}

#[derive(Serialize)]
struct Document {
    schema_version: &'static str,
    gpucost_version: &'static str,
    as_of: String,
    source: &'static str,
    outcome: &'static str,
    policy: Option<String>,
    settings: Option<SettingsView>,
    summary: Summary,
    checks: Vec<CheckView>,
    violations: Vec<ViolationView>,
    notices: Vec<ViolationView>,
    suppressed: Vec<SuppressedView>,
    missing_data: Vec<MissingDataView>,
    baseline: Option<BaselineView>,
    gaps: Vec<GapView>,
}

#[derive(Serialize)]
pub(in crate::report) struct SettingsView {
    file: String,
    changes: Vec<SettingView>,
}

#[derive(Serialize)]
struct SettingView {
    key: String,
    value: String,
    default: Option<String>,
}

#[derive(Serialize)]
struct Summary {
    instances: u64,
    currency: &'static str,
    monthly_cost: Option<f64>,
    monthly_waste: Option<f64>,
}

#[derive(Serialize)]
pub(in crate::report) struct CheckView {
    rule: String,
    scope: String,
    limit: String,
    observed: Option<String>,
    outcome: &'static str,
    place: Option<PlaceView>,
}

#[derive(Serialize)]
pub(in crate::report) struct ViolationView {
    fingerprint: String,
    rule: String,
    severity: &'static str,
    scope: String,
    workload: Option<String>,
    title: String,
    observed: String,
    limit: String,
    monthly: Option<f64>,
    currency: Option<&'static str>,
    place: Option<PlaceView>,
    steps: Vec<String>,
    caveats: Vec<String>,
    baseline_state: Option<&'static str>,
    before: Option<String>,
}

#[derive(Serialize)]
struct PlaceView {
    file: String,
    line: Option<usize>,
    address: Option<String>,
}

#[derive(Serialize)]
pub(in crate::report) struct SuppressedView {
    violation: ViolationView,
    owner: String,
    reason: String,
    expires: String,
}

#[derive(Serialize)]
pub(in crate::report) struct MissingDataView {
    what: String,
    #[serde(rename = "where")]
    place: String,
    reason: String,
    hint: String,
    rules: Vec<String>,
}

#[derive(Serialize)]
struct BaselineView {
    file: String,
    known: u64,
    worse: u64,
    new: u64,
    gone: u64,
    cautions: Vec<String>,
}

pub(in crate::report) fn settings(used: &SettingsUse) -> SettingsView {
    let view = |one: &SettingChange| SettingView {
        key: one.key.clone(),
        value: one.value.clone(),
        default: one.default.clone(),
    };
    SettingsView {
        file: used.file.clone(),
        changes: used.changes.iter().map(view).collect(),
    }
}

pub(in crate::report) fn check(check: &Check) -> CheckView {
    CheckView {
        rule: check.rule.clone(),
        scope: check.scope.clone(),
        limit: check.limit.clone(),
        observed: check.observed.clone(),
        outcome: check.outcome.name(),
        place: place(&check.place),
    }
}

pub(in crate::report) fn views(all: &[Violation], caveats: &Caveats<'_>) -> Vec<ViolationView> {
    all.iter().map(|one| violation(one, caveats)).collect()
}

fn violation(violation: &Violation, caveats: &Caveats<'_>) -> ViolationView {
    ViolationView {
        fingerprint: violation.fingerprint.clone(),
        rule: violation.rule.clone(),
        severity: violation.severity.name(),
        scope: violation.scope.clone(),
        workload: violation.workload.clone(),
        title: violation.title.clone(),
        observed: violation.observed.clone(),
        limit: violation.limit.clone(),
        monthly: violation.monthly.and_then(json_money),
        currency: violation.monthly.map(|monthly| monthly.currency().code()),
        place: place(&violation.place),
        steps: violation.steps.clone(),
        caveats: caveats.about(violation).to_vec(),
        baseline_state: violation.baseline_state.map(BaselineState::name),
        before: violation.before.clone(),
    }
}

fn place(place: &Place) -> Option<PlaceView> {
    match place {
        Place::PolicyLine { file, line } => Some(PlaceView {
            file: file.clone(),
            line: Some(*line),
            address: None,
        }),
        Place::PlanResource {
            file,
            address,
            line,
        } => Some(PlaceView {
            file: file.clone(),
            line: *line,
            address: Some(address.clone()),
        }),
        Place::Nowhere => None,
    }
}

pub(in crate::report) fn suppressed(
    suppressed: &Suppressed,
    caveats: &Caveats<'_>,
) -> SuppressedView {
    SuppressedView {
        violation: violation(&suppressed.violation, caveats),
        owner: suppressed.by.owner.clone(),
        reason: suppressed.by.reason.clone(),
        expires: suppressed.by.expires.to_string(),
    }
}

pub(in crate::report) fn missing_data(missing_data: &MissingData) -> MissingDataView {
    MissingDataView {
        what: missing_data.what.to_string(),
        place: missing_data.place.clone(),
        reason: missing_data.reason.clone(),
        hint: missing_data.hint.clone(),
        rules: missing_data.rules.clone(),
    }
}

fn baseline(used: &BaselineUse) -> BaselineView {
    BaselineView {
        file: used.file.clone(),
        known: used.known,
        worse: used.worse,
        new: used.new,
        gone: used.gone,
        cautions: used.cautions.clone(),
    }
}
