//! What an audit says of itself: its scope, sums and key figures.

use crate::analysis::{Audit, ClassTotals, Grouping};
use crate::domain::{
    Classification, EstateSource, Kpi, KpiValue, Money, PriceOrigin, Risk, TagFilter, UnitCost,
};
use crate::report::doc::{Kind, Value, columns};
use crate::report::groups::{groups, showback};
use crate::report::promises::target;
use crate::report::reserved::CURRENCIES;
use rust_decimal::prelude::ToPrimitive;

/// An audit with what it was asked for beside it.
type GroupedAudit<'a> = (&'a Audit, Option<&'a Grouping>);

columns! {
    /// What an audit says of itself.
    pub(super) fn document<'a>(audit: &'a Audit) {
        text "gpucost_version", "", Data, env!("CARGO_PKG_VERSION").to_owned(), "";
        time "as_of", "", Data, audit.as_of, "The instant that it describes.";
        texts "scope.accounts", "", Data, audit.accounts.clone(), "";
        texts "scope.regions", "", Data, audit.regions.clone(), "";
        rows[tag_filters] "scope.tag_filters", "", Json, &audit.tag_filters, "The tags by which instances were selected; empty for all.";
        time "scope.window_start", "", Data, audit.window.start, "";
        time "scope.window_end", "", Data, audit.window.end, "Exclusive.";
        word[EstateSource::NAMES] "scope.source", "", Data, audit.source.name(), "";
        word[CURRENCIES] "prices.currency", "", Data, audit.totals.currency.code(), "Of all sums.";
        map[Kind::Count] "prices.origins", "", Data, origins(audit), "Prices that figures rest on, by origin.";
        opt date "prices.oldest_effective_date", "", Data, audit.prices.oldest_effective_date(), "";
        count "summary.instances", "", Data, audit.totals.instances, "Stopped ones included.";
        count "summary.stopped_instances", "", Data, audit.totals.stopped_instances, "";
        count "summary.gpus", "", Data, audit.totals.gpus, "Of running instances.";
        opt cost "summary.monthly_cost", "", Data, audit.totals.monthly_cost, "Today's.";
        opt cost "summary.planned_monthly_cost", "", Data, audit.totals.planned_monthly_cost, "";
        opt money "summary.monthly_savings", "", Data, audit.totals.monthly_savings(), "Waste and optimization together.";
        opt money "summary.monthly_waste", "", Data, audit.totals.monthly_waste, "Savings that are certain.";
        opt money "summary.monthly_optimization", "", Data, audit.totals.monthly_optimization, "The other savings.";
        opt percent "summary.savings_percent", "", Data, audit.totals.savings_percent().and_then(|percent| percent.round_dp(2).to_f64()), "";
        opt percent "summary.utilization_percent", "", Data, measured(audit, Kpi::Utilization), "Of the GPU hours of measured instances, today.";
        opt percent "summary.planned_utilization_percent", "", Data, audit.planned_utilization_percent, "The same after the plan; no unmeasured GPU counts.";
        opt money "summary.annual_savings", "", Data, audit.totals.annual_savings(), "";
        opt cost "summary.committed_monthly_cost", "", Data, audit.totals.committed_monthly_cost, "Paid whether anything runs or not.";
        opt cost "summary.unused_monthly_cost", "", Data, audit.totals.unused_monthly_cost, "Paid for what does not run.";
        word[Risk::NAMES] "summary.plan_risk", "", Data, audit.plan_risk.name(), "";
        map[Kind::Money] "summary.savings_by_action", "", Data, audit.totals.by_action.iter().map(|(kind, saved)| (kind.name().to_owned(), Value::Money(*saved))), "";
        record[class] "summary.by_classification.overprovisioned", "", Json, class_of(audit, Classification::Overprovisioned), "";
        record[class] "summary.by_classification.underutilized", "", Json, class_of(audit, Classification::Underutilized), "";
        record[class] "summary.by_classification.well-utilized", "", Json, class_of(audit, Classification::WellUtilized), "";
        record[class] "summary.by_classification.insufficient-data", "", Json, class_of(audit, Classification::InsufficientData), "";
        count "summary.funnel.total_gpus", "", Data, audit.funnel.total_gpus, "";
        count "summary.funnel.allocated_gpus", "", Data, audit.funnel.allocated_gpus, "With memory in use, or ever active.";
        count "summary.funnel.unknown_allocation_gpus", "", Data, audit.funnel.unknown_allocation_gpus, "";
        count "summary.funnel.active_gpus", "", Data, audit.funnel.active_gpus, "";
        number "summary.funnel.effective_gpus", "", Data, audit.funnel.effective_gpus, "Sum of the mean utilization of all.";
        count "summary.funnel.unmeasured_gpus", "", Data, audit.funnel.unmeasured_gpus, "";
        count "summary.unpriced_instances", "", Data, audit.totals.unpriced_instances, "No amount includes them.";
        count "summary.ignored_workloads", "", Data, audit.totals.ignored_workloads, "";
        record[kpis] "kpis", "", Json, *audit, "Key figures; docs/kpis.md defines each. Null where one is not known.";
        count "api.calls", "", Json, audit.api.calls, "";
        count "api.retries", "", Json, audit.api.retries, "";
        quantity "api.estimated_cost_usd", "", Json, audit.api.estimated_cost_usd, "";
        map[Kind::Count] "api.by_operation", "", Json, audit.api.by_operation.iter().map(|(name, calls)| (name.clone(), Value::Count(*calls))), "";
    }

    fn tag_filters<'a>(filter: &'a TagFilter) {
        text "key", "", Json, filter.key.clone(), "";
        text "value", "", Json, filter.value.clone(), "";
        flag "excluded", "", Json, filter.is_excluded, "";
    }

    fn class(sums: ClassTotals) {
        count "workloads", "", Json, sums.workloads, "";
        count "instances", "", Json, sums.instances, "";
        count "gpus", "", Json, sums.gpus, "";
        opt cost "monthly_cost", "", Json, sums.monthly_cost, "";
    }

    fn kpis<'a>(audit: &'a Audit) {
        opt number "gpu_hours_monthly", "", Json, measured(audit, Kpi::GpuHours), "";
        opt number "useful_gpu_hours_monthly", "", Json, measured(audit, Kpi::UsefulGpuHours), "";
        opt number "idle_gpu_hours_monthly", "", Json, measured(audit, Kpi::IdleGpuHours), "";
        opt number "unmeasured_gpu_hours_monthly", "", Json, measured(audit, Kpi::UnmeasuredGpuHours), "";
        opt number "utilization_percent", "", Json, measured(audit, Kpi::Utilization), "";
        opt number "utilization_by_cost_percent", "", Json, measured(audit, Kpi::UtilizationByCost), "";
        opt price "cost_per_useful_gpu_hour", "", Json, amount(audit, Kpi::CostPerUsefulGpuHour), "";
        opt number "training_jobs", "", Json, measured(audit, Kpi::TrainingJobs), "";
        opt price "cost_per_training_job", "", Json, amount(audit, Kpi::CostPerTrainingJob), "";
        opt price "cost_per_completed_training_job", "", Json, amount(audit, Kpi::CostPerCompletedTrainingJob), "";
        opt number "time_to_first_work_hours", "", Json, measured(audit, Kpi::TimeToFirstWork), "";
    }

    /// What it says only where it was asked for.
    pub(super) fn extras<'a>(asked: GroupedAudit<'a>) {
        opt record[target] "target", "", Json, asked.0.target, "Only with --target: what the plan was to save.";
        rows[unit_costs] "unit_costs", "", Json, &asked.0.kpis.unit_costs, "Only with --units: what units of work cost, in the order of the file.";
        opt record[groups] "groups", "", Json, asked.1.and_then(|by| match by { Grouping::Workloads(groups) => Some(groups), Grouping::Claims(_) => None }), "Only with --group-by: the cost by account, region, tag and so on. Rows sum to the total to the cent.";
        opt record[showback] "showback", "", Json, asked.1.and_then(|by| match by { Grouping::Claims(showback) => Some(showback), Grouping::Workloads(_) => None }), "Only with --group-by and keys of pods: the cost by who holds GPUs of Kubernetes nodes. Rows sum to the total to the cent.";
    }

    fn unit_costs<'a>(cost: &'a UnitCost) {
        text "name", "", Json, cost.name.clone(), "";
        text "unit", "", Json, cost.unit.clone(), "";
        quantity "count", "", Json, cost.count, "";
        opt word[CURRENCIES] "currency", "", Json, cost.cost.map(|cost| cost.currency().code()), "";
        opt money "cost", "", Json, cost.cost, "";
        count "per", "", Json, cost.per(), "Units that the price is of.";
        opt price "cost_per_units", "", Json, cost.price(), "";
    }
}

/// Every origin, also those without a price.
fn origins(audit: &Audit) -> impl Iterator<Item = (String, Value)> {
    let numbers = audit.prices.by_origin();
    PriceOrigin::ALL.iter().map(move |origin| {
        (origin.name().to_owned(), Value::Count(numbers.get(origin).copied().unwrap_or(0)))
    })
}

/// A class without workloads costs nothing.
pub(super) fn class_of(audit: &Audit, class: Classification) -> ClassTotals {
    audit.totals.by_classification.get(&class).copied().unwrap_or_else(|| ClassTotals {
        monthly_cost: Some(Money::zero(audit.totals.currency)),
        ..ClassTotals::default()
    })
}

pub(super) fn measured(audit: &Audit, kpi: Kpi) -> Option<f64> {
    if let KpiValue::Measured(value) = audit.kpis.get(kpi)? { Some(value) } else { None }
}

fn amount(audit: &Audit, kpi: Kpi) -> Option<Money> {
    if let KpiValue::Money(amount) = audit.kpis.get(kpi)? { Some(amount) } else { None }
}
