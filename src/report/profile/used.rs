//! What a run and each of its GPUs used.

use super::report::ProfileReport;
use super::words::{gpu_recommendation, recommendation};
use crate::domain::Verdict;
use crate::profiling::{Diagnosis, GpuProfile};
use crate::usage::Figures;

/// What the run and each GPU have in common.
pub(super) struct Used<'a> {
    pub utilization: Option<Figures>,
    pub vram_peak_mib: Option<f64>,
    pub vram_p95_mib: Option<f64>,
    pub recommendation: String,
    pub verdict: &'a Verdict,
    pub diagnosis: &'a Diagnosis,
}

impl<'a> Used<'a> {
    pub fn of_run(report: &'a ProfileReport) -> Self {
        let profile = &report.profile;
        let memory = || profile.gpus.iter().filter_map(|gpu| gpu.vram_used_mib);
        Self {
            utilization: profile.utilization,
            vram_peak_mib: memory().map(|used| used.max).reduce(f64::max),
            vram_p95_mib: memory().map(|used| used.p95).reduce(f64::max),
            recommendation: recommendation(report),
            verdict: &profile.verdict,
            diagnosis: &profile.diagnosis,
        }
    }

    pub fn of_gpu(gpu: &'a GpuProfile) -> Self {
        Self {
            utilization: gpu.utilization,
            vram_peak_mib: gpu.vram_used_mib.map(|used| used.max),
            vram_p95_mib: gpu.vram_used_mib.map(|used| used.p95),
            recommendation: gpu_recommendation(gpu),
            verdict: &gpu.verdict,
            diagnosis: &gpu.diagnosis,
        }
    }
}
