use crate::domain::{CompactedHistory, FileTrouble, RecordedRun, WorkloadDay};
use crate::sources::Answer;
use crate::sources::files::history::lab::{action, cost, done, run};
use crate::sources::files::history::layout::{COMPACT, RUN, name_of};
use crate::sources::files::history::ledger::{ACTION, COST, Records, resealed};
use crate::sources::store::{Created, Folder, Listed, Store};
use jiff::civil::{Date, date};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::rc::Rc;
use tempfile::TempDir;

const SCOPE: &str = "0123456789abcdef";
const NOVEMBER: Date = Date::constant(2026, 11, 25);

fn records(folder: &Path) -> Records {
    Records::of(Rc::new(Folder::new(folder.to_owned())))
}

/// A night of November, which kept the day before it.
fn keep(records: &Records, night: i8) -> RecordedRun {
    let run = run(
        &format!("2026-11-{night:02}T04:00:00Z"),
        SCOPE,
        &[night - 1],
    );
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
    listed.into_iter().map(|one| one.name).collect()
}

/// What was put together, and how many files could not be used.
fn compacted(records: &Records, today: Date) -> (CompactedHistory, usize) {
    let (compacted, problems) = done(records.compact(today)).expect("writable");
    (compacted, problems.len())
}

/// What was recorded, with nothing wrong about it.
fn recorded(records: &Records) -> (Vec<RecordedRun>, Vec<WorkloadDay>, usize) {
    let found = done(records.read(None)).expect("readable");
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    (found.runs, found.rows, found.actions.len())
}

fn troubles(records: &Records) -> Vec<(FileTrouble, String)> {
    let verified = done(records.verify()).expect("readable");
    let found = verified.found.into_iter();
    found.map(|one| (one.trouble, one.why)).collect()
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
    let all = names(&folder);
    // A day, the actions and the file of each run.
    assert_eq!((verified.files, all.len()), (9, 9));
    let size = |name: &String| bytes(&folder, name).len() as u64;
    assert_eq!(verified.bytes, all.iter().map(size).sum::<u64>());
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
    write(
        &folder,
        "v1/run/dt=2026-11-09/20261109T040000Z-00.json",
        b"{",
    );
    write(&folder, "v1/notes\u{1b}[2J.txt", b"theirs");
    write(&folder, "other/file", b"theirs");

    let verified = done(records.verify()).expect("readable");
    assert!(verified.has_lost());
    let place = |name: &str| {
        let path = folder.path().join(name);
        crate::domain::shown(&path)
    };
    let found: BTreeSet<(FileTrouble, String)> = verified
        .found
        .iter()
        .map(|one| (one.trouble, one.place.clone()))
        .collect();
    let expected = [
        (FileTrouble::Damaged, table(2)),
        (FileTrouble::Damaged, table(3)),
        (FileTrouble::Damaged, table(4)),
        (FileTrouble::Damaged, table(5)),
        (
            FileTrouble::Damaged,
            "v1/run/dt=2026-11-09/20261109T040000Z-00.json".to_owned(),
        ),
        (FileTrouble::Missing, table(6)),
        (FileTrouble::HalfWritten, half),
        (
            FileTrouble::HalfWritten,
            "v1/run/dt=2026-11-09/.a.json.12.0.tmp".to_owned(),
        ),
        (FileTrouble::Foreign, "v1/notes\u{1b}[2J.txt".to_owned()),
    ];
    let expected = expected.map(|(trouble, name)| (trouble, place(&name)));
    assert_eq!(found, BTreeSet::from(expected));
    assert!(
        verified
            .found
            .iter()
            .all(|one| !one.place.contains('\u{1b}'))
    );
}

#[test]
fn a_changed_bit_of_any_file_is_found() {
    let (folder, records, _) = nights(&[2, 3]);
    done(records.compact(date(2026, 12, 1))).expect("writable");
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
    let list = list
        .replace(&cost, "@")
        .replace(&action, &cost)
        .replace('@', &action);
    let (one, other) = (bytes(&folder, &cost), bytes(&folder, &action));
    write(&folder, &cost, &other);
    write(&folder, &action, &one);
    write(&folder, &own, &resealed(&list));
    let words = "its columns are not those of this version".to_owned();
    let expected = [
        (FileTrouble::Damaged, words.clone()),
        (FileTrouble::Damaged, words),
    ];
    assert_eq!(troubles(&records), expected);
}

