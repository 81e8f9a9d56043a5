//! `gpucost place`: jobs placed into idle hours, onto spot and on demand.

use super::args::{DocFormat, EstateArgs, time};
use super::choices::within;
use super::planning::Planning;
use super::scope::regions;
use super::{
    ExitCode, Failure, Io, Outcome, estate, flags, known_prices, output, parsers, refusal,
    refuse_if, sampled,
};
use crate::analysis::{GpuFilter, Question, SeenJob, UnplacedJob, idle_hosts, job_need, seen_jobs};
use crate::catalog::{self, Prices};
use crate::config::SettingsFile;
use crate::domain::{Currency, GpuModel, GpuOffer, JobRequest, PriceBook, shown};
use crate::planners::schedule::{Host, Job, ScheduleRequest, schedule_jobs};
use crate::profiling::RunProfile;
use crate::report::planners::place::place_answer;
use crate::savings::Checkpointing;
use crate::sources::files::read_jobs;
use crate::usage::Estate;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Different GPUs that jobs may ask for.
const MOST_NEEDS: usize = 200;
const MIB_OF_GIB: f64 = 1024.0;
/// Longest time ahead for which idle hours are used.
const LONGEST_HORIZON: SignedDuration = SignedDuration::from_hours(60 * 24);

parsers! {
    fn horizon(text) -> SignedDuration = Some(time(text)?).filter(|time| *time <= LONGEST_HORIZON), "expected at most 60d";
    fn transfer_price(text) -> Decimal = within(text, Decimal::ZERO..=Decimal::ONE_HUNDRED), "expected USD from 0 to 100";
}

flags! {
    /// `gpucost place`.
    pub(super) struct PlaceArgs {
        /// CSV file of jobs, with the columns name, gpu, gpus and hours, and perhaps release,
        /// deadline, restartable, data_region and data_gb [default: the runs of `--profile-data`, else
        /// training jobs that were seen]
        jobs: Option<PathBuf> = arg(long, value_name = "FILE");
        /// Read the account, and use hours in which its machines are idle
        idle_hours: bool = arg(long);
        /// Beginning of the plan, RFC 3339 [default: now]
        start: Option<Timestamp> = arg(long, value_name = "TIME");
        /// How far ahead idle hours are used
        horizon: SignedDuration = arg(long, value_name = "TIME", value_parser = horizon, default_value = "7d");
        /// Most GPUs of rented machines at a time, such as your quota [default: any number]
        max_gpus: Option<u32> = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000));
        /// USD for moving a GB from one region to another
        transfer_price: Decimal = arg(long, value_name = "USD", value_parser = transfer_price, allow_negative_numbers = true, default_value = "0.02");
        /// Do not use spot
        no_spot: bool = arg(long);
        /// Job time that each checkpoint takes
        checkpoint_cost: SignedDuration = arg(long, value_name = "TIME", value_parser = time, default_value = "60s");
        /// Time from an interruption until work resumes
        restart_cost: SignedDuration = arg(long, value_name = "TIME", value_parser = time, default_value = "5m");
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
        estate: EstateArgs = command(flatten);
    }
}

/// What jobs are made of, before it is known where they can run.
struct Wanted {
    gpu: String,
    /// What an error is about, such as `jobs.csv:3`.
    place: String,
    job: Job,
}

