//! The place that `--history` names, for audits that read it and add to it, and that of
//! `--rollups`, which is read alone.

use super::args::{EstateArgs, OutputArgs, Resolution};
use super::output::say;
use super::{Failure, Io, Outcome, is_full, refusal};
use crate::domain::{counted, safe, shell_word};
use crate::gather::GatherOptions;
use crate::sources::SourceError;
use crate::sources::files::{History, HistoryError};
use crate::sources::store::Place;
use crate::trend::date_of;
use jiff::Timestamp;
use jiff::civil::Date;

/// Problems that are named one by one.
pub(super) const MOST_NAMED: usize = 3;

/// The place that is named, if metrics are read.
///
/// # Errors
/// When other flags ask for what a history does not keep.
pub(super) fn wanted(args: &EstateArgs, metrics: bool, servers: usize) -> Outcome<Option<&Place>> {
    let Some(place) = args.history.as_ref().filter(|_| metrics) else { return Ok(None) };
    if args.resolution == Resolution::Auto {
        return Err(refusal!(
            "`--history` keeps every period, which `--resolution auto` does not read";
            "use `--resolution full`, which reads each day once"));
    }
    if servers > 0 {
        return Err(refusal!("`--history` keeps metrics of CloudWatch alone";
            "omit `--prometheus-url` and GPUCOST_PROMETHEUS_URL, or use `--metrics-source \
             cloudwatch`"));
    }
    Ok(Some(place))
}

/// The place of roll-ups that is named, if metrics are read.
///
/// # Errors
/// When it cannot be one, and when other flags ask for what roll-ups do not have.
pub(super) fn rollups(args: &EstateArgs, metrics: bool) -> Outcome<Option<&Place>> {
    let Some(place) = args.rollups.as_ref().filter(|_| metrics) else { return Ok(None) };
    if args.resolution == Resolution::Auto {
        return Err(refusal!(
            "`--rollups` has every period, which `--resolution auto` does not read";
            "use `--resolution full`"));
    }
    if let Place::Folder(folder) = place
        && !folder.is_dir()
    {
        return Err(refusal!("{place} is not a directory";
            "pass the directory or URL of `--out` of `history rollup`"));
    }
    Ok(Some(place))
}

/// The first and the last day of the window that options ask for.
pub(super) fn days(options: &GatherOptions) -> (Date, Date) {
    let start = options.as_of.checked_sub(options.lookback);
    (date_of(start.unwrap_or(Timestamp::MIN)), date_of(options.as_of))
}

/// What it means that a place cannot be used.
pub(super) fn unopened(error: HistoryError) -> Failure {
    let cause = error.why.get_ref().and_then(|cause| cause.downcast_ref::<SourceError>());
    let hint = match (cause, error.bucket_url()) {
        (Some(cause), _) => cause.hint(),
        (None, Some(url)) => format!(
            "check the name of the bucket; `gpucost setup iam --history {}` prints the permissions \
             that it takes",
            shell_word(url)
        ),
        (None, None) if is_full(&error.why) => {
            "free space there, or use another directory".to_owned()
        }
        (None, None) => {
            return Failure::hinted("use a directory that can be created and listed")(error);
        }
    };
    Failure::unexpected(error).with_hint(hint)
}

/// What could not be read or written. The report does not depend on it: such days were read
/// from CloudWatch.
pub(super) fn warn(history: &History, args: &OutputArgs, io: &mut Io<'_>) {
    let hint = "\nhint: the metrics were read from CloudWatch; if the file is damaged or missing, \
                delete the file of its name in `usage_run`, which ends this warning";
    say_unused(&history.problems(), hint, args, io);
}

/// Says which files of a history cannot be used, the first of them by name, each with a hint.
pub(super) fn say_unused(
    problems: &[HistoryError],
    hint: &str,
    args: &OutputArgs,
    io: &mut Io<'_>,
) {
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
