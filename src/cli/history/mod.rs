//! `gpucost history`: audits that are kept night after night, and what they add up to.

mod args;
mod keep;
mod nights;
mod places;
mod record;
mod trend;
mod trend_args;
mod verify;

pub(super) use args::HistoryArgs;
pub(super) use keep::{Keeping, day_facts};
pub(super) use nights::{incomplete, read_nights};
pub(super) use places::{check, flag};
pub(super) use trend::public_price;

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
    }
}
