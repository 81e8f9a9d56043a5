//! Commands that print something about the program itself: they read no file
//! and need no account.

use crate::cli::world::{World, with_program};
use gpucost::cli::{self, ExitCode, Io};
use std::io::{self, ErrorKind, Write};

fn commands() -> Vec<String> {
    let command = cli::command();
    command.get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

#[test]
fn completions_name_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let outcome = World::new().run(&["setup", "completions", shell]);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{shell}");
        for command in commands() {
            assert!(outcome.stdout.contains(&command), "{shell}: {command}");
        }
        assert!(outcome.stdout.contains("allow-empty"), "{shell} knows flags");
    }
}

#[test]
fn the_manual_names_every_command() {
    let outcome = World::new().run(&["setup", "man"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert!(outcome.stdout.contains(".TH gpucost"), "it is roff");
    for command in commands() {
        // A hyphen is escaped there.
        let escaped = command.replace('-', "\\-");
        assert!(outcome.stdout.contains(&escaped), "{command}");
    }
}

#[test]
fn each_command_has_a_page_of_its_own() {
    let world = World::new();
    let folder = world.path("pages");
    let outcome = world.run(&["setup", "man", "--out", &folder]);
    assert_eq!(outcome.all(), "exit code 0\n--- stdout\n--- stderr\n");
    let page = |name: &str| {
        let path = std::path::Path::new(&folder).join(name);
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    assert!(page("gpucost.1").contains(".TH gpucost"));
    for command in commands() {
        let page = page(&format!("gpucost-{command}.1"));
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
    }
    // A command of a command, in a file and by its words.
    assert!(page("gpucost-history-record.1").contains("allow\\-empty"));
    let one = world.run(&["setup", "man", "history", "record"]);
    assert_eq!((one.code, one.stderr.as_str()), (0, ""));
    assert!(one.stdout.contains("allow\\-empty"), "{}", one.stdout);
    let none = world.run(&["setup", "man", "history", "erase"]);
    assert_eq!(none.code, 2);
    assert!(none.stderr.contains("`history erase`"), "{}", none.stderr);
    let file = world.file("file", "");
    assert_eq!(world.run(&["setup", "man", "--out", &file]).code, 1);
}

#[test]
fn the_policy_is_printed_as_the_library_makes_it() {
    let outcome = World::new().run(&["setup", "iam"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert_eq!(outcome.stdout, gpucost::sources::aws::iam_policy());
    assert!(outcome.json().is_object());
}

#[test]
fn an_organization_trusts_nobody_who_was_not_named() {
    let world = World::new();
    let refused = world.run(&["setup", "iam", "--org"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    assert!(
        refused.stderr.starts_with("error: `--org` needs the account")
            && refused.stderr.contains("\nhint: run `gpucost setup iam --org --account ID`"),
        "{}",
        refused.stderr
    );
    let named = world.run(&["setup", "iam", "--org", "--account", "444455556666"]);
    let trust = &named.json()["member_trust_policy"]["Statement"][0];
    assert_eq!(trust["Principal"]["AWS"], "arn:aws:iam::444455556666:root");
}

#[test]
fn the_role_is_printed_as_the_library_makes_it() {
    let outcome = World::new().run(&["setup", "kubernetes"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert_eq!(outcome.stdout, gpucost::sources::kubernetes::cluster_role());
}

#[test]
fn what_needs_no_settings_reads_none() {
    let world = World::new();
    world.file("gpucost.toml", "this is no toml");
    assert_eq!(world.run(&["audit", "--demo"]).code, 2, "it would be read");
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["audit", "--help"],
        &["setup", "iam"],
        &["setup", "kubernetes"],
        &["setup", "completions", "fish"],
        &["setup", "man"],
        &["setup", "schema"],
        &["setup", "schema", "policy"],
    ] {
        // What they advise is typed where settings can be read.
        let (code, stdout, stderr) = world.bytes(arguments);
        assert_eq!((code, stderr.as_slice()), (0, &b""[..]), "{arguments:?}");
        assert!(!stdout.is_empty(), "{arguments:?}");
    }
    let version = world.run(&["--version"]).stdout;
    assert_eq!(version, format!("gpucost {}\n", env!("CARGO_PKG_VERSION")));
}

/// A stdout that takes nothing.
struct Refusing(ErrorKind);

impl Write for Refusing {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(self.0.into())
    }
}

#[test]
fn a_full_disk_is_1_and_a_closed_pipe_is_no_failure() {
    let world = World::new();
    let path = world.estate("one.json", &crate::cli::estates::one());
    for arguments in [
        &["audit", "--from", &path][..],
        &["inventory", "--from", &path],
        &["setup", "metrics", "--from", &path, "-q"],
        &["setup", "iam"],
        &["setup", "kubernetes"],
        &["setup", "completions", "zsh"],
        &["setup", "man"],
        &["setup", "schema", "audit"],
        &["--help"],
    ] {
        for (kind, code) in [
            (ErrorKind::BrokenPipe, ExitCode::Done),
            (ErrorKind::StorageFull, ExitCode::Unexpected),
        ] {
            let mut stderr = Vec::new();
            let folder = tempfile::tempdir().expect("a scratch folder");
            let exit_code = cli::main(
                with_program(arguments),
                &mut Io {
                    stdout: &mut Refusing(kind),
                    stderr: &mut stderr,
                    env: Default::default(),
                    unreadable: Vec::new(),
                    now: "2026-11-20T12:00:00Z".parse().expect("a time stamp"),
                    folder: folder.path().to_owned(),
                    stdout_is_terminal: false,
                    stderr_is_terminal: false,
                    ends_at_signals: false,
                },
            );
            let stderr = String::from_utf8(stderr).expect("UTF-8");
            assert_eq!(exit_code, code, "{arguments:?}: {stderr}");
            let is_reported = stderr.starts_with("error: cannot write ");
            assert_eq!(is_reported, code == ExitCode::Unexpected, "{arguments:?}: {stderr}");
        }
    }
}
