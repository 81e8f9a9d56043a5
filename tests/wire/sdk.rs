//! boto3 as an outside witness: an official SDK that shares no code with the program. moto
//! brings it along.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::clients::ACCESS_KEY;
use super::process::Server;
use crate::support::skip::skip;

/// A call by the name of its method, such as `describe_instances` of `ec2`.
pub fn call(service: &str, region: &str, operation: &str, params: Value) -> Value {
    json!({
        "service": service,
        "region": region,
        "key": ACCESS_KEY,
        "operation": operation,
        "params": params,
        "pages": false,
    })
}

/// A call that goes on to the last page.
pub fn paged(mut call: Value) -> Value {
    call["pages"] = true.into();
    call
}

/// What comes of calls that are made at once, as `sdk.py` prints it; `None`, with the reason
/// recorded, without boto3.
pub fn outcomes(url: &str, calls: &[Value]) -> Option<Vec<Value>> {
    let python = Server::find("python", "GPUCOST_TEST_PYTHON")?;
    let mut child = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire/sdk.py"))
        .arg(url)
        // Neither settings of AWS nor proxies from here.
        .env_clear()
        .env("HOME", "/nonexistent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Python starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let written = stdin.write_all(json!(calls).to_string().as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("ModuleNotFoundError") {
        skip("target/test-venv has no boto3");
        return None;
    }
    written.expect("it reads");
    assert!(output.status.success(), "{stderr}");
    let outcomes: Vec<Value> = serde_json::from_slice(&output.stdout).expect("a list as JSON");
    assert_eq!(outcomes.len(), calls.len());
    Some(outcomes)
}

/// A list in an answer.
pub fn rows<'a>(outcome: &'a Value, list: &str) -> &'a [Value] {
    outcome["answer"][list].as_array().unwrap_or_else(|| panic!("no {list} in {outcome}"))
}

/// The pages of a call that was paged.
pub fn pages(outcome: &Value) -> &[Value] {
    outcome["pages"].as_array().unwrap_or_else(|| panic!("no pages in {outcome}"))
}
