//! What the driver does not tell, by name.

use super::calls;
use super::counter::ROUND_BYTES;
use super::probe::Refusal;
use super::row::Row;
use crate::catalog::has_gpm;
use crate::domain::Gap;
use std::collections::{BTreeMap, BTreeSet};

const NOTHING_TO_DO: &str = "no action possible on this host; verdicts are made without it and \
                             say so";

/// The metrics that no call tells of a GPU or of its MIG instances, once for
/// each model.
pub(super) fn gaps(rows: &[Row], driver_version: Option<&str>) -> Vec<Gap> {
    let mut by_gpu: BTreeMap<u16, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        by_gpu.entry(row.identity.index).or_default().push(row);
    }
    let gaps: BTreeSet<Gap> = by_gpu
        .values()
        .flat_map(|rows| of_gpu(rows, driver_version))
        .collect();
    gaps.into_iter().collect()
}

fn of_gpu(rows: &[&Row], driver_version: Option<&str>) -> Vec<Gap> {
    let Some(gpu) = rows.first() else {
        return Vec::new();
    };
    let is_reported = |metric: &str| rows.iter().any(|row| row.probe.reported().contains(metric));
    let is_divided = gpu.identity.is_mig_enabled == Some(true);
    let place = match &gpu.identity.name {
        Some(name) => name.clone(),
        None => format!("GPU {}", gpu.identity.index),
    };
    let mut refusals = BTreeMap::new();
    for row in rows {
        for (metric, refusal) in row.probe.refusals() {
            let first = refusals.entry(metric).or_insert(refusal);
            *first = (*first).min(refusal);
        }
    }
    refusals
        .into_iter()
        .filter(|(metric, _)| !metric.is_empty() && !is_reported(metric))
        .map(|(metric, refusal)| {
            let (reason, hint) = words(refusal, is_divided, driver_version);
            let has_none = metric == calls::GPM_SAMPLE.metric && is_before_gpm(gpu);
            let hint = if has_none { NOTHING_TO_DO } else { hint };
            Gap::new(metric, place.clone(), reason, hint)
        })
        .chain(outrun(rows, &place))
        .collect()
}

/// Whether a GPU is known to be older than the counters of the multiprocessors,
/// so that no driver tells them.
fn is_before_gpm(gpu: &Row) -> bool {
    let name = gpu.identity.name.as_deref();
    name.and_then(has_gpm) == Some(false)
}

/// The rates that a counter of 32 bits cannot tell at this interval.
fn outrun(rows: &[&Row], place: &str) -> Option<Gap> {
    let row = rows.iter().find(|row| row.meters.is_pcie_outrun())?;
    let starts_again = "its counter wraps after 4 GiB";
    let (reason, hint) = match row.identity.pcie_max_bytes_per_second {
        Some(most) => (
            format!("{starts_again}, which the link can transfer between two samples"),
            interval_hint(most),
        ),
        None => (
            format!("{starts_again}, and the link capacity is unknown"),
            NOTHING_TO_DO.to_owned(),
        ),
    };
    Some(Gap::new(calls::PCIE_SENT.metric, place, reason, hint))
}

/// The interval in which a link moves less than the counter holds, with a tenth
/// left for samples that come late.
fn interval_hint(most_bytes_per_second: f64) -> String {
    let tens = (ROUND_BYTES / most_bytes_per_second * 0.9 * 100.0).floor();
    if tens < 10.0 {
        return NOTHING_TO_DO.to_owned();
    }
    format!("sample more often: `--interval {}ms`", tens * 10.0)
}

fn words(
    refusal: Refusal,
    is_divided: bool,
    driver_version: Option<&str>,
) -> (String, &'static str) {
    let driver = match driver_version {
        Some(version) => format!("driver {version}"),
        None => "the driver".to_owned(),
    };
    match refusal {
        Refusal::NotSupported if is_divided => (
            format!("{driver} does not report it for this GPU while MIG is enabled"),
            "memory and processes of each MIG instance are reported; for more, disable MIG \
             or use a GPU with GPM (Hopper or newer)",
        ),
        Refusal::NotSupported => (
            format!("{driver} does not support it on this GPU"),
            NOTHING_TO_DO,
        ),
        Refusal::TooOld => (
            format!("{driver} does not provide this call"),
            "update the NVIDIA driver",
        ),
        Refusal::NoPermission => (
            format!("{driver} does not allow it for this user"),
            "run as root, or request the permission",
        ),
    }
}
