//! `inventory`, `metrics` and `setup metrics`: what is unknown is said to be,
//! and what cannot be seen is listed.

use crate::cli::estates::{PERIODS, START, one};
use crate::cli::world::{Outcome, World};
use serde_json::{Value, json};

/// An instance that differs from the one at hand.
fn instance(id: &str, instance_type: &str, state: &str) -> Value {
    let mut instance = one()["instances"][0].clone();
    instance["id"] = json!(id);
    instance["instance_type"] = json!(instance_type);
    instance["state"] = json!(state);
    instance["tags"] = json!({"Name": format!("name of {id}"), "team": "=search"});
    instance
}

fn estate(instances: Vec<Value>) -> Value {
    json!({"estate_version": "1", "as_of": "2026-11-01T00:00:00Z", "instances": instances})
}

/// A stopped g5.2xlarge with two volumes and an address beside a running one.
fn half_stopped() -> Value {
    let mut stopped = instance("i-stopped", "g5.2xlarge", "stopped");
    stopped["volumes"] = json!([
        {"id": "vol-1", "volume_type": "gp3", "size_gib": 100},
        {"id": "vol-2", "volume_type": "gp3", "size_gib": 28},
    ]);
    stopped["addresses"] = json!([{"id": "eipalloc-7"}]);
    estate(vec![stopped, instance("i-running", "g5.xlarge", "running")])
}

/// Rows of a CSV document by column.
fn csv_rows(text: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().map(|row| row.expect("a row")).collect()
}

fn listed(world: &World, path: &str, format: &str) -> Outcome {
    world.run(&["inventory", "--from", path, "--format", format])
}

#[test]
fn volumes_and_addresses_that_were_not_read_are_not_none() {
    let world = World::new();
    let path = world.estate("estate.json", &half_stopped());
    let document = listed(&world, &path, "json").json();
    let rows = document["instances"].as_array().expect("a list");
    let (stopped, running) = (&rows[0], &rows[1]);
    assert_eq!((&running["volumes"], &running["addresses"]), (&Value::Null, &Value::Null));
    assert_eq!(stopped["volumes"][1]["size_gib"], 28);
    assert_eq!(stopped["addresses"], json!(["eipalloc-7"]));
    let rows = csv_rows(&listed(&world, &path, "csv").stdout);
    assert_eq!((rows[0]["volume_gib"].as_str(), rows[1]["volume_gib"].as_str()), ("128", ""));
    assert_eq!(rows[0]["addresses"], "eipalloc-7");
    assert_eq!((&stopped["volume_gib"], &running["volume_gib"]), (&json!(128), &Value::Null));
    let wide = listed(&world, &path, "wide").stdout;
    assert!(wide.contains("eipalloc-7"), "{wide}");
}

#[test]
fn a_stopped_instance_has_no_hourly_price_but_what_hangs_on_it_has() {
    let world = World::new();
    let path = world.estate("estate.json", &half_stopped());
    // 128 GiB of gp3 at $0.08, and 730 hours of an address at $0.005.
    let expected = (128 * 8 + 365) as f64 / 100.0;
    let document = listed(&world, &path, "json").json();
    let rows = document["instances"].as_array().expect("a list");
    assert_eq!(rows[0]["hourly_cost"], Value::Null);
    assert_eq!(rows[0]["idle_storage_monthly_cost"], expected);
    assert_eq!(rows[1]["hourly_cost"], 1.006);
    assert_eq!(rows[1]["idle_storage_monthly_cost"], Value::Null);
    let audit = world.run(&["audit", "--from", &path, "--format", "json"]).json();
    let workloads = audit["workloads"].as_array().expect("a list");
    let same = workloads.iter().find(|workload| workload["running"] == false);
    assert_eq!(same.expect("it is stopped")["monthly_cost"], expected);
    let rows = csv_rows(&listed(&world, &path, "csv").stdout);
    assert_eq!(rows[0]["idle_storage_monthly_cost"], "13.89");
    assert_eq!((rows[0]["hourly_cost"].as_str(), rows[0]["currency"].as_str()), ("", "USD"));
    assert_eq!(rows[0]["tags"], "Name=name of i-stopped;team==search");
    let table = listed(&world, &path, "table").stdout;
    let row = table.lines().find(|line| line.starts_with("i-stopped")).expect("its row");
    assert!(row.ends_with(" —") && !row.contains('$'), "{row}");
    let wide = listed(&world, &path, "wide").stdout;
    assert!(wide.contains("$13.89"), "{wide}");
}

