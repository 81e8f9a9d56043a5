//! Where jobs can run: idle hours of an estate, and rented machines of the price catalog.

use super::plan::EstateCommitments;
use super::prices::{GpuFilter, Offer, Question, compare};
use crate::catalog::{self, Prices};
use crate::domain::{
    Component, Currency, GpuOffer, HOUR_SECONDS, HourlyActivity, JobStatus, MOST_JOBS, Member,
    Policy, PriceKey, TrainingJob,
};
use crate::planners::schedule::{FreeGpus, Host, Need, Rental, Span};
use crate::savings::{WEEK_HOURS, is_launchable, spot_price};
use crate::usage::Estate;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeMap;

/// How often an hour of the week must have been idle, and never otherwise.
const LEAST_WEEKS: u32 = 2;

/// Machines of an estate that run anyway, each with the hours from `start` to `end` (Unix
/// seconds) in which it is idle as a rule: in every week of the record it ran through that
/// hour of the week, at least twice, and no GPU of it worked. With it what each offers.
pub fn idle_hosts(estate: &Estate, policy: &Policy, (start, end): Span) -> Vec<(Host, GpuOffer)> {
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    let (groups, _, _) = EstateCommitments::groups(estate, &prices, policy);
    let mut hosts = Vec::new();
    for group in &groups {
        let workload = &group.workload;
        let offer = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
        let Some(offer) = offer.filter(|_| workload.key.running && workload.ignored.is_none())
        else {
            continue;
        };
        let is_open = |member: &&Member| member.ignored.is_none() && member.is_running;
        for member in workload.members.iter().filter(is_open) {
            let spans = idle_spans(&member.activity, (start, end));
            if spans.is_empty() {
                continue;
            }
            let gpus = u32::from(offer.share.visible_devices());
            let host = Host {
                id: member.id.to_string(),
                instance_type: workload.key.instance_type.clone(),
                region: workload.key.region.clone(),
                free: FreeGpus::within(gpus, &spans),
                gpus,
            };
            hosts.push((host, offer.clone()));
        }
    }
    hosts.sort_by(|left, right| left.0.id.cmp(&right.0.id));
    hosts
}

/// Idle hours of the week, of UTC, as spans of time.
fn idle_spans(activity: &HourlyActivity, (start, end): Span) -> Vec<Span> {
    let mut idle = [0_u32; WEEK_HOURS];
    let mut works = [false; WEEK_HOURS];
    for hour in activity.hours() {
        let cell = cell_of(hour.start);
        let ran_through = hour.instance_hours == Decimal::ONE;
        if ran_through && hour.is_off() {
            idle[cell] += 1;
        } else {
            works[cell] = true;
        }
    }
    let mut spans: Vec<Span> = Vec::new();
    let mut at = start - start.rem_euclid(HOUR_SECONDS);
    while at < end {
        let until = at + HOUR_SECONDS;
        let cell = Timestamp::from_second(at).map(cell_of);
        let is_idle = cell.is_ok_and(|cell| idle[cell] >= LEAST_WEEKS && !works[cell]);
        if is_idle {
            let (from, to) = (at.max(start), until.min(end));
            match spans.last_mut() {
                Some(last) if last.1 == from => last.1 = to,
                _ => spans.push((from, to)),
            }
        }
        at = until;
    }
    spans
}

fn cell_of(hour: Timestamp) -> usize {
    let local = TimeZone::UTC.to_datetime(hour);
    let day = local.date().weekday().to_monday_zero_offset() as usize;
    day * 24 + local.hour() as usize
}

/// What has a GPU that jobs ask for: machines in some regions under the on-demand and the
/// spot price, in one currency, and hosts with that GPU.
pub fn job_need(
    (name, filter): (&str, &GpuFilter),
    (regions, currency): (&[String], Currency),
    hosts: &[(Host, GpuOffer)],
    prices: &Prices<'_>,
) -> Need {
    let question =
        Question { gpu: Some(filter.clone()), ..Question::of_aws(Vec::new(), regions.to_vec()) };
    let mut matching = Vec::new();
    let mut other_currencies: BTreeMap<Currency, usize> = BTreeMap::new();
    for offer in compare(&question, prices) {
        let (own, others): (Vec<Rental>, Vec<Rental>) = rentals(&offer, prices)
            .into_iter()
            .partition(|rental| rental.rate.currency() == currency);
        if let (true, Some(other)) = (own.is_empty(), others.first()) {
            *other_currencies.entry(other.rate.currency()).or_default() += 1;
        }
        matching.extend(own);
    }
    let has_it = |(_, (_, offer)): &(usize, &(Host, GpuOffer))| {
        filter.matches(offer.model.name(), offer.vram_mib)
    };
    let hosts = hosts.iter().enumerate().filter(has_it);
    Need {
        name: name.to_owned(),
        rentals: matching,
        hosts: hosts.map(|(index, _)| index).collect(),
        other_currencies,
    }
}

