//! The user's price cache: an estate that holds prices and nothing else, written
//! by a refresh.

use crate::domain::PriceOrigin;
use crate::sources::files::{EstateError, Keep, read_estate, write_estate, write_whole};
use crate::usage::Estate;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io;
use std::path::Path;

/// Reads a cache; `None` when there is none yet.
///
/// # Errors
/// When it is there and cannot be read, is incomplete, or a newer program wrote
/// it.
pub fn read_price_cache(path: &Path) -> Result<Option<Estate>, EstateError> {
    let mut estate = match read_estate(path, Keep::Usage) {
        Err(EstateError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        read => read?,
    };
    estate.prices.set_origin(PriceOrigin::Cache);
    Ok(Some(estate))
}

/// Replaces the cache, whole or not at all; two at once leave one of both.
///
/// # Errors
/// Whatever creating its folder or writing meets; the old cache stays.
pub fn write_price_cache(path: &Path, estate: &Estate) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    write_whole(path, |out| {
        let mut encoder = GzEncoder::new(out, Compression::default());
        write_estate(estate, &mut encoder)?;
        encoder.finish().map(|_| ())
    })
}
