//! Nodes of Kubernetes: emptying them, and what sends pods to another type.

use super::checks::{erased_store, on_instances, still_idle};
use super::procedure::{Procedure, Step, step, steps};
use crate::analysis::{MemberFix, WorkloadFix};
use crate::domain::{Node, Owner, PoolMaker};
use crate::report::doc::Printed;
use crate::report::shared::text::json_escaped;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The label by which pods choose a type.
const TYPE_LABEL: &str = "node.kubernetes.io/instance-type";

/// Kinds whose pods take over a change of their template.
const TEMPLATED: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];

fn nodes<'a>(fix: &'a WorkloadFix<'_>) -> impl Iterator<Item = &'a Node> {
    fix.members.iter().filter_map(|member| member.node)
}

/// Whether something starts a node in place of one that ends.
pub(super) fn are_replaced(fix: &WorkloadFix<'_>) -> bool {
    nodes(fix).any(|node| node.pool_maker.is_some())
}

/// The cluster of the credentials must have each node on the instance of the audit: names of
/// nodes are the same in several. Absent where that is not known.
pub(super) fn same(members: &[MemberFix<'_>]) -> Option<Vec<Step>> {
    let nodes = members.iter().filter_map(|member| Some((member, member.node?)));
    let steps = nodes.map(|(member, node)| {
        let (name, id) = (&node.name, member.member.id.native());
        let provider_id = format!("aws:///{}/{id}", member.member.zone.as_deref()?);
        Some(step! { expect [provider_id] "{name} is the node on {id}", "kubectl get node {} --output jsonpath={.spec.providerID}", name })
    });
    steps.collect()
}

/// Empties the nodes among some instances.
pub(super) fn drained(members: &[MemberFix<'_>]) -> Vec<Step> {
    let mut list = Vec::new();
    for name in members.iter().filter_map(|member| Some(&member.node?.name)) {
        steps! { list;
            run "no new pods on {name}", "kubectl cordon {}", name;
            run "move its pods away", "kubectl drain --ignore-daemonsets --timeout=15m {}", name;
        }
    }
    list
}

pub(super) fn uncordoned(members: &[MemberFix<'_>]) -> Vec<Step> {
    let names = members.iter().filter_map(|member| Some(&member.node?.name));
    names.map(|name| step! { run "pods on {name} again", "kubectl uncordon {}", name }).collect()
}

/// Ends nodes that Karpenter made: it ends the machine of a node that is deleted. Absent for
/// other nodes.
pub(super) fn stop(fix: &WorkloadFix<'_>, as_of: Timestamp) -> Option<Procedure> {
    let is_karpenter = |node: &Node| node.pool_maker == Some(PoolMaker::Karpenter);
    let karpenter: Vec<&Node> = nodes(fix).filter(|node| is_karpenter(node)).collect();
    if karpenter.is_empty() || karpenter.len() != fix.members.len() {
        return None;
    }
    let workload = &*fix.audited.workload;
    let mut procedure = on_instances(fix, "running");
    let before = &mut procedure.before;
    before.extend(same(&fix.members)?);
    before.extend(still_idle(workload, &fix.members, as_of)?);
    before.push(step! { manual "ask the owner: Karpenter ends the instance, and volumes that end with it are gone" });
    before.extend(erased_store(workload));
    procedure.steps.extend(drained(&fix.members));
    for node in karpenter {
        let name = &node.name;
        procedure.before.push(step! { read "the pods on {name}", "kubectl get pods --all-namespaces --field-selector spec.nodeName={}", name });
        procedure.steps.push(step! { run "delete {name}: Karpenter ends its instance", "kubectl delete node {}", name });
    }
    procedure.back.push(step! { manual "Karpenter starts a node for pods that wait for one: nothing else is needed" });
    Some(procedure)
}

/// What sends pods to another type: requirements of pools of Karpenter, and node selectors.
pub(super) fn moved(fix: &WorkloadFix<'_>, procedure: &mut Procedure) {
    let Some(to) = fix.to else { return };
    let by_karpenter = nodes(fix).filter(|node| node.pool_maker == Some(PoolMaker::Karpenter));
    let pools: BTreeSet<&str> = by_karpenter.filter_map(|node| node.pool.as_deref()).collect();
    for (number, pool) in pools.into_iter().enumerate() {
        let purpose = format!(
            "the requirement on the type in the NodePool {pool}; keep its other requirements"
        );
        let text = node_pool(pool, &to.instance_type);
        procedure.files.push(Printed::new(format!("nodepool-{}.yaml", number + 1), purpose, text));
    }
    for (namespace, owner) in &fix.owners {
        let (to_new, to_old) = (&to.instance_type, fix.instance_type);
        procedure.steps.push(selected(namespace, owner, to_new));
        procedure.back.push(selected(namespace, owner, to_old));
    }
}

/// What a NodePool says about the type of its nodes. YAML reads texts as JSON quotes them.
fn node_pool(pool: &str, instance_type: &str) -> String {
    let quoted = |text| json_escaped(Value::from(text).to_string());
    format!(
        include_str!("nodepool.yaml"),
        pool = quoted(pool),
        label = TYPE_LABEL,
        instance_type = quoted(instance_type)
    )
}

fn selected(namespace: &str, owner: &Owner, instance_type: &str) -> Step {
    let selector = json!({TYPE_LABEL: instance_type});
    patched(namespace, owner, &json!({"nodeSelector": selector}), instance_type)
}

/// Changes what the pods of an owner ask for, where a change of its template reaches them.
pub(super) fn patched(namespace: &str, owner: &Owner, pod: &Value, what: &str) -> Step {
    let Owner { kind, name } = owner;
    if !TEMPLATED.contains(&kind.as_str()) {
        return step! { manual "{kind} {name} in {namespace}: its pods keep what they ask for; change what makes it, to {what}" };
    }
    let patch = json!({"spec": {"template": {"spec": pod}}});
    let kind_word = kind.to_lowercase();
    step! { typed "the pods of {kind} {name}: {what}", "kubectl patch {} {} --namespace {} --patch {}", kind_word, name, namespace, patch }
}

#[cfg(test)]
mod tests {
    use super::node_pool;

    #[test]
    fn no_name_leaves_its_quotes() {
        let text = node_pool("a\"\n# b: {c}\u{85}\u{2028}", "no");
        let name = "metadata:\n  name: \"a\\\"\\n# b: {c}\\u0085\\u2028\"\nspec:\n";
        assert!(text.contains(name), "{text}");
        assert!(text.ends_with("          values: [\"no\"]\n"), "{text}");
    }
}
