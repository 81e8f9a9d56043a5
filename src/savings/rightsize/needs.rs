//! What a workload uses of the type it runs on, wherever that is known from.

use crate::domain::{
    ACTIVE_PERCENT, GpuShare, GpuUsage, Group, InstanceUsage, Policy, Workload, WorkloadKind,
    named_enum,
};

named_enum! {
    /// What holds a GPU's work back, and so which figure of another GPU counts.
    Bound {
        /// Memory bandwidth.
        Bandwidth = "bandwidth",
        /// Dense FP16 throughput.
        Compute = "compute",
        /// Nobody measured it: the worse of both ratios counts.
        Unknown = "unknown",
    }
}

/// What a workload uses of its instances, all of one type. Percentages are
/// 0–100.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// What it does.
    pub kind: WorkloadKind,
    /// What holds its GPUs back.
    pub bound: Bound,
    /// How many instances it has.
    pub instances: u32,
    /// Whether any of them can do the work of another, so that fewer may do.
    pub interchangeable: bool,
    /// GPUs ever active on the instance that has most of them.
    pub gpus_active: u16,
    /// The same with those that only hold memory, or may hold some.
    pub gpus_held: u16,
    /// Active GPUs of all instances.
    pub gpus_active_in_all: u64,
    /// Mean over the active GPUs of an instance of their p95, on the instance
    /// where it is highest; absent where none was seen working, and where the p95
    /// of an active GPU is unknown or sees nothing of its work.
    pub gpu_p95: Option<f64>,
    /// Sum of the p95 of every active GPU of all instances.
    pub gpu_p95_sum: Option<f64>,
    /// Whether no GPU is ever used and none holds memory.
    pub gpus_unused: bool,
    /// Whether a GPU encodes video, which says nothing about another's encoder.
    pub encodes: bool,
    /// Whether active GPUs of one instance may talk to each other.
    pub gpus_talk: bool,
    /// Peak of the fullest GPU.
    pub vram_peak_mib: f64,
    /// p95 of the busiest instance; absent when unknown.
    pub cpu_p95: Option<f64>,
    /// Sum of the p95 of all instances; absent when unknown.
    pub cpu_p95_sum: Option<f64>,
    /// p95 of host memory of the fullest instance; absent when unknown.
    pub memory_p95_mib: Option<f64>,
    /// The profiled runs that all this rests on, in words; absent where it was seen
    /// over the whole window or stated.
    pub runs: Option<String>,
}

named_enum! {
    /// Why nothing can be said about another type.
    Lack {
        /// The book does not know the type, or it has no accelerator.
        Shape = "the type has no accelerator in the book",
        /// It has no price.
        Price = "unpriced",
        /// A fraction of a GPU, whose utilization nobody can compare.
        Fraction = "utilization of a fraction of a GPU does not compare",
        /// Not every instance reports a GPU signal.
        Signal = "not every instance reports GPU utilization",
        /// Not every GPU reports its own.
        PerGpu = "not every GPU reports its own utilization",
        /// Not every GPU reports its memory.
        Vram = "not every GPU reports its VRAM",
        /// Not every instance reports its CPU.
        Cpu = "not every instance reports its CPU",
    }
}

/// What one instance uses.
struct InstanceDemand {
    active: u16,
    held: u16,
    /// Sum over its active GPUs; absent where one was not measured.
    p95_sum: Option<f64>,
}

impl InstanceDemand {
    fn of(usage: &InstanceUsage) -> Result<Self, Lack> {
        let mut found = Self {
            active: 0,
            held: 0,
            p95_sum: Some(0.0),
        };
        for gpu in &usage.gpus {
            let active = gpu.is_active().ok_or(Lack::PerGpu)?;
            found.active += u16::from(active);
            found.held += u16::from(active || gpu.is_allocated() != Some(false));
            if active {
                // What works less than an hour in twenty is not in its p95.
                let p95 = gpu.utilization.map(|figures| figures.p95);
                let p95 = p95.filter(|p95| *p95 >= ACTIVE_PERCENT);
                found.p95_sum = found.p95_sum.zip(p95).map(|(sum, p95)| sum + p95);
            }
        }
        Ok(found)
    }

    /// Mean of the active GPUs.
    fn p95(&self) -> Option<f64> {
        Some(self.p95_sum? / f64::from(self.active.max(1)))
    }
}

