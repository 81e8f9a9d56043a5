//! What an account has committed to: `DescribeReservedInstances`,
//! `DescribeCapacityReservations` and `DescribeSavingsPlans`, which moto lacks.
//!
//! Imitated: the filter `state` of EC2 (and no other), the list `states` of the
//! savings plans, pages where the interface has them. Reserved instances come
//! all at once, as from EC2.
//!
//! Not imitated: every other filter, which is refused.

use serde_json::{Value, json};

use super::Data;
use super::error::ApiError;
use super::form::{Form, escape_xml};

/// Capacity reservations per page, at most and by default.
const RESERVATIONS_PER_PAGE: usize = 1_000;
/// Savings plans per page, at most and by default.
const PLANS_PER_PAGE: usize = 1_000;

/// Something in a region, as the elements of its XML item.
pub struct Item {
    /// The account that alone sees it; all do where there is none.
    pub account: Option<String>,
    region: String,
    state: String,
    xml: String,
}

/// Everything that was bought.
#[derive(Default)]
pub struct Owned {
    pub reserved: Vec<Item>,
    pub capacity: Vec<Item>,
    pub plans: Vec<Value>,
}

/// Reserved instances of Linux on shared hardware.
#[derive(Clone, Copy, Debug)]
pub struct OwnedReserved<'a> {
    pub id: &'a str,
    pub region: &'a str,
    /// The zone, or nothing for the whole region.
    pub zone: Option<&'a str>,
    pub instance_type: &'a str,
    pub count: u32,
    /// `No Upfront`, `Partial Upfront` or `All Upfront`.
    pub payment: &'a str,
    pub upfront: &'a str,
    pub hourly: &'a str,
    pub start: &'a str,
    pub end: &'a str,
    /// `active`, `retired`, `queued`, …
    pub state: &'a str,
}

/// A capacity reservation for Linux on shared hardware.
#[derive(Clone, Copy, Debug)]
pub struct OwnedCapacity<'a> {
    pub id: &'a str,
    pub zone: &'a str,
    pub instance_type: &'a str,
    pub total: u32,
    pub available: u32,
    /// `active`, `cancelled`, `expired`, …
    pub state: &'a str,
    /// `default` or `capacity-block`.
    pub kind: &'a str,
    /// The account it belongs to, when it is named.
    pub owner: Option<&'a str>,
}

/// A savings plan.
#[derive(Clone, Copy, Debug)]
pub struct OwnedPlan<'a> {
    pub id: &'a str,
    /// `EC2Instance`, `Compute` or `SageMaker`.
    pub plan: &'a str,
    /// Region and family, of an `EC2Instance` plan.
    pub pool: Option<(&'a str, &'a str)>,
    pub hourly: &'a str,
    pub years: u64,
    pub start: &'a str,
    pub end: &'a str,
    /// `active`, `retired`, `queued`, …
    pub state: &'a str,
}

/// The elements of an item in order.
fn elements(fields: &[(&str, &str)]) -> String {
    fields.iter().map(|(name, text)| format!("<{name}>{}</{name}>", escape_xml(text))).collect()
}

impl Owned {
    pub fn put_reserved(&mut self, reserved: OwnedReserved<'_>) {
        let count = reserved.count.to_string();
        let scope = reserved.zone.map_or("Region", |_| "Availability Zone");
        let mut xml = elements(&[
            ("reservedInstancesId", reserved.id),
            ("instanceType", reserved.instance_type),
            ("start", reserved.start),
            ("end", reserved.end),
            ("fixedPrice", reserved.upfront),
            ("usagePrice", "0.0"),
            ("instanceCount", &count),
            ("productDescription", "Linux/UNIX (Amazon VPC)"),
            ("state", reserved.state),
            ("instanceTenancy", "default"),
            ("currencyCode", "USD"),
            ("offeringClass", "standard"),
            ("offeringType", reserved.payment),
            ("scope", scope),
        ]);
        if let Some(zone) = reserved.zone {
            xml += &elements(&[("availabilityZone", zone)]);
        }
        let charge = elements(&[("frequency", "Hourly"), ("amount", reserved.hourly)]);
        xml += &format!("<recurringCharges><item>{charge}</item></recurringCharges>");
        self.reserved.push(Item {
            account: None,
            region: reserved.region.to_owned(),
            state: reserved.state.to_owned(),
            xml,
        });
    }

    pub fn put_capacity(&mut self, reservation: OwnedCapacity<'_>) {
        let (total, available) = (reservation.total.to_string(), reservation.available.to_string());
        let mut xml = elements(&[
            ("capacityReservationId", reservation.id),
            ("instanceType", reservation.instance_type),
            ("instancePlatform", "Linux/UNIX"),
            ("availabilityZone", reservation.zone),
            ("tenancy", "default"),
            ("totalInstanceCount", &total),
            ("availableInstanceCount", &available),
            ("state", reservation.state),
            ("endDateType", "unlimited"),
            ("reservationType", reservation.kind),
        ]);
        if let Some(owner) = reservation.owner {
            xml += &elements(&[("ownerId", owner)]);
        }
        self.capacity.push(Item {
            account: None,
            region: reservation.zone.trim_end_matches(char::is_alphabetic).to_owned(),
            state: reservation.state.to_owned(),
            xml,
        });
    }

