//! The command itself, as a user starts it, on a library that plays traces.

use crate::cli::json_schemas::assert_described;
use crate::profile::stub;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The program on a trace, a line of it for every sample, over and over.
pub fn profile(trace: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpucost"));
    command
        .arg("profile")
        .arg("--nvml-lib")
        .arg(stub::library())
        .env("GPUCOST_NVML_TRACE", stub::trace(trace))
        .env("GPUCOST_NVML_CLOCK", "step loop")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("GPUCOST_CACHE_DIR", "/nowhere")
        .stdin(Stdio::null());
    command
}

pub fn run(command: &mut Command) -> Output {
    command.output().expect("the program starts")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A short run's summary.
fn summary(trace: &str, more: &[&str]) -> Value {
    let mut command = profile(trace);
    command.args(["--interval", "100ms", "--duration", "1s", "--format", "json"]).args(more);
    let output = run(&mut command);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a document")
}

fn gpu(summary: &Value, place: usize) -> &Value {
    &summary["gpus"][place]
}

#[test]
fn every_kind_of_host_gets_a_summary() {
    for (trace, rows) in [
        ("eight-gpus", 8),
        ("mig", 3),
        ("lost-gpu", 2),
        ("xid", 1),
        ("old-driver", 1),
        ("fraction", 1),
        ("hopper", 1),
        ("hopper-mig", 2),
        ("vanishing-driver", 2),
    ] {
        let document = summary(trace, &[]);
        assert_described("profile", &document);
        let gpus = document["gpus"].as_array().expect("a list");
        assert_eq!(gpus.len(), rows, "{trace}");
        for row in gpus.iter().chain([&document]) {
            let words = row["recommendation"].as_str().expect("a sentence");
            let class = words.split(':').next().expect("a word");
            let known = ["OVERPROVISIONED", "UNDERUTILIZED", "WELL-UTILIZED", "INSUFFICIENT-DATA"];
            assert!(known.contains(&class), "{trace}: {words}");
            assert_eq!(
                row["classification"].as_str().map(str::to_uppercase),
                Some(class.to_owned())
            );
        }
        assert!(document["samples"]["taken"].as_u64() >= Some(9), "{trace}");
    }
}

#[test]
fn what_a_driver_does_not_tell_is_null_and_named() {
    let document = summary("old-driver", &[]);
    assert_eq!(gpu(&document, 0)["power"]["basis"], "readings");
    assert!(gpu(&document, 0)["activity"]["sm_pct"].is_null());
    assert!(gpu(&document, 0)["pcie_sent_bytes_per_second"].is_null());
    let gaps = document["gaps"].to_string();
    assert!(gaps.contains("energy"), "{gaps}");

    // A card in MIG mode has no utilization, which is not idle.
    let document = summary("mig", &[]);
    assert!(document["gpu_utilization_mean_pct"].is_null());
    assert_eq!(document["classification"], "insufficient-data");
    assert!(document["gpus_used"].is_null());
    assert!(gpu(&document, 1)["mig_index"].is_u64());
}

#[test]
fn lost_gpus_and_errors_are_told_and_the_run_goes_on() {
    let document = summary("lost-gpu", &[]);
    let lost: Vec<&Value> = document["gpus"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|row| !row["lost"].is_null())
        .collect();
    assert_eq!(lost.len(), 1);
    assert!(lost[0]["lost"]["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
    // Both the loss and the error that came with it are alerts of GPU 1.
    assert_eq!(lost[0]["xids"][0]["xid"], 79);
    assert_eq!(lost[0]["xid_count"], 1);
    let alerts = document["alerts"].as_array().expect("a list");
    let names: Vec<(&Value, &Value)> =
        alerts.iter().map(|alert| (&alert["alert"], &alert["gpu"])).collect();
    assert_eq!(names, [(&"xid".into(), &1.into()), (&"gpu-lost".into(), &1.into())]);

    let document = summary("xid", &[]);
    assert!(gpu(&document, 0)["xid_count"].as_u64() >= Some(1));
    let alerts = document["alerts"].to_string();
    assert!(alerts.contains("\"xid\""), "{alerts}");

    let document = summary("vanishing-driver", &[]);
    for row in document["gpus"].as_array().expect("a list") {
        assert!(!row["lost"].is_null());
    }
}

#[test]
fn the_exit_code_and_the_output_of_a_command_are_its_own() {
    let mut command = profile("eight-gpus");
    command.args(["--interval", "100ms", "--", "sh", "-c"]);
    command.arg("echo to stdout; echo to stderr >&2; exit 7");
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(text(&output.stdout), "to stdout\n");
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("to stderr\n"), "{stderr}");
    assert!(stderr.contains("8 of 8 A10G used"), "{stderr}");
}

#[test]
fn lines_of_the_log_are_counted_and_priced() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    // Of an earlier run.
    fs::write(folder.path().join("train.log"), "epoch 0 val_loss 1\n").expect("written");
    let script = "for i in 1 2 3; do echo step loss: $i; done >> train.log; \
                  echo epoch 1 val_loss 0.5 >> train.log; sleep 0.3";
    let mut command = profile("eight-gpus");
    command
        .current_dir(folder.path())
        .args(["--interval", "100ms", "--type", "g5.48xlarge"])
        .args(["--region", "us-east-1", "--samples", "run.jsonl"])
        .args(["--log", "train.log", "--log-unit", "steps=loss:"])
        .args(["--log-unit", "epochs=val_loss", "--log-unit", "saves=saved"])
        .args(["--", "sh", "-c", script]);
    let output = run(&mut command);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let samples = fs::read_to_string(folder.path().join("run.jsonl")).expect("samples");
    let end: Value = serde_json::from_str(samples.lines().last().expect("an end")).expect("JSON");
    let expected = serde_json::json!([
        {"unit": "steps", "count": 3},
        {"unit": "epochs", "count": 1},
        {"unit": "saves", "count": 0},
    ]);
    assert_eq!(end["end"]["units"], expected);

    let mut command = Command::new(env!("CARGO_BIN_EXE_gpucost"));
    command
        .current_dir(folder.path())
        .args(["kpi", "--run", "run.jsonl", "--offline", "--format", "csv"])
        .env("GPUCOST_CACHE_DIR", "/nowhere");
    let output = run(&mut command);
    let rows = text(&output.stdout);
    for row in ["USD per steps", "USD per epochs"] {
        assert!(rows.contains(row), "{rows}\n{}", text(&output.stderr));
    }
}

#[test]
fn a_log_that_cannot_be_counted_changes_nothing_for_the_command() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let counting = |samples: &str, log: &str| {
        let mut command = profile("eight-gpus");
        command
            .current_dir(folder.path())
            .args(["--interval", "100ms", "--samples", samples])
            .args(["--log", log, "--log-unit", "steps=loss"])
            .args(["--", "sh", "-c", "exit 3"]);
        run(&mut command)
    };
    // It was never written.
    let output = counting("run.jsonl", "none.log");
    assert_eq!(output.status.code(), Some(3));
    let stderr = text(&output.stderr);
    let said = "error: cannot read the log none.log: No such file or directory (os error 2)\n\
                hint: the samples hold no units; `gpucost kpi` takes `--log`";
    assert!(stderr.contains(said), "{stderr}");
    let samples = fs::read_to_string(folder.path().join("run.jsonl")).expect("samples");
    assert!(samples.contains("\"exit_code\":3}"), "{samples}");
    for (samples, log, said) in [
        ("run.csv", "train.log", "CSV has no end\nhint: pass `--samples` with a file name"),
        ("run.jsonl", ".", "error: `--log .` is not a file\nhint: write the output"),
        ("run.jsonl", "run.jsonl", "use the same file"),
    ] {
        let output = counting(samples, log);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said), "{said}: {stderr}");
    }
}

