//! Which metrics of which exporters measure GPUs, in which unit, and which of their
//! labels tell the GPUs of a host apart.

use crate::domain::{MIB, Metric, named_enum};

named_enum! {
    /// What a metric says of a GPU.
    Quantity {
        /// Share of time that at least one kernel ran. Of a GPU in MIG mode it is absent
        /// or 0.
        Utilization = "utilization",
        /// Share of time that the graphics or compute engine worked, of a GPU or of a MIG
        /// slice.
        EngineActive = "engine-active",
        MemoryUsed = "memory-used",
        /// One of the amounts that make up the memory in use.
        MemoryUsedPart = "memory-used-part",
        MemoryFree = "memory-free",
        /// What the driver keeps for itself.
        MemoryReserved = "memory-reserved",
        MemoryTotal = "memory-total",
        Power = "power",
        /// Share of time that the multiprocessors had work, over all of them.
        SmActive = "sm-active",
        Temperature = "temperature",
    }
}

impl Quantity {
    /// What it is part of; its unit is that of the metric.
    pub fn metric(self) -> Metric {
        match self {
            Self::Utilization | Self::EngineActive => Metric::GpuUtilization,
            Self::MemoryUsed | Self::MemoryUsedPart => Metric::GpuMemoryUsed,
            Self::MemoryFree | Self::MemoryReserved | Self::MemoryTotal => Metric::GpuMemoryTotal,
            Self::Power => Metric::GpuPowerDraw,
            Self::SmActive => Metric::GpuSmActivity,
            Self::Temperature => Metric::GpuTemperature,
        }
    }

    /// Whether a MIG slice has a value of its own; of the rest it has that of its GPU.
    pub(super) fn is_of_slices(self) -> bool {
        !matches!(self, Self::Power | Self::Temperature)
    }
}

named_enum! {
    /// Who publishes a metric, and so under which labels.
    Exporter {
        /// NVIDIA/dcgm-exporter.
        Dcgm = "dcgm-exporter",
        /// utkuozdemir/nvidia_gpu_exporter.
        NvidiaGpuExporter = "nvidia-gpu-exporter",
        /// ROCm/device-metrics-exporter.
        Amd = "device-metrics-exporter",
        /// neuron-monitor-prometheus.py of the Neuron tools.
        Neuron = "neuron-monitor",
        /// Habana's metric exporter, and Intel's after it.
        Gaudi = "gaudi",
        /// Another one, of which users say what it publishes.
        Other = "other",
    }
}

/// Names of labels, the best first, in any case of letters: dcgm-exporter 1.x writes
/// `uuid` for `UUID`, and early scrapes of AMD's exporter are in capitals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct IdentityLabels {
    /// The index of the GPU on its host.
    pub(super) index: &'static [&'static str],
    pub(super) uuid: &'static [&'static str],
    /// One of the cores of a device; its index counts over all devices of the host.
    pub(super) core: &'static [&'static str],
    /// The MIG slice, whose number holds on its GPU.
    pub(super) slice: &'static [&'static str],
    /// The profile of the slice, such as `3g.20gb`.
    pub(super) profile: &'static [&'static str],
}

impl Exporter {
    pub(super) fn labels(self) -> IdentityLabels {
        let none = IdentityLabels::default();
        match self {
            // `device` is `nvidia0`.
            Self::Dcgm => IdentityLabels {
                index: &["gpu", "device"],
                uuid: &["uuid"],
                slice: &["gpu_i_id"],
                profile: &["gpu_i_profile"],
                ..none
            },
            // The index and the profile stand on series of their own.
            Self::NvidiaGpuExporter => {
                IdentityLabels { uuid: &["uuid"], slice: &["gpu_instance_id"], ..none }
            }
            Self::Amd => IdentityLabels { index: &["gpu_id"], uuid: &["gpu_uuid"], ..none },
            // The device is a label of the CloudWatch agent's own processor.
            Self::Neuron => IdentityLabels {
                index: &["neurondevice", "neuron_device_index", "neuron_device"],
                core: &["neuroncore"],
                ..none
            },
            // `device` is the serial number.
            Self::Gaudi => IdentityLabels { index: &["id"], uuid: &["uuid"], ..none },
            Self::Other => IdentityLabels {
                index: &["gpu", "gpu_id", "index"],
                uuid: &["uuid", "gpu_uuid"],
                slice: &["gpu_i_id"],
                profile: &["gpu_i_profile"],
                ..none
            },
        }
    }
}

