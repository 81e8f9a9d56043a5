//! How much work was done: a CSV file of units, and lines of a log that mark one each.

use crate::domain::{DatedUnits, WorkUnits, parse_duration};
use crate::files::shared::bounded::{open, plain_text};
use crate::files::shared::csv_lines::{
    self, Cells, InvalidLine, RowsError, check_columns, read_rows,
};
use jiff::SignedDuration;
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::fs::{self, File};
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::path::Path;

/// The columns, in any order; `window` may be left out.
const COLUMNS: [&str; 4] = ["name", "unit", "count", "window"];
/// Those of units of single days; all of them are needed.
const DATED_COLUMNS: [&str; 4] = ["name", "unit", "count", "date"];
/// Rows of a file, and of one of single days: 300 kinds of units over a year.
const MOST_ROWS: usize = 10_000;
const MOST_DATED_ROWS: usize = 110_000;
/// A leap year. Its cost is that of today's running time: what is longer is an error.
const LONGEST_WINDOW: SignedDuration = SignedDuration::from_hours(366 * 24);
/// Bytes of a line of a log that are searched at once.
const PART_BYTES: u64 = 1 << 16;
/// More than anybody counts; beyond it, prices would overflow exact decimals.
const MOST_UNITS: Decimal = Decimal::from_parts(0xA764_0000, 0x0DE0_B6B3, 0, false, 0);

/// Reads how many units of work workloads and training jobs did.
///
/// # Errors
/// When it cannot be read, or with the first line that is wrong: an unknown or missing
/// column, an empty name, a count that is not a number from zero, a window that is not a
/// duration, a duplicate, more than 10,000 rows.
pub fn read_units(path: &Path) -> Result<Vec<WorkUnits>, RowsError> {
    read_rows("the units file ", path, parse)
}

/// Reads how many units of work were done on each day.
///
/// # Errors
/// As [`read_units`]; a date that is none, such as `2026-11-31`, and more than 110,000 rows.
pub fn read_dated_units(path: &Path) -> Result<Vec<DatedUnits>, RowsError> {
    read_rows("the units file ", path, parse_dated)
}

fn parse(text: &str) -> Result<Vec<WorkUnits>, InvalidLine> {
    rows(text, (COLUMNS, 3, MOST_ROWS), |cells| {
        let units = units(cells)?;
        Ok(((units.name.clone(), units.unit.clone()), units))
    })
}

fn parse_dated(text: &str) -> Result<Vec<DatedUnits>, InvalidLine> {
    rows(text, (DATED_COLUMNS, 4, MOST_DATED_ROWS), |cells| {
        let date = cells.get("date").unwrap_or_default();
        let not_a_date = |_| format!("`{date}` is not a date such as 2026-11-30");
        let day: Date = date.parse().map_err(not_a_date)?;
        let units = units(cells)?;
        Ok(((units.name.clone(), units.unit.clone(), day), DatedUnits { day, units }))
    })
}

