use super::*;
use crate::Readings;
use crate::domain::{FailureKind, InstanceShape, JoinedBy, Metric, SeriesSource, Statistic};
use crate::prometheus::answer::Row;
use crate::prometheus::lab::{Server, at, before, days, failure, machine, now, row, ten_minutes};
use crate::usage::Series;
use jiff::Timestamp;
use std::collections::BTreeMap;

const SERVER: &str = "prom.example.com:9090";
static NONE: BTreeMap<ResourceId, u32> = BTreeMap::new();

fn ask<'a>(
    instances: &'a [Instance],
    shapes: &'a BTreeMap<String, InstanceShape>,
    (window, period_seconds): (Window, u32),
) -> MetricRequest<'a> {
    MetricRequest {
        fleet: instances,
        instances,
        shapes,
        mig_instances: &NONE,
        window,
        period_seconds,
        detail: Detail::Full,
        known: None,
    }
}

/// What a server reports of some machines.
fn gathered(server: &Server, instances: &[Instance], window: Window) -> (Vec<Series>, Vec<Gap>) {
    let (map, shapes) = (MetricMap::builtin(), BTreeMap::new());
    let grid = (window, PERIOD_SECONDS);
    let discovered = now(discover(server, SERVER, &map, ask(instances, &shapes, grid)));
    let (mut all_series, mut gaps) = (Vec::new(), discovered.gaps);
    for chunk in &discovered.value.chunks {
        let answer = now(read(server, SERVER, chunk, grid, Detail::Full));
        gaps.extend(answer.gaps);
        match answer.value {
            Readings::Series(series) => all_series.extend(series),
            Readings::Hours { .. }
            | Readings::Stretches { .. }
            | Readings::Usage(_)
            | Readings::Uses(_) => {
                panic!("a server returns points")
            }
        }
    }
    (all_series, gaps)
}

