//! `audit --format json`: the layout that users script against. Only the types
//! here are serialized, so a refactor elsewhere cannot change it by accident.

use super::finding_json::FindingView;
use super::kpis_json::{UnitCostView, kpis};
use crate::analysis::{Audit, AuditedWorkload, Grouping};
use crate::domain::{
    Action, Classification, CommittedCost, Finding, GpuUsage, Money, PriceOrigin, TagFilter,
    UtilizationSummary, Workload,
};
use crate::report::SCHEMA_VERSION;
use crate::report::doc::{Object, Record};
use crate::report::groups::GroupingView;
use crate::report::promises::{purchase, purchase_row};
use crate::report::shared::gaps::GapView;
use crate::report::shared::text::{
    Each, currency_code, json_account, json_document, json_figure, json_money, json_rate,
};
use crate::savings::{Purchase, UnusedCommitment};
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;
use std::collections::BTreeMap;

/// The audit as a JSON document, with its groups where they were asked for.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn audit_json(audit: &Audit, groups: Option<&Grouping>) -> Result<String, serde_json::Error> {
    let mut document = Document::of(audit);
    match groups {
        Some(by @ Grouping::Workloads(_)) => document.groups = Some(GroupingView::of(by)),
        Some(by @ Grouping::Claims(_)) => document.showback = Some(GroupingView::of(by)),
        None => {}
    }
    json_document(&document)
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: &'static str,
    gpucost_version: &'static str,
    as_of: String,
    scope: Scope,
    prices: Prices,
    summary: Summary,
    kpis: BTreeMap<&'static str, Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit_costs: Option<Vec<UnitCostView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<GroupingView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    showback: Option<GroupingView>,
    workloads: Each<'a, AuditedWorkload, WorkloadView>,
    purchases: Vec<Object>,
    unused_commitments: Vec<UnusedView>,
    findings: Each<'a, Finding, FindingView>,
    gaps: Vec<GapView>,
    api: Api,
}

#[derive(Serialize)]
struct Scope {
    accounts: Vec<String>,
    regions: Vec<String>,
    tag_filters: Vec<TagFilterView>,
    window_start: String,
    window_end: String,
    source: &'static str,
}

#[derive(Serialize)]
struct TagFilterView {
    key: String,
    value: String,
    excluded: bool,
}

#[derive(Serialize)]
struct Prices {
    currency: &'static str,
    origins: BTreeMap<&'static str, u64>,
    oldest_effective_date: Option<String>,
}

#[derive(Serialize)]
struct Summary {
    instances: u64,
    stopped_instances: u64,
    gpus: u64,
    monthly_cost: Option<f64>,
    planned_monthly_cost: Option<f64>,
    monthly_savings: Option<f64>,
    monthly_waste: Option<f64>,
    monthly_optimization: Option<f64>,
    savings_percent: Option<f64>,
    annual_savings: Option<f64>,
    committed_monthly_cost: Option<f64>,
    unused_monthly_cost: Option<f64>,
    plan_risk: &'static str,
    savings_by_action: BTreeMap<&'static str, Option<f64>>,
    by_classification: BTreeMap<&'static str, ClassView>,
    funnel: FunnelView,
    unpriced_instances: u64,
    ignored_workloads: u64,
}

/// What is paid for and does not run.
#[derive(Serialize)]
struct UnusedView {
    id: String,
    kind: &'static str,
    name: String,
    account: Option<String>,
    region: Option<String>,
    currency: Option<&'static str>,
    monthly_cost: Option<f64>,
    committed_until: Option<String>,
    detail: String,
    plan: PlanView,
}

/// One instance of a workload.
#[derive(Serialize)]
struct MemberView {
    id: String,
    zone: Option<String>,
    running: bool,
    state: Option<&'static str>,
    confidence: Option<&'static str>,
    ignored: Option<String>,
    capacity_reservation: Option<String>,
    running_share: Option<f64>,
    monthly_cost: Option<f64>,
}

#[derive(Serialize)]
struct ClassView {
    workloads: u64,
    instances: u64,
    gpus: u64,
    monthly_cost: Option<f64>,
}

#[derive(Serialize)]
struct FunnelView {
    total_gpus: u64,
    allocated_gpus: u64,
    unknown_allocation_gpus: u64,
    active_gpus: u64,
    effective_gpus: f64,
    unmeasured_gpus: u64,
}

