//! `audit --format csv`: one row a workload, then one for each unused part of a
//! commitment, the names of the JSON flattened, text cells that no spreadsheet runs.

use super::json::joined_by_hostname;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{Action, CommittedCost, Money};
use crate::report::shared::csv::{cell, document, figure, money, rate};
use crate::report::shared::text::{spreadsheet_safe as text, tags_cell};
use crate::savings::UnusedCommitment;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

const COLUMNS: &[&str] = &[
    "id",
    "name",
    "account",
    "region",
    "kind",
    "kind_basis",
    "instances",
    "instance_type",
    "gpu_model",
    "gpu_count",
    "gpu_vram_mib",
    "purchase_option",
    "running",
    "currency",
    "monthly_cost",
    "hourly_cost",
    "running_share",
    "cost_per_useful_gpu_hour",
    "classification",
    "state",
    "confidence",
    "reason",
    "ignored",
    "utilization_signal",
    "utilization_effective",
    "utilization_mean",
    "utilization_p50",
    "utilization_p95",
    "utilization_p99",
    "utilization_max",
    "utilization_idle_share",
    "utilization_vram_peak_mib",
    "utilization_vram_p95_mib",
    "utilization_n_samples",
    "utilization_expected_samples",
    "utilization_coverage",
    "utilization_resolution_seconds",
    "utilization_source",
    "utilization_joined_by_hostname",
    "plan_action",
    "plan_to_instance_type",
    "plan_to_count",
    "plan_detail",
    "plan_monthly_savings",
    "plan_risk",
    "plan_planned_monthly_cost",
    "tags",
    "committed_monthly_cost",
    "committed_until",
    "committed_by",
    "aws_opinion",
    "aws_opinion_monthly_savings",
    "plan_caveats",
];

/// The audit as comma-separated values: a header line, then one row a workload and one for
/// each unused part of a commitment, so that costs sum to that of the audit.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn audit_csv(audit: &Audit) -> Result<String, csv::Error> {
    let unused = audit.unused.iter().map(unused_row);
    document(COLUMNS, audit.workloads.iter().map(row).chain(unused))
}

fn row(audited: &AuditedWorkload) -> Vec<String> {
    let workload = &audited.workload;
    let offer = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
    let summary = workload.utilization.as_ref();
    let actions = &audited.actions;
    let last_target = actions.iter().rev().find_map(Action::target);
    let committed_cost = workload.committed_cost();
    let committed_by: Vec<&str> = committed_cost
        .iter()
        .flat_map(|committed_cost| committed_cost.commitments.keys().map(String::as_str))
        .collect();
    let instances: Vec<&str> = workload.instances.iter().map(|id| id.as_str()).collect();
    vec![
        text(&workload.id()),
        text(&workload.name),
        text(&workload.key.account),
        text(&workload.key.region),
        workload.kind.to_string(),
        workload.kind_basis.to_string(),
        text(&instances.join(" ")),
        text(&workload.key.instance_type),
        text(offer.map_or("", |offer| offer.model.name())),
        rate(workload.gpu_count()),
        cell(offer.and_then(|offer| offer.vram_mib)),
        workload.key.purchase_option.to_string(),
        workload.key.running.to_string(),
        cell(workload.monthly_cost().map(Money::currency)),
        money(workload.monthly_cost()),
        rate(workload.cost.as_ref().map(|cost| cost.hourly.amount())),
        rate(workload.running_share.map(|share| share.round_dp(4))),
        rate(workload.cost_per_useful_gpu_hour()),
        audited.verdict.classification.to_string(),
        cell(audited.verdict.state),
        cell(audited.verdict.confidence),
        text(&audited.verdict.reason),
        text(workload.ignored.as_deref().unwrap_or("")),
        cell(summary.map(|summary| summary.signal)),
        // Needs SM or tensor activity, which CloudWatch does not carry.
        String::new(),
        figure(summary.map(|summary| summary.distribution.mean)),
        figure(summary.map(|summary| summary.distribution.p50)),
        figure(summary.map(|summary| summary.distribution.p95)),
        figure(summary.map(|summary| summary.distribution.p99)),
        figure(summary.map(|summary| summary.max)),
        figure(summary.and_then(|summary| summary.idle_share)),
        figure(workload.vram().map(|vram| vram.peak_mib)),
        figure(workload.vram().and_then(|vram| vram.p95_mib)),
        cell(summary.map(|summary| summary.n_samples)),
        cell(summary.map(|summary| summary.expected_samples)),
        figure(summary.map(|summary| summary.coverage())),
        cell(summary.map(|summary| summary.period_seconds)),
        cell(summary.map(|summary| summary.source)),
        cell(summary.map(|_| joined_by_hostname(workload))),
        joined(actions, |action| action.kind().to_string()),
        text(last_target.map_or("", |target| &target.instance_type)),
        cell(last_target.map(|target| target.count)),
        text(&joined(actions, |action| action.detail().to_owned())),
        money(saved(actions)),
        cell(actions.iter().map(Action::risk).max()),
        money(audited.planned_monthly_cost()),
        text(&tags_cell(&workload.tags)),
        money(committed_cost.as_ref().map(|cost| cost.monthly)),
        cell(committed_cost.as_ref().and_then(CommittedCost::until)),
        text(&committed_by.join(" ")),
        text(workload.aws_opinion().as_deref().unwrap_or("")),
        money(workload.aws_savings()),
        text(&caveats(actions)),
    ]
}

/// The columns of what is paid for and does not run; the others are empty.
fn unused_row(one: &UnusedCommitment) -> Vec<String> {
    let actions = &one.actions;
    let is_committed = one.committed_until.is_some();
    let cell_of = |column: &&str| match *column {
        "id" => text(&one.id),
        "name" => text(&one.name),
        "account" => text(one.account.as_deref().unwrap_or("")),
        "region" => text(one.region.as_deref().unwrap_or("")),
        "kind" => one.kind.to_owned(),
        "currency" => cell(one.monthly_cost.map(Money::currency)),
        "monthly_cost" => money(one.monthly_cost),
        "plan_action" => joined(actions, |action| action.kind().to_string()),
        "plan_detail" => text(&joined(actions, |action| action.detail().to_owned())),
        "plan_monthly_savings" => money(saved(actions)),
        "plan_risk" => cell(actions.iter().map(Action::risk).max()),
        "plan_planned_monthly_cost" => money(one.planned_monthly_cost()),
        "committed_monthly_cost" => money(one.monthly_cost.filter(|_| is_committed)),
        "committed_until" => cell(one.committed_until.map(day)),
        "committed_by" if is_committed => text(&one.id),
        "plan_caveats" => text(&caveats(actions)),
        _ => String::new(),
    };
    COLUMNS.iter().map(cell_of).collect()
}

fn day(end: Timestamp) -> Date {
    end.to_zoned(TimeZone::UTC).date()
}

fn joined(actions: &[Action], part: impl Fn(&Action) -> String) -> String {
    let parts: Vec<String> = actions.iter().map(part).collect();
    parts.join("; ")
}

fn caveats(actions: &[Action]) -> String {
    let all = actions.iter().flat_map(Action::caveats).cloned();
    all.collect::<Vec<String>>().join("; ")
}

fn saved(actions: &[Action]) -> Option<Money> {
    let savings = actions.iter().map(Action::monthly_savings);
    savings.reduce(|sum, part| Money::new(sum.amount() + part.amount(), sum.currency()))
}
