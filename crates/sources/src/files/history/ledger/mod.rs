//! Audits that are kept: a file for each run, and tables of what workloads cost on each day and
//! of what was advised.

mod read;
mod rows;
mod run_file;

pub use read::{HourRun, Recorded};
pub(super) use rows::{ACTION, COST, HOUR, action_of, day_of, hour_of};
#[cfg(test)]
pub(super) use run_file::resealed;
pub(super) use run_file::{MOST_BYTES as MOST_RUN_BYTES, RunFile};

use super::layout::{
    HistoryError, Named, RUN, RUN_TIME, Seal, folder_of, is_damage, keep, name_of,
};
use super::reached;
use super::table::write_table;
use crate::domain::{
    FileTrouble, FoundFile, InstanceHour, RecordedAction, RecordedRun, WorkloadDay,
    latest_believed, safe,
};
use crate::store::{BucketAccess, Created, Listed, Place, Store};
use futures_util::future::try_join_all;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rows::{cells_of_action, cells_of_day, cells_of_hour};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

/// A place that keeps audits.
#[derive(Debug)]
pub struct Records {
    store: Rc<dyn Store>,
    /// What runs describe at most; those of a later time are set apart.
    latest: Timestamp,
}

/// Which runs were kept, and of which days each scope has rows.
#[derive(Debug, Default)]
pub struct StoredRuns {
    runs: BTreeSet<String>,
    days: BTreeMap<String, BTreeSet<Date>>,
}

impl StoredRuns {
    /// Whether a run was kept.
    pub fn has(&self, run_id: &str) -> bool {
        self.runs.contains(run_id)
    }

    /// The days that runs of a scope have rows for.
    pub fn days(&self, scope: &str) -> BTreeSet<Date> {
        self.days.get(scope).cloned().unwrap_or_default()
    }
}

impl Records {
    /// Opens a place. Nothing is read or made yet.
    ///
    /// # Errors
    /// When a bucket cannot be reached.
    pub async fn open(place: &Place, access: &BucketAccess) -> Result<Self, HistoryError> {
        Ok(Self { store: reached(place, access).await?, latest: Timestamp::MAX })
    }

    #[cfg(test)]
    pub(super) fn of(store: Rc<dyn Store>) -> Self {
        Self { store, latest: Timestamp::MAX }
    }

