//! The text of queries, and at which instants they are evaluated.
//!
//! A point of the grid is of the samples in `[start, start + period)`. A range of one
//! period is therefore evaluated a millisecond before the period ends: then it holds the
//! same samples, whether a server counts those at its beginning (Prometheus 2) or not
//! (Prometheus 3, VictoriaMetrics).

use super::labels::PodLabels;
use super::plan::Request;
use crate::domain::{DAY_SECONDS, Window};
use crate::sources::HOUR_SECONDS;
use jiff::{SignedDuration, Timestamp};
use std::fmt::Write;

/// Points of a series that Prometheus answers at most.
const POINTS_PER_SERIES: i64 = 11_000;

/// How the samples of a period become one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The mean of the samples of all series of a GPU: one after the other as pods come
    /// and go, or several at a time that repeat its value.
    Mean,
    /// The largest of the means of the series of a GPU, where some have the part of a pod
    /// that shares it.
    LargestMean,
    Maximum,
    /// The largest sum of several metrics at one instant, of which there is one an hour.
    Sum,
    /// How many samples there are in the series of a GPU, one after the other.
    Count,
    /// How many there are in the longest of them, where several are of one time.
    LargestCount,
}

/// Consecutive periods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// The beginning of the first one.
    pub(super) start: Timestamp,
    pub(super) periods: i64,
    pub(super) period_seconds: u32,
}

impl Span {
    /// The whole periods of a window; one where it is shorter than that.
    pub(super) fn of(window: Window, period_seconds: u32) -> Self {
        let seconds = window.seconds().max(1);
        let period = i64::from(period_seconds.max(1)).min(seconds);
        Self {
            start: window.start,
            periods: seconds / period,
            period_seconds: u32::try_from(period).unwrap_or(u32::MAX),
        }
    }

    fn seconds(self) -> i64 {
        self.periods * i64::from(self.period_seconds)
    }

    /// The instants at which a query is evaluated, the first and the last.
    pub(super) fn instants(self) -> (Timestamp, Timestamp) {
        let at = |seconds: i64| {
            let after = SignedDuration::from_millis(seconds * 1_000 - 1);
            self.start.checked_add(after).unwrap_or(Timestamp::MAX)
        };
        (at(i64::from(self.period_seconds)), at(self.seconds()))
    }

    /// The period that an instant of an answer is of, from 0. The nearest one is taken:
    /// VictoriaMetrics moves instants to multiples of the period, and seconds that were
    /// written as decimals lose their last digits.
    pub(super) fn place(self, instant: Timestamp) -> Option<usize> {
        let period = i64::from(self.period_seconds) * 1_000;
        let first = self.start.as_millisecond() + period - 1;
        let place = (instant.as_millisecond() - first + period / 2).div_euclid(period);
        usize::try_from(place).ok().filter(|_| (0..self.periods).contains(&place))
    }

    /// Pieces that have so many seconds, and so many points as a server answers, at most.
    pub(super) fn pieces(self, most_seconds: i64) -> Vec<Self> {
        let period = i64::from(self.period_seconds.max(1));
        let most = (most_seconds / period).clamp(1, POINTS_PER_SERIES);
        let starts = (0..self.periods).step_by(usize::try_from(most).unwrap_or(1));
        let piece = |first: i64| Self {
            start: self
                .start
                .checked_add(SignedDuration::from_secs(first * period))
                .unwrap_or(Timestamp::MAX),
            periods: most.min(self.periods - first),
            ..self
        };
        starts.map(piece).collect()
    }

    /// Seconds of the larger half; `None` of a day or less, and of one period.
    pub(super) fn half_seconds(self) -> Option<i64> {
        let half = (self.periods + 1) / 2 * i64::from(self.period_seconds);
        (self.periods > 1 && self.seconds() > DAY_SECONDS).then_some(half)
    }
}

/// A query for some hosts of a request.
pub(super) fn query(request: &Request<'_>, form: Form, hosts: &[&str], period: u32) -> String {
    text(request, form, (grouping(request).as_str(), matchers(request, hosts).as_slice()), period)
}

