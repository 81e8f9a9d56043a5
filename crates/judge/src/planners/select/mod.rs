//! Which instance type to rent for a piece of work: every type with the first reason that
//! speaks against it, the others by the price of the way to pay that suits the work.

mod refusal;

pub use refusal::Refusal;

use super::model::Dtype;
use super::serving::{Layout, MeasuredMemory, ServedModel, ServingRefusal};
use super::{Paying, Today};
use crate::catalog::{family, whole_device_spec};
use crate::domain::{
    AcceleratorKind, Architecture, Currency, GpuOffer, GpuShare, HourlyRate, InstanceShape,
    InterruptionBand, Money, PriceQuote, WorkloadKind,
};
use crate::savings::reported_vram_mib;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeMap;

/// What may be spent, in dollars; absent: without a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// Per hour in which the instance runs; of a commitment, effective.
    pub hourly: Option<Decimal>,
    pub monthly: Option<Decimal>,
}

/// What the work needs. Absent is not asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    pub kind: WorkloadKind,
    /// Whether somebody declared that it may be interrupted and restarted.
    pub restartable: bool,
    /// The way to pay that types are ranked by; absent for the one that suits the kind.
    pub paying: Option<Paying>,
    /// GPUs of one instance, at least; a part of one lets parts of GPUs compete.
    pub gpus: Option<GpuShare>,
    /// Whether an accelerator is named; others than NVIDIA's are there for those who do.
    pub names_accelerator: bool,
    /// A language model that the GPUs of one instance hold: the same in each type of numbers
    /// that will do, the preferred one first. Empty for other work.
    pub models: Vec<ServedModel>,
    /// The memory that GPUs were seen to hold, beside that of the models.
    pub measured: Option<MeasuredMemory>,
    /// Memory of each GPU, MiB.
    pub vram_mib: Option<f64>,
    /// Memory of all GPUs together, MiB.
    pub vram_total_mib: Option<f64>,
    /// Host memory, MiB.
    pub memory_mib: Option<f64>,
    /// vCPUs of any type.
    pub vcpu: Option<f64>,
    /// vCPUs that do the whole work without a GPU; absent where nothing shows that it
    /// needs none.
    pub vcpu_without_gpu: Option<f64>,
    /// CPU architecture; absent for any.
    pub architecture: Option<Architecture>,
    /// The GPUs of an instance are linked.
    pub nvlink: bool,
    pub efa: bool,
    /// Requests per second, for the price of each.
    pub rate_per_second: Option<Decimal>,
    pub budget: Budget,
    /// Hours per month in which the instance runs.
    pub hours: Decimal,
    /// Hours of a month, all of which a commitment bills.
    pub hours_of_month: Decimal,
    /// What the work runs on today.
    pub today: Option<Today>,
    /// Where what was not stated is from, by its key in reports.
    pub sources: BTreeMap<&'static str, String>,
}

/// A type in one region, with its prices.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedType {
    pub shape: &'static InstanceShape,
    /// Absent where no source has a price of it in the regions asked for.
    pub region: Option<String>,
    /// Whether its accelerator answers what was asked by name or size.
    pub is_asked: bool,
    pub on_demand: Option<PriceQuote>,
    pub spot: Option<PriceQuote>,
    /// How often its spot instances were interrupted.
    pub interruption: Option<InterruptionBand>,
    /// Whether spot suits this work here: it may be interrupted, the frequency is known,
    /// and something is saved after interruptions.
    pub spot_suits: bool,
    /// Effective rate, no upfront.
    pub reserved_1yr: Option<PriceQuote>,
    /// Effective rate, no upfront.
    pub reserved_3yr: Option<PriceQuote>,
    pub capacity_block: Option<PriceQuote>,
}

