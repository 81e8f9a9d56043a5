//! Files with what `kubectl get … -o json` printed: the way for clusters that this program
//! cannot reach.

use super::cluster::{PodList, found};
use super::objects::{Document, LONGEST_TEXT, Object};
use crate::domain::{Gathered, shown};
use crate::sources::Found;
use crate::sources::files::{InvalidJson, at, read_json_file};
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Why a file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum KubectlError {
    /// It could not be opened or read.
    #[error("cannot read the output of kubectl in {}", shown(path))]
    Io { path: PathBuf, source: io::Error },
    /// It is not JSON, ends early, or an object in it is not as it must be.
    #[error("invalid output of `kubectl get -o json` in {}{}", shown(path), at(place))]
    Invalid {
        path: PathBuf,
        /// The keys that lead there; empty of none.
        place: String,
        /// What is wrong.
        source: InvalidJson,
    },
    /// None of the files has a node.
    #[error("no Kubernetes node in {}", shown(path))]
    NoNodes {
        /// The first of them.
        path: PathBuf,
    },
}

/// Reads what `kubectl get … -o json` printed about one cluster.
///
/// # Errors
/// When a file cannot be read or is something else, or none has a node.
pub fn read_kubectl(paths: &[PathBuf]) -> Result<Gathered<Found>, KubectlError> {
    let mut listed = Vec::new();
    for path in paths {
        listed.extend(objects(path)?);
    }
    let has_node = listed.iter().any(|object| matches!(object, Object::Node(_)));
    match paths.first() {
        Some(path) if !has_node => Err(KubectlError::NoNodes { path: path.clone() }),
        _ => Ok(found(listed, PodList::Recorded)),
    }
}

fn objects(path: &Path) -> Result<Vec<Object>, KubectlError> {
    let unreadable = |source| KubectlError::Io { path: path.to_owned(), source };
    let read = read_json_file(path, LONGEST_TEXT, PhantomData::<Document>);
    match read.map_err(unreadable)? {
        Ok(document) => Ok(document.0),
        Err(error) => Err(match error.source {
            InvalidJson::Text(source) if source.is_io() => unreadable(source.into()),
            source => KubectlError::Invalid { path: path.to_owned(), place: error.place, source },
        }),
    }
}
