//! The place of a history, how it is reached, and the audits that it keeps, for the commands that
//! add them up.

use crate::cli::args::OutputArgs;
use crate::cli::usage_history::MOST_NAMED;
use crate::cli::{ExitCode, Failure, Io, Outcome, live, output, refusal, usage_history};
use crate::domain::{latest_believed, safe, shell_word};
use crate::sources::aws::{AwsOptions, Notice};
use crate::sources::files::{HistoryError, Recorded, Records};
use crate::sources::store::{BucketAccess, Place};
use std::io::ErrorKind;

/// What a place keeps, and whether all of it could be read. A day of which a file cannot be
/// used counts as not recorded, and not as one without costs.
pub(in crate::cli) fn read_recorded(
    named: Option<&Place>,
    aws: &AwsOptions,
    out: &OutputArgs,
    io: &mut Io<'_>,
) -> Outcome<Recorded> {
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

/// The exit code of a report of a place. Where it is without some of the days, says so, and how
/// to find which files.
pub(super) fn ending(is_whole: bool, named: Option<&Place>, io: &mut Io<'_>) -> Outcome {
    if is_whole {
        return Ok(ExitCode::Done);
    }
    let place = named.map_or(String::new(), |place| format!(" {}", shell_word(&place.word())));
    let hint =
        format!("`gpucost history verify{place}` names them; their days count as not recorded");
    let error = "incomplete: files of the history cannot be used";
    Ok(output::complain(error, &hint, ExitCode::Incomplete, io))
}

/// The directory without a name.
const DEFAULT_FOLDER: &str = "history";

/// The flag that leads to a place, with a blank before it.
pub(in crate::cli) fn flag(named: Option<&Place>) -> String {
    named.map_or(String::new(), |place| format!(" --history {}", shell_word(&place.word())))
}

/// Fails where a place on this host is not a directory.
pub(in crate::cli) fn check(place: &Place) -> Outcome<()> {
    match place {
        Place::Folder(folder) if !folder.is_dir() => Err(refusal!("{place} is not a directory";
            "pass the directory or URL that `gpucost history record` wrote to")),
        _ => Ok(()),
    }
}

/// A history, and how it is reached.
pub(in crate::cli) struct Opening {
    pub place: Place,
    access: BucketAccess,
}

impl Opening {
    /// The first place that is named, or the usual one.
    pub(super) fn of<'a>(
        named: impl IntoIterator<Item = &'a Place>,
        aws: &AwsOptions,
        io: &Io<'_>,
    ) -> Self {
        let first = named.into_iter().next().cloned();
        Self {
            place: first.unwrap_or_else(|| Place::Folder(DEFAULT_FOLDER.into())),
            access: usage_history::bucket_access(aws, io),
        }
    }

    /// Runs something on its files.
    pub(super) fn run<T>(
        &self,
        out: &OutputArgs,
        io: &Io<'_>,
        work: impl AsyncFnOnce(Records) -> Result<T, HistoryError>,
    ) -> Outcome<T> {
        let done = live::run(out, &Notice::default(), io, async |progress| {
            progress("history");
            work(Records::open(&self.place, &self.access).await?).await
        });
        done?.map_err(|error| failed(error, &self.place))
    }
}

/// What it means that a history cannot be read or written.
fn failed(error: HistoryError, place: &Place) -> Failure {
    if error.why.kind() == ErrorKind::AlreadyExists {
        let hint = format!(
            "a run of this name did not end, or recorded something else; `gpucost history \
             verify {}` names its files",
            shell_word(&place.word())
        );
        return Failure::unexpected(error).with_hint(hint);
    }
    usage_history::unopened(error)
}
