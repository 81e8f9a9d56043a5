//! `gpucost capacity`: how many GPUs a rate of requests needs, from the throughput of a GPU: stated, or
//! measured.

use super::capacity_args::CapacityArgs;
use super::model_args::typed;
use super::planning::Planning;
use super::rightsize::known;
use super::{
    ExitCode, Failure, Io, Outcome, capacity_batches, known_prices, output, refusal, refuse_if,
    refused, sampled,
};
use crate::analysis::{Audit, GpuFilter, MeasuredService, Question, measured_service};
use crate::catalog::{self, Prices};
use crate::config::SettingsFile;
use crate::domain::{
    AcceleratorKind, Gap, GpuShare, InstanceShape, PriceBook, PriceKey, RecordedRequest,
    RecordedWork, WorkloadKind, shown,
};
use crate::planners::capacity::{
    CapacityError, CapacityQuestion, Demand, Load, Objective, Recording, RequestCounts, Service,
    ServiceTimes, Throughput, ThroughputBasis, Types, Utilized, WorkOf, Zones, capacity,
};
use crate::profiling::RunProfile;
use crate::report::planners::capacity::capacity_answer;
use crate::savings::is_launchable;
use crate::sources::files::{read_arrivals, read_request_counts};
use jiff::{SignedDuration, Timestamp};
use std::path::Path;

pub(super) fn run(args: &CapacityArgs, io: &mut Io<'_>) -> Outcome {
    if args.batches.is_stated() {
        return capacity_batches::run(args, io);
    }
    if let Some(flag) = args.batches.stray() {
        return Err(refusal!("`{}` is about batches", typed(flag);
            "pass their throughput as in `--curve 1:35,8:210,32:520`, or a `--model` and its \
             `--type`"));
    }
    let samples = args.estate.profile_data.iter();
    let read = samples.map(|path| ("--profile-data", Some(path.as_path()))).chain([
        ("--arrivals", args.arrivals.as_deref()),
        ("--request-counts", args.request_counts.as_deref()),
    ]);
    let read: Vec<_> = read.collect();
    let planning = Planning::of_estate(&args.estate, args.format, &read, io)?;
    let settings = &planning.settings;
    let requests = args.arrivals.as_deref().map(read_arrivals).transpose();
    let requests =
        requests.map_err(Failure::hinted("see docs/planners/capacity.md for the columns"))?;
    let requests = requests.unwrap_or_default();
    let counts = args.request_counts.as_deref().map(|path| counted(path, args)).transpose()?;
    let measured = Measured::of(args, (&requests, counts.as_ref()), settings, io)?;
    let prices = planning.prices(&measured.prices);
    let place = measured.place.as_ref();
    let question = CapacityQuestion {
        service: service(args, &measured, counts.as_ref(), settings),
        basis: measured.basis.clone(),
        is_target_stated: args.target.is_some(),
        arrivals_file: args.arrivals.as_deref().map(shown),
        counts: counts.as_ref(),
        types: match place {
            Some((shape, key)) => Some(Types {
                measured: shape,
                others: others(args, key, &prices)?,
                vram_peak_mib: args.vram_peak,
                vram_headroom: settings.policy.vram_headroom,
                bound: args.bound,
                prices: &prices,
                key,
            }),
            None => None,
        },
    };
    let plan = capacity(question).map_err(|error| invalid(error, args))?;
    let fits = plan.candidates.iter().filter_map(|candidate| candidate.fits.as_ref().ok());
    let oldest = fits.filter_map(|fits| fits.quote.as_ref()).map(|quote| quote.seen_on).min();
    let code = planning.print(&capacity_answer(&plan), None, (oldest, io.now), io)?;
    Ok(match &measured.seen {
        Some((count, gaps)) => output::close("analyzed", (*count, 0), gaps, &args.estate, io),
        None => code,
    })
}

