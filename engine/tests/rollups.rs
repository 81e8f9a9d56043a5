//! Roll-ups, row for row.

use crate::brute::{self, Tables};
use crate::generated::{self, DAY, FIRST_DAY, Kind, NAMES, SMALL, points};
use crate::outcome::{done, failed, run};
use crate::read::{files, tables};
use std::path::Path;

/// The tables without hours, which gpucost does not read.
fn of(out: &Path) -> Tables {
    let mut found = tables(out);
    found.remove("usage_hour");
    found
}

fn assert_same(found: &Tables, expected: &Tables) {
    let names = |tables: &Tables| tables.keys().cloned().collect::<Vec<String>>();
    assert_eq!(names(found), names(expected));
    for (name, rows) in expected {
        let own = &found[name];
        let first = rows.iter().zip(own).find(|(one, other)| one != other);
        assert_eq!(first, None, "{name}");
        assert_eq!(own.len(), rows.len(), "{name}");
        assert!(!rows.is_empty(), "{name}");
    }
}

/// Writes an archive, rolls it up, and gives the folder of the history.
fn rolled(kind: Kind, seed: u64, ending: &str, flags: &[&str]) -> (tempfile::TempDir, Tables) {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join("archive");
    let points = points(kind, seed);
    generated::write(&points, &archive, ending, 3, NAMES);
    let (archive, out) = (archive.display().to_string(), folder.path().join("out"));
    let out = out.display().to_string();
    let mut arguments = vec!["rollup", "--input", &archive, "--out", &out];
    arguments.extend(flags);
    done(&arguments);
    (folder, brute::tables(&points))
}

#[test]
fn every_row_is_that_of_a_program_that_reads_point_by_point() {
    for seed in 0..4 {
        let (folder, expected) = rolled(SMALL, seed, "parquet", &[]);
        assert_same(&of(&folder.path().join("out")), &expected);
    }
}

#[test]
fn csv_and_arrow_give_the_same_rows() {
    for ending in ["csv", "arrow"] {
        let (folder, expected) = rolled(SMALL, 7, ending, &[]);
        assert_same(&of(&folder.path().join("out")), &expected);
    }
}

#[test]
fn points_that_come_twice_count_once_and_are_counted() {
    let kind = Kind { twice: true, ..SMALL };
    let (folder, expected) = rolled(kind, 11, "parquet", &[]);
    let twice = expected["usage_series"].iter().any(|row| row[19] != "0");
    assert!(twice, "some points come twice");
    assert_same(&of(&folder.path().join("out")), &expected);
}

#[test]
fn samples_that_are_closer_than_five_seconds_are_no_duplicates() {
    let kind = Kind { instances: 1, gpus: 1, days: 1, step: 2, twice: false };
    let (folder, expected) = rolled(kind, 3, "parquet", &[]);
    assert_same(&of(&folder.path().join("out")), &expected);
}

#[test]
fn more_partitions_than_threads_and_little_memory_give_the_same_rows() {
    let kind = Kind { instances: 6, days: 3, ..SMALL };
    for flags in
        [&["--threads", "1"][..], &["--threads", "16"], &["--threads", "2", "--memory", "32MiB"]]
    {
        let (folder, expected) = rolled(kind, 5, "parquet", flags);
        assert_same(&of(&folder.path().join("out")), &expected);
    }
}

#[test]
fn days_are_added_up_alone() {
    let (folder, mut expected) = rolled(SMALL, 2, "parquet", &["--days", "2026-11-02"]);
    for rows in expected.values_mut() {
        rows.retain(|row| row.last().is_some_and(|day| day == "2026-11-02"));
    }
    assert_same(&of(&folder.path().join("out")), &expected);
}

/// Writes a file for each day, and gives the folder.
fn by_day(all: &[generated::Point], folder: &Path) -> String {
    let archive = folder.join("archive");
    for day in FIRST_DAY.. {
        let of_day = all.iter().filter(|one| one.time / DAY == day);
        let of_day: Vec<generated::Point> = of_day.cloned().collect();
        if all.iter().all(|one| one.time / DAY < day) {
            break;
        }
        if !of_day.is_empty() {
            generated::write(&of_day, &archive.join(format!("day={day}")), "parquet", 2, NAMES);
        }
    }
    archive.display().to_string()
}

#[test]
fn files_of_other_days_are_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = points(SMALL, 6);
    let archive = by_day(&all, folder.path());
    // The first day is damaged between the signature and the footer, which is whole.
    for number in 0..2 {
        let path = Path::new(&archive).join(format!("day={FIRST_DAY}/part-{number}.parquet"));
        let mut bytes = std::fs::read(&path).expect("a file");
        let footer = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().expect("four"));
        let data = 4..bytes.len() - 8 - footer as usize;
        bytes[data].fill(0xff);
        std::fs::write(&path, bytes).expect("written");
    }
    let out = folder.path().join("out");
    let shown = out.display().to_string();
    let arguments = |days| ["rollup", "--input", &archive, "--out", &shown, "--days", days];
    let output = run(&arguments("2026-11-01..2026-11-02"));
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(text.contains("] 4 files, "), "{text}");
    let text = done(&arguments("2026-11-02"));
    assert!(text.contains("] 2 files, "), "{text}");
    let mut expected = brute::tables(&all);
    for rows in expected.values_mut() {
        rows.retain(|row| row.last().is_some_and(|day| day == "2026-11-02"));
    }
    assert_same(&of(&out), &expected);
    let text = failed(&arguments("2026-12-24"), 2, &folder.path().join("none"));
    assert!(text.contains("error: no file of the archive has points of these days\n"), "{text}");
    // 2026-12-24 is day 20,811.
    assert!(text.contains("the days are 1798070400 to 1798156799: "), "{text}");
}

