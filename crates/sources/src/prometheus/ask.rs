//! Asking a server in pieces that it answers.

use super::answer::{Labels, Row};
use super::error::is_too_large;
use super::queries::{Span, selector};
use crate::domain::{Cause, CauseKind, DAY_SECONDS, FailureKind, Gap, GapSubject, Window};
use crate::{Outcome, SourceError};
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
    let take = async |(hosts, span): &(Vec<&str>, Span)| {
        let (start, end) = span.instants();
        asker.query_range(&query(hosts), start, end, span.period_seconds).await.map(&mut take)
    };
    let open = pieces(hosts, span, *sizes);
    let failed = each_piece(open, take, |piece, open| {
        let Some(smaller) = sizes.below(piece.0.len(), piece.1) else { return Some(piece) };
        *sizes = smaller;
        open.push(piece);
        *open = open.iter().flat_map(|(hosts, span)| pieces(hosts, *span, smaller)).collect();
        None
    });
    joined(failed.await.iter().map(|(error, (hosts, _))| (error, hosts.as_slice())))
}

/// Asks for some hosts at one instant, and for half of them where the server refuses so
/// many. Answers what failed all the same.
pub(super) async fn at_instant<A: Ask>(
    asker: &A,
    (hosts, at): (&[&str], Timestamp),
    query: impl Fn(&[&str]) -> String,
    mut take: impl FnMut(Vec<(Labels, f64)>),
) -> Vec<Failure> {
    let take = async |hosts: &&[&str]| asker.query(&query(hosts), at).await.map(&mut take);
    let failed = each_piece(vec![hosts], take, |hosts, open| {
        if hosts.len() < 2 {
            return Some(hosts);
        }
        let (first, second) = hosts.split_at(hosts.len() / 2);
        open.extend([second, first]);
        None
    });
    joined(failed.await.iter().map(|(error, hosts)| (error, *hosts)))
}

/// Asks for one piece after another, from the last on. One that the server refuses because it is
/// too large is put back in smaller ones, or handed back where there are none. Answers the pieces
/// that failed all the same; a failure that all others would meet is theirs too.
async fn each_piece<P>(
    mut open: Vec<P>,
    mut ask: impl AsyncFnMut(&P) -> Outcome<()>,
    mut divide: impl FnMut(P, &mut Vec<P>) -> Option<P>,
) -> Vec<(SourceError, P)> {
    let mut failed = Vec::new();
    while let Some(piece) = open.pop() {
        let Err(error) = ask(&piece).await else { continue };
        let whole = if is_too_large(&error) { divide(piece, &mut open) } else { Some(piece) };
        let Some(piece) = whole else {
            tracing::debug!("{error}; again in smaller pieces");
            continue;
        };
        let others = if ends_all(&error) { std::mem::take(&mut open) } else { Vec::new() };
        let all = std::iter::once(piece).chain(others);
        failed.extend(all.map(|piece| (error.clone(), piece)));
    }
    failed
}

