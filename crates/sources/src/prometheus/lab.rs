//! Machines, label sets, a server without a network and one on this host, for the tests of this
//! folder.

use super::answer::{Labels, Row};
use super::ask::Ask;
use crate::SourceError;
use crate::domain::{FailureKind, Instance, Window};
use jiff::Timestamp;
use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

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

/// A request as it arrived.
pub(super) struct Received {
    /// The request line and the headers.
    pub head: String,
    form: Vec<(String, String)>,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub fn form(&self) -> Vec<(&str, &str)> {
        let pairs = self.form.iter();
        pairs.map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

/// Answers requests one after the other, and then no longer listens. An empty answer
/// closes the connection.
pub(super) fn serve<const N: usize>(answers: [Vec<u8>; N]) -> (String, Receiver<Received>) {
    let (address, requests) = serve_over(answers, |stream| stream);
    (format!("http://{address}"), requests)
}

/// The same over what each connection becomes.
pub(super) fn serve_over<S: Read + Write, const N: usize>(
    answers: [Vec<u8>; N],
    over: impl Fn(TcpStream) -> S + Send + 'static,
) -> (SocketAddr, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("a bound socket has an address");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let Ok((stream, _)) = listener.accept() else { return };
            let mut stream = over(stream);
            let Some(request) = received(&mut stream) else { return };
            if sender.send(request).is_err() {
                return;
            }
            // Whoever has read enough may be gone.
            let _ = stream.write_all(&answer);
        }
    });
    (address, receiver)
}

fn received(stream: &mut impl Read) -> Option<Received> {
    let mut head: Vec<u8> = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let mut request = Received { head: String::from_utf8(head).ok()?, form: Vec::new() };
    let length = request.header("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    request.form = form_urlencoded::parse(&body).into_owned().collect();
    Some(request)
}

/// An answer; each header ends with a line break.
pub(super) fn reply(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

pub(super) fn ok(body: &str) -> Vec<u8> {
    reply("200 OK", "content-type: application/json\r\n", body)
}
