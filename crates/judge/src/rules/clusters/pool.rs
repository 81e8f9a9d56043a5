//! The pool of a node in the words of what makes its nodes: values to set there, so that
//! what the advice asks for lasts.

use crate::catalog::shape;
use crate::domain::{Node, PoolMaker, Scheduler};

/// The longest value of a label.
const LONGEST_NAME: usize = 63;
/// How long Karpenter waits after the last change of a node before it removes the node.
const CONSOLIDATE_AFTER: &str = "5m";
/// Nodes that a command names.
const MOST_NAMED: usize = 20;

/// A pool whose maker is known, and whose name is safe in a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pool<'a> {
    name: &'a str,
    maker: PoolMaker,
    /// As a value of a command; a placeholder where it is unknown.
    cluster: &'a str,
}

impl<'a> Pool<'a> {
    pub fn of(node: &'a Node) -> Option<Self> {
        if node.scheduler != Scheduler::Kubernetes {
            return None;
        }
        let name = node.pool.as_deref().filter(|name| is_plain(name))?;
        let cluster = node.cluster.as_deref().filter(|name| is_plain(name));
        Some(Self { name, maker: node.pool_maker?, cluster: cluster.unwrap_or("CLUSTER") })
    }

    /// How nodes that are drained go, and what of the pool is lowered so that they stay away.
    /// Each command names its nodes: a smaller size alone leaves the choice to the provider,
    /// and the size of today may be read of a part of the pool, and by several findings.
    fn released(self, gone: &[&Node], resource: &str) -> String {
        let Self { name, maker, cluster } = self;
        let count = gone.len();
        let names = gone.iter().map(|node| node.name.as_str());
        let machines = gone.iter().map(|node| node.machine.native());
        match maker {
            PoolMaker::Karpenter => format!(
                "in the NodePool {name}, set spec.disruption.consolidationPolicy: \
                 WhenEmptyOrUnderutilized, spec.disruption.consolidateAfter: \
                 {CONSOLIDATE_AFTER}, and, after the drained nodes have gone, \
                 spec.limits[\"{resource}\"] to what `kubectl get nodepool {name} -o yaml` shows \
                 for it in status.resources"
            ),
            PoolMaker::EksNodeGroup => format!(
                "{}; first lower its minSize by {count} if its size would fall below it: `aws eks \
                 update-nodegroup-config --cluster-name {cluster} --nodegroup-name {name} \
                 --scaling-config minSize=COUNT`",
                terminated(name, words(machines).as_deref())
            ),
            PoolMaker::Eksctl => format!(
                "{}; first lower the minimum by {count} if its size would fall below it: `eksctl \
                 scale nodegroup --cluster {cluster} --name {name} --nodes-min COUNT`",
                terminated(name, words(machines).as_deref())
            ),
            PoolMaker::Gke => format!(
                "`gcloud compute instance-groups managed delete-instances GROUP --zone ZONE \
                 --instances {}`, where GROUP is of the zone of the node, among those of `gcloud \
                 container node-pools describe {name} --cluster {cluster} --location LOCATION \
                 --format \"value(instanceGroupUrls)\"`: it lowers the size of the pool by 1 per \
                 node; with autoscaling, first lower the minimum by {count} if the size would fall \
                 below it",
                words(names).map_or_else(|| "NODE".to_owned(), |names| names.join(","))
            ),
            PoolMaker::Aks => format!(
                "`az aks nodepool delete-machines --resource-group GROUP --cluster-name {cluster} \
                 --name {name} --machine-names {}`, which lowers the size of the pool by 1 per \
                 node; with autoscaling, first lower the minimum by {count} if the size would fall \
                 below it",
                words(names).map_or_else(|| "NODE".to_owned(), |names| names.join(" "))
            ),
        }
    }

