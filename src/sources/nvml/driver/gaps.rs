//! What the driver does not tell, by name.

use super::counter::ROUND_BYTES;
use super::probe::Refusal;
use super::row::Row;
use crate::catalog::has_gpm;
use crate::domain::{Cause, CauseKind, DriverMetric, Gap, GpuIdentity};
use std::collections::{BTreeMap, BTreeSet};

/// The metrics that no call tells of a GPU or of its MIG instances, once for
/// each model.
pub(super) fn gaps(rows: &[Row], driver_version: Option<&str>) -> Vec<Gap> {
    let mut by_gpu: BTreeMap<u16, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        by_gpu.entry(row.identity.index).or_default().push(row);
    }
    let gaps: BTreeSet<Gap> =
        by_gpu.values().flat_map(|rows| of_gpu(rows, driver_version)).collect();
    gaps.into_iter().collect()
}

fn of_gpu(rows: &[&Row], driver_version: Option<&str>) -> Vec<Gap> {
    let Some(gpu) = rows.first() else { return Vec::new() };
    let is_reported = |metric: &DriverMetric| {
        let mut rows = rows.iter();
        rows.any(|row| row.probe.reported.contains(metric))
    };
    let is_divided = gpu.identity.is_mig_enabled == Some(true);
    let GpuIdentity { name, index, .. } = &gpu.identity;
    let place = name.clone().unwrap_or_else(|| format!("GPU {index}"));
    let driver = driver_version.map_or("the driver".to_owned(), |text| format!("driver {text}"));
    // Whether it is known to be older than the counters of the multiprocessors, so that no driver
    // tells them.
    let is_before_gpm = name.as_deref().and_then(has_gpm) == Some(false);
    let mut refusals = BTreeMap::new();
    for (metric, refusal) in rows.iter().flat_map(|row| row.probe.refusals()) {
        let first = refusals.entry(metric).or_insert(refusal);
        *first = (*first).min(refusal);
    }
    refusals
        .into_iter()
        .filter(|(metric, _)| !is_reported(metric))
        .map(|(metric, refusal)| {
            let has_none = metric == DriverMetric::Activity && is_before_gpm;
            let kind = kind(refusal, is_divided, has_none);
            Gap::of(metric, place.clone(), Cause::of(kind, [&driver]))
        })
        .chain(outrun(rows, &place))
        .collect()
}

/// The rates that a counter of 32 bits cannot tell at this interval.
fn outrun(rows: &[&Row], place: &str) -> Option<Gap> {
    let row = rows.iter().find(|row| row.meters.is_pcie_outrun())?;
    let cause = match row.identity.pcie_max_bytes_per_second {
        Some(most) => fast_enough(most).map_or_else(
            || Cause::of(CauseKind::CounterWrapsAlways, []),
            |milliseconds| Cause::of(CauseKind::CounterWraps, [&milliseconds.to_string()]),
        ),
        None => Cause::of(CauseKind::CounterWrapsPerhaps, []),
    };
    Some(Gap::of(DriverMetric::PcieTraffic, place, cause))
}

/// The interval in milliseconds in which a link moves less than the counter holds, with a
/// tenth left for samples that come late; absent where none is long enough.
fn fast_enough(most_bytes_per_second: f64) -> Option<f64> {
    let tens = (ROUND_BYTES / most_bytes_per_second * 0.9 * 100.0).floor();
    (tens >= 10.0).then_some(tens * 10.0)
}

/// Why a driver does not report a metric; `has_none` where no driver reports it of the GPU.
fn kind(refusal: Refusal, is_divided: bool, has_none: bool) -> CauseKind {
    match (refusal, has_none) {
        (Refusal::NotSupported, false) if is_divided => CauseKind::MetricHiddenByMig,
        (Refusal::NotSupported, true) if is_divided => CauseKind::CountersHiddenByMig,
        (Refusal::NotSupported, _) => CauseKind::MetricNotSupported,
        (Refusal::TooOld, false) => CauseKind::MetricOfNewerDriver,
        (Refusal::TooOld, true) => CauseKind::CountersOfNewerDriver,
        (Refusal::NoPermission, false) => CauseKind::MetricNotAllowed,
        (Refusal::NoPermission, true) => CauseKind::CountersNotAllowed,
    }
}
