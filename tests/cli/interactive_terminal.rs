//! The interactive audit in a terminal of its own: keys go in, the terminal is given back, and
//! the exported policy plans the same.
#![cfg(unix)]

use crate::cli::on_terminal::{LEAVES, Session};
use crate::cli::process::{program, run_in};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::path::Path;

fn session(folder: &Path) -> Session {
    Session::start(program(folder).args(["audit", "--demo", "--interactive"]))
}

/// What the plan of the demo saves per month, in cents as text.
fn savings(folder: &Path, flags: &[&str]) -> String {
    let arguments = [&["audit", "--demo", "--format", "json"], flags].concat();
    let output = run_in(folder, &arguments);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let sum = report["summary"]["monthly_savings"].as_f64();
    format!("{:.2}", sum.expect("a sum"))
}

#[test]
fn the_policy_that_a_session_exports_plans_the_same() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut session = session(folder.path());
    session.wait_for("chat-serving", 0);
    assert!(!session.echoes(), "keys are read one by one");
    // Down and up; then the plan, whose first action is switched off.
    session.press("\u{1b}[B", "experiments");
    session.press("\t", "[x]");
    session.press(" ", "-$");
    session.press("w", "wrote");
    let before = session.text().len();
    session.type_in("q");
    assert_eq!(session.ended().code(), Some(0), "{:?}", session.text());
    session.wait_for("audited", before);
    assert!(session.echoes());

    let text = session.text();
    let (_, after) = text.rsplit_once(LEAVES).expect("it leaves its screen");
    let (_, said) = after.split_once("plan saves $").expect("the chosen plan");
    let said: String =
        said.chars().take_while(|c| !c.is_whitespace()).filter(|c| *c != ',').collect();
    let file = folder.path().join("gpucost-choice.toml");
    let policy = std::fs::read_to_string(&file).expect("it was written");
    assert_eq!(policy.matches("[[reject]]").count(), 1, "{policy}");
    let chosen = savings(folder.path(), &["--policy", "gpucost-choice.toml"]);
    assert_eq!(chosen, said);
    assert_ne!(chosen, savings(folder.path(), &[]));
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut session = session(folder.path());
    session.wait_for("chat-serving", 0);
    let pid = Pid::from_raw(session.child.id().try_into().expect("a process ID"));
    kill(pid, Signal::SIGTERM).expect("it runs");
    assert_eq!(session.ended().code(), Some(143));
    session.wait_for("interrupted", 0);
    assert!(session.text().contains(LEAVES), "{:?}", session.text());
    assert!(session.echoes());
}

#[test]
fn control_c_leaves_at_once_even_with_a_choice_that_is_not_exported() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut session = session(folder.path());
    session.wait_for("chat-serving", 0);
    session.press("\t", "[x]");
    session.press(" ", "-$");
    session.press("q", "leaves");
    session.type_in("\u{3}");
    assert_eq!(session.ended().code(), Some(0));
    assert!(session.echoes());
    assert!(!folder.path().join("gpucost-choice.toml").exists());
}
