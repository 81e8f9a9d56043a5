//! The first minute: what `gpucost` alone says on a terminal, and what is shown while a
//! command works. Terminals are pseudo-terminals of 120 columns.
#![cfg(unix)]

use crate::cli::interrupts::{fifo, many};
use crate::cli::pages::{assert_shows, blocks};
use crate::cli::process::program;
use crate::cli::world::World;
use crate::support::source::root;
use nix::pty::{Winsize, openpty};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a program may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program on a terminal, and what it wrote there so far.
struct OnTerminal {
    child: Child,
    seen: Arc<Mutex<Vec<u8>>>,
    reader: std::thread::JoinHandle<()>,
}

impl OnTerminal {
    fn start(mut command: Command) -> Self {
        let size = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
        let pair = openpty(&size, None).expect("a pseudo-terminal");
        let again = pair.slave.try_clone().expect("another descriptor");
        let child = command
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .stdout(Stdio::from(pair.slave))
            .stderr(Stdio::from(again))
            .spawn()
            .expect("the program starts");
        // It holds the terminal open as long as it lives.
        drop(command);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&seen);
        let mut terminal = File::from(pair.master);
        let reader = std::thread::spawn(move || {
            let mut part = [0; 4_096];
            // When the last writer is gone, reading is an error on Linux.
            while let Ok(read @ 1..) = terminal.read(&mut part) {
                let mut seen = shared.lock().expect("the other side does not panic");
                seen.extend_from_slice(&part[..read]);
            }
        });
        Self { child, seen, reader }
    }

    fn text(&self) -> String {
        let seen = self.seen.lock().expect("the other side does not panic");
        String::from_utf8_lossy(&seen).into_owned()
    }

    fn wait_for(&self, words: &str) {
        let began = Instant::now();
        while !self.text().contains(words) {
            assert!(began.elapsed() < PATIENCE, "{words}: {}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it, if it has not ended.
    fn kill(mut self) -> String {
        let _ = self.child.kill();
        self.ended().1
    }

    /// The exit code, and everything that was written.
    fn ended(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().expect("our own child");
        self.reader.join().expect("it ends with the terminal");
        let seen = self.seen.lock().expect("the reader has ended");
        (status.code(), String::from_utf8_lossy(&seen).into_owned())
    }
}

fn audit(folder: &Path, from: &str) -> Command {
    let mut command = program(folder);
    command.args(["audit", "--from", from]);
    command
}

#[test]
fn a_large_estate_shows_how_many_workloads_are_judged() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let estate = folder.path().join("estate.json");
    // As many workloads as boxes, and the first one.
    fs::write(&estate, many(3_000).to_string()).expect("a writable folder");
    let run = OnTerminal::start(audit(folder.path(), "estate.json"));
    run.wait_for("judging workloads: ");
    run.wait_for(" of 3,001, ");
    run.wait_for(" left");
    run.kill();
}

#[test]
fn a_file_shows_how_much_of_it_is_read() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let slow = fifo(folder.path(), "slow.json");
    let run = OnTerminal::start(audit(folder.path(), &slow));
    let mut writer = OpenOptions::new().write(true).open(&slow).expect("the program reads it");
    let begun = format!("{{\"estate_version\": \"1\",{}", " ".repeat(2_048));
    writer.write_all(begun.as_bytes()).expect("it is read");
    // A pipe has no size, so that the time left is not known.
    run.wait_for("reading slow.json: 2.0");
    run.wait_for("/s");
    drop(writer);
    let (code, text) = run.ended();
    assert_eq!(code, Some(2), "{text}");
    let (_, after) = text.rsplit_once("error: ").expect("it is not an estate");
    assert!(!after.contains("reading slow.json: "), "{text}");
}

#[test]
fn nothing_is_shown_in_a_pipe_or_when_quiet() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let estate = folder.path().join("estate.json");
    fs::write(&estate, many(400).to_string()).expect("a writable folder");
    let output = audit(folder.path(), "estate.json").output().expect("the program starts");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    for shown in ["judging", "planning", "reading", "\r", "\u{1b}"] {
        assert!(!stderr.contains(shown), "{shown:?}: {stderr}");
    }
    // On a terminal that is asked for silence, the document alone.
    let mut quiet = audit(folder.path(), "estate.json");
    quiet.arg("--quiet");
    let (code, text) = OnTerminal::start(quiet).ended();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("Total: "), "{text}");
    assert!(!text.contains("judging"), "{text}");
}

