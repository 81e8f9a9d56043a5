//! An audit of now in the form in which earlier ones are kept.

use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    Action, Finding, Gap, PastAudit, PastFinding, PastGap, PastTotals, PastUnitCost, PastUnused,
    PastWorkload, UnitCost,
};
use crate::savings::UnusedCommitment;

impl PastAudit {
    /// What a later audit can be compared with, of an audit of now.
    pub fn of(audit: &Audit) -> Self {
        let totals = &audit.totals;
        Self {
            gpucost_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            as_of: audit.as_of,
            window: audit.window,
            source: audit.source.name().to_owned(),
            accounts: audit.accounts.clone(),
            regions: audit.regions.clone(),
            tag_filters: audit.tag_filters.clone(),
            totals: PastTotals {
                currency: totals.currency,
                instances: totals.instances,
                gpus: totals.gpus,
                unpriced_instances: totals.unpriced_instances,
                monthly_cost: totals.monthly_cost,
                planned_monthly_cost: totals.planned_monthly_cost,
                monthly_savings: totals.monthly_savings(),
                monthly_waste: totals.monthly_waste,
            },
            kpis: audit.kpis.values.clone(),
            unit_costs: audit.kpis.unit_costs.iter().map(unit_cost).collect(),
            workloads: audit.workloads.iter().map(workload).collect(),
            unused: audit.unused.iter().map(unused).collect(),
            findings: audit.findings.iter().map(finding).collect(),
            gaps: audit.gaps.iter().map(gap).collect(),
            left_out_workloads: 0,
        }
    }
}

fn workload(audited: &AuditedWorkload) -> PastWorkload {
    let workload = &audited.workload;
    let key = &workload.key;
    let measured = workload.utilization.as_ref();
    PastWorkload {
        id: workload.id(),
        name: workload.name.clone(),
        account: key.account.clone(),
        region: key.region.clone(),
        kind: workload.kind.name().to_owned(),
        instances: workload.instances.iter().map(ToString::to_string).collect(),
        instance_type: key.instance_type.clone(),
        running: key.running,
        purchase_option: key.purchase_option.name().to_owned(),
        tags: workload.tags.clone(),
        monthly_cost: workload.monthly_cost(),
        planned_monthly_cost: audited.planned_monthly_cost(),
        lost_work: audited.actions.iter().find_map(Action::lost_work),
        snapshots: audited.actions.iter().find_map(Action::snapshots),
        classification: audited.verdict.classification.name().to_owned(),
        signal: measured.map(|summary| summary.signal.name().to_owned()),
        mean_percent: measured.map(|summary| summary.distribution.mean),
    }
}

fn unit_cost(unit_cost: &UnitCost) -> PastUnitCost {
    PastUnitCost {
        name: unit_cost.name.clone(),
        unit: unit_cost.unit.clone(),
        per: unit_cost.per(),
        price: unit_cost.price(),
    }
}

fn unused(row: &UnusedCommitment) -> PastUnused {
    PastUnused {
        id: row.id.clone(),
        name: row.name.clone(),
        account: row.account.clone(),
        region: row.region.clone(),
        monthly_cost: row.monthly_cost,
        planned_monthly_cost: row.planned_monthly_cost(),
    }
}

fn gap(gap: &Gap) -> PastGap {
    PastGap {
        what: gap.what.clone(),
        place: gap.place.clone(),
        cause: gap.cause.as_ref().map(|cause| cause.kind()),
        reason: gap.reason.clone(),
    }
}

fn finding(finding: &Finding) -> PastFinding {
    PastFinding {
        id: finding.id(),
        rule: finding.rule().to_owned(),
        workload: finding.workload().to_owned(),
        severity: finding.severity.name().to_owned(),
        title: finding.title.clone(),
        monthly_savings: finding.monthly_savings,
    }
}
