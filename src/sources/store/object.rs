//! What is done with the files of a history, wherever it lies.

use crate::sources::Answer;
use std::fmt::Debug;
use std::fs::File;
use std::io;

/// Bytes of the names of a listing: three million usual ones.
const MOST_NAME_BYTES: usize = 256 << 20;

/// A file by its name below the root of a history, with `/` between the parts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sources) struct Listed {
    pub name: String,
    pub bytes: u64,
    /// Whether it can be a file that was written here: a link, a pipe, a directory that cannot
    /// be listed and a name that is not UTF-8 cannot.
    pub is_regular: bool,
}

/// What came of creating a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sources) enum Created {
    /// It was written.
    Now,
    /// One of its name was there and stays, whatever it holds.
    Before,
}

/// What comes of reading or writing.
pub(in crate::sources) type IoAnswer<'a, T> = Answer<'a, io::Result<T>>;

/// The least and the greatest of some names, both included; any where there are none.
pub(in crate::sources) type Between<'a> = Option<(&'a str, &'a str)>;

/// Files of a history by name. None is ever replaced: two that create one of a name at the
/// same time have one of them succeed.
pub(in crate::sources) trait Store: Debug {
    /// Makes a folder that files are created in, so that its absence is known before any work
    /// is done.
    fn prepare<'a>(&'a self, folder: &'a str) -> IoAnswer<'a, ()>;

    /// Everything in a folder and below, ascending; nothing in one that is not there. With
    /// bounds, only what lies in parts of the folder whose names are between them.
    fn list<'a>(&'a self, folder: &'a str, between: Between<'a>) -> IoAnswer<'a, Vec<Listed>>;

    /// Opens a file of at most so many bytes. Where reading costs a request, it is read once.
    fn open<'a>(&'a self, name: &'a str, most_bytes: u64) -> IoAnswer<'a, File>;

    /// Lets go of what was read of a file.
    fn forget(&self, _: &str) {}

    /// Creates a file, whole or not at all.
    fn create<'a>(&'a self, name: &'a str, bytes: &'a [u8]) -> IoAnswer<'a, Created>;

    /// A file as messages name it.
    fn place(&self, name: &str) -> String;
}

/// Content that cannot be used.
pub(in crate::sources) fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// What a listing may still hold.
#[derive(Debug)]
pub(super) struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(MOST_NAME_BYTES)
    }
}

impl Room {
    /// # Errors
    /// When the names so far are more than a listing holds.
    pub(super) fn take(&mut self, name: &str) -> io::Result<()> {
        let left = self.0.checked_sub(name.len());
        self.0 = left.ok_or_else(|| invalid("it has more files than gpucost lists"))?;
        Ok(())
    }
}

/// Whether the first part of a path is between two, or any where there are none.
pub(super) fn is_between(path: &str, between: Between<'_>) -> bool {
    let first = path.split_once('/').map_or(path, |(first, _)| first);
    between.is_none_or(|(least, most)| (least..=most).contains(&first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_of_a_path_decides() {
        let days = Some(("dt=2026-11-01", "dt=2026-11-06"));
        for (path, expected) in [
            ("dt=2026-11-01/a.json", true),
            ("dt=2026-11-06/z.json", true),
            ("dt=2026-11-06", true),
            ("dt=2026-11-060/a.json", false),
            ("dt=2026-10-31/a.json", false),
            ("dt=2026-11-07/a.json", false),
            ("a/dt=2026-11-03", false),
        ] {
            assert_eq!(is_between(path, days), expected, "{path}");
            assert!(is_between(path, None));
        }
    }

    #[test]
    fn a_listing_has_an_end() {
        let mut room = Room(10);
        assert!(room.take("12345").is_ok() && room.take("12345").is_ok());
        assert!(room.take("1").is_err());
    }
}
