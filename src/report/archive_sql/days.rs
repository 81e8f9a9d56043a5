//! Days of UTC as numbers since 1970, which engines add up by.

use std::ops::Range;

/// The day after the last of the year 2199.
const END: i64 = 84_006;

/// Days named as `2026-11-22`, or as the first and the last of several,
/// `2026-11-20..2026-11-22`.
pub fn days_of(text: &str) -> Option<Range<i64>> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let (first, last) = (day_of(first)?, day_of(last)?);
    (first <= last).then_some(first..last + 1)
}

/// The day of a date; of these years, dates are in the order of their texts.
fn day_of(text: &str) -> Option<i64> {
    let (mut first, mut end) = (0, END);
    while first < end {
        let middle = (first + end) / 2;
        if date_of(middle).as_str() < text { first = middle + 1 } else { end = middle }
    }
    (first < END && date_of(first) == text).then_some(first)
}

/// A day as `2026-11-22`.
pub fn date_of(day: i64) -> String {
    // 1970-01-01 is 719,468 days after 0000-03-01: years begin in March, so that the leap day
    // is their last.
    let since = day + 719_468;
    let era = since.div_euclid(146_097);
    let of_era = since.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let date = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        // 1,793,491,200 seconds are 2026-11-01T00:00:00Z: 20,758 days.
        for (date, day) in [
            ("1970-01-01", 0),
            ("1970-03-01", 59),
            ("2000-02-29", 11_016),
            ("2024-02-29", 19_782),
            ("2026-11-01", 20_758),
            ("2199-12-31", 84_005),
        ] {
            assert_eq!(day_of(date), Some(day));
            assert_eq!(date_of(day), date);
        }
        for day in 0..END {
            assert_eq!(day_of(&date_of(day)), Some(day));
        }
    }

    #[test]
    fn what_is_no_day_is_none() {
        for text in [
            "", "2026", "2026-11", "2026-11-31", "2025-02-29", "2026-13-01", "2026-11-1",
            "+026-11-01", "1969-12-31", "2026-11-01-", "2026-11-01T00:00",
        ] {
            assert_eq!(day_of(text), None, "{text}");
        }
        assert_eq!(days_of("2026-11-01..2026-11-03"), Some(20_758..20_761));
        assert_eq!(days_of("2026-11-01"), Some(20_758..20_759));
        assert_eq!(days_of("2026-11-03..2026-11-01"), None);
    }
}
