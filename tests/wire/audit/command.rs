//! Running the compiled program, with checks that hold whatever happens.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::account::Account;
use super::days::Days;

/// Credentials that would be noticed in any output.
pub const ACCESS_KEY: &str = "AKIAGPUCOSTWIRETEST0";
pub const SECRET_KEY: &str = "gpucostSecretThatMustNeverBePrinted00000";
pub const SESSION_TOKEN: &str = "gpucostTokenThatMustNeverBePrinted";

const PROGRAM: &str = env!("CARGO_BIN_EXE_gpucost");

/// A command line with an environment of its own.
pub struct Gpucost {
    command: Command,
    /// Home and current folder: nothing of the machine's own is read.
    home: TempDir,
}

/// What a run left behind.
#[derive(Clone, Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Gpucost {
    /// The program with an empty environment.
    pub fn new(arguments: &[&str]) -> Self {
        Self::by(Command::new(PROGRAM), arguments)
    }

    /// The same where no file can grow, as on a full disk.
    pub fn on_a_full_disk(arguments: &[&str]) -> Self {
        let mut shell = Command::new("/bin/sh");
        // Without the trap, the limit would be a signal instead of an error.
        shell.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""]);
        shell.arg(PROGRAM);
        Self::by(shell, arguments)
    }

    fn by(mut command: Command, arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a scratch folder can be made");
        command
            .args(arguments)
            .env_clear()
            .env("HOME", home.path())
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_REGION", "us-east-1")
            .current_dir(home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self { command, home }
    }

    /// `gpucost audit --format json` over the days ahead.
    pub fn audit(days: Days) -> Self {
        Self::new(&["audit", "--format", "json", "--lookback", "14d"])
            .args(&["--as-of", &days.as_of()])
    }

    pub fn args(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    /// With credentials, against an account.
    pub fn of(self, account: &Account) -> Self {
        self.at(&account.loopback.url()).with_credentials()
    }

    /// Against an endpoint.
    pub fn at(mut self, url: &str) -> Self {
        self.command.env("AWS_ENDPOINT_URL", url);
        self
    }

    pub fn with_credentials(mut self) -> Self {
        self.command
            .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
            .env("AWS_SESSION_TOKEN", SESSION_TOKEN);
        self
    }

    /// With the price cache in a folder, instead of in the home of this run alone.
    pub fn cache_in(mut self, folder: &Path) -> Self {
        self.command.env("GPUCOST_CACHE_DIR", folder);
        self
    }

    /// With temporary files in a folder.
    pub fn temporary_files_in(mut self, folder: &Path) -> Self {
        self.command.env("TMPDIR", folder);
        self
    }

    /// The folder that relative file names on the command line lie in.
    pub fn folder(&self) -> &Path {
        self.home.path()
    }

    pub fn run(&mut self) -> Run {
        Run::checked(self.command.output().expect("the program can be run"))
    }

    /// Starts without waiting; [`Run::of`] waits.
    pub fn start(&mut self) -> Child {
        self.command.spawn().expect("the program can be run")
    }
}

impl Run {
    /// Waits for a program that was started.
    pub fn of(child: Child) -> Self {
        Self::checked(child.wait_with_output().expect("our own child can be asked"))
    }

    fn checked(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is UTF-8");
        let run = Self {
            code: output.status.code().expect("the program ends by itself, not by a signal"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        for secret in [ACCESS_KEY, SECRET_KEY, SESSION_TOKEN] {
            assert!(!run.stdout.contains(secret), "{secret} on stdout");
            assert!(!run.stderr.contains(secret), "{secret} on stderr");
        }
        assert!(!run.stderr.contains("panicked"), "the program panicked: {}", run.stderr);
        run
    }

    /// The document, after a run that ends with this code.
    pub fn json(&self, code: i32) -> Value {
        assert_eq!(self.code, code, "{}", self.stderr);
        serde_json::from_str(&self.stdout).expect("stdout is JSON and nothing else")
    }

    /// The words on stderr, after a run that ends with this code and leaves
    /// stdout empty.
    pub fn error(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{}", self.stderr);
        assert_eq!(self.stdout, "", "nothing on stdout beside a document");
        &self.stderr
    }
}
