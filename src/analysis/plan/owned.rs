//! What an account has bought already: whose hours are paid for ahead, and what
//! is to be said about the commitments themselves.

use crate::analysis::PriceUse;
use crate::analysis::workloads::PaidHours;
use crate::catalog::Prices;
use crate::domain::{
    CapacityReservation, Cause, CauseKind, Finding, Gap, GapSubject, Member, Policy, PriceKey,
    PriceOption, PurchaseOption, SavingsPlan, Workload,
};
use crate::rules::commitment_findings;
use crate::savings::{Coverage, Unused, UnusedCommitment, existing_coverage};
use crate::usage::Estate;

/// The commitments of an estate and what they cover.
pub(in crate::analysis) struct Owned<'a> {
    estate: &'a Estate,
    prices: &'a Prices<'a>,
    policy: &'a Policy,
    coverage: Coverage,
}

impl<'a> Owned<'a> {
    pub(in crate::analysis) fn of(
        estate: &'a Estate,
        prices: &'a Prices<'a>,
        policy: &'a Policy,
    ) -> Self {
        Self {
            coverage: existing_coverage(estate, prices, policy),
            estate,
            prices,
            policy,
        }
    }

    pub(in crate::analysis) fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// What is paid for from now on, by instance.
    pub(in crate::analysis) fn paid_hours(&self) -> PaidHours {
        let covered = self.coverage.instances.iter();
        covered
            .filter_map(|one| Some((one.id.clone(), one.committed(self.estate.as_of)?)))
            .collect()
    }

    /// The capacity reservation of an id, where the account may lower it; `None` for
    /// one that cannot be lowered, and for one that is not in sight, which is somebody
    /// else's.
    pub(super) fn lowerable(&self, id: &str) -> Option<&CapacityReservation> {
        let mut all = self.estate.commitments.capacity_reservations.iter();
        let found = all.find(|one| one.id == id)?;
        found.can_be_cancelled(self.estate.as_of).then_some(found)
    }

    /// A savings plan that may cover what a price is of and whose rate for it nobody
    /// knows: whether anything pays beside it cannot be said.
    pub(in crate::analysis) fn plan_of_unknown_rate(
        &self,
        key: &PriceKey,
    ) -> Option<&'a SavingsPlan> {
        self.estate.commitments.savings_plans.iter().find(|plan| {
            let option = plan.kind.price_option(plan.term);
            plan.end > self.estate.as_of
                && plan.may_cover(&key.region, key.family())
                && option.is_some_and(|option| self.prices.get(&key.with_option(option)).is_err())
        })
    }

    /// A savings plan of unknown rate that may pay for hours of a member of a running
    /// workload. No plan pays for spot or a Capacity Block.
    pub(super) fn plan_that_may_pay(
        &self,
        workload: &Workload,
        member: &Member,
    ) -> Option<&'a SavingsPlan> {
        let option = workload.key.purchase_option;
        let is_never_paid =
            option == PurchaseOption::Spot || option == PurchaseOption::CapacityBlock;
        if !workload.key.running || is_never_paid {
            return None;
        }
        self.plan_of_unknown_rate(&member.price_key.with_option(PriceOption::OnDemand))
    }

    /// Every finding about what was bought, with the prices behind its figures.
    pub(in crate::analysis) fn findings(&self, prices_used: &mut PriceUse) -> Vec<Finding> {
        commitment_findings(&self.unused(prices_used), &self.coverage, self.estate.as_of)
    }

    /// What is paid for and does not run, with the prices behind its figures.
    pub(in crate::analysis) fn unused(&self, prices_used: &mut PriceUse) -> Vec<UnusedCommitment> {
        let unused = Unused {
            coverage: &self.coverage,
            prices: self.prices,
            policy: self.policy,
            window: self.estate.window,
            as_of: self.estate.as_of,
        };
        let (rows, quotes) = unused.rows();
        for found in quotes {
            prices_used.insert(found);
        }
        rows
    }
}

/// Why the hours of a workload that no commitment covers get no advice: what
/// moving it would save on them depends on who takes over the others.
pub(in crate::analysis) fn unweighed(workload: &Workload, is_stopped: bool) -> Option<Gap> {
    let committed_cost = workload.committed_cost()?;
    let is_mixed = workload.key.purchase_option == PurchaseOption::Mixed;
    if !is_mixed || workload.ignored.is_some() || is_stopped {
        return None;
    }
    let cause = Cause::of(CauseKind::PartlyCommitted, [&committed_cost.in_words()]);
    Some(Gap::of(GapSubject::Commitments, workload.id(), cause))
}
