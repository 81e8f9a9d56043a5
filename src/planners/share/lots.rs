//! Tenants that are shared in one way and packed together.

use super::exact::{Fewest, MOST_EXACT, Rules, fewest_cards};
use super::fragments::memory_slices;
use super::loads::Loads;
use super::{Fragments, ShareQuestion};
use crate::catalog::MigProfile;
use crate::domain::named_enum;
use crate::savings::{
    MPS_CLIENTS, SHARED_TARGET_PERCENT, SharedCard, Slice, Tenant, allowed_slices, pack_mig_where,
    pack_processes_where, place_together, total_slices,
};
use std::cmp::Reverse;

named_enum! {
    /// How the tenants of a card share it.
    CardMode {
        /// Each on a slice of its own.
        Mig = "mig",
        /// Processes side by side.
        Mps = "mps",
        /// Processes that take turns.
        TimeSlicing = "time-slicing",
        /// One tenant has all of it.
        Whole = "whole",
    }
}

/// A card with its tenants.
#[derive(Debug, Clone, PartialEq)]
pub struct PackedCard {
    pub mode: CardMode,
    /// Who is on it, by index; with MIG in order of the memory slices.
    pub tenants: Vec<Slice>,
    /// Largest sum of the peaks of an hour; the sum of the separate peaks where hours are
    /// not known, 0–100. Absent where the peak of a tenant is not known.
    pub peak_percent: Option<f64>,
    /// Sum of the separate peaks; absent likewise.
    pub separate_percent: Option<f64>,
    /// Memory of all of them with headroom, MiB.
    pub vram_needed_mib: f64,
    /// What of a card with slices is free; absent for others.
    pub fragments: Option<Fragments>,
}

/// Cards of one mode and, where they are shared without walls, of one owner. Each lot has
/// instances of its own: a Kubernetes node shares all of its whole GPUs in one way, and
/// hands their replicas out to any pod.
#[derive(Debug, Clone, PartialEq)]
pub struct Lot {
    pub mode: CardMode,
    pub owner: Option<String>,
    pub cards: Vec<PackedCard>,
    /// No packing of these tenants takes fewer cards.
    pub least_cards: usize,
    pub instances: usize,
}

impl Lot {
    /// The cards of each instance.
    pub fn by_instance(&self, cards: u16) -> impl Iterator<Item = &[PackedCard]> {
        self.cards.chunks(usize::from(cards.max(1)))
    }
}

/// Rounds up, and takes for whole what is a rounding error above it.
fn at_least(volume: f64, of_card: f64) -> usize {
    (volume / of_card - 1e-9).ceil().max(0.0) as usize
}

/// The tenants of a lot before they have cards.
pub(super) struct Waiting<'a> {
    question: &'a ShareQuestion,
    profiles: &'a [MigProfile],
    mode: CardMode,
    owner: Option<String>,
    /// Indices into the tenants of the question.
    members: Vec<usize>,
    /// What each needs, in their order.
    needs: Vec<Tenant>,
    /// The smallest slice that holds each; absent where none does, and without MIG.
    smallest: Vec<Option<&'a MigProfile>>,
}

/// Who is on each card, by place in the lot.
type Placed = Vec<Vec<Slice>>;

impl<'a> Waiting<'a> {
    pub(super) fn new(
        question: &'a ShareQuestion,
        profiles: &'a [MigProfile],
        (mode, owner): (CardMode, Option<String>),
        members: Vec<usize>,
    ) -> Self {
        let loads = Loads::new(&question.tenants);
        let need = |tenant: &usize| Tenant {
            vram_needed_mib: question.vram_needed_mib(&question.tenants[*tenant]),
            // An unknown peak limits no slice: memory alone places that tenant, and the headline
            // says so. Cards without walls take none of unknown peak.
            peak_percent: loads.peak(*tenant).unwrap_or(0.0),
        };
        let needs: Vec<Tenant> = members.iter().map(need).collect();
        let smallest = |need: &Tenant| match mode {
            CardMode::Mig => allowed_slices(need, profiles).first().copied(),
            CardMode::Mps | CardMode::TimeSlicing | CardMode::Whole => None,
        };
        Self {
            smallest: needs.iter().map(smallest).collect(),
            question,
            profiles,
            mode,
            owner,
            members,
            needs,
        }
    }

