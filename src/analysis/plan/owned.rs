//! What an account has bought already: whose hours are paid for ahead, and what
//! is to be said about the commitments themselves.

use crate::analysis::PriceUse;
use crate::analysis::workloads::{PaidHours, block_hours};
use crate::catalog::Prices;
use crate::domain::{Cause, CauseKind, Finding, Gap, GapSubject, Policy, PurchaseOption, Workload};
use crate::rules::commitment_findings;
use crate::savings::{Bought, Coverage, Unused, UnusedCommitment, existing_coverage};
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
        coverage: Coverage,
        prices: &'a Prices<'a>,
        policy: &'a Policy,
    ) -> Self {
        Self {
            coverage,
            estate,
            prices,
            policy,
        }
    }

    /// What an estate has bought, where its coverage is not known yet.
    pub(in crate::analysis) fn of_estate(
        estate: &'a Estate,
        prices: &'a Prices<'a>,
        policy: &'a Policy,
    ) -> Self {
        let coverage = existing_coverage(estate, prices, policy);
        Self::of(estate, coverage, prices, policy)
    }

    pub(in crate::analysis) fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// What is paid for from now on, by instance.
    pub(in crate::analysis) fn paid_hours(&self) -> PaidHours {
        let covered = self.coverage.instances.iter();
        let covered =
            covered.filter_map(|one| Some((one.id.clone(), one.committed(self.estate.as_of)?)));
        let instances = self.estate.instances.iter();
        let in_blocks = instances.filter_map(|one| {
            let hours = block_hours(one, self.estate, self.prices)?;
            Some((one.id.clone(), hours))
        });
        covered.chain(in_blocks).collect()
    }

    /// What is bought, as far as it decides about a lever.
    pub(in crate::analysis) fn bought(&self) -> Bought<'a> {
        Bought {
            commitments: &self.estate.commitments,
            prices: self.prices,
            as_of: self.estate.as_of,
        }
    }

    /// Every finding about what was bought, with the prices behind its figures.
    pub(in crate::analysis) fn findings(&self, prices_used: &mut PriceUse) -> Vec<Finding> {
        commitment_findings(&self.unused(prices_used), &self.coverage, self.estate.as_of)
    }

    /// What is paid for and does not run, with the prices behind its figures.
    pub(in crate::analysis) fn unused(&self, prices_used: &mut PriceUse) -> Vec<UnusedCommitment> {
        let unused = Unused {
            coverage: &self.coverage,
            commitments: &self.estate.commitments,
            accounts: &self.estate.accounts,
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

/// The gap of instances that a savings plan of unknown rate may cover.
pub(in crate::analysis) fn unknown_rate(
    plan: &str,
    instance_type: &str,
    workload: &Workload,
) -> Gap {
    let cause = Cause::of(CauseKind::RateUnknown, [plan, instance_type]);
    Gap::of(GapSubject::SavingsPlanRate, workload.id(), cause)
}