#[test]
fn a_command_that_cannot_start_is_named() {
    let mut command = profile("eight-gpus");
    command.args(["--", "/no/such/program"]);
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "error: cannot run /no/such/program\n  \
         caused by: No such file or directory (os error 2)\n\
         hint: check its name and that it is executable\n"
    );
}

/// Sends a signal as a user would from another terminal.
fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args(["-s", name, &child.id().to_string()])
        .status()
        .expect("kill is there");
    assert!(sent.success());
}

fn lines_of(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

/// Waits until a file has so many lines.
pub fn wait_for_lines(path: &Path, lines: usize) {
    let began = Instant::now();
    while lines_of(path) < lines {
        assert!(began.elapsed() < Duration::from_secs(60), "no samples come");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_interrupted_run_still_says_what_it_saw() {
    for name in ["INT", "TERM"] {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let samples = folder.path().join("run.jsonl");
        let mut command = profile("eight-gpus");
        command
            .args(["--interval", "100ms", "--format", "json", "--samples"])
            .arg(&samples)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().expect("the program starts");
        wait_for_lines(&samples, 4);
        signal(&child, name);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
        assert!(document["samples"]["taken"].as_u64() >= Some(3));
    }
}

#[test]
fn a_signal_goes_on_to_the_command() {
    let mut command = profile("eight-gpus");
    command
        .args(["--interval", "100ms", "--", "sh", "-c"])
        .arg("trap 'echo caught; exit 5' TERM; echo ready; while true; do sleep 0.05; done")
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    signal(&child, "TERM");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("the rest");
    assert_eq!(rest, "caught\n");
    assert_eq!(child.wait().expect("it ends").code(), Some(5));
}

#[test]
fn two_runs_do_not_get_in_each_others_way() {
    let start = |trace: &str| {
        let mut command = profile(trace);
        command
            .args(["--interval", "100ms", "--duration", "1s", "--format", "json"])
            .stdout(Stdio::piped());
        command.spawn().expect("the program starts")
    };
    let runs = [start("eight-gpus"), start("hopper")];
    let gpus: Vec<usize> = runs
        .into_iter()
        .map(|run| {
            let output = run.wait_with_output().expect("it ends");
            assert!(output.status.success());
            let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
            document["gpus"].as_array().expect("a list").len()
        })
        .collect();
    assert_eq!(gpus, [8, 1]);
}

#[test]
fn a_killed_run_loses_one_interval_at_most() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let samples = folder.path().join("run.jsonl");
    let mut command = profile("eight-gpus");
    command.args(["--interval", "100ms", "--samples"]).arg(&samples).stdout(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    wait_for_lines(&samples, 6);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    // A header, and samples of which the last may be torn.
    let written = lines_of(&samples) - 1;

    let mut read = Command::new(env!("CARGO_BIN_EXE_gpucost"));
    read.args(["profile", "--format", "json", "--read"])
        .arg(&samples)
        .env("GPUCOST_CACHE_DIR", "/nowhere");
    let output = run(&mut read);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let taken = document["samples"]["taken"].as_u64().expect("a number") as usize;
    assert!(taken == written || taken + 1 == written, "{taken} of {written}");
    assert!(document["exit_code"].is_null());
}

#[test]
fn a_file_of_samples_says_what_the_run_said() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    for name in ["run.jsonl", "run.csv"] {
        let samples = folder.path().join(name);
        let path = samples.to_str().expect("a path in UTF-8");
        let live = summary("fraction", &["--samples", path]);
        let mut read = Command::new(env!("CARGO_BIN_EXE_gpucost"));
        read.args(["profile", "--format", "json", "--no-imds", "--read"])
            .arg(&samples)
            .env("GPUCOST_CACHE_DIR", "/nowhere");
        let output = run(&mut read);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
        for key in ["classification", "coverage", "samples", "diagnosis"] {
            assert_eq!(document[key], live[key], "{name}: {key}");
        }
        // What the driver did not tell is named again.
        let gaps = document["gaps"].to_string();
        assert!(gaps.contains("no sample reports"), "{gaps}");
        assert!(gaps.contains("multiprocessor counters (GPM)"), "{gaps}");
    }
}

#[test]
fn a_wall_clock_that_is_set_in_mid_run_is_told_and_changes_nothing_else() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    for step in [-3_600.0, 3_600.0] {
        let samples = folder.path().join(format!("{step}.jsonl"));
        let mut command = profile("eight-gpus");
        command
            .args(["--interval", "100ms", "--duration", "3s", "--format", "json"])
            .arg("--samples")
            .arg(&samples)
            .env("LD_PRELOAD", stub::library())
            .env("GPUCOST_CLOCK_STEP", format!("3 {step}"));
        let output = run(&mut command);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let live: Value = serde_json::from_slice(&output.stdout).expect("a document");
        let counts = &live["samples"];
        let stepped = counts["wall_clock_step_seconds"].as_f64().expect("a number");
        assert!((stepped - step).abs() < 0.5, "{counts}");
        // Three seconds and a sample every tenth of one, however busy the host is.
        let elapsed = live["elapsed_seconds"].as_f64().expect("a number");
        assert!((3.0..60.0).contains(&elapsed), "{elapsed}");
        let count = |key: &str| counts[key].as_f64().expect("a number");
        let due = count("taken") + count("missed");
        assert!((due - elapsed * 10.0).abs() <= 1.5, "{elapsed}: {counts}");
        assert_eq!(gpu(&live, 1)["gpu_utilization_mean_pct"], 13.0);

        let mut read = Command::new(env!("CARGO_BIN_EXE_gpucost"));
        read.args(["profile", "--format", "json", "--read"])
            .arg(&samples)
            .env("GPUCOST_CACHE_DIR", "/nowhere");
        let again: Value = serde_json::from_slice(&run(&mut read).stdout).expect("a document");
        assert_eq!(again["samples"], *counts);
        assert_eq!(again["gpus"], live["gpus"]);
    }
}

#[test]
fn one_sample_of_a_command_is_no_evidence() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut command = profile("eight-gpus");
    command
        .args(["--format", "json", "--output"])
        .arg(folder.path().join("found.json"))
        .args(["--", "sh", "-c", "exit 3"]);
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let bytes = std::fs::read(folder.path().join("found.json")).expect("a document");
    let document: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(document["classification"], "insufficient-data");
    assert_eq!(document["diagnosis"]["bottleneck"], "unknown");
    for row in document["gpus"].as_array().expect("a list") {
        assert_eq!(row["diagnosis"]["bottleneck"], "unknown");
    }
}

