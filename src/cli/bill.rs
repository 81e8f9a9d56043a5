//! `gpucost bill`: what was really paid, and how that differs from an audit.

use super::args::{DocFormat, EstateArgs, file_place, place};
use super::history::{self, Opening};
use super::live::unopened;
use super::planning::Planning;
use super::scope::invocation;
use super::{
    ExitCode, Failure, Io, Outcome, estate, flags, hint, hinted, live, output, refusal, refuse_if,
    refused,
};
use crate::analysis::{RecordedExpectation, TooManyHours, expected_bill};
use crate::billing::{Bill, BillKey, Expected, Ledger, NotStored, ResourceHours, TooLarge};
use crate::config::{SettingsFile, parse_duration};
use crate::domain::{
    BillFiles, BillKept, BillLine, Currency, Gap, MonthlyBill, RecordedRun, counted, safe,
    shell_word, shown,
};
use crate::report::text::fit;
use crate::report::{
    BillAudit, BillOrigin, bill_answer, kept_bill_text, negotiated_rates, price_file,
};
use crate::sources::SourceError;
use crate::sources::files::{
    BillError, BillOptions, HistoryError, Records, read_bill, read_bill_of, try_writing,
    write_whole,
};
use crate::sources::store::Place;
use crate::trend::date_of;
use clap::ValueHint;
use jiff::Timestamp;
use jiff::civil::Date;
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

flags! {
    /// `gpucost bill`.
    pub(super) struct BillArgs {
        /// Files of a bill, or directories of an export, here or as s3://BUCKET/KEY; together they
        /// are one bill
        files: Vec<Place> = arg(value_name = "FILE|URL", required = true, conflicts_with = "redact", value_parser = file_place(), value_hint = ValueHint::AnyPath);
        /// Read the account, and compare the bill with what its audit expects [implied by `--from`
        /// and `--demo`; with `--history` alone, the bill is compared with recorded audits]
        compare: bool = arg(long);
        /// Add the cost by account, region, service, type or tag:NAME, and what has none
        group_by: Option<BillKey> = arg(long, value_name = "KEY", value_parser = |text: &str| BillKey::from_name(text).ok_or_else(|| format!("valid keys: {}", BillKey::known_names())));
        /// Currency of a bill that does not state one
        currency: Option<Currency> = arg(long, value_name = "CODE", value_parser = |text: &str| Currency::from_name(&text.to_uppercase()).ok_or("valid values: USD, CNY, EUR"));
        /// Write the negotiated prices that the bill shows to a file for `prices.file`
        write_prices: Option<PathBuf> = arg(long, value_name = "FILE", help_heading = "Output");
        /// Keep the bill by resource and hour in a history, a directory or s3://BUCKET/PREFIX
        record: Option<Place> = arg(long, value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath, help_heading = "Output");
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
        estate: EstateArgs = command(flatten);
    }
}

/// What a bill is compared with.
struct Compared {
    instances: usize,
    gaps: Vec<Gap>,
    origin: BillAudit,
    /// What to warn of: old prices.
    warning: Option<String>,
}

pub(super) fn run(args: &BillArgs, io: &mut Io<'_>) -> Outcome {
    let out = &args.estate.out;
    let planning = Planning::of_estate(&args.estate, args.format, &[], io)?;
    let settings = &planning.settings;
    check_files(args)?;
    let options = BillOptions {
        tag: args.group_by.as_ref().and_then(BillKey::open).map(str::to_owned),
        currency: args.currency,
    };
    let mut ledger = Ledger::new(args.group_by.clone());
    let compared = if is_compared(args)? {
        let (compared, expected) = compared(args, &planning, io)?;
        ledger = ledger.beside(expected);
        Some(compared)
    } else {
        None
    };
    let mut hours = args.record.as_ref().map(|_| ResourceHours::default());
    let mut each = |line: BillLine| match hours.as_mut().map(|hours| hours.add(&line)) {
        Some(ControlFlow::Break(())) => ControlFlow::Break(()),
        _ => ledger.add(line),
    };
    let read = read(args, &options, &mut each, settings, io)?;
    if args.record.is_some() {
        check_once(&read.in_two_forms)?;
    }
    let kept = hours.map(ResourceHours::finish).transpose().map_err(|error| hinted! { error;
        NotStored::TooLarge => "record fewer billing periods at a time, or use `gpucost history bill`, which writes the same table of bills of any size";
        NotStored::Undated(_) => "export the bill with its billing period";
    })?;
    let bill = ledger.finish().map_err(|error| {
        hinted! { error;
            TooLarge::Bill => "pass fewer billing periods at a time";
            TooLarge::Audit => "compare fewer instances with `--tag`, or a shorter `--lookback`";
        }
    })?;
    let origin = BillOrigin {
        paths: args.files.iter().map(Place::word).collect(),
        read,
        stated_currency: args.currency,
        audit: compared.as_ref().map(|comparison| comparison.origin.clone()),
    };
    output::print_rows(&bill_answer(&bill, &origin), planning.format, None, out, io)?;
    let lines = counted(bill.lines, "line", "lines");
    let files = counted(origin.read.files.len(), "file", "files");
    output::say(&format!("read {lines} of {files}"), out, io);
    if let Some((place, kept)) = args.record.as_ref().zip(kept) {
        keep_months(kept, place, args, settings, io)?;
    }
    let mut code = ExitCode::Done;
    if let Some(Compared { instances, gaps, warning, .. }) = compared {
        output::warn(warning, out, io);
        code = output::close("compared", (instances, 0), &gaps, &args.estate, io);
    }
    if args.estate.strict && code == ExitCode::Done && !origin.read.other_currencies.is_empty() {
        let hint = "the last table names the currencies; leave out `--strict` to go without them";
        let error = "rows of the bill were skipped";
        code = output::complain(error, hint, ExitCode::Incomplete, io);
    }
    let Some(path) = &args.write_prices else { return Ok(code) };
    let written = write_prices(path, &bill, args, io)?;
    Ok(if code == ExitCode::Done { written } else { code })
}