    pub fn put_plan(&mut self, savings_plan: OwnedPlan<'_>) {
        let arn = format!("arn:aws:savingsplans::123456789012:savingsplan/{}", savings_plan.id);
        let mut plan = json!({
            "savingsPlanId": savings_plan.id,
            "savingsPlanArn": arn,
            "state": savings_plan.state,
            "savingsPlanType": savings_plan.plan,
            "paymentOption": "No Upfront",
            "productTypes": ["EC2"],
            "currency": "USD",
            "commitment": savings_plan.hourly,
            "upfrontPaymentAmount": "0.0",
            "recurringPaymentAmount": savings_plan.hourly,
            "termDurationInSeconds": savings_plan.years * 31_536_000,
            "start": savings_plan.start,
            "end": savings_plan.end,
        });
        if let Some((region, family)) = savings_plan.pool {
            plan["region"] = region.into();
            plan["ec2InstanceFamily"] = family.into();
        }
        self.plans.push(plan);
    }
}

/// The items of a region in the states that a request names.
fn in_region<'a>(
    items: &'a [Item],
    (account, region): (Option<&str>, &str),
    form: &Form,
) -> Result<Vec<&'a str>, ApiError> {
    let filters = form.filters();
    if let Some((name, _)) = filters.iter().find(|(name, _)| *name != "state") {
        let refusal = format!("the filter `{name}` is not imitated");
        return Err(ApiError::new(400, "InvalidParameterValue", refusal));
    }
    let wanted = |held: &str| filters.iter().all(|(_, values)| values.contains(&held));
    Ok(items
        .iter()
        .filter(|item| item.region == region && wanted(&item.state))
        .filter(|item| item.account.is_none() || item.account.as_deref() == account)
        .map(|item| item.xml.as_str())
        .collect())
}

/// Answers `DescribeReservedInstances`, or refuses it.
pub fn reserved_instances(
    data: &Data,
    place: (Option<&str>, &str),
    body: &[u8],
) -> Result<Vec<u8>, ApiError> {
    let items = in_region(&data.owned.reserved, place, &Form::parse(body))?;
    Ok(document("DescribeReservedInstancesResponse", "reservedInstancesSet", &items, ""))
}

/// Answers `DescribeCapacityReservations`, or refuses it.
pub fn capacity_reservations(data: &Data, region: &str, body: &[u8]) -> Result<Vec<u8>, ApiError> {
    let form = Form::parse(body);
    let items = in_region(&data.owned.capacity, (None, region), &form)?;
    let number = |key: &str| form.get(key).and_then(|text| text.parse::<usize>().ok());
    let skip = number("NextToken").unwrap_or(0);
    let accepted = number("MaxResults").unwrap_or(RESERVATIONS_PER_PAGE);
    let limit = data.page(accepted.min(RESERVATIONS_PER_PAGE));
    let page: Vec<&str> = items.iter().skip(skip).take(limit).copied().collect();
    let token = match skip + limit {
        next if next < items.len() => format!("<nextToken>{next}</nextToken>"),
        _ => String::new(),
    };
    Ok(document("DescribeCapacityReservationsResponse", "capacityReservationSet", &page, &token))
}

fn document(response: &str, set: &str, items: &[&str], rest: &str) -> Vec<u8> {
    let items: String = items.iter().map(|item| format!("<item>{item}</item>")).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <{response} xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\
         <{set}>{items}</{set}>{rest}</{response}>"
    )
    .into_bytes()
}

/// Answers `DescribeSavingsPlans`, or refuses it.
pub fn savings_plans(data: &Data, request: &Value) -> Result<Value, ApiError> {
    let refuse = |words: String| ApiError::new(400, "ValidationException", words);
    for filter in ["savingsPlanArns", "savingsPlanIds", "filters"] {
        if request[filter].as_array().is_some_and(|values| !values.is_empty()) {
            return Err(refuse(format!("`{filter}` is not imitated")));
        }
    }
    let accepted = request["maxResults"].as_u64().unwrap_or(PLANS_PER_PAGE as u64);
    if !(1..=PLANS_PER_PAGE as u64).contains(&accepted) {
        return Err(refuse(format!("maxResults is {accepted}, not 1 to 1000")));
    }
    let skip: usize = match request["nextToken"].as_str() {
        Some(token) => token.parse().map_err(|_| refuse("not a token".to_owned()))?,
        None => 0,
    };
    let limit = data.page(accepted as usize);
    let states = request["states"].as_array();
    let mut wanted = data
        .owned
        .plans
        .iter()
        .filter(|plan| states.is_none_or(|states| states.contains(&plan["state"])))
        .skip(skip);
    let page: Vec<&Value> = wanted.by_ref().take(limit).collect();
    let mut answer = json!({ "savingsPlans": page });
    if wanted.next().is_some() {
        answer["nextToken"] = (skip + limit).to_string().into();
    }
    Ok(answer)
}
