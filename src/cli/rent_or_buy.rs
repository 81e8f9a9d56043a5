//! `gpucost rent-or-buy`: an own server against rented machines.

use super::args::{hourly_price, not_negative, positive};
use super::planning::{AnswerArgs, Planning, WorkloadArgs};
use super::{Io, Outcome, flags, known_prices, refusal, refuse_if, refused, rightsize, sampled};
use crate::analysis::{AWS, Question, Rentals, RunningWorkload, providers, rentals};
use crate::config::SettingsFile;
use crate::domain::{
    Currency, GpuOffer, GpuShare, InstanceShape, PriceBook, PurchaseOption, counted, shown,
};
use crate::planners::Paying;
use crate::planners::rent_or_buy::{Input, Own, Rental, rent_or_buy};
use crate::profiling::RunProfile;
use crate::report::planners::rent_or_buy::rent_or_buy_answer;
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A value with its source.
type Sourced = (Decimal, &'static str);

/// Average of facilities, weighted: Uptime Institute Global Data Center Survey 2025.
const PUE: Sourced = (
    Decimal::from_parts(154, 0, 0, false, 2),
    "average of the Uptime Institute Global Data Center Survey 2025",
);
/// Average of industrial consumers in the United States in 2023: EIA, 2024-03-18.
const ELECTRICITY: Sourced = (
    Decimal::from_parts(806, 0, 0, false, 4),
    "industrial average of the United States in 2023, EIA",
);
/// Median wage of network and computer systems administrators in May 2022: BLS
/// Occupational Outlook Handbook. Without what an employer pays beside wages.
const STAFF_HOURLY: Sourced = (
    Decimal::from_parts(4_352, 0, 0, false, 2),
    "median wage of system administrators in May 2022, BLS",
);
const NO_CAPITAL: Sourced = (Decimal::ZERO, "not computed");

flags! {
    /// `gpucost rent-or-buy`.
    pub(super) struct RentOrBuyArgs {
        /// Instance type with the GPUs that would be bought; `--region` sets its region
        instance_type: Option<String> = arg(long = "type", value_name = "TYPE", required_unless_present_any = ["on_demand_hourly", "workload", "from", "demo"], help_heading = "Rented machine");
        /// Region of the type [default: us-east-1]
        region: Option<String> = arg(long, value_name = "REGION", help_heading = "Rented machine");
        /// Comma-separated providers to compare as well, or `all` [default: aws]
        provider: Option<String> = arg(long, value_name = "P[,P…]|all", help_heading = "Rented machine");
        /// On-demand price per hour of the machine, instead of the known price
        on_demand_hourly: Option<Decimal> = arg(long, value_name = "PRICE", value_parser = hourly_price, allow_negative_numbers = true, help_heading = "Rented machine");
        /// GPUs of the own server [default: those of the type]
        gpus: Option<u16> = arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), allow_negative_numbers = true, required_unless_present_any = ["instance_type", "workload", "from", "demo"], help_heading = "Own server");
        /// Price of the own server, in USD
        purchase: Decimal = arg(long, value_name = "USD", value_parser = positive, allow_negative_numbers = true, help_heading = "Own server");
        /// Mean draw of the whole server, in watts
        watts: Option<Decimal> = arg(long, value_name = "WATTS", value_parser = positive, allow_negative_numbers = true, required_unless_present = "profile_data", conflicts_with = "profile_data", help_heading = "Own server");
        /// Take the draw of the GPUs from samples written by `gpucost profile --samples`
        profile_data: Option<PathBuf> = arg(long, value_name = "FILE", requires = "host_watts", help_heading = "Own server");
        /// Mean draw of the server without its GPUs, in watts
        host_watts: Option<Decimal> = arg(long, value_name = "WATTS", value_parser = not_negative, allow_negative_numbers = true, requires = "profile_data", help_heading = "Own server");
        /// Power of the facility over power of the server [default: 1.54]
        pue: Option<Decimal> = arg(long, value_name = "FACTOR", value_parser = positive, allow_negative_numbers = true, help_heading = "Own server");
        /// Price of electricity per kWh, in USD [default: 0.0806]
        electricity: Option<Decimal> = arg(long, value_name = "USD", value_parser = not_negative, allow_negative_numbers = true, help_heading = "Own server");
        /// Rack or colocation per month without electricity, in USD
        rack_monthly: Decimal = arg(long, value_name = "USD", value_parser = not_negative, allow_negative_numbers = true, help_heading = "Own server");
        /// Hours of staff per month
        staff_hours: Decimal = arg(long, value_name = "HOURS", value_parser = not_negative, allow_negative_numbers = true, help_heading = "Own server");
        /// Cost of an hour of staff, in USD [default: 43.52]
        staff_hourly: Option<Decimal> = arg(long, value_name = "USD", value_parser = not_negative, allow_negative_numbers = true, help_heading = "Own server");
        /// Spare parts bought with the server, percent of its price
        spares_percent: Decimal = arg(long, value_name = "PERCENT", value_parser = percentage, allow_negative_numbers = true, help_heading = "Own server");
        /// Value at the end of the term, percent of the price
        residual_percent: Decimal = arg(long, value_name = "PERCENT", value_parser = percentage, allow_negative_numbers = true, help_heading = "Own server");
        /// Interest per year on server and spares, percent [default: not computed]
        capital_percent: Option<Decimal> = arg(long, value_name = "PERCENT", value_parser = percentage, allow_negative_numbers = true, help_heading = "Own server");
        /// Years that the server is used
        years: u8 = arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15), allow_negative_numbers = true, help_heading = "Own server");
        /// Share of the hours in which the GPUs are needed, percent [default: the share of them that
        /// the workload ran]
        utilization: Option<Decimal> = arg(long, value_name = "PERCENT", value_parser = percentage, allow_negative_numbers = true, required_unless_present_any = ["workload", "from", "demo"], help_heading = "Own server");
        of: WorkloadArgs = command(flatten);
        answer: AnswerArgs = command(flatten);
    }
}

