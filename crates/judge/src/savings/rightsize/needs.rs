//! What a workload uses of the type it runs on, wherever that is known from.

use crate::domain::{
    ACTIVE_PERCENT, Distribution, GapSubject, GpuShare, GpuUsage, Group, InstanceUsage, Policy,
    VramSummary, Workload, WorkloadKind, named_enum,
};

named_enum! {
    /// What holds a GPU's work back, and so which figure of another GPU counts.
    Bound {
        /// Memory bandwidth.
        Bandwidth = "bandwidth",
        /// Dense FP16 throughput.
        Compute = "compute",
        /// Not measured: the worse of both ratios counts.
        Unknown = "unknown",
    }
}

/// What a workload uses of its instances, all of one type. Percentages are
/// 0–100.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// What it does, as far as that is declared.
    pub kind: WorkloadKind,
    pub bound: Bound,
    pub instances: u32,
    /// The fewest instances that may do its work: all of them, unless it is a declared
    /// service whose replicas are interchangeable.
    pub least_instances: u32,
    /// The fewest machines for all of it, where each GPU in use may move on its own: replicas of
    /// a service, and one a zone in use.
    pub least_machines: u32,
    /// GPUs in use on the instance that has most of them: all that are not known never
    /// to have worked.
    pub gpus_active: u16,
    /// The same with those that never worked and hold memory, or may hold some.
    pub gpus_held: u16,
    /// GPUs in use on all instances.
    pub gpus_active_in_all: u64,
    /// The same, where each of them works: it may move on its own. Absent where one that only holds
    /// memory, or hardly works, would be left alone on a machine.
    pub tenants: Option<u64>,
    /// What the busiest GPU must have room for; absent like `gpu_peak`.
    pub gpu_peak_largest: Option<f64>,
    /// What its GPUs must have room for: the mean peak of the GPUs in use of an
    /// instance, on the instance where it is highest; absent where it is not known or
    /// none was seen working.
    pub gpu_peak: Option<f64>,
    /// The largest sum over all GPUs of all instances in one period; absent where it
    /// is not known.
    pub gpu_sum: Option<f64>,
    /// Whether no GPU is ever used and none holds memory.
    pub gpus_unused: bool,
    /// Whether no GPU was seen working, so that it is not known how fast one must be.
    pub never_worked: bool,
    /// Whether a GPU encodes video, which says nothing about another's encoder.
    pub encodes: bool,
    /// Whether GPUs of one instance work as one, so that they need what links them; absent
    /// where that is not known.
    pub gpus_linked: Option<bool>,
    /// Whether processes may share a GPU without walls: of one owner, and not in production.
    pub may_share_gpus: bool,
    /// Whether code needs double precision at full rate, by its tag.
    pub needs_fp64: bool,
    /// What a tag states of a GPU, else the peak of the fullest one.
    pub vram_peak_mib: f64,
    /// Whether an engine took that ahead, so that what the work needs of it is not known.
    pub vram_is_reserved: bool,
    /// p95 of the busiest instance; absent when unknown.
    pub cpu_p95: Option<f64>,
    /// Sum of the p95 of all instances; absent when unknown.
    pub cpu_p95_sum: Option<f64>,
    /// p95 of host memory of the fullest instance; absent when unknown.
    pub memory_p95_mib: Option<f64>,
    /// Traffic in the busiest hour of the busiest instance and direction, Gbit/s; absent
    /// unless it was measured on every instance.
    pub network_gbps: Option<f64>,
    /// The same summed over all instances.
    pub network_gbps_sum: Option<f64>,
    /// Whether its instances train together, or may: what lies between them stays.
    pub nodes_talk: bool,
    /// Seconds of the averages that its peaks are of, where they are more than a minute:
    /// shorter peaks are higher. Absent otherwise, of profiled runs, and where it was stated.
    pub averaged_seconds: Option<u32>,
    /// The profiled runs that all this rests on, in words; absent where it was seen
    /// over the whole window or stated.
    pub runs: Option<String>,
}

