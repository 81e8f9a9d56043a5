//! Key figures of a fleet: what its GPU hours are good for and cost, how busy its GPUs are once
//! the plan is carried out, what training jobs cost, how soon instances work, and what units of
//! work cost. `docs/kpis.md` defines each.

use crate::analysis::AuditedWorkload;
use crate::analysis::inventory::{ListedJob, listed_jobs, sum};
use crate::catalog::{self, Prices};
use crate::domain::{
    Action, ActionKind, Currency, GpuUsage, HOUR_SECONDS, JobStatus, Kpi, KpiValue, Money, NoPrice,
    Policy, PriceKey, PriceQuote, Signal, TrainingJob, UnitCost, Window, WorkUnits, Workload,
    nearest_names,
};
use crate::usage::quantile;
use jiff::SignedDuration;
use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};
use std::collections::BTreeMap;

/// The key figures of an audit.
#[derive(Debug, Clone, PartialEq)]
pub struct Kpis {
    /// Those that are known.
    pub values: BTreeMap<Kpi, KpiValue>,
    /// The training jobs that ended, the most expensive first.
    pub jobs: Vec<JobCost>,
    /// What units of work cost, in the order in which they were given; empty unless they
    /// were counted.
    pub unit_costs: Vec<UnitCost>,
}

impl Kpis {
    pub(super) fn of(
        audited: &[AuditedWorkload],
        jobs: &[TrainingJob],
        prices: &Prices<'_>,
        policy: &Policy,
        currency: Currency,
    ) -> Self {
        let jobs = ended(jobs, prices);
        let mut fleet = GpuUse::new(currency);
        let mut waits = Vec::new();
        for workload in audited {
            fleet.add(&workload.workload, policy);
            let hours = waits_for_work(&workload.workload).map(|wait| wait.as_secs_f64() / 3_600.0);
            waits.extend(hours);
        }
        waits.sort_by(f64::total_cmp);
        let wait = quantile(&waits, 0.5).and_then(KpiValue::measured);
        let of_fleet = fleet.values().into_iter().chain([(Kpi::TimeToFirstWork, wait)]);
        let values = of_fleet.chain(of_jobs(&jobs, currency));
        Self {
            values: values.filter_map(|(kpi, value)| Some((kpi, value?))).collect(),
            jobs,
            unit_costs: Vec::new(),
        }
    }

    pub fn get(&self, kpi: Kpi) -> Option<KpiValue> {
        self.values.get(&kpi).copied()
    }
}

/// GPU hours of a month at today's running time. Useful, idle and unmeasured hours are parts
/// of all; what is left was used in part.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GpuHours {
    pub all: f64,
    /// Those of measured instances, times their mean utilization.
    pub useful: f64,
    /// Those of measured instances in which a GPU did nothing.
    pub idle: f64,
    /// Those of instances whose use is not known.
    pub unmeasured: f64,
}

impl GpuHours {
    pub fn measured(&self) -> f64 {
        self.all - self.unmeasured
    }
}

/// What GPU hours are good for and cost, over some workloads.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuUse {
    currency: Currency,
    hours: GpuHours,
    /// Instances that count, and those among them that were measured.
    instances: u64,
    measured: u64,
    /// Cost per month of the measured instances with a price.
    cost: Decimal,
    /// Useful GPU hours of the same.
    useful_of_cost: f64,
    /// Their cost, each times its mean utilization in percent.
    cost_by_percent: f64,
}

/// What was measured of the GPUs of one instance.
#[derive(Debug, Clone, Copy)]
struct Activity {
    pub mean_percent: f64,
    /// Share of the time in which a GPU did nothing, mean over its GPUs, 0–1.
    idle_share: f64,
}

impl GpuUse {
    /// Of nothing yet; costs in another currency do not count.
    pub fn new(currency: Currency) -> Self {
        Self {
            currency,
            hours: GpuHours::default(),
            instances: 0,
            measured: 0,
            cost: Decimal::ZERO,
            useful_of_cost: 0.0,
            cost_by_percent: 0.0,
        }
    }

    /// Adds the instances of a workload that runs. One of an unknown type has no GPU hours.
    pub fn add(&mut self, workload: &Workload, policy: &Policy) {
        for (place, hours, activity) in gpu_hours(workload, policy) {
            self.instances += 1;
            self.hours.all += hours;
            let Some(activity) = activity else {
                self.hours.unmeasured += hours;
                continue;
            };
            let useful = hours * activity.mean_percent / 100.0;
            self.measured += 1;
            self.hours.useful += useful;
            self.hours.idle += hours * activity.idle_share;
            let instances = workload.cost.as_ref().map(|cost| &cost.instances);
            let cost =
                instances.and_then(|costs| costs.get(place)).map(|instance| instance.monthly());
            let cost = cost.filter(|cost| cost.currency() == self.currency);
            let amount = cost.and_then(|cost| cost.amount().to_f64());
            if let Some((cost, amount)) = cost.zip(amount) {
                self.cost += cost.amount();
                self.useful_of_cost += useful;
                self.cost_by_percent += amount * activity.mean_percent;
            }
        }
    }

