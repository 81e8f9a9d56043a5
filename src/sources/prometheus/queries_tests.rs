use super::*;
use crate::sources::prometheus::devices::Scope;
use crate::sources::prometheus::metric_map::{Exporter, MappedMetric, Quantity};
use crate::sources::prometheus::scenes::{at, before, days, ten_minutes};
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
