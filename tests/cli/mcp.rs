//! `gpucost mcp`, driven by the official client, which holds answers to the schemas of the
//! tools, and by hand where a client would not write what a server must bear.

use crate::cli::estates::one;
use crate::cli::hostile::is_harmless;
use crate::cli::installed::installed;
use crate::cli::pages::{blocks, page, quoted};
use crate::cli::process::{program, run_in};
use crate::support::skip::skip;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Output, Stdio};

/// What the client of `mcp_client.py` found; `None` where it cannot run.
fn driven(folder: &Path, arguments: &[&str], calls: &[Value], at_once: bool) -> Option<Value> {
    let Some(python) = installed("python") else {
        skip("target/test-venv with the client of the Model Context Protocol is missing");
        return None;
    };
    let arguments = [&["mcp"][..], arguments].concat();
    let asked = json!({
        "command": env!("CARGO_BIN_EXE_gpucost"),
        "arguments": arguments,
        "folder": folder,
        "env": {"HOME": folder, "AWS_EC2_METADATA_DISABLED": "true"},
        "calls": calls,
        "at_once": at_once,
    });
    let helper = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/mcp_client.py");
    let mut child = std::process::Command::new(python)
        .arg(helper)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Python starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let written = stdin.write_all(asked.to_string().as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("ModuleNotFoundError") {
        skip("target/test-venv has no client of the Model Context Protocol");
        return None;
    }
    written.expect("it reads");
    assert!(output.status.success(), "{stderr}");
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"tool": tool, "arguments": arguments})
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a scratch folder")
}

