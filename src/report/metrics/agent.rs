//! `gpucost setup metrics`: the CloudWatch agent configuration that makes GPU
//! metrics carry the instance id and the GPU's index, and whom it is for.

use super::instances;
use crate::analysis::Audit;
use crate::domain::{
    AcceleratorKind, Component, InstanceShape, InstanceUsage, Provider, Signal, Workload,
};
use crate::report::shared::text::{joined, json_document, safe};
use serde_json::Value;

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
    let mut configuration: Value = serde_json::from_str(include_str!("agent.json"))?;
    configuration["metrics"]["namespace"] = namespace.into();
    let configuration = json_document(&configuration)?;
    let mut setup = AgentSetup { configuration, lacking: Vec::new(), beyond: Vec::new() };
    for (workload, usage) in instances(audit) {
        let signal = usage.signal.map(|(signal, _)| signal);
        if signal == Some(Signal::GpuUtilization) {
            continue;
        }
        let line = described(workload, usage);
        let own = match workload.key.component() {
            Some(component) => Some(of_component(component)),
            None if workload.key.provider != Provider::Aws => {
                Some("not on AWS; `gpucost setup metrics --prometheus` is for it")
            }
            None => other_agent(workload.shape.as_ref()),
        };
        match own {
            Some(advice) => setup.beyond.push(format!("{line}: {advice}")),
            None if signal.is_some() => {
                setup.lacking.push(format!("{line}, only power reported so far"))
            }
            None => setup.lacking.push(line),
        }
    }
    Ok(setup)
}

fn described(workload: &Workload, usage: &InstanceUsage) -> String {
    let of = [&workload.name, &workload.key.instance_type, &workload.key.region];
    format!("{} ({})", safe(usage.instance.as_str()), joined(of.map(|name| safe(name)), ", "))
}

/// What tells of a machine that SageMaker runs.
fn of_component(component: Component) -> &'static str {
    match component {
        Component::Hosting => "SageMaker publishes metrics of endpoints itself",
        Component::Cluster => "its exporters report to Prometheus, see `--prometheus-url`",
        _ => "SageMaker publishes no GPU metric of it",
    }
}

/// What reports on accelerators that nvidia-smi, which the CloudWatch agent
/// asks, does not know; `None` for those that it knows: NVIDIA's.
fn other_agent(shape: Option<&InstanceShape>) -> Option<&'static str> {
    let Some(shape) = shape else {
        return Some("unknown type; nvidia-smi support for its accelerator is unknown");
    };
    match shape.accelerator {
        AcceleratorKind::Gpu => {
            let model = shape.gpu.as_ref().map_or("", |offer| offer.model.name());
            model.starts_with("Radeon").then_some("AMD GPU; not collected by the CloudWatch agent")
        }
        AcceleratorKind::Neuron => Some(
            "Neuron devices; neuron-monitor reports them to Prometheus, see `--prometheus-url`",
        ),
        AcceleratorKind::Inference | AcceleratorKind::Media | AcceleratorKind::Fpga => {
            Some("no GPU; accelerator not collected by the CloudWatch agent")
        }
        AcceleratorKind::Cpu => Some("no accelerator"),
    }
}
