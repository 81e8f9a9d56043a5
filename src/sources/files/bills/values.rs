//! Numbers and times as bills write them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use rust_decimal::Decimal;

/// Larger numbers are no amounts of a line: 10^10.
const MOST: Decimal = Decimal::from_parts(0x540B_E400, 2, 0, false, 0);
/// Decimals that are kept. Sums below 79 billion are exact with them.
const DECIMALS: u32 = 18;

/// A number as text, plain or scientific; `None` for what is none, or is larger than 10^10.
pub(super) fn number(text: &str) -> Option<Decimal> {
    if text.contains('_') {
        return None;
    }
    if text.contains(['e', 'E']) {
        return of_double(text.parse().ok()?);
    }
    within(text.parse().ok()?)
}

/// A double by its shortest decimal text, which is what was meant by it: 0.1 and not
/// 0.1000000000000000055. `None` for what is not finite, or is larger than 10^10.
pub(super) fn of_double(value: f64) -> Option<Decimal> {
    within(value.to_string().parse().ok()?)
}

pub(super) fn within(number: Decimal) -> Option<Decimal> {
    (number.abs() <= MOST).then(|| number.round_dp(DECIMALS).normalize())
}

/// A time with its zone, or in UTC without one; a date is its midnight.
pub(super) fn instant(text: &str) -> Option<Timestamp> {
    let text = text.strip_suffix(" UTC").unwrap_or(text);
    if let Ok(at) = text.parse() {
        return Some(at);
    }
    let midnight = |date: Date| date.at(0, 0, 0, 0);
    let local: DateTime = match text.parse() {
        Ok(local) => local,
        Err(_) => midnight(text.parse().ok()?),
    };
    Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(text: &str) -> Option<String> {
        number(text).map(|number| number.to_string())
    }

    #[test]
    fn numbers_are_what_their_text_says() {
        for (text, value) in [
            ("0.00000080000", "0.0000008"),
            ("10.203682944", "10.203682944"),
            ("-32.773", "-32.773"),
            ("1.2E-7", "0.00000012"),
            ("3e2", "300"),
            ("0", "0"),
            ("10000000000", "10000000000"),
            // 19 decimals become 18, half to even.
            ("0.0011832124335427654", "0.001183212433542765"),
            ("1e-300", "0"),
        ] {
            assert_eq!(exact(text).as_deref(), Some(value), "{text}");
        }
        for text in ["", "NaN", "inf", "1e11", "10000000001", "1_000", "1,000", "east"] {
            assert_eq!(exact(text), None, "{text}");
        }
    }

    #[test]
    fn a_double_is_its_shortest_text() {
        let exact = |value: f64| of_double(value).map(|number| number.to_string());
        assert_eq!(exact(0.1).as_deref(), Some("0.1"));
        // The sum of the doubles is 0.30000000000000004.
        let sum = of_double(0.1).zip(of_double(0.2)).map(|(a, b)| a + b);
        assert_eq!(sum.map(|sum| sum.to_string()).as_deref(), Some("0.3"));
        assert_eq!(exact(-32.7726).as_deref(), Some("-32.7726"));
        assert_eq!(exact(f64::NAN), None);
        assert_eq!(exact(1e300), None);
    }

    #[test]
    fn times_are_read_as_exports_write_them() {
        let at = |text: &str| instant(text).map(|at| at.to_string());
        let hour = Some("2024-09-18T23:00:00Z".to_owned());
        for text in [
            "2024-09-18T23:00:00Z", "2024-09-18 23:00:00", "2024-09-18 23:00:00+00:00",
            "2024-09-18 23:00:00 UTC", "2024-09-19T01:00:00+02:00", "2024-09-18T23:00:00.000Z",
        ] {
            assert_eq!(at(text), hour, "{text}");
        }
        assert_eq!(at("2024-09-18").as_deref(), Some("2024-09-18T00:00:00Z"));
        for text in ["", "NULL", "2023-02-01T30:00:00Z", "yesterday"] {
            assert_eq!(at(text), None, "{text}");
        }
    }
}
