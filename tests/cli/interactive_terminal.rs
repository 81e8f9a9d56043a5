//! The interactive audit in a terminal of its own: keys go in, the terminal is given back, and
//! the exported policy plans the same.
#![cfg(unix)]

use crate::cli::process::{program, run_in};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{LocalFlags, Termios, tcgetattr};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a slow machine may take for anything.
const AT_MOST: Duration = Duration::from_secs(60);
/// What leaves the other screen of a terminal.
const LEAVES: &str = "\u{1b}[?1049l";

/// The program on a terminal with 80 columns and 24 rows.
struct Session {
    child: Child,
    terminal: File,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Session {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(Some(&size), None::<&Termios>).expect("a terminal");
        let end = || Stdio::from(pty.slave.try_clone().expect("a descriptor"));
        let child = program(folder)
            .args(arguments)
            .env("TERM", "xterm-256color")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("the program starts");
        let terminal = File::from(pty.master);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let mut output = terminal.try_clone().expect("a descriptor");
        let kept = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            // The other end is gone when the program has ended.
            while let Ok(read) = output.read(&mut part) {
                if read == 0 {
                    break;
                }
                let mut kept = kept.lock().expect("nothing panics here");
                kept.extend_from_slice(&part[..read]);
            }
        });
        Self {
            child,
            terminal,
            shown,
        }
    }

    fn text(&self) -> String {
        let shown = self.shown.lock().expect("nothing panics there");
        String::from_utf8_lossy(&shown).into_owned()
    }

    /// Waits until a word was shown beyond so many bytes. What a terminal has already is not
    /// written again, so only words at whose place there was something else can be waited for.
    fn wait_for(&self, word: &str, after: usize) {
        let began = Instant::now();
        loop {
            let text = self.text();
            if text.get(after..).is_some_and(|rest| rest.contains(word)) {
                return;
            }
            assert!(began.elapsed() < AT_MOST, "{word}: {text:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Presses keys, and waits for a word that is shown because of them.
    fn press(&mut self, keys: &str, word: &str) {
        let before = self.text().len();
        self.terminal.write_all(keys.as_bytes()).expect("it reads");
        self.wait_for(word, before);
    }

    /// Whether what is typed is shown by the terminal itself, as in a shell.
    fn echoes(&self) -> bool {
        let settings = tcgetattr(&self.terminal).expect("a terminal");
        settings.local_flags.contains(LocalFlags::ECHO)
    }

    fn ended(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("our own child") {
                return status;
            }
            assert!(began.elapsed() < AT_MOST, "{:?}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It has ended already unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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
    let mut session = Session::start(folder.path(), &["audit", "--demo", "--interactive"]);
    session.wait_for("chat-serving", 0);
    assert!(!session.echoes(), "keys are read one by one");
    // Down and up; then the plan, whose first action is switched off.
    session.press("\u{1b}[B", "experiments");
    session.press("\t", "[x]");
    session.press(" ", "-$");
    session.press("w", "wrote");
    let before = session.text().len();
    session.terminal.write_all(b"q").expect("it reads");
    assert_eq!(session.ended().code(), Some(0), "{:?}", session.text());
    session.wait_for("audited", before);
    assert!(session.echoes());

    let text = session.text();
    let (_, after) = text.rsplit_once(LEAVES).expect("it leaves its screen");
    let (_, said) = after.split_once("plan saves $").expect("the chosen plan");
    let said: String = said
        .chars()
        .take_while(|c| !c.is_whitespace())
        .filter(|c| *c != ',')
        .collect();
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
    let mut session = Session::start(folder.path(), &["audit", "--demo", "--interactive"]);
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
    let mut session = Session::start(folder.path(), &["audit", "--demo", "--interactive"]);
    session.wait_for("chat-serving", 0);
    session.press("\t", "[x]");
    session.press(" ", "-$");
    session.press("q", "leaves");
    session.terminal.write_all(b"\x03").expect("it reads");
    assert_eq!(session.ended().code(), Some(0));
    assert!(session.echoes());
    assert!(!folder.path().join("gpucost-choice.toml").exists());
}
