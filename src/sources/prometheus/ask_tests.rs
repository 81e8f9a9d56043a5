use super::*;
use crate::sources::prometheus::scenes::{Server, days, failure, now};

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