    /// The same for whom runs of a clock that is ahead of now hold no day: true nights are kept
    /// and read in their place.
    #[must_use]
    pub fn at(self, now: Timestamp) -> Self {
        Self { latest: latest_believed(now), ..self }
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Which runs were kept. A directory is made where it is absent.
    ///
    /// # Errors
    /// When it cannot be made, reached or listed.
    pub async fn kept(&self) -> Result<StoredRuns, HistoryError> {
        let folder = folder_of(RUN);
        self.store.prepare(&folder).await.map_err(|why| self.failed(&folder, why))?;
        // The day alone is in the name: that of the latest time may be ahead, and is kept once
        // more.
        let believed = self.latest.to_zoned(TimeZone::UTC).date();
        let runs = self.listed(RUN).await?;
        let runs = named(&runs).filter(|(_, run)| run.day < believed);
        let mut kept = StoredRuns {
            runs: runs.map(|(_, run)| run.id.to_owned()).collect(),
            ..Default::default()
        };
        let tables = self.listed(COST.name).await?;
        let own = named(&tables).map(|(_, table)| table).filter(|table| kept.has(table.id));
        let own: Vec<Named<'_>> = own.collect();
        let ahead = ahead(own.iter().copied());
        kept.runs.retain(|id| !ahead.contains(id));
        for table in own {
            if let Some((_, scope)) = table.id.rsplit_once('-').filter(|_| kept.has(table.id)) {
                kept.days.entry(scope.to_owned()).or_default().insert(table.day);
            }
        }
        Ok(kept)
    }

    /// Keeps a run with its rows, its actions and its hours; whether it was kept now. One of its id that
    /// was kept before stays as it is.
    ///
    /// # Errors
    /// When it cannot be written, and when files of its id hold something else.
    pub async fn record(
        &self,
        run: &RecordedRun,
        rows: &[WorkloadDay],
        actions: &[RecordedAction],
        hours: &[InstanceHour],
    ) -> Result<bool, HistoryError> {
        let on = run.as_of.to_zoned(TimeZone::UTC).date();
        let own = name_of(RUN, on, &run.run_id);
        let failed = |why| self.failed(&own, why);
        let tables = tables(run, rows, (actions, hours), on).map_err(failed)?;
        let files = tables.iter();
        let files = files.map(|(name, bytes)| (name.clone(), Seal::of(bytes)));
        let file = RunFile { run: run.clone(), files: files.collect() };
        let text = file.text().map_err(failed)?;
        let written = tables.iter().map(|(name, bytes)| async move {
            keep(self.store(), name, bytes).await.map_err(|why| self.failed(name, why))
        });
        try_join_all(written).await?;
        // The file of the run comes last: without it, nothing of the run counts.
        let created = self.store.create(&own, &text).await.map_err(failed)?;
        Ok(created == Created::Now)
    }

    async fn listed(&self, table: &str) -> Result<Vec<Listed>, HistoryError> {
        let folder = folder_of(table);
        let listed = self.store.list(&folder, None).await;
        let mut listed = listed.map_err(|why| self.failed(&folder, why))?;
        listed.retain(|file| {
            let named = Named::of(&file.name);
            named.is_some_and(|named| named.table == table && named.has_own_id())
        });
        Ok(listed)
    }

    /// A file that is not as it must be.
    pub(super) fn found(&self, trouble: FileTrouble, name: &str, why: &str) -> FoundFile {
        FoundFile { trouble, place: self.store.place(name), why: safe(why) }
    }

    /// Notes a file that could not be read because it is damaged.
    ///
    /// # Errors
    /// When it cannot be read now, which does not say that it is damaged.
    pub(super) fn note_damage(
        &self,
        name: &str,
        why: io::Error,
        found: &mut Vec<FoundFile>,
    ) -> Result<(), HistoryError> {
        if !is_damage(&why) {
            return Err(self.failed(name, why));
        }
        found.push(self.found(FileTrouble::Damaged, name, &why.to_string()));
        Ok(())
    }

    pub(super) fn failed(&self, name: &str, why: io::Error) -> HistoryError {
        HistoryError { place: self.store.place(name), why }
    }
}

/// The names of files in whole and in parts.
fn named(listed: &[Listed]) -> impl Iterator<Item = (&str, Named<'_>)> {
    listed.iter().filter_map(|file| Some((file.name.as_str(), Named::of(&file.name)?)))
}

/// The tables of a run by name: one for each day, with the rows of that day or none, one of its
/// actions, and one of the hours of its instances.
fn tables(
    run: &RecordedRun,
    rows: &[WorkloadDay],
    (actions, hours): (&[RecordedAction], &[InstanceHour]),
    on: Date,
) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let id = run.run_id.as_str();
    let mut tables = BTreeMap::new();
    for day in &run.days {
        let own = rows.iter().filter(|row| row.day == *day);
        let own = own.map(|row| cells_of_day(row, &run.scope));
        tables.insert(name_of(COST.name, *day, id), write_table(&COST, own)?);
    }
    let own = actions.iter().map(|action| cells_of_action(action, id, &run.scope, on));
    tables.insert(name_of(ACTION.name, on, id), write_table(&ACTION, own)?);
    if !hours.is_empty() {
        let own = hours.iter().map(|hour| cells_of_hour(hour, id, &run.scope));
        tables.insert(name_of(HOUR.name, on, id), write_table(&HOUR, own)?);
    }
    Ok(tables)
}

/// Runs that are this close may be recorded at once, and hold the same days.
const AT_ONCE: SignedDuration = SignedDuration::from_hours(24);

/// The ids of the runs, by the tables of all, that hold a day which a run of their scope holds
/// that is more than 24 hours older: a run records only days that it finds in no other, so that
/// one of the two was ahead of the other.
fn ahead<'a>(tables: impl Iterator<Item = Named<'a>>) -> BTreeSet<String> {
    let mut days: BTreeMap<(Date, &str), Vec<(Timestamp, &str)>> = BTreeMap::new();
    for table in tables.filter(|named| named.table == COST.name) {
        if let Some((time, scope)) = table.id.split_once('-')
            && let Some(time) = time.strip_suffix('Z')
            && let Ok(time) = DateTime::strptime(RUN_TIME, time)
            && let Ok(time) = TimeZone::UTC.to_timestamp(time)
        {
            days.entry((table.day, scope)).or_default().push((time, table.id));
        }
    }
    let mut ahead = BTreeSet::new();
    for holders in days.into_values() {
        let first = holders.iter().map(|(time, _)| *time).min();
        let later =
            holders.iter().filter(|(time, _)| first.is_some_and(|first| *time > first + AT_ONCE));
        ahead.extend(later.map(|(_, id)| (*id).to_owned()));
    }
    ahead
}

#[cfg(test)]
mod tests;
