//! CSV files that planners read: the demand of a workload, jobs to run, and requests that were
//! recorded: when each arrived, and what work it was.

use super::shared::csv_lines::{
    Cells, InvalidLine, RowsError, check_columns, column, instant, none, not_after, not_an_instant,
    parsed, quoted, read_rows, rows, some_rows,
};
use crate::domain::{JobRequest, MOST_JOBS, Moment, RecordedRequest, RecordedWork, plain_name};
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::collections::BTreeSet;
use std::path::Path;

/// Lines that a record of demand may have.
pub const MOST_SAMPLES: usize = 1_000_000;
/// GPUs that demand may reach, and that a job may take.
const MOST_GPUS: u32 = 1_000_000;
/// Longest job, hours: ten years.
const LONGEST_HOURS: u32 = 87_600;
/// Bytes of a cell of a job; no name is longer.
const LONGEST_CELL: usize = 1_000;
/// Most data of a job, GB: an exabyte.
const MOST_GB: u32 = 1_000_000_000;

const TIME: [&str; 3] = ["time", "timestamp", "at"];
const GPUS: [&str; 3] = ["gpus", "gpu", "busygpus"];
/// Columns of jobs, those that must be there first.
const JOB_COLUMNS: [&str; 9] = [
    "name", "gpu", "gpus", "hours", "release", "deadline", "restartable", "data_region", "data_gb",
];
const REQUIRED: usize = 4;

/// Requests that a recording may have.
pub const MOST_ARRIVALS: usize = 1_000_000;

/// Columns by what they state, without case, blanks and dashes.
const ARRIVAL: [&str; 5] = ["timestamp", "time", "atseconds", "arrival", "arrivedat"];
const SERVICE: [&str; 2] = ["serviceseconds", "latencyseconds"];
const PROMPT: [&str; 4] = ["contexttokens", "prompttokens", "inputtokens", "requesttokens"];
const GENERATED: [&str; 4] =
    ["generatedtokens", "completiontokens", "outputtokens", "responsetokens"];

/// Reads GPUs in use by time: columns `time` (RFC 3339, a date and a time in UTC, or Unix
/// seconds) and `gpus`. Other columns are skipped.
///
/// # Errors
/// When it cannot be read, or with the first line that is invalid: a column is missing, a
/// time is not after the one above, GPUs are not a number of zero or more, more than
/// [`MOST_SAMPLES`] lines, or none.
pub fn read_demand(path: &Path) -> Result<Vec<(Timestamp, f64)>, RowsError> {
    read_rows("", path, demand)
}

/// Reads jobs: columns `name`, `gpu`, `gpus`, `hours`, and perhaps `release`, `deadline`,
/// `restartable`, `data_region`, `data_gb`.
///
/// # Errors
/// When it cannot be read, or with the first line that is invalid: an unknown or missing
/// column, a name twice, a figure that is not above zero or too large, a time that is none,
/// more than 10,000 jobs, or none.
pub fn read_jobs(path: &Path) -> Result<Vec<JobRequest>, RowsError> {
    read_rows("", path, jobs)
}

fn demand(text: &str) -> Result<Vec<(Timestamp, f64)>, InvalidLine> {
    let columns = |header: &_| Ok((column(header, &TIME)?, column(header, &GPUS)?));
    some_rows(text, (MOST_SAMPLES, "samples"), columns, |(time, gpus), record, above| {
        let cell = record.get(*time).unwrap_or_default();
        let at = instant(cell).ok_or_else(|| not_an_instant(cell))?;
        if above.is_some_and(|(above, _): &(Timestamp, f64)| at <= *above) {
            return Err(not_after(cell));
        }
        let cell = record.get(*gpus).unwrap_or_default();
        let is_valid = |gpus: &f64| (0.0..=f64::from(MOST_GPUS)).contains(gpus);
        let expected = format_args!("a number of GPUs from 0 to {MOST_GPUS}");
        Ok((at, parsed(cell, is_valid, expected)?))
    })
}

fn jobs(text: &str) -> Result<Vec<JobRequest>, InvalidLine> {
    let mut names = BTreeSet::new();
    let columns = |header: &csv::StringRecord| {
        let header: csv::StringRecord = header.iter().map(str::to_ascii_lowercase).collect();
        check_columns(&header, &JOB_COLUMNS, &JOB_COLUMNS[..REQUIRED])?;
        Ok(header)
    };
    let jobs = rows(text, columns, |header, record, line, above: &[JobRequest]| {
        let job = job(&Cells { header, record }, line)?;
        if above.len() == MOST_JOBS {
            return Err(format!("more than {MOST_JOBS} jobs"));
        }
        if !names.insert(job.name.clone()) {
            return Err(format!("the job {} is a duplicate", quoted(&job.name)));
        }
        Ok(job)
    })?;
    if jobs.is_empty() { Err(none("jobs")) } else { Ok(jobs) }
}

