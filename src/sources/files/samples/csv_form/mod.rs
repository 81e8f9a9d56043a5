//! Samples as CSV: one row per GPU and sample, every row with all that it needs to
//! be read by itself. What is absent is an empty cell; lists are JSON in a cell.

mod log;
mod row;
mod rows;

pub(super) use log::CsvLog;
pub(super) use rows::Rows;

use super::cells;
use super::wire::{ACTIVITY_COLUMNS, GPU_COLUMNS, HOST_COLUMNS};

/// Columns that say when, where and which GPU.
const WHERE: &[&str] = &[
    "time",
    "elapsed_seconds",
    "started",
    "interval_seconds",
    "is_command",
    "hostname",
    "instance_id",
    "instance_type",
    "region",
    "driver_version",
    "gpu_index",
    "mig_index",
    "mig_gpu_instance",
    "mig_compute_instance",
    "mig_profile",
    "uuid",
    "name",
    "gpu_vram_total_mib",
    "power_limit_w",
    "power_default_limit_w",
    "pcie_max_bytes_per_second",
    "is_mig_enabled",
];
/// Columns of a reading beside its figures.
const BESIDE: &[&str] = &["lost", "throttle", "processes", "fine", "xids"];
/// Columns without which a row says nothing.
const REQUIRED: &[&str] = &["time", "elapsed_seconds", "gpu_index"];

fn activity_column(name: &str) -> String {
    format!("activity_{name}")
}

fn host_column(name: &str) -> String {
    format!("host_{name}")
}

fn columns() -> impl Iterator<Item = String> {
    let named = |names: &'static [&'static str]| names.iter().map(|name| (*name).to_owned());
    named(WHERE)
        .chain(GPU_COLUMNS.iter().map(|(name, ..)| (*name).to_owned()))
        .chain(named(BESIDE))
        .chain(ACTIVITY_COLUMNS.iter().map(|(name, ..)| activity_column(name)))
        .chain(std::iter::once(host_column("cores")))
        .chain(HOST_COLUMNS.iter().map(|(name, ..)| host_column(name)))
}

pub(super) fn header_line() -> String {
    let names: Vec<String> = columns().collect();
    format!("{}\n", names.join(","))
}

/// Whether a first line is the header of such a file.
pub(super) fn is_header(line: &str) -> bool {
    let names = cells(line);
    let has = |wanted: &&str| names.iter().any(|name| name.trim() == *wanted);
    REQUIRED.iter().all(has)
}