/// A percentage, with or without its sign; the planner says which are too large.
fn percentage(text: &str) -> Result<Decimal, String> {
    not_negative(text.strip_suffix('%').unwrap_or(text))
}

pub(super) fn run(args: &RentOrBuyArgs, io: &mut Io<'_>) -> Outcome {
    let read =
        [("--from", args.of.from.as_deref()), ("--profile-data", args.profile_data.as_deref())];
    let planning = Planning::of(&args.answer, &read, io)?;
    let settings = &planning.settings;
    let (running, gathered) = args.of.running(settings)?.unzip();
    let today = running.as_ref();
    let of_today = today.map(|workload| workload.today.instance_type.as_str());
    let machine = args.instance_type.as_deref().or(of_today).map(machine).transpose()?;
    refuse_if!(args.provider.is_some() && machine.is_none();
        "`--provider` needs `--type`";
        "pass the type whose GPUs are compared");
    let gpus = args.gpus.or(machine.map(|(_, _, gpus)| gpus)).unwrap_or(0);
    let own = own(args, gpus, today, settings)?;
    let known = match machine {
        Some((shape, gpu, _)) => listed(args, (shape, gpu), (today, gathered), &planning, io)?,
        None => Rentals::default(),
    };
    let oldest = known.found.iter().filter_map(|rental| rental.seen_on).min();
    let rented = with_own_price(paid(args, today).as_ref(), machine, gpus, known.found);
    let comparison = rent_or_buy(own, rented)?;
    let fleet = today.map(|workload| (workload.today.name.as_str(), workload.today.instances));
    let code =
        planning.print(&rent_or_buy_answer(&comparison, fleet), None, (oldest, io.now), io)?;
    let mut said = format!("compared {}", counted(comparison.rentals.len(), "price", "prices"));
    if known.other_currencies > 0 {
        let others = counted(known.other_currencies, "offer", "offers");
        said.push_str(&format!("; {others} in other currencies left out"));
    }
    planning.say(&said, io);
    Ok(code)
}

