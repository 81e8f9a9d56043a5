//! What is left of a card with MIG, and whether any tenant could use it.

use crate::catalog::MigProfile;
use crate::savings::{free_starts, total_slices};

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
        let last = profile.placement_starts.iter().max().copied();
        last.unwrap_or(0) + profile.placement_size
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
