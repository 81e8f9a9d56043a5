//! What a series of samples is about: its metric, its statistic, its source.

use super::named::named_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named_enum! {
    /// What a series measures.
    Metric {
        /// Share of time that at least one kernel ran, percent, per GPU.
        GpuUtilization = "gpu_utilization",
        /// Memory in use in MiB, per GPU.
        GpuMemoryUsed = "gpu_memory_used",
        /// Memory of the card as the driver reports it in MiB, per GPU.
        GpuMemoryTotal = "gpu_memory_total",
        /// Power draw in watts, per GPU.
        GpuPowerDraw = "gpu_power_draw",
        /// Core temperature in degrees Celsius, per GPU.
        GpuTemperature = "gpu_temperature",
        /// Encoder sessions, per GPU.
        GpuEncoderSessions = "gpu_encoder_sessions",
        /// Share of time that its multiprocessors had work, over all of them, percent, per GPU.
        GpuSmActivity = "gpu_sm_activity",
        /// Agentless power draw as a percentage of the maximum.
        GpuPowerUtilization = "gpu_power_utilization",
        /// CPU utilization of the instance, percent. Proves that the instance
        /// ran, never that its GPU did.
        CpuUtilization = "cpu_utilization",
        /// Bytes received by the instance in a period.
        NetworkIn = "network_in",
        /// Bytes sent by the instance in a period.
        NetworkOut = "network_out",
    }
}

impl Metric {
    /// Whether values are percentages, so that over 100 is an error.
    pub fn is_percent(self) -> bool {
        self.is_on_grid() || self == Self::GpuSmActivity
    }

    /// Whether verdicts and running times read it period by period.
    pub fn is_on_grid(self) -> bool {
        matches!(self, Self::GpuUtilization | Self::GpuPowerUtilization | Self::CpuUtilization)
    }
}

named_enum! {
    /// How the raw readings of a period became one value.
    Statistic {
        Average = "average",
        Maximum = "maximum",
        Sum = "sum",
    }
}

named_enum! {
    /// Who measured.
    SeriesSource {
        /// The CloudWatch agent on the host, through NVML.
        CloudWatchAgent = "cloudwatch-agent",
        /// A server of the Prometheus family, from an exporter on the host.
        Prometheus = "prometheus",
        /// EC2 itself, without an agent.
        Ec2 = "ec2",
        /// SageMaker, of its endpoints: a mean over all instances of a variant.
        SageMaker = "sagemaker",
        /// A generator: the demo and made-up fixtures.
        Generated = "generated",
        /// `gpucost profile` on the host: last, because it saw a run and the
        /// others the window.
        Profile = "profile",
    }
}

named_enum! {
    /// How a series was matched to its instance.
    JoinedBy {
        /// By the instance's id on the series itself.
        InstanceId = "instance-id",
        /// By the name of its Kubernetes node, of which kube-state-metrics tells the
        /// provider's id.
        ProviderId = "provider-id",
        /// By the name of the host, compared with the private DNS name.
        Hostname = "hostname",
        /// By the address that was scraped, compared with the private DNS name.
        Address = "address",
    }
}

/// Data points that were dropped during recording, or when a series was read, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[serde(deny_unknown_fields, expecting = "an object with a number per reason")]
pub struct Rejected {
    /// Not a number, or infinite.
    pub not_a_number: u64,
    pub negative: u64,
    /// A percentage over 100.
    pub over_100: u64,
    /// A second point with the same time; the last one was kept.
    pub duplicate: u64,
    /// At or after `as_of`.
    pub future: u64,
}

impl Rejected {
    /// How many points were dropped in all.
    pub fn total(self) -> u64 {
        self.not_a_number + self.negative + self.over_100 + self.duplicate + self.future
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            not_a_number: self.not_a_number + other.not_a_number,
            negative: self.negative + other.negative,
            over_100: self.over_100 + other.over_100,
            duplicate: self.duplicate + other.duplicate,
            future: self.future + other.future,
        }
    }
}
