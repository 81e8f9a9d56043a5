//! What SageMaker knows beside its machines, and tags of these: `ListInferenceComponents`,
//! `DescribeInferenceComponent`, `ListTrainingPlans` and the tagging service's `GetResources`.
//! moto has none of the first three, and tags of few types.
//!
//! Imitated: pages; the types of resources that are asked for. What a test puts is what the
//! services answer, unchanged.
//!
//! Not imitated: filters and orders, which are refused.

use serde_json::{Value, json};

use super::Data;
use super::error::ApiError;

/// Results per page, at most.
const RESULTS_PER_PAGE: u64 = 100;

/// Answers by region.
type ByRegion = Vec<(String, Value)>;

#[derive(Default)]
pub struct Managed {
    /// As `DescribeInferenceComponent` answers them.
    pub components: ByRegion,
    /// As `ListTrainingPlans` lists them.
    pub plans: ByRegion,
    /// As `GetResources` lists them.
    pub tagged: ByRegion,
    /// Endpoint configurations whose variants have no model of their own. moto wants one.
    pub without_model: Vec<String>,
}

fn refuse(words: &str) -> ApiError {
    ApiError::new(400, "ValidationException", words)
}

/// Answers an operation, or refuses it.
pub fn answer(
    data: &Data,
    operation: &str,
    region: &str,
    body: &[u8],
) -> Result<Vec<u8>, ApiError> {
    let request: Value = serde_json::from_slice(body).map_err(|_| refuse("not JSON"))?;
    let managed = &data.managed;
    let of_region = |rows: &ByRegion| -> Vec<Value> {
        let own = rows.iter().filter(|(place, _)| place == region);
        own.map(|(_, description)| description.clone()).collect()
    };
    let answer = match operation {
        "DescribeInferenceComponent" => {
            let name = &request["InferenceComponentName"];
            let mut components = of_region(&managed.components).into_iter();
            let component =
                components.find(|component| component["InferenceComponentName"] == *name);
            component.ok_or_else(|| refuse("Could not find inference component."))?
        }
        "ListInferenceComponents" => {
            let keys = ["InferenceComponentName", "EndpointName", "VariantName"];
            let rows = of_region(&managed.components).into_iter().map(|component| {
                let own = keys.map(|key| (key.to_owned(), component[key].clone()));
                Value::Object(own.into_iter().collect())
            });
            let lists = ("InferenceComponents", "NextToken", "MaxResults");
            paged(data, &request, rows.collect(), lists)?
        }
        "ListTrainingPlans" => {
            let rows = of_region(&managed.plans);
            let lists = ("TrainingPlanSummaries", "NextToken", "MaxResults");
            paged(data, &request, rows, lists)?
        }
        _ => resources(data, &request, of_region(&managed.tagged))?,
    };
    Ok(answer.to_string().into_bytes())
}

/// Tagged resources of the types that are asked for.
fn resources(data: &Data, request: &Value, mut rows: Vec<Value>) -> Result<Value, ApiError> {
    let types = request["ResourceTypeFilters"].as_array();
    let types = types.ok_or_else(|| refuse("no types"))?.clone();
    rows.retain(|tagged| {
        let arn = tagged["ResourceARN"].as_str().unwrap_or_default();
        let parts: Vec<&str> = arn.splitn(6, ':').collect();
        let kind = parts.get(5).and_then(|rest| rest.split('/').next());
        let kind = kind.map(|kind| format!("sagemaker:{kind}"));
        kind.is_some_and(|kind| types.contains(&kind.into()))
    });
    let mut own = request.clone();
    if let Some(own) = own.as_object_mut() {
        own.remove("ResourceTypeFilters");
    }
    let lists = ("ResourceTagMappingList", "PaginationToken", "ResourcesPerPage");
    paged(data, &own, rows, lists)
}

/// A page of a list, whose token and size have names.
fn paged(
    data: &Data,
    request: &Value,
    rows: Vec<Value>,
    (list, token, size): (&str, &str, &str),
) -> Result<Value, ApiError> {
    let keys = request.as_object().ok_or_else(|| refuse("not an object"))?;
    if keys.keys().any(|key| key != token && key != size) {
        return Err(refuse("not imitated"));
    }
    let accepted = request[size].as_u64().unwrap_or(10);
    if !(1..=RESULTS_PER_PAGE).contains(&accepted) {
        return Err(refuse("the page is not 1 to 100"));
    }
    let skip: usize = match request[token].as_str() {
        Some(token) => token.parse().map_err(|_| refuse("not a token"))?,
        None => 0,
    };
    let limit = data.page(accepted as usize);
    let page: Vec<&Value> = rows.iter().skip(skip).take(limit).collect();
    let mut answer = json!({});
    answer[list] = json!(page);
    if skip + limit < rows.len() {
        answer[token] = (skip + limit).to_string().into();
    }
    Ok(answer)
}

/// An answer to `DescribeEndpointConfig` without the models of its variants, where a test
/// wants it so.
pub fn without_models(data: &Data, body: &[u8]) -> Option<Vec<u8>> {
    let mut answer: Value = serde_json::from_slice(body).ok()?;
    let name = answer["EndpointConfigName"].as_str()?.to_owned();
    data.managed.without_model.contains(&name).then(|| {
        let variants = answer["ProductionVariants"].as_array_mut();
        for variant in variants.into_iter().flatten() {
            if let Some(variant) = variant.as_object_mut() {
                variant.remove("ModelName");
            }
        }
        answer.to_string().into_bytes()
    })
}
