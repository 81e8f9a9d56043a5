//! Tests that need more than Rust say so when they cannot run.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Records why the running test is skipped: on standard error, and in the file
/// that `tests/run` names in `GPUCOST_TEST_SKIPS` to count them.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let line = format!("SKIPPED: {}: {reason}\n", thread.name().unwrap_or("a test"));
    eprint!("{line}");
    if let Some(path) = std::env::var_os("GPUCOST_TEST_SKIPS") {
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the file of skips can be written");
    }
}

/// A program of the environment that `tests/run` makes.
pub fn installed(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("target/test-venv/bin")
        .join(name);
    path.exists().then_some(path)
}
