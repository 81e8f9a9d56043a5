//! What AWS itself advises, to be shown beside the own advice. No verdict and no figure rests
//! on it.

use super::{Currency, Instance, Money, Provider, ResourceId};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// A recommendation of AWS's Cost Optimization Hub about an instance, or about an Auto Scaling
/// group as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsOpinion {
    /// The instance, or the members of the group, ascending; never empty.
    pub instances: Vec<ResourceId>,
    /// In AWS's words, such as `Rightsize`.
    pub action: String,
    /// What to, such as `g5.xlarge`; absent where nothing takes its place.
    pub to: Option<String>,
    /// As AWS estimates it, for all of them; absent where it gave none in a known currency.
    pub monthly_savings: Option<Money>,
}

/// What a recommendation is about, as AWS names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdvisedResource {
    Instance(ResourceId),
    AutoScalingGroup { account: String, region: String, name: String },
}

/// A recommendation before it is known which instances it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsAdvice {
    pub about: AdvisedResource,
    pub action: String,
    pub to: Option<String>,
    pub monthly_savings: Option<Money>,
}

/// The largest estimate that is one, so that no sum overflows.
const MOST_SAVINGS: Decimal = Decimal::from_parts(1_000_000_000, 0, 0, false, 0);

impl AwsOpinion {
    /// Advice about some instances, which are in order of id, each once: an account of an
    /// organization may see that of another. What is about none of them is left out.
    pub fn all_of(instances: &[Instance], advice: Vec<AwsAdvice>) -> Vec<Self> {
        let mut groups: BTreeMap<(&str, &str, &str), Vec<ResourceId>> = BTreeMap::new();
        let of_aws = instances.iter();
        for instance in of_aws.filter(|instance| instance.id.provider() == Provider::Aws) {
            if let Some(group) = &instance.auto_scaling_group {
                let key = (instance.account.as_str(), instance.region.as_str(), group.as_str());
                groups.entry(key).or_default().push(instance.id.clone());
            }
        }
        let members = |about: AdvisedResource| match about {
            AdvisedResource::Instance(id) => {
                instances.binary_search_by(|instance| instance.id.cmp(&id)).ok().map(|_| vec![id])
            }
            AdvisedResource::AutoScalingGroup { account, region, name } => {
                let key = (account.as_str(), region.as_str(), name.as_str());
                groups.get(&key).cloned()
            }
        };
        let opinions = advice.into_iter().filter_map(|advised| {
            Some(Self {
                instances: members(advised.about)?,
                action: advised.action,
                to: advised.to,
                monthly_savings: advised.monthly_savings,
            })
        });
        let mut opinions: Vec<Self> = opinions.collect();
        // Of the same advice that two accounts see, the larger estimate is first.
        opinions.sort_by(|left, right| {
            let estimates = right.estimated().cmp(&left.estimated());
            left.key().cmp(&right.key()).then(estimates)
        });
        opinions.dedup_by(|later, first| later.key() == first.key());
        opinions
    }

    /// One opinion about each instance, the one with the largest estimate: several about an
    /// instance are about the same dollars. What is about a group is left for the members that
    /// no larger one is about.
    pub fn one_each(mut opinions: Vec<Self>) -> Vec<Self> {
        opinions.sort_by(|left, right| {
            right.estimated().cmp(&left.estimated()).then_with(|| left.key().cmp(&right.key()))
        });
        let mut known: BTreeSet<ResourceId> = BTreeSet::new();
        let mut kept: Vec<Self> = Vec::new();
        for opinion in opinions {
            let Some(opinion) = opinion.keeping(|id| !known.contains(id)) else { continue };
            known.extend(opinion.instances.iter().cloned());
            kept.push(opinion);
        }
        kept.sort_by(|left, right| left.key().cmp(&right.key()));
        kept
    }

    fn estimated(&self) -> Option<Decimal> {
        self.monthly_savings.map(Money::amount)
    }

    /// An estimate in whole cents; absent beyond anything that an instance costs.
    pub fn estimate(amount: Decimal, currency: Currency) -> Option<Money> {
        let estimate = Money::new(amount, currency).rounded();
        (amount.abs() <= MOST_SAVINGS).then_some(estimate)
    }

    /// What opinions are sorted by.
    pub fn key(&self) -> (&[ResourceId], &str, Option<&str>) {
        (&self.instances, &self.action, self.to.as_deref())
    }

    pub fn is_about(&self, instance: &ResourceId) -> bool {
        self.instances.binary_search(instance).is_ok()
    }

    /// The same without some instances; absent where none is left. What AWS estimates is for
    /// all of them.
    #[must_use]
    pub fn keeping(mut self, is_kept: impl Fn(&ResourceId) -> bool) -> Option<Self> {
        let before = self.instances.len();
        self.instances.retain(is_kept);
        if self.instances.len() < before {
            self.monthly_savings = None;
        }
        (!self.instances.is_empty()).then_some(self)
    }
}

