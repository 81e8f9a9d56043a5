//! Which hours a line of a bill is for.

use crate::domain::{HOUR_SECONDS, Window};
use crate::usage::HourUse;
use rust_decimal::Decimal;

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
        let share = Decimal::ONE;
        return vec![Share { hour, share }];
    }
    let known = first.max(0)..(last + 1).min(uses.len() as i64);
    let inside = known.map(|hour| {
        let opens = begin + hour * HOUR_SECONDS;
        let seconds = end.min(opens + HOUR_SECONDS) - start.max(opens);
        (hour as usize, seconds)
    });
    let inside: Vec<(usize, i64)> = inside.collect();
    let seconds: i64 = inside.iter().map(|(_, seconds)| seconds).sum();
    let ran = |(hour, seconds): &(usize, i64)| {
        let ran = uses.get(*hour).map_or(0, |hour| hour.ran);
        seconds * i64::from(ran)
    };
    let has_run = inside.iter().any(|part| ran(part) > 0);
    let weight = |part: &(usize, i64)| if has_run { ran(part) } else { part.1 };
    let weights = Decimal::from(inside.iter().map(weight).sum::<i64>());
    let of = |part: Decimal, whole: Decimal| part.checked_div(whole).unwrap_or_default();
    let of_period = |seconds: i64| of(Decimal::from(seconds), Decimal::from(end - start));
    let outside = end - start - seconds;
    let outside = (outside > 0).then(|| Share { hour: None, share: of_period(outside) });
    let share_inside = of_period(seconds);
    let parts = inside.iter().filter(|part| weight(part) > 0);
    let parts = parts.map(|part| Share {
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
