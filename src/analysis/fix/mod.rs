//! The actions of a plan in the order in which they are carried out.

mod facts;
mod model;

pub use self::model::{
    Fix, FixChoice, FixTarget, GROUP_RESOURCE, GroupFix, Lowered, MemberFix, ReservationFix,
    WorkloadFix,
};

use self::facts::{Facts, Room};
use self::model::fix;
use super::{Audit, AuditedWorkload};
use crate::domain::{ActionKind, Policy, TerraformPlan};
use crate::savings::Purchase;
use crate::usage::Estate;
use std::collections::BTreeSet;

/// The actions of a plan that are asked for: by workload in the order of the audit, those on
/// one workload in the order of the plan; then unused capacity reservations; then purchases,
/// which are sized by what remains.
pub fn fixes<'a>(
    audit: &'a Audit,
    estate: &'a Estate,
    terraform: Option<&'a TerraformPlan>,
    (policy, choice): (&'a Policy, &FixChoice),
) -> Vec<Fix<'a>> {
    let facts = Facts::of(audit, estate, terraform, policy);
    let mut room = Room::default();
    let mut found = Vec::new();
    let chosen = audit.workloads.iter();
    let chosen: Vec<&AuditedWorkload> = chosen.filter(|one| choice.names(&one.workload)).collect();
    for &audited in &chosen {
        found.extend(facts.of_workload(audited, choice, &mut room));
    }
    for row in &audit.unused {
        let is_chosen = choice.has_kind(ActionKind::Release) && choice.has_name(&row.id);
        for action in row.actions.iter().filter(|_| is_chosen) {
            let target = ReservationFix {
                row,
                reservation: facts.reservations.get(row.id.as_str()).copied(),
                is_lowered_before: room.is_lowered(&row.id),
            };
            found.push(fix(action, FixTarget::Reservation(target), Vec::new()));
        }
    }
    let chosen: BTreeSet<String> = chosen.iter().map(|one| one.workload.id()).collect();
    let purchases = audit.purchases.iter();
    for purchase in purchases.filter(|_| choice.has_kind(ActionKind::Commit)) {
        if purchase.shares.iter().any(|one| chosen.contains(&one.id)) {
            found.push(bought(purchase));
        }
    }
    found
}

fn bought(purchase: &Purchase) -> Fix<'_> {
    Fix {
        kind: ActionKind::Commit,
        target: FixTarget::Purchase(purchase),
        monthly_savings: purchase.monthly_savings,
        risk: purchase.term.risk,
        detail: format!(
            "{} × {} in {}, {}, at {}/h instead of {}/h in every hour",
            purchase.count,
            purchase.key.instance_type,
            purchase.key.region,
            purchase.what(),
            purchase.term.effective_hourly.amount().normalize(),
            purchase.on_demand_hourly.amount().normalize()
        ),
        caveats: purchase.caveats.clone(),
        advice: Vec::new(),
    }
}
