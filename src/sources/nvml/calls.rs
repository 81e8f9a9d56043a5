//! The calls that are made, by the names under which traces record them, and
//! the metric that each of them serves.

/// A call of NVML about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    /// NVML's name, with the argument that distinguishes what it answers.
    pub(super) name: &'static str,
    /// What it tells, in words. Calls that tell the same stand in for one
    /// another: a metric is missing when none of them answers.
    pub(super) metric: &'static str,
}

const fn call(name: &'static str, metric: &'static str) -> Call {
    Call { name, metric }
}

/// The name of the device; in MIG mode it holds the profile.
pub(super) const NAME: Call = call("nvmlDeviceGetName", "name");
/// The unique id.
pub(super) const UUID: Call = call("nvmlDeviceGetUUID", "unique id");
/// Whether the GPU is divided, and will be after a reset. Cards that cannot be
/// divided refuse it, which is no gap.
pub(super) const MIG_MODE: Call = call("nvmlDeviceGetMigMode", "");
/// GPU instance of a MIG device.
pub(super) const GPU_INSTANCE: Call = call("nvmlDeviceGetGpuInstanceId", "MIG instance ids");
/// Compute instance of a MIG device.
pub(super) const COMPUTE_INSTANCE: Call =
    call("nvmlDeviceGetComputeInstanceId", "MIG instance ids");
/// Power limit in force, in milliwatts.
pub(super) const POWER_LIMIT: Call = call("nvmlDeviceGetEnforcedPowerLimit", "power limit");
/// Power limit out of the factory, in milliwatts.
pub(super) const POWER_DEFAULT_LIMIT: Call = call(
    "nvmlDeviceGetPowerManagementDefaultLimit",
    "default power limit",
);
/// PCIe generation of card and system.
pub(super) const PCIE_GENERATION: Call = call("nvmlDeviceGetMaxPcieLinkGeneration", "PCIe link");
/// PCIe lanes of card and system.
pub(super) const PCIE_LANES: Call = call("nvmlDeviceGetMaxPcieLinkWidth", "PCIe link");

/// `[kernels, memory]`, percent of time.
pub(super) const UTILIZATION: Call = call("nvmlDeviceGetUtilizationRates", "utilization");
/// `[total, free, used]` bytes, without what the driver keeps for itself.
pub(super) const MEMORY: Call = call("nvmlDeviceGetMemoryInfo_v2", "memory in use");
/// `[total, free, used]` bytes, the driver's own part counted as used.
pub(super) const MEMORY_V1: Call = call("nvmlDeviceGetMemoryInfo", "memory in use");
/// Milliwatts.
pub(super) const POWER: Call = call("nvmlDeviceGetPowerUsage", "power draw");
/// Millijoules since the driver was loaded.
pub(super) const ENERGY: Call = call("nvmlDeviceGetTotalEnergyConsumption", "energy counter");
/// Degrees Celsius.
pub(super) const TEMPERATURE: Call = call("nvmlDeviceGetTemperature", "temperature");
/// Megahertz.
pub(super) const SM_CLOCK: Call = call("nvmlDeviceGetClockInfo.sm", "clocks");
/// Megahertz.
pub(super) const MEMORY_CLOCK: Call = call("nvmlDeviceGetClockInfo.memory", "clocks");
/// Bits.
pub(super) const THROTTLE: Call = call(
    "nvmlDeviceGetCurrentClocksThrottleReasons",
    "throttle reasons",
);
/// Percent of time.
pub(super) const ENCODER: Call = call("nvmlDeviceGetEncoderUtilization", "encoder utilization");
/// Percent of time.
pub(super) const DECODER: Call = call("nvmlDeviceGetDecoderUtilization", "decoder utilization");
/// Bytes sent over PCIe, a counter.
pub(super) const PCIE_SENT: Call = call("nvmlDeviceGetFieldValues.197", "PCIe traffic");
/// Bytes received over PCIe, a counter.
pub(super) const PCIE_RECEIVED: Call = call("nvmlDeviceGetFieldValues.198", "PCIe traffic");
/// `[[pid, bytes], …]`.
pub(super) const COMPUTE: Call = call("nvmlDeviceGetComputeRunningProcesses_v3", "processes");
/// The same, of drivers before 510.
pub(super) const COMPUTE_V2: Call = call("nvmlDeviceGetComputeRunningProcesses_v2", "processes");
/// `[[pid, bytes], …]`.
pub(super) const GRAPHICS: Call = call("nvmlDeviceGetGraphicsRunningProcesses_v3", "processes");
/// `[[pid, bytes], …]`.
pub(super) const MPS: Call = call("nvmlDeviceGetMPSComputeRunningProcesses_v3", "processes");
/// `[[microseconds, percent], …]`.
pub(super) const SAMPLES: Call = call(
    "nvmlDeviceGetSamples.gpu",
    "utilization between two samples (from the driver's buffer)",
);
/// Whether XID errors will be told.
pub(super) const REGISTER_EVENTS: Call = call("nvmlDeviceRegisterEvents", "XID errors");
/// `[xid, …]`.
pub(super) const EVENTS: Call = call("nvmlEventSetWait_v2", "XID errors");

/// What the counters of the multiprocessors are called in gaps.
const ACTIVITY: &str = "multiprocessor, tensor and memory bandwidth activity (GPM)";
/// Whether the GPU has them.
pub(super) const GPM_SUPPORT: Call = call("nvmlGpmQueryDeviceSupport", ACTIVITY);
/// Taking a sample of them.
pub(super) const GPM_SAMPLE: Call = call("nvmlGpmSampleGet", ACTIVITY);
/// What two samples say, as a whole.
pub(super) const GPM_METRICS: Call = call("nvmlGpmMetricsGet", ACTIVITY);
/// Percent.
pub(super) const GPM_GRAPHICS: Call = call("nvmlGpmMetricsGet.1", "graphics engine activity");
/// Percent.
pub(super) const GPM_SM: Call = call("nvmlGpmMetricsGet.2", "multiprocessor activity");
/// Percent.
pub(super) const GPM_OCCUPANCY: Call = call("nvmlGpmMetricsGet.3", "multiprocessor occupancy");
/// Percent.
pub(super) const GPM_TENSOR: Call = call("nvmlGpmMetricsGet.5", "tensor activity");
/// Percent.
pub(super) const GPM_DRAM: Call = call("nvmlGpmMetricsGet.10", "memory bandwidth activity");
/// MiB per second.
pub(super) const GPM_PCIE_SENT: Call = call("nvmlGpmMetricsGet.20", "PCIe traffic");
/// MiB per second.
pub(super) const GPM_PCIE_RECEIVED: Call = call("nvmlGpmMetricsGet.21", "PCIe traffic");
/// MiB per second.
pub(super) const GPM_NVLINK_RECEIVED: Call = call("nvmlGpmMetricsGet.60", "NVLink traffic");
/// MiB per second.
pub(super) const GPM_NVLINK_SENT: Call = call("nvmlGpmMetricsGet.61", "NVLink traffic");

/// The version of the driver.
pub(super) const DRIVER_VERSION: &str = "nvmlSystemGetDriverVersion";
/// How many GPUs there are; every sample begins with it.
pub(super) const DEVICE_COUNT: &str = "nvmlDeviceGetCount_v2";
/// A device by its index; the reason when it cannot be had.
pub(super) const HANDLE: &str = "nvmlDeviceGetHandleByIndex_v2";
