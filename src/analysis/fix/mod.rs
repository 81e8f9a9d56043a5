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
use crate::savings::{Purchase, ScopeChange};
use crate::usage::Estate;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The actions of a plan that are asked for, in the order of certainty: what ends first, then
/// schedules, moves and spot, and what is bought last. Of one kind they are in the order of the
/// audit.
pub fn fixes<'a>(
    audit: &'a Audit,
    estate: &'a Estate,
    terraform: Option<&'a TerraformPlan>,
    (policy, choice): (&'a Policy, &FixChoice),
) -> Vec<Fix<'a>> {
    let facts = Facts::of(audit, estate, terraform, policy);
    let mut room = Room::default();
    let mut fixes = Vec::new();
    let chosen = audit.workloads.iter();
    let chosen: Vec<&AuditedWorkload> =
        chosen.filter(|audited| choice.names(&audited.workload)).collect();
    for &audited in &chosen {
        fixes.extend(facts.of_workload(audited, choice, &mut room));
    }
    for row in &audit.unused {
        let is_chosen = choice.has(ActionKind::Release, &[&row.id]) && choice.has_name(&row.id);
        for action in row.actions.iter().filter(|_| is_chosen) {
            let target = ReservationFix {
                row,
                reservation: facts.reservations.get(row.id.as_str()).copied(),
                is_lowered_before: room.is_lowered(&row.id),
            };
            fixes.push(fix(action, FixTarget::Reservation(target), Vec::new()));
        }
    }
    let chosen: BTreeSet<String> = chosen.iter().map(|audited| audited.workload.id()).collect();
    let changes = audit.scope_changes.iter();
    let changes = changes.filter(|change| change.shares.iter().any(|(id, _)| chosen.contains(id)));
    let purchases = audit.purchases.iter();
    let purchases =
        purchases.filter(|purchase| purchase.shares.iter().any(|share| chosen.contains(&share.id)));
    let commitments = changes.map(rescoped).chain(purchases.map(bought));
    fixes.extend(commitments.filter(|fix| choice.has(fix.kind, &[fix.name(), &fix.subject()])));
    // Room of a reservation is released after the machines in it have stopped, and purchases have
    // the order of the plan.
    let saved =
        |fix: &Fix<'_>| matches!(fix.kind.stage(), 1..=3).then_some(fix.monthly_savings.amount());
    fixes.sort_by_cached_key(|fix| (fix.kind.stage(), Reverse(saved(fix))));
    fixes
}

fn rescoped(change: &ScopeChange) -> Fix<'_> {
    Fix {
        kind: ActionKind::Commit,
        target: FixTarget::Scope(change),
        monthly_savings: change.monthly_savings,
        risk: ScopeChange::RISK,
        detail: change.detail(),
        caveats: vec![change.caveat()],
        advice: Vec::new(),
    }
}

fn bought(purchase: &Purchase) -> Fix<'_> {
    Fix {
        kind: ActionKind::Commit,
        target: FixTarget::Purchase(purchase),
        monthly_savings: purchase.monthly_savings,
        risk: purchase.term.risk,
        detail: format!(
            "{} × {} in {}, {}, at {} instead of {} in every hour",
            purchase.count,
            purchase.key.instance_type,
            purchase.key.region,
            purchase.what(),
            purchase.term.effective_hourly,
            purchase.on_demand_hourly
        ),
        caveats: purchase.caveats.clone(),
        advice: Vec::new(),
    }
}
