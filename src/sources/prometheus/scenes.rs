//! Machines, label sets and a server without a network, for the tests of this folder.

use super::answer::{Labels, Row};
use super::ask::Ask;
use crate::domain::{FailureKind, Instance, Window};
use crate::sources::SourceError;
use jiff::Timestamp;
use std::cell::RefCell;

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("in range")
}

/// The millisecond before a second: where ranges are evaluated.
pub(super) fn before(second: i64) -> Timestamp {
    Timestamp::from_millisecond(second * 1_000 - 1).expect("in range")
}

/// Two periods of five minutes from the second day on.
pub(super) fn ten_minutes() -> Window {
    Window { start: at(86_400), end: at(87_000) }
}

pub(super) fn days(days: i64) -> Window {
    Window { start: at(86_400), end: at((1 + days) * 86_400) }
}

/// A machine of a type by its id and its private DNS name.
pub(super) fn machine(id: &str, instance_type: &str, dns: &str) -> Instance {
    Instance {
        private_dns_name: Some(dns.to_owned()),
        ..Instance::sample(id, instance_type, at(0))
    }
}

/// Labels as they are written in PromQL, such as `gpu="0",UUID="GPU-1"`.
pub(super) fn labels(text: &str) -> Labels {
    let pairs = text.split(',').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').expect("a label");
            (name.to_owned(), value.trim_matches('"').to_owned())
        })
        .collect()
}

pub(super) fn row(text: &str, points: &[(Timestamp, f64)]) -> Row {
    Row { labels: labels(text), points: points.to_vec() }
}

pub(super) fn failure(kind: FailureKind) -> SourceError {
    SourceError {
        action: Some("prometheus:query_range"),
        kind,
        code: "HTTP 422".to_owned(),
        said: String::new(),
        cause: None,
    }
}

/// What a server answers to a query, by its text and its instants.
pub(super) type Answered = Box<dyn Fn(&str, Timestamp, Timestamp) -> Result<Vec<Row>, SourceError>>;

/// A server that knows series, and answers queries as a test says.
pub(super) struct Server {
    /// Names of metrics with the labels of a series.
    pub(super) series: Vec<(&'static str, Labels)>,
    pub(super) answers: Answered,
    pub(super) warnings: Vec<String>,
    /// What it was asked: the query, the instants in milliseconds, and the step, which is 0
    /// of one instant.
    pub(super) asked: RefCell<Vec<(String, i64, i64, u32)>>,
}

impl Server {
    pub(super) fn of(series: &[(&'static str, &str)], answers: Answered) -> Self {
        Self {
            series: series.iter().map(|(name, text)| (*name, labels(text))).collect(),
            answers,
            warnings: Vec::new(),
            asked: RefCell::new(Vec::new()),
        }
    }

    /// The queries that it was asked, in order.
    pub(super) fn queries(&self) -> Vec<String> {
        let asked = self.asked.borrow();
        asked.iter().map(|(query, ..)| query.clone()).collect()
    }
}

impl Ask for Server {
    async fn series(&self, matchers: &[String], _: Window) -> Result<Vec<Labels>, SourceError> {
        let matching = self.series.iter().filter(|(name, _)| matchers == [*name]);
        Ok(matching.map(|(_, labels)| labels.clone()).collect())
    }

    async fn query_range(
        &self,
        query: &str,
        start: Timestamp,
        end: Timestamp,
        step_seconds: u32,
    ) -> Result<Vec<Row>, SourceError> {
        let (from, to) = (start.as_millisecond(), end.as_millisecond());
        let asked = (query.to_owned(), from, to, step_seconds);
        self.asked.borrow_mut().push(asked);
        (self.answers)(query, start, end)
    }

    async fn query(&self, query: &str, at: Timestamp) -> Result<Vec<(Labels, f64)>, SourceError> {
        let instant = at.as_millisecond();
        let asked = (query.to_owned(), instant, instant, 0);
        self.asked.borrow_mut().push(asked);
        let rows = (self.answers)(query, at, at)?;
        let values = rows.into_iter().filter_map(|row| {
            let (_, value) = *row.points.last()?;
            Some((row.labels, value))
        });
        Ok(values.collect())
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}

/// Runs what waits for a server that never makes anybody wait.
pub(super) fn now<T>(future: impl Future<Output = T>) -> T {
    futures_util::FutureExt::now_or_never(future).expect("nothing to wait for")
}
