//! What a gap is about.

use super::metric::Metric;
use super::named::named_enum;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// What a gap keeps from view: a rule of a gate names what it rests on, and is incomplete by
/// every gap about that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hidden {
    /// Machines that may be there and cost.
    Instances,
    /// Tags of what is known.
    Tags,
    /// Volumes and addresses of what is stopped.
    Storage,
    /// Reservations and savings plans.
    Commitments,
    /// Pods, tasks and devices of clusters.
    Claims,
    /// A cost that is in no sum.
    Sums,
    /// A figure of something that is known, for which rules ask one by one.
    Figures,
    /// Any of these: this program does not know what it is about.
    Anything,
}

/// Each subject with its name and with what a gap about it keeps from view.
macro_rules! subjects {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $hidden:ident;)+) => {
        /// What is missing, in order of name.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum GapSubject {
            $($(#[$doc])* $variant,)+
            /// A metric of an instance or of its GPUs.
            Metric(Metric),
            /// What a driver tells of a GPU.
            Driver(DriverMetric),
            /// Columns that a log of `nvidia-smi` lacks.
            MissingColumns(Vec<LogColumn>),
            /// GPUs of a host.
            Gpus(Vec<GpuLabel>),
            /// Words of an estate or a report that this program has no name for: those of
            /// another version, or of a file that was written by hand.
            Other(Box<str>),
        }

        impl GapSubject {
            /// Every name that stands for itself.
            pub const NAMES: &[&str] = &[$($name,)+];

            /// The name used in files and reports.
            pub fn name(&self) -> Cow<'_, str> {
                match self {
                    $(Self::$variant => Cow::Borrowed($name),)+
                    Self::Metric(metric) => Cow::Borrowed(metric.name()),
                    Self::Driver(metric) => Cow::Borrowed(metric.name()),
                    Self::MissingColumns(columns) => Cow::Owned(listed(columns)),
                    Self::Gpus(gpus) => Cow::Owned(listed(gpus)),
                    Self::Other(words) => Cow::Borrowed(words),
                }
            }

            /// What a gap about it keeps from view, as a rule.
            pub(super) fn hides(&self) -> Hidden {
                match self {
                    $(Self::$variant => Hidden::$hidden,)+
                    Self::Metric(_) | Self::Driver(_) | Self::MissingColumns(_) | Self::Gpus(_) => {
                        Hidden::Figures
                    }
                    Self::Other(_) => Hidden::Anything,
                }
            }

            fn plain(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

subjects! {
    /// An account of an organization.
    Account = "account", Instances;
    /// Public addresses of a region.
    Addresses = "addresses", Storage;
    /// Auto Scaling groups of a region.
    AutoScalingGroups = "Auto Scaling groups", Figures;
    /// What AWS advises about instances of an account.
    AwsOpinion = "AWS recommendations", Figures;
    /// Compute environments of AWS Batch in a region.
    BatchEnvironments = "Batch compute environments", Figures;
    /// A budget of a policy.
    Budget = "budget", Figures;
    /// Capacity reservations of a region.
    CapacityReservations = "capacity reservations", Commitments;
    /// The header of a log.
    ColumnNames = "column names", Figures;
    /// Columns of a log.
    Columns = "columns", Figures;
    Commitment = "commitment", Commitments;
    /// What the commitments of a workload leave open.
    Commitments = "commitments", Figures;
    /// CPU utilization of a workload.
    CpuUtilization = "CPU utilization", Figures;
    /// Devices of a cluster.
    Devices = "devices", Claims;
    /// Figures of a log.
    Figures = "figures", Figures;
    /// How pods use the GPUs that they hold.
    PodUse = "GPU use of pods", Figures;
    /// GPU utilization of a workload.
    GpuUtilization = "GPU utilization", Figures;
    GpuUtilizationMaxima = "GPU utilization maxima", Figures;
    /// GPUs of a host that a run does not name.
    HostGpus = "GPUs", Figures;
    /// Maxima of GPU utilization by the hour.
    HourlyGpuUtilizationMaxima = "hourly GPU utilization maxima", Figures;
    /// The indices of GPUs in a log.
    Index = "index", Figures;
    /// Inference components of a region.
    InferenceComponents = "inference components", Figures;
    Instance = "instance", Instances;
    /// How many instances a planned resource runs.
    InstanceCount = "number of instances", Figures;
    /// A type: its specification, or which it is.
    InstanceType = "instance type", Figures;
    /// Specifications of the types of a region.
    InstanceTypes = "instance types", Figures;
    /// The end of a file of samples.
    LastSample = "the last sample", Figures;
    /// A launch template of a plan.
    LaunchTemplate = "launch template", Figures;
    /// Lines of a log.
    Lines = "lines", Figures;
    /// The price list's prices of some types.
    LivePrice = "live price", Figures;
    /// The price list of a region.
    LivePrices = "live prices", Figures;
    /// How a planned resource is paid for.
    Market = "market", Figures;
    /// How it is paid for, and what it runs on.
    MarketSystemAndTenancy = "market, system and tenancy", Figures;
    MetricPoints = "metric points", Figures;
    /// The metrics of a region.
    Metrics = "metrics", Figures;
    /// All machines of a cluster, in whichever accounts and regions they are.
    Nodes = "nodes", Instances;
    /// The operating system of a planned resource.
    OperatingSystem = "operating system", Figures;
    /// What made the objects that made pods of a cluster.
    Owners = "owners of pods", Figures;
    /// A Terraform plan.
    Plan = "plan", Instances;
    /// Pods of a cluster.
    Pods = "pods", Claims;
    /// A price of compute.
    Price = "price", Figures;
    /// The user's own copy of the price catalog.
    PriceCache = "price cache", Figures;
    /// A file of samples beside an estate.
    ProfileData = "profile data", Figures;
    /// A region, or which it is.
    Region = "region", Instances;
    /// The list of regions.
    Regions = "regions", Instances;
    /// Reserved instances of a region.
    ReservedInstances = "reserved instances", Commitments;
    /// Rows of a log.
    Rows = "rows", Figures;
    RunningTime = "running time", Figures;
    /// Samples of a run.
    Samples = "samples", Figures;
    /// The rate of a type under a savings plan.
    SavingsPlanRate = "savings plan rate", Figures;
    /// Savings plan rates of a region.
    SavingsPlanRates = "savings plan rates", Figures;
    /// Savings plans of the account.
    SavingsPlans = "savings plans", Commitments;
    /// Whether a planned resource belongs to the scope of a budget.
    Scope = "scope", Figures;
    /// Notices of EC2 for a spot instance.
    SpotNotices = "spot notices", Figures;
    /// Spot prices of a region.
    SpotPrices = "spot prices", Figures;
    StoragePrice = "storage price", Figures;
    /// Prices of storage of a region.
    StoragePrices = "storage prices", Figures;
    /// A cost in the sums.
    Sum = "sum", Sums;
    /// Tags of the resources of a region, or of a planned one.
    Tags = "tags", Tags;
    /// What a tag declares of an instance.
    TagValue = "tag value", Figures;
    /// Tasks of Amazon ECS in a region.
    Tasks = "ECS tasks", Claims;
    /// The tenancy of a planned resource.
    Tenancy = "tenancy", Figures;
    /// The time zone of a log.
    TimeZone = "time zone", Figures;
    /// The times of a log.
    Times = "times", Figures;
    /// The column of times of a log.
    Timestamp = "timestamp", Figures;
    /// Training jobs of a region.
    TrainingJobs = "training jobs", Instances;
    /// Training plans of a region.
    TrainingPlans = "training plans", Commitments;
    /// How many hours instances were observed.
    Usage = "usage", Figures;
    UtilizationPerGpu = "utilization per GPU", Figures;
    /// Volumes of a region.
    Volumes = "volumes", Storage;
    VramUse = "VRAM use", Figures;
    /// The waste of an audit.
    Waste = "waste", Figures;
}

named_enum! {
    /// What NVML tells of a GPU, in the words of reports.
    DriverMetric {
        /// The name of the device; in MIG mode it holds the profile.
        Name = "name",
        UniqueId = "unique id",
        /// GPU instance and compute instance of a MIG device.
        MigInstanceIds = "MIG instance ids",
        /// Power limit in force.
        PowerLimit = "power limit",
        /// Power limit out of the factory.
        DefaultPowerLimit = "default power limit",
        /// Generation and lanes of the PCIe link.
        PcieLink = "PCIe link",
        /// Utilization of kernels and of memory.
        Utilization = "utilization",
        MemoryInUse = "memory in use",
        PowerDraw = "power draw",
        /// Energy since the driver was loaded.
        EnergyCounter = "energy counter",
        /// Temperature of the core.
        Temperature = "temperature",
        /// Clocks of multiprocessors and of memory.
        Clocks = "clocks",
        ThrottleReasons = "throttle reasons",
        EncoderUtilization = "encoder utilization",
        DecoderUtilization = "decoder utilization",
        PcieTraffic = "PCIe traffic",
        Processes = "processes",
        /// The driver's own samples of utilization.
        UtilizationSamples = "utilization between two samples (from the driver's buffer)",
        XidErrors = "XID errors",
        /// All counters of the multiprocessors.
        Activity = "multiprocessor, tensor and memory bandwidth activity (GPM)",
        GraphicsActivity = "graphics engine activity",
        MultiprocessorActivity = "multiprocessor activity",
        MultiprocessorOccupancy = "multiprocessor occupancy",
        TensorActivity = "tensor activity",
        MemoryBandwidthActivity = "memory bandwidth activity",
        NvlinkTraffic = "NVLink traffic",
    }
}

named_enum! {
    /// What a summary of a log of `nvidia-smi` rests on, by its names in `--query-gpu`.
    LogColumn {
        /// Percent of time in which a kernel ran.
        Utilization = "utilization.gpu",
        /// Percent of time in which memory was read or written.
        MemoryUtilization = "utilization.memory",
        /// Memory in use, MiB.
        MemoryUsed = "memory.used",
        /// Memory, MiB.
        MemoryTotal = "memory.total",
        /// Power draw, watts.
        PowerDraw = "power.draw",
        /// Power limit, watts.
        PowerLimit = "power.limit",
    }
}

/// A GPU of a host, or a MIG instance of it, such as `GPU 0 slice 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuLabel {
    /// Its index on the host.
    pub index: u16,
    /// The position of the MIG instance on it; absent for the whole GPU.
    pub slice: Option<u16>,
}

impl GpuLabel {
    fn named(name: &str) -> Option<Self> {
        let numbers = name.strip_prefix("GPU ")?;
        let parsed = match numbers.split_once(" slice ") {
            None => Self { index: numbers.parse().ok()?, slice: None },
            Some((index, slice)) => {
                Self { index: index.parse().ok()?, slice: Some(slice.parse().ok()?) }
            }
        };
        (parsed.to_string() == name).then_some(parsed)
    }
}

impl fmt::Display for GpuLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.slice {
            None => write!(f, "GPU {}", self.index),
            Some(slice) => write!(f, "GPU {} slice {slice}", self.index),
        }
    }
}

