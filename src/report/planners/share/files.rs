//! Configuration that carries a packing out. Names of tenants stand in comments alone.
//!
//! Syntax: `nvidia-smi mig -h` (profile tuples: a name, a colon and a start); NVIDIA/mig-parted
//! v0.14.2 (2026-05-26); NVIDIA GPU operator and k8s-device-plugin documentation (read
//! 2026-11); NVIDIA MPS documentation, appendix of environment variables (read 2026-11).

use super::nodes::{Node, replicas, resource, slices};
use crate::planners::share::{CardMode, SharePlan};
use crate::report::doc::Printed;
use crate::report::shared::text::{safe, wrap};
use crate::savings::SHARED_TARGET_PERCENT;
use std::collections::{BTreeMap, BTreeSet};

/// Columns of a line, and those of `# `.
const LINE: usize = 100;
const COMMENT: usize = 2;

pub(super) fn files(plan: &SharePlan, nodes: &[Node<'_>]) -> Vec<Printed> {
    let mut files = Vec::new();
    let mig = by_setup(nodes, |mode| mode == CardMode::Mig);
    if !mig.is_empty() {
        let parted = mig_parted(&mig, plan.question.on.cards);
        files.push(mig_commands(&mig));
        files.push(Printed {
            name: "mig-parted.yaml".to_owned(),
            purpose: format!(
                "the same for nvidia-mig-parted, which chooses the starts itself: \
                 nvidia-mig-parted apply -f mig-parted.yaml -c {}",
                mig.keys().next().copied().unwrap_or_default()
            ),
            text: parted.clone(),
        });
        files.push(mig_operator(&mig, nodes, &parted));
    }
    let shared = by_setup(nodes, |mode| {
        matches!(mode, CardMode::Mps | CardMode::TimeSlicing)
    });
    if !shared.is_empty() {
        files.push(device_plugin(&shared));
    }
    if nodes.iter().any(|node| node.mode() == CardMode::Mps) {
        files.push(mps_commands(plan, nodes));
    }
    files
}

/// Instances by the name of their setup.
fn by_setup<'a>(
    nodes: &'a [Node<'a>],
    is_asked: impl Fn(CardMode) -> bool,
) -> BTreeMap<&'a str, Vec<&'a Node<'a>>> {
    let mut setups: BTreeMap<&str, Vec<&Node<'_>>> = BTreeMap::new();
    for node in nodes.iter().filter(|node| is_asked(node.mode())) {
        setups.entry(&node.setup).or_default().push(node);
    }
    setups
}

