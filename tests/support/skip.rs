//! Tests that cannot run here say so.

use std::io::Write;

/// Records why the running test is skipped: on standard error, and in the
/// file that `tests/run` names in `GPUCOST_TEST_SKIPS` to count them.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    skip_as(thread.name().unwrap_or("a test"), reason);
}

/// The same under another name than that of the running test.
pub fn skip_as(test: &str, reason: &str) {
    let line = format!("SKIPPED: {test}: {reason}\n");
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
