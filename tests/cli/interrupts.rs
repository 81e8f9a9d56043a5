//! Ctrl-C and SIGTERM in each phase: while an input is waited for, while credentials
//! are, while an estate is judged, while nobody reads, while a file is written.
#![cfg(unix)]

use crate::cli::process::program;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What a signal may take at most; the aim is an instant.
const AT_MOST: Duration = Duration::from_secs(1);

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

/// Sends a signal and expects the end, with its code and a word on stderr.
fn ends(mut child: Child, signal: Signal, phase: &str) {
    let pid = Pid::from_raw(child.id().try_into().expect("a process id"));
    kill(pid, signal).expect("it runs");
    let sent = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("our own child") {
            break status;
        }
        assert!(sent.elapsed() < AT_MOST, "{phase}: {signal} is not heard");
        std::thread::sleep(Duration::from_millis(5));
    };
    let code = if signal == Signal::SIGINT { 130 } else { 143 };
    assert_eq!(status.code(), Some(code), "{phase}: {signal}");
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("it is piped");
    stderr.read_to_string(&mut said).expect("UTF-8");
    assert!(said.ends_with("error: interrupted\n"), "{phase}: {said}");
}

pub fn fifo(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    mkfifo(&path, Mode::S_IRWXU).expect("a pipe with a name");
    path.into_os_string().into_string().expect("UTF-8")
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// An estate of many boxes with names of their own.
pub fn many(boxes: u32) -> Value {
    let mut large = crate::cli::estates::one();
    let first = large["instances"][0].clone();
    let series = large["metrics"].as_array().expect("a list").clone();
    for index in 0..boxes {
        let id = format!("i-{index}");
        let mut one = first.clone();
        one["id"] = id.clone().into();
        one["tags"]["Name"] = id.clone().into();
        large["instances"].as_array_mut().expect("a list").push(one);
        for mut of_it in series.clone() {
            of_it["instance"] = id.clone().into();
            large["metrics"].as_array_mut().expect("a list").push(of_it);
        }
    }
    large
}

const SIGNALS: [Signal; 2] = [Signal::SIGINT, Signal::SIGTERM];

#[test]
fn while_an_input_is_waited_for() {
    for signal in SIGNALS {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let never = fifo(folder.path(), "never");
        let child = start(program(folder.path()).args(["audit", "--from", &never]));
        // Long enough for the program to be waiting.
        std::thread::sleep(Duration::from_millis(300));
        ends(child, signal, "input");
    }
}

#[test]
fn while_credentials_are_waited_for() {
    for signal in SIGNALS {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let config = folder.path().join("config");
        let begun = folder.path().join("begun");
        let script = format!(
            "[default]\ncredential_process = sh -c 'touch {}; sleep 40'\n",
            begun.display()
        );
        fs::write(&config, script).expect("a writable folder");
        let child = start(
            program(folder.path())
                .env("AWS_CONFIG_FILE", &config)
                .env("PATH", "/usr/bin:/bin")
                .args(["audit", "--region", "us-east-1"]),
        );
        wait_until("the credential process was not run", || begun.exists());
        ends(child, signal, "credentials");
    }
}

#[test]
fn while_an_estate_is_judged() {
    for signal in SIGNALS {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let estate = folder.path().join("estate.json");
        // Takes many seconds to judge, and a moment to read.
        fs::write(&estate, many(3_000).to_string()).expect("a writable folder");
        let child = start(program(folder.path()).args(["audit", "--from", "estate.json"]));
        std::thread::sleep(Duration::from_millis(1_500));
        ends(child, signal, "judging");
    }
}

#[test]
fn while_nobody_reads() {
    for signal in SIGNALS {
        let folder = tempfile::tempdir().expect("a scratch folder");
        // More than a pipe holds, and nobody takes it.
        let estate = folder.path().join("estate.json");
        fs::write(&estate, many(300).to_string()).expect("a writable folder");
        let arguments = ["inventory", "--from", "estate.json", "--format", "json"];
        let mut child = start(program(folder.path()).args(arguments));
        let mut first = [0; 1];
        let mut stdout = child.stdout.take().expect("it is piped");
        stdout.read_exact(&mut first).expect("it prints");
        std::thread::sleep(Duration::from_millis(200));
        if child.try_wait().expect("our own child").is_some() {
            panic!("the document is shorter than a pipe");
        }
        ends(child, signal, "output");
    }
}

#[test]
fn while_a_file_is_written_to_a_pipe_and_no_temporary_file_stays() {
    for signal in SIGNALS {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let never = fifo(folder.path(), "report");
        let child = start(program(folder.path()).args([
            "inventory",
            "--from",
            crate::cli::process::SITUATION,
            "--output",
            &never,
        ]));
        std::thread::sleep(Duration::from_millis(500));
        ends(child, signal, "file");
        let left: Vec<_> = fs::read_dir(folder.path())
            .expect("a readable folder")
            .map(|entry| entry.expect("readable").file_name())
            .filter(|name| name != "report")
            .collect();
        assert_eq!(left, Vec::<std::ffi::OsString>::new());
    }
}

#[test]
fn a_file_that_may_not_grow_is_an_error_and_no_temporary_file_stays() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let gpucost = env!("CARGO_BIN_EXE_gpucost");
    // 8 blocks of 512 bytes.
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("ulimit -f 8; exec {gpucost} audit --demo --save estate.json"))
        .current_dir(folder.path())
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("File too large"), "{said}");
    let left = fs::read_dir(folder.path()).expect("a readable folder").count();
    assert_eq!(left, 0);
}

#[test]
fn a_full_disk_is_an_error() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let folder = tempfile::tempdir().expect("a scratch folder");
    let to_full = fs::File::options().write(true).open(full).expect("a device");
    let output = program(folder.path())
        .args(["audit", "--from", crate::cli::process::SITUATION])
        .stdout(to_full)
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
}
