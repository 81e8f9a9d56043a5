//! Why an estate could not be read.

use crate::domain::shown;
use crate::sources::files::ESTATE_VERSION;
use crate::sources::files::shared::json::{InvalidJson, InvalidValue, at};
use std::io;
use std::path::PathBuf;

/// Why an estate could not be read.
#[derive(Debug, thiserror::Error)]
pub enum EstateError {
    /// The file could not be opened or read.
    #[error("cannot read the estate {}", shown(path))]
    Io { path: PathBuf, source: io::Error },
    /// It is not an estate, or ends early.
    #[error("{} is not a complete estate", shown(path))]
    Malformed {
        path: PathBuf,
        /// What is wrong, with line and column.
        source: InvalidJson,
    },
    /// It is complete, and something in it is not as it must be.
    #[error("invalid estate {}{}", shown(path), at(place))]
    Wrong {
        path: PathBuf,
        /// The keys that lead there; empty when it is about the whole.
        place: String,
        /// What was found and what was expected.
        source: InvalidValue,
    },
    #[error(
        "{} has estate version {found}; this program reads version {ESTATE_VERSION}",
        shown(path)
    )]
    Newer {
        path: PathBuf,
        /// The version it has.
        found: String,
    },
}
