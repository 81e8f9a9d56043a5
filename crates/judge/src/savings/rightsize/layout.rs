//! The numbers of machines of a type that are worth trying.

use super::candidates::{CandidateQuery, Considered, NETWORK_HEADROOM, link_gbps};
use super::needs::Demand;
use super::price::{Layout, Spread};
use super::projection::{Projection, Ratio, RatioBasis, is_same_gpu, usable_vram_mib};
use crate::catalog::gpu_spec;
use crate::domain::{GpuOffer, InstanceShape, Risk, WorkloadKind};
use crate::savings::MPS_CLIENTS;

impl Considered {
    /// Whether the work of single GPUs moves between machines, which only a person can do.
    pub fn moves_work(&self, demand: &Demand) -> bool {
        let offer = self.shape.gpu.as_ref();
        let devices = offer.map_or(0, |offer| offer.share.visible_devices());
        match self.spread {
            Spread::Tenants => true,
            Spread::Replicas => devices < demand.gpus_active,
            Spread::Kept => false,
        }
    }

    /// Whether several of today's GPUs share one of its own, as processes.
    pub fn shares_gpus(&self) -> bool {
        self.per_gpu > 1
    }

    /// Whether its GPUs do other work than today's: those of another model, and shared ones.
    pub fn is_another_card(&self) -> bool {
        let is_other = |there: Projection| there.ratio.basis != RatioBasis::SameGpu;
        self.shares_gpus() || self.projection.is_some_and(is_other)
    }
}

impl CandidateQuery<'_> {
    /// What is worth trying of a type: the fewest machines first, and of as many what changes
    /// least.
    pub(super) fn layouts(&self, shape: &InstanceShape, ratio: Option<&Ratio>) -> Vec<Layout> {
        let per_gpu = match &shape.gpu {
            Some(other) if self.may_share_on_each(other) => {
                self.gpus_needed().div_ceil(other.share.visible_devices().max(1))
            }
            _ => 1,
        };
        let mut layouts = vec![(self.demand.instances, Spread::Kept, per_gpu)];
        if let (Some(other), Some(ratio)) = (&shape.gpu, ratio)
            && self.accepted > Risk::Low
        {
            let replicas = self.replicas(shape, other, ratio);
            layouts.extend(replicas.map(|count| (count, Spread::Replicas, 1)));
            for per_gpu in 1..=self.most_tenants(other, ratio) {
                let tenants = self.tenants(shape, other, per_gpu);
                layouts.extend(tenants.map(|count| (count, Spread::Tenants, per_gpu)));
            }
        }
        layouts.sort_unstable();
        layouts
    }

    /// A service may shrink until its GPUs are as busy as a service may be in its busiest
    /// period, and until its vCPUs and network hold what all use together.
    fn replicas(&self, shape: &InstanceShape, offer: &GpuOffer, ratio: &Ratio) -> Option<u32> {
        let demand = self.demand;
        let is_split = self.is_split(offer);
        if demand.least_instances >= demand.instances || (is_split && self.is_linked()) {
            return None;
        }
        let gpus = f64::from(offer.share.visible_devices());
        let by_gpu = demand.gpu_sum? * ratio.value / (self.policy.serving_target_percent * gpus);
        let count = self.machines(shape, by_gpu)?.max(demand.least_instances);
        (is_split || count < demand.instances).then_some(count)
    }

    /// What holds one tenant a GPU, and single-GPU jobs, which stay on their card, go to as many
    /// machines as they need where so many share a GPU.
    fn tenants(&self, shape: &InstanceShape, offer: &GpuOffer, per_gpu: u16) -> Option<u32> {
        let demand = self.demand;
        let serves = demand.kind == WorkloadKind::Serving;
        let is_apart = self.offer.share.visible_devices() > 1 && !self.is_linked();
        if !is_apart || !(serves || is_same_gpu(self.offer, offer)) {
            return None;
        }
        let places = f64::from(offer.share.visible_devices()) * f64::from(per_gpu);
        let by_gpu = demand.tenants? as f64 / places;
        let count = self.machines(shape, by_gpu)?.max(demand.least_machines);
        (self.is_split(offer) || count < demand.instances).then_some(count)
    }

    /// Tenants of a service that a GPU has room for, each as large and as busy as the largest.
    fn most_tenants(&self, offer: &GpuOffer, ratio: &Ratio) -> u16 {
        let demand = self.demand;
        let is_apart = demand.gpus_linked == Some(false) && demand.kind == WorkloadKind::Serving;
        if !(self.may_share_gpus() && is_apart) {
            return 1;
        }
        let by_load = demand.gpu_peak_largest.map(|peak| peak * ratio.value);
        let by_load = by_load.map(|peak| self.policy.serving_target_percent / peak);
        let usable = usable_vram_mib(self.offer, offer).ok();
        let by_vram = usable.map(|mib| mib as f64 / self.vram_mib());
        let least = by_load.zip(by_vram).map(|(load, vram)| load.min(vram));
        least.map_or(1.0, |least| (least + 1e-9).floor()).clamp(1.0, MPS_CLIENTS as f64) as u16
    }

    /// What a GPU must have room for: of GPUs with work of their own, the busiest too.
    pub(super) fn with_largest(&self, mean: Option<f64>) -> Option<f64> {
        let is_apart = self.demand.gpus_linked == Some(false);
        let largest = self.demand.gpu_peak_largest.filter(|_| is_apart);
        mean.map(|mean| largest.map_or(mean, |largest| largest.max(mean)))
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
    fn is_split(&self, offer: &GpuOffer) -> bool {
        offer.share.visible_devices() < self.gpus_needed()
    }

    /// Whether GPUs of a machine work as one, or may.
    fn is_linked(&self) -> bool {
        self.demand.gpus_linked != Some(false)
    }

    /// Whether several of today's GPUs may share one, which only the highest risk leaves open.
    fn may_share_gpus(&self) -> bool {
        let demand = self.demand;
        self.accepted == Risk::High
            && demand.may_share_gpus
            && !demand.vram_is_reserved
            && !demand.encodes
    }

    /// Whether those of a machine may share the fewer GPUs of one: whether they work as one or
    /// not, all that they hold is on it. What may be spread over cards with NVLink for their
    /// bandwidth stays on as many.
    fn may_share_on_each(&self, offer: &GpuOffer) -> bool {
        let linked = self.demand.gpus_linked;
        let is_apart = linked == Some(false) || (linked.is_none() && self.has_no_nvlink());
        self.may_share_gpus() && self.is_split(offer) && is_apart
    }

    fn has_no_nvlink(&self) -> bool {
        gpu_spec(self.offer).and_then(|spec| spec.nvlink_gbps).is_some_and(|gbps| gbps <= 0.0)
    }
}
