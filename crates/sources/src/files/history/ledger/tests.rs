use super::*;
use crate::Answer;
use crate::domain::{Currency, Money, Target};
use crate::files::history::tests::{action, at, bare, cost, done, run};
use crate::store::Folder;
use jiff::civil::date;
use rust_decimal::Decimal;
use std::cell::Cell;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

const SCOPE: &str = "0123456789abcdef";

fn records(folder: &Path) -> Records {
    Records::of(Rc::new(Folder::new(folder.to_owned())))
}

fn keep_run(records: &Records, run: &RecordedRun, rows: &[WorkloadDay]) -> bool {
    let actions = [action(run, "i-1", None)];
    done(records.record(run, rows, &actions, &[])).expect("writable")
}

fn read(records: &Records, since: Option<Date>) -> Recorded {
    done(records.read(since)).expect("readable")
}

#[test]
fn what_was_kept_comes_back() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let records = records(folder.path());
    let run = run("2026-11-23T03:15:00.25Z", SCOPE, &[20, 21, 22]);
    let rows = [cost(&run, 20, "i-1", "24.144"), cost(&run, 20, "i-2", "0.000001"), bare(&run, 22)];
    let target = Target { instance_type: "g6.xlarge".to_owned(), count: 3 };
    let actions = [action(&run, "i-1", Some(target)), action(&run, "i-2", None)];
    let kept = done(records.record(&run, &rows, &actions, &[]));
    assert!(kept.expect("writable"));
    let recorded = read(&records, None);
    assert!(recorded.problems.is_empty(), "{:?}", recorded.problems);
    assert_eq!(recorded.runs, std::slice::from_ref(&run));
    assert_eq!(recorded.rows, rows);
    assert_eq!(recorded.actions, actions);

    // The same again changes nothing, and says so.
    let again = done(records.record(&run, &rows, &actions, &[]));
    assert!(!again.expect("it is there"));
    assert_eq!(read(&records, None).rows, rows);

    let kept = done(records.kept()).expect("readable");
    assert!(kept.has(&run.run_id) && !kept.has("20261123T031500Z-0"));
    let days: Vec<Date> = kept.days(SCOPE).into_iter().collect();
    assert_eq!(days, run.days, "a day without a row is known too");
    assert!(kept.days("fedcba9876543210").is_empty());
}

#[test]
fn the_newest_run_of_a_scope_says_what_a_day_was() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let records = records(folder.path());
    let other = "fedcba9876543210";
    let newer = run("2026-11-23T04:00:00Z", SCOPE, &[21, 22]);
    let older = run("2026-11-22T04:00:00Z", SCOPE, &[20, 21]);
    let elsewhere = run("2026-11-21T04:00:00Z", other, &[20, 21]);
    for (run, amount) in [(&newer, "3"), (&older, "2"), (&elsewhere, "1")] {
        let days = run.days.iter().map(|day| cost(run, day.day(), "i-1", amount));
        assert!(keep_run(&records, run, &days.collect::<Vec<_>>()));
    }
    let recorded = read(&records, None);
    let rows: Vec<(i8, &str, String)> = recorded
        .rows
        .iter()
        .map(|row| {
            let amount = row.effective.map(|money| money.amount().to_string());
            (row.day.day(), row.run_id.as_str(), amount.unwrap_or_default())
        })
        .collect();
    let expected = [
        (20, &elsewhere, "1"),
        (20, &older, "2"),
        (21, &elsewhere, "1"),
        (21, &newer, "3"),
        (22, &newer, "3"),
    ];
    let expected: Vec<(i8, &str, String)> = expected
        .iter()
        .map(|(day, run, amount)| (*day, run.run_id.as_str(), (*amount).to_owned()))
        .collect();
    assert_eq!(rows, expected);
    // Every run, and the actions of each.
    assert_eq!((recorded.runs.len(), recorded.actions.len()), (3, 3));
    let late = read(&records, Some(date(2026, 11, 22)));
    assert_eq!((late.runs.len(), late.rows.len()), (2, 1));
}