#[derive(Serialize)]
struct WorkloadView {
    id: String,
    name: String,
    account: Option<String>,
    region: String,
    kind: &'static str,
    kind_basis: &'static str,
    instances: Vec<String>,
    members: Vec<MemberView>,
    instance_type: String,
    gpu: Option<GpuView>,
    running: bool,
    purchase_option: &'static str,
    tags: BTreeMap<String, String>,
    currency: Option<&'static str>,
    monthly_cost: Option<f64>,
    hourly_cost: Option<f64>,
    committed_monthly_cost: Option<f64>,
    committed_until: Option<String>,
    committed_by: Vec<String>,
    aws_opinion: Option<String>,
    aws_opinion_monthly_savings: Option<f64>,
    running_share: Option<f64>,
    cost_per_useful_gpu_hour: Option<f64>,
    classification: &'static str,
    state: Option<&'static str>,
    confidence: Option<&'static str>,
    reason: String,
    ignored: Option<String>,
    utilization: Option<UtilizationView>,
    gpus: Vec<GpuUsageView>,
    plan: PlanView,
}

#[derive(Serialize)]
struct GpuView {
    model: String,
    count: Option<f64>,
    vram_mib: Option<u64>,
}

#[derive(Serialize)]
struct UtilizationView {
    signal: &'static str,
    effective: Option<f64>,
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
    idle_share: Option<f64>,
    vram_peak_mib: Option<f64>,
    vram_p95_mib: Option<f64>,
    n_samples: u64,
    expected_samples: u64,
    coverage: f64,
    resolution_seconds: u32,
    source: &'static str,
    joined_by_hostname: u64,
}

#[derive(Serialize)]
struct GpuUsageView {
    instance: String,
    index: u16,
    mean: Option<f64>,
    p95: Option<f64>,
    vram_peak_mib: Option<f64>,
}

#[derive(Serialize)]
struct PlanView {
    actions: Vec<ActionView>,
    planned_monthly_cost: Option<f64>,
}

#[derive(Serialize)]
struct ActionView {
    action: &'static str,
    to: Option<TargetView>,
    detail: String,
    monthly_savings: Option<f64>,
    lost_work_monthly_cost: Option<f64>,
    snapshots_monthly_cost: Option<f64>,
    risk: &'static str,
    waste_monthly_savings: Option<f64>,
    caveats: Vec<String>,
}

#[derive(Serialize)]
struct TargetView {
    instance_type: String,
    count: u32,
}

#[derive(Serialize)]
struct Api {
    calls: u64,
    retries: u64,
    estimated_cost_usd: Option<f64>,
    by_operation: BTreeMap<String, u64>,
}

impl<'a> Document<'a> {
    fn of(audit: &'a Audit) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            gpucost_version: env!("CARGO_PKG_VERSION"),
            as_of: audit.as_of.to_string(),
            scope: Scope {
                accounts: audit.accounts.clone(),
                regions: audit.regions.clone(),
                tag_filters: audit.tag_filters.iter().map(tag_filter).collect(),
                window_start: audit.window.start.to_string(),
                window_end: audit.window.end.to_string(),
                source: audit.source.name(),
            },
            prices: prices(audit),
            summary: summary(audit),
            kpis: kpis(audit),
            unit_costs: UnitCostView::list(audit),
            groups: None,
            showback: None,
            workloads: Each(&audit.workloads, workload),
            purchases: audit.purchases.iter().map(promised).collect(),
            unused_commitments: audit.unused.iter().map(unused).collect(),
            findings: Each(&audit.findings, FindingView::of),
            gaps: GapView::list(&audit.gaps),
            api: Api {
                calls: audit.api.calls,
                retries: audit.api.retries,
                estimated_cost_usd: audit.api.estimated_cost_usd.to_f64(),
                by_operation: audit.api.by_operation.clone(),
            },
        }
    }
}

fn tag_filter(filter: &TagFilter) -> TagFilterView {
    TagFilterView {
        key: filter.key.clone(),
        value: filter.value.clone(),
        excluded: filter.is_excluded,
    }
}

fn prices(audit: &Audit) -> Prices {
    let by_origin = audit.prices.by_origin();
    Prices {
        currency: audit.totals.currency.code(),
        origins: PriceOrigin::ALL
            .iter()
            .map(|origin| (origin.name(), by_origin.get(origin).copied().unwrap_or(0)))
            .collect(),
        oldest_effective_date: audit
            .prices
            .oldest_effective_date()
            .map(|date| date.to_string()),
    }
}

