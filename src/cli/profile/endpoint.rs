//! The endpoint of `--listen`: the figures of the last sample for a Prometheus server, over
//! HTTP, for as long as the run lasts. It answers everybody who reaches it, so it says nothing
//! but figures, and bounds what a stranger can take: connections, bytes and time.

use crate::cli::args::OutputArgs;
use crate::cli::live::runtime;
use crate::cli::{ExitCode, Failure, Io, Outcome, output, parsers};
use http::uri::Authority;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// Where it listens unless an address is named.
pub(super) const USUAL_ADDRESS: &str = "127.0.0.1:9837";

/// Connections at a time; a server scrapes with one. The oldest makes room for another: those
/// who connect and do not ask would keep everybody else out.
const MOST_CONNECTIONS: usize = 32;
/// Bytes of a request before its body: the least that hyper takes.
const MOST_HEAD_BYTES: usize = 8_192;
/// How long a client may take to ask.
const ASK_WITHIN: Duration = Duration::from_secs(5);
/// How long it may take to ask and to read the answer.
const SERVE_WITHIN: Duration = Duration::from_secs(10);
/// How long to wait where the system has no room for another connection.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// The page before the first.
const NOTHING: &[u8] = b"# EOF\n";
const PATH: &str = "/metrics";
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const WORDS: &str = "text/plain; charset=utf-8";

parsers! {
    /// An address to listen on; a port alone is one of this host.
    pub(super) fn address(text) -> SocketAddr = text.parse().map(|port| SocketAddr::new(LOOPBACK, port)).or_else(|_| text.parse()).ok(), format!("expected an address and a port such as {USUAL_ADDRESS}, or a port");
}

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Answers with the page of now until it is dropped.
#[derive(Debug)]
pub(super) struct Endpoint {
    /// Closed to end the thread.
    page: Option<watch::Sender<Bytes>>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// At an address, if there is one. Says where it listens.
    ///
    /// # Errors
    /// When the address is not this host's, or taken.
    pub(super) fn of(
        wanted: Option<SocketAddr>,
        out: &OutputArgs,
        io: &mut Io<'_>,
    ) -> Outcome<Option<Self>> {
        let Some(wanted) = wanted else { return Ok(None) };
        let refused = |error: std::io::Error| {
            let what = format!("cannot listen on {wanted}");
            Failure::new(ExitCode::Unexpected, anyhow::Error::new(error).context(what)).with_hint(
                "choose a free port of this host, such as `--listen 127.0.0.1:0` for any",
            )
        };
        let listener = TcpListener::bind(wanted).map_err(refused)?;
        let bound = listener.local_addr().map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let endpoint = Self::serve(listener).map_err(refused)?;
        output::say(&format!("metrics at http://{bound}{PATH} while this runs"), out, io);
        output::warn(warning(bound), out, io);
        Ok(Some(endpoint))
    }

