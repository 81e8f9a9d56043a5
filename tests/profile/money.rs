//! What a run says in dollars, and where the host's type comes from.

use crate::profile::stub;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

/// A metadata service on this host; answers version 2 only, as EC2's does.
fn metadata_service(answers: &'static [(&'static str, &'static str)]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                request.push(byte[0]);
            }
            let request = String::from_utf8_lossy(&request).to_lowercase();
            let has_token = request.contains("x-aws-ec2-metadata-token: secret-token");
            let body = if request.starts_with("put /latest/api/token") {
                Some("secret-token")
            } else {
                let path = request.split(' ').nth(1).unwrap_or_default();
                let name = path.strip_prefix("/latest/meta-data/").unwrap_or_default();
                let entry = answers.iter().find(|(key, _)| *key == name);
                entry.filter(|_| has_token).map(|(_, answer)| *answer)
            };
            let (status, body) = body.map_or(("404 Not Found", ""), |body| ("200 OK", body));
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nx-aws-ec2-metadata-token-ttl-seconds: 600\r\n\
                 content-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    address
}

fn summary(metadata: Option<&str>, more: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpucost"));
    command
        .args(["profile", "--interval", "100ms", "--duration", "1s", "--format", "json"])
        .arg("--nvml-lib")
        .arg(stub::library())
        .args(more)
        .env("GPUCOST_NVML_TRACE", stub::trace("eight-gpus"))
        .env("GPUCOST_NVML_CLOCK", "step loop")
        .env("GPUCOST_CACHE_DIR", "/nowhere");
    match metadata {
        Some(address) => command.env("AWS_EC2_METADATA_SERVICE_ENDPOINT", address),
        None => command.env("AWS_EC2_METADATA_DISABLED", "true"),
    };
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a document")
}

#[test]
fn the_metadata_service_names_the_host() {
    let address = metadata_service(&[
        ("instance-id", "i-0123456789abcdef0"),
        ("instance-type", "g5.48xlarge"),
        ("placement/region", "us-west-2"),
        ("instance-life-cycle", "on-demand"),
    ]);
    let document = summary(Some(&address), &[]);
    assert_eq!(document["instance_id"], "i-0123456789abcdef0");
    assert_eq!(document["instance_type"], "g5.48xlarge");
    assert_eq!(document["region"], "us-west-2");
    // The list of us-west-2 and a month of 730 h: 16.288 × 730 = 11 890.24.
    assert_eq!(document["cost"]["hourly_cost"], 16.288);
    assert_eq!(document["cost"]["monthly_cost"], 11_890.24);
    assert_eq!(document["cost"]["purchase_option"], "on-demand");
    let text = document.to_string();
    assert!(!text.contains("secret-token"));

    // Flags outrank it, and it can be left alone.
    let document = summary(Some(&address), &["--type", "g5.12xlarge"]);
    assert_eq!(document["instance_type"], "g5.12xlarge");
    let document = summary(Some(&address), &["--no-imds"]);
    assert!(document["instance_type"].is_null() && document["cost"].is_null());
}

#[test]
fn a_spot_host_is_priced_on_the_spot_market() {
    let address = metadata_service(&[
        ("instance-id", "i-1"),
        ("instance-type", "g5.48xlarge"),
        ("placement/region", "us-east-1"),
        ("instance-life-cycle", "spot"),
    ]);
    let document = summary(Some(&address), &[]);
    assert_eq!(document["cost"]["purchase_option"], "spot");
    assert!(document["cost"]["hourly_cost"].as_f64() < Some(16.288));
}

#[test]
fn nobody_who_answers_is_a_gap_and_no_price() {
    let document = summary(Some("http://127.0.0.1:9"), &[]);
    assert!(document["cost"].is_null());
    let gaps = document["gaps"].to_string();
    assert!(gaps.contains("instance metadata"), "{gaps}");
}

#[test]
fn a_type_that_is_not_the_one_of_the_run_has_no_price() {
    // 8 A10G answer; a g5.12xlarge has 4, and a p3.8xlarge 4 of another model.
    for (name, reason) in [
        ("g5.12xlarge", "8 GPUs were detected, but g5.12xlarge has 4"),
        ("p3.8xlarge", "A10G was detected, but p3.8xlarge has V100; "),
    ] {
        let document = summary(None, &["--type", name, "--region", "us-east-1"]);
        assert!(document["cost"].is_null(), "{name}");
        let gaps = document["gaps"].to_string();
        assert!(gaps.contains(reason), "{gaps}");
        assert!(!document["recommendation"].to_string().contains('$'));
    }
    // A g5.48xlarge has 8, all of which are used.
    let document = summary(None, &["--type", "g5.48xlarge", "--region", "us-east-1"]);
    assert!(document["cost"]["left_alone"].is_null());
    // 38% mean over 8 GPUs: 16.288 / (8 × 0.38) = 5.357895 an hour of a full one.
    let useful = document["cost"]["cost_per_useful_gpu_hour"].as_f64();
    assert!((useful.expect("a rate") - 5.357895).abs() < 0.1, "{useful:?}");
}
