//! The list of what was put together of a month: one file of a table in place of many.

use super::sealed::{check, sealed};
use crate::sources::files::history::layout::Named;
use crate::sources::files::history::seal::Seal;
use crate::sources::files::shared::bounded::Bounded;
use crate::sources::store::invalid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};

/// The version of the list.
const FORMAT: u32 = 1;
/// Bytes of a list: a name of a file for each run and day of a month.
pub(in crate::sources::files::history) const MOST_BYTES: u64 = 16 << 20;

/// A file that holds the rows of others, each of which is a run's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::sources::files::history) struct CompactFile {
    format: u32,
    gpucost_version: String,
    /// The file.
    pub name: String,
    pub seal: Seal,
    /// The files whose rows it holds, in order.
    pub of: BTreeSet<String>,
}

impl CompactFile {
    pub(in crate::sources::files::history) fn new(
        name: String,
        seal: Seal,
        of: BTreeSet<String>,
    ) -> Self {
        Self {
            format: FORMAT,
            gpucost_version: env!("CARGO_PKG_VERSION").to_owned(),
            name,
            seal,
            of,
        }
    }

    /// The text of the list.
    ///
    /// # Errors
    /// When it is longer than a list may be.
    pub(in crate::sources::files::history) fn text(&self) -> io::Result<Vec<u8>> {
        let text = sealed(self)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(invalid("it names more files than gpucost puts together"));
        }
        Ok(text)
    }

    /// Reads a list.
    ///
    /// # Errors
    /// When it cannot be read, is not as it was written or of another format, or names what is
    /// no table.
    pub(in crate::sources::files::history) fn read(file: File, id: &str) -> io::Result<Self> {
        let mut text = Vec::new();
        Bounded::new(file, MOST_BYTES).read_to_end(&mut text)?;
        check(&text)?;
        let found: Self = serde_json::from_slice(&text)?;
        if found.format != FORMAT {
            return Err(invalid("it has another format"));
        }
        let own = Named::of(&found.name).filter(|own| own.id == id);
        let table = own.map(|own| own.table);
        let is_of = |name: &String| {
            let named = Named::of(name);
            named.is_some_and(|named| Some(named.table) == table && named.id != id)
        };
        if table.is_none() || !found.of.iter().all(is_of) {
            return Err(invalid("it is the list of another file"));
        }
        Ok(found)
    }
}
