//! `gpucost autoscale`: a policy replayed over the demand of a workload or of a file.

use super::args::{DocFormat, EstateArgs, time};
use super::choices::within;
use super::known_prices::{check_launchable, has_commitments};
use super::planning::{Planning, estate_flags};
use super::rightsize::percent;
use super::sampled::unreadable;
use super::{
    ExitCode, Failure, Io, Outcome, did_you_mean, estate, flags, hint, known_prices, output,
    parsers, refusal, refused,
};
use crate::analysis::{NoDemand, WorkloadDemand, workload_demand};
use crate::catalog::{self, Prices, bundled_interruption_band};
use crate::config::SettingsFile;
use crate::domain::{
    Gap, GpuShare, OperatingSystem, Policy, PriceBook, PriceOption, counted, safe, shell_word,
};
use crate::planners::autoscale::{
    Autoscale, AutoscaleRequest, AutoscaleSubject, Demand, Held, InstancePrices, ScalingPolicy,
    ScheduleWindow, SpotShare, Trigger, autoscale,
};
use crate::profiling::BusyGpus;
use crate::report::planners::autoscale::autoscale_answer;
use crate::savings::spot_price;
use crate::sources::files::{ReadOptions, open_samples, read_demand};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::path::{Path, PathBuf};

/// Longest start-up and cool-down.
const A_DAY: SignedDuration = SignedDuration::from_hours(24);

parsers! {
    /// A percentage above zero and at most 100, such as `60%`.
    fn above_zero(text) -> f64 = percent(text).ok().filter(|value| *value > 0.0), "expected a percentage above 0 and at most 100, such as 60%";
    /// A length of time up to a day, or `0`.
    fn length(text) -> SignedDuration = Some(if text == "0" { SignedDuration::ZERO } else { time(text)? }).filter(|time| *time <= A_DAY), "expected at most 24h";
    /// A number from a thousandth to a million.
    fn positive(text) -> f64 = within(text, 0.001..=1e6), "expected a number from 0.001 to 1000000";
}

flags! {
    /// `gpucost autoscale`.
    pub(super) struct AutoscaleArgs {
        /// ID or name of the workload to replay [default: the only service, else the only one]
        workload: Option<String> = arg(long, value_name = "ID", help_heading = "Demand");
        /// CSV file of GPUs in use, with the columns time and gpus, instead of an account
        demand: Option<PathBuf> = arg(long, value_name = "FILE", requires = "instance_type", conflicts_with_all = estate_flags().chain(["workload"]), help_heading = "Demand");
        /// Instance type that serves the demand of the file, or of the run of `--profile-data` alone;
        /// `--region` sets its region
        instance_type: Option<String> = arg(long = "type", value_name = "TYPE", help_heading = "Demand");
        /// Number of instances that ran all the time, to compare with
        today: Option<u32> = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), requires = "demand", help_heading = "Demand");

        /// GPU utilization to keep [default: 60%]
        target: Option<f64> = arg(long, value_name = "PERCENT", value_parser = above_zero, allow_negative_numbers = true, conflicts_with = "queue_length", help_heading = "Policy");
        /// Requests to keep for each instance, waiting or in flight, instead of a utilization
        queue_length: Option<f64> = arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true, requires = "request_seconds", help_heading = "Policy");
        /// Seconds of one GPU that a request takes
        request_seconds: Option<f64> = arg(long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true, requires = "queue_length", help_heading = "Policy");
        /// Time after which a waiting request counts as late
        late_after: SignedDuration = arg(long, value_name = "TIME", value_parser = length, default_value = "5m", requires = "queue_length", help_heading = "Policy");
        /// Time from a launch until the instance serves: the node, its images and the model
        start_up: SignedDuration = arg(long, value_name = "TIME", value_parser = length, default_value = "5m", help_heading = "Policy");
        /// Time for which fewer instances are wanted before any ends
        cool_down: SignedDuration = arg(long, value_name = "TIME", value_parser = length, default_value = "15m", help_heading = "Policy");
        /// Least instances [default: as many as hold the models of the workload, else 1]
        min: Option<u32> = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000), help_heading = "Policy");
        /// End the last instance too, when nothing is to be done
        scale_to_zero: bool = arg(long, conflicts_with = "min", help_heading = "Policy");
        /// Most instances [default: enough for the largest demand at 30% utilization]
        max: Option<u32> = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Policy");
        /// Window of a week with more instances, such as mon-fri@08:00-20:00=4, in the time zone
        /// of the policy file (can be repeated)
        schedule: Vec<ScheduleWindow> = arg(long, value_name = "WINDOW", value_parser = ScheduleWindow::parse, help_heading = "Policy");
        /// Share of the instances above the base that are spot
        spot_share: f64 = arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true, default_value = "0%", help_heading = "Policy");
        /// Instances that are always on demand
        on_demand_base: u32 = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000), default_value = "0", help_heading = "Policy");
        /// Share of the demand that may wait or fail
        max_unserved: f64 = arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true, default_value = "0.1%", help_heading = "Policy");
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
        estate: EstateArgs = command(flatten);
    }
}

