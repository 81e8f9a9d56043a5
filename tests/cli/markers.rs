//! `--redact` by brute force: every text of every input is replaced by a marker of
//! its own, and no output may hold one. What has a closed set of values refuses a
//! marker; the rest is free text, and is masked where it names somebody.

use crate::cli::estates::series;
use crate::cli::world::World;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::LazyLock;

/// Objects whose keys are texts of their own.
const FREE_KEYS: [&str; 4] = ["tags", "by_operation", "labels", "devices"];

/// An estate that has a text in every field there is.
pub fn estate() -> Value {
    let box_of = |id: &str, instance_type: &str| {
        json!({
            "id": id,
            "account": "account-a",
            "region": "us-east-1",
            "zone": "us-east-1a",
            "instance_type": instance_type,
            "state": "running",
            "lifecycle": "on-demand",
            "operating_system": "linux",
            "tenancy": "shared",
            "launch_time": "2026-09-01T00:00:00Z",
            "attached_time": "2026-09-01T00:00:00Z",
            "tags": {
                "Name": "falcon box", "owner": "mallory", "gpucost:workload": "falcon",
                "aws:made-by": "aws text", "gpucost:note": "a note", "codename": "a codename",
                "gpucost:ignore": "", "env": "falcon env",
            },
            "auto_scaling_group": "falcon group",
            "private_dns_name": "falcon.internal",
            "volumes": [{"id": "volume of falcon", "volume_type": "gp9", "size_gib": 100}],
            "addresses": [{"id": "address of falcon"}],
        })
    };
    let mut stopped = box_of("stopped one", "g5.xlarge");
    stopped["state"] = json!("stopped");
    stopped["state_transition_reason"] = json!("mallory stopped it");
    stopped["volumes"][0]["volume_type"] = json!("gp3");
    stopped["tags"] = json!({"Name": "resting box", "gpucost:ignore": "kept for mallory"});
    let mut held = box_of("held one", "p4d.24xlarge");
    held["capacity_reservation_id"] = json!("capacity of falcon");
    held["capacity_block_id"] = json!("block of falcon");
    held["tags"] = json!({});
    let mut spot = box_of("spot one", "g6.xlarge");
    spot["lifecycle"] = json!("spot");
    spot["tags"] = json!({"Name": "spot box"});
    let mut own = box_of("own one", "falcon.type");
    own["region"] = json!("falcon region");
    own["zone"] = json!("falcon zone");
    let gpus = |id: &str| {
        vec![
            series(id, None, "cpu_utilization", "average", 30.0),
            series(id, Some(0), "gpu_utilization", "average", 15.0),
            series(id, Some(0), "gpu_utilization", "maximum", 20.0),
            series(id, Some(0), "gpu_memory_used", "average", 4000.0),
            series(id, Some(0), "gpu_memory_used", "maximum", 5000.0),
            series(id, Some(0), "gpu_memory_total", "maximum", 23028.0),
        ]
    };
    let price = |region: &str, zone: Value, instance_type: &str, option: &str| {
        json!({
            "region": region, "zone": zone, "instance_type": instance_type,
            "operating_system": "linux", "tenancy": "shared", "option": option,
            "currency": "USD", "hourly": "1.5", "origin": "api",
            "effective_date": "2026-10-30", "source": "list of falcon",
        })
    };
    let mut of_zone = price("us-east-1", json!("us-east-1a"), "g6.xlarge", "spot");
    of_zone["spot_history"] = json!({
        "now": "1.5", "min": "1", "max": "2", "p95": "1.9", "volatility_percent": "10",
    });
    let all_series = ["first one", "second one", "spot one", "own one"].map(gpus).concat();
    json!({
        "estate_version": "1",
        "as_of": "2026-11-01T00:00:00Z",
        "period_seconds": 300,
        "source": "aws",
        "accounts": ["account-a", "account-b"],
        "regions": ["us-east-1", "falcon region"],
        "instances": [
            box_of("first one", "g5.xlarge"), box_of("second one", "g5.xlarge"),
            stopped, held, spot, own,
        ],
        "tag_filters": [{"key": "filter key", "value": "filter value", "excluded": true}],
        "out_of_scope": [{
            "id": "other one", "account": "account-b", "region": "us-east-1",
            "instance_type": "g5.xlarge", "state": "running",
            "launch_time": "2026-09-01T00:00:00Z",
        }],
        "shapes": [{
            "instance_type": "falcon.type", "accelerator": "gpu", "architecture": "x86_64",
            "vcpu": 4, "memory_mib": 16384,
            "gpu": {"model": "Falcon GPU", "count": "1", "vram_mib": 24576},
        }],
        "metrics": all_series,
        "profiles": [{
            "instance": "first one", "start": "2026-10-25T08:00:00Z",
            "end": "2026-10-25T10:00:00Z", "covers_a_command": true,
            "gpu_mean_percent": 15.0,
        }],
        "nodes": [{
            "name": "falcon node", "provider_id": "falcon://hall/box", "cluster": "falcon cluster",
            "machine": "first one", "physical": "1", "pool": "falcon pool",
            "devices": {"falcon.io/gpu": {
                "unit": {"profile": "falcon slice", "slices": 1, "of": 7},
                "capacity": 7, "allocatable": 7,
            }},
            "cpu_millicores": {"capacity": 4000, "allocatable": 3900, "requested": 100},
            "memory_mib": {"capacity": 16384, "allocatable": 16000, "requested": 100},
            "pods": 1,
        }],
        "component_hosts": [{
            "account": "falcon account", "region": "falcon region", "group": "falcon group",
            "components": [{
                "name": "falcon component", "desired_copies": 1,
                "copies": [{
                    "instance_type": "ml.falcon.xlarge-hosting", "count": 1, "gpus_each": "1",
                }],
            }],
        }],
        "training_plans": [{
            "id": "falcon plan", "account": "falcon account", "region": "falcon region",
            "status": "active",
            "instances": [{"instance_type": "ml.falcon.xlarge", "count": 2}],
            "total": 2, "in_use": 1, "duration_minutes": 60,
            "currency": "USD", "upfront_fee": "100",
        }],
        "jobs": [{
            "name": "falcon job", "account": "falcon account", "region": "falcon region",
            "instances": [{"instance_type": "ml.falcon.xlarge-training", "count": 2}],
            "status": "completed", "billable_seconds": 60, "training_plan": "falcon plan",
        }],
        "claims": [{
            "namespace": "falcon space", "pod": "falcon pod",
            "owner": {"kind": "FalconJob", "name": "falcon job"},
            "labels": {"falcon label": "falcon text"},
            "resource": "falcon.io/share",
            "unit": {"profile": "falcon part", "slices": 1, "of": 7},
            "count": 1, "state": "running", "machine": "first one",
        }],
        "uses": [{
            "machine": "first one", "gpu": 0, "namespace": "falcon space", "pod": "falcon pod",
            "n_samples": 10, "sample_seconds": 60, "mean_percent": 1.0, "max_percent": 2.0,
        }],
        "prices": [
            price("falcon region", json!(null), "falcon.type", "on-demand"),
            price("us-east-1", json!(null), "g6.xlarge", "spot"),
            of_zone,
        ],
        "storage_prices": [{
            "region": "us-east-1", "resource": "gp3", "currency": "USD", "unit_price": "0.08",
            "origin": "api", "effective_date": "2026-10-30", "source": "list of falcon disks",
        }],
        "commitments": commitments("estate"),
        "gaps": gaps(),
        "api": {
            "calls": 3, "retries": 0, "estimated_cost_usd": "0.01",
            "by_operation": {"ec2:DescribeInstances": 2, "falcon:Call": 1},
        },
    })
}

