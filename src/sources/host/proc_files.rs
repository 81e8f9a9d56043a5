//! The files below `/proc` and of cgroups as text.

use std::fs;
use std::path::Path;

/// What a file holds; absent when it cannot be read.
pub(super) fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// One figure of `/proc/meminfo`, in KiB.
pub(super) fn meminfo_kib(info: &str, name: &str) -> Option<u64> {
    let line = info.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key == name).then_some(value)
    })?;
    line.split_whitespace().next()?.parse().ok()
}
