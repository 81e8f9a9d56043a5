//! Where the real figures are, when they are.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder of the data: below the folder named by `GPUCOST_SHARED_DATA`, else
/// beside the package. `None`, said aloud and written to the file named by
/// `GPUCOST_TEST_SKIPS`, when it is not there.
pub fn folder(test: &str, folder: &str) -> Option<PathBuf> {
    let data = std::env::var_os("GPUCOST_SHARED_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    let path = data.join(folder);
    if path.is_dir() {
        return Some(path);
    }
    let line = format!("SKIPPED: {test}: {} is not here", path.display());
    println!("{line}");
    if let Some(list) = std::env::var_os("GPUCOST_TEST_SKIPS") {
        File::options()
            .append(true)
            .create(true)
            .open(list)
            .and_then(|mut list| writeln!(list, "{line}"))
            .expect("the list of skipped tests is writable");
    }
    None
}