#[test]
fn a_month_is_put_together_and_says_the_same() {
    // Nights of two months; that of the first of December kept the last day of November.
    let (folder, records, mut runs) = nights(&[2, 3, 30]);
    let december = run("2026-12-01T04:00:00Z", SCOPE, &[30]);
    let rows = [cost(&december, 30, "i-1", "7")];
    assert!(done(records.record(&december, &rows, &[], &[])).expect("writable"));
    runs.push(december);
    let before = recorded(&records);
    assert_eq!(before.1.len(), 2 + 2 + 2 + 1);

    let (none, _) = compacted(&records, NOVEMBER);
    assert_eq!((none.written, none.removed), (0, 0), "the month goes on");
    let (done_once, problems) = compacted(&records, date(2026, 12, 1));
    assert_eq!(problems, 0);
    // Four days of costs and three of actions; the actions of December are alone.
    assert_eq!(
        (done_once.written, done_once.removed, done_once.rows),
        (2, 7, 7 + 3)
    );
    assert_eq!(recorded(&records), before);
    assert!(troubles(&records).is_empty());
    let left = names(&folder);
    let of = |table: &str| {
        let folder = format!("v1/{table}/");
        left.iter().filter(|name| name.starts_with(&folder)).count()
    };
    assert_eq!([RUN, COST.name, ACTION.name, COMPACT].map(of), [4, 1, 2, 2]);

    let (again, _) = compacted(&records, date(2026, 12, 1));
    assert_eq!((again.written, again.removed), (0, 0));
    assert_eq!(names(&folder), left);
    let kept = done(records.kept()).expect("readable");
    let days: Vec<i8> = kept.days(SCOPE).iter().map(|day| day.day()).collect();
    assert_eq!(days, [1, 2, 29, 30]);

    // What comes later gets a file of its own.
    for night in [20, 21] {
        runs.push(keep(&records, night));
    }
    let (later, _) = compacted(&records, date(2026, 12, 1));
    assert_eq!((later.written, later.removed), (2, 4));
    assert_eq!(recorded(&records).0.len(), runs.len());
    assert_eq!(recorded(&records).1.len(), before.1.len() + 4);
}

/// A directory in which nothing can be done after so many files were created or removed.
#[derive(Debug)]
struct Ending {
    folder: Folder,
    left: Cell<usize>,
}

impl Ending {
    fn step<'a, T: 'a>(&'a self, step: Answer<'a, io::Result<T>>) -> Answer<'a, io::Result<T>> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                step
            }
            None => Box::pin(std::future::ready(Err(ErrorKind::BrokenPipe.into()))),
        }
    }
}

impl Store for Ending {
    fn prepare<'a>(&'a self, folder: &'a str) -> Answer<'a, io::Result<()>> {
        self.folder.prepare(folder)
    }

    fn list<'a>(
        &'a self,
        folder: &'a str,
        between: Option<(&'a str, &'a str)>,
    ) -> Answer<'a, io::Result<Vec<Listed>>> {
        self.folder.list(folder, between)
    }

    fn open<'a>(&'a self, name: &'a str, most_bytes: u64) -> Answer<'a, io::Result<File>> {
        self.folder.open(name, most_bytes)
    }

    fn create<'a>(&'a self, name: &'a str, bytes: &'a [u8]) -> Answer<'a, io::Result<Created>> {
        if self.left.get() == 0 {
            return self.step(Box::pin(std::future::pending()));
        }
        self.step(self.folder.create(name, bytes))
    }

    fn remove<'a>(&'a self, name: &'a str) -> Answer<'a, io::Result<()>> {
        if self.left.get() == 0 {
            return self.step(Box::pin(std::future::pending()));
        }
        self.step(self.folder.remove(name))
    }

    fn place(&self, name: &str) -> String {
        self.folder.place(name)
    }
}

#[test]
fn an_end_at_any_step_of_compaction_loses_nothing_and_counts_nothing_twice() {
    let december = date(2026, 12, 1);
    let mut steps = 0;
    loop {
        let (folder, records, _) = nights(&[2, 3, 4]);
        let before = recorded(&records);
        let ending = Records::of(Rc::new(Ending {
            folder: Folder::new(folder.path().to_owned()),
            left: Cell::new(steps),
        }));
        let ended = done(ending.compact(december));
        assert_eq!(recorded(&records), before, "after {steps} steps");
        for (trouble, _) in troubles(&records) {
            let harmless = [FileTrouble::HalfWritten, FileTrouble::Repeated];
            assert!(
                harmless.contains(&trouble),
                "{trouble:?} after {steps} steps"
            );
        }
        assert_eq!(compacted(&records, december).1, 0);
        assert_eq!(
            recorded(&records),
            before,
            "after {steps} steps and the rest"
        );
        assert!(
            troubles(&records).is_empty(),
            "after {steps} steps and the rest"
        );
        if ended.is_ok_and(|(_, problems)| problems.is_empty()) {
            break;
        }
        steps += 1;
    }
    // Of each of two tables: the file, its list, and three files that are removed.
    assert_eq!(steps, 10);
}