impl GapSubject {
    /// What a file names.
    pub fn named(name: &str) -> Self {
        Self::plain(name)
            .or_else(|| Metric::from_name(name).map(Self::Metric))
            .or_else(|| DriverMetric::from_name(name).map(Self::Driver))
            .or_else(|| each(name, LogColumn::from_name).map(Self::MissingColumns))
            .or_else(|| each(name, GpuLabel::named).map(Self::Gpus))
            .unwrap_or_else(|| Self::Other(name.into()))
    }
}

fn listed(items: &[impl fmt::Display]) -> String {
    let names: Vec<String> = items.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// The reverse of [`listed`].
fn each<T>(names: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    names.split(", ").map(read).collect()
}

impl From<Metric> for GapSubject {
    fn from(metric: Metric) -> Self {
        Self::Metric(metric)
    }
}

impl From<DriverMetric> for GapSubject {
    fn from(metric: DriverMetric) -> Self {
        Self::Driver(metric)
    }
}

impl fmt::Display for GapSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl Ord for GapSubject {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name().cmp(&other.name())
    }
}

impl PartialOrd for GapSubject {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_of_one_subject_and_read_back() {
        let metrics = Metric::ALL.iter().map(|metric| metric.name());
        let driver = DriverMetric::ALL.iter().map(|metric| metric.name());
        let names: Vec<&str> =
            GapSubject::NAMES.iter().copied().chain(metrics).chain(driver).collect();
        let unique: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(unique.len(), names.len());
        for name in names {
            let subject = GapSubject::named(name);
            assert_eq!(subject.name(), name);
            assert!(!matches!(subject, GapSubject::Other(_)), "{name}");
        }
    }

