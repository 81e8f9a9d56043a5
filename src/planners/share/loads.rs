//! What tenants of one card ask of it at once.

use super::ShareTenant;
use crate::savings::SHARED_TARGET_PERCENT;

/// The peaks of tenants, by hour where all of them are known by hour.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loads<'a>(&'a [ShareTenant]);

impl<'a> Loads<'a> {
    pub(super) fn new(tenants: &'a [ShareTenant]) -> Self {
        Self(tenants)
    }

    /// The peak of one, percent; absent where it is not known.
    pub(super) fn peak(self, tenant: usize) -> Option<f64> {
        self.0[tenant].peak_percent
    }

    /// Whether the peak of every one is known.
    pub(super) fn are_known(self, tenants: &[usize]) -> bool {
        let mut places = tenants.iter();
        places.all(|tenant| self.peak(*tenant).is_some())
    }

    /// The sum of the separate peaks that are known, percent.
    pub(super) fn separate(self, tenants: &[usize]) -> f64 {
        tenants.iter().filter_map(|tenant| self.peak(*tenant)).sum()
    }

    /// The largest sum of an hour, percent. A tenant whose hours are not known has its peak
    /// in each of them; one whose peak is not known adds nothing.
    pub(super) fn together(self, tenants: &[usize]) -> f64 {
        let separate = self.separate(tenants);
        let known = tenants.iter().map(|tenant| self.0[*tenant].hours.len());
        let hours = known.max().unwrap_or(0);
        let sum_of = |hour: usize| -> f64 {
            let peaks = tenants.iter().filter_map(|tenant| {
                let own = self.0[*tenant].hours.get(hour);
                own.copied().or_else(|| self.peak(*tenant))
            });
            peaks.sum()
        };
        let largest = (0..hours).map(sum_of).reduce(f64::max);
        largest.map_or(separate, |largest| largest.min(separate))
    }

    /// Whether the peaks of tenants stay within the target at any time.
    pub(super) fn meet(self, tenants: &[usize]) -> bool {
        // Sums by the hour are never above the sum of the peaks, which is quick.
        self.separate(tenants) <= SHARED_TARGET_PERCENT
            || self.together(tenants) <= SHARED_TARGET_PERCENT
    }
}
