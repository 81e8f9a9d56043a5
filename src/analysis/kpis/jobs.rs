//! What training jobs that ended cost.

use crate::analysis::jobs::{ListedJob, listed_jobs};
use crate::catalog::Prices;
use crate::domain::{Currency, JobStatus, Kpi, KpiValue, Money, TrainingJob};
use rust_decimal::Decimal;

/// What a training job that ended cost, with its warm pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCost {
    pub name: String,
    pub account: String,
    pub region: String,
    pub status: JobStatus,
    /// Absent where a type has no price, and where a training plan paid for it.
    pub cost: Option<Money>,
}

impl JobCost {
    fn of(listed: &ListedJob<'_>) -> Option<Self> {
        let job = listed.job;
        let status = job.status?;
        let is_over =
            matches!(status, JobStatus::Completed | JobStatus::Failed | JobStatus::Stopped);
        let cost = match (listed.cost, listed.warm_pool_cost) {
            (Some(cost), Some(warm)) => cost.checked_add(warm).ok(),
            (cost, _) => cost,
        };
        is_over.then(|| Self {
            name: job.name.clone(),
            account: job.account.clone(),
            region: job.region.clone(),
            status,
            cost,
        })
    }
}

/// The jobs that ended, the most expensive first.
pub(super) fn ended(jobs: &[TrainingJob], prices: &Prices<'_>) -> Vec<JobCost> {
    // What has no price is in the list, without a cost.
    let listed = listed_jobs(jobs, prices, &mut Vec::new());
    listed.iter().filter_map(JobCost::of).collect()
}

/// The key figures of the jobs whose cost is known in a currency.
pub(super) fn values(jobs: &[JobCost], currency: Currency) -> [(Kpi, Option<KpiValue>); 3] {
    let in_currency = |job: &&JobCost| job.cost.is_some_and(|cost| cost.currency() == currency);
    let priced: Vec<&JobCost> = jobs.iter().filter(in_currency).collect();
    let total: Decimal = priced.iter().filter_map(|job| job.cost.map(Money::amount)).sum();
    let completed = priced.iter().filter(|job| job.status == JobStatus::Completed);
    let share = |number: usize| {
        let each = total.checked_div(Decimal::from(number))?;
        Some(KpiValue::Money(Money::new(each, currency).rounded()))
    };
    let number = (!priced.is_empty()).then_some(priced.len() as f64);
    [
        (Kpi::TrainingJobs, number.and_then(KpiValue::measured)),
        (Kpi::CostPerTrainingJob, share(priced.len())),
        (Kpi::CostPerCompletedTrainingJob, share(completed.count())),
    ]
}