/// A server that answers queries by how they begin; others have no rows.
fn answering(series: &[(&'static str, &str)], rows: impl Fn(&str) -> Vec<Row> + 'static) -> Server {
    let answers = move |query: &str, _: Timestamp, _: Timestamp| Ok(rows(query));
    Server::of(series, Box::new(answers))
}

/// The values of a series; `None` where there is none.
fn values(series: &[Series], gpu: u16, metric: Metric, statistic: Statistic) -> Option<Vec<f64>> {
    let is_it = |each_series: &&Series| {
        (each_series.gpu, each_series.metric, each_series.statistic)
            == (Some(gpu), metric, statistic)
    };
    let matching: Vec<&Series> = series.iter().filter(is_it).collect();
    assert!(matching.len() < 2, "{matching:?}");
    matching.first().map(|each_series| each_series.points.values().collect())
}

fn average(series: &[Series], gpu: u16) -> Option<Vec<f64>> {
    values(series, gpu, Metric::GpuUtilization, Statistic::Average)
}

fn first_and_second() -> [Timestamp; 2] {
    [before(86_700), before(87_000)]
}

#[test]
fn one_gpu_of_many_pods_is_one_series() {
    let instances = [machine("i-1", "g5.xlarge", "ip-10-0-0-1.ec2.internal")];
    let gpu = r#"Hostname="ip-10-0-0-1",gpu="0",UUID="GPU-a""#;
    let (one, two) = (
        format!(r#"{gpu},exported_pod="p1",pod="dcgm-1""#),
        format!(r#"{gpu},exported_pod="p2",pod="dcgm-1""#),
    );
    let [first, second] = first_and_second();
    let server = answering(
        &[("DCGM_FI_DEV_GPU_UTIL", one.as_str()), ("DCGM_FI_DEV_GPU_UTIL", two.as_str())],
        move |query| match &query[..3] {
            "sum" => vec![row(gpu, &[(first, 40.0), (second, 60.0)])],
            "max" => vec![row(gpu, &[(first, 41.0), (second, 100.0)])],
            _ => Vec::new(),
        },
    );
    let (series, gaps) = gathered(&server, &instances, ten_minutes());
    assert_eq!(gaps, []);
    assert_eq!(average(&series, 0), Some(vec![40.0, 60.0]));
    let maximum = values(&series, 0, Metric::GpuUtilization, Statistic::Maximum);
    assert_eq!(maximum, Some(vec![41.0, 100.0]));
    assert_eq!(series.len(), 2);
    assert_eq!(series[0].source, SeriesSource::Prometheus);
    assert_eq!(series[0].joined_by, JoinedBy::Hostname);
    let by = "by (Hostname, gpu, UUID)";
    let of = r#"DCGM_FI_DEV_GPU_UTIL{Hostname=~"ip-10-0-0-1"}"#;
    assert_eq!(
        server.queries(),
        [
            format!("sum {by} (sum_over_time({of}[5m])) / sum {by} (count_over_time({of}[5m]))"),
            format!("max {by} (max_over_time({of}[5m]))"),
        ]
    );
    let asked = server.asked.borrow();
    let (_, from, to, step) = &asked[0];
    assert_eq!((*from, *to, *step), (86_699_999, 86_999_999, 300));
}

#[test]
fn rows_of_pods_that_share_a_gpu_are_not_averaged() {
    let instances = [
        machine("i-1", "g5.xlarge", "ip-10-0-0-1.ec2.internal"),
        machine("i-2", "g5.xlarge", "ip-10-0-0-2.ec2.internal"),
    ];
    let server = answering(
        &[
            // In the mode for virtual GPUs, as its label says.
            ("DCGM_FI_DEV_GPU_UTIL", r#"hostname="ip-10-0-0-1",gpu="0",vgpu="0""#),
            // Pods that follow each other.
            ("DCGM_FI_DEV_GPU_UTIL", r#"hostname="ip-10-0-0-2",gpu="0",pod="a""#),
            ("DCGM_FI_DEV_GPU_UTIL", r#"hostname="ip-10-0-0-2",gpu="0",pod="b""#),
        ],
        |_| Vec::new(),
    );
    gathered(&server, &instances, ten_minutes());
    let of = |host: &str| format!(r#"DCGM_FI_DEV_GPU_UTIL{{hostname=~"{host}"}}"#);
    let own = of("ip-10-0-0-2");
    assert_eq!(
        server.queries()[..2],
        [
            format!(
                "sum by (hostname, gpu) (sum_over_time({own}[5m])) / \
                 sum by (hostname, gpu) (count_over_time({own}[5m]))"
            ),
            format!("max by (hostname, gpu) (avg_over_time({}[5m]))", of("ip-10-0-0-1")),
        ]
    );
}

#[test]
fn slices_make_up_the_card() {
    let instances = [machine("i-1", "p4d.24xlarge", "ip-10-0-0-1.ec2.internal")];
    const LARGE: &str =
        r#"hostname="ip-10-0-0-1",gpu="3",UUID="GPU-a",GPU_I_ID="2",GPU_I_PROFILE="3g.20gb""#;
    const SMALL: &str =
        r#"hostname="ip-10-0-0-1",gpu="3",UUID="GPU-a",GPU_I_ID="9",GPU_I_PROFILE="1g.5gb""#;
    let mut series = Vec::new();
    for name in [
        "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_FB_USED",
        "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED",
    ] {
        series.extend([(name, LARGE), (name, SMALL)]);
    }
    let [first, second] = first_and_second();
    let server = answering(&series, move |query| {
        let (large, small) = match (query.contains("GR_ENGINE"), &query[..3]) {
            (true, "sum") => (0.7, 0.35),
            (true, _) => (1.0, 0.5),
            (false, "sum") => (10_000.0, 2_000.0),
            (false, _) => (15_000.0, 2_500.0),
        };
        vec![row(LARGE, &[(first, large), (second, large)]), row(SMALL, &[(first, small)])]
    });
    let (measured, gaps) = gathered(&server, &instances, ten_minutes());
    assert_eq!(gaps, []);
    // 3/7 of 70% and 1/7 of 35%; then the large slice alone, which is not the card.
    assert_eq!(average(&measured, 3), Some(vec![35.0]));
    let maximum = values(&measured, 3, Metric::GpuUtilization, Statistic::Maximum);
    let maximum = maximum.expect("a series");
    assert_eq!(maximum, [50.0]);
    let memory = values(&measured, 3, Metric::GpuMemoryUsed, Statistic::Average);
    assert_eq!(memory, Some(vec![12_000.0, 10_000.0]));
    let peak = values(&measured, 3, Metric::GpuMemoryUsed, Statistic::Maximum);
    assert_eq!(peak, Some(vec![17_500.0, 15_000.0]));
    assert_eq!(measured.len(), 4, "the memory of slices is not that of the card");
    assert!(server.queries().iter().all(|query| !query.contains("GPU_UTIL")));
}

#[test]
fn nvidia_gpu_exporter_is_joined_through_its_info() {
    let instances = [machine("i-1", "g5.12xlarge", "ip-10-0-0-1.ec2.internal")];
    const A: &str = r#"uuid="a",instance="10.0.0.1:9835""#;
    const B: &str = r#"uuid="b",instance="10.0.0.1:9835""#;
    let infos = [format!(r#"{A},index="1",name="NVIDIA A10G""#), format!(r#"{B},index="0""#)];
    let [first, _] = first_and_second();
    let server = answering(
        &[
            ("nvidia_smi_gpu_info", infos[0].as_str()),
            ("nvidia_smi_gpu_info", infos[1].as_str()),
            ("nvidia_smi_utilization_gpu_ratio", A),
            ("nvidia_smi_utilization_gpu_ratio", B),
            ("nvidia_smi_memory_used_bytes", A),
            ("nvidia_smi_memory_total_bytes", A),
        ],
        move |query| {
            let (a, b) = match query {
                query if query.contains("ratio") => (0.25, 1.000_000_000_000_000_2),
                query if query.contains("used") => (1_073_741_824.0, 0.0),
                _ => (24_000.0 * 1_048_576.0, 0.0),
            };
            vec![row(A, &[(first, a)]), row(B, &[(first, b)])]
        },
    );
    let (series, gaps) = gathered(&server, &instances, ten_minutes());
    assert_eq!(gaps, []);
    assert_eq!(average(&series, 1), Some(vec![25.0]));
    assert_eq!(average(&series, 0), Some(vec![100.0]));
    let used = values(&series, 1, Metric::GpuMemoryUsed, Statistic::Average);
    assert_eq!(used, Some(vec![1_024.0]));
    let total = values(&series, 1, Metric::GpuMemoryTotal, Statistic::Maximum);
    assert_eq!(total, Some(vec![24_000.0]));
    assert_eq!(
        values(&series, 0, Metric::GpuMemoryUsed, Statistic::Average),
        None,
        "it was not listed"
    );
    assert!(series.iter().all(|each_series| each_series.joined_by == JoinedBy::Address));
    let total = server.queries().into_iter().find(|query| query.contains("total"));
    assert_eq!(
        total.as_deref(),
        Some(
            "max by (instance, uuid) (max_over_time(nvidia_smi_memory_total_bytes\
             {instance=~\"10\\\\.0\\\\.0\\\\.1:9835\"}[10m]))"
        )
    );
}

#[test]
fn cores_of_neuron_make_up_devices() {
    let instances = [machine("i-1", "inf2.24xlarge", "ip-10-0-0-1.ec2.internal")];
    const CORES: [&str; 3] = [
        r#"instance_id="i-1",neuroncore="0",runtime_tag="1""#,
        r#"instance_id="i-1",neuroncore="1",runtime_tag="1""#,
        r#"instance_id="i-1",neuroncore="2",runtime_tag="2""#,
    ];
    let mut series = Vec::new();
    for name in [
        "neuroncore_utilization_ratio", "neuroncore_memory_usage_constants",
        "neuroncore_memory_usage_tensors",
    ] {
        series.extend(CORES.map(|core| (name, core)));
    }
    let [first, _] = first_and_second();
    let server = answering(&series, move |query| {
        let values = if query.contains("ratio") {
            [0.5, 0.1, 0.2]
        } else if query.contains("constants") {
            [1_048_576.0, 1_048_576.0, 0.0]
        } else {
            [2_097_152.0, 2_097_152.0, 4_194_304.0]
        };
        let rows = CORES.into_iter().zip(values);
        rows.map(|(core, value)| row(core, &[(first, value)])).collect()
    });
    let (measured, gaps) = gathered(&server, &instances, ten_minutes());
    assert_eq!(gaps, []);
    assert_eq!(average(&measured, 0), Some(vec![30.0]), "the mean of two cores");
    assert_eq!(average(&measured, 1), Some(vec![20.0]), "the core that is used");
    let maximum = values(&measured, 0, Metric::GpuUtilization, Statistic::Maximum);
    assert_eq!(maximum, Some(vec![50.0]));
    let memory = |gpu| values(&measured, gpu, Metric::GpuMemoryUsed, Statistic::Average);
    assert_eq!(memory(0), Some(vec![6.0]));
    assert_eq!(memory(1), Some(vec![4.0]));
    assert!(measured.iter().all(|each_series| each_series.joined_by == JoinedBy::InstanceId));
}

#[test]
fn memory_is_summed_and_power_and_temperature_are_by_the_hour() {
    let instances = [machine("i-1", "g5.xlarge", "ip-10-0-0-1.ec2.internal")];
    let gpu = r#"hostname="ip-10-0-0-1",gpu="0""#;
    let names = [
        "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED",
        "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_GPU_TEMP",
    ];
    let server = answering(&names.map(|name| (name, gpu)), |_| Vec::new());
    let (series, _) = gathered(&server, &instances, days(2));
    assert_eq!(series, []);
    let asked = server.asked.borrow();
    let of: Vec<(&str, u32)> =
        asked.iter().map(|(query, _, _, step)| (query.as_str(), *step)).collect();
    let sum = "max_over_time((max by (hostname, gpu) (DCGM_FI_DEV_FB_USED{hostname=~\"ip-10-0-0-1\"}) \
               + max by (hostname, gpu) (DCGM_FI_DEV_FB_FREE{hostname=~\"ip-10-0-0-1\"}) + \
               max by (hostname, gpu) (DCGM_FI_DEV_FB_RESERVED{hostname=~\"ip-10-0-0-1\"}))[1d:1h])";
    assert_eq!(of[2], (sum, 86_400));
    assert!(of[3].0.contains("POWER_USAGE") && of[3].0.contains("[1h]"));
    assert!(of[4].0.starts_with("max by") && of[4].0.contains("GPU_TEMP"));
    let steps: Vec<u32> = of.iter().map(|(_, step)| *step).collect();
    assert_eq!(steps, [300, 300, 86_400, 3_600, 3_600]);
}

#[test]
fn what_was_measured_before_a_machine_came_is_of_another() {
    let late = |id: &str| Instance {
        attached_time: Some(at(86_700)),
        ..machine(id, "g5.xlarge", "ip-10-0-0-1.ec2.internal")
    };
    let [first, second] = first_and_second();
    for (text, expected) in [
        (r#"hostname="ip-10-0-0-1",gpu="0""#, vec![60.0]),
        (r#"instance_id="i-1",gpu="0""#, vec![40.0, 60.0]),
    ] {
        let rows = vec![row(text, &[(first, 40.0), (second, 60.0)])];
        let server = answering(&[("DCGM_FI_DEV_GPU_UTIL", text)], move |_| rows.clone());
        let (series, _) = gathered(&server, &[late("i-1")], ten_minutes());
        assert_eq!(average(&series, 0), Some(expected), "{text}");
    }
    // One that stopped before the window does not share its name with its successor.
    let stopped = Instance {
        state: crate::domain::InstanceState::Stopped,
        state_transition_reason: Some("User initiated (1970-01-01 23:59:59 GMT)".to_owned()),
        ..machine("i-0", "g5.xlarge", "ip-10-0-0-1.ec2.internal")
    };
    let text = r#"hostname="ip-10-0-0-1",gpu="0""#;
    let rows = vec![row(text, &[(second, 60.0)])];
    let server = answering(&[("DCGM_FI_DEV_GPU_UTIL", text)], move |_| rows.clone());
    let (series, gaps) = gathered(&server, &[stopped, late("i-1")], ten_minutes());
    assert_eq!((average(&series, 0), gaps), (Some(vec![60.0]), Vec::new()));
}

#[test]
fn two_hosts_of_one_name_are_neither() {
    let instances = [
        machine("i-1", "g5.xlarge", "ip-10-0-0-1.ec2.internal"),
        machine("i-2", "g5.xlarge", "ip-10-0-0-1.ec2.internal"),
    ];
    let server =
        answering(&[("DCGM_FI_DEV_GPU_UTIL", r#"hostname="ip-10-0-0-1",gpu="0""#)], |_| {
            panic!("nothing can be asked for")
        });
    let (series, gaps) = gathered(&server, &instances, ten_minutes());
    assert_eq!(series, []);
    let texts: Vec<(&str, &str)> =
        gaps.iter().map(|gap| (gap.place.as_str(), gap.reason.as_str())).collect();
    assert_eq!(
        texts,
        [(
            SERVER,
            "1 series of 1 host match no audited instance, or several, such as those of \
             ip-10-0-0-1"
        )]
    );
}

/// A server that lists nothing and does not answer.
struct Gone(FailureKind);

impl Ask for Gone {
    async fn series(&self, _: &[String], _: Window) -> Result<Vec<Labels>, SourceError> {
        Err(failure(self.0))
    }

    async fn query_range(
        &self,
        _: &str,
        _: Timestamp,
        _: Timestamp,
        _: u32,
    ) -> Result<Vec<Row>, SourceError> {
        Err(failure(self.0))
    }

    async fn query(&self, _: &str, _: Timestamp) -> Result<Vec<(Labels, f64)>, SourceError> {
        Err(failure(self.0))
    }

    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

#[test]
fn a_server_that_refuses_is_a_gap() {
    let instances = [machine("i-1", "g5.xlarge", "ip-10-0-0-1.ec2.internal")];
    let (map, shapes) = (MetricMap::builtin(), BTreeMap::new());
    for kind in [FailureKind::Denied, FailureKind::Unreachable, FailureKind::Other] {
        let server = Gone(kind);
        let grid = (ten_minutes(), PERIOD_SECONDS);
        let discovered = now(discover(&server, SERVER, &map, ask(&instances, &shapes, grid)));
        assert!(discovered.value.chunks.is_empty());
        let kinds: Vec<Option<CauseKind>> = discovered
            .gaps
            .iter()
            .map(|gap| gap.cause.as_ref().map(|cause| cause.kind()))
            .collect();
        assert!(!kinds.is_empty(), "{kind}");
        assert!(kinds.iter().all(|cause| *cause == Some(CauseKind::CallFailed)));
    }
}

#[test]
fn queries_that_fail_leave_out_what_they_were_about() {
    let instances = [machine("i-1", "g5.xlarge", "ip-10-0-0-1.ec2.internal")];
    let gpu = r#"hostname="ip-10-0-0-1",gpu="0""#;
    let [first, _] = first_and_second();
    let answers = move |query: &str, _: Timestamp, _: Timestamp| {
        if query.starts_with("sum") {
            Ok(vec![row(gpu, &[(first, 40.0)])])
        } else {
            Err(failure(FailureKind::Other))
        }
    };
    let mut server = Server::of(&[("DCGM_FI_DEV_GPU_UTIL", gpu)], Box::new(answers));
    server.warnings = vec!["no store answered".to_owned()];
    let (series, gaps) = gathered(&server, &instances, ten_minutes());
    assert_eq!(average(&series, 0), Some(vec![40.0]));
    assert_eq!(series.len(), 1);
    let reasons: Vec<&str> = gaps.iter().map(|gap| gap.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "the server warns: no store answered",
            "prometheus:query_range: HTTP 422; 1 series are missing",
            "the server warns: no store answered",
        ]
    );
}

#[test]
fn a_limit_that_the_smallest_query_exceeds_is_a_gap_that_names_it() {
    let instances = [machine("i-1", "g5.xlarge", "ip-10-0-0-1.ec2.internal")];
    let gpu = r#"hostname="ip-10-0-0-1",gpu="0""#;
    let answers = |_: &str, _: Timestamp, _: Timestamp| {
        Err(SourceError {
            said: "the query hit the aggregated data size limit (limit: 7 bytes)".to_owned(),
            ..failure(FailureKind::TooLarge)
        })
    };
    let server = Server::of(&[("DCGM_FI_DEV_GPU_UTIL", gpu)], Box::new(answers));
    let (series, gaps) = gathered(&server, &instances, days(2));
    assert_eq!(series, []);
    // Of the averages two days, and one by one; of the maxima each day at once.
    assert_eq!(server.queries().len(), 5);
    let reasons: Vec<&str> = gaps.iter().map(|gap| gap.reason.as_str()).collect();
    // The averages and the maxima of one GPU.
    let named = "prometheus:query_range: HTTP 422: the query hit the aggregated data size limit \
                 (limit: 7 bytes); 2 series are missing";
    assert_eq!(reasons, [named]);
}

#[test]
fn a_server_without_gpus_says_so() {
    let instances = [machine("i-1", "g5.xlarge", "ip-10-0-0-1.ec2.internal")];
    let server = answering(&[("up", r#"job="node""#)], |_| Vec::new());
    let (series, gaps) = gathered(&server, &instances, ten_minutes());
    assert_eq!(series, []);
    let kinds: Vec<_> = gaps.iter().filter_map(|gap| gap.cause.as_ref()).collect();
    assert_eq!(kinds.len(), 1);
    assert_eq!(kinds[0].kind(), CauseKind::NoGpuSeries);
}

#[test]
fn samples_that_are_far_apart_are_a_gap() {
    let instances = [machine("i-1", "g5.xlarge", "ip-10-0-0-1.ec2.internal")];
    let gpu = r#"hostname="ip-10-0-0-1",gpu="0""#;
    // Every second hour of two days.
    let points: Vec<(Timestamp, f64)> =
        (0..24).map(|place| (before(86_400 + 300 + place * 7_200), 5.0)).collect();
    let rows = vec![row(gpu, &points)];
    let server = answering(&[("DCGM_FI_DEV_GPU_UTIL", gpu)], move |_| rows.clone());
    let (series, gaps) = gathered(&server, &instances, days(2));
    assert_eq!(series[0].points.len(), 24);
    assert_eq!(
        gaps[0].reason,
        "samples of 1 GPU are about 2h 00m 00s apart, which is more than an hour: coverage is low"
    );
}

#[test]
fn nodes_lead_to_machines_by_their_provider_id() {
    let instances = [machine("i-0abc", "g5.xlarge", "ip-10-0-0-1.ec2.internal")];
    let gpu = r#"Hostname="worker-a",gpu="0""#;
    let [first, _] = first_and_second();
    let server = answering(
        &[
            ("kube_node_info", r#"node="worker-a",provider_id="aws:///us-east-1a/i-0abc""#),
            ("DCGM_FI_DEV_GPU_UTIL", gpu),
        ],
        move |_| vec![row(gpu, &[(first, 7.0)])],
    );
    let (series, gaps) = gathered(&server, &instances, ten_minutes());
    assert_eq!(gaps, []);
    assert_eq!(series[0].instance.as_str(), "i-0abc");
    assert_eq!(series[0].joined_by, JoinedBy::ProviderId);
}