/// Requests of a file, with the peak that is asked for.
fn counted(path: &Path, args: &CapacityArgs) -> Outcome<RequestCounts> {
    let counts = read_request_counts(path).map_err(Failure::hinted(
        "see docs/planners/capacity.md for the commands that write such a file",
    ))?;
    // The flag has at most eleven days.
    let period = args.request_period.map(|seconds| (seconds * 1_000.0).round() as i64);
    Ok(RequestCounts::new(&shown(path), counts, (period, args.request_peak))?)
}

fn service<'a>(
    args: &CapacityArgs,
    measured: &'a Measured,
    counts: Option<&RequestCounts>,
    settings: &SettingsFile,
) -> Service<'a> {
    let of_policy = settings.policy.serving_target_percent;
    let recording = measured.recording.as_ref();
    let recorded = recording.map(|recording| recording.per_second);
    let counted = counts.map(|counts| counts.peak_per_second);
    let tokens = recording.and_then(|recording| recording.mean_tokens);
    Service {
        load: Load {
            demand: recording.map_or(Demand::Random, Demand::Recorded),
            per_second: args.rate.or(counted).or(recorded).unwrap_or_default(),
            headroom_percent: args.headroom,
            gpu: measured.gpu,
            target_percent: args.target.map_or(of_policy, |share| share * 100.0),
            objective: args
                .objective
                .map(|seconds| Objective { seconds, percentile: args.percentile }),
            service_times: args.service_times,
        },
        mean_per_second: counts.map(|counts| counts.mean_per_second),
        zones: Zones { count: args.zones, survive: args.survive_zones },
        tokens_per_request: tokens.or(args.tokens_per_request),
        hours_per_month: settings.policy.hours_per_month,
    }
}

/// The other types that are asked for, where they are sold.
fn others(
    args: &CapacityArgs,
    key: &PriceKey,
    prices: &Prices<'_>,
) -> Outcome<Vec<&'static InstanceShape>> {
    let question = Question {
        gpu: known_prices::gpu_filter(args.gpu.as_deref())?,
        home_region: key.region.clone(),
        operating_system: key.operating_system,
        ..Question::of_aws(Vec::new(), Vec::new())
    };
    if question.gpu.is_none() && args.vram_peak.is_none() {
        return Ok(Vec::new());
    }
    known_prices::refuse_unknown(&question, prices)?;
    let is_asked = |shape: &&InstanceShape| {
        let offer = shape.gpu.as_ref().filter(|_| shape.accelerator == AcceleratorKind::Gpu);
        offer.is_some_and(|offer| {
            let filter = question.gpu.as_ref();
            filter.is_none_or(|filter| filter.matches(offer.model.name(), offer.vram_mib))
        })
    };
    let is_sold = |shape: &&InstanceShape| {
        let name = &shape.instance_type;
        catalog::bundled_regions(Some(name)).contains(&key.region.as_str())
            || prices.gathered_regions_of(name).contains(key.region.as_str())
    };
    Ok(catalog::shapes().filter(is_asked).filter(is_sold).collect())
}

const HOW_TO_MEASURE: &str = "pass `--per-gpu`, `--latency` with `--batch`, \
    `--tokens-per-second`, a `--curve` of batches, or a `--model` and its `--type`; or measure it: run a load test under \
    `gpucost profile --samples FILE.jsonl`, then pass `--profile-data FILE.jsonl` and \
    `--served-rate`";

