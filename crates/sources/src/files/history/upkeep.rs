//! Checking every file of a history: what it is by its name, and what the lists say of it.

use super::columns::{Schema, TableError};
use super::layout::{
    HistoryError, MOST_MANIFEST_BYTES, Manifest, Named, RUN, Seal, USAGE_RUN, VERSION, name_of,
};
use super::ledger::{
    ACTION, COST, HOUR, MOST_RUN_BYTES, Records, RunFile, action_of, day_of, hour_of,
};
use super::table::{Row, read_sealed};
use super::tables::ALL;
use crate::domain::{FileTrouble, VerifiedHistory};
use crate::store::Listed;
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
    Some([USAGE_RUN, RUN].contains(&named.table) || schema_of(named.table).is_some())
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
    let tables = ALL
        .into_iter()
        .map(|schema| Ok((name_of(schema.name, day, id), manifest.seal(schema.name)?)));
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
        let mut found = Vec::new();
        // Tables of runs by name, each with its list.
        let mut claimed = BTreeMap::new();
        for (name, list) in read {
            match list {
                Ok(tables) => {
                    claimed.extend(tables.into_iter().map(|(table, seal)| (table, (seal, name))));
                }
                Err(why) => self.note_damage(name, why, &mut found)?,
            }
        }
        let regular = listed.iter().filter(|file| file.is_regular);
        let there: BTreeSet<&str> = regular.map(|file| file.name.as_str()).collect();
        for (name, (_, list)) in &claimed {
            if !there.contains(name.as_str()) {
                let (_, from_table) = list.split_once('/').unwrap_or(("", *list));
                let why = format!("{from_table} names it");
                found.push(self.found(FileTrouble::Missing, name, &why));
            }
        }
        let mut tables = Vec::new();
        for file in &listed {
            let name = file.name.as_str();
            match (kind_of(file), claimed.get(name)) {
                (Kind::Foreign, _) => {
                    let why = "gpucost writes no such file";
                    found.push(self.found(FileTrouble::Foreign, name, why));
                }
                (Kind::Temporary, _) | (Kind::Table, None) => {
                    let why = "no list of a run names it";
                    found.push(self.found(FileTrouble::HalfWritten, name, why));
                }
                (Kind::Table, Some((seal, _))) => tables.push((name, *seal)),
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
            whole.or_else(|why| self.note_damage(name, why, &mut found))?;
        }
        let mut verified = VerifiedHistory {
            files: listed.len() as u64,
            bytes: listed.iter().map(|file| file.bytes).sum(),
            found,
            ..VerifiedHistory::default()
        };
        self.check_bills(&mut verified).await?;
        verified.found.sort();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{FileTrouble, RecordedRun};
    use crate::files::history::layout::{RUN, name_of};
    use crate::files::history::ledger::{ACTION, COST, Records, resealed};
    use crate::files::history::tests::{action, cost, done, run};
    use crate::store::{Folder, Store};
    use jiff::civil::date;
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::rc::Rc;
    use tempfile::TempDir;

    const SCOPE: &str = "0123456789abcdef";

    fn records(folder: &Path) -> Records {
        Records::of(Rc::new(Folder::new(folder.to_owned())))
    }

    /// A night of November, which kept the day before it.
    fn keep(records: &Records, night: i8) -> RecordedRun {
        let run = run(&format!("2026-11-{night:02}T04:00:00Z"), SCOPE, &[night - 1]);
        let rows = ["i-1", "i-2"].map(|job| cost(&run, night - 1, job, &night.to_string()));
        let actions = [action(&run, "i-1", None)];
        assert!(done(records.record(&run, &rows, &actions, &[])).expect("writable"));
        run
    }

    fn nights(nights: &[i8]) -> (TempDir, Records, Vec<RecordedRun>) {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let records = records(folder.path());
        let runs = nights.iter().map(|night| keep(&records, *night)).collect();
        (folder, records, runs)
    }

    /// Everything in a folder and below, from its root on.
    fn names(folder: &TempDir) -> BTreeSet<String> {
        let store = Folder::new(folder.path().to_owned());
        let listed = done(store.list("v1", None)).expect("readable");
        listed.into_iter().map(|file| file.name).collect()
    }

    fn troubles(records: &Records) -> Vec<(FileTrouble, String)> {
        let verified = done(records.verify()).expect("readable");
        let findings = verified.found.into_iter();
        findings.map(|finding| (finding.trouble, finding.why)).collect()
    }

    fn write(folder: &TempDir, name: &str, bytes: &[u8]) {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        std::fs::write(path, bytes).expect("writable");
    }

    fn bytes(folder: &TempDir, name: &str) -> Vec<u8> {
        std::fs::read(folder.path().join(name)).expect("readable")
    }

    #[test]
    fn whole_files_are_counted_and_nothing_is_found() {
        let (folder, records, _) = nights(&[2, 3, 4]);
        let verified = done(records.verify()).expect("readable");
        let names = names(&folder);
        // A day, the actions and the file of each run.
        assert_eq!((verified.files, names.len()), (9, 9));
        let size = |name: &String| bytes(&folder, name).len() as u64;
        assert_eq!(verified.bytes, names.iter().map(size).sum::<u64>());
        assert!(verified.found.is_empty() && !verified.has_lost());
    }

    #[test]
    fn each_kind_of_trouble_is_told_apart() {
        let (folder, records, runs) = nights(&[2, 3, 4, 5, 6]);
        let table = |night: i8| {
            let run = &runs[usize::try_from(night - 2).expect("a night")];
            name_of(COST.name, date(2026, 11, night - 1), &run.run_id)
        };
        // A flipped bit, half a file, the file of another night, and none at all.
        let mut flipped = bytes(&folder, &table(2));
        let middle = flipped.len() / 2;
        flipped[middle] ^= 1;
        write(&folder, &table(2), &flipped);
        let whole = bytes(&folder, &table(3));
        write(&folder, &table(3), &whole[..whole.len() / 2]);
        let (one, other) = (bytes(&folder, &table(4)), bytes(&folder, &table(5)));
        write(&folder, &table(4), &other);
        write(&folder, &table(5), &one);
        std::fs::remove_file(folder.path().join(table(6))).expect("ours");
        // What no run names, what no write ended, and what others left.
        let half = name_of(COST.name, date(2026, 11, 9), "20261110T040000Z-00");
        write(&folder, &half, &whole);
        write(&folder, "v1/run/dt=2026-11-09/.a.json.12.0.tmp", b"{");
        write(&folder, "v1/run/dt=2026-11-09/20261109T040000Z-00.json", b"{");
        write(&folder, "v1/notes\u{1b}[2J.txt", b"theirs");
        write(&folder, "other/file", b"theirs");

        let verified = done(records.verify()).expect("readable");
        assert!(verified.has_lost());
        let place = |name: &str| {
            let path = folder.path().join(name);
            crate::domain::shown(&path)
        };
        let troubles: BTreeSet<(FileTrouble, String)> =
            verified.found.iter().map(|finding| (finding.trouble, finding.place.clone())).collect();
        let expected = [
            (FileTrouble::Damaged, table(2)),
            (FileTrouble::Damaged, table(3)),
            (FileTrouble::Damaged, table(4)),
            (FileTrouble::Damaged, table(5)),
            (FileTrouble::Damaged, "v1/run/dt=2026-11-09/20261109T040000Z-00.json".to_owned()),
            (FileTrouble::Missing, table(6)),
            (FileTrouble::HalfWritten, half),
            (FileTrouble::HalfWritten, "v1/run/dt=2026-11-09/.a.json.12.0.tmp".to_owned()),
            (FileTrouble::Foreign, "v1/notes\u{1b}[2J.txt".to_owned()),
        ];
        let expected = expected.map(|(trouble, name)| (trouble, place(&name)));
        assert_eq!(troubles, BTreeSet::from(expected));
        assert!(verified.found.iter().all(|finding| !finding.place.contains('\u{1b}')));
    }

    #[test]
    fn a_changed_bit_of_any_file_is_found() {
        let (folder, records, _) = nights(&[2, 3]);
        let mut tried = 0;
        for name in names(&folder) {
            let whole = bytes(&folder, &name);
            let step = (whole.len() / 61).max(1);
            for at in (0..whole.len()).step_by(step) {
                let mut changed = whole.clone();
                changed[at] ^= 1_u8 << (at % 8);
                write(&folder, &name, &changed);
                let verified = done(records.verify()).expect("readable");
                assert!(verified.has_lost(), "byte {at} of {name}");
                // Whatever it says now, it can be read around.
                assert!(done(records.read(None)).is_ok());
                tried += 1;
            }
            write(&folder, &name, &whole);
        }
        assert!(tried > 300, "{tried}");
        assert!(troubles(&records).is_empty());
    }

    #[test]
    fn a_table_that_is_not_of_its_columns_is_damaged_even_if_its_list_says_so() {
        let (folder, records, runs) = nights(&[2]);
        let cost = name_of(COST.name, date(2026, 11, 1), &runs[0].run_id);
        let action = name_of(ACTION.name, date(2026, 11, 2), &runs[0].run_id);
        let own = name_of(RUN, date(2026, 11, 2), &runs[0].run_id);
        let list = String::from_utf8(bytes(&folder, &own)).expect("JSON");
        // The two files change places, with their lengths and checksums.
        let list = list.replace(&cost, "@").replace(&action, &cost).replace('@', &action);
        let (one, other) = (bytes(&folder, &cost), bytes(&folder, &action));
        write(&folder, &cost, &other);
        write(&folder, &action, &one);
        write(&folder, &own, &resealed(&list));
        let words = "its columns are not those of this version".to_owned();
        let expected = [(FileTrouble::Damaged, words.clone()), (FileTrouble::Damaged, words)];
        assert_eq!(troubles(&records), expected);
    }

    #[test]
    fn a_damaged_table_of_costs_loses_its_day_and_a_damaged_plan_loses_none() {
        let (folder, records, runs) = nights(&[2, 3, 5]);
        assert!(done(records.read(None)).expect("readable").lost.is_empty());
        let id = &runs[0].run_id;
        write(&folder, &name_of(ACTION.name, date(2026, 11, 2), id), b"damaged");
        let recorded = done(records.read(None)).expect("readable");
        assert_eq!((recorded.problems.len(), recorded.lost.len()), (1, 0));
        assert_eq!((recorded.rows.len(), recorded.actions.len()), (6, 2));
        // The night of the 2nd kept the day before it.
        let cost = name_of(COST.name, date(2026, 11, 1), id);
        write(&folder, &cost, b"damaged");
        let recorded = done(records.read(None)).expect("readable");
        assert_eq!((recorded.problems.len(), recorded.rows.len()), (2, 4));
        assert_eq!(recorded.lost, BTreeSet::from([date(2026, 11, 1)]));
        // Without the file, it is nowhere.
        std::fs::remove_file(folder.path().join(cost)).expect("writable");
        let recorded = done(records.read(None)).expect("readable");
        assert_eq!(recorded.lost, BTreeSet::from([date(2026, 11, 1)]));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_named() {
        let (folder, records, _) = nights(&[2]);
        let outside = tempfile::tempdir().expect("a scratch folder");
        std::fs::write(outside.path().join("secret"), "secret").expect("writable");
        let day = folder.path().join("v1/cost/dt=2026-11-01");
        std::os::unix::fs::symlink(outside.path().join("secret"), day.join("a-b.parquet"))
            .expect("a link");
        std::os::unix::fs::symlink(outside.path(), folder.path().join("v1/cost/dt=2026-10-01"))
            .expect("a link");
        let mode = nix::sys::stat::Mode::from_bits_truncate(0o600);
        nix::unistd::mkfifo(&day.join("c-d.parquet"), mode).expect("a pipe");
        let kinds: Vec<FileTrouble> =
            troubles(&records).into_iter().map(|(trouble, _)| trouble).collect();
        assert_eq!(kinds, [FileTrouble::Foreign; 3]);
    }

    #[cfg(unix)]
    #[test]
    fn a_history_behind_a_link_is_refused() {
        let (folder, records, _) = nights(&[2, 3]);
        let outside = tempfile::tempdir().expect("a scratch folder");
        let count = names(&folder).len();
        let (inside, moved) = (folder.path().join("v1"), outside.path().join("v1"));
        std::fs::rename(&inside, &moved).expect("one file system");
        std::os::unix::fs::symlink(&moved, &inside).expect("a link");
        let why = done(records.verify()).expect_err("a link");
        assert!(why.to_string().contains("a symbolic link leads to it"), "{why}");
        std::fs::remove_file(&inside).expect("ours");
        std::fs::rename(&moved, &inside).expect("one file system");
        assert_eq!(names(&folder).len(), count);
    }

    #[test]
    fn files_are_known_by_their_names() {
        let of = |name: &str| {
            let one = Listed { name: name.to_owned(), bytes: 1, is_regular: true };
            kind_of(&one)
        };
        let day = "dt=2026-11-02";
        let id = "20261103T040000Z-0123456789abcdef";
        for (name, kind) in [
            (format!("v1/usage_run/{day}/{id}.json"), Kind::UsageRun),
            (format!("v1/run/{day}/{id}.json"), Kind::Run),
            (format!("v1/usage_hist/{day}/{id}.parquet"), Kind::Table),
            (format!("v1/cost/{day}/{id}.parquet"), Kind::Table),
            (format!("v1/cost/{day}/.a.parquet.12.0.tmp"), Kind::Temporary),
            (format!("v1/run/{day}/.a.json.12.0.tmp"), Kind::Temporary),
        ] {
            assert_eq!(of(&name), kind, "{name}");
        }
        for name in [
            format!("v1/cost/{day}/a.json"),
            format!("v1/cost/{day}/.a.parquet.tmp"),
            format!("v1/cost/{day}/.a.parquet.x.0.tmp"),
            format!("v1/cost/{day}/.other.12.0.tmp"),
            "v1/cost/a.parquet".to_owned(),
            "v1/README.md".to_owned(),
        ] {
            assert_eq!(of(&name), Kind::Foreign, "{name}");
        }
        // Of the same ending beside ours.
        for name in [format!("v1/cost/{day}/report.parquet"), format!("v1/run/{day}/notes.json")] {
            assert_eq!(of(&name), Kind::Foreign, "{name}");
        }
        let kind = kind_of(&Listed {
            name: format!("v1/run/{day}/{id}.json"),
            bytes: 0,
            is_regular: false,
        });
        assert_eq!(kind, Kind::Foreign);
        assert_eq!(of(&format!("v1/other/{day}/{id}.parquet")), Kind::Foreign);
    }
}
