//! Every type that a workload could move to, accepted or rejected with a reason.

use super::needs::Demand;
use super::price::{Layout, Spread};
use super::price::{Move, MovedInstance, Today};
use super::projection::{
    Projection, Ratio, RatioBasis, capability_number, is_same_gpu, ratio, usable_vram_mib,
};
use super::rejection::Rejection;
use crate::catalog::{
    Prices, bundled_interruption_band, cpu_baseline_percent, family, gpu_spec, has_full_rate_fp64,
    network_gbps, shapes, whole_device_spec,
};
use crate::domain::{
    AcceleratorKind, GpuOffer, InstanceShape, Money, Policy, PriceKey, PriceOption, PriceQuote,
    Risk, WorkloadKind,
};
use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};
use std::cmp::Reverse;

#[derive(Debug, Clone, PartialEq)]
pub struct Considered {
    pub shape: &'static InstanceShape,
    /// How many of them would take the place of today's.
    pub count: u32,
    /// How the work lies on them.
    pub spread: Spread,
    /// GPUs of today that share each of its GPUs as processes; 1 where none does.
    pub per_gpu: u16,
    /// Mean rate of one of them; absent when it was rejected unpriced.
    pub hourly: Option<Decimal>,
    /// All of them per month, rounded to cents: at today's running time, and as much
    /// longer as slower work takes where they do not run around the clock.
    pub monthly: Option<Money>,
    /// What takes the place of each of today's instances: its rate, and its cost per
    /// month, unrounded; empty when it was rejected before its price was known.
    pub moved: Vec<MovedInstance>,
    /// How busy its GPUs would be; absent when that was not asked, is unknown,
    /// or it has none.
    pub projection: Option<Projection>,
    pub risk: Risk,
    /// Why it will not do; absent when it will.
    pub rejection: Option<Rejection>,
    /// The prices of an accepted type: one for each of today's instances.
    pub quotes: Vec<(PriceKey, PriceQuote)>,
}

impl Considered {
    /// How many times as long the work takes, at least 1.
    pub fn slowdown(&self) -> f64 {
        self.projection.map_or(1.0, |projection| projection.slowdown)
    }

    pub fn is_accepted(&self) -> bool {
        self.rejection.is_none()
    }

    /// Cost of the work and not of the month: what takes longer costs more, also
    /// around the clock.
    pub fn cost_of_work(&self) -> Option<Decimal> {
        let today: Decimal =
            self.moved.iter().map(|instance| instance.monthly_at_todays_hours).sum();
        today.checked_mul(Decimal::from_f64(self.slowdown())?)
    }
}

/// Every accelerated type of the catalog, and every CPU type where no GPU is ever
/// used: the accepted ones first, by cost times slowdown, then the rejected ones,
/// nearest first. Today's own type is there when fewer of it would do.
pub fn candidates(
    today: &Today<'_>,
    demand: &Demand,
    prices: &Prices<'_>,
    policy: &Policy,
    accepted: Risk,
) -> Vec<Considered> {
    let Some(offer) = &today.shape.gpu else { return Vec::new() };
    let asked = CandidateQuery { today, offer, demand, prices, policy, accepted };
    let mut considered: Vec<Considered> = shapes()
        .filter(|shape| demand.gpus_unused || shape.accelerator != AcceleratorKind::Cpu)
        .filter_map(|shape| asked.consider(shape))
        .collect();
    considered.sort_by_cached_key(|candidate| {
        let monthly = candidate.monthly.map(Money::amount);
        (
            !candidate.is_accepted(),
            Reverse(candidate.rejection.as_ref().map(Rejection::rank)),
            candidate.is_accepted().then(|| candidate.cost_of_work()),
            monthly.is_none(),
            monthly,
            candidate.shape.instance_type.clone(),
        )
    });
    considered
}

/// Factor on the traffic of the busiest hour that a network must carry.
pub(in crate::savings) const NETWORK_HEADROOM: f64 = 1.2;
/// Share of its link from which traffic is part of the work.
const BUSY_LINK_SHARE: f64 = 0.25;

/// Network bandwidth of a type that lasts, Gbit/s; absent when no source states it.
pub(in crate::savings) fn link_gbps(instance_type: &str) -> Option<f64> {
    network_gbps(instance_type)?.to_f64()
}

/// What is asked of every type.
pub(super) struct CandidateQuery<'a> {
    today: &'a Today<'a>,
    pub(super) offer: &'a GpuOffer,
    pub(super) demand: &'a Demand,
    prices: &'a Prices<'a>,
    pub(super) policy: &'a Policy,
    pub(super) accepted: Risk,
}

