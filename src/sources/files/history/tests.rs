use super::*;
use crate::domain::{DAY_SECONDS, Metric, Window};
use crate::sources::store::Folder;
use crate::usage::lab;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const DAY: Date = Date::constant(2026, 11, 2);

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time stamp")
}

fn key(instance: &str) -> StoredMachine {
    StoredMachine {
        account: "111122223333".to_owned(),
        region: "us-east-1".to_owned(),
        instance: ResourceId::named(instance),
        asked: "0123456789abcdef".to_owned(),
        period_seconds: lab::PERIOD,
    }
}

fn date(window: Window) -> Date {
    window.start.to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// What a future comes to.
fn done<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

fn open(folder: &Path, now: &str) -> History {
    let days = (Date::constant(2026, 11, 1), Date::constant(2026, 11, 6));
    let store = Rc::new(Folder::new(folder.to_owned()));
    done(History::of(store, days, at(now))).expect("our own folder")
}

fn record(history: &History, day: Date, machines: &[(&StoredMachine, StoredUsage)]) {
    done(history.record(day, machines.iter().cloned()));
}

/// Whether it holds a machine, when it has read of it.
fn holds(history: &History, day: Date, machine: &StoredMachine) -> bool {
    done(history.load(BTreeSet::from([(day, machine.place())])));
    history.holds(day, machine)
}

fn read(history: &History, day: Date, machine: &StoredMachine) -> Result<Usages, HistoryError> {
    assert!(holds(history, day, machine));
    done(history.read(day, std::slice::from_ref(machine)))
}

/// The folder of a table and a day.
fn folder_of_day(root: &Path, table: &str) -> PathBuf {
    root.join(folder_of(table)).join(part_of(DAY))
}

/// Names of what lies in a folder, ascending.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("readable");
    let name = |entry: io::Result<std::fs::DirEntry>| entry.expect("readable").file_name();
    let names = entries.map(|entry| name(entry).into_string().expect("plain names"));
    let names: BTreeSet<String> = names.collect();
    names.into_iter().collect()
}

/// What `i-1` did in a stretch.
fn kept(seed: u64, stretch: Window) -> StoredUsage {
    let usages = lab::usages(&lab::answers(seed), stretch);
    let usage = usages.of(&ResourceId::named("i-1"));
    usage.kept().expect("one source measured it")
}

fn day() -> Window {
    let stretch = lab::stretches()[1];
    assert_eq!((date(stretch), stretch.seconds()), (DAY, DAY_SECONDS));
    stretch
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whole days written by one run and read by the next, between what is measured of the
    /// days at the ends, against the window measured in one.
    #[test]
    fn days_that_were_kept_give_the_figures_of_a_fresh_read(seed in any::<u64>()) {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let (answers, window) = (lab::answers(seed), lab::window());
        let id = ResourceId::named("i-1");
        let machine = key("i-1");
        let is_whole = |stretch: &Window| stretch.seconds() == DAY_SECONDS;
        let first = open(folder.path(), "2026-11-06T12:00:00Z");
        for stretch in lab::stretches().into_iter().filter(is_whole) {
            let usages = lab::usages(&answers, stretch);
            let kept = usages.of(&id).kept().expect("one source measured it");
            record(&first, date(stretch), &[(&machine, kept)]);
        }
        let second = open(folder.path(), "2026-11-06T13:00:00Z");
        let parts = lab::stretches().into_iter().map(|stretch| {
            if !is_whole(&stretch) {
                return (stretch, lab::usages(&answers, stretch));
            }
            (stretch, read(&second, date(stretch), &machine).expect("it is whole"))
        });
        let joined = Usages::joined(parts.collect(), window, lab::PERIOD);
        let whole = lab::usages(&answers, window);
        prop_assert!(first.problems().is_empty() && second.problems().is_empty());
        // When each GPU was sampled is not kept of a day.
        prop_assert!(
            lab::figures_but_outages(joined.of(&id)) == lab::figures_but_outages(whole.of(&id))
        );
    }
}

#[test]
fn asked_and_silent_is_not_the_same_as_not_asked() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let first = open(folder.path(), "2026-11-06T12:00:00Z");
    let silent = key("i-silent");
    record(&first, DAY, &[(&silent, StoredUsage::default())]);
    let second = open(folder.path(), "2026-11-06T13:00:00Z");
    let answer = read(&second, DAY, &silent);
    assert!(answer.expect("it is whole").is_empty());
    // Another machine, other series, another account, another grid, another day.
    let others = [
        key("i-1"),
        StoredMachine { asked: "other".to_owned(), ..silent.clone() },
        StoredMachine { account: "444455556666".to_owned(), ..silent.clone() },
        StoredMachine { region: "eu-west-1".to_owned(), ..silent.clone() },
        StoredMachine { period_seconds: 3_600, ..silent.clone() },
    ];
    for other in others {
        assert!(!holds(&second, DAY, &other), "{other:?}");
    }
    assert!(!holds(&second, Date::constant(2026, 11, 3), &silent));
}

