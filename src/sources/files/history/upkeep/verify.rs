//! Checking every file of a history.

use super::claims::Claims;
use super::kinds::{Kind, kind_of, schema_of};
use crate::domain::safe;
use crate::sources::files::history::columns::TableError;
use crate::sources::files::history::layout::{HistoryError, Named};
use crate::sources::files::history::ledger::{ACTION, COST, Records, action_of, day_of};
use crate::sources::files::history::seal::Seal;
use crate::sources::files::history::table::{Row, read_table};
use futures_util::{StreamExt, stream};
use std::io::{self, ErrorKind};

/// Tables that are read at once.
const READ_AT_ONCE: usize = 8;

/// What is wrong with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// It is not as it was written.
    Damaged,
    /// A list names it, and it is not there.
    Missing,
    /// No list names it: whoever wrote it did not end.
    HalfWritten,
    /// Its rows were put together with others, and it is there still.
    Repeated,
    /// It is not of gpucost.
    Foreign,
}

/// A file with which something is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundFile {
    pub trouble: Trouble,
    /// Its path or address, as it may be shown.
    pub place: String,
    /// What is wrong with it, in words.
    pub why: String,
}

/// What was checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    pub files: u64,
    pub bytes: u64,
    /// By what is wrong, and then by name.
    pub found: Vec<FoundFile>,
}

impl Verified {
    /// Whether data is lost.
    pub fn has_lost(&self) -> bool {
        let mut found = self.found.iter();
        found.any(|one| matches!(one.trouble, Trouble::Damaged | Trouble::Missing))
    }
}

impl Records {
    /// Reads every file, and compares it with what its list says of it.
    ///
    /// # Errors
    /// When the place cannot be listed.
    pub async fn verify(&self) -> Result<Verified, HistoryError> {
        let claims = Claims::of(self).await?;
        let replaced = claims.replaced();
        let there = claims.names();
        let mut verified = Verified::default();
        let mut note = |trouble: Trouble, name: &str, why: &str| {
            verified.found.push(FoundFile {
                trouble,
                place: self.store().place(name),
                why: safe(why),
            });
        };
        for (name, why) in &claims.damaged {
            note(Trouble::Damaged, name, &why.to_string());
        }
        for (name, (_, list)) in &claims.tables {
            if !there.contains(name.as_str()) && !replaced.contains_key(name.as_str()) {
                note(Trouble::Missing, name, &format!("{} names it", short(list)));
            }
        }
        let mut tables = Vec::new();
        for one in &claims.listed {
            let name = one.name.as_str();
            match (kind_of(one).0, claims.tables.get(name)) {
                (Kind::Foreign, _) => note(Trouble::Foreign, name, "gpucost writes no such file"),
                (Kind::Temporary, _) | (Kind::Table, None) => {
                    note(Trouble::HalfWritten, name, "no list of a run names it");
                }
                (Kind::Table, Some((seal, _))) => {
                    if let Some(list) = replaced.get(name) {
                        let why = format!("its rows are in {} as well", short(&list.name));
                        note(Trouble::Repeated, name, &why);
                    }
                    tables.push((name, *seal));
                }
                _ => {}
            }
        }
        let read = tables.into_iter().map(|(name, seal)| async move {
            let whole = self.check(name, seal).await;
            self.store().forget(name);
            (name, whole)
        });
        let read: Vec<_> = stream::iter(read).buffered(READ_AT_ONCE).collect().await;
        for (name, whole) in read {
            if let Err(why) = whole {
                note(Trouble::Damaged, name, &why.to_string());
            }
        }
        verified.files = claims.listed.len() as u64;
        verified.bytes = claims.listed.iter().map(|one| one.bytes).sum();
        verified.found.sort();
        Ok(verified)
    }

    /// Reads a table to the end.
    async fn check(&self, name: &str, seal: Seal) -> io::Result<()> {
        let file = self.store().open(name, seal.bytes()?).await?;
        let file = seal.checked(file)?;
        let schema = Named::of(name).and_then(|named| schema_of(named.table));
        let Some(schema) = schema else {
            return Ok(());
        };
        let mut each = |row: &Row<'_>| -> Result<(), TableError> {
            match schema.name {
                name if name == COST.name => day_of(row).map(|_| ()),
                name if name == ACTION.name => action_of(row).map(|_| ()),
                _ => Ok(()),
            }
        };
        let read = read_table(file, schema, &mut each);
        read.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }
}

/// The end of a name, from its table on.
fn short(name: &str) -> &str {
    name.split_once('/').map_or(name, |(_, rest)| rest)
}
