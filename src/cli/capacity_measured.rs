//! The throughput that `gpucost capacity` rests on: stated, or measured on GPUs.

use super::capacity_args::CapacityArgs;
use super::rightsize::known;
use super::scope::invocation;
use super::{
    ExitCode, Failure, Io, Outcome, estate, hinted, known_prices, refusal, refused, sampled,
};
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

/// Fails where the throughput of a GPU is not known, or is stated in two ways.
fn check_ways(
    args: &CapacityArgs,
    (requests, counts): (&[RecordedRequest], Option<&RequestCounts>),
) -> Outcome<()> {
    check_estate(args)?;
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
        check_ways(args, (requests, counts))?;
        let mut ran_on: Option<String> = None;
        let throughput = if let Some(name) = &args.workload {
            let measured = |audit: &Audit| measured_service(audit, name, &settings.policy);
            let (service, estate) = audited(args, settings, measured, io)?;
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
    let mut estate = estate::read(&args.estate, settings, io)?;
    let audit = audit(&estate, &settings.policy, Risk::Medium);
    let measured = workload(&audit).map_err(|error| unmeasured(error, args))?;
    estate.gaps = audit.gaps;
    Ok((measured, estate))
}

/// Fails for a workload that serves no requests.
fn check_service(service: &MeasuredService, args: &CapacityArgs) -> Outcome<()> {
    if service.kind != WorkloadKind::Training {
        return Ok(());
    }
    let name = &service.utilized.name;
    let error = anyhow::anyhow!("{name} is training, which serves no requests");
    let hint = format!("pass a service: {} lists them", audit_command(args));
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
        if args.vram_peak.is_some() {
            return Err(refusal!("`--vram-peak` needs `--type` or `--gpu`";
                "pass the type on which the throughput was measured, such as `--type g5.xlarge`"));
        }
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
            Failure::hinted(hint)(error)
        }
    }
}
