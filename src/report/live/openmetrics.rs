//! A run that goes on, as gauges: what `gpucost profile --listen` answers. It names no process,
//! no host and no command.

use super::view::{LiveGpu, LiveView};
use crate::domain::ThrottleReasons;
use crate::report::shared::openmetrics::{
    Exposition, Labels, bytes_of_mib, figure, number, ratio_of_percent,
};
use crate::report::shared::text::rounded;

/// A run so far in OpenMetrics, in a form that the text format of Prometheus reads as well.
/// Only the GPUs that there are, before the first sample.
pub fn live_openmetrics(view: &LiveView) -> String {
    let mut page = Exposition::default();
    of_run(view, &mut page);
    of_cost(view, &mut page);
    of_gpus(view, &mut page);
    of_host(view, &mut page);
    page.finish()
}

fn of_run(view: &LiveView, page: &mut Exposition) {
    let verdict = view.verdict.as_ref();
    let class = verdict.map_or("insufficient-data", |verdict| verdict.classification.name());
    let labels = Labels::default()
        .with("version", env!("CARGO_PKG_VERSION"))
        .with("instance_type", view.instance_type.as_deref().unwrap_or(""))
        .with("classification", class);
    page.family(
        "gpucost_run_info",
        "Version of gpucost, type of the host, and verdict so far.",
        [(labels, number(1))],
    );
    page.gauge(
        "gpucost_run_duration_seconds",
        "Time since the run began.",
        figure(Some(view.elapsed_seconds)),
    );
    page.gauge(
        "gpucost_run_samples",
        "Samples taken.",
        number(view.samples),
    );
    page.gauge(
        "gpucost_run_missed_samples",
        "Samples that were due and not taken.",
        number(view.missed_samples),
    );
    page.gauge(
        "gpucost_run_last_sample_timestamp_seconds",
        "Time of the last sample, in seconds since 1970.",
        view.sampled_at.and_then(|at| number(at.as_second())),
    );
    page.gauge(
        "gpucost_run_alerts",
        "Alerts in force.",
        number(view.alerts.len()),
    );
    page.gauge(
        "gpucost_run_utilization_mean_ratio",
        "Mean utilization of the run over all GPUs.",
        ratio_of_percent(view.mean_percent),
    );
}

fn of_cost(view: &LiveView, page: &mut Exposition) {
    let Some(rate) = view.hourly_price else {
        return;
    };
    let labels = || Labels::default().with("currency", rate.currency().code());
    page.family(
        "gpucost_run_cost_hourly",
        "Price of the host per hour.",
        [(labels(), Some(rounded(rate.amount(), 6)))],
    );
    let spent = view.cost_so_far();
    page.family(
        "gpucost_run_cost",
        "Cost of the host since the run began.",
        [(labels(), spent.map(|spent| rounded(spent.amount(), 6)))],
    );
}

fn of_gpus(view: &LiveView, page: &mut Exposition) {
    // The value of a GPU; absent where it has none.
    type Value = fn(&LiveGpu) -> Option<String>;
    let families: [(&'static str, &'static str, Value); 13] = [
        (
            "gpucost_gpu_up",
            "1 while the GPU answers, 0 after it was lost.",
            |gpu| number(u8::from(gpu.lost.is_none())),
        ),
        (
            "gpucost_gpu_utilization_ratio",
            "Share of time in which a kernel ran, at the last sample.",
            |gpu| ratio_of_percent(gpu.utilization_percent),
        ),
        (
            "gpucost_run_gpu_utilization_mean_ratio",
            "Mean utilization of the run.",
            |gpu| ratio_of_percent(gpu.mean_percent),
        ),
        (
            "gpucost_gpu_sm_activity_ratio",
            "Activity of the multiprocessors at the last sample.",
            |gpu| ratio_of_percent(gpu.sm_percent),
        ),
        (
            "gpucost_gpu_memory_used_bytes",
            "Memory in use at the last sample.",
            |gpu| bytes_of_mib(gpu.vram_used_mib),
        ),
        (
            "gpucost_gpu_memory_size_bytes",
            "Memory of the card or slice.",
            |gpu| bytes_of_mib(gpu.vram_total_mib),
        ),
        (
            "gpucost_run_gpu_memory_peak_bytes",
            "Most memory in use during the run.",
            |gpu| bytes_of_mib(gpu.vram_peak_mib),
        ),
        (
            "gpucost_gpu_power_watts",
            "Power draw at the last sample.",
            |gpu| figure(gpu.power_w),
        ),
        ("gpucost_gpu_power_limit_watts", "Power limit.", |gpu| {
            figure(gpu.power_limit_w)
        }),
        (
            "gpucost_gpu_temperature_celsius",
            "Temperature at the last sample.",
            |gpu| figure(gpu.temperature_c),
        ),
        (
            "gpucost_gpu_throttled",
            "1 while anything but idleness holds the clocks down, else 0.",
            |gpu| number(u8::from(is_throttled(gpu)?)),
        ),
        (
            "gpucost_gpu_processes",
            "Processes that hold the GPU.",
            |gpu| gpu.process_count.and_then(number),
        ),
        (
            "gpucost_run_gpu_xid_errors",
            "XID errors of the run.",
            |gpu| number(gpu.xid_count),
        ),
    ];
    for (name, help, value) in families {
        let samples = view.gpus.iter().map(|gpu| (labels(gpu), value(gpu)));
        page.family(name, help, samples);
    }
}

fn is_throttled(gpu: &LiveGpu) -> Option<bool> {
    let reasons = gpu.throttle?;
    Some(reasons.0 & !ThrottleReasons::GPU_IDLE != 0)
}

fn labels(gpu: &LiveGpu) -> Labels {
    Labels::default()
        .with("gpu", &gpu.number)
        .with("model", gpu.name.as_deref().unwrap_or(""))
}

fn of_host(view: &LiveView, page: &mut Exposition) {
    page.gauge(
        "gpucost_host_cpu_ratio",
        "Mean over all CPUs of the time that they worked, since the sample before.",
        ratio_of_percent(view.host.cpu_percent),
    );
    page.gauge(
        "gpucost_host_memory_used_bytes",
        "Memory of the host in use.",
        bytes_of_mib(view.host.memory_used_mib),
    );
    page.gauge(
        "gpucost_host_memory_size_bytes",
        "Memory of the host.",
        bytes_of_mib(view.host.memory_total_mib),
    );
}
