//! Instances with their cards, the setups that several of them have alike, and words for them.

use crate::planners::share::{CardMode, Lot, PackedCard, Packing, SharePlan, Today};
use crate::report::shared::text::joined;
use crate::savings::Slice;

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
