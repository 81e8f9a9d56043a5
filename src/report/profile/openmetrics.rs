//! A run that has ended, as gauges: `gpucost profile --format openmetrics`. Names that the
//! endpoint of a run has as well mean the same here.

use super::ProfileReport;
use crate::domain::GpuModel;
use crate::profiling::GpuProfile;
use crate::report::shared::openmetrics::{
    Exposition, Labels, bytes_of_mib, figure, money, number, ratio, ratio_of_percent,
};
use crate::report::shared::text::rounded;

/// The run in OpenMetrics, in a form that the text format of Prometheus reads as well.
pub fn profile_openmetrics(report: &ProfileReport) -> String {
    let mut page = Exposition::default();
    of_run(report, &mut page);
    of_cost(report, &mut page);
    of_gpus(report, &mut page);
    page.finish()
}

fn of_run(report: &ProfileReport, page: &mut Exposition) {
    let profile = &report.profile;
    let facts = &profile.facts;
    let labels = Labels::default()
        .with("version", env!("CARGO_PKG_VERSION"))
        .with(
            "instance_type",
            facts.instance_type.as_deref().unwrap_or(""),
        )
        .with("region", facts.region.as_deref().unwrap_or(""))
        .with("classification", profile.verdict.classification.name())
        .with("bottleneck", profile.diagnosis.bottleneck.name());
    page.family(
        "gpucost_run_info",
        "Version of gpucost, type and region of the host, verdict and bottleneck.",
        [(labels, number(1))],
    );
    page.gauge(
        "gpucost_run_start_timestamp_seconds",
        "Beginning of the run, in seconds since 1970.",
        number(facts.started.as_second()),
    );
    page.gauge(
        "gpucost_run_duration_seconds",
        "Time since the run began.",
        figure(Some(profile.end.elapsed_seconds)),
    );
    page.gauge(
        "gpucost_run_exit_code",
        "Exit code of the command.",
        profile.end.exit_code.and_then(number),
    );
    page.gauge(
        "gpucost_run_samples",
        "Samples taken.",
        number(profile.samples),
    );
    page.gauge(
        "gpucost_run_missed_samples",
        "Samples that were due and not taken.",
        profile.pace.missed.and_then(number),
    );
    page.gauge(
        "gpucost_run_coverage_ratio",
        "Samples that count, of those that were due.",
        ratio(Some(profile.coverage)),
    );
    page.gauge("gpucost_run_gaps", "Data gaps.", number(report.gaps.len()));
    page.gauge(
        "gpucost_run_utilization_mean_ratio",
        "Mean utilization of the run over all GPUs.",
        ratio_of_percent(profile.utilization.map(|figures| figures.mean)),
    );
}

fn of_cost(report: &ProfileReport, page: &mut Exposition) {
    let Some(cost) = &report.cost else { return };
    let rate = cost.today.hourly;
    let labels = || Labels::default().with("currency", rate.currency().code());
    page.family(
        "gpucost_run_cost_hourly",
        "Price of the host per hour.",
        [(labels(), Some(rounded(rate.amount(), 6)))],
    );
    page.family(
        "gpucost_run_cost",
        "Cost of the host since the run began.",
        [(labels(), money(cost.run))],
    );
}

fn of_gpus(report: &ProfileReport, page: &mut Exposition) {
    // The value of a GPU; absent where it has none.
    type Value = fn(&GpuProfile) -> Option<String>;
    let families: [(&'static str, &'static str, Value); 9] = [
        (
            "gpucost_gpu_up",
            "1 while the GPU answers, 0 after it was lost.",
            |gpu| {
                let is_lost = gpu.lost.as_ref().is_some_and(|lost| !lost.is_back);
                number(u8::from(!is_lost))
            },
        ),
        (
            "gpucost_run_gpu_utilization_mean_ratio",
            "Mean utilization of the run.",
            |gpu| ratio_of_percent(gpu.utilization.map(|figures| figures.mean)),
        ),
        (
            "gpucost_run_gpu_utilization_p95_ratio",
            "95th percentile of the utilization of the run.",
            |gpu| ratio_of_percent(gpu.utilization.map(|figures| figures.p95)),
        ),
        (
            "gpucost_run_gpu_memory_peak_bytes",
            "Most memory in use during the run.",
            |gpu| bytes_of_mib(gpu.vram_used_mib.map(|figures| figures.max)),
        ),
        (
            "gpucost_gpu_memory_size_bytes",
            "Memory of the card or slice.",
            |gpu| bytes_of_mib(gpu.vram_total_mib),
        ),
        (
            "gpucost_run_gpu_power_mean_watts",
            "Mean power draw of the run.",
            |gpu| figure(gpu.power.map(|power| power.mean_w)),
        ),
        (
            "gpucost_run_gpu_energy_joules",
            "Energy drawn in the time that was covered.",
            |gpu| figure(gpu.power.and_then(|power| power.energy_j)),
        ),
        (
            "gpucost_run_gpu_temperature_max_celsius",
            "Highest temperature of the run.",
            |gpu| figure(gpu.temperature_c.map(|range| range.max)),
        ),
        (
            "gpucost_run_gpu_xid_errors",
            "XID errors of the run.",
            |gpu| number(gpu.xid_count),
        ),
    ];
    for (name, help, value) in families {
        let gpus = report.profile.gpus.iter();
        page.family(name, help, gpus.map(|gpu| (labels(gpu), value(gpu))));
    }
}

/// Number and model, or profile of a MIG instance.
fn labels(gpu: &GpuProfile) -> Labels {
    let identity = &gpu.identity;
    let (number, name) = match &identity.mig {
        Some(slot) => (
            format!("{}.{}", identity.index, slot.index),
            slot.profile.as_deref(),
        ),
        None => (identity.index.to_string(), None),
    };
    let model = identity.name.as_deref().map(GpuModel::from_driver_name);
    let name = name.or(model.as_ref().map(GpuModel::name));
    Labels::default()
        .with("gpu", &number)
        .with("model", name.unwrap_or(""))
}
