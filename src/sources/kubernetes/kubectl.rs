//! Files with what `kubectl get … -o json` printed: the way for clusters that this program
//! cannot reach.

use super::objects::{Document, Object};
use crate::domain::shown;
use crate::sources::files::{InvalidJson, InvalidValue, at, read_json_file};
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Bytes of one text: objects have up to a megabyte, of which a text may be nearly all.
const LONGEST_TEXT: usize = 2 << 20;

/// Why a file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum KubectlError {
    /// It could not be opened or read.
    #[error("cannot read the output of kubectl in {}", shown(path))]
    Io { path: PathBuf, source: io::Error },
    /// It is not JSON, or ends early.
    #[error("{} is not complete output of `kubectl get -o json`", shown(path))]
    Malformed {
        path: PathBuf,
        /// What is wrong, with line and column.
        source: InvalidJson,
    },
    /// It is complete, and an object in it is not as it must be.
    #[error("invalid Kubernetes object in {}{}", shown(path), at(place))]
    Wrong {
        path: PathBuf,
        /// The keys that lead there.
        place: String,
        /// What was found and what was expected.
        source: InvalidValue,
    },
    /// None of the files has a node.
    #[error("no Kubernetes node in {}", shown(path))]
    NoNodes {
        /// The first of them.
        path: PathBuf,
    },
}

/// The objects of some files of one cluster.
///
/// # Errors
/// When one cannot be read, or all have no node.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<Object>, KubectlError> {
    let mut listed = Vec::new();
    for path in paths {
        listed.extend(objects(path)?);
    }
    let has_node = listed.iter().any(|object| matches!(object, Object::Node(_)));
    match paths.first() {
        Some(path) if !has_node => Err(KubectlError::NoNodes { path: path.clone() }),
        _ => Ok(listed),
    }
}

fn objects(path: &Path) -> Result<Vec<Object>, KubectlError> {
    let path_of = || path.to_owned();
    let unreadable = |source| KubectlError::Io { path: path_of(), source };
    let read = read_json_file(path, LONGEST_TEXT, PhantomData::<Document>);
    let error = match read.map_err(unreadable)? {
        Ok(document) => return Ok(document.0),
        Err(error) => error,
    };
    Err(match error.source {
        InvalidJson::Text(source) if source.is_io() => unreadable(source.into()),
        InvalidJson::Value(source) if !error.place.is_empty() => {
            KubectlError::Wrong { path: path_of(), place: error.place, source }
        }
        source => KubectlError::Malformed { path: path_of(), source },
    })
}