#[test]
fn the_newest_run_that_asked_the_same_counts() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let machine = key("i-1");
    let (older, newer) = (kept(1, day()), kept(2, day()));
    assert_ne!(older, newer);
    for (now, kept) in [("2026-11-06T13:00:00Z", &newer), ("2026-11-06T12:00:00Z", &older)] {
        record(&open(folder.path(), now), DAY, &[(&machine, kept.clone())]);
    }
    let history = open(folder.path(), "2026-11-06T14:00:00Z");
    let usages = read(&history, DAY, &machine).expect("both are whole");
    assert_eq!(usages.of(&machine.instance).kept(), Some(newer.clone()));

    // The same again changes nothing, and nor does a day without machines.
    let list = || names_in(&folder_of_day(folder.path(), USAGE_RUN));
    let runs = list();
    let again = open(folder.path(), "2026-11-06T13:00:00Z");
    record(&again, DAY, &[(&machine, newer.clone())]);
    assert!(again.problems().is_empty());
    record(&history, DAY, &[]);
    assert_eq!(list(), runs);

    // Nor does something else under the same name, which is a problem.
    record(&again, DAY, &[(&machine, older)]);
    assert_eq!(list(), runs);
    let problems = again.problems();
    let [problem] = &problems[..] else {
        panic!("{problems:?}");
    };
    assert!(problem.to_string().ends_with(": it is there, and holds something else"));
    let last = open(folder.path(), "2026-11-06T15:00:00Z");
    let usages = read(&last, DAY, &machine).expect("both are whole");
    assert_eq!(usages.of(&machine.instance).kept(), Some(newer));
}

#[test]
fn a_run_of_a_clock_a_month_ahead_does_not_count() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let machine = key("i-1");
    let ahead = open(folder.path(), "2026-12-06T12:00:00Z");
    record(&ahead, DAY, &[(&machine, kept(1, day()))]);
    let truth = open(folder.path(), "2026-11-06T12:00:00Z");
    assert!(!holds(&truth, DAY, &machine));
    let true_one = kept(2, day());
    record(&truth, DAY, &[(&machine, true_one.clone())]);
    let later = open(folder.path(), "2026-11-06T13:00:00Z");
    let usages = read(&later, DAY, &machine).expect("it is whole");
    assert_eq!(usages.of(&machine.instance).kept(), Some(true_one));
}

/// What damages a file.
type Spoil = fn(&Path);

#[test]
fn a_damaged_file_is_named_and_counts_as_not_kept() {
    let machine = key("i-1");
    let spoil: [(&str, Spoil); 5] = [
        ("usage_grid", |path| {
            let mut bytes = std::fs::read(path).expect("readable");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(path, bytes).expect("writable");
        }),
        ("usage_asked", |path| {
            let bytes = std::fs::read(path).expect("readable");
            std::fs::write(path, &bytes[..bytes.len() / 2]).expect("writable");
        }),
        ("usage_hist", |path| std::fs::remove_file(path).expect("ours")),
        ("usage_run", |path| std::fs::write(path, "{").expect("writable")),
        ("usage_run", |path| {
            let text = std::fs::read_to_string(path).expect("readable");
            let text = text.replace("\"format\":1", "\"format\":2");
            std::fs::write(path, text).expect("writable");
        }),
    ];
    for (table, spoil) in spoil {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let first = open(folder.path(), "2026-11-06T12:00:00Z");
        record(&first, DAY, &[(&machine, kept(1, day()))]);
        let parts = folder_of_day(folder.path(), table);
        let names = names_in(&parts);
        let [name] = &names[..] else {
            panic!("one run wrote {names:?}");
        };
        spoil(&parts.join(name));
        let second = open(folder.path(), "2026-11-06T13:00:00Z");
        assert!(!holds(&second, DAY, &machine), "{table}");
        let problems = second.problems();
        let [problem] = &problems[..] else {
            panic!("{table}: {problems:?}");
        };
        assert_eq!(problem.place, parts.join(name).display().to_string());
        assert!(problem.to_string().starts_with(&problem.place), "{problem}");
    }
}

