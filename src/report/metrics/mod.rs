//! `gpucost metrics`: utilization per instance and GPU with its coverage, and the
//! agent configuration and the Helm values of `setup metrics`: the configuration makes GPU
//! metrics carry the instance id and the GPU's index.

use crate::analysis::Audit;
use crate::domain::{
    AcceleratorKind, Component, GpuUsage, InstanceUsage, Provider, SeriesSource, Signal,
    UtilizationSummary, Window, Workload, floored,
};
use crate::report::doc::{Doc, Record, Table, columns, doc_schema};
use crate::report::shared::next::{Invocation, setup_command};
use crate::report::shared::text::{counted, joined, json_document, safe};
use jiff::Timestamp;

/// Values of the charts `dcgm-exporter` and `kube-state-metrics`, a document each. Nothing
/// in them depends on a cluster.
pub fn helm_values() -> &'static str {
    include_str!("helm.yaml")
}

/// The instant, the window, and the grid of the series in seconds.
type Scope = (Timestamp, Window, u32);

columns! {
    fn scope(scope: Scope) {
        time "as_of", "", Data, scope.0, "";
        time "window_start", "", Data, scope.1.start, "";
        time "window_end", "", Data, scope.1.end, "Exclusive.";
        count "period_seconds", "", Data, scope.2, "The grid of the series, in seconds.";
    }

    fn machines<'a>(row: (&'a Workload, &'a InstanceUsage)) {
        text "instance", "", Data, row.1.instance.to_string(), "";
        text "native", "instance", Screen, row.1.instance.native().to_owned(), "";
        text "name", "name", Screen, row.0.name.clone(), "";
        text "workload", "", Data, row.0.id(), "The id of its workload.";
        text "region", "region", Wide, row.0.key.region.clone(), "";
        text "instance_type", "type", Narrow(3), row.0.key.instance_type.clone(), "";
        text "said_by", "signal", Screen, signal(row.1).to_owned(), "";
        opt word[Signal::NAMES] "signal", "", Data, row.1.signal.map(|(signal, _)| signal.name()), "The signal that was evaluated.";
        opt word[SeriesSource::NAMES] "source", "", Data, row.1.signal.map(|(_, source)| source.name()), "";
        flag "joined_by_hostname", "", Data, row.1.joined_by_hostname, "Whether its metrics were matched by host name or address instead of instance ID.";
        opt percent[100] "mean", "mean", Narrow(0), row.1.summary.as_ref().map(|summary| summary.distribution.mean), "";
        opt percent[100] "p50", "p50", Wide, row.1.summary.as_ref().map(|summary| summary.distribution.p50), "";
        opt percent[100] "p95", "p95", Narrow(0), row.1.summary.as_ref().map(|summary| summary.distribution.p95), "";
        opt percent[100] "p99", "p99", Wide, row.1.summary.as_ref().map(|summary| summary.distribution.p99), "";
        opt percent[100] "max", "max", Narrow(1), row.1.summary.as_ref().map(|summary| summary.max), "";
        opt number[0] "vram_peak_mib", "VRAM MiB", Narrow(2), row.1.gpus.iter().filter_map(|gpu| gpu.vram).map(|vram| vram.peak_mib).reduce(f64::max), "Of the GPU that used the most.";
        opt fraction "idle_share", "", Data, row.1.summary.as_ref().and_then(|summary| summary.idle_share), "Share of the periods in which no GPU reached 1%.";
        count "n_samples", "", Data, row.1.summary.as_ref().map_or(0, |summary| summary.n_samples), "Periods with data.";
        opt count "expected_samples", "", Data, row.1.summary.as_ref().map(|summary| summary.expected_samples), "Periods in which it ran.";
        opt percent "covered", "coverage", Screen, row.1.summary.as_ref().and_then(|summary| floored(summary.coverage() * 100.0, 1).parse::<f64>().ok()), "";
        opt fraction "coverage", "", Data, row.1.summary.as_ref().map(UtilizationSummary::coverage), "Periods with data divided by periods in which it ran.";
        opt count "resolution_seconds", "", Data, row.1.summary.as_ref().map(|summary| summary.period_seconds), "The length of these periods.";
        count "dropped_points", "", Data, row.1.rejected.total(), "Invalid readings.";
        rows[gpus] "gpus", "GPUs", Wide, &row.1.gpus, "";
    }

    fn gpus<'a>(gpu: &'a GpuUsage) {
        count "index", "GPU", Narrow(0), gpu.index, "On the host.";
        opt percent[100] "mean", "mean", Narrow(0), gpu.utilization.map(|figures| figures.mean), "";
        opt percent[100] "p50", "p50", Narrow(0), gpu.utilization.map(|figures| figures.p50), "";
        opt percent[100] "p95", "p95", Narrow(0), gpu.utilization.map(|figures| figures.p95), "";
        opt percent[100] "p99", "p99", Narrow(0), gpu.utilization.map(|figures| figures.p99), "";
        opt percent[100] "max", "max", Narrow(0), gpu.utilization.map(|figures| figures.max), "";
        count "n_samples", "samples", Narrow(0), gpu.samples.count, "";
        opt number[0] "vram_peak_mib", "peak VRAM MiB", Narrow(0), gpu.vram.map(|vram| vram.peak_mib), "";
        opt number[0] "vram_p95_mib", "p95 VRAM MiB", Narrow(0), gpu.vram.and_then(|vram| vram.p95_mib), "";
        opt number[0] "vram_total_mib", "VRAM MiB", Narrow(0), gpu.vram.and_then(|vram| vram.total_mib), "";
        opt number "power_mean_w", "mean W", Narrow(0), gpu.power.map(|power| power.mean_w), "In watts.";
        opt number "temperature_max_c", "max °C", Narrow(0), gpu.temperature_max_c, "In °C.";
    }
}

