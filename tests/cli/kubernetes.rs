//! A cluster from the output of kubectl: machines with their prices, and who holds their
//! devices. What is expected follows by hand from `fixtures/kubernetes`.

use crate::cli::world::{Outcome, World};
use gpucost::domain::Hidden;
use gpucost::domain::{Claim, ClaimState};
use gpucost::rules::CLUSTER_RULES;
use gpucost::sources::kubernetes::read_kubectl;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const AS_OF: &str = "2026-11-01T00:00:00Z";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/kubernetes").join(name)
}

/// The files of the cluster, as one argument.
fn files() -> String {
    let names = ["nodes.json", "objects.json"];
    let paths = names.map(|name| fixture(name).into_os_string().into_string().expect("UTF-8"));
    paths.join(",")
}

/// A world with prices for what no list has.
pub fn world() -> World {
    let world = World::new();
    world.file(
        "own.csv",
        "provider,instance_type,region,option,hourly,effective_date\n\
         gcp,a2-highgpu-1g,us-central1,spot,1.10,2026-10-01\n\
         on-premises,2x-H100,on-premises,on-demand,4.50,2026-10-01\n",
    );
    world.file("gpucost.toml", "[prices]\nfile = \"own.csv\"\n");
    world
}

/// A command on the cluster.
pub fn run(world: &World, command: &str, more: &[&str]) -> Outcome {
    let files = files();
    let arguments = [command, "--from-kubectl", &files, "--as-of", AS_OF];
    world.run(&[&arguments[..], more].concat())
}

#[test]
fn machines_are_priced_without_a_call() {
    let document = run(&world(), "inventory", &["--format", "json"]).json();
    assert_eq!(document["accounts"], json!(["lab-1", "on-premises"]));
    let regions = json!(["on-premises", "us-central1", "us-east-1"]);
    assert_eq!(document["regions"], regions);
    let rows = document["instances"].as_array().expect("a list");
    let told: Vec<Value> = rows
        .iter()
        .map(|row| {
            let keys = ["id", "account", "instance_type", "purchase_option"];
            let told = keys.map(|key| row[key].clone());
            let gpu = &row["gpu"];
            json!([told, gpu["model"], gpu["count"], row["hourly_cost"]])
        })
        .collect();
    // The m5.large has no GPU. The ID of an EC2 instance does not contain its account.
    let expected = [
        json!([["i-0aaaaaaaaaaaaaaa2", null, "g4dn.12xlarge", "spot"], "T4", 4.0, 1.41814]),
        json!([["i-0aaaaaaaaaaaaaaa3", null, "g5.xlarge", "on-demand"], "A10G", 1.0, 1.006]),
        json!([["i-0aaaaaaaaaaaaaaa1", null, "p4d.24xlarge", "on-demand"], "A100", 8.0, 21.957642]),
        json!([
            ["gcp/lab-1/us-central1/gke-mig-1", "lab-1", "a2-highgpu-1g", "spot"],
            "A100",
            1.0,
            1.1
        ]),
        json!([
            ["on-premises/on-premises/on-premises/hall-1", "on-premises", "2x-H100", "on-demand"],
            "H100",
            2.0,
            4.5
        ]),
    ];
    assert_eq!(told, expected);
    let hall = &rows[4];
    let tags = json!({"Name": "hall-1", "team": "physics", "gpucost:kind": "batch"});
    assert_eq!(hall["tags"], tags);
    assert_eq!((&hall["vcpu"], &hall["memory_mib"]), (&json!(64), &json!(524_288)));
    assert_eq!(document["gaps"], json!([]));
}

#[test]
fn an_audit_adds_up_what_the_machines_cost() {
    let world = world();
    let audit = run(&world, "audit", &["--format", "json"]).json();
    assert_eq!(audit["scope"]["source"], "kubernetes");
    assert_eq!(audit["summary"]["instances"], 5);
    // 16,029.08 + 1,035.24 + 734.38 + 803.00 + 3,285.00 in 730 hours.
    assert_eq!(audit["summary"]["monthly_cost"], 21_886.7);
    assert_eq!(audit["summary"]["unpriced_instances"], 0);
    // Nobody measures, so nobody says that anything is idle.
    let classes = &audit["summary"]["by_classification"];
    assert_eq!(classes["insufficient-data"]["instances"], 5);
    // `--region` selects as it does in a recorded estate.
    let more = ["--format", "json", "--region", "us-central1"];
    let audit = run(&world, "audit", &more).json();
    assert_eq!(audit["summary"]["monthly_cost"], 803.0);
    let table = run(&world, "audit", &[]).stdout;
    assert!(table.contains("\n2 accounts, 3 regions: "), "{table}");
}

