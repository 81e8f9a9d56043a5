//! Parts of an amount in whole cents that add up.

use rust_decimal::{Decimal, RoundingStrategy};

/// An amount in whole cents, half a cent away from zero.
pub(super) fn cents(amount: Decimal) -> Decimal {
    amount.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero)
}

/// Rounds parts to cents so that they add up to a total that is in cents: what rounding
/// leaves goes to the largest part, of equals to the first.
pub(super) fn add_up(parts: &mut [Decimal], total: Decimal) {
    for part in parts.iter_mut() {
        *part = cents(*part);
    }
    let left = total - parts.iter().sum::<Decimal>();
    if let Some(place) = (0..parts.len()).rev().max_by_key(|place| parts[*place].abs()) {
        parts[place] += left;
    }
}

/// `amount × part / whole`; `None` of nothing, and where the figures are beyond exact
/// decimals.
pub(super) fn share(amount: Decimal, part: Decimal, whole: Decimal) -> Option<Decimal> {
    match amount.checked_mul(part) {
        Some(product) => product.checked_div(whole),
        None => amount.checked_div(whole)?.checked_mul(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().expect("a decimal")
    }

    #[test]
    fn the_largest_part_takes_what_rounding_leaves() {
        // Thirds of a dollar are 0.33 each, and the first takes the cent.
        let third = Decimal::ONE / Decimal::from(3);
        let mut parts = [third; 3];
        add_up(&mut parts, Decimal::ONE);
        assert_eq!(parts, ["0.34", "0.33", "0.33"].map(decimal));
        let mut parts = ["-7.004", "0.004", "0.004"].map(decimal);
        add_up(&mut parts, decimal("-7.00"));
        assert_eq!(parts, ["-7.00", "0.00", "0.00"].map(decimal));
        add_up(&mut [], Decimal::ZERO);
    }

    #[test]
    fn a_share_of_nothing_is_unknown_and_a_large_one_is_not() {
        assert_eq!(share(Decimal::ONE, Decimal::ONE, Decimal::ZERO), None);
        // The product has 31 digits; the quotient first has not.
        let large = decimal("10000000000000000");
        assert_eq!(share(large, large, large), Some(large));
        assert_eq!(share(Decimal::MAX, Decimal::TEN, Decimal::ONE), None);
    }

    proptest! {
        #[test]
        fn parts_add_up_whatever_they_are(
            millis in proptest::collection::vec(-1_000_000_i64..1_000_000, 1..9),
        ) {
            let mut parts: Vec<Decimal> =
                millis.iter().map(|milli| Decimal::new(*milli, 4)).collect();
            let exact: Decimal = parts.iter().sum();
            add_up(&mut parts, cents(exact));
            prop_assert_eq!(parts.iter().sum::<Decimal>(), cents(exact));
            let moved = parts.iter().zip(&millis);
            for (part, milli) in moved {
                // Half a cent of its own, and at most half a cent of each of the others.
                let most = Decimal::new(5 * (millis.len() as i64 + 2), 3);
                prop_assert!((*part - Decimal::new(*milli, 4)).abs() <= most);
            }
        }
    }
}
