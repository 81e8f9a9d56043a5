//! Warns about GPUs whose memory is nearly full for a while: the next batch or request may
//! end in an out-of-memory error.
//!
//! Must not be fooled by a single full sample, by a full GPU among empty ones (each is read by
//! itself), or by a size of the card that nobody knows.

pub(super) use super::device_alert::applies;
use super::device_alert::{DeviceAlert, Reading};
use super::{Need, RuleMeta, Subject};
use crate::domain::{Comparator, Finding, Severity};
use crate::profiling::AlertKind;

pub(super) const META: RuleMeta = RuleMeta {
    id: "vram-nearly-full",
    title: "GPUs whose memory is nearly full",
    severity: Severity::Warning,
    needs: &[Need::Vram, Need::VramAverages],
};

const ALERT: DeviceAlert = DeviceAlert {
    title: "VRAM nearly full",
    figure: "time above 85% of the VRAM",
    origin: "averages of the VRAM in use of the GPU that is full longest",
    comparator: Comparator::AtLeast,
    unit: "minutes",
    action: "check how close it comes to running out of memory",
    steps: &[
        "an engine that takes its memory ahead (vLLM, Triton) shows the same figures: read its own metric \
         of the cache in use",
        "else reduce the batch or the context, or move to a card with more memory",
    ],
};

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    ALERT.finding(&META, subject, |gpu| {
        Some(Reading {
            observed: gpu.vram_nearly_full_seconds? as f64 / 60.0,
            threshold: AlertKind::VramNearlyFull.seconds() / 60.0,
        })
    })
}
