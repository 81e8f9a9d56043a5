//! What to know before cards are shared.

use super::nodes::{Node, replicas};
use crate::planners::share::{CardMode, Packing, SharePlan};
use crate::report::shared::text::{counted, money};

/// The gravest first.
pub(super) fn caveats(plan: &SharePlan, packing: &Packing, nodes: &[Node<'_>]) -> Vec<String> {
    let mut caveats = Vec::new();
    if !plan.question.is_launched {
        caveats.push(format!(
            "AWS launches no new {}: only instances that run already can be shared, and one that \
             stops may not start again",
            plan.question.on.instance_type
        ));
    }
    caveats.extend(unknown_peaks(plan));
    caveats.extend(kept_instances(plan));
    caveats.extend(empty_cards(plan, packing));
    caveats.extend(lost_instance(packing));
    caveats.extend(slower(plan, nodes));
    caveats.extend(without_walls(plan, nodes));
    caveats.extend(separate_peaks(plan));
    let stranded: u64 = nodes
        .iter()
        .flat_map(|node| node.cards)
        .filter_map(|card| card.fragments)
        .map(|fragments| u64::from(fragments.memory_stranded))
        .sum();
    if stranded > 0 {
        let slices = counted(stranded, "free memory slice is", "free memory slices are");
        caveats.push(format!(
            "{slices} stranded: no slice of these tenants can begin there"
        ));
    }
    if packing.cards() > packing.least_cards() {
        let fewer = (packing.cards() - packing.least_cards()) as u64;
        caveats.push(format!(
            "another packing may take up to {} fewer: this one is not proved to be the best",
            counted(fewer, "card", "cards")
        ));
    }
    caveats
}

fn unknown_peaks(plan: &SharePlan) -> Option<String> {
    let tenants = plan.question.tenants.iter();
    let unknown = tenants.filter(|one| one.peak_percent.is_none()).count();
    (unknown > 0).then(|| {
        format!(
            "the peak of {} is unknown: placed by memory alone, and the peaks of their cards are \
             unknown as well",
            counted(unknown as u64, "tenant", "tenants")
        )
    })
}

/// Sharing frees no instance on which something else works.
fn kept_instances(plan: &SharePlan) -> Option<String> {
    let today = plan.question.today.as_ref();
    let today = today.filter(|today| today.kept > 0)?;
    Some(format!(
        "on {} of {} of today, other GPUs do work that is left out: they stay until it moves, \
         and what sharing saves is not known",
        today.kept,
        counted(today.count() as u64, "instance", "instances"),
    ))
}

/// GPUs that are paid for and hold no tenant: where a smaller type is cheaper, and where it
/// is most of them.
fn empty_cards(plan: &SharePlan, packing: &Packing) -> Option<String> {
    let all = packing.instances * usize::from(plan.question.on.cards);
    let empty = all.saturating_sub(packing.cards());
    let said = format!("{empty} of {all} GPUs stay empty, and are paid for");
    if let Some(smaller) = plan.smaller(packing) {
        let name = &smaller.on.instance_type;
        return Some(format!(
            "{said}: {} × {name} with {} hold the same cards for {} per month. Check its CPUs and \
             memory, and plan it with `--type {name}`",
            smaller.instances,
            counted(smaller.on.cards.into(), "such GPU each", "such GPUs each"),
            money(smaller.monthly),
        ));
    }
    (empty * 2 >= all && empty > 0)
        .then(|| format!("{said}: no type with fewer of these GPUs is cheaper in this region"))
}

fn lost_instance(packing: &Packing) -> Option<String> {
    if packing.spare > 0 {
        let spare = counted(packing.spare as u64, "instance", "instances");
        return Some(format!(
            "after the loss of {spare} all tenants have room; a spare instance must be set up \
             like the lost one first"
        ));
    }
    let tenants = counted(packing.most_on_instance as u64, "tenant", "tenants");
    let left = packing.instances.saturating_sub(1);
    (packing.instances > 0).then(|| {
        format!(
            "losing one of {} leaves {left}, and up to {tenants} without room: \
             `--survive-nodes 1` adds a spare one",
            counted(packing.instances as u64, "instance", "instances")
        )
    })
}

fn slower(plan: &SharePlan, nodes: &[Node<'_>]) -> Option<String> {
    let cards = nodes.iter().flat_map(|node| node.cards);
    let slices = cards.flat_map(|card| &card.tenants);
    let profiles = slices.filter_map(|slice| slice.placement.as_ref());
    let smallest = profiles.map(|(profile, _)| profile.compute_slices).min()?;
    let ratio = f64::from(plan.total_slices) / f64::from(smallest.max(1));
    Some(format!(
        "a request may take up to {ratio:.2} times as long on the smallest slice: measure its \
         latency there first"
    ))
}

fn without_walls(plan: &SharePlan, nodes: &[Node<'_>]) -> Vec<String> {
    let mut caveats = Vec::new();
    let of_mode = |mode: CardMode| nodes.iter().filter(move |node| node.mode() == mode);
    if of_mode(CardMode::Mps).next().is_some() {
        caveats
            .push("with MPS one process can slow down or crash the others of its card".to_owned());
    }
    let needs_more = of_mode(CardMode::Mps).any(|node| {
        let part = plan.question.on.card_mib / replicas(node.cards) as f64;
        let tenants = node.cards.iter().flat_map(|card| &card.tenants);
        let mut needs = tenants.map(|slice| {
            let tenant = &plan.question.tenants[slice.tenant];
            plan.question.vram_needed_mib(tenant)
        });
        needs.any(|needed_mib| needed_mib > part)
    });
    if needs_more {
        caveats.push(
            "the device plugin gives every MPS replica the same part of the memory, and a \
             tenant needs more than its part: start the control daemon with mps.sh instead"
                .to_owned(),
        );
    }
    if of_mode(CardMode::TimeSlicing).next().is_some() {
        caveats.push(
            "time-slicing limits no memory: a tenant that grows takes that of its neighbors"
                .to_owned(),
        );
    }
    let is_uneven = nodes.iter().any(|node| {
        let has_replicas = matches!(node.mode(), CardMode::Mps | CardMode::TimeSlicing);
        let most = replicas(node.cards);
        has_replicas && node.cards.iter().any(|card| card.tenants.len() < most)
    });
    if is_uneven {
        caveats.push(
            "Kubernetes hands out replicas in any order: tenants may meet on other cards than \
             in this plan"
                .to_owned(),
        );
    }
    caveats
}

fn separate_peaks(plan: &SharePlan) -> Option<String> {
    let tenants = &plan.question.tenants;
    let unknown = tenants.iter().filter(|one| one.hours.is_empty()).count();
    (unknown > 0 && tenants.len() > 1).then(|| {
        format!(
            "the hours of {} are unknown: their separate peaks are added up as if they came \
             at the same time",
            counted(unknown as u64, "tenant", "tenants")
        )
    })
}
