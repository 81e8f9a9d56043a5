//! The names of everything in a history, what shows that a file is as it was written, and creating
//! files that are the same however often they are created. The list of the tables of a run is
//! written when all of them are there.

use crate::domain::safe;
use crate::files::shared::bounded::bounded;
use crate::store::{Created, Store, invalid};
use flate2::{Crc, CrcReader};
use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek};

/// The version of the layout.
pub(super) const VERSION: &str = "v1";
/// Lists of the tables of a run that kept what machines did on a day.
pub(super) const USAGE_RUN: &str = "usage_run";
/// Files of runs that kept an audit.
pub(super) const RUN: &str = "run";

/// The time of a run in its name, to the second; names are in its order.
pub(super) const RUN_TIME: &str = "%Y%m%dT%H%M%S";

/// The time of a run in its name, to the millisecond.
pub(super) fn time_of(run: Timestamp) -> String {
    format!("{}{:03}Z", run.strftime(RUN_TIME), run.subsec_millisecond())
}

/// A file of a history that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {}", safe(&why.to_string()))]
pub struct HistoryError {
    /// Its path or address, as it may be shown.
    pub place: String,
    pub why: io::Error,
}

impl HistoryError {
    /// The history that it is of, where that is in a bucket.
    pub fn bucket_url(&self) -> Option<&str> {
        let url = self.place.starts_with("s3://").then_some(&*self.place)?;
        let end = url.rfind(&format!("/{VERSION}/"));
        Some(end.map_or(url, |end| &url[..end]))
    }
}

/// The folder of a table.
pub(super) fn folder_of(table: &str) -> String {
    format!("{VERSION}/{table}")
}

/// The part of a folder that has what is of a day.
pub(super) fn part_of(day: Date) -> String {
    format!("dt={day}")
}

/// How the files of a table end, or lists where there is no table of that name.
pub(super) fn ending_of(table: &str) -> &'static str {
    match table {
        USAGE_RUN | RUN => "json",
        _ => "parquet",
    }
}

/// A file of a table, or a list where there is no table of that name.
pub(super) fn name_of(table: &str, day: Date, id: &str) -> String {
    let (part, ending) = (part_of(day), ending_of(table));
    format!("{VERSION}/{table}/{part}/{id}.{ending}")
}

/// A name in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named<'a> {
    pub table: &'a str,
    pub day: Date,
    pub id: &'a str,
}

impl<'a> Named<'a> {
    /// The parts of `v1/TABLE/dt=DAY/ID.ENDING`; `None` for another name, and for one that
    /// [`name_of`] does not give.
    pub(super) fn of(name: &'a str) -> Option<Self> {
        let mut parts = name.split('/');
        let [version, table, part, file] = [(); 4].map(|()| parts.next().unwrap_or_default());
        let day: Date = part.strip_prefix("dt=")?.parse().ok()?;
        let (id, ending) = file.rsplit_once('.')?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_ours = version == VERSION
            && parts.next().is_none()
            && part_of(day) == part
            && ending == ending_of(table)
            && !id.is_empty()
            && id.chars().all(is_plain);
        is_ours.then_some(Self { table, day, id })
    }

    /// Whether the id is one that gpucost gives, `TIME-NUMBER…`: others may keep files of the
    /// same ending beside ours.
    pub(super) fn has_own_id(&self) -> bool {
        let mut parts = self.id.split('-');
        let time = parts.next().unwrap_or_default();
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        let instant = time.strip_suffix('Z').and_then(|time| time.split_once('T'));
        let is_time = instant
            .is_some_and(|(date, hours)| date.len() == 8 && is_number(date) && is_number(hours));
        let mut numbers = parts.peekable();
        let is_hex =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_time && numbers.peek().is_some() && numbers.all(is_hex)
    }
}

/// What the id of a run says that kept what machines did: when it began, a number for the
/// region and account, and one for what it asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunName {
    pub id: String,
    pub place: String,
}

impl RunName {
    pub(super) fn of(id: &str) -> Option<Self> {
        let parts: Vec<&str> = id.split('-').collect();
        let [time, place, scope] = parts[..] else { return None };
        let is_plain = |part: &str| part.chars().all(|c| c.is_ascii_alphanumeric());
        let is_run = time.starts_with(|c: char| c.is_ascii_digit())
            && [time, place, scope].into_iter().all(is_plain);
        is_run.then(|| Self { id: id.to_owned(), place: place.to_owned() })
    }
}

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
        let mut read = CrcReader::new(BufReader::with_capacity(1 << 16, &mut file));
        io::copy(&mut read, &mut io::sink())?;
        if read.crc().sum() != self.crc32 {
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

/// The version of the layout, which is the folder that everything lies in.
const FORMAT: u32 = 1;
/// Bytes of a list.
pub(super) const MOST_MANIFEST_BYTES: u64 = 1 << 16;

/// The tables that a run wrote, by name, each with its length and checksum.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: u32,
    gpucost_version: String,
    tables: BTreeMap<String, Seal>,
}

