//! Asking a server in pieces that it answers.

use super::answer::{Labels, Row};
use super::error::is_too_large;
use super::queries::{Span, selector};
use crate::domain::{Cause, CauseKind, DAY_SECONDS, FailureKind, Gap, GapSubject, Window};
use crate::sources::{Outcome, SourceError};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeSet;

/// What is asked of a server.
pub(super) trait Ask {
    /// The series that match any of some selectors and have samples in a window.
    async fn series(&self, matchers: &[String], window: Window) -> Outcome<Vec<Labels>>;

    /// The values of a query at every step from the start to the end, both included.
    async fn query_range(
        &self,
        query: &str,
        start: Timestamp,
        end: Timestamp,
        step_seconds: u32,
    ) -> Outcome<Vec<Row>>;

    /// The values of a query at an instant.
    async fn query(&self, query: &str, at: Timestamp) -> Outcome<Vec<(Labels, f64)>>;

    /// What the server warned of so far.
    fn warnings(&self) -> Vec<String>;
}

/// How much a query may ask for, as far as refusals have shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    hosts: usize,
    seconds: i64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { hosts: usize::MAX, seconds: i64::MAX }
    }
}

impl Sizes {
    /// Half of the hosts, else half of the time; `None` of one host and a day.
    fn below(self, hosts: usize, span: Span) -> Option<Self> {
        if hosts > 1 {
            return Some(Self { hosts: hosts.div_ceil(2), ..self });
        }
        Some(Self { seconds: span.half_seconds()?, ..self })
    }
}

/// A call that failed, with the hosts that it was about.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failure {
    pub(super) error: SourceError,
    pub(super) hosts: BTreeSet<String>,
}

/// Asks for some hosts and periods, and for fewer where the server refuses so many.
/// Answers what failed all the same. Sizes are kept, so that what was refused once is not
/// asked again.
pub(super) async fn in_pieces<A: Ask>(
    asker: &A,
    (hosts, span): (&[&str], Span),
    sizes: &mut Sizes,
    query: impl Fn(&[&str]) -> String,
    mut take: impl FnMut(Vec<Row>),
) -> Vec<Failure> {
    let mut failures = Vec::new();
    let mut open = pieces(hosts, span, *sizes);
    while let Some((hosts, span)) = open.pop() {
        let (start, end) = span.instants();
        let error = match asker.query_range(&query(&hosts), start, end, span.period_seconds).await {
            Ok(rows) => {
                take(rows);
                continue;
            }
            Err(error) => error,
        };
        let smaller = is_too_large(&error).then(|| sizes.below(hosts.len(), span));
        if let Some(smaller) = smaller.flatten() {
            tracing::debug!("{error}; again in smaller pieces");
            *sizes = smaller;
            open.push((hosts, span));
            let smaller = |(hosts, span): &(Vec<_>, Span)| pieces(hosts, *span, *sizes);
            open = open.iter().flat_map(smaller).collect();
            continue;
        }
        note(&mut failures, &error, &hosts);
        if ends_all(&error) {
            for (hosts, _) in open.drain(..) {
                note(&mut failures, &error, &hosts);
            }
        }
    }
    failures
}

/// Asks for some hosts at one instant, and for half of them where the server refuses so
/// many. Answers what failed all the same.
pub(super) async fn at_instant<A: Ask>(
    asker: &A,
    (hosts, at): (&[&str], Timestamp),
    query: impl Fn(&[&str]) -> String,
    mut take: impl FnMut(Vec<(Labels, f64)>),
) -> Vec<Failure> {
    let mut failures = Vec::new();
    let mut open = vec![hosts];
    while let Some(hosts) = open.pop() {
        let error = match asker.query(&query(hosts), at).await {
            Ok(rows) => {
                take(rows);
                continue;
            }
            Err(error) => error,
        };
        if is_too_large(&error) && hosts.len() > 1 {
            tracing::debug!("{error}; again in smaller pieces");
            let (first, second) = hosts.split_at(hosts.len() / 2);
            open.extend([second, first]);
            continue;
        }
        note(&mut failures, &error, hosts);
        if ends_all(&error) {
            for hosts in open.drain(..) {
                note(&mut failures, &error, hosts);
            }
        }
    }
    failures
}

/// A gap for each warning of a server so far.
pub(super) fn warned<A: Ask>(asker: &A, server: &str) -> Vec<Gap> {
    let gap = |warning: &String| {
        Gap::of(GapSubject::Metrics, server, Cause::of(CauseKind::ServerWarned, [warning.as_str()]))
    };
    asker.warnings().iter().map(gap).collect()
}

/// Whether the next call would fail in the same way. A server that throttles has been
/// waited for by then.
pub(super) fn ends_all(error: &SourceError) -> bool {
    !matches!(error.kind, FailureKind::Unsupported | FailureKind::Other) && !is_too_large(error)
}

fn pieces<'h>(hosts: &[&'h str], span: Span, sizes: Sizes) -> Vec<(Vec<&'h str>, Span)> {
    let spans = span.pieces(sizes.seconds);
    hosts
        .chunks(sizes.hosts.max(1))
        .flat_map(|hosts| spans.iter().map(move |span| (hosts.to_vec(), *span)))
        .collect()
}

fn note(failures: &mut Vec<Failure>, error: &SourceError, hosts: &[&str]) {
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    add(failures, Failure { error: error.clone(), hosts });
}

/// Adds a failure to others, with its hosts to those of the same one.
pub(super) fn add(failures: &mut Vec<Failure>, Failure { error, hosts }: Failure) {
    match failures.iter_mut().find(|known| known.error == error) {
        Some(known) => known.hosts.extend(hosts),
        None => failures.push(Failure { error, hosts }),
    }
}

/// Hands over the series of a metric, those of a part of the window after another where
/// the server refuses to list all; then some come twice.
///
/// # Errors
/// When the server refuses or does not answer.
pub(super) async fn each_series<A: Ask>(
    asker: &A,
    name: &str,
    window: Window,
    mut take: impl FnMut(&Labels),
) -> Outcome<()> {
    let matchers = [selector(name, &[])];
    let mut open = vec![window];
    while let Some(window) = open.pop() {
        match asker.series(&matchers, window).await {
            Ok(found) => found.iter().for_each(&mut take),
            Err(error) if is_too_large(&error) && window.seconds() > DAY_SECONDS => {
                let half = SignedDuration::from_secs(window.seconds() / 2);
                let middle = window.start.checked_add(half).unwrap_or(window.end);
                let (start, end) = (window.start, window.end);
                open.push(Window { start: middle, end });
                open.push(Window { start, end: middle });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
