//! Each rule, with figures worked out by hand, and what it must not be fooled by beside them.

use super::lab::{
    GPU, Lab, as_of, claim, hours_ago, node, of, offered, pending, row, slice, usage, used, whole,
};
use super::*;
use crate::domain::{DeviceUnit, DeviceUse, Lifecycle, Node, Samples, Severity};
use jiff::SignedDuration;
use std::collections::BTreeMap;

#[test]
fn a_node_without_claims_is_saved_and_a_part_of_one_is_a_cost() {
    let lab = Lab::of(
        vec![node("a", 8), node("b", 8), node("full", 8)],
        vec![whole("x", 5, "a"), of("Job", whole("y", 8, "full"))],
    );
    // 3 of 8 of 8,000, and all of it.
    let expected = [
        row("i-a", "no pod requests 3 of the 8 GPUs of node a: USD 3000.00 per month", None),
        row("i-b", "no pod requests 8 of the 8 GPUs of node b: USD 8000.00 per month", Some(8_000)),
    ];
    assert_eq!(lab.rows("unallocated-gpus"), expected);
    let finding = &lab.with(cluster_findings)[0];
    assert_eq!(finding.severity, Severity::Warning);
}

#[test]
fn a_cordoned_node_is_said_and_new_ignored_and_unpriced_ones_differ() {
    let mut lab = Lab::of(
        vec![
            Node { is_cordoned: true, is_ready: Some(false), ..node("a", 8) },
            node("new", 8),
            node("kept", 8),
            node("own", 8),
        ],
        Vec::new(),
    );
    lab.new.insert("new".to_owned());
    lab.ignored.insert("kept".to_owned());
    lab.unpriced.insert("own".to_owned());
    let expected = [
        row(
            "i-a",
            "no pod requests 8 of the 8 GPUs of node a (cordoned, not ready): USD 8000.00 per month",
            Some(8_000),
        ),
        row("i-own", "no pod requests 8 of the 8 GPUs of node own", None),
    ];
    assert_eq!(lab.rows("unallocated-gpus"), expected);
}

#[test]
fn parts_of_devices_count_as_parts() {
    let mig = |name: &str, slices, count| Node {
        devices: BTreeMap::from([(GPU.to_owned(), offered(slice(slices), count))]),
        ..node(name, 1)
    };
    let replica = DeviceUnit::Replica { per_device: 4 };
    let shared = Node {
        devices: BTreeMap::from([(GPU.to_owned(), offered(replica.clone(), 4))]),
        ..node("shared", 1)
    };
    let lab = Lab::of(
        vec![mig("full", 3, 2), mig("sevenths", 1, 7), shared],
        vec![
            // 6/7 of a card of two halves: the seventh cannot be requested.
            claim("x", &slice(3), 2, "full"),
            // 3/7 are left 0.571429, of 8,000: 4,571.43.
            claim("y", &slice(1), 3, "sevenths"),
            // A quarter of a card.
            claim("z", &replica, 1, "shared"),
        ],
    );
    let expected = [
        row(
            "i-sevenths",
            "no pod requests 0.57 of the 1 GPU of node sevenths: USD 4571.43 per month",
            None,
        ),
        row(
            "i-shared",
            "no pod requests 0.75 of the 1 GPU of node shared: USD 6000.00 per month",
            None,
        ),
    ];
    assert_eq!(lab.rows("unallocated-gpus"), expected);
    // Parts are not packed.
    assert_eq!(lab.rows("fragmented-gpus"), []);
}

