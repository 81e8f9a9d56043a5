//! The same roll-up on a Ballista cluster, where one runs: `engine/tests/cluster start` says
//! its address, and `engine/tests/run` hands it over in GPUCOST_ENGINE_CLUSTER.

use crate::brute;
use crate::generated::{self, Kind, NAMES, SMALL, points};
use crate::outcome::{done, failed};
use crate::read::tables;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

pub const CLUSTER: &str = "GPUCOST_ENGINE_CLUSTER";

#[test]
fn a_cluster_gives_the_same_rows_with_more_partitions_than_slots() {
    let Ok(address) = std::env::var(CLUSTER) else {
        eprintln!(
            "SKIPPED: a_cluster_gives_the_same_rows_with_more_partitions_than_slots: {CLUSTER} is not set"
        );
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join("archive");
    let kind = Kind { instances: 6, days: 3, ..SMALL };
    generated::write(&points(kind, 5), &archive, "parquet", 7, NAMES);
    let archive = archive.display().to_string();
    let rolled = |name: &str, flags: &[&str]| {
        let out = folder.path().join(name);
        let shown = out.display().to_string();
        let mut arguments = vec!["rollup", "--input", &archive, "--out", &shown];
        arguments.extend(flags);
        done(&arguments);
        tables(&out)
    };
    let embedded = rolled("embedded", &[]);
    for threads in ["2", "16"] {
        let cluster = rolled(threads, &["--engine", &address, "--threads", threads]);
        assert!(cluster == embedded, "{threads} partitions");
    }
}

/// A cluster of its own, beside that of the other tests.
struct Own {
    address: String,
}

impl Own {
    const PORT: &str = "50350";

    fn script(arguments: &[&str]) -> String {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster");
        // The programs are beside the engine, and Cargo in a test of Cargo builds all of them
        // again.
        let programs = Path::new(env!("CARGO_BIN_EXE_gpucost-engine")).parent();
        let output = Command::new(script)
            .args(arguments)
            .env("GPUCOST_ENGINE_CLUSTER_PORT", Self::PORT)
            .env("GPUCOST_ENGINE_CLUSTER_BIN", programs.expect("a folder"))
            .stderr(Stdio::inherit())
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn start() -> Self {
        Self::script(&["start"]);
        let address = Self::script(&["address"]);
        Self { address: format!("ballista://{}", address.trim()) }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        Self::script(&["stop"]);
    }
}

#[test]
fn an_executor_that_is_killed_in_the_middle_changes_no_row() {
    if std::env::var(CLUSTER).is_err() {
        eprintln!(
            "SKIPPED: an_executor_that_is_killed_in_the_middle_changes_no_row: {CLUSTER} is not set"
        );
        return;
    }
    let cluster = Own::start();
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join("archive");
    let kind = Kind { instances: 12, gpus: 4, days: 3, ..SMALL };
    let all = points(kind, 12);
    generated::write(&all, &archive, "parquet", 3, NAMES);
    let out = folder.path().join("out");
    let mut rolling = Command::new(env!("CARGO_BIN_EXE_gpucost-engine"))
        .args(["rollup", "--engine", &cluster.address, "--threads", "4"])
        .args(["--input", &archive.display().to_string()])
        .args(["--out", &out.display().to_string()])
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let said = BufReader::new(rolling.stderr.take().expect("its errors"));
    let mut killed_in = None;
    for line in said.lines() {
        let line = line.expect("UTF-8");
        // The statements of the first day have begun.
        if killed_in.is_none() && line.ends_with("  usage_asked") {
            Own::script(&["kill", "2"]);
            killed_in = Some(line);
        }
    }
    let status = rolling.wait().expect("it ended");
    assert!(status.success(), "{status}");
    assert!(killed_in.is_some(), "it ended before an executor was killed");
    let mut found = tables(&out);
    found.remove("usage_hour");
    assert!(found == brute::tables(&all), "other rows");
}

#[test]
fn a_cluster_without_executors_is_an_error() {
    if !cfg!(feature = "ballista") {
        eprintln!("SKIPPED: a_cluster_without_executors_is_an_error: built without `ballista`");
        return;
    }
    let (engine, folder) = (scheduler("55.0.0"), tempfile::tempdir().expect("a folder"));
    let out = folder.path().join("out");
    let shown = out.display().to_string();
    let arguments = ["rollup", "--input", "x", "--out", &shown, "--engine", &engine];
    let text = failed(&arguments, 1, &out);
    assert!(text.contains(" has no executor\n"), "{text}");
}

/// The address of what answers as a scheduler without executors.
fn scheduler(version: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let state = format!(r#"{{"version":"{version}","datafusion_version":"55.2.0"}}"#);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            let mut request = [0; 1024];
            let length = stream.read(&mut request).expect("a request");
            let is_state = request[..length].starts_with(b"GET /api/state ");
            let body = if is_state { &state } else { "[]" };
            let answer = format!("HTTP/1.0 200 OK\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).expect("answered");
        }
    });
    format!("ballista://{address}")
}

#[test]
fn another_version_of_a_cluster_is_refused() {
    if !cfg!(feature = "ballista") {
        eprintln!("SKIPPED: another_version_of_a_cluster_is_refused: built without `ballista`");
        return;
    }
    let engine = scheduler("54.0.0");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let shown = out.display().to_string();
    let arguments = ["rollup", "--input", "x", "--out", &shown, "--engine", &engine];
    let text = failed(&arguments, 2, &out);
    assert!(text.contains("Ballista 54.0.0") && text.contains("Ballista 55.0.0"), "{text}");
}