/// Fails where the throughput of a GPU is not known, or is stated in two ways.
fn check_ways(
    args: &CapacityArgs,
    (requests, counts): (&[RecordedRequest], Option<&RequestCounts>),
) -> Outcome<()> {
    args.check_estate()?;
    let is_profiled = args.workload.is_none() && !args.estate.profile_data.is_empty();
    let ways = [
        ("--per-gpu", args.per_gpu.is_some()),
        ("--latency", args.latency.is_some()),
        ("--tokens-per-second", args.tokens_per_second.is_some()),
        ("--workload", args.workload.is_some()),
        ("--profile-data", is_profiled),
    ];
    let mut ways = ways.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag);
    let states_time = |request: &RecordedRequest| matches!(request.work, RecordedWork::Seconds(_));
    let is_counted = args.served_rate.is_some() || counts.is_some();
    match (ways.next(), ways.next()) {
        (Some(first), Some(second)) => Err(refusal!(
            "`{first}` and `{second}` both state the throughput of a GPU";
            "pass one of them")),
        (Some(flag @ ("--workload" | "--profile-data")), None) if !is_counted => Err(refusal!(
            "`{flag}` needs `--served-rate`";
            "pass the requests per second that were served meanwhile, or `--request-counts`")),
        (None, _) if !requests.iter().any(states_time) => {
            Err(refusal!("the throughput of a GPU is not known"; "{HOW_TO_MEASURE}"))
        }
        _ => Ok(()),
    }
}

/// Requests a second that were served between two instants: as stated, else as counted.
fn served(
    args: &CapacityArgs,
    counts: Option<&RequestCounts>,
    (from, to): (Timestamp, Timestamp),
    of: &str,
) -> Outcome<f64> {
    match (args.served_rate, counts) {
        (None, Some(counts)) => {
            Ok(counts.mean_within(from.as_millisecond(), to.as_millisecond(), of)?)
        }
        (stated, _) => stated.ok_or_else(|| Failure::input("measured GPUs need `--served-rate`")),
    }
}

/// What one GPU serves, and on which type that is known.
struct Measured {
    gpu: Throughput,
    basis: ThroughputBasis,
    recording: Option<Recording>,
    place: Option<(InstanceShape, PriceKey)>,
    prices: PriceBook,
    /// Instances of the estate and what of it was not read; absent without one.
    seen: Option<(usize, Vec<Gap>)>,
}

impl Measured {
    fn of(
        args: &CapacityArgs,
        (requests, counts): (&[RecordedRequest], Option<&RequestCounts>),
        settings: &SettingsFile,
        io: &mut Io<'_>,
    ) -> Outcome<Self> {
        let of_rate = |per_second: f64| Throughput::of_rate(per_second, args.batch);
        let utilization = |measured: Utilized, served_per_second: f64| {
            let per_second = measured.per_second(served_per_second)?;
            let basis = ThroughputBasis::Utilization { measured, served_per_second };
            Ok::<_, Failure>((basis, of_rate(per_second)))
        };
        check_ways(args, (requests, counts))?;
        let mut ran_on: Option<String> = None;
        let throughput = if let Some(name) = &args.workload {
            let measured = |audit: &Audit| measured_service(audit, name, &settings.policy);
            let (service, estate) = args.audited(settings, measured, io)?;
            check_service(&service, args)?;
            let window = (estate.window.start, estate.window.end);
            let served = served(args, counts, window, "the window of the estate")?;
            let throughput = utilization(service.utilized, served)?;
            let place = Some((service.shape, service.key));
            return Ok(Self {
                seen: Some((estate.instances.len(), estate.gaps)),
                ..Self::with(args, requests, throughput, place, estate.prices)?
            });
        } else if let Some(path) = args.estate.profile_data.first() {
            let profile = sampled::profile_of(path, settings)?;
            ran_on = profile.facts.instance_type.clone();
            let from = profile.facts.started;
            let millis = (profile.end.elapsed_seconds * 1e3) as i64;
            let to = from.checked_add(SignedDuration::from_millis(millis));
            let served = served(args, counts, (from, to.unwrap_or(from)), "the run")?;
            utilization(utilized(&profile, shown(path))?, served)?
        } else if let Some(rate) = args.per_gpu {
            (ThroughputBasis::Stated, of_rate(rate))
        } else if let Some(service_seconds) = args.latency {
            (ThroughputBasis::Latency, Throughput { batch: args.batch, service_seconds })
        } else if let Some(per_second) = args.tokens_per_second {
            let prompt_per_second = args.prompt_tokens_per_second;
            let basis = ThroughputBasis::Tokens { per_second, prompt_per_second };
            (basis, of_tokens(args, requests, per_second)?)
        } else {
            // The mean follows from the recording.
            (ThroughputBasis::Recorded, of_rate(1.0))
        };
        let prices = known_prices::book(args.estate.offline, settings, io)?;
        let known = Prices::new(&prices, &settings.policy.discount_percent);
        let place = place(args, ran_on.as_ref(), (settings, &known), io)?;
        Self::with(args, requests, throughput, place, prices)
    }

