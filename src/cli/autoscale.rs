//! `gpucost autoscale`: a policy replayed over the demand of a workload or of a file.

use super::Io;
use super::autoscale_args::AutoscaleArgs;
use super::exit::{ExitCode, Failure, hint};
use super::planner_offers::{check_launchable, has_commitments};
use super::planning::Planning;
use super::profile_data::unreadable;
use super::{estate, known_prices, output};
use crate::analysis::{NoDemand, workload_demand};
use crate::catalog::{self, Prices, bundled_interruption_band};
use crate::config::SettingsFile;
use crate::domain::{
    Gap, GpuShare, OperatingSystem, Policy, PriceBook, PriceKey, PriceOption, safe, shell_word,
};
use crate::planners::autoscale::{
    Autoscale, AutoscaleRequest, AutoscaleSubject, Demand, Held, InstancePrices, PolicyError,
    ScalingPolicy, SpotShare, Trigger, autoscale,
};
use crate::profiling::BusyGpus;
use crate::report::autoscale_answer;
use crate::report::text::counted;
use crate::savings::spot_price;
use crate::sources::files::{ReadOptions, open_samples, read_demand};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::path::{Path, PathBuf};

/// Utilization that is kept where nothing else is asked for: the lower end of what a
/// service is advised to have.
const TARGET_PERCENT: f64 = 60.0;
/// Utilization for which the most instances are enough where no limit is given.
const LEAST_TARGET: f64 = 0.3;

/// What is replayed, before a policy is.
struct Record {
    subject: AutoscaleSubject,
    demand: Demand,
    gpus_per_instance: u32,
    held: Held,
    /// The price on demand of one instance.
    key: PriceKey,
    prices: PriceBook,
    as_of: Timestamp,
    /// Instances of the workload and what of its estate was not read; absent without one.
    seen: Option<(usize, Vec<Gap>)>,
}

pub(super) fn run(args: &AutoscaleArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let of = &args.estate;
    let samples = of.profile_data.first().map(PathBuf::as_path);
    let read = [("--demand", args.demand.as_deref()), ("--profile-data", samples)];
    let planning = Planning::of_estate(of, args.format, &read, io)?;
    let settings = &planning.settings;
    let mut record = record(args, settings, io)?;
    let (as_of, seen) = (record.as_of, record.seen.take());
    let plan = replayed(args, settings, record)?;
    let prices = &plan.request.prices;
    let on_demand = prices.on_demand.iter().map(|quote| quote.seen_on);
    let spot = prices.spot.iter().map(|spot| spot.seen_on);
    let spot = spot.filter(|_| plan.replay.spot_seconds > 0);
    let oldest = on_demand.chain(spot).min();
    let code = planning.print(&autoscale_answer(&plan), oldest, as_of, io)?;
    Ok(match seen {
        Some((instances, gaps)) => output::close("replayed", (instances, 0), &gaps, of, io),
        None => code,
    })
}

