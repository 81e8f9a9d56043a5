//! Putting tenants on the slices and cards that hold them.

use crate::catalog::MigProfile;

/// Highest peak of a slice, and sum of the peaks of all tenants of a card, percent.
pub const SHARED_TARGET_PERCENT: f64 = 80.0;

/// Most processes that MPS serves on one card at once.
pub const MPS_CLIENTS: usize = 48;

/// What holds a GPU of its own today.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tenant {
    /// Memory that it needs, headroom included, MiB.
    pub vram_needed_mib: f64,
    /// What it must have room for of a whole card, percent.
    pub peak_percent: f64,
}

/// Where a tenant goes on a card.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    /// Index of the tenant.
    pub tenant: usize,
    /// The profile and the memory slice at which it begins; absent for one that
    /// shares the card through MPS or has it alone.
    pub placement: Option<(MigProfile, u8)>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SharedCard {
    /// The tenants.
    pub slices: Vec<Slice>,
    /// Sum of their peaks, percent of the card.
    pub peak_percent: f64,
    vram_mib: f64,
}

/// How many tenants have no room at worst once one instance is lost, from the tenants on the cards
/// of each: an empty card of the others takes as many as the fullest holds.
pub fn most_without_room(instances: &[Vec<usize>], cards_each: usize) -> usize {
    let most_per_card = instances.iter().flatten().max().copied().unwrap_or(0);
    let empty = |tenants: &Vec<usize>| cards_each.saturating_sub(tenants.len()) * most_per_card;
    let free: usize = instances.iter().map(empty).sum();
    let lost = instances.iter().map(|tenants| {
        let placed: usize = tenants.iter().sum();
        placed.saturating_sub(free - empty(tenants))
    });
    lost.max().unwrap_or(0)
}

impl SharedCard {
    fn put(&mut self, index: usize, tenant: Tenant, placement: Option<(MigProfile, u8)>) {
        self.peak_percent += tenant.peak_percent;
        self.vram_mib += tenant.vram_needed_mib;
        self.slices.push(Slice { tenant: index, placement });
    }

    pub fn placements(&self) -> impl Iterator<Item = &(MigProfile, u8)> {
        self.slices.iter().filter_map(|slice| slice.placement.as_ref())
    }

    /// Where a profile still fits beside what is there.
    fn free_start(&self, profile: &MigProfile, total_slices: u8) -> Option<u8> {
        let used: Vec<(&MigProfile, u8)> =
            self.placements().map(|(used, start)| (used, *start)).collect();
        free_starts(&used, profile, total_slices).next()
    }
}

/// The memory slices at which a profile still fits beside others: on free memory slices,
/// within the compute slices and its own limit.
pub fn free_starts<'a>(
    used: &'a [(&'a MigProfile, u8)],
    profile: &'a MigProfile,
    total_slices: u8,
) -> impl Iterator<Item = u8> + 'a {
    let of_profile = used.iter().filter(|(placed, _)| *placed == profile).count();
    let compute: u8 = used.iter().map(|(placed, _)| placed.compute_slices).sum();
    let is_full = of_profile >= usize::from(profile.max_instances)
        || compute + profile.compute_slices > total_slices;
    profile.placement_starts.iter().copied().filter(move |start| {
        !is_full
            && used.iter().all(|(placed, at)| {
                start + profile.placement_size <= *at || at + placed.placement_size <= *start
            })
    })
}

/// Where each of some profiles begins so that all of them are on one card, in their order;
/// `None` where no arrangement holds them.
pub fn place_together(profiles: &[&MigProfile], total_slices: u8) -> Option<Vec<u8>> {
    fn rest(
        profiles: &[&MigProfile],
        order: &[usize],
        placed: &mut Vec<(usize, u8)>,
        total_slices: u8,
    ) -> bool {
        let Some(next) = order.get(placed.len()) else { return true };
        let used: Vec<(&MigProfile, u8)> =
            placed.iter().map(|(place, start)| (profiles[*place], *start)).collect();
        let starts: Vec<u8> = free_starts(&used, profiles[*next], total_slices).collect();
        starts.into_iter().any(|start| {
            placed.push((*next, start));
            let is_placed = rest(profiles, order, placed, total_slices);
            if !is_placed {
                placed.pop();
            }
            is_placed
        })
    }
    let compute: u32 = profiles.iter().map(|profile| u32::from(profile.compute_slices)).sum();
    if compute > u32::from(total_slices) {
        return None;
    }
    // The largest first: they have the fewest places.
    let mut order: Vec<usize> = (0..profiles.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(profiles[*place].placement_size));
    let mut placed = Vec::with_capacity(profiles.len());
    if !rest(profiles, &order, &mut placed, total_slices) {
        return None;
    }
    placed.sort_unstable();
    Some(placed.into_iter().map(|(_, start)| start).collect())
}

/// Compute slices of a whole card: those of its largest profile.
pub fn total_slices(profiles: &[MigProfile]) -> u8 {
    profiles.iter().map(|profile| profile.compute_slices).max().unwrap_or(0)
}

