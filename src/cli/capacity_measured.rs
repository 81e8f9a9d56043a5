//! The throughput that `gpucost capacity` rests on: stated, or measured on GPUs.

use super::capacity_args::CapacityArgs;
use super::exit::{ExitCode, Failure, Outcome, hinted, refusal, refused};
use super::rightsize::known;
use super::scope::invocation;
use super::{Io, estate, known_prices, sampled};
use crate::analysis::{
    Audit, GpuFilter, MeasuredService, NotMeasured, Question, audit, measured_service,
};
use crate::catalog::{self, Prices};
use crate::config::SettingsFile;
use crate::domain::{
    AcceleratorKind, Gap, GpuShare, InstanceShape, PriceBook, PriceKey, RecordedRequest,
    RecordedWork, Risk, WorkloadKind, shown,
};
use crate::planners::capacity::{
    CapacityError, Recording, RequestCounts, ServiceTimes, Throughput, ThroughputBasis, Utilized,
    WorkOf,
};
use crate::profiling::RunProfile;
use crate::savings::is_launchable;
use crate::usage::Estate;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const HOW_TO_MEASURE: &str = "pass `--per-gpu`, `--latency` with `--batch`, \
    `--tokens-per-second`, a `--curve` of batches, or a `--model` and its `--type`; or measure it: run a load test under \
    `gpucost profile --samples FILE.jsonl`, then pass `--profile-data FILE.jsonl` and \
    `--served-rate`";

/// The command that shows the same estate.
fn audit_command(args: &CapacityArgs) -> String {
    let flags = invocation(&args.estate, None).estate_flags();
    format!("`gpucost audit{flags}`")
}

/// Fails for an estate of which no workload is named.
pub(super) fn check_estate(args: &CapacityArgs) -> Outcome<()> {
    if args.workload.is_none() && args.estate.is_named() {
        return Err(refusal!("an estate needs `--workload`";
            "{} lists the workloads", audit_command(args)));
    }
    Ok(())
}

