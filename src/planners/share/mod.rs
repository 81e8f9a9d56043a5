//! Several tenants on one card: which sharing each of them may have, how many cards and
//! instances that takes, and how far the packing may be from the best one.

mod lots;
mod plan;

pub use lots::{CardMode, Fragments, Lot, PackedCard};
pub use plan::{Method, MethodOutcome, Packing, SharePlan, SmallerFleet, plan_sharing};

use crate::catalog::shapes;
use crate::domain::{GpuOffer, GpuShare, HourlyRate, InstanceShape, PriceQuote, named_enum};
use crate::planners::NoResult;
use crate::savings::reported_vram_mib;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// Tenants that are packed at once: packing takes the square of their number.
pub const MOST_TENANTS: usize = 2_000;

named_enum! {
    /// How far a tenant must be apart from its neighbors.
    Isolation {
        /// Memory and compute of its own: MIG.
        Production = "production",
        /// Beside tenants of the same owner that trust each other: MPS.
        Trusted = "trusted",
        /// Taking turns with other development of the same owner: time-slicing.
        Development = "development",
    }
}

/// What takes a GPU of its own today.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareTenant {
    pub name: String,
    /// Absent where nothing names one; tenants without an owner have the same.
    pub owner: Option<String>,
    pub isolation: Isolation,
    /// Most memory that it held, MiB, without headroom.
    pub vram_peak_mib: f64,
    /// What it must have room for of a whole card, 0–100; absent where it is not known.
    pub peak_percent: Option<f64>,
    /// Its peak in each hour of the window, 0–100 and never above `peak_percent`; empty
    /// where its hours are not known.
    pub hours: Vec<f64>,
    /// Where its figures are from.
    pub source: String,
}

/// The instance type whose cards are shared.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedOn {
    pub instance_type: String,
    pub offer: GpuOffer,
    /// Cards of one instance.
    pub cards: u16,
    /// Memory of a card as its driver reports it, else as the type offers it, MiB.
    pub card_mib: f64,
}

/// Why a type or a region was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A flag names it.
    Flag,
    /// Most tenants are there.
    MostTenants,
    /// Nothing else was said.
    Home,
}

/// What tenants run on today.
#[derive(Debug, Clone, PartialEq)]
pub struct Today {
    /// Instances by type, with what one of them costs; absent where it is unpriced.
    pub instances: BTreeMap<String, (usize, Option<HourlyRate>)>,
    /// Of them, those of which other GPUs do work that is left out.
    pub kept: usize,
}

impl Today {
    pub fn count(&self) -> usize {
        self.instances.values().map(|(count, _)| count).sum()
    }
}

/// A type with fewer of the same cards, which AWS launches.
#[derive(Debug, Clone, PartialEq)]
pub struct SmallerType {
    pub instance_type: String,
    /// Cards of one instance.
    pub cards: u16,
    pub rate: HourlyRate,
}

/// A question of who shares which cards.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareQuestion {
    pub on: SharedOn,
    pub on_origin: Origin,
    pub region: String,
    pub region_origin: Origin,
    /// Price of one instance; absent where it is unpriced.
    pub price: Option<PriceQuote>,
    /// Whether AWS launches new instances of the type.
    pub is_launched: bool,
    /// Whether reserved instances or savings plans of the type have a price.
    pub has_commitments: bool,
    /// Types with fewer of the same cards that have a price in the region.
    pub smaller: Vec<SmallerType>,
    /// Absent where tenants are stated without what they run on.
    pub today: Option<Today>,
    pub hours_per_month: Decimal,
    /// Factor on the VRAM peak.
    pub vram_headroom: f64,
    /// How many times as long a request may take below the highest risk (policy).
    pub max_latency_ratio: f64,
    /// Instances that may be lost at once with room left for all.
    pub survive_nodes: u32,
    pub tenants: Vec<ShareTenant>,
}

impl SharedOn {
    /// The cards of a type.
    ///
    /// # Errors
    /// Where they cannot be shared, or their memory is not known.
    pub fn of(shape: &InstanceShape) -> Result<Self, NoResult> {
        let bad = |why: &str| {
            no_result! { "{why}"; "`gpucost pricing --gpu A100` lists types whose GPUs can be shared" }
        };
        let name = &shape.instance_type;
        let (offer, cards) =
            whole_gpus(shape).ok_or_else(|| bad(&format!("{name} has no whole GPU to share")))?;
        let model = offer.model.name();
        if offer.model.vendor() != Some("NVIDIA") {
            let only = "MIG, MPS and time-slicing are of NVIDIA GPUs";
            return Err(bad(&format!("{name} has {model}: {only}")));
        }
        let unknown = || bad(&format!("the memory of the GPUs of {name} is not in the catalog"));
        let card_mib = card_mib(offer).ok_or_else(unknown)?;
        Ok(Self { instance_type: name.clone(), offer: offer.clone(), cards, card_mib })
    }
}

fn whole_gpus(shape: &InstanceShape) -> Option<(&GpuOffer, u16)> {
    let offer = shape.gpu.as_ref()?;
    match offer.share {
        GpuShare::Whole(cards) => Some((offer, cards)),
        GpuShare::Fraction(_) => None,
    }
}

fn card_mib(offer: &GpuOffer) -> Option<f64> {
    Some(reported_vram_mib(offer).or(offer.vram_mib)? as f64)
}

impl ShareQuestion {
    /// What a tenant needs of a card, headroom included, MiB.
    pub fn vram_needed_mib(&self, tenant: &ShareTenant) -> f64 {
        tenant.vram_peak_mib * self.vram_headroom
    }

    /// Whether it can be answered.
    fn check(&self) -> Result<(), NoResult> {
        let (number, mut names) = (self.tenants.len(), BTreeSet::new());
        refuse! {
            number == 0 => "no tenant to place"; "state tenants with `--tenant` or `--tenants`";
            number > MOST_TENANTS => "{number} tenants are more than the {MOST_TENANTS} that are packed at once"; "narrow them with `--tag` or `--region`, or divide the file";
        }
        let SharedOn { instance_type, offer, card_mib, .. } = &self.on;
        for tenant in &self.tenants {
            let ShareTenant { name, vram_peak_mib, .. } = tenant;
            let nearest = || match nearest_type(self.vram_needed_mib(tenant)) {
                Some(name) => format!("the smallest card that holds it is that of `--type {name}`"),
                None => "no card holds it: divide the model over several GPUs, which cannot share"
                    .to_owned(),
            };
            refuse! {
                !names.insert(name) => "two tenants are named `{name}`"; "give each tenant a name of its own";
                vram_peak_mib > card_mib => "tenant `{name}` holds {vram_peak_mib:.0} MiB, and a GPU of {instance_type} ({}) has {card_mib:.0} MiB", offer.model.name(); "{}", nearest();
            }
        }
        Ok(())
    }
}

/// The type with the smallest card that holds so much, of these the one with the fewest
/// cards, then by name.
fn nearest_type(needed_mib: f64) -> Option<String> {
    let fits = shapes().filter_map(|shape| {
        let (offer, cards) = whole_gpus(shape)?;
        let card_mib = card_mib(offer).filter(|mib| *mib >= needed_mib)?;
        let is_nvidia = offer.model.vendor() == Some("NVIDIA");
        is_nvidia.then_some((card_mib, cards, &shape.instance_type))
    });
    let least = fits.min_by(|left, right| {
        left.0.total_cmp(&right.0).then_with(|| (left.1, left.2).cmp(&(right.1, right.2)))
    });
    least.map(|(.., name)| name.clone())
}

#[cfg(test)]
mod brute_force;
#[cfg(test)]
mod tests;
