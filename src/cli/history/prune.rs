//! `gpucost history prune`.

use super::args::PruneArgs;
use super::places::Open;
use crate::cli::exit::{ExitCode, Failure};
use crate::cli::{Io, output};
use crate::report::pruned_text;
use crate::sources::files::Records;
use jiff::tz::TimeZone;

pub(super) fn run(args: &PruneArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let open = Open::of(&args.place, io)?;
    let before = io.now.checked_sub(args.keep);
    let before = before.map_err(|_| {
        Failure::input("`--keep` reaches back before the range of dates")
            .with_hint("pass a shorter time, such as `--keep 400d`")
    })?;
    let before = before.to_zoned(TimeZone::UTC).date();
    let work = async |records: &Records| records.prune(before, args.yes).await;
    let pruned = open.run(&args.place, io, work)?;
    let place = open.place.to_string();
    let text = pruned_text(&place, pruned, args.yes);
    output::document(&text, &args.place.out, io)?;
    if !args.yes && pruned.files > 0 {
        output::say(
            "nothing was removed: pass `--yes` to remove these files",
            &args.place.out,
            io,
        );
    }
    Ok(ExitCode::Done)
}
