//! Requests counted by period: what `aws cloudwatch get-metric-data` and `query_range` of
//! Prometheus print, and CSV.

use super::shared::bounded::{AtMost, read_written};
use super::shared::csv_lines::{
    InvalidLine, RowsError, column, instant, not_after, not_an_instant, parse_rows, parsed, quoted,
    some_rows,
};
use super::shared::json::{InvalidJson, JsonError, TextOrNumber, at, read_json};
use crate::domain::{CountedRequests, shown};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Counts that a file may have.
pub const MOST_COUNTS: usize = 1_000_000;
/// Requests of one period.
const MOST_REQUESTS: f64 = 1e15;
/// Metrics, and series with labels of their own.
const MOST_SERIES: usize = 10_000;
/// Bytes of one text: a label may be a path.
const LONGEST_TEXT: usize = 1 << 16;
/// Seconds that a time may be from 1970: to the year 9999.
const MOST_SECONDS: f64 = 2.5e11;
/// What Windows puts before a text in UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

const TIME: [&str; 3] = ["time", "timestamp", "at"];
const REQUESTS: [&str; 4] = ["requests", "requestcount", "count", "sum"];

/// Why counts of requests could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RequestCountsError {
    /// The file could not be read, or a line of CSV is invalid.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// It is not complete JSON, or something in it is not as it must be.
    #[error("invalid request counts in {}{}", shown(path), at(place))]
    Json {
        path: PathBuf,
        /// The keys that lead there; empty when it is about the whole.
        place: String,
        source: InvalidJson,
    },
    /// The answer as a whole cannot be used.
    #[error("{}: {message}", shown(path))]
    Unusable { path: PathBuf, message: String },
}

/// Reads requests by period, in order of time.
///
/// # Errors
/// When it cannot be read, is none of the three forms, says that the answer is an error or a
/// part, has more than [`MOST_COUNTS`] counts or none, or with the first count that is not a
/// number of zero or more, or the first time that is none or there twice.
pub fn read_request_counts(path: &Path) -> Result<Vec<CountedRequests>, RequestCountsError> {
    const WHAT: &str = "the request counts in ";
    let bytes = read_written(path).map_err(|source| RowsError::Io {
        what: WHAT,
        path: path.to_owned(),
        source,
    })?;
    let document = bytes.strip_prefix(MARK).unwrap_or(&bytes);
    if document.trim_ascii_start().first() != Some(&b'{') {
        return Ok(parse_rows(path, &bytes, csv_rows)?);
    }
    let path = path.to_owned();
    match read_json(document, LONGEST_TEXT, PhantomData::<AnswerWire>) {
        Ok(answer) => {
            answer.counts().map_err(|message| RequestCountsError::Unusable { path, message })
        }
        Err(JsonError { place, source }) => Err(RequestCountsError::Json { path, place, source }),
    }
}

/// An answer of CloudWatch or of Prometheus.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an answer of CloudWatch or Prometheus")]
struct AnswerWire {
    #[serde(rename = "MetricDataResults")]
    metrics: Option<AtMost<MetricWire, MOST_SERIES>>,
    status: Option<String>,
    #[serde(rename = "errorType")]
    error_type: Option<String>,
    error: Option<String>,
    data: Option<MatrixWire>,
}

/// A metric of CloudWatch, or a page of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", expecting = "a metric as an object")]
struct MetricWire {
    id: String,
    timestamps: AtMost<MomentWire, MOST_COUNTS>,
    values: AtMost<CountWire, MOST_COUNTS>,
    status_code: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "the data of an answer")]
struct MatrixWire {
    result_type: String,
    result: AtMost<SeriesWire, MOST_SERIES>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "a series as an object")]
struct SeriesWire {
    /// Absent in answers of `query`.
    values: Option<AtMost<(MomentWire, CountWire), MOST_COUNTS>>,
}

/// Unix milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MomentWire(i64);

/// Requests of a period.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CountWire(f64);

impl MomentWire {
    fn of_seconds(seconds: f64) -> Option<Self> {
        let is_one = seconds.is_finite() && seconds.abs() <= MOST_SECONDS;
        is_one.then(|| Self((seconds * 1_000.0).round() as i64))
    }
}