pub(super) fn run(args: &PlaceArgs, io: &mut Io<'_>) -> Outcome {
    let samples = args.estate.profile_data.iter();
    let samples = samples.map(|path| ("--profile-data", Some(path.as_path())));
    let jobs = [("--jobs", args.jobs.as_deref())];
    let read: Vec<_> = samples.chain(jobs).collect();
    let planning = Planning::of_estate(&args.estate, args.format, &read, io)?;
    let settings = &planning.settings;
    let requests = args.jobs.as_deref();
    let listed = |path| read_jobs(path).map(|requests| (path, requests));
    let requests = requests.map(listed).transpose();
    let requests =
        requests.map_err(Failure::hinted("see docs/planners/place.md for the columns"))?;
    let of = &args.estate;
    let is_read = of.from.is_some() || of.demo.is_some() || of.kubernetes.is_given();
    let is_estate = is_read || args.idle_hours;
    let is_of_runs = requests.is_none() && !is_estate && !of.profile_data.is_empty();
    let is_needed = is_estate || (requests.is_none() && !is_of_runs);
    let estate = is_needed.then(|| estate::read(of, settings, io)).transpose()?;
    let book = match &estate {
        Some(_) => PriceBook::default(),
        None => known_prices::book(of.offline, settings, io)?,
    };
    let prices = planning.prices(estate.as_ref().map_or(&book, |estate| &estate.prices));
    let now = estate.as_ref().map_or(io.now, |estate| estate.as_of);
    let begin = args.start.unwrap_or(now).as_second();
    let (wanted, unplaced) = match (&requests, &estate) {
        (Some((path, requests)), _) => (written(path, requests, begin), BTreeMap::new()),
        (None, Some(estate)) => seen(estate, begin)?,
        (None, None) => (sampled_runs(args, settings, begin)?, BTreeMap::new()),
    };
    let request = request(args, settings, (wanted, begin), (estate.as_ref(), &prices), io)?;
    let schedule = schedule_jobs(request)?;
    let rentals = schedule.request.needs.iter().flat_map(|need| &need.rentals);
    let oldest = rentals.filter_map(|rental| Some(rental.quote.as_ref()?.seen_on)).min();
    let code = planning.print(&place_answer(&schedule, &unplaced), None, (oldest, now), io)?;
    Ok(match &estate {
        // Jobs are placed without machines of one's own too.
        Some(estate) => {
            let line = output::closing_line("read", (estate.instances.len(), 0), &estate.gaps);
            output::close_with(&line, &estate.gaps, of, io)
        }
        None => code,
    })
}

fn written(path: &Path, requests: &[JobRequest], begin: i64) -> Vec<Wanted> {
    let jobs = requests.iter().map(|request| Wanted {
        gpu: request.gpu.clone(),
        place: format!("{}:{}", shown(path), request.line),
        job: Job {
            name: request.name.clone(),
            gpus: request.gpus,
            seconds: request.seconds(),
            // What was there before the plan begins is there when it does.
            release: request.release.map_or(begin, |at| at.second(begin)).max(begin),
            deadline: request.deadline.map(|at| at.second(begin)),
            is_restartable: request.is_restartable,
            data_region: request.data_region.clone(),
            data_gb: request.data_gb,
            ..Job::default()
        },
    });
    jobs.collect()
}

/// Runs that were sampled, as though they came again: as long on as many of the same GPUs.
fn sampled_runs(args: &PlaceArgs, settings: &SettingsFile, begin: i64) -> Outcome<Vec<Wanted>> {
    let wanted = |path: &PathBuf| -> Outcome<Wanted> {
        let run = sampled::profile_of(path, settings)?;
        let file = shown(path);
        let unknown = |what: &str| {
            refusal! { "{file} does not show {what}";
                "pass the job with `--jobs FILE`"
            }
        };
        let used = run.gpus_used().filter(|used| *used > 0);
        let used = used.and_then(|used| u32::try_from(used).ok());
        let seconds = run.end.elapsed_seconds.ceil() as i64;
        if seconds <= 0 {
            return Err(unknown("how long it ran"));
        }
        Ok(Wanted {
            gpu: gpu_of(&run).ok_or_else(|| unknown("which GPUs it ran on"))?,
            place: file.clone(),
            job: Job {
                name: file.clone(),
                gpus: used.ok_or_else(|| unknown("how many GPUs it used"))?,
                seconds,
                release: begin,
                data_region: run.facts.region.clone(),
                ..Job::default()
            },
        })
    };
    args.estate.profile_data.iter().map(wanted).collect()
}

/// The model of the GPUs of a run, with memory for its peak.
fn gpu_of(run: &RunProfile) -> Option<String> {
    let shape = run.facts.instance_type.as_deref().and_then(catalog::shape);
    let offer = shape.and_then(|shape| shape.gpu.as_ref());
    let by_driver = || {
        Some(GpuModel::from_driver_name(run.whole().find_map(|gpu| gpu.identity.name.as_deref())?))
    };
    let model = offer.map(|offer| offer.model.clone()).or_else(by_driver)?;
    let peak = run.whole().filter_map(|gpu| Some(gpu.vram_used_mib?.max)).fold(0.0, f64::max);
    let gib = (peak / MIB_OF_GIB).floor();
    Some(if gib >= 1.0 { format!("{}:{gib}GB..", model.name()) } else { model.name().to_owned() })
}

