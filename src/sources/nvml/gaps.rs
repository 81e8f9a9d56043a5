//! What the driver does not tell, by name.

use super::probe::Refusal;
use super::row::Row;
use crate::domain::Gap;
use std::collections::{BTreeMap, BTreeSet};

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
    let is_told = |metric: &str| rows.iter().any(|row| row.probe.told().contains(metric));
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
        .filter(|(metric, _)| !metric.is_empty() && !is_told(metric))
        .map(|(metric, refusal)| {
            let (reason, hint) = words(refusal, is_divided, driver_version);
            Gap::new(metric, place.clone(), reason, hint)
        })
        .collect()
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
            format!("{driver} does not tell it of this GPU while it is divided by MIG"),
            "memory and processes of each instance are told; for more, turn MIG off or take a \
             GPU with GPM (Hopper and newer)",
        ),
        Refusal::NotSupported => (
            format!("{driver} does not support it on this GPU"),
            "nothing to be done on this host; verdicts do without it and say so",
        ),
        Refusal::TooOld => (
            format!("{driver} does not know the call"),
            "update the NVIDIA driver",
        ),
        Refusal::NoPermission => (
            format!("{driver} does not allow it to this user"),
            "run as root, or ask for the permission",
        ),
    }
}
