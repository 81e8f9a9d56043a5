//! The public traces of 80 real GPU containers, embedded and, where one runs, on a cluster: the
//! rows, and what their histograms say of percentiles beside the points themselves.

use crate::brute::{self, Tables};
use crate::cluster::CLUSTER;
use crate::generated::{self, DAY, FIRST_DAY, NAMES, Point};
use crate::outcome::done;
use crate::read::tables;
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

const PERIOD: i64 = 300;
const BYTES_OF_MIB: f64 = 1_048_576.0;
/// From 2022-09-11, when the traces begin, to the first day that the other program can name.
const SECONDS_LATER: i64 = (FIRST_DAY - 19_246) * DAY;
const PERCENTILES: [usize; 2] = [95, 99];

/// The folder of the traces, below that of GPUCOST_SHARED_DATA, else beside the package.
fn folder() -> Option<PathBuf> {
    let data = std::env::var_os("GPUCOST_SHARED_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        PathBuf::from,
    );
    Some(data.join("samples/gpu-containers")).filter(|folder| folder.exists())
}

/// The points of a file, whose columns are in any order; values in a unit.
fn points_of(path: &Path, metric: &'static str, unit: f64) -> Vec<Point> {
    let file = GzDecoder::new(File::open(path).expect("a file"));
    let mut lines = BufReader::new(file).lines().map(|line| line.expect("text"));
    let header = lines.next().expect("a header");
    let places = ["container_ip", "timestamp_anon", "value"].map(|name| {
        let mut columns = header.split(',');
        columns.position(|column| column == name).expect("a column")
    });
    let points = lines.map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let [instance, time, value] = places.map(|place| cells[place]);
        Point {
            instance: instance.to_owned(),
            gpu: Some(0),
            metric,
            time: time.parse::<f64>().expect("a time") as i64 + SECONDS_LATER,
            value: Some(value.parse::<f64>().expect("a number") / unit),
        }
    });
    points.collect()
}

/// By instance, the values of a metric that lie at percentiles of five-minute means, by nearest
/// rank.
fn exact(points: &[Point], metric: &str) -> BTreeMap<(String, usize), f64> {
    let mut periods: BTreeMap<(&str, i64), (f64, f64)> = BTreeMap::new();
    for point in points.iter().filter(|point| point.metric == metric) {
        let key = (point.instance.as_str(), point.time.div_euclid(PERIOD));
        let (sum, n) = periods.entry(key).or_default();
        *sum += point.value.expect("all have one");
        *n += 1.0;
    }
    let mut means: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for ((instance, _), (sum, n)) in periods {
        means.entry(instance).or_default().push(sum / n);
    }
    let mut found = BTreeMap::new();
    for (instance, mut values) in means {
        values.sort_by(f64::total_cmp);
        for percent in PERCENTILES {
            let rank = (values.len() * percent).div_ceil(100);
            found.insert((instance.to_owned(), percent), values[rank - 1]);
        }
    }
    found
}

/// The same by the steps of histograms, over all days: the lower bound and the width of a step.
fn by_steps(
    found: &Tables,
    metric: &str,
    bounds: fn(i64) -> (f64, f64),
) -> BTreeMap<(String, usize), (f64, f64)> {
    let mut steps: BTreeMap<&str, BTreeMap<i64, usize>> = BTreeMap::new();
    for row in &found["usage_hist"] {
        if row[3] == metric && row[5] == "average" {
            let (step, n) = (row[6].parse().expect("a step"), row[7].parse::<usize>());
            let own = steps.entry(&row[2]).or_default();
            *own.entry(step).or_default() += n.expect("a count");
        }
    }
    let mut all = BTreeMap::new();
    for (instance, steps) in steps {
        let total: usize = steps.values().sum();
        for percent in PERCENTILES {
            let rank = (total * percent).div_ceil(100);
            let mut seen = 0;
            let step = steps.iter().find(|(_, n)| {
                seen += **n;
                seen >= rank
            });
            let (step, _) = step.expect("a step");
            all.insert((instance.to_owned(), percent), bounds(*step));
        }
    }
    all
}

/// Hundredths of a percent, to the nearest.
fn hundredths(step: i64) -> (f64, f64) {
    (step as f64 / 100.0 - 0.005, 0.01)
}

/// Whole MiB, to the nearest, of which eleven bits are kept.
fn mebibytes(step: i64) -> (f64, f64) {
    let shift = (step / 1_024 - 1).max(0);
    let least = (step - shift * 1_024) << shift;
    (least as f64 - 0.5, (1_i64 << shift) as f64)
}

fn assert_within(found: &Tables, points: &[Point], metric: &str, bounds: fn(i64) -> (f64, f64)) {
    let exact = exact(points, metric);
    let steps = by_steps(found, metric, bounds);
    assert_eq!(exact.len(), 80 * PERCENTILES.len());
    assert!(exact.keys().eq(steps.keys()), "{metric}");
    for (key, value) in &exact {
        let (least, width) = steps[key];
        // A mean of single precision is off by less than a hundredth of a step.
        let slack = width / 100.0;
        let is_inside = (least - slack..=least + width + slack).contains(value);
        assert!(is_inside, "{metric} {key:?}: {value} is not in {least} + {width}");
    }
}

#[test]
fn real_containers_give_the_same_rows_everywhere_and_percentiles_within_a_step() {
    let test = "real_containers_give_the_same_rows_everywhere_and_percentiles_within_a_step";
    let Some(traces) = folder() else {
        eprintln!("SKIPPED: {test}: the traces are not here");
        return;
    };
    let of = |name: &str, metric, unit| {
        let file = traces.join(format!("pod_gpu_{name}_anon.csv.gz"));
        points_of(&file, metric, unit)
    };
    let mut points = of("duty_cycle", "gpu_utilization", 1.0);
    points.extend(of("memory_used_bytes", "gpu_memory_used", BYTES_OF_MIB));
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join("archive");
    generated::write(&points, &archive, "parquet", 5, NAMES);
    let archive = archive.display().to_string();
    let rolled = |name: &str, flags: &[&str]| {
        let out = folder.path().join(name);
        let shown = out.display().to_string();
        let mut arguments = vec!["rollup", "--input", &archive, "--out", &shown];
        arguments.extend(flags);
        done(&arguments);
        let mut found = tables(&out);
        found.remove("usage_hour");
        found
    };
    let found = rolled("embedded", &[]);
    assert!(found == brute::tables(&points), "embedded");
    assert_within(&found, &points, "gpu_utilization", hundredths);
    assert_within(&found, &points, "gpu_memory_used", mebibytes);
    match std::env::var(CLUSTER) {
        Ok(address) => {
            let of_cluster = rolled("cluster", &["--engine", &address, "--threads", "8"]);
            assert!(of_cluster == found, "the cluster");
        }
        Err(_) => eprintln!("SKIPPED: {test} on a cluster: {CLUSTER} is not set"),
    }
}
