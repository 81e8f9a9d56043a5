//! `gpucost bill --history`, what recorded audits expect of a bill, and `--record`, which keeps a
//! bill in a history.

use super::args::EstateArgs;
use super::estate::EstateRequest;
use super::{Failure, Io, Outcome, estate, hinted, history, live, output, refusal, usage_history};
use crate::analysis::{RecordedExpectation, TooManyHours};
use crate::billing::{Expected, NotStored};
use crate::config::parse_duration;
use crate::domain::{BillKept, MonthlyBill, RecordedRun, safe, shell_word};
use crate::report::text::fit;
use crate::report::{BillAudit, kept_bill_text};
use crate::sources::aws::Notice;
use crate::sources::files::{HistoryError, Records};
use crate::sources::store::{BucketAccess, Place};
use crate::trend::date_of;
use jiff::Timestamp;
use jiff::civil::Date;
use std::collections::BTreeSet;
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
    (args, settings): EstateRequest<'_>,
    place: &Place,
    io: &mut Io<'_>,
) -> Outcome<(BillAudit, Expected)> {
    history::check(place)?;
    let access = usage_history::bucket_access(&estate::aws_options(&args.aws, settings, io), io);
    let (first, end) = days(args, io)?;
    let is_wanted =
        |day: Date| first.is_none_or(|first| day >= first) && end.is_none_or(|end| day < end);
    let history = live::run(&args.out, &Notice::default(), io, async |progress| {
        progress("history");
        read(place, &access, &is_wanted).await
    });
    let history = history?
        .map_err(|error| unread(error, place))?
        .map_err(Failure::hinted("compare fewer days with `--as-of` and `--lookback`"))?;
    for problem in &history.problems {
        output::say(&safe(&format!("warning: the history cannot use {problem}")), &args.out, io);
    }
    let Some(expected) = history.expected else {
        return Err(refusal!("no run of the history kept hours of instances on these days";
            "record every night with `gpucost history record`; versions before kept only days. \
             Without hours, compare with an estate: `--from`, or `--compare`"));
    };
    let origin = BillAudit {
        flags: flags(args, place),
        hours: expected.hours,
        skipped: 0,
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
fn days(args: &EstateArgs, io: &Io<'_>) -> Outcome<(Option<Date>, Option<Date>)> {
    let end = args.as_of.map(date_of);
    let Some(lookback) = &args.lookback else { return Ok((None, end)) };
    let lookback = parse_duration(lookback).map_err(Failure::input)?;
    let first = args.as_of.unwrap_or(io.now).checked_sub(lookback).unwrap_or(Timestamp::MIN);
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
    Failure::hinted(format!(
        "`gpucost history verify {}` names every file with which something is wrong",
        shell_word(&place.word())
    ))(error)
}

/// Columns of the number of an account in a message.
const SHOWN_COLUMNS: usize = 60;

/// Refuses files of several formats with lines of one payer: a month that is in two of them would
/// be kept with twice its cost.
pub(super) fn check_once(in_two_forms: &BTreeSet<String>) -> Outcome<()> {
    let Some(payer) = in_two_forms.first() else { return Ok(()) };
    let payer = fit(payer, SHOWN_COLUMNS);
    Err(refusal!(
        "files of several formats have lines of the payer {payer}, and a bill is recorded from \
         one: a month that is in both would count twice";
        "record the files of one export at a time"))
}

/// Keeps each month of a bill, and says so in lines.
///
/// # Errors
/// When it cannot be written.
pub(super) fn keep(
    bills: Vec<MonthlyBill>,
    place: &Place,
    (args, settings): EstateRequest<'_>,
    io: &mut Io<'_>,
) -> Outcome<()> {
    let access = usage_history::bucket_access(&estate::aws_options(&args.aws, settings, io), io);
    let now = io.now;
    let kept = live::run(&args.out, &Notice::default(), io, async |progress| {
        progress("history");
        let records = Records::open(place, &access).await?;
        let mut kept: Vec<(MonthlyBill, BillKept)> = Vec::new();
        for bill in bills {
            let as_kept = records.record_bill(&bill, now).await?;
            kept.push((bill, as_kept));
        }
        Ok::<_, HistoryError>(kept)
    });
    for (bill, kept) in kept?.map_err(usage_history::unopened)? {
        let (rows, place) = (bill.rows.len(), place.to_string());
        let line = kept_bill_text(bill.month, &bill.payer, rows, &place, kept);
        output::say(&line, &args.out, io);
    }
    Ok(())
}

/// Why a bill is not kept.
pub(super) fn refused(error: NotStored) -> Failure {
    hinted! { error;
        NotStored::TooLarge => "record fewer billing periods at a time, or use `gpucost history bill`, which writes the same table of bills of any size";
        NotStored::Undated(_) => "export the bill with its billing period";
    }
}