impl OfferedType {
    pub fn quote(&self, paying: Paying) -> Option<&PriceQuote> {
        match paying {
            Paying::OnDemand => self.on_demand.as_ref(),
            Paying::Spot => self.spot.as_ref(),
            Paying::Reserved1yr => self.reserved_1yr.as_ref(),
            Paying::Reserved3yr => self.reserved_3yr.as_ref(),
        }
    }

    pub fn is_cpu(&self) -> bool {
        self.shape.accelerator == AcceleratorKind::Cpu
    }

    /// Name and region, for the stated order.
    fn place(&self) -> (&str, Option<&str>) {
        (&self.shape.instance_type, self.region.as_deref())
    }
}

/// A type that does the work.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectedType {
    pub offered: OfferedType,
    pub paying: Paying,
    /// Of that way to pay.
    pub rate: HourlyRate,
    /// Rounded to cents.
    pub monthly: Money,
    /// Whether it serves the rate that was stated: its vCPUs do, or nothing shows it, because
    /// how many requests a GPU serves is unknown. Absent without a rate.
    pub serves_rate: Option<bool>,
    /// Of a thousand requests at the rate that was stated, where it is served; unrounded.
    pub per_thousand_requests: Option<Money>,
    /// How its GPUs hold the model, and in which type of numbers; absent without one.
    pub layout: Option<Layout>,
    /// What a month costs less than on one instance of today, below zero where it costs more;
    /// absent where that is unknown or in another currency, where commitments pay of today's, and
    /// with a model: GPUs that hold one do not for that do the work that was measured.
    pub saved_monthly: Option<Money>,
}

impl SelectedType {
    /// Whether it does everything that was asked for, as far as that can be known.
    pub fn is_checked(&self) -> bool {
        self.serves_rate != Some(false)
    }

    /// Type of the weights of its model.
    pub fn dtype(&self) -> Option<Dtype> {
        Some(self.layout.as_ref()?.dtype)
    }
}

/// A type that does not, or costs too much.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusedType {
    pub offered: OfferedType,
    pub reason: Refusal,
}

/// Types that are out for one reason.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReasonCount<'a> {
    pub count: usize,
    /// The one that misses by least; without a measure, the cheapest.
    pub nearest: &'a RefusedType,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    pub wanted: Wanted,
    /// Those that serve the rate first; then by type of numbers as asked, by currency, by price,
    /// by name and region.
    pub fits: Vec<SelectedType>,
    /// Nearest first: by reason, by how much is missing, by on-demand price, by name.
    pub refused: Vec<RefusedType>,
}

impl Selection {
    /// The types that hold the model in a type of numbers, cheapest first.
    pub fn of(&self, dtype: Dtype) -> impl Iterator<Item = &SelectedType> {
        self.fits.iter().filter(move |selected| selected.dtype() == Some(dtype))
    }

    /// Reasons with how many types they keep out, nearest first.
    pub fn reasons(&self) -> Vec<ReasonCount<'_>> {
        let alike = |one: &RefusedType, next: &RefusedType| one.reason.name() == next.reason.name();
        let reasons = self.refused.chunk_by(alike);
        reasons.map(|group| ReasonCount { count: group.len(), nearest: &group[0] }).collect()
    }
}

/// Ranks the types that do the work, and says of every other why it is out.
pub fn select(wanted: Wanted, offers: Vec<OfferedType>) -> Selection {
    let (mut fits, mut refused) = (Vec::new(), Vec::new());
    for offered in offers {
        match wanted.judge(&offered) {
            Ok(selected) => fits.extend(selected),
            Err(reason) => refused.push(RefusedType { offered, reason }),
        }
    }
    fits.sort_by(|left, right| {
        let key = |selected: &SelectedType| {
            let (rate, dtype) = (selected.rate, selected.dtype());
            let mut dtypes = wanted.models.iter().map(|served| Some(served.dtype));
            let preferred = dtypes.position(|candidate| candidate == dtype);
            (!selected.is_checked(), preferred, rate.currency(), rate.amount())
        };
        key(left).cmp(&key(right)).then_with(|| left.offered.place().cmp(&right.offered.place()))
    });
    refused.sort_by(|left, right| {
        let key = |refused: &RefusedType| {
            let price = refused.offered.on_demand.as_ref().map(|quote| quote.rate.amount());
            (price.is_none(), price)
        };
        let by_place = || left.offered.place().cmp(&right.offered.place());
        left.reason.nearer(&right.reason).then(key(left).cmp(&key(right))).then_with(by_place)
    });
    Selection { wanted, fits, refused }
}

