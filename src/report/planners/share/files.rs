//! Configuration that carries a packing out. Names of tenants stand in comments alone.
//!
//! Syntax: `nvidia-smi mig -h` (profile tuples: a name, a colon and a start); NVIDIA/mig-parted
//! v0.14.2 (2026-05-26); NVIDIA GPU operator and k8s-device-plugin documentation (read
//! 2026-11); NVIDIA MPS documentation, appendix of environment variables (read 2026-11).

use crate::planners::share::{CardMode, Lot, PackedCard, Packing, SharePlan, Today};
use crate::report::doc::{Printed, rows};
use crate::report::shared::gaps::tally;
use crate::report::shared::text::{joined, safe, wrap};
use crate::savings::{SHARED_TARGET_PERCENT, Slice};
use std::collections::{BTreeMap, BTreeSet};

/// Columns of a line, and those of `# `.
const LINE: usize = 100;
const COMMENT: usize = 2;

const RESET: &str =
    "# Run it on a drained instance: MIG mode resets a GPU, and some need a reboot.\n";
const START: &str = include_str!("start.sh");

/// Instances by the name of their setup.
type Setups<'a> = BTreeMap<&'a str, Vec<&'a Node<'a>>>;

pub(super) fn files(plan: &SharePlan, nodes: &[Node<'_>]) -> Vec<Printed> {
    let setups = |modes: &[CardMode]| {
        let mut setups = Setups::new();
        for node in nodes.iter().filter(|node| modes.contains(&node.mode)) {
            setups.entry(&node.setup).or_default().push(node);
        }
        setups
    };
    let mig = setups(&[CardMode::Mig]);
    let shared = setups(&[CardMode::Mps, CardMode::TimeSlicing]);
    let parted = mig_parted(&mig, plan.question.on.cards);
    let first = mig.keys().next();
    let has_mps = nodes.iter().any(|node| node.mode == CardMode::Mps);
    rows! {
        if first.is_some() => Printed::new("mig.sh", "divides the GPUs of an instance; CARDS says which setup an instance has", script("mig.sh", RESET, &mig_commands(&mig)));
        for setup in first => Printed::new("mig-parted.yaml", format!("the same for nvidia-mig-parted, which chooses the starts itself: nvidia-mig-parted apply -f mig-parted.yaml -c {setup}"), parted.clone());
        if first.is_some() => Printed::new("gpu-operator-mig.yaml", format!("the same for the MIG manager of the GPU operator; pods ask for one of {}", resources(&mig)), config_map(&mig, ("gpucost-mig", MIG_PATCH, "nvidia.com/mig.config"), &[("config.yaml", parted)]));
        if !shared.is_empty() => Printed::new("gpu-operator-sharing.yaml", "replicas of whole GPUs by the device plugin of the GPU operator; pods ask for nvidia.com/gpu.shared, and those of one owner are kept to its nodes by a nodeSelector", config_map(&shared, ("gpucost-sharing", SHARING_PATCH, "nvidia.com/device-plugin.config"), &replicated(&shared)));
        if has_mps => Printed::new("mps.sh", "starts MPS on an instance without Kubernetes; each process gets threads for its peak and the memory that it needs", script("mps.sh", START, &mps_commands(plan, nodes)));
    }
}

/// A script with a branch for each setup, which its argument names.
fn script(name: &str, opening: &str, branches: &[(String, String)]) -> String {
    let mut text = format!("#!/bin/sh\n# usage: sudo sh {name} SETUP\n{opening}set -eu\n");
    text += "case \"${1:-}\" in\n";
    for (setup, commands) in branches {
        text += &format!("{setup})\n{commands}  ;;\n");
    }
    let setups = joined(branches.iter().map(|(setup, _)| setup.as_str()), " | ");
    text + &format!("*)\n  echo \"usage: {name} {setups}\" >&2\n  exit 2\n  ;;\nesac\n")
}

/// Numbers of instances in a comment.
fn numbers(nodes: &[&Node<'_>]) -> String {
    joined(nodes.iter().map(|node| node.number.to_string()), ", ")
}

fn mig_commands(setups: &Setups<'_>) -> Vec<(String, String)> {
    let branches = setups.iter().map(|(setup, nodes)| {
        let mut commands = format!("  # instances {}\n", numbers(nodes));
        for (gpu, card) in nodes.iter().take(1).flat_map(|node| node.cards).enumerate() {
            let slices = slices(card).into_iter();
            let slices = joined(slices.map(|(profile, start)| format!("{profile}:{start}")), ",");
            commands += &match slices.as_str() {
                "" => format!("  nvidia-smi -i {gpu} -mig 0\n"),
                _ => format!(
                    "  nvidia-smi -i {gpu} -mig 1\n  nvidia-smi mig -i {gpu} -cgi {slices} -C\n"
                ),
            };
        }
        ((*setup).to_owned(), commands)
    });
    branches.collect()
}

fn mig_parted(setups: &Setups<'_>, gpus: u16) -> String {
    let mut text = String::from("version: v1\nmig-configs:\n");
    for (setup, nodes) in setups {
        text += &format!("  {setup}:\n");
        let cards = nodes.first().map(|node| node.cards).unwrap_or_default();
        // GPUs that are divided alike are one entry; those without tenants stay whole.
        let mut alike: BTreeMap<BTreeMap<&str, u64>, Vec<String>> = BTreeMap::new();
        for gpu in 0..usize::from(gpus) {
            let slices = cards.get(gpu).map(slices).unwrap_or_default().into_iter();
            let counts = tally(slices.map(|(profile, _)| profile));
            alike.entry(counts).or_default().push(gpu.to_string());
        }
        for (counts, gpus) in alike {
            let (gpus, is_divided) = (gpus.join(", "), !counts.is_empty());
            text += &format!("    - devices: [{gpus}]\n      mig-enabled: {is_divided}\n");
            if is_divided {
                text += "      mig-devices:\n";
            }
            for (profile, count) in counts {
                text += &format!("        \"{profile}\": {count}\n");
            }
        }
    }
    text
}

const MIG_PATCH: &str =
    r#"{"spec":{"mig":{"strategy":"mixed"},"migManager":{"config":{"name":"gpucost-mig"}}}}"#;
const SHARING_PATCH: &str = r#"{"spec":{"devicePlugin":{"config":{"name":"gpucost-sharing"}}}}"#;

/// A ConfigMap for the namespace of the GPU operator, with indented documents by key. Before it
/// in comments, what makes the operator use it, and what to type for each setup.
fn config_map(
    setups: &Setups<'_>,
    (name, patch, label): (&str, &str, &str),
    data: &[(&str, String)],
) -> String {
    // Without `# `, two lines are one command.
    let mut text = format!(
        "# kubectl patch clusterpolicies.nvidia.com/cluster-policy --type merge --patch \\\n\
         #   '{patch}'\n"
    );
    for (setup, nodes) in setups {
        let which = format!("instances {}:", numbers(nodes));
        let command = format!("kubectl label node NODE {label}={setup} --overwrite");
        if which.len() + command.len() + COMMENT < LINE {
            text += &format!("# {which} {command}\n");
            continue;
        }
        for line in wrap(&which, LINE - COMMENT) {
            text += &format!("# {line}\n");
        }
        text += &format!("#   {command}\n");
    }
    text += &format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: gpu-operator\n\
         data:\n"
    );
    for (key, document) in data {
        text += &format!("  {key}: |\n");
        for line in document.lines() {
            text += &format!("    {line}\n");
        }
    }
    text
}

/// Names of resources that pods ask for.
fn resources(setups: &Setups<'_>) -> String {
    let cards = setups
        .values()
        .flatten()
        .flat_map(|node| node.cards.iter().map(move |card| (node.mode_of(card), slices(card))));
    let names = cards.flat_map(|(mode, slices)| match slices.as_slice() {
        [] => vec![resource(mode, None)],
        slices => slices.iter().map(|(profile, _)| resource(mode, Some(*profile))).collect(),
    });
    joined(names.collect::<BTreeSet<_>>(), ", ")
}

/// The configuration of the device plugin by setup.
fn replicated<'a>(setups: &Setups<'a>) -> Vec<(&'a str, String)> {
    let documents = setups.iter().filter_map(|(setup, nodes)| {
        let node = nodes.first()?;
        let sharing = if node.mode == CardMode::Mps { "mps" } else { "timeSlicing" };
        Some((*setup, format!(
            "version: v1\nsharing:\n  {sharing}:\n    renameByDefault: true\n    resources:\n      \
             - name: nvidia.com/gpu\n        replicas: {}\n",
            replicas(node.cards)
        )))
    });
    documents.collect()
}

