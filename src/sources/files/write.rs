//! Files written whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Names tried for a temporary file before its folder needs tidying by hand.
const MOST_ATTEMPTS: u32 = 1_000;

/// Writes a file through a temporary one beside it, so that a reader never
/// sees half of it and a failure leaves the old one untouched.
///
/// # Errors
/// Whatever creating, writing or renaming meets; the temporary file is removed.
pub fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    write_with(&File::options(), path, fill)
}

/// The same for a file that its owner alone may read.
///
/// # Errors
/// As [`write_whole`].
pub fn write_private(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    write_with(&options, path, fill)
}

fn write_with(
    options: &OpenOptions,
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    // A device or a pipe cannot be replaced, only written to.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let mut file = BufWriter::new(File::options().write(true).open(path)?);
        fill(&mut file)?;
        return file.flush();
    }
    let (temporary, file) = create_beside(path, options)?;
    let written = fill_in(file, fill).and_then(|()| fs::rename(&temporary, path));
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
    let (temporary, _) = create_beside(path, &File::options())?;
    fs::remove_file(&temporary)
}

fn fill_in(file: File, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    fill(&mut file)?;
    file.flush()?;
    file.get_ref().sync_all()
}

/// Makes a temporary file beside another. A process that was killed leaves its
/// file behind, and in a container the next one has the same process id: a name
/// that is taken is passed over.
fn create_beside(path: &Path, options: &OpenOptions) -> io::Result<(PathBuf, File)> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    let mut attempt = 0;
    loop {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}.{attempt}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match options
            .clone()
            .write(true)
            .create_new(true)
            .open(&temporary)
        {
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists && attempt < MOST_ATTEMPTS =>
            {
                attempt += 1;
            }
            created => return created.map(|file| (temporary, file)),
        }
    }
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

    #[cfg(unix)]
    #[test]
    fn a_private_file_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("estate.json.gz");
        fs::write(&path, b"old and open to all").expect("writable");
        write_private(&path, |out| out.write_all(b"new")).expect("writable");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_a_killed_process_of_the_same_id_left_is_no_obstacle() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("prices.json.gz");
        for _ in 0..2 {
            let (left, _) = create_beside(&path, &File::options()).expect("writable");
            fs::write(left, b"half").expect("writable");
        }
        try_writing(&path).expect("two names are taken, no more");
        write_whole(&path, |out| out.write_all(b"whole")).expect("writable");
        assert_eq!(fs::read(&path).expect("readable"), b"whole");
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 3);
    }
}
