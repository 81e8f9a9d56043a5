use super::*;
use crate::domain::JoinedBy;
use crate::prometheus::lab::{days, labels, machine, ten_minutes};
use crate::prometheus::labels::Hosts;

/// Plans for machines of a type, from series of metrics by their names.
fn planned<'a>(instances: &'a [Instance], series: &[(&str, String)], window: Window) -> Plan<'a> {
    let map = MetricMap::builtin();
    let mut discovery = Discovery::of(Hosts::of(instances, &[]));
    for (name, text) in series {
        let row = map.rows.iter().position(|row| row.name == *name);
        let row = row.expect("a metric of the map");
        discovery.take(row, &map.rows[row], &labels(text));
    }
    plan(&map, discovery, &BTreeMap::new(), (window, 300), "prom")
}

fn machines(count: usize, instance_type: &str) -> Vec<Instance> {
    let machine = |number: usize| {
        let dns = format!("ip-10-0-0-{number}.ec2.internal");
        machine(&format!("i-{number:03}"), instance_type, &dns)
    };
    (0..count).map(machine).collect()
}

/// The labels of a GPU of a machine, with others.
fn gpu(machine: usize, gpu: u16, others: &str) -> String {
    format!(r#"hostname="ip-10-0-0-{machine}",gpu="{gpu}",UUID="GPU-{machine}-{gpu}",{others}"#)
}

/// The metrics that are asked for, with what they are part of.
fn asked<'p>(plan: &'p Plan<'_>) -> Vec<(&'p str, Metric)> {
    let requests = plan.chunks.iter().flat_map(|chunk| &chunk.requests);
    requests.map(|request| (request.mapped.name.as_str(), request.metric)).collect()
}

#[test]
fn what_says_the_same_is_asked_once() {
    let instances = machines(1, "g5.xlarge");
    let series = [
        "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_FB_USED",
        "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED", "DCGM_FI_DEV_FB_TOTAL",
        "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_DEV_GPU_TEMP",
    ]
    .map(|name| (name, gpu(0, 0, "")));
    let plan = planned(&instances, &series, ten_minutes());
    assert_eq!(
        asked(&plan),
        [
            ("DCGM_FI_DEV_GPU_UTIL", Metric::GpuUtilization),
            ("DCGM_FI_DEV_FB_USED", Metric::GpuMemoryUsed),
            ("DCGM_FI_DEV_FB_TOTAL", Metric::GpuMemoryTotal),
            ("DCGM_FI_DEV_POWER_USAGE", Metric::GpuPowerDraw),
            ("DCGM_FI_PROF_SM_ACTIVE", Metric::GpuSmActivity),
            ("DCGM_FI_DEV_GPU_TEMP", Metric::GpuTemperature),
        ]
    );
    // Two of utilization and of memory in use, one of each of the rest.
    assert_eq!(plan.series, 8);
    assert_eq!(plan.gaps, []);
    let [chunk] = &plan.chunks[..] else {
        panic!("{} chunks", plan.chunks.len());
    };
    let machine = chunk.machines.values().next().expect("a machine");
    assert_eq!(machine.joined_by, JoinedBy::Hostname);
}

#[test]
fn the_engine_stands_in_for_utilization_and_a_sum_for_the_memory() {
    let instances = machines(2, "g5.xlarge");
    let series = [
        ("DCGM_FI_DEV_GPU_UTIL", gpu(0, 0, "")),
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", gpu(0, 0, "")),
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", gpu(1, 0, "")),
        ("DCGM_FI_DEV_FB_USED", gpu(0, 0, "")),
        ("DCGM_FI_DEV_FB_FREE", gpu(0, 0, "")),
        ("DCGM_FI_DEV_FB_RESERVED", gpu(0, 0, "")),
        // Without what is reserved, the sum would be too small.
        ("DCGM_FI_DEV_FB_USED", gpu(1, 0, "")),
        ("DCGM_FI_DEV_FB_FREE", gpu(1, 0, "")),
    ];
    let plan = planned(&instances, &series, ten_minutes());
    let requests = &plan.chunks[0].requests;
    let of = |name: &str, metric: Metric| -> Vec<&str> {
        let it =
            requests.iter().find(|request| request.mapped.name == name && request.metric == metric);
        let hosts = it.into_iter().flat_map(|request| request.hosts.keys());
        hosts.map(String::as_str).collect()
    };
    let (first, second) = ("ip-10-0-0-0", "ip-10-0-0-1");
    assert_eq!(of("DCGM_FI_DEV_GPU_UTIL", Metric::GpuUtilization), [first]);
    assert_eq!(of("DCGM_FI_PROF_GR_ENGINE_ACTIVE", Metric::GpuUtilization), [second]);
    assert_eq!(of("DCGM_FI_DEV_FB_USED", Metric::GpuMemoryUsed), [first, second]);
    assert_eq!(of("DCGM_FI_DEV_FB_USED", Metric::GpuMemoryTotal), [first]);
    let sum = requests.iter().find(|request| request.metric == Metric::GpuMemoryTotal);
    assert_eq!(sum.expect("a sum").rest, ["DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED"]);
}

