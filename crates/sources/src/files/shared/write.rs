//! Files written whole or not at all, and those that one process writes while a run goes on.

use crate::domain::shown;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Names tried for a temporary file before its folder needs tidying by hand.
const MOST_ATTEMPTS: u32 = 1_000;

/// Writes a file through a temporary one beside it, so that a reader never
/// sees half of it and a failure leaves the old one untouched. A new file is its owner's
/// alone, because it says what somebody pays; an old one keeps its mode.
///
/// # Errors
/// Whatever creating, writing or renaming meets, and a symbolic link in its place; the
/// temporary file is removed.
pub fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mode = fs::metadata(path).ok().map(|old| old.permissions());
    write_with(mode, path, fill)
}

/// The same for a file that stays its owner's alone whatever the mode of the old one.
///
/// # Errors
/// As [`write_whole`].
pub fn write_private(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    write_with(None, path, fill)
}

fn write_with(
    mode: Option<Permissions>,
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if is_stream(path) {
        let mut file = BufWriter::new(File::options().write(true).open(path)?);
        fill(&mut file)?;
        return file.flush();
    }
    refuse_link(path)?;
    let (temporary, file) = create_beside(path)?;
    let kept = mode.map_or(Ok(()), |mode| file.set_permissions(mode));
    let written =
        kept.and_then(|()| fill_in(file, fill)).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    temporaries().retain(|own| *own != temporary);
    written
}

/// Writes a file that is not there yet, whole or not at all, and says whether it did. One that
/// is there stays: somebody else has written it.
///
/// # Errors
/// Whatever creating or writing meets.
pub(crate) fn write_once(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<bool> {
    let (temporary, file) = create_beside(path)?;
    let written = fill_in(file, fill).and_then(|()| match fs::hard_link(&temporary, path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        // Some file systems have no links; there, two at once may both write.
        Err(_) if !path.exists() => fs::rename(&temporary, path).map(|()| true),
        Err(error) => Err(error),
    });
    // Where it was renamed, it is gone.
    let _ = fs::remove_file(&temporary);
    temporaries().retain(|own| *own != temporary);
    written
}

/// Temporary files of this process that are there now.
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporaries() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files that are being written, for a process that ends now. No
/// other is begun: this holds whoever would.
pub fn remove_temporary_files() {
    let own = temporaries();
    for temporary in own.iter() {
        let _ = fs::remove_file(temporary);
    }
    // Kept until the process ends.
    std::mem::forget(own);
}

/// Whether a path is a device or a pipe, which cannot be replaced and only written to: the
/// streams of this process also where they lead to a file.
fn is_stream(path: &Path) -> bool {
    let own = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"];
    let there = fs::metadata(path);
    there.is_ok_and(|there| {
        let is_device = !there.is_file() && !there.is_dir();
        is_device || (!there.is_dir() && own.iter().any(|own| path.starts_with(own)))
    })
}

/// Somebody else may have put a link there, and who writes through it may not know where
/// it leads.
fn refuse_link(path: &Path) -> io::Result<()> {
    let Ok(to) = fs::read_link(path) else { return Ok(()) };
    let to = path.parent().map_or(to.clone(), |folder| folder.join(&to));
    Err(io::Error::other(format!("it is a symbolic link; specify its target, {}", shown(&to))))
}

/// Tries whether [`write_whole`] could put a file there: makes a temporary file
/// beside it and removes that again. The file itself is left alone.
///
/// # Errors
/// Whatever stands in the way.
pub fn try_writing(path: &Path) -> io::Result<()> {
    // A device or a pipe says no only when it is written to.
    if is_stream(path) {
        return Ok(());
    }
    if fs::metadata(path).is_ok_and(|there| there.is_dir()) {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    refuse_link(path)?;
    let (temporary, _) = create_beside(path)?;
    let removed = fs::remove_file(&temporary);
    temporaries().retain(|own| *own != temporary);
    removed
}

fn fill_in(file: File, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    fill(&mut file)?;
    file.flush()?;
    file.get_ref().sync_all()
}

/// Makes a temporary file beside another, for its owner alone. A process that was killed leaves its
/// file behind, and in a container the next one has the same process id: a name
/// that is taken is passed over.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut options = private();
    options.write(true).create_new(true);
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    let mut attempt = 0;
    // Held while the file is made, so that none is made behind the back of whoever
    // removes them.
    let mut own = temporaries();
    loop {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}.{attempt}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match options.open(&temporary) {
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists && attempt < MOST_ATTEMPTS =>
            {
                attempt += 1;
            }
            created => {
                return created.map(|file| {
                    own.push(temporary.clone());
                    (temporary, file)
                });
            }
        }
    }
}

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

    #[test]
    fn what_is_written_once_stays() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("day.parquet");
        let failed = write_once(&path, |_| Err(io::Error::other("disk full")));
        assert!(failed.is_err() && !path.exists());
        for text in ["first", "second"] {
            let is_new = write_once(&path, |out| out.write_all(text.as_bytes()));
            assert_eq!(is_new.expect("writable"), text == "first");
            assert_eq!(fs::read(&path).expect("readable"), b"first");
        }
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
    }

    #[cfg(unix)]
    fn mode_of(path: &Path) -> u32 {
        use std::os::unix::fs::PermissionsExt;
        let there = fs::metadata(path).expect("there");
        there.permissions().mode() & 0o777
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_is_its_owners_alone_and_an_old_one_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("estate.json.gz");
        write_whole(&path, |out| out.write_all(b"new")).expect("writable");
        assert_eq!(mode_of(&path), 0o600);
        for mode in [0o644, 0o640, 0o400] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("ours");
            write_whole(&path, |out| out.write_all(b"newer")).expect("writable");
            assert_eq!(mode_of(&path), mode);
        }
        fs::set_permissions(&path, Permissions::from_mode(0o666)).expect("ours");
        write_private(&path, |out| out.write_all(b"private")).expect("writable");
        assert_eq!(mode_of(&path), 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_left_alone_and_so_is_what_it_leads_to() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let (path, link) = (folder.path().join("report"), folder.path().join("link"));
        fs::write(&path, b"old").expect("writable");
        std::os::unix::fs::symlink("report", &link).expect("a link");
        for failed in [
            try_writing(&link),
            write_whole(&link, |out| out.write_all(b"new")),
            write_private(&link, |out| out.write_all(b"new")),
        ] {
            let error = failed.expect_err("it is a link").to_string();
            assert!(error.ends_with(&path.display().to_string()), "{error}");
        }
        assert_eq!(fs::read(&path).expect("readable"), b"old");
        assert!(fs::read_link(&link).is_ok());
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 2);
        // Where one leads nowhere, nothing is made there either.
        std::os::unix::fs::symlink("nowhere", folder.path().join("lost")).expect("a link");
        assert!(write_whole(&folder.path().join("lost"), |_| Ok(())).is_err());
    }

    #[test]
    fn what_a_killed_process_of_the_same_id_left_is_no_obstacle() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("prices.json.gz");
        for _ in 0..2 {
            let (left, _) = create_beside(&path).expect("writable");
            fs::write(left, b"half").expect("writable");
        }
        try_writing(&path).expect("two names are taken, no more");
        write_whole(&path, |out| out.write_all(b"whole")).expect("writable");
        assert_eq!(fs::read(&path).expect("readable"), b"whole");
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 3);
    }

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
