//! `gpucost autoscale`: a policy replayed over the demand of a workload or of a file.

use super::Io;
use super::args::DocFormat;
use super::autoscale_args::AutoscaleArgs;
use super::exit::{ExitCode, Failure};
use super::planner_offers::{check_launchable, has_commitments};
use super::price_age::PriceAge;
use super::profile_data::unreadable;
use super::{audit, estate, output, planner, pricing};
use crate::analysis::{AWS, NoDemand, Question, SortBy, workload_demand};
use crate::catalog::{self, Prices, bundled_interruption_band};
use crate::config::SettingsFile;
use crate::domain::{GpuShare, OperatingSystem, Policy, PriceKey, PriceOption, safe, shell_word};
use crate::planners::autoscale::{
    Autoscale, AutoscaleAsk, AutoscaleSubject, Demand, Held, InstancePrices, PolicyError,
    ScalingPolicy, SpotShare, Trigger, autoscale,
};
use crate::profiling::BusyGpus;
use crate::report::autoscale_answer;
use crate::report::text::counted;
use crate::savings::spot_price;
use crate::sources::files::{ReadOptions, open_samples, read_demand};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Utilization that is kept where nothing else is asked for: the lower end of what a
/// service is advised to have.
const TARGET_PERCENT: f64 = 60.0;
/// Utilization for which the most instances are enough where no limit is given.
const LEAST_TARGET: f64 = 0.3;

pub(super) fn run(args: &AutoscaleArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.estate.out, io)?;
    let format = audit::format(args.format, &settings, io)?;
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    let samples = args.estate.profile_data.first().map(PathBuf::as_path);
    planner::check_output(
        &[
            ("--demand", args.demand.as_deref()),
            ("--profile-data", samples),
        ],
        &args.estate.out,
    )?;
    if let Some(file) = &args.demand {
        return of_file(file, args, &settings, (format, &age), io);
    }
    let of = &args.estate;
    let reads_estate = args.workload.is_some()
        || of.from.is_some()
        || of.demo.is_some()
        || of.save.is_some()
        || of.kubernetes.is_given();
    match of.profile_data.as_slice() {
        [run] if !reads_estate => of_run(run, args, &settings, (format, &age), io),
        [_, _, ..] if !reads_estate => Err(Failure::input(
            "the run of one host is replayed at a time",
        )
        .with_hint("pass one `--profile-data`, or `--workload` to join them into its estate")),
        _ if args.instance_type.is_some() => Err(Failure::input(
            "`--type` is about the demand of a file, and an estate knows its types",
        )
        .with_hint("pass `--demand FILE` or `--profile-data FILE` with it")),
        _ => of_estate(args, &settings, (format, &age), io),
    }
}

/// The run of one host, which ran all the time.
fn of_run(
    path: &Path,
    args: &AutoscaleArgs,
    settings: &SettingsFile,
    (format, age): (DocFormat, &PriceAge),
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let mut samples = open_samples(path, &ReadOptions::default()).map_err(unreadable)?;
    let facts = samples.facts().clone();
    let mut busy = BusyGpus::default();
    for sample in &mut samples {
        busy.add(&facts, &sample.map_err(unreadable)?);
    }
    let minutes = busy.minutes();
    let name = args.instance_type.as_ref().or(facts.instance_type.as_ref());
    let name = name.ok_or_else(|| {
        Failure::input(format!(
            "{} does not name its instance type",
            file_name(path)
        ))
        .with_hint("pass the type that serves its demand with `--type`")
    })?;
    let book = pricing::book(args.estate.offline, settings, io)?;
    let prices = Prices::new(&book, &settings.policy.discount_percent);
    let region = args.estate.aws.region.as_ref().or(facts.region.as_ref());
    let key = key((name, region), settings, &prices, io)?;
    check_launchable(&key, &prices)?;
    let gpus = gpus_of(&key.instance_type)?;
    let whole = facts.gpus.iter().filter(|gpu| gpu.mig.is_none()).count();
    let ran = (u32::try_from(whole) == Ok(gpus)).then_some(1);
    let demand = Demand::of_samples(&minutes, ran, gpus).map_err(|error| {
        Failure::new(ExitCode::Input, error).with_hint(format!(
            "{} needs the utilization of every GPU for more than a minute, and at most two years",
            file_name(path)
        ))
    })?;
    let minutes = format!(
        "{} of {} with samples",
        counted(minutes.len() as u64, "minute", "minutes"),
        file_name(path)
    );
    let found = replayed(
        args,
        settings,
        alone(&key, minutes, demand, gpus),
        (&key, &prices),
    )?;
    print(&found, args, (format, age, io.now), io)
}