named_enum! {
    /// Why nothing can be said about another type.
    MissingData {
        /// The catalog does not know the type, or it has no accelerator.
        Shape = "the catalog lists no accelerator for the type",
        Price = "unpriced",
        /// A fraction of a GPU, whose utilization cannot be compared.
        Fraction = "utilization of a fractional GPU is not comparable",
        /// Not every instance reports a GPU signal.
        Signal = "GPU utilization is not reported for all instances",
        /// Not every GPU reports its own.
        PerGpu = "utilization is not reported for long enough for every GPU",
        /// Not every GPU reports its memory.
        Vram = "VRAM usage is not reported for long enough for every GPU",
        /// Not every instance reports its CPU.
        Cpu = "CPU utilization is not reported for long enough for every instance",
    }
}

impl MissingData {
    /// What is missing where that is a measurement; absent for facts of the type.
    pub fn measurement(self) -> Option<GapSubject> {
        match self {
            Self::Signal => Some(GapSubject::GpuUtilization),
            Self::PerGpu => Some(GapSubject::UtilizationPerGpu),
            Self::Vram => Some(GapSubject::VramUse),
            Self::Cpu => Some(GapSubject::CpuUtilization),
            Self::Shape | Self::Price | Self::Fraction => None,
        }
    }
}

/// Averages over so many seconds or fewer show the peaks that count.
const FINE_SECONDS: u32 = 60;

struct InstanceDemand {
    active: u16,
    held: u16,
    /// Sum of the peaks of its GPUs in use, and the largest.
    peak_sum: f64,
    peak_largest: f64,
}

impl InstanceDemand {
    fn of(
        usage: &InstanceUsage,
        workload: &Workload,
        policy: &Policy,
    ) -> Result<Self, MissingData> {
        let mut demand = Self { active: 0, held: 0, peak_sum: 0.0, peak_largest: 0.0 };
        for gpu in &usage.gpus {
            let figures = gpu.utilization.filter(|_| workload.suffices(gpu.samples, policy));
            let figures = figures.ok_or(MissingData::PerGpu)?;
            let in_use = !workload.never_uses(gpu, policy);
            demand.active += u16::from(in_use);
            demand.held += u16::from(in_use || gpu.is_allocated() != Some(false));
            if in_use {
                let peak = peak(gpu, figures, workload.declared_kind());
                demand.peak_sum += peak;
                demand.peak_largest = demand.peak_largest.max(peak);
            }
        }
        Ok(demand)
    }

    /// Mean of the GPUs in use.
    fn peak(&self) -> f64 {
        self.peak_sum / f64::from(self.active.max(1))
    }
}

/// What a GPU must have room for, percent. Work that may wait needs the 95th
/// percentile; where somebody may wait for an answer, and where an hour of work in
/// twenty is not in that, its peaks count.
pub(in crate::savings) fn peak(gpu: &GpuUsage, figures: Distribution, kind: WorkloadKind) -> f64 {
    let may_wait =
        matches!(kind, WorkloadKind::Training | WorkloadKind::Batch | WorkloadKind::Evaluation);
    if may_wait && figures.p95 >= ACTIVE_PERCENT {
        figures.p95
    } else {
        gpu.demand_peak.unwrap_or(figures.max).max(figures.p95)
    }
}

