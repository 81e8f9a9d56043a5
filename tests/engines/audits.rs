//! From raw points to an audit: by DuckDB and the tables that it writes, and by an estate.

use super::compared;
use super::fleet::Fleet;
use crate::cli::world::World;
use std::fs;
use std::path::Path;

/// Runs a command that succeeds.
fn done(world: &World, arguments: &[&str]) -> String {
    let outcome = world.run(arguments);
    assert_eq!(outcome.code, 0, "{arguments:?}\n{}", outcome.stderr);
    outcome.stdout
}

/// Writes the tables of a fleet with DuckDB; whether it is installed.
fn rolled_up(world: &World, fleet: &Fleet, tables: &str) -> bool {
    let points = world.file("points.csv", fleet.csv());
    let text = done(
        world,
        &["history", "sql", "--dialect", "duckdb", "--source", &points, "--copy-to", tables],
    );
    let script = world.file("script.sql", &text);
    fs::create_dir_all(tables).expect("a folder");
    compared("duckdb", &["run", &script])
}

#[test]
fn an_audit_of_tables_of_duckdb_is_that_of_the_points() {
    let (world, fleet) = (World::new(), Fleet::new(1));
    let (tables, history) = (world.path("tables"), world.path("history"));
    if !rolled_up(&world, &fleet, &tables) {
        return;
    }
    // The same statements again write the same files.
    assert!(rolled_up(&world, &fleet, &tables));
    let said = done(&world, &["history", "import", "--input", &tables, "--out", &history]);
    let expected = "imported 9 days (2026-11-01 to 2026-11-09) of 6 instances, ";
    assert!(said.starts_with(expected), "{said}");
    let verified = done(&world, &["history", "verify", &history]);
    assert!(verified.contains("every file is as it was written"), "{verified}");
    let inventory = world.estate("inventory.json", &fleet.inventory());
    let printed =
        done(&world, &["audit", "--from", &inventory, "--rollups", &history, "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(report, world.audit(&fleet.estate()));
}

#[test]
fn tables_that_do_not_add_up_are_refused() {
    let (world, fleet) = (World::new(), Fleet::new(2));
    let tables = world.path("tables");
    if !rolled_up(&world, &fleet, &tables) {
        return;
    }
    let day = "dt=2026-11-03";
    let first_file = |table: &str| {
        let folder = Path::new(&tables).join(table).join(day);
        let mut paths: Vec<_> = fs::read_dir(&folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        paths.sort();
        paths.swap_remove(0)
    };
    for (table, words) in [
        ("usage_asked", "one that usage_asked of the day does not roll up"),
        ("usage_grid", "do not add up"),
        ("usage_hist", "do not add up"),
        ("usage_series", "a value that gpucost does not write"),
    ] {
        let path = first_file(table);
        let away = world.path("away.parquet");
        fs::rename(&path, &away).expect("ours");
        let history = world.path(&format!("history-{table}"));
        let outcome = world.run(&["history", "import", "--input", &tables, "--out", &history]);
        assert_eq!(outcome.code, 2, "{table}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{table}: {}", outcome.stderr);
        // The days before are kept, and this one is not.
        let runs = Path::new(&history).join("v1/usage_run");
        assert!(runs.join("dt=2026-11-02").is_dir() && !runs.join(day).exists(), "{table}");
        fs::rename(&away, &path).expect("ours");
        // There twice.
        let again = path.with_file_name("again.parquet");
        fs::copy(&path, &again).expect("ours");
        let outcome = world.run(&["history", "import", "--input", &tables, "--out", &history]);
        assert_eq!(outcome.code, 2, "{table}: {}", outcome.stderr);
        fs::remove_file(&again).expect("ours");
    }
    let history = world.path("history");
    done(&world, &["history", "import", "--input", &tables, "--out", &history]);
}
