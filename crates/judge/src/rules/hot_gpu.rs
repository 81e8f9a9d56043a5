//! Warns about GPUs that are hotter than they may be under sustained work: they slow down,
//! and age.
//!
//! Must not be fooled by cards with a higher limit: where the catalog knows it, that counts.

pub(super) use super::device_alert::applies;
use super::device_alert::{DeviceAlert, Reading};
use super::{Need, RuleMeta, Subject};
use crate::catalog::gpu_spec;
use crate::domain::{Comparator, Finding, Severity};
use crate::profiling::AlertKind;

pub(super) const META: RuleMeta = RuleMeta {
    id: "hot-gpu",
    title: "GPUs above their temperature limit",
    severity: Severity::Warning,
    needs: &[Need::Temperature],
};

const ALERT: DeviceAlert = DeviceAlert {
    title: "too hot",
    figure: "highest temperature",
    origin: "maxima of the temperature; limit of the card, else 83 °C",
    comparator: Comparator::GreaterThan,
    unit: "°C",
    action: "check whether the clock is throttled",
    steps: &[
        "read the throttle reasons on the host (`nvidia-smi -q -d PERFORMANCE`)",
        "on own hardware, check fans, air flow and the neighbors in the rack; in a cloud, stop and \
         start the instance to get another host",
    ],
};

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    let shape = subject.workload.shape.as_ref();
    let spec = shape.and_then(|shape| gpu_spec(shape.gpu.as_ref()?));
    let threshold = spec.and_then(|spec| spec.max_operating_c).or(AlertKind::Hot.threshold())?;
    ALERT.finding(&META, subject, |gpu| {
        Some(Reading { observed: gpu.temperature_max_c?, threshold })
    })
}
