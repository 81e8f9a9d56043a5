//! What a run did: the price of a step, model FLOPs utilization, the forms of a summary, and
//! two runs beside each other.

use crate::cli::markup;
use crate::profile::stub::{Stage, reading, sample};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// The run of the page until a moment, as a command that ended well after so many steps.
fn log(folder: &TempDir, name: &str, seconds: f64, steps: u64) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let whole = fs::read_to_string(root.join("fixtures/logs/interrupted.jsonl")).expect("it is");
    let mut lines: Vec<String> = whole
        .lines()
        .filter(|line| {
            let value: Value = serde_json::from_str(line).expect("JSON");
            let at = value["at_seconds"].as_f64();
            value.get("end").is_none() && at.is_none_or(|at| at < seconds)
        })
        .map(str::to_owned)
        .collect();
    lines.push(format!(
        r#"{{"end":{{"elapsed_seconds":{seconds},"exit_code":0,"units":[{{"unit":"steps","count":{steps}}}]}}}}"#
    ));
    let path = folder.path().join(name);
    fs::write(&path, lines.join("\n") + "\n").expect("writable");
    path.to_str().expect("a name").to_owned()
}

fn gpucost(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gpucost"))
        .args(arguments)
        .env("GPUCOST_CACHE_DIR", "/nowhere")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .output()
        .expect("the program starts")
}

fn printed(arguments: &[&str]) -> String {
    let output = gpucost(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).expect("text")
}

fn document(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(arguments)).expect("a document")
}

const READ: [&str; 5] = ["profile", "--offline", "--format", "json", "--read"];

#[test]
fn a_step_costs_what_the_price_and_the_time_give() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = log(&folder, "run.jsonl", 2_700.0, 2_700);
    let flags = ["--tokens-per-step", "4096", "--flops-per-step", "1.4e14"];
    let profile = document(&[&READ[..], &[log.as_str()], &flags[..]].concat());
    // 0.75 h at 5.672 are 4.254: over 2,700 steps 0.0015756, over 2,700 × 4,096 tokens
    // 0.384657 a million.
    let [steps, tokens] = [0_usize, 1].map(|place| &profile["work"]["units"][place]);
    assert_eq!(json!([steps["unit"], steps["count"]]), json!(["steps", 2_700.0]));
    assert_eq!(json!([steps["per_second"], steps["cost"]]), json!([1.0, 0.001_576]));
    assert_eq!(json!([tokens["unit"], tokens["count"]]), json!(["tokens", 11_059_200.0]));
    assert_eq!(json!([tokens["per"], tokens["cost"]]), json!([1_000_000, 0.384_657]));
    // 4 × 204 W for 0.75 h are 612 Wh: over 2,700 steps 0.226667, over 11.0592 million tokens
    // 55.338542 a million.
    let energy = [(steps, 0.226_667), (tokens, 55.338_542)];
    for (unit, expected) in energy {
        let measured = unit["energy_wh"].as_f64().expect("it was measured");
        assert!((measured - expected).abs() < 2e-6, "{measured}");
    }
    // A step a second of 1.4e14, of 4 × 70 TFLOPS.
    let mfu = &profile["work"]["mfu"];
    assert_eq!(mfu["mfu_pct"], 50.0);
    assert_eq!(json!([mfu["gpus"], mfu["peak_dense_tflops"]]), json!([4, 280.0]));

    // 6 × 6,738,415,616 + 12 × 32 × 32 × 128 × 4,096 operations a token, 1,024 tokens.
    let flags = ["--model", "llama-2-7b", "--sequence-length", "4096", "--tokens-per-step", "1024"];
    let profile = document(&[&READ[..], &[log.as_str()], &flags[..]].concat());
    assert_eq!(profile["work"]["mfu"]["mfu_pct"], 17.1421);
    // The data sheet of the A10G states no FP8.
    let fp8 = document(&[&READ[..], &[log.as_str()], &flags[..], &["--dtype", "fp8"]].concat());
    assert!(fp8["work"]["mfu"].is_null());
    let why = fp8["work"]["mfu_unknown"].as_str().expect("a reason");
    assert!(why.contains("no fp8 throughput of NVIDIA A10G"), "{why}");
    // More than the card can do is not a figure.
    let flags = ["--flops-per-step", "3e14"];
    let profile = document(&[&READ[..], &[log.as_str()], &flags[..]].concat());
    let why = profile["work"]["mfu_unknown"].as_str().expect("a reason");
    assert!(why.contains("107% of what the data sheet states"), "{why}");
}