/// A machine on demand and as spot, where both can be launched and are priced.
fn rentals(offer: &Offer, prices: &Prices<'_>) -> Vec<Rental> {
    let gpus = offer.gpus.as_ref().and_then(|gpus| gpus.count.to_u32());
    let (Some(region), Some(gpus)) = (&offer.region, gpus.filter(|gpus| *gpus > 0)) else {
        return Vec::new();
    };
    if offer.launchable == Some(false) {
        return Vec::new();
    }
    let key = PriceKey::linux_on_demand(region, &offer.instance_type);
    let spot = spot_price(prices, &key).filter(|_| is_launchable(&key));
    let of = |rate, quote, is_spot| Rental {
        instance_type: offer.instance_type.clone(),
        region: region.clone(),
        gpus,
        rate,
        quote,
        is_spot,
        band: offer.interruption.map(|(band, _)| band),
    };
    let on_demand = offer.on_demand.as_ref();
    let on_demand = on_demand.map(|quote| of(quote.rate, Some(quote.clone()), false));
    let spot = spot.map(|price| {
        let quote = price.quotes.into_iter().next().map(|(_, quote)| quote);
        of(price.rate, quote, true)
    });
    on_demand.into_iter().chain(spot).collect()
}

/// A training job that was seen, as somebody would write it down.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenJob {
    pub name: String,
    /// As [`GpuFilter`] reads it.
    pub gpu: String,
    pub gpus: u32,
    pub seconds: i64,
    /// When it began, Unix seconds; absent where that is not known.
    pub release: Option<i64>,
    pub is_restartable: bool,
    pub region: String,
}

/// Why a training job that was seen cannot be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum UnplacedJob {
    #[error("not completed")]
    NotCompleted,
    #[error("several instance types in one job")]
    SeveralTypes,
    #[error("GPUs unknown")]
    UnknownGpus,
    #[error("duration unknown")]
    UnknownDuration,
    #[error("more than {MOST_JOBS} jobs")]
    TooMany,
}

/// Training jobs of an estate that completed and whose GPUs are known, with the number of the
/// others by reason.
pub fn seen_jobs(estate: &Estate) -> (Vec<SeenJob>, BTreeMap<UnplacedJob, usize>) {
    let mut seen = Vec::new();
    let mut unplaced: BTreeMap<UnplacedJob, usize> = BTreeMap::new();
    for job in &estate.jobs {
        let answer = match seen_job(job) {
            Ok(_) if seen.len() == MOST_JOBS => Err(UnplacedJob::TooMany),
            answer => answer,
        };
        match answer {
            Ok(placed) => seen.push(placed),
            Err(reason) => *unplaced.entry(reason).or_default() += 1,
        }
    }
    (seen, unplaced)
}

fn seen_job(job: &TrainingJob) -> Result<SeenJob, UnplacedJob> {
    if job.status != Some(JobStatus::Completed) {
        return Err(UnplacedJob::NotCompleted);
    }
    let [(instance_type, count)] = job.instances.as_slice() else {
        return Err(UnplacedJob::SeveralTypes);
    };
    let (offer, gpus) = gpus_of(instance_type, *count).ok_or(UnplacedJob::UnknownGpus)?;
    Ok(SeenJob {
        name: job.name.clone(),
        gpu: match offer.vram_mib {
            Some(mib) => format!("{}:{}GB", offer.model, (mib as f64 / 1024.0).round()),
            None => offer.model.to_string(),
        },
        gpus,
        seconds: duration(job).ok_or(UnplacedJob::UnknownDuration)?,
        release: job.started.map(Timestamp::as_second),
        is_restartable: job.has_checkpoints,
        region: job.region.clone(),
    })
}

/// The GPUs of machines of SageMaker, as those of the type of EC2 inside.
fn gpus_of(instance_type: &str, count: u32) -> Option<(&'static GpuOffer, u32)> {
    let (inside, _) = Component::of_type(instance_type)?;
    let offer = catalog::shape(inside)?.gpu.as_ref()?;
    let gpus = offer.share.count().to_u32().filter(|gpus| *gpus > 0)?;
    Some((offer, gpus.checked_mul(count).filter(|gpus| *gpus > 0)?))
}

/// How long it trained; else from its beginning to its end, else what it was billed for, which
/// is less with managed spot training.
fn duration(job: &TrainingJob) -> Option<i64> {
    let from_to = |from: Timestamp, to: Timestamp| to.as_second() - from.as_second();
    let lasted = job.started.zip(job.ended);
    let lasted = lasted.map(|(from, to)| from_to(from, to));
    let billed = job.billable_seconds.filter(|_| !job.is_spot);
    let known = [job.training_seconds.map(i64::from), lasted, billed.map(i64::from)];
    known.into_iter().flatten().find(|seconds| *seconds > 0)
}