fn commitments(whose: &str) -> Value {
    json!([
        {
            "kind": "reserved-instances", "id": format!("reserved of {whose}"),
            "region": "us-east-1", "zone": "us-east-1a", "instance_type": "g5.xlarge",
            "operating_system": "linux", "tenancy": "shared", "class": "standard",
            "count": 4, "payment": "no-upfront", "start": "2025-12-01T00:00:00Z",
            "end": "2026-12-01T00:00:00Z", "currency": "USD", "recurring_hourly": "0.6",
        },
        {
            "kind": "savings-plan", "id": format!("plan of {whose}"), "plan": "ec2-instance",
            "region": "falcon region", "family": "falcon", "currency": "USD",
            "commitment_hourly": "3.5", "term": "1yr-no-upfront",
            "start": "2026-02-01T00:00:00Z", "end": "2027-02-01T00:00:00Z",
        },
        {
            "kind": "capacity-reservation", "id": format!("capacity of {whose}"),
            "region": "us-east-1", "zone": "us-east-1b", "instance_type": "p4d.24xlarge",
            "operating_system": "linux", "tenancy": "shared", "total": 2, "available": 2,
        },
    ])
}

/// A gap of every cause of gathering, and those of earlier versions, which are words alone.
fn gaps() -> Value {
    let gap = |what: &str, place: &str, cause: Value| {
        let mut gap = json!({
            "what": what, "where": place, "reason": format!("words on {place}"),
            "hint": format!("ask about {place}"),
        });
        if !cause.is_null() {
            gap["cause"] = cause;
        }
        gap
    };
    let cause = |kind: &str, details: &[&str]| json!({"kind": kind, "details": details});
    let call = |kind: &str, last: &str| {
        let said = format!("said of {kind}");
        cause(kind, &["ec2:DescribeVolumes", "denied", "UnauthorizedOperation", &said, last])
    };
    json!([
        gap("falcon metrics", "falcon place", Value::Null),
        gap("region", "eu-west-1", Value::Null),
        gap("volumes", "falcon region", call("call-failed", "")),
        gap("regions", "account", call("regions-not-listed", "us-east-1")),
        gap("metrics", "us-east-1", call("series-not-read", "12")),
        gap("metrics", "us-east-1", cause("metrics-not-asked", &[])),
        gap("live prices", "us-east-1", cause("prices-not-asked", &["g5.xlarge, falcon.type"])),
        gap("live price", "us-east-1", cause("prices-not-listed", &["falcon.type"])),
        gap("price cache", "this machine", cause("cache-not-read", &["/home/mallory: no"])),
        gap("instance", "third one", cause("instance-not-readable", &["launch time"])),
        gap("commitment", "plan of nobody", cause("commitment-not-readable", &["term"])),
        gap("gpu_utilization", "first one", cause("only-roll-up", &[])),
        gap("profile data", "/a/run", cause("profile-of-other", &["fourth one"])),
        gap("profile data", "/b/run", cause("profile-without-host", &[])),
        gap("profile data", "/c/run", cause("profile-of-several", &["host of several"])),
        gap("profile data", "/d/run", cause("profile-of-none", &["host of none"])),
        gap(
            "profile data",
            "/e/run",
            cause("profile-elsewhere", &["falcon region", "first one", "us-east-1"]),
        ),
        gap(
            "profile data",
            "/f/run",
            cause("profile-on-other-type", &["falcon.type", "first one", "g5.xlarge"]),
        ),
        gap("profile data", "/g/run", cause("profile-outside", &["1", "2", "1", "0"])),
    ])
}