/// Training jobs that ran, as though they came again when they did, with the number of those
/// that cannot be placed.
fn seen(estate: &Estate, begin: i64) -> Outcome<(Vec<Wanted>, BTreeMap<UnplacedJob, usize>)> {
    let (jobs, unplaced) = seen_jobs(estate);
    if jobs.is_empty() {
        let reasons: Vec<String> =
            unplaced.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        let message = match reasons.as_slice() {
            [] => "no training jobs were seen".to_owned(),
            reasons => format!("none of the training jobs can be placed: {}", reasons.join(", ")),
        };
        return Err(Failure::new(ExitCode::Nothing, anyhow::anyhow!("{message}"))
            .with_hint("pass a list of jobs with `--jobs FILE`"));
    }
    let wanted = |seen: SeenJob| Wanted {
        gpu: seen.gpu,
        place: seen.name.clone(),
        job: Job {
            name: seen.name,
            gpus: seen.gpus,
            seconds: seen.seconds,
            release: seen.release.unwrap_or(begin),
            is_restartable: seen.is_restartable,
            data_region: Some(seen.region),
            ..Job::default()
        },
    };
    Ok((jobs.into_iter().map(wanted).collect(), unplaced))
}

fn request(
    args: &PlaceArgs,
    settings: &SettingsFile,
    (mut wanted, begin): (Vec<Wanted>, i64),
    (estate, prices): (Option<&Estate>, &Prices<'_>),
    io: &Io<'_>,
) -> Outcome<ScheduleRequest> {
    let first = wanted.iter().map(|entry| entry.job.release).min().unwrap_or(begin);
    let horizon = begin.saturating_add(args.horizon.as_secs());
    let policy = &settings.policy;
    let first = first.clamp(begin.saturating_sub(LONGEST_HORIZON.as_secs()), begin);
    let hosts = estate.map(|estate| idle_hosts(estate, policy, (first, horizon)));
    let hosts = hosts.unwrap_or_default();
    let home = known_prices::home_region(settings, io);
    let regions = rented_in(args, &home, &wanted, &hosts)?;
    let mut needs = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for entry in &mut wanted {
        entry.job.need = match places.get(&entry.gpu).copied() {
            Some(place) => place,
            None => {
                let filter = filter(entry, &regions, prices)?;
                refuse_if!(needs.len() == MOST_NEEDS;
                    "{}: the jobs ask for more than {MOST_NEEDS} different GPUs", entry.place;
                    "divide the list");
                let asked = (entry.gpu.as_str(), &filter);
                let mut need = job_need(asked, (regions.as_slice(), Currency::Usd), &hosts, prices);
                need.rentals.retain(|rental| !(args.no_spot && rental.is_spot));
                needs.push(need);
                places.insert(entry.gpu.clone(), needs.len() - 1);
                needs.len() - 1
            }
        };
    }
    Ok(ScheduleRequest {
        jobs: wanted.into_iter().map(|entry| entry.job).collect(),
        needs,
        hosts: hosts.into_iter().map(|(host, _)| host).collect(),
        most_gpus: args.max_gpus,
        home_region: regions.into_iter().find(|region| region != "all").unwrap_or(home),
        currency: Currency::Usd,
        transfer_per_gb: args.transfer_price,
        checkpointing: Checkpointing {
            cost: args.checkpoint_cost,
            restart: args.restart_cost,
            interval: None,
        },
        least_interruptions_per_day: policy.spot_interruptions_per_day,
    })
}

/// The regions of `--region`, else the home region, those of data and those of idle
/// machines; the home region first.
fn rented_in(
    args: &PlaceArgs,
    home: &str,
    wanted: &[Wanted],
    hosts: &[(Host, GpuOffer)],
) -> Outcome<Vec<String>> {
    if let Some(named) = &args.estate.aws.region {
        return Ok(regions(named)?.unwrap_or_else(|| vec!["all".to_owned()]));
    }
    let data = wanted.iter().filter_map(|entry| entry.job.data_region.clone());
    let idle = hosts.iter().map(|(host, _)| host.region.clone());
    let others: BTreeSet<String> = data.chain(idle).filter(|region| region != home).collect();
    Ok(std::iter::once(home.to_owned()).chain(others).collect())
}

/// The GPU that a job asks for, which must be known, and so must its regions.
fn filter(wanted: &Wanted, regions: &[String], prices: &Prices<'_>) -> Outcome<GpuFilter> {
    let filter = GpuFilter::parse(&wanted.gpu).map_err(|message| {
        refusal! {
            "{}: {message}", wanted.place;
            "use a model, a model and its memory, or a range of sizes"
        }
    })?;
    let regions = regions.iter().cloned().chain(wanted.job.data_region.iter().cloned()).collect();
    let question = Question { gpu: Some(filter.clone()), ..Question::of_aws(Vec::new(), regions) };
    known_prices::refuse_unknown(&question, prices)?;
    Ok(filter)
}
