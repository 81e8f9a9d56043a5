//! What pods cost by the devices that they hold: dollars by hand, and whatever the
//! clusters, nothing is lost or counted twice.

use crate::rules::builder::{Machine, as_of, estate, flat, g5};
use crate::rules::properties::{fleet, machines};
use gpucost::analysis::{ClaimKey, Showback, ShowbackPart, ShowbackSums, audit};
use gpucost::domain::{
    Claim, ClaimState, Clusters, DeviceUnit, DeviceUse, Devices, Holder, Lifecycle, Metric, Money,
    Node, NodeAmount, NodeDevices, Owner, Policy, ResourceId, Risk, Scheduler, Statistic,
};
use gpucost::usage::Estate;
use proptest::collection::vec;
use proptest::prelude::*;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

fn keys(names: &[&str]) -> Vec<ClaimKey> {
    names.iter().map(|name| ClaimKey::from_name(name).expect("a key")).collect()
}

fn node(machine: &str, physical: u32) -> Node {
    Node {
        name: format!("node-{machine}"),
        scheduler: Scheduler::Kubernetes,
        provider_id: None,
        cluster: Some("lab".to_owned()),
        machine: ResourceId::named(machine),
        physical: Some(Decimal::from(physical)),
        devices: BTreeMap::new(),
        price_class: None,
        pool: None,
        pool_maker: None,
        cpu_millicores: NodeAmount::default(),
        memory_mib: NodeAmount::default(),
        cpu_only_pods: None,
        pods: Some(0),
        is_ready: None,
        is_cordoned: false,
    }
}

const WHOLE: DeviceUnit = DeviceUnit::Whole;
const QUARTER: DeviceUnit = DeviceUnit::Replica { per_device: 4 };

fn slices(slices: u8) -> DeviceUnit {
    DeviceUnit::Slice { profile: format!("{slices}g"), slices, of: 7, replicas: 1 }
}

/// Devices that a pod, as `namespace/pod`, holds of a machine.
fn claim(machine: &str, holder: &str, unit: DeviceUnit, count: u32) -> Claim {
    let (namespace, pod) = holder.split_once('/').expect("a namespace and a pod");
    Claim {
        holder: Holder {
            placement: None,
            namespace: namespace.to_owned(),
            pod: Some(pod.to_owned()).filter(|pod| !pod.is_empty()),
            owner: None,
            labels: BTreeMap::new(),
        },
        devices: Devices { resource: "nvidia.com/gpu".to_owned(), unit, count },
        state: ClaimState::Running,
        since: None,
        machine: Some(ResourceId::named(machine)),
    }
}

fn used(machine: &str, gpu: u32, holder: &str, (n_samples, mean_percent): (u64, f64)) -> DeviceUse {
    let (namespace, pod) = holder.split_once('/').expect("a namespace and a pod");
    DeviceUse {
        machine: ResourceId::named(machine),
        gpu,
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
        n_samples,
        sample_seconds: 300,
        mean_percent,
        max_percent: 100.0,
    }
}

/// Four T4s for $3.912 an hour: $2,855.76 for 730 hours.
fn g4dn(id: &str) -> Machine {
    Machine::new(id, "g4dn.12xlarge").cpu(flat(5.0))
}

fn showback(machines: Vec<Machine>, clusters: &Clusters, names: &[&str]) -> Showback {
    let audit = audit(&estate(machines), &Policy::default(), Risk::Medium);
    let answer = Showback::of(&audit, clusters, &keys(names));
    assert_eq!(answer.total.monthly_cost, audit.totals.monthly_cost);
    assert_eq!(answer.as_of, as_of());
    answer
}

fn text(value: Option<impl ToString>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}

/// Part, values, pods, devices held and used, and cost in all, used, idle and unmeasured.
fn lines(showback: &Showback) -> Vec<String> {
    let rows = showback.rows.iter().map(|row| {
        let sums = &row.sums;
        let values: Vec<String> = row.values.iter().map(|value| text(value.as_ref())).collect();
        let money = [sums.monthly_cost, sums.used_cost, sums.idle_cost, sums.unmeasured_cost];
        format!(
            "{} {}: {} {} {} {}",
            row.part,
            values.join(","),
            sums.pods,
            text(sums.gpus_requested),
            text(sums.gpus_used),
            money.map(text).join(" ")
        )
    });
    rows.collect()
}

