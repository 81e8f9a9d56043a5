//! Warns about GPUs whose memory grows from day to day: a leak that ends in an out-of-memory
//! error.
//!
//! Must not be fooled by a restart, after which counting begins anew, by the day that is not
//! over, or by noise: each day must be above the one before, and all of them by a twentieth of
//! the card.

pub(super) use super::device_alert::applies;
use super::device_alert::{DeviceAlert, Reading};
use super::{Need, RuleMeta, Subject};
use crate::domain::{Comparator, DAY_SECONDS, Finding, Severity};

/// Days that must each be above the one before.
const RISING_DAYS: usize = 5;
/// Growth over all of them from which it is no noise, percent of the card.
const GROWTH_PERCENT: f64 = 5.0;

pub(super) const META: RuleMeta = RuleMeta {
    id: "growing-vram",
    title: "GPUs whose memory grows day by day",
    severity: Severity::Warning,
    needs: &[Need::Vram],
};

const ALERT: DeviceAlert = DeviceAlert {
    title: "VRAM grows every day",
    figure: "growth of the VRAM peak since it last fell",
    origin: "largest VRAM of each whole day of UTC, over at least 5 days that all rise",
    comparator: Comparator::AtLeast,
    unit: "% of the VRAM",
    action: "check for a memory leak",
    steps: &[
        "compare the memory of the process with the day before (`nvidia-smi`), and its cache with \
         its allocations",
        "restart it before the card is full, and alert on its growth until the leak is fixed",
    ],
};

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    let window = subject.utilization().map(|summary| summary.window);
    let first = window.map_or(i64::MIN, |window| {
        (window.start.as_second() + DAY_SECONDS - 1).div_euclid(DAY_SECONDS)
    });
    let end = window.map_or(i64::MAX, |window| window.end.as_second().div_euclid(DAY_SECONDS));
    ALERT.finding(&META, subject, |gpu| {
        let whole = gpu.vram_days.iter().filter(|(day, _)| (first..end).contains(day));
        let peaks: Vec<f64> = whole.map(|(_, peak_mib)| *peak_mib).collect();
        let rising = rising(&peaks);
        let total_mib = gpu.vram?.total_mib.filter(|total| *total > 0.0)?;
        let (from, to) = (rising.first()?, rising.last()?);
        (rising.len() >= RISING_DAYS).then_some(Reading {
            observed: (to - from) / total_mib * 100.0,
            threshold: GROWTH_PERCENT,
        })
    })
}

/// The last peaks, each above the one before.
fn rising(peaks: &[f64]) -> &[f64] {
    let rising = peaks.windows(2).rev().take_while(|pair| pair[1] > pair[0]).count();
    &peaks[peaks.len().saturating_sub(rising + 1)..]
}