/// A run that was taken on a host that nobody knows.
fn samples() -> Value {
    json!({
        "samples_version": "1", "gpucost_version": "0.1.0",
        "started": "2026-10-25T08:00:00Z", "interval_seconds": 1.0,
        "hostname": "host of the run", "instance_type": "type of the run",
        "region": "region of the run", "driver_version": "driver of the run",
        "is_command": false,
        "gpus": [{
            "index": 0, "uuid": "uuid of the run", "name": "card of the run",
            "mig": {"index": 0, "profile": "slice of the run"},
        }],
    })
}

/// The texts of a document: values, and keys of objects whose keys are free.
fn texts(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            into.insert(text.clone());
        }
        Value::Array(all) => all.iter().for_each(|item| texts(item, into)),
        Value::Object(map) => {
            for (key, member) in map {
                if FREE_KEYS.contains(&key.as_str()) {
                    into.extend(member.as_object().into_iter().flat_map(|map| map.keys()).cloned());
                }
                texts(member, into);
            }
        }
        _ => {}
    }
}

/// How many places hold a text.
fn places(value: &Value) -> usize {
    match value {
        Value::String(_) => 1,
        Value::Array(all) => all.iter().map(places).sum(),
        Value::Object(map) => map
            .iter()
            .map(|(key, member)| {
                let keys = FREE_KEYS.contains(&key.as_str());
                places(member)
                    + if keys { member.as_object().map_or(0, |map| map.len()) } else { 0 }
            })
            .sum(),
        _ => 0,
    }
}

