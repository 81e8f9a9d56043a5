//! Where a user's price cache is, and what it means when it cannot be read.

use super::Io;
use crate::catalog::fresher_than_bundled;
use crate::domain::{Cause, CauseKind, Gap, GapSubject, PriceBook};
use crate::sources::files::{EstateError, read_price_cache};
use std::path::PathBuf;

const FILE: &str = "prices.json.gz";

/// Where files are kept between runs: `GPUCOST_CACHE_DIR`, else the user's cache
/// directory. `None` where neither is known.
pub(super) fn folder(io: &Io<'_>) -> Option<PathBuf> {
    let usual = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    io.variable("GPUCOST_CACHE_DIR").map(PathBuf::from).or_else(|| {
        io.variable("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(io.variable("HOME")?).join(usual)))
            .map(|caches| caches.join("gpucost"))
    })
}

/// The file in it.
pub(super) fn path(io: &Io<'_>) -> Option<PathBuf> {
    Some(folder(io)?.join(FILE))
}

/// What the cache holds that is not older than the bundled catalog; nothing when
/// there is no cache.
pub(super) fn load(io: &Io<'_>) -> Result<PriceBook, EstateError> {
    let cached = path(io).map_or(Ok(None), |path| read_price_cache(&path))?;
    Ok(cached.map(|estate| fresher_than_bundled(estate.prices)).unwrap_or_default())
}

/// A cache that cannot be read costs an audit nothing but its prices.
pub(super) fn gap(error: &EstateError) -> Gap {
    let cause =
        std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    let cause = Cause::of(CauseKind::CacheNotRead, [&format!("{error}{cause}")]);
    Gap::of(GapSubject::PriceCache, "this machine", cause)
}

/// What to do about a cache that cannot be read.
pub(super) const HINT: &str = "run `gpucost pricing refresh` to recreate it";
