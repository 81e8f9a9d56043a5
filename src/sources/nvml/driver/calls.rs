//! The calls that are made, by the names under which traces record them, and
//! the metric that each of them serves.

use crate::domain::DriverMetric as Metric;

/// A call of NVML about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    /// NVML's name, with the argument that distinguishes what it answers.
    pub(super) name: &'static str,
    /// What it tells; absent where its refusal is not a gap. Calls that tell the same
    /// stand in for one another: a metric is missing when none of them answers.
    pub(super) metric: Option<Metric>,
}

const fn call(name: &'static str, metric: Metric) -> Call {
    Call { name, metric: Some(metric) }
}

/// The name of the device; in MIG mode it holds the profile.
pub(super) const NAME: Call = call("nvmlDeviceGetName", Metric::Name);
pub(super) const UUID: Call = call("nvmlDeviceGetUUID", Metric::UniqueId);
/// Whether the GPU is divided, and will be after a reset. Cards that cannot be
/// divided refuse it, which is not a gap.
pub(super) const MIG_MODE: Call = Call { name: "nvmlDeviceGetMigMode", metric: None };
/// GPU instance of a MIG device.
pub(super) const GPU_INSTANCE: Call = call("nvmlDeviceGetGpuInstanceId", Metric::MigInstanceIds);
/// Compute instance of a MIG device.
pub(super) const COMPUTE_INSTANCE: Call =
    call("nvmlDeviceGetComputeInstanceId", Metric::MigInstanceIds);
/// Power limit in force, in milliwatts.
pub(super) const POWER_LIMIT: Call = call("nvmlDeviceGetEnforcedPowerLimit", Metric::PowerLimit);
/// Power limit out of the factory, in milliwatts.
pub(super) const POWER_DEFAULT_LIMIT: Call =
    call("nvmlDeviceGetPowerManagementDefaultLimit", Metric::DefaultPowerLimit);
/// PCIe generation of card and system.
pub(super) const PCIE_GENERATION: Call =
    call("nvmlDeviceGetMaxPcieLinkGeneration", Metric::PcieLink);
/// PCIe lanes of card and system.
pub(super) const PCIE_LANES: Call = call("nvmlDeviceGetMaxPcieLinkWidth", Metric::PcieLink);

/// `[kernels, memory]`, percent of time.
pub(super) const UTILIZATION: Call = call("nvmlDeviceGetUtilizationRates", Metric::Utilization);
/// `[total, free, used]` bytes, without what the driver keeps for itself.
pub(super) const MEMORY: Call = call("nvmlDeviceGetMemoryInfo_v2", Metric::MemoryInUse);
/// `[total, free, used]` bytes, the driver's own part counted as used.
pub(super) const MEMORY_V1: Call = call("nvmlDeviceGetMemoryInfo", Metric::MemoryInUse);
/// Milliwatts.
pub(super) const POWER: Call = call("nvmlDeviceGetPowerUsage", Metric::PowerDraw);
/// Millijoules since the driver was loaded.
pub(super) const ENERGY: Call = call("nvmlDeviceGetTotalEnergyConsumption", Metric::EnergyCounter);
/// Degrees Celsius.
pub(super) const TEMPERATURE: Call = call("nvmlDeviceGetTemperature", Metric::Temperature);
/// Megahertz.
pub(super) const SM_CLOCK: Call = call("nvmlDeviceGetClockInfo.sm", Metric::Clocks);
/// Megahertz.
pub(super) const MEMORY_CLOCK: Call = call("nvmlDeviceGetClockInfo.memory", Metric::Clocks);
/// Bits.
pub(super) const THROTTLE: Call =
    call("nvmlDeviceGetCurrentClocksThrottleReasons", Metric::ThrottleReasons);
/// Percent of time.
pub(super) const ENCODER: Call =
    call("nvmlDeviceGetEncoderUtilization", Metric::EncoderUtilization);
/// Percent of time.
pub(super) const DECODER: Call =
    call("nvmlDeviceGetDecoderUtilization", Metric::DecoderUtilization);