/// The rows of a file, in its order, with so many of the first columns at least, and so many rows
/// at most. What reads one tells what no two of them share.
fn rows<T, K: Ord>(
    text: &str,
    (names, needed, most): ([&str; 4], usize, usize),
    row: impl Fn(&Cells<'_>) -> Result<(K, T), String>,
) -> Result<Vec<T>, InvalidLine> {
    let mut seen = std::collections::BTreeSet::new();
    let columns = |header: &csv::StringRecord| {
        check_columns(header, &names, &names[..needed])?;
        Ok(header.clone())
    };
    csv_lines::rows(text, columns, |header, record, _, above| {
        let cells = Cells { header, record };
        let (key, value) = row(&cells)?;
        if !seen.insert(key) {
            let (name, unit) = (cells.required("name")?, cells.required("unit")?);
            return Err(format!("{unit} of `{name}` is a duplicate"));
        }
        if above.len() == most {
            return Err(format!("more than {most} rows"));
        }
        Ok(value)
    })
}

fn units(cells: &Cells<'_>) -> Result<WorkUnits, String> {
    let (name, unit) = (cells.required("name")?, cells.required("unit")?);
    let window = cells.get("window").unwrap_or_default();
    let length = (!window.is_empty()).then(|| parse_duration(window)).transpose()?;
    if length.is_some_and(|length| length > LONGEST_WINDOW) {
        return Err(format!("the window `{window}` is longer than a year"));
    }
    Ok(WorkUnits {
        name: name.to_owned(),
        unit: unit.to_owned(),
        count: unit_count(cells.get("count").unwrap_or_default())?,
        window: length,
    })
}

/// A number of units, such as `48000` or `4.8e4`.
///
/// # Errors
/// When it is not a number from zero to 10^18.
pub fn unit_count(text: &str) -> Result<Decimal, String> {
    text.parse()
        .ok()
        .or_else(|| Decimal::from_scientific(text).ok())
        .filter(|count| (Decimal::ZERO..=MOST_UNITS).contains(count))
        .ok_or_else(|| format!("the count `{text}` is not a number from 0 to 10^18"))
}

/// How many lines of a log contain a text; plain or gzip-compressed. Memory does not grow
/// with the length of a line, so that a text is not found where it lies across the ends of
/// two parts of 64 KiB.
///
/// # Errors
/// When the log cannot be read, or has more than 4 GiB.
pub fn count_lines(path: &Path, text: &str) -> io::Result<u64> {
    count_in(open(path)?, text)
}

/// The same of what was written to a log after its first bytes; of all of it where it has fewer
/// now, because it was begun anew.
///
/// # Errors
/// When the log cannot be read, is not a file, or has more than 4 GiB behind these bytes.
pub fn count_lines_since(path: &Path, offset: u64, text: &str) -> io::Result<u64> {
    let data = fs::metadata(path)?;
    // Opening a pipe waits for whoever writes to it.
    if !data.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut log = File::open(path)?;
    if data.len() >= offset {
        log.seek(SeekFrom::Start(offset))?;
    }
    count_in(plain_text(log)?, text)
}

fn count_in(mut log: Box<dyn BufRead + '_>, text: &str) -> io::Result<u64> {
    let (mut lines, mut part, mut is_counted) = (0, Vec::new(), false);
    loop {
        part.clear();
        if log.by_ref().take(PART_BYTES).read_until(b'\n', &mut part)? == 0 {
            return Ok(lines);
        }
        if !is_counted && contains(&part, text.as_bytes()) {
            lines += 1;
            is_counted = true;
        }
        is_counted &= !part.ends_with(b"\n");
    }
}

fn contains(line: &[u8], text: &[u8]) -> bool {
    line.windows(text.len().max(1)).any(|part| part == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_with_and_without_a_window() {
        let text = "unit,name,count\ntokens,chat,4.8e9\n";
        let units = parse(text).expect("valid");
        assert_eq!(units[0].count, Decimal::from(4_800_000_000_u64));
        assert_eq!(units[0].window, None);
        let text = "name,unit,count,window\nfit,epoch,90,\nchat,requests,0.5,24h\n";
        let units = parse(text).expect("valid");
        assert_eq!(units[0].window, None);
        assert_eq!(units[1].window, parse_duration("1d").ok());
    }

    #[test]
    fn every_error_names_its_line() {
        for (text, line, says) in [
            ("name,unit\n", 1, "missing column `count`"),
            ("name,unit,count,cost\n", 1, "unknown column `cost`"),
            ("name,unit,unit,count\n", 1, "column `unit` is a duplicate"),
            ("name,unit,count\n,epoch,9\n", 2, "`name` is empty"),
            ("name,unit,count\na,epoch,9\nb,epoch,-1\n", 3, "the count `-1`"),
            ("name,unit,count\na,epoch,NaN\n", 2, "the count `NaN`"),
            ("name,unit,count\na,epoch,1e19\n", 2, "the count `1e19`"),
            ("name,unit,count\na,epoch,1\na,epoch,2\n", 3, "a duplicate"),
            ("name,unit,count\na,epoch\n", 2, "2 cells instead of 3"),
            ("name,unit,count,window\na,epoch,1,soon\n", 2, "`soon` is not"),
            ("name,unit,count\na,epoch,inf\n", 2, "the count `inf`"),
            ("name,unit,count\na,epoch,\n", 2, "the count ``"),
            ("name,unit,count\na,epoch,0x10\n", 2, "the count `0x10`"),
            ("name,unit,count,window\na,epoch,1,-3d\n", 2, "`-3d` is not"),
            (
                "name,unit,count,window\na,epoch,1,366d\nb,epoch,1,367d\n", 3,
                "the window `367d` is longer than a year",
            ),
        ] {
            let (at, message) = parse(text).expect_err("an error");
            assert_eq!(at, line, "{message}");
            assert!(message.contains(says), "{message}");
        }
        assert_eq!(unit_count("1000000000000000000"), Ok(MOST_UNITS));
    }

    #[test]
    fn units_of_days_have_a_date_each() {
        let text = "date,name,unit,count\n2026-11-01,chat,tokens,5\n2026-11-02,chat,tokens,7\n";
        let days = parse_dated(text).expect("valid");
        assert_eq!(days[1].day, jiff::civil::date(2026, 11, 2));
        assert_eq!(days[1].units.count, Decimal::from(7));
        for (text, line, says) in [
            ("name,unit,count\n", 1, "missing column `date`"),
            ("name,unit,count,window\n", 1, "unknown column `window`"),
            ("date,name,unit,count\n2026-11-31,a,jobs,1\n", 2, "`2026-11-31` is not a date"),
            ("date,name,unit,count\n,a,jobs,1\n", 2, "`` is not a date"),
            (
                "date,name,unit,count\n2026-11-01,a,jobs,1\n2026-11-01,a,jobs,2\n",
                3,
                "jobs of `a` is a duplicate",
            ),
        ] {
            let (at, message) = parse_dated(text).expect_err("an error");
            assert_eq!(at, line, "{message}");
            assert!(message.contains(says), "{message}");
        }
    }

    #[test]
    fn lines_count_once_however_long() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("train.log");
        let long = format!("{}Epoch 3 and Epoch 4\n", "x".repeat(200_000));
        let log = format!("start\nEpoch 1\nEpoch 2 Epoch 2\n{long}{long}end Epoch");
        std::fs::write(&path, log).expect("written");
        assert_eq!(count_lines(&path, "Epoch").ok(), Some(5));
        assert_eq!(count_lines(&path, "Epoch 2").ok(), Some(1));
        assert_eq!(count_lines(&path, "loss").ok(), Some(0));
        // Behind `start\nEpoch 1\n`, and in a log that was begun anew.
        assert_eq!(count_lines_since(&path, 14, "Epoch").ok(), Some(4));
        std::fs::write(&path, "Epoch 1\n").expect("written");
        assert_eq!(count_lines_since(&path, 14, "Epoch").ok(), Some(1));
        assert_eq!(count_lines_since(&path, 8, "Epoch").ok(), Some(0));
        assert!(count_lines_since(folder.path(), 0, "Epoch").is_err());
    }
}