#[test]
fn whole_devices_cost_their_part_of_the_node() {
    let clusters = Clusters {
        nodes: vec![node("i-1", 4)],
        claims: vec![claim("i-1", "search/a", WHOLE, 1), claim("i-1", "vision/b", WHOLE, 2)],
        uses: vec![
            // (100 × 25% + 300 × 45%) / 400 = 40%.
            used("i-1", 0, "search/a", (100, 25.0)),
            used("i-1", 0, "search/a", (300, 45.0)),
            // One of two devices is not enough.
            used("i-1", 1, "vision/b", (400, 90.0)),
            // Without samples, nothing was measured.
            used("i-1", 2, "vision/b", (0, 90.0)),
        ],
    };
    let answer = showback(vec![g4dn("i-1")], &clusters, &["namespace"]);
    // A quarter of $2,855.76 is $713.94, of which 40% are $285.576.
    let expected = [
        "requested vision: 1 2 - $1,427.88 $0.00 $0.00 $1,427.88",
        "requested search: 1 1 0.4 $713.94 $285.58 $428.36 $0.00",
        "unallocated -: 0 - - $713.94 - - -",
    ];
    assert_eq!(lines(&answer), expected);
    assert_eq!(answer.total.pods, 2);
    assert_eq!(answer.total.gpus_requested, Some(Decimal::from(3)));
}

#[test]
fn a_device_whose_counter_stands_still_at_work_is_not_idle() {
    let draw = Metric::GpuPowerDraw;
    let still = g5("i-1").gpu(0, flat(0.0));
    let clusters = Clusters {
        nodes: vec![node("i-1", 1)],
        claims: vec![claim("i-1", "search/a", WHOLE, 1)],
        uses: vec![used("i-1", 0, "search/a", (400, 0.0))],
    };
    for (watts, parts) in [(57.0, "$734.38 $0.00"), (280.0, "$0.00 $734.38")] {
        let machine = still.clone();
        let machine = machine.series(draw, Statistic::Average, Some(0), flat(watts));
        let answer = showback(vec![machine], &clusters, &["namespace"]);
        let gpus = if watts > 93.45 { "-" } else { "0" };
        let expected = format!("requested search: 1 1 {gpus} $734.38 $0.00 {parts}");
        assert_eq!(lines(&answer), [expected]);
    }
}

#[test]
fn slices_cost_their_sevenths() {
    let clusters = Clusters {
        nodes: vec![node("i-1", 8)],
        claims: vec![
            claim("i-1", "a/one", slices(3), 1),
            // Allocated, and used by no pod.
            claim("i-1", "b/", slices(1), 4),
        ],
        uses: Vec::new(),
    };
    let machine = Machine::new("i-1", "p4d.24xlarge").cpu(flat(5.0));
    let answer = showback(vec![machine], &clusters, &["namespace"]);
    // $16,029.08 by 3/56, 4/56 and 49/56: 858.7007…, 1,144.9343… and 14,025.445. Rounded
    // down, a cent is left, and the last one lost most.
    let expected = [
        "unallocated -: 0 - - $14,025.45 - - -",
        "requested b: 0 0.571429 - $1,144.93 $0.00 $0.00 $1,144.93",
        "requested a: 1 0.428571 - $858.70 $0.00 $0.00 $858.70",
    ];
    assert_eq!(lines(&answer), expected);
}

#[test]
fn replicas_have_the_mean_of_the_device_that_they_share() {
    let pods = ["nb/a", "nb/b", "nb/c"];
    let clusters = Clusters {
        nodes: vec![node("i-1", 1)],
        claims: pods.map(|pod| claim("i-1", pod, QUARTER, 1)).to_vec(),
        uses: pods.map(|pod| used("i-1", 0, pod, (10, 50.0))).to_vec(),
    };
    let answer = showback(vec![g5("i-1")], &clusters, &["namespace"]);
    // $734.38 in four: 183.595 each, so two of 183.60 and two of 183.59. Half of each
    // pod's is 91.80, 91.80 and, of 91.795, 91.80.
    let expected = [
        "requested nb: 3 0.75 0.375 $550.79 $275.40 $275.39 $0.00",
        "unallocated -: 0 - - $183.59 - - -",
    ];
    assert_eq!(lines(&answer), expected);
}

