//! Plans: which job runs where and when.

use crate::domain::MOST_JOBS;
use crate::planners::NoResult;
use crate::planners::schedule::free::{FreeGpus, Span};
use crate::planners::schedule::place::{Renting, Spot, rentings, transfer};
use crate::planners::schedule::{Job, ScheduleRequest, no_machine};
use rust_decimal::Decimal;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Probability of a miss up to which spot meets a deadline, percent: as many as 19 in 20 end in
/// time.
pub const MOST_MISS_PERCENT: f64 = 5.0;

/// Where a job runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Where {
    /// In idle hours of a host.
    Host(usize),
    /// On rented machines: which rental of its need, and how many.
    Rental { rental: usize, machines: u32, spot: Option<Spot> },
}

/// One job in a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    pub job: usize,
    pub place: Where,
    /// When it runs, ascending; several where it is interrupted by work of a host.
    pub spans: Vec<Span>,
    /// Compute that is paid for because of it, in the currency of the prices.
    pub cost: Decimal,
    /// Data that leaves its region.
    pub transfer: Decimal,
    /// Probability that interruptions make it end after its deadline, 0–1; absent without a
    /// deadline, and off spot.
    pub miss: Option<f64>,
    /// Whether it ends after its deadline, or may so with a probability above
    /// [`MOST_MISS_PERCENT`].
    pub is_late: bool,
}

impl Placement {
    pub fn total(&self) -> Decimal {
        self.cost + self.transfer
    }

    pub fn start(&self) -> i64 {
        self.spans.first().map_or(0, |(from, _)| *from)
    }

    pub fn end(&self) -> i64 {
        self.spans.last().map_or(0, |(_, to)| *to)
    }
}

/// All jobs, each placed once.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPlan {
    /// In order of the jobs.
    pub placements: Vec<Placement>,
}

impl JobPlan {
    pub(super) fn of(mut placements: Vec<Placement>) -> Self {
        placements.sort_by_key(|placement| placement.job);
        Self { placements }
    }

    pub fn compute(&self) -> Decimal {
        self.placements.iter().map(|placement| placement.cost).sum()
    }

    pub fn transfer(&self) -> Decimal {
        self.placements.iter().map(|placement| placement.transfer).sum()
    }

    /// Compute and transfer.
    pub fn cost(&self) -> Decimal {
        self.compute() + self.transfer()
    }

    /// Jobs that end after their deadline, or are too likely to.
    pub fn late(&self) -> usize {
        self.placements.iter().filter(|placement| placement.is_late).count()
    }

    /// The highest probability of a job that interruptions make it miss its deadline, 0–1.
    pub fn most_likely_miss(&self) -> Option<f64> {
        self.placements.iter().filter_map(|placement| placement.miss).reduce(f64::max)
    }

    /// From the first release to the last end.
    pub fn makespan_seconds(&self, jobs: &[Job]) -> i64 {
        let first = jobs.iter().map(|job| job.release).min().unwrap_or(0);
        self.placements.iter().map(Placement::end).max().unwrap_or(first) - first
    }

    /// Sum over the jobs of the time from release to start.
    pub fn waited_seconds(&self, jobs: &[Job]) -> i64 {
        let waited = |placement: &Placement| placement.start() - jobs[placement.job].release;
        self.placements.iter().map(waited).sum()
    }

    /// What plans are compared by.
    pub(super) fn rank(&self, jobs: &[Job]) -> (usize, Decimal, i64) {
        (self.late(), self.cost(), self.makespan_seconds(jobs))
    }
}

/// What is left of hosts and of the limit on rented GPUs.
#[derive(Clone)]
pub(super) struct Left<'a> {
    pub request: &'a ScheduleRequest,
    /// Of each job.
    rentings: &'a [Vec<Renting>],
    hosts: Vec<FreeGpus>,
    rented: Option<FreeGpus>,
}

impl<'a> Left<'a> {
    pub fn all(request: &'a ScheduleRequest, rentings: &'a [Vec<Renting>]) -> Self {
        Self {
            request,
            rentings,
            hosts: request.hosts.iter().map(|host| host.free.clone()).collect(),
            rented: request.most_gpus.map(FreeGpus::always),
        }
    }

