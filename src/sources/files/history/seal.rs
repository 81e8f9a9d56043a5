//! What shows that a file is as it was written, and creating files that are the same however often
//! they are created.

use crate::sources::store::{Created, Store, invalid};
use flate2::Crc;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};

/// Bytes of a table: a day of 100,000 GPUs has about half.
const MOST_TABLE_BYTES: u64 = 256 << 20;

/// The length and the checksum of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Seal {
    bytes: u64,
    crc32: u32,
}

impl Seal {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u64, crc32: checksum(bytes) }
    }

    /// How long the file is.
    ///
    /// # Errors
    /// When that is more than any table has that is written here.
    pub(super) fn bytes(self) -> io::Result<u64> {
        if self.bytes > MOST_TABLE_BYTES {
            return Err(invalid("it is larger than gpucost writes"));
        }
        Ok(self.bytes)
    }

    /// How long the file is, whatever wrote it.
    pub(super) fn length(self) -> u64 {
        self.bytes
    }

    /// Opens a table that is as it was written.
    ///
    /// # Errors
    /// When it is not, or is larger than any table that is written here.
    pub(super) async fn open(self, store: &dyn Store, name: &str) -> io::Result<File> {
        self.checked(store.open(name, self.bytes()?).await?)
    }

    /// A file with this length and checksum, at its beginning.
    ///
    /// # Errors
    /// When it has others, or cannot be read.
    pub(super) fn checked(self, mut file: File) -> io::Result<File> {
        if file.metadata()?.len() != self.bytes {
            return Err(invalid("its size is not the one that was written"));
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
        if crc.sum() != self.crc32 {
            return Err(invalid("its checksum is not the one that was written"));
        }
        file.rewind()?;
        Ok(file)
    }
}

pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Whether an error is about what a file holds, and not about reaching it.
pub(super) fn is_damage(why: &io::Error) -> bool {
    [ErrorKind::InvalidData, ErrorKind::UnexpectedEof, ErrorKind::NotFound].contains(&why.kind())
}

/// Creates a file, or finds that it is there as it would be written.
///
/// # Errors
/// When it cannot be written, and when one of its name holds something else.
pub(super) async fn keep(store: &dyn Store, name: &str, bytes: &[u8]) -> io::Result<Created> {
    let created = store.create(name, bytes).await?;
    if created == Created::Before {
        let mut there = Vec::new();
        let is_same = match store.open(name, bytes.len() as u64).await {
            Ok(mut file) => file.read_to_end(&mut there).map(|_| there == bytes)?,
            // It is larger.
            Err(why) if why.kind() == ErrorKind::InvalidData => false,
            Err(why) => return Err(why),
        };
        if !is_same {
            let why = "it is there, and holds something else";
            return Err(io::Error::new(ErrorKind::AlreadyExists, why));
        }
    }
    Ok(created)
}
