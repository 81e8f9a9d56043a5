//! `gpucost profile --read`: what a log that somebody has says, and what it lacks.

use crate::world::World;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

const HEADER: &str = "timestamp,index,name,utilization.gpu [%],utilization.memory [%],\
                      memory.used [MiB],memory.total [MiB],power.draw [W],power.limit [W]";

/// A log of looks at those seconds after noon, of one GPU at 50 %.
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
    // Twenty looks, two days of nothing, twenty looks.
    let broken = log((0..20).chain(172_819..172_839));
    let found = summary(&world, &broken, &[]);
    assert_eq!(found["classification"], "insufficient-data");
    assert_eq!(
        found["reason"],
        "40 of 172839 looks that were due were taken (0.0 %), 50 % needed"
    );
    assert_eq!(found["looks"]["missed"], 172_799);
    assert_eq!(
        reasons(&found, "looks"),
        [
            "172,799 of 172,839 looks that were due are missing; the longest time without one, \
             48h 00m, begins 19.0 s after the start"
        ]
    );
    // Without a hole it is measured.
    let found = summary(&world, &log(0..40), &[]);
    assert_eq!(found["classification"], "underutilized");
    assert_eq!(found["coverage"], 1.0);
    assert!(reasons(&found, "looks").is_empty());
    // Told that it should have been two looks a second, half of them are missing.
    let found = summary(&world, &log(0..40), &["--interval", "500ms"]);
    assert_eq!(found["looks"]["missed"], 39);
    assert_eq!(found["confidence"], "derived");
}

#[test]
fn a_figure_that_no_row_has_is_named() {
    let world = World::new();
    let log = log(0..40)
        .replace(",50 %,", ",[N/A],")
        .replace("150.00 W", "[N/A]");
    let found = summary(&world, &log, &[]);
    assert_eq!(found["classification"], "insufficient-data");
    assert_eq!(
        reasons(&found, "GPU 0"),
        ["no look tells utilization, power"]
    );
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
    stdin
        .write_all(log(0..40).as_bytes())
        .expect("it reads all");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let found: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(found["looks"]["taken"], 40);
    assert_eq!(found["gaps"][0]["where"], "stdin");
}
