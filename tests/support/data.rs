//! Where the real figures are, when they are.

use super::skip::skip_as;
use std::path::{Path, PathBuf};

/// A file or a folder of the data: below the folder named by
/// `GPUCOST_SHARED_DATA`, else beside the package. `None`, with the reason
/// recorded for a test, when it is not there.
pub fn shared(test: &str, name: &str) -> Option<PathBuf> {
    let data = std::env::var_os("GPUCOST_SHARED_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    let path = data.join(name);
    if path.exists() {
        return Some(path);
    }
    skip_as(test, &format!("{} is not here", path.display()));
    None
}
