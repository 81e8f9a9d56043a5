use super::*;
use crate::catalog::known_shape;
use crate::sources::prometheus::hosts::Hosts;
use crate::sources::prometheus::metric_map::MetricMap;
use crate::sources::prometheus::scenes::{labels, machine};

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
