//! What needs a process of its own: exit codes as numbers, pipes that close
//! early, and a host without credentials.

use std::io::Read;
use std::process::{Command, Output, Stdio};

/// A small estate.
pub const SITUATION: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/rules/idle-gpu/fires.json");

/// The compiled program with nothing of this environment, in a folder of its
/// own that holds no settings.
pub fn program(folder: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpucost"));
    command
        .env_clear()
        .env("HOME", folder)
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a scratch folder");
    run_in(folder.path(), arguments)
}

/// Runs the program in a folder.
pub fn run_in(folder: &std::path::Path, arguments: &[&str]) -> Output {
    program(folder).args(arguments).output().expect("the program starts")
}

/// The help of a command, wrapped for 100 columns whatever the terminal is.
pub fn help(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn exit_codes_reach_the_shell_as_numbers() {
    for (arguments, code) in [
        (&["--version"][..], 0),
        (&["audit", "--from", SITUATION], 0),
        (&["audit", "--demo", "--output", "missing/report"], 1),
        (&["audit", "--from", "missing.json"], 2),
        (&["audit", "--demo", "--strict"], 3),
        (&["audit", "--from", SITUATION, "--tag", "no=such"], 4),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn without_credentials_it_is_1_with_a_hint_and_an_empty_stdout() {
    let output = run(&["audit", "--region", "us-east-1", "--format", "json"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(output.stdout.is_empty());
    assert!(stderr.starts_with("error: no AWS credentials were found\n  caused by: "), "{stderr}");
    let form = ["error: ", "  caused by: ", "hint: "];
    for line in stderr.lines() {
        assert!(form.iter().any(|start| line.starts_with(start)), "{line}");
    }
    assert!(stderr.contains("\nhint: ") && stderr.contains("--demo"), "{stderr}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    for arguments in [
        &["audit", "--demo", "--format", "json"][..],
        &["inventory", "--from", SITUATION],
        &["metrics", "--from", SITUATION, "--format", "csv"],
        &["setup", "completions", "bash"],
        &["setup", "man"],
        &["--help"],
        &["audit", "--help"],
    ] {
        let mut child = program(folder.path())
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("UTF-8");
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("error"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_closed_stderr_changes_nothing() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut child = program(folder.path())
        .args(["audit", "--demo", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stderr.take());
    let mut stdout = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut stdout).expect("UTF-8");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert_eq!(stdout, crate::cli::contract::DEMO.stdout);
}

/// How the program ends when nobody reads what it prints.
fn unread(folder: &std::path::Path, arguments: &[&str]) -> Option<i32> {
    let mut child = program(folder)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    child.wait().expect("it ends").code()
}

#[test]
fn a_reader_that_stops_changes_no_verdict() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let wrote = run_in(folder.path(), &["check", "init"]);
    assert!(wrote.status.success(), "{wrote:?}");
    let formats =
        ["table", "wide", "json", "csv", "markdown", "html", "github", "sarif", "junit", "slack"];
    for format in formats {
        let check = ["check", "--from", SITUATION, "--format", format];
        let read = run_in(folder.path(), &check);
        assert_eq!(read.status.code(), Some(100), "{format}: {read:?}");
        assert_eq!(unread(folder.path(), &check), Some(100), "{format}");
    }
    for format in ["table", "json", "csv"] {
        let strict = ["audit", "--demo", "--strict", "--format", format];
        assert_eq!(unread(folder.path(), &strict), Some(3), "{format}");
        let nothing = ["audit", "--from", SITUATION, "--tag", "no=such", "--format", format];
        assert_eq!(unread(folder.path(), &nothing), Some(4), "{format}");
        let done = ["audit", "--demo", "--format", format];
        assert_eq!(unread(folder.path(), &done), Some(0), "{format}");
    }
}

#[test]
fn stdout_by_its_name_is_written_to_and_not_replaced() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("report.json");
    let file = std::fs::File::create(&path).expect("writable");
    let arguments = ["audit", "--demo", "--format", "json", "--output", "/dev/stdout"];
    let status = program(folder.path())
        .args(arguments)
        .stdout(file)
        .stderr(Stdio::null())
        .status()
        .expect("the program starts");
    assert_eq!(status.code(), Some(0));
    let text = std::fs::read_to_string(&path).expect("it is there");
    let printed = run(&["audit", "--demo", "--format", "json"]).stdout;
    assert_eq!(text.as_bytes(), printed);
    let stdout = std::fs::read_link("/dev/stdout").expect("it is still a link");
    assert_eq!(stdout, std::path::Path::new("/proc/self/fd/1"));
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_text_is_named() {
    use std::os::unix::ffi::OsStringExt;
    let folder = tempfile::tempdir().expect("a scratch folder");
    let noise = std::ffi::OsString::from_vec(vec![b'u', 0xff]);
    let run = |name: &str| {
        let output = program(folder.path())
            .env(name, &noise)
            .args(["audit", "--from", SITUATION])
            .output()
            .expect("the program starts");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        (output.status.code(), said)
    };
    let (code, said) = run("GPUCOST_REGION");
    assert_eq!(code, Some(2));
    assert_eq!(
        said,
        "error: the value of GPUCOST_REGION is not UTF-8\n\
         hint: run `unset GPUCOST_REGION`, or set it to UTF-8 text\n"
    );
    assert_eq!(run("SOMEBODY_ELSES").0, Some(0));
}
