//! The place that `--history` names, for audits that read it and add to it, and that of
//! `--rollups`, which is read alone.

use super::Io;
use super::args::{EstateArgs, OutputArgs, Resolution};
use super::exit::{ExitCode, Failure, Outcome, is_full, refusal};
use super::output::say;
use crate::domain::{Window, counted, safe, shell_word};
use crate::gather::GatherOptions;
use crate::sources::SourceError;
use crate::sources::aws::AwsOptions;
use crate::sources::files::{History, HistoryError};
use crate::sources::store::{BucketAccess, Place};
use crate::trend::date_of;
use jiff::Timestamp;
use jiff::civil::Date;

/// Problems that are named one by one.
pub(super) const MOST_NAMED: usize = 3;

/// The place that is named, if metrics are read, with the first and the last day of the window.
///
/// # Errors
/// When other flags ask for what a history does not keep.
pub(super) fn wanted<'a>(
    args: &'a EstateArgs,
    options: &GatherOptions,
    servers: usize,
) -> Outcome<Option<(&'a Place, (Date, Date))>> {
    let Some(place) = args.history.as_ref().filter(|_| options.metrics) else { return Ok(None) };
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
    let start = options.as_of.checked_sub(options.lookback);
    let days = (date_of(start.unwrap_or(Timestamp::MIN)), date_of(options.as_of));
    Ok(Some((place, days)))
}

/// The place of roll-ups that is named, if metrics are read.
///
/// # Errors
/// When it cannot be one, and when other flags ask for what roll-ups do not have.
pub(super) fn rollups(args: &EstateArgs, metrics: bool) -> Outcome<Option<&Place>> {
    let Some(place) = args.rollups.as_ref().filter(|_| metrics) else { return Ok(None) };
    if args.resolution == Resolution::Auto {
        return Err(
            refusal!("`--rollups` has every period, which `--resolution auto` does not read";
            "use `--resolution full`"),
        );
    }
    if let Place::Folder(folder) = place
        && !folder.is_dir()
    {
        return Err(refusal!("{place} is not a directory";
            "pass the directory or URL of `--out` of `history rollup`"));
    }
    Ok(Some(place))
}

/// Opens roll-ups of the days of a window.
///
/// # Errors
/// When they cannot be reached or listed.
pub(super) async fn open_rollups(
    place: &Place,
    access: &BucketAccess,
    (window, now): (Window, Timestamp),
) -> Result<History, HistoryError> {
    History::open_to_read(place, access, (date_of(window.start), date_of(window.end)), now).await
}

/// How AWS is reached for a bucket: as for everything else, unless S3 has an endpoint of its
/// own.
pub(super) fn bucket_access(aws: &AwsOptions, io: &Io<'_>) -> BucketAccess {
    let own = io.variable("AWS_ENDPOINT_URL_S3");
    BucketAccess {
        profile: aws.profile.clone(),
        endpoint_url: aws.endpoint_url.as_ref().or(own).cloned(),
    }
}

/// What it means that a place cannot be used.
pub(super) fn unopened(error: HistoryError) -> Failure {
    let cause = error.why.get_ref();
    if let Some(cause) = cause.and_then(|cause| cause.downcast_ref::<SourceError>()) {
        let hint = cause.hint();
        return Failure::unexpected(error).with_hint(hint);
    }
    if let Some(url) = error.bucket_url() {
        let hint = format!(
            "check the name of the bucket; `gpucost setup iam --history {}` prints the \
             permissions that it takes",
            shell_word(url)
        );
        return Failure::unexpected(error).with_hint(hint);
    }
    if is_full(&error.why) {
        return Failure::unexpected(error).with_hint("free space there, or use another directory");
    }
    Failure::new(ExitCode::Input, error).with_hint("use a directory that can be created and listed")
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
