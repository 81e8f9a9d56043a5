//! Cost Optimization Hub: `ListRecommendations`.
//!
//! Imitated: the filter by type of resource, pages, the region that answers. Not imitated:
//! enrollment, filters of other kinds, grouping.

use serde_json::{Value, json};

use super::Data;
use super::error::ApiError;

/// Recommendations per page, at most and by default.
const RESULTS_PER_PAGE: usize = 1_000;

pub fn list_recommendations(data: &Data, region: &str, body: &[u8]) -> Result<Vec<u8>, ApiError> {
    let refuse = |words: &str| ApiError::new(400, "ValidationException", words);
    if region != "us-east-1" {
        return Err(refuse("another region"));
    }
    let request: Value = serde_json::from_slice(body).map_err(|_| refuse("not JSON"))?;
    let types = request["filter"]["resourceTypes"].as_array();
    let is_wanted =
        |advice: &&Value| types.is_none_or(|names| names.contains(&advice["currentResourceType"]));
    let skip: usize = match request["nextToken"].as_str() {
        None => 0,
        Some(token) => token.parse().map_err(|_| refuse("not a token"))?,
    };
    let recommendations: Vec<&Value> = data.recommendations.iter().filter(is_wanted).collect();
    let limit = data.page(RESULTS_PER_PAGE);
    let page: Vec<&Value> = recommendations.iter().copied().skip(skip).take(limit).collect();
    let mut answer = json!({ "items": page });
    if skip + limit < recommendations.len() {
        answer["nextToken"] = (skip + limit).to_string().into();
    }
    Ok(answer.to_string().into_bytes())
}
