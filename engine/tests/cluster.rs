//! The same roll-up on a Ballista cluster, where one runs: `engine/tests/cluster start` says
//! its address, and `engine/tests/run` hands it over in GPUCOST_ENGINE_CLUSTER.

use crate::generated::{self, Kind, NAMES, SMALL, points};
use crate::outcome::{done, failed};
use crate::read::tables;
use std::io::{Read, Write};
use std::net::TcpListener;

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
    let kind = Kind {
        instances: 6,
        days: 3,
        ..SMALL
    };
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

#[test]
fn another_version_of_a_cluster_is_refused() {
    if !cfg!(feature = "ballista") {
        eprintln!("SKIPPED: another_version_of_a_cluster_is_refused: built without `ballista`");
        return;
    }
    let scheduler = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = scheduler.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut stream, _) = scheduler.accept().expect("a client");
        let mut request = [0; 1024];
        let _ = stream.read(&mut request);
        let body = r#"{"version":"54.0.0","datafusion_version":"54.1.0"}"#;
        let answer = format!("HTTP/1.0 200 OK\r\n\r\n{body}");
        stream.write_all(answer.as_bytes()).expect("answered");
    });
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let engine = format!("ballista://{address}");
    let shown = out.display().to_string();
    let arguments = [
        "rollup", "--input", "x", "--out", &shown, "--engine", &engine,
    ];
    let text = failed(&arguments, 2, &out);
    assert!(
        text.contains("Ballista 54.0.0") && text.contains("Ballista 55.0.0"),
        "{text}"
    );
}
