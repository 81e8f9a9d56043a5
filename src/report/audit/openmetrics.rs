//! `audit --format openmetrics`: the figures of an audit as gauges, for Prometheus. Money has
//! a label with its currency, so that one query serves every partition of a cloud.

use super::record::class_of;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{Classification, PriceOrigin};
use crate::report::shared::gaps::tally;
use crate::report::shared::openmetrics::{
    Exposition, Labels, figure, gauges, number, ratio, ratio_of_percent,
};
use crate::report::shared::text::rounded;
use crate::report::shared::view::team_of;
use crate::savings::{Purchase, UnusedCommitment};
use jiff::tz::TimeZone;

/// Workloads, and unused commitments, that have series of their own. The others are in the
/// totals.
const MOST_ROWS: usize = 1_000;

/// The audit in OpenMetrics, in a form that the text format of Prometheus reads as well.
pub fn audit_openmetrics(audit: &Audit) -> String {
    let mut page = Exposition::default();
    let labels = Labels::default()
        .with("version", env!("CARGO_PKG_VERSION"))
        .with("source", audit.source.name())
        .with("risk", audit.plan_risk.name());
    gauges! { page, _audit in [audit], labels.clone();
        "gpucost_audit_info" "Version of gpucost, source of the estate, and risk of the plan." number(1);
    }
    gauges! { page, audit in [audit], Labels::default();
        "gpucost_audit_timestamp_seconds" "Instant that the audit describes, in seconds since 1970." number(audit.as_of.as_second());
        "gpucost_audit_window_seconds" "Length of the window of the metrics." number(audit.window.seconds());
        "gpucost_cost_monthly" "Cost per month." [money] audit.totals.monthly_cost;
        "gpucost_planned_cost_monthly" "Cost per month after the plan." [money] audit.totals.planned_monthly_cost;
        "gpucost_savings_monthly" "Savings of the plan per month: waste and optimization." [money] audit.totals.monthly_savings();
        "gpucost_waste_monthly" "Savings of the plan per month that are certain." [money] audit.totals.monthly_waste;
        "gpucost_optimization_monthly" "Other savings of the plan per month." [money] audit.totals.monthly_optimization;
        "gpucost_committed_cost_monthly" "Part of the cost per month that is committed." [money] audit.totals.committed_monthly_cost;
        "gpucost_unused_cost_monthly" "Part of the cost per month that pays for unused reservations and commitments." [money] audit.totals.unused_monthly_cost;
    }
    gauges! { page, saved in audit.totals.by_action, Labels::default().with("action", saved.0.name());
        "gpucost_action_savings_monthly" "Savings of the plan per month by kind of action." [money] *saved.1;
    }
    gauges! { page, class in Classification::ALL, Labels::default().with("classification", class.name());
        "gpucost_class_workloads" "Workloads by classification." number(class_of(audit, *class).workloads);
        "gpucost_class_instances" "Instances by classification of their workload." number(class_of(audit, *class).instances);
        "gpucost_class_gpus" "GPUs of running instances by classification of their workload." number(class_of(audit, *class).gpus);
        "gpucost_class_cost_monthly" "Cost per month by classification of the workload." [money] class_of(audit, *class).monthly_cost;
    }
    gauges! { page, audit in [audit], Labels::default();
        "gpucost_instances" "Instances, stopped ones included." number(audit.totals.instances);
        "gpucost_stopped_instances" "Instances that do not run." number(audit.totals.stopped_instances);
        "gpucost_unpriced_instances" "Instances whose price, or a part of it, is not known." number(audit.totals.unpriced_instances);
        "gpucost_ignored_workloads" "Workloads that a tag takes out of advice." number(audit.totals.ignored_workloads);
        "gpucost_gpus" "GPUs of running instances." number(audit.funnel.total_gpus);
        "gpucost_allocated_gpus" "GPUs with memory in use, or ever active." number(audit.funnel.allocated_gpus);
        "gpucost_unknown_allocation_gpus" "GPUs that were never active and whose memory was not measured." number(audit.funnel.unknown_allocation_gpus);
        "gpucost_active_gpus" "GPUs that were ever active." number(audit.funnel.active_gpus);
        "gpucost_unmeasured_gpus" "GPUs without utilization data." number(audit.funnel.unmeasured_gpus);
        "gpucost_effective_gpus" "Sum of the mean utilization of all measured GPUs." figure(Some(audit.funnel.effective_gpus));
    }
    of_evidence(audit, &mut page);
    gauges! { page, audit in [audit], Labels::default();
        "gpucost_api_calls" "Calls to the cloud that the audit took." number(audit.api.calls);
        "gpucost_api_cost_usd" "Estimated price of these calls." Some(rounded(audit.api.estimated_cost_usd, 4));
        "gpucost_omitted_workloads" "Workloads without series of their own." number(audit.workloads.len().saturating_sub(MOST_ROWS));
    }
    let shown = &audit.workloads[..audit.workloads.len().min(MOST_ROWS)];
    gauges! { page, audited in shown, labels_of(audited);
        "gpucost_workload_cost_monthly" "Cost of a workload per month." [money] audited.workload.monthly_cost();
        "gpucost_workload_savings_monthly" "Savings of the plan for a workload per month." [money] audited.planned_monthly_savings();
        "gpucost_workload_gpus" "GPUs of the running instances of a workload." number(audited.workload.running_gpus());
        "gpucost_workload_utilization_ratio" "Mean GPU utilization of a workload over the window." ratio_of_percent(audited.workload.utilization.as_ref().map(|summary| summary.distribution.mean));
        "gpucost_workload_coverage_ratio" "Samples of a workload that are there, of those that were due." ratio(audited.workload.utilization.as_ref().map(|summary| summary.coverage()));
    }
    let shown = &audit.unused[..audit.unused.len().min(MOST_ROWS)];
    gauges! { page, unused in shown, labels_of_unused(unused);
        "gpucost_commitment_unused_cost_monthly" "Cost per month of the unused part of a reservation or a commitment." [money] unused.monthly_cost;
        "gpucost_commitment_end_timestamp_seconds" "End of a commitment with an unused part, in seconds since 1970." unused.committed_until.map(|end| end.as_second()).and_then(number);
    }
    let shown = &audit.purchases[..audit.purchases.len().min(MOST_ROWS)];
    gauges! { page, purchase in shown, labels_of_purchase(purchase);
        "gpucost_purchase_term_cost" "Everything that a purchase of the plan is paid until its term ends." [money] purchase.promise().map(|promise| promise.term_total);
    }
    page.finish()
}