#[test]
fn a_full_node_of_divided_devices_is_given_away() {
    // Eight cards in two halves of 3/7: 16 × 3/7 = 6.857143, and 8/7 of 8 are left over.
    let mut lab = Lab::of(
        vec![Node {
            devices: BTreeMap::from([(GPU.to_owned(), offered(slice(3), 16))]),
            ..node("a", 8)
        }],
        vec![claim("x", &slice(3), 16, "a")],
    );
    assert_eq!(lab.rows("unallocated-gpus"), []);
    // One can be requested: 8/7 + 3/7 = 11/7, of 8 × 1,000.
    lab.clusters.claims[0].devices.count = 15;
    let rows = lab.rows("unallocated-gpus");
    assert!(rows[0].1.contains("no pod requests 1.57 of"), "{rows:?}");
    assert!(rows[0].1.ends_with(": USD 1571.43 per month"), "{rows:?}");
    // One is not healthy.
    let devices = lab.clusters.nodes[0].devices.get_mut(GPU);
    devices.expect("it has some").allocatable = 15;
    assert_eq!(lab.rows("unallocated-gpus").len(), 1);
    // One instance divides one card: 8 − 3/7 are left of 8.
    lab.clusters.nodes[0].devices = BTreeMap::from([(GPU.to_owned(), offered(slice(3), 1))]);
    lab.clusters.claims[0].devices.count = 1;
    assert_eq!(lab.rows("unallocated-gpus").len(), 1);
}

#[test]
fn a_part_of_a_gpu_that_nothing_offers_is_unallocated() {
    // Half of an L4 without a device plugin: 8,000 a month for nothing.
    let bare = Node {
        physical: Some("0.5".parse().expect("a decimal")),
        devices: BTreeMap::new(),
        ..node("a", 1)
    };
    let lab = Lab::of(vec![bare], Vec::new());
    let expected = row(
        "i-a",
        "no pod requests 0.5 of the 0.5 GPUs of node a: USD 8000.00 per month",
        Some(8_000),
    );
    assert_eq!(lab.rows("unallocated-gpus"), [expected]);
}

#[test]
fn pods_without_gpus_keep_a_node() {
    let kept = Node { cpu_only_pods: Some(2), ..node("a", 8) };
    let busy = Node { cpu_only_pods: Some(9), ..node("b", 8) };
    let lab = Lab::of(vec![kept, busy], vec![whole("x", 1, "b")]);
    let expected = row("i-a", "node a has 8 GPUs and runs 2 pods that request none", None);
    assert_eq!(lab.rows("cpu-only-pods-on-gpu-node"), [expected]);
    let steps = |rule| lab.finding(rule).recommendation.steps;
    assert!(steps("unallocated-gpus")[0].contains("cpu-only-pods-on-gpu-node"));
    assert!(steps("cpu-only-pods-on-gpu-node")[1].contains("unallocated-gpus"));
    // The other finding about the node has the saving, once.
    assert_eq!(lab.rows("unallocated-gpus")[0].2, Some(8_000));
}

#[test]
fn what_works_without_a_request_is_not_removed_and_not_free() {
    let kept = Node { cpu_only_pods: Some(2), ..node("a", 8) };
    let lab = |most| {
        let mut lab = Lab::of(vec![kept.clone()], Vec::new());
        let maxima = [0.0, 0.0, most, 0.0, 0.0, 0.0, 0.0, 0.0];
        lab.usage.insert("a".to_owned(), usage("a", &maxima));
        lab
    };
    let idle = lab(0.9);
    assert_eq!(idle.rows("unallocated-gpus")[0].2, Some(8_000));
    let words = ", but GPUs were active without a request";
    for most in [1.0, 95.0] {
        let busy = lab(most);
        for rule in ["unallocated-gpus", "cpu-only-pods-on-gpu-node"] {
            let rows = busy.rows(rule);
            let [(_, title, savings)] = rows.as_slice() else {
                panic!("{rows:?}");
            };
            assert!(title.contains(words), "{title}");
            assert_eq!(*savings, None, "{rule}");
            let steps = busy.finding(rule).recommendation.steps;
            assert!(steps[0].starts_with("find out who"), "{steps:?}");
        }
    }

    // A pod waits for 5 of 4 + 4, of which 4 are in use.
    let mut pair =
        Lab::of(vec![node("a", 4), node("b", 8)], vec![whole("x", 4, "b"), pending("z", 5, 60)]);
    assert_eq!(pair.rows("fragmented-gpus").len(), 1);
    pair.usage.insert("a".to_owned(), usage("a", &[95.0; 4]));
    assert_eq!(pair.rows("fragmented-gpus"), []);
}

