//! The estate of the last audit of a live account, kept for `explain`.

use super::Io;
use super::args::EstateArgs;
use super::exit::{Failure, Outcome, refused};
use super::output::say;
use super::price_cache::folder;
use crate::domain::shown;
use crate::sources::files::{
    Keep, Recording, RecordingError, read_estate, write_estate, write_private, write_recorded,
};
use crate::usage::Estate;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::path::PathBuf;

const FILE: &str = "last-estate.json.gz";

/// What to set for metrics that do not fit into the temporary directory.
pub(super) const MORE_SPACE: &str = if cfg!(windows) {
    "TMP to a directory with enough space"
} else {
    "TMPDIR to a directory with enough space, such as `TMPDIR=/var/tmp gpucost audit`"
};

/// The file of the last audit, which may not be there.
pub(super) fn path(io: &Io<'_>) -> Option<PathBuf> {
    Some(folder(io)?.join(FILE))
}

/// Keeps an estate where only the user may read it, unless a flag forbids it. That it
/// could not be kept is a warning: the audit itself is whole.
pub(super) fn keep(
    estate: &Estate,
    recorded: Option<&Result<Recording, RecordingError>>,
    args: &EstateArgs,
    io: &mut Io<'_>,
) {
    let Some(path) = path(io).filter(|_| !args.no_cache) else { return };
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
        write_private(&path, |out| {
            let mut encoder = GzEncoder::new(out, Compression::fast());
            match recording {
                None => write_estate(estate, &mut encoder)?,
                Some(recording) => {
                    write_recorded(estate, recording, &|id| id, &mut encoder)?;
                }
            }
            encoder.finish().map(|_| ())
        })
    });
    if let Err(error) = kept {
        warn(format!("{}: {error}", shown(&path)), "GPUCOST_CACHE_DIR to another directory", io);
    }
}

/// The estate of the last audit.
///
/// # Errors
/// When none was kept, or it cannot be read.
pub(super) fn read(io: &Io<'_>) -> Outcome<Estate> {
    const HINT: &str =
        "run `gpucost audit` first, or pass an estate with `--from FILE` or `--demo`";
    let path = path(io)
        .filter(|path| path.exists())
        .ok_or_else(refused!("no saved estate from a previous audit"; "{HINT}"))?;
    read_estate(&path, Keep::Usage).map_err(Failure::hinted(HINT))
}