type Machine = (&'static InstanceShape, &'static GpuOffer, u16);

/// A type with whole GPUs.
fn machine(name: &str) -> Outcome<Machine> {
    let (shape, gpu) = rightsize::known(name)?;
    match gpu.share {
        GpuShare::Whole(gpus) => Ok((shape, gpu, gpus)),
        GpuShare::Fraction(part) => Err(refusal!(
            "{} has {part} of a GPU, and servers have whole ones", shape.instance_type;
            "pass a type with whole GPUs; `gpucost pricing` lists them")),
    }
}

/// What the price lists have of the type and of machines like it.
fn listed(
    args: &RentOrBuyArgs,
    (shape, gpu): (&InstanceShape, &GpuOffer),
    (today, gathered): (Option<&RunningWorkload>, Option<PriceBook>),
    planning: &Planning<'_>,
    io: &Io<'_>,
) -> Outcome<Rentals> {
    let region =
        args.region.as_deref().or(today.map(|workload| workload.workload.key.region.as_str()));
    let region = known_prices::region(region, &planning.settings, io)?;
    let asked = args.provider.as_deref().unwrap_or(AWS).split(',');
    let asked: BTreeSet<String> = asked.map(|name| name.trim().to_owned()).collect();
    let providers = if asked.contains("all") {
        providers()
    } else {
        // The region that is checked is one of AWS.
        asked.into_iter().chain([AWS.to_owned()]).collect()
    };
    let question =
        Question { providers, ..Question::of_aws(vec![shape.instance_type.clone()], vec![region]) };
    let book = planning.book(gathered, args.answer.offline, io)?;
    let prices = planning.prices(&book);
    known_prices::refuse_unknown(&question, &prices)?;
    Ok(rentals(&question, gpu, &prices))
}

/// What an hour of the machine is known to cost, and which price that is.
type Paid = (Decimal, String);

/// The price of `--on-demand-hourly`, else what the workload pays in dollars.
fn paid(args: &RentOrBuyArgs, today: Option<&RunningWorkload>) -> Option<Paid> {
    if let Some(hourly) = args.on_demand_hourly {
        return Some((hourly, "stated price".to_owned()));
    }
    let today = today?;
    let is_asked = |name: &String| name.eq_ignore_ascii_case(&today.today.instance_type);
    if !args.instance_type.as_ref().is_none_or(is_asked) {
        return None;
    }
    // Spot can be interrupted, and is not compared with a server of one's own.
    let is_compared = today.workload.key.purchase_option != PurchaseOption::Spot;
    let rate = today.today.rate.filter(|_| is_compared)?;
    let with = if today.today.is_committed { " with commitments" } else { "" };
    let of = format!("as {} pays today{with}", today.today.name);
    (rate.currency() == Currency::Usd).then(|| (rate.amount(), of))
}

/// The price that is paid in place of the known one.
fn with_own_price(
    paid: Option<&Paid>,
    machine: Option<Machine>,
    gpus: u16,
    mut known: Vec<Rental>,
) -> Vec<Rental> {
    let Some((hourly, of)) = paid else { return known };
    known.retain(|rental| !(rental.is_asked && rental.paying == Paying::OnDemand));
    let of_machine = machine.map_or(gpus, |(_, _, gpus)| gpus);
    let name = machine.map_or("rented machine", |(shape, _, _)| shape.instance_type.as_str());
    known.push(Rental {
        provider: None,
        region: None,
        machine: format!("{name} ({of})"),
        paying: Paying::OnDemand,
        per_gpu_hour: hourly / Decimal::from(of_machine.max(1)),
        machine_gpus: of_machine.into(),
        seen_on: None,
        is_asked: true,
    });
    known
}

