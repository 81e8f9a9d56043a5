//! `gpucost history sql`: statements that are printed, and the companion that is started.

use crate::cli::pages::{blocks, page};
use crate::cli::process::program;
use crate::cli::world::World;
use crate::engines::archive::Archive;
use gpucost::domain::Metric;
use gpucost::report::archive_sql::{GAUGES, Table};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

const DIALECTS: [&str; 4] = ["datafusion", "duckdb", "spark", "trino"];

fn printed(arguments: &[&str]) -> String {
    let mut command = vec!["history", "sql"];
    command.extend(arguments);
    let outcome = World::new().run(&command);
    assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{arguments:?}");
    outcome.stdout
}

fn joined(some: &[&'static str], more: &[&'static str]) -> Vec<&'static str> {
    [some, more].concat()
}

#[test]
fn every_dialect_has_every_table() {
    for dialect in DIALECTS {
        let text = printed(&["--dialect", dialect, "--table", "lake.points"]);
        for table in Table::ALL {
            let heads = text.matches(&format!("-- {}", table.name())).count();
            let expected = match table {
                Table::Asked | Table::Hour => 1,
                Table::Series => 3,
                Table::Grid | Table::Hist => 2,
            };
            assert_eq!(heads, expected, "{dialect} {}", table.name());
        }
        // Two checks and nine statements.
        assert_eq!(text.matches(";\n\n").count(), 11, "{dialect}");
    }
}

#[test]
fn examples_in_the_page_print_statements() {
    let words = |command: &str| shlex::split(command).expect("words of a shell");
    let blocks = blocks(&page("scale.md"), "sh").concat();
    let commands = blocks.lines().filter_map(|line| line.strip_prefix("gpucost history sql "));
    let commands: Vec<&str> = commands.collect();
    assert_eq!(commands.len(), 5);
    for command in commands {
        let (command, _) = command.split_once(" > ").unwrap_or((command, ""));
        let arguments = words(command);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        assert!(printed(&arguments).contains("select "), "{command}");
    }
}

#[test]
fn flags_choose_what_is_printed() {
    let text = printed(&[
        "--dialect", "trino", "--table", "lake.points", "--columns",
        "instance=Host Name,gpu=,ts=time", "--metric-map",
        "gpu_utilization=DCGM_FI_PROF_GR_ENGINE_ACTIVE*100", "--account", "o'1", "--days",
        "2026-11-01..2026-11-02", "--time-unit", "milliseconds", "--measured-by",
        "cloudwatch-agent", "--only", "usage_grid,usage_hist",
    ]);
    assert_eq!(text.matches(";\n\n").count(), 2 + 4, "{text}");
    for part in [
        "from \"lake\".\"points\"",
        "\"Host Name\" as instance",
        "cast(null as bigint) as gpu",
        "cast(\"value\" as double) * 100e0",
        "\"time\" >= 1793491200000 and \"time\" < 1793664000000",
        "'o''1' as account",
        "'cloudwatch-agent' as source",
        "when 'DCGM_FI_PROF_GR_ENGINE_ACTIVE' then 'gpu_utilization'",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("usage_series"), "{text}");
}

#[test]
fn duckdb_copies_results_to_files_of_their_own() {
    let text = printed(&["--dialect", "duckdb", "--table", "points", "--copy-to", "a b's/"]);
    // Those that gpucost reads, and the checks as they are.
    for (table, expected) in [
        ("usage_asked", 1),
        ("usage_series", 3),
        ("usage_grid", 2),
        ("usage_hist", 2),
        ("usage_hour", 0),
    ] {
        let head = format!(") to 'a b''s/{table}' (format parquet, ");
        let copies = text.matches(&*head);
        assert_eq!(copies.count(), expected, "{table}");
    }
    assert_eq!(text.matches(";\n\n").count(), 2 + 8);
    let names = text.match_indices("filename_pattern '").map(|(place, _)| &text[place..place + 32]);
    let names: BTreeSet<&str> = names.collect();
    assert_eq!(names.len(), 8, "{names:?}");
    for (flags, words) in [
        (&["--dialect", "spark", "--copy-to", "tables"][..], "is for DuckDB"),
        (&["--dialect", "duckdb", "--copy-to", ""][..], "has no name"),
        (&["--dialect", "duckdb", "--copy-to", "a\u{1b}[2J"][..], "has a control character"),
    ] {
        let arguments = [&["history", "sql", "--table", "points"][..], flags].concat();
        let outcome = World::new().run(&arguments);
        assert_eq!(outcome.code, 2, "{flags:?}");
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    }
}

#[test]
fn bills_are_read_by_their_columns() {
    for (format, column) in [
        ("cur2", "\"line_item_usage_account_id\""),
        ("legacy-cur", "\"lineItem/UsageAccountId\""),
        ("focus", "\"SubAccountId\""),
    ] {
        let text = printed(&["--dialect", "duckdb", "--table", "bill", "--bill", format]);
        assert_eq!(text.matches(";\n\n").count(), 2);
        assert!(text.contains(column), "{text}");
    }
    let net = "cast(\"line_item_net_unblended_cost\" as decimal(28, 12)) as net";
    let bill = ["--dialect", "duckdb", "--table", "bill", "--bill", "cur2"];
    assert!(!printed(&bill).contains(net));
    let with = ["--with-column", "line_item_net_unblended_cost"];
    assert!(printed(&joined(&bill, &with)).contains(net));
    let without = ["--without-column", "product_region_code"];
    let text = printed(&joined(&bill, &without));
    assert!(text.contains("\n        '' as region,"), "{text}");
}

