//! The Price List service over AWS JSON 1.1: `GetProducts`.
//!
//! Imitated: the filter types `TERM_MATCH`, `EQUALS` and `ANY_OF`, pages of at
//! most 100 products (or fewer, as a test likes), a `PriceList` of JSON documents
//! inside strings, that the service lives in few regions only, and that China's
//! endpoint knows China's products and no other does.
//!
//! Not imitated: `CONTAINS`, `NONE_OF`, and the other operations.

use serde_json::{Value, json};

use super::Data;
use super::error::ApiError;
use super::products::Product;

/// Regions that have an endpoint of this service.
const HOMES: [&str; 4] = ["us-east-1", "eu-central-1", "ap-south-1", "cn-northwest-1"];
/// The one of them that has the products of the China regions.
const CHINA: &str = "cn-northwest-1";
/// Products per page, at most and by default.
const PRODUCTS_PER_PAGE: u64 = 100;

/// Answers one call, or refuses it.
pub fn answer(
    data: &Data,
    operation: &str,
    region: &str,
    body: &[u8],
) -> Result<Vec<u8>, ApiError> {
    if operation != "GetProducts" {
        return Err(ApiError::invalid_action(&format!("pricing:{operation}")));
    }
    if !HOMES.contains(&region) {
        // In truth there is no such host name.
        let refusal = format!("the Price List service has no endpoint in {region}");
        return Err(ApiError::new(400, "UnknownEndpoint", refusal));
    }
    let request: Value = serde_json::from_slice(body)
        .map_err(|error| ApiError::new(400, "SerializationException", error.to_string()))?;
    get_products(data, region, &request).map(|answer| answer.to_string().into_bytes())
}

fn get_products(data: &Data, region: &str, request: &Value) -> Result<Value, ApiError> {
    let service_code = request["ServiceCode"].as_str().unwrap_or_default();
    let filters = request["Filters"].as_array().map_or(&[][..], Vec::as_slice);
    let filters = filters.iter().map(Filter::parse).collect::<Result<Vec<_>, _>>()?;
    let limit = request["MaxResults"].as_u64().unwrap_or(PRODUCTS_PER_PAGE);
    if !(1..=PRODUCTS_PER_PAGE).contains(&limit) {
        return Err(invalid_parameter(format!("MaxResults is {limit}, not 1 to 100")));
    }
    let limit = data.page(limit as usize);
    let skip: usize = match request["NextToken"].as_str() {
        Some(token) => token
            .parse()
            .map_err(|_| ApiError::new(400, "InvalidNextTokenException", "not a token"))?,
        None => 0,
    };
    let mut matching = data
        .products
        .products()
        .iter()
        .filter(|product| product.service_code == service_code)
        .filter(|product| product.is_in_china() == (region == CHINA))
        .filter(|product| filters.iter().all(|filter| filter.matches(product)))
        .skip(skip);
    let page: Vec<String> =
        matching.by_ref().take(limit).map(|product| product.document().to_string()).collect();
    let mut answer = json!({ "FormatVersion": "aws_v1", "PriceList": page });
    if matching.next().is_some() {
        answer["NextToken"] = (skip + limit).to_string().into();
    }
    Ok(answer)
}

/// A condition on one field: it has one of these values.
struct Filter<'a> {
    field: &'a str,
    values: Vec<&'a str>,
}

impl<'a> Filter<'a> {
    fn parse(filter: &'a Value) -> Result<Self, ApiError> {
        let text = |member: &str| {
            filter[member]
                .as_str()
                .ok_or_else(|| invalid_parameter(format!("a filter has no {member}")))
        };
        let value = text("Value")?;
        let values = match text("Type")? {
            "TERM_MATCH" | "EQUALS" => vec![value],
            "ANY_OF" => value.split(',').collect(),
            other => {
                return Err(invalid_parameter(format!("{other} filters are not imitated")));
            }
        };
        Ok(Self { field: text("Field")?, values })
    }

    fn matches(&self, product: &Product) -> bool {
        product.field(self.field).is_some_and(|held| self.values.contains(&held))
    }
}

fn invalid_parameter(message: String) -> ApiError {
    ApiError::new(400, "InvalidParameterException", message)
}
