//! Requests that were recorded, from a CSV file: when each arrived, and what work it was.

use super::shared::csv_lines::{
    InvalidLine, RowsError, instant, parsed, quoted, read_rows, some_rows,
};
use crate::domain::{RecordedRequest, RecordedWork, plain_name};
use jiff::Timestamp;
use std::path::Path;

/// Requests that a recording may have.
pub const MOST_ARRIVALS: usize = 1_000_000;

/// Columns by what they state, without case, blanks and dashes.
const TIME: [&str; 5] = ["timestamp", "time", "atseconds", "arrival", "arrivedat"];
const SERVICE: [&str; 2] = ["serviceseconds", "latencyseconds"];
const PROMPT: [&str; 4] = ["contexttokens", "prompttokens", "inputtokens", "requesttokens"];
const GENERATED: [&str; 4] =
    ["generatedtokens", "completiontokens", "outputtokens", "responsetokens"];

/// Reads recorded requests in order of time. A time is RFC 3339, a date and a time in UTC,
/// or a number of seconds. Columns that state nothing about time or work are skipped.
///
/// # Errors
/// When it cannot be read, or with the first line that is invalid: no column of times, a
/// time that is before the one above, work that is not a number above zero, a ragged line,
/// more than [`MOST_ARRIVALS`] requests, or none.
pub fn read_arrivals(path: &Path) -> Result<Vec<RecordedRequest>, RowsError> {
    read_rows("the arrivals in ", path, parse)
}

/// Where the columns are.
struct Columns {
    time: usize,
    service: Option<usize>,
    tokens: Option<(usize, usize)>,
}

impl Columns {
    fn of(header: &csv::StringRecord) -> Result<Self, String> {
        let place = |names: &[&str]| {
            header.iter().position(|name: &str| names.contains(&plain_name(name).as_str()))
        };
        let time = place(&TIME).ok_or_else(|| {
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
enum Moment {
    At(Timestamp),
    Seconds(f64),
}

impl Moment {
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

fn parse(text: &str) -> Result<Vec<RecordedRequest>, InvalidLine> {
    let mut first = None;
    some_rows(text, (MOST_ARRIVALS, "requests"), Columns::of, |columns, record, above| {
        let cell = record.get(columns.time).unwrap_or_default();
        let moment = Moment::read(cell).ok_or_else(|| {
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
            return Err(format!(
                "the time {} is before that of the request above it",
                quoted(cell)
            ));
        }
        Ok(RecordedRequest { at_seconds, work: columns.work(record)? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_work_are_read_in_the_forms_of_public_traces() {
        let azure = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n\
                     2023-11-16 18:17:03.9799600,4808,10\r\n\
                     2023-11-16 18:17:04.0319600,3180,8\r\n";
        let requests = parse(azure).expect("valid");
        assert_eq!(requests.len(), 2);
        assert!((requests[1].at_seconds - 0.052).abs() < 1e-9);
        let work = RecordedWork::Tokens { prompt: 3_180.0, generated: 8.0 };
        assert_eq!(requests[1].work, work);

        let zoned = "time,path\n2026-11-01T00:00:00Z,/a\n2026-11-01T01:00:01+01:00,/b\n";
        let requests = parse(zoned).expect("valid");
        assert_eq!(requests[1].at_seconds, 1.0);
        assert_eq!(requests[1].work, RecordedWork::Unstated);

        let seconds = "\u{feff}at_seconds,service_seconds\n10,0.5\n10,0.25\n12.5,1\n";
        let requests = parse(seconds).expect("valid");
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
            let (at_line, message) = parse(text).expect_err(text);
            assert_eq!(at_line, line, "{text}: {message}");
            assert!(message.contains(says), "{text}: {message}");
        }
    }
}