#[test]
fn own_hardware_without_a_price_is_unpriced() {
    let outcome = run(&World::new(), "inventory", &["--format", "json"]);
    let document = outcome.json();
    let unpriced: Vec<&Value> =
        document["gaps"].as_array().expect("a list").iter().map(|gap| &gap["where"]).collect();
    let ids = ["gcp/lab-1/us-central1/gke-mig-1", "on-premises/on-premises/on-premises/hall-1"];
    assert_eq!(unpriced, ids);
}

/// Whose a claim is, what of how many devices, and since when.
fn told(claim: &Claim) -> String {
    let holder = &claim.holder;
    let owner = holder.owner.as_ref().expect("all have an owner");
    let pod = holder.pod.as_deref().unwrap_or("no pod");
    let physical = claim.devices.physical().round_dp(6).normalize();
    let since = claim.since.expect("all have a time");
    let machine = claim.machine.as_ref().map_or("none", |machine| machine.as_str());
    assert_eq!(claim.state == ClaimState::Pending, claim.machine.is_none());
    format!(
        "{}/{pod} of {} {}: {physical} on {machine} since {since}",
        holder.namespace, owner.kind, owner.name
    )
}

#[test]
fn pods_hold_what_they_asked_for_on_the_machine_where_they_run() {
    let paths = ["nodes.json", "objects.json"].map(fixture);
    let mut gathered = read_kubectl(&paths).expect("a cluster");
    assert!(gathered.gaps.is_empty(), "{:?}", gathered.gaps);
    let clusters = &mut gathered.value.clusters;
    clusters.sort();
    let claims: Vec<String> = clusters.claims.iter().map(told).collect();
    let start = "since 2026-10-20T08:00:00Z";
    let (p4d, g4dn) = ("i-0aaaaaaaaaaaaaaa1", "i-0aaaaaaaaaaaaaaa2");
    let hall = "on-premises/on-premises/on-premises/hall-1";
    let gke = "gcp/lab-1/us-central1/gke-mig-1";
    let expected = [
        // One of four replicas of a T4 each.
        format!("notebooks/nb-0 of StatefulSet nb: 0.25 on {g4dn} {start}"),
        format!("notebooks/nb-1 of StatefulSet nb: 0.25 on {g4dn} {start}"),
        format!("notebooks/nb-2 of StatefulSet nb: 0.25 on {g4dn} {start}"),
        // Allocated by a claim of its own.
        format!("physics/simulate-0 of RayCluster simulate: 1 on {hall} {start}"),
        "search/large-0 of PyTorchJob large: 8 on none since 2026-10-31T12:00:00Z".to_owned(),
        // A sidecar with one, beside it a preparation with two, later a container with one.
        format!("search/ranker-7d9f-abcde of Deployment ranker: 3 on {p4d} {start}"),
        format!("search/train-29-x7 of CronJob train: 4 on {p4d} {start}"),
        // Three sevenths of an A100.
        format!("serving/small-0 of StatefulSet small: 0.428571 on {gke} {start}"),
    ];
    assert_eq!(claims, expected);

    let funnels: Vec<[String; 5]> = clusters
        .nodes
        .iter()
        .map(|node| {
            let funnel = node.funnel(&clusters.claims);
            let known =
                [funnel.physical, Some(funnel.allocatable), funnel.requested, funnel.free()];
            let [physical, allocatable, requested, free] =
                known.map(|value| value.expect("known").normalize().to_string());
            [node.name.clone(), physical, allocatable, requested, free]
        })
        .collect();
    let expected = [
        ["gke-mig-1", "1", "0.857143", "0.428571", "0.428572"],
        ["hall-1", "2", "2", "1", "1"],
        ["ip-10-0-1-10.ec2.internal", "8", "8", "7", "1"],
        ["ip-10-0-1-20.ec2.internal", "4", "4", "0.75", "3.25"],
        // Nothing is offered without a device plugin.
        ["ip-10-0-1-30.ec2.internal", "1", "0", "0", "0"],
    ];
    assert_eq!(funnels, expected);

    let node = &clusters.nodes[2];
    assert_eq!(
        (node.pool.as_deref(), node.cluster.as_deref()),
        (Some("training"), Some("research"))
    );
    assert_eq!((node.pods, node.is_ready, node.is_cordoned), (Some(3), Some(true), false));
    // One of a DaemonSet, and two with GPUs.
    assert_eq!(node.cpu_only_pods, Some(0));
    // 32 + 8 cores, and a tenth; 256 + 64 GiB, and 128 MiB.
    assert_eq!(node.cpu_millicores.requested, Some(40_100));
    assert_eq!(node.memory_mib.requested, Some(327_808));
    let node = &clusters.nodes[4];
    assert_eq!((node.is_ready, node.is_cordoned), (Some(false), true));
}

