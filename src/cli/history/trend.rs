//! `gpucost history`: the sums of recorded audits.

use super::places::{ending, flag, read_recorded};
use crate::catalog::bundled_quote;
use crate::cli::args::{DocFormat, OutputArgs, not_negative, place};
use crate::cli::aws_args::BucketArgs;
use crate::cli::choices::{Choices, name_of};
use crate::cli::{
    Failure, Io, Outcome, audit, choices, did_you_mean, flags, known_prices, output, refused,
};
use crate::domain::{DatedPrice, DatedUnits, PriceBook, PriceKey, PriceOrigin, nearest_names};
use crate::report::history_answer;
use crate::sources::files::read_dated_units;
use crate::sources::store::Place;
use crate::trend::{
    AnomalyLimits, Horizon, Ledger, Overview, Step, TrendKey, TrendRequest, UnknownUnits,
};
use clap::ValueHint;
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::path::PathBuf;

flags! {
    /// `gpucost history`.
    pub(in crate::cli) struct TrendArgs {
        /// Directory, or s3://BUCKET/PREFIX, that stores the audits [default: `history`]
        history: Option<Place> = arg(long, value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath);
        /// How long a row of the trend is
        step: Step = arg(long, value_parser = STEPS, value_name = "STEP", default_value = "month");
        /// What the spend is broken down by
        by: Breakdown = arg(long, value_parser = BREAKDOWNS, value_name = "KEY", default_value = "workload");
        /// Tag that names the team
        team_tag: String = arg(long, value_name = "KEY", default_value = "team");
        /// First day that is shown, such as 2026-10-01
        since: Option<Date> = arg(long, value_name = "DATE", value_parser = |text: &str| text.parse::<Date>().map_err(|_| "expected a date such as 2026-10-01"));
        /// What the calendar month or quarter will end at
        forecast: Option<Horizon> = arg(long, value_parser = HORIZONS, value_name = "PERIOD");
        /// CSV file of how much work was done on each day: columns date, name, unit and count
        units: Option<PathBuf> = arg(long, value_name = "FILE");
        /// Least difference of the last day from what was expected to be unusual
        anomaly_amount: Decimal = arg(long, value_name = "AMOUNT", value_parser = not_negative, allow_negative_numbers = true, default_value = "100");
        /// The same in percent of what was expected
        anomaly_percent: Decimal = arg(long, value_name = "PERCENT", value_parser = not_negative, allow_negative_numbers = true, default_value = "40");
        /// Use bundled prices only
        offline: bool = arg(long);
        bucket: BucketArgs = command(flatten);
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
        out: OutputArgs = command(flatten);
    }
}

choices! {
    STEPS: Step {
        "day" = Day;
        "week" = Week, "From Monday on";
        "month" = Month;
    }
    HORIZONS: Horizon {
        "month" = Month;
        "quarter" = Quarter;
    }
}

/// What spend is broken down by, of the tag of the team.
type Breakdown = fn(String) -> TrendKey;

const BREAKDOWNS: Choices<Breakdown> = Choices(&[
    ("workload", "Instances that do one job, whatever their type", |_| TrendKey::Workload),
    ("team", "Value of the tag of `--team-tag`", TrendKey::Tag),
    ("account", "", |_| TrendKey::Account),
    ("type", "Instance type", |_| TrendKey::InstanceType),
]);

pub(super) fn run(args: &TrendArgs, io: &mut Io<'_>) -> Outcome {
    let (settings, format) = audit::settings(args.format, &args.out, io)?;
    let units = units(args)?;
    let aws = args.bucket.options(&settings, io);
    let recorded = read_recorded(args.history.as_ref(), &aws, &args.out, io)?;
    let is_whole = recorded.problems.is_empty();
    let ledger = Ledger::of(recorded.rows, &recorded.runs, io.now);
    let book = known_prices::book(args.offline, &settings, io)?;
    let today = |region: &str, name: &str| public_price(&book, region, name);
    let ask = TrendRequest {
        step: args.step,
        key: (args.by)(args.team_tag.clone()),
        since: args.since,
        horizon: args.forecast,
        limits: AnomalyLimits { amount: args.anomaly_amount, percent: args.anomaly_percent },
    };
    let overview = Overview::of(ledger, recorded.actions, &units, &today, ask);
    let overview =
        overview.map_err(unknown)?.ok_or_else(refused!("the history has no day to show";
        "run `gpucost history record` every night; `--since` must not be after its last day"))?;
    let answer = history_answer(&overview, &flag(args.history.as_ref()));
    output::print_rows(&answer, format, None, &args.out, io)?;
    if format.is_rows() && (args.forecast.is_some() || args.units.is_some()) {
        let name = name_of(format).to_uppercase();
        let warning = format!("warning: {name} has the trend alone; `--format json` has all of it");
        output::warn(Some(warning), &args.out, io);
    }
    ending(is_whole, args.history.as_ref(), io)
}

fn units(args: &TrendArgs) -> Outcome<Vec<DatedUnits>> {
    let Some(path) = &args.units else { return Ok(Vec::new()) };
    let output = args.out.output.as_ref();
    output::check_distinct([("--units", Some(path)), ("--output", output)])?;
    read_dated_units(path).map_err(Failure::hinted("see docs/money-over-time.md for the columns"))
}

fn unknown(error: UnknownUnits) -> Failure {
    let nearest = nearest_names(&error.name, error.known.iter().map(String::as_str));
    let otherwise = "names are those of the workloads in the history";
    Failure::hinted(did_you_mean(&nearest, otherwise))(error)
}

/// The public on-demand price of a type today: what the user states in its place is none.
pub(super) fn public_price(book: &PriceBook, region: &str, name: &str) -> Option<DatedPrice> {
    let key = PriceKey::linux_on_demand(region, name);
    let known = book.get(&key).ok().filter(|quote| quote.origin != PriceOrigin::User);
    let quote = known.cloned().or_else(|| bundled_quote(&key))?;
    Some(DatedPrice {
        hourly: quote.rate,
        effective_date: Some(quote.effective_date),
        seen_on: quote.seen_on,
        origin: quote.origin,
    })
}
