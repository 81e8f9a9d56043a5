//! Who keeps an Auto Scaling group: a service that made it sets its sizes, and what is changed in
//! the group alone may not last. Where its zones hold different numbers of instances, the group
//! starts some in one zone and ends others in another, whatever these do.

use crate::domain::{ResourceId, ScalingGroup, Workload, shell_word};
use std::fmt;

/// Tags that EKS gives to the instances of a managed node group.
const NODE_GROUP_TAG: &str = "eks:nodegroup-name";
const CLUSTER_TAG: &str = "eks:cluster-name";
/// Tag of a group that a capacity provider of Amazon ECS scales.
const ECS_TAG: &str = "AmazonECSManaged";

#[derive(Debug, Clone, Copy)]
enum Keeper<'a> {
    /// A managed node group of Amazon EKS.
    NodeGroup { cluster: &'a str, name: &'a str },
    /// A capacity provider of Amazon ECS.
    CapacityProvider,
}

/// An Auto Scaling group, named as what its sizes are changed in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    group: &'a str,
    keeper: Option<Keeper<'a>>,
}

impl<'a> Place<'a> {
    /// The group of a workload by its name, kept as the tags of its instances say.
    pub fn of(group: &'a str, workload: &'a Workload) -> Self {
        let tag = |key: &str| workload.tags.get(key).map(String::as_str);
        let keeper = match (tag(CLUSTER_TAG), tag(NODE_GROUP_TAG)) {
            (Some(cluster), Some(name)) => Some(Keeper::NodeGroup { cluster, name }),
            _ => tag(ECS_TAG).map(|_| Keeper::CapacityProvider),
        };
        Self { group, keeper }
    }

    /// Whether a service made it, which may undo what is changed in the group.
    pub fn is_kept(self) -> bool {
        self.keeper.is_some()
    }

    /// Where its sizes are changed, before anything else; absent for one that nothing keeps.
    pub fn first_step(self) -> Option<String> {
        let group = self.group;
        Some(match self.keeper? {
            Keeper::NodeGroup { cluster, name } => format!(
                "change sizes in the `--scaling-config` of `aws eks update-nodegroup-config \
                 --cluster-name {} --nodegroup-name {}`: EKS sets those of its Auto Scaling group \
                 {group}",
                shell_word(cluster),
                shell_word(name)
            ),
            Keeper::CapacityProvider => format!(
                "drain the container instances first, and check the capacity provider of Amazon \
                 ECS: with managed scaling (`aws ecs update-capacity-provider`), it sets the \
                 desired capacity of the Auto Scaling group {group} by its tasks"
            ),
        })
    }

    /// What is done to it by the hour.
    pub fn schedule(self) -> String {
        match self.keeper {
            Some(Keeper::NodeGroup { .. }) => {
                format!("change the scaling configuration of {self} by EventBridge Scheduler")
            }
            Some(Keeper::CapacityProvider) | None => format!("add scheduled actions to {self}"),
        }
    }

    /// What takes the place of a setting that it keeps for good, such as `instance types`;
    /// absent for one whose settings can be changed.
    pub fn instead(self, kept: &str, other: &str) -> Option<String> {
        match self.keeper? {
            Keeper::NodeGroup { cluster, .. } => Some(format!(
                "{self} keeps its {kept}: create a node group with {other} in the cluster \
                 {cluster}"
            )),
            Keeper::CapacityProvider => None,
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.keeper {
            Some(Keeper::NodeGroup { cluster, name }) => {
                write!(f, "the EKS node group {name} of the cluster {cluster}")
            }
            Some(Keeper::CapacityProvider) | None => {
                write!(f, "the Auto Scaling group {}", self.group)
            }
        }
    }
}

/// What AWS calls the process that does so.
pub const REBALANCING: &str = "AZRebalance";

/// What comes before some instances of a group end by their IDs, of which the members of a
/// workload are known by their zones; absent where the group balances no zones.
///
/// Source: <https://docs.aws.amazon.com/autoscaling/ec2/userguide/auto-scaling-benefits.html>,
/// "Rebalancing activities".
pub(super) fn suspending_rebalancing(
    name: &str,
    group: Option<&ScalingGroup>,
    workload: &Workload,
) -> Option<String> {
    let has_process =
        |group: &ScalingGroup| !group.suspended.iter().any(|process| process == REBALANCING);
    group.is_none_or(|group| has_process(group) && !is_in_one_zone(group, workload)).then(|| {
        format!(
            "before any is ended, suspend the rebalancing of zones with `aws autoscaling \
             suspend-processes --auto-scaling-group-name {} --scaling-processes {REBALANCING}`: where \
             zones then hold different numbers, the group ends other instances, busy ones too, \
             and resuming it does the same",
            shell_word(name)
        )
    })
}

/// Whether every instance in service is known to be in the same zone.
fn is_in_one_zone(group: &ScalingGroup, workload: &Workload) -> bool {
    let zone = |id: &ResourceId| workload.member(id)?.zone.as_deref();
    let mut zones = group.in_service.iter().flatten().map(zone);
    let first = zones.next().flatten();
    first.is_some() && zones.all(|zone| zone == first)
}