#[test]
fn a_night_of_a_clock_that_is_ahead_takes_no_day_of_true_nights() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let ahead = run("2026-12-23T04:00:00Z", SCOPE, &[21, 22, 23]);
    let truth = run("2026-11-23T04:00:00Z", SCOPE, &[21, 22]);
    for (run, amount) in [(&ahead, "900"), (&truth, "2")] {
        let days = run.days.iter();
        let rows = days.map(|day| cost(run, day.day(), "i-1", amount));
        assert!(keep_run(&records(folder.path()), run, &rows.collect::<Vec<_>>()));
    }
    let now = at("2026-11-24T04:00:00Z");
    let believed = records(folder.path()).at(now);
    let kept = done(believed.kept()).expect("readable");
    let days: Vec<Date> = kept.days(SCOPE).into_iter().collect();
    assert_eq!(days, [date(2026, 11, 21), date(2026, 11, 22)]);
    assert!(kept.has(&truth.run_id) && !kept.has(&ahead.run_id));
    let recorded = read(&believed, None);
    let of: Vec<(i8, &str)> =
        recorded.rows.iter().map(|row| (row.day.day(), row.run_id.as_str())).collect();
    let truth = truth.run_id.as_str();
    assert_eq!(of, [(21, truth), (22, truth)]);
    // The run is still there to be named.
    assert_eq!((recorded.runs.len(), recorded.actions.len()), (2, 1));

    // Nor does it once its time has come: 30 days lie between two runs of one day.
    let believed = records(folder.path()).at(at("2026-12-24T04:00:00Z"));
    let kept = done(believed.kept()).expect("readable");
    let days: Vec<Date> = kept.days(SCOPE).into_iter().collect();
    assert_eq!(days, [date(2026, 11, 21), date(2026, 11, 22)]);
    let recorded = read(&believed, None);
    let of = recorded.rows.iter().map(|row| row.run_id.as_str());
    assert_eq!(of.collect::<Vec<_>>(), [truth, truth]);
    let named: Vec<&str> = recorded.ahead.iter().map(String::as_str).collect();
    assert_eq!(named, [ahead.run_id.as_str()]);
    assert_eq!((recorded.runs.len(), recorded.actions.len()), (1, 1));
}

/// A directory whose device is full after so many files.
#[derive(Debug)]
struct Full {
    folder: Folder,
    left: Cell<usize>,
}

impl Store for Full {
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
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                self.folder.create(name, bytes)
            }
            None => Box::pin(std::future::ready(Err(ErrorKind::StorageFull.into()))),
        }
    }

    fn place(&self, name: &str) -> String {
        self.folder.place(name)
    }
}

#[test]
fn a_run_that_ended_between_its_files_does_not_count_and_can_be_kept_again() {
    // Two days, the actions, and the file of the run.
    for left in 0..4 {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let run = run("2026-11-23T03:15:00Z", SCOPE, &[21, 22]);
        let rows = [cost(&run, 21, "i-1", "1"), cost(&run, 22, "i-1", "2")];
        let full = Records::of(Rc::new(Full {
            folder: Folder::new(folder.path().to_owned()),
            left: Cell::new(left),
        }));
        let failed = done(full.record(&run, &rows, &[], &[]));
        assert!(failed.is_err(), "{left}");
        let records = records(folder.path());
        let recorded = read(&records, None);
        assert!(recorded.runs.is_empty() && recorded.rows.is_empty(), "{left}");
        let kept = done(records.kept()).expect("readable");
        assert!(kept.days(SCOPE).is_empty(), "{left}");
        assert!(done(records.record(&run, &rows, &[], &[])).expect("writable"));
        assert_eq!(read(&records, None).rows, rows, "{left}");
    }
}

#[test]
fn what_is_damaged_or_missing_is_a_problem_and_the_rest_counts() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let records = records(folder.path());
    let runs = ["2026-11-22T04:00:00Z", "2026-11-23T04:00:00Z"];
    let [one, two] = runs.map(|as_of| {
        let day = at(as_of).to_zoned(TimeZone::UTC).date().day() - 1;
        let run = run(as_of, SCOPE, &[day]);
        assert!(keep_run(&records, &run, &[cost(&run, day, "i-1", "1")]));
        run
    });
    let path = |name: String| folder.path().join(name);
    let table = path(name_of(COST.name, date(2026, 11, 21), &one.run_id));
    let mut bytes = std::fs::read(&table).expect("ours");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&table, bytes).expect("ours");
    let gone = path(name_of(ACTION.name, date(2026, 11, 23), &two.run_id));
    std::fs::remove_file(&gone).expect("ours");

    let recorded = read(&records, None);
    assert_eq!((recorded.runs.len(), recorded.rows.len(), recorded.actions.len()), (2, 1, 1));
    assert_eq!(recorded.rows[0].run_id, two.run_id);
    let places: Vec<&str> =
        recorded.problems.iter().map(|problem| problem.place.as_str()).collect();
    assert_eq!(places, [table.to_str(), gone.to_str()].map(Option::unwrap_or_default));
}

