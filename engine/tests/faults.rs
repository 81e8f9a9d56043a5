//! Archives that are not what they are said to be: an error that says what to do, and nothing
//! written that counts.

use crate::generated::{self, NAMES, Point, SMALL, points};
use crate::outcome::{failed, run};
use crate::read::files;
use std::path::{Path, PathBuf};

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn archive(&self) -> PathBuf {
        self.folder.path().join("archive")
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn fails(&self, code: i32, flags: &[&str]) -> String {
        let (archive, out) = (self.archive(), self.out());
        let (archive, shown) = (archive.display().to_string(), out.display().to_string());
        let mut arguments = vec!["rollup", "--input", &archive, "--out", &shown];
        arguments.extend(flags);
        failed(&arguments, code, &out)
    }
}

fn written(place: &Place, points: &[Point]) {
    generated::write(points, &place.archive(), "parquet", 3, NAMES);
}

#[test]
fn a_column_that_is_not_there_is_named_beside_those_that_are() {
    let place = Place::new();
    written(&place, &points(SMALL, 1));
    let text = place.fails(2, &["--columns", "instance=host"]);
    assert!(text.contains("no column `host`"), "{text}");
    assert!(text.contains("instance, gpu, metric, ts, value"), "{text}");
}

#[test]
fn metrics_that_are_not_there_are_an_error() {
    let place = Place::new();
    written(&place, &points(SMALL, 1));
    let text = place.fails(2, &["--metric-map", "gpu_utilization=DCGM_FI_DEV_GPU_UTIL"]);
    assert!(text.contains("no points of DCGM_FI_DEV_GPU_UTIL"), "{text}");
    assert!(text.contains("its metrics are "), "{text}");
}

#[test]
fn half_a_file_is_an_error() {
    let place = Place::new();
    written(&place, &points(SMALL, 1));
    let path = place.archive().join("part-1.parquet");
    let bytes = std::fs::read(&path).expect("a file");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("half of it");
    let text = place.fails(2, &[]);
    assert!(text.contains("part-1.parquet is not a whole Parquet file"), "{text}");
}

#[test]
fn a_file_that_is_damaged_inside_is_an_error() {
    let place = Place::new();
    written(&place, &points(SMALL, 1));
    let path = place.archive().join("part-0.parquet");
    let mut bytes = std::fs::read(&path).expect("a file");
    // The data of a file begins behind four bytes, and its footer is at the end.
    let end = bytes.len() / 2;
    bytes[4..end].fill(0xa5);
    std::fs::write(&path, bytes).expect("damaged");
    let output = run(&[
        "rollup",
        "--input",
        &place.archive().display().to_string(),
        "--out",
        &place.out().display().to_string(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!place.out().join("v1/usage_run").exists());
}

#[test]
fn files_with_other_columns_are_an_error() {
    let place = Place::new();
    let points = points(SMALL, 1);
    written(&place, &points);
    let names = ["instance", "gpu", "metric", "time", "value"];
    generated::write(&points, &place.archive().join("other"), "parquet", 1, names);
    let text = place.fails(2, &[]);
    assert!(text.contains("has no column `t"), "{text}");
}

#[test]
fn points_of_one_time_that_differ_are_an_error() {
    let place = Place::new();
    let mut points = points(SMALL, 1);
    let valid = points.iter().find(|one| {
        one.metric == "gpu_utilization"
            && one.value.is_some_and(|value| (0.0..50.0).contains(&value))
    });
    let mut other = valid.expect("a valid point").clone();
    other.value = Some(99.0);
    points.push(other);
    written(&place, &points);
    let text = place.fails(2, &[]);
    assert!(text.contains("1 times of series have several points"), "{text}");
}

#[test]
fn one_metric_under_two_names_at_one_time_is_an_error() {
    let place = Place::new();
    let mut points = points(SMALL, 1);
    let own = points.iter().filter(|one| one.metric == "gpu_utilization");
    let again: Vec<Point> = own.cloned().collect();
    points.extend(again.into_iter().map(|one| Point { metric: "DCGM_FI_DEV_GPU_UTIL", ..one }));
    written(&place, &points);
    let map = "gpu_utilization=gpu_utilization,gpu_utilization=DCGM_FI_DEV_GPU_UTIL";
    let text = place.fails(2, &["--metric-map", map]);
    assert!(text.contains("times of series have several points"), "{text}");
}

#[test]
fn indexes_of_gpus_that_gpucost_does_not_read_are_an_error() {
    let place = Place::new();
    let mut points = points(SMALL, 1);
    for point in points.iter_mut().filter(|one| one.gpu == Some(1)) {
        point.gpu = Some(256);
    }
    written(&place, &points);
    let text = place.fails(2, &[]);
    assert!(text.contains("256 is not the index of a GPU"), "{text}");
}

#[test]
fn little_room_on_disk_is_an_error() {
    let place = Place::new();
    let kind = generated::Kind { instances: 30, gpus: 8, ..SMALL };
    written(&place, &points(kind, 1));
    let text = place.fails(1, &["--memory", "16MiB", "--work-limit", "1MiB"]);
    assert!(text.contains("--work-limit"), "{text}");
}

#[test]
fn inputs_that_are_none_are_errors() {
    let place = Place::new();
    let out = place.out().display().to_string();
    std::fs::create_dir(place.archive()).expect("an empty folder");
    let empty = place.archive().display().to_string();
    for (input, says) in [
        ("missing", "cannot read missing"),
        (&*empty, "no file that ends with .parquet"),
        ("http://127.0.0.1/x", "is neither a path nor a bucket"),
    ] {
        let text = failed(&["rollup", "--input", input, "--out", &out], 2, Path::new(&out));
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn nothing_is_left_in_the_folder_of_a_run_that_failed() {
    let place = Place::new();
    let mut points = points(SMALL, 1);
    // The last table that is written has names that are too long.
    for point in points.iter_mut().filter(|one| one.instance == "i-bad") {
        point.instance = "i".repeat(257);
    }
    written(&place, &points);
    let text = place.fails(2, &[]);
    assert!(text.contains("`instance`"), "{text}");
    assert_eq!(files(&place.out()), Vec::<String>::new());
}
