//! The numbers of machines of a type that are worth trying.

use super::candidates::{CandidateQuery, Considered, NETWORK_HEADROOM, link_gbps};
use super::needs::Demand;
use super::projection::{Projection, Ratio, RatioBasis, is_same_gpu};
use super::spread::Spread;
use crate::catalog::gpu_spec;
use crate::domain::{GpuOffer, InstanceShape, Risk, WorkloadKind};

impl Considered {
    /// Whether the work of single GPUs moves between machines, which only a person can do.
    pub fn moves_work(&self, demand: &Demand) -> bool {
        let offer = self.shape.gpu.as_ref();
        let devices = offer.map_or(0, |offer| offer.share.visible_devices());
        match self.spread {
            Spread::Tenants => true,
            Spread::Replicas => devices < demand.gpus_active,
            Spread::Kept | Spread::Processes => false,
        }
    }

    /// Whether its GPUs do other work than today's: those of another model, and shared ones.
    pub fn is_another_card(&self) -> bool {
        let is_other = |there: Projection| there.ratio.basis != RatioBasis::SameGpu;
        self.spread == Spread::Processes || self.projection.is_some_and(is_other)
    }
}

impl CandidateQuery<'_> {
    /// What is worth trying of a type: the fewest machines first, and of as many what changes
    /// least.
    pub(super) fn layouts(
        &self,
        shape: &InstanceShape,
        ratio: Option<&Ratio>,
    ) -> Vec<(u32, Spread)> {
        let kept = match &shape.gpu {
            Some(other) if self.may_share_gpus(other) => Spread::Processes,
            _ => Spread::Kept,
        };
        let mut layouts = vec![(self.demand.instances, kept)];
        if let (Some(other), Some(ratio)) = (&shape.gpu, ratio)
            && self.accepted > Risk::Low
        {
            let replicas = self.replicas(shape, other, ratio);
            layouts.extend(replicas.map(|count| (count, Spread::Replicas)));
            let tenants = self.tenants(shape, other);
            layouts.extend(tenants.map(|count| (count, Spread::Tenants)));
        }
        layouts.sort_unstable();
        layouts
    }

    /// A service may shrink until its GPUs are as busy as a service may be in its busiest
    /// period, and until its vCPUs and network hold what all use together.
    fn replicas(&self, shape: &InstanceShape, other: &GpuOffer, ratio: &Ratio) -> Option<u32> {
        let demand = self.demand;
        let is_split = self.is_split(other);
        if demand.least_instances >= demand.instances || (is_split && self.is_linked()) {
            return None;
        }
        let gpus = f64::from(other.share.visible_devices());
        let by_gpu = demand.gpu_sum? * ratio.value / (self.policy.serving_target_percent * gpus);
        let count = self.machines(shape, by_gpu)?.max(demand.least_instances);
        (is_split || count < demand.instances).then_some(count)
    }

    /// What holds one tenant a GPU, and single-GPU jobs, which stay on their card, go to as many
    /// machines as they need.
    fn tenants(&self, shape: &InstanceShape, other: &GpuOffer) -> Option<u32> {
        let demand = self.demand;
        let serves = demand.kind == WorkloadKind::Serving;
        let is_apart = self.offer.share.visible_devices() > 1 && !self.is_linked();
        if !is_apart || !(serves || is_same_gpu(self.offer, other)) {
            return None;
        }
        let gpus = f64::from(other.share.visible_devices());
        let by_gpu = demand.tenants? as f64 / gpus;
        let count = self.machines(shape, by_gpu)?.max(demand.least_machines);
        (self.is_split(other) || count < demand.instances).then_some(count)
    }

    /// Machines that GPUs, vCPUs and network of all take together; absent where CPU is unknown.
    fn machines(&self, shape: &InstanceShape, by_gpu: f64) -> Option<u32> {
        let by_cpu = self.vcpu(self.demand.cpu_p95_sum?) / f64::from(shape.vcpu.max(1));
        let link = link_gbps(&shape.instance_type).filter(|link| *link > 0.0);
        let network = self.demand.network_gbps_sum.zip(link);
        let by_network = network.map_or(0.0, |(sum, link)| sum * NETWORK_HEADROOM / link);
        // A quotient that is whole but for its last bits is whole.
        let fewest = (by_gpu.max(by_cpu).max(by_network) - 1e-9).ceil().max(1.0);
        Some(fewest as u32)
    }

    /// Whether a machine has fewer GPUs than one of today uses.
    fn is_split(&self, other: &GpuOffer) -> bool {
        other.share.visible_devices() < self.gpus_needed()
    }

    /// Whether GPUs of a machine work as one, or may.
    fn is_linked(&self) -> bool {
        self.demand.gpus_linked != Some(false)
    }

    /// Whether several of today's GPUs may share one there, which only the highest risk leaves
    /// open: whether the GPUs work as one or not, all that they hold is on it. What may be spread
    /// over cards with NVLink for their bandwidth stays on as many.
    fn may_share_gpus(&self, other: &GpuOffer) -> bool {
        let demand = self.demand;
        self.accepted == Risk::High
            && self.is_split(other)
            && demand.may_share_gpus
            && (demand.gpus_linked == Some(false)
                || (demand.gpus_linked.is_none() && self.has_no_nvlink()))
            && !demand.vram_is_reserved
            && !demand.encodes
    }

    fn has_no_nvlink(&self) -> bool {
        let link = gpu_spec(self.offer).and_then(|spec| spec.nvlink_gbps);
        link.is_some_and(|gbps| gbps <= 0.0)
    }

    /// How many of today's GPUs share each GPU of a machine.
    pub(super) fn per_gpu(&self, spread: Spread, shape: &InstanceShape) -> u16 {
        match (spread, &shape.gpu) {
            (Spread::Processes, Some(other)) => {
                let devices = other.share.visible_devices().max(1);
                self.gpus_needed().div_ceil(devices)
            }
            _ => 1,
        }
    }
}