/// The metrics of an audit as a document. `period_seconds` is the grid of the series.
pub fn metrics_doc(audit: &Audit, period_seconds: u32, invocation: &Invocation) -> Doc {
    let having = |wanted: Option<Signal>| {
        let signals = instances(audit).map(|(_, usage)| usage.signal.map(|(signal, _)| signal));
        signals.filter(|signal| *signal == wanted).count() as u64
    };
    let (silent, power) = (having(None), having(Some(Signal::GpuPowerUtilization)));
    let total = counted(instances(audit).count(), "running instance", "running instances");
    let by_power = if power > 0 { format!(", {power} with power only") } else { String::new() };
    let setup = (silent + power > 0).then(|| setup_command(audit.source, invocation));
    Doc {
        name: "metrics",
        headline: format!("{total}, {silent} without any GPU signal{by_power}"),
        record: Record::of(scope(), &(audit.as_of, audit.window, period_seconds)),
        tables: vec![table(instances(audit))],
        gaps: Some(audit.gaps.clone()),
        next: setup.into_iter().collect(),
        ..Doc::default()
    }
}

schema! {
    /// The JSON schema of `gpucost metrics`.
    metrics_schema: "metrics", [Doc::form_with_gaps(Record::heads(scope()), [table(std::iter::empty())])],
    "GPU utilization and metric coverage of each running instance; docs/json.md has the promises of every document. Utilization is 0-100, shares 0-1, memory in MiB; absent is null, not zero. Keys may be added within a schema version."
}

fn table<'a>(rows: impl Iterator<Item = (&'a Workload, &'a InstanceUsage)>) -> Table {
    let (title, noun) = ("INSTANCES  GPU utilization", ("instance", "instances"));
    Table::of("instances", title, noun, machines(), rows)
}

/// Running instances with their workload, in order of the audit.
fn instances(audit: &Audit) -> impl Iterator<Item = (&Workload, &InstanceUsage)> {
    let workloads = audit.workloads.iter().map(|audited| &*audited.workload);
    let running = workloads.filter(|workload| workload.key.running);
    running.flat_map(|workload| workload.usage.iter().map(move |usage| (workload, usage)))
}

fn signal(usage: &InstanceUsage) -> &'static str {
    match usage.signal {
        None => "none",
        Some((Signal::GpuUtilization, SeriesSource::Profile)) => "profile",
        Some((Signal::GpuUtilization, _)) => "GPU",
        Some((Signal::GpuPowerUtilization, _)) => "power",
    }
}

/// The configuration. JSON has no comments, so the instances stand beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSetup {
    /// The agent's configuration as a JSON document.
    pub configuration: String,
    /// Running instances with NVIDIA GPUs whose utilization is not reported, in
    /// words.
    pub lacking: Vec<String>,
    /// Running instances without a GPU signal that it does nothing for, in
    /// words, each with what applies instead.
    pub beyond: Vec<String>,
}

/// The agent configuration for the running instances of an audit.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn agent_setup(audit: &Audit, namespace: &str) -> Result<AgentSetup, serde_json::Error> {
    let mut configuration: serde_json::Value = serde_json::from_str(include_str!("agent.json"))?;
    configuration["metrics"]["namespace"] = namespace.into();
    let configuration = json_document(&configuration)?;
    let mut setup = AgentSetup { configuration, lacking: Vec::new(), beyond: Vec::new() };
    for (workload, usage) in instances(audit) {
        let names = [&workload.name, &workload.key.instance_type, &workload.key.region];
        let names = joined(names.map(|name| safe(name)), ", ");
        let line = format!("{} ({names})", safe(usage.instance.as_str()));
        match (usage.signal.map(|(signal, _)| signal), applies_instead(workload)) {
            (Some(Signal::GpuUtilization), _) => {}
            (_, Some(advice)) => setup.beyond.push(format!("{line}: {advice}")),
            (Some(_), None) => setup.lacking.push(format!("{line}, only power reported so far")),
            (None, None) => setup.lacking.push(line),
        }
    }
    Ok(setup)
}

/// What applies to a machine of SageMaker or another cloud, or whose accelerators nvidia-smi, which
/// the CloudWatch agent runs, does not know; absent for others: those with GPUs of NVIDIA.
fn applies_instead(workload: &Workload) -> Option<&'static str> {
    let shape = workload.shape.as_ref();
    Some(match (workload.key.component(), shape.map(|shape| shape.accelerator)) {
        (Some(Component::Hosting), _) => "SageMaker publishes metrics of endpoints itself",
        (Some(Component::Cluster), _) => {
            "its exporters report to Prometheus, see `--prometheus-url`"
        }
        (Some(_), _) => "SageMaker publishes no GPU metric of it",
        (None, _) if workload.key.provider != Provider::Aws => {
            "not on AWS; `gpucost setup metrics --prometheus` is for it"
        }
        (None, None) => "unknown type; nvidia-smi support for its accelerator is unknown",
        (None, Some(AcceleratorKind::Gpu)) => {
            let is_amd = shape?.gpu.as_ref()?.model.name().starts_with("Radeon");
            return is_amd.then_some("AMD GPU; not collected by the CloudWatch agent");
        }
        (None, Some(AcceleratorKind::Neuron)) => {
            "Neuron devices; neuron-monitor reports them to Prometheus, see `--prometheus-url`"
        }
        (None, Some(AcceleratorKind::Cpu)) => "no accelerator",
        (None, Some(_)) => "no GPU; accelerator not collected by the CloudWatch agent",
    })
}
