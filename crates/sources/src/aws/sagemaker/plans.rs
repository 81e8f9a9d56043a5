//! Training plans: capacity that is paid for ahead, with what of it is in use.

use super::listed::{SAGEMAKER, instant};
use crate::Outcome;
use crate::aws::answers::answers;
use crate::aws::session::RegionClients;
use crate::domain::{Currency, PlanStatus, TrainingPlan};
use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;

/// Plans that hold nothing any more.
const OVER: [&str; 2] = ["Expired", "Failed"];

answers! { "PascalCase":
    struct Summary {
        training_plan_arn: String,
        status: String,
        duration_hours: Option<u64>,
        duration_minutes: Option<u64>,
        start_time: Option<f64>,
        end_time: Option<f64>,
        upfront_fee: Option<String>,
        currency_code: Option<String>,
        total_instance_count: Option<u32>,
        in_use_instance_count: Option<u32>,
        reserved_capacity_summaries: Option<Vec<Capacity>>,
    }

    struct Capacity {
        instance_type: String,
        total_instance_count: u32,
    }
}

/// Plans that have not ended.
///
/// # Errors
/// When they cannot be listed.
pub(super) async fn plans(clients: &RegionClients, account: &str) -> Outcome<Vec<TrainingPlan>> {
    let summaries: Vec<Summary> = clients
        .ask_list(&SAGEMAKER, "ListTrainingPlans", "TrainingPlanSummaries", json!({}))
        .await?;
    let lasting = summaries.into_iter().filter(|summary| !OVER.contains(&summary.status.as_str()));
    Ok(lasting.map(|summary| summary.plan(account, &clients.region)).collect())
}

impl Summary {
    fn plan(self, account: &str, region: &str) -> TrainingPlan {
        let capacities = self.reserved_capacity_summaries.unwrap_or_default();
        let mut instances: BTreeMap<String, u32> = BTreeMap::new();
        // Capacity in several parts, one after the other, is that of the largest: the total
        // of the plan says how many instances there are.
        for capacity in capacities {
            let count = instances.entry(capacity.instance_type).or_default();
            *count = (*count).max(capacity.total_instance_count);
        }
        let minutes = self.duration_minutes.unwrap_or_default();
        let hours = self.duration_hours;
        let fee = self
            .upfront_fee
            .and_then(|fee| fee.parse::<Decimal>().ok())
            .filter(|fee| !fee.is_sign_negative())
            .zip(match &self.currency_code {
                Some(code) => Currency::from_name(code),
                None => Some(Currency::of_region(region)),
            });
        TrainingPlan {
            id: self.training_plan_arn,
            account: account.to_owned(),
            region: region.to_owned(),
            status: status(&self.status),
            instances: instances.into_iter().collect(),
            total: self.total_instance_count,
            in_use: self.in_use_instance_count,
            start: instant(self.start_time),
            end: instant(self.end_time),
            duration_minutes: hours.and_then(|hours| hours.checked_mul(60)?.checked_add(minutes)),
            currency: fee.map(|(_, currency)| currency),
            upfront_fee: fee.map(|(fee, _)| fee),
        }
    }
}

/// A status as SageMaker writes it, which is also how it is called here.
fn status(name: &str) -> Option<PlanStatus> {
    PlanStatus::ALL.iter().copied().find(|status| format!("{status:?}") == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn read(answer: Value) -> TrainingPlan {
        let summary: Summary = serde_json::from_value(answer).expect("as botocore has it");
        summary.plan("111122223333", "us-east-1")
    }

    #[test]
    fn a_plan_has_its_fee_its_window_and_its_instances() {
        let capacity = |count: u32| {
            json!({
                "ReservedCapacityArn": "arn:aws:sagemaker:us-east-1:111122223333:reserved-capacity/a",
                "InstanceType": "ml.p5.48xlarge", "TotalInstanceCount": count, "Status": "Active",
            })
        };
        let plan = read(json!({
            "TrainingPlanArn": "arn:aws:sagemaker:us-east-1:111122223333:training-plan/spring",
            "TrainingPlanName": "spring",
            "Status": "Active",
            "DurationHours": 240,
            "DurationMinutes": 30,
            "StartTime": 1_790_000_000,
            "EndTime": 1_790_865_800,
            "UpfrontFee": "30303.00",
            "CurrencyCode": "USD",
            "TotalInstanceCount": 4,
            "AvailableInstanceCount": 1,
            "InUseInstanceCount": 3,
            // Two weeks with a pause between them.
            "ReservedCapacitySummaries": [capacity(4), capacity(4)],
        }));
        assert_eq!(plan.name(), "spring");
        assert_eq!(plan.instances, [("ml.p5.48xlarge".to_owned(), 4)]);
        assert_eq!((plan.total, plan.in_use), (Some(4), Some(3)));
        // 240.5 hours of 4 instances are 962: 30,303 ÷ 962 = 31.5.
        assert_eq!(plan.duration_minutes, Some(14_430));
        let hourly = plan.effective_hourly().map(|rate| rate.amount().round_dp(6));
        assert_eq!(hourly, Some(Decimal::new(315, 1)));
    }

    #[test]
    fn a_fee_that_is_not_readable_is_absent() {
        let with = |fee: Value, currency: Value| {
            let plan = read(json!({
                "TrainingPlanArn": "arn:a/b", "Status": "Frozen",
                "UpfrontFee": fee, "CurrencyCode": currency,
            }));
            (plan.status, plan.fee().map(|fee| fee.to_string()))
        };
        let shown = |text: &str| (None, Some(text.to_owned()));
        assert_eq!(with(json!("1.5"), Value::Null), shown("$1.50"));
        assert_eq!(with(json!("much"), Value::Null), (None, None));
        assert_eq!(with(json!("-1"), json!("USD")), (None, None));
        assert_eq!(with(json!("1"), json!("XAU")), (None, None));
        assert_eq!(with(Value::Null, Value::Null), (None, None));
    }
}
