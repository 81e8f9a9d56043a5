//! Offers of price lists as planners take them: types to select among, and ways to rent the GPUs
//! of one type.

use crate::analysis::{AWS, GpuFilter, Offer, Question, SpotJob, assess_type, compare};
use crate::catalog::{Prices, shape, shapes};
use crate::domain::{
    AcceleratorKind, Currency, GpuOffer, InstanceShape, Policy, PriceKey, PriceQuote, Risk,
};
use crate::planners::Paying;
use crate::planners::rent_or_buy::Rental;
use crate::planners::select::{OfferedType, Selection, Wanted, select};
use crate::savings::Checkpointing;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeSet;

/// Selects among the types of a question, or every type of the catalog, in its regions; its GPU
/// says which accelerators answer.
pub fn select_types(
    question: &Question,
    wanted: Wanted,
    prices: &Prices<'_>,
    policy: &Policy,
) -> Selection {
    let every = Question {
        instance_types: Vec::new(),
        gpu: None,
        count: None,
        providers: BTreeSet::from([AWS.to_owned()]),
        ..question.clone()
    };
    let mut offers = compare(&every, prices);
    if wanted.vcpu_without_gpu.is_some() {
        let cpu = shapes().filter(|shape| shape.accelerator == AcceleratorKind::Cpu);
        let cpu = Question {
            instance_types: cpu.map(|shape| shape.instance_type.clone()).collect(),
            ..every
        };
        offers.extend(compare(&cpu, prices));
    }
    let sold: BTreeSet<&str> = offers.iter().map(|offer| offer.instance_type.as_str()).collect();
    let named = |shape: &InstanceShape| question.instance_types.contains(&shape.instance_type);
    let unsold: Vec<&InstanceShape> = shapes()
        .filter(|shape| wanted.vcpu_without_gpu.is_some() || !is_cpu(shape) || named(shape))
        .filter(|shape| !sold.contains(shape.instance_type.as_str()))
        .collect();
    let filter = question.gpu.as_ref();
    let mut offered: Vec<OfferedType> =
        unsold.into_iter().map(|shape| unpriced(shape, filter)).collect();
    for offer in offers {
        let Some(shape) = shape(&offer.instance_type) else { continue };
        let spot_suits = wanted.restartable && suits(&offer, question, &wanted, prices, policy);
        offered.push(OfferedType {
            region: offer.region,
            on_demand: offer.on_demand,
            spot: offer.spot,
            interruption: offer.interruption.map(|(band, _)| band),
            spot_suits,
            reserved_1yr: offer.commitment_1yr,
            reserved_3yr: offer.commitment_3yr,
            capacity_block: offer.capacity_block,
            ..unpriced(shape, filter)
        });
    }
    offered.retain(|offer| question.instance_types.is_empty() || named(offer.shape));
    select(wanted, offered)
}

fn is_cpu(shape: &InstanceShape) -> bool {
    shape.accelerator == AcceleratorKind::Cpu
}

fn unpriced(shape: &'static InstanceShape, filter: Option<&GpuFilter>) -> OfferedType {
    let is_asked = filter.is_none_or(|filter| {
        let gpu = shape.gpu.as_ref();
        gpu.is_some_and(|gpu| filter.matches(gpu.model.name(), gpu.vram_mib))
    });
    OfferedType {
        shape,
        region: None,
        is_asked,
        on_demand: None,
        spot: None,
        interruption: None,
        spot_suits: false,
        reserved_1yr: None,
        reserved_3yr: None,
        capacity_block: None,
    }
}

/// Whether one such job may go to the spot market of a region and saves by it, at the
/// risk that an audit accepts by default.
fn suits(
    offer: &Offer,
    question: &Question,
    wanted: &Wanted,
    prices: &Prices<'_>,
    policy: &Policy,
) -> bool {
    let Some(region) = &offer.region else { return false };
    let key = PriceKey {
        operating_system: question.operating_system,
        ..PriceKey::linux_on_demand(region, &offer.instance_type)
    };
    let job = SpotJob {
        kind: wanted.kind,
        restartable: wanted.restartable,
        nodes: 1,
        checkpointing: Checkpointing::default(),
        accepted: Risk::Medium,
    };
    assess_type(&key, job, prices, policy).eligibility.is_ok()
}

/// What of the price lists can be compared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rentals {
    pub found: Vec<Rental>,
    /// Offers of the same GPU that are priced in other currencies than dollars.
    pub other_currencies: usize,
}

/// Prices of the one type of a question on AWS, and of machines of its other providers with
/// the same GPU.
pub fn rentals(question: &Question, gpu: &GpuOffer, prices: &Prices<'_>) -> Rentals {
    let own = Question { providers: BTreeSet::from([AWS.to_owned()]), ..question.clone() };
    let others = Question {
        instance_types: Vec::new(),
        gpu: like(gpu),
        regions: Vec::new(),
        providers: question.providers.iter().filter(|name| *name != AWS).cloned().collect(),
        ..question.clone()
    };
    let mut rentals = Rentals::default();
    for offer in compare(&own, prices) {
        rentals.add(&offer, true);
    }
    if others.gpu.is_some() && !others.providers.is_empty() {
        // A model's name stands for its variants too, which are other cards.
        let is_same = |offer: &Offer| {
            let gpus = offer.gpus.as_ref();
            gpus.is_some_and(|gpus| gpus.model == gpu.model.name())
        };
        for offer in compare(&others, prices).iter().filter(|offer| is_same(offer)) {
            rentals.add(offer, false);
        }
    }
    rentals
}

impl Rentals {
    fn add(&mut self, offer: &Offer, is_asked: bool) {
        let Some(gpus) = offer.gpus.as_ref().filter(|gpus| !gpus.count.is_zero()) else { return };
        let ways = [
            (Paying::OnDemand, &offer.on_demand),
            (Paying::Reserved1yr, &offer.commitment_1yr),
            (Paying::Reserved3yr, &offer.commitment_3yr),
        ];
        let priced = ways.into_iter().filter_map(|(paying, quote)| Some((paying, quote.as_ref()?)));
        let is_dollars = |quote: &PriceQuote| quote.rate.currency() == Currency::Usd;
        let (dollars, other): (Vec<_>, Vec<_>) = priced.partition(|(_, quote)| is_dollars(quote));
        self.other_currencies += usize::from(dollars.is_empty() && !other.is_empty());
        let of = |(paying, quote): (Paying, &PriceQuote)| Rental {
            provider: Some(offer.provider.clone()),
            region: offer.region.clone(),
            machine: format!("{} ({} × {})", offer.instance_type, gpus.count, gpus.model),
            paying,
            per_gpu_hour: per_gpu(quote, gpus.count),
            machine_gpus: gpus.count.ceil().to_u32().unwrap_or(1),
            seen_on: Some(quote.seen_on),
            is_asked,
        };
        self.found.extend(dollars.into_iter().map(of));
    }
}

fn per_gpu(quote: &PriceQuote, gpus: Decimal) -> Decimal {
    quote.rate.amount().checked_div(gpus).unwrap_or(quote.rate.amount())
}

/// The same model with the same memory, as labels state it.
fn like(gpu: &GpuOffer) -> Option<GpuFilter> {
    let mib = gpu.vram_mib?;
    let gigabytes = if mib.is_multiple_of(1024) {
        mib / 1024
    } else {
        // Labels that are no whole number of GiB count in powers of ten.
        (mib * 1_048_576 + 500_000_000) / 1_000_000_000
    };
    GpuFilter::parse(&format!("{}:{gigabytes}GB", gpu.model.name())).ok()
}
