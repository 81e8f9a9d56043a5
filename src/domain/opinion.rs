//! What AWS itself advises, to be shown beside the own advice. No verdict and no figure rests
//! on it.

use super::{Currency, Money, ResourceId};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// A recommendation of AWS's Cost Optimization Hub about an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsOpinion {
    pub instance: ResourceId,
    /// In AWS's words, such as `Rightsize`.
    pub action: String,
    /// What to, such as `g5.xlarge`; absent where nothing takes its place.
    pub to: Option<String>,
    /// As AWS estimates it; absent where it gave none in a known currency.
    pub monthly_savings: Option<Money>,
}

/// The largest estimate that is one, so that no sum overflows.
const MOST_SAVINGS: Decimal = Decimal::from_parts(1_000_000_000, 0, 0, false, 0);

impl AwsOpinion {
    /// An estimate in whole cents; absent beyond anything that an instance costs.
    pub fn estimate(amount: Decimal, currency: Currency) -> Option<Money> {
        let estimate = Money::new(amount, currency).rounded();
        (amount.abs() <= MOST_SAVINGS).then_some(estimate)
    }

    /// What opinions are sorted by.
    pub fn key(&self) -> (&ResourceId, &str, Option<&str>) {
        (&self.instance, &self.action, self.to.as_deref())
    }
}

/// Opinions about some of so many instances in words, each kind once, such as `Rightsize to
/// g5.xlarge (2 of 3)`; absent without any.
pub(super) fn in_words(all: &[AwsOpinion], instances: usize) -> Option<String> {
    let mut kinds: BTreeMap<(&str, Option<&str>), usize> = BTreeMap::new();
    for one in all {
        *kinds.entry((&one.action, one.to.as_deref())).or_default() += 1;
    }
    let words = kinds.into_iter().map(|((action, to), count)| {
        let to = to.map_or(String::new(), |to| format!(" to {to}"));
        if count == instances {
            format!("{action}{to}")
        } else {
            format!("{action}{to} ({count} of {instances})")
        }
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// What AWS estimates that all of it saves; absent unless each has an estimate, in one
/// currency.
pub(super) fn savings(all: &[AwsOpinion]) -> Option<Money> {
    let estimates: Option<Vec<Money>> = all.iter().map(|one| one.monthly_savings).collect();
    let mut estimates = estimates?.into_iter();
    let first = estimates.next()?;
    estimates.try_fold(first, |sum, next| sum.checked_add(next).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opinion(id: &str, action: &str, to: Option<&str>, cents: Option<i64>) -> AwsOpinion {
        AwsOpinion {
            instance: ResourceId::named(id),
            action: action.to_owned(),
            to: to.map(str::to_owned),
            monthly_savings: cents.map(|cents| Money::new(Decimal::new(cents, 2), Currency::Usd)),
        }
    }

    #[test]
    fn kinds_are_named_once_with_their_number() {
        let all = [
            opinion("i-1", "Rightsize", Some("g5.xlarge"), Some(10_050)),
            opinion("i-2", "Rightsize", Some("g5.xlarge"), Some(10_050)),
            opinion("i-3", "Stop", None, Some(73_438)),
        ];
        let words = in_words(&all, 3);
        let expected = "Rightsize to g5.xlarge (2 of 3); Stop (1 of 3)";
        assert_eq!(words.as_deref(), Some(expected));
        assert_eq!(in_words(&all[2..], 1).as_deref(), Some("Stop"));
        assert_eq!(in_words(&[], 3), None);
        // 100.50 × 2 + 734.38
        let sum = savings(&all).map(Money::amount);
        assert_eq!(sum, Some(Decimal::new(93_538, 2)));
        assert_eq!(savings(&[]), None);
        assert_eq!(savings(&[opinion("i-1", "Stop", None, None)]), None);
        assert_eq!(AwsOpinion::estimate(Decimal::MAX, Currency::Usd), None);
    }
}