fn mps_commands(plan: &SharePlan, nodes: &[Node<'_>]) -> Vec<(String, String)> {
    let question = &plan.question;
    let branches = nodes.iter().filter(|node| node.mode == CardMode::Mps).map(|node| {
        let mut commands = String::new();
        for (gpu, card) in node.cards.iter().enumerate() {
            commands += &format!("  start {gpu}\n");
            for slice in &card.tenants {
                let tenant = &question.tenants[slice.tenant];
                commands += &format!(
                    "  # environment of {}:\n  #   CUDA_MPS_PIPE_DIRECTORY=/tmp/gpucost-mps-{gpu}\n  \
                     #   CUDA_MPS_ACTIVE_THREAD_PERCENTAGE={} \
                     CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0={:.0}M\n",
                    safe(&tenant.name),
                    threads_percent(tenant.peak_percent.unwrap_or(100.0)),
                    question.vram_needed_mib(tenant).ceil()
                );
            }
        }
        (format!("instance-{}", node.number), commands)
    });
    branches.collect()
}

/// Threads that leave a peak at the target, percent of the card.
fn threads_percent(peak_percent: f64) -> u8 {
    (peak_percent * 100.0 / SHARED_TARGET_PERCENT).ceil().clamp(1.0, 100.0) as u8
}

/// One instance of a packing.
pub(super) struct Node<'a> {
    /// From 1.
    pub number: usize,
    pub lot: &'a Lot,
    pub cards: &'a [PackedCard],
    /// How its cards are shared. An instance of which no card has two tenants shares none: the
    /// device plugin refuses less than two replicas.
    pub mode: CardMode,
    /// Name of its setup, which other instances may have too.
    pub setup: String,
}