#[test]
fn a_divided_card_is_measured_by_its_slices_or_not_at_all() {
    let instances = machines(2, "p4d.24xlarge");
    let slice = r#"GPU_I_ID="2",GPU_I_PROFILE="3g.20gb""#;
    let series = [
        ("DCGM_FI_DEV_GPU_UTIL", gpu(0, 0, slice)),
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", gpu(0, 0, slice)),
        ("DCGM_FI_DEV_FB_USED", gpu(0, 0, slice)),
        ("DCGM_FI_DEV_FB_TOTAL", gpu(0, 0, slice)),
        // An exporter that is asked for GPUs and slices, without the profiling module.
        ("DCGM_FI_DEV_GPU_UTIL", gpu(1, 0, "")),
        ("DCGM_FI_DEV_FB_USED", gpu(1, 0, slice)),
    ];
    let plan = planned(&instances, &series, ten_minutes());
    let requests = &plan.chunks[0].requests;
    let names: Vec<(&str, Vec<&String>)> = requests
        .iter()
        .map(|request| (request.mapped.name.as_str(), request.hosts.keys().collect()))
        .collect();
    let (first, second) = ("ip-10-0-0-0".to_owned(), "ip-10-0-0-1".to_owned());
    assert_eq!(
        names,
        [
            ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", vec![&first]),
            ("DCGM_FI_DEV_FB_USED", vec![&first, &second]),
        ]
    );
    assert_eq!(requests[0].slice_labels, ["GPU_I_ID", "GPU_I_PROFILE"]);
    let divisions: Vec<&Division> = plan.chunks[0].divisions.values().collect();
    let slice = Slice { number: "2".to_owned(), profile: "3g.20gb".to_owned() };
    let expected =
        Division { slices: BTreeMap::from([(slice, Some(3))]), card_slices: 7, unseen: None };
    assert_eq!(divisions, [&expected, &expected]);
}

#[test]
fn instances_without_any_series_leave_cards_with_room_for_them_unmeasured() {
    let device = |of: &[(&str, u8)]| Device {
        division: Division {
            slices: of
                .iter()
                .map(|(number, compute)| {
                    let slice =
                        Slice { number: (*number).to_owned(), profile: format!("{compute}g") };
                    (slice, Some(*compute))
                })
                .collect(),
            card_slices: 7,
            unseen: None,
        },
        ..Device::default()
    };
    let id = ResourceId::named("i-1");
    let unseen = |offered: u32| {
        let mut devices = BTreeMap::from([
            ((&id, 0), device(&[("1", 3)])),
            ((&id, 1), device(&[("1", 4), ("2", 3)])),
            ((&id, 2), device(&[("1", 3)])),
            ((&id, 3), device(&[])),
        ]);
        note_unseen(Some(&BTreeMap::from([(id.clone(), offered)])), &mut devices);
        let unseen = devices.values().map(|device| device.division.unseen);
        unseen.collect::<Vec<_>>()
    };
    // Four have series. Of six, two are somewhere on the cards with room.
    assert_eq!(unseen(6), [Some((2, 6)), None, Some((0, 0)), None]);
    assert_eq!(unseen(4), [None; 4]);
    assert_eq!(unseen(0), [None; 4], "the node offers none");
}

#[test]
fn machines_are_asked_for_together_up_to_so_many_gpus() {
    let instances = machines(70, "p4d.24xlarge");
    let series: Vec<(&str, String)> = (0..70)
        .flat_map(|machine| (0..8).map(move |index| gpu(machine, index, "")))
        .map(|text| ("DCGM_FI_DEV_GPU_UTIL", text))
        .collect();
    let sizes = |window: Window| -> Vec<usize> {
        let plan = planned(&instances, &series, window);
        plan.chunks.iter().map(|chunk| chunk.machines.len()).collect()
    };
    // 500 rows are 62 machines with eight GPUs; a million points of a fortnight, with
    // 4,032 each, are 248 rows, which are 31 of them.
    assert_eq!(sizes(ten_minutes()), [62, 8]);
    assert_eq!(sizes(days(14)), [31, 31, 8]);
}

#[test]
fn virtual_gpus_have_rows_of_pods() {
    let instances = machines(3, "g5.xlarge");
    let series = [
        ("DCGM_FI_DEV_GPU_UTIL", gpu(0, 0, "")),
        ("DCGM_FI_DEV_GPU_UTIL", gpu(1, 0, r#"pod="a""#)),
        ("DCGM_FI_DEV_GPU_UTIL", gpu(1, 0, r#"pod="b""#)),
        ("DCGM_FI_DEV_GPU_UTIL", gpu(2, 0, r#"pod="a",vgpu="0""#)),
    ];
    let plan = planned(&instances, &series, ten_minutes());
    let hosts = plan.chunks[0].requests[0].hosts.values();
    let has_parts: Vec<bool> = hosts.map(|host| host.has_parts).collect();
    assert_eq!(has_parts, [false, false, true]);
}

#[test]
fn one_exporter_speaks_for_a_metric_of_a_gpu() {
    let instances = machines(1, "g5.xlarge");
    let series = [
        ("DCGM_FI_DEV_GPU_UTIL", gpu(0, 0, "")),
        ("nvidia_smi_utilization_gpu_ratio", r#"uuid="GPU-0-0",node="ip-10-0-0-0""#.to_owned()),
        ("nvidia_smi_memory_used_bytes", r#"uuid="GPU-0-0",node="ip-10-0-0-0""#.to_owned()),
    ];
    let plan = planned(&instances, &series, ten_minutes());
    assert_eq!(
        asked(&plan),
        [
            ("DCGM_FI_DEV_GPU_UTIL", Metric::GpuUtilization),
            ("nvidia_smi_memory_used_bytes", Metric::GpuMemoryUsed),
        ]
    );
}