/// The texts of an answer, one after the other.
fn texts(answer: &Value) -> String {
    let content = answer["result"]["content"].as_array().expect("a list");
    let texts = content.iter().map(|part| part["text"].as_str().expect("text"));
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn answers_are_those_of_the_commands() {
    let folder = scratch();
    let run = |arguments: &[&str]| {
        let output = run_in(folder.path(), arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let json_of = |arguments: &[&str]| -> Value {
        let arguments = [arguments, &["--format", "json"]].concat();
        serde_json::from_str(&run(&arguments)).expect("JSON")
    };
    let audit = json_of(&["audit", "--demo"]);
    let id = audit["findings"][0]["id"].as_str().expect("an id");
    fs::write(folder.path().join("one.json"), one().to_string()).expect("a writable folder");
    let whole = 10_000;
    let calls = [
        call("audit", &json!({"demo": "starter", "limit": whole})),
        call("audit", &json!({"from": "one.json", "risk": "low", "redact": true, "limit": whole})),
        call("inventory", &json!({"demo": "mixed-fleet", "limit": whole})),
        call("pricing", &json!({"types": ["g5.xlarge", "p5.48xlarge"], "limit": whole})),
        call("pricing", &json!({"gpu": "A100", "count": 8, "region": "all", "limit": whole})),
        call("select", &json!({"vram": "20GiB", "nvlink": true, "gpus": 8, "limit": whole})),
        call(
            "select",
            &json!({"params": "7b", "dtype": ["fp16", "int4"], "type": ["g5.xlarge"], "limit": whole}),
        ),
        call("explain", &json!({"demo": "starter", "id": id})),
    ];
    let expected = [
        audit.clone(),
        json_of(&["audit", "--from", "one.json", "--risk", "low", "--redact"]),
        json_of(&["inventory", "--demo", "mixed-fleet"]),
        json_of(&["pricing", "g5.xlarge", "p5.48xlarge"]),
        json_of(&["pricing", "--gpu", "A100", "--count", "8", "--region", "all"]),
        json_of(&["select", "--vram", "20GiB", "--nvlink", "--gpus", "8"]),
        json_of(&["select", "--params", "7b", "--dtype", "fp16,int4", "--type", "g5.xlarge"]),
    ];
    let Some(session) = driven(folder.path(), &[], &calls, true) else { return };
    let answers = session["answers"].as_array().expect("a list");
    assert_eq!(answers.len(), calls.len());
    for ((answer, expected), call) in answers.iter().zip(&expected).zip(&calls) {
        assert_eq!(answer["result"]["isError"], false, "{call}: {answer}");
        assert_eq!(&answer["result"]["structuredContent"], expected, "{call}");
        // Clients that know no other content find the same in the last text.
        let content = answer["result"]["content"].as_array().expect("a list");
        let text = content[content.len() - 1]["text"].as_str().expect("text");
        assert_eq!(&serde_json::from_str::<Value>(text).expect("JSON"), expected, "{call}");
    }
    assert!(texts(&answers[0]).starts_with("audited 22 of 23 instances; 1 gap\n"));
    let explained = &answers[expected.len()];
    assert_eq!(texts(explained), run(&["explain", id, "--demo"]));
    assert_eq!(explained["result"].get("structuredContent"), None);

    assert_eq!(session["server"]["serverInfo"]["name"], "gpucost");
    assert_eq!(session["server"]["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    let tools = session["tools"].as_array().expect("a list");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["audit", "inventory", "explain", "pricing", "select"]);
    for tool in tools {
        let annotations = &tool["annotations"];
        assert_eq!(annotations["readOnlyHint"], true, "{tool}");
        assert_eq!(annotations["destructiveHint"], false, "{tool}");
        assert_eq!(annotations["openWorldHint"], false, "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        assert!(tool["description"].as_str().is_some_and(|text| text.len() > 40), "{tool}");
        for (name, property) in tool["inputSchema"]["properties"].as_object().expect("an object") {
            assert!(property["description"].is_string(), "{name} of {tool}");
        }
    }
    assert_explained(tools);
    let with_output: BTreeSet<&str> = tools
        .iter()
        .filter(|tool| tool["outputSchema"].is_object())
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let answer_in_json = names.into_iter().filter(|name| *name != "explain");
    assert_eq!(with_output, answer_in_json.collect());
}

/// Every tool has a row in the page, with all of its arguments.
fn assert_explained(tools: &[Value]) {
    let page = page("mcp.md");
    for tool in tools {
        let name = tool["name"].as_str().expect("text");
        let mut rows = page.lines().filter(|line| line.starts_with(&format!("| `{name}` |")));
        let row = rows.next().unwrap_or_else(|| panic!("{name} is not in the page"));
        let (_, last) = row.trim_end_matches(" |").rsplit_once(" | ").expect("cells");
        let mut listed: BTreeSet<&str> = quoted(last);
        listed.insert("limit");
        let properties = tool["inputSchema"]["properties"].as_object().expect("an object");
        let mut expected: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        expected.insert("limit");
        assert_eq!(listed, expected, "{name}");
    }
}

#[test]
fn the_configurations_of_the_page_start_the_server() {
    let samples = blocks(&page("mcp.md"), "json");
    assert_eq!(samples.len(), 2);
    for sample in samples {
        let sample: Value = serde_json::from_str(&sample).expect("JSON");
        let servers = ["mcpServers", "servers"].iter().find_map(|key| sample.get(key));
        let server = &servers.expect("servers")["gpucost"];
        let arguments = server["args"].as_array().expect("a list");
        let words = [&server["command"]].into_iter().chain(arguments);
        let words = words.map(|word| word.as_str().expect("text"));
        let parsed = gpucost::cli::command().try_get_matches_from(words);
        assert_eq!(parsed.expect("it parses").subcommand_name(), Some("mcp"));
    }
}

#[test]
fn lists_are_shortened_and_that_is_said() {
    let folder = scratch();
    let calls = [call("audit", &json!({"demo": "starter", "limit": 2}))];
    let Some(session) = driven(folder.path(), &[], &calls, false) else { return };
    let answer = &session["answers"][0];
    let document = &answer["result"]["structuredContent"];
    for list in ["workloads", "findings"] {
        assert_eq!(document[list].as_array().map(Vec::len), Some(2), "{list}");
    }
    // Eight workloads, as the table of the demo shows.
    assert!(texts(answer).contains("\nworkloads: the first 2 of 8; `limit` gives more\n"));
    assert_eq!(document["summary"]["instances"], 23);
}

/// What stands in files that no answer may show.
const SECRET: &str = "hunter2";

#[test]
fn mistakes_are_explained_and_files_elsewhere_stay_unread() {
    let folder = scratch();
    let root = folder.path().join("root");
    fs::create_dir(&root).expect("a folder");
    let secret = json!({"estate_version": SECRET, "as_of": SECRET, SECRET: SECRET}).to_string();
    let wrong = json!({"estate_version": "1", "as_of": SECRET}).to_string();
    fs::write(folder.path().join("outside.json"), &secret).expect("a file");
    fs::write(root.join("inside.json"), &secret).expect("a file");
    fs::write(root.join("wrong.json"), &wrong).expect("a file");
    fs::write(root.join("plain.txt"), format!("password = {SECRET}\n")).expect("a file");
    #[cfg(unix)]
    std::os::unix::fs::symlink("../outside.json", root.join("link.json")).expect("a link");
    let absolute = folder.path().join("outside.json");
    let mut calls = Vec::new();
    for from in [
        "../outside.json",
        absolute.to_str().expect("UTF-8"),
        "link.json",
        "/etc/passwd",
        "missing.json",
        "inside.json",
        "wrong.json",
        "plain.txt",
        ".",
    ] {
        calls.push(call("audit", &json!({"from": from})));
        calls.push(call("explain", &json!({"from": from, "id": "x"})));
        calls.push(call("select", &json!({"from": from, "workload": "x"})));
    }
    calls.extend([
        call("audit", &json!({})),
        call("audit", &json!({"demo": "starter", "risk": "none"})),
        call("audit", &json!({"demo": "starter", "tag": ["no-value"]})),
        call("audit", &json!({"demo": "starter", "tag": ["no=such"]})),
        call("audit", &json!({"demo": "starter", "config": "plain.txt"})),
        call("audit", &json!({"demo": "starter", "limit": 0})),
        call("explain", &json!({"demo": "starter"})),
        call("explain", &json!({"demo": "starter", "id": "--from=/etc/passwd"})),
        call("pricing", &json!({"types": ["refresh"]})),
        call("pricing", &json!({"types": ["--output=/tmp/x"]})),
        call("pricing", &json!({"gpu": "H100", "region": "nowhere"})),
        call("select", &json!({"params": "-7b"})),
        call("select", &json!({"vram": "lots"})),
    ]);
    let problems = calls.len();
    calls.push(call("fix", &json!({})));
    calls.push(call("pricing", &json!({"types": ["g5.xlarge"]})));
    let arguments = ["--root", root.to_str().expect("UTF-8")];
    let Some(session) = driven(folder.path(), &arguments, &calls, false) else { return };
    let answers = session["answers"].as_array().expect("a list");
    assert!(!Value::Array(answers.clone()).to_string().contains(SECRET));
    for (answer, call) in answers.iter().zip(&calls).take(problems) {
        assert_eq!(answer["result"]["isError"], true, "{call}: {answer}");
        let text = texts(answer);
        assert!(text.contains("error: "), "{call}: {text}");
        assert!(text.chars().all(is_harmless), "{call}: {text}");
    }
    // A file outside that exists is answered as one that does not.
    let of = |index: usize| texts(&answers[index * 3]);
    assert_eq!(of(0).replace("../outside.json", ""), of(4).replace("missing.json", ""));
    assert_eq!(answers[problems]["error"]["code"], -32602, "{}", answers[problems]);
    assert_eq!(answers[problems + 1]["result"]["isError"], false);
    let written = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(written, 2, "nothing is written");
}

#[test]
fn names_drive_no_terminal() {
    let folder = scratch();
    let mut estate = one();
    let name = "\u{1b}[2J\u{202e}x\u{9b}\u{7f}";
    estate["instances"][0]["tags"] = json!({"Name": name});
    fs::write(folder.path().join("estate.json"), estate.to_string()).expect("a file");
    let given = json!({"from": "estate.json"});
    let calls = [
        call("audit", &given),
        call("inventory", &given),
        call("explain", &json!({"from": "estate.json", "id": name})),
        call("explain", &json!({"from": "estate.json", "id": format!("{name}y")})),
    ];
    let Some(session) = driven(folder.path(), &[], &calls, false) else { return };
    for answer in session["answers"].as_array().expect("a list") {
        assert!(texts(answer).chars().all(is_harmless), "{answer}");
    }
}

/// A server of the demos, to be spoken to by hand.
fn started(folder: &Path) -> Child {
    program(folder)
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

fn initialize(version: &str) -> String {
    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    });
    format!("{request}\n{{\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}}\n")
}

#[test]
fn it_ends_with_its_input() {
    let folder = scratch();
    let greeting = initialize("2025-06-18");
    for text in ["", "not a message\n", greeting.as_str()] {
        let mut child = started(folder.path());
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(text.as_bytes()).expect("it reads");
        drop(stdin);
        let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&stderr);
        assert_eq!((status.code(), &*stderr), (Some(0), ""), "{text}");
        let lines = stdout.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.is_empty()) {
            let message: Value = serde_json::from_slice(line).expect("only the protocol");
            assert_eq!(message["jsonrpc"], "2.0");
        }
    }
}

#[test]
fn lines_without_an_end_are_dropped() {
    let folder = scratch();
    let mut child = started(folder.path());
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut next = || -> Value {
        let line = answers.next().expect("an answer").expect("UTF-8");
        serde_json::from_str(&line).expect("JSON")
    };
    stdin.write_all(initialize("2025-06-18").as_bytes()).expect("it reads");
    let first = next();
    assert_eq!(first["result"]["protocolVersion"], "2025-06-18");
    let long = format!(
        "{{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"tools/call\", \"params\": \"{}\"}}\n",
        "x".repeat(3 << 20)
    );
    stdin.write_all(long.as_bytes()).expect("it reads");
    stdin.write_all(b"}{\n\xff\xfe\n").expect("it reads");
    let call = json!({
        "jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "pricing", "arguments": {"types": ["g5.xlarge"]}},
    });
    stdin.write_all(format!("{call}\n").as_bytes()).expect("it reads");
    let answer = next();
    assert_eq!(answer["id"], 3, "{answer}");
    let prices = &answer["result"]["structuredContent"]["prices"];
    assert_eq!(prices[0]["instance_type"], "g5.xlarge");
    drop(stdin);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

/// What an audit of the demo answers that a server started with some flags gives.
fn audited(folder: &Path, arguments: &[&str]) -> Value {
    let mut child = program(folder)
        .arg("mcp")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let call = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "audit", "arguments": {"demo": "starter"}},
    });
    let text = format!("{}{call}\n", initialize("2025-06-18"));
    stdin.write_all(text.as_bytes()).expect("it reads");
    let answer = answers.nth(1).expect("two answers").expect("UTF-8");
    drop(stdin);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    serde_json::from_str(&answer).expect("JSON")
}

#[test]
fn settings_come_from_a_flag_and_are_not_quoted() {
    let folder = scratch();
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text);
    file("secret.csv", &format!("{SECRET}\n")).expect("a file");
    let prices = "[prices]\nfile = \"secret.csv\"\n";
    file("gpucost.toml", prices).expect("a file");
    file("unknown.toml", &format!("{SECRET} = 1\n")).expect("a file");
    file("no.toml", &format!("{SECRET}\n")).expect("a file");
    // What a project has lying about is not read.
    let answer = audited(folder.path(), &[]);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    for (config, said) in [
        ("gpucost.toml", "secret.csv is invalid"),
        ("unknown.toml", "unknown.toml has invalid settings"),
        ("no.toml", "no.toml has invalid settings"),
    ] {
        let answer = audited(folder.path(), &["--config", config]);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(texts(&answer).contains(said), "{answer}");
        assert!(!answer.to_string().contains(SECRET), "{answer}");
    }
}

#[test]
fn flags_of_the_account_need_live_and_roots_exist() {
    let folder = scratch();
    for arguments in [
        &["mcp", "--profile", "x"][..],
        &["mcp", "--region", "us-east-1"],
        &["mcp", "--max-api-cost", "0"],
        &["mcp", "--root", "missing"],
    ] {
        let output = run_in(folder.path(), arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty() && stderr.starts_with("error: "), "{stderr}");
    }
}
