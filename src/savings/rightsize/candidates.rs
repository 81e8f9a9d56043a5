//! Every type that a workload could move to, accepted or rejected with a reason.

use super::needs::Demand;
use super::price::{Move, Today};
use super::projection::{Projection, Ratio, RatioBasis, is_same_gpu, ratio, usable_vram_mib};
use super::rejection::Rejection;
use crate::catalog::{Prices, family, gpu_spec, shapes, whole_device_spec};
use crate::domain::{
    AcceleratorKind, GpuOffer, InstanceShape, Money, Policy, PriceKey, PriceQuote, Risk,
};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::cmp::Reverse;

/// A type that was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Considered {
    /// What it offers.
    pub shape: &'static InstanceShape,
    /// How many of them would take the place of today's.
    pub count: u32,
    /// Mean rate of one of them; absent when it was rejected unpriced.
    pub hourly: Option<Decimal>,
    /// All of them per month at today's running time, rounded to cents.
    pub monthly: Option<Money>,
    /// How busy its GPUs would be; absent when that was not asked, is unknown,
    /// or it has none.
    pub projection: Option<Projection>,
    /// What moving risks.
    pub risk: Risk,
    /// Why it will not do; absent when it will.
    pub rejection: Option<Rejection>,
    /// The prices of an accepted type: one for each of today's instances.
    pub quotes: Vec<(PriceKey, PriceQuote)>,
}

impl Considered {
    /// Whether it will do.
    pub fn is_accepted(&self) -> bool {
        self.rejection.is_none()
    }

    /// Cost of the work and not of the month: what takes longer costs more.
    pub fn monthly_times_slowdown(&self) -> Option<Decimal> {
        let slowdown = self.projection.map_or(1.0, |found| found.slowdown);
        self.monthly?
            .amount()
            .checked_mul(Decimal::from_f64(slowdown)?)
    }
}

/// Every accelerated type of the book, and every CPU type where no GPU is ever
/// used: the accepted ones first, by cost times slowdown, then the rejected ones,
/// nearest first. Today's own type is there when fewer of it would do.
pub fn candidates(
    today: &Today<'_>,
    demand: &Demand,
    prices: &Prices<'_>,
    policy: &Policy,
    accepted: Risk,
) -> Vec<Considered> {
    let Some(offer) = &today.shape.gpu else {
        return Vec::new();
    };
    let asked = Asked {
        today,
        offer,
        demand,
        prices,
        policy,
        accepted,
    };
    let mut all: Vec<Considered> = shapes()
        .filter(|shape| demand.gpus_unused || shape.accelerator != AcceleratorKind::Cpu)
        .filter_map(|shape| asked.consider(shape))
        .collect();
    all.sort_by_cached_key(|one| {
        let monthly = one.monthly.map(Money::amount);
        (
            !one.is_accepted(),
            Reverse(one.rejection.as_ref().map(Rejection::rank)),
            one.is_accepted().then(|| one.monthly_times_slowdown()),
            monthly.is_none(),
            monthly,
            one.shape.instance_type.clone(),
        )
    });
    all
}

/// What is asked of every type.
struct Asked<'a> {
    today: &'a Today<'a>,
    offer: &'a GpuOffer,
    demand: &'a Demand,
    prices: &'a Prices<'a>,
    policy: &'a Policy,
    accepted: Risk,
}