impl Wanted {
    /// The model in the preferred type of numbers; absent for other work.
    pub fn model(&self) -> Option<&ServedModel> {
        self.models.first()
    }

    /// What speaks for a type, once for each type of numbers in which it holds the model; or
    /// against it, in the one that comes nearest.
    fn judge(&self, offered: &OfferedType) -> Result<Vec<SelectedType>, Refusal> {
        if self.models.is_empty() {
            return Ok(vec![self.judge_in(offered, None)?]);
        }
        let results = self.models.iter().map(|served| self.judge_in(offered, Some(served)));
        let (held, refused): (Vec<_>, Vec<_>) = results.partition(Result::is_ok);
        let nearest = refused.into_iter().filter_map(Result::err).min_by(Refusal::nearer);
        match nearest.filter(|_| held.is_empty()) {
            Some(reason) => Err(reason),
            None => Ok(held.into_iter().flatten().collect()),
        }
    }

    /// The way to pay for a type, its rate, and how it holds a model.
    fn judge_in(
        &self,
        offered: &OfferedType,
        served: Option<&ServedModel>,
    ) -> Result<SelectedType, Refusal> {
        let mut layout = None;
        if offered.is_cpu() {
            // A model is computed on GPUs alone.
            let needed = self.vcpu_without_gpu.filter(|_| served.is_none());
            let needed = needed.ok_or(Refusal::NoGpu)?;
            if is_burstable(offered.shape) {
                return Err(Refusal::Unknown {
                    fact: "the CPU share that a burstable type sustains",
                });
            }
            self.ask_architecture(offered.shape)?;
            self.ask_host(offered.shape, needed)?;
        } else {
            self.ask_accelerator(offered)?;
            self.ask_architecture(offered.shape)?;
            layout = self.ask_gpus(offered.shape, served)?;
            ask_memory(offered.shape, self.memory_mib)?;
            ask_vcpu(offered.shape, self.vcpu)?;
            ask_launchable(offered.shape)?;
        }
        let (paying, rate) = self.pay(offered)?;
        self.ask_budget(paying, rate)?;
        Ok(self.selected(offered.clone(), (paying, rate), layout))
    }

    /// Asks whether the vCPUs and the memory of the host do the whole work.
    fn ask_host(&self, shape: &InstanceShape, needed: f64) -> Result<(), Refusal> {
        // What a GPU would hold in its memory, the host holds.
        let gpus = f64::from(self.gpus.map_or(1, GpuShare::visible_devices));
        let held = [self.vram_mib.map(|each| each * gpus), self.vram_total_mib, self.memory_mib];
        ask_memory(shape, held.into_iter().flatten().reduce(f64::max))?;
        ask_vcpu(shape, Some(self.vcpu.map_or(needed, |any| any.max(needed))))
    }

    fn ask_accelerator(&self, offered: &OfferedType) -> Result<(), Refusal> {
        let vendor = offered.shape.gpu.as_ref().and_then(|gpu| gpu.model.vendor());
        let is_cuda = offered.shape.accelerator == AcceleratorKind::Gpu && vendor == Some("NVIDIA");
        if !is_cuda && !self.names_accelerator {
            return Err(Refusal::Accelerator);
        }
        if offered.is_asked { Ok(()) } else { Err(Refusal::OtherGpu) }
    }