impl Demand {
    /// What a measured workload uses.
    ///
    /// # Errors
    /// What is missing: a figure that nobody measured is not zero.
    pub fn of(workload: &Workload, policy: &Policy) -> Result<Self, Lack> {
        let shape = workload.shape.as_ref().ok_or(Lack::Shape)?;
        let offer = shape.gpu.as_ref().ok_or(Lack::Shape)?;
        let GpuShare::Whole(devices) = offer.share else {
            return Err(Lack::Fraction);
        };
        if !workload.is_fully_measured() {
            return Err(Lack::Signal);
        }
        let mut instances = Vec::with_capacity(workload.usage.len());
        for usage in &workload.usage {
            if usage.gpus.len() < usize::from(devices) {
                return Err(Lack::PerGpu);
            }
            instances.push(InstanceDemand::of(usage)?);
        }
        let cpu: Option<Vec<f64>> = workload.usage.iter().map(|usage| usage.cpu_p95).collect();
        let cpu = cpu.ok_or(Lack::Cpu)?;
        let memory = workload.usage.iter().map(|usage| usage.memory_p95_mib);
        let memory: Option<Vec<f64>> = memory.collect();
        let largest = |count: fn(&InstanceDemand) -> u16| instances.iter().map(count).max();
        let gpus_active = largest(|one| one.active).unwrap_or(0);
        let gpus_unused = never_uses_a_gpu(workload, policy);
        // What was never seen working says nothing about how fast a GPU must be.
        let seen_working = gpus_active > 0 || gpus_unused;
        Ok(Self {
            kind: workload.kind,
            bound: Bound::Unknown,
            instances: u32::try_from(workload.instances.len()).map_err(|_| Lack::Signal)?,
            interchangeable: is_interchangeable(workload),
            gpus_active,
            gpus_held: largest(|one| one.held).unwrap_or(0),
            gpus_active_in_all: instances.iter().map(|one| u64::from(one.active)).sum(),
            gpu_p95: instances
                .iter()
                .try_fold(0.0_f64, |most, one| Some(most.max(one.p95()?)))
                .filter(|_| seen_working),
            gpu_p95_sum: instances
                .iter()
                .try_fold(0.0_f64, |sum, one| Some(sum + one.p95_sum?))
                .filter(|_| seen_working),
            gpus_unused,
            encodes: workload.gpus().any(GpuUsage::encodes),
            gpus_talk: gpus_active > 1,
            vram_peak_mib: workload.vram().ok_or(Lack::Vram)?.peak_mib,
            cpu_p95: cpu.iter().copied().reduce(f64::max),
            cpu_p95_sum: Some(cpu.iter().sum()),
            memory_p95_mib: memory.into_iter().flatten().reduce(f64::max),
            runs: workload.rests_on_runs(),
        })
    }

    /// GPUs that an instance elsewhere must have: where nothing may go wrong,
    /// one that only holds memory counts too.
    pub(super) fn gpus_needed(&self, counts_held: bool) -> u16 {
        let gpus = if counts_held {
            self.gpus_held.max(self.gpus_active)
        } else {
            self.gpus_active
        };
        gpus.max(1)
    }
}

/// GPUs whose VRAM peaks differ by more than this share hold different models.
const SAME_MODEL_SHARE: f64 = 0.05;

/// An Auto Scaling group replaces its instances at will; replicas of a service
/// answer the same requests, which the same memory on every GPU tells. GPUs that
/// hold different models cannot stand in for each other.
fn is_interchangeable(workload: &Workload) -> bool {
    match workload.key.group {
        Group::AutoScaling(_) => true,
        Group::Tag(_) => workload.kind == WorkloadKind::Serving && holds_one_model(workload),
        Group::Alone(_) => false,
    }
}

fn holds_one_model(workload: &Workload) -> bool {
    let peaks: Option<Vec<f64>> = workload
        .gpus()
        .map(|gpu| gpu.vram.map(|vram| vram.peak_mib))
        .collect();
    peaks.is_some_and(|peaks| {
        let largest = peaks.iter().copied().fold(0.0, f64::max);
        let smallest = peaks.iter().copied().fold(f64::INFINITY, f64::min);
        smallest >= largest * (1.0 - SAME_MODEL_SHARE)
    })
}

/// Whether a type without a GPU would do: no reading of as many days as idleness
/// takes ever reached 1 %, and no memory is held.
fn never_uses_a_gpu(workload: &Workload, policy: &Policy) -> bool {
    let of_the_window = workload.rests_on_runs().is_none();
    let observed = workload.utilization.as_ref().is_some_and(|summary| {
        summary.max < ACTIVE_PERCENT
            && summary.maximum_p99.is_some()
            && summary.sampled_hours() >= policy.idle_min_days * 24.0
    });
    of_the_window
        && observed
        && workload
            .gpus()
            .all(|gpu| gpu.is_allocated() == Some(false) && !gpu.encodes())
}