/// Utilization that is kept where nothing else is asked for: the lower end of what a
/// service is advised to have.
const TARGET_PERCENT: f64 = 60.0;
/// Utilization for which the most instances are enough where no limit is given.
const LEAST_TARGET: f64 = 0.3;

/// What is replayed, before a policy is.
struct Record {
    of: WorkloadDemand,
    prices: PriceBook,
    as_of: Timestamp,
    /// What of the estate was not read; absent without one.
    gaps: Option<Vec<Gap>>,
}

pub(super) fn run(args: &AutoscaleArgs, io: &mut Io<'_>) -> Outcome {
    let of = &args.estate;
    let samples = of.profile_data.first().map(PathBuf::as_path);
    let read = [("--demand", args.demand.as_deref()), ("--profile-data", samples)];
    let planning = Planning::of_estate(of, args.format, &read, io)?;
    let settings = &planning.settings;
    let mut record = record(args, settings, io)?;
    let (as_of, instances, gaps) = (record.as_of, record.of.instances, record.gaps.take());
    let plan = replayed(args, settings, record)?;
    let prices = &plan.request.prices;
    let on_demand = prices.on_demand.iter().map(|quote| quote.seen_on);
    let spot = prices.spot.iter().map(|spot| spot.seen_on).filter(|_| plan.replay.spot_seconds > 0);
    let code =
        planning.print(&autoscale_answer(&plan), None, (on_demand.chain(spot).min(), as_of), io)?;
    Ok(match gaps {
        Some(gaps) => output::close("replayed", (instances, 0), &gaps, of, io),
        None => code,
    })
}

