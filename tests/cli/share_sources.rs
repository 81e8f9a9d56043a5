//! Tenants of `gpucost share` that nobody typed: pods of a cluster, and processes of a
//! profile.

use crate::cli::estates::{PERIODS, START, one, series};
use crate::cli::unread_clusters::{node, pod, proxy};
use crate::cli::world::World;
use serde_json::{Value, json};

fn way<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let mut ways = answer["methods"].as_array().expect("a list").iter();
    ways.find(|way| way["method"] == name).expect("every way")
}

fn step(answer: &Value, name: &str) -> Value {
    let mut steps = answer["steps"].as_array().expect("a list").iter();
    let step = steps.find(|step| step["name"] == name);
    step.expect("the step")["result"].clone()
}

fn placement<'a>(answer: &'a Value, tenant: &str) -> &'a Value {
    let mut placements = answer["placements"].as_array().expect("a list").iter();
    let placement = placements.find(|placement| placement["tenant"] == tenant);
    placement.unwrap_or_else(|| panic!("{tenant}: {answer}"))
}

/// Names of tenants, in order.
fn tenants(answer: &Value) -> Vec<&str> {
    let placements = answer["placements"].as_array().expect("a list").iter();
    let mut names: Vec<&str> =
        placements.map(|placement| placement["tenant"].as_str().expect("a name")).collect();
    names.sort_unstable();
    names
}

fn skipped(answer: &Value) -> Vec<(&str, &str)> {
    // Absent where everything was placed.
    let rows = answer["left_out"].as_array().into_iter().flatten();
    rows.map(|tenant| {
        let name = tenant["name"].as_str().expect("a name");
        (name, tenant["reason"].as_str().expect("a reason"))
    })
    .collect()
}

/// A use of a GPU by a pod, as a metric server reports it.
fn used(machine: &str, gpu: u32, namespace: &str, pod: &str) -> Value {
    json!({
        "machine": machine, "gpu": gpu, "namespace": namespace, "pod": pod,
        "n_samples": 20_160, "sample_seconds": 60, "mean_percent": 30.0, "max_percent": 60.0,
    })
}

/// Pods of three nodes with one GPU each: the node, the namespace, the name, and how busy the
/// GPU is in the first and in the second half of a day.
const PODS: [(&str, &str, &str, [f64; 2]); 3] = [
    ("a", "search", "ranker-0", [10.0, 60.0]),
    ("b", "search", "ranker-1", [60.0, 10.0]),
    ("c", "ads", "bidder-0", [10.0, 60.0]),
];

/// The account with what a metric server says of its GPUs and of the pods that use them.
fn account() -> Value {
    let mut estate = one();
    let template = estate["instances"][0].clone();
    let (mut instances, mut metrics, mut uses) = (Vec::new(), Vec::new(), Vec::new());
    for (node, namespace, pod, [first, second]) in PODS {
        let id = format!("i-{node}");
        let mut instance = template.clone();
        instance["id"] = json!(id);
        instance["tags"] = json!({"Name": format!("node-{node}")});
        instances.push(instance);
        metrics.push(series(&id, None, "cpu_utilization", "average", 30.0));
        metrics.push(series(&id, Some(0), "gpu_memory_used", "maximum", 8_192.0));
        metrics.push(series(&id, Some(0), "gpu_memory_total", "maximum", 23_028.0));
        let half = PERIODS / 28;
        let days: Vec<Value> =
            (0..14).flat_map(|_| [json!([first, half]), json!([second, half])]).collect();
        for statistic in ["average", "maximum"] {
            let mut one = series(&id, Some(0), "gpu_utilization", statistic, 0.0);
            one["start"] = json!(START);
            one["values"] = json!(days);
            metrics.push(one);
        }
        uses.push(used(&id, 0, namespace, pod));
    }
    estate["instances"] = json!(instances);
    estate["metrics"] = json!(metrics);
    estate["uses"] = json!(uses);
    estate
}

/// What kubectl prints of the same nodes and pods.
fn cluster() -> Value {
    let plugin = json!({"nvidia.com/gpu": "1"});
    let mut objects = Vec::new();
    for (on, namespace, name, _) in PODS {
        let container = json!({"resources": {"limits": {"nvidia.com/gpu": "1"}}});
        let spec = json!({"nodeName": on, "containers": [container]});
        objects.extend([node(on, &plugin), proxy(on), pod(namespace, name, &spec)]);
    }
    json!({"apiVersion": "v1", "kind": "List", "items": objects})
}

