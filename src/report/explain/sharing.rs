//! Which tenants sit on which slices, and why they fit.

use super::page::{Page, Rates, figure};
use crate::catalog::{MigProfile, mig_profiles};
use crate::domain::Workload;
use crate::report::shared::text::{count, counted};
use crate::savings::{SHARED_TARGET_PERCENT, Sharing, SharingMode};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// The tenants of one profile.
#[derive(Default)]
struct OnProfile {
    tenants: u64,
    most_mib: f64,
    most_percent: f64,
}

impl Page {
    pub(super) fn sharing(&mut self, workload: &Workload, found: &Sharing) {
        let Some(offer) = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref()) else {
            return;
        };
        let profiles = mig_profiles(offer);
        let total = profiles.iter().map(|profile| profile.compute_slices).max();
        let mut by_profile: BTreeMap<&str, (&MigProfile, OnProfile)> = BTreeMap::new();
        for slice in found.cards.iter().flat_map(|card| &card.slices) {
            let Some((profile, _)) = &slice.placement else {
                continue;
            };
            let on = by_profile.entry(profile.name.as_str());
            let (_, seen) = on.or_insert((profile, OnProfile::default()));
            let tenant = found.tenants[slice.tenant];
            seen.tenants += 1;
            seen.most_mib = seen.most_mib.max(tenant.vram_needed_mib);
            seen.most_percent = seen.most_percent.max(tenant.peak_percent);
        }
        for (name, (profile, seen)) in by_profile {
            let slices = f64::from(profile.compute_slices);
            let all = f64::from(total.unwrap_or(profile.compute_slices));
            self.note(&format!(
                "{} × {name}: at most {:.0} MiB needed (peak with headroom) of {} MiB; peak \
                 at most {:.1}% × {all} / {slices} slices = {:.1}% ≤ {SHARED_TARGET_PERCENT}%",
                seen.tenants,
                seen.most_mib,
                profile
                    .memory_mib
                    .map_or_else(|| "unknown".to_owned(), count),
                seen.most_percent,
                seen.most_percent * all / slices
            ));
        }
        let fullest = found.cards.iter().map(|card| card.peak_percent);
        let how = match found.mode {
            SharingMode::Mig => "",
            SharingMode::Mps => ", using MPS",
        };
        self.note(&format!(
            "each card: at most {} tenants{how}, sum of peaks at most {:.1}% ≤ \
             {SHARED_TARGET_PERCENT}%",
            found.most_per_card(),
            fullest.fold(0.0, f64::max)
        ));
        let (Some(target), Some(cost)) = (found.action.target(), &workload.cost) else {
            return;
        };
        let per_instance = usize::from(offer.share.visible_devices());
        let by_cards = found.cards.len().div_ceil(per_instance);
        let by_cpu = if (target.count as usize) > by_cards {
            "; vCPUs require more"
        } else {
            ""
        };
        self.note(&format!(
            "{} / {per_instance} per instance: {}, rounded up{by_cpu}",
            counted(found.cards.len() as u64, "card", "cards"),
            counted(by_cards as u64, "instance", "instances")
        ));
        // Which ones go is not known: the most expensive stay.
        let mut most_expensive: Vec<_> = cost.instances.iter().collect();
        most_expensive
            .sort_by_key(|one| std::cmp::Reverse(one.quote.rate.amount() * one.monthly_hours));
        let kept = most_expensive.into_iter().take(target.count as usize);
        let rates = Rates::of(kept.map(|one| (&one.key, &one.quote, one.monthly_hours)));
        let sum: Decimal = self.rates(&rates, Self::note);
        self.note(&format!("{} per month remaining", figure(sum, 6)));
    }
}
