//! What an audit expects of a bill, and which hours a line of the bill is for.

use crate::domain::{HOUR_SECONDS, InstanceRate, Window};
use crate::usage::HourUse;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Decimals that amounts and hours keep.
pub(super) const DECIMALS: u32 = 18;

/// The instances of an audit, with when they ran and what an hour costs.
#[derive(Debug, Clone)]
pub struct Expected {
    /// The whole hours of UTC that it has read.
    pub hours: Window,
    pub periods_per_hour: u16,
    pub accounts: BTreeSet<String>,
    pub regions: BTreeSet<String>,
    /// Those of these hours that were not read, by account and region.
    pub unread: BTreeMap<String, BTreeMap<String, BTreeSet<usize>>>,
    /// Whether it was asked about instances with some tags alone.
    pub is_selection: bool,
    pub instances: Vec<ExpectedInstance>,
}

#[derive(Debug, Clone)]
pub struct ExpectedInstance {
    pub account: String,
    /// Its own id, such as `i-0123456789abcdef0`.
    pub id: String,
    pub region: String,
    pub instance_type: String,
    /// What its hours cost, from the first one on.
    pub rates: Vec<RateSince>,
    /// Each of the hours that were read.
    pub hours: Vec<HourUse>,
    /// Ids of its volumes.
    pub volumes: Vec<String>,
    /// Ids of its addresses.
    pub addresses: Vec<String>,
}

/// What hours of an instance cost from one of them on, until the next one says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSince {
    /// The first of these hours.
    pub hour: usize,
    /// Absent where the audit has no price of it.
    pub rate: Option<InstanceRate>,
}

impl Expected {
    /// Whether an hour of an account and a region was not read. Where one of them is not
    /// known, it may have been read.
    pub(super) fn is_unread(
        &self,
        account: Option<&str>,
        region: Option<&str>,
        hour: usize,
    ) -> bool {
        let of_account = account.and_then(|account| self.unread.get(account));
        let hours = of_account.and_then(|regions| regions.get(region?));
        hours.is_some_and(|hours| hours.contains(&hour))
    }

    /// For how much of an hour an instance ran, 0–1.
    pub(super) fn ran(&self, hour: HourUse) -> Decimal {
        let share = Decimal::from(hour.ran).checked_div(Decimal::from(self.periods_per_hour));
        share.unwrap_or_default().round_dp(DECIMALS)
    }
}

impl ExpectedInstance {
    /// Its hours in order, in stretches of one rate.
    pub fn stretches(&self) -> impl Iterator<Item = (Range<usize>, Option<InstanceRate>)> {
        let ends = self.rates.iter().skip(1).map(|next| next.hour).chain([self.hours.len()]);
        self.rates.iter().zip(ends).map(|(since, end)| (since.hour..end, since.rate))
    }

    /// The stretch that an hour is in.
    pub(super) fn stretch_of(&self, hour: usize) -> usize {
        self.rates.partition_point(|since| since.hour <= hour).saturating_sub(1)
    }

    pub(super) fn has_run(&self) -> bool {
        self.hours.iter().any(|hour| hour.ran > 0)
    }
}

/// A part of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// The hour; absent outside of the hours that are known.
    pub(super) hour: Option<usize>,
    /// Share of the whole; these add up to one, but for rounding.
    pub(super) share: Decimal,
}

/// The hours of a period. A day or a month of an instance is divided up in proportion to when
/// it was seen running, and evenly where it was not.
pub(super) fn shares(period: Window, hours: Window, uses: &[HourUse]) -> Vec<Share> {
    let begin = hours.start.as_second();
    let start = period.start.as_second();
    let end = period.end.as_second().max(start + 1);
    let hour_of = |second: i64| (second - begin).div_euclid(HOUR_SECONDS);
    let (first, last) = (hour_of(start), hour_of(end - 1));
    if first == last {
        let hour = usize::try_from(first).ok().filter(|hour| *hour < uses.len());
        return vec![Share { hour, share: Decimal::ONE }];
    }
    let inside = (first.max(0)..(last + 1).min(uses.len() as i64)).map(|hour| {
        let opens = begin + hour * HOUR_SECONDS;
        (hour as usize, end.min(opens + HOUR_SECONDS) - start.max(opens))
    });
    let inside: Vec<(usize, i64)> = inside.collect();
    let seconds: i64 = inside.iter().map(|(_, seconds)| seconds).sum();
    let ran = |(hour, seconds): &(usize, i64)| {
        seconds * i64::from(uses.get(*hour).map_or(0, |hour| hour.ran))
    };
    let has_run = inside.iter().any(|part| ran(part) > 0);
    let weight = |part: &(usize, i64)| if has_run { ran(part) } else { part.1 };
    let weights = Decimal::from(inside.iter().map(weight).sum::<i64>());
    let of = |part: Decimal, whole: Decimal| part.checked_div(whole).unwrap_or_default();
    let of_period = |seconds: i64| of(Decimal::from(seconds), Decimal::from(end - start));
    let outside = end - start - seconds;
    let outside = (outside > 0).then(|| Share { hour: None, share: of_period(outside) });
    let share_inside = of_period(seconds);
    let parts = inside.iter().filter(|part| weight(part) > 0).map(|part| Share {
        hour: Some(part.0),
        share: of(share_inside * Decimal::from(weight(part)), weights),
    });
    outside.into_iter().chain(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn hours(start: i64, end: i64) -> Window {
        let at = |hour: i64| Timestamp::from_second(hour * HOUR_SECONDS).expect("in range");
        Window { start: at(start), end: at(end) }
    }

    fn uses(ran: &[u16]) -> Vec<HourUse> {
        let of = |ran: &u16| HourUse { ran: *ran, ..HourUse::default() };
        ran.iter().map(of).collect()
    }

    fn found(period: Window, ran: &[u16]) -> Vec<(Option<usize>, String)> {
        let known = hours(10, 10 + ran.len() as i64);
        let shares = shares(period, known, &uses(ran)).into_iter();
        shares.map(|share| (share.hour, share.share.round_dp(4).normalize().to_string())).collect()
    }

    fn share(hour: Option<usize>, share: &str) -> (Option<usize>, String) {
        (hour, share.to_owned())
    }

    #[test]
    fn an_hour_is_for_itself() {
        assert_eq!(found(hours(11, 12), &[12, 0]), [share(Some(1), "1")]);
        assert_eq!(found(hours(9, 10), &[12, 0]), [share(None, "1")]);
        assert_eq!(found(hours(12, 13), &[12, 0]), [share(None, "1")]);
        // A period without an end is a second long.
        assert_eq!(found(hours(10, 10), &[12]), [share(Some(0), "1")]);
    }

    #[test]
    fn a_day_is_for_the_hours_that_ran() {
        let found_here = found(hours(10, 14), &[12, 0, 6, 6]);
        let expected = [share(Some(0), "0.5"), share(Some(2), "0.25"), share(Some(3), "0.25")];
        assert_eq!(found_here, expected);
        // Where nothing was seen, all hours are alike.
        let evenly = [share(Some(0), "0.5"), share(Some(1), "0.5")];
        assert_eq!(found(hours(10, 12), &[0, 0]), evenly);
        // Two of four hours are not known.
        let outside = [share(None, "0.5"), share(Some(0), "0.5")];
        assert_eq!(found(hours(8, 12), &[12, 0]), outside);
        assert_eq!(found(hours(0, 5), &[12]), [share(None, "1")]);
    }
}