fn job(cells: &Cells<'_>, line: u64) -> Result<JobRequest, String> {
    let long = cells.record.iter().position(|cell| cell.len() > LONGEST_CELL);
    if let Some(column) = long.and_then(|place| cells.header.get(place)) {
        return Err(format!("`{column}` is longer than {LONGEST_CELL} bytes"));
    }
    let is_within =
        |number: &Decimal, most: u32| (Decimal::ZERO..=Decimal::from(most)).contains(number);
    Ok(JobRequest {
        name: cells.required("name")?.to_owned(),
        gpu: cells.required("gpu")?.to_owned(),
        gpus: parsed(
            cells.required("gpus")?,
            |gpus| (1..=MOST_GPUS).contains(gpus),
            format_args!("a number of GPUs from 1 to {MOST_GPUS}"),
        )?,
        hours: parsed(
            cells.required("hours")?,
            |hours: &Decimal| !hours.is_zero() && is_within(hours, LONGEST_HOURS),
            format_args!("hours above 0 and at most {LONGEST_HOURS}"),
        )?,
        release: moment(cells, "release")?,
        deadline: moment(cells, "deadline")?,
        is_restartable: match cells.get("restartable").map(str::to_ascii_lowercase).as_deref() {
            None | Some("no" | "false" | "0") => false,
            Some("yes" | "true" | "1") => true,
            Some(other) => {
                return Err(format!("{} in `restartable` is neither yes nor no", quoted(other)));
            }
        },
        data_region: cells.get("data_region").map(str::to_owned),
        data_gb: parsed(
            cells.get("data_gb").unwrap_or("0"),
            |gb| is_within(gb, MOST_GB),
            format_args!("GB from 0 to {MOST_GB}"),
        )?,
        line,
    })
}

/// An instant, or hours such as `36h` after the beginning of the plan.
fn moment(cells: &Cells<'_>, column: &str) -> Result<Option<Moment>, String> {
    let Some(cell) = cells.get(column) else { return Ok(None) };
    let read = match cell.strip_suffix('h') {
        Some(hours) => {
            let hours = hours.trim().parse().ok().filter(|hours: &u32| *hours <= LONGEST_HOURS);
            hours.map(|hours| Moment::After { seconds: i64::from(hours) * 3_600 })
        }
        None => instant(cell).map(Moment::At),
    };
    read.map(Some).ok_or_else(|| {
        let cell = quoted(cell);
        format!("{cell} in `{column}` is not a time such as 2026-11-01T08:00:00Z or 36h")
    })
}

/// Reads recorded requests in order of time. A time is RFC 3339, a date and a time in UTC,
/// or a number of seconds. Columns that state nothing about time or work are skipped.
///
/// # Errors
/// When it cannot be read, or with the first line that is invalid: no column of times, a
/// time that is before the one above, work that is not a number above zero, a ragged line,
/// more than [`MOST_ARRIVALS`] requests, or none.
pub fn read_arrivals(path: &Path) -> Result<Vec<RecordedRequest>, RowsError> {
    read_rows("the arrivals in ", path, arrivals)
}

/// Where the columns of a recording are.
struct ArrivalColumns {
    time: usize,
    service: Option<usize>,
    tokens: Option<(usize, usize)>,
}

impl ArrivalColumns {
    fn of(header: &csv::StringRecord) -> Result<Self, String> {
        let place = |names: &[&str]| {
            header.iter().position(|name: &str| names.contains(&plain_name(name).as_str()))
        };
        let time = place(&ARRIVAL).ok_or_else(|| {
            "no column `timestamp` or `at_seconds` with the time of each request".to_owned()
        })?;
        Ok(Self { time, service: place(&SERVICE), tokens: place(&PROMPT).zip(place(&GENERATED)) })
    }