/// Bytes sent over PCIe, a counter.
pub(super) const PCIE_SENT: Call = call("nvmlDeviceGetFieldValues.197", Metric::PcieTraffic);
/// Bytes received over PCIe, a counter.
pub(super) const PCIE_RECEIVED: Call = call("nvmlDeviceGetFieldValues.198", Metric::PcieTraffic);
/// `[[pid, bytes], …]`.
pub(super) const COMPUTE: Call = call("nvmlDeviceGetComputeRunningProcesses_v3", Metric::Processes);
/// The same, of drivers before 510.
pub(super) const COMPUTE_V2: Call =
    call("nvmlDeviceGetComputeRunningProcesses_v2", Metric::Processes);
/// `[[pid, bytes], …]`.
pub(super) const GRAPHICS: Call =
    call("nvmlDeviceGetGraphicsRunningProcesses_v3", Metric::Processes);
/// `[[pid, bytes], …]`.
pub(super) const MPS: Call = call("nvmlDeviceGetMPSComputeRunningProcesses_v3", Metric::Processes);
/// `[[pid, microseconds, percent], …]`. Where it is refused, processes are known all the same.
pub(super) const PROCESS_UTILIZATION: Call =
    Call { name: "nvmlDeviceGetProcessUtilization", metric: None };
/// `[[microseconds, percent], …]`.
pub(super) const SAMPLES: Call = call("nvmlDeviceGetSamples.gpu", Metric::UtilizationSamples);
/// Whether XID errors will be told.
pub(super) const REGISTER_EVENTS: Call = call("nvmlDeviceRegisterEvents", Metric::XidErrors);
/// `[xid, …]`.
pub(super) const EVENTS: Call = call("nvmlEventSetWait_v2", Metric::XidErrors);

/// Whether the GPU has them.
pub(super) const GPM_SUPPORT: Call = call("nvmlGpmQueryDeviceSupport", Metric::Activity);
/// Taking a sample of them.
pub(super) const GPM_SAMPLE: Call = call("nvmlGpmSampleGet", Metric::Activity);
/// What two samples say, as a whole.
pub(super) const GPM_METRICS: Call = call("nvmlGpmMetricsGet", Metric::Activity);
/// Percent.
pub(super) const GPM_GRAPHICS: Call = call("nvmlGpmMetricsGet.1", Metric::GraphicsActivity);
/// Percent.
pub(super) const GPM_SM: Call = call("nvmlGpmMetricsGet.2", Metric::MultiprocessorActivity);
/// Percent.
pub(super) const GPM_OCCUPANCY: Call = call("nvmlGpmMetricsGet.3", Metric::MultiprocessorOccupancy);
/// Percent.
pub(super) const GPM_TENSOR: Call = call("nvmlGpmMetricsGet.5", Metric::TensorActivity);
/// Percent.
pub(super) const GPM_DRAM: Call = call("nvmlGpmMetricsGet.10", Metric::MemoryBandwidthActivity);
/// MiB per second.
pub(super) const GPM_PCIE_SENT: Call = call("nvmlGpmMetricsGet.20", Metric::PcieTraffic);
/// MiB per second.
pub(super) const GPM_PCIE_RECEIVED: Call = call("nvmlGpmMetricsGet.21", Metric::PcieTraffic);
/// MiB per second.
pub(super) const GPM_NVLINK_RECEIVED: Call = call("nvmlGpmMetricsGet.60", Metric::NvlinkTraffic);
/// MiB per second.
pub(super) const GPM_NVLINK_SENT: Call = call("nvmlGpmMetricsGet.61", Metric::NvlinkTraffic);

pub(super) const DRIVER_VERSION: &str = "nvmlSystemGetDriverVersion";
/// How many GPUs there are; every sample begins with it.
pub(super) const DEVICE_COUNT: &str = "nvmlDeviceGetCount_v2";
/// A device by its index; the reason when it cannot be had.
pub(super) const HANDLE: &str = "nvmlDeviceGetHandleByIndex_v2";
