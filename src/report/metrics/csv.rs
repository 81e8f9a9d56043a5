//! `gpucost metrics` as comma-separated values.

use super::instances;
use crate::analysis::Audit;
use crate::domain::UtilizationSummary;
use crate::report::shared::csv::{cell, document, figure};
use crate::report::shared::text::spreadsheet_safe as text;

/// Metrics as comma-separated values, one row a GPU; an instance without any
/// has one row with empty figures.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn metrics_csv(audit: &Audit) -> Result<String, csv::Error> {
    let header = [
        "instance",
        "workload",
        "region",
        "instance_type",
        "signal",
        "gpu_index",
        "mean",
        "p95",
        "p99",
        "max",
        "n_samples",
        "vram_peak_mib",
        "vram_total_mib",
        "instance_coverage",
    ];
    let mut rows: Vec<[String; 14]> = Vec::new();
    for (workload, usage) in instances(audit) {
        let coverage = usage.summary.as_ref().map(UtilizationSummary::coverage);
        let gpus = usage.gpus.iter().map(Some);
        let none = usage.gpus.is_empty().then_some(None);
        for gpu in gpus.chain(none) {
            let figures = gpu.and_then(|gpu| gpu.utilization);
            let vram = gpu.and_then(|gpu| gpu.vram);
            rows.push([
                text(usage.instance.as_str()),
                text(&workload.id()),
                text(&workload.key.region),
                text(&workload.key.instance_type),
                cell(usage.signal.map(|(signal, _)| signal)),
                cell(gpu.map(|gpu| gpu.index)),
                figure(figures.map(|figures| figures.mean)),
                figure(figures.map(|figures| figures.p95)),
                figure(figures.map(|figures| figures.p99)),
                figure(figures.map(|figures| figures.max)),
                cell(gpu.map(|gpu| gpu.samples.count)),
                figure(vram.map(|vram| vram.peak_mib)),
                figure(vram.and_then(|vram| vram.total_mib)),
                figure(coverage),
            ]);
        }
    }
    document(header, rows)
}
