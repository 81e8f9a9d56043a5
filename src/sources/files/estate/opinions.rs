//! What AWS advises, in an estate.

use super::fields::{Wire, decimal, named};
use crate::domain::{AwsOpinion, Currency, ResourceId};
use serde::de;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a recommendation of AWS as an object"
)]
pub(super) struct OpinionWire {
    instance: String,
    action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(default = "usd")]
    currency: String,
    /// Decimal as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    monthly_savings: Option<String>,
}

fn usd() -> String {
    "USD".to_owned()
}

pub(super) fn to_wire(opinion: &AwsOpinion) -> OpinionWire {
    let savings = opinion.monthly_savings;
    OpinionWire {
        instance: opinion.instance.to_string(),
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
        Ok(AwsOpinion {
            instance: ResourceId::named(self.instance),
            action: self.action,
            to: self.to,
            monthly_savings: amount.transpose()?,
        })
    }
}