/// Opinions about some instances in words, each kind once, such as `Rightsize to g5.xlarge (2
/// of 3)`; absent without any.
pub(super) fn in_words(opinions: &[AwsOpinion], instances: &[ResourceId]) -> Option<String> {
    let mut kinds: BTreeMap<(&str, Option<&str>), BTreeSet<&ResourceId>> = BTreeMap::new();
    for opinion in opinions {
        let own = instances.iter().filter(|id| opinion.is_about(id));
        kinds.entry((&opinion.action, opinion.to.as_deref())).or_default().extend(own);
    }
    let words = kinds.into_iter().map(|((action, to), own)| {
        let to = to.map_or(String::new(), |to| format!(" to {to}"));
        if own.len() == instances.len() {
            format!("{action}{to}")
        } else {
            format!("{action}{to} ({} of {})", own.len(), instances.len())
        }
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// What AWS estimates that all of it saves; absent unless each has an estimate, in one
/// currency, and is about some of these instances alone.
pub(super) fn savings(opinions: &[AwsOpinion], instances: &[ResourceId]) -> Option<Money> {
    let is_own = |id: &ResourceId| instances.binary_search(id).is_ok();
    let estimates: Option<Vec<Money>> = opinions
        .iter()
        .map(|opinion| opinion.monthly_savings.filter(|_| opinion.instances.iter().all(is_own)))
        .collect();
    let mut estimates = estimates?.into_iter();
    let first = estimates.next()?;
    estimates.try_fold(first, |sum, next| sum.checked_add(next).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> Vec<ResourceId> {
        names.iter().map(|name| ResourceId::named(*name)).collect()
    }

    fn opinion(about: &[&str], action: &str, to: Option<&str>, cents: Option<i64>) -> AwsOpinion {
        AwsOpinion {
            instances: ids(about),
            action: action.to_owned(),
            to: to.map(str::to_owned),
            monthly_savings: cents.map(|cents| Money::new(Decimal::new(cents, 2), Currency::Usd)),
        }
    }

    #[test]
    fn kinds_are_named_once_with_their_number() {
        let three = ids(&["i-1", "i-2", "i-3"]);
        let opinions = [
            opinion(&["i-1"], "Rightsize", Some("g5.xlarge"), Some(10_050)),
            opinion(&["i-2"], "Rightsize", Some("g5.xlarge"), Some(10_050)),
            opinion(&["i-3"], "Stop", None, Some(73_438)),
        ];
        let words = in_words(&opinions, &three);
        let expected = "Rightsize to g5.xlarge (2 of 3); Stop (1 of 3)";
        assert_eq!(words.as_deref(), Some(expected));
        let words = in_words(&opinions[2..], &three[2..]);
        assert_eq!(words.as_deref(), Some("Stop"));
        assert_eq!(in_words(&[], &three), None);
        // 100.50 × 2 + 734.38
        let sum = savings(&opinions, &three).map(Money::amount);
        assert_eq!(sum, Some(Decimal::new(93_538, 2)));
        assert_eq!(savings(&[], &three), None);
        let unknown = opinion(&["i-1"], "Stop", None, None);
        assert_eq!(savings(&[unknown], &three), None);
        assert_eq!(AwsOpinion::estimate(Decimal::MAX, Currency::Usd), None);
    }

    #[test]
    fn of_several_opinions_about_an_instance_the_largest_counts() {
        let two = ids(&["i-1", "i-2"]);
        let opinions = vec![
            opinion(&["i-1"], "Rightsize", Some("g5.xlarge"), Some(41_199)),
            opinion(&["i-1"], "Stop", None, Some(73_438)),
            opinion(&["i-2"], "Delete", None, None),
            opinion(&["i-2"], "Rightsize", Some("g5.xlarge"), Some(10_050)),
        ];
        let kept = AwsOpinion::one_each(opinions.clone());
        assert_eq!(kept, [opinions[1].clone(), opinions[3].clone()]);
        // 734.38 + 100.50
        let sum = savings(&kept, &two).map(Money::amount);
        assert_eq!(sum, Some(Decimal::new(83_488, 2)));

        // The group is left with its other member, of which alone nothing is estimated.
        let group = opinion(&["i-1", "i-2"], "Rightsize", None, Some(30_000));
        let kept = AwsOpinion::one_each(vec![group.clone(), opinions[1].clone()]);
        let rest = opinion(&["i-2"], "Rightsize", None, None);
        assert_eq!(kept, [opinions[1].clone(), rest]);
        let kept = AwsOpinion::one_each(vec![group.clone(), opinions[3].clone()]);
        assert_eq!(kept, [group]);
    }

    #[test]
    fn of_what_two_accounts_see_the_larger_estimate_is_kept() {
        let instances = [Instance::sample("i-1", "g5.xlarge", jiff::Timestamp::UNIX_EPOCH)];
        let seen = |cents: Option<i64>| AwsAdvice {
            about: AdvisedResource::Instance(ResourceId::named("i-1")),
            action: "Stop".to_owned(),
            to: None,
            monthly_savings: cents.map(|cents| Money::new(Decimal::new(cents, 2), Currency::Usd)),
        };
        let advice = vec![seen(None), seen(Some(5_000)), seen(Some(73_438))];
        let opinions = AwsOpinion::all_of(&instances, advice);
        assert_eq!(opinions, [opinion(&["i-1"], "Stop", None, Some(73_438))]);
    }

    #[test]
    fn an_opinion_about_a_group_is_one() {
        let group = [opinion(&["i-1", "i-2", "i-3"], "Rightsize", None, Some(30_000))];
        let three = ids(&["i-1", "i-2", "i-3"]);
        assert_eq!(in_words(&group, &three).as_deref(), Some("Rightsize"));
        let sum = savings(&group, &three).map(Money::amount);
        assert_eq!(sum, Some(Decimal::new(30_000, 2)));
        // Of another type or purchase option are two of its members, and one instance more.
        let others = ids(&["i-2", "i-3", "i-9"]);
        let words = in_words(&group, &others);
        assert_eq!(words.as_deref(), Some("Rightsize (2 of 3)"));
        assert_eq!(savings(&group, &others), None);
        let [group] = group;
        let kept = group.clone().keeping(|id| id.as_str() != "i-2");
        let rest = opinion(&["i-1", "i-3"], "Rightsize", None, None);
        assert_eq!(kept, Some(rest));
        assert_eq!(group.clone().keeping(|_| true), Some(group.clone()));
        assert_eq!(group.keeping(|_| false), None);
    }
}
