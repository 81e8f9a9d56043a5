//! `audit --format openmetrics`: the figures of an audit as gauges, for Prometheus. Money has
//! a label with its currency, so that one query serves every partition of a cloud.

use super::record::class_of;
use crate::analysis::{Audit, AuditedWorkload, ClassTotals};
use crate::domain::{Classification, Money, PriceOrigin};
use crate::report::doc::{Column, Value, columns};
use crate::report::shared::openmetrics::{
    Exposition, Labels, figure, money, number, ratio, ratio_of_percent,
};
use crate::report::shared::text::rounded;
use crate::report::shared::view::team_of;
use crate::savings::{Purchase, UnusedCommitment};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;

/// Workloads, and unused commitments, that have series of their own. The others are in the
/// totals.
const MOST_ROWS: usize = 1_000;

columns! {
    fn run<'a>(audit: &'a Audit) {
        count "gpucost_audit_timestamp_seconds", "", Data, audit.as_of.as_second(), "Instant that the audit describes, in seconds since 1970.";
        count "gpucost_audit_window_seconds", "", Data, audit.window.seconds(), "Length of the window of the metrics.";
        opt money "gpucost_cost_monthly", "", Data, audit.totals.monthly_cost, "Cost per month.";
        opt money "gpucost_planned_cost_monthly", "", Data, audit.totals.planned_monthly_cost, "Cost per month after the plan.";
        opt money "gpucost_savings_monthly", "", Data, audit.totals.monthly_savings(), "Savings of the plan per month: waste and optimization.";
        opt money "gpucost_waste_monthly", "", Data, audit.totals.monthly_waste, "Savings of the plan per month that are certain.";
        opt money "gpucost_optimization_monthly", "", Data, audit.totals.monthly_optimization, "Other savings of the plan per month.";
        opt money "gpucost_committed_cost_monthly", "", Data, audit.totals.committed_monthly_cost, "Part of the cost per month that is committed.";
        opt money "gpucost_unused_cost_monthly", "", Data, audit.totals.unused_monthly_cost, "Part of the cost per month that pays for unused reservations and commitments.";
    }
}

columns! {
    fn classes(sums: ClassTotals) {
        count "gpucost_class_workloads", "", Data, sums.workloads, "Workloads by classification.";
        count "gpucost_class_instances", "", Data, sums.instances, "Instances by classification of their workload.";
        count "gpucost_class_gpus", "", Data, sums.gpus, "GPUs of running instances by classification of their workload.";
        opt money "gpucost_class_cost_monthly", "", Data, sums.monthly_cost, "Cost per month by classification of the workload.";
    }
}

columns! {
    fn devices<'a>(audit: &'a Audit) {
        count "gpucost_instances", "", Data, audit.totals.instances, "Instances, stopped ones included.";
        count "gpucost_stopped_instances", "", Data, audit.totals.stopped_instances, "Instances that do not run.";
        count "gpucost_unpriced_instances", "", Data, audit.totals.unpriced_instances, "Instances whose price, or a part of it, is not known.";
        count "gpucost_ignored_workloads", "", Data, audit.totals.ignored_workloads, "Workloads that a tag takes out of advice.";
        count "gpucost_gpus", "", Data, audit.funnel.total_gpus, "GPUs of running instances.";
        count "gpucost_allocated_gpus", "", Data, audit.funnel.allocated_gpus, "GPUs with memory in use, or ever active.";
        count "gpucost_unknown_allocation_gpus", "", Data, audit.funnel.unknown_allocation_gpus, "GPUs that were never active and whose memory was not measured.";
        count "gpucost_active_gpus", "", Data, audit.funnel.active_gpus, "GPUs that were ever active.";
        count "gpucost_unmeasured_gpus", "", Data, audit.funnel.unmeasured_gpus, "GPUs without utilization data.";
        number "gpucost_effective_gpus", "", Data, audit.funnel.effective_gpus, "Sum of the mean utilization of all measured GPUs.";
    }
}

