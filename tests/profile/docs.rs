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
    assert_eq!(count, 1);
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
}
