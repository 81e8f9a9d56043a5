//! Figures in sentences: rounded so that what is said stays true.

use std::fmt::Display;

/// Most decimals that a sentence shows.
const MOST_DECIMALS: usize = 6;

/// The fewest decimals, one at least, with which two figures read in the order
/// in which they stand: 24.96 and 25 take two, because 25.0 is not below 25.
pub fn decimals_apart(left: f64, right: f64) -> usize {
    (1..MOST_DECIMALS)
        .find(|decimals| {
            shown(left, *decimals).partial_cmp(&shown(right, *decimals)) == left.partial_cmp(&right)
        })
        .unwrap_or(MOST_DECIMALS)
}

/// The figure that a reader sees.
fn shown(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// A unit as it follows a number: a percent sign has no blank before it.
pub fn after_number(unit: &str) -> String {
    if unit.is_empty() || unit.starts_with('%') { unit.to_owned() } else { format!(" {unit}") }
}

/// A number as it is shown, with separators where it is whole, and its noun, in the plural
/// unless the number reads `1`.
pub fn counted(number: impl Display, singular: &str, plural: &str) -> String {
    let number = number.to_string();
    let noun = if number == "1" { singular } else { plural };
    let is_whole = number.bytes().all(|digit| digit.is_ascii_digit());
    let number = if is_whole { separated(&number) } else { number };
    format!("{number} {noun}")
}

/// A name after `a` or `an`. Capitals and digits at its beginning are read letter by letter: an
/// L40S, a T4.
pub fn with_article(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().unwrap_or_default();
    let is_spelled = !letters.next().is_some_and(|second| second.is_lowercase());
    let vowels = if is_spelled { "AEFHILMNORSX8" } else { "AEIOUaeiou" };
    let article = if vowels.contains(first) { "an" } else { "a" };
    format!("{article} {name}")
}

/// Names that a sentence lists before the rest is counted.
const MOST_NAMED: usize = 20;

/// Names, the first of many.
pub fn first_names(names: &[impl Display]) -> String {
    let shown: Vec<String> = names.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(MOST_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The digits of a whole number with thousands separators.
pub fn separated(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A percentage with so many decimals, never rounded up: what is not complete
/// must not read as 100%.
pub fn floored(percent: f64, decimals: usize) -> String {
    let scale = 10_f64.powi(i32::try_from(decimals).unwrap_or(0));
    // 0.29 × 100 is a hair below 29.
    let floored = (percent * scale + 1e-6).floor() / scale;
    format!("{floored:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_separators_and_names_their_article() {
        assert_eq!(counted(4_296, "GiB", "GiB"), "4,296 GiB");
        assert_eq!(counted("1.5", "GPU", "GPUs"), "1.5 GPUs");
        assert_eq!(counted(1, "GPU", "GPUs"), "1 GPU");
        for (name, expected) in [
            ("L40S", "an L40S"),
            ("T4", "a T4"),
            ("A100", "an A100"),
            ("V100", "a V100"),
            ("Gaudi", "a Gaudi"),
            ("Inferentia2", "an Inferentia2"),
            ("RTX PRO 6000", "an RTX PRO 6000"),
        ] {
            assert_eq!(with_article(name), expected);
        }
    }

    #[test]
    fn only_one_takes_the_singular() {
        let days = |number: f64| counted(format!("{number:.0}"), "day", "days");
        assert_eq!([0.0, 0.9, 1.4, 2.0].map(days), ["0 days", "1 day", "1 day", "2 days"]);
        let half: rust_decimal::Decimal = "1.5".parse().expect("a decimal");
        assert_eq!(counted(half, "GPU", "GPUs"), "1.5 GPUs");
        assert_eq!(counted("1,234", "GPU", "GPUs"), "1,234 GPUs");
    }

    #[test]
    fn as_many_decimals_as_a_comparison_takes() {
        assert_eq!(decimals_apart(24.94, 25.0), 1);
        assert_eq!(decimals_apart(24.96, 25.0), 2);
        assert_eq!(decimals_apart(24.996, 25.0), 3);
        assert_eq!(decimals_apart(25.0, 25.0), 1);
        assert_eq!(decimals_apart(63.04, 62.98), 2);
    }

    #[test]
    fn percentages_are_floored() {
        assert_eq!(floored(99.65, 0), "99");
        assert_eq!(floored(99.99, 1), "99.9");
        assert_eq!(floored(100.0, 0), "100");
        assert_eq!(floored(0.29 * 100.0, 0), "29");
    }
}
