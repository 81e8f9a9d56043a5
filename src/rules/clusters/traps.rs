//! What the rules must not be fooled by, beside the figures of each.

use super::lab::{GPU, Lab, node, offered, pending, row, used, whole};
use crate::domain::{DeviceUnit, Lifecycle, Node};
use std::collections::BTreeMap;

#[test]
fn a_pod_waits_beside_devices_of_another_resource() {
    let of_amd = Node {
        devices: BTreeMap::from([("amd.com/gpu".to_owned(), offered(DeviceUnit::Whole, 8))]),
        ..node("amd", 8)
    };
    let mut lab =
        Lab::of(vec![of_amd, node("a", 8)], vec![whole("x", 6, "a"), pending("p", 8, 60)]);
    // Two are free, and eight of another sort.
    assert_eq!(lab.rows("pending-gpu-pods"), []);
    lab.clusters.claims[1].devices.count = 3;
    assert_eq!(lab.rows("pending-gpu-pods"), []);
    lab.clusters.claims[1].devices.count = 2;
    let expected = row(
        "lab",
        "1 pod waits for 2 GPUs (longest: 60 minutes); free: 2 GPUs, held by idle pods: 0 GPUs",
        None,
    );
    assert_eq!(lab.rows("pending-gpu-pods"), [expected]);
    // With those of an idle pod, 2 + 6 are eight.
    lab.clusters.claims[1].devices.count = 8;
    let device = |gpu| used("x", gpu, "a", 240, 0.0);
    lab.clusters.uses = (0..6).map(device).collect();
    assert_eq!(lab.rows("pending-gpu-pods").len(), 1);
    lab.clusters.claims[1].devices.count = 9;
    assert_eq!(lab.rows("pending-gpu-pods"), []);
    assert_eq!(lab.clusters.claims[1].devices.resource, GPU);
}

#[test]
fn a_machine_that_the_inventory_does_not_show_is_not_removed() {
    let kept = Node { cpu_only_pods: Some(2), ..node("kept", 8) };
    let mut lab = Lab::of(
        vec![node("a", 8), node("b", 8), kept],
        vec![whole("x", 1, "a"), whole("y", 1, "b")],
    );
    let rules = ["cpu-only-pods-on-gpu-node", "fragmented-gpus", "unallocated-gpus"];
    for rule in rules {
        assert!(!lab.rows(rule).is_empty(), "{rule}");
    }
    lab.absent = ["a", "kept"].map(str::to_owned).into();
    // One node is left, with one GPU of eight in use.
    assert_eq!(lab.rules(), ["unallocated-gpus"]);
    lab.absent.insert("b".to_owned());
    assert_eq!(lab.rules(), Vec::<&str>::new());
}

#[test]
fn pods_of_nodes_on_demand_do_not_move_to_spot() {
    let pair = |class| {
        let other = Node { price_class: class, ..node("b", 8) };
        let claims = vec![whole("x", 1, "a"), whole("y", 1, "b")];
        Lab::of(vec![node("a", 8), other], claims)
    };
    for class in [None, Some(Lifecycle::OnDemand)] {
        assert_eq!(pair(class).rows("fragmented-gpus").len(), 1);
    }
    for class in [Lifecycle::Spot, Lifecycle::CapacityBlock] {
        assert_eq!(pair(Some(class)).rows("fragmented-gpus"), []);
    }
    let mut spot = pair(Some(Lifecycle::Spot));
    spot.clusters.nodes[0].price_class = Some(Lifecycle::Spot);
    let expected = row(
        "lab/train/p4d.24xlarge/spot",
        "14 free GPUs on 2 of 2 × p4d.24xlarge (spot) of pool train: the pods of 2 nodes fit on 1",
        Some(8_000),
    );
    assert_eq!(spot.rows("fragmented-gpus"), [expected]);
}