impl CountWire {
    fn of(requests: f64) -> Option<Self> {
        (0.0..=MOST_REQUESTS).contains(&requests).then_some(Self(requests))
    }
}

impl<'de> Deserialize<'de> for MomentWire {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrNumber {
            expected: "a time such as 2026-11-01T00:00:00Z, or Unix seconds",
            of_text: |text| Some(Self(text.parse::<Timestamp>().ok()?.as_millisecond())),
            of_number: Self::of_seconds,
        })
    }
}

impl<'de> Deserialize<'de> for CountWire {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrNumber {
            expected: "a number of requests from 0 to 10^15",
            // Prometheus writes it as a text.
            of_text: |text| text.parse().ok().and_then(Self::of),
            of_number: Self::of,
        })
    }
}

impl AnswerWire {
    fn counts(self) -> Result<Vec<CountedRequests>, String> {
        let by_time = match (self.metrics, self.data, self.status.as_deref()) {
            (Some(AtMost(metrics)), None, _) => of_cloudwatch(metrics)?,
            (None, Some(data), None | Some("success")) => of_prometheus(data)?,
            (None, _, Some(_)) => {
                let kind = quoted(&self.error_type.unwrap_or_default());
                let error = quoted(&self.error.unwrap_or_default());
                return Err(format!("Prometheus answered with an error: {kind} {error}"));
            }
            _ => {
                return Err("expected `MetricDataResults` of CloudWatch, or `data` of Prometheus"
                    .to_owned());
            }
        };
        if by_time.is_empty() {
            return Err("it has no counts".to_owned());
        }
        if by_time.len() > MOST_COUNTS {
            return Err(format!("more than {MOST_COUNTS} counts"));
        }
        let counts = by_time.into_iter();
        Ok(counts
            .map(|(at_milliseconds, requests)| CountedRequests { at_milliseconds, requests })
            .collect())
    }
}

/// The pages of one metric, in any order of time.
fn of_cloudwatch(metrics: Vec<MetricWire>) -> Result<BTreeMap<i64, f64>, String> {
    let ids: BTreeSet<&str> = metrics.iter().map(|metric| metric.id.as_str()).collect();
    if ids.len() > 1 {
        let named: Vec<String> = ids.iter().take(3).map(|id| quoted(id)).collect();
        return Err(format!(
            "it has {} metrics, such as {}: add them up with an expression, and return that alone",
            ids.len(),
            named.join(", ")
        ));
    }
    // Pages before the last are parts by their nature.
    let status = metrics.last().and_then(|metric| metric.status_code.as_deref());
    if let Some(status) = status.filter(|status| *status != "Complete") {
        return Err(format!("the status of the metric is {}", quoted(status)));
    }
    let mut by_time = BTreeMap::new();
    for metric in metrics {
        let (AtMost(times), AtMost(values)) = (metric.timestamps, metric.values);
        if times.len() != values.len() {
            return Err(format!("{} timestamps and {} values", times.len(), values.len()));
        }
        for (MomentWire(at), CountWire(requests)) in times.into_iter().zip(values) {
            if by_time.insert(at, requests).is_some() {
                return Err(format!("two counts at {}", moment(at)));
            }
        }
    }
    Ok(by_time)
}

/// Series, which are added up: each is a part of the requests.
fn of_prometheus(data: MatrixWire) -> Result<BTreeMap<i64, f64>, String> {
    if data.result_type != "matrix" {
        return Err(format!(
            "the answer is a {}: ask `query_range`, which gives a `matrix`",
            quoted(&data.result_type)
        ));
    }
    let mut by_time: BTreeMap<i64, f64> = BTreeMap::new();
    for series in data.result.0 {
        let values = series.values.map(|values| values.0).unwrap_or_default();
        let mut last = None;
        for (MomentWire(at), CountWire(requests)) in values {
            if last.is_some_and(|last| at <= last) {
                return Err(format!("{} is not after the time before it", moment(at)));
            }
            last = Some(at);
            *by_time.entry(at).or_default() += requests;
        }
    }
    Ok(by_time)
}

/// An instant in a message.
fn moment(milliseconds: i64) -> String {
    let at = Timestamp::from_millisecond(milliseconds);
    at.map_or_else(|_| milliseconds.to_string(), |at| at.to_string())
}

