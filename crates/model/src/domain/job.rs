//! Work that is asked for: jobs of a managed service, which end by themselves and of which each
//! second is paid for; jobs as somebody writes them down; and requests to a service, as recorded.

use super::named::named_enum;
use super::wire::{Counts, Maybe, Time};
use super::{HOUR_SECONDS, HourlyRate, Money, PriceKey, Provider};
use jiff::Timestamp;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named_enum! {
    JobStatus {
        InProgress = "in-progress",
        Completed = "completed",
        Failed = "failed",
        Stopping = "stopping",
        Stopped = "stopped",
        Deleting = "deleting",
    }
}

/// A training job of SageMaker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a training job object")]
pub struct TrainingJob {
    /// Unique in its account and region.
    pub name: String,
    pub account: String,
    pub region: String,
    /// By type, such as `ml.p4d.24xlarge-training`; several in a heterogeneous cluster.
    #[serde(with = "Counts::<1_000>")]
    pub instances: Vec<(String, u32)>,
    /// Absent where the service says something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<JobStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    pub started: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    pub ended: Option<Timestamp>,
    /// What each instance is billed for at the on-demand price; absent until the end. With
    /// managed spot training it is less than the training time: that is the discount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billable_seconds: Option<u32>,
    /// How long each instance trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training_seconds: Option<u32>,
    /// What each instance is billed for in a warm pool after the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_pool_seconds: Option<u32>,
    /// Whether it used managed spot training.
    #[serde(default, rename = "spot")]
    pub is_spot: bool,
    /// Whether it saved checkpoints.
    #[serde(default, rename = "checkpoints")]
    pub has_checkpoints: bool,
    /// The training plan that it ran in, which is paid for ahead.
    #[serde(default, rename = "training_plan", skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

impl TrainingJob {
    /// What its costs rest on, one for each type in order; none where a plan paid.
    pub fn price_keys(&self) -> Vec<PriceKey> {
        if self.plan.is_some() {
            return Vec::new();
        }
        let keys = self.instances.iter().map(|(name, _)| PriceKey {
            provider: Provider::SageMaker,
            ..PriceKey::linux_on_demand(&self.region, name)
        });
        keys.collect()
    }

    /// What so many seconds of each instance cost at a rate for each type in order, to the
    /// cent; absent without a rate for each, and in several currencies.
    pub fn cost(&self, seconds: u32, rates: &[HourlyRate]) -> Option<Money> {
        let currency = rates.first()?.currency();
        let is_whole = rates.len() == self.instances.len()
            && rates.iter().all(|rate| rate.currency() == currency);
        if !is_whole {
            return None;
        }
        let mut total = Decimal::ZERO;
        for ((_, count), rate) in self.instances.iter().zip(rates) {
            let all_seconds = Decimal::from(u64::from(seconds) * u64::from(*count));
            total = total.checked_add(all_seconds.checked_mul(rate.amount())?)?;
        }
        let amount = total / Decimal::from(HOUR_SECONDS);
        Some(Money::new(amount, currency).rounded())
    }

    /// The share of its training time that managed spot training did not bill, percent.
    pub fn spot_saving_percent(&self) -> Option<f64> {
        let billable = f64::from(self.billable_seconds?);
        let training = self.training_seconds.filter(|seconds| *seconds > 0)?;
        let saving = 100.0 * (1.0 - billable / f64::from(training));
        self.is_spot.then_some(saving.max(0.0))
    }

    /// Puts jobs in order of account, region and name.
    pub fn sort(jobs: &mut [Self]) {
        jobs.sort_by(|left, right| {
            let names = (&left.account, &left.region, &left.name);
            names.cmp(&(&right.account, &right.region, &right.name))
        });
    }
}

/// Jobs that a list may have, and that are placed at most.
pub const MOST_JOBS: usize = 10_000;

/// An instant, or a time after the beginning of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    At(Timestamp),
    After { seconds: i64 },
}

impl Moment {
    /// Unix seconds, where a plan begins at a second.
    pub fn second(self, begin: i64) -> i64 {
        match self {
            Self::At(at) => at.as_second(),
            Self::After { seconds } => begin.saturating_add(seconds),
        }
    }
}

