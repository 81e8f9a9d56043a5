//! Where a job can run, what that costs, and how likely interruptions make it miss its deadline on
//! spot.

use crate::domain::{HOUR_SECONDS, InterruptionBand};
use crate::planners::NoResult;
use crate::planners::schedule::{Job, Rental, ScheduleRequest, no_machine};
use crate::savings::Interruptions;
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::collections::BTreeMap;
use std::f64::consts::PI;

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
        let rentings = shortlists.entry(key).or_insert_with(|| shortlist_of(request, key)).iter();
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
    best.into_values().map(|(_, _, index, machines)| (index, machines)).collect()
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

/// Interruptions on average above which the time that they take is normally distributed.
const MANY: f64 = 100.0;
/// Uniform numbers above which their sum is.
const MANY_UNIFORM: u32 = 12;
/// Numbers of interruptions are added up until so much of their distribution is left.
const NEGLIGIBLE: f64 = 1e-9;

/// What interruptions may take from a job, which come at random at a constant rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SpotRisk {
    /// Interruptions of the whole job a second.
    pub per_second: f64,
    /// Time between checkpoints, which are part of it.
    pub interval_seconds: f64,
    pub restart_seconds: f64,
    /// Of the job with its checkpoints, without an interruption.
    pub uninterrupted_seconds: f64,
}

impl SpotRisk {
    /// Probability that the job takes longer than so many seconds, 0–1. Each interruption
    /// takes a restart and the work since the last checkpoint, which is evenly distributed
    /// between none and all of an interval.
    pub fn takes_longer_than(self, seconds: f64) -> f64 {
        let slack = seconds - self.uninterrupted_seconds;
        if slack < 0.0 {
            return 1.0;
        }
        let mean = self.per_second * seconds;
        let (interval, restart) = (self.interval_seconds, self.restart_seconds);
        if mean > MANY {
            let loss = interval / 2.0 + restart;
            let square = loss * loss + interval * interval / 12.0;
            return normal_tail((slack - mean * loss) / (mean * square).sqrt());
        }
        // Of each number of interruptions, how likely it is (Poisson) and how likely it takes
        // too much.
        let mut likelihood = (-mean).exp();
        let mut left = 1.0 - likelihood;
        let mut longer = 0.0;
        let mut number = 0;
        while left > NEGLIGIBLE {
            number += 1;
            likelihood *= mean / f64::from(number);
            left -= likelihood;
            let work = (slack - f64::from(number) * restart) / interval;
            longer += likelihood * uniforms_exceed(number, work);
        }
        longer.min(1.0)
    }
}

/// Probability that so many numbers between 0 and 1 add up to more than a sum (Irwin–Hall).
fn uniforms_exceed(number: u32, sum: f64) -> f64 {
    let count = f64::from(number);
    if sum <= 0.0 {
        return 1.0;
    }
    if sum >= count {
        return 0.0;
    }
    if number > MANY_UNIFORM {
        return normal_tail((sum - count / 2.0) / (count / 12.0).sqrt());
    }
    // Σ (−1)^k C(n, k) (x − k)^n / n! over all k below x.
    let (mut choose, mut below, mut factorial) = (1.0, 0.0, 1.0);
    for k in (0..number).map(f64::from) {
        if k < sum {
            below += choose * (sum - k).powf(count);
        }
        choose *= -(count - k) / (k + 1.0);
        factorial *= k + 1.0;
    }
    (1.0 - below / factorial).clamp(0.0, 1.0)
}

