//! CSV files that planners read: the demand of a workload, and jobs to run.

use super::shared::csv_lines::{
    Cells, InvalidLine, RowsError, column, instant, none, not_after, not_an_instant, parsed,
    quoted, read_rows, rows, some_rows,
};
use crate::domain::{JobRequest, MOST_JOBS, Moment, nearest_names};
use jiff::Timestamp;
use rust_decimal::Decimal;
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
    let mut names = std::collections::BTreeSet::new();
    let jobs = rows(text, job_columns, |header, record, line, above: &[JobRequest]| {
        let job = Job(Cells { header, record }).job(line)?;
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

fn job_columns(header: &csv::StringRecord) -> Result<csv::StringRecord, String> {
    let header: csv::StringRecord = header.iter().map(str::to_ascii_lowercase).collect();
    let unknown = header.iter().find(|name| !JOB_COLUMNS.contains(name));
    if let Some(unknown) = unknown {
        let near = nearest_names(unknown, JOB_COLUMNS.iter().copied());
        let near = if near.is_empty() { JOB_COLUMNS.join(", ") } else { near.join(", ") };
        let unknown = quoted(unknown);
        return Err(format!("unknown column {unknown}; did you mean {near}?"));
    }
    for name in JOB_COLUMNS {
        let times = header.iter().filter(|column| *column == name).count();
        if times > 1 {
            return Err(format!("the column `{name}` is a duplicate"));
        }
        if times == 0 && JOB_COLUMNS[..REQUIRED].contains(&name) {
            return Err(format!("no column `{name}`"));
        }
    }
    Ok(header)
}

fn is_within(number: &Decimal, most: u32) -> bool {
    (Decimal::ZERO..=Decimal::from(most)).contains(number)
}

/// A record of jobs.
struct Job<'a>(Cells<'a>);

impl Job<'_> {
    fn job(&self, line: u64) -> Result<JobRequest, String> {
        let long = self.0.record.iter().position(|cell| cell.len() > LONGEST_CELL);
        if let Some(column) = long.and_then(|place| self.0.header.get(place)) {
            return Err(format!("`{column}` is longer than {LONGEST_CELL} bytes"));
        }
        Ok(JobRequest {
            name: self.0.required("name")?.to_owned(),
            gpu: self.0.required("gpu")?.to_owned(),
            gpus: self.gpus()?,
            hours: self.hours()?,
            release: self.moment("release")?,
            deadline: self.moment("deadline")?,
            is_restartable: self.flag("restartable")?,
            data_region: self.0.get("data_region").map(str::to_owned),
            data_gb: self.data_gb()?,
            line,
        })
    }

    fn gpus(&self) -> Result<u32, String> {
        let expected = format_args!("a number of GPUs from 1 to {MOST_GPUS}");
        parsed(self.0.required("gpus")?, |gpus| (1..=MOST_GPUS).contains(gpus), expected)
    }

    fn hours(&self) -> Result<Decimal, String> {
        let is_valid = |hours: &Decimal| !hours.is_zero() && is_within(hours, LONGEST_HOURS);
        let expected = format_args!("hours above 0 and at most {LONGEST_HOURS}");
        parsed(self.0.required("hours")?, is_valid, expected)
    }

    fn data_gb(&self) -> Result<Decimal, String> {
        let Some(cell) = self.0.get("data_gb") else { return Ok(Decimal::ZERO) };
        parsed(cell, |gb| is_within(gb, MOST_GB), format_args!("GB from 0 to {MOST_GB}"))
    }

    fn flag(&self, column: &str) -> Result<bool, String> {
        match self.0.get(column).map(str::to_ascii_lowercase).as_deref() {
            None | Some("no" | "false" | "0") => Ok(false),
            Some("yes" | "true" | "1") => Ok(true),
            Some(other) => Err(format!("{} in `{column}` is neither yes nor no", quoted(other))),
        }
    }

    /// An instant, or hours such as `36h` after the beginning of the plan.
    fn moment(&self, column: &str) -> Result<Option<Moment>, String> {
        let Some(cell) = self.0.get(column) else { return Ok(None) };
        let expected = || {
            let cell = quoted(cell);
            format!("{cell} in `{column}` is not a time such as 2026-11-01T08:00:00Z or 36h")
        };
        if let Some(hours) = cell.strip_suffix('h') {
            let hours: Option<u32> = hours.trim().parse().ok();
            let hours = hours.filter(|hours| *hours <= LONGEST_HOURS);
            let seconds = i64::from(hours.ok_or_else(expected)?) * 3_600;
            return Ok(Some(Moment::After { seconds }));
        }
        Ok(Some(Moment::At(instant(cell).ok_or_else(expected)?)))
    }
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
            ("name,gpu,gpus\n".to_owned(), 1, "no column `hours`"),
            ("name,gpu,gpus,hours,dedline\n".to_owned(), 1, "did you mean deadline"),
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
}