#[test]
fn what_is_requested_twice_is_paid_for_once() {
    let clusters = Clusters {
        nodes: vec![node("i-1", 4)],
        claims: vec![
            claim("i-1", "a/one", WHOLE, 3),
            claim("i-1", "b/two", WHOLE, 3),
            Claim {
                state: ClaimState::Pending,
                machine: None,
                ..claim("i-1", "c/waits", WHOLE, 8)
            },
        ],
        uses: Vec::new(),
    };
    let answer = showback(vec![g4dn("i-1")], &clusters, &["namespace"]);
    let expected = [
        "requested a: 1 3 - $1,427.88 $0.00 $0.00 $1,427.88",
        "requested b: 1 3 - $1,427.88 $0.00 $0.00 $1,427.88",
    ];
    assert_eq!(lines(&answer), expected);
}

#[test]
fn what_is_not_known_has_a_row_of_its_own() {
    let unread = Node { pods: None, ..node("i-unread", 1) };
    // In no catalog, and not in the audit.
    let unpriced = [node("i-z", 1), node("i-gone", 1)];
    let bare = Node { physical: None, ..node("i-bare", 1) };
    let offering = Node {
        physical: None,
        devices: BTreeMap::from([(
            "nvidia.com/gpu".to_owned(),
            NodeDevices { unit: QUARTER, capacity: 4, allocatable: 4 },
        )]),
        ..node("i-4", 1)
    };
    let clusters = Clusters {
        nodes: [&[unread, bare, offering][..], &unpriced].concat(),
        claims: vec![
            claim("i-unread", "a/one", WHOLE, 1),
            claim("i-z", "b/two", WHOLE, 1),
            claim("i-gone", "b/three", WHOLE, 1),
            claim("i-4", "c/four", QUARTER, 1),
        ],
        uses: Vec::new(),
    };
    let mut spot = g5("i-4");
    spot.instance.lifecycle = Lifecycle::Spot;
    let machines = vec![
        g5("i-unread"),
        g5("i-bare"),
        spot,
        g5("i-other"),
        Machine::new("i-z", "z9.large").cpu(flat(5.0)),
    ];
    let answer = showback(machines, &clusters, &["namespace"]);
    // $1.006 an hour are $734.38; $0.6086 on the spot market are $444.28, of which a
    // quarter is held and $333.21 are not: with the bare node, $1,067.59.
    let expected = [
        "unallocated -: 0 - - $1,067.59 - - -", "unknown -: 0 - - $734.38 - - -",
        "not-in-cluster -: 0 - - $734.38 - - -",
        "requested c: 1 0.25 - $111.07 $0.00 $0.00 $111.07", "requested b: 2 2 - - - - -",
    ];
    assert_eq!(lines(&answer), expected);
    assert_eq!(answer.rows[4].sums.unpriced_nodes, 2);
    assert_eq!(answer.total.unpriced_nodes, 2);
}

/// Three nodes of one workload; the last one is idle.
fn alike() -> Vec<Machine> {
    [("i-1", 60.0), ("i-2", 60.0), ("i-3", 0.0)]
        .map(|(id, level)| {
            g5(id).tag("gpucost:workload", "rank").gpu(0, flat(level)).vram(0, 100.0, 23_028.0)
        })
        .to_vec()
}