#[test]
fn a_month_with_a_damaged_file_stays_as_it_is() {
    let (folder, records, runs) = nights(&[2, 3, 4]);
    let table = name_of(COST.name, date(2026, 11, 2), &runs[1].run_id);
    let mut damaged = bytes(&folder, &table);
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    write(&folder, &table, &damaged);
    let before = names(&folder);
    let (compacted, problems) = done(records.compact(date(2026, 12, 1))).expect("writable");
    let [problem] = &problems[..] else {
        panic!("{problems:?}");
    };
    assert!(problem.place.ends_with(&table), "{problem}");
    // The actions are whole.
    assert_eq!((compacted.written, compacted.removed), (1, 3));
    let left = names(&folder);
    assert!(
        before
            .iter()
            .filter(|name| name.contains("/cost/"))
            .all(|name| left.contains(name))
    );
}

#[test]
fn every_day_of_a_damaged_month_is_lost_and_a_damaged_plan_loses_none() {
    let (folder, records, _) = nights(&[2, 3, 5]);
    assert!(done(records.read(None)).expect("readable").lost.is_empty());
    done(records.compact(date(2026, 12, 1))).expect("writable");
    let all = names(&folder);
    let of = |table: &str| {
        let start = format!("v1/{table}/");
        let mut all = all.iter();
        all.find(|name| name.starts_with(&start)).expect("a table")
    };
    write(&folder, of(ACTION.name), b"damaged");
    let found = done(records.read(None)).expect("readable");
    assert_eq!((found.problems.len(), found.lost.len()), (1, 0));
    assert_eq!((found.rows.len(), found.actions.len()), (6, 0));
    // The nights of the 2nd, 3rd and 5th kept the days before them, all in one file.
    write(&folder, of(COST.name), b"damaged");
    let found = done(records.read(None)).expect("readable");
    assert_eq!((found.problems.len(), found.rows.len()), (2, 0));
    let lost = found.lost.iter().map(|day| day.day());
    assert_eq!(lost.collect::<Vec<_>>(), [1, 2, 4]);
    // Without the file, they are nowhere.
    let path = folder.path().join(of(COST.name));
    std::fs::remove_file(path).expect("writable");
    let found = done(records.read(None)).expect("readable");
    assert_eq!(found.lost.len(), 3);
}

#[test]
fn old_runs_go_with_all_of_their_files_and_nothing_else_does() {
    let (folder, records, runs) = nights(&[2, 3, 4, 5]);
    let half = name_of(COST.name, date(2026, 11, 1), "20261102T050000Z-00");
    write(&folder, &half, b"half");
    write(&folder, "v1/run/dt=2026-11-02/.a.json.12.0.tmp", b"{");
    write(&folder, "v1/cost/dt=2026-11-01/theirs.txt", b"theirs");
    write(&folder, "v1/cost/dt=2026-11-01/deeper/a.parquet", b"theirs");
    write(&folder, "v1/cost/dt=2026-11-01/theirs.parquet", b"theirs");
    write(&folder, "v1/run/dt=2026-11-02/theirs.json", b"theirs");
    let all = names(&folder);
    let before = date(2026, 11, 4);
    let would = done(records.prune(before, false)).expect("readable");
    assert_eq!(names(&folder), all);
    // Two runs of three files, and what two writes left.
    assert_eq!((would.files, would.runs, would.foreign), (8, 2, 4));
    assert_eq!(would.days, Some((date(2026, 11, 2), date(2026, 11, 3))));
    let pruned = done(records.prune(before, true)).expect("writable");
    assert_eq!(pruned, would);
    let left = names(&folder);
    assert_eq!(all.len() - left.len(), 8);
    assert!(
        left.iter()
            .filter(|name| name.contains("theirs") || name.contains("deeper"))
            .count()
            == 4
    );
    let (found, rows, _) = recorded(&records);
    assert_eq!(found, runs[2..]);
    assert_eq!(rows.len(), 4);
    let troubles = troubles(&records).into_iter().map(|(trouble, _)| trouble);
    assert_eq!(troubles.collect::<Vec<_>>(), [FileTrouble::Foreign; 4]);
    let nothing = done(records.prune(before, true)).expect("writable");
    assert_eq!((nothing.files, nothing.runs, nothing.days), (0, 0, None));
}