fn record(args: &AutoscaleArgs, settings: &SettingsFile, io: &mut Io<'_>) -> Outcome<Record> {
    let of = &args.estate;
    let reads_estate = args.workload.is_some() || of.is_named();
    match (&args.demand, of.profile_data.as_slice()) {
        (Some(file), _) => alone(file, args, settings, io),
        (None, [run]) if !reads_estate => alone(run, args, settings, io),
        (None, [_, _, ..]) if !reads_estate => Err(refusal!(
            "the run of one host is replayed at a time";
            "pass one `--profile-data`, or `--workload` to join them into its estate")),
        _ if args.instance_type.is_some() => Err(refusal!(
            "`--type` is about the demand of a file, and an estate knows its types";
            "pass `--demand FILE` or `--profile-data FILE` with it")),
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
) -> Outcome<Record> {
    let file = safe(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy());
    let (samples, facts) = if args.demand.is_some() {
        let samples = read_demand(path)
            .map_err(Failure::hinted("see docs/planners/autoscale.md for the columns"))?;
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
    let name = args.instance_type.as_ref().or(ran_on).ok_or_else(refused!(
        "{file} does not name its instance type";
        "pass the type that serves its demand with `--type`"))?;
    let prices = known_prices::book(args.estate.offline, settings, io)?;
    let known = Prices::new(&prices, &settings.policy.discount_percent);
    let region = args.estate.aws.region.as_ref().or(facts.and_then(|facts| facts.region.as_ref()));
    let region = known_prices::region(region.map(String::as_str), settings, io)?;
    let name = name.trim().to_ascii_lowercase();
    let key = known_prices::key_of(&name, &region, OperatingSystem::Linux, &known)?;
    check_launchable(&key, &known)?;
    let gpus = gpus_of(&key.instance_type)?;
    let (ran, source, needs) = match facts {
        Some(facts) => {
            let whole = facts.gpus.iter().filter(|gpu| gpu.mig.is_none()).count();
            let minutes = counted(samples.len(), "minute", "minutes");
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
    let demand = Demand::of_samples(&samples, ran, gpus)
        .map_err(Failure::hinted(format!("{file} needs {needs}")))?;
    let subject = AutoscaleSubject {
        name: "the workload".to_owned(),
        kind: None,
        instance_type: key.instance_type.clone(),
        region: key.region.clone(),
        scaling_group: None,
        source,
        purchase_option: None,
    };
    let held = Held::Unknown;
    let of = WorkloadDemand { subject, demand, gpus_per_instance: gpus, held, key, instances: 1 };
    Ok(Record { of, prices, as_of: io.now, gaps: None })
}

fn of_estate(args: &AutoscaleArgs, settings: &SettingsFile, io: &mut Io<'_>) -> Outcome<Record> {
    let estate = estate::read(&args.estate, settings, io)?;
    let prices = Prices::new(&estate.prices, &settings.policy.discount_percent);
    let of = workload_demand(&estate, &settings.policy, args.workload.as_deref());
    let of = of.map_err(no_demand)?;
    check_launchable(&of.key, &prices)?;
    let (as_of, gaps) = (estate.window.end, Some(estate.gaps));
    Ok(Record { of, prices: estate.prices, as_of, gaps })
}

fn gpus_of(instance_type: &str) -> Outcome<u32> {
    let shape = catalog::shape(instance_type);
    let offer = shape.and_then(|shape| shape.gpu.as_ref()).ok_or_else(refused!(
        "the GPUs of `{instance_type}` are unknown";
        "`gpucost pricing` lists the types with GPUs"))?;
    match offer.share {
        GpuShare::Whole(gpus) => Ok(gpus.into()),
        GpuShare::Fraction(part) => Err(refusal!(
            "the demand is in GPUs, and {instance_type} has {part} of one";
            "pass a type with whole GPUs: `gpucost select --gpu {}` lists them", offer.model)),
    }
}

fn replayed(args: &AutoscaleArgs, settings: &SettingsFile, record: Record) -> Outcome<Autoscale> {
    let Record { of, prices, .. } = record;
    let (policy, key) = (&settings.policy, &of.key);
    let prices = Prices::new(&prices, &policy.discount_percent);
    let request = AutoscaleRequest {
        policy: scaling_policy(args, policy, &of),
        prices: InstancePrices {
            on_demand: prices.get(&key.with_option(PriceOption::OnDemand)).ok(),
            spot: spot_price(&prices, key),
            band: bundled_interruption_band(key),
            has_commitments: has_commitments(key, &prices),
        },
        subject: of.subject,
        demand: of.demand,
        gpus_per_instance: of.gpus_per_instance,
        held: of.held,
        late_after_seconds: args.late_after.as_secs(),
        max_unserved_percent: args.max_unserved,
        least_interruptions_per_day: policy.spot_interruptions_per_day,
        hours_per_month: policy.hours_per_month,
    };
    Ok(autoscale(request)?)
}

fn scaling_policy(args: &AutoscaleArgs, policy: &Policy, of: &WorkloadDemand) -> ScalingPolicy {
    let (demand, gpus) = (&of.demand, of.gpus_per_instance);
    let enough = demand.peak_gpus() / f64::from(gpus) / LEAST_TARGET;
    let holding = of.held.least_instances(gpus);
    let min = if args.scale_to_zero { 0 } else { args.min.unwrap_or(holding) };
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
        NoDemand::NotFound { nearest, .. } => "{}", did_you_mean(nearest, "`gpucost audit` lists the workloads");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_lengths_have_limits() {
        assert_eq!((above_zero("60%"), above_zero("62.5")), (Ok(60.0), Ok(62.5)));
        for bad in ["0", "-1", "100.1", "NaN", "inf", "", "%", "much"] {
            assert!(above_zero(bad).is_err(), "{bad}");
        }
        assert_eq!(length("0"), Ok(SignedDuration::ZERO));
        assert_eq!(length("90s"), Ok(SignedDuration::from_secs(90)));
        assert!(length("25h").is_err() && length("-5m").is_err());
        assert!(positive("0").is_err() && positive("NaN").is_err());
    }
}
