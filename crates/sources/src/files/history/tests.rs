//! Days that are kept and read back, and sample audits for the tests of what keeps them.

use super::*;
use crate::domain::{
    ActionBaseline, ActionKind, CauseKind, CostKind, CostSource, Currency, DAY_SECONDS, DatedPrice,
    GapSubject, HourlyRate, Metric, Money, PastGap, PastTotals, PriceOrigin, Provider,
    PurchaseOption, RecordedAction, RecordedRun, Risk, TagFilter, Target, Window, WorkloadDay,
};
use crate::store::Folder;
use crate::usage::lab;
use jiff::civil::date;
use proptest::prelude::*;
use rust_decimal::Decimal;
use std::path::{Path, PathBuf};

const DAY: Date = Date::constant(2026, 11, 2);

fn key(instance: &str) -> StoredMachine {
    StoredMachine {
        account: "111122223333".to_owned(),
        region: "us-east-1".to_owned(),
        instance: ResourceId::named(instance),
        asked: "0123456789abcdef".to_owned(),
        period_seconds: lab::PERIOD,
    }
}

fn day_of(stretch: Window) -> Date {
    stretch.start.to_zoned(jiff::tz::TimeZone::UTC).date()
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
    done(history.load([day].iter(), BTreeSet::from([machine.place()])));
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
    assert_eq!((day_of(stretch), stretch.seconds()), (DAY, DAY_SECONDS));
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
            record(&first, day_of(stretch), &[(&machine, kept)]);
        }
        let second = open(folder.path(), "2026-11-06T13:00:00Z");
        let parts = lab::stretches().into_iter().map(|stretch| {
            if !is_whole(&stretch) {
                return (stretch, lab::usages(&answers, stretch));
            }
            (stretch, read(&second, day_of(stretch), &machine).expect("it is whole"))
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

/// What a future comes to.
pub(super) fn done<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().expect("a time stamp")
}

pub(super) fn usd(text: &str) -> Money {
    Money::new(text.parse().expect("a decimal"), Currency::Usd)
}

/// A run at a time about some days of November 2026.
pub(super) fn run(as_of: &str, scope: &str, days: &[i8]) -> RecordedRun {
    let as_of = at(as_of);
    RecordedRun {
        run_id: format!("{}-{scope}", as_of.strftime("%Y%m%dT%H%M%SZ")),
        as_of,
        scope: scope.to_owned(),
        source: "aws".to_owned(),
        accounts: vec!["111122223333".to_owned()],
        regions: vec!["eu-west-1".to_owned(), "us-east-1".to_owned()],
        tag_filters: vec![TagFilter {
            key: "team".to_owned(),
            value: "a\u{1b}[2J,\"b\"".to_owned(),
            is_excluded: true,
        }],
        days: days.iter().map(|day| date(2026, 11, *day)).collect(),
        totals: PastTotals {
            currency: Currency::Usd,
            instances: 3,
            gpus: 17,
            unpriced_instances: 1,
            monthly_cost: Some(usd("1234.56")),
            planned_monthly_cost: Some(usd("1000")),
            monthly_savings: Some(usd("234.56")),
            monthly_waste: None,
        },
        promises: Some(vec![usd("5575.04"), usd("27537.24")]),
        gaps_count: 2,
        unread: vec![PastGap {
            what: GapSubject::Region,
            place: "ap-south-1".to_owned(),
            cause: Some(CauseKind::CallFailed),
            reason: String::new(),
        }],
        gpucost_version: "0.1.0".to_owned(),
        prices_seen_on: Some(date(2026, 7, 20)),
    }
}

pub(super) fn price(hourly: &str) -> Option<DatedPrice> {
    let hourly = HourlyRate::new(hourly.parse().expect("a decimal"), Currency::Usd);
    Some(DatedPrice {
        hourly: hourly.expect("above zero"),
        effective_date: Some(date(2026, 5, 1)),
        seen_on: date(2026, 7, 20),
        origin: PriceOrigin::Api,
    })
}

/// What a workload cost on a day, as a run says.
pub(super) fn cost(run: &RecordedRun, day: i8, job: &str, effective: &str) -> WorkloadDay {
    let number = |text: &str| Some(text.parse::<Decimal>().expect("a decimal"));
    WorkloadDay {
        run_id: run.run_id.clone(),
        day: date(2026, 11, day),
        provider: Provider::Aws,
        account: "111122223333".to_owned(),
        region: "us-east-1".to_owned(),
        workload: format!("{job}/stopped"),
        job: job.to_owned(),
        name: "näme \u{202e}".to_owned(),
        tags: BTreeMap::from([("team".to_owned(), "=cmd()".to_owned())]),
        kind: CostKind::Compute,
        instance_type: "g5.xlarge".to_owned(),
        gpus_per_instance: number("0.125"),
        option: PurchaseOption::Reserved,
        commitment: Some("ri-1".to_owned()),
        committed_until: Some(date(2027, 2, 9)),
        hours: Decimal::from(24),
        gpu_hours: number("3"),
        list: Some(usd("24.144")),
        contracted: None,
        effective: Some(usd(effective)),
        useful_gpu_hours: number("0.333333"),
        idle_gpu_hours: None,
        unmeasured_gpu_hours: number("0"),
        source: CostSource::Estimate,
        price: price("1.006"),
    }
}

pub(super) fn bare(run: &RecordedRun, day: i8) -> WorkloadDay {
    WorkloadDay {
        kind: CostKind::Unused,
        tags: BTreeMap::new(),
        instance_type: String::new(),
        gpus_per_instance: None,
        commitment: None,
        committed_until: None,
        gpu_hours: None,
        list: None,
        effective: None,
        useful_gpu_hours: None,
        unmeasured_gpu_hours: None,
        price: None,
        ..cost(run, day, "plan", "0")
    }
}

pub(super) fn action(run: &RecordedRun, job: &str, target: Option<Target>) -> RecordedAction {
    RecordedAction {
        action_id: "9fe32031a5cd48fc".to_owned(),
        account: "111122223333".to_owned(),
        region: "us-east-1".to_owned(),
        workload: job.to_owned(),
        job: job.to_owned(),
        name: job.to_owned(),
        kind: ActionKind::Rightsize,
        target,
        expected_monthly: usd("100.50"),
        baseline: ActionBaseline {
            instance_type: "p4d.24xlarge".to_owned(),
            hours_daily: Decimal::from(12),
            gpu_hours_daily: Some(Decimal::from(96)),
            effective_hourly: usd("21.957642"),
            price: price("32.77"),
        },
        risk: Risk::High,
        first_seen: run.as_of,
        last_seen: run.as_of,
    }
}