    fn ask_architecture(&self, shape: &InstanceShape) -> Result<(), Refusal> {
        match (self.architecture, shape.architecture) {
            (None, _) => Ok(()),
            (Some(wanted), Some(there)) if wanted == there => Ok(()),
            (Some(_), Some(_)) => Err(Refusal::Architecture),
            (Some(_), None) => Err(Refusal::Unknown { fact: "the CPU architecture" }),
        }
    }

    fn ask_gpus(
        &self,
        shape: &InstanceShape,
        served: Option<&ServedModel>,
    ) -> Result<Option<Layout>, Refusal> {
        let unknown = |fact: &'static str| Refusal::Unknown { fact };
        let gpu = shape.gpu.as_ref().ok_or(unknown("the number of accelerators"))?;
        // A part of a GPU does part of its work.
        if let Some(needed) = self.gpus
            && gpu.share.count() < needed.count()
        {
            return Err(Refusal::Gpus { needed, there: gpu.share });
        }
        if self.vram_mib.is_some() || self.vram_total_mib.is_some() {
            self.ask_vram(gpu)?;
        }
        let layout = served.map(|served| held_by(shape, served)).transpose()?;
        if self.nvlink {
            let linked = whole_device_spec(gpu).and_then(|spec| spec.nvlink_gbps);
            if linked.ok_or(unknown("NVLink"))? <= 0.0 {
                return Err(Refusal::NvLink);
            }
        }
        if self.efa && !shape.efa.ok_or(unknown("EFA"))? {
            return Err(Refusal::Efa);
        }
        Ok(layout)
    }

    fn ask_vram(&self, gpu: &GpuOffer) -> Result<(), Refusal> {
        let each_mib =
            reported_vram_mib(gpu).ok_or(Refusal::Unknown { fact: "driver-reported memory" })?;
        enough(self.vram_mib, each_mib as f64, |needed_mib| Refusal::Vram {
            needed_mib,
            usable_mib: each_mib,
        })?;
        let usable_mib = each_mib * u64::from(gpu.share.visible_devices());
        enough(self.vram_total_mib, usable_mib as f64, |needed_mib| Refusal::VramTotal {
            needed_mib,
            usable_mib,
        })
    }

    /// The way to pay that was asked for; else spot where it suits, else on-demand.
    fn pay(&self, offered: &OfferedType) -> Result<(Paying, HourlyRate), Refusal> {
        if offered.region.is_none() {
            return Err(Refusal::NotOffered);
        }
        let paying = match self.paying {
            Some(asked) => asked,
            None if offered.spot_suits && offered.spot.is_some() => Paying::Spot,
            None => Paying::OnDemand,
        };
        let quote = offered.quote(paying).ok_or(Refusal::NoPrice {
            paying,
            is_sold_in_blocks: offered.capacity_block.is_some(),
        })?;
        Ok((paying, quote.rate))
    }

    fn ask_budget(&self, paying: Paying, rate: HourlyRate) -> Result<(), Refusal> {
        let Budget { hourly, monthly } = self.budget;
        if hourly.is_none() && monthly.is_none() {
            return Ok(());
        }
        if rate.currency() != Currency::Usd {
            return Err(Refusal::Currency);
        }
        let over = |amount: Decimal, limit: Option<Decimal>| {
            Some(Money::new(amount - limit.filter(|limit| amount > *limit)?, Currency::Usd))
        };
        let month = self.monthly(paying, rate).amount();
        match (over(rate.amount(), hourly), over(month, monthly)) {
            (Some(over), _) => Err(Refusal::OverHourly { over }),
            (_, Some(over)) => Err(Refusal::OverMonthly { over }),
            _ => Ok(()),
        }
    }

    /// Hours that a month bills.
    pub fn billed_hours(&self, paying: Paying) -> Decimal {
        if paying.is_committed() { self.hours_of_month } else { self.hours }
    }

