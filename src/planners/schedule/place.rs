//! Where a job can run, and what that costs.

use super::question::{Job, Rental, ScheduleRequest, no_machine};
use super::risk::SpotRisk;
use crate::domain::{HOUR_SECONDS, InterruptionBand};
use crate::planners::NoResult;
use crate::savings::Interruptions;
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Share of the time that interruptions may take from a job on spot, 0–1.
const MOST_OVERHEAD: f64 = 0.5;

/// How interruptions lengthen a job on spot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spot {
    pub band: Option<InterruptionBand>,
    /// Share of the time that checkpoints and restarts take.
    pub overhead_percent: f64,
    pub seconds: i64,
}

/// Renting for one job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Renting {
    /// Which rental of the need.
    pub rental: usize,
    pub machines: u32,
    /// All GPUs of these machines.
    pub gpus: u32,
    /// With what interruptions take.
    pub seconds: i64,
    pub spot: Option<Spot>,
    /// What more interruptions may take; absent off spot.
    pub risk: Option<SpotRisk>,
    /// Compute, and data that leaves its region.
    pub cost: Decimal,
    pub transfer: Decimal,
}

impl Renting {
    pub fn total(&self) -> Decimal {
        self.cost + self.transfer
    }
}

/// Rentals and their number, the cheapest of each region on demand and as spot.
type Shortlist = Vec<(usize, u32)>;

/// Where each job can run, in order of the jobs, the cheapest first.
///
/// # Errors
/// When a job cannot run anywhere or not before its deadline.
pub(super) fn rentings(request: &ScheduleRequest) -> Result<Vec<Vec<Renting>>, NoResult> {
    let mut shortlists: BTreeMap<(usize, u32), Shortlist> = BTreeMap::new();
    let of_job = |job: &Job| {
        check_deadline(job)?;
        let key = (job.need, job.gpus);
        let shortlist = shortlists.entry(key).or_insert_with(|| shortlist_of(request, key));
        let rentings = shortlist.iter();
        let rentings =
            rentings.filter_map(|(rental, machines)| renting(request, job, *rental, *machines));
        let mut own: Vec<Renting> = rentings.collect();
        check_rentings(request, job, &own)?;
        own.retain(|renting| renting.gpus <= request.most_gpus.unwrap_or(u32::MAX));
        own.sort_by_key(|renting| (renting.total(), renting.seconds, renting.gpus, renting.rental));
        Ok(own)
    };
    request.jobs.iter().map(of_job).collect()
}

fn check_deadline(job: &Job) -> Result<(), NoResult> {
    let end = job.release.saturating_add(job.seconds);
    let (name, hours) = (&job.name, job.seconds as f64 / HOUR_SECONDS as f64);
    let nearest = Timestamp::from_second(end).map_or_else(
        |_| "give it fewer hours".to_owned(),
        |nearest| format!("the nearest deadline that it can meet is {nearest}"),
    );
    refuse! {
        job.deadline.is_some_and(|deadline| end > deadline) => "the job `{name}` takes {hours:.2} h and misses its deadline even if it starts at once"; "{nearest}";
    }
    Ok(())
}

/// Every job can run on demand: what idle hours leave runs there.
fn check_rentings(request: &ScheduleRequest, job: &Job, own: &[Renting]) -> Result<(), NoResult> {
    let least = own.iter().filter(|renting| renting.spot.is_none());
    let gpus = least.map(|renting| renting.gpus).min();
    let gpus = gpus.ok_or_else(|| no_machine(request, job))?;
    let (name, most) = (&job.name, request.most_gpus.unwrap_or(u32::MAX));
    refuse! {
        gpus > most => "the job `{name}` takes {gpus} GPUs of rented machines, above the limit of {most}"; "pass `--max-gpus {gpus}` or more";
    }
    Ok(())
}

/// One machine that has all GPUs; several of the largest only where none has.
fn shortlist_of(request: &ScheduleRequest, (need, gpus): (usize, u32)) -> Shortlist {
    let rentals = &request.needs[need].rentals;
    let largest = rentals.iter().map(|rental| rental.gpus).max().unwrap_or(0);
    // By region and offer: price of all machines, their GPUs, the rental, their number.
    let mut best: BTreeMap<(&str, bool), (Decimal, u32, usize, u32)> = BTreeMap::new();
    for (index, rental) in rentals.iter().enumerate().filter(|(_, rental)| rental.gpus > 0) {
        if rental.gpus < gpus.min(largest) {
            continue;
        }
        let machines = gpus.div_ceil(rental.gpus);
        let hourly = rental.rate.amount() * Decimal::from(machines);
        let total = machines.saturating_mul(rental.gpus);
        let offer = (hourly, total, index, machines);
        let known = best.entry((rental.region.as_str(), rental.is_spot));
        let known = known.or_insert(offer);
        *known = (*known).min(offer);
    }
    let best = best.into_values();
    best.map(|(_, _, index, machines)| (index, machines)).collect()
}

fn renting(request: &ScheduleRequest, job: &Job, rental: usize, machines: u32) -> Option<Renting> {
    let offer = &request.needs[job.need].rentals[rental];
    let (spot, risk) = if offer.is_spot {
        spot(request, job, offer, machines).map(|(spot, risk)| (Some(spot), Some(risk)))?
    } else {
        (None, None)
    };
    let seconds = spot.map_or(job.seconds, |spot| spot.seconds);
    let hours = Decimal::from(seconds) / Decimal::from(HOUR_SECONDS);
    let cost = offer.rate.amount() * Decimal::from(machines) * hours;
    Some(Renting {
        rental,
        machines,
        gpus: machines.saturating_mul(offer.gpus),
        seconds,
        spot,
        risk,
        cost: cost.round_dp(6),
        transfer: transfer(request, job, &offer.region),
    })
}

/// How long a job takes on spot, and what that depends on; absent where it may not run there.
fn spot(
    request: &ScheduleRequest,
    job: &Job,
    rental: &Rental,
    machines: u32,
) -> Option<(Spot, SpotRisk)> {
    if !job.is_restartable {
        return None;
    }
    let rate = Interruptions::of(rental.band, machines, request.least_interruptions_per_day);
    let interval = request.checkpointing.kept_interval(rate.per_hour);
    let overhead = request.checkpointing.overhead(interval, rate.per_hour);
    let seconds = (job.seconds as f64 / (1.0 - overhead)).ceil();
    if overhead >= MOST_OVERHEAD || seconds >= 1e15 {
        return None;
    }
    let saving = request.checkpointing.saving_share(interval);
    let spot =
        Spot { band: rental.band, overhead_percent: overhead * 100.0, seconds: seconds as i64 };
    let risk = SpotRisk {
        per_second: rate.per_hour / HOUR_SECONDS as f64,
        interval_seconds: interval.as_secs_f64(),
        restart_seconds: request.checkpointing.restart.as_secs_f64(),
        uninterrupted_seconds: job.seconds as f64 / (1.0 - saving),
    };
    Some((spot, risk))
}

/// What moving its data into a region costs.
pub(super) fn transfer(request: &ScheduleRequest, job: &Job, region: &str) -> Decimal {
    let is_elsewhere = job.data_region.as_deref().is_some_and(|data| data != region);
    if is_elsewhere { job.data_gb * request.transfer_per_gb } else { Decimal::ZERO }
}