/// A metric with what it measures.
#[derive(Debug, Clone, PartialEq)]
pub struct MappedMetric {
    /// As the server has it.
    pub name: String,
    pub quantity: Quantity,
    /// What a value is multiplied by to be a percentage, MiB, watts or degrees Celsius.
    pub scale: f64,
    pub exporter: Exporter,
    /// The label of the index of a GPU, before those that exporters usually have.
    pub index_label: Option<String>,
    /// The label of the UUID in the same way.
    pub uuid_label: Option<String>,
}

/// The known metrics. Of two that measure the same thing of a GPU the first one
/// counts.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricMap {
    pub(super) rows: Vec<MappedMetric>,
}

impl MetricMap {
    /// The metrics that exporters publish under names of their own.
    pub fn builtin() -> Self {
        let rows = BUILTIN.iter().flat_map(|(exporter, name, quantity, scale)| {
            // The prefix of the sample configuration of AMD's exporter.
            let prefixes: &[&str] = match exporter {
                Exporter::Amd => &["", "amd_"],
                _ => &[""],
            };
            prefixes.iter().map(move |prefix| MappedMetric {
                name: format!("{prefix}{name}"),
                quantity: *quantity,
                scale: *scale,
                exporter: *exporter,
                index_label: None,
                uuid_label: None,
            })
        });
        Self { rows: rows.collect() }
    }

    /// Own metrics, before the builtin ones that have other names.
    pub fn extended(own: Vec<MappedMetric>) -> Self {
        let mut rows = own;
        for row in Self::builtin().rows {
            if rows.iter().all(|known| known.name != row.name) {
                rows.push(row);
            }
        }
        Self { rows }
    }
}

/// kube-state-metrics: which machine of the provider a node is.
pub(super) const NODE_INFO: &str = "kube_node_info";
/// nvidia_gpu_exporter: which index a GPU has.
pub(super) const GPU_INFO: &str = "nvidia_smi_gpu_info";
/// nvidia_gpu_exporter: which profile a MIG slice has.
pub(super) const MIG_INFO: &str = "nvidia_smi_mig_info";

const PERCENT_OF_RATIO: f64 = 100.0;
const MIB_OF_BYTES: f64 = 1.0 / MIB;

