//! Plans as they come: recorded ones, hostile ones, large ones, and what is none.

use crate::cli::terraform::{OPEN, check, document, fixture};
use crate::cli::world::World;
use crate::support::data::shared;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Recorded plans, where they are at hand.
fn recorded(test: &str, name: &str) -> Option<PathBuf> {
    shared(test, &format!("samples/terraform/{name}"))
}

#[test]
fn plans_without_gpus_say_so_and_pass() {
    let world = World::new();
    let resource = |provider: &str, sort: &str, after: Value| {
        json!({"address": format!("{sort}.a"), "mode": "managed", "type": sort,
            "provider_name": format!("registry.terraform.io/hashicorp/{provider}"),
            "change": {"actions": ["create"], "before": null, "after": after, "after_unknown": {}}})
    };
    let google =
        resource("google", "google_compute_instance", json!({"machine_type": "e2-standard-4"}));
    let azure = resource("azurerm", "azurerm_linux_virtual_machine", json!({}));
    let small = resource("aws", "aws_instance", json!({"instance_type": "m5.large"}));
    for (changes, words) in [
        (vec![], "the plan contains no resources"),
        (vec![google, azure], "resources of azurerm, google; gpucost reads only AWS resources"),
        (vec![small], "the plan contains no GPU instances"),
    ] {
        let path = document(&world, &json!({"format_version": "1.2", "resource_changes": changes}));
        let outcome = check(&world, OPEN, &path, &[]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("nothing to check: the plan "));
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
        let shown: Vec<&str> = outcome.stdout.split_whitespace().collect();
        assert!(shown.join(" ").contains(words), "{}", outcome.stdout);
        let json = check(&world, OPEN, &path, &["--format", "json"]).json();
        assert_eq!(json["outcome"], "nothing");
    }
}

#[test]
fn recorded_plans_are_read_and_run_no_gpus() {
    let test = "recorded_plans_are_read_and_run_no_gpus";
    let world = World::new();
    if let Some(path) = recorded(test, "infracost_example_plan.json") {
        let outcome = check(&world, OPEN, path.to_str().expect("UTF-8"), &["--format", "json"]);
        let document = outcome.json();
        assert_eq!((outcome.code, &document["plan"]["resources"]), (0, &json!(2)));
        assert_eq!(document["plan"]["nothing"], "the plan contains no GPU instances");
    }
    if let Some(path) = recorded(test, "infracost_terraform_v0.14_plan.json.gz") {
        let name = path.to_str().expect("UTF-8");
        let document = check(&world, OPEN, name, &["--format", "json"]).json();
        assert_eq!(document["plan"]["resources"], 26, "as it is, compressed");
        let mut text = String::new();
        let file = std::fs::File::open(&path).expect("readable");
        GzDecoder::new(file).read_to_string(&mut text).expect("a compressed file");
        let path = world.file("v0.14.json", &text);
        let document = check(&world, OPEN, &path, &["--format", "json"]).json();
        assert_eq!(document["plan"]["resources"], 26);
        assert_eq!(document["plan"]["terraform_version"], "0.14.11");
        // The same, when its twelve boxes were of a type with a GPU: six run today.
        let path = world.file("gpus.json", text.replace("t3.nano", "g5.xlarge"));
        let document = check(&world, OPEN, &path, &["--format", "json"]).json();
        let plan = &document["plan"];
        assert_eq!((&plan["instances_before"], &plan["instances_after"]), (&json!(6), &json!(12)));
        // 6 × 734.38 and 12 × 734.38
        assert_eq!(plan["totals"][0]["monthly_before"], 4_406.28);
        assert_eq!(plan["totals"][0]["monthly_after"], 8_812.56);
    }
}

#[test]
fn hostile_names_reach_nothing_as_they_are() {
    let world = World::new();
    let long = "x".repeat(10_000);
    let tags = json!({"a\u{1b}[2J": "<script>", "long": long, "=1+1": "|`\n", "rtl\u{202e}": ""});
    let name = |key: &str| format!("aws_instance.a[\"{key}\"]");
    let changes: Vec<Value> =
        ["\u{1b}[31m", "a\nb|`<script>alert(1)</script>", "\u{202e}gpj", &long]
            .iter()
            .map(|key| {
                json!({"address": name(key), "mode": "managed", "type": "aws_instance",
                "change": {"actions": ["create"], "before": null, "after_unknown": {},
                    "after": {"instance_type": "p5.48xlarge\u{9b}31m", "tags_all": tags,
                              "availability_zone": "us-east-1a\u{7}"}}})
            })
            .collect();
    let plan = json!({"format_version": "1.2", "terraform_version": "1\u{1b}[5m",
        "resource_changes": changes});
    let path = document(&world, &plan);
    let policy =
        "[tags]\nrequired = [\"team\"]\n[deny]\ntypes = [\"p5*\"]\n[allow]\nregions = [\"us-*\"]\n";
    for format in ["table", "wide", "json", "csv", "html"] {
        let outcome = check(&world, policy, &path, &["--format", format]);
        assert_eq!(outcome.code, 100, "{}", outcome.stderr);
        for text in [&outcome.stdout, &outcome.stderr] {
            let unsafe_one =
                text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
            assert_eq!(unsafe_one, None, "{format}");
        }
        if format == "table" {
            assert!(outcome.stdout.lines().all(|line| line.chars().count() <= 100));
        }
    }
    let document = check(&world, policy, &path, &["--format", "json"]).json();
    let rows = document["plan"]["changes"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["address"] == name(&long)), "whole in JSON");
}

