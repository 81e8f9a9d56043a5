//! `audit --format openmetrics`: the figures of an audit as gauges, for Prometheus. Money has
//! a label with its currency, so that one query serves every partition of a cloud.

use crate::analysis::{Audit, AuditedWorkload, Totals};
use crate::domain::{Classification, Money, PriceOrigin};
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

/// The audit in OpenMetrics, in a form that the text format of Prometheus reads as well.
pub fn audit_openmetrics(audit: &Audit) -> String {
    let mut page = Exposition::default();
    of_run(audit, &mut page);
    of_money(&audit.totals, &mut page);
    of_classes(&audit.totals, &mut page);
    of_devices(audit, &mut page);
    of_evidence(audit, &mut page);
    of_workloads(audit, &mut page);
    of_commitments(&audit.unused, &mut page);
    of_purchases(&audit.purchases, &mut page);
    page.finish()
}

fn of_run(audit: &Audit, page: &mut Exposition) {
    let labels = Labels::default()
        .with("version", env!("CARGO_PKG_VERSION"))
        .with("source", audit.source.name())
        .with("risk", audit.plan_risk.name());
    page.family(
        "gpucost_audit_info",
        "Version of gpucost, source of the estate, and risk of the plan.",
        [(labels, number(1))],
    );
    page.gauge(
        "gpucost_audit_timestamp_seconds",
        "Instant that the audit describes, in seconds since 1970.",
        number(audit.as_of.as_second()),
    );
    page.gauge(
        "gpucost_audit_window_seconds",
        "Length of the window of the metrics.",
        number(audit.window.seconds()),
    );
}

fn of_money(totals: &Totals, page: &mut Exposition) {
    for (name, help, amount) in [
        (
            "gpucost_cost_monthly",
            "Cost per month.",
            totals.monthly_cost,
        ),
        (
            "gpucost_planned_cost_monthly",
            "Cost per month after the plan.",
            totals.planned_monthly_cost,
        ),
        (
            "gpucost_savings_monthly",
            "Savings of the plan per month: waste and optimization.",
            totals.monthly_savings(),
        ),
        (
            "gpucost_waste_monthly",
            "Savings of the plan per month that are certain.",
            totals.monthly_waste,
        ),
        (
            "gpucost_optimization_monthly",
            "Other savings of the plan per month.",
            totals.monthly_optimization,
        ),
        (
            "gpucost_committed_cost_monthly",
            "Part of the cost per month that is committed.",
            totals.committed_monthly_cost,
        ),
        (
            "gpucost_unused_cost_monthly",
            "Part of the cost per month that pays for unused reservations and commitments.",
            totals.unused_monthly_cost,
        ),
    ] {
        page.amount(name, help, amount);
    }
    page.family(
        "gpucost_action_savings_monthly",
        "Savings of the plan per month by kind of action.",
        totals.by_action.iter().map(|(kind, saved)| {
            let labels = Labels::default().with("action", kind.name());
            (labels.in_currency_of(Some(*saved)), money(Some(*saved)))
        }),
    );
}

fn of_classes(totals: &Totals, page: &mut Exposition) {
    let classes = || {
        Classification::ALL.iter().map(|class| {
            let labels = Labels::default().with("classification", class.name());
            let sums = totals.by_classification.get(class);
            (labels, sums.copied().unwrap_or_default())
        })
    };
    page.family(
        "gpucost_class_workloads",
        "Workloads by classification.",
        classes().map(|(labels, sums)| (labels, number(sums.workloads))),
    );
    page.family(
        "gpucost_class_instances",
        "Instances by classification of their workload.",
        classes().map(|(labels, sums)| (labels, number(sums.instances))),
    );
    page.family(
        "gpucost_class_gpus",
        "GPUs of running instances by classification of their workload.",
        classes().map(|(labels, sums)| (labels, number(sums.gpus))),
    );
    page.family(
        "gpucost_class_cost_monthly",
        "Cost per month by classification of the workload.",
        classes().map(|(labels, sums)| {
            // A class without workloads costs nothing; one without prices is not known.
            let is_empty = sums.workloads == 0;
            let zero = is_empty.then(|| Money::zero(totals.currency));
            let cost = sums.monthly_cost.or(zero);
            (labels.in_currency_of(cost), money(cost))
        }),
    );
}

