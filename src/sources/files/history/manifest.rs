//! What a run kept of a day: the list of its tables, written when all of them are there.

use super::tables::ALL;
use crate::sources::files::shared::bounded::Bounded;
use flate2::Crc;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

/// The version of the layout, which is the folder that everything lies in.
const FORMAT: u32 = 1;
/// Bytes of a list.
const MOST_BYTES: u64 = 1 << 16;
/// Bytes of a table: a day of 100,000 GPUs has about half.
const MOST_TABLE_BYTES: u64 = 256 << 20;

/// The tables that a run wrote, by name, each with its length and checksum.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: u32,
    gpucost_version: String,
    tables: BTreeMap<String, Seal>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Seal {
    bytes: u64,
    crc32: u32,
}

impl Manifest {
    /// Of the tables in the order of [`ALL`].
    pub(super) fn of(tables: &[Vec<u8>; 4]) -> Self {
        let seals = ALL.iter().zip(tables).map(|(schema, bytes)| {
            let mut crc = Crc::new();
            crc.update(bytes);
            let seal = Seal {
                bytes: bytes.len() as u64,
                crc32: crc.sum(),
            };
            (schema.name.to_owned(), seal)
        });
        Self {
            format: FORMAT,
            gpucost_version: env!("CARGO_PKG_VERSION").to_owned(),
            tables: seals.collect(),
        }
    }

    /// # Errors
    /// When it cannot be read, or is not one of this format.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let mut text = Vec::new();
        Bounded::new(opened(path)?, MOST_BYTES).read_to_end(&mut text)?;
        let found: Self = serde_json::from_slice(&text)?;
        if found.format != FORMAT {
            return Err(damaged("it has another format"));
        }
        Ok(found)
    }

    pub(super) fn text(&self) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }

    /// Opens a table whose length and checksum are those of the list.
    ///
    /// # Errors
    /// When they are not, or it cannot be read.
    pub(super) fn open(&self, name: &str, path: &Path) -> io::Result<File> {
        let seal = self.tables.get(name);
        let seal = seal.ok_or_else(|| damaged("the list of its run does not name it"))?;
        let mut file = opened(path)?;
        if seal.bytes > MOST_TABLE_BYTES || file.metadata()?.len() != seal.bytes {
            return Err(damaged("its size is not the one that was written"));
        }
        let mut crc = Crc::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let bytes = file.read(&mut buffer)?;
            if bytes == 0 {
                break;
            }
            crc.update(&buffer[..bytes]);
        }
        if crc.sum() != seal.crc32 {
            return Err(damaged("its checksum is not the one that was written"));
        }
        file.rewind()?;
        Ok(file)
    }
}

/// Opens a file that was written here. A pipe is not: who opens one waits for a writer.
fn opened(path: &Path) -> io::Result<File> {
    if std::fs::symlink_metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(damaged("it is not a regular file"))
    }
}

pub(super) fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
