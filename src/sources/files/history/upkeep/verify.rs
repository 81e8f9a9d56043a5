//! Checking every file of a history.

use super::claims::Claims;
use super::kinds::{Kind, kind_of, schema_of};
use crate::domain::{FileTrouble, FoundFile, VerifiedHistory, safe};
use crate::sources::files::history::columns::TableError;
use crate::sources::files::history::layout::{HistoryError, Named};
use crate::sources::files::history::ledger::{
    ACTION, COST, HOUR, Records, action_of, day_of, hour_of,
};
use crate::sources::files::history::seal::{Seal, is_damage};
use crate::sources::files::history::table::{Row, read_table};
use futures_util::{StreamExt, stream};
use std::io::{self, ErrorKind};

/// Tables that are read at once.
const READ_AT_ONCE: usize = 8;

impl Records {
    /// Reads every file, and compares it with what its list says of it.
    ///
    /// # Errors
    /// When the place cannot be listed, and when a file cannot be read now, which does not say
    /// that it is damaged.
    pub async fn verify(&self) -> Result<VerifiedHistory, HistoryError> {
        let mut claims = Claims::of(self).await?;
        let mut damaged = claims.damaged.iter();
        if let Some(unread) = damaged.position(|(_, why)| !is_damage(why)) {
            let (name, why) = claims.damaged.swap_remove(unread);
            let place = self.store().place(&name);
            return Err(HistoryError { place, why });
        }
        let there = claims.names();
        let mut verified = VerifiedHistory::default();
        let mut note = |trouble: FileTrouble, name: &str, why: &str| {
            verified.found.push(FoundFile {
                trouble,
                place: self.store().place(name),
                why: safe(why),
            });
        };
        for (name, why) in &claims.damaged {
            note(FileTrouble::Damaged, name, &why.to_string());
        }
        for (name, (_, list)) in &claims.tables {
            if !there.contains(name.as_str()) {
                note(FileTrouble::Missing, name, &format!("{} names it", short(list)));
            }
        }
        let mut tables = Vec::new();
        for file in &claims.listed {
            let name = file.name.as_str();
            match (kind_of(file), claims.tables.get(name)) {
                (Kind::Foreign, _) => {
                    note(FileTrouble::Foreign, name, "gpucost writes no such file")
                }
                (Kind::Temporary, _) | (Kind::Table, None) => {
                    note(FileTrouble::HalfWritten, name, "no list of a run names it");
                }
                (Kind::Table, Some((seal, _))) => {
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
            match whole {
                Ok(()) => {}
                Err(why) if is_damage(&why) => {
                    note(FileTrouble::Damaged, name, &why.to_string());
                }
                Err(why) => {
                    let place = self.store().place(name);
                    return Err(HistoryError { place, why });
                }
            }
        }
        verified.files = claims.listed.len() as u64;
        verified.bytes = claims.listed.iter().map(|file| file.bytes).sum();
        verified.found.sort();
        self.check_bills(&mut verified).await?;
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
                name if name == HOUR.name => hour_of(row).map(|_| ()),
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
