//! Flags that planners share, and rates and times as they are typed.

use super::args::{DocFormat, OutputArgs, positive};
use super::flags;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// The lowest rate that is evaluated, per second: one in eleven days.
const LEAST_PER_SECOND: Decimal = Decimal::from_parts(1, 0, 0, false, 6);
/// Units of time, and how many seconds they have. The first that ends a text is meant.
const UNITS: [(&str, f64); 4] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3_600.0)];

flags! {
    /// Where prices come from without an account.
    pub(super) struct CatalogArgs {
        /// Operating system
        os: String = arg(long, value_name = "OS", default_value = "linux");
        answer: AnswerArgs = command(flatten);
    }

    /// How old prices may be, and how the answer is printed.
    pub(super) struct AnswerArgs {
        /// Use bundled prices only
        offline: bool = arg(long);
        /// Fail if any price is older than this, such as 90d
        max_price_age: Option<String> = arg(long, value_name = "TIME");
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
        out: OutputArgs = command(flatten);
    }
}

/// Flags of an estate, which conflict with those that stand in for it.
pub(super) fn estate_flags() -> impl Iterator<Item = &'static str> {
    "demo from from_kubectl prometheus_url history save commitments redact tag exclude_tag as_of \
     lookback strict allow_empty profile_data rollups"
        .split(' ')
}

/// A rate per second, minute or hour, as one per second. Without a unit it is per second.
pub(super) fn exact_rate(text: &str) -> Result<Decimal, String> {
    let expected = || {
        "expected a rate above zero, at most 1000000000 per second, such as 2/s, 120/min or 7200/h"
            .to_owned()
    };
    let (number, unit) = text.split_once('/').unwrap_or((text, "s"));
    let seconds = match unit.trim() {
        "s" => 1,
        "min" => 60,
        "h" => 3_600,
        _ => return Err(expected()),
    };
    let number = positive(number.trim()).map_err(|_| expected())?;
    let rate = number / Decimal::from(seconds);
    if rate < LEAST_PER_SECOND {
        return Err(expected());
    }
    Ok(rate)
}

/// The same for arithmetic with measurements.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    let exact = exact_rate(text)?;
    exact.to_f64().ok_or_else(|| format!("{exact} per second is out of range"))
}

/// A length of time such as `20ms`, `1.5s`, `2m` or `1h`, in seconds; it may be negative or
/// not finite.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let mut units = UNITS.iter();
    let (number, unit) = units.find_map(|(name, unit)| Some((text.strip_suffix(*name)?, unit)))?;
    let number: f64 = number.trim().parse().ok()?;
    Some(number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_per_second() {
        for text in ["2/s", "2", "120/min", "7200/h", " 2 / s "] {
            assert_eq!(exact_rate(text), Ok(Decimal::TWO), "{text}");
            assert_eq!(rate(text), Ok(2.0), "{text}");
        }
        assert_eq!(rate("0.5"), Ok(0.5));
        assert_eq!(rate("1000000000"), Ok(1e9));
        for bad in [
            "", "0", "0/s", "-1", "-1/s", "2/day", "2/s/s", "NaN", "inf", "1e10", "1000000001",
            "0.003/h", "many",
        ] {
            assert!(exact_rate(bad).is_err(), "{bad}");
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_have_a_unit() {
        assert_eq!(seconds("1.5s"), Some(1.5));
        assert_eq!(seconds("2m"), Some(120.0));
        assert_eq!(seconds("1h"), Some(3_600.0));
        assert!(seconds("250ms").is_some_and(|seconds| (seconds - 0.25).abs() < 1e-12));
        for bad in ["", "2", "ms", "s", "soon", "1e9"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }
}