#[test]
fn a_pod_is_idle_by_metrics_that_name_it() {
    let mut lab = Lab::of(vec![node("a", 8)], vec![whole("x", 2, "a")]);
    lab.usage.insert("a".to_owned(), usage("a", &[90.0; 8]));
    lab.clusters.uses = vec![used("x", 0, "a", 240, 0.0), used("x", 1, "a", 240, 0.9)];
    // Two of eight, ten days.
    let expected = row(
        "search/x",
        "search/x (Deployment ranker) holds 2 GPUs of node a and has been idle for 10.0 days: \
         USD 2000.00 per month",
        None,
    );
    assert_eq!(lab.rows("idle-claim"), [expected]);
    let finding = lab.finding("idle-claim");
    assert_eq!(finding.evidence()[0].observed, 0.9);
    assert_eq!(finding.evidence()[1].observed, 240.0);
    // 20,480 MiB.
    assert!(finding.recommendation.steps[0].starts_with("up to 20.0 GiB"));
    assert_eq!(lab.silences(), []);

    // 1% on one of them, and a device without samples.
    lab.clusters.uses[1].max_percent = 1.0;
    assert_eq!(lab.rows("idle-claim"), []);
    assert_eq!(lab.silences(), []);
    lab.clusters.uses.pop();
    assert_eq!(lab.rows("idle-claim"), []);
    let unknown = "whether 1 pod uses the GPUs that they hold is unknown";
    let both = vec!["idle-claim", "oversized-claim"];
    assert_eq!(lab.silences(), [(unknown.to_owned(), both)]);
}

#[test]
fn a_pod_needs_a_day_of_samples_or_all_since_its_start() {
    let idle = |held: i64, measured: u64| {
        let mut lab = Lab::of(vec![node("a", 1)], vec![whole("x", 1, "a")]);
        lab.clusters.claims[0].since = Some(hours_ago(held));
        lab.clusters.uses = vec![used("x", 0, "a", measured, 0.0)];
        !lab.rows("idle-claim").is_empty()
    };
    assert!(idle(24, 24));
    assert!(idle(48, 24), "half of the time");
    assert!(!idle(49, 24), "less than half of the time");
    assert!(!idle(30, 23));
    assert!(idle(20, 18) && !idle(20, 17), "nine tenths since its start");
    assert!(idle(2, 2) && !idle(1, 1));
    // More of the window than there is of it cannot be asked for: 168 of 336 hours.
    assert!(idle(2_000, 168) && !idle(2_000, 167));
}

#[test]
fn without_such_metrics_only_an_idle_node_tells() {
    let lab = |maxima: &[f64]| {
        let mut lab = Lab::of(vec![node("a", 4)], vec![whole("x", 3, "a"), whole("y", 1, "a")]);
        lab.usage.insert("a".to_owned(), usage("a", maxima));
        lab
    };
    let idle = lab(&[0.0, 0.0, 0.5, 0.0]);
    assert_eq!(idle.rows("idle-claim").len(), 2);
    for maxima in [&[0.0, 0.0, 0.0, 5.0][..], &[0.0, 0.0, 0.0]] {
        assert_eq!(lab(maxima).rows("idle-claim"), [], "{maxima:?}");
        assert_eq!(lab(maxima).silences().len(), 1, "{maxima:?}");
    }
    // All devices of a node that works are one pod's.
    let mut busy_lab = Lab::of(vec![node("a", 1)], vec![whole("x", 1, "a")]);
    busy_lab.usage.insert("a".to_owned(), usage("a", &[5.0]));
    assert_eq!((busy_lab.rows("idle-claim"), busy_lab.silences()), (vec![], vec![]));
}

