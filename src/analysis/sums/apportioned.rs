//! Whole cents by weights.

use rust_decimal::{Decimal, RoundingStrategy};
use std::cmp::Reverse;

/// Divides whole cents by weights whose sum is positive. Each part is rounded down, and
/// the cents that are left go to the parts that lost most by that, earlier ones first.
pub(super) fn apportioned(total: Decimal, weights: &[Decimal]) -> Vec<Decimal> {
    let cent = Decimal::new(1, 2);
    let sum: Decimal = weights.iter().sum();
    let parts: Vec<(Decimal, Decimal)> = weights
        .iter()
        .map(|weight| {
            let exact = total * weight.checked_div(sum).unwrap_or_default();
            let cents = exact.round_dp_with_strategy(2, RoundingStrategy::ToZero);
            (cents, exact - cents)
        })
        .collect();
    let mut amounts: Vec<Decimal> = parts.iter().map(|(cents, _)| *cents).collect();
    let mut places: Vec<usize> = (0..parts.len()).collect();
    places.sort_by_key(|place| Reverse(parts[*place].1));
    let mut left = total - amounts.iter().sum::<Decimal>();
    for place in places {
        if left < cent {
            break;
        }
        amounts[place] += cent;
        left -= cent;
    }
    amounts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimals(texts: &[&str]) -> Vec<Decimal> {
        let read = |text: &&str| text.parse().expect("a decimal");
        texts.iter().map(read).collect()
    }

    #[test]
    fn cents_go_to_the_largest_remainders() {
        for (total, weights, parts) in [
            // 3.333… each: all lose alike, so the first gets the cent.
            ("10.00", &["1", "1", "1"][..], &["3.34", "3.33", "3.33"][..]),
            // 0.14, 0.29 and 0.57 cents: the last one loses most.
            ("0.01", &["1", "2", "4"], &["0.00", "0.00", "0.01"]),
            // 42.857…, 14.285… and 42.857…: 0.7, 0.6 and 0.7 cents are lost.
            ("100.00", &["3", "1", "3"], &["42.86", "14.28", "42.86"]),
            ("734.38", &["0.25"], &["734.38"]),
            ("0.00", &["1", "2"], &["0.00", "0.00"]),
            ("5.00", &["0", "0.5"], &["0.00", "5.00"]),
        ] {
            let amounts = apportioned(total.parse().expect("a decimal"), &decimals(weights));
            assert_eq!(amounts, decimals(parts), "{total} by {weights:?}");
        }
    }
}
