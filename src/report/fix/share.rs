//! Several tenants on one card: the configuration of MIG on each instance, or MPS.

use super::checks::on_instances;
use super::kubernetes::patched;
use super::procedure::{Procedure, step, steps};
use crate::analysis::WorkloadFix;
use crate::report::doc::Printed;
use crate::report::shared::gaps::tally;
use crate::report::shared::text::joined;
use crate::savings::{SharedCard, Sharing, SharingMode};
use serde_json::json;
use std::collections::BTreeMap;

/// How many instances of each profile a card has.
type Slices<'a> = BTreeMap<&'a str, u64>;

/// Always manual: instances are emptied first, and commands run on their hosts.
pub(super) fn share(fix: &WorkloadFix<'_>) -> Option<Procedure> {
    let workload = &*fix.audited.workload;
    let sharing = fix.audited.proposals.share()?;
    let offer = workload.shape.as_ref()?.gpu.as_ref()?;
    let per_instance = usize::from(offer.share.visible_devices()).max(1);
    let mut procedure = on_instances(fix, "running");
    procedure.before.push(step! { manual "check that each GPU holds a model of its own, and measure a request on one slice" });
    match sharing.mode {
        SharingMode::Mig => mig(fix, sharing, per_instance, &mut procedure),
        SharingMode::Mps => {
            procedure.steps.push(step! { typed "on each host that stays: set CUDA_MPS_ACTIVE_THREAD_PERCENTAGE and CUDA_MPS_PINNED_DEVICE_MEM_LIMIT for each tenant first", "nvidia-cuda-mps-control -d" });
            procedure.back.push(step! { manual "on each host: stop the tenants, then type `echo quit | nvidia-cuda-mps-control`" });
        }
    }
    let count = sharing.action.target().map_or(0, |to| to.count);
    procedure.steps.push(step! { manual "move the tenants to {count} instances, one by one, and stop the other instances once nothing runs on them" });
    procedure.back.push(step! { manual "start the other instances again, and move the tenants back before a card leaves its mode" });
    Some(procedure)
}

fn mig(fix: &WorkloadFix<'_>, sharing: &Sharing, per_instance: usize, procedure: &mut Procedure) {
    let instances: Vec<&[SharedCard]> = sharing.cards.chunks(per_instance).collect();
    let slices_of_each = "the slices of each instance, for nvidia-mig-parted and the GPU operator";
    let same = "the same without nvidia-mig-parted, on each host";
    procedure.files.extend([
        Printed::new("mig-parted.yaml", slices_of_each, mig_parted(&instances)),
        Printed::new("nvidia-smi.txt", same, nvidia_smi(&instances)),
    ]);
    for number in 1..=instances.len() {
        let configuration = format!("gpucost-{number}");
        procedure.steps.push(step! { typed "on host {number}, with nothing on its GPUs: make the slices", "nvidia-mig-parted apply -f mig-parted.yaml -c {}", configuration });
    }
    procedure.steps.push(step! { typed "on each host: every slice is listed with its ID, which a tenant gets in CUDA_VISIBLE_DEVICES", "nvidia-smi -L" });
    let slices: BTreeMap<&str, usize> = sharing.slices_by_profile();
    for profile in slices.keys() {
        // A device plugin with the strategy `mixed` names slices like this.
        let resource = format!("nvidia.com/mig-{profile}");
        for (namespace, owner) in &fix.owners {
            let limits = json!({"limits": {&resource: 1}});
            let pod = json!({"containers": [{"name": "CONTAINER", "resources": limits}]});
            let what = format!("{resource}, with the name of its container for CONTAINER");
            procedure.steps.push(patched(namespace, owner, &pod, &what));
        }
    }
    steps! { procedure.back;
        typed "on each host, with nothing on its GPUs", "nvidia-smi mig -dci";
        typed "on each host, with nothing on its GPUs", "nvidia-smi mig -dgi";
        typed "on each host, with nothing on its GPUs", "nvidia-smi -mig 0";
    }
}

fn slices(card: &SharedCard) -> Slices<'_> {
    tally(card.placements().map(|(profile, _)| profile.name.as_str()))
}

/// A configuration for each instance.
fn mig_parted(instances: &[&[SharedCard]]) -> String {
    let configs = (1..).zip(instances).map(|(number, cards)| (format!("gpucost-{number}"), cards));
    let mut text = "mig-configs:\n".to_owned();
    for (name, cards) in configs.collect::<BTreeMap<_, _>>() {
        text += &format!("  {name}:\n{}", configuration(cards));
    }
    text + "version: \"v1\"\n"
}

/// Cards with the same slices together.
fn configuration(cards: &[SharedCard]) -> String {
    let mut alike: BTreeMap<Slices<'_>, Vec<usize>> = BTreeMap::new();
    for (device, card) in cards.iter().enumerate() {
        alike.entry(slices(card)).or_default().push(device);
    }
    let mut alike: Vec<(Slices<'_>, Vec<usize>)> = alike.into_iter().collect();
    alike.sort_by(|left, right| left.1.cmp(&right.1));
    let mut text = String::new();
    for (slices, devices) in alike {
        text += &format!("    - devices: {devices:?}\n");
        if !slices.is_empty() {
            text += "      mig-devices:\n";
        }
        for (profile, number) in &slices {
            text += &format!("        \"{profile}\": {number}\n");
        }
        text += &format!("      mig-enabled: {}\n", !slices.is_empty());
    }
    text
}

/// The commands of each host, slices at the places where the packing has them.
fn nvidia_smi(instances: &[&[SharedCard]]) -> String {
    let mut text = String::new();
    for (host, cards) in (1..).zip(instances) {
        text.push_str(&format!("# host {host}\n"));
        for (device, card) in cards.iter().enumerate() {
            let places =
                card.placements().map(|(profile, start)| format!("{}:{start}", profile.name));
            let places = joined(places, ",");
            if !places.is_empty() {
                text.push_str(&format!(
                    "nvidia-smi -i {device} -mig 1\nnvidia-smi mig -i {device} -cgi {places} -C\n"
                ));
            }
        }
    }
    text
}