fn of_devices(audit: &Audit, page: &mut Exposition) {
    let (totals, funnel) = (&audit.totals, &audit.funnel);
    for (name, help, count) in [
        (
            "gpucost_instances",
            "Instances, stopped ones included.",
            totals.instances,
        ),
        (
            "gpucost_stopped_instances",
            "Instances that do not run.",
            totals.stopped_instances,
        ),
        (
            "gpucost_unpriced_instances",
            "Instances whose price, or a part of it, is not known.",
            totals.unpriced_instances,
        ),
        (
            "gpucost_ignored_workloads",
            "Workloads that a tag takes out of advice.",
            totals.ignored_workloads,
        ),
        (
            "gpucost_gpus",
            "GPUs of running instances.",
            funnel.total_gpus,
        ),
        (
            "gpucost_allocated_gpus",
            "GPUs with memory in use, or ever active.",
            funnel.allocated_gpus,
        ),
        (
            "gpucost_unknown_allocation_gpus",
            "GPUs that were never active and whose memory was not measured.",
            funnel.unknown_allocation_gpus,
        ),
        (
            "gpucost_active_gpus",
            "GPUs that were ever active.",
            funnel.active_gpus,
        ),
        (
            "gpucost_unmeasured_gpus",
            "GPUs without utilization data.",
            funnel.unmeasured_gpus,
        ),
    ] {
        page.gauge(name, help, number(count));
    }
    page.gauge(
        "gpucost_effective_gpus",
        "Sum of the mean utilization of all measured GPUs.",
        figure(Some(funnel.effective_gpus)),
    );
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
    for one in &audit.findings {
        let key = (one.rule(), one.severity.name());
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
    page.gauge(
        "gpucost_api_calls",
        "Calls to the cloud that the audit took.",
        number(audit.api.calls),
    );
    page.gauge(
        "gpucost_api_cost_usd",
        "Estimated price of these calls.",
        Some(rounded(audit.api.estimated_cost_usd, 4)),
    );
}

fn of_workloads(audit: &Audit, page: &mut Exposition) {
    let shown = &audit.workloads[..audit.workloads.len().min(MOST_ROWS)];
    page.gauge(
        "gpucost_omitted_workloads",
        "Workloads without series of their own.",
        number(audit.workloads.len() - shown.len()),
    );
    let amounts = |amount: fn(&AuditedWorkload) -> Option<Money>| {
        shown.iter().map(move |one| {
            let amount = amount(one);
            (labels(one).in_currency_of(amount), money(amount))
        })
    };
    page.family(
        "gpucost_workload_cost_monthly",
        "Cost of a workload per month.",
        amounts(|one| one.workload.monthly_cost()),
    );
    page.family(
        "gpucost_workload_savings_monthly",
        "Savings of the plan for a workload per month.",
        amounts(|one| {
            let planned = one.planned_monthly_cost()?;
            one.workload.monthly_cost()?.checked_sub(planned).ok()
        }),
    );
    page.family(
        "gpucost_workload_gpus",
        "GPUs of the running instances of a workload.",
        shown
            .iter()
            .map(|one| (labels(one), number(one.workload.running_gpus()))),
    );
    page.family(
        "gpucost_workload_utilization_ratio",
        "Mean GPU utilization of a workload over the window.",
        shown.iter().map(|one| {
            let summary = one.workload.utilization.as_ref();
            let mean = summary.map(|summary| summary.distribution.mean);
            (labels(one), ratio_of_percent(mean))
        }),
    );
    page.family(
        "gpucost_workload_coverage_ratio",
        "Samples of a workload that are there, of those that were due.",
        shown.iter().map(|one| {
            let summary = one.workload.utilization.as_ref();
            let coverage = summary.map(|summary| summary.coverage());
            (labels(one), ratio(coverage))
        }),
    );
}

/// What a workload is, the same on each of its series.
fn labels(one: &AuditedWorkload) -> Labels {
    let workload = &one.workload;
    let state = match one.verdict.state {
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
        .with("classification", one.verdict.classification.name())
        .with("state", state)
}

fn of_commitments(unused: &[UnusedCommitment], page: &mut Exposition) {
    let shown = &unused[..unused.len().min(MOST_ROWS)];
    let labels = |one: &UnusedCommitment| {
        Labels::default()
            .with_id("id", &one.id)
            .with("kind", one.kind)
            .with("account", one.account.as_deref().unwrap_or(""))
            .with("region", one.region.as_deref().unwrap_or(""))
    };
    page.family(
        "gpucost_commitment_unused_cost_monthly",
        "Cost per month of the unused part of a reservation or a commitment.",
        shown.iter().map(|one| {
            let cost = one.monthly_cost;
            (labels(one).in_currency_of(cost), money(cost))
        }),
    );
    page.family(
        "gpucost_commitment_end_timestamp_seconds",
        "End of a commitment with an unused part, in seconds since 1970.",
        shown.iter().map(|one| {
            let end = one.committed_until.map(|end| end.as_second());
            (labels(one), end.and_then(number))
        }),
    );
}

/// What the plan buys, with everything that is paid until its term ends.
fn of_purchases(purchases: &[Purchase], page: &mut Exposition) {
    let shown = &purchases[..purchases.len().min(MOST_ROWS)];
    page.family(
        "gpucost_purchase_term_cost",
        "Everything that a purchase of the plan is paid until its term ends.",
        shown.iter().map(|one| {
            let total = one.promise().map(|promise| promise.term_total);
            let labels = Labels::default()
                .with("option", &one.term.option.to_string())
                .with("account", one.account.as_deref().unwrap_or(""))
                .with("region", &one.key.region)
                .with("instance_type", &one.key.instance_type)
                .with("operating_system", one.key.operating_system.name())
                .with("tenancy", one.key.tenancy.name());
            (labels.in_currency_of(total), money(total))
        }),
    );
}

/// The beginning of a day in UTC.
fn seconds_of_day(day: Date) -> Option<String> {
    let begin = day.to_zoned(TimeZone::UTC).ok()?;
    number(begin.timestamp().as_second())
}
