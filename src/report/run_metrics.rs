//! A run in OpenMetrics, in a form that the text format of Prometheus reads as well: what
//! `gpucost profile --listen` answers while it goes on, and `--format openmetrics` once it has
//! ended. A name that both have means the same. Neither names a process, a host or a command.

use super::live::{LiveGpu, LiveView};
use super::profile::ProfileReport;
use super::shared::openmetrics::{
    Exposition, Labels, bytes_of_mib, figure, gauges, money, number, ratio, ratio_of_percent,
};
use super::shared::text::rounded;
use crate::domain::{HourlyRate, ThrottleReasons};

/// A run so far. Only the GPUs that there are, before the first sample.
pub fn live_openmetrics(view: &LiveView) -> String {
    let mut page = Exposition::default();
    let verdict = view.verdict.as_ref();
    let class = verdict.map_or("insufficient-data", |verdict| verdict.classification.name());
    let about = info(view.instance_type.as_deref()).with("classification", class);
    gauges! { page, _view in [view], about.clone();
        "gpucost_run_info" "Version of gpucost, type of the host, and verdict so far." number(1);
    }
    gauges! { page, view in [view], Labels::default();
        "gpucost_run_duration_seconds" "Time since the run began." figure(Some(view.elapsed_seconds));
        "gpucost_run_samples" "Samples taken." number(view.samples);
        "gpucost_run_missed_samples" "Samples that were due and not taken." number(view.missed_samples);
        "gpucost_run_last_sample_timestamp_seconds" "Time of the last sample, in seconds since 1970." view.sampled_at.and_then(|at| number(at.as_second()));
        "gpucost_run_alerts" "Alerts in force." number(view.alerts.len());
        "gpucost_run_utilization_mean_ratio" "Mean utilization of the run over all GPUs." ratio_of_percent(view.mean_percent);
    }
    let spent = view.cost_so_far();
    costs(view.hourly_price, spent.map(|spent| rounded(spent.amount(), 6)), &mut page);
    gauges! { page, gpu in view.gpus, labels(gpu);
        "gpucost_gpu_up" "1 while the GPU answers, 0 after it was lost." number(u8::from(gpu.lost.is_none()));
        "gpucost_gpu_utilization_ratio" "Share of time in which a kernel ran, at the last sample." ratio_of_percent(gpu.reading.utilization_percent);
        "gpucost_run_gpu_utilization_mean_ratio" "Mean utilization of the run." ratio_of_percent(gpu.mean_percent);
        "gpucost_gpu_sm_activity_ratio" "Activity of the multiprocessors at the last sample." ratio_of_percent(gpu.sm_percent());
        "gpucost_gpu_memory_used_bytes" "Memory in use at the last sample." bytes_of_mib(gpu.reading.vram_used_mib);
        "gpucost_gpu_memory_size_bytes" "Memory of the card or slice." bytes_of_mib(gpu.vram_total_mib);
        "gpucost_run_gpu_memory_peak_bytes" "Most memory in use during the run." bytes_of_mib(gpu.vram_peak_mib);
        "gpucost_gpu_power_watts" "Power draw at the last sample." figure(gpu.reading.power_w);
        "gpucost_gpu_power_limit_watts" "Power limit." figure(gpu.power_limit_w);
        "gpucost_gpu_temperature_celsius" "Temperature at the last sample." figure(gpu.reading.temperature_c);
        "gpucost_gpu_throttled" "1 while anything but idleness holds the clocks down, else 0." is_throttled(gpu).and_then(|is_throttled| number(u8::from(is_throttled)));
        "gpucost_gpu_processes" "Processes that hold the GPU." gpu.reading.processes.as_ref().and_then(|processes| number(processes.len()));
        "gpucost_run_gpu_xid_errors" "XID errors of the run." number(gpu.xid_count);
    }
    gauges! { page, host in [&view.host], Labels::default();
        "gpucost_host_cpu_ratio" "Mean over all CPUs of the time that they worked, since the sample before." ratio_of_percent(host.cpu_percent);
        "gpucost_host_memory_used_bytes" "Memory of the host in use." bytes_of_mib(host.memory_used_mib);
        "gpucost_host_memory_size_bytes" "Memory of the host." bytes_of_mib(host.memory_total_mib);
    }
    page.finish()
}