#[test]
fn what_inventory_does_not_know_is_a_gap() {
    let world = World::new();
    let mut unpriced = instance("i-unpriced", "g5.2xlarge", "stopped");
    unpriced["volumes"] = json!([{"id": "vol-9", "volume_type": "odd", "size_gib": 1}]);
    let mut far = instance("i-far", "g5.xlarge", "running");
    far["region"] = json!("xx-nowhere-1");
    let path = world.estate(
        "estate.json",
        &estate(vec![
            instance("i-unknown", "zz9.huge", "running"),
            unpriced,
            far,
            instance("i-known", "g5.xlarge", "running"),
        ]),
    );
    let document = listed(&world, &path, "json").json();
    let gaps: Vec<(&str, &str)> = document["gaps"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|gap| {
            let of = |key: &str| gap[key].as_str().expect("text");
            (of("what"), of("where"))
        })
        .collect();
    assert_eq!(
        gaps,
        [
            ("instance type", "i-unknown"),
            ("price", "i-far"),
            ("price", "i-unknown"),
            ("storage price", "i-unpriced"),
        ]
    );
    for format in ["table", "wide"] {
        let arguments = ["inventory", "--from", &path, "--strict", "--format", format];
        let outcome = world.run(&arguments);
        assert_eq!(outcome.code, 3, "{}", outcome.stderr);
        assert!(outcome.stdout.contains("\nGAPS  4 data gaps\n"));
        assert!(outcome.stdout.contains("instance type of i-unknown: zz9.huge"));
    }
}

#[test]
fn metrics_shows_the_gaps_that_it_counts() {
    let world = World::new();
    let mut estate = one();
    estate["metrics"] = json!([]);
    let path = world.estate("estate.json", &estate);
    let run =
        |format: &str| world.run(&["metrics", "--from", &path, "--strict", "--format", format]);
    let document = run("json").json();
    let gaps = document["gaps"].as_array().expect("a list");
    assert!(!gaps.is_empty());
    for format in ["table", "wide"] {
        let outcome = run(format);
        assert_eq!(outcome.code, 3, "{}", outcome.stderr);
        assert!(outcome.stdout.contains("\nGAPS  "), "{}", outcome.stdout);
        for gap in gaps {
            let title = format!(
                "  {} of {}:",
                gap["what"].as_str().expect("text"),
                gap["where"].as_str().expect("text")
            );
            assert!(outcome.stdout.contains(&title), "{title}\n{}", outcome.stdout);
        }
    }
}

#[test]
fn gaps_of_other_regions_and_instances_are_out_of_scope() {
    let world = World::new();
    let mut recorded = estate(vec![
        instance("i-here", "g5.xlarge", "running"),
        instance("i-there", "g5.xlarge", "running"),
    ]);
    recorded["instances"][1]["region"] = json!("eu-west-1");
    let gap = |place: &str| json!({"what": "region", "where": place, "reason": "denied", "hint": "allow"});
    recorded["gaps"] =
        ["us-east-1", "eu-west-1", "ap-south-1", "i-there", "account"].map(gap).into();
    let path = world.estate("estate.json", &recorded);
    let places = |more: &[&str]| {
        let arguments = ["inventory", "--from", &path, "--format", "json"];
        let document = world.run(&[&arguments, more].concat()).json();
        let gaps = document["gaps"].as_array().expect("a list");
        let places = gaps.iter().map(|gap| gap["where"].as_str().expect("text").to_owned());
        places.collect::<Vec<_>>()
    };
    assert_eq!(places(&[]).len(), 5);
    assert_eq!(places(&["--region", "us-east-1"]), ["account", "us-east-1"]);
    assert_eq!(places(&["--tag", "Name=name of i-here"]).len(), 4);
}

