//! Figures inside sentences, and the lines that several planners print.

use crate::domain::{HourlyRate, Money, separated};
use crate::report::answer::{Figure, Given, Step};

pub(super) const MIB_OF_GIB: f64 = 1024.0;

/// Gibibytes of bytes.
pub(super) fn gib(bytes: f64) -> f64 {
    bytes / (MIB_OF_GIB * MIB_OF_GIB * MIB_OF_GIB)
}

/// A figure of zero or more with separators and so many decimals.
pub(super) fn decimal(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((whole, rest)) => format!("{}.{rest}", separated(whole)),
        None => separated(&text),
    }
}

/// A number of parameters as models are named, such as `70b`.
pub(super) fn parameters(count: u64) -> String {
    let units = [(1e12, "t"), (1e9, "b"), (1e6, "m")];
    let value = count as f64;
    let (unit, name) = units
        .into_iter()
        .find(|(unit, _)| value >= *unit)
        .unwrap_or((1e6, "m"));
    let text = format!("{:.2}", value / unit);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{name}")
}

/// What an hour costs.
pub(super) fn an_hour(rate: HourlyRate) -> Money {
    Money::new(rate.amount(), rate.currency())
}

/// One thing that figures rest on.
pub(super) fn basis(key: &'static str, name: &'static str, value: Figure, source: &str) -> Given {
    Given {
        key,
        name,
        value,
        source: source.to_owned(),
    }
}

/// One line of arithmetic.
pub(super) fn step(name: &str, arithmetic: String, result: Figure) -> Step {
    Step {
        name: name.to_owned(),
        arithmetic,
        result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_in_prose() {
        assert_eq!(decimal(1_234_567.891, 1), "1,234,567.9");
        assert_eq!(decimal(999.6, 0), "1,000");
        assert_eq!(parameters(70_000_000_000), "70b");
        assert_eq!(parameters(6_738_415_616), "6.74b");
        assert_eq!(parameters(1_500_000_000_000), "1.5t");
        assert_eq!(parameters(125_000_000), "125m");
    }
}