    fn work(&self, record: &csv::StringRecord) -> Result<RecordedWork, String> {
        let number = |place: usize| {
            let is_valid = |value: &f64| value.is_finite() && *value >= 0.0;
            parsed(record.get(place).unwrap_or_default(), is_valid, "a number of zero or more")
        };
        if let Some(place) = self.service {
            let seconds = number(place)?;
            if seconds == 0.0 {
                return Err("a request without service time".to_owned());
            }
            return Ok(RecordedWork::Seconds(seconds));
        }
        let Some((prompt, generated)) = self.tokens else { return Ok(RecordedWork::Unstated) };
        let (prompt, generated) = (number(prompt)?, number(generated)?);
        if prompt + generated == 0.0 {
            return Err("a request without tokens".to_owned());
        }
        Ok(RecordedWork::Tokens { prompt, generated })
    }
}

/// A time of a recording; all of one are of one kind.
#[derive(Debug, Clone, Copy)]
enum ArrivalTime {
    At(Timestamp),
    Seconds(f64),
}

impl ArrivalTime {
    fn read(cell: &str) -> Option<Self> {
        if let Ok(seconds) = cell.parse::<f64>() {
            return seconds.is_finite().then_some(Self::Seconds(seconds));
        }
        instant(cell).map(Self::At)
    }

    /// Seconds since another of the same kind.
    fn seconds_since(self, first: Self) -> Option<f64> {
        match (self, first) {
            (Self::At(at), Self::At(first)) => Some(at.duration_since(first).as_secs_f64()),
            (Self::Seconds(at), Self::Seconds(first)) => Some(at - first),
            _ => None,
        }
    }
}