    fn with(
        args: &CapacityArgs,
        requests: &[RecordedRequest],
        (basis, mut gpu): (ThroughputBasis, Throughput),
        place: Option<(InstanceShape, PriceKey)>,
        prices: PriceBook,
    ) -> Outcome<Self> {
        let work = match basis {
            ThroughputBasis::Recorded => WorkOf::Recorded,
            ThroughputBasis::Tokens { per_second, prompt_per_second }
                if states_tokens(requests) =>
            {
                WorkOf::Tokens { per_second, prompt_per_second, batch: args.batch }
            }
            _ => WorkOf::Each(gpu.service_seconds),
        };
        let recording =
            args.arrivals.as_ref().map(|_| Recording::new(requests, work)).transpose()?;
        if let Some(recording) = &recording {
            gpu.service_seconds = recording.mean_service_seconds;
        }
        Ok(Self { gpu, basis, recording, place, prices, seen: None })
    }
}

fn states_tokens(requests: &[RecordedRequest]) -> bool {
    let is_stated = |request: &RecordedRequest| matches!(request.work, RecordedWork::Tokens { .. });
    requests.iter().any(is_stated)
}

/// By the tokens of each request, or as many for each as a flag states.
fn of_tokens(
    args: &CapacityArgs,
    requests: &[RecordedRequest],
    per_second: f64,
) -> Outcome<Throughput> {
    let is_recorded = states_tokens(requests);
    refuse_if!(args.prompt_tokens_per_second.is_some() && !is_recorded;
        "`--prompt-tokens-per-second` needs the tokens of prompts";
        "add columns of prompt and generated tokens to `--arrivals`");
    match args.tokens_per_request {
        Some(tokens) => Ok(Throughput::of_rate(per_second / tokens, args.batch)),
        // The mean follows from the recording.
        None if is_recorded => Ok(Throughput::of_rate(1.0, args.batch)),
        None => Err(refusal!("`--tokens-per-second` needs the tokens of a request";
            "pass `--tokens-per-request`, or `--arrivals` with columns of prompt and generated \
             tokens")),
    }
}

/// The whole GPUs of a host together; all of them have to be measured.
fn utilized(profile: &RunProfile, name: String) -> Outcome<Utilized> {
    let means: Option<Vec<f64>> = profile.whole().map(|gpu| Some(gpu.utilization?.mean)).collect();
    let means = means.filter(|means| !means.is_empty()).ok_or_else(refused!(
        "{name} has no utilization of every whole GPU";
        "{HOW_TO_MEASURE}"))?;
    let gpus = means.len() as f64;
    Ok(Utilized {
        name,
        gpus,
        mean_percent: means.iter().sum::<f64>() / gpus,
        samples: profile.samples,
    })
}

/// Fails for a workload that serves no requests.
fn check_service(service: &MeasuredService, args: &CapacityArgs) -> Outcome<()> {
    if service.kind != WorkloadKind::Training {
        return Ok(());
    }
    let name = &service.utilized.name;
    let error = anyhow::anyhow!("{name} is training, which serves no requests");
    let hint = format!("pass a service: {} lists them", args.audit_command());
    Err(Failure::new(ExitCode::Nothing, error).with_hint(hint))
}

