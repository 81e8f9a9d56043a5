//! The statements of `gpucost history sql` on engines that read them, row for row beside the
//! tables that gpucost writes of the same points, and beside a program of a few lines.

pub mod archive;
mod audits;
pub mod fleet;

use crate::cli::installed::installed;
use crate::cli::world::World;
use crate::samples::containers;
use crate::support::data::shared;
use crate::support::skip::skip;
use archive::{ACCOUNT, Archive, REGION};
use std::path::Path;
use std::process::Command;

/// What the comparison ends with where an engine is not installed.
const ABSENT: i32 = 77;

/// Runs the comparison, where the engine is installed; whether it is.
fn compared(engine: &str, arguments: &[&str]) -> bool {
    let Some(python) = installed("python") else {
        skip("target/test-venv is missing");
        return false;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engines");
    let output = Command::new(python)
        .arg(folder.join("compare.py"))
        .arg(engine)
        .args(arguments)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("Python starts");
    if output.status.code() == Some(ABSENT) {
        skip(&format!("target/test-venv has no {engine}"));
        return false;
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}\n{said}");
    assert_eq!(printed, "");
    true
}

/// Compares a generated archive on an engine.
fn usage_on(engine: &str, dialect: &str, seed: u64, comes_twice: bool) {
    compare_archive(engine, dialect, &Archive::new(seed, comes_twice), comes_twice);
}

/// Compares an archive on an engine.
fn compare_archive(engine: &str, dialect: &str, archive: &Archive, comes_twice: bool) {
    let world = World::new();
    let (points, history) = (world.path("points"), world.path("history"));
    archive.write(Path::new(&points));
    archive.keep(Path::new(&history));
    let source = match dialect {
        "duckdb" => format!("{points}/"),
        _ => points.clone(),
    };
    let mut arguments = vec![
        "history", "sql", "--dialect", dialect, "--source", &source, "--account", ACCOUNT,
        "--region", REGION,
    ];
    arguments.extend(comes_twice.then_some("--distinct"));
    let outcome = world.run(&arguments);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let script = world.file("script.sql", &outcome.stdout);
    compared(engine, &["usage", &script, &points, &history, ACCOUNT, REGION]);
}

#[test]
fn duckdb_gives_the_rows_that_gpucost_keeps() {
    for seed in 0..3 {
        usage_on("duckdb", "duckdb", seed, false);
    }
    usage_on("duckdb", "duckdb", 3, true);
}

#[test]
fn sail_gives_the_rows_that_gpucost_keeps() {
    usage_on("sail", "spark", 4, false);
    usage_on("sail", "spark", 5, true);
}

#[test]
fn engines_give_the_rows_that_gpucost_keeps_of_real_containers() {
    let test = "engines::engines_give_the_rows_that_gpucost_keeps_of_real_containers";
    let Some(folder) = shared(test, "samples/gpu-containers") else { return };
    let (utilization, memory) = containers::both(&folder);
    let archive = Archive::of_containers(&utilization, &memory);
    for (engine, dialect) in [("duckdb", "duckdb"), ("sail", "spark")] {
        compare_archive(engine, dialect, &archive, false);
    }
}

#[test]
fn bills_add_up_to_the_last_digit() {
    let test = "engines::bills_add_up_to_the_last_digit";
    let Some(bill) = shared(test, "samples/billing/focus_1.0_sample_1000.csv") else { return };
    for (engine, dialect) in [("duckdb", "duckdb"), ("sail", "spark")] {
        let world = World::new();
        let source = world.path("bill.parquet");
        let outcome = world
            .run(&["history", "sql", "--dialect", dialect, "--source", &source, "--bill", "focus"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let script = world.file("script.sql", &outcome.stdout);
        compared(engine, &["bill", &script, &bill.display().to_string()]);
    }
}