#[test]
fn a_pod_that_has_the_whole_node_has_its_mean() {
    let machines = ["i-1", "i-2", "i-3"];
    let clusters = Clusters {
        nodes: machines.map(|id| node(id, 1)).to_vec(),
        claims: vec![
            claim("i-1", "a/one", WHOLE, 1),
            // Two claims of one pod.
            claim("i-2", "a/two", QUARTER, 2),
            claim("i-2", "a/two", slices(1), 0),
            claim("i-2", "a/two", QUARTER, 2),
            claim("i-3", "a/three", WHOLE, 1),
        ],
        uses: Vec::new(),
    };
    let answer = showback(alike(), &clusters, &["cluster", "node"]);
    // 60% of $734.38 are $440.63, and twice 60% of $367.19 are twice $220.31.
    let expected = [
        "requested lab,node-i-1: 1 1 0.6 $734.38 $440.63 $293.75 $0.00",
        "requested lab,node-i-2: 1 1 0.6 $734.38 $440.62 $293.76 $0.00",
        "requested lab,node-i-3: 1 1 0 $734.38 $0.00 $734.38 $0.00",
    ];
    assert_eq!(lines(&answer), expected);

    // Two pods on one node: either of them may have worked.
    let two = Clusters {
        claims: vec![claim("i-1", "a/one", QUARTER, 2), claim("i-1", "b/two", QUARTER, 2)],
        ..clusters
    };
    let answer = showback(alike(), &two, &["namespace"]);
    let expected = [
        "unallocated -: 0 - - $1,468.76 - - -", "requested a: 1 0.5 - $367.19 $0.00 $0.00 $367.19",
        "requested b: 1 0.5 - $367.19 $0.00 $0.00 $367.19",
    ];
    assert_eq!(lines(&answer), expected);
}

#[test]
fn owners_labels_and_pools_are_keys() {
    let mut owned = claim("i-1", "search/a-0", WHOLE, 1);
    owned.holder.owner = Some(Owner { kind: "Deployment".to_owned(), name: "a".to_owned() });
    let labels = [("team".to_owned(), "blue".to_owned())];
    owned.holder.labels = BTreeMap::from(labels);
    let clusters = Clusters {
        nodes: vec![Node { pool: Some("gpu".to_owned()), ..node("i-1", 4) }],
        claims: vec![
            owned,
            claim("i-1", "search/alone", WHOLE, 1),
            claim("i-1", "search/", WHOLE, 1),
        ],
        uses: Vec::new(),
    };
    let names = ["owner", "label:team", "pool"];
    let answer = showback(vec![g4dn("i-1")], &clusters, &names);
    let values: Vec<String> = answer
        .rows
        .iter()
        .map(|row| {
            let values = row.values.iter().map(|value| text(value.as_ref()));
            format!("{}: {}", row.part, values.collect::<Vec<_>>().join(", "))
        })
        .collect();
    let expected = [
        "requested: -, -, gpu", "requested: search/Deployment a, blue, gpu",
        "requested: search/Pod alone, -, gpu", "unallocated: -, -, gpu",
    ];
    assert_eq!(values, expected);
}

#[derive(Debug, Clone)]
struct ClaimDraft {
    namespace: &'static str,
    pod: &'static str,
    team: Option<&'static str>,
    unit: DeviceUnit,
    count: u32,
    is_pending: bool,
    /// Samples and their mean.
    used: Option<(u64, f64)>,
}

#[derive(Debug, Clone)]
struct NodeDraft {
    is_node: bool,
    has_pods: bool,
    physical: Option<u32>,
    claims: Vec<ClaimDraft>,
}

fn claim_draft() -> impl Strategy<Value = ClaimDraft> {
    let units = vec![WHOLE, QUARTER, slices(1), slices(3)];
    let holder = (
        prop::sample::select(vec!["a", "b", "c"]),
        prop::sample::select(vec!["0", "1", ""]),
        prop::option::of(prop::sample::select(vec!["red", "blue"])),
    );
    let devices = (prop::sample::select(units), 0..5_u32, prop::bool::weighted(0.1));
    let used = prop::option::of((0..5_000_u64, 0.0..=100.0_f64));
    (holder, devices, used).prop_map(|(holder, devices, used)| ClaimDraft {
        namespace: holder.0,
        pod: holder.1,
        team: holder.2,
        unit: devices.0,
        count: devices.1,
        is_pending: devices.2,
        used,
    })
}

fn node_draft() -> impl Strategy<Value = NodeDraft> {
    (
        prop::bool::weighted(0.8),
        prop::bool::weighted(0.9),
        prop::option::weighted(0.9, 0..9_u32),
        vec(claim_draft(), 0..6),
    )
        .prop_map(|(is_node, has_pods, physical, claims)| NodeDraft {
            is_node,
            has_pods,
            physical,
            claims,
        })
}

