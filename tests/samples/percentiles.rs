//! Mean and percentiles against measured series.

use crate::support::data::shared;
use flate2::read::GzDecoder;
use gpucost::domain::Distribution;
use gpucost::usage::{distribution, quantile};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Rows of a CSV file as numbers and names by column.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let reader: Box<dyn Read> = if path.extension().is_some_and(|extension| extension == "gz") {
        Box::new(GzDecoder::new(file))
    } else {
        Box::new(file)
    };
    csv::Reader::from_reader(reader).deserialize().map(|row| row.expect("a whole row")).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row.get(column)
        .unwrap_or_else(|| panic!("no column {column}"))
        .parse()
        .unwrap_or_else(|error| panic!("{column}: {error}"))
}

/// The values of each container, in bytes or percent.
fn by_container(path: &Path) -> BTreeMap<String, Vec<f64>> {
    let mut containers: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in rows(path) {
        containers.entry(row["container_ip"].clone()).or_default().push(number(&row, "value"));
    }
    containers
}

fn assert_close(actual: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((actual - expected).abs() <= tolerance, "{what}: {actual} instead of {expected}");
}

/// Half a unit of the sixth decimal, which the expected figures are rounded to.
const ROUNDING: f64 = 5.1e-7;
/// Bytes in a GiB.
const GIB: f64 = 1_073_741_824.0;

#[test]
fn containers_have_the_figures_that_were_computed_elsewhere() {
    let Some(folder) = shared("containers", "samples/gpu-containers") else { return };
    let utilization = by_container(&folder.join("pod_gpu_duty_cycle_anon.csv.gz"));
    let memory = by_container(&folder.join("pod_gpu_memory_used_bytes_anon.csv.gz"));
    let expected = rows(&folder.join("per_container_expected.csv"));
    assert_eq!(expected.len(), 80);
    for row in &expected {
        let name = &row["container_ip"];
        let values = &utilization[name];
        assert_eq!(values.len() as f64, number(row, "n"), "{name}");
        let summary = distribution(values.clone()).expect("values");
        for (figure, column) in [
            (summary.mean, "mean"),
            (summary.p50, "median"),
            (summary.p95, "p95"),
            (summary.p99, "p99"),
            (summary.max, "max"),
        ] {
            assert_close(figure, number(row, column), ROUNDING, column);
        }
        let gib = memory[name].iter().map(|bytes| bytes / GIB).collect();
        let held = distribution(gib).expect("values");
        assert_close(held.mean, number(row, "mem_mean_gib"), ROUNDING, "memory");
        assert_close(held.p95, number(row, "mem_p95_gib"), ROUNDING, "memory");
        assert_close(held.max, number(row, "mem_max_gib"), ROUNDING, "memory");
    }
}

#[test]
fn the_fleet_of_containers_has_the_published_figures() {
    let Some(folder) = shared("fleet of containers", "samples/gpu-containers") else { return };
    let utilization = by_container(&folder.join("pod_gpu_duty_cycle_anon.csv.gz"));
    let memory = by_container(&folder.join("pod_gpu_memory_used_bytes_anon.csv.gz"));
    let readings: Vec<f64> = utilization.values().flatten().copied().collect();
    let zeros = readings.iter().filter(|value| **value == 0.0).count();
    assert_close(zeros as f64 / readings.len() as f64 * 100.0, 66.66, 0.005, "zeros");
    let fleet = distribution(readings).expect("values");
    assert_close(fleet.mean, 7.563_753, ROUNDING, "mean");
    assert_close(fleet.p95, 34.666_667, ROUNDING, "p95");

    let each: Vec<Distribution> =
        utilization.into_values().map(|values| distribution(values).expect("values")).collect();
    let low = each.iter().filter(|container| container.mean < 10.0).count();
    let peaking = each.iter().filter(|container| container.max > 90.0).count();
    // Shrinking these on their mean alone would be wrong: most fill a 24 GiB
    // card at some time.
    let filling =
        memory.values().filter(|values| values.iter().any(|bytes| bytes / GIB > 24.0)).count();
    assert_eq!((low, peaking, filling), (64, 20, 74));
}

/// A column of a table of quantiles, ascending.
fn column(path: &Path, name: &str) -> Vec<f64> {
    let mut values: Vec<f64> = rows(path).iter().map(|row| number(row, name)).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The fleet behind a table of quantiles as a series: one value for each
/// interval between two rows, where interpolation puts it, so that the mean is
/// the area under the table.
fn series(table: &[f64]) -> Distribution {
    let intervals = table.len() - 1;
    let values = (0..intervals)
        .map(|index| quantile(table, (index as f64 + 0.5) / intervals as f64).expect("a table"))
        .collect();
    distribution(values).expect("values")
}

#[test]
fn fleets_given_by_their_quantiles_have_the_published_figures() {
    let Some(folder) = shared("fleet quantiles", "samples/fleet-quantiles") else { return };
    let seren = column(&folder.join("seren_quantiles.csv"), "gpu_util_pct");
    let philly = column(&folder.join("philly_gpu_util_quantiles.csv"), "gpu_util_pct");
    assert_eq!((seren.len(), philly.len()), (1_000, 1_000));
    let zeros = seren.iter().filter(|value| **value == 0.0).count();
    assert_eq!(zeros, 315);
    for (name, table, median, mean) in
        [("Seren", &seren, 99.0, 66.10), ("Philly", &philly, 48.45, 47.20)]
    {
        let fleet = series(table);
        assert_close(fleet.p50, median, 0.005, name);
        assert_close(fleet.mean, mean, 0.005, name);
        // A row of the table is that quantile of the table.
        for (index, value) in table.iter().enumerate() {
            let quantile_value = quantile(table, index as f64 / 999.0).expect("values");
            assert_close(quantile_value, *value, 1e-9, name);
        }
    }
}
