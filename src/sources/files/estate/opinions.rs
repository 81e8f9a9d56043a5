//! What AWS advises, in an estate.

use super::fields::Wire;
use crate::domain::{AwsOpinion, Change, Currency, Maybe, Money, Parts, ResourceId};
use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::de;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What AWS advises.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = [
    {"properties": {"instance": {"type": "string"}, "instances": {"maxItems": 0}}, "allOf": [{"required": ["instance"]}]},
    {"properties": {"instance": {"type": "null"}, "instances": {"minItems": 1}}, "allOf": [{"required": ["instances"]}]},
]))]
#[serde(deny_unknown_fields, expecting = "a recommendation of AWS as an object")]
pub(super) struct OpinionWire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance: Option<ResourceId>,
    /// In place of `instance`, for those of an Auto Scaling group.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<ResourceId>")]
    instances: Vec<ResourceId>,
    action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(default = "usd")]
    currency: Currency,
    /// What AWS estimates, per month.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Change>")]
    monthly_savings: Option<Decimal>,
}

fn usd() -> Currency {
    Currency::Usd
}

pub(super) fn to_wire(opinion: &AwsOpinion) -> OpinionWire {
    let savings = opinion.monthly_savings;
    let mut instances = opinion.instances.clone();
    let instance = (instances.len() == 1).then(|| instances.remove(0));
    OpinionWire {
        instance,
        instances,
        action: opinion.action.clone(),
        to: opinion.to.clone(),
        currency: savings.map_or_else(usd, Money::currency),
        monthly_savings: savings.map(Money::amount),
    }
}

impl Wire for OpinionWire {
    type Value = AwsOpinion;

    fn value<E: de::Error>(self) -> Result<AwsOpinion, E> {
        let amount = self.monthly_savings.map(|amount| {
            AwsOpinion::estimate(amount, self.currency)
                .ok_or_else(|| E::custom(format!("`monthly_savings` is too large: {amount}")))
        });
        if self.instance.is_some() != self.instances.is_empty() {
            return Err(E::custom("an opinion has either `instance` or `instances`"));
        }
        let instances = self.instance.into_iter().chain(self.instances);
        let instances: BTreeSet<ResourceId> = instances.collect();
        Ok(AwsOpinion {
            instances: instances.into_iter().collect(),
            action: self.action,
            to: self.to,
            monthly_savings: amount.transpose()?,
        })
    }
}