#[test]
fn a_day_without_any_file_is_in_no_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let kind = Kind { days: 3, ..SMALL };
    let mut all = points(kind, 8);
    all.retain(|one| one.time / DAY != FIRST_DAY + 1);
    let archive = by_day(&all, folder.path());
    let out = folder.path().join("out");
    done(&["rollup", "--input", &archive, "--out", &out.display().to_string()]);
    assert_same(&of(&out), &brute::tables(&all));
}

#[test]
fn other_names_scales_and_units_give_the_same_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut points = points(SMALL, 9);
    // Shares of one in a quarter of a percent, which a double holds exactly.
    points.retain(|one| one.metric == "gpu_utilization");
    for point in &mut points {
        point.value = point.value.map(|value| (value * 4.0).round() / 4.0);
    }
    let expected = brute::tables(&points);
    for point in &mut points {
        (point.metric, point.time) = ("busy ratio", point.time * 1_000);
        point.value = point.value.map(|value| value / 64.0);
    }
    let archive = folder.path().join("a b'c");
    let names = ["host \"name\"", "index", "what", "at, in ms", "share"];
    generated::write(&points, &archive, "parquet", 2, names);
    let (archive, out) = (archive.display().to_string(), folder.path().join("out"));
    done(&[
        "rollup",
        "--input",
        &archive,
        "--out",
        &out.display().to_string(),
        "--columns",
        "instance=host \"name\",gpu=index,metric=what,ts=at, in ms,value=share",
        "--metric-map",
        "gpu_utilization=busy ratio*64",
        "--time-unit",
        "milliseconds",
        "--account",
        "111122223333",
        "--region",
        "us-east-1",
    ]);
    let mut found = of(&out);
    for rows in found.values_mut() {
        for row in rows.iter_mut() {
            assert_eq!((&*row[0], &*row[1]), ("111122223333", "us-east-1"));
            (row[0], row[1]) = (String::new(), String::new());
        }
    }
    assert_same(&found, &expected);
}

#[test]
fn a_run_has_a_list_with_the_checksums_of_its_tables() {
    let (folder, _) = rolled(SMALL, 1, "parquet", &[]);
    let out = folder.path().join("out");
    let names = files(&out);
    let lists = names.iter().filter(|name| name.ends_with(".json"));
    let lists: Vec<&String> = lists.collect();
    assert_eq!(lists.len(), 2, "one a day: {names:?}");
    assert_eq!(names.len(), 2 * 6, "{names:?}");
    for list in lists {
        let text = std::fs::read_to_string(out.join(list)).expect("a list");
        let list_of: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(list_of["format"], 1);
        assert_eq!(list_of["gpucost_version"], env!("CARGO_PKG_VERSION"));
        let tables = list_of["tables"].as_object().expect("tables");
        assert_eq!(tables.len(), 5);
        for (table, seal) in tables {
            let beside = if table == "usage_hour" { "archive/" } else { "" };
            let path = list.replace("usage_run", table).replace(".json", ".parquet");
            let path = format!("{beside}{path}");
            let bytes = std::fs::read(out.join(&path)).expect("a table");
            let mut crc = flate2::Crc::new();
            crc.update(&bytes);
            assert_eq!(seal["bytes"], bytes.len(), "{path}");
            assert_eq!(seal["crc32"], crc.sum(), "{path}");
        }
    }
}

#[test]
fn hours_add_up_to_the_points() {
    let (folder, _) = rolled(SMALL, 4, "parquet", &[]);
    let points = points(SMALL, 4);
    let is_valid = |value: f64| (0.0..=100.0).contains(&value);
    let of_metric = points.iter().filter(|one| one.metric == "gpu_utilization");
    let values: Vec<f64> =
        of_metric.filter_map(|one| one.value).filter(|one| is_valid(*one)).collect();
    let rows = &tables(&folder.path().join("out"))["usage_hour"];
    let rows = rows.iter().filter(|row| row[3] == "gpu_utilization");
    let (mut n, mut active, mut sum) = (0, 0, 0_i64);
    for row in rows {
        n += row[6].parse::<usize>().expect("a number");
        sum += row[7].parse::<i64>().expect("a number");
        active += row[10].parse::<usize>().expect("a number");
    }
    assert_eq!(n, values.len());
    assert_eq!(active, values.iter().filter(|value| **value >= 1.0).count());
    // Each hour is rounded to a thousandth.
    let exact = values.iter().sum::<f64>() * 1_000.0;
    assert!((sum as f64 - exact).abs() < 200.0, "{sum} {exact}");
}
