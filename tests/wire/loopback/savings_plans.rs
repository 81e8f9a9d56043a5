//! Savings Plans over REST JSON: `DescribeSavingsPlansOfferingRates`, and the way
//! to `DescribeSavingsPlans`.
//!
//! Imitated: the lists and filters that narrow an answer, each of which passes
//! what has one of its values; pages of at most 1,000 rates (or fewer, as a test
//! likes); that all regions share one endpoint.
//!
//! Not imitated: the filter `productId`, and the other operations.

use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::Data;
use super::error::ApiError;
use super::owned;
use super::products::decimal;

/// The region that the endpoint for all regions is signed for.
const HOME: &str = "us-east-1";
/// Rates per page, at most and by default.
const RATES_PER_PAGE: u64 = 1_000;
const SECONDS_PER_YEAR: u64 = 31_536_000;

/// The rate of a plan for Linux on shared hardware.
#[derive(Clone, Copy, Debug)]
pub struct PlanRate<'a> {
    /// `EC2Instance` or `Compute`.
    pub plan: &'a str,
    pub years: u64,
    /// `No Upfront`, `Partial Upfront` or `All Upfront`.
    pub payment: &'a str,
    pub instance_type: &'a str,
    pub region: &'a str,
    /// A decimal number, USD per hour.
    pub hourly: &'a str,
}

/// All rates, in the order in which they were put.
#[derive(Default)]
pub struct RateList(Vec<Value>);

impl RateList {
    /// Adds the rate and its neighbours. The first of these passes the same
    /// filters.
    pub fn put(&mut self, rate: PlanRate<'_>) {
        let hourly = decimal(rate.hourly);
        let variants = [
            ("Linux/UNIX", "shared", "BoxUsage", Decimal::ZERO),
            ("Linux/UNIX", "shared", "UnusedBox", Decimal::ONE),
            ("Windows", "shared", "BoxUsage", Decimal::TWO),
            ("Linux/UNIX", "dedicated", "DedicatedUsage", Decimal::TEN),
        ];
        for (system, tenancy, usage, extra) in variants {
            self.0.push(document(rate, system, tenancy, usage, hourly + extra));
        }
    }
}

fn document(
    rate: PlanRate<'_>,
    system: &str,
    tenancy: &str,
    usage: &str,
    hourly: Decimal,
) -> Value {
    let PlanRate { plan, years, payment, instance_type, region, .. } = rate;
    // Usage types outside Virginia begin with the region's own letters.
    let prefix = match region {
        "us-east-1" => "",
        "eu-west-1" => "EU-",
        "us-west-2" => "USW2-",
        other => panic!("the letters of {other} are not known here"),
    };
    let family = instance_type.split('.').next().unwrap_or(instance_type);
    let operation = match system {
        "Windows" => "RunInstances:0002",
        _ => "RunInstances",
    };
    let properties = [
        ("region", region),
        ("instanceType", instance_type),
        ("instanceFamily", family),
        ("productDescription", system),
        ("tenancy", tenancy),
    ];
    let properties = properties.map(|(name, value)| json!({ "name": name, "value": value }));
    json!({
        "savingsPlanOffering": {
            "offeringId": format!("{plan}-{years}-{payment}"),
            "paymentOption": payment,
            "planType": plan,
            "durationSeconds": years * SECONDS_PER_YEAR,
            "currency": "USD",
            "planDescription": format!("{years} year {payment} {plan} Savings Plan"),
        },
        "rate": hourly.to_string(),
        "unit": "Hrs",
        "productType": "EC2",
        "serviceCode": "AmazonEC2",
        "usageType": format!("{prefix}{usage}:{instance_type}"),
        "operation": operation,
        "properties": properties,
    })
}