/// Opening a pipe that no one writes to would not return.
#[cfg(unix)]
#[test]
fn a_pipe_or_a_link_in_place_of_a_file_is_refused_before_it_is_opened() {
    let machine = key("i-1");
    let pipe: Spoil = |path| {
        let mode = nix::sys::stat::Mode::from_bits_truncate(0o600);
        nix::unistd::mkfifo(path, mode).expect("a pipe");
    };
    let link: Spoil = |path| std::os::unix::fs::symlink("/dev/zero", path).expect("a link");
    for (table, spoil) in
        [("usage_run", pipe), ("usage_asked", pipe), ("usage_hist", pipe), ("usage_run", link)]
    {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let first = open(folder.path(), "2026-11-06T12:00:00Z");
        record(&first, DAY, &[(&machine, kept(1, day()))]);
        let parts = folder_of_day(folder.path(), table);
        let path = parts.join(names_in(&parts).first().expect("one run wrote it"));
        std::fs::remove_file(&path).expect("ours");
        spoil(&path);
        let second = open(folder.path(), "2026-11-06T13:00:00Z");
        assert!(!holds(&second, DAY, &machine), "{table}");
        let problems = second.problems();
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let [problem] = &problems[..] else {
            panic!("{table}: {problems:?}");
        };
        assert!(problem.ends_with(": it is not a regular file"), "{problem}");
    }
}

#[test]
fn runs_of_other_places_do_not_hide_those_of_ones_own() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let own = key("i-1");
    let others = [
        StoredMachine { region: "eu-west-1".to_owned(), ..key("i-2") },
        StoredMachine { account: "444455556666".to_owned(), ..key("i-3") },
    ];
    let machines = [&own, &others[0], &others[1]];
    let first = open(folder.path(), "2026-11-06T12:00:00Z");
    let silent = machines.map(|machine| (machine, StoredUsage::default()));
    record(&first, DAY, &silent);
    // A run for each region of an account.
    let runs = folder_of_day(folder.path(), USAGE_RUN);
    assert_eq!(names_in(&runs).len(), 3);
    // Newer runs of one of the others, one more than are read of a place. None can be used.
    let place = others[0].place();
    for run in 0..=MOST_RUNS {
        let name = format!("20261106T123000000Z-{place}-{run:016x}.json");
        std::fs::write(runs.join(name), "").expect("writable");
    }
    let second = open(folder.path(), "2026-11-06T13:00:00Z");
    assert!(holds(&second, DAY, &own) && holds(&second, DAY, &others[1]));
    assert!(second.problems().is_empty(), "they were not opened");
    assert!(!holds(&second, DAY, &others[0]));
    assert_eq!(second.problems().len(), MOST_RUNS);
}

#[test]
fn machines_beyond_the_room_for_them_are_not_kept_in_memory() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let machines = ["i-1", "i-2"].map(key);
    let silent = machines.each_ref().map(|machine| (machine, StoredUsage::default()));
    record(&open(folder.path(), "2026-11-06T12:00:00Z"), DAY, &silent);
    let both = machines.iter().map(StoredMachine::bytes).sum::<usize>();
    for (room, is_held) in [(both, true), (both - 1, false)] {
        let history = open(folder.path(), "2026-11-06T13:00:00Z");
        history.room.set(room);
        assert_eq!(holds(&history, DAY, &machines[0]), is_held);
        assert_eq!(history.problems().len(), usize::from(!is_held));
        // What is not kept takes nothing.
        assert_eq!(history.room.get(), if is_held { 0 } else { room });
    }
}

#[test]
fn a_machine_with_a_text_that_no_machine_has_is_not_kept_in_memory() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let of = |bytes: usize| StoredMachine { account: "a".repeat(bytes), ..key("i-1") };
    for (now, machine) in [("2026-11-06T12:00:00Z", of(256)), ("2026-11-06T12:30:00Z", of(257))] {
        let machines = [(&machine, StoredUsage::default())];
        record(&open(folder.path(), now), DAY, &machines);
    }
    let second = open(folder.path(), "2026-11-06T13:00:00Z");
    assert!(holds(&second, DAY, &of(256)) && !holds(&second, DAY, &of(257)));
    let problems = second.problems();
    let [problem] = &problems[..] else {
        panic!("{problems:?}");
    };
    let words = "it is larger than gpucost keeps";
    assert!(problem.to_string().ends_with(words), "{problem}");
}

#[test]
fn figures_that_no_day_has_are_an_error() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let machine = key("i-1");
    let first = open(folder.path(), "2026-11-06T12:00:00Z");
    let mut impossible = kept(1, day());
    let mut periods = impossible.periods.iter_mut();
    let grid = periods.find(|period| period.metric != Metric::CpuUtilization);
    grid.expect("some GPU was measured").sum = 1_000_000_000;
    record(&first, DAY, &[(&machine, impossible)]);
    let second = open(folder.path(), "2026-11-06T13:00:00Z");
    let error = read(&second, DAY, &machine).expect_err("no day has it");
    assert!(error.to_string().ends_with("have figures that no day has"));
}

#[test]
fn a_folder_that_is_a_file_is_an_error() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("history");
    std::fs::write(&path, "").expect("writable");
    let (days, now) = ((DAY, DAY), at("2026-11-06T12:00:00Z"));
    let (place, access) = (Place::Folder(path), BucketAccess::default());
    let opened = History::open(&place, &access, days, now);
    assert!(done(opened).is_err());
}