/// Probability above so many standard deviations, to seven decimals: Abramowitz and Stegun,
/// *Handbook of Mathematical Functions* (1964), 26.2.17.
fn normal_tail(deviations: f64) -> f64 {
    let z = deviations.abs();
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let factors = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let sum = factors.iter().fold(0.0, |sum, factor| (sum + factor) * t);
    let tail = (-z * z / 2.0).exp() / (2.0 * PI).sqrt() * sum;
    if deviations < 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(actual: f64, expected: f64, within: f64) {
        assert!((actual - expected).abs() <= within, "{actual}, expected {expected}");
    }

    /// A job of so many hours with one interruption a day, checkpoints of 60 s every 3,220 s
    /// and restarts of 5 minutes.
    fn of_hours(hours: f64) -> SpotRisk {
        SpotRisk {
            per_second: 1.0 / 86_400.0,
            interval_seconds: 3_220.0,
            restart_seconds: 300.0,
            uninterrupted_seconds: hours * 3_600.0 / (1.0 - 60.0 / 3_220.0),
        }
    }

    #[test]
    fn sums_of_uniform_numbers_by_hand() {
        // A half, a triangle, a pyramid, and the middle of any number.
        near(uniforms_exceed(1, 0.25), 0.75, 1e-12);
        near(uniforms_exceed(2, 1.5), 0.125, 1e-12);
        near(uniforms_exceed(3, 1.0), 5.0 / 6.0, 1e-12);
        near(uniforms_exceed(3, 2.0), 1.0 / 6.0, 1e-12);
        near(uniforms_exceed(12, 6.0), 0.5, 1e-9);
        near(uniforms_exceed(13, 6.5), 0.5, 1e-7);
        assert_eq!(uniforms_exceed(2, 0.0), 1.0);
        assert_eq!(uniforms_exceed(2, 2.0), 0.0);
        // Published tables.
        near(normal_tail(1.96), 0.024_998, 1e-6);
        near(normal_tail(-1.0), 0.841_345, 1e-6);
    }

    #[test]
    fn one_interruption_by_hand() {
        let risk = SpotRisk {
            per_second: 1e-6,
            interval_seconds: 1_000.0,
            restart_seconds: 0.0,
            uninterrupted_seconds: 750.0,
        };
        // In 1,000 s there is one with a probability of 0.001 e^(−0.001), and it takes more than
        // the 250 s that are left in 0.75 of all cases; two are there with 0.000_000_499_5, and
        // take more in 1 − 0.25² / 2 of them.
        near(risk.takes_longer_than(1_000.0), 0.000_749_734, 1e-9);
        assert_eq!(risk.takes_longer_than(749.0), 1.0);
        // Where a restart takes more than what is left, any interruption is too much.
        let risk = of_hours(0.0);
        near(risk.takes_longer_than(299.0), 1.0 - (-299.0_f64 / 86_400.0).exp(), 1e-9);
    }

    /// The job step by step: interruptions at random, also during restarts, and work that
    /// goes on from the last checkpoint.
    fn simulated(hours: f64, deadline: f64, runs: u32) -> f64 {
        let mut random = fastrand::Rng::with_seed(26);
        let mut wait = || -(1.0 - random.f64()).ln() * 86_400.0;
        let late = (0..runs).filter(|_| {
            let (mut at, mut saved, mut next) = (0.0, 0.0, wait());
            loop {
                let rest = hours * 3_600.0 - saved;
                let takes = rest + 60.0 * (rest / 3_160.0).floor();
                if at + takes <= next {
                    return at + takes > deadline * 3_600.0;
                }
                saved += ((next - at) / 3_220.0).floor() * 3_160.0;
                at = next + 300.0;
                next += wait();
                while next < at {
                    at = next + 300.0;
                    next += wait();
                }
            }
        });
        late.count() as f64 / f64::from(runs)
    }

    /// 10:26 and 11 h of ten hours of work are missed in 29% and 10% of the runs.
    #[test]
    fn a_simulation_agrees() {
        for (hours, deadline) in
            [(10.0, 10.433), (10.0, 11.0), (10.0, 11.5), (10.0, 12.0), (2.0, 2.5), (100.0, 105.0)]
        {
            let expected = simulated(hours, deadline, 40_000);
            let computed = of_hours(hours).takes_longer_than(deadline * 3_600.0);
            // A little too much rather than too little.
            assert!(
                (-0.01..0.03).contains(&(computed - expected)),
                "{hours} by {deadline}: {computed}, simulated {expected}"
            );
        }
        near(of_hours(10.0).takes_longer_than(43_200.0), 0.006_365, 1e-6);
    }

    /// Where there are many, the two ways to compute meet.
    #[test]
    fn many_interruptions_are_normal() {
        let of = |per_second: f64| SpotRisk {
            per_second,
            interval_seconds: 600.0,
            restart_seconds: 60.0,
            uninterrupted_seconds: 1_000_000.0 - 38_000.0,
        };
        let few = of(99.9e-6).takes_longer_than(1_000_000.0);
        let many = of(100.1e-6).takes_longer_than(1_000_000.0);
        near(few, many, 0.02);
        assert!((0.2..0.5).contains(&few), "{few}");
    }
}
