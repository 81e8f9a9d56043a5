use super::*;
use crate::Detail;
use crate::domain::{FailureKind, Instance, ResourceId};
use crate::prometheus::devices::{Discovery, Slice};
use crate::prometheus::lab::{
    Server, at, before, days, failure, labels, machine, now, row, ten_minutes,
};
use crate::prometheus::labels::Hosts;
use crate::prometheus::metric_map::MetricMap;
use crate::prometheus::plan::plan;
use crate::prometheus::readings::read;

const SERVER: &str = "prom";
const UTILIZATION: &str = "DCGM_FI_DEV_GPU_UTIL";

/// What to ask for one machine with these series.
fn chunk<'a>(instances: &'a [Instance], series: &[(&str, &str)], window: Window) -> Chunk<'a> {
    let map = MetricMap::builtin();
    let mut discovery = Discovery::of(Hosts::of(instances, &[]));
    for (name, text) in series {
        let place = map.rows.iter().position(|row| row.name == *name);
        let place = place.expect("a metric of the map");
        discovery.take(place, &map.rows[place], &labels(text));
    }
    let planned = plan(&map, discovery, &BTreeMap::new(), (window, 300), SERVER);
    let mut chunks = planned.chunks.into_iter();
    let only = chunks.next().expect("a chunk");
    assert_eq!(chunks.next(), None);
    only
}

