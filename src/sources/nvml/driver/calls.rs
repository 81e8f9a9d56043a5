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

/// Calls, each with the metric that it serves, if it does.
macro_rules! calls {
    ($($(#[$doc:meta])* $call:ident = $name:literal $(=> $metric:ident)?;)*) => {$(
        $(#[$doc])*
        pub(super) const $call: Call =
            Call { name: $name, metric: [$(Some(Metric::$metric),)? None][0] };
    )*};
}
calls! {
    /// The name of the device; in MIG mode it holds the profile.
    NAME = "nvmlDeviceGetName" => Name;
    UUID = "nvmlDeviceGetUUID" => UniqueId;
    /// Whether the GPU is divided, and will be after a reset. Cards that cannot be
    /// divided refuse it, which is not a gap.
    MIG_MODE = "nvmlDeviceGetMigMode";
    /// GPU instance of a MIG device.
    GPU_INSTANCE = "nvmlDeviceGetGpuInstanceId" => MigInstanceIds;
    /// Compute instance of a MIG device.
    COMPUTE_INSTANCE = "nvmlDeviceGetComputeInstanceId" => MigInstanceIds;
    /// Power limit in force, in milliwatts.
    POWER_LIMIT = "nvmlDeviceGetEnforcedPowerLimit" => PowerLimit;
    /// Power limit out of the factory, in milliwatts.
    POWER_DEFAULT_LIMIT = "nvmlDeviceGetPowerManagementDefaultLimit" => DefaultPowerLimit;
    /// PCIe generation of card and system.
    PCIE_GENERATION = "nvmlDeviceGetMaxPcieLinkGeneration" => PcieLink;
    /// PCIe lanes of card and system.
    PCIE_LANES = "nvmlDeviceGetMaxPcieLinkWidth" => PcieLink;

    /// `[kernels, memory]`, percent of time.
    UTILIZATION = "nvmlDeviceGetUtilizationRates" => Utilization;
    /// `[total, free, used]` bytes, without what the driver keeps for itself.
    MEMORY = "nvmlDeviceGetMemoryInfo_v2" => MemoryInUse;
    /// `[total, free, used]` bytes, the driver's own part counted as used.
    MEMORY_V1 = "nvmlDeviceGetMemoryInfo" => MemoryInUse;
    /// Milliwatts.
    POWER = "nvmlDeviceGetPowerUsage" => PowerDraw;
    /// Millijoules since the driver was loaded.
    ENERGY = "nvmlDeviceGetTotalEnergyConsumption" => EnergyCounter;
    /// Degrees Celsius.
    TEMPERATURE = "nvmlDeviceGetTemperature" => Temperature;
    /// Megahertz.
    SM_CLOCK = "nvmlDeviceGetClockInfo.sm" => Clocks;
    /// Megahertz.
    MEMORY_CLOCK = "nvmlDeviceGetClockInfo.memory" => Clocks;
    /// Bits.
    THROTTLE = "nvmlDeviceGetCurrentClocksThrottleReasons" => ThrottleReasons;
    /// Percent of time.
    ENCODER = "nvmlDeviceGetEncoderUtilization" => EncoderUtilization;
    /// Percent of time.
    DECODER = "nvmlDeviceGetDecoderUtilization" => DecoderUtilization;
    /// Bytes sent over PCIe, a counter.
    PCIE_SENT = "nvmlDeviceGetFieldValues.197" => PcieTraffic;
    /// Bytes received over PCIe, a counter.
    PCIE_RECEIVED = "nvmlDeviceGetFieldValues.198" => PcieTraffic;
    /// `[[pid, bytes], …]`.
    COMPUTE = "nvmlDeviceGetComputeRunningProcesses_v3" => Processes;
    /// The same, of drivers before 510.
    COMPUTE_V2 = "nvmlDeviceGetComputeRunningProcesses_v2" => Processes;
    /// `[[pid, bytes], …]`.
    GRAPHICS = "nvmlDeviceGetGraphicsRunningProcesses_v3" => Processes;
    /// `[[pid, bytes], …]`.
    MPS = "nvmlDeviceGetMPSComputeRunningProcesses_v3" => Processes;
    /// `[[pid, microseconds, percent], …]`. Where it is refused, processes are known all the same.
    PROCESS_UTILIZATION = "nvmlDeviceGetProcessUtilization";
    /// `[[microseconds, percent], …]`.
    SAMPLES = "nvmlDeviceGetSamples.gpu" => UtilizationSamples;
    /// Whether XID errors will be told.
    REGISTER_EVENTS = "nvmlDeviceRegisterEvents" => XidErrors;
    /// `[xid, …]`.
    EVENTS = "nvmlEventSetWait_v2" => XidErrors;

    /// Whether the GPU has them.
    GPM_SUPPORT = "nvmlGpmQueryDeviceSupport" => Activity;
    /// Taking a sample of them.
    GPM_SAMPLE = "nvmlGpmSampleGet" => Activity;
    /// What two samples say, as a whole.
    GPM_METRICS = "nvmlGpmMetricsGet" => Activity;
    /// Percent.
    GPM_GRAPHICS = "nvmlGpmMetricsGet.1" => GraphicsActivity;
    /// Percent.
    GPM_SM = "nvmlGpmMetricsGet.2" => MultiprocessorActivity;
    /// Percent.
    GPM_OCCUPANCY = "nvmlGpmMetricsGet.3" => MultiprocessorOccupancy;
    /// Percent.
    GPM_TENSOR = "nvmlGpmMetricsGet.5" => TensorActivity;
    /// Percent.
    GPM_DRAM = "nvmlGpmMetricsGet.10" => MemoryBandwidthActivity;
    /// MiB per second.
    GPM_PCIE_SENT = "nvmlGpmMetricsGet.20" => PcieTraffic;
    /// MiB per second.
    GPM_PCIE_RECEIVED = "nvmlGpmMetricsGet.21" => PcieTraffic;
    /// MiB per second.
    GPM_NVLINK_RECEIVED = "nvmlGpmMetricsGet.60" => NvlinkTraffic;
    /// MiB per second.
    GPM_NVLINK_SENT = "nvmlGpmMetricsGet.61" => NvlinkTraffic;
}

pub(super) const DRIVER_VERSION: &str = "nvmlSystemGetDriverVersion";
/// How many GPUs there are; every sample begins with it.
pub(super) const DEVICE_COUNT: &str = "nvmlDeviceGetCount_v2";
/// A device by its index; the reason when it cannot be had.
pub(super) const HANDLE: &str = "nvmlDeviceGetHandleByIndex_v2";
