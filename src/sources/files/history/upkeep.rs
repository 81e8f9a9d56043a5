//! Checking every file of a history: what it is by its name, and what the lists say of it.

use crate::domain::{FileTrouble, VerifiedHistory};
use crate::sources::files::history::columns::{Schema, TableError};
use crate::sources::files::history::layout::{
    HistoryError, Named, RUN, USAGE_RUN, VERSION, name_of,
};
use crate::sources::files::history::ledger::{
    ACTION, COST, HOUR, MOST_RUN_BYTES, Records, RunFile, action_of, day_of, hour_of,
};
use crate::sources::files::history::seal::{Seal, is_damage};
use crate::sources::files::history::table::{Row, read_sealed};
use crate::sources::files::history::tables::{ALL, MOST_MANIFEST_BYTES, Manifest};
use crate::sources::store::Listed;
use futures_util::{StreamExt, stream};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A list of what a run kept of a day.
    UsageRun,
    /// The file of an audit.
    Run,
    Table,
    /// What a write that did not end left.
    Temporary,
    /// Not written by this program.
    Foreign,
}

/// What a file is.
fn kind_of(one: &Listed) -> Kind {
    if !one.is_regular {
        return Kind::Foreign;
    }
    let Some(named) = Named::of(&one.name) else {
        let is_temporary = is_temporary(&one.name).unwrap_or_default();
        return if is_temporary { Kind::Temporary } else { Kind::Foreign };
    };
    match named.table {
        _ if !named.has_own_id() => Kind::Foreign,
        USAGE_RUN => Kind::UsageRun,
        RUN => Kind::Run,
        table if schema_of(table).is_some() => Kind::Table,
        _ => Kind::Foreign,
    }
}

/// The columns of a table.
fn schema_of(table: &str) -> Option<&'static Schema> {
    const LEDGER: [&Schema; 3] = [&COST, &ACTION, &HOUR];
    ALL.into_iter().chain(LEDGER).find(|schema| schema.name == table)
}

/// Whether a name is that of a temporary file beside a file of a history,
/// `.FILE.PROCESS.NUMBER.tmp`; `None` where it has other parts.
fn is_temporary(name: &str) -> Option<bool> {
    let (folder, file) = name.rsplit_once('/')?;
    let mut parts = file.strip_prefix('.')?.strip_suffix(".tmp")?.rsplitn(3, '.');
    let is_number = |part: &str| part.parse::<u32>().is_ok();
    let (attempt, process, own) = (parts.next()?, parts.next()?, parts.next()?);
    if !is_number(attempt) || !is_number(process) {
        return None;
    }
    let name = format!("{folder}/{own}");
    let named = Named::of(&name)?;
    let is_list = [USAGE_RUN, RUN].contains(&named.table);
    Some(is_list || schema_of(named.table).is_some())
}

/// Lists that are read at once.
const LISTS_AT_ONCE: usize = 16;

/// The tables that a list names.
async fn list(records: &Records, kind: Kind, name: &str) -> io::Result<Vec<(String, Seal)>> {
    let store = records.store();
    let Some(Named { day, id, .. }) = Named::of(name) else { return Ok(Vec::new()) };
    if kind == Kind::Run {
        let file = store.open(name, MOST_RUN_BYTES).await?;
        return Ok(RunFile::read(file, id)?.files.into_iter().collect());
    }
    let manifest = Manifest::read(store.open(name, MOST_MANIFEST_BYTES).await?)?;
    let tables = ALL.into_iter().map(|schema| {
        let seal = manifest.seal(schema.name)?;
        Ok((name_of(schema.name, day, id), seal))
    });
    tables.collect()
}

/// Tables that are read at once.
const TABLES_AT_ONCE: usize = 8;

impl Records {
    /// Reads every file, and compares it with what its list says of it.
    ///
    /// # Errors
    /// When the place cannot be listed, and when a file cannot be read now, which does not say
    /// that it is damaged.
    pub async fn verify(&self) -> Result<VerifiedHistory, HistoryError> {
        let listed = self.store().list(VERSION, None).await;
        let listed = listed.map_err(|why| self.failed(VERSION, why))?;
        let lists = listed.iter().filter_map(|file| {
            let kind = kind_of(file);
            matches!(kind, Kind::UsageRun | Kind::Run).then_some((kind, file.name.as_str()))
        });
        let read = lists.map(|(kind, name)| async move { (name, list(self, kind, name).await) });
        let read: Vec<_> = stream::iter(read).buffered(LISTS_AT_ONCE).collect().await;
        // Tables of runs by name, each with its list, and lists that cannot be used.
        let (mut claimed, mut damaged) = (BTreeMap::new(), Vec::new());
        for (name, list) in read {
            match list {
                Ok(tables) => {
                    claimed.extend(tables.into_iter().map(|(table, seal)| (table, (seal, name))));
                }
                Err(why) if is_damage(&why) => damaged.push((name, why)),
                Err(why) => return Err(self.failed(name, why)),
            }
        }
        let regular = listed.iter().filter(|file| file.is_regular);
        let there: BTreeSet<&str> = regular.map(|file| file.name.as_str()).collect();
        let mut verified = VerifiedHistory::default();
        let mut note = |trouble: FileTrouble, name: &str, why: &str| {
            verified.found.push(self.found(trouble, name, why));
        };
        for (name, why) in &damaged {
            note(FileTrouble::Damaged, name, &why.to_string());
        }
        for (name, (_, list)) in &claimed {
            if !there.contains(name.as_str()) {
                note(FileTrouble::Missing, name, &format!("{} names it", short(list)));
            }
        }
        let mut tables = Vec::new();
        for file in &listed {
            let name = file.name.as_str();
            match (kind_of(file), claimed.get(name)) {
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
        let read: Vec<_> = stream::iter(read).buffered(TABLES_AT_ONCE).collect().await;
        for (name, whole) in read {
            match whole {
                Ok(()) => {}
                Err(why) if is_damage(&why) => {
                    note(FileTrouble::Damaged, name, &why.to_string());
                }
                Err(why) => return Err(self.failed(name, why)),
            }
        }
        verified.files = listed.len() as u64;
        verified.bytes = listed.iter().map(|file| file.bytes).sum();
        verified.found.sort();
        self.check_bills(&mut verified).await?;
        Ok(verified)
    }

    /// Reads a table to the end.
    async fn check(&self, name: &str, seal: Seal) -> io::Result<()> {
        let Some(schema) = Named::of(name).and_then(|named| schema_of(named.table)) else {
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
        read_sealed(self.store(), (name, seal), schema, &mut each).await
    }
}

/// The end of a name, from its table on.
fn short(name: &str) -> &str {
    name.split_once('/').map_or(name, |(_, rest)| rest)
}

#[cfg(test)]
mod tests;