    fn loads(&self) -> Loads<'a> {
        Loads::new(&self.question.tenants)
    }

    /// Indices into the tenants of the question.
    fn tenants(&self, places: impl IntoIterator<Item = usize>) -> Vec<usize> {
        places.into_iter().map(|place| self.members[place]).collect()
    }

    /// Whether the peaks of some and of one more stay within the target.
    fn meet(&self, on_card: impl Iterator<Item = usize>, next: usize) -> bool {
        let tenants = self.tenants(on_card.chain([next]));
        self.loads().meet(&tenants)
    }

    /// Processes that a card may have.
    fn most(&self) -> usize {
        match self.mode {
            CardMode::Mig | CardMode::TimeSlicing => usize::MAX,
            CardMode::Mps => MPS_CLIENTS,
            CardMode::Whole => 1,
        }
    }

    pub(super) fn pack(self) -> Lot {
        let greedy = self.greedy();
        let volume = self.volume().min(greedy.len());
        let (placed, least_cards) = if self.members.len() <= MOST_EXACT {
            match fewest_cards(&self, &self.order(), (volume, greedy.len())) {
                Fewest::Cards(cards) => {
                    let cards: Placed = cards.iter().map(|card| self.arranged(card)).collect();
                    let least = cards.len();
                    (cards, least)
                }
                Fewest::NoFewer => {
                    let least = greedy.len();
                    (greedy, least)
                }
                Fewest::Unfinished => (greedy, volume),
            }
        } else {
            (greedy, volume)
        };
        let mut cards: Vec<PackedCard> = placed.into_iter().map(|card| self.card(card)).collect();
        let mut mode = self.mode;
        if mode != CardMode::Mig && cards.iter().all(|card| card.tenants.len() == 1) {
            mode = CardMode::Whole;
            cards.iter_mut().for_each(|card| card.mode = mode);
        }
        Lot {
            instances: cards.len().div_ceil(usize::from(self.question.on.cards.max(1))),
            mode,
            owner: self.owner,
            cards,
            least_cards,
        }
    }

    /// The packing of the lever: the largest first, each on the first card with room.
    fn greedy(&self) -> Placed {
        let meets = |card: &SharedCard, next: usize| {
            self.meet(card.slices.iter().map(|slice| slice.tenant), next)
        };
        let cards = match self.mode {
            CardMode::Mig => pack_mig_where(&self.needs, self.profiles, meets),
            CardMode::Mps | CardMode::TimeSlicing | CardMode::Whole => {
                let card_mib = self.question.on.card_mib;
                pack_processes_where(&self.needs, card_mib, self.most(), meets)
            }
        };
        cards.into_iter().map(|card| card.slices).collect()
    }

    /// The largest first.
    fn order(&self) -> Vec<usize> {
        let size = |place: &usize| {
            self.smallest[*place].map_or((u8::MAX, u8::MAX), |profile| {
                (profile.placement_size, profile.compute_slices)
            })
        };
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        order.sort_by(|left, right| {
            let (one, other) = (&self.needs[*left], &self.needs[*right]);
            Reverse(size(left))
                .cmp(&Reverse(size(right)))
                .then(other.vram_needed_mib.total_cmp(&one.vram_needed_mib))
                .then(other.peak_percent.total_cmp(&one.peak_percent))
                .then(left.cmp(right))
        });
        order
    }

    /// The cards that the volume of the tenants alone takes.
    fn volume(&self) -> usize {
        let card_mib = self.question.on.card_mib;
        let (mut alone, mut shared) = (0, Vec::new());
        let (mut compute, mut memory, mut vram_mib) = (0_u64, 0_u64, 0.0);
        for (place, need) in self.needs.iter().enumerate() {
            let fits = match self.mode {
                CardMode::Mig => self.smallest[place].is_some(),
                CardMode::Mps | CardMode::TimeSlicing => {
                    need.vram_needed_mib <= card_mib && need.peak_percent <= SHARED_TARGET_PERCENT
                }
                CardMode::Whole => false,
            };
            if !fits {
                alone += 1;
                continue;
            }
            shared.push(place);
            vram_mib += need.vram_needed_mib;
            if let Some(profile) = self.smallest[place] {
                compute += u64::from(profile.compute_slices);
                memory += u64::from(profile.placement_size);
            }
        }
        let together = self.loads().together(&self.tenants(shared.iter().copied()));
        let mut least = at_least(together, SHARED_TARGET_PERCENT);
        if self.mode == CardMode::Mig {
            let slices = u64::from(total_slices(self.profiles).max(1));
            let memory_slices = u64::from(memory_slices(self.profiles).max(1));
            least = least
                .max(compute.div_ceil(slices) as usize)
                .max(memory.div_ceil(memory_slices) as usize);
        } else {
            least = least.max(at_least(vram_mib, card_mib)).max(shared.len().div_ceil(self.most()));
        }
        alone + least.max(usize::from(!shared.is_empty()))
    }

    /// The tenants of a card of the search, with slices where it has any.
    fn arranged(&self, card: &[usize]) -> Vec<Slice> {
        let profiles: Option<Vec<&MigProfile>> =
            card.iter().map(|place| self.smallest[*place]).collect();
        let starts = profiles.as_ref().and_then(|profiles| {
            let total = total_slices(self.profiles);
            place_together(profiles, total)
        });
        let placements: Vec<Option<(MigProfile, u8)>> = profiles.zip(starts).map_or_else(
            || vec![None; card.len()],
            |(profiles, starts)| {
                let pairs = profiles.into_iter().zip(starts);
                pairs.map(|(profile, start)| Some((profile.clone(), start))).collect()
            },
        );
        let pairs = card.iter().zip(placements);
        pairs.map(|(tenant, placement)| Slice { tenant: *tenant, placement }).collect()
    }

    /// A card with what its tenants ask of it.
    fn card(&self, mut placed: Vec<Slice>) -> PackedCard {
        placed.sort_by_key(|slice| (slice.placement.as_ref().map(|(_, at)| *at), slice.tenant));
        let vram_needed_mib =
            placed.iter().map(|slice| self.needs[slice.tenant].vram_needed_mib).sum();
        for slice in &mut placed {
            slice.tenant = self.members[slice.tenant];
        }
        let used: Option<Vec<(&MigProfile, u8)>> = placed
            .iter()
            .map(|slice| slice.placement.as_ref().map(|(profile, at)| (profile, *at)))
            .collect();
        let of_tenants: Vec<&MigProfile> = self.smallest.iter().copied().flatten().collect();
        let fragments = used
            .filter(|_| self.mode == CardMode::Mig)
            .map(|used| Fragments::of(&used, &of_tenants, self.profiles));
        let mode = match self.mode {
            CardMode::Mig if fragments.is_none() => CardMode::Whole,
            mode => mode,
        };
        let tenants: Vec<usize> = placed.iter().map(|slice| slice.tenant).collect();
        let loads = self.loads();
        let are_known = loads.are_known(&tenants);
        PackedCard {
            mode,
            peak_percent: are_known.then(|| loads.together(&tenants)),
            separate_percent: are_known.then(|| loads.separate(&tenants)),
            vram_needed_mib,
            fragments,
            tenants: placed,
        }
    }
}

impl Rules for Waiting<'_> {
    fn fits(&self, on_card: &[usize], next: usize) -> bool {
        if on_card.len() >= self.most() || !self.meet(on_card.iter().copied(), next) {
            return false;
        }
        let places = on_card.iter().copied().chain([next]);
        if self.mode == CardMode::Mig {
            let profiles: Option<Vec<&MigProfile>> =
                places.map(|place| self.smallest[place]).collect();
            let total = total_slices(self.profiles);
            return profiles.is_some_and(|known| place_together(&known, total).is_some());
        }
        let vram_mib: f64 = places.map(|place| self.needs[place].vram_needed_mib).sum();
        vram_mib <= self.question.on.card_mib
    }

    fn are_alike(&self, one: usize, other: usize) -> bool {
        let hours = |place: usize| &self.question.tenants[self.members[place]].hours;
        self.smallest[one] == self.smallest[other]
            && self.needs[one] == self.needs[other]
            && hours(one) == hours(other)
    }
}
