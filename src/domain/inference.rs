//! Inference components of SageMaker: models that share the instances of an endpoint. Each
//! copy of one reserves GPUs, which no other component can use.

use super::wire::{Amount, Maybe, Parts};
use super::{Instance, Provider};
use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Copies of a component on instances of one type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `count` and `gpus_each`")]
pub struct Copies {
    /// Such as `ml.g5.12xlarge-hosting`; absent where all instances are of one type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    pub count: u32,
    /// GPUs that each copy reserves, up to 1,000: zero for one on CPUs; absent if unknown, as for a
    /// part of a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Amount>")]
    pub gpus_each: Option<Decimal>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an inference component with `name` and `copies`")]
pub struct InferenceComponent {
    /// Unique in its account and region.
    pub name: String,
    /// Desired copies; others are being started or ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_copies: Option<u32>,
    /// Current copies.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<Copies>")]
    pub copies: Vec<Copies>,
}

/// A variant of a `SageMaker` endpoint whose instances have no model of their own: inference
/// components are placed on them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `group` and `components`")]
pub struct ComponentHost {
    pub account: String,
    pub region: String,
    /// The `auto_scaling_group` of its instances, such as `endpoint/chat/main`.
    pub group: String,
    /// In order of name; none where its instances wait for the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<InferenceComponent>")]
    pub components: Vec<InferenceComponent>,
}

impl InferenceComponent {
    pub fn current_copies(&self) -> u64 {
        self.copies.iter().map(|copies| u64::from(copies.count)).sum()
    }

    /// GPUs that its copies reserve on instances of a type, on all without one; absent where
    /// those of a copy are not known.
    pub fn reserved_gpus(&self, instance_type: Option<&str>) -> Option<Decimal> {
        let is_there = |copies: &&Copies| {
            let own = copies.instance_type.as_deref();
            copies.count > 0 && (own.is_none() || instance_type.is_none() || own == instance_type)
        };
        let mut copies = self.copies.iter().filter(is_there);
        copies.try_fold(Decimal::ZERO, |sum, of_copy| {
            let own = of_copy.gpus_each?.checked_mul(Decimal::from(of_copy.count))?;
            sum.checked_add(own)
        })
    }
}

impl ComponentHost {
    /// Whether an instance is one of it.
    pub fn has(&self, instance: &Instance) -> bool {
        instance.id.provider() == Provider::SageMaker
            && instance.auto_scaling_group.as_ref() == Some(&self.group)
            && instance.account == self.account
            && instance.region == self.region
    }

    /// GPUs that its components reserve on instances of a type; absent where those of one
    /// are not known.
    pub fn reserved_gpus(&self, instance_type: &str) -> Option<Decimal> {
        let mut components = self.components.iter();
        components.try_fold(Decimal::ZERO, |sum, component| {
            sum.checked_add(component.reserved_gpus(Some(instance_type))?)
        })
    }

    /// Whether every component has the copies that were asked for: others may need GPUs that
    /// are free now.
    pub fn is_settled(&self) -> bool {
        let mut components = self.components.iter();
        components.all(|component| {
            component
                .desired_copies
                .is_some_and(|count| u64::from(count) == component.current_copies())
        })
    }

    /// What hosts are sorted by; no two have the same.
    pub fn key(&self) -> (&str, &str, &str) {
        (&self.account, &self.region, &self.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(
        desired: Option<u32>,
        copies: &[(Option<&str>, u32, Option<i64>)],
    ) -> ComponentHost {
        let copies = copies.iter().map(|(name, count, gpus)| Copies {
            instance_type: name.map(str::to_owned),
            count: *count,
            gpus_each: gpus.map(Decimal::from),
        });
        ComponentHost {
            account: "111122223333".to_owned(),
            region: "us-east-1".to_owned(),
            group: "endpoint/chat/main".to_owned(),
            components: vec![InferenceComponent {
                name: "llama".to_owned(),
                desired_copies: desired,
                copies: copies.collect(),
            }],
        }
    }

    #[test]
    fn copies_reserve_gpus_of_the_type_that_they_are_on() {
        let (large, small) = ("ml.g5.12xlarge-hosting", "ml.g5.xlarge-hosting");
        let host = component(Some(3), &[(Some(large), 1, Some(4)), (Some(small), 2, Some(1))]);
        assert_eq!(host.reserved_gpus(large), Some(Decimal::from(4)));
        // Two copies of one GPU.
        assert_eq!(host.reserved_gpus(small), Some(Decimal::TWO));
        assert_eq!(host.components[0].reserved_gpus(None), Some(Decimal::from(6)));
        assert_eq!(host.reserved_gpus("other"), Some(Decimal::ZERO));
        assert!(host.is_settled());

        let single = component(Some(3), &[(None, 3, Some(2))]);
        assert_eq!(single.reserved_gpus(large), Some(Decimal::from(6)));
        let mut empty = single;
        empty.components.clear();
        assert_eq!(empty.reserved_gpus(large), Some(Decimal::ZERO));
        assert!(empty.is_settled());
    }

    #[test]
    fn what_is_not_known_is_not_zero() {
        let part = component(Some(1), &[(None, 1, None)]);
        assert_eq!(part.reserved_gpus("any"), None);
        // No copy of it is there.
        let none = component(Some(0), &[(None, 0, None)]);
        assert_eq!(none.reserved_gpus("any"), Some(Decimal::ZERO));
        assert!(none.is_settled());
        assert!(!component(Some(2), &[(None, 1, Some(1))]).is_settled());
        assert!(!component(None, &[(None, 1, Some(1))]).is_settled());
    }
}
