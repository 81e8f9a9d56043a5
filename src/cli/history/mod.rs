//! `gpucost history`: recorded audits and what they add up to, and archives of any size.

mod companion;
mod digest;
mod import;
mod keep;
mod places;
mod record;
mod sql;
mod trend;
mod verify;

pub(super) use keep::{Keeping, day_facts};
pub(super) use places::{check, flag, read_recorded};

use super::Io;
use super::choices::flags;
use super::exit::Outcome;
use clap::Subcommand;

flags! {
    /// `gpucost history`.
    #[command(args_conflicts_with_subcommands = true)]
    pub(in crate::cli) struct HistoryArgs {
        action: Option<HistoryAction> = command(subcommand);
        trend: trend::TrendArgs = command(flatten);
    }
}

/// What to do with a history.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum HistoryAction {
    /// Audit, and keep what each workload cost on each day that is over, and the plan
    ///
    /// A day is kept once. Files are created and never changed, so several machines can
    /// record into one place at the same time.
    Record(Box<record::RecordArgs>),
    /// Check every file: damaged, half-written, and not of gpucost
    Verify(Box<verify::VerifyArgs>),
    /// Report what happened since an earlier audit, and send it to Slack or a webhook
    ///
    /// Compares two audits that `gpucost history record` kept: spend and why it changed, what
    /// became of advised actions, new ones, and missing data. `--since last` is for a schedule
    /// of its own; the default is a week.
    Digest(Box<digest::DigestArgs>),
    /// Print SQL that turns an archive of points into the tables of a history
    ///
    /// Calls nothing and reads nothing. The rows are those that gpucost itself keeps of the
    /// same points; `docs/scale.md` has the limits. With `--bill`, the statements turn a bill
    /// into hours of resources.
    Sql(Box<sql::SqlArgs>),
    /// Keep the roll-ups that an engine wrote in a history, for `--rollups`
    ///
    /// The tables are those of the statements that `gpucost history sql` prints, as Parquet
    /// files in `TABLE/dt=DAY/`. Each day is read, checked, and written as gpucost writes it.
    Import(Box<import::ImportArgs>),
    /// Turn an archive of points into a history, with `gpucost-engine`
    ///
    /// `gpucost history rollup --help` shows the flags of `gpucost-engine rollup`.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Rollup(companion::CompanionArgs),
    /// Turn a bill into hours of resources, with `gpucost-engine`
    ///
    /// `gpucost history bill --help` shows the flags of `gpucost-engine bill`.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Bill(companion::CompanionArgs),
}

pub(super) fn run(args: &HistoryArgs, io: &mut Io<'_>) -> Outcome {
    let Some(action) = &args.action else { return trend::run(&args.trend, io) };
    match action {
        HistoryAction::Record(args) => record::run(args, io),
        HistoryAction::Verify(args) => verify::run(args, io),
        HistoryAction::Digest(args) => digest::run(args, io),
        HistoryAction::Sql(args) => sql::run(args, io),
        HistoryAction::Import(args) => import::run(args, io),
        HistoryAction::Rollup(args) => companion::run("rollup", &args.arguments, io),
        HistoryAction::Bill(args) => companion::run("bill", &args.arguments, io),
    }
}