impl Demand {
    /// What a measured workload uses.
    ///
    /// # Errors
    /// What is missing: a figure that was not measured is not zero.
    pub fn of(workload: &Workload, policy: &Policy) -> Result<Self, MissingData> {
        let shape = workload.shape.as_ref().ok_or(MissingData::Shape)?;
        let offer = shape.gpu.as_ref().ok_or(MissingData::Shape)?;
        let GpuShare::Whole(devices) = offer.share else { return Err(MissingData::Fraction) };
        if !workload.is_fully_measured() {
            return Err(MissingData::Signal);
        }
        let mut instances = Vec::with_capacity(workload.usage.len());
        for usage in &workload.usage {
            if usage.gpus.len() < usize::from(devices) {
                return Err(MissingData::PerGpu);
            }
            instances.push(InstanceDemand::of(usage, workload, policy)?);
        }
        let known_cpu = |usage: &InstanceUsage| {
            let samples = usage.cpu_samples;
            let is_enough = samples.is_none_or(|samples| workload.suffices(samples, policy));
            usage.cpu_p95.filter(|_| is_enough)
        };
        let cpu: Option<Vec<f64>> = workload.usage.iter().map(known_cpu).collect();
        let cpu = cpu.ok_or(MissingData::Cpu)?;
        let memory = workload.usage.iter().map(|usage| usage.memory_p95_mib);
        let memory: Option<Vec<f64>> = memory.collect();
        let network: Option<Vec<f64>> = workload
            .usage
            .iter()
            .map(|usage| {
                let network = usage.network?;
                workload.suffices(network.samples, policy).then(|| network.busiest_gbps())
            })
            .collect();
        let largest = |count: fn(&InstanceDemand) -> u16| instances.iter().map(count).max();
        let gpus_active = largest(|instance| instance.active).unwrap_or(0);
        let gpus_unused = never_uses_a_gpu(workload, policy);
        let never_worked = !workload.gpus().any(|gpu| gpu.works() == Some(true));
        let vram = workload.vram().ok_or(MissingData::Vram)?;
        if !workload.suffices(vram.samples, policy) {
            return Err(MissingData::Vram);
        }
        let vram_use_mib = workload.vram_use_mib(&vram);
        let summary = workload.utilization.as_ref();
        let runs = workload.rests_on_runs();
        Ok(Self {
            kind: workload.declared_kind(),
            bound: Bound::Unknown,
            instances: u32::try_from(workload.instances.len()).map_err(|_| MissingData::Signal)?,
            least_instances: least_instances(workload, policy),
            least_machines: if workload.may_serve() {
                least_replicas(workload, policy)
            } else {
                u32::try_from(workload.zones().len()).unwrap_or(u32::MAX)
            },
            gpus_active,
            gpus_held: largest(|instance| instance.held).unwrap_or(0),
            gpus_active_in_all: instances.iter().map(|instance| u64::from(instance.active)).sum(),
            tenants: tenants(workload, policy),
            gpu_peak_largest: instances
                .iter()
                .map(|instance| instance.peak_largest)
                .reduce(f64::max)
                .filter(|_| !never_worked || gpus_unused),
            // What was never seen working says nothing about how fast a GPU must be.
            gpu_peak: instances
                .iter()
                .map(InstanceDemand::peak)
                .reduce(f64::max)
                .filter(|_| !never_worked || gpus_unused),
            gpu_sum: summary
                .map(|summary| summary.largest_sum_percent)
                .filter(|_| !never_worked || gpus_unused),
            gpus_unused,
            never_worked,
            encodes: workload.gpus().any(GpuUsage::encodes),
            gpus_linked: gpus_linked(workload, gpus_active),
            may_share_gpus: !workload.is_production() && !workload.has_several_owners,
            needs_fp64: tag_is(workload, PRECISION_TAG, DOUBLE_PRECISION),
            vram_peak_mib: vram_use_mib.unwrap_or(vram.peak_mib),
            vram_is_reserved: vram_use_mib.is_none(),
            cpu_p95: cpu.iter().copied().reduce(f64::max),
            cpu_p95_sum: Some(cpu.iter().sum()),
            memory_p95_mib: memory.into_iter().flatten().reduce(f64::max),
            nodes_talk: nodes_talk(workload, network.is_some(), policy),
            network_gbps_sum: network.as_ref().map(|gbps| gbps.iter().sum()),
            network_gbps: network.into_iter().flatten().reduce(f64::max),
            averaged_seconds: averaged_seconds(workload).filter(|_| runs.is_none()),
            runs,
        })
    }

    /// GPUs that an instance elsewhere must have: where nothing may go wrong,
    /// one that only holds memory counts too.
    pub(super) fn gpus_needed(&self, counts_held: bool) -> u16 {
        let gpus =
            if counts_held { self.gpus_held.max(self.gpus_active) } else { self.gpus_active };
        gpus.max(1)
    }
}

/// Seconds of the averages that the utilization of a workload is known by, where they hide peaks.
pub fn averaged_seconds(workload: &Workload) -> Option<u32> {
    Some(workload.utilization.as_ref()?.period_seconds).filter(|seconds| *seconds > FINE_SECONDS)
}

/// Tag by which code says what precision it needs.
pub const PRECISION_TAG: &str = "gpucost:precision";
/// Its value for double precision.
pub const DOUBLE_PRECISION: &str = "fp64";

