//! `gpucost diff --format json`.

use crate::analysis::{
    AuditDiff, ChangedField, Delta, GoneFinding, KpiDelta, PlanOutcome, UnitCostDelta,
    UnusedChange, WorkloadChange,
};
use crate::domain::{Money, PastAudit, PastFinding, PastWorkload};
use crate::report::SCHEMA_VERSION;
use crate::report::shared::kpis::json_value;
use crate::report::shared::text::{
    currency_code, json_account, json_document, json_money, json_rate,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Two audits beside each other as a JSON document.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn diff_json(diff: &AuditDiff<'_>) -> Result<String, serde_json::Error> {
    json_document(&Document::of(diff))
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: &'static str,
    gpucost_version: &'static str,
    old: SideView<'a>,
    new: SideView<'a>,
    caveats: &'a [String],
    summary: SummaryView,
    kpis: BTreeMap<&'static str, KpiView>,
    unit_costs: Vec<UnitCostView<'a>>,
    added: Vec<WorkloadView<'a>>,
    removed: Vec<WorkloadView<'a>>,
    changed: Vec<ChangeView<'a>>,
    unused_commitments: Vec<UnusedView<'a>>,
    findings_gone: Vec<GoneView<'a>>,
    findings_new: Vec<FindingView<'a>>,
}

/// A key figure, or the price of units of work.
#[derive(Serialize)]
struct KpiView {
    old: Option<f64>,
    new: Option<f64>,
    change: Option<f64>,
}

#[derive(Serialize)]
struct UnitCostView<'a> {
    name: &'a str,
    unit: &'a str,
    per: u32,
    currency: Option<&'static str>,
    cost_per_units: KpiView,
}

#[derive(Serialize)]
struct SideView<'a> {
    as_of: String,
    window_start: String,
    window_end: String,
    source: &'a str,
    gpucost_version: Option<&'a str>,
    currency: &'static str,
    instances: u64,
    gpus: u64,
    unpriced_instances: u64,
    gaps: u64,
    workloads_left_out: u64,
}

#[derive(Serialize)]
struct SummaryView {
    monthly_cost: DeltaView,
    monthly_waste: DeltaView,
    monthly_savings: DeltaView,
    workloads_added: u64,
    workloads_removed: u64,
    workloads_changed: u64,
    workloads_unchanged: u64,
    findings_gone: u64,
    findings_new: u64,
    findings_kept: u64,
    saved_by_findings_gone: Option<f64>,
    plan: Option<PlanView>,
}

#[derive(Serialize)]
struct DeltaView {
    old: Option<f64>,
    new: Option<f64>,
    change: Option<f64>,
}

#[derive(Serialize)]
struct PlanView {
    planned_monthly_savings: Option<f64>,
    monthly_saved: Option<f64>,
    storage_of_stopped: Option<f64>,
    lost_work: Option<f64>,
    snapshots: Option<f64>,
}

#[derive(Serialize)]
struct WorkloadView<'a> {
    id: &'a str,
    name: &'a str,
    account: Option<String>,
    region: &'a str,
    instance_type: &'a str,
    instances: u64,
    running: bool,
    purchase_option: &'a str,
    classification: &'a str,
    currency: Option<&'static str>,
    monthly_cost: Option<f64>,
}

#[derive(Serialize)]
struct ChangeView<'a> {
    old_id: &'a str,
    new_id: &'a str,
    name: &'a str,
    currency: Option<&'static str>,
    monthly_cost: DeltaView,
    planned_monthly_cost: Option<f64>,
    fields: Vec<FieldView<'a>>,
}

#[derive(Serialize)]
struct UnusedView<'a> {
    id: &'a str,
    name: &'a str,
    currency: Option<&'static str>,
    monthly_cost: DeltaView,
}

#[derive(Serialize)]
struct FieldView<'a> {
    field: &'static str,
    old: &'a str,
    new: &'a str,
}

#[derive(Serialize)]
struct FindingView<'a> {
    id: &'a str,
    rule: &'a str,
    workload: &'a str,
    severity: &'a str,
    title: &'a str,
    currency: Option<&'static str>,
    monthly_savings: Option<f64>,
}

#[derive(Serialize)]
struct GoneView<'a> {
    #[serde(flatten)]
    finding: FindingView<'a>,
    because: &'static str,
    workload_monthly_saved: Option<f64>,
}

fn amount(money: Option<Money>) -> Option<f64> {
    money.and_then(json_money)
}

