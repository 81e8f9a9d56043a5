//! Removing what was recorded long ago.

use super::claims::Claims;
use super::kinds::{Kind, kind_of};
use crate::domain::PrunedHistory;
use crate::sources::files::history::layout::{COMPACT, HistoryError, Named};
use crate::sources::files::history::ledger::{ACTION, COST, HOUR, Records};
use futures_util::stream::TryStreamExt;
use futures_util::{StreamExt, stream};
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};

/// Files that are removed at once.
const REMOVED_AT_ONCE: usize = 16;

impl Records {
    /// Removes the runs of before a day with all of their files, and what writes that did not
    /// end left before it; or only counts them.
    ///
    /// # Errors
    /// When the place cannot be listed, and when a file cannot be removed.
    pub async fn prune(
        &self,
        before: Date,
        is_removed: bool,
    ) -> Result<PrunedHistory, HistoryError> {
        let claims = Claims::of(self).await?;
        let ledger = ledger_days(&claims);
        let is_old = |day: Option<Date>| day.is_some_and(|day| day < before);
        let gone = |id: &str| ledger.get(id).is_none_or(|day| *day < before);
        // What was put together goes with the last of its runs.
        let compact = claims.compact.iter();
        let mut kept: BTreeSet<&str> = compact
            .filter(|list| !list.of.iter().all(|name| id_of(name).is_some_and(gone)))
            .filter_map(|list| id_of(&list.name))
            .collect();
        // Which runs a list is of is not known where it cannot be read.
        let unread = claims.damaged.iter();
        let unread = unread.filter_map(|(name, _)| Named::of(name));
        kept.extend(
            unread
                .filter(|named| named.table == COMPACT)
                .map(|named| named.id),
        );
        let compact = claims.compact.iter();
        let compact: BTreeSet<&str> = compact.filter_map(|list| id_of(&list.name)).collect();
        let (mut lists, mut tables) = (Vec::new(), Vec::new());
        let mut pruned = PrunedHistory::default();
        for one in &claims.listed {
            let (kind, day) = kind_of(one);
            let id = id_of(&one.name).unwrap_or_default();
            let is_of_run = Named::of(&one.name).is_some_and(|named| {
                [COST.name, ACTION.name, HOUR.name].contains(&named.table) && !compact.contains(id)
            });
            let goes = match kind {
                Kind::Foreign => {
                    pruned.foreign += 1;
                    false
                }
                Kind::Compact | Kind::Table if kept.contains(id) => false,
                // Of a run that stays, days of before it stay too.
                Kind::Table if is_of_run => is_old(day) && gone(id),
                _ => is_old(day),
            };
            if !goes {
                continue;
            }
            pruned.files += 1;
            pruned.bytes += one.bytes;
            match kind {
                Kind::UsageRun | Kind::Run => {
                    pruned.runs += 1;
                    pruned.days = span(pruned.days, day);
                    lists.push(one.name.as_str());
                }
                Kind::Compact => lists.push(one.name.as_str()),
                _ => tables.push(one.name.as_str()),
            }
        }
        if is_removed {
            // Without its list, nothing of a run counts, however far this gets.
            self.remove(&lists).await?;
            self.remove(&tables).await?;
        }
        Ok(pruned)
    }

    /// Removes some files.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub(super) async fn remove(&self, names: &[&str]) -> Result<(), HistoryError> {
        let removed = names.iter().map(|name| async move {
            let removed = self.store().remove(name).await;
            removed.map_err(|why| HistoryError {
                place: self.store().place(name),
                why,
            })
        });
        let removed = stream::iter(removed).buffered(REMOVED_AT_ONCE);
        removed.try_collect::<Vec<()>>().await?;
        Ok(())
    }
}

/// The day on which each run of an audit was recorded, of those that are there.
fn ledger_days(claims: &Claims) -> BTreeMap<&str, Date> {
    let listed = claims.listed.iter();
    let runs = listed.filter(|one| kind_of(one).0 == Kind::Run);
    let named = runs.filter_map(|one| Named::of(&one.name));
    named.map(|named| (named.id, named.day)).collect()
}

fn id_of(name: &str) -> Option<&str> {
    Named::of(name).map(|named| named.id)
}

fn span(known: Option<(Date, Date)>, day: Option<Date>) -> Option<(Date, Date)> {
    match (known, day) {
        (Some((first, last)), Some(day)) => Some((first.min(day), last.max(day))),
        (None, Some(day)) => Some((day, day)),
        (known, None) => known,
    }
}