    fn serve(listener: TcpListener) -> std::io::Result<Self> {
        let runtime = runtime()?;
        let (page, pages) = watch::channel(Bytes::from_static(NOTHING));
        let thread = thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || run(runtime, listener, pages))?;
        Ok(Self { page: Some(page), thread: Some(thread) })
    }

    /// Replaces the page.
    pub(super) fn publish(&self, text: String) {
        if let Some(page) = &self.page {
            page.send_replace(Bytes::from(text));
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.page = None;
        if let Some(thread) = self.thread.take() {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// What to be careful with where others than this host are answered.
fn warning(bound: SocketAddr) -> Option<String> {
    let is_open = !bound.ip().to_canonical().is_loopback();
    is_open.then(|| {
        format!(
            "warning: everybody who reaches {bound} can read the metrics of this run, without \
             a password or encryption\nhint: restrict the port with a firewall or a network \
             policy, or listen on this host alone with `--listen {USUAL_ADDRESS}`"
        )
    })
}

fn run(runtime: Runtime, listener: TcpListener, pages: watch::Receiver<Bytes>) {
    runtime.block_on(async {
        let closed = closed(pages.clone());
        tokio::select! {
            () = closed => {}
            () = accept(listener, pages) => {}
        }
    });
    // Answers under way are let go: the run is over.
    runtime.shutdown_background();
}

/// Ends when no page will come any more.
async fn closed(mut pages: watch::Receiver<Bytes>) {
    while pages.changed().await.is_ok() {}
}

async fn accept(listener: TcpListener, pages: watch::Receiver<Bytes>) {
    // It is in non-blocking mode, which is all that is asked of it.
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let mut open: VecDeque<tokio::task::JoinHandle<()>> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(RETRY_AFTER).await;
            continue;
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() >= MOST_CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        open.push_back(tokio::spawn(serve(stream, pages.clone())));
    }
}

/// One request, in bounded time: clients hang up when they please, and some never ask.
async fn serve(stream: TcpStream, pages: watch::Receiver<Bytes>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let page = pages.borrow().clone();
        async move { Ok::<_, Infallible>(answer(&request, page)) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ASK_WITHIN)
        .max_buf_size(MOST_HEAD_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    let _ = tokio::time::timeout(SERVE_WITHIN, connection).await;
}

fn answer(request: &Request<Incoming>, page: Bytes) -> Response<Full<Bytes>> {
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    let refusal = |status, words: &'static [u8]| (status, WORDS, Bytes::from_static(words));
    let (status, kind, text) = if !is_asked_by_address(request) {
        let words = b"ask for the address of this host, not for a name\n";
        refusal(StatusCode::MISDIRECTED_REQUEST, words)
    } else if !reads {
        refusal(StatusCode::METHOD_NOT_ALLOWED, b"only GET is answered\n")
    } else if request.uri().path() == PATH {
        (StatusCode::OK, kind_for(request), page)
    } else {
        refusal(StatusCode::NOT_FOUND, b"metrics are at /metrics\n")
    };
    let mut response = Response::new(Full::new(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if !reads {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

/// Whether a request is for an address, or for no host at all. A name can be a stranger's that
/// leads here: a browser that shows the page of the stranger would let it read the metrics.
fn is_asked_by_address(request: &Request<Incoming>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    hosts.all(|host| host.to_str().is_ok_and(is_address))
}

/// Whether it is an address of the network, or the name of this host that leads nowhere else;
/// with or without a port.
fn is_address(host: &str) -> bool {
    host.parse::<Authority>().is_ok_and(|named| {
        let name = named.host().trim_matches(['[', ']']);
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
    })
}

/// OpenMetrics for who asks for it: the page is valid as either.
fn kind_for(request: &Request<Incoming>) -> &'static str {
    let accepted = request.headers().get_all(ACCEPT).iter();
    let mut accepted = accepted.filter_map(|value| value.to_str().ok());
    if accepted.any(|value| value.contains("application/openmetrics-text")) {
        OPENMETRICS
    } else {
        PROMETHEUS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_of_this_host() {
        let read = |text: &str| address(text).ok().map(|address| address.to_string());
        assert_eq!(read(USUAL_ADDRESS).as_deref(), Some(USUAL_ADDRESS));
        assert_eq!(read("9400").as_deref(), Some("127.0.0.1:9400"));
        assert_eq!(read("0.0.0.0:9400").as_deref(), Some("0.0.0.0:9400"));
        assert_eq!(read("[::]:0").as_deref(), Some("[::]:0"));
        for bad in ["", ":9400", "localhost", "localhost:9400", "1.2.3.4", "65536", "-1", "::1"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_name_is_not_an_address() {
        for own in ["127.0.0.1", "127.0.0.1:9837", "[::1]:9837", "10.0.0.5:9837", "LocalHost:1"] {
            assert!(is_address(own), "{own}");
        }
        for other in
            ["evil.example", "127.0.0.1.evil.example:9837", "localhost.evil.example", "a", ""]
        {
            assert!(!is_address(other), "{other}");
        }
    }

    #[test]
    fn only_an_address_that_others_reach_is_warned_of() {
        let warns = |text: &str| warning(address(text).expect("an address")).is_some();
        for own in ["127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(!warns(own), "{own}");
        }
        for open in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[fe80::1]:1"] {
            assert!(warns(open), "{open}");
        }
    }
}
