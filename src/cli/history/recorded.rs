//! Reads the audits of a history, for the commands that add them up.

use super::places::{Opening, check};
use crate::cli::args::OutputArgs;
use crate::cli::exit::{ExitCode, Failure};
use crate::cli::usage_history::MOST_NAMED;
use crate::cli::{Io, output, usage_history};
use crate::domain::{latest_believed, shell_word};
use crate::report::text::safe;
use crate::sources::aws::AwsOptions;
use crate::sources::files::{Recorded, Records};
use crate::sources::store::Place;

/// What a place keeps, and whether all of it could be read. A day of which a file cannot be
/// used counts as not recorded, and not as one without costs.
pub(in crate::cli) fn read_recorded(
    named: Option<&Place>,
    aws: &AwsOptions,
    out: &OutputArgs,
    io: &mut Io<'_>,
) -> Result<Recorded, Failure> {
    let history = Opening::of(named, aws, io);
    check(&history.place)?;
    let now = io.now;
    let mut recorded =
        history.run(out, io, async |records: Records| records.at(now).read(None).await)?;
    for run in &mut recorded.runs {
        run.days.retain(|day| !recorded.lost.contains(day));
    }
    let latest = latest_believed(io.now);
    let of_now = recorded.runs.iter().filter(|run| run.as_of > latest);
    let of_now = of_now.map(|run| (&run.run_id, "is of a clock ahead of now"));
    let of_others = recorded.ahead.iter();
    let of_others = of_others.map(|id| (id, "is of a clock that was ahead of the other runs"));
    for (run_id, why) in of_now.chain(of_others).take(MOST_NAMED) {
        let line = safe(&format!(
            "warning: the run {run_id} {why} and does not count; remove its file below v1/run"
        ));
        output::say(&line, out, io);
    }
    usage_history::say_unused(&recorded.problems, "", out, io);
    Ok(recorded)
}

/// Says that a report is without some of the days of a place, and how to find which files.
pub(in crate::cli) fn incomplete(named: Option<&Place>, io: &mut Io<'_>) -> ExitCode {
    let place = named.map_or(String::new(), |place| format!(" {}", shell_word(&place.word())));
    let hint =
        format!("`gpucost history verify{place}` names them; their days count as not recorded");
    output::complain("incomplete: files of the history cannot be used", &hint, io);
    ExitCode::Incomplete
}