    /// Absent where no instance counts.
    pub fn hours(&self) -> Option<GpuHours> {
        (self.instances > 0).then_some(self.hours)
    }

    /// Useful of the measured GPU hours; absent where none was measured.
    pub fn utilization_percent(&self) -> Option<f64> {
        let measured = self.hours.measured();
        (self.measured > 0 && measured > 0.0).then(|| 100.0 * self.hours.useful / measured)
    }

    /// Mean utilization of the measured instances with a price, each weighted by its cost.
    pub fn utilization_by_cost_percent(&self) -> Option<f64> {
        let cost = self.cost.to_f64()?;
        (cost > 0.0).then(|| self.cost_by_percent / cost)
    }

    /// Cost of the measured instances with a price over their useful GPU hours.
    pub fn cost_per_useful_gpu_hour(&self) -> Option<Money> {
        let useful = Decimal::from_f64(self.useful_of_cost)?;
        let is_known = useful > Decimal::ZERO && self.cost > Decimal::ZERO;
        let each = is_known.then(|| self.cost.checked_div(useful)).flatten()?;
        Some(Money::new(each, self.currency))
    }

    /// Every key figure that it has.
    fn values(&self) -> [(Kpi, Option<KpiValue>); 7] {
        let hours = self.hours();
        let of = |read: fn(GpuHours) -> f64| hours.map(read).and_then(KpiValue::measured);
        let used = hours.filter(|_| self.measured > 0);
        let of_used = |read: fn(GpuHours) -> f64| used.map(read).and_then(KpiValue::measured);
        [
            (Kpi::GpuHours, of(|hours| hours.all)),
            (Kpi::UsefulGpuHours, of_used(|hours| hours.useful)),
            (Kpi::IdleGpuHours, of_used(|hours| hours.idle)),
            (Kpi::UnmeasuredGpuHours, of(|hours| hours.unmeasured)),
            (Kpi::Utilization, self.utilization_percent().and_then(KpiValue::measured)),
            (
                Kpi::UtilizationByCost,
                self.utilization_by_cost_percent().and_then(KpiValue::measured),
            ),
            (Kpi::CostPerUsefulGpuHour, self.cost_per_useful_gpu_hour().map(KpiValue::rate)),
        ]
    }
}

/// The GPU hours per month of each instance of a workload that runs, by its place, with what was
/// measured of them. One of an unknown type has none.
fn gpu_hours(
    workload: &Workload,
    policy: &Policy,
) -> impl Iterator<Item = (usize, f64, Option<Activity>)> {
    let offer = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
    let offer = offer.filter(|_| workload.key.running).into_iter();
    offer.flat_map(move |offer| {
        let visible = usize::from(offer.share.visible_devices());
        let usage = workload.usage.iter().enumerate();
        usage.filter_map(move |(place, usage)| {
            let share = usage.running.share().unwrap_or(Decimal::ONE);
            let hours = policy.hours_per_month * share * offer.share.count();
            let activity = activity(workload, place, visible, policy);
            Some((place, hours.to_f64()?, activity))
        })
    })
}

/// What was measured of an instance: absent where its samples are too few, where they are
/// those of profiled runs, and where one of its GPUs did not report by itself.
fn activity(
    workload: &Workload,
    place: usize,
    visible_gpus: usize,
    policy: &Policy,
) -> Option<Activity> {
    let usage = workload.usage.get(place)?;
    let (signal, _) = usage.signal?;
    if signal != Signal::GpuUtilization || workload.rests_on_runs().is_some() {
        return None;
    }
    let summary = usage.summary.as_ref().filter(|summary| summary.suffices(policy))?;
    let idle = usage.gpus.iter().map(|gpu| idle_share(gpu, policy));
    let idle: Vec<f64> = idle.collect::<Option<_>>()?;
    (idle.len() == visible_gpus && visible_gpus > 0).then(|| Activity {
        mean_percent: summary.distribution.mean,
        idle_share: idle.iter().sum::<f64>() / idle.len() as f64,
    })
}