columns! {
    fn calls<'a>(audit: &'a Audit) {
        count "gpucost_api_calls", "", Data, audit.api.calls, "Calls to the cloud that the audit took.";
        text "gpucost_api_cost_usd", "", Data, rounded(audit.api.estimated_cost_usd, 4), "Estimated price of these calls.";
        count "gpucost_omitted_workloads", "", Data, audit.workloads.len().saturating_sub(MOST_ROWS), "Workloads without series of their own.";
    }
}

columns! {
    fn workloads<'a>(audited: &'a AuditedWorkload) {
        opt money "gpucost_workload_cost_monthly", "", Data, audited.workload.monthly_cost(), "Cost of a workload per month.";
        opt money "gpucost_workload_savings_monthly", "", Data, audited.planned_monthly_savings(), "Savings of the plan for a workload per month.";
        count "gpucost_workload_gpus", "", Data, audited.workload.running_gpus(), "GPUs of the running instances of a workload.";
        opt text "gpucost_workload_utilization_ratio", "", Data, ratio_of_percent(audited.workload.utilization.as_ref().map(|summary| summary.distribution.mean)), "Mean GPU utilization of a workload over the window.";
        opt text "gpucost_workload_coverage_ratio", "", Data, ratio(audited.workload.utilization.as_ref().map(|summary| summary.coverage())), "Samples of a workload that are there, of those that were due.";
    }
}

columns! {
    fn commitments<'a>(unused: &'a UnusedCommitment) {
        opt money "gpucost_commitment_unused_cost_monthly", "", Data, unused.monthly_cost, "Cost per month of the unused part of a reservation or a commitment.";
        opt count "gpucost_commitment_end_timestamp_seconds", "", Data, unused.committed_until.map(|end| end.as_second()), "End of a commitment with an unused part, in seconds since 1970.";
    }
}

columns! {
    fn purchases<'a>(purchase: &'a Purchase) {
        opt money "gpucost_purchase_term_cost", "", Data, purchase.promise().map(|promise| promise.term_total), "Everything that a purchase of the plan is paid until its term ends.";
    }
}

/// The audit in OpenMetrics, in a form that the text format of Prometheus reads as well.
pub fn audit_openmetrics(audit: &Audit) -> String {
    let mut page = Exposition::default();
    let labels = Labels::default()
        .with("version", env!("CARGO_PKG_VERSION"))
        .with("source", audit.source.name())
        .with("risk", audit.plan_risk.name());
    page.family(
        "gpucost_audit_info",
        "Version of gpucost, source of the estate, and risk of the plan.",
        [(labels, number(1))],
    );
    let whole = [(Labels::default(), audit)];
    families(run(), &whole, &mut page);
    page.family(
        "gpucost_action_savings_monthly",
        "Savings of the plan per month by kind of action.",
        audit.totals.by_action.iter().map(|(kind, saved)| {
            let labels = Labels::default().with("action", kind.name());
            (labels.in_currency_of(Some(*saved)), money(Some(*saved)))
        }),
    );
    let sums = Classification::ALL.iter().map(|class| {
        let labels = Labels::default().with("classification", class.name());
        (labels, class_of(audit, *class))
    });
    families(classes(), &sums.collect::<Vec<_>>(), &mut page);
    families(devices(), &whole, &mut page);
    of_evidence(audit, &mut page);
    families(calls(), &whole, &mut page);
    let shown = audit.workloads.iter().take(MOST_ROWS);
    let shown: Vec<_> = shown.map(|audited| (labels_of(audited), audited)).collect();
    families(workloads(), &shown, &mut page);
    let shown = audit.unused.iter().take(MOST_ROWS).map(|unused| {
        let labels = Labels::default()
            .with_id("id", &unused.id)
            .with("kind", unused.kind)
            .with("account", unused.account.as_deref().unwrap_or(""))
            .with("region", unused.region.as_deref().unwrap_or(""));
        (labels, unused)
    });
    families(commitments(), &shown.collect::<Vec<_>>(), &mut page);
    let shown = audit.purchases.iter().take(MOST_ROWS).map(|purchase| {
        let labels = Labels::default()
            .with("option", &purchase.term.option.to_string())
            .with("account", purchase.account.as_deref().unwrap_or(""))
            .with("region", &purchase.key.region)
            .with("instance_type", &purchase.key.instance_type)
            .with("operating_system", purchase.key.operating_system.name())
            .with("tenancy", purchase.key.tenancy.name());
        (labels, purchase)
    });
    families(purchases(), &shown.collect::<Vec<_>>(), &mut page);
    page.finish()
}