/// Whether a tag has a value, in any case.
fn tag_is(workload: &Workload, tag: &str, expected: &str) -> bool {
    workload.tags.iter().any(|(key, value)| {
        key.eq_ignore_ascii_case(tag) && value.trim().eq_ignore_ascii_case(expected)
    })
}

/// The GPUs of all instances that work, where no other is needed.
fn tenants(workload: &Workload, policy: &Policy) -> Option<u64> {
    let needed =
        |gpu: &&GpuUsage| !workload.never_uses(gpu, policy) || gpu.is_allocated() != Some(false);
    let mut needed = workload.gpus().filter(needed);
    needed.try_fold(0, |sum, gpu| (gpu.is_active() == Some(true)).then_some(sum + 1))
}

/// Whether GPUs in use of one instance work as one: one alone does not, unless a tag says that
/// it works with those of other instances.
fn gpus_linked(workload: &Workload, gpus_active: u16) -> Option<bool> {
    if gpus_active < 2 && workload.declared_link().is_none() {
        return Some(false);
    }
    workload.gpus_linked()
}

/// Whether the nodes of a group may work together: what trains does, unless each job has a GPU
/// of its own; of what is not declared, traffic may show it.
fn nodes_talk(workload: &Workload, network_is_measured: bool, policy: &Policy) -> bool {
    let may_train = match workload.kind {
        WorkloadKind::Training => true,
        _ => workload.declared_kind() == WorkloadKind::Unknown && !network_is_measured,
    };
    workload.instances.len() > 1 && may_train && !workload.runs_on_one_gpu(policy)
}

/// A service may shrink to so many replicas, and to one a zone that it is in, when any
/// replica can answer for another. Everything else keeps its number.
fn least_instances(workload: &Workload, policy: &Policy) -> u32 {
    let count = u32::try_from(workload.instances.len()).unwrap_or(u32::MAX);
    if !is_interchangeable(workload) {
        return count;
    }
    least_replicas(workload, policy).min(count)
}

/// The fewest replicas of a service: those of the policy, and one a zone in use.
pub(in crate::savings) fn least_replicas(workload: &Workload, policy: &Policy) -> u32 {
    let zones = u32::try_from(workload.zones().len()).unwrap_or(u32::MAX);
    policy.min_replicas.max(zones).max(1)
}

/// Tag by which replicas of a service are declared to answer for each other.
pub const REPLICAS_TAG: &str = "gpucost:replicas";
/// Its value.
pub const INTERCHANGEABLE: &str = "interchangeable";

/// GPUs whose VRAM peaks differ by more than this share hold different models.
const SAME_MODEL_SHARE: f64 = 0.05;

/// Whether replicas are declared to answer for each other: a tag says that they serve, and
/// an Auto Scaling group replaces any of them by one of the same template, or a tag says so.
/// Different VRAM contradicts that; the same VRAM proves nothing.
fn is_interchangeable(workload: &Workload) -> bool {
    let is_declared = match workload.key.group {
        Group::AutoScaling(_) => true,
        Group::Tag(_) => tag_is(workload, REPLICAS_TAG, INTERCHANGEABLE),
        Group::Alone(_) => false,
    };
    is_declared
        && workload.declared_kind() == WorkloadKind::Serving
        && !holds_several_models(workload)
}

/// Whether VRAM tells that GPUs hold different models, or does not tell. What engines took
/// ahead is the same whatever they hold.
fn holds_several_models(workload: &Workload) -> bool {
    let vram: Option<Vec<VramSummary>> = workload.gpus().map(|gpu| gpu.vram).collect();
    vram.is_none_or(|vram| {
        let peaks = || vram.iter().map(|vram| vram.peak_mib);
        let largest = peaks().fold(0.0, f64::max);
        let smallest = peaks().fold(f64::INFINITY, f64::min);
        smallest < largest * (1.0 - SAME_MODEL_SHARE)
    })
}

/// Whether a type without a GPU would do: no GPU ever worked, and none holds memory.
fn never_uses_a_gpu(workload: &Workload, policy: &Policy) -> bool {
    workload.rests_on_runs().is_none()
        && workload.gpus().all(|gpu| gpu.is_never_used(policy) && gpu.is_allocated() == Some(false))
}
