//! `gpucost metrics` as comma-separated values.

use super::instances;
use crate::analysis::Audit;
use crate::domain::{GpuUsage, UtilizationSummary};
use crate::report::shared::text::spreadsheet_safe;

/// Metrics as comma-separated values, one row a GPU; an instance without any
/// has one row with empty figures.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn metrics_csv(audit: &Audit) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
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
    ])?;
    let figure = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
    for (workload, usage) in instances(audit) {
        let coverage = usage.summary.as_ref().map(UtilizationSummary::coverage);
        let start = [
            spreadsheet_safe(usage.instance.as_str()),
            spreadsheet_safe(&workload.id()),
            spreadsheet_safe(&workload.key.region),
            spreadsheet_safe(&workload.key.instance_type),
            usage
                .signal
                .map_or(String::new(), |(signal, _)| signal.to_string()),
        ];
        let per_gpu: Vec<Option<&GpuUsage>> = if usage.gpus.is_empty() {
            vec![None]
        } else {
            usage.gpus.iter().map(Some).collect()
        };
        for gpu in per_gpu {
            let figures = gpu.and_then(|gpu| gpu.utilization);
            let vram = gpu.and_then(|gpu| gpu.vram);
            let rest = [
                gpu.map_or(String::new(), |gpu| gpu.index.to_string()),
                figure(figures.map(|figures| figures.mean)),
                figure(figures.map(|figures| figures.p95)),
                figure(figures.map(|figures| figures.p99)),
                figure(figures.map(|figures| figures.max)),
                gpu.map_or(String::new(), |gpu| gpu.samples.count.to_string()),
                figure(vram.map(|vram| vram.peak_mib)),
                figure(vram.and_then(|vram| vram.total_mib)),
                figure(coverage),
            ];
            writer.write_record(start.iter().chain(&rest))?;
        }
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
