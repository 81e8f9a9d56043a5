//! What is sent and where: addresses, forms, the headers around them, and the own words for
//! failures.

use crate::domain::Window;
use crate::error::{is_status, own_words};
use crate::tls::is_loopback;
use form_urlencoded::Serializer;
use jiff::Timestamp;

/// The type of every body that is sent.
pub(super) const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// A call that only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operation {
    /// How the call is named in reports.
    pub action: &'static str,
    /// Where it is, below the base URL.
    pub path: &'static str,
}

pub(super) const SERIES: Operation =
    Operation { action: "prometheus:series", path: "/api/v1/series" };
pub(super) const QUERY: Operation = Operation { action: "prometheus:query", path: "/api/v1/query" };
pub(super) const QUERY_RANGE: Operation =
    Operation { action: "prometheus:query_range", path: "/api/v1/query_range" };
/// What fails before the first call.
pub(super) const CONNECT: &str = "prometheus:connect";

/// Every action that a failure or a count of calls names.
pub const ACTIONS: &[&str] = &[CONNECT, SERIES.action, QUERY.action, QUERY_RANGE.action];

// Own words for failures, which name nobody.
own_words! {
    pub(super) INVALID_URL = "the URL of the Prometheus server is invalid";
    pub(super) INVALID_AUTH = "the credentials for the Prometheus server are invalid";
    pub(super) INVALID_HEADER = "a header for the Prometheus server is invalid";
    pub(super) INVALID_CA_FILE = "the CA file cannot be used";
    pub(super) INVALID_CLIENT_CERTIFICATE = "the client certificate cannot be used";
    pub(super) CERTIFICATE_WANTED = "the server requires a client certificate that it accepts \
                                  (`--prometheus-client-cert`)";
    pub(super) TIMED_OUT = "no response within the time limit";
    pub(super) PAST_DEADLINE = "all queries together took longer than their time limit";
    pub(super) NOT_CONNECTED = "the connection failed";
    pub(super) INCOMPLETE = "the response is incomplete";
    pub(super) TOO_LARGE = "the response is larger than what is read at once";
    pub(super) FOREIGN = "the response is not from a Prometheus API";
    pub(super) MALFORMED = "the response is not in the format of the Prometheus API";
    pub(super) COMMAND_NOT_RUN = "the token command cannot be run";
    pub(super) COMMAND_FAILED = "the token command failed";
    pub(super) COMMAND_LATE = "the token command did not end within a minute";
    pub(super) NO_TOKEN = "the token command did not print a token";
    pub(super) NOT_SIGNED = "the request cannot be signed";
}

/// Whether a code names nobody: a status, or this program's own words.
pub fn is_known_code(code: &str) -> bool {
    OWN.contains(&code) || is_status(code)
}

/// Parameters that servers of the family understand and others ignore: VictoriaMetrics
/// rounds start and end where it may use its cache, and Thanos answers with less where a
/// store is missing.
const EXACT: [(&str, &str); 3] =
    [("nocache", "1"), ("dedup", "true"), ("partial_response", "false")];

/// The parameters of one call.
pub(super) struct Form(Serializer<'static, String>);

impl Form {
    /// A form; `is_open` for servers that take parameters which they do not know.
    pub fn new(is_open: bool) -> Self {
        let mut form = Serializer::new(String::new());
        for (name, value) in EXACT.into_iter().filter(|_| is_open) {
            form.append_pair(name, value);
        }
        Self(form)
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.0.append_pair(name, value);
        self
    }

    /// With the first and the last instant.
    pub fn within(self, Window { start, end }: Window) -> Self {
        self.with("start", &seconds(start)).with("end", &seconds(end))
    }

    /// With the time after which the server gives up, in milliseconds.
    pub fn until(self, milliseconds: u128) -> Self {
        self.with("timeout", &format!("{milliseconds}ms"))
    }

    pub fn text(mut self) -> String {
        self.0.finish()
    }
}

/// An instant in seconds, to the millisecond.
pub(super) fn seconds(instant: Timestamp) -> String {
    // An f64 is exact to the millisecond for each instant of a time stamp.
    format!("{:.3}", instant.as_millisecond() as f64 / 1e3)
}

/// The API below a base URL, for those who name both.
const API: &str = "/api/v1";

/// A base URL that requests can be sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// Without a slash at its end, and without anything that is secret.
    pub base: String,
    /// The host, without its port.
    pub host: String,
    pub is_https: bool,
}

impl Address {
    /// The address of a URL.
    ///
    /// # Errors
    /// Why it is none; the words do not repeat it.
    pub fn of(url: &str) -> Result<Self, &'static str> {
        let (scheme, rest) =
            url.trim().split_once("://").ok_or("it does not begin with http:// or https://")?;
        let is_https = scheme.eq_ignore_ascii_case("https");
        if !is_https && !scheme.eq_ignore_ascii_case("http") {
            return Err("it does not begin with http:// or https://");
        }
        if rest.contains('@') {
            return Err("it has a user name or a password: pass them separately");
        }
        if rest.contains(['?', '#']) {
            return Err("it has a query or a fragment");
        }
        let is_plain = |c: char| c.is_ascii_graphic() && c != '\\';
        if !rest.chars().all(is_plain) {
            return Err("it has a space or another character that a URL cannot have");
        }
        let rest = rest.trim_end_matches('/');
        let rest = rest.strip_suffix(API).unwrap_or(rest).trim_end_matches('/');
        let host = host_of(rest.split('/').next().unwrap_or_default());
        if host.is_empty() {
            return Err("it has no host");
        }
        Ok(Self {
            base: format!("{}://{rest}", scheme.to_ascii_lowercase()),
            host: host.to_owned(),
            is_https,
        })
    }

    /// Whether the server is on this host, where no proxy is between.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    /// Whether the service may refuse parameters that it does not know, because it is
    /// not one of the servers that they are for.
    pub fn is_of_google(&self) -> bool {
        self.host.ends_with(".googleapis.com")
    }
}