#[test]
fn nodes_alone_say_nothing_about_what_is_requested() {
    let gathered = read_kubectl(&[fixture("nodes.json")]).expect("nodes");
    let nodes = &gathered.value.clusters.nodes;
    // What a driver lists on own hardware is among the other objects.
    assert_eq!(nodes.len(), 4);
    for node in nodes {
        let funnel = node.funnel(&gathered.value.clusters.claims);
        assert_eq!((funnel.requested, funnel.free()), (None, None), "{}", node.name);
    }
    let gaps: Vec<String> = gathered.gaps.iter().map(|gap| gap.what.to_string()).collect();
    assert_eq!(gaps, ["pods"]);
    let alone = read_kubectl(&[fixture("objects.json")]).expect_err("no node");
    assert!(alone.to_string().starts_with("no Kubernetes node in "), "{alone}");
}

#[test]
fn devices_of_a_node_that_was_not_recorded_are_a_gap() {
    let text = fs::read_to_string(fixture("nodes.json")).expect("a fixture");
    let mut list: Value = serde_json::from_str(&text).expect("JSON");
    let nodes = list["items"].as_array_mut().expect("a list");
    nodes.retain(|node| node["metadata"]["name"] != "gke-mig-1");
    let world = World::new();
    let path = PathBuf::from(world.file("part.json", list.to_string()));
    let gathered = read_kubectl(&[path, fixture("objects.json")]).expect("a cluster");
    let [gap] = gathered.gaps.as_slice() else {
        panic!("{:?}", gathered.gaps);
    };
    assert_eq!((gap.what.to_string().as_str(), gap.place.as_str()), ("instance", "gke-mig-1"));
    assert!(gap.hides() == Hidden::Instances);
    assert_eq!(gathered.value.clusters.claims.len(), 7);
}