fn summary(audit: &Audit) -> Summary {
    let totals = &audit.totals;
    Summary {
        instances: totals.instances,
        stopped_instances: totals.stopped_instances,
        gpus: totals.gpus,
        monthly_cost: totals.monthly_cost.and_then(json_money),
        planned_monthly_cost: totals.planned_monthly_cost.and_then(json_money),
        monthly_savings: totals.monthly_savings().and_then(json_money),
        monthly_waste: totals.monthly_waste.and_then(json_money),
        monthly_optimization: totals.monthly_optimization.and_then(json_money),
        savings_percent: totals
            .savings_percent()
            .and_then(|percent| percent.round_dp(2).to_f64()),
        annual_savings: totals.annual_savings().and_then(json_money),
        committed_monthly_cost: totals.committed_monthly_cost.and_then(json_money),
        unused_monthly_cost: totals.unused_monthly_cost.and_then(json_money),
        plan_risk: audit.plan_risk.name(),
        savings_by_action: totals
            .by_action
            .iter()
            .map(|(kind, saved)| (kind.name(), json_money(*saved)))
            .collect(),
        by_classification: Classification::ALL
            .iter()
            .map(|class| {
                let sums = totals.by_classification.get(class);
                let view = ClassView {
                    workloads: sums.map_or(0, |sums| sums.workloads),
                    instances: sums.map_or(0, |sums| sums.instances),
                    gpus: sums.map_or(0, |sums| sums.gpus),
                    monthly_cost: sums
                        .map_or(Some(Money::zero(totals.currency)), |sums| sums.monthly_cost)
                        .and_then(json_money),
                };
                (class.name(), view)
            })
            .collect(),
        funnel: FunnelView {
            total_gpus: audit.funnel.total_gpus,
            allocated_gpus: audit.funnel.allocated_gpus,
            unknown_allocation_gpus: audit.funnel.unknown_allocation_gpus,
            active_gpus: audit.funnel.active_gpus,
            effective_gpus: json_figure(audit.funnel.effective_gpus),
            unmeasured_gpus: audit.funnel.unmeasured_gpus,
        },
        unpriced_instances: totals.unpriced_instances,
        ignored_workloads: totals.ignored_workloads,
    }
}

fn workload(audited: &AuditedWorkload) -> WorkloadView {
    let AuditedWorkload {
        workload,
        verdict,
        actions,
        ..
    } = audited;
    let committed_cost = workload.committed_cost();
    WorkloadView {
        id: workload.id(),
        name: workload.name.clone(),
        account: json_account(&workload.key.account),
        region: workload.key.region.clone(),
        kind: workload.kind.name(),
        kind_basis: workload.kind_basis.name(),
        instances: workload.instances.iter().map(ToString::to_string).collect(),
        members: members(workload),
        instance_type: workload.key.instance_type.clone(),
        gpu: workload
            .shape
            .as_ref()
            .and_then(|shape| shape.gpu.as_ref())
            .map(|offer| GpuView {
                model: offer.model.name().to_owned(),
                count: workload.gpu_count().and_then(|count| count.to_f64()),
                vram_mib: offer.vram_mib,
            }),
        running: workload.key.running,
        purchase_option: workload.key.purchase_option.name(),
        tags: workload.tags.clone(),
        currency: currency_code(workload.monthly_cost()),
        monthly_cost: workload.monthly_cost().and_then(json_money),
        hourly_cost: workload
            .cost
            .as_ref()
            .and_then(|cost| json_rate(cost.hourly.amount())),
        committed_monthly_cost: committed_cost
            .as_ref()
            .and_then(|committed_cost| json_money(committed_cost.monthly)),
        committed_until: committed_cost
            .as_ref()
            .and_then(CommittedCost::until)
            .map(|day| day.to_string()),
        committed_by: committed_cost.map_or(Vec::new(), |committed_cost| {
            committed_cost.commitments.into_keys().collect()
        }),
        aws_opinion: workload.aws_opinion(),
        aws_opinion_monthly_savings: workload.aws_savings().and_then(json_money),
        running_share: workload
            .running_share
            .and_then(|share| share.round_dp(4).to_f64()),
        cost_per_useful_gpu_hour: workload.cost_per_useful_gpu_hour().and_then(json_rate),
        classification: verdict.classification.name(),
        state: verdict.state.map(|state| state.name()),
        confidence: verdict.confidence.map(|confidence| confidence.name()),
        reason: verdict.reason.clone(),
        ignored: workload.ignored.clone(),
        utilization: workload
            .utilization
            .as_ref()
            .map(|summary| utilization(audited, summary)),
        gpus: workload.gpus().map(gpu_usage).collect(),
        plan: PlanView {
            actions: actions.iter().map(action).collect(),
            planned_monthly_cost: audited.planned_monthly_cost().and_then(json_money),
        },
    }
}

