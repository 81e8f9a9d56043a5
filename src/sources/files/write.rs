//! Files written whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file through a temporary one beside it, so that a reader never
/// sees half of it and a failure leaves the old one untouched.
///
/// # Errors
/// Whatever creating, writing or renaming meets; the temporary file is removed.
pub fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    // A device or a pipe cannot be replaced, only written to.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let mut file = BufWriter::new(File::options().write(true).open(path)?);
        fill(&mut file)?;
        return file.flush();
    }
    let temporary = temporary_beside(path)?;
    let written = write_new(&temporary, fill).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Tries whether [`write_whole`] could put a file there: makes a temporary file
/// beside it and removes that again. The file itself is left alone.
///
/// # Errors
/// Whatever stands in the way.
pub fn try_writing(path: &Path) -> io::Result<()> {
    if let Ok(metadata) = fs::metadata(path)
        && !metadata.is_file()
    {
        // A device or a pipe says no only when it is written to.
        return if metadata.is_dir() {
            Err(io::ErrorKind::IsADirectory.into())
        } else {
            Ok(())
        };
    }
    let temporary = temporary_beside(path)?;
    File::create_new(&temporary)?;
    fs::remove_file(&temporary)
}

fn write_new(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(File::create_new(path)?);
    fill(&mut file)?;
    file.flush()?;
    file.get_ref().sync_all()
}

fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(temporary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_the_old_file_and_no_debris() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("report.json");
        write_whole(&path, |out| out.write_all(b"old")).expect("writable");
        let failed = write_whole(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("disk full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).expect("readable"), b"old");
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
    }
}