#[test]
fn samples_of_a_pod_of_the_same_name_before_it_tell_nothing() {
    let lab = |seconds: i64, n_samples, second| {
        let mut lab = Lab::of(vec![node("a", 2)], vec![whole("x", 2, "a")]);
        lab.clusters.claims[0].since = Some(as_of() - SignedDuration::from_secs(seconds));
        let device =
            |gpu, max_percent| DeviceUse { n_samples, ..used("x", gpu, "a", 0, max_percent) };
        lab.clusters.uses = vec![device(0, 0.0), device(1, second)];
        lab
    };
    let four_hours = 4 * 3_600;
    // 240 samples of a minute are four hours, and one more may be at either end.
    for (n_samples, speaks) in [(240, true), (241, true), (242, false), (6_000, false)] {
        let idle = lab(four_hours, n_samples, 0.0);
        assert_eq!(idle.rows("idle-claim").len(), usize::from(speaks));
        let oversized = lab(four_hours, n_samples, 80.0);
        assert_eq!(oversized.rows("oversized-claim").len(), usize::from(speaks), "{n_samples}");
        let silent = usize::from(!speaks);
        assert_eq!(idle.silences().len(), silent);
        assert_eq!(oversized.silences().len(), silent);
    }
}

#[test]
fn a_machine_that_was_not_measured_since_a_pod_started_tells_nothing() {
    let speaks = |held_minutes: i64, missing_hours: u64| {
        let mut lab = Lab::of(vec![node("a", 1)], vec![whole("x", 1, "a")]);
        lab.clusters.claims[0].since = Some(as_of() - SignedDuration::from_mins(held_minutes));
        let mut usage = usage("a", &[0.0]);
        // Twelve samples an hour. That CPU was not measured either hides the outage from
        // the running time.
        let count = 4_032 - 12 * missing_hours;
        let seconds = 14 * 86_400 - 3_600 * i64::try_from(missing_hours).expect("few");
        let maxima = usage.gpus[0].maxima.as_mut().expect("they are there");
        maxima.samples = Samples::over(count, seconds, 300);
        usage.running.running_seconds = seconds;
        lab.usage.insert("a".to_owned(), usage);
        !lab.rows("idle-claim").is_empty()
    };
    assert!(speaks(210, 0));
    // Nothing was measured in its three and a half hours.
    assert!(!speaks(210, 4));
    // 72 − 36 = 36 hours are half of its time, and more than a day.
    assert!(speaks(72 * 60, 36));
    assert!(!speaks(72 * 60, 37));
    // 40 − 4 = 36 hours.
    assert!(speaks(40 * 60, 4));
}

#[test]
fn a_pod_holds_more_than_it_uses() {
    let mut lab = Lab::of(vec![node("a", 8)], vec![whole("x", 4, "a")]);
    let device = |gpu, max| used("x", gpu, "a", 240, max);
    lab.clusters.uses = vec![device(0, 80.0), device(1, 0.0), device(2, 0.5), device(5, 1.0)];
    let expected = row(
        "search/x",
        "search/x (Deployment ranker) holds 4 GPUs of node a and never uses 2 of them: USD \
         2000.00 per month",
        None,
    );
    assert_eq!(lab.rows("oversized-claim"), [expected]);
    // A device of a pod of the same name before it.
    lab.clusters.uses.push(device(7, 0.0));
    assert_eq!(lab.rows("oversized-claim"), []);
    // None is active: idle-claim speaks.
    lab.clusters.uses = (0..4).map(|gpu| device(gpu, 0.0)).collect();
    assert_eq!(lab.rows("oversized-claim"), []);
    assert_eq!(lab.rows("idle-claim").len(), 1);
}

#[test]
fn pods_of_one_name_on_two_nodes_are_told_apart() {
    let mut lab =
        Lab::of(vec![node("a", 1), node("b", 1)], vec![whole("x", 1, "a"), whole("x", 1, "b")]);
    lab.clusters.uses = vec![used("x", 0, "a", 240, 0.0), used("x", 0, "b", 240, 0.0)];
    let subjects: Vec<String> = lab.rows("idle-claim").into_iter().map(|row| row.0).collect();
    assert_eq!(subjects, ["search/x@a", "search/x@b"]);
}