impl Node<'_> {
    /// How the tenants of one of its cards share it.
    pub(super) fn mode_of(&self, card: &PackedCard) -> CardMode {
        if self.mode == CardMode::Whole { CardMode::Whole } else { card.mode }
    }
}

/// The instances of a packing, numbered in order of its lots.
pub(super) fn nodes(packing: &Packing, cards: u16) -> Vec<Node<'_>> {
    let mut setups: Vec<Vec<Vec<(&str, u8)>>> = Vec::new();
    let lots = packing.lots.iter();
    let instances = lots.flat_map(|lot| lot.by_instance(cards).map(move |cards| (lot, cards)));
    let nodes = instances.zip(1..).map(|((lot, cards), number)| {
        let mode = match lot.mode {
            CardMode::Mps | CardMode::TimeSlicing if replicas(cards) < 2 => CardMode::Whole,
            mode => mode,
        };
        let setup = match mode {
            CardMode::Mig => {
                let slices: Vec<Vec<(&str, u8)>> = cards.iter().map(slices).collect();
                let place = setups.iter().position(|known| *known == slices).unwrap_or_else(|| {
                    setups.push(slices);
                    setups.len() - 1
                });
                format!("share-{}", place + 1)
            }
            CardMode::Mps | CardMode::TimeSlicing => format!("{mode}-{}", replicas(cards)),
            CardMode::Whole => "whole".to_owned(),
        };
        Node { number, lot, cards, mode, setup }
    });
    nodes.collect()
}

/// The slices of a card with where they begin; none for a whole card.
pub(super) fn slices(card: &PackedCard) -> Vec<(&str, u8)> {
    let placements = card.tenants.iter().filter_map(|slice| slice.placement.as_ref());
    placements.map(|(profile, start)| (profile.name.as_str(), *start)).collect()
}

/// Replicas of each card: as many as the fullest card of the instance has tenants.
pub(super) fn replicas(cards: &[PackedCard]) -> usize {
    cards.iter().map(|card| card.tenants.len()).max().unwrap_or(1)
}

/// The resource that a pod asks for, by its name in Kubernetes.
pub(super) fn resource(mode: CardMode, profile: Option<&str>) -> String {
    match (mode, profile) {
        (CardMode::Mig, Some(profile)) => format!("nvidia.com/mig-{profile}"),
        (CardMode::Mps | CardMode::TimeSlicing, _) => "nvidia.com/gpu.shared".to_owned(),
        (CardMode::Mig | CardMode::Whole, _) => "nvidia.com/gpu".to_owned(),
    }
}

/// How many times as long a request takes on a slice, at most.
pub(super) fn slowdown(total_slices: u8, compute_slices: u8) -> f64 {
    f64::from(total_slices) / f64::from(compute_slices.max(1))
}

/// Instances of today, such as `5 × p4d.24xlarge`.
pub(super) fn fleet(today: &Today) -> String {
    joined(today.instances.iter().map(|(name, (count, _))| format!("{count} × {name}")), " + ")
}

pub(super) fn packed_slices(packing: &Packing) -> impl Iterator<Item = &Slice> {
    packing.lots.iter().flat_map(|lot| &lot.cards).flat_map(|card| &card.tenants)
}

/// Tenants of unknown peak on a part of a card: their memory fits, and whether the part
/// computes fast enough for them is not known.
pub(super) fn by_memory_alone(plan: &SharePlan, packing: &Packing) -> usize {
    let on_a_part = packed_slices(packing).filter(|slice| {
        let placed = slice.placement.as_ref();
        placed.is_some_and(|(profile, _)| profile.compute_slices < plan.total_slices)
    });
    let tenants = on_a_part.filter_map(|slice| plan.question.tenants.get(slice.tenant));
    tenants.filter(|tenant| tenant.peak_percent.is_none()).count()
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
