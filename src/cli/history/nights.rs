//! Reading the nights that a history keeps, for the commands that add them up.

use super::places::{check, failed, place_of};
use crate::cli::args::OutputArgs;
use crate::cli::exit::{ExitCode, Failure};
use crate::cli::{Io, live, output, usage_history};
use crate::domain::{latest_believed, shell_word};
use crate::report::text::{counted, safe};
use crate::sources::aws::{AwsOptions, Notice};
use crate::sources::files::{Recorded, Records};
use crate::sources::store::Place;

/// Problems that are named one by one.
const MOST_NAMED: usize = 3;

/// What a place keeps, and whether all of it could be read. A day of which a file cannot be
/// used counts as not recorded, and not as one without costs.
pub(in crate::cli) fn read_nights(
    named: Option<&Place>,
    aws: &AwsOptions,
    out: &OutputArgs,
    io: &mut Io<'_>,
) -> Result<Recorded, Failure> {
    let place = place_of(named);
    check(&place)?;
    let access = usage_history::bucket_access(aws, io);
    let done = live::run(out, &Notice::default(), io, async |progress| {
        progress("history");
        let records = Records::open(&place, &access).await?.at(io.now);
        records.read(None).await
    });
    let mut found = done?.map_err(|error| failed(error, &place))?;
    for run in &mut found.runs {
        run.days.retain(|day| !found.lost.contains(day));
    }
    let latest = latest_believed(io.now);
    let of_now = found.runs.iter().filter(|run| run.as_of > latest);
    let of_now = of_now.map(|run| (&run.run_id, "is of a clock ahead of now"));
    let of_others = found.ahead.iter();
    let of_others = of_others.map(|id| (id, "is of a clock that was ahead of the other runs"));
    for (run_id, why) in of_now.chain(of_others).take(MOST_NAMED) {
        let line = safe(&format!(
            "warning: the run {run_id} {why} and does not count; remove its file below v1/run"
        ));
        output::say(&line, out, io);
    }
    for problem in found.problems.iter().take(MOST_NAMED) {
        let line = safe(&format!("warning: the history cannot use {problem}"));
        output::say(&line, out, io);
    }
    let further = found.problems.len().saturating_sub(MOST_NAMED);
    if further > 0 {
        let files = counted(further as u64, "more file", "more files");
        output::say(&format!("warning: the history cannot use {files}"), out, io);
    }
    Ok(found)
}

/// Says that a report is without some of the days of a place, and how to find which files.
pub(in crate::cli) fn incomplete(named: Option<&Place>, io: &mut Io<'_>) -> ExitCode {
    let place = named.map_or(String::new(), |place| {
        format!(" {}", shell_word(&place.word()))
    });
    let hint =
        format!("`gpucost history verify{place}` names them; their days count as not recorded");
    output::complain("incomplete: files of the history cannot be used", &hint, io);
    ExitCode::Incomplete
}
