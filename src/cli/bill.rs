//! `gpucost bill`: what was really paid.

use super::args::{Format, OutputArgs};
use super::exit::{ExitCode, Failure};
use super::{Io, audit, estate, output, planner};
use crate::billing::{Bill, BillKey, Ledger};
use crate::domain::{Currency, shown};
use crate::report::text::counted;
use crate::report::{BillOrigin, BillSource, bill_answer, negotiated_rates, price_file};
use crate::sources::files::{
    BillError, BillFiles, BillOptions, read_bill, try_writing, write_whole,
};
use clap::Args;
use std::path::{Path, PathBuf};

fn key(text: &str) -> Result<BillKey, String> {
    BillKey::from_name(text).ok_or_else(|| format!("valid keys: {}", BillKey::known_names()))
}

fn currency(text: &str) -> Result<Currency, String> {
    let code = text.to_uppercase();
    Currency::from_code(&code).ok_or_else(|| "valid values: USD, CNY, EUR".to_owned())
}

/// `gpucost bill`.
#[derive(Debug, Args)]
pub(super) struct BillArgs {
    /// Files of a bill, or directories of an export; together they are one bill
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Add the cost by account, region, service, type or tag:NAME, and what has none
    #[arg(long, value_name = "KEY", value_parser = key)]
    pub group_by: Option<BillKey>,
    /// Currency of a bill that does not state one
    #[arg(long, value_name = "CODE", value_parser = currency)]
    pub currency: Option<Currency>,
    /// Write the negotiated prices that the bill shows to a file for `prices.file`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub write_prices: Option<PathBuf>,
    /// Output format [default: table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<Format>,
    #[command(flatten)]
    pub out: OutputArgs,
}

pub(super) fn run(args: &BillArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.out, io)?;
    let format = audit::format(args.format, &settings, io)?;
    check_files(args)?;
    let options = BillOptions {
        tag: args
            .group_by
            .as_ref()
            .and_then(BillKey::tag)
            .map(str::to_owned),
        currency: args.currency,
    };
    let mut ledger = Ledger::new(args.group_by.clone());
    let read =
        read_bill(&args.files, &options, &mut |line| ledger.add(line)).map_err(unreadable)?;
    let bill = ledger.finish().map_err(|error| {
        Failure::new(ExitCode::Input, error).with_hint("pass fewer billing periods at a time")
    })?;
    let origin = origin(args, &read);
    planner::print(&bill_answer(&bill, &origin), format, &args.out, io)?;
    output::say(&closing_line(&bill, &read), &args.out, io);
    match &args.write_prices {
        Some(path) => write_prices(path, &bill, args, io),
        None => Ok(ExitCode::Done),
    }
}

/// Nothing that is read may be replaced, and what is written can be.
fn check_files(args: &BillArgs) -> Result<(), Failure> {
    let written = [
        ("--output", args.out.output.as_deref()),
        ("--write-prices", args.write_prices.as_deref()),
    ];
    let written = written.into_iter();
    let written = written.filter_map(|(flag, path)| Some((flag, path?)));
    let written: Vec<(&str, &Path)> = written.collect();
    output::check_distinct(&written)?;
    for path in args.files.iter().filter(|path| path.is_file()) {
        for one in &written {
            output::check_distinct(&[("FILE", path.as_path()), *one])?;
        }
    }
    for (_, path) in &written {
        try_writing(path).map_err(|error| output::unwritable(path, error))?;
    }
    Ok(())
}

fn origin(args: &BillArgs, read: &BillFiles) -> BillOrigin {
    let path_of = |path: &PathBuf| path.to_string_lossy().into_owned();
    let sources = read.files.iter().map(|file| BillSource {
        name: path_of(&file.path),
        form: file.form.name(),
        rows: file.rows,
    });
    BillOrigin {
        paths: args.files.iter().map(path_of).collect(),
        files: sources.collect(),
        superseded: read.superseded,
        other_currencies: read.other_currencies.clone(),
        untimed: read.untimed,
        in_two_forms: read.in_two_forms.clone(),
        has_stated_currency: args.currency.is_some(),
    }
}

fn closing_line(bill: &Bill, read: &BillFiles) -> String {
    format!(
        "read {} of {}",
        counted(bill.lines, "line", "lines"),
        counted(read.files.len() as u64, "file", "files")
    )
}

fn write_prices(
    path: &Path,
    bill: &Bill,
    args: &BillArgs,
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let rates = negotiated_rates(bill).count() as u64;
    if rates == 0 {
        let error = "the bill shows no negotiated price, and no file of prices was written";
        let hint = "the sheet `rates` of `--format json` has the reason for each price";
        output::complain(error, hint, io);
        return Ok(ExitCode::Incomplete);
    }
    let text = price_file(bill).map_err(Failure::unexpected)?;
    write_whole(path, |out| out.write_all(text.as_bytes()))
        .map_err(|error| output::unwritable(path, error))?;
    let rates = counted(rates, "price", "prices");
    output::say(&format!("wrote {rates} to {}", shown(path)), &args.out, io);
    Ok(ExitCode::Done)
}

fn unreadable(error: BillError) -> Failure {
    let hint = match &error {
        BillError::Io { .. } => "check the path",
        BillError::Form { .. } => "see docs/bill.md for the formats",
        BillError::Row { message, .. } if message.contains("currency") => {
            "pass the currency of the bill, such as `--currency USD`"
        }
        BillError::Row { .. } => "export the bill again, or pass the file without this row",
        BillError::Damaged { .. } => "download the file again",
        BillError::Nothing { .. } => {
            "pass a file, or a directory with files ending in .csv, .csv.gz or .parquet"
        }
        BillError::Ambiguous { .. } => {
            "pass the directory of the latest reading, or add the manifest of the period"
        }
        BillError::Missing { .. } => {
            "download the rest of the export, or pass its files one by one"
        }
        BillError::Twice { .. } => "pass it once",
    };
    Failure::new(ExitCode::Input, error).with_hint(hint)
}
