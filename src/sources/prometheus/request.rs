//! What is sent: forms, and the headers around them.

use crate::domain::Window;
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
}