/// A run that has ended.
pub fn profile_openmetrics(report: &ProfileReport) -> String {
    let mut page = Exposition::default();
    let profile = &report.profile;
    let about = info(profile.facts.instance_type.as_deref())
        .with("region", profile.facts.region.as_deref().unwrap_or(""))
        .with("classification", profile.verdict.classification.name())
        .with("bottleneck", profile.diagnosis.bottleneck.name());
    gauges! { page, _run in [profile], about.clone();
        "gpucost_run_info" "Version of gpucost, type and region of the host, verdict and bottleneck." number(1);
    }
    gauges! { page, run in [report], Labels::default();
        "gpucost_run_start_timestamp_seconds" "Beginning of the run, in seconds since 1970." number(run.profile.facts.started.as_second());
        "gpucost_run_duration_seconds" "Time since the run began." figure(Some(run.profile.end.elapsed_seconds));
        "gpucost_run_exit_code" "Exit code of the command." run.profile.end.exit_code.and_then(number);
        "gpucost_run_samples" "Samples taken." number(run.profile.samples);
        "gpucost_run_missed_samples" "Samples that were due and not taken." run.profile.pace.missed.and_then(number);
        "gpucost_run_coverage_ratio" "Samples that count, of those that were due." ratio(Some(run.profile.coverage));
        "gpucost_run_gaps" "Data gaps." number(run.gaps.len());
        "gpucost_run_utilization_mean_ratio" "Mean utilization of the run over all GPUs." ratio_of_percent(run.profile.utilization.map(|figures| figures.mean));
    }
    if let Some(cost) = &report.cost {
        costs(Some(cost.today.hourly), money(cost.run), &mut page);
    }
    gauges! { page, gpu in profile.gpus, labels(&LiveGpu::new(&gpu.identity));
        "gpucost_gpu_up" "1 while the GPU answers, 0 after it was lost." number(u8::from(gpu.lost.as_ref().is_none_or(|lost| lost.is_back)));
        "gpucost_run_gpu_utilization_mean_ratio" "Mean utilization of the run." ratio_of_percent(gpu.utilization.map(|figures| figures.mean));
        "gpucost_run_gpu_utilization_p95_ratio" "95th percentile of the utilization of the run." ratio_of_percent(gpu.utilization.map(|figures| figures.p95));
        "gpucost_run_gpu_memory_peak_bytes" "Most memory in use during the run." bytes_of_mib(gpu.vram_used_mib.map(|figures| figures.max));
        "gpucost_gpu_memory_size_bytes" "Memory of the card or slice." bytes_of_mib(gpu.vram_total_mib);
        "gpucost_run_gpu_power_mean_watts" "Mean power draw of the run." figure(gpu.power.map(|power| power.mean_w));
        "gpucost_run_gpu_energy_joules" "Energy drawn in the time that was covered." figure(gpu.power.and_then(|power| power.energy_j));
        "gpucost_run_gpu_temperature_max_celsius" "Highest temperature of the run." figure(gpu.ranges.temperature_c.map(|range| range.max));
        "gpucost_run_gpu_xid_errors" "XID errors of the run." number(gpu.xid_count);
    }
    page.finish()
}

fn info(instance_type: Option<&str>) -> Labels {
    Labels::default()
        .with("version", env!("CARGO_PKG_VERSION"))
        .with("instance_type", instance_type.unwrap_or(""))
}

/// What the host costs per hour, and what it cost so far.
fn costs(rate: Option<HourlyRate>, spent: Option<String>, page: &mut Exposition) {
    let Some(rate) = rate else { return };
    gauges! { page, rate in [rate], Labels::default().with("currency", rate.currency().code());
        "gpucost_run_cost_hourly" "Price of the host per hour." Some(rounded(rate.amount(), 6));
        "gpucost_run_cost" "Cost of the host since the run began." spent.clone();
    }
}

fn is_throttled(gpu: &LiveGpu) -> Option<bool> {
    Some(gpu.reading.throttle?.0 & !ThrottleReasons::GPU_IDLE != 0)
}

/// Number and model, or profile of a MIG instance.
fn labels(gpu: &LiveGpu) -> Labels {
    Labels::default().with("gpu", &gpu.number).with("model", gpu.name.as_deref().unwrap_or(""))
}
