//! The pool of a node in the words of what makes its nodes: values to set there, so that
//! what the advice asks for lasts.

use super::facts::View;
use crate::catalog::shape;
use crate::domain::{Node, PoolMaker, ResourceId, Scheduler};
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// The longest value of a label.
const LONGEST_NAME: usize = 63;
/// How long Karpenter waits after the last change of a node before it removes the node.
const CONSOLIDATE_AFTER: &str = "5m";

/// A pool whose maker is known, and whose name is safe in a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pool<'a> {
    name: &'a str,
    maker: PoolMaker,
    /// As a value of a command; a placeholder where it is unknown.
    cluster: &'a str,
}

/// What a pool has without some of its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rest {
    nodes: usize,
    /// Physical ones; absent where one is unknown.
    gpus: Option<Decimal>,
}

impl<'a> Pool<'a> {
    pub fn of(node: &'a Node) -> Option<Self> {
        if node.scheduler != Scheduler::Kubernetes {
            return None;
        }
        let name = node.pool.as_deref().filter(|name| is_plain(name))?;
        let cluster = node.cluster.as_deref().filter(|name| is_plain(name));
        Some(Self {
            name,
            maker: node.pool_maker?,
            cluster: cluster.unwrap_or("CLUSTER"),
        })
    }

    /// The values without which nodes that are released come back or stay.
    fn released(self, rest: Rest, resource: &str, instance: &str) -> String {
        let Self {
            name,
            maker,
            cluster,
        } = self;
        let nodes = rest.nodes;
        match maker {
            PoolMaker::Karpenter => {
                let gpus = rest.gpus.map(|gpus| {
                    let gpus = gpus.ceil().normalize();
                    format!(", and spec.limits[\"{resource}\"]: {gpus}")
                });
                format!(
                    "in the NodePool {name}, set spec.disruption.consolidationPolicy: \
                     WhenEmptyOrUnderutilized, spec.disruption.consolidateAfter: \
                     {CONSOLIDATE_AFTER}{}",
                    gpus.unwrap_or_default()
                )
            }
            PoolMaker::EksNodeGroup => format!(
                "`aws eks update-nodegroup-config --cluster-name {cluster} --nodegroup-name {name} \
                 --scaling-config minSize={nodes},desiredSize={nodes}` (a lower minSize may stay); \
                 it chooses the node that ends, unless you end the drained one instead of setting \
                 desiredSize: `aws autoscaling terminate-instance-in-auto-scaling-group \
                 --instance-id {instance} --should-decrement-desired-capacity`"
            ),
            PoolMaker::Eksctl => format!(
                "`eksctl scale nodegroup --cluster {cluster} --name {name} --nodes {nodes} \
                 --nodes-min {nodes}` (a lower minimum may stay)"
            ),
            PoolMaker::Gke => format!(
                "with autoscaling, `gcloud container node-pools update {name} --cluster {cluster} \
                 --location LOCATION --total-min-nodes {nodes}` (a lower minimum may stay); \
                 without, `gcloud container clusters resize {cluster} --location LOCATION \
                 --node-pool {name} --num-nodes COUNT`, where COUNT is of each zone, {nodes} in all"
            ),
            PoolMaker::Aks => format!(
                "`az aks nodepool scale --resource-group GROUP --cluster-name {cluster} --name \
                 {name} --node-count {nodes}`"
            ),
        }
    }

    /// The values that keep pods away that request none of a resource.
    pub fn reserved_for(self, resource: &str) -> Option<String> {
        let Self {
            name,
            maker,
            cluster,
        } = self;
        match maker {
            PoolMaker::Karpenter => Some(format!(
                "in the NodePool {name}, set spec.template.spec.taints: [{{key: {resource}, value: \
                 \"true\", effect: NoSchedule}}]"
            )),
            PoolMaker::EksNodeGroup => Some(format!(
                "`aws eks update-nodegroup-config --cluster-name {cluster} --nodegroup-name {name} \
                 --taints \"addOrUpdateTaints=[{{key={resource},value=true,effect=NO_SCHEDULE}}]\"`"
            )),
            // Their commands replace all taints of the pool.
            PoolMaker::Eksctl | PoolMaker::Gke | PoolMaker::Aks => None,
        }
    }

    /// The values that make nodes of types with as many GPUs and more of what is scarce.
    pub fn with_more(self, scarce: &str, instance_type: &str) -> Option<String> {
        if self.maker != PoolMaker::Karpenter {
            return None;
        }
        let shape = shape(instance_type)?;
        let gpus = shape.gpu.as_ref()?.share.count();
        let gpus = Some(gpus).filter(|count| count.fract().is_zero())?;
        let (key, least) = match scarce {
            "CPU" => ("instance-cpu", u64::from(shape.vcpu)),
            _ => ("instance-memory", shape.memory_mib),
        };
        Some(format!(
            "in the NodePool {}, set spec.template.spec.requirements: [{{key: \
             karpenter.k8s.aws/instance-gpu-count, operator: In, values: [\"{gpus}\"]}}, {{key: \
             karpenter.k8s.aws/{key}, operator: Gt, values: [\"{least}\"]}}] (on EKS Auto Mode, the \
             keys begin with eks.amazonaws.com/)",
            self.name
        ))
    }
}