    /// A job in idle hours of a host: at a stretch, or in pieces where it can go on after
    /// an interruption.
    fn on_host(&self, index: usize, host: usize) -> Option<Placement> {
        let request = self.request;
        let job = &request.jobs[index];
        let free = &self.hosts[host];
        let spans = if job.is_restartable {
            let restart = request.checkpointing.restart.as_secs();
            free.pieces(job.release, job.seconds, restart, job.gpus)?
        } else {
            let start = free.earliest(job.release, job.seconds, job.gpus)?;
            vec![(start, start + job.seconds)]
        };
        Some(Placement {
            job: index,
            place: Where::Host(host),
            miss: None,
            is_late: is_late(job, &spans),
            spans,
            cost: Decimal::ZERO,
            transfer: transfer(request, job, &request.hosts[host].region),
        })
    }

    /// When rented machines are free from a second on.
    fn start(&self, renting: &Renting, from: i64) -> Option<i64> {
        match &self.rented {
            Some(free) => free.earliest(from, renting.seconds, renting.gpus),
            None => Some(from),
        }
    }

    /// A job on rented machines from a second on.
    fn rented(&self, index: usize, renting: &Renting, start: i64) -> Placement {
        let job = &self.request.jobs[index];
        let spans = vec![(start, start.saturating_add(renting.seconds))];
        let miss = renting.risk.zip(job.deadline);
        let miss = miss
            .map(|(risk, deadline)| risk.takes_longer_than(deadline.saturating_sub(start) as f64));
        let is_risky = miss.is_some_and(|miss| miss * 100.0 > MOST_MISS_PERCENT);
        let Renting { rental, machines, spot, cost, transfer, .. } = *renting;
        Placement {
            job: index,
            place: Where::Rental { rental, machines, spot },
            miss,
            is_late: is_risky || is_late(job, &spans),
            spans,
            cost,
            transfer,
        }
    }

    pub fn take(&mut self, placement: &Placement) {
        let job = &self.request.jobs[placement.job];
        match placement.place {
            Where::Host(host) => {
                for span in &placement.spans {
                    self.hosts[host].take(*span, job.gpus);
                }
            }
            Where::Rental { rental, machines, .. } => {
                let gpus = self.request.needs[job.need].rentals[rental].gpus;
                if let Some(free) = &mut self.rented {
                    for span in &placement.spans {
                        free.take(*span, machines.saturating_mul(gpus));
                    }
                }
            }
        }
    }

    /// Every way to place a job now: idle hours, then rented machines, the cheapest first.
    pub fn ways(&self, index: usize) -> Vec<Placement> {
        let job = &self.request.jobs[index];
        let hosts = self.request.needs[job.need].hosts.iter();
        let on_hosts = hosts.filter_map(|host| self.on_host(index, *host));
        // Where one starts depends on its GPUs and its length alone.
        let mut starts: BTreeMap<(u32, i64), Option<i64>> = BTreeMap::new();
        let rentings = self.rentings[index].iter();
        let rented = rentings.filter_map(|renting| {
            let start = starts.entry((renting.gpus, renting.seconds));
            let start = *start.or_insert_with(|| self.start(renting, job.release));
            Some(self.rented(index, renting, start?))
        });
        on_hosts.chain(rented).collect()
    }
}

fn is_late(job: &Job, spans: &[Span]) -> bool {
    let end = spans.last().map_or(i64::MAX, |(_, to)| *to);
    job.deadline.is_some_and(|deadline| end > deadline)
}

/// List scheduling: the earliest deadline first, jobs without one last, then in the order
/// in which they come; each where it is cheapest in time, else where it ends first.
fn by_deadline(mut left: Left<'_>) -> JobPlan {
    let request = left.request;
    let mut order: Vec<usize> = (0..request.jobs.len()).collect();
    order.sort_by_key(|index| {
        let job = &request.jobs[*index];
        (job.deadline.unwrap_or(i64::MAX), job.release, *index)
    });
    let mut placements = Vec::with_capacity(order.len());
    for index in order {
        let ways = left.ways(index);
        let in_time = ways.iter().filter(|way| !way.is_late);
        let cheapest = in_time.min_by_key(|way| (way.total(), way.end()));
        let first = || ways.iter().min_by_key(|way| (way.end(), way.total()));
        // Each job has machines on demand, and these find a start.
        let Some(chosen) = cheapest.or_else(first) else { continue };
        left.take(chosen);
        placements.push(chosen.clone());
    }
    JobPlan::of(placements)
}

