//! Amounts in whole cents that add up.

use rust_decimal::{Decimal, RoundingStrategy};
use std::cmp::Reverse;

/// An amount in whole cents, half away from zero.
pub(super) fn cents(amount: Decimal) -> Decimal {
    amount.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero)
}

/// Parts in whole cents that add up to whole cents: each is rounded down, and the cents that
/// are left go to the parts that lost most by that, earlier ones first. The exact parts add
/// up to the total but for a cent.
pub(super) fn in_cents(parts: &[Decimal], total: Decimal) -> Vec<Decimal> {
    let cent = Decimal::new(1, 2);
    let down =
        |part: &Decimal| part.round_dp_with_strategy(2, RoundingStrategy::ToNegativeInfinity);
    let mut shown: Vec<Decimal> = parts.iter().map(down).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|place| {
        Reverse(parts.get(*place).zip(shown.get(*place)).map(|(exact, down)| exact - down))
    });
    let mut left = total - shown.iter().sum::<Decimal>();
    // Where the total is a cent below the parts, the one that lost least gives it.
    if left < Decimal::ZERO
        && let Some(amount) = order.last().and_then(|place| shown.get_mut(*place))
    {
        *amount += left;
        left = Decimal::ZERO;
    }
    for place in order {
        if left >= cent
            && let Some(amount) = shown.get_mut(place)
        {
            *amount += cent;
            left -= cent;
        }
    }
    if let Some(first) = shown.first_mut() {
        *first += left;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimals(texts: &[&str]) -> Vec<Decimal> {
        texts.iter().map(|text| text.parse().expect("a decimal")).collect()
    }

    #[test]
    fn cents_go_to_what_lost_most() {
        for (parts, total, expected) in [
            // Down these are -0.50, -8.79 and 0.33, which is 2 cents short.
            (["-0.4999", "-8.783", "0.336"], "-8.94", ["-0.50", "-8.78", "0.34"]),
            (["0.001", "0.001", "0.001"], "0.01", ["0.01", "0", "0"]),
            (["0.009", "0.001", "0"], "-0.01", ["0", "0", "-0.01"]),
            (["1", "2", "3"], "6", ["1", "2", "3"]),
        ] {
            let rounded = in_cents(&decimals(&parts), decimals(&[total])[0]);
            assert_eq!(rounded, decimals(&expected), "{parts:?}");
        }
        assert!(in_cents(&[], Decimal::ZERO).is_empty());
    }

    proptest! {
        #[test]
        fn parts_add_up(parts in prop::collection::vec(-1_000_000_i64..1_000_000, 1..9)) {
            let parts: Vec<Decimal> = parts.into_iter().map(|part| Decimal::new(part, 4)).collect();
            let total = cents(parts.iter().sum());
            let shown = in_cents(&parts, total);
            prop_assert_eq!(shown.iter().sum::<Decimal>(), total);
            for (exact, shown) in parts.iter().zip(&shown) {
                prop_assert!((exact - shown).abs() < Decimal::new(2, 2));
            }
        }
    }
}
