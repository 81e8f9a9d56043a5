//! How much of a fact was seen.

use super::Policy;

/// Samples of one fact, such as the VRAM of one GPU, beside those that its running
/// time should have brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Samples {
    /// Those that are there.
    pub count: u64,
    /// Those that a source without outages would have delivered while it ran.
    pub expected: u64,
    pub period_seconds: u32,
}

impl Samples {
    /// Samples of a running time.
    pub fn over(count: u64, running_seconds: i64, period_seconds: u32) -> Self {
        let period = i64::from(period_seconds.max(1));
        Self {
            count,
            expected: (running_seconds.max(0) / period) as u64,
            period_seconds,
        }
    }

    /// Share of the expected samples that are there, 0–1; 0 without any.
    pub fn coverage(self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        self.count as f64 / self.expected.max(self.count) as f64
    }

    /// Hours that they stand for.
    pub fn hours(self) -> f64 {
        self.count as f64 * f64::from(self.period_seconds) / 3600.0
    }

    /// Whether a lever may rest on the fact: enough hours, and enough of those that
    /// were due.
    pub fn suffice(self, policy: &Policy) -> bool {
        self.hours() >= policy.min_hours && self.coverage() >= policy.min_coverage
    }

    /// The poorer of two: what rests on both facts rests on that.
    #[must_use]
    pub fn poorer(self, other: Self) -> Self {
        let order = self.coverage().total_cmp(&other.coverage());
        match order.then(self.hours().total_cmp(&other.hours())) {
            std::cmp::Ordering::Greater => other,
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_of_four_thousand_samples_are_an_hour_and_no_fact() {
        let fortnight = 14 * 86_400;
        let few = Samples::over(12, fortnight, 300);
        assert_eq!((few.expected, few.hours()), (4_032, 1.0));
        assert!((few.coverage() - 12.0 / 4_032.0).abs() < 1e-12);
        let policy = Policy::default();
        assert!(!few.suffice(&policy));
        // Half of the window is enough; one sample less is not.
        assert!(Samples::over(2_016, fortnight, 300).suffice(&policy));
        assert!(!Samples::over(2_015, fortnight, 300).suffice(&policy));
        // A box up for 20 of 24 hours a fortnight ago: complete, and too short.
        assert!(!Samples::over(240, 72_000, 300).suffice(&policy));
    }

    #[test]
    fn nothing_is_not_covered_and_the_poorer_counts() {
        assert_eq!(Samples::default().coverage(), 0.0);
        let half = Samples::over(50, 30_000, 300);
        let whole = Samples::over(100, 30_000, 300);
        assert_eq!(half.poorer(whole), half);
        assert_eq!(whole.poorer(half), half);
    }
}
