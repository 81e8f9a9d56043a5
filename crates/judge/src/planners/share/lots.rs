//! Tenants that are shared in one way and packed together, on the fewest cards where they are
//! few, by branch and bound.

use super::{ShareQuestion, ShareTenant};
use crate::catalog::MigProfile;
use crate::domain::named_enum;
use crate::savings::{
    MPS_CLIENTS, SHARED_TARGET_PERCENT, SharedCard, Slice, Tenant, allowed_slices, free_starts,
    pack_mig_where, pack_processes_where, place_together, total_slices,
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
        let tenants = members.iter().map(|member| &question.tenants[*member]);
        let needs = tenants.map(|tenant| Tenant {
            vram_needed_mib: question.vram_needed_mib(tenant),
            // An unknown peak limits no slice: memory alone places that tenant, and the headline
            // says so. Cards without walls take none of unknown peak.
            peak_percent: tenant.peak_percent.unwrap_or(0.0),
        });
        let needs: Vec<Tenant> = needs.collect();
        let smallest = |need: &Tenant| match mode {
            CardMode::Mig => allowed_slices(need, profiles).first().copied(),
            CardMode::Mps | CardMode::TimeSlicing | CardMode::Whole => None,
        };
        let smallest = needs.iter().map(smallest).collect();
        Self { question, profiles, mode, owner, members, needs, smallest }
    }

    fn tenant(&self, place: usize) -> &'a ShareTenant {
        &self.question.tenants[self.members[place]]
    }

    /// The sum of the separate peaks that are known, percent.
    fn separate(&self, places: &[usize]) -> f64 {
        places.iter().map(|place| self.needs[*place].peak_percent).sum()
    }

    /// The largest sum of an hour, percent. A tenant whose hours are not known has its peak
    /// in each of them; one whose peak is not known adds nothing.
    fn together(&self, places: &[usize]) -> f64 {
        let hours = places.iter().map(|place| self.tenant(*place).hours.len()).max();
        let peak = |place: usize, hour: usize| {
            self.tenant(place).hours.get(hour).copied().unwrap_or(self.needs[place].peak_percent)
        };
        let sums = (0..hours.unwrap_or(0))
            .map(|hour| places.iter().map(|place| peak(*place, hour)).sum::<f64>());
        sums.reduce(f64::max).unwrap_or(f64::INFINITY).min(self.separate(places))
    }

    /// Whether the peaks of some and of one more stay within the target at any time.
    fn meet(&self, on_card: impl Iterator<Item = usize>, next: usize) -> bool {
        let places: Vec<usize> = on_card.chain([next]).collect();
        // Sums by the hour are never above the sum of the peaks, which is quick.
        self.separate(&places) <= SHARED_TARGET_PERCENT
            || self.together(&places) <= SHARED_TARGET_PERCENT
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
        let (least, known) = (self.volume().min(greedy.len()), greedy.len());
        let order = self.order();
        let mut search = Search { rules: &self, order, least, best: None, known, steps: 0 };
        let is_exact = self.members.len() <= MOST_EXACT
            // The card of each tenant that was placed, in order.
            && search.place(&mut Vec::new(), &mut Vec::new());
        let best = search.best.filter(|_| is_exact);
        let placed: Placed =
            best.map_or(greedy, |cards| cards.iter().map(|card| self.arranged(card)).collect());
        let least_cards = if is_exact { placed.len() } else { least };
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
                pack_processes_where(&self.needs, self.question.on.card_mib, self.most(), meets)
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
        let shared = (0..self.needs.len()).filter(|place| match self.mode {
            CardMode::Mig => self.smallest[*place].is_some(),
            CardMode::Mps | CardMode::TimeSlicing => {
                let Tenant { vram_needed_mib, peak_percent } = self.needs[*place];
                vram_needed_mib <= card_mib && peak_percent <= SHARED_TARGET_PERCENT
            }
            CardMode::Whole => false,
        });
        let shared: Vec<usize> = shared.collect();
        let of_room = if self.mode == CardMode::Mig {
            let profiles = || shared.iter().filter_map(|place| self.smallest[*place]);
            let compute: usize = profiles().map(|slice| usize::from(slice.compute_slices)).sum();
            let memory: usize = profiles().map(|slice| usize::from(slice.placement_size)).sum();
            let [slices, memory_slices] =
                [total_slices(self.profiles), memory_slices(self.profiles)]
                    .map(|of_card| usize::from(of_card.max(1)));
            compute.div_ceil(slices).max(memory.div_ceil(memory_slices))
        } else {
            let vram_mib: f64 = shared.iter().map(|place| self.needs[*place].vram_needed_mib).sum();
            at_least(vram_mib, card_mib).max(shared.len().div_ceil(self.most()))
        };
        let of_load = at_least(self.together(&shared), SHARED_TARGET_PERCENT);
        let least = of_room.max(of_load).max(usize::from(!shared.is_empty()));
        self.needs.len() - shared.len() + least
    }

    /// The tenants of a card of the search, with slices where it has any.
    fn arranged(&self, card: &[usize]) -> Vec<Slice> {
        let profiles = card.iter().map(|place| self.smallest[*place]);
        let profiles = profiles.collect::<Option<Vec<&MigProfile>>>().unwrap_or_default();
        let starts = place_together(&profiles, total_slices(self.profiles)).unwrap_or_default();
        let slice = |(place, tenant): (usize, &usize)| {
            let placement = profiles.get(place).zip(starts.get(place));
            let placement = placement.map(|(profile, start)| ((*profile).clone(), *start));
            Slice { tenant: *tenant, placement }
        };
        card.iter().enumerate().map(slice).collect()
    }

    /// A card with what its tenants ask of it.
    fn card(&self, mut placed: Vec<Slice>) -> PackedCard {
        placed.sort_by_key(|slice| (slice.placement.as_ref().map(|(_, at)| *at), slice.tenant));
        let places: Vec<usize> = placed.iter().map(|slice| slice.tenant).collect();
        let placements = placed.iter().map(|slice| slice.placement.as_ref());
        let used: Option<Vec<(&MigProfile, u8)>> =
            placements.map(|placement| placement.map(|(profile, at)| (profile, *at))).collect();
        let of_tenants: Vec<&MigProfile> = self.smallest.iter().copied().flatten().collect();
        let fragments = used
            .filter(|_| self.mode == CardMode::Mig)
            .map(|used| Fragments::of(&used, &of_tenants, self.profiles));
        let mode = match self.mode {
            CardMode::Mig if fragments.is_none() => CardMode::Whole,
            mode => mode,
        };
        for slice in &mut placed {
            slice.tenant = self.members[slice.tenant];
        }
        let are_known = places.iter().all(|place| self.tenant(*place).peak_percent.is_some());
        PackedCard {
            mode,
            peak_percent: are_known.then(|| self.together(&places)),
            separate_percent: are_known.then(|| self.separate(&places)),
            vram_needed_mib: places.iter().map(|place| self.needs[*place].vram_needed_mib).sum(),
            fragments,
            tenants: placed,
        }
    }

    /// Whether a tenant fits beside others on one card. Whatever fits also fits without
    /// some of them.
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

    /// Whether two tenants are the same in everything that is asked of them.
    fn are_alike(&self, one: usize, other: usize) -> bool {
        self.smallest[one] == self.smallest[other]
            && self.needs[one] == self.needs[other]
            && self.tenant(one).hours == self.tenant(other).hours
    }
}

