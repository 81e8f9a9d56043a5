use super::*;
use crate::catalog::known_shape;
use crate::prometheus::lab::{labels, machine};
use crate::prometheus::labels::Hosts;
use crate::prometheus::metric_map::MetricMap;

/// Takes series of metrics by their names, on two machines.
fn taken<'a>(instances: &'a [Instance], series: &[(&str, &str)]) -> Discovery<'a> {
    let map = MetricMap::builtin();
    let mut discovery = Discovery::of(Hosts::of(instances, &[]));
    for (name, text) in series {
        let row = map.rows.iter().position(|row| row.name == *name);
        let row = row.expect("a metric of the map");
        discovery.take(row, &map.rows[row], &labels(text));
    }
    discovery
}

fn machines() -> Vec<Instance> {
    vec![
        machine("i-1", "g5.xlarge", "ip-10-0-0-1.ec2.internal"),
        machine("i-2", "g5.xlarge", "ip-10-0-0-2.ec2.internal"),
    ]
}

fn scope(host: &str, device: &[&str]) -> Scope {
    Scope {
        cluster: None,
        host: host.to_owned(),
        device: device.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[test]
fn pods_come_and_go_and_a_gpu_stays() {
    let instances = machines();
    let discovery = taken(
        &instances,
        &[
            (
                "DCGM_FI_DEV_GPU_UTIL",
                r#"Hostname="ip-10-0-0-1",gpu="0",UUID="GPU-a",exported_pod="p1",pod="dcgm-1""#,
            ),
            (
                "DCGM_FI_DEV_GPU_UTIL",
                r#"Hostname="ip-10-0-0-1",gpu="0",UUID="GPU-a",exported_pod="p2",pod="dcgm-1""#,
            ),
            ("DCGM_FI_DEV_GPU_UTIL", r#"hostname="ip-10-0-0-2",gpu="0",UUID="GPU-b",pod="p3""#),
            ("DCGM_FI_DEV_GPU_UTIL", r#"hostname="ip-10-0-0-2",gpu="0",uuid="GPU-b",vgpu="1""#),
        ],
    );
    let scopes: Vec<&Scope> = discovery.groups.keys().map(|(_, scope)| scope).collect();
    let expected = [
        scope("Hostname", &["gpu", "UUID"]),
        scope("hostname", &["gpu", "UUID"]),
        scope("hostname", &["gpu", "uuid"]),
    ];
    assert_eq!(scopes, expected.iter().collect::<Vec<_>>());
    let seen: Vec<&Seen> = discovery
        .groups
        .values()
        .flat_map(|group| group.hosts.values())
        .flat_map(|host| host.devices.values())
        .collect();
    let series: Vec<(u32, bool)> =
        seen.iter().map(|sighting| (sighting.series, sighting.is_virtual)).collect();
    assert_eq!(series, [(2, false), (1, false), (1, true)]);
    assert_eq!(
        seen[0].id,
        DeviceId { index: Index::Known(0), uuid: Some("GPU-a".to_owned()), core: None }
    );
    assert_eq!(discovery.gaps("prom"), []);
}

#[test]
fn slices_are_of_the_gpu_whose_uuid_they_have() {
    let instances = machines();
    let slice = r#"hostname="ip-10-0-0-1",gpu="0",UUID="GPU-a",modelName="NVIDIA A30",GPU_I_ID="3",GPU_I_PROFILE="2g.12gb""#;
    let discovery = taken(
        &instances,
        &[("DCGM_FI_PROF_GR_ENGINE_ACTIVE", slice), ("DCGM_FI_DEV_POWER_USAGE", slice)],
    );
    let groups: Vec<&Group<'_>> = discovery.groups.values().collect();
    let labels = ["GPU_I_ID", "GPU_I_PROFILE"].map(str::to_owned);
    assert_eq!(groups[0].slice_labels, BTreeSet::from(labels));
    let seen = groups[0].hosts["ip-10-0-0-1"].devices.values().next();
    let slice = Slice { number: "3".to_owned(), profile: "2g.12gb".to_owned() };
    let engine = seen.expect("a GPU");
    assert_eq!(engine.slices, BTreeSet::from([slice]));
    assert_eq!((engine.has_whole, engine.card_slices), (false, Some(4)));
    // Power is that of the card, whichever slice it stands beside.
    assert_eq!(groups[1].slice_labels, BTreeSet::new());
    let power = groups[1].hosts["ip-10-0-0-1"].devices.values().next();
    assert!(power.is_some_and(|seen| seen.has_whole && seen.slices.is_empty()));
}

#[test]
fn labels_of_other_exporters_are_found_in_any_case() {
    let instances = machines();
    let discovery = taken(
        &instances,
        &[
            (
                "gpu_gfx_activity",
                r#"GPU_ID="1",GPU_UUID="u",HOSTNAME="ip-10-0-0-1",SERIAL_NUMBER="s""#,
            ),
            (
                "amd_gpu_used_vram",
                r#"gpu_id="2",hostname="ip-10-0-0-1",gpu_partition_id="0",gpu_compute_partition_type="spx""#,
            ),
            (
                "neuroncore_utilization_ratio",
                r#"instance_id="i-2",neuroncore="3",runtime_tag="367""#,
            ),
            ("habanalabs_utilization", r#"UUID="h",device="AN3",id="7",instance="10.0.0.2:41611""#),
        ],
    );
    type Numbers<'a> = BTreeMap<(&'a str, Vec<&'a str>), (Index, Option<u16>)>;
    let numbers: Numbers<'_> = discovery
        .groups
        .iter()
        .flat_map(|((_, scope), group)| {
            let seen = group.hosts.values().flat_map(|host| host.devices.values());
            let labels: Vec<&str> = scope.device.iter().map(String::as_str).collect();
            seen.map(move |seen| {
                ((scope.host.as_str(), labels.clone()), (seen.id.index, seen.id.core))
            })
        })
        .collect();
    let expected = [
        (("HOSTNAME", vec!["GPU_ID", "GPU_UUID"]), (Index::Known(1), None)),
        (("hostname", vec!["gpu_id"]), (Index::Known(2), None)),
        (("instance", vec!["id", "UUID"]), (Index::Known(7), None)),
        (("instance_id", vec!["neuroncore"]), (Index::Absent, Some(3))),
    ];
    assert_eq!(numbers, BTreeMap::from(expected));
}

#[test]
fn what_cannot_be_used_is_one_gap_for_each_reason() {
    let instances = machines();
    let lost = |host: &str| format!(r#"Hostname="{host}",gpu="0",UUID="GPU-a",pod="dcgm-1""#);
    let texts = ["h6", "h5", "h4", "h3", "h2", "h1", "h1"].map(lost);
    let mut series: Vec<(&str, &str)> =
        texts.iter().map(|text| ("DCGM_FI_DEV_GPU_UTIL", text.as_str())).collect();
    series.push(("gpu_gfx_activity", r#"gpu_id="0",hostname="ip-10-0-0-1",gpu_partition_id="3""#));
    let gaps = taken(&instances, &series).gaps("prom:9090");
    let texts: Vec<(&str, &str)> =
        gaps.iter().map(|gap| (gap.place.as_str(), gap.reason.as_str())).collect();
    assert_eq!(
        texts,
        [
            (
                "prom:9090",
                "7 series of 6 hosts match no audited instance, or several, such as those of h1, \
                 h2, h3, h4, h5"
            ),
            (
                "prom:9090",
                "1 series cannot be assigned to a GPU, such as those of ip-10-0-0-1: they have \
                 no index below 256, or divide a GPU in a way other than MIG"
            ),
        ]
    );
    assert!(gaps[0].hint.contains("`node`"), "{}", gaps[0].hint);
    let outside = taken(
        &instances,
        &[("nvidia_smi_utilization_gpu_ratio", r#"uuid="a",instance="10.9.9.9:9835""#)],
    );
    let gaps = outside.gaps("prom:9090");
    assert!(gaps[0].hint.contains("`instance_id`"), "{}", gaps[0].hint);
}

#[test]
fn an_index_is_a_small_number() {
    for (value, expected) in [
        ("7", Index::Known(7)),
        ("nvidia3", Index::Known(3)),
        ("255", Index::Known(255)),
        ("256", Index::TooLarge),
        ("99999999999999999999", Index::Absent),
        ("-1", Index::Absent),
        ("GPU-a", Index::Absent),
    ] {
        let labels = labels(&format!(r#"gpu="{value}""#));
        assert_eq!(index_of(&labels, &["gpu", "device"]).0, expected, "{value}");
    }
    let both = labels(r#"gpu="GPU-a",device="nvidia5""#);
    assert_eq!(index_of(&both, &["gpu", "device"]), (Index::Known(5), Some(("device", "nvidia5"))));
}

#[test]
fn profiles_begin_with_their_compute_slices() {
    for (profile, slices) in [
        ("3g.20gb", Some(3)),
        ("1g.5gb+me", Some(1)),
        ("1c.3g.20gb", Some(3)),
        ("7g.80gb", Some(7)),
        ("", None),
        ("g.5gb", None),
        ("0g.5gb", None),
        ("20gb", None),
    ] {
        assert_eq!(compute_slices(profile), slices, "{profile}");
    }
}

/// The numbers that GPUs of one machine get, in order of their labels.
fn numbered(
    instance_type: &str,
    metric: &str,
    series: &[&str],
    infos: &[&str],
) -> Vec<Option<u16>> {
    let instances = [machine("i-1", instance_type, "ip-10-0-0-1.ec2.internal")];
    let map = MetricMap::builtin();
    let row = map.rows.iter().position(|row| row.name == metric);
    let row = row.expect("a metric of the map");
    let mut discovery = Discovery::of(Hosts::of(&instances, &[]));
    for text in series {
        let text = format!(r#"{text},instance="10.0.0.1:9835""#);
        discovery.take(row, &map.rows[row], &labels(&text));
    }
    for text in infos {
        discovery.take_gpu_info(&labels(&format!(r#"{text},instance="10.0.0.1:9835""#)));
    }
    let shapes = BTreeMap::new();
    let offer_of = |instance: &Instance| -> Option<&GpuOffer> {
        known_shape(&shapes, &instance.instance_type)?.gpu.as_ref()
    };
    let numbers = numbers(&discovery, offer_of);
    let mut gpus = Vec::new();
    for host in discovery.groups.values().flat_map(|group| group.hosts.values()) {
        let ids = host.devices.values().map(|seen| &seen.id);
        gpus.extend(ids.map(|id| numbers[host.machine].of(id)));
    }
    gpus
}

const RATIO: &str = "nvidia_smi_utilization_gpu_ratio";
const CORE: &str = "neuroncore_utilization_ratio";

#[test]
fn uuids_are_numbered_by_what_says_so_else_in_order() {
    let both = [r#"uuid="b""#, r#"uuid="a""#];
    assert_eq!(numbered("g5.12xlarge", RATIO, &both, &[]), [Some(0), Some(1)]);
    let infos = [r#"uuid="a",index="3""#, r#"uuid="b",index="2""#];
    assert_eq!(numbered("g5.12xlarge", RATIO, &both, &infos), [Some(3), Some(2)]);
    // What one of them is tells nothing of the other.
    assert_eq!(numbered("g5.12xlarge", RATIO, &both, &infos[..1]), [Some(3), None]);
}

#[test]
fn the_only_gpu_is_the_first_whatever_it_is_called() {
    // Stopped and started on another host, with another GPU.
    let both = [r#"uuid="b""#, r#"uuid="a""#];
    assert_eq!(numbered("g5.xlarge", RATIO, &both, &[]), [Some(0), Some(0)]);
    assert_eq!(numbered("g5.xlarge", RATIO, &[r#"job="x""#], &[]), [Some(0)]);
    assert_eq!(numbered("g5.12xlarge", RATIO, &[r#"job="x""#], &[]), [None]);
    // More than there are at a time: nothing tells which followed which.
    let five: Vec<String> = (0..5).map(|uuid| format!(r#"uuid="{uuid}""#)).collect();
    let five: Vec<&str> = five.iter().map(String::as_str).collect();
    assert_eq!(numbered("g5.12xlarge", RATIO, &five, &[]), [None; 5]);
    // An unknown type has as many as report.
    let expected = [0, 1, 2, 3, 4].map(Some);
    assert_eq!(numbered("z9.large", RATIO, &five, &[]), expected);
}

#[test]
fn cores_are_of_the_devices_that_they_are_numbered_over() {
    let core = |core: &str| format!(r#"neuroncore="{core}""#);
    let cores = ["0", "1", "5"].map(core);
    let cores: Vec<&str> = cores.iter().map(String::as_str).collect();
    // Two cores in each Inferentia2, four in each Inferentia1.
    assert_eq!(numbered("inf2.48xlarge", CORE, &cores, &[]), [Some(0), Some(0), Some(2)]);
    assert_eq!(numbered("inf1.6xlarge", CORE, &cores, &[]), [Some(0), Some(0), Some(1)]);
    assert_eq!(numbered("trn2.48xlarge", CORE, &cores, &[]), [None; 3]);
    let device = [r#"neuroncore="9",neurondevice="4""#];
    assert_eq!(numbered("trn2.48xlarge", CORE, &device, &[]), [Some(4)]);
    assert_eq!(numbered("z9.large", CORE, &cores, &[]), [0, 1, 5].map(Some));
}
