//! The live view beside a command, on a terminal of its own.
#![cfg(unix)]

use crate::cli::on_terminal::{LEAVES, Session};
use crate::profile::command::profile;
use std::fs;
use std::path::Path;

/// A command of the shell beside the live view.
fn beside(script: &str, folder: &Path) -> Session {
    let mut command = profile("fraction");
    command.args(["--live", "--interval", "100ms", "--", "sh", "-c", script]).current_dir(folder);
    Session::start(&mut command)
}

#[test]
fn what_a_command_writes_is_shown_and_kept_and_its_exit_code_passed_on() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    // The view may show the command itself, so its words are not in it as they are written.
    let script = "echo fir''st; sleep 0.5; echo la''st >&2; sleep 0.5; exit 7";
    let mut session = beside(script, folder.path());
    session.wait_for("first", 0);
    assert!(!session.echoes(), "keys are read one by one");
    session.wait_for("last", 0);
    assert_eq!(session.ended().code(), Some(7), "{:?}", session.text());
    session.wait_for("samples every 0.1 s", 0);
    assert!(session.echoes());
    let text = session.text();
    let (_, summary) = text.rsplit_once(LEAVES).expect("it leaves its screen");
    assert!(summary.contains("output of the command is in gpucost-command.log"), "{summary}");
    assert!(!summary.contains("first"), "{summary}");
    let kept = fs::read_to_string(folder.path().join("gpucost-command.log"));
    assert_eq!(kept.expect("a file"), "first\nlast\n");
}

#[test]
fn q_leaves_the_view_and_the_command_runs_on() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let script = "echo wai''ting; until [ -e go ]; do sleep 0.05; done; touch gone";
    let mut session = beside(script, folder.path());
    session.wait_for("waiting", 0);
    session.press("q", LEAVES);
    assert!(session.echoes());
    assert!(!folder.path().join("gone").exists());
    fs::write(folder.path().join("go"), "").expect("a writable folder");
    assert_eq!(session.ended().code(), Some(0), "{:?}", session.text());
    assert!(folder.path().join("gone").exists());
}

#[test]
fn control_c_interrupts_the_command_which_may_still_save() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let script = "trap 'touch saved; exit 5' INT; echo rea''dy; while :; do sleep 0.05; done";
    let mut session = beside(script, folder.path());
    session.wait_for("ready", 0);
    session.type_in("\u{3}");
    assert_eq!(session.ended().code(), Some(5), "{:?}", session.text());
    assert!(folder.path().join("saved").exists());
    assert!(session.echoes());
}