fn of_evidence(audit: &Audit, page: &mut Exposition) {
    let by_origin = audit.prices.by_origin();
    gauges! { page, origin in PriceOrigin::ALL, Labels::default().with("origin", origin.name());
        "gpucost_prices" "Prices that figures rest on, by origin." number(by_origin.get(origin).copied().unwrap_or(0));
    }
    gauges! { page, prices in [&audit.prices], Labels::default();
        "gpucost_oldest_price_timestamp_seconds" "Day of the oldest price list that a figure rests on, in seconds since 1970." prices.oldest_seen_on().and_then(|day| number(day.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second()));
    }
    let findings = audit.findings.iter();
    let findings = tally(findings.map(|finding| (finding.rule(), finding.severity.name())));
    gauges! { page, row in findings, Labels::default().with("rule", row.0.0).with("severity", row.0.1);
        "gpucost_findings" "Findings by rule and severity." number(row.1);
    }
    let causes = audit.gaps.iter().map(|gap| gap.cause.as_ref());
    let gaps = tally(causes.map(|cause| cause.map_or("other", |cause| cause.kind().name())));
    page.gauge("gpucost_gaps", "Data gaps.", number(audit.gaps.len()));
    gauges! { page, row in gaps, Labels::default().with("cause", row.0);
        "gpucost_cause_gaps" "Data gaps by cause." number(row.1);
    }
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

fn labels_of_unused(unused: &UnusedCommitment) -> Labels {
    Labels::default()
        .with_id("id", &unused.id)
        .with("kind", unused.kind)
        .with("account", unused.account.as_deref().unwrap_or(""))
        .with("region", unused.region.as_deref().unwrap_or(""))
}

fn labels_of_purchase(purchase: &Purchase) -> Labels {
    Labels::default()
        .with("option", &purchase.term.option.to_string())
        .with("account", purchase.account.as_deref().unwrap_or(""))
        .with("region", &purchase.key.region)
        .with("instance_type", &purchase.key.instance_type)
        .with("operating_system", purchase.key.operating_system.name())
        .with("tenancy", purchase.key.tenancy.name())
}
