//! What a run kept of a day: the list of its tables, written when all of them are there.

use super::seal::Seal;
use super::tables::ALL;
use crate::sources::files::shared::bounded::Bounded;
use crate::sources::store::invalid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};

/// The version of the layout, which is the folder that everything lies in.
const FORMAT: u32 = 1;
/// Bytes of a list.
pub(super) const MOST_BYTES: u64 = 1 << 16;

/// The tables that a run wrote, by name, each with its length and checksum.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: u32,
    gpucost_version: String,
    tables: BTreeMap<String, Seal>,
}

impl Manifest {
    /// Of the tables in the order of [`ALL`].
    pub(super) fn of(tables: &[Vec<u8>; 4]) -> Self {
        let seals = ALL.iter().zip(tables);
        let seals = seals.map(|(schema, bytes)| (schema.name.to_owned(), Seal::of(bytes)));
        Self::of_seals(seals.collect())
    }

    /// Of tables by name.
    pub(super) fn of_seals(tables: BTreeMap<String, Seal>) -> Self {
        Self { format: FORMAT, gpucost_version: env!("CARGO_PKG_VERSION").to_owned(), tables }
    }

    /// # Errors
    /// When it cannot be read, or is not one of this format.
    pub(super) fn read(file: File) -> io::Result<Self> {
        let mut text = Vec::new();
        Bounded::new(file, MOST_BYTES).read_to_end(&mut text)?;
        let manifest: Self = serde_json::from_slice(&text)?;
        if manifest.format != FORMAT {
            return Err(invalid("it has another format"));
        }
        Ok(manifest)
    }

    pub(super) fn text(&self) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }

    /// What shows that a table is as it was written.
    ///
    /// # Errors
    /// When the list does not name the table.
    pub(super) fn seal(&self, name: &str) -> io::Result<Seal> {
        let seal = self.tables.get(name).copied();
        seal.ok_or_else(|| invalid("the list of its run does not name it"))
    }
}
