//! Training jobs of SageMaker: `ListTrainingJobs`, `Search` and `DescribeTrainingJob`. moto
//! describes none with the seconds that it is billed for.
//!
//! Imitated: the bounds of the last change, the order by creation, newest first, pages.
//! What a test puts is what `DescribeTrainingJob` answers, unchanged.
//!
//! Not imitated: every other filter and order, which is refused.

use serde_json::{Value, json};

use super::Data;
use super::error::ApiError;

/// Jobs per page, at most.
const JOBS_PER_PAGE: u64 = 100;

/// Jobs by region, as `DescribeTrainingJob` answers them.
pub type TrainingJobs = Vec<(String, Value)>;

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
    let own = data.training_jobs.iter();
    let own = own.filter(|(place, _)| place == region);
    let own: Vec<&Value> = own.map(|(_, job)| job).collect();
    let answer = if operation == "DescribeTrainingJob" {
        let named = own.iter().find(|job| job["TrainingJobName"] == request["TrainingJobName"]);
        (*named.ok_or_else(|| refuse("Requested resource not found."))?).clone()
    } else if operation == "Search" {
        searched(data, own, &request)?
    } else {
        listed(data, own, &request)?
    };
    Ok(answer.to_string().into_bytes())
}

/// An instant of a job, in epoch seconds.
fn time(job: &Value, key: &str) -> f64 {
    job[key].as_f64().unwrap_or_default()
}

/// Jobs between two bounds of the last change, newest first.
fn searched(data: &Data, own: Vec<&Value>, request: &Value) -> Result<Value, ApiError> {
    let filters = request["SearchExpression"]["Filters"].as_array();
    let [from, to] = filters.map(Vec::as_slice).unwrap_or_default() else {
        return Err(refuse("not imitated"));
    };
    let is_imitated = request["Resource"] == "TrainingJob"
        && request["SortBy"] == "CreationTime"
        && request["SortOrder"] == "Descending"
        && from["Operator"] == "GreaterThanOrEqualTo"
        && to["Operator"] == "LessThanOrEqualTo"
        && [from, to].iter().all(|filter| filter["Name"] == "LastModifiedTime");
    let bound = |filter: &Value| {
        let text = format!("{}Z", filter["Value"].as_str().unwrap_or_default());
        let time: Result<jiff::Timestamp, _> = text.parse();
        time.map(|time| time.as_second() as f64).map_err(|_| refuse("not a time"))
    };
    if !is_imitated {
        return Err(refuse("not imitated"));
    }
    let list = json!({
        "LastModifiedTimeAfter": bound(from)?,
        "LastModifiedTimeBefore": bound(to)?,
        "SortBy": request["SortBy"],
        "SortOrder": request["SortOrder"],
        "MaxResults": request["MaxResults"],
        "NextToken": request["NextToken"],
    });
    let page = listed(data, own.clone(), &list)?;
    let rows = page["TrainingJobSummaries"].as_array();
    let rows = rows.into_iter().flatten().filter_map(|row| {
        let mut own = own.iter();
        own.find(|job| job["TrainingJobName"] == row["TrainingJobName"])
    });
    let results: Vec<Value> = rows.map(|job| json!({ "TrainingJob": job })).collect();
    let mut answer = json!({ "Results": results });
    if let Some(token) = page.get("NextToken") {
        answer["NextToken"] = token.clone();
    }
    Ok(answer)
}

fn listed(data: &Data, own: Vec<&Value>, request: &Value) -> Result<Value, ApiError> {
    let keys = request.as_object().ok_or_else(|| refuse("not an object"))?;
    let known = [
        "LastModifiedTimeAfter", "LastModifiedTimeBefore", "MaxResults", "NextToken", "SortBy",
        "SortOrder",
    ];
    let is_ordered = request["SortBy"] == "CreationTime" && request["SortOrder"] == "Descending";
    if !is_ordered || keys.keys().any(|key| !known.contains(&key.as_str())) {
        return Err(refuse("not imitated"));
    }
    let accepted = request["MaxResults"].as_u64().unwrap_or(10);
    if !(1..=JOBS_PER_PAGE).contains(&accepted) {
        return Err(refuse("MaxResults is not 1 to 100"));
    }
    let bound = |key: &str, fallback: f64| request[key].as_f64().unwrap_or(fallback);
    let after = bound("LastModifiedTimeAfter", f64::MIN);
    let before = bound("LastModifiedTimeBefore", f64::MAX);
    let mut jobs = own;
    jobs.retain(|job| (after..=before).contains(&time(job, "LastModifiedTime")));
    jobs.sort_by(|left, right| time(right, "CreationTime").total_cmp(&time(left, "CreationTime")));
    let skip: usize = match request["NextToken"].as_str() {
        Some(token) => token.parse().map_err(|_| refuse("not a token"))?,
        None => 0,
    };
    let limit = data.page(accepted as usize);
    let summaries: Vec<Value> = jobs
        .iter()
        .skip(skip)
        .take(limit)
        .map(|job| {
            json!({
                "TrainingJobName": job["TrainingJobName"],
                "CreationTime": job["CreationTime"],
                "LastModifiedTime": job["LastModifiedTime"],
                "TrainingJobStatus": job["TrainingJobStatus"],
            })
        })
        .collect();
    let mut answer = json!({ "TrainingJobSummaries": summaries });
    if skip + limit < jobs.len() {
        answer["NextToken"] = (skip + limit).to_string().into();
    }
    Ok(answer)
}
