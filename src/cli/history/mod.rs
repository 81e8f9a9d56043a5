//! `gpucost history`: recorded audits and what they add up to, and archives of any size.

mod args;
mod companion;
mod digest;
mod digest_args;
mod import;
mod keep;
mod places;
mod record;
mod recorded;
mod sql;
mod sql_args;
mod trend;
mod trend_args;
mod verify;

pub(super) use args::HistoryArgs;
pub(super) use keep::{Keeping, day_facts};
pub(super) use places::{check, flag};
pub(super) use recorded::read_recorded;

use super::Io;
use super::exit::{ExitCode, Failure};
use args::HistoryAction;

pub(super) fn run(args: &HistoryArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let Some(action) = &args.action else {
        return trend::run(&args.trend, io);
    };
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