#[test]
fn the_days_of_a_run_that_stays_stay_however_old_they_are() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let records = records(folder.path());
    let run = run("2026-11-20T04:00:00Z", SCOPE, &[7, 8, 19]);
    let rows = [7, 8, 19].map(|day| cost(&run, day, "i-1", "1"));
    assert!(done(records.record(&run, &rows, &[], &[])).expect("writable"));
    let pruned = done(records.prune(date(2026, 11, 15), true)).expect("writable");
    assert_eq!(pruned.files, 0);
    assert_eq!(recorded(&records).1, rows);
}

#[test]
fn what_was_put_together_goes_with_the_last_of_its_runs() {
    let (folder, records, _) = nights(&[2, 3]);
    let december = run("2026-12-01T04:00:00Z", SCOPE, &[30]);
    let rows = [cost(&december, 30, "i-1", "7")];
    assert!(done(records.record(&december, &rows, &[], &[])).expect("writable"));
    done(records.compact(date(2026, 12, 1))).expect("writable");
    // Both runs of November, and the actions of both, which were put together.
    let pruned = done(records.prune(date(2026, 12, 1), true)).expect("writable");
    assert_eq!((pruned.runs, pruned.files), (2, 4));
    let (runs, found, _) = recorded(&records);
    assert_eq!(
        (runs.as_slice(), found.as_slice()),
        (&[december][..], &rows[..])
    );
    assert!(troubles(&records).is_empty());
    let pruned = done(records.prune(date(2026, 12, 2), true)).expect("writable");
    assert_eq!((pruned.runs, pruned.files), (1, 4));
    assert!(names(&folder).is_empty());
}

#[test]
fn what_was_put_together_stays_while_its_list_cannot_be_read() {
    let (folder, records, _) = nights(&[2, 3]);
    done(records.compact(date(2026, 12, 1))).expect("writable");
    let all = names(&folder);
    let list = all.iter().find(|name| name.contains("/compact/"));
    let list = list.expect("a list of each of two tables");
    write(&folder, list, b"{");
    // Two runs, and the other table with its list.
    let pruned = done(records.prune(date(2026, 12, 1), true)).expect("writable");
    assert_eq!((pruned.runs, pruned.files), (2, 4));
    let left = names(&folder);
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.contains(list));
}

#[cfg(unix)]
#[test]
fn links_and_pipes_are_named_and_stay() {
    let (folder, records, runs) = nights(&[2]);
    let outside = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(outside.path().join("secret"), "secret").expect("writable");
    let day = folder.path().join("v1/cost/dt=2026-11-01");
    std::os::unix::fs::symlink(outside.path().join("secret"), day.join("a-b.parquet"))
        .expect("a link");
    std::os::unix::fs::symlink(outside.path(), folder.path().join("v1/cost/dt=2026-10-01"))
        .expect("a link");
    let mode = nix::sys::stat::Mode::from_bits_truncate(0o600);
    nix::unistd::mkfifo(&day.join("c-d.parquet"), mode).expect("a pipe");
    let found: Vec<FileTrouble> = troubles(&records).into_iter().map(|(one, _)| one).collect();
    assert_eq!(found, [FileTrouble::Foreign; 3]);
    let pruned = done(records.prune(date(2027, 11, 1), true)).expect("writable");
    assert_eq!((pruned.runs, pruned.foreign), (runs.len() as u64, 3));
    assert_eq!(names(&folder).len(), 3);
    assert!(outside.path().join("secret").exists());
}

#[cfg(unix)]
#[test]
fn a_history_behind_a_link_is_refused_and_stays() {
    let (folder, records, _) = nights(&[2, 3]);
    let outside = tempfile::tempdir().expect("a scratch folder");
    let all = names(&folder).len();
    let (inside, moved) = (folder.path().join("v1"), outside.path().join("v1"));
    std::fs::rename(&inside, &moved).expect("one file system");
    std::os::unix::fs::symlink(&moved, &inside).expect("a link");
    let why = done(records.prune(date(2027, 11, 1), true)).expect_err("a link");
    assert!(
        why.to_string().contains("a symbolic link leads to it"),
        "{why}"
    );
    assert!(done(records.verify()).is_err());
    std::fs::remove_file(&inside).expect("ours");
    std::fs::rename(&moved, &inside).expect("one file system");
    assert_eq!(names(&folder).len(), all);
}