/// The same failure of several calls as one.
fn joined<'f>(failed: impl Iterator<Item = (&'f SourceError, &'f [&'f str])>) -> Vec<Failure> {
    let mut failures = Vec::new();
    for (error, hosts) in failed {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        add(&mut failures, Failure { error: error.clone(), hosts });
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
mod tests {
    use super::*;
    use crate::prometheus::lab::{Server, days, failure, now};

    /// The hosts of a query of these tests.
    fn text(hosts: &[&str]) -> String {
        hosts.join("|")
    }

    /// Refuses queries for more hosts or seconds than these.
    fn limited(hosts: usize, seconds: i64) -> Server {
        let answers = move |query: &str, start: Timestamp, end: Timestamp| {
            let asked = end.as_second() - start.as_second();
            if query.split('|').count() > hosts || asked > seconds {
                Err(failure(FailureKind::TooLarge))
            } else {
                Ok(Vec::new())
            }
        };
        Server::of(&[], Box::new(answers))
    }

    /// Asks for hosts of some days by five minutes: what failed, and how many answers came.
    fn asked(server: &Server, hosts: &[&str], of: i64, sizes: &mut Sizes) -> (Vec<Failure>, usize) {
        let span = Span::of(days(of), 300);
        let mut answers = 0;
        let pieces = in_pieces(server, (hosts, span), sizes, text, |_| answers += 1);
        let failures = now(pieces);
        (failures, answers)
    }

    #[test]
    fn what_is_too_large_is_halved_by_hosts_and_not_asked_again() {
        let server = limited(2, i64::MAX);
        let mut sizes = Sizes::default();
        let hosts = ["a", "b", "c", "d", "e"];
        let (failures, answers) = asked(&server, &hosts, 1, &mut sizes);
        assert_eq!((failures, answers), (Vec::new(), 3));
        let halves = ["a|b|c|d|e", "d|e", "a|b|c", "c", "a|b"];
        assert_eq!(server.queries(), halves);
        let again = asked(&server, &["a", "b", "c"], 1, &mut sizes);
        assert_eq!(again, (Vec::new(), 2));
        assert_eq!(server.queries()[5..], ["c", "a|b"]);
    }

    #[test]
    fn one_host_is_halved_by_time_down_to_a_day() {
        let server = limited(1, 86_400);
        let (failures, answers) = asked(&server, &["a"], 4, &mut Sizes::default());
        assert_eq!((failures, answers), (Vec::new(), 4));
        // Four days, two days, and four times one day.
        assert_eq!(server.queries().len(), 6);

        let server = limited(1, 3_600);
        let (failures, answers) = asked(&server, &["a", "b"], 2, &mut Sizes::default());
        assert_eq!(answers, 0);
        let hosts = ["a", "b"].map(str::to_owned).into();
        let error = failure(FailureKind::TooLarge);
        assert_eq!(failures, [Failure { error, hosts }]);
    }

    #[test]
    fn a_server_that_is_gone_is_asked_once() {
        for (kind, queries) in [(FailureKind::Unreachable, 1), (FailureKind::Other, 2)] {
            let answers = move |_: &str, _: Timestamp, _: Timestamp| Err(failure(kind));
            let server = Server::of(&[], Box::new(answers));
            let mut sizes = Sizes { hosts: 2, ..Sizes::default() };
            let (failures, _) = asked(&server, &["a", "b", "c", "d"], 1, &mut sizes);
            assert_eq!(server.queries().len(), queries, "{kind}");
            let hosts: Vec<usize> = failures.iter().map(|failure| failure.hosts.len()).collect();
            assert_eq!(hosts, [4], "{kind}");
        }
    }

    #[test]
    fn long_windows_are_asked_in_pieces() {
        let server = limited(9, i64::MAX);
        let (_, answers) = asked(&server, &["a"], 45, &mut Sizes::default());
        assert_eq!(answers, 2, "11,000 points and the rest");
    }

    #[test]
    fn an_instant_is_asked_for_half_of_the_hosts_where_all_are_too_many() {
        let server = limited(2, i64::MAX);
        let mut answers = 0;
        let hosts = ["a", "b", "c", "d", "e"];
        let at = days(1).end;
        let failures = now(at_instant(&server, (&hosts[..], at), text, |_| answers += 1));
        assert_eq!((failures, answers), (Vec::new(), 3));
        let halves = ["a|b|c|d|e", "a|b", "c|d|e", "c", "d|e"];
        assert_eq!(server.queries(), halves);

        let server = limited(0, i64::MAX);
        let failures = now(at_instant(&server, (&hosts[..2], at), text, |_| {}));
        let error = failure(FailureKind::TooLarge);
        let hosts = ["a", "b"].map(str::to_owned).into();
        assert_eq!(failures, [Failure { error, hosts }]);
    }
}
