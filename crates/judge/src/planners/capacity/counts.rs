//! Requests that were counted by period, and the rate that GPUs are planned for.

use crate::domain::{CountedRequests, named_enum};
use crate::planners::NoResult;

named_enum! {
    /// Which of the counted periods the GPUs have to serve.
    PeakOf {
        /// The 99th percentile by nearest rank: one period in a hundred has more.
        P99 = "p99",
        /// The period with the most requests.
        Max = "max",
    }
}

/// Requests by period, the peak that is planned for, and where they are from.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestCounts {
    /// The file.
    pub name: String,
    pub period_seconds: f64,
    pub peak: PeakOf,
    /// Requests a second in the period of the peak.
    pub peak_per_second: f64,
    /// Over the periods with a count.
    pub mean_per_second: f64,
    pub max_per_second: f64,
    /// Periods with a count.
    pub periods: u64,
    /// Periods without one, between the first and the last.
    pub missing: u64,
    counts: Vec<CountedRequests>,
}

const MILLISECONDS: f64 = 1e3;
/// What to do where the period is not known.
const STATE_PERIOD: &str =
    "pass the period that they were asked for, such as `--request-period 60s`";

impl RequestCounts {
    /// Counts in order of time. The period is the shortest time between two of them where
    /// none is stated, in milliseconds.
    ///
    /// # Errors
    /// When the period is not known, when times are not whole periods apart, or when the peak
    /// is without requests.
    pub fn new(
        name: &str,
        counts: Vec<CountedRequests>,
        (period, peak): (Option<i64>, PeakOf),
    ) -> Result<Self, NoResult> {
        let name = name.to_owned();
        let times = counts.iter().map(|count| count.at_milliseconds);
        let gaps = times.clone().zip(times.skip(1));
        let gaps: Vec<i64> = gaps.map(|(before, after)| after - before).collect();
        let period = period.or_else(|| gaps.iter().copied().min());
        let period = period.filter(|period| *period > 0).ok_or_else(|| {
            no_result! {
                "{name} has one count, and nothing says how long its period is"; "{STATE_PERIOD}"
            }
        })?;
        let period_seconds = period as f64 / MILLISECONDS;
        for gap in &gaps {
            let after = *gap as f64 / MILLISECONDS;
            refuse! {
                gap % period != 0 => "{name}: a count is {after} s after the one before it, which is not a multiple of the period of {period_seconds} s"; "{STATE_PERIOD}";
            }
        }
        let of_all = gaps.iter().map(|gap| gap / period - 1).sum::<i64>();
        let mut sorted: Vec<f64> = counts.iter().map(|count| count.requests).collect();
        sorted.sort_by(f64::total_cmp);
        let total: f64 = sorted.iter().sum();
        let max = sorted.last().copied().unwrap_or_default();
        let requests = if peak == PeakOf::P99 { nearest_rank(&sorted) } else { max };
        refuse! {
            requests <= 0.0 => "{name}: {peak} of its counts is 0"; "pass `--request-peak max`, or counts of a busier time";
        }
        Ok(Self {
            name,
            period_seconds,
            peak,
            peak_per_second: requests / period_seconds,
            mean_per_second: total / (counts.len() as f64 * period_seconds),
            max_per_second: max / period_seconds,
            periods: counts.len() as u64,
            missing: u64::try_from(of_all).unwrap_or(0),
            counts,
        })
    }

    /// Requests a second on average over the counts of a time, Unix milliseconds.
    ///
    /// # Errors
    /// When no count is in it.
    pub fn mean_within(&self, from: i64, to: i64, of: &str) -> Result<f64, NoResult> {
        let within = self.counts.iter();
        let within = within.filter(|count| (from..=to).contains(&count.at_milliseconds));
        let (mut requests, mut periods) = (0.0, 0_u64);
        for count in within {
            requests += count.requests;
            periods += 1;
        }
        let name = &self.name;
        refuse! {
            periods == 0 => "{name} has no period within {of}"; "ask for the same time, or pass the rate as `--served-rate`";
        }
        Ok(requests / (periods as f64 * self.period_seconds))
    }

    /// From the first period to the end of the last, in hours.
    pub fn lasted_hours(&self) -> f64 {
        (self.periods + self.missing) as f64 * self.period_seconds / 3_600.0
    }
}

