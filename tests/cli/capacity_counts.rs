//! `gpucost capacity --request-counts`: the same answer from CloudWatch, Prometheus and CSV,
//! the throughput that counts show, and files that are no counts.

use crate::cli::estates::{START_SECOND, one};
use crate::cli::hostile::is_harmless;
use crate::cli::installed::installed;
use crate::cli::pages::{assert_explains, blocks, page};
use crate::cli::world::{Outcome, World};
use crate::support::data::shared;
use crate::support::skip::skip;
use gpucost::sources::files::read_arrivals;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the planner with a file of counts.
fn run(content: &str, more: &[&str]) -> (Outcome, String) {
    let world = World::new();
    let path = world.file("counts", content);
    let asked = ["capacity", "--offline", "--request-counts", &path];
    (world.run(&[&asked[..], more].concat()), path)
}

fn answer(content: &str, more: &[&str]) -> Value {
    let (outcome, _) = run(content, &[more, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

/// A figure that the answer rests on, by its key.
fn given(answer: &Value, key: &str) -> f64 {
    let figures = answer["given"].as_array().expect("given").iter();
    let mut named = figures.filter(|figure| figure["key"] == key);
    let one = named.next().unwrap_or_else(|| panic!("{key}: {answer}"));
    one["value"].as_f64().expect("a number")
}

/// 30 000, 60 000, 150 000, 90 000 and 45 000 requests in five minutes each, as on the page.
const ROWS: &str = "time,requests\n\
    2026-10-31T00:00:00Z,30000\n2026-10-31T00:05:00Z,60000\n2026-10-31T00:10:00Z,150000\n\
    2026-10-31T00:15:00Z,90000\n2026-10-31T00:20:00Z,45000\n";

#[test]
fn every_form_gives_the_same_answer() {
    let metric = blocks(&page("planners/capacity.md"), "json").remove(0);
    // 2026-10-31T00:00:00Z.
    let first = 1_793_404_800;
    let values: Vec<Value> = [30_000, 60_000, 150_000, 90_000, 45_000]
        .iter()
        .enumerate()
        .map(|(index, requests)| json!([first + 300 * index, requests.to_string()]))
        .collect();
    let matrix = json!({"status": "success", "data": {
        "resultType": "matrix", "result": [{"metric": {}, "values": values}]}});
    let asked = ["--per-gpu", "200", "--headroom", "25", "--type", "g5.xlarge"];
    for content in [ROWS, &metric, &matrix.to_string()] {
        let answer = answer(content, &asked);
        assert_eq!(given(&answer, "rate_per_second"), 500.0);
        assert_eq!(given(&answer, "mean_per_second"), 250.0);
        assert_eq!(given(&answer, "max_per_second"), 500.0);
        let fleet = &answer["fleets"][0];
        assert_eq!(fleet["gpus_needed"], 4);
        // 4 × 1.006 × 730, and 4.024 over 0.9 million an hour.
        assert_eq!(fleet["monthly_cost"], 2_937.52);
        assert_eq!(fleet["cost_per_million_requests"], 4.471_111);
    }
}

#[test]
fn the_peak_is_p99_or_the_largest_period() {
    // 200 minutes of 600 requests, one of 6 000 and one of 1 200: p99 is the 198th of 200.
    let mut rows = String::from("time,requests\n");
    for minute in 0..200 {
        let requests = match minute {
            20 => 6_000,
            90 => 1_200,
            _ => 600,
        };
        rows.push_str(&format!("{},{requests}\n", minute * 60));
    }
    let of = |more: &[&str]| {
        let asked = ["--per-gpu", "10", "--type", "g5.xlarge"];
        let answer = answer(&rows, &[&asked[..], more].concat());
        let needed = answer["fleets"][0]["gpus_needed"].as_u64();
        (given(&answer, "rate_per_second"), needed, answer["caveats"].to_string())
    };
    let (rate, needed, caveats) = of(&[]);
    // 10 / (10 × 80%) = 1.25, and 100 / 8 = 12.5.
    assert_eq!((rate, needed), (10.0, Some(2)));
    let expected = "the busiest period has 100 requests per second, 10 times the peak";
    assert!(caveats.contains(expected), "{caveats}");
    assert!(caveats.contains("cost per million at the mean rate"), "{caveats}");
    let (rate, needed, caveats) = of(&["--request-peak", "max"]);
    assert_eq!((rate, needed), (100.0, Some(13)));
    assert!(!caveats.contains("busiest period"), "{caveats}");
}

/// A g5.xlarge at 15% served 30 requests per second on average: 326 hours of 20 and ten of 356.
/// So one GPU serves 30 / 0.15 = 200, and p99, which is one of the ten, takes 356 / 160, so three.
#[test]
fn counts_of_the_window_show_what_a_workload_serves() {
    let world = World::new();
    let path = world.estate("estate.json", &one());
    let mut rows = String::from("time,requests\n");
    for hour in 0..336 {
        let per_second = if hour % 34 == 7 { 356 } else { 20 };
        let second = START_SECOND + hour * 3_600;
        rows.push_str(&format!("{second},{}\n", per_second * 3_600));
    }
    let counts = world.file("counts.csv", &rows);
    let asked = ["capacity", "--from", &path, "--workload", "one"];
    let with = |more: &[&str]| world.run(&[&asked[..], more, &["--format", "json"]].concat());
    let outcome = with(&["--request-counts", &counts]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answer = outcome.json();
    assert_eq!(given(&answer, "per_gpu_per_second"), 200.0);
    assert_eq!(given(&answer, "mean_per_second"), 30.0);
    assert_eq!(given(&answer, "rate_per_second"), 356.0);
    assert_eq!(answer["fleets"][0]["gpus_needed"], 3);
    assert_eq!(answer["fleets"][0]["instance_type"], "g5.xlarge");
    let missing = answer["missing"].as_array();
    assert!(missing.is_none_or(Vec::is_empty), "{missing:?}");
    // Counts of another time say nothing of it, and a rate that is stated wins.
    let old = world.file("old.csv", "time,requests\n0,600\n60,600\n");
    let outcome = with(&["--request-counts", &old]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    let expected = format!(
        "error: {old} has no period within the window of the estate\n\
         hint: ask for the same time, or pass the rate as `--served-rate`\n"
    );
    assert_eq!(outcome.stderr, expected);
    let stated = with(&["--request-counts", &old, "--served-rate", "30"]);
    assert_eq!(given(&stated.json(), "per_gpu_per_second"), 200.0);
    assert_eq!(given(&stated.json(), "rate_per_second"), 10.0);
}

/// Two GPUs at 40% and at 20% served 12 a second for half a minute: 12 / 0.6 = 20. What was
/// counted before and after it was sampled is not of the run.
#[test]
fn counts_of_a_run_show_what_its_gpus_serve() {
    let world = World::new();
    let gpu = |index: u32| json!({"index": index, "name": "NVIDIA A10G"});
    let header = json!({
        "samples_version": "1", "gpucost_version": "0.1.0", "started": "2026-11-20T09:00:00Z",
        "interval_seconds": 1.0, "is_command": false, "gpus": [gpu(0), gpu(1)],
    });
    let mut log = format!("{header}\n");
    for second in 0..=30 {
        let sample = json!({
            "at_seconds": f64::from(second), "time": format!("2026-11-20T09:00:{second:02}Z"),
            "gpus": [{"utilization_percent": 40.0}, {"utilization_percent": 20.0}],
        });
        log.push_str(&format!("{sample}\n"));
    }
    let samples = world.file("run.jsonl", log);
    let mut rows = String::from("time,requests\n");
    for (second, requests) in [(-10, 9_000), (0, 120), (10, 100), (20, 140), (30, 120), (40, 9_000)]
    {
        // 2026-11-20T09:00:00Z.
        rows.push_str(&format!("{},{requests}\n", 1_795_165_200 + second));
    }
    let counts = world.file("counts.csv", rows);
    let outcome = world.run(&[
        "capacity", "--offline", "--profile-data", &samples, "--request-counts", &counts,
        "--format", "json",
    ]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answer = outcome.json();
    assert_eq!(given(&answer, "per_gpu_per_second"), 20.0);
    // The peak is that of all counts: 900 / (20 × 80%) = 56.25.
    assert_eq!(answer["fleets"][0]["gpus_needed"], 57);
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let per_gpu = ["--per-gpu", "200"];
    for (more, says) in [
        (&["--rate", "5"][..], "cannot be used with"),
        (&["--arrivals", "requests.csv"], "cannot be used with"),
        (&["--request-peak", "p95"], "valid values: p99, max"),
        (&["--request-period", "0s"], "expected a duration above zero"),
        (&["--request-period", "soon"], "expected a duration above zero"),
    ] {
        let (outcome, _) = run(ROWS, &[&per_gpu[..], more].concat());
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{more:?}");
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    }
    for more in [["--request-period", "60s"], ["--request-peak", "max"]] {
        let asked = ["capacity", "--rate", "5", "--per-gpu", "2"];
        let outcome = World::new().run(&[&asked[..], &more].concat());
        assert_eq!(outcome.code, 2, "{more:?}");
    }
    // Nothing says what one GPU serves.
    let (outcome, _) = run(ROWS, &[]);
    let expected = "error: the throughput of a GPU is not known\n";
    assert!(outcome.stderr.starts_with(expected), "{}", outcome.stderr);
}

#[test]
fn files_that_are_no_counts_are_refused_with_their_place() {
    let commands = "see docs/planners/capacity.md for the commands that write such a file";
    let period = "pass the period that they were asked for, such as `--request-period 60s`";
    let columns = format!("{}\n", "x,".repeat(1_000_000));
    let long = format!("time,requests\n1,{}\n", "9".repeat(1_000_000));
    let cut = format!("PATH:2: `{}…` is not a number of requests from 0 to 10^15", "9".repeat(80));
    let metric = |rest: &str| format!("{{\"MetricDataResults\": [{{\"Id\": \"m\", {rest}}}]}}");
    let hostile = metric(
        "\"Timestamps\": [1], \"Values\": [1], \"StatusCode\": \"\\u001b[2J\\u202eForbidden\"",
    );
    let cases: &[(&str, &str, &str)] = &[
        ("", "PATH:1: no column `time`", commands),
        (&columns, "PATH:1: no column `time`", commands),
        ("time,requests\n", "PATH:1: it has no counts below its header", commands),
        (
            "\u{feff}time,requests\r\n1,5\r\n\r\n2,inf\r\n",
            "PATH:4: `inf` is not a number of requests from 0 to 10^15", commands,
        ),
        (&long, &cut, commands),
        (
            "time,requests\n=1+1,5\n",
            "PATH:2: `=1+1` is not a time such as 2026-11-01T00:00:00Z or Unix seconds",
            commands,
        ),
        (
            "time,requests\n5,1\n5,1\n", "PATH:3: the time `5` is not after the one above it",
            commands,
        ),
        (&hostile, "PATH: the status of the metric is `\\u{1b}[2J\\u{202e}Forbidden`", commands),
        (
            "time,requests\n5,1\n",
            "PATH has one count, and nothing says how long its period is",
            period,
        ),
        (
            "time,requests\n0,1\n120,1\n300,1\n",
            "PATH: a count is 180 s after the one before it, which is not a multiple of the period \
             of 120 s",
            period,
        ),
        (
            "time,requests\n0,0\n60,0\n", "PATH: p99 of its counts is 0",
            "pass `--request-peak max`, or counts of a busier time",
        ),
    ];
    for (content, says, hint) in cases {
        let (outcome, path) = run(content, &["--per-gpu", "10"]);
        let shown: String = content.chars().take(100).collect();
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{shown}");
        let expected = format!("error: {}\nhint: {hint}\n", says.replace("PATH", &path));
        assert_eq!(outcome.stderr, expected, "{shown}");
    }
    let (outcome, path) = run("{\"MetricDataResults\": [", &["--per-gpu", "10"]);
    let expected = format!("error: invalid request counts in {path}");
    assert!(outcome.stderr.starts_with(&expected), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("\n  caused by: EOF while parsing"), "{}", outcome.stderr);
    let (outcome, path) =
        run(&metric("\"Timestamps\": [1], \"Values\": [-1]"), &["--per-gpu", "10"]);
    let expected = format!(
        "error: invalid request counts in {path} at `MetricDataResults[0].Values[0]`\n  caused by: \
         invalid value: floating point `-1.0`, expected a number of requests from 0 to 10^15"
    );
    assert!(outcome.stderr.starts_with(&expected), "{}", outcome.stderr);
    // Neither is the name of a file a command to a terminal.
    let world = World::new();
    let path = world.file("a\u{1b}[31m\u{202e}`id`.csv", ROWS);
    for format in ["table", "wide", "json", "csv"] {
        let asked = ["capacity", "--offline", "--request-counts", &path];
        let more = ["--per-gpu", "10", "--format", format];
        let outcome = world.run(&[&asked[..], &more].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let stray = outcome.stdout.chars().find(|c| !is_harmless(*c));
        assert_eq!(stray, None, "{format}");
    }
}

#[test]
fn every_key_is_in_the_page() {
    let answer = answer(ROWS, &["--per-gpu", "10", "--objective", "1s"]);
    let text = page("planners/capacity.md");
    for figure in answer["given"].as_array().expect("given") {
        let key = figure["key"].as_str().expect("a key");
        assert!(text.contains(&format!("`{key}`")), "{key}");
    }
    assert_explains("planners/capacity.md", &answer["fleets"]);
}

/// The command on the page is one of CloudWatch's, by the model of botocore.
#[test]
fn the_command_of_the_page_has_the_shape_of_the_api() {
    let commands = blocks(&page("planners/capacity.md"), "sh");
    let [aws, curl] = commands.as_slice() else {
        panic!("two commands");
    };
    let words = shlex::split(aws).expect("words");
    let (words, to) = words.split_at(words.len() - 2);
    assert_eq!(to, [">", "counts.json"]);
    let curl = shlex::split(curl).expect("words");
    assert!(curl.iter().any(|word| word.ends_with("/api/v1/query_range")));
    let step = curl.iter().find_map(|word| word.strip_prefix("step="));
    let query = curl.iter().find_map(|word| word.strip_prefix("query="));
    let (step, query) = (step.expect("a step"), query.expect("a query"));
    assert!(query.contains(&format!("[{step}]")), "{query}");
    let Some(python) = installed("python") else {
        return skip("target/test-venv with botocore is missing");
    };
    let helper = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/aws_commands.py");
    let mut child = Command::new(python)
        .arg(helper)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Python starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let written = stdin.write_all(format!("{}\n", json!(words)).as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    if String::from_utf8_lossy(&output.stderr).contains("ModuleNotFoundError") {
        return skip("target/test-venv has no botocore");
    }
    written.expect("it reads");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

/// 8,819 requests to a code assistant, counted by the minute and by ten seconds. The expected
/// rates are those of a separate program in Python. Replayed one by one they take 15 GPUs.
/// 9, 20 and 35 hold the objective; busy 80% of the time, 9.75 × 0.813632 / 0.8 = 9.92,
/// 23.4 × 0.813632 / 0.8 = 23.8 and 41.1 × 0.813632 / 0.8 = 41.8.
#[test]
fn a_real_trace_in_counts_takes_what_its_peak_takes() {
    let name = "samples/requests/AzureLLMInferenceTrace_code.csv";
    let Some(path) = shared("counted requests", name) else { return };
    let requests = read_arrivals(&path).expect("a recording");
    // When the first came, Unix seconds.
    let first = 1_700_158_623.979_96;
    let counted = |seconds: i64| {
        let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
        for request in &requests {
            let at = (request.at_seconds + first).floor() as i64;
            *counts.entry(at - at.rem_euclid(seconds)).or_default() += 1;
        }
        let rows = counts.iter().map(|(at, count)| format!("{at},{count}\n"));
        format!("time,requests\n{}", rows.collect::<String>())
    };
    let fleet = |rows: &str, more: &[&str]| {
        let asked = ["--latency", "813.631563ms", "--objective", "5s"];
        let answer = answer(rows, &[&asked[..], more].concat());
        let needed = answer["fleets"][0]["gpus_needed"].as_u64();
        (given(&answer, "rate_per_second"), needed, answer["caveats"].to_string())
    };
    let (rate, needed, caveats) = fleet(&counted(60), &[]);
    assert_eq!((rate, needed), (9.75, Some(10)));
    assert!(caveats.contains("13 periods have no count"), "{caveats}");
    let (rate, needed, _) = fleet(&counted(10), &[]);
    assert_eq!((rate, needed), (23.4, Some(24)));
    let (rate, needed, _) = fleet(&counted(10), &["--request-peak", "max"]);
    assert_eq!((rate, needed), (41.1, Some(42)));
}