    #[test]
    fn lists_are_read_back() {
        let columns = vec![LogColumn::Utilization, LogColumn::PowerDraw];
        let columns = GapSubject::MissingColumns(columns);
        assert_eq!(columns.to_string(), "utilization.gpu, power.draw");
        let whole = GpuLabel { index: 0, slice: None };
        let slice = GpuLabel { index: 12, slice: Some(3) };
        let gpus = GapSubject::Gpus(vec![whole, slice]);
        assert_eq!(gpus.to_string(), "GPU 0, GPU 12 slice 3");
        for subject in [columns, gpus] {
            assert_eq!(GapSubject::named(&subject.name()), subject);
        }
    }

    #[test]
    fn other_words_stay_as_they_are() {
        for words in ["", "GPU metrics", "GPU 07", "GPU +1", "power.draw,", "price "] {
            assert_eq!(GapSubject::named(words), GapSubject::Other(words.into()));
            assert_eq!(GapSubject::named(words).name(), words);
        }
    }

    #[test]
    fn subjects_are_in_order_of_name() {
        let mut subjects: Vec<GapSubject> =
            ["volumes", "a thing", "GPUs", "price", "gpu_utilization"]
                .map(GapSubject::named)
                .into();
        subjects.sort();
        let names: Vec<String> = subjects.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["GPUs", "a thing", "gpu_utilization", "price", "volumes"]);
    }
}
