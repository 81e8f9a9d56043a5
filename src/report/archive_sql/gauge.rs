//! What a point measures, as far as a history keeps it.

/// The largest double that rounds to a finite single.
const FINITE: &str = "3.4028235677973366e38";
/// From here on DCGM marks that there is no value: 2^31 - 16.
const BLANK: &str = "2147483632e0";
/// Bytes of a reading: more than any network moves in an hour, and few enough to be added up
/// in 64 bits.
const BYTES: &str = "1e15";

/// What a point measures. The names are those of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gauge {
    /// Percent, per GPU.
    Utilization,
    /// MiB, per GPU.
    MemoryUsed,
    /// MiB, per GPU.
    MemoryTotal,
    /// Watts, per GPU.
    PowerDraw,
    /// Degrees Celsius, per GPU.
    Temperature,
    /// Per GPU.
    EncoderSessions,
    /// Percent of the maximum.
    PowerUtilization,
    /// Percent, per instance.
    Cpu,
    /// Bytes of a reading, per instance.
    NetworkIn,
    /// Bytes of a reading, per instance.
    NetworkOut,
}

impl Gauge {
    pub const ALL: [Self; 10] = [
        Self::Utilization,
        Self::MemoryUsed,
        Self::MemoryTotal,
        Self::PowerDraw,
        Self::Temperature,
        Self::EncoderSessions,
        Self::PowerUtilization,
        Self::Cpu,
        Self::NetworkIn,
        Self::NetworkOut,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Utilization => "gpu_utilization",
            Self::MemoryUsed => "gpu_memory_used",
            Self::MemoryTotal => "gpu_memory_total",
            Self::PowerDraw => "gpu_power_draw",
            Self::Temperature => "gpu_temperature",
            Self::EncoderSessions => "gpu_encoder_sessions",
            Self::PowerUtilization => "gpu_power_utilization",
            Self::Cpu => "cpu_utilization",
            Self::NetworkIn => "network_in",
            Self::NetworkOut => "network_out",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gauge| gauge.name() == name)
    }

    /// Whether it is of the instance, whatever GPU a point names.
    pub(super) fn is_of_instance(self) -> bool {
        matches!(self, Self::Cpu | Self::NetworkIn | Self::NetworkOut)
    }

    /// Values from here on are no numbers.
    pub(super) fn most(self) -> &'static str {
        match self {
            Self::Utilization | Self::PowerUtilization | Self::Cpu => FINITE,
            Self::NetworkIn | Self::NetworkOut => BYTES,
            _ => BLANK,
        }
    }
}
