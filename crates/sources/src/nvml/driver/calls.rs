//! The calls that are made, by the names under which traces record them, with the metric that
//! each of them serves; and asking one device: what it does not support is remembered, what says
//! that it is gone ends the sample, and every answer can be recorded.

use crate::domain::DriverMetric;
use nvml_wrapper::error::NvmlError;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A call of NVML about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    /// NVML's name, with the argument that distinguishes what it answers.
    pub(super) name: &'static str,
    /// What it tells; absent where its refusal is not a gap. Calls that tell the same
    /// stand in for one another: a metric is missing when none of them answers.
    pub(super) metric: Option<DriverMetric>,
}

/// Calls, each with the metric that it serves, if it does.
macro_rules! calls {
    ($($(#[$doc:meta])* $call:ident = $name:literal $(=> $metric:ident)?;)*) => {$(
        $(#[$doc])*
        pub(super) const $call: Call =
            Call { name: $name, metric: [$(Some(DriverMetric::$metric),)? None][0] };
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

/// Why a call is not made again; of several the first tells most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Refusal {
    NoPermission,
    NotSupported,
    /// The library has no such call.
    TooOld,
}

impl Refusal {
    fn of(error: &NvmlError) -> Option<Self> {
        match error {
            NvmlError::NotSupported | NvmlError::VgpuEccNotSupported => Some(Self::NotSupported),
            NvmlError::FunctionNotFound | NvmlError::FailedToLoadSymbol(_) => Some(Self::TooOld),
            NvmlError::NoPermission => Some(Self::NoPermission),
            _ => None,
        }
    }
}

/// What an error says about the device as a whole, when it says that there is
/// no point in asking it for more.
fn loss_of(error: &NvmlError) -> Option<&'static str> {
    match error {
        NvmlError::GpuLost => Some("the GPU fell off the bus or cannot be reached"),
        NvmlError::ResetRequired => Some("the GPU needs a reset"),
        NvmlError::Uninitialized | NvmlError::DriverNotLoaded => {
            Some("the NVIDIA driver is no longer loaded")
        }
        NvmlError::LibRmVersionMismatch => Some("the NVIDIA driver was replaced"),
        NvmlError::IrqIssue => Some("the kernel reports an interrupt problem with the GPU"),
        _ => None,
    }
}

/// Why a device or a driver does not answer, in words.
pub(super) fn reason_of(error: &NvmlError) -> String {
    loss_of(error).map_or_else(|| format!("NVML error: {error}"), str::to_owned)
}

/// An error as traces hold it: NVML's code.
pub(super) fn recorded_error(error: NvmlError) -> Value {
    let error = match error {
        NvmlError::FailedToLoadSymbol(_) => NvmlError::FunctionNotFound,
        error => error,
    };
    json!({ "error": u32::from(error) })
}

/// Asks one device.
#[derive(Debug, Default)]
pub(super) struct Probe {
    /// Calls that are not made again.
    refused: BTreeMap<Call, Refusal>,
    /// Metrics that were told at least once.
    pub(super) reported: BTreeSet<DriverMetric>,
    /// Why the device is gone, since this sample.
    loss: Option<String>,
    /// Why a call of this sample failed without more being known.
    failure: Option<String>,
    /// Whether a call of this sample was answered.
    has_answered: bool,
    /// What the calls of this sample answered, when that is recorded.
    answers: Option<BTreeMap<&'static str, Value>>,
}

impl Probe {
    /// A probe that keeps what is answered, or not.
    pub(super) fn new(is_recorded: bool) -> Self {
        Self { answers: is_recorded.then(BTreeMap::new), ..Self::default() }
    }

    /// Begins a sample.
    pub(super) fn begin(&mut self) {
        self.loss = None;
        self.failure = None;
        self.has_answered = false;
    }

    /// Why the device is lost, after a sample: it says so, or it answers nothing.
    pub(super) fn loss(&self) -> Option<&str> {
        self.loss.as_deref().or(self.failure.as_deref().filter(|_| !self.has_answered))
    }

    /// Makes a call unless it was refused before or the device is gone; absent
    /// when it does not answer. What `answer` gives is recorded as it is.
    pub(super) fn ask<T: Serialize>(
        &mut self,
        call: Call,
        answer: impl FnOnce() -> Result<T, NvmlError>,
    ) -> Option<T> {
        if !self.may_ask(call) {
            return None;
        }
        self.heard(call, answer())
    }

    pub(super) fn may_ask(&self, call: Call) -> bool {
        self.loss.is_none() && !self.refused.contains_key(&call)
    }

    /// Takes note of an answer.
    pub(super) fn heard<T: Serialize>(
        &mut self,
        call: Call,
        answer: Result<T, NvmlError>,
    ) -> Option<T> {
        let answer = answer.inspect(|value| self.note(call, value));
        answer.map_err(|error| self.failed(call, error)).ok()
    }

    /// Takes note of an answer that came in several calls.
    pub(super) fn note<T: Serialize>(&mut self, call: Call, value: &T) {
        self.has_answered = true;
        self.reported.extend(call.metric);
        if let Some(answers) = &mut self.answers {
            answers.insert(call.name, serde_json::to_value(value).unwrap_or(Value::Null));
        }
    }

    /// Not to be asked again, without an error from the driver.
    pub(super) fn refuse(&mut self, call: Call, refusal: Refusal) {
        if let Some(metric) = call.metric {
            self.reported.remove(&metric);
        }
        self.refused.insert(call, refusal);
    }

    fn failed(&mut self, call: Call, error: NvmlError) {
        if let Some(refusal) = Refusal::of(&error) {
            self.has_answered |= refusal == Refusal::NotSupported;
            self.refused.insert(call, refusal);
        } else if let Some(loss) = loss_of(&error) {
            self.loss = Some(loss.to_owned());
        } else {
            self.failure = Some(reason_of(&error));
        }
        self.record(call.name, recorded_error(error));
    }

    /// Records an answer about the device that is not this probe's to judge.
    pub(super) fn record(&mut self, name: &'static str, answer: Value) {
        if let Some(answers) = &mut self.answers {
            answers.insert(name, answer);
        }
    }

    /// Why a call is not made again, if it is not.
    pub(super) fn refusal(&self, call: Call) -> Option<Refusal> {
        self.refused.get(&call).copied()
    }

    /// The metric of each call that was refused, and why.
    pub(super) fn refusals(&self) -> impl Iterator<Item = (DriverMetric, Refusal)> {
        self.refused.iter().filter_map(|(call, refusal)| Some((call.metric?, *refusal)))
    }

    /// Hands over what was answered since the last time.
    pub(super) fn take_answers(&mut self) -> BTreeMap<&'static str, Value> {
        self.answers.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
