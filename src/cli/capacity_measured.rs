//! The throughput that `gpucost capacity` rests on: stated, or measured on GPUs.

use super::capacity_args::{CapacityArgs, ServiceTimesChoice};
use super::exit::{ExitCode, Failure};
use super::rightsize_flags::{known, unknown};
use super::scope::invocation;
use super::{Io, estate, pricing, sampled};
use crate::analysis::{
    AWS, GpuFilter, MeasuredService, NotMeasured, Question, SortBy, audit, measured_service,
};
use crate::catalog::{self, Prices};
use crate::config::SettingsFile;
use crate::domain::{
    AcceleratorKind, Gap, GpuShare, InstanceShape, OperatingSystem, PriceBook, PriceKey,
    RecordedRequest, RecordedWork, Risk, Window, WorkloadKind, shown,
};
use crate::planners::capacity::{
    CapacityError, CountsError, Recording, RequestCounts, Throughput, ThroughputBasis, Utilized,
    WorkOf,
};
use crate::profiling::RunProfile;
use crate::savings::is_launchable;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const HOW_TO_MEASURE: &str = "pass `--per-gpu`, `--latency` with `--batch`, or \
    `--tokens-per-second`; or measure it: run a load test under \
    `gpucost profile --samples FILE.jsonl`, then pass `--profile-data FILE.jsonl` and \
    `--served-rate`";

/// The command that shows the same estate.
fn audit_command(args: &CapacityArgs) -> String {
    let flags = invocation(&args.estate, None).estate_flags();
    format!("`gpucost audit{flags}`")
}

/// How the throughput of a GPU is known.
enum Way<'a> {
    Stated(f64),
    Latency(f64),
    Tokens(f64),
    Recorded,
    Profile(&'a Path, ServedRate<'a>),
    Workload(&'a str, ServedRate<'a>),
}

/// How many requests were served while GPUs were measured.
#[derive(Clone, Copy)]
enum ServedRate<'a> {
    Stated(f64),
    /// Those of the time in which the GPUs were measured.
    Counted(&'a RequestCounts),
}

impl ServedRate<'_> {
    /// Requests a second between two instants.
    fn within(self, from: Timestamp, to: Timestamp, of: &str) -> Result<f64, Failure> {
        match self {
            Self::Stated(per_second) => Ok(per_second),
            Self::Counted(counts) => counts
                .mean_within(from.as_millisecond(), to.as_millisecond(), of)
                .map_err(|error| uncounted(&error)),
        }
    }
}

