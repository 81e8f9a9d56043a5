//! The machines of nodes as the rules about clusters read them.

use crate::analysis::AuditedWorkload;
use crate::domain::{Clusters, InstanceCost, Money, Provider, ResourceId};
use crate::rules::MachineFacts;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of the machines of nodes, by machine.
pub(in crate::analysis) fn machine_facts<'a>(
    audited: &'a [AuditedWorkload],
    clusters: &Clusters,
) -> BTreeMap<&'a ResourceId, MachineFacts<'a>> {
    let nodes: BTreeSet<&ResourceId> = clusters.nodes.iter().map(|one| &one.machine).collect();
    let mut machines = BTreeMap::new();
    for one in audited {
        let workload = &*one.workload;
        let costs = workload.cost.as_ref().map(|cost| cost.instances.as_slice());
        for (place, member) in workload.members.iter().enumerate() {
            if !nodes.contains(&member.id) {
                continue;
            }
            let cost = costs.and_then(|costs| costs.get(place));
            // Own hardware costs the same whether it is used or not.
            let ends = cost.filter(|_| workload.key.provider != Provider::OnPremises);
            let facts = MachineFacts {
                instance_type: &workload.key.instance_type,
                is_running: member.is_running,
                is_ignored: member.ignored.is_some(),
                first_seen: member.first_seen,
                monthly_cost: cost.map(InstanceCost::monthly_exact),
                monthly_savings: ends.and_then(savings),
                usage: workload.usage.get(place),
            };
            machines.insert(&member.id, facts);
        }
    }
    machines
}

/// What of its cost ends with an instance; absent when nothing does.
fn savings(cost: &InstanceCost) -> Option<Money> {
    let saved = cost.monthly().checked_sub(cost.committed_monthly()).ok()?;
    (saved.amount().is_sign_positive() && !saved.amount().is_zero()).then_some(saved)
}