#[test]
fn a_full_disk_is_told_and_the_run_goes_on() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let full = folder.path().join("full.jsonl");
    std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
    let mut command = profile("eight-gpus");
    command.args(["--interval", "100ms", "--duration", "500ms", "--samples"]).arg(&full);
    let output = run(&mut command);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("No space left on device"), "{stderr}");
    assert!(stdout.is_empty() || stdout.contains("8 of 8 A10G used"), "{stdout}");
}

#[test]
fn a_recorded_trace_plays_back_the_same() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let trace = folder.path().join("trace.jsonl");
    let flags = ["--interval", "100ms", "--duration", "1s", "--format", "json"];
    let mut command = profile("hopper");
    command.args(flags).arg("--record").arg(&trace);
    let recorded: Value = serde_json::from_slice(&run(&mut command).stdout).expect("a document");
    let mut command = profile("hopper");
    command.args(flags).env("GPUCOST_NVML_TRACE", &trace);
    let replayed: Value = serde_json::from_slice(&run(&mut command).stdout).expect("a document");
    for key in ["gpu_utilization_max_pct", "vram_peak_gb", "classification"] {
        assert_eq!(recorded[key], replayed[key], "{key}");
    }
    let text = fs::read_to_string(&trace).expect("a trace");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    assert!(!text.contains(host.trim()) || host.trim().len() < 3);
}