/// A family for each column, with a sample for each row that has a value.
fn families<R>(columns: Vec<Column<R>>, rows: &[(Labels, R)], page: &mut Exposition) {
    for column in columns {
        let samples = rows.iter().map(|(labels, row)| {
            let labels = labels.clone();
            match (column.value)(row) {
                Value::Money(amount) => {
                    let amount: Option<Money> = Some(amount);
                    (labels.in_currency_of(amount), money(amount))
                }
                Value::Count(count) => (labels, number(count)),
                Value::Number(value, _) => (labels, figure(Some(value))),
                Value::Text(text) => (labels, Some(text)),
                _ => (labels, None),
            }
        });
        page.family(&column.head.path, column.head.meaning, samples);
    }
}

fn of_evidence(audit: &Audit, page: &mut Exposition) {
    let by_origin = audit.prices.by_origin();
    page.family(
        "gpucost_prices",
        "Prices that figures rest on, by origin.",
        PriceOrigin::ALL.iter().map(|origin| {
            let labels = Labels::default().with("origin", origin.name());
            let count = by_origin.get(origin).copied().unwrap_or(0);
            (labels, number(count))
        }),
    );
    page.gauge(
        "gpucost_oldest_price_timestamp_seconds",
        "Day of the oldest price list that a figure rests on, in seconds since 1970.",
        audit.prices.oldest_seen_on().and_then(seconds_of_day),
    );
    let mut findings = BTreeMap::new();
    for finding in &audit.findings {
        let key = (finding.rule(), finding.severity.name());
        *findings.entry(key).or_insert(0_u64) += 1;
    }
    page.family(
        "gpucost_findings",
        "Findings by rule and severity.",
        findings.into_iter().map(|((rule, severity), count)| {
            let labels = Labels::default().with("rule", rule);
            (labels.with("severity", severity), number(count))
        }),
    );
    let mut gaps = BTreeMap::new();
    for gap in &audit.gaps {
        let cause = gap.cause.as_ref().map(|cause| cause.kind().name());
        *gaps.entry(cause.unwrap_or("other")).or_insert(0_u64) += 1;
    }
    page.gauge("gpucost_gaps", "Data gaps.", number(audit.gaps.len()));
    page.family(
        "gpucost_cause_gaps",
        "Data gaps by cause.",
        gaps.into_iter()
            .map(|(cause, count)| (Labels::default().with("cause", cause), number(count))),
    );
}

/// What a workload is, the same on each of its series.
fn labels_of(audited: &AuditedWorkload) -> Labels {
    let workload = &audited.workload;
    let state = match audited.verdict.state {
        _ if !workload.key.running => "stopped",
        Some(state) => state.name(),
        None => "unknown",
    };
    Labels::default()
        .with_id("id", &workload.id())
        .with("name", &workload.name)
        .with("account", &workload.key.account)
        .with("region", &workload.key.region)
        .with("instance_type", &workload.key.instance_type)
        .with("purchase_option", workload.key.purchase_option.name())
        // An empty label is an absent one to Prometheus.
        .with("team", team_of(&workload.tags).unwrap_or_default())
        .with("classification", audited.verdict.classification.name())
        .with("state", state)
}

/// The beginning of a day in UTC.
fn seconds_of_day(day: Date) -> Option<String> {
    let begin = day.to_zoned(TimeZone::UTC).ok()?;
    number(begin.timestamp().as_second())
}
