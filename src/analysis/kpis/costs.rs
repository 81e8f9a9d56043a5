//! What training jobs that ended cost, and units of work: of a workload or training job, and of
//! one run of instances without an account.

use crate::analysis::AuditedWorkload;
use crate::analysis::hosts::sum;
use crate::analysis::inventory::{ListedJob, listed_jobs};
use crate::catalog::Prices;
use crate::domain::{
    Currency, HOUR_SECONDS, JobStatus, Kpi, KpiValue, Money, NoPrice, Policy, PriceKey, PriceQuote,
    TrainingJob, UnitCost, Window, WorkUnits, nearest_names,
};
use jiff::SignedDuration;
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

/// Why units cannot be priced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    #[error("no workload or training job is called `{name}`")]
    Unknown { name: String, nearest: Vec<String> },
    #[error("`{name}` is a training job: its units are those of the whole job")]
    WindowOfJob { name: String },
}

/// The cost of each kind of units, in their order: of workloads at today's running time, of
/// all that have the name; of training jobs to the second that was billed.
///
/// # Errors
/// With the first name that nothing has, and the first training job with a window.
pub fn unit_costs(
    units: &[WorkUnits],
    workloads: &[AuditedWorkload],
    jobs: &[JobCost],
    window: Window,
    policy: &Policy,
) -> Result<Vec<UnitCost>, UnitError> {
    let of_one = |units: &WorkUnits| {
        let name = units.name.as_str();
        let has_name = |audited: &&AuditedWorkload| {
            audited.workload.name == name || audited.workload.id() == name
        };
        let own: Vec<&AuditedWorkload> = workloads.iter().filter(has_name).collect();
        let its_jobs: Vec<&JobCost> = jobs.iter().filter(|job| job.name == name).collect();
        let cost = if !own.is_empty() {
            let monthly = sum(own.iter().map(|audited| audited.workload.monthly_cost()));
            let seconds = units.window.unwrap_or(SignedDuration::from_secs(window.seconds()));
            monthly.and_then(|cost| for_time(cost, seconds, policy))
        } else if its_jobs.is_empty() {
            return Err(unknown(name, workloads, jobs));
        } else if units.window.is_some() {
            return Err(UnitError::WindowOfJob { name: name.to_owned() });
        } else {
            sum(its_jobs.iter().map(|job| job.cost))
        };
        Ok(UnitCost { name: name.to_owned(), unit: units.unit.clone(), count: units.count, cost })
    };
    units.iter().map(of_one).collect()
}

/// What a time costs of something that costs so much per month, in cents.
fn for_time(monthly: Money, time: SignedDuration, policy: &Policy) -> Option<Money> {
    let hours = Decimal::from(time.as_secs()).checked_div(Decimal::from(HOUR_SECONDS))?;
    let amount = monthly.amount().checked_mul(hours)?.checked_div(policy.hours_per_month)?;
    Some(Money::new(amount, monthly.currency()).rounded())
}

fn unknown(name: &str, workloads: &[AuditedWorkload], jobs: &[JobCost]) -> UnitError {
    let names = workloads.iter().map(|audited| audited.workload.name.as_str());
    let mut nearest = nearest_names(name, names.chain(jobs.iter().map(|job| job.name.as_str())));
    nearest.dedup();
    UnitError::Unknown { name: name.to_owned(), nearest }
}

/// A run of some instances that was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedRun {
    /// The price of one instance.
    pub key: PriceKey,
    pub instances: u32,
    /// How long each of them ran.
    pub hours: Decimal,
    /// What was done, each with its number.
    pub units: Vec<(String, Decimal)>,
}

/// A run with what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct RunKpis {
    pub run: CountedRun,
    pub quote: PriceQuote,
    /// In cents.
    pub cost: Money,
    pub unit_costs: Vec<UnitCost>,
}

impl RunKpis {
    /// Prices a run.
    ///
    /// # Errors
    /// When its type has no price there.
    pub fn of(run: CountedRun, prices: &Prices<'_>) -> Result<Self, NoPrice> {
        let quote = prices.get(&run.key)?;
        let cost = quote.rate.times_hours(run.hours * Decimal::from(run.instances)).rounded();
        let of_one = |(unit, count): &(String, Decimal)| UnitCost {
            name: run.key.instance_type.clone(),
            unit: unit.clone(),
            count: *count,
            cost: Some(cost),
        };
        let unit_costs = run.units.iter().map(of_one).collect();
        Ok(Self { run, quote, cost, unit_costs })
    }
}
