//! Why jobs cannot be placed.

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
    #[error("no priced machine has the GPUs of the job `{job}`: {gpus} × {need}")]
    NoMachine {
        job: String,
        gpus: u32,
        need: String,
    },
    #[error("the job `{job}` takes {gpus} GPUs of rented machines, above the limit of {most}")]
    AboveLimit { job: String, gpus: u32, most: u32 },
}