    fn monthly(&self, paying: Paying, rate: HourlyRate) -> Money {
        rate.times_hours(self.billed_hours(paying)).rounded()
    }

    fn selected(
        &self,
        offered: OfferedType,
        (paying, rate): (Paying, HourlyRate),
        layout: Option<Layout>,
    ) -> SelectedType {
        let monthly = self.monthly(paying, rate);
        let today = self.today.as_ref();
        let today = today.filter(|today| self.models.is_empty() && !today.is_committed);
        let today = today.and_then(|today| today.rate);
        let today = today.map(|rate| self.monthly(Paying::OnDemand, rate));
        let requests = self.rate_per_second.map(|rate| rate * Decimal::from(3_600));
        let thousand = |hourly: Decimal| {
            let amount = rate.amount() * Decimal::ONE_THOUSAND;
            Some(Money::new(amount.checked_div(hourly)?, rate.currency()))
        };
        let serves_rate = self.rate_per_second.map(|_| {
            let needed = self.vcpu_without_gpu;
            needed.is_some_and(|needed| self.ask_host(offered.shape, needed).is_ok())
        });
        let requests = requests.filter(|_| serves_rate == Some(true));
        SelectedType {
            saved_monthly: today.and_then(|today| today.checked_sub(monthly).ok()),
            layout,
            monthly,
            serves_rate,
            per_thousand_requests: requests.and_then(thousand),
            offered,
            paying,
            rate,
        }
    }
}

/// Whether there is as much as is needed.
fn enough(
    needed: Option<f64>,
    there: f64,
    refusal: impl FnOnce(f64) -> Refusal,
) -> Result<(), Refusal> {
    needed.filter(|needed| there < *needed).map_or(Ok(()), |needed| Err(refusal(needed)))
}

fn ask_memory(shape: &InstanceShape, needed_mib: Option<f64>) -> Result<(), Refusal> {
    let there_mib = shape.memory_mib;
    enough(needed_mib, there_mib as f64, |needed_mib| Refusal::Memory { needed_mib, there_mib })
}

fn ask_vcpu(shape: &InstanceShape, needed: Option<f64>) -> Result<(), Refusal> {
    let there = shape.vcpu;
    enough(needed, there.into(), |needed| Refusal::Vcpu { needed, there })
}

fn ask_launchable(shape: &InstanceShape) -> Result<(), Refusal> {
    match family(shape.family()).and_then(|facts| facts.launchable) {
        Some(true) => Ok(()),
        Some(false) => Err(Refusal::NotLaunchable),
        None => Err(Refusal::Unknown { fact: "launch availability" }),
    }
}

/// How the GPUs of a type hold a model.
fn held_by(shape: &InstanceShape, served: &ServedModel) -> Result<Layout, Refusal> {
    served.on(shape).map_err(|reason| match reason {
        ServingRefusal::Unknown { fact, .. } => Refusal::Unknown { fact },
        reason => Refusal::Model {
            params: served.model.params,
            dtype: served.dtype,
            gpus: shape.gpu.as_ref().map_or(0, |gpu| gpu.share.visible_devices()),
            reason,
        },
    })
}

/// Whether a type earns credits for its CPUs and is slowed down without them: families
/// such as `t3` and `t4g`.
fn is_burstable(shape: &InstanceShape) -> bool {
    let mut letters = shape.family().chars();
    letters.next() == Some('t') && letters.next().is_some_and(|next| next.is_ascii_digit())
}

/// vCPUs that work of so many requests per second and CPU seconds each keeps busy at a
/// utilization of at most `target_percent`.
pub fn vcpus_for(
    rate_per_second: Decimal,
    cpu_seconds: Decimal,
    target_percent: f64,
) -> Option<f64> {
    Some(rate_per_second.checked_mul(cpu_seconds)?.to_f64()? / (target_percent / 100.0))
}

#[cfg(test)]
mod tests;