/// Percent of the hours in which the GPUs are needed, with its source.
fn usage(args: &RentOrBuyArgs, today: Option<&RunningWorkload>) -> Outcome<(Decimal, String)> {
    if let Some(percent) = args.utilization {
        return Ok((percent, "--utilization".to_owned()));
    }
    let share = today.and_then(|workload| Some((workload.workload.running_share?, workload)));
    let (share, workload) = share.ok_or_else(refused!(
        "it is unknown for which share of the hours the workload ran";
        "pass `--utilization`, such as `--utilization 80`"))?;
    let percent = (share * Decimal::ONE_HUNDRED).round_dp(1);
    Ok((percent, format!("share of the hours that {} ran", workload.today.name)))
}

fn own(
    args: &RentOrBuyArgs,
    gpus: u16,
    today: Option<&RunningWorkload>,
    settings: &SettingsFile,
) -> Outcome<Own> {
    let flags = [
        (Input::Purchase, "--purchase"),
        (Input::Spares, "--spares-percent"),
        (Input::Residual, "--residual-percent"),
        (Input::Rack, "--rack-monthly"),
        (Input::StaffHours, "--staff-hours"),
    ];
    let mut sources = BTreeMap::from(flags.map(|(input, flag)| (input, flag.to_owned())));
    let mut or = |input: Input, flag: Option<Decimal>, name: &str, (usual, of): Sourced| {
        sources.insert(input, flag.map_or_else(|| format!("default: {of}"), |_| name.to_owned()));
        flag.unwrap_or(usual)
    };
    let (cost, capital) = (args.staff_hourly, args.capital_percent);
    let pue = or(Input::Pue, args.pue, "--pue", PUE);
    let electricity = or(Input::Electricity, args.electricity, "--electricity", ELECTRICITY);
    let staff_hourly = or(Input::StaffHourly, cost, "--staff-hourly", STAFF_HOURLY);
    let capital_percent = or(Input::Capital, capital, "--capital-percent", NO_CAPITAL);
    let (watts, source) = watts(args, gpus, settings)?;
    sources.insert(Input::Watts, source);
    let (utilization_percent, source) = usage(args, today)?;
    sources.insert(Input::Utilization, source);
    Ok(Own {
        gpus,
        purchase: args.purchase,
        watts,
        pue,
        electricity,
        rack_monthly: args.rack_monthly,
        staff_hours: args.staff_hours,
        staff_hourly,
        spares_percent: args.spares_percent,
        residual_percent: args.residual_percent,
        capital_percent,
        years: args.years,
        utilization_percent,
        hours_of_month: settings.policy.hours_per_month,
        sources,
    })
}

/// The mean draw of the server, and where it is from.
fn watts(args: &RentOrBuyArgs, gpus: u16, settings: &SettingsFile) -> Outcome<(Decimal, String)> {
    let (Some(path), Some(host)) = (&args.profile_data, args.host_watts) else {
        // The parser asks for one or the other.
        return Ok((args.watts.unwrap_or_default(), "--watts".to_owned()));
    };
    let each = mean_watts(&sampled::profile_of(path, settings)?, path)?;
    let total = each * Decimal::from(gpus) + host;
    let source = format!(
        "{} W of a GPU in {} (--profile-data) × {gpus} + --host-watts",
        each.normalize(),
        shown(path)
    );
    Ok((total, source))
}

/// Mean draw of a GPU of a run, to a tenth of a watt.
fn mean_watts(run: &RunProfile, path: &Path) -> Outcome<Decimal> {
    let drawn: Option<Vec<f64>> =
        run.whole().map(|gpu| gpu.power.map(|power| power.mean_w)).collect();
    let mean = drawn.and_then(|drawn| crate::usage::mean(&drawn));
    mean.and_then(Decimal::from_f64).map(|mean| mean.round_dp(1)).ok_or_else(refused!(
        "{} does not show the power of every GPU", shown(path);
        "pass the draw of the whole server with `--watts`"))
}
