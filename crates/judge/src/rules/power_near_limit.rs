//! Warns about GPUs that draw nearly all the power that they may: the driver lowers their clock
//! to stay within the limit.
//!
//! Must not be fooled by a peak: a twentieth of the time must be above. Silent for a card whose
//! limit the catalog does not know.

pub(super) use super::device_alert::applies;
use super::device_alert::{DeviceAlert, Reading};
use super::{Need, RuleMeta, Subject};
use crate::catalog::gpu_spec;
use crate::domain::{Comparator, Finding, Severity};
use crate::profiling::AlertKind;

pub(super) const META: RuleMeta = RuleMeta {
    id: "power-near-limit",
    title: "GPUs close to their power limit",
    severity: Severity::Warning,
    needs: &[Need::Power],
};

const ALERT: DeviceAlert = DeviceAlert {
    title: "close to the power limit",
    figure: "p95 of the power draw",
    origin: "averages of the power draw; 90% of the limit of the card",
    comparator: Comparator::GreaterThan,
    unit: "W",
    action: "check whether the limit holds the clock down",
    steps: &[
        "compare the clock with its maximum on the host (`nvidia-smi -q -d CLOCK,PERFORMANCE`)",
        "compute-bound work runs at the limit: a newer card does more of it per watt",
    ],
};

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    let shape = subject.workload.shape.as_ref()?;
    let limit = gpu_spec(shape.gpu.as_ref()?)?.power_limit_w?;
    let threshold = limit * AlertKind::PowerNearLimit.threshold()? / 100.0;
    ALERT.finding(&META, subject, |gpu| Some(Reading { observed: gpu.power?.p95_w?, threshold }))
}
