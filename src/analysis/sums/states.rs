//! GPUs by how they behave.

use super::totals::plus;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{InstanceCost, Member, Money, UsageState};
use std::collections::BTreeMap;

/// The GPUs of running workloads that behave alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateGpus {
    /// Absent where too little was measured to say.
    pub state: Option<UsageState>,
    pub instances: u64,
    pub gpus: u64,
    /// Compute per month of these instances, in the currency of the totals; absent where none
    /// of it is priced.
    pub monthly_cost: Option<Money>,
}

/// The GPUs of running workloads by the state of their instances, in its order, those of
/// unknown state last. They add up to the GPUs of the totals, and their cost to the compute of
/// everything that runs.
pub fn gpus_by_state(audit: &Audit) -> Vec<StateGpus> {
    let mut found: BTreeMap<(bool, Option<UsageState>), StateGpus> = BTreeMap::new();
    let running = audit
        .workloads
        .iter()
        .filter(|one| one.workload.key.running);
    for audited in running {
        let workload = &audited.workload;
        let members = workload.members.len().max(1) as u64;
        let costs = workload.cost.as_ref().map(|cost| cost.instances.as_slice());
        for (place, member) in workload.members.iter().enumerate() {
            let state = state_of(audited, member);
            let cost = costs.and_then(|costs| costs.get(place));
            let cost = cost.map(InstanceCost::monthly);
            let in_sums = |amount: &Money| amount.currency() == audit.totals.currency;
            let sum = found.entry((state.is_none(), state)).or_default();
            sum.state = state;
            sum.instances += 1;
            sum.gpus += workload.running_gpus() / members;
            sum.monthly_cost = plus(sum.monthly_cost, cost.filter(in_sums));
        }
    }
    found.into_values().collect()
}

/// The state of a member; of a workload of one that of the workload, which a profile may know.
fn state_of(audited: &AuditedWorkload, member: &Member) -> Option<UsageState> {
    let is_alone = audited.workload.members.len() == 1;
    let of_all = audited.verdict.state.filter(|_| is_alone);
    member.state.or(of_all)
}
