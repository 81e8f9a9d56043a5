//! The page shows what the program prints.

use std::path::Path;
use std::process::Command;

#[test]
fn the_logs_of_the_page_are_summarised_as_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("docs/profile.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let mut updated = page.clone();
    let examples = page.split("```text\n$ gpucost profile --read").skip(1);
    let mut count = 0;
    for example in examples {
        count += 1;
        let (example, _) = example.split_once("```").expect("its end");
        let (arguments, shown) = example.split_once('\n').expect("a command line");
        let output = Command::new(env!("CARGO_BIN_EXE_gpucost"))
            .args(["profile", "--read"])
            .args(arguments.split_whitespace())
            .current_dir(root)
            .env("GPUCOST_CACHE_DIR", "/nowhere")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .output()
            .expect("the program starts");
        let printed = String::from_utf8_lossy(&output.stdout);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            updated = updated.replacen(shown, &printed, 1);
        } else {
            assert_eq!(printed, shown);
        }
    }
    assert_eq!(count, 2);
    if updated != page {
        std::fs::write(path, updated).expect("a page");
    }
}

fn read(more: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_gpucost"))
        .args(["profile", "--read", "fixtures/logs/one-of-four.csv"])
        .args(more)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("GPUCOST_CACHE_DIR", "/nowhere")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .output()
        .expect("the program starts")
}

#[test]
fn a_log_is_never_written_over() {
    let output = read(&["--output", "fixtures/logs/one-of-four.csv"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("use the same file"), "{stderr}");
}

#[test]
fn a_type_with_another_gpu_than_was_seen_gets_no_advice() {
    // A p3.8xlarge has four V100; the log is of four A10G.
    let flags = ["--type", "p3.8xlarge", "--region", "us-east-1"];
    let output = read(&flags);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("price of p3.8xlarge: A10G was detected, but p3.8xlarge has V100;"),
        "{text}"
    );
    assert!(!text.contains("is sufficient"), "{text}");
    assert!(!text.contains('$'), "{text}");
}

/// The end of the page's run with something else announced, as a person reads it.
#[test]
fn what_is_not_known_of_an_interruption_is_not_said_to_be_absent() {
    let whole = std::fs::read_to_string("fixtures/logs/interrupted.jsonl").expect("the fixture");
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("run.jsonl");
    let shown = |end: &str| {
        let lines: Vec<&str> = whole.lines().collect();
        let (_, before) = lines.split_last().expect("an end");
        std::fs::write(&path, format!("{}\n{end}\n", before.join("\n"))).expect("writable");
        let output = Command::new(env!("CARGO_BIN_EXE_gpucost"))
            .args(["profile", "--no-imds", "--read"])
            .arg(&path)
            .env("GPUCOST_CACHE_DIR", "/nowhere")
            .output()
            .expect("the program starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let quiet = r#"{"end":{"elapsed_seconds":2700.3,"exit_code":0,"spot":{}}}"#;
    let text = shown(quiet);
    assert!(text.contains("no interruption was announced"), "{text}");
    let unread = r#"{"end":{"elapsed_seconds":2700.3,"exit_code":0,"spot":{"unread":true}}}"#;
    let text = shown(unread);
    assert!(!text.contains("no interruption was announced"), "{text}");
    let said = "interruption: unknown, because notices were not read to the end of the run";
    assert!(text.contains(said), "{text}");
    // Hibernation keeps what was not ended by a warning: this one ended 0.2 s after it.
    let end = whole.lines().last().expect("an end");
    let text = shown(&end.replace("terminate", "hibernate"));
    assert!(
        text.contains("work lost: at most 5m 00s since the last checkpoint"),
        "{text}"
    );
    let silent = end
        .replace("terminate", "hibernate")
        .replace(r#","warned_by":"SIGTERM""#, "");
    let text = shown(&silent);
    assert!(
        text.contains("the instance keeps its memory: no work is lost"),
        "{text}"
    );
}

#[test]
fn the_lost_work_of_the_page_is_what_its_arithmetic_gives() {
    let output = Command::new(env!("CARGO_BIN_EXE_gpucost"))
        .args(["profile", "--format", "json", "--no-imds", "--read"])
        .arg("fixtures/logs/interrupted.jsonl")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("GPUCOST_CACHE_DIR", "/nowhere")
        .output()
        .expect("the program starts");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(found["cost"]["hourly_cost"], 4.4267);
    // 2,700.3 s − 2,400.0 s on four GPUs, at 4.4267 an hour.
    let lost = &found["spot"]["lost"];
    assert_eq!(lost["seconds"], 300.3);
    assert_eq!(lost["gpu_seconds"], 1_201.2);
    assert_eq!(lost["cost"], 0.37);
    // sqrt(2 × 60 × 86,400); 60/3,220 + 1,910/86,400; 60/600 + 600/86,400.
    let advice = &found["spot"]["checkpoint_every"];
    assert_eq!(advice["seconds"], 3_220.0);
    assert_eq!(advice["overhead_pct"], 4.074);
    assert_eq!(advice["kept_overhead_pct"], 10.6944);
    assert_eq!(
        found["spot"]["rebalance"]["warned_by"],
        serde_json::Value::Null
    );
}