/// The same document with other texts: equal ones stay equal, so that what belongs
/// together still does.
pub fn marked(value: &Value, markers: &BTreeMap<String, String>) -> Value {
    let other = |text: &str| markers.get(text).map_or(text, String::as_str).to_owned();
    match value {
        Value::String(text) => Value::String(other(text)),
        Value::Array(all) => all.iter().map(|item| marked(item, markers)).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, member)| {
                let mut one = marked(member, markers);
                if FREE_KEYS.contains(&key.as_str())
                    && let Some(inner) = one.as_object_mut()
                {
                    *inner = std::mem::take(inner)
                        .into_iter()
                        .map(|(key, value)| (other(&key), value))
                        .collect();
                }
                (key.clone(), one)
            })
            .collect(),
        other => other.clone(),
    }
}

/// The inputs of a run as files, and the outputs of every command on them.
struct Inputs {
    world: World,
    arguments: Vec<String>,
    shown: Vec<(String, String)>,
}

impl Inputs {
    fn of(markers: &BTreeMap<String, String>) -> Self {
        let mut world = World::new();
        let estate = world.estate("estate.json", &marked(&estate(), markers));
        let bought = world.estate("bought.json", &marked(&commitments("payer"), markers));
        let run = world.file("mallorys-run.jsonl", format!("{}\n", marked(&samples(), markers)));
        let prices = world.file(
            "mallorys-prices.csv",
            "region,instance_type,operating_system,option,currency,hourly,effective_date\n\
             us-east-1,g5.xlarge,linux,on-demand,USD,0.9,2026-10-01\n",
        );
        let settings = world.file(
            "mallorys-settings.toml",
            format!("[prices]\nfile = {prices:?}\nmax_age = \"2000d\"\n"),
        );
        world.set("GPUCOST_CONFIG", &settings);
        let arguments = ["--from", &estate, "--commitments", &bought, "--profile-data", &run];
        Self { arguments: arguments.map(str::to_owned).into(), world, shown: Vec::new() }
    }

    fn run(&mut self, command: &[&str], more: &[&str]) -> String {
        let inputs = self.arguments.iter().map(String::as_str);
        let words: Vec<&str> =
            command.iter().copied().chain(inputs).chain(more.iter().copied()).collect();
        let outcome = self.world.run(&words);
        let name = format!("{} {}", command.join(" "), more.join(" "));
        assert_eq!(outcome.code, 0, "{name}: {}", outcome.stderr);
        self.shown.push((name.clone(), outcome.stdout.clone()));
        self.shown.push((format!("{name} (stderr)"), outcome.stderr));
        outcome.stdout
    }