/// Share of its samples whose maximum stayed below 1%. A GPU that encodes works without a
/// kernel, so that its maxima do not say when it rests.
fn idle_share(gpu: &GpuUsage, policy: &Policy) -> Option<f64> {
    let maxima = gpu.maxima.filter(|_| !gpu.encodes())?;
    let samples = maxima.samples;
    let sampled = samples.count as f64 * f64::from(samples.period_seconds);
    let is_enough = samples.suffice(policy) && sampled > 0.0;
    is_enough.then(|| (1.0 - maxima.active_seconds as f64 / sampled).clamp(0.0, 1.0))
}

/// How long each instance that was launched in the window waited for its first work, where
/// that is known.
pub fn waits_for_work(workload: &Workload) -> impl Iterator<Item = SignedDuration> + '_ {
    workload.members.iter().filter_map(|member| member.first_work)
}

/// Useful of the GPU hours that the plan leaves, 0–100, over the measured instances alone: a stop
/// ends all hours of a machine, a schedule those that it turns off, and another type or number
/// has the GPUs of its own count. Absent where the plan leaves none of them.
pub fn planned_utilization_percent(workloads: &[AuditedWorkload], policy: &Policy) -> Option<f64> {
    let parts = workloads.iter().filter_map(|audited| planned_hours(audited, policy));
    let (useful, left) = parts.fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    (left > 0.0).then(|| 100.0 * useful / left)
}

/// The useful GPU hours of a workload on the GPUs that it moves to, at most all hours there, and
/// all that the plan leaves it. Absent where it is not known how many GPUs it moves to.
fn planned_hours(audited: &AuditedWorkload, policy: &Policy) -> Option<(f64, f64)> {
    let workload = &audited.workload;
    let stop = action(audited, |kind| kind == ActionKind::Stop);
    let stopped = stop.and_then(|_| audited.proposals.stop());
    let working = audited.working().map(|part| &part.workload);
    let share = working_share(audited)?;
    let ratio = slower(audited);
    let (mut useful, mut left) = (0.0, 0.0);
    for (place, hours, activity) in gpu_hours(workload, policy) {
        let (Some(activity), Some(id)) = (activity, workload.instances.get(place)) else {
            continue;
        };
        let is_working = working.is_some_and(|part| part.member(id).is_some());
        let ratio = if is_working { ratio } else { 1.0 };
        useful += hours * activity.mean_percent / 100.0 * ratio;
        if stopped.is_some_and(|stop| stop.members.contains(id)) {
            continue;
        }
        left += if is_working { hours * share } else { hours };
    }
    Some((useful.min(left), left))
}

fn action(audited: &AuditedWorkload, is_meant: fn(ActionKind) -> bool) -> Option<&Action> {
    audited.actions.iter().find(|action| is_meant(action.kind()))
}

/// How many hours of its new GPUs do the work of an hour today: those of the projection.
fn slower(audited: &AuditedWorkload) -> f64 {
    let resized = action(audited, |kind| kind == ActionKind::Rightsize);
    let there = resized.and_then(|_| audited.proposals.rightsize()?.projection);
    there.map_or(1.0, |there| there.ratio.value)
}

/// What the plan leaves of each GPU hour of the members that work.
fn working_share(audited: &AuditedWorkload) -> Option<f64> {
    let offered = &audited.alternatives;
    let moved = action(audited, |kind| matches!(kind, ActionKind::Rightsize | ActionKind::Share));
    let resize = moved.and_then(|moved| offered.resizes.iter().find(|offer| offer.leads_to(moved)));
    let scheduled = action(audited, |kind| kind == ActionKind::Schedule);
    let hours = scheduled.and(offered.schedule.as_ref()).map(|today| {
        resize.and_then(|offer| offer.scheduled.as_ref()).unwrap_or(&today.hours).on_share
    });
    let gpus = match moved.and_then(Action::target) {
        None => Decimal::ONE,
        Some(to) => {
            let there = catalog::shape(&to.instance_type)?.gpu.as_ref();
            let there = there.map_or(Decimal::ZERO, |gpu| gpu.share.count());
            let today = audited.working()?.workload.gpu_count()?;
            (there * Decimal::from(to.count)).checked_div(today)?
        }
    };
    (hours.unwrap_or(Decimal::ONE) * gpus).to_f64()
}

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
fn ended(jobs: &[TrainingJob], prices: &Prices<'_>) -> Vec<JobCost> {
    // What has no price is in the list, without a cost.
    let listed = listed_jobs(jobs, prices, &mut Vec::new());
    listed.iter().filter_map(JobCost::of).collect()
}

/// The key figures of the jobs whose cost is known in a currency.
fn of_jobs(jobs: &[JobCost], currency: Currency) -> [(Kpi, Option<KpiValue>); 3] {
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
