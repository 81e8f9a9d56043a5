//! What units of work cost, from how many of them a workload or training job did.

use super::jobs::JobCost;
use crate::analysis::AuditedWorkload;
use crate::domain::{HOUR_SECONDS, Money, Policy, UnitCost, Window, WorkUnits, nearest_names};
use jiff::SignedDuration;
use rust_decimal::Decimal;

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
            let name = name.to_owned();
            return Err(UnitError::WindowOfJob { name });
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
    let product = monthly.amount().checked_mul(hours)?;
    let amount = product.checked_div(policy.hours_per_month)?;
    Some(Money::new(amount, monthly.currency()).rounded())
}

/// Absent where a part has no price, and in several currencies.
fn sum(mut parts: impl Iterator<Item = Option<Money>>) -> Option<Money> {
    let first = parts.next()??;
    parts.try_fold(first, |sum, part| sum.checked_add(part?).ok())
}

fn unknown(name: &str, workloads: &[AuditedWorkload], jobs: &[JobCost]) -> UnitError {
    let names = workloads.iter().map(|audited| audited.workload.name.as_str());
    let names = names.chain(jobs.iter().map(|job| job.name.as_str()));
    let mut nearest = nearest_names(name, names);
    nearest.dedup();
    UnitError::Unknown { name: name.to_owned(), nearest }
}
