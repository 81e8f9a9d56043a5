//! Files that are kept in the user's cache between runs: prices, and the estate of the last audit.

use super::args::EstateArgs;
use super::output::say;
use super::{Failure, Io, Outcome, refused};
use crate::catalog::fresher_than_bundled;
use crate::domain::{Cause, CauseKind, Gap, GapSubject, PriceBook, ResourceId, shown};
use crate::sources::files::{
    EstateError, Keep, Recording, RecordingError, read_estate, read_price_cache, write_estate,
    write_private, write_recorded,
};
use crate::usage::Estate;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::path::PathBuf;

/// The file of prices.
pub(super) const PRICES: &str = "prices.json.gz";

/// Where a file is kept between runs, which may not be there: in `GPUCOST_CACHE_DIR`, else the
/// user's cache directory. `None` where neither is known.
pub(super) fn path(file: &str, io: &Io<'_>) -> Option<PathBuf> {
    let usual = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    let folder = io.variable("GPUCOST_CACHE_DIR").map(PathBuf::from).or_else(|| {
        io.variable("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(io.variable("HOME")?).join(usual)))
            .map(|caches| caches.join("gpucost"))
    });
    Some(folder?.join(file))
}

/// What the cache holds that is not older than the bundled catalog; nothing when
/// there is no cache.
pub(super) fn load_prices(io: &Io<'_>) -> Result<PriceBook, EstateError> {
    let cached = path(PRICES, io).map_or(Ok(None), |path| read_price_cache(&path))?;
    Ok(cached.map(|estate| fresher_than_bundled(estate.prices)).unwrap_or_default())
}

/// A cache that cannot be read costs an audit nothing but its prices.
pub(super) fn price_gap(error: &EstateError) -> Gap {
    let cause =
        std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    let cause = Cause::of(CauseKind::CacheNotRead, [&format!("{error}{cause}")]);
    Gap::of(GapSubject::PriceCache, "this machine", cause)
}

/// What to do about a cache that cannot be read.
pub(super) const PRICE_HINT: &str = "run `gpucost pricing refresh` to recreate it";

/// The file of the last audit of a live account, kept for `explain`.
pub(super) const LAST_ESTATE: &str = "last-estate.json.gz";

/// What to set for metrics that do not fit into the temporary directory.
pub(super) const MORE_SPACE: &str = if cfg!(windows) {
    "TMP to a directory with enough space"
} else {
    "TMPDIR to a directory with enough space, such as `TMPDIR=/var/tmp gpucost audit`"
};

/// Keeps an estate where only the user may read it, unless a flag forbids it. That it
/// could not be kept is a warning: the audit itself is whole.
pub(super) fn keep_estate(
    estate: &Estate,
    recorded: Option<&Result<Recording, RecordingError>>,
    args: &EstateArgs,
    io: &mut Io<'_>,
) {
    let Some(path) = path(LAST_ESTATE, io).filter(|_| !args.no_cache) else { return };
    let warn = |why: String, setting: &str, io: &mut Io<'_>| {
        let line = format!(
            "warning: the estate was not saved for `gpucost explain`: {why}\nhint: pass \
             `--no-cache` to skip saving, or set {setting}"
        );
        say(&line, &args.out, io);
    };
    let recording = match recorded.map(Result::as_ref).transpose() {
        Ok(recording) => recording,
        Err(error) => return warn(format!("{error}: {}", error.source), MORE_SPACE, io),
    };
    let kept = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| {
        let own = |id: ResourceId| id;
        let recorded: Option<Recorded<'_>> = recording.map(|recording| (recording, &own as _));
        write_private(&path, |out| write(estate, recorded, Some(Compression::fast()), out))
    });
    if let Err(error) = kept {
        warn(format!("{}: {error}", shown(&path)), "GPUCOST_CACHE_DIR to another directory", io);
    }
}

/// The estate of the last audit.
///
/// # Errors
/// When none was kept, or it cannot be read.
pub(super) fn last_estate(io: &Io<'_>) -> Outcome<Estate> {
    const HINT: &str =
        "run `gpucost audit` first, or pass an estate with `--from FILE` or `--demo`";
    let path = path(LAST_ESTATE, io)
        .filter(|path| path.exists())
        .ok_or_else(refused!("no saved estate from a previous audit"; "{HINT}"))?;
    read_estate(&path, Keep::Usage).map_err(Failure::hinted(HINT))
}

/// What was recorded of an estate, and under which ID each of its instances is known.
pub(super) type Recorded<'a> = (&'a Recording, &'a dyn Fn(ResourceId) -> ResourceId);

/// Writes an estate with what was recorded of it, compressed where a level says so.
pub(super) fn write(
    estate: &Estate,
    recorded: Option<Recorded<'_>>,
    level: Option<Compression>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if let Some(level) = level {
        let mut encoder = GzEncoder::new(out, level);
        write(estate, recorded, None, &mut encoder)?;
        return encoder.finish().map(drop);
    }
    match recorded {
        Some((recording, name)) => write_recorded(estate, recording, name, out),
        None => write_estate(estate, out),
    }
}
