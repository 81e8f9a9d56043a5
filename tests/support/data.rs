//! Where the real figures are, when they are.

use super::skip::skip_as;
use std::path::{Path, PathBuf};

/// A file or a folder of the data: below the folder named by
/// `GPUCOST_SHARED_DATA`, else beside the package. `None`, with the reason
/// recorded for a test, when it is not there.
pub fn shared(test: &str, name: &str) -> Option<PathBuf> {
    let held = at_hand(name);
    if held.is_none() {
        let path = place_of(name);
        skip_as(test, &format!("{} is not here", path.display()));
    }
    held
}

/// The same for a test that has something else to run on where it is not there.
pub fn at_hand(name: &str) -> Option<PathBuf> {
    Some(place_of(name)).filter(|path| path.exists())
}

fn place_of(name: &str) -> PathBuf {
    let data = std::env::var_os("GPUCOST_SHARED_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    data.join(name)
}