/// Demand of which nothing but its time and its type is known.
fn alone(key: &PriceKey, source: String, demand: Demand, gpus_per_instance: u32) -> Record {
    Record {
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
        gpus_per_instance,
        held: Held::Unknown,
    }
}

fn of_file(
    file: &Path,
    args: &AutoscaleArgs,
    settings: &SettingsFile,
    (format, age): (DocFormat, &PriceAge),
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let samples = read_demand(file).map_err(|error| {
        Failure::new(ExitCode::Input, error)
            .with_hint("see docs/planners/autoscale.md for the columns")
    })?;
    let book = pricing::book(args.estate.offline, settings, io)?;
    let prices = Prices::new(&book, &settings.policy.discount_percent);
    let name = args.instance_type.as_deref().unwrap_or_default();
    let region = args.estate.aws.region.as_ref();
    let key = key((name, region), settings, &prices, io)?;
    check_launchable(&key, &prices)?;
    let gpus = gpus_of(&key.instance_type)?;
    let demand = Demand::of_samples(&samples, args.today, gpus).map_err(|error| {
        Failure::new(ExitCode::Input, error).with_hint(format!(
            "{} needs more than one time, and at most two years between the first and the last",
            file_name(file)
        ))
    })?;
    let source = format!("{} samples of {}", samples.len(), file_name(file));
    let found = replayed(
        args,
        settings,
        alone(&key, source, demand, gpus),
        (&key, &prices),
    )?;
    print(&found, args, (format, age, io.now), io)
}

fn of_estate(
    args: &AutoscaleArgs,
    settings: &SettingsFile,
    (format, age): (DocFormat, &PriceAge),
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let estate = estate::estate(&args.estate, settings, io)?;
    let prices = Prices::new(&estate.prices, &settings.policy.discount_percent);
    let one = workload_demand(&estate, &settings.policy, args.workload.as_deref());
    let one = one.map_err(no_demand)?;
    check_launchable(&one.key, &prices)?;
    let subject = AutoscaleSubject {
        name: one.name.clone(),
        kind: Some(one.kind),
        instance_type: one.key.instance_type.clone(),
        region: one.key.region.clone(),
        scaling_group: one.scaling_group.clone(),
        source: format!(
            "GPU utilization of {}, {} periods of {} s",
            one.name,
            one.demand.periods(),
            one.demand.period_seconds
        ),
        purchase_option: Some(one.purchase_option),
    };
    let record = Record {
        subject,
        demand: one.demand,
        gpus_per_instance: one.gpus_per_instance,
        held: one.held,
    };
    let found = replayed(args, settings, record, (&one.key, &prices))?;
    print(&found, args, (format, age, estate.window.end), io)?;
    Ok(output::close(
        "replayed",
        one.instances,
        0,
        &estate.gaps,
        &args.estate,
        io,
    ))
}

fn print(
    found: &Autoscale,
    args: &AutoscaleArgs,
    (format, age, as_of): (DocFormat, &PriceAge, Timestamp),
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let out = &args.estate.out;
    let prices = &found.ask.prices;
    let on_demand = prices.on_demand.iter().map(|quote| quote.seen_on);
    let spot = prices.spot.iter().map(|spot| spot.seen_on);
    let spot = spot.filter(|_| found.replay.spot_seconds > 0);
    let warning = age.check(on_demand.chain(spot).min(), as_of)?;
    let code = planner::print(&autoscale_answer(found), format, out, io)?;
    output::warn(warning, out, io);
    Ok(code)
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    safe(&name.to_string_lossy())
}

