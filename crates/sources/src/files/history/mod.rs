//! A place that keeps what machines did on days that are over, and what audits said. Files are
//! written once and not changed; a listing of the place is the truth. The layout is in
//! `docs/history.md`.

mod columns;
mod kept_bills;
mod layout;
mod ledger;
mod rollups;
mod table;
mod tables;
mod upkeep;

pub use layout::HistoryError;
pub use ledger::{HourRun, Recorded, Records, StoredRuns};
pub use rollups::{Imported, ROLLED_UP, ROLLUP_PERIOD_SECONDS, import_rollups};
pub use tables::StoredMachine;

use crate::domain::{DAY_SECONDS, Fnv, Instance, ResourceId, latest_believed};
use crate::store::{BucketAccess, Place, Store, connect, invalid};
use crate::usage::{StoredUsage, Usage, Usages};
use columns::{Schema, TableError, unread};
use futures_util::future::try_join_all;
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use jiff::civil::Date;
use layout::{
    MOST_MANIFEST_BYTES, Manifest, Named, RUN_TIME, RunName, Seal, USAGE_RUN, folder_of, keep,
    name_of, part_of, time_of,
};
use std::cell::{Cell, RefCell};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::rc::Rc;
use table::read_table;
use tables::{ALL, ASKED, DayReader, DayWriter, machine_of, midnight, place_of};

/// Runs of a day that are read of a region of an account, the newest first.
const MOST_RUNS: usize = 1_000;
/// Bytes of the machines of all runs that are read: five million usual ones.
const MOST_INDEX_BYTES: usize = 1 << 30;
/// Days of regions that are read at once.
const READ_AT_ONCE: usize = 16;

/// A run that kept a day of a region of an account.
#[derive(Debug)]
struct Run {
    id: String,
    machines: BTreeMap<ResourceId, StoredMachine>,
}

/// What machines did on days that are over.
#[derive(Debug)]
pub struct History {
    store: Rc<dyn Store>,
    /// When this run began.
    now: Timestamp,
    /// The names of the runs that kept each day, the newest first.
    days: BTreeMap<Date, Vec<RunName>>,
    /// The runs of each day and place that was read.
    runs: RefCell<BTreeMap<(Date, String), Vec<Run>>>,
    /// Bytes of machines that may still be read.
    room: Cell<usize>,
    problems: RefCell<Vec<HistoryError>>,
}

impl History {
    /// Opens a place, which is made where it is a directory and absent, and finds out which
    /// runs kept some days.
    ///
    /// # Errors
    /// When it cannot be made, reached or listed.
    pub async fn open(
        place: &Place,
        access: &BucketAccess,
        days: (Date, Date),
        now: Timestamp,
    ) -> Result<Self, HistoryError> {
        Self::of(reached(place, access).await?, days, now).await
    }

    /// The same of a place to read from: nothing is made.
    ///
    /// # Errors
    /// When it cannot be reached or listed.
    pub async fn open_to_read(
        place: &Place,
        access: &BucketAccess,
        days: (Date, Date),
        now: Timestamp,
    ) -> Result<Self, HistoryError> {
        Self::listed(reached(place, access).await?, days, now).await
    }

    async fn of(
        store: Rc<dyn Store>,
        days: (Date, Date),
        now: Timestamp,
    ) -> Result<Self, HistoryError> {
        let folder = folder_of(USAGE_RUN);
        let prepared = store.prepare(&folder).await;
        prepared.map_err(|why| HistoryError { place: store.place(&folder), why })?;
        Self::listed(store, days, now).await
    }

    async fn listed(
        store: Rc<dyn Store>,
        (first, last): (Date, Date),
        now: Timestamp,
    ) -> Result<Self, HistoryError> {
        let folder = folder_of(USAGE_RUN);
        let failed = |why| HistoryError { place: store.place(&folder), why };
        let (first, last) = (part_of(first), part_of(last));
        let listed = store.list(&folder, Some((first.as_str(), last.as_str()))).await;
        // The name of a run begins with its time. One of a clock that is ahead kept days on which
        // nothing had run yet.
        let believed = latest_believed(now).strftime(RUN_TIME).to_string();
        let mut days: BTreeMap<Date, Vec<RunName>> = BTreeMap::new();
        for object in listed.map_err(failed)?.iter().rev() {
            let named = Named::of(&object.name).filter(|it| it.id < believed.as_str());
            if let Some((day, run)) = named.and_then(|it| Some((it.day, RunName::of(it.id)?))) {
                days.entry(day).or_default().push(run);
            }
        }
        Ok(Self {
            store,
            now,
            days,
            runs: RefCell::default(),
            room: Cell::new(MOST_INDEX_BYTES),
            problems: RefCell::default(),
        })
    }