#[test]
fn a_day_whose_run_is_gone_is_lost_unless_its_scope_recorded_it_again() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let records = records(folder.path());
    let one = run("2026-11-22T04:00:00Z", SCOPE, &[21]);
    let two = run("2026-11-23T04:00:00Z", SCOPE, &[22]);
    for (run, day) in [(&one, 21), (&two, 22)] {
        assert!(keep_run(&records, run, &[cost(run, day, "i-1", "1")]));
    }
    let file = folder.path().join(name_of(RUN, date(2026, 11, 22), &one.run_id));
    std::fs::remove_file(file).expect("ours");
    let recorded = read(&records, None);
    let lost: Vec<_> = recorded.lost.into_iter().collect();
    assert_eq!(lost, [date(2026, 11, 21)]);
    let [problem] = &recorded.problems[..] else {
        panic!("{:?}", recorded.problems);
    };
    let said = problem.to_string();
    assert!(said.ends_with("no list of a run names it"), "{said}");
    assert!(read(&records, Some(date(2026, 11, 22))).problems.is_empty());
    let again = run("2026-11-22T05:00:00Z", SCOPE, &[21]);
    assert!(keep_run(&records, &again, &[cost(&again, 21, "i-1", "1")]));
    assert!(read(&records, None).problems.is_empty());
}

#[test]
fn the_file_of_another_run_is_refused() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let records = records(folder.path());
    let mut one = run("2026-11-22T04:00:00Z", SCOPE, &[21]);
    let amount = Decimal::new(123_456, 2);
    one.totals.monthly_cost = Some(Money::new(amount, Currency::Usd));
    assert!(keep_run(&records, &one, &[cost(&one, 21, "i-1", "1")]));
    let own = folder.path().join(name_of(RUN, date(2026, 11, 22), &one.run_id));
    let text = std::fs::read_to_string(&own).expect("ours");
    let other = own.with_file_name("20261122T050000Z-0123456789abcdef.json");
    std::fs::copy(&own, &other).expect("ours");
    let refused = |words: &str| {
        let recorded = read(&records, None);
        let [problem] = &recorded.problems[..] else {
            panic!("{words}: {:?}", recorded.problems);
        };
        assert!(problem.to_string().ends_with(words), "{problem}");
    };
    refused("it is the file of another run");
    std::fs::remove_file(&other).expect("ours");
    // A table of another place than those of the run.
    let moved = text.replace("v1/cost/dt=2026-11-21/", "v1/cost/../../../etc/");
    for (text, words) in [
        (resealed(&moved), "it is the file of another run"),
        (resealed(&text.replace("\"format\":1", "\"format\":2")), "it has another format"),
        (resealed(&text.replace("\"USD\"", "\"XXX\"")), "it has a currency that is not known"),
        (
            resealed(&text.replace("1234.56", "12,4")),
            "it has a date or an amount that gpucost does not write",
        ),
        (
            text.replace("1234.56", "1234.57").into_bytes(),
            "its checksum is not the one that was written",
        ),
        (vec![b' '; 2 << 20], "it is larger than what was written"),
    ] {
        std::fs::write(&own, text).expect("ours");
        refused(words);
    }
}

#[test]
fn what_no_table_holds_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let records = records(folder.path());
    let run = run("2026-11-22T04:00:00Z", SCOPE, &[21]);
    let fits = cost(&run, 21, "i-1", "999999999999.999999");
    let mut long = fits.clone();
    long.tags.insert("key".to_owned(), "x".repeat(70_000));
    let mut mixed = fits.clone();
    mixed.list = Some(Money::new(Decimal::ONE, Currency::Eur));
    for bad in [cost(&run, 21, "i-1", "1000000000000"), long, mixed] {
        assert!(done(records.record(&run, &[bad], &[], &[])).is_err());
        assert!(!folder.path().join("v1").exists());
    }
    assert!(keep_run(&records, &run, std::slice::from_ref(&fits)));
    assert_eq!(read(&records, None).rows, [fits]);
}

#[test]
fn the_page_names_every_column() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/history.md");
    let page = std::fs::read_to_string(path).expect("a page");
    for schema in [&COST, &ACTION] {
        let title = format!("### `{}`\n", schema.name);
        let (_, rest) = page.split_once(&title).expect("its section");
        let section = rest.split("### ").next().unwrap_or_default();
        for (column, _) in schema.columns {
            assert!(section.contains(&format!("`{column}`")), "{column}");
        }
    }
}