#[test]
fn what_the_operations_of_a_step_rest_on_is_asked_for() {
    for (arguments, said) in [
        (vec!["--tokens-per-step", "4k"], "--log-unit steps=TEXT"),
        (vec!["--model", "llama-2-7b"], "--sequence-length"),
        (vec!["--flops-per-step", "-1"], "from 1 to 1e26"),
        (vec!["--flops-per-step", "1e9", "--model", "llama-2-7b"], "cannot be used with"),
    ] {
        let output = gpucost(&[&["profile"][..], &arguments[..]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
    }
}

#[test]
fn names_of_programs_are_text_in_every_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = log(&folder, "run.jsonl", 2_700.0, 2_700);
    let whole = fs::read_to_string(&log).expect("it is there");
    let name = r"\u001b]0;a\u0007<script>alert(1)</script>|`@team` \u202e=cmd";
    let processes = format!(r#""temperature_c":62.0,"processes":[{{"pid":7,"name":"{name}"}}]"#);
    fs::write(&log, whole.replace(r#""temperature_c":62.0"#, &processes)).expect("writable");
    for format in ["table", "markdown", "html", "json"] {
        let text = printed(&["profile", "--offline", "--format", format, "--read", &log]);
        let is_unsafe = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(is_unsafe), "{format}: {text}");
        assert!(text.contains("alert(1)"), "{format}: {text}");
        match format {
            "html" => {
                markup::parse(&text);
                assert!(!text.contains("<script"), "{text}");
                let rows = markup::rows(markup::section(&text, "work.units"));
                assert_eq!(rows[0][..2], ["steps".to_owned(), "2,700".to_owned()]);
            }
            "markdown" => {
                assert!(text.contains("| steps | 2,700 |"), "{text}");
                // Neither a cell, nor code, nor a mention.
                assert!(text.contains("\\|\\`\\@&#8203;team\\`"), "{text}");
            }
            _ => {}
        }
    }
}

#[test]
fn two_runs_are_compared_by_what_a_step_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let summary = |name: &str, seconds: f64, more: &[&str]| {
        let log = log(&folder, &format!("{name}.jsonl"), seconds, 2_700);
        let path = folder.path().join(name);
        let path = path.to_str().expect("a name").to_owned();
        printed(&[&READ[..], &[log.as_str(), "--output", path.as_str()], more].concat());
        path
    };
    let old = summary("old.json", 2_700.0, &[]);
    let new = summary("new.json", 1_350.0, &["--type", "g5.24xlarge"]);
    let diff = document(&["diff", &old, &new, "--format", "json"]);
    let figure = |name: &str| {
        let rows = diff["figures"].as_array().expect("a list").iter();
        let mut rows = rows.filter(|row| row["figure"] == name);
        rows.next().unwrap_or_else(|| panic!("no {name}")).clone()
    };
    let speed = figure("units_per_hour");
    assert_eq!(json!([speed["old"], speed["new"]]), json!([3_600.0, 7_200.0]));
    assert_eq!(json!([speed["change_pct"], speed["verdict"]]), json!([100.0, "better"]));
    // 0.75 h at 5.672 and 0.375 h at 8.144: 4.254 and 3.054.
    let cost = figure("run_cost");
    assert_eq!(json!([cost["old"], cost["new"]]), json!([4.254, 3.054]));
    assert_eq!(json!([cost["change_pct"], cost["verdict"]]), json!([(-28.2087), "better"]));
    assert_eq!(figure("gpu_utilization_mean_pct")["verdict"], "within-noise");
    assert_eq!(diff["caveats"].as_array().map(Vec::len), Some(0));
    // With a higher threshold of noise, costs do not differ.
    let diff = document(&["diff", &old, &new, "--format", "json", "--noise", "30"]);
    let costs = diff["figures"].as_array().expect("a list").iter();
    let mut costs = costs.filter(|row| row["figure"] == "run_cost");
    assert_eq!(costs.next().expect("listed")["verdict"], "within-noise");

    let table = printed(&["diff", &old, &new]);
    assert!(table.contains("new g5.24xlarge, us-east-1, 4 × A10G"), "{table}");
    assert!(table.contains("steps per hour"), "{table}");
    let markdown = printed(&["diff", &old, &new, "--format", "markdown"]);
    assert!(
        markdown.contains("| steps per hour | 3,600.0 | 7,200.0 | +100.0% | better |"),
        "{markdown}"
    );
}

#[test]
fn what_is_no_summary_is_said_to_be_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let samples = log(&folder, "run.jsonl", 2_700.0, 2_700);
    let broken = folder.path().join("broken.json");
    let broken = broken.to_str().expect("a name");
    let summary = folder.path().join("run.json");
    let summary = summary.to_str().expect("a name");
    printed(&[&READ[..], &[samples.as_str(), "--output", summary]].concat());
    let whole = fs::read_to_string(summary).expect("it is there");
    fs::write(broken, whole.replace("\"elapsed_seconds\": 2700.0", "\"elapsed_seconds\": -1"))
        .expect("writable");
    let audit = folder.path().join("audit.json");
    let audit = audit.to_str().expect("a name");
    printed(&["audit", "--demo", "--format", "json", "--output", audit]);
    for (pair, said) in [
        ([samples.as_str(), summary], "has the samples of a run, not its summary"),
        ([broken, summary], "invalid value at `elapsed_seconds`"),
        ([audit, summary], "one is an audit, the other a run"),
    ] {
        let output = gpucost(&["diff", pair[0], pair[1]]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{pair:?}: {stderr}");
        assert!(stderr.contains(said) && stderr.contains("\nhint: "), "{stderr}");
    }
}

#[test]
fn the_newest_sample_of_each_process_says_how_busy_it_is() {
    let trace = fs::read_to_string(crate::profile::stub::trace("xid")).expect("the fixture");
    let mut lines = trace.lines();
    let opening = lines.next().expect("an opening").replace(
        r#""nvmlDeviceGetComputeRunningProcesses_v3": []"#,
        r#""nvmlDeviceGetComputeRunningProcesses_v3": [[7, 1048576], [8, 1048576]],
           "nvmlDeviceGetProcessUtilization": [[7, 100, 20], [7, 200, 38], [0, 0, 0], [8, 150, 101]]"#,
    );
    let opening = opening.replace('\n', " ");
    let rest: Vec<&str> = lines.collect();
    let stage = Stage::of_text(&format!("{opening}\n{}\n", rest.join("\n")));
    let mut source = stage.open();
    let busy = |samples: &[gpucost::domain::GpuSample]| -> Vec<(u32, Option<u32>)> {
        let processes = reading(samples, 0).processes.as_ref().expect("listed");
        processes.iter().map(|process| (process.pid, process.sm_percent)).collect()
    };
    let first = sample(&mut source, 1.0);
    // More than 100% is not a reading.
    assert_eq!(busy(&first), [(7, Some(38)), (8, None)]);
    // Nothing is newer: what was read before is not of now.
    let second = sample(&mut source, 2.0);
    assert_eq!(busy(&second), [(7, None), (8, None)]);
}