#[test]
fn files_that_are_no_plan_are_the_users_slip() {
    let world = World::new();
    for (bytes, words) in [
        (&b"PK\x03\x04"[..], "is a binary Terraform plan file, not a JSON plan"),
        (b"{\"format_version\":\"1.0\",\"values\":{}}", "is a Terraform state"),
        (b"{\"format_version\":\"7.0\"}", "format version 7.0 is newer"),
        (b"{\"format_version\":\"1.0\",\n \"resource_changes\": [", "line 2"),
    ] {
        let path = world.file("plan.json", bytes);
        let outcome = check(&world, OPEN, &path, &[]);
        assert_eq!(outcome.code, 2);
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("hint: ") && outcome.stdout.is_empty());
    }
    let missing = check(&world, OPEN, &world.path("none.json"), &[]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.starts_with("error: cannot read the plan "), "{}", missing.stderr);
    assert_eq!(check(&world, OPEN, &fixture(), &["--demo"]).code, 2);
}

fn program(world: &World, plan: &str) -> Command {
    let policy = world.file("gpucost-policy.toml", OPEN);
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpucost"));
    command
        .args(["check", "--policy", &policy, "--offline", "--format", "json", "--terraform-plan"])
        .arg(plan)
        .env_clear()
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
fn a_plan_may_come_over_stdin() {
    let world = World::new();
    let plan = std::fs::File::open(fixture()).expect("the fixture");
    let output = program(&world, "-").stdin(plan).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["plan"]["file"], "stdin");
    assert_eq!(document["plan"]["totals"][0]["monthly_delta"], 25_516.78);
}

/// Bytes of the large plan.
const LARGE: usize = 100 << 20;
/// Most memory that reading it may take, KiB: a twelfth of its size.
const MOST_KIB: u64 = 8 << 10;

/// The memory that a process holds now, without the pages of its program, KiB.
#[cfg(target_os = "linux")]
fn held_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// A plan of 100 MB: what is not about instances is not held.
#[cfg(target_os = "linux")]
#[test]
fn a_large_plan_is_read_as_a_stream() {
    let world = World::new();
    let path = world.path("large.json");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).expect("a scratch file"));
    let gpu = |number: usize| {
        json!({"address": format!("aws_instance.gpu[{number}]"), "mode": "managed",
            "type": "aws_instance", "change": {"actions": ["create"], "before": null,
            "after": {"instance_type": "g5.xlarge", "availability_zone": "us-east-1a",
                      "user_data": "A".repeat(16 << 10)}, "after_unknown": {"id": true}}})
    };
    let policy = json!({"address": "aws_iam_policy.p", "mode": "managed", "type": "aws_iam_policy",
        "change": {"actions": ["no-op"], "before": {"policy": "B".repeat(1 << 20)},
                   "after": {"policy": "B".repeat(1 << 20)}, "after_unknown": {}}})
    .to_string();
    write!(file, "{{\"format_version\":\"1.2\",\"planned_values\":{{}},\"resource_changes\":[")
        .expect("room");
    let mut written = 0;
    let mut boxes = 0;
    while written < LARGE {
        let one = gpu(boxes).to_string();
        boxes += 1;
        write!(file, "{one},{policy},").expect("room");
        written += one.len() + policy.len();
    }
    write!(file, "{}],\"configuration\":{{}}}}", gpu(boxes)).expect("room");
    boxes += 1;
    drop(file);

    let begun = std::time::Instant::now();
    let mut child = program(&world, &path).spawn().expect("it starts");
    let mut stdout = child.stdout.take().expect("piped");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    let mut peak = 0;
    let status = loop {
        peak = peak.max(held_kib(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    let took = begun.elapsed();
    println!("{written} bytes, {boxes} instances: {took:?}, {peak} KiB at most");
    assert_eq!(status.code(), Some(0));
    let text = reader.join().expect("no panic").expect("UTF-8");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["plan"]["instances_after"], boxes);
    assert!(peak > 0 && peak < MOST_KIB, "{peak} KiB");
}
