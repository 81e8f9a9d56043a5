//! The place of a history, how it is reached, and the audits that it keeps, for the commands that
//! add them up.

use crate::analysis::{Audit, DayFacts, StoredAudit};
use crate::cli::args::OutputArgs;
use crate::cli::estate::EstateRequest;
use crate::cli::usage_history::{MOST_NAMED, say_unused, unopened};
use crate::cli::{ExitCode, Failure, Io, Outcome, live, output, refusal};
use crate::domain::{Policy, latest_believed, safe, shell_word};
use crate::report::kept_run_text;
use crate::sources::files::{HistoryError, Recorded, Records};
use crate::sources::store::{BucketAccess, Place};
use crate::usage::Estate;
use std::io::ErrorKind;

/// What a place keeps, and whether all of it could be read. A day of which a file cannot be
/// used counts as not recorded, and not as one without costs.
pub(in crate::cli) fn read_recorded(
    named: Option<&Place>,
    access: BucketAccess,
    out: &OutputArgs,
    io: &mut Io<'_>,
) -> Outcome<Recorded> {
    let history = Opening::of(named, access);
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
    say_unused(&recorded.problems, "", out, io);
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
    pub(in crate::cli) fn of<'a>(
        named: impl IntoIterator<Item = &'a Place>,
        access: BucketAccess,
    ) -> Self {
        let first = named.into_iter().next().cloned();
        Self { place: first.unwrap_or_else(|| Place::Folder(DEFAULT_FOLDER.into())), access }
    }

    /// Runs something on its files.
    pub(super) fn run<T>(
        &self,
        out: &OutputArgs,
        io: &Io<'_>,
        work: impl AsyncFnOnce(Records) -> Result<T, HistoryError>,
    ) -> Outcome<T> {
        self.attempt(out, io, work)?.map_err(|error| failed(error, &self.place))
    }

    /// The same where errors are for the caller to explain.
    pub(in crate::cli) fn attempt<T>(
        &self,
        out: &OutputArgs,
        io: &Io<'_>,
        work: impl AsyncFnOnce(Records) -> Result<T, HistoryError>,
    ) -> Outcome<Result<T, HistoryError>> {
        live::run(out, io, async |progress| {
            progress("history");
            work(Records::open(&self.place, &self.access).await?).await
        })
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
    unopened(error)
}

/// Where an audit will be kept, with what its estate tells of single days.
pub(in crate::cli) struct Keeping {
    history: Opening,
    facts: DayFacts,
}

/// What an estate says of single days. What was recorded is taken to have been read when its
/// window ended.
pub(in crate::cli) fn day_facts(
    estate: &Estate,
    asked: EstateRequest<'_>,
    io: &Io<'_>,
) -> DayFacts {
    let (args, settings) = asked;
    let is_recorded = args.from.is_some() || args.demo.is_some();
    let read_at = if is_recorded { estate.as_of } else { io.now };
    DayFacts::of(estate, &settings.policy, read_at)
}

impl Keeping {
    /// Of an estate that is about to be audited.
    ///
    /// # Errors
    /// When it is of a time ahead of now, whose days would take the place of true ones.
    pub(in crate::cli) fn of(
        named: Option<&Place>,
        estate: &Estate,
        (args, settings): EstateRequest<'_>,
        io: &Io<'_>,
    ) -> Outcome<Self> {
        if estate.as_of > latest_believed(io.now) {
            return Err(refusal!(
                "the estate is of {}, which is ahead of now: it is not recorded", estate.as_of;
                "correct the clock of the machine that read it, or `--as-of`, and read it again"));
        }
        let access = args.aws.access(settings, io);
        Ok(Self {
            history: Opening::of(named.or(args.history.as_ref()), access),
            facts: day_facts(estate, (args, settings), io),
        })
    }

    /// Keeps the audit, and says so in a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(in crate::cli) fn keep(
        &self,
        audit: &Audit,
        policy: &Policy,
        out: &OutputArgs,
        io: &Io<'_>,
    ) -> Outcome<String> {
        let mut kept = StoredAudit::of(audit, &self.facts, policy.hours_per_month);
        let now = io.now;
        let is_new = self
            .history
            .run(out, io, async |records: Records| record(&records.at(now), &mut kept).await)?;
        let (run, place) = (&kept.run, self.history.place.to_string());
        Ok(kept_run_text((&run.run_id, &run.days), kept.actions.len(), &place, is_new))
    }
}

/// Keeps what is new of an audit; whether it was not kept before.
async fn record(records: &Records, kept: &mut StoredAudit) -> Result<bool, HistoryError> {
    let known = records.kept().await?;
    if known.has(&kept.run.run_id) {
        return Ok(false);
    }
    kept.leave_out(&known.days(&kept.run.scope));
    let StoredAudit { run, rows, actions, hours } = kept;
    records.record(run, rows, actions, hours).await
}
