//! Training plans of SageMaker: capacity that is bought for a while and paid for ahead,
//! whether anything runs in it or not.

use super::named::named_enum;
use super::wire::{Amount, Counts, MOST_PARTS, Maybe, Time};
use super::{Currency, HourlyRate, Money};
use jiff::Timestamp;
use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named_enum! {
    PlanStatus {
        Pending = "pending",
        Active = "active",
        Scheduled = "scheduled",
    }
}

/// A training plan of `SageMaker`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a training plan object")]
pub struct TrainingPlan {
    // Jobs, endpoints and clusters name it.
    /// ARN of the plan.
    pub id: String,
    pub account: String,
    pub region: String,
    // Absent where the service says something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<PlanStatus>,
    // Types such as `ml.p5.48xlarge`, each with the number of instances, ascending.
    /// By type.
    #[serde(with = "Counts::<MOST_PARTS>")]
    pub instances: Vec<(String, u32)>,
    /// Instances in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    /// Those that something runs on now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_use: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    pub start: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    pub end: Option<Timestamp>,
    // How long it holds them, which is less than from start to end where it is in parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_minutes: Option<u64>,
    // That of the fee, and absent without one.
    /// USD unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<Currency>,
    /// Paid once for all instances.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Amount>")]
    pub upfront_fee: Option<Decimal>,
}

impl TrainingPlan {
    /// What is paid once, for all instances and the whole time.
    pub fn fee(&self) -> Option<Money> {
        Some(Money::new(self.upfront_fee?, self.currency?))
    }

    /// What an hour of one instance costs, used or not:
    /// `upfront_fee ÷ (duration in hours × instances)`, unrounded.
    pub fn effective_hourly(&self) -> Option<HourlyRate> {
        let fee = self.fee()?;
        let minutes = Decimal::from(self.duration_minutes?);
        let all_minutes = minutes.checked_mul(Decimal::from(self.total?))?;
        let of_a_minute = fee.amount().checked_div(all_minutes)?;
        let hourly = of_a_minute.checked_mul(Decimal::from(60))?;
        HourlyRate::new(hourly, fee.currency())
    }

    /// The end of the ARN, which is its name.
    pub fn name(&self) -> &str {
        self.id.rsplit('/').next().unwrap_or(&self.id)
    }

    /// What plans are sorted by; no two have the same.
    pub fn key(&self) -> (&str, &str, &str) {
        (&self.account, &self.region, &self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(fee: &str, minutes: u64, total: u32) -> TrainingPlan {
        TrainingPlan {
            id: "arn:aws:sagemaker:us-east-1:111122223333:training-plan/spring".to_owned(),
            account: "111122223333".to_owned(),
            region: "us-east-1".to_owned(),
            status: Some(PlanStatus::Active),
            instances: vec![("ml.p5.48xlarge".to_owned(), total)],
            total: Some(total),
            in_use: Some(0),
            start: None,
            end: None,
            duration_minutes: Some(minutes),
            currency: Some(Currency::Usd),
            upfront_fee: Some(fee.parse().expect("a decimal")),
        }
    }

    #[test]
    fn the_fee_is_spread_over_the_hours_of_all_instances() {
        // 10 days of 4 instances are 960 hours: 30,240 ÷ 960 = 31.5.
        let hourly = |plan: &TrainingPlan| plan.effective_hourly().map(|rate| rate.amount());
        let spring = plan("30240", 14_400, 4);
        assert_eq!(hourly(&spring), Some(Decimal::new(315, 1)));
        assert_eq!(spring.name(), "spring");
        // 90 minutes of one: 45 ÷ 1.5 = 30.
        assert_eq!(hourly(&plan("45", 90, 1)), Some(Decimal::from(30)));
        assert_eq!(hourly(&plan("45", 0, 1)), None);
        assert_eq!(hourly(&plan("45", 90, 0)), None);
        assert_eq!(hourly(&plan("0", 90, 1)), None);
    }
}
