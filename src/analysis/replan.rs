//! The plan of an audit again, with other actions rejected.

use super::kpis::planned_utilization_percent;
use super::plan::Choices;
use super::{Audit, Totals};
use crate::domain::Risk;
use crate::savings::RejectedKinds;

impl Audit {
    /// Plans again without what is rejected, from what its plan was chosen from: actions,
    /// purchases and totals become those of an audit whose policy rejects the same. What each
    /// lever offers by itself, and the findings, stay as they are.
    pub fn replan(&mut self, choices: &Choices, rejected: &RejectedKinds) {
        self.replan_within(choices, rejected, self.accepted);
    }

    /// The same with no more risk than `most`.
    pub(super) fn replan_within(
        &mut self,
        choices: &Choices,
        rejected: &RejectedKinds,
        most: Risk,
    ) {
        let Some(mut plan) = choices.plan(rejected, most) else {
            return;
        };
        for audited in &mut self.workloads {
            if let Some(chosen) = plan.chosen.remove(&audited.workload.id()) {
                (audited.actions, audited.left_out) = chosen;
            }
        }
        (self.plan_risk, self.purchases, self.pools) = (plan.risk, plan.purchases, plan.pools);
        self.scope_changes = plan.scope_changes;
        // The gaps of sums are among those of the audit already.
        self.totals = Totals::of(&self.workloads, &self.unused, &mut Vec::new());
        self.planned_utilization_percent =
            planned_utilization_percent(&self.workloads, &choices.policy);
    }
}
