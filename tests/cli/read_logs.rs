//! `gpucost profile --read`: what a log that somebody has says, and what it is missing.

use crate::cli::world::World;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

const HEADER: &str = "timestamp,index,name,utilization.gpu [%],utilization.memory [%],\
                      memory.used [MiB],memory.total [MiB],power.draw [W],power.limit [W]";

/// A log of samples of those seconds after noon, of one GPU at 50 %.
fn log(seconds: impl Iterator<Item = u32>) -> String {
    let mut log = format!("{HEADER}\n");
    for second in seconds {
        let (day, rest) = (second / 86_400 + 3, second % 86_400);
        log.push_str(&format!(
            "2026/01/{day:02} {:02}:{:02}:{:02}.000,0,NVIDIA A10G,50 %,20 %,100 MiB,23028 MiB,\
             150.00 W,300.00 W\n",
            rest / 3_600,
            rest / 60 % 60,
            rest % 60
        ));
    }
    log
}

fn summary(world: &World, log: &str, more: &[&str]) -> Value {
    let path = world.path("gpus.csv");
    fs::write(&path, log).expect("room for a log");
    let mut arguments = vec!["profile", "--read", &path, "--no-imds", "--format", "json"];
    arguments.extend(more);
    let outcome = world.run(&arguments);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

fn reasons(summary: &Value, what: &str) -> Vec<String> {
    let gaps = summary["gaps"].as_array().expect("a list");
    gaps.iter()
        .filter(|gap| gap["what"] == what)
        .map(|gap| gap["reason"].as_str().expect("text").to_owned())
        .collect()
}

#[test]
fn a_hole_in_a_log_is_no_measured_time() {
    let world = World::new();
    // Twenty samples, two days of nothing, twenty samples.
    let broken = log((0..20).chain(172_819..172_839));
    let report = summary(&world, &broken, &[]);
    assert_eq!(report["classification"], "insufficient-data");
    assert_eq!(report["reason"], "40 of 172839 expected samples were taken (0.0%), 50% needed");
    assert_eq!(report["samples"]["missed"], 172_799);
    assert_eq!(
        reasons(&report, "samples"),
        ["172,799 of 172,839 expected samples are missing; the longest gap, \
             48h 00m, begins 19.0 s after the start"]
    );
    // Without a hole it is measured.
    let report = summary(&world, &log(0..40), &[]);
    assert_eq!(report["classification"], "underutilized");
    assert_eq!(report["coverage"], 1.0);
    assert!(reasons(&report, "samples").is_empty());
    // Told that it should have been two samples a second, half of them are missing.
    let report = summary(&world, &log(0..40), &["--interval", "500ms"]);
    assert_eq!(report["samples"]["missed"], 39);
    assert_eq!(report["confidence"], "derived");
}

#[test]
fn a_figure_that_no_row_has_is_named() {
    let world = World::new();
    let log = log(0..40).replace(",50 %,", ",[N/A],").replace("150.00 W", "[N/A]");
    let report = summary(&world, &log, &[]);
    assert_eq!(report["classification"], "insufficient-data");
    assert_eq!(reasons(&report, "GPU 0"), ["no sample reports utilization, power"]);
}

#[test]
fn a_log_comes_over_stdin_too() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gpucost"))
        .args(["profile", "--read", "-", "--no-imds", "--format", "json"])
        .env("GPUCOST_CACHE_DIR", "/nowhere")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(log(0..40).as_bytes()).expect("it reads all");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(report["samples"]["taken"], 40);
    assert_eq!(report["gaps"][0]["where"], "stdin");
}

#[test]
fn one_sample_does_not_tell_whether_another_was_due() {
    let world = World::new();
    let report = summary(&world, &log(0..1), &[]);
    assert_eq!(report["samples"]["taken"], 1);
    assert!(report["samples"]["missed"].is_null(), "{}", report["samples"]);
    // Told how far apart they were meant to be, none is missing.
    let report = summary(&world, &log(0..1), &["--interval", "1s"]);
    assert_eq!(report["samples"]["missed"], 0);
}

/// A summary beside a type in Virginia.
fn on_type(world: &World, log: &str, name: &str) -> Value {
    summary(world, log, &["--type", name, "--region", "us-east-1"])
}

#[test]
fn a_type_is_compared_with_the_gpus_of_a_log_however_busy_they_are() {
    let world = World::new();
    for busy in ["5 %", "50 %", "95 %"] {
        let log = log(0..40).replace(",50 %,", &format!(",{busy},"));
        let report = on_type(&world, &log, "g5.xlarge");
        assert!(report["cost"]["run_cost"].is_number(), "{busy}");
        assert!(reasons(&report, "price").is_empty());
        // One of four may be all that the log was asked for.
        let report = on_type(&world, &log, "g5.12xlarge");
        assert!(report["cost"]["run_cost"].is_number(), "{busy}");
        assert_eq!(
            reasons(&report, "GPUs"),
            ["only 1 of 4 in this run; the price covers all of them"]
        );
        let large =
            log.replace("NVIDIA A10G", "NVIDIA A100-SXM4-80GB").replace("23028 MiB", "81920 MiB");
        let later = log.replace("\n2026", "\n2027").replace(",0,NVIDIA", ",1,NVIDIA");
        for (log, name, reason) in [
            (
                &log,
                "p3.2xlarge",
                "A10G was detected, but p3.2xlarge has V100; a GPU with 23,028 MiB was detected, but \
                 GPUs of p3.2xlarge have 16,160 MiB",
            ),
            (
                &large,
                "p4d.24xlarge",
                "a GPU with 81,920 MiB was detected, but GPUs of p4d.24xlarge have 40,960 MiB",
            ),
            (&format!("{log}{later}"), "g5.xlarge", "2 GPUs were detected, but g5.xlarge has 1"),
        ] {
            let report = on_type(&world, log, name);
            assert_eq!(reasons(&report, "price"), [reason]);
            assert!(report["cost"].is_null(), "{busy}: {name}");
            let text = report["recommendation"].as_str().expect("a sentence");
            assert!(!text.contains('$'), "{text}");
        }
    }
}

#[test]
fn two_hosts_in_one_log_are_not_put_together() {
    let world = World::new();
    let (idle, busy) = (log(0..40).replace(",50 %,", ",0 %,"), log(0..60));
    let report = summary(&world, &format!("{idle}{busy}"), &[]);
    assert_eq!(report["gpu_utilization_max_pct"], 0.0);
    assert_eq!(
        reasons(&report, "rows"),
        ["60 rows are omitted: the clock goes back to a time already logged for the same GPU; \
             the first is on line 43"]
    );
    // The same sorted by time: which row is whose nobody knows.
    let mut rows: Vec<&str> = idle.lines().skip(1).collect();
    rows.extend(busy.lines().skip(1).take(40));
    rows.sort_unstable();
    let path = world.path("both.csv");
    fs::write(&path, format!("{HEADER}\n{}\n", rows.join("\n"))).expect("room for a log");
    let outcome = world.run(&["profile", "--read", &path]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("80 rows have the same time"), "{}", outcome.stderr);
}

#[test]
fn names_are_as_many_as_cells() {
    let world = World::new();
    let path = world.file("gpus.csv", log(0..40));
    let names = "timestamp,index,name,utilization.gpu";
    let outcome = world.run(&["profile", "--read", &path, "--read-columns", names]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("--read-columns has 4, and this line 9"), "{}", outcome.stderr);
}
