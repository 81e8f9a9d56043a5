//! Ways to rent the GPUs of a type, for the planner that compares them with an own server.

use super::{AWS, GpuFilter, Offer, Question, compare};
use crate::catalog::Prices;
use crate::domain::{Currency, GpuOffer, PriceQuote};
use crate::planners::Paying;
use crate::planners::rent_or_buy::Rental;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeSet;

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
