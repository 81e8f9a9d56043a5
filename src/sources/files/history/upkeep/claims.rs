//! What the lists of a history say that there is.

use super::kinds::{Kind, kind_of};
use crate::sources::files::history::layout::{HistoryError, Named, VERSION, name_of};
use crate::sources::files::history::ledger::{MOST_RUN_BYTES, Records, RunFile};
use crate::sources::files::history::manifest::{MOST_BYTES, Manifest};
use crate::sources::files::history::seal::Seal;
use crate::sources::files::history::tables::ALL;
use crate::sources::store::Listed;
use futures_util::{StreamExt, stream};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Lists that are read at once.
const READ_AT_ONCE: usize = 16;

/// Everything in a history, and what its lists say of it.
#[derive(Debug, Default)]
pub(super) struct Claims {
    pub listed: Vec<Listed>,
    /// Tables of runs by name, each with its list.
    pub tables: BTreeMap<String, (Seal, String)>,
    /// Lists that cannot be used.
    pub damaged: Vec<(String, io::Error)>,
}

impl Claims {
    /// Lists everything, and reads every list.
    ///
    /// # Errors
    /// When the place cannot be listed.
    pub(super) async fn of(records: &Records) -> Result<Self, HistoryError> {
        let store = records.store();
        let listed = store.list(VERSION, None).await;
        let listed = listed.map_err(|why| HistoryError { place: store.place(VERSION), why })?;
        let lists = listed.iter().filter_map(|file| {
            let kind = kind_of(file);
            let is_list = matches!(kind, Kind::UsageRun | Kind::Run);
            is_list.then_some((kind, file.name.as_str()))
        });
        let read = lists.map(|(kind, name)| async move { (name, list(records, kind, name).await) });
        let read: Vec<_> = stream::iter(read).buffered(READ_AT_ONCE).collect().await;
        let mut claims = Self::default();
        for (name, list) in read {
            match list {
                Ok(tables) => {
                    let tables = tables.into_iter();
                    let tables = tables.map(|(table, seal)| (table, (seal, name.to_owned())));
                    claims.tables.extend(tables);
                }
                Err(why) => claims.damaged.push((name.to_owned(), why)),
            }
        }
        claims.listed = listed;
        Ok(claims)
    }

    /// The names of regular files.
    pub(super) fn names(&self) -> BTreeSet<&str> {
        let regular = self.listed.iter().filter(|file| file.is_regular);
        regular.map(|file| file.name.as_str()).collect()
    }
}

/// The tables that a list names.
async fn list(records: &Records, kind: Kind, name: &str) -> io::Result<Vec<(String, Seal)>> {
    let store = records.store();
    let Some(Named { day, id, .. }) = Named::of(name) else {
        return Ok(Vec::new());
    };
    if kind == Kind::Run {
        let file = store.open(name, MOST_RUN_BYTES).await?;
        return Ok(RunFile::read(file, id)?.files.into_iter().collect());
    }
    let manifest = Manifest::read(store.open(name, MOST_BYTES).await?)?;
    let tables = ALL.into_iter().map(|schema| {
        let seal = manifest.seal(schema.name)?;
        Ok((name_of(schema.name, day, id), seal))
    });
    tables.collect()
}