/// A job that is to run once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    pub name: String,
    /// Model, memory or both, such as `A100:80GB`.
    pub gpu: String,
    pub gpus: u32,
    /// How long it runs on them, hours above zero.
    pub hours: Decimal,
    pub release: Option<Moment>,
    pub deadline: Option<Moment>,
    pub is_restartable: bool,
    pub data_region: Option<String>,
    pub data_gb: Decimal,
    /// Where it is written, counted from one.
    pub line: u64,
}

impl JobRequest {
    /// Its length, rounded up.
    pub fn seconds(&self) -> i64 {
        let seconds = self.hours * Decimal::from(HOUR_SECONDS);
        seconds.ceil().to_i64().unwrap_or(i64::MAX)
    }
}

/// What a recording states about the work of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RecordedWork {
    /// Nothing.
    Unstated,
    /// How long a GPU worked on it, in seconds, above zero.
    Seconds(f64),
    /// Tokens that it brought and tokens that were generated for it; at least one in all.
    Tokens { prompt: f64, generated: f64 },
}

/// One request of a recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordedRequest {
    /// Seconds since the first request of the recording.
    pub at_seconds: f64,
    pub work: RecordedWork,
}

/// Requests of one period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountedRequests {
    /// Where the period stands, Unix milliseconds: its beginning or its end, for all alike.
    pub at_milliseconds: i64,
    /// Zero or more.
    pub requests: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Currency;

    fn job(instances: &[(&str, u32)]) -> TrainingJob {
        let instances = instances.iter();
        TrainingJob {
            name: "fit".to_owned(),
            account: "111122223333".to_owned(),
            region: "us-east-1".to_owned(),
            instances: instances.map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            status: Some(JobStatus::Completed),
            started: None,
            ended: None,
            billable_seconds: Some(3_750),
            training_seconds: Some(10_000),
            warm_pool_seconds: None,
            is_spot: true,
            has_checkpoints: true,
            plan: None,
        }
    }

    fn rate(amount: &str, currency: Currency) -> HourlyRate {
        let amount = amount.parse().expect("a decimal");
        HourlyRate::new(amount, currency).expect("positive")
    }

    #[test]
    fn a_job_costs_every_second_of_every_instance() {
        let priced = job(&[("ml.g5.xlarge-training", 2), ("ml.m5.xlarge-training", 3)]);
        let dollars = |amount| rate(amount, Currency::Usd);
        // 3,750 s × (2 × 1.408 + 3 × 0.23) = 13,147.5; ÷ 3,600 = 3.652083…
        let cost = priced.cost(3_750, &[dollars("1.408"), dollars("0.23")]);
        assert_eq!(cost.map(|cost| cost.to_string()), Some("$3.65".to_owned()));
        // Half a cent: 1 s × 5 × 3.6 ÷ 3,600 = 0.005.
        let five = job(&[("ml.g5.xlarge-training", 5)]);
        let cost = five.cost(1, &[dollars("3.6")]);
        assert_eq!(cost.map(|cost| cost.to_string()), Some("$0.01".to_owned()));

        assert_eq!(priced.cost(3_750, &[dollars("1.408")]), None);
        let yuan = rate("1", Currency::Cny);
        assert_eq!(priced.cost(3_750, &[dollars("1"), yuan]), None);
        assert_eq!(job(&[]).cost(3_750, &[]), None);
    }

    #[test]
    fn spot_saves_what_is_not_billed() {
        let mut job = job(&[("ml.g5.xlarge-training", 1)]);
        // 1 − 3,750 / 10,000
        assert_eq!(job.spot_saving_percent(), Some(62.5));
        job.training_seconds = Some(0);
        assert_eq!(job.spot_saving_percent(), None);
        job.training_seconds = Some(3_000);
        assert_eq!(job.spot_saving_percent(), Some(0.0));
        job.is_spot = false;
        assert_eq!(job.spot_saving_percent(), None);
    }

    #[test]
    fn what_a_plan_paid_for_has_no_price() {
        let mut job = job(&[("ml.p5.48xlarge-training", 1)]);
        let keys: Vec<String> = job.price_keys().iter().map(PriceKey::to_string).collect();
        let key = "sagemaker ml.p5.48xlarge-training us-east-1 linux shared on-demand";
        assert_eq!(keys, [key]);
        job.plan = Some("arn".to_owned());
        assert_eq!(job.price_keys(), []);
    }
}