/// As the exporters' sources and pages have them, with their units: dcgm-exporter in
/// percent, MiB and watts; nvidia_gpu_exporter in shares of one and bytes; AMD's in
/// percent, MB (of 2^20 bytes, as its library counts) and watts; Neuron's in shares of
/// one and bytes; Gaudi's in percent, bytes and milliwatts.
const BUILTIN: &[(Exporter, &str, Quantity, f64)] = {
    use Exporter::{Amd, Dcgm, Gaudi, Neuron, NvidiaGpuExporter};
    use Quantity::{
        EngineActive, MemoryFree, MemoryReserved, MemoryTotal, MemoryUsed, MemoryUsedPart, Power,
        SmActive, Temperature, Utilization,
    };
    &[
        (Dcgm, "DCGM_FI_DEV_GPU_UTIL", Utilization, 1.0),
        (Dcgm, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", EngineActive, PERCENT_OF_RATIO),
        (Dcgm, "DCGM_FI_DEV_FB_USED", MemoryUsed, 1.0),
        (Dcgm, "DCGM_FI_DEV_FB_FREE", MemoryFree, 1.0),
        (Dcgm, "DCGM_FI_DEV_FB_RESERVED", MemoryReserved, 1.0),
        (Dcgm, "DCGM_FI_DEV_FB_TOTAL", MemoryTotal, 1.0),
        (Dcgm, "DCGM_FI_DEV_POWER_USAGE", Power, 1.0),
        (Dcgm, "DCGM_FI_PROF_SM_ACTIVE", SmActive, PERCENT_OF_RATIO),
        (Dcgm, "DCGM_FI_DEV_GPU_TEMP", Temperature, 1.0),
        (NvidiaGpuExporter, "nvidia_smi_utilization_gpu_ratio", Utilization, PERCENT_OF_RATIO),
        (
            NvidiaGpuExporter, "nvidia_smi_mig_graphics_activity_ratio", EngineActive,
            PERCENT_OF_RATIO,
        ),
        (NvidiaGpuExporter, "nvidia_smi_memory_used_bytes", MemoryUsed, MIB_OF_BYTES),
        (NvidiaGpuExporter, "nvidia_smi_mig_memory_used_bytes", MemoryUsed, MIB_OF_BYTES),
        (NvidiaGpuExporter, "nvidia_smi_memory_total_bytes", MemoryTotal, MIB_OF_BYTES),
        (NvidiaGpuExporter, "nvidia_smi_power_draw_watts", Power, 1.0),
        (NvidiaGpuExporter, "nvidia_smi_temperature_gpu", Temperature, 1.0),
        (Amd, "gpu_gfx_activity", Utilization, 1.0),
        (Amd, "gpu_used_vram", MemoryUsed, 1.0),
        (Amd, "gpu_total_vram", MemoryTotal, 1.0),
        // MI3xx, MI2xx, and both.
        (Amd, "gpu_package_power", Power, 1.0),
        (Amd, "gpu_average_package_power", Power, 1.0),
        (Amd, "gpu_power_usage", Power, 1.0),
        (Amd, "gpu_junction_temperature", Temperature, 1.0),
        (Amd, "gpu_edge_temperature", Temperature, 1.0),
        (Neuron, "neuroncore_utilization_ratio", Utilization, PERCENT_OF_RATIO),
        (Neuron, "neuroncore_memory_usage_constants", MemoryUsedPart, MIB_OF_BYTES),
        (Neuron, "neuroncore_memory_usage_model_code", MemoryUsedPart, MIB_OF_BYTES),
        (Neuron, "neuroncore_memory_usage_model_shared_scratchpad", MemoryUsedPart, MIB_OF_BYTES),
        (Neuron, "neuroncore_memory_usage_runtime_memory", MemoryUsedPart, MIB_OF_BYTES),
        (Neuron, "neuroncore_memory_usage_tensors", MemoryUsedPart, MIB_OF_BYTES),
        (Gaudi, "habanalabs_utilization", Utilization, 1.0),
        (Gaudi, "habanalabs_memory_used_bytes", MemoryUsed, MIB_OF_BYTES),
        (Gaudi, "habanalabs_memory_total_bytes", MemoryTotal, MIB_OF_BYTES),
        (Gaudi, "habanalabs_power_mW", Power, 0.001),
        (Gaudi, "habanalabs_temperature_onchip", Temperature, 1.0),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_stands_once_and_is_in_the_unit_of_its_metric() {
        let map = MetricMap::builtin();
        let names: BTreeSet<&str> = map.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names.len(), map.rows.len());
        let scaled = |name: &str, value: f64| {
            let row = map.rows.iter().find(|row| row.name == name);
            row.map(|row| (row.quantity.metric(), row.scale * value))
        };
        for (name, value, metric, expected) in [
            ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.25, Metric::GpuUtilization, 25.0),
            ("nvidia_smi_memory_used_bytes", 1_073_741_824.0, Metric::GpuMemoryUsed, 1_024.0),
            ("amd_gpu_used_vram", 196_592.0, Metric::GpuMemoryUsed, 196_592.0),
            ("gpu_package_power", 750.0, Metric::GpuPowerDraw, 750.0),
            ("habanalabs_power_mW", 98_000.0, Metric::GpuPowerDraw, 98.0),
        ] {
            assert_eq!(scaled(name, value), Some((metric, expected)), "{name}");
        }
    }

    #[test]
    fn own_metrics_come_first_and_replace_those_of_their_name() {
        let own = |name: &str| MappedMetric {
            name: name.to_owned(),
            quantity: Quantity::Utilization,
            scale: 1.0,
            exporter: Exporter::Other,
            index_label: None,
            uuid_label: None,
        };
        let map = MetricMap::extended(vec![own("my_gpu"), own("gpu_gfx_activity")]);
        assert_eq!(map.rows.len(), MetricMap::builtin().rows.len() + 1);
        assert_eq!(map.rows[0], own("my_gpu"));
        let known = map.rows.iter().filter(|row| row.name == "gpu_gfx_activity");
        assert_eq!(known.collect::<Vec<_>>(), [&own("gpu_gfx_activity")]);
    }
}