fn clusters_of(estate: &Estate, drafts: &[NodeDraft]) -> Clusters {
    let mut clusters = Clusters::default();
    let nodes = estate.instances.iter().zip(drafts);
    for (instance, draft) in nodes.filter(|(_, draft)| draft.is_node) {
        let id = instance.id.as_str();
        clusters.nodes.push(Node {
            pods: draft.has_pods.then_some(1),
            physical: draft.physical.map(Decimal::from),
            ..node(id, 0)
        });
        for (gpu, drawn) in (0..).zip(&draft.claims) {
            let holder = format!("{}/{}", drawn.namespace, drawn.pod);
            let mut held = claim(id, &holder, drawn.unit.clone(), drawn.count);
            let labels = drawn.team.iter();
            held.holder.labels =
                labels.map(|team| ("team".to_owned(), (*team).to_owned())).collect();
            if drawn.is_pending {
                held.state = ClaimState::Pending;
                held.machine = None;
            }
            clusters.claims.push(held);
            let own = drawn.used.map(|figures| used(id, gpu, &holder, figures));
            clusters.uses.extend(own);
        }
    }
    clusters
}

const FIGURES: [fn(&ShowbackSums) -> Option<Money>; 4] = [
    |sums| sums.monthly_cost,
    |sums| sums.used_cost,
    |sums| sums.idle_cost,
    |sums| sums.unmeasured_cost,
];

fn amount(money: Option<Money>) -> Decimal {
    money.map_or(Decimal::ZERO, Money::amount)
}

fn check(answer: &Showback, total: Option<Money>) -> Result<(), TestCaseError> {
    prop_assert_eq!(amount(answer.total.monthly_cost), amount(total));
    for figure in FIGURES {
        let amounts = answer.rows.iter().map(|row| amount(figure(&row.sums)));
        let amounts: Vec<Decimal> = amounts.collect();
        prop_assert!(amounts.iter().all(|value| *value >= Decimal::ZERO));
        let sum: Decimal = amounts.iter().sum();
        prop_assert_eq!(sum, sum.round_dp(2));
        prop_assert_eq!(sum, amount(figure(&answer.total)));
    }
    for row in &answer.rows {
        let sums = &row.sums;
        let parts: Decimal = FIGURES[1..].iter().map(|figure| amount(figure(sums))).sum();
        if row.part == ShowbackPart::Requested {
            prop_assert_eq!(parts, amount(sums.monthly_cost));
        } else {
            prop_assert_eq!(parts, Decimal::ZERO);
            prop_assert_eq!(sums.gpus_requested, None);
        }
        prop_assert!(sums.gpus_used <= sums.gpus_requested);
    }
    Ok(())
}

/// Cost and its parts by part and by the value of the first key.
type ByFirst = BTreeMap<(ShowbackPart, Option<String>), [Decimal; 4]>;

fn by_first(answer: &Showback) -> ByFirst {
    let mut sums = ByFirst::new();
    for row in &answer.rows {
        let sum = sums.entry((row.part, row.values[0].clone())).or_default();
        for (sum, figure) in sum.iter_mut().zip(FIGURES) {
            *sum += amount(figure(&row.sums));
        }
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn rows_of_any_cluster_sum_to_the_audit(drafts in fleet(), nodes in vec(node_draft(), 6)) {
        let estate = estate(machines(&drafts));
        let clusters = clusters_of(&estate, &nodes);
        let audit = audit(&estate, &Policy::default(), Risk::Medium);
        for names in [
            &["namespace"][..],
            &["owner", "label:team"],
            &["cluster", "pool", "node"],
        ] {
            let coarse = Showback::of(&audit, &clusters, &keys(names));
            check(&coarse, audit.totals.monthly_cost)?;
            let finer = [names, &["label:team", "node"]].concat();
            let fine = Showback::of(&audit, &clusters, &keys(&finer));
            check(&fine, audit.totals.monthly_cost)?;
            prop_assert_eq!(by_first(&fine), by_first(&coarse));
            prop_assert_eq!(fine.total, coarse.total);
        }
    }
}
