//! The text of queries, and at which instants they are evaluated.
//!
//! A point of the grid is of the samples in `[start, start + period)`. A range of one
//! period is therefore evaluated a millisecond before the period ends: then it holds the
//! same samples, whether a server counts those at its beginning (Prometheus 2) or not
//! (Prometheus 3, VictoriaMetrics).

use super::labels::PodLabels;
use super::plan::Request;
use crate::HOUR_SECONDS;
use crate::domain::{DAY_SECONDS, Window};
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
    text(request, form, &grouping(request), &matchers(request, hosts), period)
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
    text(request, form, &by, &matchers, period)
}

fn text(request: &Request<'_>, form: Form, by: &str, matchers: &[String], period: u32) -> String {
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
mod tests {
    use super::*;
    use crate::prometheus::devices::Scope;
    use crate::prometheus::lab::{at, before, days, ten_minutes};
    use crate::prometheus::metric_map::{Exporter, MappedMetric, Quantity};
    use std::collections::BTreeMap;

    fn request(name: &str, host: &str, device: &[&str], slices: &[&str]) -> Request<'static> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let quantity = Quantity::Utilization;
        Request {
            metric: quantity.metric(),
            mapped: MappedMetric {
                name: name.to_owned(),
                quantity,
                scale: 1.0,
                exporter: Exporter::Dcgm,
                index_label: None,
                uuid_label: None,
            },
            rest: Vec::new(),
            scope: Scope { cluster: None, host: host.to_owned(), device: owned(device) },
            slice_labels: owned(slices),
            hosts: BTreeMap::new(),
        }
    }

    #[test]
    fn each_form_has_its_text() {
        let old = request("DCGM_FI_DEV_GPU_UTIL", "Hostname", &["gpu", "UUID"], &[]);
        let hosts = ["ip-10-0-0-1", "ip-10-0-0-2"];
        assert_eq!(
            query(&old, Form::Mean, &hosts, 300),
            "sum by (Hostname, gpu, UUID) (sum_over_time(DCGM_FI_DEV_GPU_UTIL\
             {Hostname=~\"ip-10-0-0-1|ip-10-0-0-2\"}[5m])) / \
             sum by (Hostname, gpu, UUID) (count_over_time(DCGM_FI_DEV_GPU_UTIL\
             {Hostname=~\"ip-10-0-0-1|ip-10-0-0-2\"}[5m]))"
        );
        assert_eq!(
            query(&old, Form::LargestMean, &["a"], 300),
            "max by (Hostname, gpu, UUID) (avg_over_time(DCGM_FI_DEV_GPU_UTIL{Hostname=~\"a\"}[5m]))"
        );
        assert_eq!(
            query(&old, Form::Maximum, &["a"], 3_600),
            "max by (Hostname, gpu, UUID) (max_over_time(DCGM_FI_DEV_GPU_UTIL{Hostname=~\"a\"}[1h]))"
        );
        let mut slices = request(
            "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
            "node",
            &["gpu", "UUID"],
            &["GPU_I_ID", "GPU_I_PROFILE"],
        );
        slices.scope.cluster = Some(("cluster".to_owned(), "east".to_owned()));
        assert_eq!(
            query(&slices, Form::Maximum, &["a"], 300),
            "max by (cluster, node, gpu, UUID, GPU_I_ID, GPU_I_PROFILE) (max_over_time(\
             DCGM_FI_PROF_GR_ENGINE_ACTIVE{cluster=\"east\",node=~\"a\"}[5m]))"
        );
    }

    #[test]
    fn the_memory_of_a_card_is_a_sum_at_one_instant() {
        let mut sum = request("DCGM_FI_DEV_FB_USED", "hostname", &["gpu"], &[]);
        sum.rest = ["DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED"].map(str::to_owned).into();
        assert_eq!(
            query(&sum, Form::Sum, &["a"], 86_400),
            "max_over_time((max by (hostname, gpu) (DCGM_FI_DEV_FB_USED{hostname=~\"a\"}) + \
             max by (hostname, gpu) (DCGM_FI_DEV_FB_FREE{hostname=~\"a\"}) + \
             max by (hostname, gpu) (DCGM_FI_DEV_FB_RESERVED{hostname=~\"a\"}))[1d:1h])"
        );
        let short = query(&sum, Form::Sum, &["a"], 600);
        assert!(short.ends_with(")[10m:10m])"), "{short}");
    }

    #[test]
    fn no_name_leaves_its_place() {
        let plain = request("my_gpu", "hostname", &["gpu"], &[]);
        let hostile = query(&plain, Form::Maximum, &["a\"|.*"], 300);
        assert_eq!(
            hostile,
            r#"max by (hostname, gpu) (max_over_time(my_gpu{hostname=~"a\"\\|\\.\\*"}[5m]))"#
        );
        let mut strange = request("gpu.utilization", "@resource.host.id", &["gpu"], &[]);
        strange.scope.cluster = Some(("cluster".to_owned(), "a\\\"b\n\u{7}".to_owned()));
        assert_eq!(
            query(&strange, Form::Maximum, &["é-1"], 300),
            "max by (cluster, \"@resource.host.id\", gpu) (max_over_time(\
             {__name__=\"gpu.utilization\",\
             cluster=\"a\\\\\\\"b\\n\\u0007\",\"@resource.host.id\"=~\"é-1\"}[5m]))"
        );
        assert_eq!(selector("kube_node_info", &[]), "kube_node_info");
        assert_eq!(selector("1a", &[]), "{__name__=\"1a\"}");
        assert_eq!(literal("a+b(c)[d]{e}^$?"), r"a\+b\(c\)\[d\]\{e\}\^\$\?");
    }

    #[test]
    fn a_period_is_evaluated_a_millisecond_before_it_ends() {
        let span = Span::of(ten_minutes(), 300);
        assert_eq!(span.periods, 2);
        assert_eq!(span.instants(), (before(86_700), before(87_000)));
        let places = |instants: &[Timestamp]| -> Vec<Option<usize>> {
            instants.iter().map(|instant| span.place(*instant)).collect()
        };
        let exact = [before(86_400), before(86_700), before(87_000), before(87_300)];
        assert_eq!(places(&exact), [None, Some(0), Some(1), None]);
        // On multiples of the period, as VictoriaMetrics answers.
        let moved = [at(86_400), at(86_700), at(87_000), at(87_300)];
        assert_eq!(places(&moved), [None, Some(0), Some(1), None]);
    }

    #[test]
    fn a_window_shorter_than_a_period_is_one() {
        let span = Span::of(ten_minutes(), 86_400);
        assert_eq!((span.periods, span.period_seconds), (1, 600));
        // A day and a half has one whole day.
        let window = Window { start: at(86_400), end: at(86_400 * 5 / 2) };
        let span = Span::of(window, 86_400);
        assert_eq!((span.periods, span.period_seconds), (1, 86_400));
    }

    #[test]
    fn spans_are_cut_to_what_a_server_answers() {
        let periods = |span: Span, most: i64| -> Vec<i64> {
            let pieces = span.pieces(most);
            pieces.iter().map(|piece| piece.periods).collect()
        };
        let fortnight = Span::of(days(14), 300);
        assert_eq!(periods(fortnight, i64::MAX), [4_032]);
        assert_eq!(periods(fortnight, 7 * 86_400), [2_016, 2_016]);
        assert_eq!(periods(fortnight, 10 * 86_400), [2_880, 1_152]);
        assert_eq!(periods(Span::of(days(45), 300), i64::MAX), [11_000, 1_960]);
        let second = fortnight.pieces(7 * 86_400)[1];
        assert_eq!(second.instants().0, before(8 * 86_400 + 300));
        assert_eq!(fortnight.half_seconds(), Some(7 * 86_400));
        assert_eq!(Span::of(days(3), 86_400).half_seconds(), Some(2 * 86_400));
        assert_eq!(Span::of(days(1), 300).half_seconds(), None);
    }

    #[test]
    fn durations_are_in_whole_units() {
        let texts = [300, 3_600, 86_400, 21_600, 90, 0].map(duration);
        assert_eq!(texts, ["5m", "1h", "1d", "6h", "90s", "0s"]);
    }
}