impl CandidateQuery<'_> {
    /// The first layout of a type that will do, else the one that is nearest to it.
    fn consider(&self, shape: &'static InstanceShape) -> Option<Considered> {
        let ratio = shape.gpu.as_ref().map(|offer| ratio(self.offer, offer, self.demand.bound));
        let known = ratio.as_ref().and_then(|ratio| ratio.as_ref().ok());
        let latency = known.map_or(1.0, |ratio| ratio.value);
        let is_today = shape.instance_type == self.today.shape.instance_type;
        let mut nearest: Option<Considered> = None;
        for layout @ (count, spread, per_gpu) in self.layouts(shape, known) {
            if is_today && count >= self.demand.instances {
                continue;
            }
            let mut candidate = Considered {
                shape,
                count,
                spread,
                per_gpu,
                hourly: None,
                monthly: None,
                moved: Vec::new(),
                projection: None,
                risk: self.risk(shape, layout, latency),
                rejection: None,
                quotes: Vec::new(),
            };
            candidate.rejection = self.ask(&mut candidate, ratio.clone()).err();
            if candidate.is_accepted() {
                return Some(candidate);
            }
            let rank = |considered: &Considered| considered.rejection.as_ref().map(Rejection::rank);
            if nearest.as_ref().is_none_or(|known| rank(&candidate) > rank(known)) {
                nearest = Some(candidate);
            }
        }
        nearest
    }

    /// vCPUs of today's type behind a CPU utilization, with headroom.
    pub(super) fn vcpu(&self, percent: f64) -> f64 {
        percent / 100.0 * f64::from(self.today.shape.vcpu) * self.policy.vcpu_headroom
    }

    fn risk(&self, shape: &InstanceShape, layout: Layout, latency: f64) -> Risk {
        let (_, spread, per_gpu) = layout;
        let today = &self.today.shape;
        let is_slow = self.may_serve() && latency > self.policy.max_latency_ratio;
        let less_network = self.demand.network_gbps.is_none()
            && link_gbps(&shape.instance_type) < link_gbps(&today.instance_type);
        let same_gpu = shape.gpu.as_ref().is_some_and(|offer| is_same_gpu(self.offer, offer));
        let keeps_held = spread == Spread::Tenants
            || self.demand.gpus_held <= self.demand.gpus_active
            || shape.gpu.as_ref().is_some_and(|offer| {
                offer.share.visible_devices() >= self.demand.gpus_needed(true)
            });
        let is_linked = self.may_lose_link(shape);
        if shape.architecture != today.architecture
            || is_slow
            || !keeps_held
            || is_linked
            || per_gpu > 1
        {
            Risk::High
        } else if !same_gpu
            || spread != Spread::Kept
            || less_network
            || shape.memory_mib < today.memory_mib
            || self.demand.runs.is_some()
        {
            Risk::Medium
        } else {
            Risk::Low
        }
    }

    fn ask(
        &self,
        candidate: &mut Considered,
        ratio: Option<Result<Ratio, Rejection>>,
    ) -> Result<(), Rejection> {
        self.ask_kind(candidate.shape)?;
        let moved = Move::of(
            self.today,
            candidate.shape,
            (candidate.count, candidate.spread),
            self.prices,
        )?;
        candidate.hourly = Some(moved.per_instance);
        candidate.moved = moved.instances(self.today, 1.0, self.policy);
        candidate.monthly = Some(moved.monthly(&candidate.moved));
        self.ask_architecture(candidate.shape)?;
        if let Some(other) = &candidate.shape.gpu {
            self.ask_gpu(candidate, other)?;
        }
        self.ask_network(candidate)?;
        self.ask_host(candidate)?;
        if let Some(ratio) = ratio {
            let projection = self.project(candidate, ratio?)?;
            candidate.projection = Some(projection.shown());
            projection.check(self.demand, self.policy, candidate.shares_gpus())?;
            candidate.moved = moved.instances(self.today, projection.slowdown, self.policy);
        }
        let monthly = moved.monthly(&candidate.moved);
        candidate.monthly = Some(monthly);
        if monthly.amount() >= self.today.cost.compute_monthly.amount() {
            return Err(Rejection::NotCheaper);
        }
        if self.is_unknown_market(candidate.shape) {
            candidate.risk = Risk::High;
        }
        if candidate.risk > self.accepted {
            return Err(Rejection::Risk(candidate.risk));
        }
        candidate.quotes = moved.quotes;
        Ok(())
    }

    /// Whether what runs on spot would move to a type of which nobody knows how often it is
    /// interrupted.
    fn is_unknown_market(&self, shape: &InstanceShape) -> bool {
        self.today.cost.instances.iter().map(|instance| &instance.key).any(|key| {
            let there = key.with_type(&shape.instance_type).in_zone(None);
            key.option == PriceOption::Spot && bundled_interruption_band(&there).is_none()
        })
    }

    /// The accelerator's kind and maker, and whether AWS launches it.
    fn ask_kind(&self, shape: &InstanceShape) -> Result<(), Rejection> {
        if shape.accelerator == AcceleratorKind::Cpu {
            return Ok(());
        }
        let Some(other) = &shape.gpu else { return Err(Rejection::Accelerator) };
        let same_model = other.model == self.offer.model;
        let same_maker =
            other.model.vendor().is_some() && other.model.vendor() == self.offer.model.vendor();
        if shape.accelerator != self.today.shape.accelerator || !(same_model || same_maker) {
            return Err(Rejection::Accelerator);
        }
        // What runs need not be launched to be packed.
        if shape.instance_type == self.today.shape.instance_type {
            return Ok(());
        }
        match family(shape.family()).and_then(|family| family.launchable) {
            Some(true) => Ok(()),
            Some(false) => Err(Rejection::NotLaunchable),
            None => Err(Rejection::unknown("launch availability", shape.family())),
        }
    }

    fn ask_architecture(&self, shape: &InstanceShape) -> Result<(), Rejection> {
        match (self.today.shape.architecture, shape.architecture) {
            (today, other) if today == other => Ok(()),
            (Some(_), Some(_)) if self.accepted == Risk::High => Ok(()),
            (Some(_), Some(_)) => Err(Rejection::Architecture),
            _ => Err(Rejection::unknown("the CPU architecture", &shape.instance_type)),
        }
    }

    fn ask_gpu(&self, candidate: &Considered, offer: &GpuOffer) -> Result<(), Rejection> {
        let shape = candidate.shape;
        if !is_same_gpu(self.offer, offer) {
            self.ask_model(offer)?;
        } else if candidate.spread == Spread::Kept {
            let today = &self.today.shape;
            let fewer = offer.share.count() < self.offer.share.count();
            let no_more = offer.share == self.offer.share
                && shape.vcpu <= today.vcpu
                && shape.memory_mib <= today.memory_mib;
            if !(fewer || no_more) {
                return Err(Rejection::Larger);
            }
        }
        let needed = self.gpus_needed();
        let keeps = candidate.spread == Spread::Kept && !candidate.shares_gpus();
        if keeps && offer.share.visible_devices() < needed {
            return Err(Rejection::Gpus { needed });
        }
        self.ask_vram(candidate, offer)?;
        if self.demand.needs_fp64
            && has_full_rate_fp64(&self.offer.model)
            && !has_full_rate_fp64(&offer.model)
        {
            return Err(Rejection::DoublePrecision);
        }
        if self.keeps_link() {
            self.ask_nvlink(offer)?;
        }
        if self.keeps_link() || self.keeps_network() {
            self.ask_efa(shape)?;
        }
        Ok(())
    }

    /// GPUs that an instance must have. One that never worked and holds memory counts
    /// unless everything is accepted.
    pub(super) fn gpus_needed(&self) -> u16 {
        self.demand.gpus_needed(self.accepted < Risk::High)
    }

    fn may_serve(&self) -> bool {
        matches!(self.demand.kind, WorkloadKind::Serving | WorkloadKind::Unknown)
    }

    /// Whether what links GPUs of one instance stays: they work as one, or may, which only the
    /// highest risk leaves open.
    fn keeps_link(&self) -> bool {
        self.demand.gpus_linked.unwrap_or(self.accepted < Risk::High)
    }

    /// Whether GPUs that may work as one lose what links them.
    fn may_lose_link(&self, shape: &InstanceShape) -> bool {
        let loses_nvlink = |offer: &GpuOffer| self.ask_nvlink(offer).is_err();
        self.demand.gpus_linked.is_none()
            && (shape.gpu.as_ref().is_some_and(loses_nvlink) || self.ask_efa(shape).is_err())
    }

    /// Whether what lies between nodes stays as it is: they work together, or use more
    /// than a quarter of their link.
    fn keeps_network(&self) -> bool {
        let link = link_gbps(&self.today.shape.instance_type);
        let used = self.demand.network_gbps.zip(link);
        self.demand.nodes_talk || used.is_some_and(|(used, link)| used > link * BUSY_LINK_SHARE)
    }

    /// The network must carry the busiest hour with headroom. One that was not measured
    /// may be slower than today's, which is a risk and a step.
    fn ask_network(&self, candidate: &Considered) -> Result<(), Rejection> {
        let today = link_gbps(&self.today.shape.instance_type);
        let there = link_gbps(&candidate.shape.instance_type);
        let sum = self.demand.network_gbps_sum;
        let measured = self
            .demand
            .network_gbps
            .map(|busiest| self.share(candidate, busiest, sum) * NETWORK_HEADROOM);
        let kept = today.filter(|_| self.keeps_network());
        let Some(needed_gbps) = measured.into_iter().chain(kept).reduce(f64::max) else {
            return Ok(());
        };
        match there {
            Some(usable_gbps) if usable_gbps < needed_gbps => {
                Err(Rejection::Network { needed_gbps, usable_gbps })
            }
            Some(_) => Ok(()),
            None => {
                Err(Rejection::unknown("the network bandwidth", &candidate.shape.instance_type))
            }
        }
    }

    /// What code for today's model takes for granted.
    fn ask_model(&self, gpu: &GpuOffer) -> Result<(), Rejection> {
        if self.demand.encodes {
            return Err(Rejection::unknown("the video encoder", &gpu.model));
        }
        if gpu.model == self.offer.model {
            return Ok(());
        }
        let capability = |offer: &GpuOffer| {
            let text = whole_device_spec(offer)?.compute_capability.clone()?;
            let number = capability_number(&text)?;
            Some((number, text))
        };
        let missing = |of: &GpuOffer| Rejection::unknown("the compute capability", &of.model);
        let (today_number, today) = capability(self.offer).ok_or_else(|| missing(self.offer))?;
        let (number, other) = capability(gpu).ok_or_else(|| missing(gpu))?;
        if number < today_number {
            return Err(Rejection::ComputeCapability { today, other });
        }
        Ok(())
    }

    fn ask_nvlink(&self, gpu: &GpuOffer) -> Result<(), Rejection> {
        if !is_same_gpu(self.offer, gpu) {
            let link = |offer: &GpuOffer| {
                gpu_spec(offer)
                    .and_then(|spec| spec.nvlink_gbps)
                    .ok_or_else(|| Rejection::unknown("NVLink", &offer.model))
            };
            if link(self.offer)? > 0.0 && link(gpu)? <= 0.0 {
                return Err(Rejection::NvLink);
            }
        }
        Ok(())
    }

    fn ask_efa(&self, shape: &InstanceShape) -> Result<(), Rejection> {
        match (self.today.shape.efa, shape.efa) {
            (Some(true), Some(false)) => Err(Rejection::Efa),
            (Some(true), None) => Err(Rejection::unknown("EFA", &shape.instance_type)),
            _ => Ok(()),
        }
    }

    /// What ran on a card runs on as many of the same. Of memory that an engine took ahead
    /// the need is not known: nothing smaller holds it for certain, and nothing larger is
    /// needed.
    fn ask_vram(&self, candidate: &Considered, offer: &GpuOffer) -> Result<(), Rejection> {
        let is_alone = candidate.spread != Spread::Replicas && !candidate.shares_gpus();
        if is_same_gpu(self.offer, offer) && is_alone {
            return Ok(());
        }
        let usable_mib = usable_vram_mib(self.offer, offer)?;
        let needed_mib = self.vram_mib() * f64::from(candidate.per_gpu);
        if usable_mib as f64 >= needed_mib {
            Ok(())
        } else if self.demand.vram_is_reserved {
            Err(Rejection::ReservedVram { reserved_mib: self.demand.vram_peak_mib, usable_mib })
        } else {
            Err(Rejection::Vram { needed_mib, usable_mib })
        }
    }

    /// VRAM that each GPU must have, MiB.
    pub(super) fn vram_mib(&self) -> f64 {
        let peak = self.demand.vram_peak_mib;
        if self.demand.vram_is_reserved {
            let card = usable_vram_mib(self.offer, self.offer).ok();
            card.map_or(peak, |card| card as f64)
        } else {
            peak * self.policy.vram_headroom
        }
    }

    /// GPUs of today whose work each of the new instances takes over.
    fn gpus_in_use(&self, candidate: &Considered) -> f64 {
        let needed = u64::from(self.gpus_needed());
        let visible = candidate
            .shape
            .gpu
            .as_ref()
            .map_or(1, |offer| u64::from(offer.share.visible_devices()));
        let count = u64::from(candidate.count);
        let in_use = match candidate.spread {
            Spread::Kept => needed,
            Spread::Tenants => {
                let tenants = self.demand.tenants.unwrap_or_default();
                tenants.div_ceil(count).min(visible * u64::from(candidate.per_gpu))
            }
            Spread::Replicas => {
                self.demand.gpus_active_in_all.div_ceil(count).max(needed).min(visible)
            }
        };
        in_use as f64
    }

    /// The larger of what the busiest machine of today needs, as far as its GPUs are taken over,
    /// and of an even share of all.
    fn share(&self, candidate: &Considered, busiest: f64, sum: Option<f64>) -> f64 {
        if candidate.spread.keeps_machines() {
            return busiest;
        }
        let taken = (self.gpus_in_use(candidate) / f64::from(self.gpus_needed())).min(1.0);
        let even = sum.map_or(busiest, |sum| sum / f64::from(candidate.count));
        (busiest * taken).max(even)
    }

    fn ask_host(&self, candidate: &Considered) -> Result<(), Rejection> {
        let today = &self.today.shape;
        let in_use = self.gpus_in_use(candidate);
        let needed = f64::from(self.gpus_needed());
        let devices = f64::from(self.offer.share.visible_devices());
        let vcpu = match self.demand.cpu_p95 {
            Some(busiest) => self.vcpu(self.share(candidate, busiest, self.demand.cpu_p95_sum)),
            None if self.accepted == Risk::Low => f64::from(today.vcpu),
            None => f64::from(today.vcpu) / devices * in_use,
        };
        if f64::from(candidate.shape.vcpu) < vcpu {
            return Err(Rejection::Vcpu { needed: vcpu });
        }
        if let Some(percent) = cpu_baseline_percent(&candidate.shape.instance_type) {
            let needed = self.demand.cpu_p95.map(|_| vcpu);
            let baseline = f64::from(candidate.shape.vcpu) * f64::from(percent) / 100.0;
            if needed.is_none_or(|needed| needed >= baseline) {
                return Err(Rejection::CpuBaseline { needed, baseline });
            }
        }
        let memory = today.memory_mib as f64;
        let needed_mib = match self.demand.memory_p95_mib {
            Some(p95) => p95 * self.policy.vcpu_headroom * in_use / needed,
            // What was not measured stays as it is where nothing may go wrong.
            None if self.accepted == Risk::Low => memory * in_use / needed,
            None => {
                // What each process holds, and what one more takes while it is read.
                let held = (f64::from(candidate.per_gpu) + 1.0) * self.vram_mib() + 8.0 * 1024.0;
                let times = if candidate.spread == Spread::Tenants {
                    (in_use / f64::from(candidate.per_gpu)).ceil()
                } else {
                    1.0
                };
                (memory / devices * in_use).min(held * times)
            }
        };
        if (candidate.shape.memory_mib as f64) < needed_mib {
            return Err(Rejection::Memory { needed_mib });
        }
        Ok(())
    }

    /// How busy the GPUs in use would be.
    fn project(&self, candidate: &Considered, ratio: Ratio) -> Result<Projection, Rejection> {
        let gpus = candidate.shape.gpu.as_ref().map_or(1, |offer| offer.share.visible_devices());
        let today = match candidate.spread {
            Spread::Kept if candidate.shares_gpus() => {
                let each = f64::from(self.gpus_needed()) / f64::from(gpus);
                let mean = self.demand.gpu_peak.map(|peak| peak * each);
                self.with_largest(mean)
            }
            Spread::Kept => self.with_largest(self.demand.gpu_peak),
            Spread::Replicas => {
                let total = f64::from(candidate.count) * f64::from(gpus);
                self.demand.gpu_sum.map(|sum| sum / total)
            }
            Spread::Tenants => {
                self.demand.gpu_peak_largest.map(|peak| peak * f64::from(candidate.per_gpu))
            }
        };
        match today {
            Some(peak) => Ok(Projection::at(peak, ratio)),
            None if ratio.basis == RatioBasis::SameGpu => Ok(Projection::at(0.0, ratio)),
            None if self.demand.never_worked => Err(Rejection::NeverWorked),
            None => Err(Rejection::unknown("the utilization", "an active GPU")),
        }
    }
}
