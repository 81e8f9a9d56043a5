//! What to know before cards are shared.

use super::nodes::{Node, count_of, packed_slices, replicas, slowdown};
use crate::planners::share::{CardMode, Packing, SharePlan};
use crate::report::doc::rows;
use crate::report::shared::text::{counted, money};

/// The gravest first.
pub(super) fn caveats(plan: &SharePlan, packing: &Packing, nodes: &[Node<'_>]) -> Vec<String> {
    let question = &plan.question;
    let (on, tenants) = (&question.on, &question.tenants);
    let of_tenants = |number: usize| count_of(number, "tenant", "tenants");
    let of_instances = |number: usize| count_of(number, "instance", "instances");
    let without_peak = tenants.iter().filter(|tenant| tenant.peak_percent.is_none()).count();
    let without_hours = tenants.iter().filter(|tenant| tenant.hours.is_empty()).count();
    let kept = question.today.as_ref().filter(|today| today.kept > 0);
    let gpus = packing.instances * usize::from(on.cards);
    let empty = gpus.saturating_sub(packing.cards());
    let paid = format!("{empty} of {gpus} GPUs stay empty, and are paid for");
    let smaller = plan.smaller(packing);
    let placements = packed_slices(packing).filter_map(|slice| slice.placement.as_ref());
    let smallest = placements.map(|(profile, _)| profile.compute_slices).min();
    let slower = smallest.map(|smallest| slowdown(plan.total_slices, smallest));
    let shares = |mode: CardMode| nodes.iter().any(|node| node.mode == mode);
    let is_uneven = nodes.iter().any(|node| {
        let has_replicas = matches!(node.mode, CardMode::Mps | CardMode::TimeSlicing);
        let most = replicas(node.cards);
        has_replicas && node.cards.iter().any(|card| card.tenants.len() < most)
    });
    let fragments = nodes.iter().flat_map(|node| node.cards).filter_map(|card| card.fragments);
    let stranded: u64 = fragments.map(|slices| u64::from(slices.memory_stranded)).sum();
    let fewer = packing.cards().saturating_sub(packing.least_cards());
    rows! {
        if !question.is_launched => format!("AWS launches no new {}: only instances that run already can be shared, and one that stops may not start again", on.instance_type);
        if without_peak > 0 => format!("the peak of {} is unknown: placed by memory alone, and the peaks of their cards are unknown as well", of_tenants(without_peak));
        for today in kept => format!("on {} of {} of today, other GPUs do work that is skipped: they stay until it moves, and what sharing saves is not known", today.kept, of_instances(today.count()));
        for smaller in smaller => format!("{paid}: {} × {name} with {} hold the same cards for {} per month. Check its CPUs and memory, and plan it with `--type {name}`", smaller.instances, counted(smaller.on.cards.into(), "such GPU each", "such GPUs each"), money(smaller.monthly), name = smaller.on.instance_type);
        if smaller.is_none() && empty > 0 && empty * 2 >= gpus => format!("{paid}: no type with fewer of these GPUs is cheaper in this region");
        if packing.spare > 0 => format!("after the loss of {} all tenants have room; a spare instance must be set up like the lost one first", of_instances(packing.spare));
        if packing.spare == 0 && packing.instances > 0 => format!("losing one of {} leaves {}, and up to {} without room: `--survive-nodes 1` adds a spare one", of_instances(packing.instances), packing.instances - 1, of_tenants(packing.most_without_room));
        for ratio in slower => format!("a request may take up to {ratio:.2} times as long on the smallest slice: measure its latency there first");
        if slower.is_some_and(|ratio| ratio > question.max_latency_ratio) => format!("an audit plans requests that take more than {} times as long at `--risk high` alone", question.max_latency_ratio);
        if shares(CardMode::Mps) => "with MPS one process can slow down or crash the others of its card".to_owned();
        if exceeds_replica(plan, nodes) => "the device plugin gives every MPS replica the same part of the memory, and a tenant needs more than its part: start the control daemon with mps.sh instead".to_owned();
        if shares(CardMode::TimeSlicing) => "time-slicing limits no memory: a tenant that grows takes that of its neighbors".to_owned();
        if is_uneven => "Kubernetes hands out replicas in any order: tenants may meet on other cards than in this plan".to_owned();
        if without_hours > 0 && tenants.len() > 1 => format!("the hours of {} are unknown: their separate peaks are added up as if they came at the same time", of_tenants(without_hours));
        if stranded > 0 => format!("{} stranded: no slice of these tenants can begin there", counted(stranded, "free memory slice is", "free memory slices are"));
        if fewer > 0 => format!("another packing may take up to {} fewer: this one is not proved to be the best", count_of(fewer, "card", "cards"));
    }
}

/// Whether a tenant needs more than the part of the memory that an MPS replica has.
fn exceeds_replica(plan: &SharePlan, nodes: &[Node<'_>]) -> bool {
    let question = &plan.question;
    nodes.iter().filter(|node| node.mode == CardMode::Mps).any(|node| {
        let part = question.on.card_mib / replicas(node.cards) as f64;
        let mut tenants = node.cards.iter().flat_map(|card| &card.tenants);
        tenants.any(|slice| question.vram_needed_mib(&question.tenants[slice.tenant]) > part)
    })
}