#[test]
fn devices_of_a_node_without_cpu_are_stranded() {
    let mut full = node("a", 8);
    full.cpu_millicores.requested = Some(90);
    let mut lab = Lab::of(vec![full], vec![whole("x", 6, "a")]);
    // Two of eight.
    let expected = row(
        "i-a",
        "2 GPUs of node a stay free because pods request 90.0% of its CPU: USD 2000.00 per month",
        None,
    );
    assert_eq!(lab.rows("stranded-host"), [expected]);
    lab.clusters.nodes[0].cpu_millicores.requested = Some(89);
    assert_eq!(lab.rows("stranded-host"), []);
    lab.clusters.nodes[0].memory_mib.requested = Some(95);
    assert_eq!(lab.rows("stranded-host").len(), 1);
    lab.clusters.nodes[0].is_cordoned = true;
    assert_eq!(lab.rows("stranded-host"), []);
}

#[test]
fn nodes_that_fewer_stand_in_for_are_named_and_saved() {
    let job = of("RayCluster", whole("z", 2, "c"));
    let daemon = of("DaemonSet", whole("d", 1, "c"));
    let lab = Lab::of(
        vec![node("a", 8), node("b", 8), node("c", 8)],
        vec![whole("x", 5, "a"), whole("y", 3, "b"), job, daemon],
    );
    // 5 + 3 + 2 = 10 do not fit on one node of 8. The two of the emptiest fit beside the five.
    // 3 + 5 + 5 are free.
    let expected = row(
        "lab/train/p4d.24xlarge",
        "13 free GPUs on 3 of 3 × p4d.24xlarge of pool train: the pods of 3 nodes fit on 2",
        Some(8_000),
    );
    assert_eq!(lab.rows("fragmented-gpus"), [expected]);
    let advice = lab.finding("fragmented-gpus").recommendation;
    assert_eq!(advice.steps[0], "cordon and drain c: 1 pod moves");
    assert!(advice.caveats[0].contains("RayCluster"), "{advice:?}");
}

#[test]
fn what_nothing_creates_again_does_not_move() {
    let mut bare = whole("y", 1, "b");
    bare.holder.owner = None;
    let mut lab = Lab::of(vec![node("a", 8), node("b", 8)], vec![whole("x", 8, "a"), bare]);
    assert_eq!(lab.rows("fragmented-gpus"), []);
    // Another pool, and a node on which no pod is placed.
    lab.clusters.claims = vec![whole("x", 1, "a"), whole("y", 1, "b")];
    assert_eq!(lab.rows("fragmented-gpus").len(), 1);
    lab.clusters.nodes[1].pool = None;
    assert_eq!(lab.rows("fragmented-gpus"), []);
    lab.clusters.nodes[1].pool = Some("train".to_owned());
    lab.clusters.nodes[0].is_cordoned = true;
    assert_eq!(lab.rows("fragmented-gpus"), []);
}

#[test]
fn a_pod_that_waits_needs_its_devices_on_one_node() {
    let fleet = |asked, minutes| {
        Lab::of(
            vec![node("a", 8), node("b", 8)],
            vec![
                whole("x", 5, "a"),
                whole("w", 1, "a"),
                whole("y", 6, "b"),
                pending("z", asked, minutes),
            ],
        )
    };
    // 2 + 2 are free: 3 do not fit on a node unless the one moves, 4 never do.
    let rows = fleet(3, 10).rows("fragmented-gpus");
    let [(_, title, savings)] = rows.as_slice() else {
        panic!("{rows:?}");
    };
    assert_eq!(
        title,
        "4 free GPUs on 2 of 2 × p4d.24xlarge of pool train, and no node has the 3 that a pod \
         waits for"
    );
    assert_eq!(*savings, None);
    assert_eq!(fleet(3, 9).rows("fragmented-gpus"), []);
    for asked in [2, 4, 5] {
        assert_eq!(fleet(asked, 60).rows("fragmented-gpus"), [], "{asked}");
    }
    // Nine are free, and no move gathers eight.
    let fives = Lab::of(
        vec![node("a", 8), node("b", 8), node("c", 8)],
        vec![whole("x", 5, "a"), whole("y", 5, "b"), whole("z", 5, "c"), pending("p", 8, 60)],
    );
    assert_eq!(fives.rows("fragmented-gpus"), []);
}