    /// The values that keep pods away that request none of a resource.
    pub fn reserved_for(self, resource: &str) -> Option<String> {
        let Self { name, maker, cluster } = self;
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

/// Names as words of a command; absent where one is not safe in it, and of many.
fn words<'a>(names: impl Iterator<Item = &'a str>) -> Option<Vec<&'a str>> {
    let names: Vec<&str> = names.collect();
    let is_safe = names.len() <= MOST_NAMED && names.iter().all(|name| is_plain(name));
    is_safe.then_some(names)
}

/// How instances of a node group of Amazon EKS end, and the group starts none in their place.
fn terminated(name: &str, instances: Option<&[&str]>) -> String {
    let (id, each) = match instances {
        Some([instance]) => (*instance, String::new()),
        Some(several) => ("INSTANCE", format!(" for each of {}", several.join(", "))),
        None => ("INSTANCE", " for each drained node".to_owned()),
    };
    format!(
        "`aws autoscaling terminate-instance-in-auto-scaling-group --instance-id {id} \
         --should-decrement-desired-capacity`{each}, which lowers the size of the node group \
         {name} by 1 per node; where it spans zones, first `aws autoscaling suspend-processes \
         --auto-scaling-group-name GROUP --scaling-processes AZRebalance`, because its Auto \
         Scaling group may end other nodes to balance the zones"
    )
}

/// How the pool of some nodes loses them for good; all are of one pool, and there is one.
pub(super) fn shrinking(nodes: &[&Node]) -> Option<String> {
    let first = nodes.first()?;
    Some(Pool::of(first)?.released(nodes, resource_of(first)))
}

