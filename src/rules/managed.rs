//! Advice about machines that a managed service runs: what it allows, in its own commands.

use crate::domain::{Component, Member, shell_word};
use std::collections::BTreeMap;

/// Nodes that a command names.
const MOST_NAMED: usize = 20;

/// What to do about machines that are used too little: an action, and its steps.
pub(super) type Advice = (&'static str, &'static [&'static str]);

const FEWER_INSTANCES: Advice = (
    "scale the variant to fewer or smaller instances",
    &[
        "lower its number of instances, or let it scale with its requests",
        "consider a smaller GPU with enough VRAM for the peak, in another endpoint configuration",
    ],
);
const FEWER_NODES: Advice = (
    "use fewer or smaller nodes",
    &[
        "delete nodes that the jobs do not need",
        "consider a smaller GPU with enough VRAM for the peak, in another instance group",
    ],
);
const SMALLER: Advice =
    ("use a smaller instance type", &["consider a smaller GPU with enough VRAM for the peak"]);

/// What to do about machines that are used too little. Neither a schedule for what can only
/// be deleted, nor sharing of a host that the service runs.
pub(super) fn shrinking(component: Component) -> Advice {
    match component {
        Component::Hosting => FEWER_INSTANCES,
        Component::Cluster => FEWER_NODES,
        Component::Notebook
        | Component::JupyterLab
        | Component::CodeEditor
        | Component::KernelGateway
        | Component::Training => SMALLER,
    }
}

/// How to end some machines.
pub(super) fn stop_steps(component: Component, ended: &[&Member]) -> Vec<String> {
    let steps: &[&str] = match component {
        Component::Hosting => &[
            "delete the endpoint with `aws sagemaker delete-endpoint`; if other variants of it \
             are in use, update it to an endpoint configuration without this variant instead",
            "keep the endpoint configuration: `aws sagemaker create-endpoint` creates the \
             endpoint again, which takes minutes",
        ],
        Component::Cluster => return delete_nodes(ended),
        _ => &["stop it in SageMaker; its volume remains and is still billed"],
    };
    steps.iter().map(|step| (*step).to_owned()).collect()
}

/// How to end some nodes of clusters, and no others.
fn delete_nodes(ended: &[&Member]) -> Vec<String> {
    let mut clusters: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for member in ended {
        let parts: Vec<&str> = member.id.native().splitn(3, '/').collect();
        // A redacted estate has other ids.
        if let ["cluster", name, node] = parts.as_slice() {
            clusters.entry(*name).or_default().push(*node);
        }
    }
    let mut steps = vec![
        "keep jobs off these nodes, and back up what is needed of their volumes, which are erased"
            .to_owned(),
    ];
    let commands = clusters.iter().map(|(name, nodes)| {
        let named = nodes.iter().take(MOST_NAMED).map(|node| shell_word(node));
        let named: Vec<String> = named.collect();
        let others = match nodes.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(", then the other {more} in the same way"),
        };
        format!(
            "delete them with `aws sagemaker batch-delete-cluster-nodes --cluster-name {} \
             --node-ids {}`{others}",
            shell_word(name),
            named.join(" ")
        )
    });
    steps.extend(commands);
    if clusters.is_empty() {
        steps.push(
            "delete them by their IDs with `aws sagemaker batch-delete-cluster-nodes`".to_owned(),
        );
    }
    steps.push(
        "do not lower the size of the instance group with `aws sagemaker update-cluster` \
         instead: it does not name the nodes that end"
            .to_owned(),
    );
    steps
}