fn csv_rows(text: &str) -> Result<Vec<CountedRequests>, InvalidLine> {
    let columns = |header: &_| Ok((column(header, &TIME)?, column(header, &REQUESTS)?));
    some_rows(text, (MOST_COUNTS, "counts"), columns, |(time, requests), record, above| {
        let cell = record.get(*time).unwrap_or_default();
        let seconds = cell.parse().ok().and_then(MomentWire::of_seconds);
        let named = || instant(cell).map(|at| MomentWire(at.as_millisecond()));
        let MomentWire(at_milliseconds) =
            seconds.or_else(named).ok_or_else(|| not_an_instant(cell))?;
        if above.is_some_and(|above: &CountedRequests| at_milliseconds <= above.at_milliseconds) {
            return Err(not_after(cell));
        }
        let cell = record.get(*requests).unwrap_or_default();
        let is_count = |count: &f64| CountWire::of(*count).is_some();
        let requests = parsed(cell, is_count, "a number of requests from 0 to 10^15")?;
        Ok(CountedRequests { at_milliseconds, requests })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of a text: milliseconds and requests, or what is wrong.
    fn read(text: &str) -> Result<Vec<(i64, f64)>, String> {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("counts");
        std::fs::write(&path, text).expect("writable");
        let counts = read_request_counts(&path).map_err(|error| {
            let mut text = error.to_string();
            if let Some(source) = std::error::Error::source(&error) {
                text.push_str(&format!(" / {source}"));
            }
            text.replace(&path.display().to_string(), "FILE")
        })?;
        let pairs = counts.iter();
        Ok(pairs.map(|count| (count.at_milliseconds, count.requests)).collect())
    }

    const FIRST: i64 = 1_793_491_200_000;

    #[test]
    fn answers_of_cloudwatch_are_read_in_any_order() {
        // As `aws cloudwatch get-metric-data` prints them: the latest first, in two pages.
        let text = r#"{
            "MetricDataResults": [
                {"Id": "requests", "Label": "RequestCount", "StatusCode": "PartialData",
                 "Timestamps": ["2026-11-01T00:02:00+00:00", "2026-11-01T00:01:00+00:00"],
                 "Values": [30.0, 20]},
                {"Id": "requests", "Label": "RequestCount", "StatusCode": "Complete",
                 "Timestamps": ["2026-11-01T00:00:00Z"], "Values": [10.5]}
            ],
            "Messages": [], "NextToken": null
        }"#;
        let expected = [(0, 10.5), (60_000, 20.0), (120_000, 30.0)];
        let expected = expected.map(|(after, requests)| (FIRST + after, requests));
        assert_eq!(read(text), Ok(expected.to_vec()));
        // Version 1 of the program may print seconds.
        let text = r#"{"MetricDataResults": [
            {"Id": "m", "Timestamps": [1793491200.0, 1793491260], "Values": [1, 2]}]}"#;
        let expected = vec![(FIRST, 1.0), (FIRST + 60_000, 2.0)];
        assert_eq!(read(text), Ok(expected));
    }

    #[test]
    fn series_of_prometheus_are_added_up() {
        let text = r#"{"status": "success", "data": {"resultType": "matrix", "result": [
            {"metric": {"pod": "a"}, "values": [[1793491200, "1"], [1793491260.5, "2.5"]]},
            {"metric": {"pod": "b"}, "values": [[1793491260.5, "4"]]}]}, "warnings": ["x"]}"#;
        let expected = vec![(FIRST, 1.0), (FIRST + 60_500, 6.5)];
        assert_eq!(read(text), Ok(expected));
    }

    #[test]
    fn rows_are_read_in_the_forms_of_exports() {
        let text = "\u{feff}Time,target,Request Count\r\n2026-11-01T00:00:00Z,a,5\r\n\
                    2026-11-01 00:05:00,a,0\r\n";
        let expected = vec![(FIRST, 5.0), (FIRST + 300_000, 0.0)];
        assert_eq!(read(text), Ok(expected));
        let text = "timestamp,sum\n1793491200,5\n1793491200.25,7e3\n";
        let expected = vec![(FIRST, 5.0), (FIRST + 250, 7_000.0)];
        assert_eq!(read(text), Ok(expected));
    }

    #[test]
    fn what_is_no_result_says_why() {
        let metric = |rest: &str| format!("{{\"MetricDataResults\": [{{\"Id\": \"m\", {rest}}}]}}");
        let matrix = |kind: &str, result: &str| {
            format!(
                "{{\"status\": \"success\", \"data\": {{\"resultType\": \"{kind}\", \"result\": \
                 {result}}}}}"
            )
        };
        let one = "{\"Id\": \"a\", \"Timestamps\": [1], \"Values\": [1]}";
        let time = "expected a time such as 2026-11-01T00:00:00Z, or Unix seconds";
        let number = "expected a number of requests from 0 to 10^15";
        let place = format!(
            "invalid request counts in FILE at `MetricDataResults[0].Timestamps[0]` / invalid value: string \
             \"soon\", {time}"
        );
        for (text, says) in [
            ("{}".to_owned(), "FILE: expected `MetricDataResults`"),
            ("{\"MetricDataResults\": []}".to_owned(), "FILE: it has no counts"),
            (metric("\"Timestamps\": [], \"Values\": []"), "FILE: it has no counts"),
            (metric("\"Timestamps\": [1, 2], \"Values\": [1]"), "FILE: 2 timestamps and 1 values"),
            (
                metric("\"Timestamps\": [60, 60], \"Values\": [1, 1]"),
                "FILE: two counts at 1970-01-01T00:01:00Z",
            ),
            (
                metric("\"Timestamps\": [1], \"Values\": [1], \"StatusCode\": \"Forbidden\""),
                "FILE: the status of the metric is `Forbidden`",
            ),
            (
                format!("{{\"MetricDataResults\": [{one}, {}]}}", one.replace("\"a\"", "\"b\"")),
                "FILE: it has 2 metrics, such as `a`, `b`: add them up",
            ),
            (metric("\"Timestamps\": [\"soon\"], \"Values\": [1]"), place.as_str()),
            (metric("\"Timestamps\": [1e12], \"Values\": [1]"), time),
            (metric("\"Timestamps\": [null], \"Values\": [1]"), "invalid type: null"),
            (metric("\"Timestamps\": [1], \"Values\": [-1]"), number),
            (metric("\"Timestamps\": [1], \"Values\": [1e16]"), number),
            (metric("\"Timestamps\": [1], \"Values\": [\"NaN\"]"), number),
            (metric("\"Timestamps\": [1], \"Values\": [1e999]"), "number out of range"),
            (metric("\"Values\": [1]"), "missing field `Timestamps`"),
            ("{\"MetricDataResults\": [".to_owned(), "/ EOF while parsing"),
            (
                "{\"status\": \"error\", \"errorType\": \"bad_data\", \"error\": \"parse\"}"
                    .to_owned(),
                "FILE: Prometheus answered with an error: `bad_data` `parse`",
            ),
            (
                matrix("vector", "[{\"metric\": {}, \"value\": [1, \"2\"]}]"),
                "FILE: the answer is a `vector`: ask `query_range`",
            ),
            (matrix("matrix", "[]"), "FILE: it has no counts"),
            (matrix("matrix", "[{\"values\": [[1, \"NaN\"]]}]"), number),
            (matrix("matrix", "[{\"values\": [[1, \"+Inf\"]]}]"), number),
            (
                matrix("matrix", "[{\"values\": [[2, \"1\"], [1, \"1\"]]}]"),
                "FILE: 1970-01-01T00:00:01Z is not after the time before it",
            ),
            (String::new(), "FILE:1: no column `time`"),
            ("time,requests\n".to_owned(), "FILE:1: it has no counts"),
            ("time,count,sum\n1,1,1\n".to_owned(), "FILE:1: the columns `count` and `sum` mean"),
            ("time,requests\n1,-1\n".to_owned(), "FILE:2: `-1` is not a number of requests"),
            ("time,requests\n1,NaN\n".to_owned(), "FILE:2: `NaN` is not a number of requests"),
            ("time,requests\nNaN,1\n".to_owned(), "FILE:2: `NaN` is not a time"),
            ("time,requests\n2,1\n1,1\n".to_owned(), "FILE:3: the time `1` is not after"),
            ("[1]".to_owned(), "FILE:1: no column `time`"),
        ] {
            let message = read(&text).expect_err(&text);
            assert!(message.contains(says), "{text}: {message}");
        }
    }
}
