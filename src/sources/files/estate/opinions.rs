//! What AWS advises, in an estate.

use super::fields::{Wire, decimal, named};
use super::forms::{Change, CurrencyCode};
use super::wire::MOST_PARTS;
use crate::domain::{AwsOpinion, Currency, ResourceId};
use crate::sources::files::shared::bounded::at_most;
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
#[serde(
    deny_unknown_fields,
    expecting = "a recommendation of AWS as an object"
)]
pub(super) struct OpinionWire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    /// In place of `instance`, for those of an Auto Scaling group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "at_most::<_, _, MOST_PARTS>")]
    #[schemars(length(max = MOST_PARTS))]
    instances: Vec<String>,
    action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(default = "usd")]
    #[schemars(with = "CurrencyCode")]
    currency: String,
    /// What AWS estimates, per month.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Change>")]
    monthly_savings: Option<String>,
}

fn usd() -> String {
    "USD".to_owned()
}

pub(super) fn to_wire(opinion: &AwsOpinion) -> OpinionWire {
    let savings = opinion.monthly_savings;
    let mut instances: Vec<String> = opinion.instances.iter().map(ToString::to_string).collect();
    let instance = (instances.len() == 1).then(|| instances.remove(0));
    OpinionWire {
        instance,
        instances,
        action: opinion.action.clone(),
        to: opinion.to.clone(),
        currency: savings.map_or_else(usd, |money| money.currency().code().to_owned()),
        monthly_savings: savings.map(|money| money.amount().to_string()),
    }
}

impl Wire for OpinionWire {
    type Value = AwsOpinion;

    fn value<E: de::Error>(self) -> Result<AwsOpinion, E> {
        let currency = named("currency", &self.currency, Currency::from_code)?;
        let amount = self.monthly_savings.as_deref();
        let amount = amount.map(|text| {
            let amount = decimal("monthly_savings", text)?;
            AwsOpinion::estimate(amount, currency)
                .ok_or_else(|| E::custom(format!("`monthly_savings` is too large: {amount}")))
        });
        if self.instance.is_some() != self.instances.is_empty() {
            return Err(E::custom("an opinion has either `instance` or `instances`"));
        }
        let instances = self.instance.into_iter().chain(self.instances);
        let instances: BTreeSet<ResourceId> = instances.map(ResourceId::named).collect();
        Ok(AwsOpinion {
            instances: instances.into_iter().collect(),
            action: self.action,
            to: self.to,
            monthly_savings: amount.transpose()?,
        })
    }
}
