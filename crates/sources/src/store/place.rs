//! The place of a history as a flag names it, and what is done with its files wherever it lies.

use crate::Answer;
use crate::domain::shown;
use std::ffi::OsString;
use std::fmt::{self, Debug};
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// What a name of a bucket begins with.
const S3: &str = "s3://";
/// Bytes of what names in a bucket begin with; a key has at most 1,024.
const MOST_PREFIX_BYTES: usize = 512;
/// Bytes of the names of a listing: three million usual ones.
const MOST_NAME_BYTES: usize = 256 << 20;

/// Where a history lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Folder(PathBuf),
    Bucket(BucketPlace),
}

/// A bucket of S3, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketPlace {
    pub bucket: String,
    /// What names begin with: empty, or ends with `/`.
    pub prefix: String,
}

/// How AWS is reached, where a history is in a bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BucketAccess {
    /// A named profile.
    pub profile: Option<String>,
    /// Another endpoint.
    pub endpoint_url: Option<String>,
}

impl Place {
    /// A directory, or `s3://BUCKET/PREFIX`.
    ///
    /// # Errors
    /// For another kind of place, and for a bucket or prefix that cannot be one.
    pub fn of(text: OsString) -> Result<Self, String> {
        Self::read(text, "", "expected a directory, or s3://BUCKET/PREFIX")
    }

    /// A file or a directory, or `s3://BUCKET/KEY`, which is an object or what keys begin with.
    /// Exports of bills have times in their keys.
    ///
    /// # Errors
    /// As of [`Place::of`].
    pub fn of_file(text: OsString) -> Result<Self, String> {
        Self::read(text, ":", "expected a file, a directory, or s3://BUCKET/KEY")
    }

    fn read(text: OsString, further: &str, expected: &str) -> Result<Self, String> {
        let Some(url) = text.to_str().filter(|text| text.contains("://")) else {
            return Ok(Self::Folder(text.into()));
        };
        let Some(rest) = url.strip_prefix(S3) else { return Err(expected.to_owned()) };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if !is_bucket(bucket) {
            return Err(
                "a bucket has 3 to 63 lower-case letters, digits, hyphens and dots".to_owned()
            );
        }
        let prefix = prefix.trim_end_matches('/');
        if !prefix.is_empty() && !is_prefix(prefix, further) {
            return Err(format!(
                "a prefix has at most {MOST_PREFIX_BYTES} letters, digits and characters of \
                 `-_.=+{further}`, in parts between single slashes"
            ));
        }
        let slash = if prefix.is_empty() { "" } else { "/" };
        Ok(Self::Bucket(BucketPlace {
            bucket: bucket.to_owned(),
            prefix: format!("{prefix}{slash}"),
        }))
    }

    /// It as a command line names it.
    pub fn word(&self) -> String {
        match self {
            Self::Folder(folder) => folder.to_string_lossy().into_owned(),
            Self::Bucket(_) => self.to_string(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => f.write_str(&shown(folder)),
            Self::Bucket(BucketPlace { bucket, prefix }) => {
                write!(f, "{S3}{bucket}/{}", prefix.trim_end_matches('/'))
            }
        }
    }
}

/// Names of buckets are part of addresses.
fn is_bucket(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    (3..=63).contains(&bytes.len())
        && bytes.iter().all(|byte| is_plain(*byte) || b"-.".contains(byte))
        && bytes.first().is_some_and(|byte| is_plain(*byte))
        && bytes.last().is_some_and(|byte| is_plain(*byte))
        && !name.contains("..")
}

fn is_prefix(prefix: &str, further: &str) -> bool {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || "-_.=+".contains(c) || further.contains(c);
    let is_part =
        |part: &str| !part.is_empty() && ![".", ".."].contains(&part) && part.chars().all(is_plain);
    prefix.len() <= MOST_PREFIX_BYTES && prefix.split('/').all(is_part)
}

/// A file by its name below the root of a history, with `/` between the parts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Listed {
    pub name: String,
    pub bytes: u64,
    /// Whether it can be a file that was written here: a link, a pipe, a directory that cannot
    /// be listed and a name that is not UTF-8 cannot.
    pub is_regular: bool,
}

/// What came of creating a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Created {
    /// It was written.
    Now,
    /// One of its name was there and stays, whatever it holds.
    Before,
}

/// What comes of reading or writing.
pub(crate) type IoAnswer<'a, T> = Answer<'a, io::Result<T>>;

/// The least and the greatest of some names, both included; any where there are none.
pub(crate) type Between<'a> = Option<(&'a str, &'a str)>;

/// Files of a history by name. None is ever replaced: two that create one of a name at the
/// same time have one of them succeed.
pub(crate) trait Store: Debug {
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
pub(crate) fn invalid(why: &str) -> io::Error {
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

    fn of(text: &str) -> Result<Place, String> {
        Place::of(text.into())
    }

    #[test]
    fn a_path_is_a_directory_and_a_url_a_bucket() {
        for path in ["./history", "/var/lib/history", "s3", "s3:/bucket", "a b"] {
            assert_eq!(of(path), Ok(Place::Folder(path.into())), "{path}");
        }
        let place = |bucket: &str, prefix: &str| {
            Ok(Place::Bucket(BucketPlace { bucket: bucket.to_owned(), prefix: prefix.to_owned() }))
        };
        assert_eq!(of("s3://my-bucket"), place("my-bucket", ""));
        assert_eq!(of("s3://my-bucket/"), place("my-bucket", ""));
        assert_eq!(of("s3://my.bucket/a/b=1"), place("my.bucket", "a/b=1/"));
        assert_eq!(of("s3://123/a/"), place("123", "a/"));
        let shown = of("s3://my-bucket/a/b/").map(|place| place.to_string());
        assert_eq!(shown.as_deref(), Ok("s3://my-bucket/a/b"));
    }

    #[test]
    fn a_key_of_an_export_may_have_a_time() {
        let url = "s3://bucket/e/2026-10-03T05:12:44.201Z-9f0c/e-00001.csv.gz";
        assert!(of(url).is_err());
        let place = Place::of_file(url.into()).map(|place| place.to_string());
        assert_eq!(place.as_deref(), Ok(url));
        assert!(Place::of_file("https://bucket.example/a".into()).is_err());
        assert!(Place::of_file("s3://bucket/../a".into()).is_err());
    }

    #[test]
    fn what_cannot_be_part_of_an_address_is_refused() {
        for url in [
            "gs://bucket/a", "https://bucket.s3.amazonaws.com/a", "s3://", "s3://ab",
            "s3://Bucket", "s3://-bucket", "s3://bucket.", "s3://a..b",
            "s3://bucket@evil.example/a", "s3://bucket/a//b", "s3://bucket/../a",
            "s3://bucket/a b", "s3://bucket/a?x=1", "s3://bucket/\u{1b}[2J",
        ] {
            assert!(of(url).is_err(), "{url}");
        }
        assert!(of(&format!("s3://bucket/{}", "a".repeat(512))).is_ok());
        assert!(of(&format!("s3://bucket/{}", "a".repeat(513))).is_err());
    }

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