/// The type on which the throughput is known: as stated, else as a profile says.
fn place(
    args: &CapacityArgs,
    ran_on: Option<&String>,
    (settings, prices): (&SettingsFile, &Prices<'_>),
    io: &Io<'_>,
) -> Outcome<Option<(InstanceShape, PriceKey)>> {
    let named = args.instance_type.as_ref().or(ran_on);
    if named.is_none() && args.gpu.is_none() {
        refuse_if!(args.vram_peak.is_some();
            "`--vram-peak` needs `--type` or `--gpu`";
            "pass the type on which the throughput was measured, such as `--type g5.xlarge`");
        return Ok(None);
    }
    let region = known_prices::region(args.estate.aws.region.as_deref(), settings, io)?;
    known_prices::check_region(&region, prices)?;
    let operating_system = known_prices::operating_system(&args.os)?;
    let key = |shape: &InstanceShape| PriceKey {
        operating_system,
        ..PriceKey::linux_on_demand(&region, &shape.instance_type)
    };
    let shape = match named {
        Some(name) => known(name)?.0,
        None => {
            let asked = args.gpu.as_deref().unwrap_or_default();
            let question = Question {
                gpu: known_prices::gpu_filter(Some(asked))?,
                home_region: region.clone(),
                operating_system,
                ..Question::of_aws(Vec::new(), Vec::new())
            };
            known_prices::refuse_unknown(&question, prices)?;
            one_with(asked, question.gpu.as_ref(), key, prices)?
        }
    };
    Ok(Some((shape.clone(), key(shape))))
}

/// The cheapest type with whole GPUs of the only kind that `--gpu` asks for: what one such
/// GPU serves holds for each.
fn one_with(
    gpu: &str,
    filter: Option<&GpuFilter>,
    key: impl Fn(&InstanceShape) -> PriceKey,
    prices: &Prices<'_>,
) -> Outcome<&'static InstanceShape> {
    let offers = catalog::shapes().filter_map(|shape| {
        let key = key(shape);
        let offer = shape.gpu.as_ref().filter(|offer| {
            matches!(offer.share, GpuShare::Whole(_))
                && shape.accelerator == AcceleratorKind::Gpu
                && is_launchable(&key)
                && filter.is_some_and(|wanted| wanted.matches(offer.model.name(), offer.vram_mib))
        })?;
        let rate = prices.get(&key).ok()?.rate.amount();
        Some(((offer.model.name(), offer.vram_mib, rate, &shape.instance_type), shape))
    });
    let mut offers: Vec<_> = offers.collect();
    offers.sort_unstable_by_key(|(offer, _)| *offer);
    // The cheapest of each kind.
    offers.dedup_by_key(|((model, vram_mib, ..), _)| (*model, *vram_mib));
    let names: Vec<&str> = offers.iter().map(|(_, shape)| shape.instance_type.as_str()).collect();
    match (names.as_slice(), offers.first()) {
        ([_], Some((_, shape))) => Ok(*shape),
        ([first, ..], _) => Err(refusal!(
            "`--gpu {gpu}` names {} kinds of GPUs, and a GPU of one serves what was stated",
            names.len();
            "pass the type on which the throughput was measured, such as `--type {first}`; the \
             types with those are {}", names.join(", "))),
        _ => Err(refusal!("no type with `--gpu {gpu}` has a price in the region";
            "`gpucost pricing` lists the GPUs with their types and regions")),
    }
}

/// An error with what to do about it.
fn invalid(error: CapacityError, args: &CapacityArgs) -> Failure {
    let is_spread = args.arrivals.is_none() && args.service_times == ServiceTimes::Exponential;
    let spread = match is_spread {
        true => "; if requests all take about the same time, pass `--service-times fixed`",
        false => "",
    };
    match error {
        CapacityError::Other(error) => error.into(),
        CapacityError::BelowFloor { floor_seconds, .. } => {
            let faster = "make requests faster: a smaller batch, a faster GPU, fewer tokens";
            let hint = format!("pass `--objective` above {floor_seconds:.6}s, or {faster}{spread}");
            Failure::hinted(hint)(error)
        }
    }
}
