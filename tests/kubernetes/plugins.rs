//! Programs that give credentials: what they print is in no output.

#![cfg(unix)]

use std::path::Path;

use serde_json::{Value, json};

use super::fleet::objects;
use super::run::Lab;
use super::server::{ApiServer, Fault, kubeconfig};

/// What the plugins of these tests print.
const PRINTED: &str = "printed-by-a-plugin-and-nowhere-else";

const SHELL: &str = "/bin/sh";

/// A user whose credentials a program gives.
fn user(command: &str, arguments: &[&str]) -> Value {
    json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": command, "args": arguments,
        "interactiveMode": "IfAvailable",
        "env": [{"name": "GPUCOST_TEST_SECRET", "value": PRINTED}],
    }})
}

/// A user whose credentials some lines of the shell give.
fn user_of_script(folder: &Path, lines: &str) -> Value {
    let path = folder.join("plugin.sh");
    std::fs::write(&path, lines).expect("a writable folder");
    user(SHELL, &[path.to_str().expect("UTF-8")])
}

#[test]
fn the_token_of_a_plugin_is_sent_and_not_shown() {
    let server = ApiServer::with_token(&objects(), 500, PRINTED);
    let folder = tempfile::tempdir().expect("a scratch folder");
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {"token": PRINTED},
    });
    let lines = format!("echo '{PRINTED}' >&2\necho '{credential}'");
    let user = user_of_script(folder.path(), &lines);
    let lab = Lab::with(&kubeconfig(&server.url(), &user));
    let run = lab.read("inventory", &["-vv", "--save", "saved.json"]);
    let document = run.json();
    assert_eq!(document["nodes"].as_array().map(Vec::len), Some(230));
    let saved = std::fs::read_to_string(lab.folder().join("saved.json")).expect("it was saved");
    for text in [&run.stdout, &run.stderr, &saved] {
        assert!(!text.contains(PRINTED), "{text}");
    }
}

#[test]
fn a_server_that_repeats_a_token_is_not_quoted() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {"token": PRINTED},
    });
    let file = folder.path().join("token");
    std::fs::write(&file, PRINTED).expect("a writable folder");
    for user in [
        user_of_script(folder.path(), &format!("echo '{credential}'")),
        json!({"tokenFile": file}),
        json!({"token": PRINTED}),
    ] {
        let server = ApiServer::with_token(&objects(), 500, PRINTED);
        server.inject("pods", 0, usize::MAX, Fault::Echo);
        let lab = Lab::with(&kubeconfig(&server.url(), &user));
        let run = lab.read("inventory", &["-vv", "--save", "saved.json"]);
        let saved = std::fs::read_to_string(lab.folder().join("saved.json"));
        let saved = saved.expect("it was saved");
        assert!(run.stdout.contains("HTTP 403: Forbidden"), "{}", run.stdout);
        server.inject("nodes", 0, usize::MAX, Fault::Echo);
        let refused = lab.read("inventory", &["-vv"]);
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        for text in [&run.stdout, &run.stderr, &saved, &refused.stderr] {
            assert!(!text.contains(PRINTED), "{text}");
        }
    }
}

#[test]
fn a_plugin_that_gives_no_credentials_is_named_and_not_quoted() {
    let server = ApiServer::start(&objects(), 500);
    let folder = tempfile::tempdir().expect("a scratch folder");
    let failing = format!("echo {PRINTED}; echo {PRINTED} >&2; exit 3");
    let talking = format!("echo {PRINTED}");
    for (lines, words) in [
        (failing.as_str(), "the credential plugin failed: "),
        (talking.as_str(), "the output of the credential plugin is not an ExecCredential: "),
    ] {
        let user = user_of_script(folder.path(), lines);
        let lab = Lab::with(&kubeconfig(&server.url(), &user));
        let run = lab.read("inventory", &["-vv"]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        let line = format!("error: kubernetes:connect: {words}{SHELL}");
        assert!(run.stderr.contains(&line), "{}", run.stderr);
        assert!(!run.stderr.contains(PRINTED), "{}", run.stderr);
        assert_eq!(run.stdout, "");
    }
    assert!(server.listed().is_empty());
}

#[test]
fn a_plugin_that_does_not_exist_is_named() {
    let server = ApiServer::start(&objects(), 500);
    let lab = Lab::with(&kubeconfig(&server.url(), &user("no-such-plugin-of-gpucost", &[])));
    let run = lab.read("inventory", &[]);
    let said = run.error(1);
    assert!(
        said.starts_with(
            "error: kubernetes:connect: the credential plugin cannot be started: \
             no-such-plugin-of-gpucost: "
        ),
        "{said}"
    );
    assert!(
        said.ends_with(
            "hint: run `kubectl get nodes` with the same context: it runs the same credential \
             plugin\n"
        ),
        "{said}"
    );
}