/// The smallest number that 99 of 100 do not exceed, of some in order.
fn nearest_rank(sorted: &[f64]) -> f64 {
    let rank = (sorted.len() * 99).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(i64, f64)]) -> Vec<CountedRequests> {
        let counted = |(seconds, requests): &(i64, f64)| CountedRequests {
            at_milliseconds: seconds * 1_000,
            requests: *requests,
        };
        pairs.iter().map(counted).collect()
    }

    fn of(
        pairs: &[(i64, f64)],
        period: Option<i64>,
        peak: PeakOf,
    ) -> Result<RequestCounts, String> {
        let answer = RequestCounts::new("counts.json", counts(pairs), (period, peak));
        answer.map_err(|error| error.to_string())
    }

    /// 200 minutes with 60 requests each, of which two have 600 and one has 1 200: p99 is the
    /// 198th of 200 in order, which is one of the two, 10 a second; the most are 20 a second,
    /// and the mean is (197 × 60 + 2 × 600 + 1 200) / 200 / 60 = 1.185.
    #[test]
    fn the_peak_is_that_of_a_period() {
        let mut pairs: Vec<(i64, f64)> = (0..200).map(|minute| (minute * 60, 60.0)).collect();
        (pairs[10].1, pairs[50].1, pairs[51].1) = (600.0, 1_200.0, 600.0);
        let rate = of(&pairs, None, PeakOf::P99).expect("a rate");
        assert_eq!((rate.period_seconds, rate.peak_per_second), (60.0, 10.0));
        assert_eq!(rate.max_per_second, 20.0);
        assert!((rate.mean_per_second - 1.185).abs() < 1e-12);
        assert_eq!((rate.periods, rate.missing), (200, 0));
        let most = of(&pairs, None, PeakOf::Max).expect("a rate");
        assert_eq!(most.peak_per_second, 20.0);
        // Of fewer than 100, p99 is the largest.
        let few = of(&pairs[..99], None, PeakOf::P99).expect("a rate");
        assert_eq!(few.peak_per_second, 20.0);
    }

    #[test]
    fn periods_without_a_count_are_missing_and_not_zero() {
        let pairs = [(0, 60.0), (60, 120.0), (240, 180.0)];
        let rate = of(&pairs, None, PeakOf::Max).expect("a rate");
        // (1 + 2 + 3) / 3, and not / 5.
        assert_eq!(rate.mean_per_second, 2.0);
        assert_eq!((rate.periods, rate.missing), (3, 2));
        assert!((rate.lasted_hours() - 5.0 / 60.0).abs() < 1e-12);
        // The first two of them: (1 + 2) / 2.
        let within = |from, to| rate.mean_within(from, to, "the run");
        assert_eq!(within(0, 60_000), Ok(1.5));
        let none = within(61_000, 200_000).expect_err("none");
        assert_eq!(none.to_string(), "counts.json has no period within the run");
    }

    #[test]
    fn a_period_that_is_not_known_is_not_guessed() {
        let lone = [(60, 600.0)];
        let expected = "counts.json has one count, and nothing says how long its period is";
        assert_eq!(of(&lone, None, PeakOf::P99), Err(expected.to_owned()));
        let stated = of(&lone, Some(60_000), PeakOf::P99).expect("a rate");
        assert_eq!(stated.peak_per_second, 10.0);
        // 120 and 180 are of a grid of 60, which none of them shows.
        let sparse = [(0, 60.0), (120, 60.0), (300, 60.0)];
        let expected = "counts.json: a count is 180 s after the one before it, which is not a \
                        multiple of the period of 120 s";
        assert_eq!(of(&sparse, None, PeakOf::P99), Err(expected.to_owned()));
        let stated = of(&sparse, Some(60_000), PeakOf::P99).expect("a rate");
        assert_eq!((stated.peak_per_second, stated.missing), (1.0, 3));
        let expected = "counts.json: a count is 120 s after the one before it, which is not a \
                        multiple of the period of 300 s";
        let longer = of(&sparse, Some(300_000), PeakOf::P99);
        assert_eq!(longer, Err(expected.to_owned()));
    }

    #[test]
    fn no_requests_are_no_rate() {
        let mut pairs: Vec<(i64, f64)> = (0..200).map(|minute| (minute * 60, 0.0)).collect();
        let expected = "counts.json: p99 of its counts is 0";
        assert_eq!(of(&pairs, None, PeakOf::P99), Err(expected.to_owned()));
        pairs[7].1 = 6.0;
        assert_eq!(of(&pairs, None, PeakOf::P99), Err(expected.to_owned()));
        let most = of(&pairs, None, PeakOf::Max).expect("a rate");
        assert_eq!(most.peak_per_second, 0.1);
    }
}