/// The slices that hold a tenant, smallest first: its memory fits, and its peak
/// over the slice's share of the compute stays within the target. Variants of a
/// profile with media engines or graphics are left out, and so are whole cards
/// and profiles whose memory is not known.
pub fn allowed_slices<'a>(tenant: &Tenant, profiles: &'a [MigProfile]) -> Vec<&'a MigProfile> {
    let total = total_slices(profiles);
    let mut slices: Vec<&MigProfile> = profiles
        .iter()
        .filter(|profile| !profile.name.contains('+') && !profile.name.ends_with("-me"))
        .filter(|profile| profile.compute_slices < total)
        .filter(|profile| {
            let holds = profile.memory_mib.is_some_and(|mib| tenant.vram_needed_mib <= mib as f64);
            let share = f64::from(total) / f64::from(profile.compute_slices);
            holds && tenant.peak_percent * share <= SHARED_TARGET_PERCENT
        })
        .collect();
    slices.sort_by_key(|profile| (profile.placement_size, profile.compute_slices));
    slices
}

/// Whether the separate peaks of a card and of one more tenant stay within the target.
fn peaks_add_up(tenants: &[Tenant], card: &SharedCard, next: usize) -> bool {
    card.peak_percent + tenants[next].peak_percent <= SHARED_TARGET_PERCENT
}

/// Tenants on MIG slices, largest first, each on the first card with room for
/// the smallest slice that holds it. One that no slice holds keeps a card alone.
pub fn pack_mig(tenants: &[Tenant], profiles: &[MigProfile]) -> Vec<SharedCard> {
    pack_mig_where(tenants, profiles, |card, next| peaks_add_up(tenants, card, next))
}

/// The same, where `meets` says whether the peaks of a card leave room for those of one
/// more tenant, which is asked only of cards with tenants.
pub fn pack_mig_where(
    tenants: &[Tenant],
    profiles: &[MigProfile],
    meets: impl Fn(&SharedCard, usize) -> bool,
) -> Vec<SharedCard> {
    let total = total_slices(profiles);
    let mut waiting: Vec<(usize, &Tenant, Vec<&MigProfile>)> = tenants
        .iter()
        .enumerate()
        .map(|(index, tenant)| (index, tenant, allowed_slices(tenant, profiles)))
        .collect();
    waiting.sort_by(|(left_index, left, left_allowed), (right_index, right, right_allowed)| {
        let size = |allowed: &[&MigProfile]| {
            allowed.first().map_or((u8::MAX, u8::MAX), |profile| {
                (profile.placement_size, profile.compute_slices)
            })
        };
        size(right_allowed)
            .cmp(&size(left_allowed))
            .then(right.peak_percent.total_cmp(&left.peak_percent))
            .then(left_index.cmp(right_index))
    });
    let mut alone = Vec::new();
    let mut cards: Vec<SharedCard> = Vec::new();
    for (index, tenant, allowed) in waiting {
        if allowed.is_empty() {
            let mut card = SharedCard::default();
            card.put(index, *tenant, None);
            alone.push(card);
            continue;
        }
        let place = |card: &SharedCard| {
            (card.slices.is_empty() || meets(card, index))
                .then(|| {
                    allowed.iter().find_map(|profile| {
                        let start = card.free_start(profile, total)?;
                        Some(((*profile).clone(), start))
                    })
                })
                .flatten()
        };
        let placed =
            cards.iter_mut().find_map(|card| place(card).map(|placement| (card, placement)));
        match placed {
            Some((card, placement)) => card.put(index, *tenant, Some(placement)),
            None => {
                let mut card = SharedCard::default();
                let placement = place(&card);
                card.put(index, *tenant, placement);
                cards.push(card);
            }
        }
    }
    cards.extend(alone);
    cards
}

/// Tenants beside each other through MPS, those with most memory first: a card
/// holds the memory of all of them, and their peaks add up to the target at most.
/// One that is above it by itself keeps a card alone.
pub fn pack_mps(tenants: &[Tenant], card_mib: f64) -> Vec<SharedCard> {
    pack_processes_where(tenants, card_mib, MPS_CLIENTS, |card, next| {
        peaks_add_up(tenants, card, next)
    })
}

/// The same for at most `most` processes a card, where `meets` says whether the peaks of a
/// card leave room for those of one more tenant.
pub fn pack_processes_where(
    tenants: &[Tenant],
    card_mib: f64,
    most: usize,
    meets: impl Fn(&SharedCard, usize) -> bool,
) -> Vec<SharedCard> {
    let mut waiting: Vec<(usize, &Tenant)> = tenants.iter().enumerate().collect();
    waiting.sort_by(|(left_index, left), (right_index, right)| {
        right
            .vram_needed_mib
            .total_cmp(&left.vram_needed_mib)
            .then(right.peak_percent.total_cmp(&left.peak_percent))
            .then(left_index.cmp(right_index))
    });
    let mut cards: Vec<SharedCard> = Vec::new();
    for (index, tenant) in waiting {
        let fits = |card: &&mut SharedCard| {
            card.slices.len() < most
                && card.vram_mib + tenant.vram_needed_mib <= card_mib
                && meets(card, index)
        };
        match cards.iter_mut().find(fits) {
            Some(card) => card.put(index, *tenant, None),
            None => {
                let mut card = SharedCard::default();
                card.put(index, *tenant, None);
                cards.push(card);
            }
        }
    }
    cards
}

#[cfg(test)]
#[path = "packing_tests.rs"]
mod tests;
