//! Inputs that would fill the memory, and inputs that can be read only once.

use crate::cli::estates::{one, series};
use crate::cli::process::run_in;
use crate::cli::world::World;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Resident memory that the program may have at most, in KiB.
const MOST_KIB: u64 = 900 << 10;

/// A compressed file: a beginning, a part so many times, an end.
fn packed(path: &Path, start: &str, part: &str, times: usize, end: &str) {
    let file = fs::File::create(path).expect("a writable folder");
    let mut out = GzEncoder::new(file, Compression::fast());
    let block = part.repeat(1_000);
    out.write_all(start.as_bytes()).expect("room");
    for _ in 0..times / 1_000 {
        out.write_all(block.as_bytes()).expect("room");
    }
    out.write_all(end.as_bytes()).expect("room");
    out.finish().expect("room");
}

/// Runs in bounded address space; the code and what is said.
fn bounded(folder: &Path, arguments: &str) -> (Option<i32>, String) {
    let gpucost = env!("CARGO_BIN_EXE_gpucost");
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("ulimit -v {MOST_KIB}; exec {gpucost} {arguments}"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

#[test]
fn a_window_of_eight_thousand_years_is_refused() {
    let world = World::new();
    let mut estate = one();
    // Few periods, so that the bound of days is what refuses it.
    estate["period_seconds"] = json!(86_400_000);
    estate["window_start"] = json!("-006000-01-01T00:00:00Z");
    estate["window_end"] = json!("2026-11-01T00:00:00Z");
    // Series are placed as they are read where the window precedes them.
    estate["metrics"] = json!([]);
    let without_series = estate.to_string();
    let keys = estate.as_object_mut().expect("an object");
    keys.remove("metrics");
    let window_first = estate.to_string();
    let window_first = window_first.strip_suffix('}').expect("an object");
    let series = series("i-one", Some(0), "gpu_utilization", "average", 15.0);
    let window_first = format!("{window_first},\"metrics\":[{series}]}}");
    for text in [without_series, window_first] {
        let path = world.file("ages.json", text);
        let outcome = world.run(&["audit", "--from", &path]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
        assert!(
            outcome.stderr.contains("ages.json")
                && outcome.stderr.contains("days; the maximum is 3660"),
            "{}",
            outcome.stderr
        );
    }
    let mut report = world.audit(&one());
    let whole = world.file("report.json", report.to_string());
    report["scope"]["window_start"] = json!("-006000-01-01T00:00:00Z");
    let path = world.file("ages-report.json", report.to_string());
    let outcome = world.run(&["diff", &whole, &path]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert!(
        outcome.stderr.contains("ages-report.json")
            && outcome.stderr.contains("days; the maximum is 3660"),
        "{}",
        outcome.stderr
    );
}

#[cfg(target_os = "linux")]
#[test]
fn what_would_fill_the_memory_is_refused() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let at = |name: &str| folder.path().join(name);
    let estate = "{\"estate_version\":\"1\",\"as_of\":\"2026-11-01T00:00:00Z\",";
    let values = format!("{estate}\"metrics\":[{{\"instance\":\"i\",\"values\":[");
    packed(&at("values.gz"), &values, "0,", 60_000_000, "0]}]}");
    let accounts = format!("{estate}\"accounts\":[");
    packed(&at("accounts.gz"), &accounts, "\"\",", 100_000_000, "\"\"]}");
    packed(&at("text.gz"), &format!("{estate}\"source\":\""), "x", 1_000_000_000, "\"}");
    packed(&at("number.gz"), &format!("{estate}\"period_seconds\":"), "1", 1_000_000_000, "}");
    let plan =
        "{\"format_version\":\"1.2\",\"resource_changes\":[{\"change\":{\"after\":{\"tags\":[";
    packed(&at("plan.gz"), plan, "0,", 40_000_000, "0]}}}]}");
    packed(&at("report.gz"), "{\"schema_version\":[", "0,", 100_000_000, "0]}");
    let bill = "ChargeCategory,BilledCost,EffectiveCost,Tags\nUsage,1,1,\"";
    packed(&at("bill.gz"), bill, "x", 1_000_000_000, "\"\n");
    fs::write(at("policy.toml"), "[waste]\npercent_limit = 10\n").expect("writable");
    // Each letter between two dots is a table of its own.
    let keys = "{b.c.d.e.f.g.h=1},".repeat(700_000);
    fs::write(at("keys.toml"), format!("a = [{keys}]\n")).expect("writable");
    let refused = [
        ("audit --from values.gz", "longer than 32 MiB"),
        ("audit --from accounts.gz", "at most 100000 elements"),
        ("audit --from text.gz", "longer than 1048576 bytes"),
        ("audit --from number.gz", "longer than 1048576 bytes"),
        ("check --policy policy.toml --terraform-plan plan.gz", "more than 5000000 values"),
        ("diff report.gz report.gz", ""),
        ("bill bill.gz", "longer than 8 MiB"),
        ("audit --demo --config /dev/zero", "larger than 64 MiB"),
        ("check --demo --policy /dev/zero", "larger than 64 MiB"),
        ("audit --demo --config keys.toml", "more than 500000 keys and values"),
        ("check --demo --policy keys.toml", "more than 500000 keys and values"),
        ("audit --demo --commitments /dev/zero", "expected value"),
    ];
    for (arguments, words) in refused {
        let (code, said) = bounded(folder.path(), arguments);
        assert_eq!(code, Some(2), "{arguments}: {said}");
        assert!(said.contains(words), "{arguments}: {said}");
        assert!(said.len() < 1_500, "{arguments}: {} bytes", said.len());
    }
}

#[test]
fn gpus_of_one_instance_are_bounded() {
    let world = World::new();
    let mut estate = one();
    estate["metrics"] = json!([series("i-one", Some(256), "gpu_utilization", "average", 1.0)]);
    let path = world.estate("estate.json", &estate);
    let outcome = world.run(&["audit", "--from", &path]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("an instance has at most 256 GPUs"), "{}", outcome.stderr);
}

#[test]
fn an_error_is_short_whatever_it_quotes() {
    let world = World::new();
    let key = "k".repeat(900_000);
    let path = world.file("estate.json", format!("{{\"{key}\": 1}}"));
    let outcome = world.run(&["audit", "--from", &path]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.len() < 1_500, "{}", outcome.stderr.len());
    assert!(outcome.stderr.contains("at line 1 column"), "{}", outcome.stderr);
}

/// Every input through a pipe that can be read once, right and wrong.
#[cfg(unix)]
#[test]
fn pipes_are_read_once_and_errors_still_name_the_place() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let at = |name: &str| folder.path().join(name);
    let estate = one();
    fs::write(at("estate.json"), estate.to_string()).expect("writable");
    let mut wrong = estate.clone();
    wrong["instances"][0]["tags"] = json!({"Name": 7});
    fs::write(at("wrong.json"), wrong.to_string()).expect("writable");
    let commitments = crate::cli::estates::owned()["commitments"].clone();
    fs::write(at("bought.json"), commitments.to_string()).expect("writable");
    let mut unpaid = commitments.clone();
    unpaid[0]["count"] = json!("two");
    fs::write(at("unpaid.json"), unpaid.to_string()).expect("writable");
    fs::write(at("settings.toml"), "risk = \"low\"\n").expect("writable");
    fs::write(at("bad.toml"), "\nrsk = \"low\"\n").expect("writable");
    let audit = run_in(folder.path(), &["audit", "--from", "estate.json", "--format", "json"]);
    fs::write(at("audit.json"), &audit.stdout).expect("writable");
    let mut old: serde_json::Value = serde_json::from_slice(&audit.stdout).expect("JSON");
    old["workloads"][0]["instances"] = json!("many");
    fs::write(at("bad-audit.json"), old.to_string()).expect("writable");
    fs::write(at("bad.jsonl"), "{\"samples_version\":\"1\"}\n").expect("writable");
    for (arguments, input, code, place) in [
        ("audit --from PIPE", "estate.json", 0, ""),
        ("audit --from PIPE", "wrong.json", 2, "at `instances[0].tags.Name`"),
        ("audit --from estate.json --commitments PIPE", "bought.json", 0, ""),
        ("audit --from estate.json --commitments PIPE", "unpaid.json", 2, "at `[0]"),
        ("audit --demo --config PIPE", "settings.toml", 0, ""),
        ("audit --demo --config PIPE", "bad.toml", 2, ":2:"),
        ("diff audit.json PIPE", "audit.json", 0, ""),
        ("diff audit.json PIPE", "bad-audit.json", 2, "line 1"),
        ("audit --from estate.json --profile-data PIPE", "bad.jsonl", 2, ":1:"),
    ] {
        let gpucost = env!("CARGO_BIN_EXE_gpucost");
        // What `<(cat FILE)` is in a shell that has it.
        let arguments = arguments.replace("PIPE", "/dev/fd/3");
        let script = format!("cat {input} | {gpucost} {arguments} 3<&0");
        let output = Command::new("sh")
            .arg("-c")
            .arg(&script)
            .current_dir(folder.path())
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{script}: {said}");
        assert!(said.contains(place), "{script}: {said}");
    }
}