#[test]
fn pods_wait_beside_free_and_idle_devices() {
    let mut lab = Lab::of(
        vec![node("a", 8)],
        vec![
            whole("x", 7, "a"),
            pending("p", 2, 90),
            pending("q", 4, 10),
            // It has only just come.
            pending("r", 8, 9),
        ],
    );
    let device = |gpu| used("x", gpu, "a", 240, 0.0);
    lab.clusters.uses = (0..7).map(device).collect();
    let expected = row(
        "lab",
        "2 pods wait for 6 GPUs (longest: 90 minutes); free: 1 GPU, held by idle pods: 7 GPUs",
        None,
    );
    assert_eq!(lab.rows("pending-gpu-pods"), [expected]);
    // A node that is full of work.
    lab.clusters.uses.clear();
    lab.usage.insert("a".to_owned(), usage("a", &[50.0; 8]));
    lab.clusters.claims[0].devices.count = 8;
    assert_eq!(lab.rows("pending-gpu-pods"), []);
}

#[test]
fn devices_that_a_driver_allocates_are_claims_of_their_pod() {
    let mut claim = whole("x", 1, "a");
    claim.devices.resource = "gpu.nvidia.com".to_owned();
    let mut lab = Lab::of(vec![node("a", 8)], vec![claim.clone(), claim]);
    lab.clusters.nodes[0].devices =
        BTreeMap::from([("gpu.nvidia.com".to_owned(), offered(DeviceUnit::Whole, 8))]);
    lab.clusters.uses = vec![used("x", 3, "a", 240, 0.0), used("x", 6, "a", 240, 0.0)];
    let rows = lab.rows("idle-claim");
    // Two claims of one pod: two of eight.
    assert!(rows[0].1.contains("holds 2 GPUs of node a"), "{rows:?}");
    assert!(rows[0].1.ends_with(": USD 2000.00 per month"), "{rows:?}");
}

#[test]
fn what_was_not_read_is_one_gap_of_each_kind() {
    let unread = Node { pods: None, cpu_only_pods: None, ..node("a", 8) };
    let mut unsorted = node("b", 8);
    unsorted.cpu_only_pods = None;
    let mut uncounted = node("c", 8);
    uncounted.physical = None;
    let lab = Lab::of(vec![unread.clone(), unread, unsorted, uncounted], Vec::new());
    // The node without pods and the one without a number of GPUs leave two: of b, and none of c.
    assert_eq!(lab.rules(), ["unallocated-gpus"]);
    let expected = [
        ("what pods request of 2 nodes is unknown", kept_silent(CauseKind::PodsUnknown).to_vec()),
        ("which pods of 1 node request no GPU is unknown", vec!["cpu-only-pods-on-gpu-node"]),
        ("the number of physical GPUs of 1 node is unknown", vec!["unallocated-gpus"]),
    ];
    let expected = expected.map(|(words, rules)| (words.to_owned(), rules));
    assert_eq!(lab.silences(), expected);
    for (kind, rule) in
        [(CauseKind::PodsUnknown, "fragmented-gpus"), (CauseKind::PodUseUnknown, "idle-claim")]
    {
        assert!(keeps_silent(kind, rule));
        assert!(!keeps_silent(kind, "idle-gpu"));
    }
}

#[test]
fn nothing_is_said_of_no_cluster() {
    let lab = Lab::default();
    assert_eq!((lab.findings(), lab.silences()), (Vec::new(), Vec::new()));
    assert!(CLUSTER_RULES.is_sorted());
}

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
