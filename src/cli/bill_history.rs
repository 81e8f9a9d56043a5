//! `gpucost bill --history`: what recorded audits expect of a bill.

use super::args::EstateArgs;
use super::exit::{ExitCode, Failure};
use super::{Io, estate, history, live, output, usage_history};
use crate::analysis::{RecordedExpectation, TooManyHours};
use crate::billing::Expected;
use crate::config::{SettingsFile, parse_duration};
use crate::domain::{RecordedRun, safe, shell_word};
use crate::report::BillAudit;
use crate::sources::aws::Notice;
use crate::sources::files::{HistoryError, Records};
use crate::sources::store::{BucketAccess, Place};
use crate::trend::date_of;
use jiff::Timestamp;
use jiff::civil::Date;
use std::io::ErrorKind;

/// What a history keeps of the hours of instances.
struct Found {
    /// Absent where no run kept hours of these days.
    expected: Option<Expected>,
    days_missing: u64,
    problems: Vec<HistoryError>,
}

/// Reads what the runs of a history expect: of all days that they kept, or of those in
/// `--lookback` before `--as-of`.
///
/// # Errors
/// When it cannot be read, or kept no hours of these days.
pub(super) fn recorded(
    args: &EstateArgs,
    place: &Place,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Result<(BillAudit, Expected), Failure> {
    history::check(place)?;
    let aws = estate::aws_options(&args.aws, settings, io);
    let access = usage_history::bucket_access(&aws, io);
    let (first, end) = days(args, io)?;
    let is_wanted =
        |day: Date| first.is_none_or(|first| day >= first) && end.is_none_or(|end| day < end);
    let history = live::run(&args.out, &Notice::default(), io, async |progress| {
        progress("history");
        read(place, &access, &is_wanted).await
    });
    let history = history?.map_err(|error| unread(error, place))?;
    let history = history.map_err(too_many)?;
    for problem in &history.problems {
        let line = safe(&format!("warning: the history cannot use {problem}"));
        output::say(&line, &args.out, io);
    }
    let Some(expected) = history.expected else {
        let error = "no run of the history kept hours of instances on these days";
        return Err(Failure::input(error).with_hint(
            "record every night with `gpucost history record`; versions before kept only days. \
             Without hours, compare with an estate: `--from`, or `--compare`",
        ));
    };
    let origin = BillAudit {
        flags: flags(args, place),
        hours: expected.hours,
        left_out: 0,
        days_missing: history.days_missing,
    };
    Ok((origin, expected))
}

async fn read(
    place: &Place,
    access: &BucketAccess,
    is_wanted: &dyn Fn(Date) -> bool,
) -> Result<Result<Found, TooManyHours>, HistoryError> {
    let records = Records::open(place, access).await?;
    let (mut runs, problems) = records.hour_runs(None).await?;
    runs.retain(|hour_run| hour_run.has_hours());
    let kept: Vec<RecordedRun> = runs.iter().map(|hour_run| hour_run.run.clone()).collect();
    let mut history = Found { expected: None, days_missing: 0, problems };
    let Some(mut expectation) = RecordedExpectation::new(&kept, is_wanted) else {
        return Ok(Ok(history));
    };
    history.days_missing = expectation.days_missing();
    for (index, run) in runs.iter().enumerate() {
        if !expectation.wanted().contains(&index) {
            continue;
        }
        let mut added = Ok(());
        let mut each = |hour| {
            if added.is_ok() {
                added = expectation.add(index, hour);
            }
        };
        records.read_hours(run, &mut each).await?;
        if let Err(error) = added {
            return Ok(Err(error));
        }
    }
    history.expected = Some(expectation.expected());
    Ok(Ok(history))
}

/// The first of the days, and the one after the last, where flags say so.
fn days(args: &EstateArgs, io: &Io<'_>) -> Result<(Option<Date>, Option<Date>), Failure> {
    let end = args.as_of.map(date_of);
    let Some(lookback) = &args.lookback else {
        return Ok((None, end));
    };
    let lookback = parse_duration(lookback).map_err(Failure::input)?;
    let as_of = args.as_of.unwrap_or(io.now);
    let first = as_of.checked_sub(lookback).unwrap_or(Timestamp::MIN);
    Ok((Some(date_of(first)), end))
}

/// The flags that lead to the same days, each with a blank before it.
fn flags(args: &EstateArgs, place: &Place) -> String {
    let mut flags = history::flag(Some(place));
    if let Some(as_of) = args.as_of {
        flags.push_str(&format!(" --as-of {as_of}"));
    }
    if let Some(lookback) = &args.lookback {
        flags.push_str(&format!(" --lookback {}", shell_word(lookback)));
    }
    flags
}

/// What it means that a history cannot be read.
fn unread(error: HistoryError, place: &Place) -> Failure {
    if error.why.kind() != ErrorKind::InvalidData {
        return usage_history::unopened(error);
    }
    let hint = format!(
        "`gpucost history verify {}` names every file with which something is wrong",
        shell_word(&place.word())
    );
    Failure::new(ExitCode::Input, error).with_hint(hint)
}

fn too_many(error: TooManyHours) -> Failure {
    Failure::new(ExitCode::Input, error)
        .with_hint("compare fewer days with `--as-of` and `--lookback`")
}
