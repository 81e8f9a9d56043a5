//! The machines of nodes as the rules about clusters read them.

use crate::analysis::AuditedWorkload;
use crate::domain::{Clusters, InstanceCost, Lifecycle, PurchaseOption, ResourceId};
use crate::rules::MachineFacts;
use crate::savings::{Ending, ExistingCommitments};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of the machines of nodes, by machine.
pub(in crate::analysis) fn machine_facts<'a>(
    audited: &'a [AuditedWorkload],
    clusters: &Clusters,
    bought: &ExistingCommitments<'_>,
) -> BTreeMap<&'a ResourceId, MachineFacts<'a>> {
    let nodes: BTreeSet<&ResourceId> = clusters.nodes.iter().map(|node| &node.machine).collect();
    let mut machines = BTreeMap::new();
    for row in audited {
        let workload = &*row.workload;
        let costs = workload.cost.as_ref().map(|cost| cost.instances.as_slice());
        for (place, member) in workload.members.iter().enumerate() {
            if !nodes.contains(&member.id) {
                continue;
            }
            let cost = costs.and_then(|costs| costs.get(place));
            let facts = MachineFacts {
                instance_type: &workload.key.instance_type,
                price_class: price_class(workload.key.purchase_option),
                is_running: member.is_running,
                is_ignored: member.ignored.is_some(),
                first_seen: member.first_seen,
                monthly_cost: cost.map(InstanceCost::monthly_exact),
                ending: Ending::of(workload, place, bought),
                usage: workload.usage.get(place),
            };
            machines.insert(&member.id, facts);
        }
    }
    machines
}

/// How a machine was bought, whatever commitment pays for its hours.
fn price_class(option: PurchaseOption) -> Lifecycle {
    match option {
        PurchaseOption::Spot => Lifecycle::Spot,
        PurchaseOption::CapacityBlock => Lifecycle::CapacityBlock,
        PurchaseOption::OnDemand
        | PurchaseOption::Reserved
        | PurchaseOption::SavingsPlan
        | PurchaseOption::Mixed => Lifecycle::OnDemand,
    }
}
