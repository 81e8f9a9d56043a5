//! `gpucost bill --record`: what is kept of a bill, and that a later reading takes its place.

use crate::cli::installed::installed;
use crate::cli::pages::{blocks, page};
use crate::cli::process::run_in;
use crate::cli::world::{Outcome, World};
use crate::support::skip::skip;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

const BILL: &str = "fixtures/bills/cur2.csv";
/// By hand in `fixtures/bills/NOTE.md`: effective and billed costs alike.
const TOTAL: &str = "203.8942976";
/// Prints the rows of the last statement, or ends with 77 where DuckDB is not installed.
const STATEMENTS: &str = r"
import json, sys
try:
    import duckdb
except ImportError:
    sys.exit(77)
connection = duckdb.connect()
for one in sys.argv[1:]:
    rows = connection.execute(one).fetchall()
print(json.dumps(rows, default=str))
";

/// Records a bill into the directory `history`.
fn record(world: &World, path: &str) -> Outcome {
    let place = world.path("history");
    let outcome = world.run(&["bill", path, "--record", &place]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome
}

/// The files of a table of the only month, ascending.
fn files(world: &World, table: &str) -> Vec<PathBuf> {
    let folder = format!("history/archive/v1/{table}/period=2026-10");
    let entries = fs::read_dir(world.path(&folder)).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// The sum of a column of amounts and of one of counts, by the reader of rows of the crate.
fn sums(path: &Path, amount: usize, count: usize) -> (Decimal, i64) {
    let file = File::open(path).expect("a table");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let mut sums = (Decimal::ZERO, 0);
    for row in reader.get_row_iter(None).expect("rows") {
        let row = row.expect("a row");
        if let Ok(amount) = row.get_decimal(amount) {
            let digits = amount.data().iter();
            let bytes: Vec<u8> = digits.copied().collect();
            let number = i128::from_be_bytes(bytes.try_into().expect("16 bytes"));
            sums.0 += Decimal::from_i128_with_scale(number, 12);
        }
        sums.1 += row.get_long(count).expect("a count");
    }
    sums
}

#[test]
fn a_bill_is_kept_to_the_last_digit_and_once() {
    let world = World::new();
    let said = record(&world, BILL).stderr;
    assert!(said.contains(" of 2026-10 of 111122223333 in "), "{said}");
    let tables = files(&world, "bill");
    assert_eq!((tables.len(), files(&world, "bill_run").len()), (1, 1));
    let total: Decimal = TOTAL.parse().expect("a decimal");
    // 29 lines less three copies of parts of instances.
    for (amount, count) in [(18, 11), (20, 11)] {
        assert_eq!(sums(&tables[0], amount, count), (total, 26));
    }
    let verified = world.run(&["history", "verify", &world.path("history")]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    let text = &verified.stdout;
    assert!(text.starts_with("checked 2 files "), "{text}");
    assert!(text.ends_with("every file is as it was written\n"), "{text}");
    // The same again.
    let again = record(&world, BILL).stderr;
    assert!(again.contains("nothing was changed"), "{again}");
    assert_eq!(files(&world, "bill").len(), 1);
}

#[test]
fn a_bill_that_is_not_as_it_was_written_is_found() {
    let world = World::new();
    record(&world, BILL);
    let place = world.path("history");
    let verified = || world.run(&["history", "verify", &place]);
    let [table] = files(&world, "bill").try_into().expect("one table");
    let whole = fs::read(&table).expect("a table");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(&table, damaged).expect("writable");
    let outcome = verified();
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    let text = &outcome.stdout;
    assert!(text.contains("\n1 file damaged: not used\n"), "{text}");
    assert!(text.contains("its checksum is not the one that was written"), "{text}");
    // It is not there, and then its list is not.
    fs::remove_file(&table).expect("removable");
    let outcome = verified();
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("\n1 file missing"), "{}", outcome.stdout);
    fs::write(&table, whole).expect("writable");
    let [list] = files(&world, "bill_run").try_into().expect("one list");
    fs::remove_file(list).expect("removable");
    let outcome = verified();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let text = &outcome.stdout;
    assert!(text.contains("\n1 file of bills without a list: not counted"), "{text}");
    fs::remove_file(&table).expect("removable");
    let outcome = verified();
    assert_eq!(outcome.code, 2, "{}", outcome.stdout);
    assert!(outcome.stderr.contains(" has no file of a history\n"), "{}", outcome.stderr);
}

/// Both files have the same month of one payer, which would be kept with twice its cost.
#[test]
fn a_month_in_two_formats_is_not_recorded() {
    let world = World::new();
    let place = world.path("history");
    let both = [BILL, "fixtures/bills/focus12.csv"];
    let outcome = world.run(&[&["bill"][..], &both, &["--record", place.as_str()]].concat());
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    let said = "files of several formats have lines of the payer 111122223333";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    assert!(!Path::new(&place).exists());
    // Without a record they are shown, with a caveat.
    assert_eq!(world.run(&["bill", both[0], both[1]]).code, 0);
}

/// Four lines of 29 are recorded after all of them.
#[test]
fn a_part_that_takes_the_place_of_a_month_is_said() {
    let world = World::new();
    let text = fs::read_to_string(BILL).expect("a fixture");
    let part: Vec<&str> = text.lines().take(5).collect();
    world.file("part.csv", part.join("\n"));
    let bill = fs::canonicalize(BILL).expect("a fixture");
    let bill = bill.to_str().expect("UTF-8");
    let folder = world.path("");
    let said = |path: &str| {
        let output = run_in(Path::new(&folder), &["bill", path, "--record", "history"]);
        assert!(output.status.success());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        stderr.contains("\nwarning: it is smaller than what was recorded of this month before")
    };
    assert!(!said(bill));
    assert!(said("part.csv"));
    assert!(!said(bill));
}

#[test]
fn a_later_reading_takes_the_place_of_the_earlier() {
    let world = World::new();
    let text = fs::read_to_string(BILL).expect("a fixture");
    // An export of the first days: the header and one line.
    let first: Vec<&str> = text.lines().take(2).collect();
    let first = world.file("first.csv", first.join("\n"));
    let bill = fs::canonicalize(BILL).expect("a fixture");
    let bill = bill.to_str().expect("UTF-8");
    // By processes: the clock of a world stands still.
    let folder = world.path("");
    let record = |path: &str| {
        let output = run_in(Path::new(&folder), &["bill", path, "--record", "history"]);
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for path in [first.as_str(), bill] {
        assert!(!record(path).contains("smaller"));
    }
    assert_eq!(files(&world, "bill").len(), 2);
    let statements = blocks(&page("bill.md"), "sql");
    assert_eq!(statements.len(), 2, "a view and a query of it");
    let Some(python) = installed("python") else { return skip("target/test-venv is missing") };
    let output = Command::new(python)
        .args(["-c", STATEMENTS])
        .args(&statements)
        .current_dir(world.path(""))
        .output()
        .expect("Python starts");
    if output.status.code() == Some(77) {
        return skip("target/test-venv has no duckdb");
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    // The whole month of the later reading, and nothing of the earlier.
    let total = json!([["2026-10-01", "USD", "203.894297600000", "203.894297600000"]]);
    assert_eq!(rows, total);
}

#[test]
fn what_cannot_be_kept_is_said_before_anything_is_printed() {
    let world = World::new();
    let text = "ChargeCategory,BilledCost,EffectiveCost,BillingCurrency\nUsage,1,1,USD\n";
    let path = world.file("undated.csv", text);
    let place = world.path("history");
    let outcome = world.run(&["bill", &path, "--record", &place]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    let expected = "error: the bill has lines that state neither a billing period nor a time: 1\n\
                    hint: export the bill with its billing period\n";
    assert_eq!(outcome.stderr, expected);
    assert!(!PathBuf::from(place).exists());
}