#[test]
fn helm_values_are_two_documents_that_need_no_account() {
    let world = World::new();
    let outcome = world.run(&["setup", "metrics", "--prometheus"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let documents: Vec<&str> = outcome.stdout.split("\n---\n").collect();
    let [dcgm, state] = &documents[..] else {
        panic!("{} documents", documents.len());
    };
    for field in ["GPU_UTIL", "FB_USED", "FB_FREE", "FB_RESERVED", "POWER_USAGE", "GPU_TEMP"] {
        let line = format!("\n  DCGM_FI_DEV_{field}, gauge, ");
        assert!(dcgm.contains(&line), "{field}");
    }
    assert!(dcgm.contains("\n  DCGM_FI_PROF_GR_ENGINE_ACTIVE, gauge, "));
    assert!(dcgm.contains("__meta_kubernetes_pod_node_name") && dcgm.contains("NODE_NAME"));
    assert!(state.contains("\n  - nodes=[node.kubernetes.io/instance-type,"));
    // What YAML does not allow for indentation.
    assert!(!outcome.stdout.contains('\t'));
    let with_demo = world.run(&["setup", "metrics", "--prometheus", "--demo"]);
    assert_eq!(with_demo.code, 2, "it reads nothing");
}

#[test]
fn setup_is_for_nvidia_gpus_that_do_not_report_their_utilization() {
    let world = World::new();
    let types = [
        ("i-silent", "g5.xlarge"),
        ("i-power", "g6.xlarge"),
        ("i-fraction", "g6f.large"),
        ("i-reports", "g5.xlarge"),
        ("i-amd", "g4ad.xlarge"),
        ("i-neuron", "trn1.2xlarge"),
        ("i-inferentia", "inf2.xlarge"),
        ("i-media", "vt1.3xlarge"),
        ("i-unknown", "zz9.huge"),
    ];
    let instances = types.map(|(id, instance_type)| instance(id, instance_type, "running"));
    let mut recorded = estate(instances.to_vec());
    let series = |id: &str, metric: &str, source: &str, gpu: Value| {
        json!({"instance": id, "gpu": gpu, "metric": metric, "statistic": "average",
            "source": source, "period_seconds": 300, "start": START, "values": [[40, PERIODS]]})
    };
    recorded["metrics"] = json!([
        series("i-power", "gpu_power_utilization", "ec2", json!(0)),
        series("i-reports", "gpu_utilization", "cloudwatch-agent", json!(0)),
    ]);
    let path = world.estate("estate.json", &recorded);
    let outcome = world.run(&["setup", "metrics", "--from", &path]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.json()["metrics"]["metrics_collected"]["nvidia_gpu"].is_object());
    let (_, lists) = outcome.stderr.split_once("report no GPU utilization:\n").expect("a list");
    let (lacking, beyond) = lists.split_once("not applicable to:\n").expect("a list");
    let ids = |text: &str| {
        let mut ids: Vec<String> = text
            .lines()
            .filter_map(|line| line.strip_prefix("  "))
            .map(|line| line.split(' ').next().expect("an id").to_owned())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(lacking), ["i-fraction", "i-power", "i-silent"], "{lists}");
    assert_eq!(
        ids(beyond),
        ["i-amd", "i-inferentia", "i-media", "i-neuron", "i-unknown"],
        "{lists}"
    );
    for (id, words) in
        [("i-neuron", "neuron-monitor"), ("i-amd", "AMD"), ("i-unknown", "unknown type")]
    {
        let line = beyond.lines().find(|line| line.contains(id)).expect("its line");
        assert!(line.contains(words), "{line}");
    }
    let power = lacking.lines().find(|line| line.contains("i-power")).expect("its line");
    assert!(power.ends_with("only power reported so far"), "{power}");
    let table = world.run(&["metrics", "--from", &path]).stdout;
    assert!(
        table.contains("9 running instances, 7 without any GPU signal, 1 with power only\n"),
        "{table}"
    );
}
