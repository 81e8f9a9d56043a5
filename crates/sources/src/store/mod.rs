//! Where a history lies: a directory, or a bucket of S3. Both list, read and create
//! files by name, and nothing else; a file that is there is never replaced or removed.

#[cfg(feature = "s3")]
mod bucket;
mod place;
#[cfg(feature = "s3")]
mod transport;

pub use place::{BucketAccess, BucketPlace, Place};
pub(crate) use place::{Created, Listed, Store, invalid};

use crate::domain::shown;
use crate::files::write_once;
use futures_util::FutureExt;
use place::{Between, IoAnswer, Room, is_between};
use std::fs::{self, File};
use std::future::ready;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::rc::Rc;

/// Opens a place. A directory that is not there is not an error before it is used.
///
/// # Errors
/// When a bucket cannot be reached.
pub(crate) async fn connect(place: &Place, access: &BucketAccess) -> io::Result<Rc<dyn Store>> {
    match place {
        Place::Folder(folder) => Ok(Rc::new(Folder::new(folder.clone()))),
        Place::Bucket(bucket) => in_bucket(bucket, access).await,
    }
}

#[cfg(feature = "s3")]
async fn in_bucket(place: &BucketPlace, access: &BucketAccess) -> io::Result<Rc<dyn Store>> {
    Ok(Rc::new(bucket::Bucket::connect(place, access).await?))
}

#[cfg(not(feature = "s3"))]
async fn in_bucket(_: &BucketPlace, _: &BucketAccess) -> io::Result<Rc<dyn Store>> {
    let why = "this program was built without the feature `s3`";
    Err(io::Error::new(ErrorKind::Unsupported, why))
}

/// A directory, which need not be there yet.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self(root)
    }

    /// The path of a name that this program made or listed.
    fn path(&self, name: &str) -> PathBuf {
        name.split('/').fold(self.0.clone(), |path, part| path.join(part))
    }

    /// The path of a folder of it. None that leads to it may be a link: what is behind one is of
    /// others, and nothing there is read, written or removed.
    fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let mut path = self.0.clone();
        for part in name.split('/').filter(|part| !part.is_empty()) {
            path.push(part);
            if fs::symlink_metadata(&path).is_ok_and(|there| there.is_symlink()) {
                return Err(invalid("a symbolic link leads to it, and is not followed"));
            }
        }
        Ok(path)
    }

    /// The same of a file, which may be anything itself.
    fn file(&self, name: &str) -> io::Result<PathBuf> {
        let (folder, own) = name.rsplit_once('/').unwrap_or(("", name));
        Ok(self.folder(folder)?.join(own))
    }

    fn listed(&self, folder: &str, between: Between<'_>) -> io::Result<Vec<Listed>> {
        self.folder(folder)?;
        let irregular = |name| Listed { name, bytes: 0, is_regular: false };
        let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
        let mut room = Room::default();
        while let Some(inner) = folders.pop() {
            let entries = match fs::read_dir(self.path(&inner)) {
                Ok(entries) => entries,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) if inner == folder => return Err(error),
                Err(_) => {
                    files.push(irregular(inner));
                    continue;
                }
            };
            for entry in entries {
                let entry = entry?;
                let part = entry.file_name();
                let name = format!("{inner}/{}", part.to_string_lossy());
                if !is_between(name.get(folder.len() + 1..).unwrap_or_default(), between) {
                    continue;
                }
                room.take(&name)?;
                let kind = entry.file_type()?;
                if part.to_str().is_none() || !(kind.is_dir() || kind.is_file()) {
                    files.push(irregular(name));
                } else if kind.is_dir() {
                    folders.push(name);
                } else if let Ok(there) = entry.metadata() {
                    // One that was removed meanwhile is not listed.
                    files.push(Listed { name, bytes: there.len(), is_regular: true });
                }
            }
        }
        files.sort();
        Ok(files)
    }

    fn opened(&self, name: &str, most_bytes: u64) -> io::Result<File> {
        let path = self.file(name)?;
        // A pipe is not opened: who opens one waits for a writer.
        if !fs::symlink_metadata(&path)?.is_file() {
            return Err(invalid("it is not a regular file"));
        }
        let file = File::open(path)?;
        if file.metadata()?.len() > most_bytes {
            return Err(invalid("it is larger than what was written"));
        }
        Ok(file)
    }

    fn created(&self, name: &str, bytes: &[u8]) -> io::Result<Created> {
        let path = self.file(name)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let is_new = write_once(&path, |out| out.write_all(bytes))?;
        Ok(if is_new { Created::Now } else { Created::Before })
    }
}

impl Store for Folder {
    fn prepare<'a>(&'a self, folder: &'a str) -> IoAnswer<'a, ()> {
        ready(self.folder(folder).and_then(fs::create_dir_all)).boxed_local()
    }

