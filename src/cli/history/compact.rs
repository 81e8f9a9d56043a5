//! `gpucost history compact`.

use super::args::CompactArgs;
use super::places::Open;
use crate::cli::exit::{ExitCode, Failure};
use crate::cli::{Io, output};
use crate::domain::shell_word;
use crate::report::compacted_text;
use crate::sources::files::Records;
use jiff::tz::TimeZone;

pub(super) fn run(args: &CompactArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let open = Open::of(&args.place, io)?;
    let today = io.now.to_zoned(TimeZone::UTC).date();
    let work = async |records: &Records| records.compact(today).await;
    let (compacted, problems) = open.run(&args.place, io, work)?;
    let place = open.place.to_string();
    output::document(&compacted_text(&place, compacted), &args.place.out, io)?;
    let Some(first) = problems.first() else {
        return Ok(ExitCode::Done);
    };
    let hint = format!(
        "the month of this file stays as it is; run `gpucost history verify {}`",
        shell_word(&open.place.word())
    );
    output::complain(&format!("cannot put together {first}"), &hint, io);
    Ok(ExitCode::Incomplete)
}