/// Numbers of instances in a comment.
fn numbers(nodes: &[&Node<'_>]) -> String {
    let numbers: Vec<String> = nodes.iter().map(|node| node.number.to_string()).collect();
    numbers.join(", ")
}

/// A script with a branch for each setup, which its argument names.
fn script(name: &str, opening: &str, branches: &[(String, String)]) -> String {
    let mut text = format!("#!/bin/sh\n# usage: sudo sh {name} SETUP\n{opening}set -eu\n");
    text.push_str("case \"${1:-}\" in\n");
    for (setup, commands) in branches {
        text.push_str(&format!("{setup})\n{commands}  ;;\n"));
    }
    let setups: Vec<&str> = branches.iter().map(|(setup, _)| setup.as_str()).collect();
    text.push_str(&format!(
        "*)\n  echo \"usage: {name} {}\" >&2\n  exit 2\n  ;;\nesac\n",
        setups.join(" | ")
    ));
    text
}

fn mig_commands(setups: &BTreeMap<&str, Vec<&Node<'_>>>) -> Printed {
    let branches = setups.iter().filter_map(|(setup, nodes)| {
        let mut commands = format!("  # instances {}\n", numbers(nodes));
        for (gpu, card) in nodes.first()?.cards.iter().enumerate() {
            let slices = slices(card).into_iter();
            let slices: Vec<String> = slices
                .map(|(profile, start)| format!("{profile}:{start}"))
                .collect();
            if slices.is_empty() {
                commands.push_str(&format!("  nvidia-smi -i {gpu} -mig 0\n"));
            } else {
                commands.push_str(&format!(
                    "  nvidia-smi -i {gpu} -mig 1\n  nvidia-smi mig -i {gpu} -cgi {} -C\n",
                    slices.join(",")
                ));
            }
        }
        Some(((*setup).to_owned(), commands))
    });
    let branches: Vec<(String, String)> = branches.collect();
    let opening =
        "# Run it on a drained instance: MIG mode resets a GPU, and some need a reboot.\n";
    Printed {
        name: "mig.sh".to_owned(),
        purpose: "divides the GPUs of an instance; CARDS says which setup an instance has"
            .to_owned(),
        text: script("mig.sh", opening, &branches),
    }
}

fn mig_parted(setups: &BTreeMap<&str, Vec<&Node<'_>>>, gpus: u16) -> String {
    let mut text = String::from("version: v1\nmig-configs:\n");
    for (setup, nodes) in setups {
        text.push_str(&format!("  {setup}:\n"));
        let cards = nodes.first().map(|node| node.cards).unwrap_or_default();
        // GPUs that are divided alike are one entry; those without tenants stay whole.
        let mut alike: BTreeMap<BTreeMap<&str, usize>, Vec<String>> = BTreeMap::new();
        for gpu in 0..usize::from(gpus) {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for (profile, _) in cards.get(gpu).map(slices).unwrap_or_default() {
                *counts.entry(profile).or_default() += 1;
            }
            alike.entry(counts).or_default().push(gpu.to_string());
        }
        for (counts, gpus) in alike {
            text.push_str(&format!(
                "    - devices: [{}]\n      mig-enabled: {}\n",
                gpus.join(", "),
                !counts.is_empty()
            ));
            if !counts.is_empty() {
                text.push_str("      mig-devices:\n");
            }
            for (profile, count) in counts {
                text.push_str(&format!("        \"{profile}\": {count}\n"));
            }
        }
    }
    text
}

/// A ConfigMap for the namespace of the GPU operator, with indented documents by key.
fn config_map(name: &str, comments: &str, data: &[(&str, String)]) -> String {
    let mut text = format!(
        "{comments}apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  \
         namespace: gpu-operator\ndata:\n"
    );
    for (key, document) in data {
        text.push_str(&format!("  {key}: |\n"));
        for line in document.lines() {
            text.push_str(&format!("    {line}\n"));
        }
    }
    text
}

/// What to type for each setup: a label on a node.
fn labels(setups: &BTreeMap<&str, Vec<&Node<'_>>>, label: &str) -> String {
    let lines = setups.iter().map(|(setup, nodes)| {
        let which = format!("instances {}:", numbers(nodes));
        let command = format!("kubectl label node NODE {label}={setup} --overwrite");
        if which.len() + command.len() + COMMENT < LINE {
            return format!("# {which} {command}\n");
        }
        let which = wrap(&which, LINE - COMMENT);
        let which: Vec<String> = which.iter().map(|line| format!("# {line}\n")).collect();
        format!("{}#   {command}\n", which.concat())
    });
    lines.collect()
}

/// A patch of the policy of the GPU operator: without `# `, two lines are one command.
fn patched(patch: &str) -> String {
    format!(
        "# kubectl patch clusterpolicies.nvidia.com/cluster-policy --type merge --patch \\\n\
         #   '{patch}'\n"
    )
}

/// Names of resources that pods ask for.
fn resources(nodes: &[&Node<'_>]) -> String {
    let cards = nodes.iter().flat_map(|node| {
        let cards = node.cards.iter();
        cards.map(move |card| (node.mode_of(card), card))
    });
    let names: BTreeSet<String> = cards
        .flat_map(|(mode, card)| {
            let own = slices(card);
            let whole = own.is_empty().then(|| resource(mode, None));
            let own: Vec<String> = own
                .iter()
                .map(|(profile, _)| resource(mode, Some(*profile)))
                .collect();
            own.into_iter().chain(whole)
        })
        .collect();
    let names: Vec<String> = names.into_iter().collect();
    names.join(", ")
}

fn mig_operator(
    setups: &BTreeMap<&str, Vec<&Node<'_>>>,
    nodes: &[Node<'_>],
    parted: &str,
) -> Printed {
    let patch =
        r#"{"spec":{"mig":{"strategy":"mixed"},"migManager":{"config":{"name":"gpucost-mig"}}}}"#;
    let comments = patched(patch) + &labels(setups, "nvidia.com/mig.config");
    let all: Vec<&Node<'_>> = nodes
        .iter()
        .filter(|node| node.mode() == CardMode::Mig)
        .collect();
    Printed {
        name: "gpu-operator-mig.yaml".to_owned(),
        purpose: format!(
            "the same for the MIG manager of the GPU operator; pods ask for one of {}",
            resources(&all)
        ),
        text: config_map(
            "gpucost-mig",
            &comments,
            &[("config.yaml", parted.to_owned())],
        ),
    }
}

fn device_plugin(setups: &BTreeMap<&str, Vec<&Node<'_>>>) -> Printed {
    let mut data = Vec::new();
    for (setup, nodes) in setups {
        let Some(node) = nodes.first() else { continue };
        let sharing = match node.mode() {
            CardMode::Mps => "mps",
            CardMode::TimeSlicing | CardMode::Mig | CardMode::Whole => "timeSlicing",
        };
        let document = format!(
            "version: v1\nsharing:\n  {sharing}:\n    renameByDefault: true\n    resources:\n      \
             - name: nvidia.com/gpu\n        replicas: {}\n",
            replicas(node.cards)
        );
        data.push((*setup, document));
    }
    let patch = r#"{"spec":{"devicePlugin":{"config":{"name":"gpucost-sharing"}}}}"#;
    let comments = patched(patch) + &labels(setups, "nvidia.com/device-plugin.config");
    Printed {
        name: "gpu-operator-sharing.yaml".to_owned(),
        purpose: "replicas of whole GPUs by the device plugin of the GPU operator; pods ask for \
                  nvidia.com/gpu.shared, and those of one owner are kept to its nodes by a \
                  nodeSelector"
            .to_owned(),
        text: config_map("gpucost-sharing", &comments, &data),
    }
}

fn mps_commands(plan: &SharePlan, nodes: &[Node<'_>]) -> Printed {
    let question = &plan.question;
    let of_mps = nodes.iter().filter(|node| node.mode() == CardMode::Mps);
    let branches = of_mps.map(|node| {
        let mut commands = String::new();
        for (gpu, card) in node.cards.iter().enumerate() {
            commands.push_str(&format!("  start {gpu}\n"));
            for slice in &card.tenants {
                let tenant = &question.tenants[slice.tenant];
                let needed_mib = question.vram_needed_mib(tenant).ceil();
                let threads = threads_percent(tenant.peak_percent.unwrap_or(100.0));
                commands.push_str(&format!(
                    "  # environment of {}:\n  #   CUDA_MPS_PIPE_DIRECTORY=/tmp/gpucost-mps-{gpu}\n  \
                     #   CUDA_MPS_ACTIVE_THREAD_PERCENTAGE={threads} \
                     CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0={needed_mib:.0}M\n",
                    safe(&tenant.name)
                ));
            }
        }
        (format!("instance-{}", node.number), commands)
    });
    let branches: Vec<(String, String)> = branches.collect();
    let opening = "\
# One control daemon for each GPU, which its clients see as device 0.
start() {
  nvidia-smi -i \"$1\" -c EXCLUSIVE_PROCESS
  mkdir -p \"/tmp/gpucost-mps-$1\" \"/var/log/gpucost-mps-$1\"
  CUDA_VISIBLE_DEVICES=\"$1\" CUDA_MPS_PIPE_DIRECTORY=\"/tmp/gpucost-mps-$1\" \\
    CUDA_MPS_LOG_DIRECTORY=\"/var/log/gpucost-mps-$1\" nvidia-cuda-mps-control -d
}
";
    Printed {
        name: "mps.sh".to_owned(),
        purpose: "starts MPS on an instance without Kubernetes; each process gets threads for \
                  its peak and the memory that it needs"
            .to_owned(),
        text: script("mps.sh", opening, &branches),
    }
}

/// Threads that leave a peak at the target, percent of the card.
fn threads_percent(peak_percent: f64) -> u8 {
    let threads = (peak_percent * 100.0 / SHARED_TARGET_PERCENT).ceil();
    threads.clamp(1.0, 100.0) as u8
}

#[cfg(test)]
mod tests {
    use super::threads_percent;

    #[test]
    fn threads_leave_a_peak_at_four_fifths() {
        // 33 / 80 = 41.25%.
        assert_eq!(threads_percent(33.0), 42);
        assert_eq!(threads_percent(80.0), 100);
        assert_eq!(threads_percent(0.0), 1);
    }
}