impl<'a> Document<'a> {
    fn of(diff: &'a AuditDiff<'a>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            gpucost_version: env!("CARGO_PKG_VERSION"),
            old: side(diff.old),
            new: side(diff.new),
            caveats: &diff.caveats,
            summary: SummaryView {
                monthly_cost: delta(diff.monthly_cost),
                monthly_waste: delta(diff.monthly_waste),
                monthly_savings: delta(diff.monthly_savings),
                workloads_added: diff.added.len() as u64,
                workloads_removed: diff.removed.len() as u64,
                workloads_changed: diff.changed.len() as u64,
                workloads_unchanged: diff.unchanged,
                findings_gone: diff.gone.len() as u64,
                findings_new: diff.appeared.len() as u64,
                findings_kept: diff.kept,
                saved_by_findings_gone: amount(diff.saved_by_gone),
                plan: diff.plan.as_ref().map(plan),
            },
            kpis: diff.kpis.iter().map(kpi).collect(),
            unit_costs: diff.unit_costs.iter().map(unit_cost).collect(),
            added: diff.added.iter().map(|one| workload(one)).collect(),
            removed: diff.removed.iter().map(|one| workload(one)).collect(),
            changed: diff.changed.iter().map(change).collect(),
            unused_commitments: diff.unused.iter().map(unused).collect(),
            findings_gone: diff.gone.iter().map(gone).collect(),
            findings_new: diff.appeared.iter().map(|one| finding(one)).collect(),
        }
    }
}

fn kpi(delta: &KpiDelta) -> (&'static str, KpiView) {
    let view = KpiView {
        old: delta.old.and_then(json_value),
        new: delta.new.and_then(json_value),
        change: delta.change().and_then(json_value),
    };
    (delta.kpi.name(), view)
}

fn unit_cost<'a>(delta: &UnitCostDelta<'a>) -> UnitCostView<'a> {
    let rate = |price: Option<Money>| price.and_then(|price| json_rate(price.amount()));
    UnitCostView {
        name: &delta.one.name,
        unit: &delta.one.unit,
        per: delta.one.per,
        currency: currency_code(delta.new.or(delta.old)),
        cost_per_units: KpiView {
            old: rate(delta.old),
            new: rate(delta.new),
            change: rate(delta.change()),
        },
    }
}

fn unused<'a>(change: &UnusedChange<'a>) -> UnusedView<'a> {
    UnusedView {
        id: &change.one.id,
        name: &change.one.name,
        currency: currency_code(change.monthly_cost.new.or(change.monthly_cost.old)),
        monthly_cost: delta(change.monthly_cost),
    }
}

fn side(audit: &PastAudit) -> SideView<'_> {
    SideView {
        as_of: audit.as_of.to_string(),
        window_start: audit.window.start.to_string(),
        window_end: audit.window.end.to_string(),
        source: &audit.source,
        gpucost_version: audit.gpucost_version.as_deref(),
        currency: audit.totals.currency.code(),
        instances: audit.totals.instances,
        gpus: audit.totals.gpus,
        unpriced_instances: audit.totals.unpriced_instances,
        gaps: audit.gaps.len() as u64,
        workloads_left_out: audit.left_out_workloads,
    }
}

fn delta(delta: Delta) -> DeltaView {
    DeltaView {
        old: amount(delta.old),
        new: amount(delta.new),
        change: amount(delta.change()),
    }
}

fn plan(outcome: &PlanOutcome) -> PlanView {
    PlanView {
        planned_monthly_savings: json_money(outcome.planned),
        monthly_saved: json_money(outcome.saved),
        storage_of_stopped: json_money(outcome.storage_of_stopped),
        lost_work: json_money(outcome.lost_work),
        snapshots: json_money(outcome.snapshots),
    }
}

fn workload(one: &PastWorkload) -> WorkloadView<'_> {
    WorkloadView {
        id: &one.id,
        name: &one.name,
        account: json_account(&one.account),
        region: &one.region,
        instance_type: &one.instance_type,
        instances: one.instances.len() as u64,
        running: one.running,
        purchase_option: &one.purchase_option,
        classification: &one.classification,
        currency: currency_code(one.monthly_cost),
        monthly_cost: amount(one.monthly_cost),
    }
}

fn change<'a>(change: &'a WorkloadChange<'_>) -> ChangeView<'a> {
    let field = |field: &'a ChangedField| FieldView {
        field: field.name,
        old: &field.old,
        new: &field.new,
    };
    ChangeView {
        old_id: &change.old.id,
        new_id: &change.new.id,
        name: &change.new.name,
        currency: currency_code(change.new.monthly_cost.or(change.old.monthly_cost)),
        monthly_cost: delta(change.monthly_cost()),
        planned_monthly_cost: amount(change.old.planned_monthly_cost),
        fields: change.fields.iter().map(field).collect(),
    }
}

fn finding(one: &PastFinding) -> FindingView<'_> {
    FindingView {
        id: &one.id,
        rule: &one.rule,
        workload: &one.workload,
        severity: &one.severity,
        title: &one.title,
        currency: currency_code(one.monthly_savings),
        monthly_savings: amount(one.monthly_savings),
    }
}

fn gone<'a>(one: &'a GoneFinding<'_>) -> GoneView<'a> {
    GoneView {
        finding: FindingView {
            currency: currency_code(one.finding.monthly_savings.or(one.workload_saved)),
            ..finding(one.finding)
        },
        because: one.because.name(),
        workload_monthly_saved: amount(one.workload_saved),
    }
}
