//! Requests by period, as a real Prometheus answers `query_range`.

use super::servers::Programs;
use crate::cli::process::run_in;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;

/// 2026-10-31T00:00:00Z.
const FIRST: u64 = 1_793_404_800;

fn get(address: &str, target: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    // In this version of HTTP an answer has an end, and comes in one piece.
    let request = format!("GET {target} HTTP/1.0\r\nhost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.contains(" 200 "), "{head}");
    body.to_owned()
}

/// Two pods count requests by the minute: 600 each, and 1 500 and 1 800 in the busiest. What
/// they serve together is 55 a second there, and 20 on average but for it: (99 × 1 200 + 3 300)
/// / 100 / 60 = 20.35.
#[test]
fn an_answer_of_a_real_prometheus_is_a_file_of_counts() {
    let Some(programs) = Programs::find() else { return };
    let mut text = String::from("# TYPE requests_by_minute gauge\n");
    for (pod, busiest) in [("a", 1_500), ("b", 1_800)] {
        for minute in 0..100 {
            let requests = if minute == 40 { busiest } else { 600 };
            let at = FIRST + minute * 60;
            let line = format!("requests_by_minute{{pod=\"{pod}\"}} {requests} {at}\n");
            text.push_str(&line);
        }
    }
    text.push_str("# EOF\n");
    let folder = tempfile::tempdir().expect("a scratch folder");
    let samples = folder.path().join("samples.om");
    std::fs::write(&samples, text).expect("writable");
    let blocks = folder.path().join("blocks");
    programs.blocks_of(&samples, &blocks);
    let server = programs.prometheus(&blocks, &[]);
    let last = FIRST + 99 * 60;
    for query in ["sum(requests_by_minute)", "requests_by_minute"] {
        let target = format!("/api/v1/query_range?query={query}&start={FIRST}&end={last}&step=60");
        let answer = get(&server.address, &target);
        std::fs::write(folder.path().join("counts.json"), &answer).expect("writable");
        for (peak, expected) in [("p99", 20.0), ("max", 55.0)] {
            let output = run_in(
                folder.path(),
                &[
                    "capacity", "--offline", "--request-counts", "counts.json", "--request-peak",
                    peak, "--per-gpu", "10", "--format", "json",
                ],
            );
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{stderr}\n{answer}");
            let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let given = document["given"].as_array().expect("a list");
            let of = |key: &str| {
                let row = given.iter().find(|row| row["key"] == key);
                row.and_then(|row| row["value"].as_f64())
            };
            assert_eq!(of("rate_per_second"), Some(expected), "{query}");
            assert_eq!(of("mean_per_second"), Some(20.35), "{query}");
        }
    }
}