fn members(workload: &Workload) -> Vec<MemberView> {
    let costs = workload
        .cost
        .as_ref()
        .map_or(&[][..], |cost| &cost.instances);
    workload
        .members
        .iter()
        .zip(&workload.usage)
        .enumerate()
        .map(|(place, (member, usage))| MemberView {
            id: member.id.to_string(),
            zone: member.zone.clone(),
            running: member.is_running,
            state: member.state.map(|state| state.name()),
            confidence: member.confidence.map(|confidence| confidence.name()),
            ignored: member.ignored.clone(),
            capacity_reservation: member.capacity_reservation.clone(),
            running_share: usage
                .running
                .share()
                .and_then(|share| share.round_dp(4).to_f64()),
            monthly_cost: costs.get(place).and_then(|one| json_money(one.monthly())),
        })
        .collect()
}

fn unused(one: &UnusedCommitment) -> UnusedView {
    UnusedView {
        id: one.id.clone(),
        kind: one.kind,
        name: one.name.clone(),
        account: one.account.clone(),
        region: one.region.clone(),
        currency: currency_code(one.monthly_cost),
        monthly_cost: one.monthly_cost.and_then(json_money),
        committed_until: one.committed_until.map(|time| time.to_string()),
        detail: one.detail.clone(),
        plan: PlanView {
            actions: one.actions.iter().map(action).collect(),
            planned_monthly_cost: one.planned_monthly_cost().and_then(json_money),
        },
    }
}

fn utilization(audited: &AuditedWorkload, summary: &UtilizationSummary) -> UtilizationView {
    let vram = audited.workload.vram();
    UtilizationView {
        signal: summary.signal.name(),
        // Needs SM or tensor activity, which CloudWatch does not carry.
        effective: None,
        mean: json_figure(summary.distribution.mean),
        p50: json_figure(summary.distribution.p50),
        p95: json_figure(summary.distribution.p95),
        p99: json_figure(summary.distribution.p99),
        max: json_figure(summary.max),
        idle_share: summary.idle_share.map(json_figure),
        vram_peak_mib: vram.map(|vram| json_figure(vram.peak_mib)),
        vram_p95_mib: vram.and_then(|vram| vram.p95_mib).map(json_figure),
        n_samples: summary.n_samples,
        expected_samples: summary.expected_samples,
        coverage: json_figure(summary.coverage()),
        resolution_seconds: summary.period_seconds,
        source: summary.source.name(),
        joined_by_hostname: joined_by_hostname(&audited.workload),
    }
}

/// Instances whose metrics were matched by host name or address.
pub(super) fn joined_by_hostname(workload: &Workload) -> u64 {
    let matched = workload
        .usage
        .iter()
        .filter(|usage| usage.joined_by_hostname);
    matched.count() as u64
}

fn gpu_usage(gpu: &GpuUsage) -> GpuUsageView {
    GpuUsageView {
        instance: gpu.instance.to_string(),
        index: gpu.index,
        mean: gpu.utilization.map(|figures| json_figure(figures.mean)),
        p95: gpu.utilization.map(|figures| json_figure(figures.p95)),
        vram_peak_mib: gpu.vram.map(|vram| json_figure(vram.peak_mib)),
    }
}

fn action(action: &Action) -> ActionView {
    ActionView {
        action: action.kind().name(),
        to: action.target().map(|target| TargetView {
            instance_type: target.instance_type.clone(),
            count: target.count,
        }),
        detail: action.detail().to_owned(),
        monthly_savings: json_money(action.monthly_savings()),
        lost_work_monthly_cost: action.lost_work().and_then(json_money),
        snapshots_monthly_cost: action.snapshots().and_then(json_money),
        waste_monthly_savings: json_money(action.certain()),
        risk: action.risk().name(),
        caveats: action.caveats().to_vec(),
    }
}

fn promised(one: &Purchase) -> Object {
    Object(Record::of(purchase(), &purchase_row(one)))
}