/// On demand in the region of the data, at once or as soon as the limit allows; no job
/// overtakes another.
///
/// # Errors
/// When a job finds no machine on demand.
fn first_come(mut left: Left<'_>) -> Result<JobPlan, NoResult> {
    let request = left.request;
    let mut order: Vec<usize> = (0..request.jobs.len()).collect();
    order.sort_by_key(|index| (request.jobs[*index].release, *index));
    let mut placements = Vec::with_capacity(order.len());
    let mut from = i64::MIN;
    for index in order {
        let job = &request.jobs[index];
        let rentals = &request.needs[job.need].rentals;
        let region = job.data_region.as_ref().unwrap_or(&request.home_region);
        let on_demand = left.rentings[index].iter();
        let chosen = on_demand.filter(|renting| renting.spot.is_none()).min_by_key(|renting| {
            (Reverse(rentals[renting.rental].region == *region), renting.total(), renting.rental)
        });
        let start = |renting: &Renting| left.start(renting, from.max(job.release));
        let placed = chosen.and_then(|renting| Some(left.rented(index, renting, start(renting)?)));
        let placed = placed.ok_or_else(|| no_machine(request, job))?;
        left.take(&placed);
        from = placed.start();
        placements.push(placed);
    }
    Ok(JobPlan::of(placements))
}

/// Placements that are tried; after them the best so far counts.
const MOST_TRIALS: u32 = 100_000;

/// The plan with the fewest late jobs, of these the cheapest, of these the one that ends
/// first, and whether everything was tried. Jobs that are placed one after the other, each
/// as early as it can, reach the best of all plans in one of their orders.
fn best(left: &Left<'_>, known: &JobPlan) -> (JobPlan, bool) {
    let cheapest = |job| left.ways(job).iter().map(Placement::total).min().unwrap_or_default();
    let cheapest = (0..left.request.jobs.len()).map(cheapest).collect();
    let mut search = Search { cheapest, best: known.clone(), trials: 0 };
    search.go_on(left, &mut Vec::new());
    (search.best, search.trials < MOST_TRIALS)
}

struct Search {
    /// The least that each job can cost.
    cheapest: Vec<Decimal>,
    best: JobPlan,
    trials: u32,
}

impl Search {
    fn go_on(&mut self, left: &Left<'_>, placed: &mut Vec<Placement>) {
        let jobs = &left.request.jobs;
        let is_placed = |index: &usize| placed.iter().any(|placement| placement.job == *index);
        let open: Vec<usize> = (0..jobs.len()).filter(|index| !is_placed(index)).collect();
        let (late, cost, makespan) = JobPlan { placements: placed.clone() }.rank(jobs);
        let least: Decimal = open.iter().map(|index| self.cheapest[*index]).sum();
        if (late, cost + least, makespan) >= self.best.rank(jobs) {
            return;
        }
        if open.is_empty() {
            self.best = JobPlan::of(placed.clone());
            return;
        }
        for index in open {
            let mut ways = left.ways(index);
            ways.sort_by_key(|way| (way.is_late, way.total(), way.end()));
            for way in ways {
                if self.trials >= MOST_TRIALS {
                    return;
                }
                self.trials += 1;
                let mut rest = left.clone();
                rest.take(&way);
                placed.push(way);
                self.go_on(&rest, placed);
                placed.pop();
            }
        }
    }
}

/// Jobs for which every order is tried.
const MOST_EXACT_JOBS: usize = 7;

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
    let rentings = rentings(&request)?;
    let left = Left::all(&request, &rentings);
    let planned = by_deadline(left.clone());
    let first_come = first_come(left.clone())?;
    let best = (jobs <= MOST_EXACT_JOBS).then(|| best(&left, &planned));
    Ok(JobSchedule { request, planned, first_come, best })
}