/// Reads the bill. Where all of it is on this host, nothing is waited for.
fn read(
    args: &BillArgs,
    options: &BillOptions,
    each: &mut dyn FnMut(BillLine) -> ControlFlow<()>,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Outcome<BillFiles> {
    let paths = args.files.iter().map(|place| match place {
        Place::Folder(path) => Some(path.clone()),
        Place::Bucket(_) => None,
    });
    if let Some(paths) = paths.collect::<Option<Vec<PathBuf>>>() {
        return read_bill(&paths, options, each).map_err(unreadable);
    }
    let access = args.estate.aws.access(settings, io);
    let read = live::run(&args.estate.out, io, async |progress| {
        read_bill_of(&args.files, &access, options, each, progress).await
    });
    read?.map_err(unreadable)
}

/// Whether an estate is read.
fn is_compared(args: &BillArgs) -> Outcome<bool> {
    let of = &args.estate;
    let is_read = of.from.is_some() || of.demo.is_some() || of.kubernetes.is_given();
    let is_recorded = of.history.is_some();
    let is_selected = !(of.tag.is_empty() && of.exclude_tag.is_empty());
    refuse_if!(is_selected && !is_read && !args.compare;
        "`--tag` and `--exclude-tag` select instances of an estate";
        "pass an estate with `--from`, or group the bill with `--group-by tag:NAME`");
    Ok(is_read || args.compare || is_recorded)
}

/// What the audit of an estate expects, or what recorded audits do.
fn compared(
    args: &BillArgs,
    planning: &Planning<'_>,
    io: &mut Io<'_>,
) -> Outcome<(Compared, Expected)> {
    let (of, settings) = (&args.estate, &planning.settings);
    let is_live = args.compare || of.kubernetes.is_given();
    if let Some(place) = of.history.as_ref().filter(|_| !is_live) {
        return recorded(of, place, settings, io);
    }
    let estate = estate::read(of, settings, io)?;
    let bill = expected_bill(&estate, &settings.policy);
    let warning = planning.age.check(bill.oldest_price, estate.as_of)?;
    let mut flags = invocation(&args.estate, None).estate_flags();
    if args.compare {
        flags.push_str(" --compare");
    }
    let origin =
        BillAudit { flags, hours: bill.expected.hours, skipped: bill.skipped, days_missing: 0 };
    let compared =
        Compared { instances: estate.instances.len(), gaps: estate.gaps, origin, warning };
    Ok((compared, bill.expected))
}

/// Nothing that is read may be replaced, and what is written can be.
fn check_files(args: &BillArgs) -> Outcome<()> {
    let of = &args.estate;
    let written = [
        ("--output", of.out.output.as_deref()),
        ("--write-prices", args.write_prices.as_deref()),
        ("--save", of.save.as_deref()),
    ];
    let written = output::check_distinct(written)?;
    let files = args.files.iter().filter_map(|place| match place {
        Place::Folder(path) if path.is_file() => Some(("FILE", path)),
        _ => None,
    });
    let estates = of.from.iter().map(|path| ("--from", path));
    let bought = of.commitments.iter().map(|path| ("--commitments", path));
    for (flag, path) in files.chain(estates).chain(bought) {
        for (other_flag, file) in &written {
            output::check_distinct([(flag, Some(path.as_path())), (*other_flag, Some(*file))])?;
        }
    }
    for (_, path) in &written {
        try_writing(path).map_err(|error| output::unwritable(path, error))?;
    }
    Ok(())
}

fn write_prices(path: &Path, bill: &Bill, args: &BillArgs, io: &mut Io<'_>) -> Outcome {
    let rates = negotiated_rates(bill).count() as u64;
    if rates == 0 {
        let error = "the bill shows no negotiated price, and no file of prices was written";
        let hint = "the sheet `rates` of `--format json` has the reason for each price";
        return Ok(output::complain(error, hint, ExitCode::Incomplete, io));
    }
    let text = price_file(bill).map_err(Failure::unexpected)?;
    write_whole(path, |out| out.write_all(text.as_bytes()))
        .map_err(|error| output::unwritable(path, error))?;
    let rates = counted(rates, "price", "prices");
    output::say(&format!("wrote {rates} to {}", shown(path)), &args.estate.out, io);
    Ok(ExitCode::Done)
}

/// Whether what a file holds could not be unpacked or is too much, and not that it could not be
/// opened.
fn is_about_content(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}

/// What to do where a bucket could not be read.
fn hint_of_bucket(url: &str, source: &io::Error) -> String {
    let cause = source.get_ref();
    if let Some(cause) = cause.and_then(|cause| cause.downcast_ref::<SourceError>()) {
        return cause.hint();
    }
    hint! { source.kind();
        io::ErrorKind::Unsupported => "download the files, or build gpucost with the feature `s3`";
        _ => "check the names of the bucket and the key; `gpucost setup iam --bill {}` prints the permissions that it takes", shell_word(url);
    }
}

fn unreadable(error: BillError) -> Failure {
    if let BillError::Io { path, source } = &error
        && let Some(url) = path.to_str().filter(|path| path.starts_with("s3://"))
        && !is_about_content(source)
    {
        let hint = hint_of_bucket(url, source);
        return Failure::unexpected(error).with_hint(hint);
    }
    hinted! { error;
        BillError::Io { source, .. } if is_about_content(source) => "download the file again; see docs/bill.md for the formats";
        BillError::Io { .. } => "check the path";
        BillError::Form { .. } => "pass files ending in .csv, .csv.gz or .parquet; see docs/bill.md for the formats";
        BillError::Row { message, .. } if message.contains("currency") => "pass the currency of the bill, such as `--currency USD`";
        BillError::Row { .. } => "export the bill again, or pass the file without this row";
        BillError::Damaged { .. } => "download the file again, and all that a manifest names";
        BillError::Ambiguous { .. } => "pass the directory of the latest reading, or add the manifest of the period";
        BillError::Alike { .. } => "pass one of them, or the directory with its manifest";
        BillError::Overlap { .. } => "pass the latest reading of a billing period alone, or the directory with its manifest";
    }
}

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
fn recorded(
    args: &EstateArgs,
    place: &Place,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Outcome<(Compared, Expected)> {
    history::check(place)?;
    let (first, end) = days(args, io)?;
    let is_wanted =
        |day: Date| first.is_none_or(|first| day >= first) && end.is_none_or(|end| day < end);
    let history = Opening::of(Some(place), args.aws.access(settings, io))
        .attempt(&args.out, io, async |records| recorded_hours(&records, &is_wanted).await)?
        .map_err(|error| unread(error, place))?
        .map_err(Failure::hinted("compare fewer days with `--as-of` and `--lookback`"))?;
    for problem in &history.problems {
        output::say(&safe(&format!("warning: the history cannot use {problem}")), &args.out, io);
    }
    let expected = history.expected.ok_or_else(refused!(
        "no run of the history kept hours of instances on these days";
        "record every night with `gpucost history record`; versions before kept only days. \
         Without hours, compare with an estate: `--from`, or `--compare`"))?;
    let origin = BillAudit {
        flags: flags_of_days(args, place),
        hours: expected.hours,
        skipped: 0,
        days_missing: history.days_missing,
    };
    let instances = expected.instances.len();
    Ok((Compared { instances, gaps: Vec::new(), origin, warning: None }, expected))
}

async fn recorded_hours(
    records: &Records,
    is_wanted: &dyn Fn(Date) -> bool,
) -> Result<Result<Found, TooManyHours>, HistoryError> {
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
fn flags_of_days(args: &EstateArgs, place: &Place) -> String {
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
        return unopened(error);
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
fn check_once(in_two_forms: &BTreeSet<String>) -> Outcome<()> {
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
fn keep_months(
    bills: Vec<MonthlyBill>,
    place: &Place,
    args: &BillArgs,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Outcome<()> {
    let (of, now) = (&args.estate, io.now);
    let history = Opening::of(Some(place), of.aws.access(settings, io));
    let kept = history.attempt(&of.out, io, async |records| {
        let mut kept: Vec<(MonthlyBill, BillKept)> = Vec::new();
        for bill in bills {
            let as_kept = records.record_bill(&bill, now).await?;
            kept.push((bill, as_kept));
        }
        Ok(kept)
    });
    for (bill, kept) in kept?.map_err(unopened)? {
        let (rows, place) = (bill.rows.len(), place.to_string());
        let line = kept_bill_text(bill.month, &bill.payer, rows, &place, kept);
        output::say(&line, &of.out, io);
    }
    Ok(())
}
