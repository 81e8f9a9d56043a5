//! Putting tenants on the slices and cards that hold them.

use crate::catalog::MigProfile;

/// Highest peak of a slice, and sum of the peaks of all tenants of a card, percent.
pub const SHARED_TARGET_PERCENT: f64 = 80.0;

/// Most processes that MPS serves on one card at once.
const MPS_CLIENTS: usize = 48;

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

impl SharedCard {
    fn put(&mut self, index: usize, tenant: Tenant, placement: Option<(MigProfile, u8)>) {
        self.peak_percent += tenant.peak_percent;
        self.vram_mib += tenant.vram_needed_mib;
        self.slices.push(Slice {
            tenant: index,
            placement,
        });
    }

    fn placements(&self) -> impl Iterator<Item = &(MigProfile, u8)> {
        self.slices
            .iter()
            .filter_map(|slice| slice.placement.as_ref())
    }

    /// Where a profile still fits beside what is there: at one of its starts, on
    /// free memory slices, within the compute slices and its own limit.
    fn free_start(&self, profile: &MigProfile, total_slices: u8) -> Option<u8> {
        let of_profile = self.placements().filter(|(used, _)| used == profile);
        let compute: u8 = self.placements().map(|(used, _)| used.compute_slices).sum();
        if of_profile.count() >= usize::from(profile.max_instances)
            || compute + profile.compute_slices > total_slices
        {
            return None;
        }
        profile.placement_starts.iter().copied().find(|start| {
            self.placements().all(|(used, at)| {
                start + profile.placement_size <= *at || at + used.placement_size <= *start
            })
        })
    }
}

/// Compute slices of a whole card: those of its largest profile.
pub fn total_slices(profiles: &[MigProfile]) -> u8 {
    let slices = profiles.iter().map(|profile| profile.compute_slices);
    slices.max().unwrap_or(0)
}

/// The slices that hold a tenant, smallest first: its memory fits, and its peak
/// over the slice's share of the compute stays within the target. Variants of a
/// profile with media engines or graphics are left out, and so are whole cards
/// and profiles whose memory is not known.
fn allowed<'a>(tenant: &Tenant, profiles: &'a [MigProfile]) -> Vec<&'a MigProfile> {
    let total = total_slices(profiles);
    let mut found: Vec<&MigProfile> = profiles
        .iter()
        .filter(|profile| !profile.name.contains('+') && !profile.name.ends_with("-me"))
        .filter(|profile| profile.compute_slices < total)
        .filter(|profile| {
            let holds = profile
                .memory_mib
                .is_some_and(|mib| tenant.vram_needed_mib <= mib as f64);
            let share = f64::from(total) / f64::from(profile.compute_slices);
            holds && tenant.peak_percent * share <= SHARED_TARGET_PERCENT
        })
        .collect();
    found.sort_by_key(|profile| (profile.placement_size, profile.compute_slices));
    found
}

/// Tenants on MIG slices, largest first, each on the first card with room for
/// the smallest slice that holds it. One that no slice holds keeps a card alone.
pub fn pack_mig(tenants: &[Tenant], profiles: &[MigProfile]) -> Vec<SharedCard> {
    let total = total_slices(profiles);
    let mut waiting: Vec<(usize, &Tenant, Vec<&MigProfile>)> = tenants
        .iter()
        .enumerate()
        .map(|(index, tenant)| (index, tenant, allowed(tenant, profiles)))
        .collect();
    waiting.sort_by(
        |(left_index, left, left_allowed), (right_index, right, right_allowed)| {
            let size = |allowed: &[&MigProfile]| {
                allowed.first().map_or((u8::MAX, u8::MAX), |profile| {
                    (profile.placement_size, profile.compute_slices)
                })
            };
            size(right_allowed)
                .cmp(&size(left_allowed))
                .then(right.peak_percent.total_cmp(&left.peak_percent))
                .then(left_index.cmp(right_index))
        },
    );
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
            (card.peak_percent + tenant.peak_percent <= SHARED_TARGET_PERCENT)
                .then(|| {
                    allowed.iter().find_map(|profile| {
                        let start = card.free_start(profile, total)?;
                        Some(((*profile).clone(), start))
                    })
                })
                .flatten()
        };
        let found = cards
            .iter_mut()
            .find_map(|card| place(card).map(|placement| (card, placement)));
        match found {
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
            card.slices.len() < MPS_CLIENTS
                && card.vram_mib + tenant.vram_needed_mib <= card_mib
                && card.peak_percent + tenant.peak_percent <= SHARED_TARGET_PERCENT
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