    /// Reads which of some machines were asked on some days. What cannot be read counts as not
    /// kept, and is a problem.
    pub async fn prepare(&self, days: &BTreeSet<Date>, machines: &[Instance]) {
        let places = machines.iter().map(|machine| place_of(&machine.account, &machine.region));
        self.load(days.iter(), places.collect()).await;
    }

    async fn load<'a>(&self, days: impl Iterator<Item = &'a Date>, places: BTreeSet<String>) {
        let wanted = days.flat_map(|day| places.iter().map(move |place| (*day, place.clone())));
        let mut wanted: BTreeSet<(Date, String)> = wanted.collect();
        wanted.retain(|key| !self.runs.borrow().contains_key(key));
        let read = wanted.into_iter().map(|(day, place)| async move {
            let runs = self.runs_of(day, &place).await;
            ((day, place), runs)
        });
        let read: Vec<_> = stream::iter(read).buffered(READ_AT_ONCE).collect().await;
        self.runs.borrow_mut().extend(read);
    }

    /// The runs that kept a day of a place, the newest first. Those of other places, which may
    /// be many, are not opened.
    async fn runs_of(&self, day: Date, place: &str) -> Vec<Run> {
        let names = self.days.get(&day).into_iter().flatten();
        let own = names.filter(|name| name.place == place).take(MOST_RUNS);
        let mut runs = Vec::new();
        for name in own {
            match self.machines(day, &name.id).await {
                Ok(machines) => runs.push(Run { id: name.id.clone(), machines }),
                Err(problem) => self.problems.borrow_mut().push(problem),
            }
        }
        runs
    }

    /// The machines that a run asked, if all of its tables are whole.
    async fn machines(
        &self,
        day: Date,
        id: &str,
    ) -> Result<BTreeMap<ResourceId, StoredMachine>, HistoryError> {
        let manifest = self.manifest(day, id).await?;
        let asked = self.table(&manifest, &ASKED, day, id).await?;
        for schema in ALL.into_iter().skip(1) {
            self.table(&manifest, schema, day, id).await?;
        }
        let mut machines = BTreeMap::new();
        let mut room = self.room.get();
        let mut each = |row: &table::Row<'_>| -> Result<(), TableError> {
            let machine = machine_of(row)?;
            room = room.checked_sub(machine.bytes()).ok_or(TableError::Large)?;
            machines.insert(machine.instance.clone(), machine);
            Ok(())
        };
        let read = read_table(asked, &ASKED, &mut each);
        read.map_err(|error| self.problem(ASKED.name, day, id, unread(error)))?;
        self.room.set(room);
        Ok(machines)
    }

    async fn manifest(&self, day: Date, id: &str) -> Result<Manifest, HistoryError> {
        let name = name_of(USAGE_RUN, day, id);
        let manifest = self.store.open(&name, MOST_MANIFEST_BYTES).await.and_then(Manifest::read);
        manifest.map_err(|why| self.problem(USAGE_RUN, day, id, why))
    }

    /// A table that is as it was written.
    async fn table(
        &self,
        manifest: &Manifest,
        schema: &Schema,
        day: Date,
        id: &str,
    ) -> Result<File, HistoryError> {
        let name = name_of(schema.name, day, id);
        let opened = async { manifest.seal(schema.name)?.open(&*self.store, &name).await }.await;
        opened.map_err(|why| self.problem(schema.name, day, id, why))
    }

    /// When this run began.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether it is known what a machine did on a day, of those that were read: what was
    /// asked of it then is what would be asked now.
    pub fn holds(&self, day: Date, machine: &StoredMachine) -> bool {
        self.run_of(day, machine).is_some()
    }

    /// The newest run that asked this.
    fn run_of(&self, day: Date, machine: &StoredMachine) -> Option<String> {
        let by_day = self.runs.borrow();
        let mut runs = by_day.get(&(day, machine.place()))?.iter();
        let run = runs.find(|run| run.machines.get(&machine.instance) == Some(machine))?;
        Some(run.id.clone())
    }

    /// What machines that it holds did on a day.
    ///
    /// # Errors
    /// When a table cannot be read, or has figures that no day has.
    pub async fn read(&self, day: Date, wanted: &[StoredMachine]) -> Result<Usages, HistoryError> {
        let mut by_run: BTreeMap<String, Vec<&StoredMachine>> = BTreeMap::new();
        for machine in wanted {
            if let Some(id) = self.run_of(day, machine) {
                by_run.entry(id).or_default().push(machine);
            }
        }
        let mut usages = Usages::default();
        for (id, machines) in &by_run {
            let manifest = self.manifest(day, id).await?;
            let mut reader = DayReader::new(day);
            machines.iter().for_each(|machine| reader.want(machine));
            for schema in ALL.into_iter().skip(1) {
                let file = self.table(&manifest, schema, day, id).await?;
                let mut each = |row: &table::Row<'_>| reader.take(schema, row);
                let read = read_table(file, schema, &mut each);
                read.map_err(|error| self.problem(schema.name, day, id, unread(error)))?;
            }
            let number = midnight(day) / DAY_SECONDS;
            for (instance, (period_seconds, kept)) in reader.finish() {
                let usage = Usage::of_kept(&kept, number, period_seconds).ok_or_else(|| {
                    let why = invalid("its tables have figures that no day has");
                    self.problem(USAGE_RUN, day, id, why)
                })?;
                if !kept.series.is_empty() {
                    usages.insert(instance, usage);
                }
            }
        }
        Ok(usages)
    }

    /// Keeps what machines did on a day. That it cannot be written is a problem, and no error:
    /// what was read is known all the same.
    pub async fn record<'a>(
        &self,
        day: Date,
        machines: impl Iterator<Item = (&'a StoredMachine, StoredUsage)>,
    ) {
        if let Err(why) = self.write(day, machines).await {
            let place = self.store.place(&format!("{}/{}", folder_of(USAGE_RUN), part_of(day)));
            self.problems.borrow_mut().push(HistoryError { place, why });
        }
    }

    async fn write<'a>(
        &self,
        day: Date,
        machines: impl Iterator<Item = (&'a StoredMachine, StoredUsage)>,
    ) -> io::Result<()> {
        // A run of each place, so that an audit of one opens no files of the others.
        let mut places: BTreeMap<String, (DayWriter, Fnv)> = BTreeMap::new();
        for (machine, kept) in machines {
            let (writer, scope) = match places.entry(machine.place()) {
                Entry::Occupied(place) => place.into_mut(),
                Entry::Vacant(place) => {
                    let writer = DayWriter::new(day).map_err(io::Error::other)?;
                    place.insert((writer, Fnv::default()))
                }
            };
            writer.add(machine, &kept).map_err(io::Error::other)?;
            scope.add(machine.instance.as_str());
            scope.add(&machine.asked);
        }
        let time = time_of(self.now);
        for (place, (writer, scope)) in places {
            let id = format!("{time}-{place}-{}", scope.hex());
            self.write_run(day, &id, writer).await?;
        }
        Ok(())
    }

    async fn write_run(&self, day: Date, id: &str, writer: DayWriter) -> io::Result<()> {
        let files = writer.finish().map_err(io::Error::other)?;
        let seals = ALL.iter().zip(&files);
        let seals = seals.map(|(schema, bytes)| (schema.name.to_owned(), Seal::of(bytes)));
        let manifest = Manifest::of(seals.collect()).text()?;
        let tables = ALL.iter().zip(&files).map(|(schema, bytes)| async move {
            keep(&*self.store, &name_of(schema.name, day, id), bytes).await
        });
        try_join_all(tables).await?;
        // The list comes last: without it, nothing of the run counts.
        keep(&*self.store, &name_of(USAGE_RUN, day, id), &manifest).await?;
        Ok(())
    }

    fn problem(&self, table: &str, day: Date, id: &str, why: io::Error) -> HistoryError {
        HistoryError { place: self.store.place(&name_of(table, day, id)), why }
    }

    /// What could not be read or written since this was asked last.
    pub fn problems(&self) -> Vec<HistoryError> {
        self.problems.take()
    }
}

async fn reached(place: &Place, access: &BucketAccess) -> Result<Rc<dyn Store>, HistoryError> {
    connect(place, access).await.map_err(|why| HistoryError { place: place.to_string(), why })
}

#[cfg(test)]
mod tests;
