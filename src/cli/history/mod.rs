//! `gpucost history`: audits that are kept night after night.

mod args;
mod compact;
mod keep;
mod places;
mod prune;
mod record;
mod verify;

pub(super) use args::HistoryArgs;
pub(super) use keep::Keeping;

use super::Io;
use super::exit::{ExitCode, Failure};
use args::HistoryAction;

pub(super) fn run(args: &HistoryArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    match &args.action {
        HistoryAction::Record(args) => record::run(args, io),
        HistoryAction::Verify(args) => verify::run(args, io),
        HistoryAction::Compact(args) => compact::run(args, io),
        HistoryAction::Prune(args) => prune::run(args, io),
    }
}