#[test]
fn a_saved_cluster_gives_the_same_answer() {
    let world = world();
    let saved = world.path("saved.json");
    let live = run(&world, "inventory", &["--format", "json", "--save", &saved]);
    let again = world.run(&["inventory", "--from", &saved, "--format", "json"]);
    assert_eq!(again.json(), live.json());
    let hidden = world.path("hidden.json");
    let outcome = run(&world, "inventory", &["--redact", "--save", &hidden]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let text = fs::read_to_string(&hidden).expect("it was saved");
    for secret in ["hall-1", "lab-1", "research", "ranker", "physics", "ip-10-0"] {
        assert!(!text.contains(secret), "{secret}");
    }
    assert!(text.contains("nvidia.com/gpu") && text.contains("Deployment"));
}

#[test]
fn what_is_no_output_of_kubectl_is_refused() {
    let world = World::new();
    let twice = r#"{"apiVersion": "v1", "kind": "List", "items": [{"kind": "Node",
        "apiVersion": "v1", "metadata": {"name": "a"}, "status": {"capacity": {"cpu": "many"}}}]}"#;
    for (name, content, words) in [
        ("text.json", "not JSON", "invalid output of `kubectl get -o json`"),
        ("short.json", "{\"kind\": \"List\"", "invalid output of `kubectl"),
        ("list.json", "[]", "invalid output of `kubectl"),
        ("empty.json", "{\"kind\": \"List\", \"items\": []}", "no Kubernetes node in"),
        ("kindless.json", "{\"items\": [{}]}", "missing field `kind`"),
        ("wrong.json", twice, "at `items[0]`"),
        (
            "page.json",
            "{\"kind\": \"NodeList\", \"metadata\": {\"continue\": \"abc\"}, \"items\": []}",
            "it is one page of a longer list",
        ),
    ] {
        let path = world.file(name, content);
        let outcome = world.run(&["inventory", "--from-kubectl", &path]);
        assert_eq!(outcome.code, 2, "{name}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{name}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("\nhint: "), "{name}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{name}");
    }
    let outcome = world.run(&["inventory", "--from-kubectl", &world.path("none.json")]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    let outcome = world.run(&["inventory", "--demo", "--from-kubectl", "a.json"]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
}

#[test]
fn the_inventory_shows_how_far_devices_are_given_away_and_to_whom() {
    let world = world();
    let document = run(&world, "inventory", &["--format", "json"]).json();
    let nodes = document["nodes"].as_array().expect("a list");
    assert_eq!(nodes.len(), 5);
    let shared = &nodes[3];
    assert_eq!(
        shared["gpus"],
        json!({
            "physical": 4.0, "allocatable": 4.0, "requested": 0.75, "free": 3.25,
            "unallocated": 3.25,
        })
    );
    let devices = json!([{
        "resource": "nvidia.com/gpu", "profile": null, "replicas": 4,
        "capacity": 16, "allocatable": 16,
    }]);
    assert_eq!(shared["devices"], devices);
    assert_eq!(
        (&shared["instance"], &shared["price_class"]),
        (&json!("i-0aaaaaaaaaaaaaaa2"), &json!("spot"))
    );
    let claims = document["claims"].as_array().expect("a list");
    assert_eq!(claims.len(), 8);
    assert_eq!(
        claims[4],
        json!({
            "namespace": "search", "pod": "large-0",
            "owner": {"kind": "PyTorchJob", "name": "large"},
            // Of its namespace.
            "labels": {"team": "search"},
            "resource": "nvidia.com/gpu", "profile": null, "replicas": null, "count": 8,
            "gpus": 8.0, "state": "pending", "since": "2026-10-31T12:00:00Z", "instance": null,
        })
    );
    assert_eq!(claims[7]["profile"], "3g.20gb");
    assert_eq!(claims[7]["gpus"], 0.428_571);

    let table = run(&world, "inventory", &[]).stdout;
    assert!(table.contains("NODES  5 nodes, 8 claims by pods, 1 waiting\n"), "{table}");
    let nodes = table.split("NODES").nth(1).expect("the list");
    let row = |name: &str| -> Vec<String> {
        let line = nodes.lines().find(|line| line.starts_with(name));
        let cells = line.expect("a row").split_whitespace();
        cells.map(str::to_owned).collect()
    };
    let cells = ["ip-10-0-1-20.ec2.internal", "4", "4", "0.75", "3.25", "ready", "notebooks"];
    assert_eq!(row("ip-10-0-1-20"), cells);
    let cells = ["gke-mig-1", "1", "0.86", "0.43", "0.43", "ready", "sliced"];
    assert_eq!(row("gke-mig-1"), cells);
    assert!(row("ip-10-0-1-30").ends_with(&["ready,", "cordoned", "—"].map(str::to_owned)));
    // Without a cluster the list is absent.
    let demo = world.run(&["inventory", "--demo", "--format", "json"]).json();
    assert!(demo.get("nodes").is_none() && demo.get("claims").is_none());
}

#[test]
fn parts_of_gpus_are_rounded_alike_in_title_and_evidence() {
    let world = world();
    let (files, id) = (files(), "unallocated-gpus:i-0aaaaaaaaaaaaaaa2");
    let text = world.run(&["explain", id, "--from-kubectl", &files, "--as-of", AS_OF]).stdout;
    // Lines are wrapped.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Three replicas of a quarter of a T4 are held: 4 − 0.75.
    for words in ["requests 3.25 of the 4 GPUs", "requests: 3.25 > 0", "requested GPUs: 0.75 < 4"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn questions_about_one_type_read_no_cluster() {
    let world = world();
    for (command, more) in [
        ("spot", &["--type", "g5.xlarge"][..]),
        ("reserved", &["--type", "g5.xlarge"]),
        ("rightsize", &["--type", "g5.xlarge", "--util-p95", "5", "--vram-peak", "4GiB"]),
        ("check", &["--terraform-plan", "plan.json"]),
    ] {
        let outcome = run(&world, command, more);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{command}");
        for said in ["cannot be used with", "'--from-kubectl <FILE[,FILE…]>'"] {
            assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
        }
    }
}

#[test]
fn an_account_that_is_not_known_is_no_name() {
    let outcome = run(&world(), "audit", &["--group-by", "account", "--format", "csv"]);
    let first = |line: &str| line.split(',').next().map(str::to_owned);
    let accounts: Vec<_> = outcome.stdout.lines().skip(1).filter_map(first).collect();
    assert_eq!(accounts, ["(none)", "on-premises", "lab-1"]);
}

#[test]
fn an_audit_says_what_each_rule_about_clusters_finds() {
    let world = World::new();
    for rule in CLUSTER_RULES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules");
        let path = path.join(rule).join("fires.json");
        let path = path.to_str().expect("UTF-8");
        for more in [&[][..], &["--group-by", "namespace"]] {
            let audit = ["audit", "--from", path, "--format", "json"];
            let report = world.run(&[&audit[..], more].concat()).json();
            let findings = report["findings"].as_array().expect("a list");
            let rules: Vec<&Value> = findings.iter().map(|finding| &finding["rule"]).collect();
            assert!(rules.contains(&&json!(rule)), "{rule}: {rules:?}");
        }
    }
}