#[test]
fn pods_of_a_cluster_share_with_those_of_their_namespace() {
    let world = World::new();
    let path = world.estate("account.json", &account());
    let objects = world.file("cluster.json", cluster().to_string());
    let asked = ["share", "--from", &path, "--from-kubectl", &objects, "--format", "json"];
    let outcome = world.run(&[&asked[..], &["--class", "trusted"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answer = outcome.json();
    let names = ["ads/bidder-0/gpu0", "search/ranker-0/gpu0", "search/ranker-1/gpu0"];
    assert_eq!(tenants(&answer), names);
    assert!(skipped(&answer).is_empty(), "{answer}");
    // The two of a namespace are never busy together: 60 + 10, not 60 + 60; 2 × 8 192 × 1.2 =
    // 19 661 MiB. The third belongs to another namespace.
    let [own, first, second] = names.map(|name| placement(&answer, name));
    assert_eq!((&first["owner"], &own["owner"]), (&json!("search"), &json!("ads")));
    assert_eq!((&first["mode"], &own["mode"]), (&json!("mps"), &json!("whole")));
    assert_eq!((&first["instance"], &first["gpu"]), (&second["instance"], &second["gpu"]));
    assert_ne!(first["instance"], own["instance"]);
    assert_eq!(
        (&first["resource"], &own["resource"]),
        (&json!("nvidia.com/gpu.shared"), &json!("nvidia.com/gpu"))
    );
    let source = first["source"].as_str().expect("text");
    assert!(source.ends_with("samples, 336 hours"), "{source}");
    let cards = answer["cards"].as_array().expect("a list");
    let shared = cards.iter().find(|card| card["mode"] == "mps").expect("a card");
    assert_eq!(
        (&shared["peak_percent"], &shared["separate_peaks_percent"]),
        (&json!(70.0), &json!(120.0))
    );
    // Two of the three instances: 734.38 less.
    assert_eq!(way(&answer, "MPS")["instances"], 2);
    assert_eq!(step(&answer, "shared, per month"), 1_468.76);
    assert_eq!(step(&answer, "saved per month"), 734.38);
    // As production they have slices or nothing, and an A10G has no slices.
    let answer = world.run(&asked).json();
    let headline = answer["headline"].as_str().expect("text");
    assert!(headline.starts_with("3 tenants cannot share"), "{headline}");
}

/// A p4d.24xlarge of a cluster: four pods with a GPU each, one with two together, and two
/// GPUs that nobody has.
fn node_of_eight() -> Value {
    let mut estate = one();
    estate["instances"][0]["id"] = json!("i-big");
    estate["instances"][0]["instance_type"] = json!("p4d.24xlarge");
    estate["instances"][0]["tags"] = json!({"Name": "big"});
    let mut metrics = vec![series("i-big", None, "cpu_utilization", "average", 30.0)];
    let (mut uses, mut claims) = (Vec::new(), Vec::new());
    let mut claim = |pod: &str, count: u32| {
        claims.push(json!({
            "namespace": "search", "pod": pod, "resource": "nvidia.com/gpu", "count": count,
            "state": "running", "since": "2026-10-10T00:00:00Z", "machine": "i-big",
        }));
    };
    for gpu in 0..8_u16 {
        let (percent, used_mib) = match gpu {
            0..=3 => (20.0, 8_000.0),
            4..=5 => (90.0, 30_000.0),
            _ => (0.0, 0.0),
        };
        for statistic in ["average", "maximum"] {
            let one = series("i-big", Some(gpu), "gpu_utilization", statistic, percent);
            metrics.push(one);
        }
        for (metric, mib) in [("gpu_memory_used", used_mib), ("gpu_memory_total", 40_960.0)] {
            metrics.push(series("i-big", Some(gpu), metric, "maximum", mib));
        }
        match gpu {
            0..=3 => {
                let name = format!("ranker-{gpu}");
                claim(&name, 1);
                uses.push(used("i-big", u32::from(gpu), "search", &name));
            }
            4..=5 => uses.push(used("i-big", u32::from(gpu), "search", "trainer-0")),
            _ => {}
        }
    }
    claim("trainer-0", 2);
    estate["metrics"] = json!(metrics);
    estate["uses"] = json!(uses);
    estate["claims"] = json!(claims);
    estate["nodes"] = json!([{
        "name": "big", "cluster": "lab", "machine": "i-big", "physical": "8",
        "devices": {"nvidia.com/gpu": {"unit": {}, "capacity": 8, "allocatable": 8}},
        "cpu_millicores": {"capacity": 96_000, "allocatable": 95_000},
        "memory_mib": {"capacity": 1_152_000, "allocatable": 1_100_000},
    }]);
    estate
}

#[test]
fn pods_of_one_gpu_each_move_onto_slices_of_fewer_cards() {
    let world = World::new();
    let path = world.estate("lab.json", &node_of_eight());
    let outcome = world.run(&["share", "--from", &path, "--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answer = outcome.json();
    let names = [0, 1, 2, 3].map(|number| format!("search/ranker-{number}/gpu{number}"));
    assert_eq!(tenants(&answer), names);
    // 8 000 × 1.2 = 9 600 of the 9 856 MiB of a 2g.10gb, and 20 × 7 / 2 = 70 of 80%. Three of
    // them are on a card, because seven slices are three times two: two cards for four.
    for name in &names {
        let one = placement(&answer, name);
        assert_eq!((&one["slice"], &one["vram_needed_mib"]), (&json!("2g.10gb"), &json!(9_600.0)));
        assert_eq!(one["resource"], "nvidia.com/mig-2g.10gb");
    }
    assert_eq!(step(&answer, "its peak on the slice"), 70.0);
    let mig = way(&answer, "MIG");
    assert_eq!(
        (&mig["cards"], &mig["least_cards"], &mig["instances"]),
        (&json!(2), &json!(2), &json!(1))
    );
    // The instance stays for the pod with two GPUs: it is not known to be saved.
    let headline = answer["headline"].as_str().expect("text");
    assert!(headline.starts_with("sharing frees no instance. 4 tenants"), "{headline}");
    let caveats = answer["caveats"].to_string();
    assert!(caveats.contains("on 1 of 1 instance of today"), "{caveats}");
    // The pod with two GPUs is none of them, and says why in the words of its node.
    let others = skipped(&answer);
    let [(name, reason)] = others.as_slice() else {
        panic!("one is left out: {answer}");
    };
    assert_eq!(*name, "big");
    assert!(reason.starts_with("unknown may use several GPUs together"), "{reason}");
    // GPUs that nobody has keep nobody from sharing, and are no tenants.
    let mut alone = node_of_eight();
    let metrics = alone["metrics"].as_array_mut().expect("a list");
    for series in metrics.iter_mut().filter(|series| {
        let is_of_trainer = series["gpu"] == 4 || series["gpu"] == 5;
        is_of_trainer && series["metric"] != "gpu_memory_total"
    }) {
        series["values"] = json!([[0.0, PERIODS]]);
    }
    alone["uses"].as_array_mut().expect("a list").truncate(4);
    alone["claims"].as_array_mut().expect("a list").truncate(4);
    let path = world.estate("alone.json", &alone);
    let outcome = world.run(&["share", "--from", &path, "--format", "json"]);
    let answer = outcome.json();
    assert_eq!(tenants(&answer), names);
    assert!(skipped(&answer).is_empty(), "{answer}");
    // A pod whose GPU is idle has a better advice than a slice.
    let metrics = alone["metrics"].as_array_mut().expect("a list");
    for series in metrics
        .iter_mut()
        .filter(|series| series["gpu"] == 3 && series["metric"] != "gpu_memory_total")
    {
        series["values"] = json!([[0.0, PERIODS]]);
    }
    let path = world.estate("idle.json", &alone);
    let outcome = world.run(&["share", "--from", &path, "--format", "json"]);
    let answer = outcome.json();
    assert_eq!(tenants(&answer), names[..3]);
    assert_eq!(skipped(&answer), [("search/ranker-3/gpu3", "its GPU is idle: it can be released")]);
}

#[test]
fn a_cluster_without_metrics_has_no_tenants_and_says_why() {
    let world = World::new();
    let objects = world.file("cluster.json", cluster().to_string());
    let asked = ["share", "--from-kubectl", &objects];
    let outcome = world.run(&[&asked[..], &["--as-of", "2026-11-01T00:00:00Z"]].concat());
    assert_eq!((outcome.code, outcome.stdout.as_str()), (4, ""));
    for expected in [
        "error: no tenant for the GPUs of this estate: ",
        ": utilization of each GPU was not measured\nhint: ",
    ] {
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
}

/// A GPU in a sample: how busy it is, and its processes with their memory.
type Row<'a> = (f64, Option<&'a [(u32, &'a str, Option<u64>)]>);

/// A minute of samples of some GPUs.
fn profile(gpus: &[Row<'_>]) -> String {
    let name = "NVIDIA A100-SXM4-40GB";
    let identity = |index: usize| json!({"index": index, "name": name, "vram_total_mib": 40_960.0});
    let identities: Vec<Value> = (0..gpus.len()).map(identity).collect();
    let header = json!({
        "samples_version": "1", "gpucost_version": "0.1.0", "started": "2026-11-20T09:00:00Z",
        "interval_seconds": 1.0, "is_command": false, "gpus": identities,
    });
    let mut text = format!("{header}\n");
    for second in 0..60 {
        let readings: Vec<Value> = gpus
            .iter()
            .map(|(percent, processes)| {
                let mut reading = json!({
                    "utilization_percent": percent, "vram_used_mib": 20_000.0,
                    "vram_total_mib": 40_960.0,
                });
                if let Some(processes) = processes {
                    let process = |(pid, name, mib): &(u32, &str, Option<u64>)| {
                        let mut one = json!({"pid": pid, "name": name});
                        if let Some(mib) = mib {
                            one["vram_mib"] = json!(mib);
                        }
                        one
                    };
                    let processes: Vec<Value> = processes.iter().map(process).collect();
                    reading["processes"] = json!(processes);
                }
                reading
            })
            .collect();
        let sample = json!({
            "at_seconds": f64::from(second), "time": format!("2026-11-20T09:00:{second:02}Z"),
            "gpus": readings,
        });
        text.push_str(&format!("{sample}\n"));
    }
    text
}

fn share_processes(text: &str, more: &[&str]) -> Value {
    let world = World::new();
    let path = world.file("run.jsonl", text);
    let asked =
        ["share", "--offline", "--type", "p4d.24xlarge", "--processes", &path, "--format", "json"];
    let outcome = world.run(&[&asked[..], more].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

#[test]
fn processes_of_a_profile_share_as_tenants_that_are_typed() {
    let on_two = [(12, "torchrun", Some(30_000))];
    let text = profile(&[
        (33.0, Some(&[(10, "chat", Some(10_240))])),
        (33.0, Some(&[(11, "search", Some(10_240))])),
        (90.0, Some(&on_two)),
        (90.0, Some(&on_two)),
        (50.0, Some(&[(13, "hidden", None)])),
        (50.0, None),
        (0.0, Some(&[])),
    ]);
    let answer = share_processes(&text, &[]);
    // As in the example of the page: 10 240 × 1.2 = 12 288 MiB on a 3g.20gb, 33 × 7 / 3 = 77.
    assert_eq!(tenants(&answer), ["chat/10/gpu0", "search/11/gpu1"]);
    let one = placement(&answer, "chat/10/gpu0");
    assert_eq!(
        (&one["slice"], &one["vram_needed_mib"], &one["peak_percent"], &one["source"]),
        (&json!("3g.20gb"), &json!(12_288.0), &json!(33.0), &json!("60 samples of its GPU"))
    );
    assert_eq!(step(&answer, "its peak on the slice"), 77.0);
    assert_eq!(step(&answer, "cards"), 1);
    assert_eq!(
        skipped(&answer),
        [
            ("torchrun/12/gpu2", "it uses several GPUs together"),
            ("torchrun/12/gpu3", "it uses several GPUs together"),
            ("hidden/13/gpu4", "the driver did not report its memory"),
            ("gpu5", "its processes were not sampled"),
        ]
    );
}

#[test]
fn processes_of_one_gpu_have_its_peak_each() {
    // Two notebooks on a GPU that is at 30%: which of them works is not measured, so that both
    // have 30%, and 60 at once. A third with 30% would be above 80, on its own GPU or another.
    let both = [(20, "a", Some(4_096)), (21, "b", Some(4_096))];
    let text = profile(&[(30.0, Some(&both)), (30.0, Some(&[(22, "c", Some(4_096))]))]);
    let answer = share_processes(&text, &["--class", "development"]);
    let sliced = way(&answer, "time-slicing");
    assert_eq!((&sliced["cards"], &sliced["least_cards"]), (&json!(2), &json!(2)));
    for name in ["a/20/gpu0", "b/21/gpu0", "c/22/gpu1"] {
        assert_eq!(placement(&answer, name)["peak_percent"], 30.0);
    }
}

#[test]
fn a_profile_without_processes_has_no_tenants_and_says_why() {
    let world = World::new();
    let log = "timestamp,index,name,utilization.gpu [%],memory.used [MiB],memory.total [MiB]\n\
               2026/01/03 12:00:00.000,0,NVIDIA A10G,40 %,100 MiB,23028 MiB\n\
               2026/01/03 12:00:01.000,0,NVIDIA A10G,40 %,100 MiB,23028 MiB\n";
    let path = world.file("log.csv", log);
    let asked = ["share", "--offline", "--type", "g5.xlarge", "--processes", &path];
    let outcome = world.run(&asked);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (4, ""));
    let expected = "log.csv: gpu0: its processes were not sampled\nhint: ";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    // What is not a file of samples is refused by its name.
    let path = world.file("none.jsonl", "{\"samples_version\": \"1\"}\n");
    let asked = [&asked[..5], &[path.as_str()]].concat();
    let outcome = world.run(&asked);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("none.jsonl"), "{}", outcome.stderr);
}