fn arrivals(text: &str) -> Result<Vec<RecordedRequest>, InvalidLine> {
    let mut first = None;
    some_rows(text, (MOST_ARRIVALS, "requests"), ArrivalColumns::of, |columns, record, above| {
        let cell = record.get(columns.time).unwrap_or_default();
        let moment = ArrivalTime::read(cell).ok_or_else(|| {
            format!(
                "{} is not a time such as 2026-11-01T00:00:00Z or a number of seconds",
                quoted(cell)
            )
        })?;
        let first = *first.get_or_insert(moment);
        let at_seconds = moment
            .seconds_since(first)
            .ok_or_else(|| format!("{} is not a time like those above it", quoted(cell)))?;
        if above.is_some_and(|above: &RecordedRequest| at_seconds < above.at_seconds) {
            let cell = quoted(cell);
            return Err(format!("the time {cell} is before that of the request above it"));
        }
        Ok(RecordedRequest { at_seconds, work: columns.work(record)? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demand_is_read_in_the_forms_of_exports() {
        let text = "time,pod,gpus\n2026-11-01T00:00:00Z,a,2.5\n2026-11-01 00:05:00,a,0\n";
        let samples = demand(text).expect("valid");
        let start: Timestamp = "2026-11-01T00:00:00Z".parse().expect("a time");
        assert_eq!(samples[0], (start, 2.5));
        assert_eq!(samples[1].0.as_second() - start.as_second(), 300);
        let seconds = demand("Timestamp,Busy GPUs\n1800000000,1\n1800000060,2\n");
        assert_eq!(seconds.expect("valid").len(), 2);
    }

    #[test]
    fn every_invalid_line_of_demand_is_named() {
        for (text, line, says) in [
            ("", 1, "no column `time`"),
            ("time\n1\n", 1, "no column `gpus`"),
            ("time,gpus\n", 1, "no samples"),
            ("time,gpus\n5,1\n5,1\n", 3, "is not after"),
            ("time,gpus\nsoon,1\n", 2, "is not a time"),
            ("time,gpus\n5,-1\n", 2, "from 0 to"),
            ("time,gpus\n5,NaN\n", 2, "from 0 to"),
            ("time,gpus\n5,inf\n", 2, "from 0 to"),
            ("time,gpus\n5\n", 2, "1 cells instead of 2"),
            ("time,gpus,Busy GPUs\n5,1,1\n", 1, "`gpus` and `Busy GPUs` mean"),
            ("time,gpus,time\n5,1,5\n", 1, "`time` and `time` mean the same"),
        ] {
            let (at_line, message) = demand(text).expect_err(text);
            assert_eq!(at_line, line, "{text}: {message}");
            assert!(message.contains(says), "{text}: {message}");
        }
    }

    #[test]
    fn jobs_are_read() {
        let text = "name,gpu,gpus,hours,deadline,restartable,data_region,data_gb,release\n\
                    fit,A100:80GB,8,1.5,36h,yes,us-east-1,500,\n\
                    test,T4,1,0.0001,2026-11-03T00:00:00Z,,,,2h\n";
        let jobs = jobs(text).expect("valid");
        assert_eq!(jobs.len(), 2);
        assert_eq!((jobs[0].seconds(), jobs[1].seconds()), (5_400, 1));
        assert_eq!(jobs[0].deadline, Some(Moment::After { seconds: 129_600 }));
        assert_eq!(jobs[1].release.map(|moment| moment.second(100)), Some(7_300));
        assert!(jobs[0].is_restartable && !jobs[1].is_restartable);
        assert_eq!(jobs[0].data_region.as_deref(), Some("us-east-1"));
        assert_eq!((jobs[0].line, jobs[1].line), (2, 3));
    }

    #[test]
    fn every_invalid_line_of_jobs_is_named() {
        let row = |row: &str| format!("name,gpu,gpus,hours,deadline,restartable\n{row}\n");
        for (text, line, says) in [
            ("name,gpu,gpus\n".to_owned(), 1, "missing column `hours`"),
            ("name,gpu,gpus,hours,dedline\n".to_owned(), 1, "unknown column `dedline`"),
            ("name,gpu,gpus,hours,name\n".to_owned(), 1, "a duplicate"),
            ("name,gpu,gpus,hours\n".to_owned(), 1, "no jobs"),
            (row(",T4,1,1,,"), 2, "`name` is empty"),
            (row("a,T4,0,1,,"), 2, "from 1 to"),
            (row("a,T4,1,-1,,"), 2, "hours above 0"),
            (row("a,T4,1,NaN,,"), 2, "hours above 0"),
            (row("a,T4,1,1,soon,"), 2, "is not a time"),
            (row("a,T4,1,1,,maybe"), 2, "neither yes nor no"),
            (row("a,T4,1,1,,\na,T4,1,1,,"), 3, "a duplicate"),
        ] {
            let (at_line, message) = jobs(&text).expect_err(&text);
            assert_eq!(at_line, line, "{text}: {message}");
            assert!(message.contains(says), "{text}: {message}");
        }
    }

    #[test]
    fn times_and_work_are_read_in_the_forms_of_public_traces() {
        let azure = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n\
                     2023-11-16 18:17:03.9799600,4808,10\r\n\
                     2023-11-16 18:17:04.0319600,3180,8\r\n";
        let requests = arrivals(azure).expect("valid");
        assert_eq!(requests.len(), 2);
        assert!((requests[1].at_seconds - 0.052).abs() < 1e-9);
        let work = RecordedWork::Tokens { prompt: 3_180.0, generated: 8.0 };
        assert_eq!(requests[1].work, work);

        let zoned = "time,path\n2026-11-01T00:00:00Z,/a\n2026-11-01T01:00:01+01:00,/b\n";
        let requests = arrivals(zoned).expect("valid");
        assert_eq!(requests[1].at_seconds, 1.0);
        assert_eq!(requests[1].work, RecordedWork::Unstated);

        let seconds = "\u{feff}at_seconds,service_seconds\n10,0.5\n10,0.25\n12.5,1\n";
        let requests = arrivals(seconds).expect("valid");
        let rows: Vec<(f64, RecordedWork)> =
            requests.iter().map(|request| (request.at_seconds, request.work)).collect();
        assert_eq!(
            rows,
            [
                (0.0, RecordedWork::Seconds(0.5)),
                (0.0, RecordedWork::Seconds(0.25)),
                (2.5, RecordedWork::Seconds(1.0)),
            ]
        );
    }

    #[test]
    fn every_invalid_line_is_named() {
        for (text, line, says) in [
            ("", 1, "no column `timestamp`"),
            ("a,b\n1,2\n", 1, "no column `timestamp`"),
            ("timestamp\n", 1, "no requests"),
            ("timestamp\n1\n0.5\n", 3, "is before that"),
            ("timestamp\n1\nNaN\n", 3, "is not a time such as"),
            ("timestamp\n1\n2026-11-01T00:00:00Z\n", 3, "like those above"),
            ("timestamp,service_seconds\n1,0\n", 2, "without service time"),
            ("timestamp,service_seconds\n1,-1\n", 2, "zero or more"),
            ("timestamp,input_tokens,output_tokens\n1,0,0\n", 2, "without tokens"),
            ("timestamp,input_tokens,output_tokens\n1,1,inf\n", 2, "zero or more"),
            ("timestamp,path\n1\n", 2, "1 cells instead of 2"),
        ] {
            let (at_line, message) = arrivals(text).expect_err(text);
            assert_eq!(at_line, line, "{text}: {message}");
            assert!(message.contains(says), "{text}: {message}");
        }
    }
}