/// Answers one call, or refuses it.
pub fn answer(
    data: &Data,
    operation: &str,
    region: &str,
    body: &[u8],
) -> Result<Vec<u8>, ApiError> {
    if !["DescribeSavingsPlans", "DescribeSavingsPlansOfferingRates"].contains(&operation) {
        return Err(ApiError::invalid_action(&format!("savingsplans:{operation}")));
    }
    if region != HOME {
        let refusal = format!("the Savings Plans endpoint is signed for {HOME}, not {region}");
        return Err(ApiError::new(403, "SignatureDoesNotMatch", refusal));
    }
    let request: Value =
        serde_json::from_slice(body).map_err(|error| invalid(error.to_string()))?;
    let answered = match operation {
        "DescribeSavingsPlans" => owned::savings_plans(data, &request),
        _ => rates(data, &request),
    };
    answered.map(|answer| answer.to_string().into_bytes())
}

fn rates(data: &Data, request: &Value) -> Result<Value, ApiError> {
    let conditions = conditions(request)?;
    let limit = request["maxResults"].as_u64().unwrap_or(RATES_PER_PAGE);
    if !(1..=RATES_PER_PAGE).contains(&limit) {
        return Err(invalid(format!("maxResults is {limit}, not 1 to 1000")));
    }
    let limit = data.page(limit as usize);
    let skip: usize = match request["nextToken"].as_str() {
        Some(token) => token.parse().map_err(|_| invalid("not a token"))?,
        None => 0,
    };
    let mut matching = data
        .plan_rates
        .0
        .iter()
        .filter(|rate| conditions.iter().all(|condition| condition.matches(rate)))
        .skip(skip);
    let page: Vec<&Value> = matching.by_ref().take(limit).collect();
    let mut answer = json!({ "searchResults": page });
    if matching.next().is_some() {
        answer["nextToken"] = (skip + limit).to_string().into();
    }
    Ok(answer)
}

/// Where in a rate something stands.
enum Place {
    Pointer(&'static str),
    Property(String),
}

/// A condition on one thing about a rate: it has one of these values.
struct Condition<'a> {
    place: Place,
    values: &'a [Value],
}

impl Condition<'_> {
    fn matches(&self, rate: &Value) -> bool {
        let held = match &self.place {
            Place::Pointer(pointer) => rate.pointer(pointer),
            Place::Property(name) => rate["properties"]
                .as_array()
                .and_then(|properties| {
                    properties.iter().find(|property| property["name"] == **name)
                })
                .map(|property| &property["value"]),
        };
        held.is_some_and(|held| self.values.contains(held))
    }
}

const LISTS: [(&str, &str); 7] = [
    ("savingsPlanOfferingIds", "/savingsPlanOffering/offeringId"),
    ("savingsPlanPaymentOptions", "/savingsPlanOffering/paymentOption"),
    ("savingsPlanTypes", "/savingsPlanOffering/planType"),
    ("products", "/productType"),
    ("serviceCodes", "/serviceCode"),
    ("usageTypes", "/usageType"),
    ("operations", "/operation"),
];
const FILTERS: [&str; 5] =
    ["region", "instanceType", "instanceFamily", "productDescription", "tenancy"];

/// What a request asks for; a list without members asks for nothing special.
fn conditions(request: &Value) -> Result<Vec<Condition<'_>>, ApiError> {
    let mut conditions = Vec::new();
    for (list, pointer) in LISTS {
        let values = request[list].as_array().map_or(&[][..], Vec::as_slice);
        let place = Place::Pointer(pointer);
        conditions.push(Condition { place, values });
    }
    for filter in request["filters"].as_array().into_iter().flatten() {
        let name = filter["name"].as_str().unwrap_or_default();
        if !FILTERS.contains(&name) {
            return Err(invalid(format!("the filter `{name}` is not imitated")));
        }
        let values = filter["values"].as_array();
        conditions.push(Condition {
            place: Place::Property(name.to_owned()),
            values: values.map_or(&[][..], Vec::as_slice),
        });
    }
    conditions.retain(|condition| !condition.values.is_empty());
    Ok(conditions)
}

fn invalid(message: impl Into<String>) -> ApiError {
    ApiError::new(400, "ValidationException", message)
}
