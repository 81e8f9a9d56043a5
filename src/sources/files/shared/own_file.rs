//! A file that one process writes while a run goes on.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;

/// A file that is this process's own until it is dropped.
#[derive(Debug)]
pub struct OwnFile(File);

impl OwnFile {
    /// Opens an empty file, or makes it.
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`] when another process has it as its own,
    /// [`io::ErrorKind::AlreadyExists`] when it holds something, which may be all that is left
    /// of a run, or whatever stands in the way of opening it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = private().write(true).truncate(false).open(path)?;
        // A device or a pipe holds nothing, and is shared.
        if !file.metadata()?.is_file() {
            return Ok(Self(file));
        }
        // Where a file system has no locks, nobody can tell.
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            let why = "another process is writing to it";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
        }
        if file.metadata()?.len() > 0 {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it is not empty"));
        }
        Ok(Self(file))
    }
}

/// Options that create a file for its owner alone: samples name hosts and programs. The
/// mode of one that is there already stays.
fn private() -> OpenOptions {
    let mut options = File::options();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a file for its owner alone, or empties the one that is there.
///
/// # Errors
/// Whatever stands in the way of opening it.
pub fn create_private(path: &Path) -> io::Result<File> {
    private().write(true).truncate(true).open(path)
}

/// Opens a file to add to its end, or creates it for its owner alone.
///
/// # Errors
/// Whatever stands in the way of opening it.
pub fn append_private(path: &Path) -> io::Result<File> {
    private().append(true).open(path)
}

impl Write for OwnFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_holds_something_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.jsonl");
        // One that a run left without a sample is as good as none.
        drop(OwnFile::open(&path).expect("it is made"));
        let mut file = OwnFile::open(&path).expect("it is empty");
        file.write_all(b"now").expect("written");
        file.write_all(b" and then").expect("written");
        drop(file);
        let error = OwnFile::open(&path).expect_err("it holds something");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "now and then");
    }

    #[test]
    fn two_cannot_have_it_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.jsonl");
        let first = OwnFile::open(&path).expect("it opens");
        let error = OwnFile::open(&path).expect_err("it is taken");
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        drop(first);
        assert!(OwnFile::open(&path).is_ok());
    }
}
