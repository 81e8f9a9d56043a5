//! What several parts of the answer say.

use crate::planners::share::{Method, Origin, Packing, SharePlan, Today};
use crate::savings::Slice;

/// A way to share, for people.
pub(super) fn method_words(method: Method) -> &'static str {
    match method {
        Method::Mig => "MIG",
        Method::ByClass => "the sharing of each class",
        Method::Mps => "MPS",
        Method::TimeSlicing => "time-slicing",
    }
}

/// Where a type or a region is from.
pub(super) fn origin_words(origin: Origin, flag: &'static str) -> &'static str {
    match origin {
        Origin::Flag => flag,
        Origin::MostTenants => "most tenants",
        Origin::Home => "home region",
    }
}

/// Instances of today, such as `5 × p4d.24xlarge`.
pub(super) fn fleet_words(today: &Today) -> String {
    let types = today.instances.iter();
    let words: Vec<String> = types
        .map(|(name, (count, _))| format!("{count} × {name}"))
        .collect();
    words.join(" + ")
}

/// Tenants of unknown peak on a part of a card: their memory fits, and whether the part
/// computes fast enough for them is not known.
pub(super) fn by_memory_alone(plan: &SharePlan, packing: &Packing) -> usize {
    let cards = packing.lots.iter().flat_map(|lot| &lot.cards);
    let slices = cards.flat_map(|card| &card.tenants);
    let is_guess = |slice: &&Slice| {
        let placed = slice.placement.as_ref();
        let is_part = placed.is_some_and(|(profile, _)| profile.compute_slices < plan.total_slices);
        let tenant = plan.question.tenants.get(slice.tenant);
        is_part && tenant.is_some_and(|tenant| tenant.peak_percent.is_none())
    };
    slices.filter(is_guess).count()
}
