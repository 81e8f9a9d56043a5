//! Programs that tests need beside Rust.

use std::path::{Path, PathBuf};

/// A program of the environment that `tests/run` makes.
pub fn installed(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-venv/bin").join(name);
    path.exists().then_some(path)
}