    /// Everything that any command shows of them.
    fn show(&mut self, redact: &[&str]) {
        let with = |more: &[&'static str]| [redact, more].concat();
        for format in ["table", "wide", "csv", "markdown", "html", "focus"] {
            self.run(&["audit", "--risk", "high"], &with(&["--format", format]));
        }
        for list in ["actions", "findings", "gaps", "prices", "reconciliation"] {
            let more = with(&["--format", "csv", "--csv-table", list]);
            self.run(&["audit", "--risk", "high"], &more);
        }
        self.run(&["audit", "--group-by", "tag:owner,account,type"], &with(&[]));
        self.run(
            &["audit", "--group-by", "namespace,owner,cluster,pool,node"],
            &with(&["--format", "wide"]),
        );
        for format in ["table", "wide", "json", "csv"] {
            for command in [&["inventory"][..], &["metrics"], &["rightsize"], &["spot"]] {
                self.run(command, &with(&["--format", format]));
            }
        }
        self.run(&["setup", "metrics"], redact);
        let saved = self.world.path("saved.json");
        let audit = self.run(
            &["audit", "-vv", "--risk", "high", "--format", "json"],
            &[redact, &["--save", &saved]].concat(),
        );
        let estate = fs::read_to_string(&saved).expect("it was saved");
        let masked: Value = serde_json::from_str(&estate).expect("JSON");
        self.shown.push(("the saved estate".to_owned(), estate));
        let audit: Value = serde_json::from_str(&audit).expect("JSON");
        let rows = |list: &str, key: &str| -> Vec<String> {
            let rows = audit[list].as_array().expect("a list");
            let texts = rows.iter().filter_map(|row| row[key].as_str());
            texts.map(str::to_owned).collect()
        };
        let mut subjects = rows("findings", "id");
        let workloads = rows("workloads", "id");
        subjects.extend(workloads.iter().map(|id| format!("plan:{id}")));
        subjects.extend(workloads);
        let masked_rows = |list: &str| masked[list].as_array().cloned().unwrap_or_default();
        for row in masked_rows("instances").iter().chain(&masked_rows("commitments")) {
            subjects.push(row["id"].as_str().expect("an id").to_owned());
        }
        assert!(subjects.len() > 30, "{}", subjects.len());
        for subject in subjects {
            let explained = self.run(&["explain", &subject], redact);
            assert!(!explained.is_empty(), "{subject}");
        }
    }
}

/// Every text of every input.
fn every_text() -> BTreeSet<String> {
    let mut collected = BTreeSet::new();
    for input in [&estate(), &commitments("payer"), &samples()] {
        texts(input, &mut collected);
    }
    collected
}

/// The texts whose values are not a closed set: a marker in their place is accepted.
static FREE: LazyLock<Vec<String>> = LazyLock::new(|| {
    let is_free = |text: &String| {
        let inputs = Inputs::of(&BTreeMap::from([(text.clone(), "Zq000Vx".to_owned())]));
        let arguments = inputs.arguments.iter().map(String::as_str);
        let typed: Vec<&str> = ["inventory"].into_iter().chain(arguments).collect();
        inputs.world.run(&typed).code == 0
    };
    every_text().into_iter().filter(is_free).collect()
});

/// The free texts but types and places that exist, which lead deeper into the audit.
pub fn named() -> impl Iterator<Item = &'static String> {
    let known = ["us-east-1", "g5.xlarge", "p4d.24xlarge", "g6.xlarge"];
    let is_real = move |text: &str| known.iter().any(|known| text.starts_with(known));
    FREE.iter().filter(move |text| !is_real(text))
}

/// Markers for texts, each of its own.
fn markers<'a>(texts: impl Iterator<Item = &'a String>) -> BTreeMap<String, String> {
    let marker = |(index, text): (usize, &String)| (text.clone(), format!("Zq{index:03}Vx"));
    texts.enumerate().map(marker).collect()
}

fn assert_unmarked(inputs: &Inputs) {
    for (name, text) in &inputs.shown {
        if let Some(start) = text.find("Zq") {
            let place: String = text[start..].chars().take(60).collect();
            let before: Vec<char> = text[..start].chars().rev().take(60).collect();
            let before: String = before.into_iter().rev().collect();
            panic!("{name} shows {before}{place}");
        }
        for typed in ["mallorys-run", "mallorys-prices"] {
            assert!(!text.contains(typed), "{name} shows {typed}");
        }
    }
}

#[test]
fn no_text_of_any_input_leaves_unless_its_values_are_a_closed_set() {
    let (estate, bought, run) = (estate(), commitments("payer"), samples());
    let texts = every_text();
    let plain = Inputs::of(&BTreeMap::new());
    let arguments: Vec<&str> = plain.arguments.iter().map(String::as_str).collect();
    let outcome = plain.world.run(&[&["inventory"][..], &arguments].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let free: Vec<&String> = FREE.iter().collect();
    let closed = texts.len() - free.len();
    assert!((20..80).contains(&closed), "{closed} of {} refuse", texts.len());

    let open = {
        let mut inputs = Inputs::of(&markers(free.iter().copied()));
        inputs.show(&[]);
        let seen: BTreeSet<&str> = inputs
            .shown
            .iter()
            .flat_map(|(_, text)| text.match_indices("Zq").map(|(at, _)| &text[at..]))
            .filter_map(|text| text.get(..7))
            .collect();
        (seen.len(), inputs.shown.len())
    };
    // Unmasked most are shown somewhere: the test can see what it is after.
    assert!(open.0 * 10 > free.len() * 7, "{} of {}", open.0, free.len());

    for marked in [markers(free.iter().copied()), markers(named())] {
        let mut inputs = Inputs::of(&marked);
        inputs.show(&["--redact"]);
        assert_unmarked(&inputs);
    }
    let fields: usize = [&estate, &bought, &run].into_iter().map(places).sum();
    println!(
        "{fields} texts in {} inputs, {} of {} different ones free, {} outputs",
        3,
        free.len(),
        texts.len(),
        open.1,
    );
}
