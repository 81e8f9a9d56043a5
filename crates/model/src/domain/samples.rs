//! How much of a fact was seen.

use super::{HOUR_SECONDS, Policy};
use jiff::Timestamp;

/// Hours of a day.
const HOURS: u32 = 24;

/// When a fact was not sampled although its instance ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outage {
    /// The end of its last sample; absent without any.
    pub last_sample: Option<Timestamp>,
    /// For how long its instance ran after that.
    pub unseen_seconds: i64,
    /// The hours of the day in UTC, from bit 0 for 00:00, that have no sample on half or more of
    /// the days on which the instance ran in them.
    pub missing_hours: u32,
}

impl Outage {
    /// Whether the last sample is too old to act on.
    pub fn is_stale(self, policy: &Policy) -> bool {
        self.unseen_seconds as f64 > policy.stale_after_hours * HOUR_SECONDS as f64
    }

    /// Whether no action may rest on the fact.
    pub fn forbids(self, policy: &Policy) -> bool {
        self.is_stale(policy) || self.missing_hours != 0
    }

    /// What is missing up to the end of a window; `None` where an action may rest on the fact.
    pub fn in_words(self, policy: &Policy, end: Timestamp) -> Option<String> {
        if let Some(last) = self.last_sample.filter(|_| self.is_stale(policy)) {
            let hours = (end.as_second() - last.as_second()) / HOUR_SECONDS;
            return Some(format!("last sample {last}; {hours} hours before the end of the window"));
        }
        let missing = |hour: u32| self.missing_hours & (1 << (hour % HOURS)) != 0;
        if (0..HOURS).all(missing) {
            return Some("no data at any hour on half of the days or more".to_owned());
        }
        let begins = (0..HOURS).filter(|hour| missing(*hour) && !missing(*hour + HOURS - 1));
        let ranges: Vec<String> = begins
            .map(|from| {
                let until = (from..from + HOURS).find(|hour| !missing(*hour));
                let until = until.unwrap_or(from + HOURS) % HOURS;
                format!("from {from:02}:00 to {until:02}:00")
            })
            .collect();
        let is_patterned = !ranges.is_empty();
        is_patterned.then(|| format!("no data {} UTC on most days", ranges.join(" and ")))
    }

    /// Everything that is missing of either of two facts.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let staler = if other.unseen_seconds > self.unseen_seconds { other } else { self };
        Self { missing_hours: self.missing_hours | other.missing_hours, ..staler }
    }
}

/// Samples of one fact, such as the VRAM of one GPU, beside those that its running
/// time should have brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Samples {
    /// Those that are there.
    pub count: u64,
    /// Those that a source without outages would have delivered while it ran.
    pub expected: u64,
    pub period_seconds: u32,
    /// What is missing of them for good.
    pub outage: Outage,
}

impl Samples {
    /// Samples of a running time.
    pub fn over(count: u64, running_seconds: i64, period_seconds: u32) -> Self {
        let period = i64::from(period_seconds.max(1));
        Self {
            count,
            expected: (running_seconds.max(0) / period) as u64,
            period_seconds,
            outage: Outage::default(),
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
    /// were due, neither stale nor missing at the same hours of most days.
    pub fn suffice(self, policy: &Policy) -> bool {
        self.hours() >= policy.min_hours
            && self.coverage() >= policy.min_coverage
            && !self.outage.forbids(policy)
    }

    /// The poorer of two, with what is missing of either: what rests on both facts rests on
    /// that.
    #[must_use]
    pub fn poorer(self, other: Self) -> Self {
        let order = self.coverage().total_cmp(&other.coverage());
        let poorer = match order.then(self.hours().total_cmp(&other.hours())) {
            std::cmp::Ordering::Greater => other,
            _ => self,
        };
        Self { outage: self.outage.plus(other.outage), ..poorer }
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
    fn a_fact_is_stale_after_a_day_and_says_which_hours_it_lacks() {
        let policy = Policy::default();
        let at = |text: &str| text.parse::<Timestamp>().expect("a time");
        let (last, end) = (at("2026-11-20T00:00:00Z"), at("2026-11-21T00:00:00Z"));
        let after = |seconds: i64| Outage {
            last_sample: Some(last),
            unseen_seconds: seconds,
            missing_hours: 0,
        };
        assert_eq!(after(24 * 3_600).in_words(&policy, end), None);
        assert_eq!(
            after(24 * 3_600 + 1).in_words(&policy, end).as_deref(),
            Some("last sample 2026-11-20T00:00:00Z; 24 hours before the end of the window")
        );
        let without = |hours: &[u32]| {
            let outage =
                Outage { missing_hours: hours.iter().map(|hour| 1_u32 << hour).sum(), ..after(0) };
            outage.in_words(&policy, end)
        };
        assert_eq!(
            without(&[10, 11, 12, 17]).as_deref(),
            Some("no data from 10:00 to 13:00 and from 17:00 to 18:00 UTC on most days")
        );
        assert_eq!(
            without(&[0, 22, 23]).as_deref(),
            Some("no data from 22:00 to 01:00 UTC on most days")
        );
        assert!(without(&(0..24).collect::<Vec<_>>()).is_some());
        let complete = Samples::over(4_032, 14 * 86_400, 300);
        let stale = Samples { outage: after(24 * 3_600 + 1), ..complete };
        assert!(complete.suffice(&policy) && !stale.suffice(&policy));
        assert!(!complete.poorer(stale).suffice(&policy));
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