impl Manifest {
    /// Of tables by name.
    pub(super) fn of(tables: BTreeMap<String, Seal>) -> Self {
        Self { format: FORMAT, gpucost_version: env!("CARGO_PKG_VERSION").to_owned(), tables }
    }

    /// # Errors
    /// When it cannot be read, or is not one of this format.
    pub(super) fn read(file: File) -> io::Result<Self> {
        let mut text = Vec::new();
        bounded(file, MOST_MANIFEST_BYTES).read_to_end(&mut text)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_bucket_names_its_history() {
        let of = |place: &str| {
            let error =
                HistoryError { place: place.to_owned(), why: io::ErrorKind::NotFound.into() };
            error.bucket_url().map(str::to_owned)
        };
        let url = Some("s3://bucket/v1/nights".to_owned());
        assert_eq!(of("s3://bucket/v1/nights/v1/run/dt=2026-11-02/a.json"), url);
        assert_eq!(of("s3://bucket/nights"), Some("s3://bucket/nights".to_owned()));
        assert_eq!(of("/var/s3:/v1/run"), None);
    }

    #[test]
    fn a_name_is_its_parts_and_nothing_else() {
        let day = Date::constant(2026, 11, 2);
        let id = "20261106T120000000Z-0123456789abcdef-fedcba9876543210";
        for (table, ending) in [
            ("usage_run", "json"),
            ("usage_grid", "parquet"),
            ("run", "json"),
            ("cost", "parquet"),
            ("action", "parquet"),
        ] {
            let name = name_of(table, day, id);
            assert_eq!(name, format!("v1/{table}/dt=2026-11-02/{id}.{ending}"));
            let parts = Named { table, day, id };
            assert_eq!(Named::of(&name), Some(parts));
        }
        for other in [
            "", "v1/usage_run/dt=2026-11-02", "v1/usage_run/dt=2026-11-02/",
            "v1/usage_run/dt=2026-11-02/.json", "v1/usage_run/dt=2026-11-02/a",
            "v1/usage_run/dt=2026-11-02/a.parquet", "v1/usage_grid/dt=2026-11-02/a.json",
            "v1/usage_run/dt=2026-11-02/a.json/b", "v1/usage_run/dt=2026-11-2/a.json",
            "v1/usage_run/dt=2026-13-02/a.json", "v1/usage_run/2026-11-02/a.json",
            "v1/usage_run/dt=2026-11-02/.a.json.12.0.tmp", "v1/usage_run/dt=2026-11-02/../a.json",
            "v1/usage_run/dt=2026-11-02/a\u{1b}.json", "v2/usage_run/dt=2026-11-02/a.json",
            "/v1/usage_run/dt=2026-11-02/a.json",
        ] {
            assert_eq!(Named::of(other), None, "{other}");
        }
    }

    #[test]
    fn an_id_of_ours_is_a_time_and_numbers() {
        let day = Date::constant(2026, 11, 2);
        let is_own = |id: &str| {
            let table = "cost";
            Named { table, day, id }.has_own_id()
        };
        for id in [
            "20261106T120000Z-0123456789abcdef",
            "20261106T120000000Z-0123456789abcdef-fedcba9876543210",
        ] {
            assert!(is_own(id), "{id}");
        }
        for id in [
            "report", "2026-11", "202611", "202611-0123456789abcdef", "20261106-0123456789abcdef",
            "20261106T-0123456789abcdef", "20261106T120000Z", "part-00000-0123456789abcdef",
            "export-202611",
        ] {
            assert!(!is_own(id), "{id}");
        }
    }

    #[test]
    fn the_id_of_a_run_has_three_parts() {
        let run = RunName::of("20261106T120000000Z-ab-cd").expect("a run");
        assert_eq!((&*run.id, &*run.place), ("20261106T120000000Z-ab-cd", "ab"));
        for other in ["", "a-b-c", "2026-b", "2026-b-c-d", "2026-b-../c"] {
            assert_eq!(RunName::of(other), None, "{other}");
        }
    }
}