impl Asked<'_> {
    fn consider(&self, shape: &'static InstanceShape) -> Option<Considered> {
        let ratio = shape
            .gpu
            .as_ref()
            .map(|other| ratio(self.offer, other, self.demand.bound));
        let count = self.count(shape, ratio.as_ref().and_then(|ratio| ratio.as_ref().ok()));
        if shape.instance_type == self.today.shape.instance_type && count >= self.demand.instances {
            return None;
        }
        let mut one = Considered {
            shape,
            count,
            hourly: None,
            monthly: None,
            projection: None,
            risk: self.risk(shape),
            rejection: None,
            quotes: Vec::new(),
        };
        one.rejection = self.ask(&mut one, ratio).err();
        Some(one)
    }

    /// How many would do. A group may shrink until its GPUs are as busy as a
    /// service may be, and until its vCPUs hold what all use together.
    fn count(&self, shape: &InstanceShape, ratio: Option<&Ratio>) -> u32 {
        let instances = self.demand.instances;
        let (Some(offer), Some(ratio), Some(gpu)) = (&shape.gpu, ratio, self.demand.gpu_p95_sum)
        else {
            return instances;
        };
        let Some(cpu) = self.demand.cpu_p95_sum else {
            return instances;
        };
        if !self.demand.interchangeable {
            return instances;
        }
        let gpus = f64::from(offer.share.visible_devices());
        let by_gpu = gpu * ratio.value / (self.policy.serving_target_percent * gpus);
        let by_cpu = self.vcpu(cpu) / f64::from(shape.vcpu.max(1));
        // A quotient that is whole but for its last bits is whole.
        let fewest = (by_gpu.max(by_cpu) - 1e-9).ceil().max(1.0);
        (fewest as u32).min(instances)
    }

    /// vCPUs of today's type behind a CPU utilization, with headroom.
    fn vcpu(&self, percent: f64) -> f64 {
        percent / 100.0 * f64::from(self.today.shape.vcpu) * self.policy.vcpu_headroom
    }

    fn risk(&self, shape: &InstanceShape) -> Risk {
        let today = &self.today.shape;
        let same_gpu = shape
            .gpu
            .as_ref()
            .is_some_and(|other| is_same_gpu(self.offer, other));
        let keeps_held = shape
            .gpu
            .as_ref()
            .is_some_and(|other| other.share.visible_devices() >= self.demand.gpus_needed(true));
        if shape.architecture != today.architecture {
            Risk::High
        } else if !same_gpu
            || !keeps_held
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
        one: &mut Considered,
        ratio: Option<Result<Ratio, Rejection>>,
    ) -> Result<(), Rejection> {
        self.ask_kind(one.shape)?;
        let moved = Move::of(self.today, one.shape, one.count, self.prices)?;
        one.hourly = Some(moved.per_instance);
        one.monthly = Some(moved.monthly);
        self.ask_architecture(one.shape)?;
        if let Some(other) = &one.shape.gpu {
            self.ask_gpu(one, other)?;
        }
        self.ask_host(one)?;
        if let Some(ratio) = ratio {
            let projection = self.project(one, ratio?)?;
            one.projection = Some(projection);
            projection.check(self.demand, self.policy)?;
        }
        if moved.monthly.amount() >= self.today.cost.compute_monthly.amount() {
            return Err(Rejection::NotCheaper);
        }
        if one.risk > self.accepted {
            return Err(Rejection::Risk(one.risk));
        }
        one.quotes = moved.quotes;
        Ok(())
    }

    /// The accelerator's kind and maker, and whether AWS launches it.
    fn ask_kind(&self, shape: &InstanceShape) -> Result<(), Rejection> {
        if shape.accelerator == AcceleratorKind::Cpu {
            return Ok(());
        }
        let Some(other) = &shape.gpu else {
            return Err(Rejection::Accelerator);
        };
        let same_model = other.model == self.offer.model;
        let same_maker =
            other.model.vendor().is_some() && other.model.vendor() == self.offer.model.vendor();
        if shape.accelerator != self.today.shape.accelerator || !(same_model || same_maker) {
            return Err(Rejection::Accelerator);
        }
        match family(shape.family()).and_then(|family| family.launchable) {
            Some(true) => Ok(()),
            Some(false) => Err(Rejection::NotLaunchable),
            None => Err(Rejection::Unknown {
                fact: "whether AWS launches any",
                of: shape.family().to_owned(),
            }),
        }
    }

    fn ask_architecture(&self, shape: &InstanceShape) -> Result<(), Rejection> {
        match (self.today.shape.architecture, shape.architecture) {
            (today, other) if today == other => Ok(()),
            (Some(_), Some(_)) if self.accepted == Risk::High => Ok(()),
            (Some(_), Some(_)) => Err(Rejection::Architecture),
            _ => Err(Rejection::Unknown {
                fact: "the CPU architecture",
                of: shape.instance_type.clone(),
            }),
        }
    }

    fn ask_gpu(&self, one: &Considered, other: &GpuOffer) -> Result<(), Rejection> {
        let shape = one.shape;
        if !is_same_gpu(self.offer, other) {
            self.ask_model(other)?;
        } else if one.count == self.demand.instances {
            let today = &self.today.shape;
            let fewer = other.share.count() < self.offer.share.count();
            let no_more = other.share == self.offer.share
                && shape.vcpu <= today.vcpu
                && shape.memory_mib <= today.memory_mib;
            if !(fewer || no_more) {
                return Err(Rejection::Larger);
            }
        }
        let needed = self.demand.gpus_needed(self.accepted == Risk::Low);
        if other.share.visible_devices() < needed {
            return Err(Rejection::Gpus { needed });
        }
        let needed_mib = self.vram_mib();
        let usable_mib = usable_vram_mib(self.offer, other)?;
        if (usable_mib as f64) < needed_mib {
            return Err(Rejection::Vram {
                needed_mib,
                usable_mib,
            });
        }
        if self.demand.gpus_talk {
            self.ask_fabric(shape, other)?;
        }
        Ok(())
    }

    /// What code for today's model takes for granted.
    fn ask_model(&self, other: &GpuOffer) -> Result<(), Rejection> {
        if self.demand.encodes {
            return Err(Rejection::unknown("the video encoder", &other.model));
        }
        if other.model == self.offer.model {
            return Ok(());
        }
        let capability = |offer: &GpuOffer| {
            let text = whole_device_spec(offer)?.compute_capability.clone()?;
            let number = capability_number(&text)?;
            Some((number, text))
        };
        let missing = |of: &GpuOffer| Rejection::unknown("the compute capability", &of.model);
        let (today_number, today) = capability(self.offer).ok_or_else(|| missing(self.offer))?;
        let (number, other) = capability(other).ok_or_else(|| missing(other))?;
        if number < today_number {
            return Err(Rejection::ComputeCapability { today, other });
        }
        Ok(())
    }

    fn ask_fabric(&self, shape: &InstanceShape, other: &GpuOffer) -> Result<(), Rejection> {
        if !is_same_gpu(self.offer, other) {
            let link = |offer: &GpuOffer| {
                gpu_spec(offer)
                    .and_then(|spec| spec.nvlink_gbps)
                    .ok_or_else(|| Rejection::unknown("NVLink", &offer.model))
            };
            if link(self.offer)? > 0.0 && link(other)? <= 0.0 {
                return Err(Rejection::NvLink);
            }
        }
        match (self.today.shape.efa, shape.efa) {
            (Some(true), Some(false)) => Err(Rejection::Efa),
            (Some(true), None) => Err(Rejection::Unknown {
                fact: "EFA",
                of: shape.instance_type.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// VRAM that each GPU must have, MiB.
    fn vram_mib(&self) -> f64 {
        self.demand.vram_peak_mib * self.policy.vram_headroom
    }

    /// GPUs that work on each of the new instances.
    fn gpus_in_use(&self, one: &Considered) -> f64 {
        let needed = u64::from(self.demand.gpus_needed(self.accepted == Risk::Low));
        if one.count >= self.demand.instances {
            return needed as f64;
        }
        let visible = one
            .shape
            .gpu
            .as_ref()
            .map_or(1, |other| u64::from(other.share.visible_devices()));
        let spread = self
            .demand
            .gpus_active_in_all
            .div_ceil(u64::from(one.count));
        spread.min(visible).max(needed) as f64
    }

    fn ask_host(&self, one: &Considered) -> Result<(), Rejection> {
        let today = &self.today.shape;
        let in_use = self.gpus_in_use(one);
        let needed = f64::from(self.demand.gpus_needed(self.accepted == Risk::Low));
        let devices = f64::from(self.offer.share.visible_devices());
        let vcpu = match (self.demand.cpu_p95, self.demand.cpu_p95_sum) {
            (Some(one_instance), Some(sum)) if one.count < self.demand.instances => self
                .vcpu(one_instance)
                .max(self.vcpu(sum) / f64::from(one.count)),
            (Some(one_instance), _) => self.vcpu(one_instance),
            (None, _) if self.accepted == Risk::Low => f64::from(today.vcpu),
            (None, _) => f64::from(today.vcpu) / devices * in_use,
        };
        if f64::from(one.shape.vcpu) < vcpu {
            return Err(Rejection::Vcpu { needed: vcpu });
        }
        let memory = today.memory_mib as f64;
        let needed_mib = match self.demand.memory_p95_mib {
            Some(p95) => p95 * self.policy.vcpu_headroom * in_use / needed,
            // What nobody measured stays as it is where nothing may go wrong.
            None if self.accepted == Risk::Low => memory * in_use / needed,
            None => (memory / devices * in_use).min(2.0 * self.vram_mib() + 8.0 * 1024.0),
        };
        if (one.shape.memory_mib as f64) < needed_mib {
            return Err(Rejection::Memory { needed_mib });
        }
        Ok(())
    }

    /// How busy the GPUs in use would be.
    fn project(&self, one: &Considered, ratio: Ratio) -> Result<Projection, Rejection> {
        let today = if one.count < self.demand.instances {
            let gpus = one
                .shape
                .gpu
                .as_ref()
                .map_or(1, |other| other.share.visible_devices());
            let all = f64::from(one.count) * f64::from(gpus);
            self.demand.gpu_p95_sum.map(|sum| sum / all)
        } else {
            self.demand.gpu_p95
        };
        match today {
            Some(p95) => Ok(Projection::at(p95, ratio)),
            None if ratio.basis == RatioBasis::SameGpu => Ok(Projection::at(0.0, ratio)),
            None => Err(Rejection::Unknown {
                fact: "the utilization",
                of: "an active GPU".to_owned(),
            }),
        }
    }
}

/// A compute capability such as `8.9`, or a Neuron version, as a number to
/// compare; `None` for what has no order.
fn capability_number(text: &str) -> Option<(u32, u32)> {
    if let Some(version) = text.strip_prefix("neuron-v") {
        return Some((version.parse().ok()?, 0));
    }
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