/// Where a URL leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The host, without its port.
    pub host: String,
    /// Whether others can read on the way what is sent there.
    pub is_readable: bool,
}

impl Destination {
    /// Where a URL leads; `None` where no request can be sent to it.
    pub fn of(url: &str) -> Option<Self> {
        let address = Address::of(url).ok()?;
        Some(Self { is_readable: !address.is_https && !address.is_loopback(), host: address.host })
    }
}

/// An authority without its port.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        // The colons of an IPv6 address are in brackets.
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    }
}

/// Instead of what is not shown.
const HIDDEN: &str = "(not shown)";

/// A URL without what may be secret: a user, a password, a query.
pub(super) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return HIDDEN.to_owned() };
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return HIDDEN.to_owned();
    }
    // A password may have any character, a slash and a second `@` too.
    let (user, rest) = rest.rsplit_once('@').map_or(("", rest), |(_, rest)| ("(not shown)@", rest));
    let plain = rest.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{user}{plain}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time stamp")
    }

    #[test]
    fn instants_keep_their_milliseconds() {
        for (instant, expected) in [
            ("2026-11-15T08:30:00Z", "1794731400.000"),
            ("2026-11-15T08:30:00.007Z", "1794731400.007"),
            ("1969-12-31T23:59:59.5Z", "-0.500"),
            ("9999-12-30T22:00:00.999Z", "253402207200.999"),
        ] {
            assert_eq!(seconds(at(instant)), expected);
        }
    }

    #[test]
    fn a_form_holds_what_a_query_says() {
        let window = Window { start: at("2026-11-01T00:00:00Z"), end: at("2026-11-15T00:00:00Z") };
        let form = Form::new(false)
            .with("query", "max by (UUID) (x{a=~\"b|ü\"}) & 1")
            .within(window)
            .until(9_000);
        assert_eq!(
            form.text(),
            "query=max+by+%28UUID%29+%28x%7Ba%3D%7E%22b%7C%C3%BC%22%7D%29+%26+1\
             &start=1793491200.000&end=1794700800.000&timeout=9000ms"
        );
        assert_eq!(Form::new(true).text(), "nocache=1&dedup=true&partial_response=false");
    }

    #[test]
    fn a_base_url_is_accepted_as_people_write_it() {
        for (url, base, host) in [
            ("http://prom:9090", "http://prom:9090", "prom"),
            ("HTTPS://prom/prometheus/", "https://prom/prometheus", "prom"),
            (" http://prom/api/v1/ ", "http://prom", "prom"),
            (
                "http://vm:8481/select/0/prometheus/api/v1", "http://vm:8481/select/0/prometheus",
                "vm",
            ),
            ("http://[::1]:9090", "http://[::1]:9090", "[::1]"),
            ("http://[::1]", "http://[::1]", "[::1]"),
        ] {
            let address = Address::of(url).expect("an address");
            assert_eq!((address.base.as_str(), address.host.as_str()), (base, host));
            assert_eq!(address.is_https, base.starts_with("https"));
        }
    }

    #[test]
    fn what_is_no_base_url_is_refused_without_being_repeated() {
        for url in [
            "", "prom:9090", "ftp://prom", "http://", "http://:9090", "http:///path",
            "http://jane:hunter2@prom", "http://prom?token=hunter2", "http://prom#hunter2",
            "http://prom/a b", "http://prom/\u{202e}",
        ] {
            let why = Address::of(url).expect_err("it is none");
            assert!(!why.contains("hunter2"), "{url}: {why}");
        }
    }

    #[test]
    fn what_is_shown_has_no_user_and_no_query() {
        for (url, expected) in [
            ("http://prom:9090/x?y=z#f", "http://prom:9090/x"),
            ("http://jane:hun/ter@2@prom/x", "http://(not shown)@prom/x"),
            ("http://jane:?hunter2@prom", "http://(not shown)@prom"),
            ("https://prom", "https://prom"),
            ("jane:hunter2@prom", "(not shown)"),
            ("jane:hunter2://prom", "(not shown)"),
            ("", "(not shown)"),
        ] {
            assert_eq!(shown(url), expected);
        }
    }

    #[test]
    fn what_is_sent_without_tls_can_be_read_beyond_this_host() {
        let way = |url| Destination::of(url).map(|way| (way.host, way.is_readable));
        let expected = |host: &str, is_readable| Some((host.to_owned(), is_readable));
        assert_eq!(way("http://prom:9090/x"), expected("prom", true));
        assert_eq!(way("https://prom:9090"), expected("prom", false));
        assert_eq!(way("http://127.0.0.1:9090"), expected("127.0.0.1", false));
        assert_eq!(way("http://jane:hunter2@prom"), None);
    }

    #[test]
    fn a_server_of_this_host_is_known() {
        let is_loopback = |url| Address::of(url).expect("an address").is_loopback();
        assert!(is_loopback("http://localhost:9090") && is_loopback("http://127.0.0.1"));
        assert!(is_loopback("http://[::1]:9090/x") && !is_loopback("http://prom"));
        assert!(!is_loopback("http://127.evil.example"));
    }
}
