//! The page shows what the program prints.

use std::path::Path;
use std::process::Command;

#[test]
fn the_log_of_the_page_is_summarised_as_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/profile.md")).expect("the page");
    let (_, example) = page
        .split_once("```text\n$ gpucost profile --read")
        .expect("an example");
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
    if printed != shown && std::env::var_os("UPDATE_DOCS").is_some() {
        let path = root.join("docs/profile.md");
        std::fs::write(path, page.replacen(shown, &printed, 1)).expect("a page");
        return;
    }
    assert_eq!(printed, shown);
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