/// The price that the demand of a file is served at.
fn key(
    (name, region): (&str, Option<&String>),
    settings: &SettingsFile,
    prices: &Prices<'_>,
    io: &Io<'_>,
) -> Result<PriceKey, Failure> {
    let region = pricing::one_region(region.map(String::as_str), settings, io)?;
    let name = name.trim().to_ascii_lowercase();
    let question = Question {
        instance_types: vec![name.clone()],
        gpu: None,
        count: None,
        regions: vec![region.clone()],
        home_region: region.clone(),
        providers: BTreeSet::from([AWS.to_owned()]),
        operating_system: OperatingSystem::Linux,
        sort: SortBy::Price,
    };
    pricing::refuse_unknown(&question, prices)?;
    Ok(PriceKey::linux_on_demand(&region, &name))
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

/// What is replayed, before a policy is.
struct Record {
    subject: AutoscaleSubject,
    demand: Demand,
    gpus_per_instance: u32,
    held: Held,
}

fn replayed(
    args: &AutoscaleArgs,
    settings: &SettingsFile,
    record: Record,
    (key, prices): (&PriceKey, &Prices<'_>),
) -> Result<Autoscale, Failure> {
    let policy = &settings.policy;
    let ask = AutoscaleAsk {
        policy: scaling_policy(args, policy, &record),
        subject: record.subject,
        demand: record.demand,
        gpus_per_instance: record.gpus_per_instance,
        held: record.held,
        prices: InstancePrices {
            on_demand: prices.get(&key.with_option(PriceOption::OnDemand)).ok(),
            spot: spot_price(prices, key),
            band: bundled_interruption_band(key),
            has_commitments: has_commitments(key, prices),
        },
        late_after_seconds: args.late_after.as_secs(),
        max_unserved_percent: args.max_unserved,
        least_interruptions_per_day: policy.spot_interruptions_per_day,
        hours_per_month: policy.hours_per_month,
    };
    autoscale(ask).map_err(|error| {
        let hint = match error {
            PolicyError::MinAboveMax { min, .. } | PolicyError::WindowAboveMax { min, .. } => {
                format!("pass `--max {min}`, or a lower minimum")
            }
            PolicyError::NoInstance => "pass `--max 1` or more".to_owned(),
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
            (Some(requests_per_instance), Some(request_seconds)) => Trigger::Queue {
                requests_per_instance,
                request_seconds,
            },
            _ => Trigger::Utilization {
                target_percent: args.target.unwrap_or(TARGET_PERCENT),
            },
        },
        cool_down_seconds: args.cool_down.as_secs(),
        start_up_seconds: args.start_up.as_secs(),
        min,
        max: args.max.unwrap_or(most),
        windows: args.schedule.clone(),
        time_zone: zone.unwrap_or_else(|| ("UTC".to_owned(), TimeZone::UTC)),
        spot: SpotShare {
            on_demand_base: args.on_demand_base,
            spot_percent: args.spot_share,
        },
    }
}

fn no_demand(error: NoDemand) -> Failure {
    let first = |names: &[String]| {
        names
            .first()
            .map_or_else(String::new, |one| shell_word(one))
    };
    let (code, hint) = match &error {
        NoDemand::NotFound { nearest, .. } if nearest.is_empty() => (
            ExitCode::Input,
            "`gpucost audit` lists the workloads".to_owned(),
        ),
        NoDemand::NotFound { nearest, .. } => (
            ExitCode::Input,
            format!("did you mean {}?", nearest.join(", ")),
        ),
        NoDemand::NotNamed { some, .. } => (
            ExitCode::Input,
            format!("pass one, such as `--workload {}`", first(some)),
        ),
        NoDemand::Empty => (
            ExitCode::Nothing,
            "check `--region`, `--tag` and the account".to_owned(),
        ),
        NoDemand::Training { services, .. } if services.is_empty() => (
            ExitCode::Nothing,
            "`gpucost schedule --jobs FILE` places training jobs".to_owned(),
        ),
        NoDemand::Training { services, .. } => (
            ExitCode::Nothing,
            format!("pass a service, such as `--workload {}`", first(services)),
        ),
        NoDemand::UnknownType { .. } => (
            ExitCode::Input,
            "pass its demand as a file with `--demand` and `--type`".to_owned(),
        ),
        NoDemand::Unmeasured { .. } => (
            ExitCode::Input,
            "`gpucost metrics setup` prints the configuration of the agent that measures it"
                .to_owned(),
        ),
        NoDemand::Demand { .. } => (ExitCode::Input, "pass a shorter `--lookback`".to_owned()),
    };
    Failure::new(code, error).with_hint(hint)
}