#[test]
fn files_are_named_where_an_engine_reads_them() {
    for (dialect, expected) in [
        ("duckdb", "from read_parquet('/a''b/**/*.parquet')"),
        ("spark", "from parquet.`/a'b/`"),
        ("datafusion", "create external table \"points\" stored as parquet location '/a''b/';"),
    ] {
        let text = printed(&["--dialect", dialect, "--source", "/a'b/"]);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn what_cannot_be_printed_is_an_error_with_a_hint() {
    let duckdb = ["--dialect", "duckdb", "--table", "points"];
    for (flags, says) in [
        (vec!["--dialect", "trino", "--source", "/a"], "reads only tables"),
        (vec!["--dialect", "spark", "--source", "/a.csv"], "Spark reads CSV only as a table"),
        (vec!["--dialect", "duckdb", "--table", "a..b"], "a part without a name"),
        (vec!["--dialect", "duckdb", "--table", "a\u{1b}[2Jb"], "a control character"),
        (joined(&duckdb, &["--columns", "host=x"]), "pairs of KEY=NAME"),
        (joined(&duckdb, &["--columns", "ts=a\nb"]), "a control character"),
        (joined(&duckdb, &["--metric-map", "gpu_utilization=x*0"]), "beyond 1e-15 and 1e15"),
        (
            joined(&duckdb, &["--bill", "cur2", "--with-column", "x"]),
            "no statement reads the column `x`",
        ),
    ] {
        let mut command = vec!["history", "sql"];
        command.extend(&flags);
        let outcome = World::new().run(&command);
        assert_eq!(outcome.code, 2, "{flags:?}");
        assert!(outcome.stdout.is_empty());
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("\nhint: "), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains('\u{1b}'), "{}", outcome.stderr);
    }
    for flags in [
        vec!["--dialect", "duckdb"],
        joined(&duckdb, &["--days", "2026-11-31"]),
        joined(&duckdb, &["--only", "usage"]),
        joined(&duckdb, &["--measured-by", "me"]),
        joined(&duckdb, &["--bill", "cur2", "--columns", "ts=a"]),
    ] {
        let mut command = vec!["history", "sql"];
        command.extend(&flags);
        assert_eq!(World::new().run(&command).code, 2, "{flags:?}");
    }
}

/// Statements and tables have the names of this program's metrics and columns.
#[test]
fn statements_give_the_tables_that_are_written() {
    let names: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
    let mut gauges: Vec<&str> = GAUGES.iter().map(|(gauge, _)| *gauge).collect();
    gauges.sort_by_key(|name| names.iter().position(|known| known == name));
    assert_eq!(gauges, names);
    let folder = tempfile::tempdir().expect("a scratch folder");
    Archive::new(0, false).keep(folder.path());
    for table in Table::ALL.into_iter().filter(|table| *table != Table::Hour) {
        let path = folder.path().join("v1").join(table.name()).join("dt=2026-11-01");
        let mut files = std::fs::read_dir(path).expect("a folder");
        let path = files.next().expect("a file").expect("an entry").path();
        let reader = SerializedFileReader::new(File::open(path).expect("a file"));
        let reader = reader.expect("a table");
        let schema = reader.metadata().file_metadata().schema_descr();
        let columns: Vec<&str> = schema.columns().iter().map(|column| column.name()).collect();
        let expected: Vec<&str> = table.columns().iter().map(|(name, _)| *name).collect();
        assert_eq!(columns, expected, "{}", table.name());
    }
}

#[test]
fn a_companion_that_is_not_on_the_path_is_named_with_how_to_install_it() {
    for command in ["rollup", "bill"] {
        for path in [None, Some("/nowhere:relative")] {
            let mut world = World::new();
            if let Some(path) = path {
                world.set("PATH", path);
            }
            let outcome = world.run(&["history", command, "--input", "x", "--out", "y"]);
            assert_eq!(outcome.code, 2);
            assert!(
                outcome.stderr.starts_with("error: `gpucost-engine` is not on PATH\nhint: "),
                "{}",
                outcome.stderr
            );
            assert!(outcome.stderr.contains("cargo install --locked --path engine"));
        }
    }
}

/// A companion that says a version, and else prints its arguments and ends with 7.
#[cfg(unix)]
fn companion(folder: &Path, version: &str) {
    use std::os::unix::fs::PermissionsExt;
    let script = format!(
        "#!/bin/sh\n\
         if [ \"$1\" = --version ]; then echo 'gpucost-engine {version}'; exit 0; fi\n\
         printf '<%s>' \"$@\"\n\
         exit 7\n"
    );
    let path = folder.join("gpucost-engine");
    std::fs::write(&path, script).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
}

#[cfg(unix)]
#[test]
fn the_companion_gets_its_arguments_and_gives_its_exit_code() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    companion(folder.path(), env!("CARGO_PKG_VERSION"));
    let output = program(folder.path())
        .env("PATH", folder.path())
        .args(["history", "rollup", "--input", "a b", "--help", "-x"])
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "<rollup><--input><a b><--help><-x>");
    assert_eq!(output.status.code(), Some(7));
}

#[cfg(unix)]
#[test]
fn a_companion_of_another_version_is_refused() {
    for (says, expected) in [
        ("9.9.9", "is version 9.9.9, and gpucost is version "),
        ("\u{1b}[2J", "is version \\u{1b}[2J, and gpucost is version "),
    ] {
        let folder = tempfile::tempdir().expect("a scratch folder");
        companion(folder.path(), says);
        let output = program(folder.path())
            .env("PATH", folder.path())
            .args(["history", "bill"])
            .output()
            .expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("\nhint: run `cargo install"), "{text}");
    }
}
