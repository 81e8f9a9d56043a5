//! Flags of `gpucost history`.

use super::digest_args::DigestArgs;
use super::sql_args::SqlArgs;
use super::trend_args::TrendArgs;
use crate::cli::args::{EstateArgs, OutputArgs, RiskChoice, place};
use crate::cli::aws_args::BucketArgs;
use crate::sources::store::Place;
use clap::{Args, Subcommand, ValueHint};
use std::ffi::OsString;

/// `gpucost history`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct HistoryArgs {
    #[command(subcommand)]
    pub action: Option<HistoryAction>,
    #[command(flatten)]
    pub trend: TrendArgs,
}

/// What to do with a history.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum HistoryAction {
    /// Audit, and keep what each workload cost on each day that is over, and the plan
    ///
    /// A day is kept once. Files are created and never changed, so several machines can
    /// record into one place at the same time.
    Record(Box<RecordArgs>),
    /// Check every file: damaged, half-written, and not of gpucost
    Verify(Box<VerifyArgs>),
    /// Report what happened since an earlier audit, and send it to Slack or a webhook
    ///
    /// Compares two audits that `gpucost history record` kept: spend and why it changed, what
    /// became of advised actions, new ones, and missing data. `--since last` is for a schedule
    /// of its own; the default is a week.
    Digest(Box<DigestArgs>),
    /// Print SQL that turns an archive of points into the tables of a history
    ///
    /// Calls nothing and reads nothing. The rows are those that gpucost itself keeps of the
    /// same points; `docs/scale.md` has the limits. With `--bill`, the statements turn a bill
    /// into hours of resources.
    Sql(Box<SqlArgs>),
    /// Keep the roll-ups that an engine wrote in a history, for `--rollups`
    ///
    /// The tables are those of the statements that `gpucost history sql` prints, as Parquet
    /// files in `TABLE/dt=DAY/`. Each day is read, checked, and written as gpucost writes it.
    Import(Box<ImportArgs>),
    /// Turn an archive of points into a history, with `gpucost-engine`
    ///
    /// `gpucost history rollup --help` shows the flags of `gpucost-engine rollup`.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Rollup(CompanionArgs),
    /// Turn a bill into hours of resources, with `gpucost-engine`
    ///
    /// `gpucost history bill --help` shows the flags of `gpucost-engine bill`.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Bill(CompanionArgs),
}

/// `gpucost history record`.
#[derive(Debug, Args)]
pub(in crate::cli) struct RecordArgs {
    /// Directory, or s3://BUCKET/PREFIX [default: the place of `--history`, or `history`]
    #[arg(value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath)]
    pub place: Option<Place>,
    #[command(flatten)]
    pub estate: EstateArgs,
    /// Maximum risk level of the plan [default: medium]
    #[arg(long, value_enum)]
    pub risk: Option<RiskChoice>,
}

/// `gpucost history verify`.
#[derive(Debug, Args)]
pub(in crate::cli) struct VerifyArgs {
    /// Directory, or s3://BUCKET/PREFIX [default: `history`]
    #[arg(value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath)]
    pub place: Option<Place>,
    #[command(flatten)]
    pub bucket: BucketArgs,
    #[command(flatten)]
    pub out: OutputArgs,
    /// Exit with code 3 for half-written files and files of others, too
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
}

/// `gpucost history import`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArgs {
    /// Directory or s3://BUCKET/PREFIX of the tables
    #[arg(long, value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath)]
    pub input: Place,
    /// Directory or s3://BUCKET/PREFIX of the history
    #[arg(long = "out", value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath)]
    pub history: Place,
    #[command(flatten)]
    pub bucket: BucketArgs,
    #[command(flatten)]
    pub out: OutputArgs,
}

/// `gpucost history rollup` and `gpucost history bill`.
#[derive(Debug, Args)]
pub(in crate::cli) struct CompanionArgs {
    /// Arguments of `gpucost-engine`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<OsString>,
}
