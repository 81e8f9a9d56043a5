//! Flags of `gpucost history` without an action.

use crate::cli::args::{DocFormat, OutputArgs, not_negative, place};
use crate::cli::aws_args::BucketArgs;
use crate::cli::choices::choices;
use crate::sources::store::Place;
use crate::trend::{Horizon, Step};
use clap::{Args, ValueEnum, ValueHint};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::path::PathBuf;

/// `gpucost history`.
#[derive(Debug, Args)]
pub(in crate::cli) struct TrendArgs {
    /// Directory, or s3://BUCKET/PREFIX, that stores the audits [default: `history`]
    #[arg(long, value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath)]
    pub history: Option<Place>,
    /// How long a row of the trend is
    #[arg(long, value_parser = STEPS, value_name = "STEP", default_value = "month")]
    pub step: Step,
    /// What the spend is broken down by
    #[arg(long, value_enum, value_name = "KEY", default_value_t = ByChoice::Workload)]
    pub by: ByChoice,
    /// Tag that names the team
    #[arg(long, value_name = "KEY", default_value = "team")]
    pub team_tag: String,
    /// First day that is shown, such as 2026-10-01
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub since: Option<Date>,
    /// What the calendar month or quarter will end at
    #[arg(long, value_parser = HORIZONS, value_name = "PERIOD")]
    pub forecast: Option<Horizon>,
    /// CSV file of how much work was done on each day: columns date, name, unit and count
    #[arg(long, value_name = "FILE")]
    pub units: Option<PathBuf>,
    /// Least difference of the last day from what was expected to be unusual
    #[arg(long, value_name = "AMOUNT", value_parser = not_negative, allow_negative_numbers = true, default_value = "100")]
    pub anomaly_amount: Decimal,
    /// The same in percent of what was expected
    #[arg(long, value_name = "PERCENT", value_parser = not_negative, allow_negative_numbers = true, default_value = "40")]
    pub anomaly_percent: Decimal,
    /// Use bundled prices only
    #[arg(long)]
    pub offline: bool,
    #[command(flatten)]
    pub bucket: BucketArgs,
    /// Output format [default: table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<DocFormat>,
    #[command(flatten)]
    pub out: OutputArgs,
}

/// A day of the calendar.
fn day(text: &str) -> Result<Date, String> {
    text.parse().map_err(|_| "expected a date such as 2026-10-01".to_owned())
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ByChoice {
    /// Instances that do one job, whatever their type
    Workload,
    /// Value of the tag of `--team-tag`
    Team,
    Account,
    /// Instance type
    Type,
}