impl<'a> Way<'a> {
    fn of(
        args: &'a CapacityArgs,
        (requests, counts): (&[RecordedRequest], Option<&'a RequestCounts>),
    ) -> Result<Self, Failure> {
        let estate = &args.estate;
        let reads_estate = estate.demo.is_some()
            || estate.from.is_some()
            || estate.save.is_some()
            || estate.kubernetes.is_given();
        if args.workload.is_none() && reads_estate {
            return Err(Failure::input("an estate needs `--workload`")
                .with_hint(format!("{} lists the workloads", audit_command(args))));
        }
        let profile = estate.profile_data.first();
        let profile = profile.filter(|_| args.workload.is_none());
        let served = |flag: &str| {
            let stated = args.served_rate.map(ServedRate::Stated);
            let counted = counts.map(ServedRate::Counted);
            stated.or(counted).ok_or_else(|| {
                Failure::input(format!("`{flag}` needs `--served-rate`")).with_hint(
                    "pass the requests per second that were served meanwhile, or \
                     `--request-counts`",
                )
            })
        };
        let stated = [
            ("--per-gpu", args.per_gpu.map(Self::Stated)),
            ("--latency", args.latency.map(Self::Latency)),
            (
                "--tokens-per-second",
                args.tokens_per_second.map(Self::Tokens),
            ),
            (
                "--workload",
                match &args.workload {
                    Some(name) => Some(Self::Workload(name, served("--workload")?)),
                    None => None,
                },
            ),
            (
                "--profile-data",
                match profile {
                    Some(path) => Some(Self::Profile(path, served("--profile-data")?)),
                    None => None,
                },
            ),
        ];
        let mut stated = stated
            .into_iter()
            .filter_map(|(flag, way)| Some((flag, way?)));
        let first = stated.next();
        if let (Some((one, _)), Some((other, _))) = (&first, stated.next()) {
            return Err(Failure::input(format!(
                "`{one}` and `{other}` both state the throughput of a GPU"
            ))
            .with_hint("pass one of them"));
        }
        let states_time =
            |request: &RecordedRequest| matches!(request.work, RecordedWork::Seconds(_));
        match first {
            Some((_, way)) => Ok(way),
            None if requests.iter().any(states_time) => Ok(Self::Recorded),
            None => {
                Err(Failure::input("the throughput of a GPU is not known")
                    .with_hint(HOW_TO_MEASURE))
            }
        }
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
    ) -> Result<Self, Failure> {
        let way = Way::of(args, (requests, counts))?;
        let mut ran_on: Option<String> = None;
        let utilization = |measured: Utilized, served_per_second: f64| {
            let per_second = measured.per_second(served_per_second);
            let per_second = per_second.map_err(|error| invalid(error, args))?;
            let basis = ThroughputBasis::Utilization {
                measured,
                served_per_second,
            };
            Ok::<_, Failure>((basis, Throughput::of_rate(per_second, args.batch)))
        };
        let (basis, gpu) = match way {
            Way::Workload(name, served) => {
                let Served {
                    service,
                    prices,
                    seen,
                    window,
                } = workload(name, args, settings, io)?;
                let served = served.within(window.start, window.end, "the window of the estate")?;
                let found = utilization(service.utilized, served)?;
                let place = Some((service.shape, service.key));
                return Ok(Self {
                    seen: Some(seen),
                    ..Self::with(args, requests, found, place, prices)?
                });
            }
            Way::Profile(path, served) => {
                let profile = sampled::profile_of(path, settings)?;
                ran_on = profile.facts.instance_type.clone();
                let served = served_in_run(served, &profile)?;
                utilization(utilized(&profile, shown(path))?, served)?
            }
            Way::Stated(rate) => (
                ThroughputBasis::Stated,
                Throughput::of_rate(rate, args.batch),
            ),
            Way::Latency(service_seconds) => {
                let batch = args.batch;
                let gpu = Throughput {
                    batch,
                    service_seconds,
                };
                (ThroughputBasis::Latency, gpu)
            }
            Way::Tokens(per_second) => {
                let basis = ThroughputBasis::Tokens {
                    per_second,
                    prompt_per_second: args.prompt_tokens_per_second,
                };
                (basis, of_tokens(args, requests, per_second)?)
            }
            // The mean follows from the recording.
            Way::Recorded => (
                ThroughputBasis::Recorded,
                Throughput::of_rate(1.0, args.batch),
            ),
        };
        let prices = pricing::book(args.estate.offline, settings, io)?;
        let known = Prices::new(&prices, &settings.policy.discount_percent);
        let place = place(args, ran_on.as_ref(), (settings, &known), io)?;
        Self::with(args, requests, (basis, gpu), place, prices)
    }

    fn with(
        args: &CapacityArgs,
        requests: &[RecordedRequest],
        (basis, mut gpu): (ThroughputBasis, Throughput),
        place: Option<(InstanceShape, PriceKey)>,
        prices: PriceBook,
    ) -> Result<Self, Failure> {
        let work = match basis {
            ThroughputBasis::Recorded => WorkOf::Recorded,
            ThroughputBasis::Tokens {
                per_second,
                prompt_per_second,
            } if states_tokens(requests) => WorkOf::Tokens {
                per_second,
                prompt_per_second,
                batch: args.batch,
            },
            _ => WorkOf::Each(gpu.service_seconds),
        };
        let recording = match &args.arrivals {
            Some(_) => {
                let recording = Recording::new(requests, work);
                Some(recording.map_err(|error| invalid(error, args))?)
            }
            None => None,
        };
        if let Some(recording) = &recording {
            gpu.service_seconds = recording.mean_service_seconds;
        }
        Ok(Self {
            gpu,
            basis,
            recording,
            place,
            prices,
            seen: None,
        })
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
) -> Result<Throughput, Failure> {
    let is_recorded = states_tokens(requests);
    if args.prompt_tokens_per_second.is_some() && !is_recorded {
        return Err(
            Failure::input("`--prompt-tokens-per-second` needs the tokens of prompts")
                .with_hint("add columns of prompt and generated tokens to `--arrivals`"),
        );
    }
    match args.tokens_per_request {
        Some(tokens) => Ok(Throughput::of_rate(per_second / tokens, args.batch)),
        // The mean follows from the recording.
        None if is_recorded => Ok(Throughput::of_rate(1.0, args.batch)),
        None => Err(
            Failure::input("`--tokens-per-second` needs the tokens of a request").with_hint(
                "pass `--tokens-per-request`, or `--arrivals` with columns of prompt and \
                 generated tokens",
            ),
        ),
    }
}

/// Requests a second while a run was sampled.
fn served_in_run(served: ServedRate<'_>, profile: &RunProfile) -> Result<f64, Failure> {
    let from = profile.facts.started;
    let lasted = SignedDuration::from_millis((profile.end.elapsed_seconds * 1e3) as i64);
    let to = from.checked_add(lasted).unwrap_or(from);
    served.within(from, to, "the run")
}

/// The whole GPUs of a host together; all of them have to be measured.
fn utilized(profile: &RunProfile, name: String) -> Result<Utilized, Failure> {
    let means: Option<Vec<f64>> = profile
        .whole()
        .map(|gpu| Some(gpu.utilization?.mean))
        .collect();
    let means = means.filter(|means| !means.is_empty()).ok_or_else(|| {
        Failure::input(format!("{name} has no utilization of every whole GPU"))
            .with_hint(HOW_TO_MEASURE)
    })?;
    let gpus = means.len() as f64;
    Ok(Utilized {
        name,
        gpus,
        mean_percent: means.iter().sum::<f64>() / gpus,
        samples: profile.samples,
    })
}

/// A workload of an estate that serves requests.
struct Served {
    service: MeasuredService,
    prices: PriceBook,
    /// Instances of the estate, and its gaps.
    seen: (usize, Vec<Gap>),
    window: Window,
}

fn workload(
    name: &str,
    args: &CapacityArgs,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Result<Served, Failure> {
    let estate = estate::estate(&args.estate, settings, io)?;
    let audit = audit(&estate, &settings.policy, Risk::Medium);
    let found = measured_service(&audit, name, &settings.policy).map_err(|error| {
        let hint = match &error {
            NotMeasured::Unknown { nearest, .. } if !nearest.is_empty() => {
                format!("did you mean {}?", nearest.join(", "))
            }
            NotMeasured::Unknown { .. } => {
                format!("{} lists the workloads", audit_command(args))
            }
            NotMeasured::Several { first, .. } => {
                format!("pass an ID of `gpucost audit --format json`, such as {first}")
            }
            NotMeasured::NoGpu(_) => "choose a workload with GPUs".to_owned(),
            NotMeasured::Unmeasured(_) | NotMeasured::NoMemory(_) => {
                format!("{} lists what is missing", audit_command(args))
            }
        };
        Failure::new(ExitCode::Input, error).with_hint(hint)
    })?;
    if found.kind == WorkloadKind::Training {
        let name = &found.utilized.name;
        let error = anyhow::anyhow!("{name} is training, which serves no requests");
        let hint = format!("pass a service: {} lists them", audit_command(args));
        return Err(Failure::new(ExitCode::Nothing, error).with_hint(hint));
    }
    Ok(Served {
        service: found,
        prices: estate.prices,
        seen: (estate.instances.len(), audit.gaps),
        window: estate.window,
    })
}

/// The type on which the throughput is known: as stated, else as a profile says.
fn place(
    args: &CapacityArgs,
    ran_on: Option<&String>,
    (settings, prices): (&SettingsFile, &Prices<'_>),
    io: &Io<'_>,
) -> Result<Option<(InstanceShape, PriceKey)>, Failure> {
    let named = args.instance_type.as_ref().or(ran_on);
    if named.is_none() && args.gpu.is_none() {
        if args.vram_peak.is_some() {
            return Err(
                Failure::input("`--vram-peak` needs `--type` or `--gpu`").with_hint(
                    "pass the type on which the throughput was measured, such as `--type \
                     g5.xlarge`",
                ),
            );
        }
        return Ok(None);
    }
    let region = pricing::one_region(args.estate.aws.region.as_deref(), settings, io)?;
    let regions = prices.regions();
    if !regions.contains(region.as_str()) {
        return Err(unknown("region", &region, regions.into_iter()));
    }
    let operating_system = pricing::operating_system(&args.os)?;
    let key = |shape: &InstanceShape| PriceKey {
        operating_system,
        ..PriceKey::linux_on_demand(&region, &shape.instance_type)
    };
    let shape = match named {
        Some(name) => known(name)?.0,
        None => {
            let asked = args.gpu.as_deref().unwrap_or_default();
            let question = gpu_question(Some(asked), &region, operating_system)?;
            pricing::refuse_unknown(&question, prices)?;
            one_with(asked, question.gpu.as_ref(), key, prices)?
        }
    };
    Ok(Some((shape.clone(), key(shape))))
}

/// The GPUs that a flag asks for, to be checked in one region.
pub(super) fn gpu_question(
    gpu: Option<&str>,
    region: &str,
    operating_system: OperatingSystem,
) -> Result<Question, Failure> {
    let gpu = gpu.map(GpuFilter::parse).transpose();
    let gpu = gpu.map_err(|message| {
        Failure::input(message)
            .with_hint("use `--gpu MODEL`, `--gpu MODEL:SIZE` or a range of sizes")
    })?;
    Ok(Question {
        instance_types: Vec::new(),
        gpu,
        count: None,
        regions: Vec::new(),
        home_region: region.to_owned(),
        providers: BTreeSet::from([AWS.to_owned()]),
        operating_system,
        sort: SortBy::Price,
    })
}

/// The cheapest type with whole GPUs of the only kind that `--gpu` asks for: what one such
/// GPU serves holds for each.
fn one_with(
    gpu: &str,
    filter: Option<&GpuFilter>,
    key: impl Fn(&InstanceShape) -> PriceKey,
    prices: &Prices<'_>,
) -> Result<&'static InstanceShape, Failure> {
    let mut found: BTreeMap<(String, Option<u64>), (Decimal, &'static InstanceShape)> =
        BTreeMap::new();
    for shape in catalog::shapes() {
        let key = key(shape);
        let offer = shape.gpu.as_ref().filter(|offer| {
            matches!(offer.share, GpuShare::Whole(_))
                && shape.accelerator == AcceleratorKind::Gpu
                && is_launchable(&key)
                && filter.is_some_and(|one| one.matches(offer.model.name(), offer.vram_mib))
        });
        let quote = prices.get(&key).ok();
        let (Some(offer), Some(quote)) = (offer, quote) else {
            continue;
        };
        let kind = (offer.model.name().to_owned(), offer.vram_mib);
        let rate = quote.rate.amount();
        let cheapest = found.entry(kind).or_insert((rate, shape));
        if (rate, &shape.instance_type) < (cheapest.0, &cheapest.1.instance_type) {
            *cheapest = (rate, shape);
        }
    }
    let names: Vec<&str> = found
        .values()
        .map(|(_, shape)| shape.instance_type.as_str())
        .collect();
    match (names.as_slice(), found.values().next()) {
        ([_], Some((_, shape))) => Ok(*shape),
        ([first, ..], _) => Err(Failure::input(format!(
            "`--gpu {gpu}` names {} kinds of GPUs, and a GPU of one serves what was stated",
            names.len()
        ))
        .with_hint(format!(
            "pass the type on which the throughput was measured, such as `--type {first}`; the \
             types with those are {}",
            names.join(", ")
        ))),
        _ => Err(Failure::input(format!(
            "no type with `--gpu {gpu}` has a price in the region"
        ))
        .with_hint("`gpucost pricing` lists the GPUs with their types and regions")),
    }
}

/// Why counts say nothing of a rate, with what to do about it.
pub(super) fn uncounted(error: &CountsError) -> Failure {
    let hint = match error {
        CountsError::OnePeriod { .. } | CountsError::OffGrid { .. } => {
            "pass the period that they were asked for, such as `--request-period 60s`"
        }
        CountsError::NoRequests { .. } => "pass `--request-peak max`, or counts of a busier time",
        CountsError::NoneWithin { .. } => {
            "ask for the same time, or pass the rate as `--served-rate`"
        }
    };
    Failure::input(error).with_hint(hint)
}

/// An error with what to do about it.
pub(super) fn invalid(error: CapacityError, args: &CapacityArgs) -> Failure {
    let hint = match &error {
        CapacityError::BelowFloor { floor_seconds, .. } => {
            let spread = if args.arrivals.is_none()
                && args.service_times == ServiceTimesChoice::Exponential
            {
                "; if requests all take about the same time, pass `--service-times fixed`"
            } else {
                ""
            };
            format!(
                "pass `--objective` above {floor_seconds:.6}s, or make requests faster: a smaller \
                 batch, a faster GPU, fewer tokens{spread}"
            )
        }
        CapacityError::TooMany { .. } => {
            "check `--rate` and the time of a request: rate × time is what is in flight".to_owned()
        }
        CapacityError::NoRate => {
            "record requests over some time, or pass `--rate` without `--arrivals`".to_owned()
        }
        CapacityError::NoWork => {
            "add the column to every line, or pass `--per-gpu` or `--latency`".to_owned()
        }
        CapacityError::NeverBusy(_) => "measure while requests are served".to_owned(),
        CapacityError::NoZoneLeft { .. } => {
            "pass a `--survive-zones` below `--zones`, such as `--zones 3 --survive-zones 1`"
                .to_owned()
        }
        CapacityError::NotAboveZero { .. } => "check the numbers that were passed".to_owned(),
    };
    Failure::new(ExitCode::Input, error).with_hint(hint)
}
