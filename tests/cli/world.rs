//! A made-up world to run commands in: a scratch folder, a fixed clock, an
//! environment of one's own.

use crate::cli::hints::are_typed;
use gpucost::cli::{self, Io};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// What a command left behind.
#[derive(Debug)]
pub struct Outcome {
    pub code: u8,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }

    /// Everything at once, for snapshots.
    pub fn all(&self) -> String {
        format!("exit code {}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

/// The world of one test.
pub struct World {
    folder: TempDir,
    env: BTreeMap<String, String>,
    /// Whether stdout is a terminal.
    pub terminal: bool,
}

impl World {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a scratch folder"),
            env: BTreeMap::new(),
            terminal: false,
        }
    }

    /// Sets an environment variable.
    pub fn set(&mut self, name: &str, value: &str) {
        self.env.insert(name.to_owned(), value.to_owned());
    }

    /// A path in the scratch folder.
    pub fn path(&self, name: &str) -> String {
        let path: PathBuf = self.folder.path().join(name);
        path.into_os_string().into_string().expect("UTF-8")
    }

    /// Writes a file into the scratch folder and gives its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, content).expect("a writable folder");
        path
    }

    /// Writes an estate into the scratch folder and gives its path.
    pub fn estate(&self, name: &str, estate: &Value) -> String {
        self.file(name, estate.to_string())
    }

    /// Names of the files in the scratch folder, ascending.
    pub fn listing(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder.path())
            .expect("a readable folder")
            .map(|entry| {
                let name = entry.expect("a readable entry").file_name();
                name.into_string().expect("UTF-8")
            })
            .collect();
        names.sort();
        names
    }

    /// Runs `gpucost` with some arguments.
    pub fn run(&self, arguments: &[&str]) -> Outcome {
        let (code, stdout, stderr) = self.bytes(arguments);
        let outcome = Outcome {
            code,
            stdout: String::from_utf8(stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(stderr).expect("stderr is UTF-8"),
        };
        for text in [&outcome.stderr, &outcome.stdout] {
            are_typed(text, self.folder.path());
        }
        outcome
    }

    /// Exit code, stdout and stderr of some arguments. No command that is advised is typed.
    pub fn bytes(&self, arguments: &[&str]) -> (u8, Vec<u8>, Vec<u8>) {
        let mut stdout = Vec::new();
        let mut stderr = Vec::new();
        let code = cli::main(
            with_program(arguments),
            &mut Io {
                stdout: &mut stdout,
                stderr: &mut stderr,
                env: self.env.clone(),
                unreadable: Vec::new(),
                now: "2026-11-20T12:00:00Z".parse().expect("a time stamp"),
                folder: self.folder.path().to_owned(),
                stdout_is_terminal: self.terminal,
                stderr_is_terminal: false,
                ends_at_signals: false,
            },
        );
        (code.number(), stdout, stderr)
    }

    /// Audits an estate as JSON.
    pub fn audit(&self, estate: &Value) -> Value {
        let path = self.estate("audited.json", estate);
        let outcome = self.run(&["audit", "--from", &path, "--format", "json"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.json()
    }
}

/// Arguments as a process gets them.
pub fn with_program(arguments: &[&str]) -> Vec<OsString> {
    std::iter::once("gpucost").chain(arguments.iter().copied()).map(OsString::from).collect()
}
