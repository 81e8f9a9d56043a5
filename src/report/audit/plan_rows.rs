//! The actions of a plan in the order that they are read in.

use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{Action, Money};
use crate::report::shared::view::{Picked, View, sum};
use crate::savings::UnusedCommitment;
use rust_decimal::Decimal;
use std::cmp::Reverse;

/// An action with the name of what it is about.
pub(super) type Step<'a> = (&'a str, &'a Action);

/// The actions of a plan that a view shows, and those that its filters leave out. What is paid
/// for and does not run is outside of every filter.
pub(super) fn steps<'a>(
    audit: &'a Audit,
    picked: &Picked<'a>,
    view: &View,
) -> (Vec<Step<'a>>, Vec<Step<'a>>) {
    let shown = if view.is_filtered() {
        0
    } else {
        audit.unused.len()
    };
    let (unused, outside) = audit.unused.split_at(shown);
    (
        steps_of(&picked.kept, unused),
        steps_of(&picked.left_out, outside),
    )
}

/// The actions of workloads, and of what is paid for and does not run. All actions of what
/// saves most come first, in the order of its plan.
fn steps_of<'a>(
    workloads: &[&'a AuditedWorkload],
    unused: &'a [UnusedCommitment],
) -> Vec<Step<'a>> {
    let of_workloads = workloads.iter().copied().map(|one| {
        let name = one.workload.name.as_str();
        (one.workload.id(), name, one.actions.as_slice())
    });
    let of_unused = unused
        .iter()
        .map(|one| (one.id.clone(), one.id.as_str(), one.actions.as_slice()));
    let mut planned: Vec<(String, &'a str, &'a [Action])> = of_workloads.chain(of_unused).collect();
    planned.sort_by_cached_key(|(id, _, actions)| {
        let saved = actions.iter().map(|one| one.monthly_savings().amount());
        (Reverse(saved.sum::<Decimal>()), id.clone())
    });
    let of_one = |(_, name, actions): (String, &'a str, &'a [Action])| {
        actions.iter().map(move |action| (name, action))
    };
    planned.into_iter().flat_map(of_one).collect()
}

/// What some steps save together.
pub(super) fn worth(steps: &[Step<'_>]) -> Option<Money> {
    let savings = steps.iter().map(|(_, action)| action.monthly_savings());
    sum(savings.map(Some))
}