/// Free parts of a card with slices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fragments {
    /// Slices of compute on no instance.
    pub compute_free: u8,
    /// Slices of memory on no instance.
    pub memory_free: u8,
    /// Of these, slices that no profile of the tenants can begin at or reach: they are paid
    /// for and cannot be used by tenants like these.
    pub memory_stranded: u8,
}

/// Slices of memory of a whole card: where the last of its profiles ends.
pub(super) fn memory_slices(profiles: &[MigProfile]) -> u8 {
    let ends = profiles.iter().map(|profile| {
        profile.placement_starts.iter().max().copied().unwrap_or(0) + profile.placement_size
    });
    ends.max().unwrap_or(0)
}

impl Fragments {
    /// What is free beside the slices of a card, and of use to none of the profiles that
    /// tenants use.
    pub(super) fn of(
        used: &[(&MigProfile, u8)],
        of_tenants: &[&MigProfile],
        known: &[MigProfile],
    ) -> Self {
        let total = total_slices(known);
        let compute: u8 = used.iter().map(|(profile, _)| profile.compute_slices).sum();
        let is_taken = |slice: u8| {
            let mut placed = used.iter();
            placed.any(|(profile, start)| (*start..start + profile.placement_size).contains(&slice))
        };
        let is_usable = |slice: u8| {
            let mut profiles = of_tenants.iter();
            profiles.any(|profile| {
                let mut starts = free_starts(used, profile, total);
                starts.any(|start| (start..start + profile.placement_size).contains(&slice))
            })
        };
        let free: Vec<u8> = (0..memory_slices(known)).filter(|slice| !is_taken(*slice)).collect();
        let usable = free.iter().filter(|slice| is_usable(**slice)).count();
        Self {
            compute_free: total.saturating_sub(compute),
            memory_free: free.len() as u8,
            memory_stranded: (free.len() - usable) as u8,
        }
    }
}

/// Tenants up to which the search is exact.
const MOST_EXACT: usize = 12;

/// Steps after which a search is given up. Twelve tenants have 4,213,597 divisions into
/// groups (the twelfth Bell number), of which bounds leave a small part.
const MOST_STEPS: u64 = 1_000_000;

/// Searches for fewer cards than are known.
struct Search<'a> {
    rules: &'a Waiting<'a>,
    /// The largest first.
    order: Vec<usize>,
    /// No packing takes fewer.
    least: usize,
    best: Option<Vec<Vec<usize>>>,
    /// Packings of so many cards and more are of no use.
    known: usize,
    steps: u64,
}

impl Search<'_> {
    /// Tries every card for the next tenant; `false` when it took too long.
    fn place(&mut self, cards: &mut Vec<Vec<usize>>, chosen: &mut Vec<usize>) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return false;
        }
        if cards.len() >= self.known {
            return true;
        }
        let depth = chosen.len();
        let Some(next) = self.order.get(depth).copied() else {
            self.known = cards.len();
            self.best = Some(cards.clone());
            return true;
        };
        // Tenants that are alike take cards in ascending order: to swap them changes nothing.
        let before = depth.checked_sub(1).map(|place| self.order[place]);
        let is_alike = before.is_some_and(|before| self.rules.are_alike(before, next));
        let first = match chosen.last() {
            Some(card) if is_alike => *card,
            _ => 0,
        };
        for card in first..=cards.len() {
            if self.known <= self.least {
                return true;
            }
            if card == cards.len() {
                cards.push(Vec::new());
            } else if !self.rules.fits(&cards[card], next) {
                continue;
            }
            cards[card].push(next);
            chosen.push(card);
            let is_finished = self.place(cards, chosen);
            chosen.pop();
            cards[card].pop();
            if cards[card].is_empty() {
                cards.pop();
            }
            if !is_finished {
                return false;
            }
        }
        true
    }
}
