//! Jobs placed into idle hours of machines that run anyway, onto spot and on demand, by
//! dollars within their deadlines; beside them what first come, first served costs.

mod free;
mod place;
mod plan;

pub use free::{FreeGpus, Span};
pub use place::Spot;
pub use plan::{JobPlan, JobSchedule, MOST_MISS_PERCENT, Placement, Where, schedule_jobs};

use crate::domain::{Currency, HourlyRate, InterruptionBand, PriceQuote, shell_word};
use crate::planners::NoResult;
use crate::savings::Checkpointing;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// A job. Times are Unix seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Job {
    pub name: String,
    /// Which of the needs: the GPU that it asks for.
    pub need: usize,
    pub gpus: u32,
    /// How long it runs on these GPUs without an interruption.
    pub seconds: i64,
    /// It cannot start before.
    pub release: i64,
    pub deadline: Option<i64>,
    /// Whether it goes on from a checkpoint when it was interrupted.
    pub is_restartable: bool,
    /// Where its data is; absent where it has none, or it does not matter.
    pub data_region: Option<String>,
    pub data_gb: Decimal,
}

/// What is to be placed, and where that can be.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleRequest {
    pub jobs: Vec<Job>,
    pub needs: Vec<Need>,
    /// Machines that run anyway, with their idle hours.
    pub hosts: Vec<Host>,
    /// GPUs of rented machines at a time; absent for any number.
    pub most_gpus: Option<u32>,
    /// Where first come, first served runs jobs without data.
    pub home_region: String,
    /// Of all prices.
    pub currency: Currency,
    /// Data that leaves its region, per GB.
    pub transfer_per_gb: Decimal,
    pub checkpointing: Checkpointing,
    /// Interruptions a day and machine to compute with at least.
    pub least_interruptions_per_day: f64,
}

/// A machine that can be rented in any number.
#[derive(Debug, Clone, PartialEq)]
pub struct Rental {
    pub instance_type: String,
    pub region: String,
    pub gpus: u32,
    pub rate: HourlyRate,
    /// Absent where no list has the price that the rate comes from.
    pub quote: Option<PriceQuote>,
    pub is_spot: bool,
    /// How often spot machines of the type are interrupted.
    pub band: Option<InterruptionBand>,
}

/// A machine that is paid for already.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    pub id: String,
    pub instance_type: String,
    pub region: String,
    /// Its GPUs where every one of them is idle.
    pub free: FreeGpus,
    pub gpus: u32,
}

/// A GPU that jobs ask for, as it was written, with what has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Need {
    pub name: String,
    pub rentals: Vec<Rental>,
    /// Which of the hosts.
    pub hosts: Vec<usize>,
    /// Machines in their regions that are left out because they are priced in other currencies
    /// than that of the plan, by currency.
    pub other_currencies: BTreeMap<Currency, usize>,
}

/// No priced machine has the GPUs of a job.
fn no_machine(request: &ScheduleRequest, job: &Job) -> NoResult {
    let Job { name, gpus, .. } = job;
    let Need { name: need, other_currencies, .. } = &request.needs[job.need];
    no_result! {
        "no priced machine has the GPUs of the job `{name}`: {gpus} × {need}{}", elsewhere(other_currencies.values().sum());
        "`gpucost pricing --gpu {} --region all` shows where it is sold: pass `--region`", shell_word(need)
    }
}

fn elsewhere(skipped: usize) -> String {
    match skipped {
        0 => String::new(),
        1 => "; 1 offer in another currency is left out".to_owned(),
        more => format!("; {more} offers in other currencies are left out"),
    }
}

#[cfg(test)]
mod tests;