/// The same for each pod that these labels name.
pub(super) fn pod_query(
    request: &Request<'_>,
    form: Form,
    (hosts, pods): (&[&str], &PodLabels),
    period: u32,
) -> String {
    let (namespace, pod) = (label_name(&pods.namespace), label_name(&pods.pod));
    let by = format!("{}, {namespace}, {pod}", grouping(request));
    let mut matchers = matchers(request, hosts);
    matchers.push(format!("{pod}!=\"\""));
    text(request, form, (by.as_str(), matchers.as_slice()), period)
}

fn text(
    request: &Request<'_>,
    form: Form,
    (by, matchers): (&str, &[String]),
    period: u32,
) -> String {
    let name = request.mapped.name.as_str();
    let series = selector(name, matchers);
    let range = duration(period);
    match form {
        Form::Mean => format!(
            "sum by ({by}) (sum_over_time({series}[{range}])) / \
             sum by ({by}) (count_over_time({series}[{range}]))"
        ),
        Form::LargestMean => format!("max by ({by}) (avg_over_time({series}[{range}]))"),
        Form::Maximum => format!("max by ({by}) (max_over_time({series}[{range}]))"),
        Form::Count => format!("sum by ({by}) (count_over_time({series}[{range}]))"),
        Form::LargestCount => format!("max by ({by}) (count_over_time({series}[{range}]))"),
        Form::Sum => {
            let names = [name].into_iter().chain(request.rest.iter().map(String::as_str));
            let parts = names.map(|name| format!("max by ({by}) ({})", selector(name, matchers)));
            let sum = parts.collect::<Vec<_>>().join(" + ");
            let step = duration(period.min(HOUR_SECONDS));
            format!("max_over_time(({sum})[{range}:{step}])")
        }
    }
}

/// The labels by which GPUs and their slices are told apart.
fn grouping(request: &Request<'_>) -> String {
    let scope = &request.scope;
    let cluster = scope.cluster.as_ref().map(|(name, _)| name);
    let labels =
        cluster.into_iter().chain([&scope.host]).chain(&scope.device).chain(&request.slice_labels);
    labels.map(|label| label_name(label)).collect::<Vec<_>>().join(", ")
}

fn matchers(request: &Request<'_>, hosts: &[&str]) -> Vec<String> {
    let mut matchers = Vec::new();
    if let Some((name, value)) = &request.scope.cluster {
        matchers.push(format!("{}={}", label_name(name), quoted(value)));
    }
    let hosts: Vec<String> = hosts.iter().map(|host| literal(host)).collect();
    let label = label_name(&request.scope.host);
    matchers.push(format!("{label}=~{}", quoted(&hosts.join("|"))));
    matchers
}

/// A selector of the series of a metric.
pub(super) fn selector(name: &str, matchers: &[String]) -> String {
    let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let is_plain = name.chars().all(of_name) && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_plain && !name.is_empty() {
        return match matchers {
            [] => name.to_owned(),
            _ => format!("{name}{{{}}}", matchers.join(",")),
        };
    }
    let mut terms = vec![format!("__name__={}", quoted(name))];
    terms.extend(matchers.iter().cloned());
    format!("{{{}}}", terms.join(","))
}

/// A label's name, in quotes where it is not of the old alphabet: CloudWatch has
/// `@resource.host.id`.
fn label_name(name: &str) -> String {
    let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_plain = name.chars().all(of_name) && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_plain && !name.is_empty() { name.to_owned() } else { quoted(name) }
}

/// A regular expression of RE2 that matches a text and no other.
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A text as a string of PromQL, whose escapes are those of Go.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A duration of PromQL in its largest whole unit, such as `5m`.
fn duration(seconds: u32) -> String {
    let units = [(86_400, 'd'), (3_600, 'h'), (60, 'm')];
    match units.into_iter().find(|(unit, _)| seconds > 0 && seconds.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", seconds / unit),
        None => format!("{seconds}s"),
    }
}

#[cfg(test)]
#[path = "queries_tests.rs"]
mod tests;
