//! The Python servers of the test environment, as child processes.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::skip::skip;

/// How long a server may take to come up on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A Python server of the test environment, running until it is dropped.
pub struct Server {
    process: Child,
    /// Holds the log, which is where a port that the server chose is read from.
    scratch: TempDir,
}

impl Server {
    /// Finds a program of the test environment: where the variable says, or
    /// in the virtual environment that `tests/run` makes. `None`, with the
    /// reason recorded, when it is not installed.
    pub fn find(program: &str, variable: &str) -> Option<PathBuf> {
        let path = std::env::var_os(variable).map_or_else(
            || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/test-venv/bin").join(program),
            PathBuf::from,
        );
        if path.is_file() {
            return Some(path);
        }
        skip(&format!("no {program} at {}", path.display()));
        None
    }

    /// Starts the command with both output streams in a log file.
    pub fn start(mut command: Command) -> Self {
        let scratch = tempfile::tempdir().expect("a scratch folder can be made");
        let log = File::create(scratch.path().join("log")).expect("a log file can be made");
        let errors = log.try_clone().expect("a file handle can be duplicated");
        let process = command
            .current_dir(scratch.path())
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
        Self { process, scratch }
    }

    /// Everything the server has written so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.scratch.path().join("log")).unwrap_or_default()
    }

    /// Polls until `ready` has an answer; panics with the log when the server
    /// ends or takes too long.
    pub fn wait_until<T>(&mut self, ready: impl Fn(&Self) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(answer) = ready(self) {
                return answer;
            }
            let ended = self.process.try_wait().expect("our own child can be asked");
            assert!(
                ended.is_none() && begin.elapsed() < PATIENCE,
                "a server of the test environment did not come up:\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
