//! Putting the tables of a month together.

use super::claims::Claims;
use super::kinds::schema_of;
use crate::domain::{CompactedHistory, Fnv};
use crate::sources::files::history::columns::{Schema, TableError};
use crate::sources::files::history::keep::keep;
use crate::sources::files::history::layout::{COMPACT, HistoryError, Named, name_of};
use crate::sources::files::history::ledger::{
    ACTION, COST, CompactFile, Records, TableRow, row_of,
};
use crate::sources::files::history::seal::Seal;
use crate::sources::files::history::table::{Row, read_table};
use crate::sources::files::history::table_writer::TableWriter;
use crate::sources::store::invalid;
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};

/// What was put together, and the files that cannot be used, whose months stay as they are.
type Compacted = (CompactedHistory, Vec<HistoryError>);

/// Tables of a month by name, with what shows that each is as it was written.
type Month = BTreeMap<String, Seal>;

/// How many rows there are, and a number for all of them in order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Digest {
    rows: u64,
    number: Fnv,
}

impl Digest {
    fn add(&mut self, row: &TableRow) {
        self.rows += 1;
        self.number.add(&format!("{row:?}"));
    }
}

impl Records {
    /// Puts the costs and actions of each month before that of a day together: one file of a
    /// table and month in place of one of a run and day. What was put together is removed when
    /// the new file was read back and has the same rows.
    ///
    /// # Errors
    /// When the place cannot be listed or written, and when a file cannot be removed.
    pub async fn compact(&self, today: Date) -> Result<Compacted, HistoryError> {
        let claims = Claims::of(self).await?;
        let (mut compacted, mut problems) = Compacted::default();
        compacted.removed += self.finish(&claims).await?;
        for ((table, month), files) in months(&claims, today) {
            let Some(schema) = schema_of(table) else {
                continue;
            };
            match self.together(schema, month, &files).await {
                Ok(rows) => {
                    let names: Vec<&str> = files.keys().map(String::as_str).collect();
                    self.remove(&names).await?;
                    compacted.written += 1;
                    compacted.rows += rows;
                    compacted.removed += names.len() as u64;
                }
                Err(problem) => problems.push(problem),
            }
        }
        Ok((compacted, problems))
    }

    /// Removes what was put together before by a run that did not end.
    async fn finish(&self, claims: &Claims) -> Result<u64, HistoryError> {
        let there = claims.names();
        let mut left = BTreeSet::new();
        for list in &claims.compact {
            let own = list.of.iter().map(String::as_str);
            let own: Vec<&str> = own.filter(|name| there.contains(name)).collect();
            let is_whole = !own.is_empty() && self.is_whole(list).await;
            left.extend(own.into_iter().filter(|_| is_whole));
        }
        let left: Vec<&str> = left.into_iter().collect();
        self.remove(&left).await?;
        Ok(left.len() as u64)
    }

    /// Whether what was put together is as it was written.
    async fn is_whole(&self, list: &CompactFile) -> bool {
        let checked = async {
            let file = self.store().open(&list.name, list.seal.bytes()?).await?;
            list.seal.checked(file)
        };
        checked.await.is_ok()
    }

    /// Writes the file of a table and month, and its list; how many rows it has.
    async fn together(
        &self,
        schema: &'static Schema,
        month: Date,
        files: &Month,
    ) -> Result<u64, HistoryError> {
        let mut names = Fnv::default();
        for name in files.keys() {
            names.add(name);
        }
        let id = format!("{}-{}", month.strftime("%Y%m"), names.hex());
        let name = name_of(schema.name, month, &id);
        let list = name_of(COMPACT, month, &id);
        let failed = |name: &str, why| HistoryError {
            place: self.store().place(name),
            why,
        };
        let mut table =
            TableWriter::new(schema).map_err(|why| failed(&name, io::Error::other(why)))?;
        let mut expected = Digest::default();
        for (own, seal) in files {
            let read = self.copied(schema, (own, *seal), &mut table, &mut expected);
            read.await.map_err(|why| failed(own, why))?;
            self.store().forget(own);
        }
        let bytes = table
            .finish()
            .map_err(|why| failed(&name, io::Error::other(why)))?;
        let seal = Seal::of(&bytes);
        let written = async {
            seal.bytes()?;
            keep(self.store(), &name, &bytes).await?;
            let read = self.digest(schema, &name, &bytes).await?;
            if read != expected {
                return Err(invalid("it was not read back as it was written"));
            }
            Ok(())
        };
        written.await.map_err(|why| failed(&name, why))?;
        let of = files.keys().cloned().collect();
        let text = CompactFile::new(name.clone(), seal, of).text();
        let kept = match text {
            Ok(text) => keep(self.store(), &list, &text).await.map(|_| ()),
            Err(why) => Err(why),
        };
        kept.map_err(|why| failed(&list, why))?;
        Ok(expected.rows)
    }

    /// Copies the rows of a file, which are those that its name says.
    async fn copied(
        &self,
        schema: &'static Schema,
        (name, seal): (&str, Seal),
        table: &mut TableWriter,
        digest: &mut Digest,
    ) -> io::Result<()> {
        let file = self.store().open(name, seal.bytes()?).await?;
        let file = seal.checked(file)?;
        let mut each = |row: &Row<'_>| -> Result<(), TableError> {
            let row = row_of(schema, row)?;
            if row.file() != name {
                return Err(TableError::Value);
            }
            digest.add(&row);
            table.push(row.cells()?)?;
            Ok(())
        };
        read_table(file, schema, &mut each)
            .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }

    /// The rows of a file that was written with some bytes, read back.
    async fn digest(
        &self,
        schema: &'static Schema,
        name: &str,
        bytes: &[u8],
    ) -> io::Result<Digest> {
        let mut file: File = self.store().open(name, bytes.len() as u64).await?;
        let mut there = Vec::with_capacity(bytes.len());
        file.read_to_end(&mut there)?;
        if there != bytes {
            return Err(invalid("it was not read back as it was written"));
        }
        file.rewind()?;
        let mut digest = Digest::default();
        let mut each = |row: &Row<'_>| -> Result<(), TableError> {
            digest.add(&row_of(schema, row)?);
            Ok(())
        };
        let read = read_table(file, schema, &mut each);
        read.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        self.store().forget(name);
        Ok(digest)
    }
}

/// The tables of runs in each month before that of a day, where there are several.
fn months(claims: &Claims, today: Date) -> BTreeMap<(&str, Date), Month> {
    let (there, replaced) = (claims.names(), claims.replaced());
    let own: BTreeSet<&str> = claims.compact.iter().map(|one| one.name.as_str()).collect();
    let mut months: BTreeMap<(&str, Date), Month> = BTreeMap::new();
    for (name, (seal, _)) in &claims.tables {
        let name = name.as_str();
        let is_table = |named: &Named<'_>| [COST.name, ACTION.name].contains(&named.table);
        let Some(named) = Named::of(name).filter(is_table) else {
            continue;
        };
        let month = named.day.first_of_month();
        let is_over = month < today.first_of_month();
        let is_new = there.contains(name) && !replaced.contains_key(name) && !own.contains(name);
        if is_over && is_new {
            let files = months.entry((named.table, month)).or_default();
            files.insert(name.to_owned(), *seal);
        }
    }
    months.retain(|_, files| files.len() > 1);
    months
}