#[test]
fn slips_are_named_before_anything_is_sampled() {
    for (arguments, said) in [
        (vec!["--interval", "50ms"], "expected a duration from 100ms to 1h"),
        (vec!["--type", "g5.12xlrage"], "g5.12xlarge"),
        (vec!["--samples", "run.txt"], "has no supported file extension"),
        (vec!["--duration", "1s", "--", "true"], "cannot be used with"),
        (vec!["--live"], "needs a terminal"),
        (vec!["--live", "--", "true"], "needs a terminal"),
        (vec!["--command-log", "x.log"], "required"),
        (vec!["--read", "run.jsonl"], "cannot be used with"),
        (vec!["--samples", "same.jsonl", "--output", "same.jsonl"], "use the same file"),
    ] {
        let mut command = profile("eight-gpus");
        command.args(&arguments);
        let output = run(&mut command);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn without_a_driver_it_says_what_is_missing() {
    let mut command = profile("eight-gpus");
    command.args(["--nvml-lib", "/no/such/library.so"]);
    // The last of two flags counts nowhere: one of them is one too many.
    assert_eq!(run(&mut command).status.code(), Some(2));

    let mut command = Command::new(env!("CARGO_BIN_EXE_gpucost"));
    command.args(["profile", "--nvml-lib", "/no/such/library.so"]);
    let output = run(&mut command);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.starts_with("error: cannot load the NVIDIA management library"), "{stderr}");
    assert!(stderr.contains("\nhint: "), "{stderr}");
}