/// A world with profiles, a kubeconfig and an estate, some of them with names that hurt.
fn furnished() -> World {
    let mut world = World::new();
    world.terminal = true;
    let config = "[profile lab]\naws_access_key_id = AKIAFIRSTMINUTE00000\n\
                  aws_secret_access_key = neverShown\n\
                  [profile \u{1b}[31mred'; rm -rf]\n[sso-session corp]\nsso_region = x\n";
    let config = world.file("aws-config", config);
    world.set("AWS_CONFIG_FILE", &config);
    let kubeconfig = world.file("kubeconfig", "apiVersion: v1\n");
    world.set("KUBECONFIG", &kubeconfig);
    world.estate("-fleet of 1.json", &crate::cli::estates::one());
    world.file("other.json", "{\"no\": \"estate\"}");
    world
}

/// The commands under NEXT that do not depend on the GPUs of this host.
fn next(text: &str) -> Vec<String> {
    let (_, rest) = text.split_once("\nNEXT\n").expect("a section");
    let lines = rest.lines().take_while(|line| !line.is_empty());
    let commands = lines.map(|line| line.trim_start().split("  ").next().expect("a command"));
    let commands = commands.filter(|command| !command.starts_with("gpucost profile "));
    commands.map(str::to_owned).collect()
}

#[test]
fn alone_it_says_what_is_there_and_what_to_type() {
    let outcome = furnished().run(&[]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let text = &outcome.stdout;
    for secret in ["AKIAFIRSTMINUTE00000", "neverShown", "sso-session", "sso_region"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text}");
    assert!(text.contains("  AWS         profiles \\u{1b}[31mred'; rm -rf, lab\n"), "{text}");
    assert_eq!(
        next(text),
        [
            "gpucost audit --from './-fleet of 1.json'",
            "gpucost doctor --profile $'\\033[31mred\\'; rm -rf'",
            "gpucost audit --profile $'\\033[31mred\\'; rm -rf'", "gpucost audit --kubernetes",
            "gpucost audit --demo",
        ]
    );
    // A command line that the program knows, whatever it is about.
    for command in next(text).iter().filter(|command| !command.contains("$'")) {
        let words = shlex::split(command).expect("words");
        let known = gpucost::cli::command().try_get_matches_from(words);
        assert!(known.is_ok(), "{command}: {:?}", known.err());
    }
}

#[test]
fn a_usual_profile_needs_no_flag_and_nothing_at_all_has_a_demo() {
    let mut world = World::new();
    world.terminal = true;
    let text = world.run(&[]).stdout;
    assert_eq!(next(&text), ["gpucost audit --demo"]);
    assert!(text.contains("  AWS         no credentials"), "{text}");
    let file = world.file("credentials", "[other]\n[default]\naws_access_key_id = a\n");
    world.set("AWS_SHARED_CREDENTIALS_FILE", &file);
    let text = world.run(&[]).stdout;
    let expected = ["gpucost doctor", "gpucost audit", "gpucost audit --demo"];
    assert_eq!(next(&text), expected);
    world.set("AWS_CONFIG_FILE", &world.path("absent"));
    world.set("AWS_PROFILE", "chosen");
    assert!(world.run(&[]).stdout.contains("profile chosen is chosen; "));
}

#[test]
fn what_it_proposes_without_an_account_works_as_typed() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let estate = crate::cli::estates::one().to_string();
    fs::write(folder.path().join("fleet.json"), estate).expect("a writable folder");
    let (code, text) = OnTerminal::start(program(folder.path())).ended();
    assert_eq!(code, Some(0), "{text}");
    let text = text.replace("\r\n", "\n");
    assert_eq!(next(&text).len(), 2, "{text}");
    for command in next(&text) {
        let words = shlex::split(&command).expect("words");
        let output = program(folder.path()).args(&words[1..]).output();
        let output = output.expect("the program starts");
        assert_eq!(output.status.code(), Some(0), "{command}: {output:?}");
    }
}

#[test]
fn the_readme_shows_what_is_printed() {
    let mut world = World::new();
    world.terminal = true;
    let config = world.file("config", "[default]\n[profile lab]\n");
    world.set("AWS_CONFIG_FILE", &config);
    world.estate("fleet.json", &crate::cli::estates::one());
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let examples = blocks(&readme, "console");
    let [example] = examples.as_slice() else {
        panic!("{} examples", examples.len());
    };
    let (command, shown) = example.split_once('\n').expect("a command line");
    assert_eq!(command, "$ gpucost");
    assert_shows("README.md", shown, &world.run(&[]).stdout);
}

#[test]
fn in_a_pipe_it_prints_its_help_as_an_error() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let output = program(folder.path()).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(stderr.contains("Usage: gpucost <COMMAND>"), "{stderr}");
}
