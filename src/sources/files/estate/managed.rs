//! Inference components and training plans of SageMaker in an estate.

use super::fields::{Wire, decimal, named, time};
use super::forms::{Amount, CurrencyCode, Time};
use super::wire::MOST_PARTS;
use crate::domain::{
    ComponentHost, Copies, Currency, InferenceComponent, Managed, Money, PlanStatus, TrainingPlan,
};
use crate::sources::files::shared::bounded::at_most;
use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::de;
use serde::{Deserialize, Serialize};

/// GPUs of one copy, which is on one instance.
const MOST_GPUS: Decimal = Decimal::from_parts(1_000, 0, 0, false, 0);

/// A variant of a `SageMaker` endpoint.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with `group` and `components`"
)]
pub(super) struct HostWire {
    account: String,
    region: String,
    /// The `auto_scaling_group` of the instances.
    group: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "at_most::<_, _, MOST_PARTS>")]
    #[schemars(length(max = MOST_PARTS))]
    components: Vec<ComponentWire>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an inference component with `name` and `copies`"
)]
struct ComponentWire {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    desired_copies: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "at_most::<_, _, MOST_PARTS>")]
    #[schemars(length(max = MOST_PARTS))]
    copies: Vec<CopiesWire>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with `count` and `gpus_each`"
)]
struct CopiesWire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance_type: Option<String>,
    count: u32,
    /// GPUs that each copy reserves, up to 1,000; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Amount>")]
    gpus_each: Option<String>,
}

/// A training plan of `SageMaker`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a training plan object")]
pub(super) struct PlanWire {
    /// ARN of the plan.
    id: String,
    account: String,
    region: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PlanStatus>")]
    status: Option<String>,
    /// By type.
    #[serde(deserialize_with = "at_most::<_, _, MOST_PARTS>")]
    #[schemars(length(max = MOST_PARTS))]
    instances: Vec<PartWire>,
    /// Instances in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<u32>,
    /// Those that something runs on now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    in_use: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Time>")]
    start: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Time>")]
    end: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration_minutes: Option<u64>,
    /// USD unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<CurrencyCode>")]
    currency: Option<String>,
    /// Paid once for all instances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Amount>")]
    upfront_fee: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with `instance_type` and `count`"
)]
struct PartWire {
    instance_type: String,
    count: u32,
}

impl Wire for HostWire {
    type Value = ComponentHost;

    fn value<E: de::Error>(self) -> Result<ComponentHost, E> {
        let components = self.components.into_iter().map(component);
        let mut components = components.collect::<Result<Vec<_>, E>>()?;
        components.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(ComponentHost {
            account: self.account,
            region: self.region,
            group: self.group,
            components,
        })
    }
}

fn component<E: de::Error>(wire: ComponentWire) -> Result<InferenceComponent, E> {
    let copies = wire.copies.into_iter().map(copies);
    Ok(InferenceComponent {
        name: wire.name,
        desired_copies: wire.desired_copies,
        copies: copies.collect::<Result<Vec<_>, E>>()?,
    })
}

fn copies<E: de::Error>(wire: CopiesWire) -> Result<Copies, E> {
    let gpus_each = match &wire.gpus_each {
        Some(text) => Some(gpus::<E>(text)?),
        None => None,
    };
    Ok(Copies {
        instance_type: wire.instance_type,
        count: wire.count,
        gpus_each,
    })
}

fn gpus<E: de::Error>(text: &str) -> Result<Decimal, E> {
    let number = decimal::<E>("gpus_each", text)?;
    if number.is_sign_negative() || number > MOST_GPUS {
        return Err(E::custom(format!(
            "`gpus_each` is not between 0 and {MOST_GPUS}: `{text}`"
        )));
    }
    Ok(number)
}

impl Wire for PlanWire {
    type Value = TrainingPlan;

    fn value<E: de::Error>(self) -> Result<TrainingPlan, E> {
        let status = self.status.as_deref();
        let status = status.map(|name| named("status", name, PlanStatus::from_name));
        let currency = self.currency.as_deref().unwrap_or("USD");
        let currency = named("currency", currency, Currency::from_code)?;
        let fee = self.upfront_fee.as_deref();
        let fee = fee
            .map(|text| decimal::<E>("upfront_fee", text))
            .transpose()?;
        if fee.is_some_and(|fee: Decimal| fee.is_sign_negative()) {
            return Err(E::custom("`upfront_fee` is negative"));
        }
        let instances = self.instances.into_iter();
        Ok(TrainingPlan {
            id: self.id,
            account: self.account,
            region: self.region,
            status: status.transpose()?,
            instances: instances
                .map(|part| (part.instance_type, part.count))
                .collect(),
            total: self.total,
            in_use: self.in_use,
            start: self.start.as_deref().map(time).transpose()?,
            end: self.end.as_deref().map(time).transpose()?,
            duration_minutes: self.duration_minutes,
            upfront_fee: fee.map(|fee| Money::new(fee, currency)),
        })
    }
}

pub(super) fn host_wire(host: &ComponentHost) -> HostWire {
    let components = host.components.iter().map(|one| ComponentWire {
        name: one.name.clone(),
        desired_copies: one.desired_copies,
        copies: one.copies.iter().map(copies_wire).collect(),
    });
    HostWire {
        account: host.account.clone(),
        region: host.region.clone(),
        group: host.group.clone(),
        components: components.collect(),
    }
}

fn copies_wire(copies: &Copies) -> CopiesWire {
    CopiesWire {
        instance_type: copies.instance_type.clone(),
        count: copies.count,
        gpus_each: copies.gpus_each.map(|gpus| gpus.to_string()),
    }
}

pub(super) fn plan_wire(plan: &TrainingPlan) -> PlanWire {
    let instances = plan.instances.iter().map(|(name, count)| PartWire {
        instance_type: name.clone(),
        count: *count,
    });
    PlanWire {
        id: plan.id.clone(),
        account: plan.account.clone(),
        region: plan.region.clone(),
        status: plan.status.map(|status| status.name().to_owned()),
        instances: instances.collect(),
        total: plan.total,
        in_use: plan.in_use,
        start: plan.start.map(|time| time.to_string()),
        end: plan.end.map(|time| time.to_string()),
        duration_minutes: plan.duration_minutes,
        currency: plan.upfront_fee.map(|fee| fee.currency().code().to_owned()),
        upfront_fee: plan.upfront_fee.map(|fee| fee.amount().to_string()),
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