fn record(
    args: &AutoscaleArgs,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Result<Record, Failure> {
    let of = &args.estate;
    let reads_estate = args.workload.is_some()
        || of.from.is_some()
        || of.demo.is_some()
        || of.save.is_some()
        || of.kubernetes.is_given();
    match (&args.demand, of.profile_data.as_slice()) {
        (Some(file), _) => alone(file, args, settings, io),
        (None, [run]) if !reads_estate => alone(run, args, settings, io),
        (None, [_, _, ..]) if !reads_estate => Err(Failure::input(
            "the run of one host is replayed at a time",
        )
        .with_hint("pass one `--profile-data`, or `--workload` to join them into its estate")),
        _ if args.instance_type.is_some() => Err(Failure::input(
            "`--type` is about the demand of a file, and an estate knows its types",
        )
        .with_hint("pass `--demand FILE` or `--profile-data FILE` with it")),
        _ => of_estate(args, settings, io),
    }
}

/// The demand of a file, or of the run of one host, which ran all the time: nothing but its time
/// and its type is known.
fn alone(
    path: &Path,
    args: &AutoscaleArgs,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Result<Record, Failure> {
    let file = safe(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy());
    let (samples, facts) = if args.demand.is_some() {
        let samples = read_demand(path).map_err(|error| {
            Failure::new(ExitCode::Input, error)
                .with_hint("see docs/planners/autoscale.md for the columns")
        })?;
        (samples, None)
    } else {
        let mut samples = open_samples(path, &ReadOptions::default()).map_err(unreadable)?;
        let facts = samples.facts().clone();
        let mut busy = BusyGpus::default();
        for sample in &mut samples {
            busy.add(&facts, &sample.map_err(unreadable)?);
        }
        (busy.minutes(), Some(facts))
    };
    let facts = facts.as_ref();
    let ran_on = facts.and_then(|facts| facts.instance_type.as_ref());
    let name = args.instance_type.as_ref().or(ran_on).ok_or_else(|| {
        Failure::input(format!("{file} does not name its instance type"))
            .with_hint("pass the type that serves its demand with `--type`")
    })?;
    let prices = known_prices::book(args.estate.offline, settings, io)?;
    let known = Prices::new(&prices, &settings.policy.discount_percent);
    let ran_in = facts.and_then(|facts| facts.region.as_ref());
    let region = args.estate.aws.region.as_ref().or(ran_in);
    let region = known_prices::one_region(region.map(String::as_str), settings, io)?;
    let name = name.trim().to_ascii_lowercase();
    let key = known_prices::key_of(&name, &region, OperatingSystem::Linux, &known)?;
    check_launchable(&key, &known)?;
    let gpus = gpus_of(&key.instance_type)?;
    let (ran, source, needs) = match facts {
        Some(facts) => {
            let whole = facts.gpus.iter().filter(|gpu| gpu.mig.is_none()).count();
            let minutes = counted(samples.len() as u64, "minute", "minutes");
            (
                (u32::try_from(whole) == Ok(gpus)).then_some(1),
                format!("{minutes} of {file} with samples"),
                "the utilization of every GPU for more than a minute, and at most two years",
            )
        }
        None => (
            args.today,
            format!("{} samples of {file}", samples.len()),
            "more than one time, and at most two years between the first and the last",
        ),
    };
    let demand = Demand::of_samples(&samples, ran, gpus).map_err(|error| {
        Failure::new(ExitCode::Input, error).with_hint(format!("{file} needs {needs}"))
    })?;
    Ok(Record {
        subject: AutoscaleSubject {
            name: "the workload".to_owned(),
            kind: None,
            instance_type: key.instance_type.clone(),
            region: key.region.clone(),
            scaling_group: None,
            source,
            purchase_option: None,
        },
        demand,
        gpus_per_instance: gpus,
        held: Held::Unknown,
        key,
        prices,
        as_of: io.now,
        seen: None,
    })
}

fn of_estate(
    args: &AutoscaleArgs,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Result<Record, Failure> {
    let estate = estate::estate(&args.estate, settings, io)?;
    let prices = Prices::new(&estate.prices, &settings.policy.discount_percent);
    let workload = workload_demand(&estate, &settings.policy, args.workload.as_deref());
    let workload = workload.map_err(no_demand)?;
    check_launchable(&workload.key, &prices)?;
    let (name, demand) = (workload.name, workload.demand);
    let (periods, seconds) = (demand.periods(), demand.period_seconds);
    Ok(Record {
        subject: AutoscaleSubject {
            source: format!("GPU utilization of {name}, {periods} periods of {seconds} s"),
            name,
            kind: Some(workload.kind),
            instance_type: workload.key.instance_type.clone(),
            region: workload.key.region.clone(),
            scaling_group: workload.scaling_group,
            purchase_option: Some(workload.purchase_option),
        },
        demand,
        gpus_per_instance: workload.gpus_per_instance,
        held: workload.held,
        key: workload.key,
        as_of: estate.window.end,
        seen: Some((workload.instances, estate.gaps)),
        prices: estate.prices,
    })
}

fn gpus_of(instance_type: &str) -> Result<u32, Failure> {
    let shape = catalog::shape(instance_type);
    let offer = shape.and_then(|shape| shape.gpu.as_ref());
    let offer = offer.ok_or_else(|| {
        Failure::input(format!("the GPUs of `{instance_type}` are unknown"))
            .with_hint("`gpucost pricing` lists the types with GPUs")
    })?;
    match offer.share {
        GpuShare::Whole(gpus) => Ok(gpus.into()),
        GpuShare::Fraction(part) => Err(Failure::input(format!(
            "the demand is in GPUs, and {instance_type} has {part} of one"
        ))
        .with_hint(format!(
            "pass a type with whole GPUs: `gpucost select --gpu {}` lists them",
            offer.model
        ))),
    }
}

fn replayed(
    args: &AutoscaleArgs,
    settings: &SettingsFile,
    record: Record,
) -> Result<Autoscale, Failure> {
    let (policy, key) = (&settings.policy, &record.key);
    let prices = Prices::new(&record.prices, &policy.discount_percent);
    let request = AutoscaleRequest {
        policy: scaling_policy(args, policy, &record),
        prices: InstancePrices {
            on_demand: prices.get(&key.with_option(PriceOption::OnDemand)).ok(),
            spot: spot_price(&prices, key),
            band: bundled_interruption_band(key),
            has_commitments: has_commitments(key, &prices),
        },
        subject: record.subject,
        demand: record.demand,
        gpus_per_instance: record.gpus_per_instance,
        held: record.held,
        late_after_seconds: args.late_after.as_secs(),
        max_unserved_percent: args.max_unserved,
        least_interruptions_per_day: policy.spot_interruptions_per_day,
        hours_per_month: policy.hours_per_month,
    };
    autoscale(request).map_err(|error| {
        let hint = hint! { error;
            PolicyError::MinAboveMax { min, .. } | PolicyError::WindowAboveMax { min, .. } => "pass `--max {min}`, or a lower minimum";
            PolicyError::NoInstance => "pass `--max 1` or more";
        };
        Failure::new(ExitCode::Input, error).with_hint(hint)
    })
}

fn scaling_policy(args: &AutoscaleArgs, policy: &Policy, record: &Record) -> ScalingPolicy {
    let (demand, gpus) = (&record.demand, record.gpus_per_instance);
    let enough = demand.peak_gpus() / f64::from(gpus) / LEAST_TARGET;
    let holding = record.held.least_instances(gpus);
    let min = match args.min {
        _ if args.scale_to_zero => 0,
        Some(min) => min,
        None => holding,
    };
    let windows = args.schedule.iter().map(|window| window.min);
    let most = windows.chain(demand.most_ran()).chain([min, 1]);
    let most = most.fold(enough.ceil() as u32, u32::max);
    let named = policy.time_zone.as_deref();
    let zone = named.and_then(|name| Some((name.to_owned(), catalog::time_zone(name)?)));
    ScalingPolicy {
        trigger: match (args.queue_length, args.request_seconds) {
            (Some(requests_per_instance), Some(request_seconds)) => {
                Trigger::Queue { requests_per_instance, request_seconds }
            }
            _ => Trigger::Utilization { target_percent: args.target.unwrap_or(TARGET_PERCENT) },
        },
        cool_down_seconds: args.cool_down.as_secs(),
        start_up_seconds: args.start_up.as_secs(),
        min,
        max: args.max.unwrap_or(most),
        windows: args.schedule.clone(),
        time_zone: zone.unwrap_or_else(|| ("UTC".to_owned(), TimeZone::UTC)),
        spot: SpotShare { on_demand_base: args.on_demand_base, spot_percent: args.spot_share },
    }
}

fn no_demand(error: NoDemand) -> Failure {
    let first = |names: &[String]| names.first().map_or(String::new(), |name| shell_word(name));
    let hint = hint! { &error;
        NoDemand::NotFound { nearest, .. } if nearest.is_empty() => "`gpucost audit` lists the workloads";
        NoDemand::NotFound { nearest, .. } => "did you mean {}?", nearest.join(", ");
        NoDemand::NotNamed { some, .. } => "pass one, such as `--workload {}`", first(some);
        NoDemand::Empty => "check `--region`, `--tag` and the account";
        NoDemand::Training { services, .. } if services.is_empty() => "`gpucost place --jobs FILE` places training jobs";
        NoDemand::Training { services, .. } => "pass a service, such as `--workload {}`", first(services);
        NoDemand::UnknownType { .. } => "pass its demand as a file with `--demand` and `--type`";
        NoDemand::Unmeasured { .. } => "`gpucost setup metrics` prints the configuration of the agent that measures it";
        NoDemand::Demand { .. } => "pass a shorter `--lookback`";
    };
    let code = match error {
        NoDemand::Empty | NoDemand::Training { .. } => ExitCode::Nothing,
        _ => ExitCode::Input,
    };
    Failure::new(code, error).with_hint(hint)
}
