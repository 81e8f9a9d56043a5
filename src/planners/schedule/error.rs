//! Why jobs cannot be placed.

use super::question::{Job, ScheduleRequest};
use crate::domain::MOST_JOBS;
use jiff::Timestamp;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScheduleError {
    #[error("no jobs")]
    NoJobs,
    #[error("{jobs} jobs; at most {MOST_JOBS} are placed at a time")]
    TooMany { jobs: usize },
    #[error("the job `{job}` takes {hours:.2} h and misses its deadline even if it starts at once")]
    AfterDeadline {
        job: String,
        hours: f64,
        /// The nearest deadline that it can meet.
        nearest: Option<Timestamp>,
    },
    #[error(
        "no priced machine has the GPUs of the job `{job}`: {gpus} × {need}{}",
        elsewhere(*left_out)
    )]
    NoMachine {
        job: String,
        gpus: u32,
        need: String,
        /// Machines in their regions that are priced in other currencies.
        left_out: usize,
    },
    #[error("the job `{job}` takes {gpus} GPUs of rented machines, above the limit of {most}")]
    AboveLimit { job: String, gpus: u32, most: u32 },
}

impl ScheduleError {
    pub(super) fn no_machine(request: &ScheduleRequest, job: &Job) -> Self {
        let need = &request.needs[job.need];
        Self::NoMachine {
            job: job.name.clone(),
            gpus: job.gpus,
            need: need.name.clone(),
            left_out: need.other_currencies.values().sum(),
        }
    }
}

fn elsewhere(left_out: usize) -> String {
    match left_out {
        0 => String::new(),
        1 => "; 1 offer in another currency is left out".to_owned(),
        more => format!("; {more} offers in other currencies are left out"),
    }
}