    fn list<'a>(&'a self, folder: &'a str, between: Between<'a>) -> IoAnswer<'a, Vec<Listed>> {
        ready(self.listed(folder, between)).boxed_local()
    }

    fn open<'a>(&'a self, name: &'a str, most_bytes: u64) -> IoAnswer<'a, File> {
        ready(self.opened(name, most_bytes)).boxed_local()
    }

    fn create<'a>(&'a self, name: &'a str, bytes: &'a [u8]) -> IoAnswer<'a, Created> {
        ready(self.created(name, bytes)).boxed_local()
    }

    fn place(&self, name: &str) -> String {
        shown(&self.path(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;
    use std::io::Read;

    fn done<T>(answer: Answer<'_, T>) -> T {
        answer.now_or_never().expect("a directory does not wait")
    }

    fn names(folder: &Folder, of: &str, between: Between<'_>) -> Vec<(String, bool)> {
        let listed = done(folder.list(of, between)).expect("our own folder");
        let listed = listed.into_iter();
        listed.map(|file| (file.name, file.is_regular)).collect()
    }

    #[test]
    fn files_are_created_once_and_listed_in_order() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let folder = Folder::new(scratch.path().join("history"));
        assert!(names(&folder, "v1", None).is_empty());
        for (name, bytes, expected) in [
            ("v1/b/dt=2026-11-02/x", "first", Created::Now),
            ("v1/a/dt=2026-11-03/y", "", Created::Now),
            ("v1/a/dt=2026-11-01/z", "12", Created::Now),
            ("v1/b/dt=2026-11-02/x", "second", Created::Before),
        ] {
            let created = done(folder.create(name, bytes.as_bytes()));
            assert_eq!(created.expect("writable"), expected, "{name}");
        }
        let file = |name: &str| (name.to_owned(), true);
        let expected = ["v1/a/dt=2026-11-01/z", "v1/a/dt=2026-11-03/y", "v1/b/dt=2026-11-02/x"];
        assert_eq!(names(&folder, "v1", None), expected.map(file));
        let days = Some(("dt=2026-11-02", "dt=2026-11-09"));
        assert_eq!(names(&folder, "v1/a", days), [file(expected[1])]);

        let mut text = String::new();
        let open = |most| done(folder.open("v1/b/dt=2026-11-02/x", most));
        open(5).expect("there").read_to_string(&mut text).expect("text");
        assert_eq!(text, "first");
        assert_eq!(open(4).expect_err("it has five").kind(), ErrorKind::InvalidData);
        let gone = done(folder.open("v1/b/dt=2026-11-02/none", 9));
        assert_eq!(gone.expect_err("not there").kind(), ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_behind_a_linked_folder_is_not_touched() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let outside = scratch.path().join("outside");
        fs::create_dir_all(outside.join("cost")).expect("a folder");
        fs::write(outside.join("cost/secret"), "secret").expect("writable");
        let inside = scratch.path().join("history");
        fs::create_dir(&inside).expect("a folder");
        std::os::unix::fs::symlink(&outside, inside.join("v1")).expect("a link");
        let folder = Folder::new(inside.clone());
        let listed = |of| done(folder.list(of, None)).map(|_| ());
        for refused in [
            listed("v1"),
            listed("v1/cost"),
            done(folder.open("v1/cost/secret", 99)).map(|_| ()),
            done(folder.create("v1/cost/new", b"")).map(|_| ()),
            done(folder.prepare("v1/run")),
        ] {
            let error = refused.expect_err("a link");
            let words = "a symbolic link leads to it, and is not followed";
            assert_eq!(error.to_string(), words);
        }
        let mut left = fs::read_dir(outside.join("cost")).expect("a folder");
        assert_eq!(left.next().expect("a file").expect("listed").file_name(), "secret");
        assert!(left.next().is_none() && !outside.join("run").exists());
        // The directory itself may be one.
        let linked = scratch.path().join("linked");
        fs::remove_file(inside.join("v1")).expect("ours");
        std::os::unix::fs::symlink(&inside, &linked).expect("a link");
        let folder = Folder::new(linked);
        done(folder.create("v1/cost/new", b"")).expect("writable");
        assert_eq!(names(&folder, "v1", None).len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_pipes_and_names_that_are_no_text_are_listed_and_not_touched() {
        use std::os::unix::ffi::OsStrExt;
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let (inside, outside) = (scratch.path().join("v1"), scratch.path().join("outside"));
        fs::create_dir_all(&inside).expect("a folder");
        fs::create_dir_all(outside.join("deep")).expect("a folder");
        fs::write(outside.join("deep/secret"), "secret").expect("writable");
        std::os::unix::fs::symlink(&outside, inside.join("a-folder")).expect("a link");
        std::os::unix::fs::symlink(outside.join("deep/secret"), inside.join("b-file"))
            .expect("a link");
        let mode = nix::sys::stat::Mode::from_bits_truncate(0o600);
        nix::unistd::mkfifo(&inside.join("c-pipe"), mode).expect("a pipe");
        let strange = std::ffi::OsStr::from_bytes(b"d-\xff");
        fs::write(inside.join(strange), "").expect("writable");

        let folder = Folder::new(scratch.path().to_owned());
        let expected = ["v1/a-folder", "v1/b-file", "v1/c-pipe", "v1/d-\u{fffd}"];
        let expected = expected.map(|name| (name.to_owned(), false));
        assert_eq!(names(&folder, "v1", None), expected);
        for name in ["v1/a-folder", "v1/b-file", "v1/c-pipe"] {
            let words = "it is not a regular file";
            let error = done(folder.open(name, 99)).expect_err("no file");
            assert_eq!(error.to_string(), words, "{name}");
        }
        assert_eq!(fs::read(outside.join("deep/secret")).expect("there"), b"secret");
    }
}