/// A server that answers queries for pods and hours with these rows: labels, samples,
/// mean and largest.
fn answering(by: &'static str, rows: &'static [(&'static str, f64, f64, f64)]) -> Server {
    let answers = move |query: &str, _: Timestamp, end: Timestamp| {
        let answered = rows.iter().map(|(text, samples, mean, largest)| {
            let value = match query {
                query if query.contains(") / sum by") || query.contains("avg_over") => *mean,
                query if query.contains("count_over_time") => *samples,
                _ => *largest,
            };
            row(text, &[(end, value)])
        });
        let is_of_pods = query.contains(by);
        Ok(if is_of_pods {
            answered.collect()
        } else {
            // Twenty samples of ten minutes.
            let (text, ..) = rows[0];
            vec![row(text, &[(end, 20.0)])]
        })
    };
    Server::of(&[], Box::new(answers))
}

fn read_uses(server: &Server, chunk: &Chunk<'_>, window: Window) -> (Vec<DeviceUse>, Vec<Gap>) {
    let answer = now(uses(server, SERVER, chunk, window));
    match answer.value {
        Readings::Uses(found) => (found, answer.gaps),
        _ => panic!("uses alone"),
    }
}

fn used(pod: &str, n_samples: u64, mean_percent: f64, max_percent: f64) -> DeviceUse {
    DeviceUse {
        machine: ResourceId::named("i-1"),
        gpu: 0,
        namespace: "ml".to_owned(),
        pod: pod.to_owned(),
        n_samples,
        sample_seconds: 30,
        mean_percent,
        max_percent,
    }
}

fn only_machine(instance_type: &str) -> [Instance; 1] {
    [machine("i-1", instance_type, "ip-10-0-0-1.ec2.internal")]
}

#[test]
fn pods_that_follow_each_other_have_their_own_figures() {
    let instances = only_machine("g5.xlarge");
    let gpu = r#"hostname="ip-10-0-0-1",gpu="0",namespace="gpu",pod="dcgm-exporter-1""#;
    let of = |pod: &str| format!(r#"{gpu},exported_namespace="ml",exported_pod="{pod}""#);
    let (one, two) = (of("p1"), of("p2"));
    let series = [(UTILIZATION, &*one), (UTILIZATION, &*two), (UTILIZATION, gpu)];
    let chunk = chunk(&instances, &series, ten_minutes());
    assert!(are_named(&chunk));
    let server = answering(
        "exported_pod",
        &[
            (
                r#"hostname="ip-10-0-0-1",gpu="0",exported_namespace="ml",exported_pod="p1""#,
                12.0,
                50.0,
                90.0,
            ),
            (
                r#"hostname="ip-10-0-0-1",gpu="0",exported_namespace="ml",exported_pod="p2""#,
                8.0,
                25.0,
                30.0,
            ),
        ],
    );
    let (uses, gaps) = read_uses(&server, &chunk, ten_minutes());
    assert_eq!(gaps, []);
    let expected = [used("p1", 12, 50.0, 90.0), used("p2", 8, 25.0, 30.0)];
    assert_eq!(uses, expected);
    let by = "by (hostname, gpu, exported_namespace, exported_pod)";
    let of = r#"DCGM_FI_DEV_GPU_UTIL{hostname=~"ip-10-0-0-1",exported_pod!=""}[10m]"#;
    assert_eq!(
        server.queries(),
        [
            format!("sum {by} (count_over_time({of}))"),
            format!("sum {by} (sum_over_time({of})) / sum {by} (count_over_time({of}))"),
            format!("max {by} (max_over_time({of}))"),
            "sum by (hostname, gpu) (count_over_time(\
             DCGM_FI_DEV_GPU_UTIL{hostname=~\"ip-10-0-0-1\"}[10m]))"
                .to_owned(),
        ]
    );
    let asked = server.asked.borrow();
    let instants: Vec<_> = asked.iter().map(|(_, from, to, _)| (*from, *to)).collect();
    assert_eq!(instants, [(86_999_999, 86_999_999); 4]);
}

#[test]
fn the_slices_of_a_pod_take_part_by_their_compute() {
    let instances = only_machine("p4d.24xlarge");
    const LARGE: &str = r#"hostname="ip-10-0-0-1",gpu="0",GPU_I_ID="2",GPU_I_PROFILE="3g.20gb",namespace="ml",pod="p1""#;
    const SMALL: &str = r#"hostname="ip-10-0-0-1",gpu="0",GPU_I_ID="9",GPU_I_PROFILE="1g.5gb",namespace="ml",pod="p1""#;
    const ENGINE: &str = "DCGM_FI_PROF_GR_ENGINE_ACTIVE";
    let chunk = chunk(&instances, &[(ENGINE, LARGE), (ENGINE, SMALL)], ten_minutes());
    let server = answering("namespace, pod", &[(LARGE, 20.0, 0.7, 1.0), (SMALL, 20.0, 0.35, 0.5)]);
    let (uses, gaps) = read_uses(&server, &chunk, ten_minutes());
    assert_eq!(gaps, []);
    // (3 × 70% + 1 × 35%) / 4; both were held for the same ten minutes.
    assert_eq!(uses, [used("p1", 20, 61.25, 100.0)]);
}

#[test]
fn rows_of_one_time_are_never_added_up() {
    let instances = only_machine("g5.xlarge");
    let series = [(
        UTILIZATION,
        r#"hostname="ip-10-0-0-1",gpu="0",vgpu="1",exported_namespace="ml",exported_pod="p1""#,
    )];
    let chunk = chunk(&instances, &series, ten_minutes());
    let server = answering(
        "exported_pod",
        &[(
            r#"hostname="ip-10-0-0-1",gpu="0",exported_namespace="ml",exported_pod="p1""#,
            20.0,
            40.0,
            80.0,
        )],
    );
    let (uses, _) = read_uses(&server, &chunk, ten_minutes());
    assert_eq!(uses, [used("p1", 20, 40.0, 80.0)]);
    for query in server.queries() {
        assert!(query.starts_with("max by"), "{query}");
    }
}

#[test]
fn what_names_no_holder_and_what_is_no_percentage_is_left_out() {
    let instances = only_machine("g5.xlarge");
    let gpu = r#"hostname="ip-10-0-0-1",gpu="0""#;
    let of = |pod: &str| format!(r#"{gpu},namespace="ml",pod="{pod}""#);
    let (own, one) = (of("dcgm-exporter-1"), of("p1"));
    let series = [(UTILIZATION, &*own), (UTILIZATION, &*one)];
    let named = chunk(&instances, &series, ten_minutes());
    let server = answering(
        "namespace, pod",
        &[
            (
                r#"hostname="ip-10-0-0-1",gpu="0",namespace="ml",pod="dcgm-exporter-1""#,
                8.0,
                0.0,
                0.0,
            ),
            (r#"hostname="ip-10-0-0-1",gpu="0",namespace="ml",pod="p1""#, 20.0, 40.0, 80.0),
            (
                r#"hostname="ip-10-0-0-1",gpu="0",namespace="ml",pod="p2""#, 20.0, 53_000.0,
                2_147_483_632.0,
            ),
            // Of a GPU that was not listed.
            (r#"hostname="ip-10-0-0-1",gpu="7",namespace="ml",pod="p3""#, 20.0, 1.0, 1.0),
        ],
    );
    let (uses, gaps) = read_uses(&server, &named, ten_minutes());
    assert_eq!(uses, [used("p1", 20, 40.0, 80.0)]);
    let [gap] = &gaps[..] else {
        panic!("{gaps:?}");
    };
    let expected = "1 figure of how a pod used a GPU is not between 0% and 100%; omitted";
    assert_eq!(gap.reason, expected);

    let unnamed = chunk(&instances, &series[..1], ten_minutes());
    assert!(!are_named(&unnamed), "the exporter alone");
}

#[test]
fn pods_that_cannot_be_read_leave_the_machine_as_it_is() {
    let instances = only_machine("g5.xlarge");
    let gpu = r#"hostname="ip-10-0-0-1",gpu="0",namespace="ml",pod="p1""#;
    let chunk = chunk(&instances, &[(UTILIZATION, gpu)], ten_minutes());
    let answers = |query: &str, _: Timestamp, _: Timestamp| {
        if query.contains("pod") {
            return Err(failure(FailureKind::Other));
        }
        let points = [(before(86_700), 40.0), (before(87_000), 60.0)];
        Ok(vec![row(r#"hostname="ip-10-0-0-1",gpu="0""#, &points)])
    };
    let server = Server::of(&[], Box::new(answers));
    let (uses, gaps) = read_uses(&server, &chunk, ten_minutes());
    assert_eq!(uses, []);
    let [gap] = &gaps[..] else {
        panic!("{gaps:?}");
    };
    let unknown = "how each pod used the GPUs of 1 host is unknown";
    assert!(gap.reason.ends_with(unknown), "{}", gap.reason);
    let own = now(read(&server, SERVER, &chunk, (ten_minutes(), 300), Detail::Full));
    assert_eq!(own.gaps, []);
    assert!(matches!(own.value, Readings::Series(series) if series.len() == 2));
}

#[test]
fn samples_are_as_far_apart_as_in_whole_hours() {
    // Every 57 seconds there are 63 or 64; in the last hour the machine stopped.
    assert_eq!(spacing(&[63.0, 63.0, 64.0, 63.0, 10.0], 3_600.0), Some(57));
    assert_eq!(spacing(&[240.0], 3_600.0), Some(15));
    assert_eq!(spacing(&[], 3_600.0), None);
}

#[test]
fn before_a_machine_came_its_name_was_of_another() {
    let late = |joined_by, hours: i64| {
        let mut instance = machine("i-1", "g5.xlarge", "ip-10-0-0-1.ec2.internal");
        instance.attached_time = Some(at(86_400 + hours * 3_600));
        let machine = Machine { instance: &instance, joined_by };
        seconds_of(&machine, days(3))
    };
    assert_eq!(late(JoinedBy::Hostname, 36), Some(86_400));
    assert_eq!(late(JoinedBy::Hostname, 60), Some(12 * 3_600));
    assert_eq!(late(JoinedBy::Hostname, 72), None);
    assert_eq!(late(JoinedBy::Hostname, -1), Some(3 * 86_400));
    assert_eq!(late(JoinedBy::ProviderId, 36), Some(3 * 86_400));
}

#[test]
fn one_part_under_two_names_adds_up_and_two_parts_do_not() {
    let figures =
        |samples: f64, mean: f64, largest: f64| -> Figures { [samples, mean, largest].map(Some) };
    let division = Division::default();
    // The exporter was upgraded: 10 samples at 20%, then 30 at 60%.
    let upgraded = OfParts::from([
        ((Part::Gpu, 0), figures(10.0, 20.0, 30.0)),
        ((Part::Gpu, 1), figures(30.0, 60.0, 70.0)),
    ]);
    assert_eq!(combined(&upgraded, &division), Some((40, 50.0, 70.0)));
    let slice = |number: &str| {
        Part::Slice(Slice { number: number.to_owned(), profile: "1g.5gb".to_owned() })
    };
    let slices = OfParts::from([
        ((slice("1"), 0), figures(10.0, 20.0, 30.0)),
        ((slice("2"), 0), figures(10.0, 60.0, 70.0)),
        ((slice("3"), 0), Figures::default()),
    ]);
    assert_eq!(combined(&slices, &division), Some((10, 40.0, 70.0)));
}
