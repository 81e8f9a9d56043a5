//! Inference components and training plans of SageMaker in an estate.

use super::fields::Wire;
use crate::domain::{
    Amount, ComponentHost, Counts, Currency, MOST_PARTS, Managed, Maybe, Money, PlanStatus, Time,
    TrainingPlan,
};
use jiff::Timestamp;
use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::de;
use serde::{Deserialize, Serialize};

/// GPUs of one copy, which is on one instance.
const MOST_GPUS: Decimal = Decimal::from_parts(1_000, 0, 0, false, 0);

/// A training plan of `SageMaker`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a training plan object")]
pub(super) struct PlanWire {
    /// ARN of the plan.
    id: String,
    account: String,
    region: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<PlanStatus>,
    /// By type.
    #[serde(with = "Counts::<MOST_PARTS>")]
    instances: Vec<(String, u32)>,
    /// Instances in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<u32>,
    /// Those that something runs on now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    in_use: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    start: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    end: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration_minutes: Option<u64>,
    /// USD unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    currency: Option<Currency>,
    /// Paid once for all instances.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Amount>")]
    upfront_fee: Option<Decimal>,
}

impl Wire for ComponentHost {
    type Value = Self;

    fn value<E: de::Error>(mut self) -> Result<Self, E> {
        let copies = self.components.iter().flat_map(|component| &component.copies);
        let mut gpus = copies.filter_map(|copies| copies.gpus_each);
        if let Some(gpus) = gpus.find(|gpus| *gpus > MOST_GPUS) {
            return Err(E::custom(format!(
                "`gpus_each` is not between 0 and {MOST_GPUS}: `{gpus}`"
            )));
        }
        self.components.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(self)
    }
}

impl Wire for PlanWire {
    type Value = TrainingPlan;

    fn value<E: de::Error>(self) -> Result<TrainingPlan, E> {
        let currency = self.currency.unwrap_or(Currency::Usd);
        Ok(TrainingPlan {
            id: self.id,
            account: self.account,
            region: self.region,
            status: self.status,
            instances: self.instances,
            total: self.total,
            in_use: self.in_use,
            start: self.start,
            end: self.end,
            duration_minutes: self.duration_minutes,
            upfront_fee: self.upfront_fee.map(|fee| Money::new(fee, currency)),
        })
    }
}

pub(super) fn plan_wire(plan: &TrainingPlan) -> PlanWire {
    let plan = plan.clone();
    PlanWire {
        id: plan.id,
        account: plan.account,
        region: plan.region,
        status: plan.status,
        instances: plan.instances,
        total: plan.total,
        in_use: plan.in_use,
        start: plan.start,
        end: plan.end,
        duration_minutes: plan.duration_minutes,
        currency: plan.upfront_fee.map(Money::currency),
        upfront_fee: plan.upfront_fee.map(Money::amount),
    }
}

/// All of it in order.
///
/// # Errors
/// When a host or a plan is there twice.
pub(super) fn sorted<E: de::Error>(mut managed: Managed) -> Result<Managed, E> {
    managed.sort();
    let mut hosts = managed.hosts.windows(2);
    if let Some(pair) = hosts.find(|pair| pair[0].key() == pair[1].key()) {
        let group = &pair[0].group;
        return Err(E::custom(format!("duplicate component host {group}")));
    }
    let mut plans = managed.plans.windows(2);
    if let Some(pair) = plans.find(|pair| pair[0].key() == pair[1].key()) {
        let id = &pair[0].id;
        return Err(E::custom(format!("duplicate training plan {id}")));
    }
    Ok(managed)
}