/// How the throughput of a GPU is known.
#[derive(Clone, Copy)]
enum Way<'a> {
    Stated(f64),
    Latency(f64),
    Tokens(f64),
    Recorded,
    Profile(&'a Path),
    Workload(&'a str),
}

impl<'a> Way<'a> {
    fn of(
        args: &'a CapacityArgs,
        (requests, counts): (&[RecordedRequest], Option<&RequestCounts>),
    ) -> Outcome<Self> {
        check_estate(args)?;
        let profile = args.estate.profile_data.first().map(PathBuf::as_path);
        let profile = profile.filter(|_| args.workload.is_none());
        let ways = [
            ("--per-gpu", args.per_gpu.map(Self::Stated)),
            ("--latency", args.latency.map(Self::Latency)),
            ("--tokens-per-second", args.tokens_per_second.map(Self::Tokens)),
            ("--workload", args.workload.as_deref().map(Self::Workload)),
            ("--profile-data", profile.map(Self::Profile)),
        ];
        let mut ways = ways.into_iter().filter_map(|(flag, way)| Some((flag, way?)));
        let states_time =
            |request: &RecordedRequest| matches!(request.work, RecordedWork::Seconds(_));
        let is_counted = args.served_rate.is_some() || counts.is_some();
        match (ways.next(), ways.next()) {
            (Some((first, _)), Some((second, _))) => Err(refusal!(
                "`{first}` and `{second}` both state the throughput of a GPU";
                "pass one of them")),
            (Some((flag, Self::Workload(_) | Self::Profile(_))), None) if !is_counted => {
                Err(refusal!(
                "`{flag}` needs `--served-rate`";
                "pass the requests per second that were served meanwhile, or `--request-counts`"))
            }
            (Some((_, way)), _) => Ok(way),
            (None, _) if requests.iter().any(states_time) => Ok(Self::Recorded),
            (None, _) => Err(refusal!("the throughput of a GPU is not known"; "{HOW_TO_MEASURE}")),
        }
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
pub(super) struct Measured {
    pub gpu: Throughput,
    pub basis: ThroughputBasis,
    pub recording: Option<Recording>,
    pub place: Option<(InstanceShape, PriceKey)>,
    pub prices: PriceBook,
    /// Instances of the estate and what of it was not read; absent without one.
    pub seen: Option<(usize, Vec<Gap>)>,
}

impl Measured {
    pub(super) fn of(
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
        let mut ran_on: Option<String> = None;
        let throughput = match Way::of(args, (requests, counts))? {
            Way::Workload(name) => {
                let (service, estate) = serving(name, args, settings, io)?;
                let window = (estate.window.start, estate.window.end);
                let served = served(args, counts, window, "the window of the estate")?;
                let throughput = utilization(service.utilized, served)?;
                let place = Some((service.shape, service.key));
                return Ok(Self {
                    seen: Some((estate.instances.len(), estate.gaps)),
                    ..Self::with(args, requests, throughput, place, estate.prices)?
                });
            }
            Way::Profile(path) => {
                let profile = sampled::profile_of(path, settings)?;
                ran_on = profile.facts.instance_type.clone();
                let from = profile.facts.started;
                let millis = (profile.end.elapsed_seconds * 1e3) as i64;
                let to = from.checked_add(SignedDuration::from_millis(millis));
                let served = served(args, counts, (from, to.unwrap_or(from)), "the run")?;
                utilization(utilized(&profile, shown(path))?, served)?
            }
            Way::Stated(rate) => (ThroughputBasis::Stated, of_rate(rate)),
            Way::Latency(service_seconds) => {
                (ThroughputBasis::Latency, Throughput { batch: args.batch, service_seconds })
            }
            Way::Tokens(per_second) => {
                let basis = ThroughputBasis::Tokens {
                    per_second,
                    prompt_per_second: args.prompt_tokens_per_second,
                };
                (basis, of_tokens(args, requests, per_second)?)
            }
            // The mean follows from the recording.
            Way::Recorded => (ThroughputBasis::Recorded, of_rate(1.0)),
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
    if args.prompt_tokens_per_second.is_some() && !is_recorded {
        return Err(refusal!("`--prompt-tokens-per-second` needs the tokens of prompts";
            "add columns of prompt and generated tokens to `--arrivals`"));
    }
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

fn unmeasured(error: NotMeasured, args: &CapacityArgs) -> Failure {
    hinted! { error;
        NotMeasured::Unknown { nearest, .. } if !nearest.is_empty() => "did you mean {}?", nearest.join(", ");
        NotMeasured::Unknown { .. } => "{} lists the workloads", audit_command(args);
        NotMeasured::Several { first, .. } => "pass an ID of `gpucost audit --format json`, such as {first}";
        NotMeasured::NoGpu(_) => "choose a workload with GPUs";
        NotMeasured::Unmeasured(_) => "{} lists what is missing", audit_command(args);
    }
}

/// What an audit says of a workload, and its estate with the gaps of the audit.
pub(super) fn audited<T>(
    args: &CapacityArgs,
    settings: &SettingsFile,
    workload: impl FnOnce(&Audit) -> Result<T, NotMeasured>,
    io: &mut Io<'_>,
) -> Outcome<(T, Estate)> {
    let mut estate = estate::estate(&args.estate, settings, io)?;
    let audit = audit(&estate, &settings.policy, Risk::Medium);
    let measured = workload(&audit).map_err(|error| unmeasured(error, args))?;
    estate.gaps = audit.gaps;
    Ok((measured, estate))
}

/// A workload that serves requests, and its estate.
fn serving(
    name: &str,
    args: &CapacityArgs,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Outcome<(MeasuredService, Estate)> {
    let measured = |audit: &Audit| measured_service(audit, name, &settings.policy);
    let (service, estate) = audited(args, settings, measured, io)?;
    if service.kind == WorkloadKind::Training {
        let name = &service.utilized.name;
        let error = anyhow::anyhow!("{name} is training, which serves no requests");
        let hint = format!("pass a service: {} lists them", audit_command(args));
        return Err(Failure::new(ExitCode::Nothing, error).with_hint(hint));
    }
    Ok((service, estate))
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
        if args.vram_peak.is_some() {
            return Err(refusal!("`--vram-peak` needs `--type` or `--gpu`";
                "pass the type on which the throughput was measured, such as `--type g5.xlarge`"));
        }
        return Ok(None);
    }
    let region = known_prices::one_region(args.estate.aws.region.as_deref(), settings, io)?;
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
    let mut cheapest_shapes: BTreeMap<(String, Option<u64>), (Decimal, &'static InstanceShape)> =
        BTreeMap::new();
    for shape in catalog::shapes() {
        let key = key(shape);
        let offer = shape.gpu.as_ref().filter(|offer| {
            matches!(offer.share, GpuShare::Whole(_))
                && shape.accelerator == AcceleratorKind::Gpu
                && is_launchable(&key)
                && filter.is_some_and(|wanted| wanted.matches(offer.model.name(), offer.vram_mib))
        });
        let quote = prices.get(&key).ok();
        let (Some(offer), Some(quote)) = (offer, quote) else { continue };
        let kind = (offer.model.name().to_owned(), offer.vram_mib);
        let rate = quote.rate.amount();
        let cheapest = cheapest_shapes.entry(kind).or_insert((rate, shape));
        if (rate, &shape.instance_type) < (cheapest.0, &cheapest.1.instance_type) {
            *cheapest = (rate, shape);
        }
    }
    let names: Vec<&str> =
        cheapest_shapes.values().map(|(_, shape)| shape.instance_type.as_str()).collect();
    match (names.as_slice(), cheapest_shapes.values().next()) {
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
pub(super) fn invalid(error: CapacityError, args: &CapacityArgs) -> Failure {
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
            Failure::new(ExitCode::Input, error).with_hint(hint)
        }
    }
}
