//! Jobs placed into idle hours of machines that run anyway, onto spot and on demand, by
//! dollars within their deadlines; beside them what first come, first served costs.

mod free;
mod place;
mod plan;
mod question;
mod risk;

pub use free::{FreeGpus, Span};
pub use place::Spot;
pub use plan::{JobPlan, MOST_MISS_PERCENT, Placement, Where};
pub use question::{Host, Job, Need, Rental, ScheduleRequest};

use super::NoResult;
use crate::domain::MOST_JOBS;

/// Jobs for which every order is tried.
pub const MOST_EXACT_JOBS: usize = 7;

/// Plans side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct JobSchedule {
    pub request: ScheduleRequest,
    /// By earliest deadline, each job where it is cheapest in time.
    pub planned: JobPlan,
    /// On demand at once, in the order in which jobs come.
    pub first_come: JobPlan,
    /// The best of all orders, with whether all were tried; absent for many jobs.
    pub best: Option<(JobPlan, bool)>,
}

/// Places jobs.
///
/// # Errors
/// When there are none or too many, when one cannot run anywhere, or ends after its
/// deadline even if it starts at once.
pub fn schedule_jobs(request: ScheduleRequest) -> Result<JobSchedule, NoResult> {
    let jobs = request.jobs.len();
    refuse! {
        jobs == 0 => "no jobs"; "pass a list of jobs with `--jobs FILE`";
        jobs > MOST_JOBS => "{jobs} jobs; at most {MOST_JOBS} are placed at a time"; "divide the list";
    }
    let rentings = place::rentings(&request)?;
    let planned = plan::by_deadline(&request, &rentings);
    let first_come = plan::first_come(&request, &rentings)?;
    let best = (jobs <= MOST_EXACT_JOBS).then(|| plan::best(&request, &rentings, &planned));
    Ok(JobSchedule { request, planned, first_come, best })
}

#[cfg(test)]
mod tests;
