//! A history on disk: tables by day, account and region, and last of all the list that makes
//! them count.

use crate::failure::{Failure, Result};
use crate::names::Fnv;
use crate::sql::{ASKED, Table, date_of};
use crate::table::{Seal, TableWriter, Written, temporary};
use datafusion::arrow::array::{Array, RecordBatch, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const VERSION: &str = "v1";
/// The folder of what gpucost does not read, beside what it reads.
pub const BESIDE: &str = "archive/v1";
/// Lists of the tables of a run.
const RUNS: &str = "usage_run";
const FORMAT: u32 = 1;

/// What gpucost reads first of a run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// gpucost and its companion have the same version.
    pub gpucost_version: String,
    pub tables: BTreeMap<String, Seal>,
}

impl Manifest {
    pub fn of(tables: BTreeMap<String, Seal>) -> Self {
        Self { format: FORMAT, gpucost_version: env!("CARGO_PKG_VERSION").to_owned(), tables }
    }
}

/// A day of a region of an account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    date: String,
    account: String,
    region: String,
}

/// The runs of an archive while their tables are written. What is not published goes with it.
pub struct Runs {
    folder: PathBuf,
    /// When it began, as it stands in names.
    stamp: String,
    places: BTreeMap<Place, (Fnv, BTreeMap<Table, Written>)>,
    open: Option<(Place, TableWriter)>,
}

impl Runs {
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            stamp: stamp(SystemTime::now()),
            places: BTreeMap::new(),
            open: None,
        }
    }

    /// Adds rows of a table, those of a day, an account and a region side by side.
    ///
    /// # Errors
    /// When a row is none that gpucost reads, or cannot be written.
    pub fn add(&mut self, table: Table, rows: &RecordBatch) -> Result<()> {
        let [account, region, instance] = [texts(rows, 0)?, texts(rows, 1)?, texts(rows, 2)?];
        let date = texts(rows, rows.num_columns().saturating_sub(1))?;
        let place = |row: usize| Place {
            date: date.value(row).to_owned(),
            account: account.value(row).to_owned(),
            region: region.value(row).to_owned(),
        };
        let is_same = |one: usize, other: usize| {
            [&date, &account, &region].iter().all(|column| column.value(one) == column.value(other))
        };
        let mut from = 0;
        while from < rows.num_rows() {
            let rest = from + 1..rows.num_rows();
            let end = rest.clone().find(|row| !is_same(from, *row)).unwrap_or(rest.end);
            let own = place(from);
            if table == Table::Asked {
                let (scope, _) = self.places.entry(own.clone()).or_default();
                for row in from..end {
                    scope.add(instance.value(row));
                    scope.add(ASKED);
                }
            }
            self.writer(table, own)?.write(&rows.slice(from, end - from))?;
            from = end;
        }
        Ok(())
    }

    /// The file that rows of a place belong to.
    fn writer(&mut self, table: Table, place: Place) -> Result<&mut TableWriter> {
        if self.open.as_ref().is_none_or(|(open, _)| *open != place) {
            self.close(table)?;
            let folder = self.folder_of(table, &place.date);
            self.open = Some((place, TableWriter::of(table, &folder)?));
        }
        match &mut self.open {
            Some((_, writer)) => Ok(writer),
            None => Err(Failure::unexpected("no table is open")),
        }
    }

    /// Ends a table.
    ///
    /// # Errors
    /// When rows of it did not come side by side, or cannot be written.
    pub fn close(&mut self, table: Table) -> Result<()> {
        let Some((place, writer)) = self.open.take() else { return Ok(()) };
        let (_, tables) = self.places.entry(place).or_default();
        match tables.insert(table, writer.finish()?) {
            None => Ok(()),
            Some(_) => {
                Err(Failure::unexpected(format!("the rows of {} are not in order", table.name())))
            }
        }
    }

    fn folder_of(&self, table: Table, date: &str) -> PathBuf {
        let inside = if table == Table::Hour { BESIDE } else { VERSION };
        let folder = self.folder.join(inside).join(table.name());
        folder.join(format!("dt={date}"))
    }

    /// Gives every file its name, and lists last those that make a run count. How many runs
    /// there are.
    ///
    /// # Errors
    /// When a file cannot be named; nothing of its run counts then.
    pub fn publish(mut self) -> Result<usize> {
        let places = std::mem::take(&mut self.places);
        let mut lists = Vec::new();
        for (place, (scope, mut tables)) in places {
            let id = format!("{}-{}-{}", self.stamp, place.number(), scope.hex());
            let mut seals = BTreeMap::new();
            for table in Table::ALL {
                let folder = self.folder_of(table, &place.date);
                // A table without rows is there as well.
                let written = match tables.remove(&table) {
                    Some(written) => written,
                    None => TableWriter::of(table, &folder)?.finish()?,
                };
                seals.insert(table.name().to_owned(), written.seal);
                let path = folder.join(format!("{id}.parquet"));
                let named = written.path.persist_noclobber(&path);
                named.map_err(|error| unnamed(&path, &error.error))?;
            }
            lists.push((place.date, id, Manifest::of(seals)));
        }
        for (date, id, manifest) in &lists {
            let folder = self.folder.join(VERSION).join(RUNS);
            let path = folder.join(format!("dt={date}")).join(format!("{id}.json"));
            publish_list(&path, manifest)?;
        }
        Ok(lists.len())
    }
}

impl Place {
    /// A number for the account and region, as gpucost finds runs by it.
    fn number(&self) -> String {
        let mut number = Fnv::default();
        number.add(&self.account);
        number.add(&self.region);
        number.hex()
    }
}

/// Writes a list, whole or not at all.
///
/// # Errors
/// When it cannot be written, or is there already.
pub fn publish_list(path: &Path, manifest: &Manifest) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    let mut file = temporary(folder, "json")?;
    let text = serde_json::to_vec(manifest)
        .map_err(|error| Failure::unexpected("cannot write a list").caused_by(&error))?;
    file.write_all(&text)
        .and_then(|()| file.as_file().sync_all())
        .map_err(|error| unnamed(path, &error))?;
    file.persist_noclobber(path).map_err(|error| unnamed(path, &error.error))?;
    Ok(())
}

pub fn unnamed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::unexpected(format!("cannot write {}", path.display())).caused_by(error).with_hint(
        "what has no list in `usage_run` or `bill_run` does not count, and can be deleted",
    )
}

/// A column of texts.
pub fn texts(rows: &RecordBatch, column: usize) -> Result<StringArray> {
    let texts = cast(rows.column(column), &DataType::Utf8)?;
    let texts = texts.as_any().downcast_ref::<StringArray>().cloned();
    texts
        .filter(|texts| texts.null_count() == 0)
        .ok_or_else(|| Failure::unexpected("a row has no account, region, instance or day"))
}

/// A time as it stands in names of runs, such as `20261123T154710123Z`.
pub fn stamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, milliseconds) = (since.as_secs(), since.subsec_millis());
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    let date = date_of(i64::try_from(day).unwrap_or(0)).replace('-', "");
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{date}T{hour:02}{minute:02}{second:02}{milliseconds:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_stamp_is_the_time_of_utc() {
        // 1,793,491,200 seconds are 2026-11-01T00:00:00Z.
        let time = UNIX_EPOCH + Duration::from_millis(1_793_491_200_000 + 56_830_007);
        assert_eq!(stamp(time), "20261101T154710007Z");
    }
}