/// How the pool of some nodes loses them for good; all are of one pool, and there is one.
pub(super) fn shrinking(view: &View<'_>, nodes: &[&Node]) -> Option<String> {
    let first = nodes.first()?;
    let pool = Pool::of(first)?;
    let gone: BTreeSet<&ResourceId> = nodes.iter().map(|node| &node.machine).collect();
    let all = view.facts.clusters.nodes.iter();
    let rest = all.filter(|node| {
        let is_own = node.scheduler == first.scheduler
            && node.cluster == first.cluster
            && node.pool == first.pool;
        is_own && !gone.contains(&node.machine)
    });
    let rest: Vec<&Node> = rest.collect();
    let gpus = rest.iter().map(|node| node.physical);
    let rest = Rest {
        nodes: rest.len(),
        gpus: gpus.sum(),
    };
    let only = Some(first.machine.native()).filter(|id| nodes.len() == 1 && is_plain(id));
    Some(pool.released(rest, resource_of(first), only.unwrap_or("INSTANCE")))
}

/// What pods request to have a device of a node. Names of drivers of DRA have no `/`: no
/// taint and no limit is by these.
pub(super) fn resource_of(node: &Node) -> &str {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "./-".contains(c);
    let mut resources = node.devices.keys();
    let plain = resources.find(|name| name.contains('/') && name.chars().all(is_word));
    plain.map_or("nvidia.com/gpu", String::as_str)
}

/// Whether a name is one that labels may have, and so a word of a command.
fn is_plain(name: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphanumeric();
    name.len() <= LONGEST_NAME
        && name.starts_with(is_first)
        && name.chars().all(|c| is_first(c) || "-_.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::super::lab::{Lab, node};
    use super::*;

    fn of(maker: PoolMaker, name: &str) -> Node {
        Node {
            pool: Some("gpu-a100".to_owned()),
            pool_maker: Some(maker),
            ..node(name, 8)
        }
    }

    fn said(maker: PoolMaker) -> String {
        let nodes = ["a", "b", "c"].map(|name| of(maker, name));
        let lab = Lab::of(nodes.clone().into(), Vec::new());
        lab.with(|facts| shrinking(&View::of(facts), &[&nodes[1]]).expect("a pool"))
    }

    #[test]
    fn what_a_pool_keeps_is_what_it_has_without_the_nodes() {
        // Two of three nodes with eight GPUs each.
        assert_eq!(
            said(PoolMaker::Karpenter),
            "in the NodePool gpu-a100, set spec.disruption.consolidationPolicy: \
             WhenEmptyOrUnderutilized, spec.disruption.consolidateAfter: 5m, and \
             spec.limits[\"nvidia.com/gpu\"]: 16"
        );
        let eks = said(PoolMaker::EksNodeGroup);
        assert!(
            eks.starts_with(
                "`aws eks update-nodegroup-config --cluster-name lab --nodegroup-name gpu-a100 \
                 --scaling-config minSize=2,desiredSize=2`"
            ),
            "{eks}"
        );
        assert!(eks.contains("--instance-id i-b "), "{eks}");
        for (maker, words) in [
            (
                PoolMaker::Eksctl,
                "--name gpu-a100 --nodes 2 --nodes-min 2`",
            ),
            (PoolMaker::Gke, "--total-min-nodes 2`"),
            (
                PoolMaker::Aks,
                "--cluster-name lab --name gpu-a100 --node-count 2`",
            ),
        ] {
            assert!(said(maker).contains(words), "{}", said(maker));
        }
    }

    #[test]
    fn a_name_that_is_no_word_of_a_command_is_in_none() {
        for name in ["", "-rf", "a b", "a;reboot", "a`id`", "$(id)", "a\u{202e}b"] {
            let hostile = Node {
                pool: Some(name.to_owned()),
                ..of(PoolMaker::EksNodeGroup, "a")
            };
            assert!(Pool::of(&hostile).is_none(), "{name}");
        }
        let mut one = of(PoolMaker::EksNodeGroup, "a");
        one.cluster = Some("$(id)".to_owned());
        assert_eq!(Pool::of(&one).map(|pool| pool.cluster), Some("CLUSTER"));
        one.pool_maker = None;
        assert!(Pool::of(&one).is_none());
        // Commands for node groups of Kubernetes are of no use for container instances.
        let task_host = Node {
            scheduler: Scheduler::Ecs,
            ..of(PoolMaker::EksNodeGroup, "a")
        };
        assert!(Pool::of(&task_host).is_none());
    }

    #[test]
    fn requirements_are_those_of_the_type_with_more_of_what_is_scarce() {
        let one = of(PoolMaker::Karpenter, "a");
        let pool = Pool::of(&one).expect("it is known");
        // A p4d.24xlarge has 8 GPUs, 96 vCPUs and 1,152 GiB.
        for (scarce, words) in [
            (
                "CPU",
                "karpenter.k8s.aws/instance-cpu, operator: Gt, values: [\"96\"]",
            ),
            (
                "memory",
                "karpenter.k8s.aws/instance-memory, operator: Gt, values: [\"1179648\"]",
            ),
        ] {
            let said = pool
                .with_more(scarce, "p4d.24xlarge")
                .expect("a listed type");
            assert!(said.contains(words), "{said}");
            assert!(said.contains("instance-gpu-count, operator: In, values: [\"8\"]"));
        }
        assert_eq!(pool.with_more("CPU", "8x-H100"), None);
        let taint = pool.reserved_for("nvidia.com/gpu").expect("it has values");
        assert!(taint.contains("{key: nvidia.com/gpu, value: \"true\", effect: NoSchedule}"));
    }
}