/// What pods request to have a device of a node. Names of drivers of DRA have no `/`: no
/// taint and no limit is by these.
pub(super) fn resource_of(node: &Node) -> &str {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "./-".contains(c);
    let plain = node.devices.keys().find(|name| name.contains('/') && name.chars().all(is_word));
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
    use super::super::lab::{Lab, node, whole};
    use super::*;

    fn of(maker: PoolMaker, name: &str) -> Node {
        Node { pool: Some("gpu-a100".to_owned()), pool_maker: Some(maker), ..node(name, 8) }
    }

    fn said(maker: PoolMaker, names: &[&str]) -> String {
        let nodes: Vec<Node> = names.iter().map(|name| of(maker, name)).collect();
        let nodes: Vec<&Node> = nodes.iter().collect();
        shrinking(&nodes).expect("a pool")
    }

    #[test]
    fn a_pool_loses_the_nodes_that_were_drained_and_no_others() {
        let karpenter = said(PoolMaker::Karpenter, &["b"]);
        assert!(
            karpenter.starts_with(
                "in the NodePool gpu-a100, set spec.disruption.consolidationPolicy: \
                 WhenEmptyOrUnderutilized, spec.disruption.consolidateAfter: 5m, and, after the \
                 drained nodes have gone, spec.limits[\"nvidia.com/gpu\"] to what"
            ),
            "{karpenter}"
        );
        for maker in [PoolMaker::EksNodeGroup, PoolMaker::Eksctl] {
            let text = said(maker, &["b"]);
            assert!(
                text.starts_with(
                    "`aws autoscaling terminate-instance-in-auto-scaling-group --instance-id i-b \
                     --should-decrement-desired-capacity`, which"
                ),
                "{text}"
            );
            assert!(text.contains("--scaling-processes AZRebalance`"), "{text}");
            let both = said(maker, &["b", "c"]);
            assert!(both.contains("` for each of i-b, i-c, which"), "{both}");
            assert!(both.contains("by 2 if"), "{both}");
        }
        let gke = said(PoolMaker::Gke, &["b", "c"]);
        assert!(gke.contains("--instances b,c`"), "{gke}");
        let aks = said(PoolMaker::Aks, &["b", "c"]);
        assert!(
            aks.starts_with(
                "`az aks nodepool delete-machines --resource-group GROUP --cluster-name lab \
                 --name gpu-a100 --machine-names b c`"
            ),
            "{aks}"
        );
    }

    #[test]
    fn no_advice_states_the_size_of_a_pool() {
        // The nodes may be a part of the pool, as with `--tag`, and other findings may release
        // others of it. Here two nodes are empty, and the pods of two others fit on one.
        for maker in PoolMaker::ALL {
            let nodes = ["a", "b", "c", "d"].map(|name| of(*maker, name));
            let claims = vec![whole("x", 4, "c"), whole("y", 4, "d")];
            let findings = Lab::of(nodes.into(), claims).findings();
            let releasing = ["fragmented-gpus", "unallocated-gpus"];
            let of_pool = findings.iter().filter(|finding| {
                releasing.contains(&finding.rule()) && finding.monthly_savings.is_some()
            });
            let steps: Vec<&String> =
                of_pool.flat_map(|finding| &finding.recommendation.steps).collect();
            let values: Vec<&&String> =
                steps.iter().filter(|step| step.contains("gpu-a100")).collect();
            assert_eq!(values.len(), 3, "{steps:?}");
            for step in values {
                let absolute = ["--nodes ", "desiredSize", "--node-count", "--num-nodes"];
                let sizes = ["minSize=", "--nodes-min ", "gpu\"]: "];
                let after = |flag: &&str| step.split(*flag).nth(1).map(str::to_owned);
                let is_count = |rest: String| rest.starts_with(|c: char| c.is_ascii_digit());
                assert!(!absolute.iter().any(|flag| step.contains(flag)), "{step}");
                assert!(!sizes.iter().filter_map(after).any(is_count), "{step}");
            }
        }
    }

    #[test]
    fn names_that_are_no_words_of_a_command_and_many_names_are_in_none() {
        let aks = said(PoolMaker::Aks, &["b", "$(id)"]);
        assert!(aks.contains("--machine-names NODE`"), "{aks}");
        let many: Vec<String> = (0..21).map(|index| format!("n{index}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let gke = said(PoolMaker::Gke, &many);
        assert!(gke.contains("--instances NODE`"), "{gke}");
        let eks = said(PoolMaker::EksNodeGroup, &many);
        assert!(eks.contains("INSTANCE --should-decrement-desired-capacity` for each drained"));
    }

    #[test]
    fn a_name_that_is_no_word_of_a_command_is_in_none() {
        for name in ["", "-rf", "a b", "a;reboot", "a`id`", "$(id)", "a\u{202e}b"] {
            let hostile = Node { pool: Some(name.to_owned()), ..of(PoolMaker::EksNodeGroup, "a") };
            assert!(Pool::of(&hostile).is_none(), "{name}");
        }
        let mut node = of(PoolMaker::EksNodeGroup, "a");
        node.cluster = Some("$(id)".to_owned());
        assert_eq!(Pool::of(&node).map(|pool| pool.cluster), Some("CLUSTER"));
        node.pool_maker = None;
        assert!(Pool::of(&node).is_none());
        // Commands for node groups of Kubernetes are of no use for container instances.
        let task_host = Node { scheduler: Scheduler::Ecs, ..of(PoolMaker::EksNodeGroup, "a") };
        assert!(Pool::of(&task_host).is_none());
    }

    #[test]
    fn requirements_are_those_of_the_type_with_more_of_what_is_scarce() {
        let node = of(PoolMaker::Karpenter, "a");
        let pool = Pool::of(&node).expect("it is known");
        // A p4d.24xlarge has 8 GPUs, 96 vCPUs and 1,152 GiB.
        for (scarce, words) in [
            ("CPU", "karpenter.k8s.aws/instance-cpu, operator: Gt, values: [\"96\"]"),
            ("memory", "karpenter.k8s.aws/instance-memory, operator: Gt, values: [\"1179648\"]"),
        ] {
            let said = pool.with_more(scarce, "p4d.24xlarge").expect("a listed type");
            assert!(said.contains(words), "{said}");
            assert!(said.contains("instance-gpu-count, operator: In, values: [\"8\"]"));
        }
        assert_eq!(pool.with_more("CPU", "8x-H100"), None);
        let taint = pool.reserved_for("nvidia.com/gpu").expect("it has values");
        assert!(taint.contains("{key: nvidia.com/gpu, value: \"true\", effect: NoSchedule}"));
    }
}
