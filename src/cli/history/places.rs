//! The place of a history, how it is reached, and the audits that it keeps, for the commands that
//! add them up; the place that `--history` names, for audits that read it and add to it, and that of
//! `--rollups`, which is read alone.

use crate::analysis::{Audit, DayFacts, StoredAudit};
use crate::cli::args::{EstateArgs, OutputArgs, Resolution};
use crate::cli::live::unopened;
use crate::cli::output::say;
use crate::cli::{ExitCode, Failure, Io, Outcome, live, output, refusal, refuse_if};
use crate::config::SettingsFile;
use crate::domain::{Policy, counted, latest_believed, safe, shell_word};
use crate::gather::GatherOptions;
use crate::report::kept_run_text;
use crate::sources::files::{History, HistoryError, Recorded, Records};
use crate::sources::store::{BucketAccess, Place};
use crate::trend::date_of;
use crate::usage::Estate;
use jiff::Timestamp;
use jiff::civil::Date;
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
        say(&line, out, io);
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
    (args, settings): (&EstateArgs, &SettingsFile),
    io: &Io<'_>,
) -> DayFacts {
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
        (args, settings): (&EstateArgs, &SettingsFile),
        io: &Io<'_>,
    ) -> Outcome<Self> {
        refuse_if!(estate.as_of > latest_believed(io.now);
            "the estate is of {}, which is ahead of now: it is not recorded", estate.as_of;
            "correct the clock of the machine that read it, or `--as-of`, and read it again");
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

/// Problems that are named one by one.
const MOST_NAMED: usize = 3;

/// The place that is named, if metrics are read.
///
/// # Errors
/// When other flags ask for what a history does not keep.
pub(in crate::cli) fn wanted(
    args: &EstateArgs,
    metrics: bool,
    servers: usize,
) -> Outcome<Option<&Place>> {
    let Some(place) = args.history.as_ref().filter(|_| metrics) else { return Ok(None) };
    refuse_if!(args.resolution == Resolution::Auto;
        "`--history` keeps every period, which `--resolution auto` does not read";
        "use `--resolution full`, which reads each day once");
    refuse_if!(servers > 0;
        "`--history` keeps metrics of CloudWatch alone";
        "omit `--prometheus-url` and GPUCOST_PROMETHEUS_URL, or use `--metrics-source cloudwatch`");
    Ok(Some(place))
}

/// The place of roll-ups that is named, if metrics are read.
///
/// # Errors
/// When it cannot be one, and when other flags ask for what roll-ups do not have.
pub(in crate::cli) fn rollups(args: &EstateArgs, metrics: bool) -> Outcome<Option<&Place>> {
    let Some(place) = args.rollups.as_ref().filter(|_| metrics) else { return Ok(None) };
    refuse_if!(args.resolution == Resolution::Auto;
        "`--rollups` has every period, which `--resolution auto` does not read";
        "use `--resolution full`");
    if let Place::Folder(folder) = place
        && !folder.is_dir()
    {
        return Err(refusal!("{place} is not a directory";
            "pass the directory or URL of `--out` of `history rollup`"));
    }
    Ok(Some(place))
}

/// The first and the last day of the window that options ask for.
pub(in crate::cli) fn days(options: &GatherOptions) -> (Date, Date) {
    let start = options.as_of.checked_sub(options.lookback);
    (date_of(start.unwrap_or(Timestamp::MIN)), date_of(options.as_of))
}

/// What could not be read or written. The report does not depend on it: such days were read
/// from CloudWatch.
pub(in crate::cli) fn warn(history: &History, args: &OutputArgs, io: &mut Io<'_>) {
    let hint = "\nhint: the metrics were read from CloudWatch; if the file is damaged or missing, \
                delete the file of its name in `usage_run`, which ends this warning";
    say_unused(&history.problems(), hint, args, io);
}

/// Says which files of a history cannot be used, the first of them by name, each with a hint.
fn say_unused(problems: &[HistoryError], hint: &str, args: &OutputArgs, io: &mut Io<'_>) {
    for problem in problems.iter().take(MOST_NAMED) {
        let line = safe(&format!("warning: the history cannot use {problem}"));
        say(&format!("{line}{hint}"), args, io);
    }
    let further = problems.len().saturating_sub(MOST_NAMED);
    if further > 0 {
        let files = counted(further, "more file", "more files");
        say(&format!("warning: the history cannot use {files}"), args, io);
    }
}
