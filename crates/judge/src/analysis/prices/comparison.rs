//! Comparing what GPUs cost: every offer that answers a question, with the
//! figures that people compare by.

use super::{AWS, Question, SortBy};
use crate::catalog::{
    self, ListedOffer, PricedUnit, Prices, bundled_interruption_band, bundled_regions, family,
    observed_quote, other_clouds, shapes, whole_device_spec,
};
use crate::domain::{
    AcceleratorKind, CommitmentTerm, Currency, GpuOffer, GpuShare, HourlyRate, InterruptionBand,
    PriceKey, PriceOption, PriceQuote,
};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::cmp::Ordering;
use std::collections::BTreeSet;

#[derive(Debug, Clone, PartialEq)]
pub struct OfferedGpus {
    /// Model of every GPU.
    pub model: String,
    /// GPUs, or the part of one.
    pub count: Decimal,
    /// Memory that all of them have together, MiB.
    pub total_vram_mib: Option<Decimal>,
    /// Memory of one, or of the part of one, MiB.
    pub vram_mib: Option<u64>,
    /// Dense BF16 throughput of the offer, TFLOPS.
    pub bf16_dense_tflops: Option<Decimal>,
}

/// What a machine or a GPU costs in one region under every option.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offer {
    /// The provider, such as `aws`.
    pub provider: String,
    /// The region; absent where the provider quotes one price for all.
    pub region: Option<String>,
    /// The machine, in the provider's words.
    pub instance_type: String,
    /// Its GPUs; absent on CPU types and where no source states them.
    pub gpus: Option<OfferedGpus>,
    pub vcpu: Option<u32>,
    /// Host memory, MiB.
    pub memory_mib: Option<u64>,
    pub unit: PricedUnit,
    pub on_demand: Option<PriceQuote>,
    /// Spot, or another cloud's interruptible price.
    pub spot: Option<PriceQuote>,
    /// Standard reserved instances by term.
    pub reserved: Vec<(CommitmentTerm, PriceQuote)>,
    /// Savings plans by plan and term.
    pub savings_plans: Vec<(PriceOption, PriceQuote)>,
    /// One year without upfront: a reserved instance, or another cloud's
    /// committed use.
    pub commitment_1yr: Option<PriceQuote>,
    /// The same for three years.
    pub commitment_3yr: Option<PriceQuote>,
    /// An hour in a Capacity Block.
    pub capacity_block: Option<PriceQuote>,
    /// How often spot instances were interrupted, and when that was seen.
    pub interruption: Option<(InterruptionBand, Date)>,
    pub launchable: Option<bool>,
}

impl Offer {
    /// The on-demand rate.
    pub fn hourly(&self) -> Option<HourlyRate> {
        Some(self.on_demand.as_ref()?.rate)
    }

    /// On-demand per hour and whole GPU; a part of a GPU counts as that part.
    pub fn per_gpu_hour(&self) -> Option<Decimal> {
        self.on_demand_over(self.gpus.as_ref()?.count)
    }

    /// On-demand per hour and GiB of VRAM.
    pub fn per_vram_gib_hour(&self) -> Option<Decimal> {
        let gib = self.gpus.as_ref()?.total_vram_mib? / Decimal::from(1024);
        self.on_demand_over(gib)
    }

    /// On-demand per hour and dense BF16 TFLOPS.
    pub fn per_bf16_tflops_hour(&self) -> Option<Decimal> {
        self.on_demand_over(self.gpus.as_ref()?.bf16_dense_tflops?)
    }

    fn on_demand_over(&self, units: Decimal) -> Option<Decimal> {
        self.hourly()?.amount().checked_div(units)
    }

    /// Every price of it.
    pub fn quotes(&self) -> impl Iterator<Item = &PriceQuote> {
        self.quotes_by_the_hour().chain(&self.capacity_block)
    }

    /// Every price that a refresh of the user's cache reads anew: those of AWS but Capacity
    /// Blocks, which are in none of the lists that it reads.
    pub fn refreshable_quotes(&self) -> impl Iterator<Item = &PriceQuote> {
        self.quotes_by_the_hour().filter(|_| self.provider == AWS)
    }

    fn quotes_by_the_hour(&self) -> impl Iterator<Item = &PriceQuote> {
        let single = [&self.on_demand, &self.spot, &self.commitment_1yr, &self.commitment_3yr];
        let by_term = self.reserved.iter().map(|(_, quote)| quote);
        let plans = self.savings_plans.iter().map(|(_, quote)| quote);
        single.into_iter().flatten().chain(by_term).chain(plans)
    }

    /// The currency of its prices.
    pub fn currency(&self) -> Option<Currency> {
        Some(self.quotes().next()?.rate.currency())
    }

    /// Whether its accelerators are GPUs, as those of other clouds in the catalog are.
    pub fn is_of_gpus(&self) -> bool {
        self.provider != AWS
            || catalog::shape(&self.instance_type)
                .is_some_and(|shape| shape.accelerator == AcceleratorKind::Gpu)
    }

    fn is_priced(&self) -> bool {
        self.quotes().next().is_some()
    }

    /// The figure that offers are sorted by, in the currency of the offer.
    pub fn sort_figure(&self, sort: SortBy) -> Option<Decimal> {
        match sort {
            SortBy::Price => Some(self.hourly()?.amount()),
            SortBy::Spot => Some(self.spot.as_ref()?.rate.amount()),
            SortBy::GpuHour => self.per_gpu_hour(),
            SortBy::Vram => self.per_vram_gib_hour(),
            SortBy::Tflops => self.per_bf16_tflops_hour(),
        }
    }
}

/// Every priced offer that answers a question: cheapest first by the figure
/// asked for, those without it last; one currency after the other, because
/// amounts in two cannot be compared.
pub fn compare(question: &Question, prices: &Prices<'_>) -> Vec<Offer> {
    let mut offers = Vec::new();
    if question.providers.contains(AWS) {
        offers.extend(aws_offers(question, prices));
    }
    if question.providers.iter().any(|provider| provider != AWS) {
        offers.extend(
            other_clouds()
                .filter(|listed| question.providers.contains(&listed.provider))
                .filter(|listed| question.asks_region(&listed.provider, listed.region.as_deref()))
                .map(of_other_cloud)
                .filter(|offer| asks_for(question, offer)),
        );
    }
    offers.retain(Offer::is_priced);
    offers.sort_by(|left, right| order(left, right, question.sort));
    offers
}

/// Where the types of AWS that a question names are sold, of those that have no offer in its
/// regions: the type as it is named, and its regions in order.
pub fn sold_elsewhere(question: &Question, prices: &Prices<'_>) -> Vec<(String, Vec<String>)> {
    if !question.providers.contains(AWS) {
        return Vec::new();
    }
    let elsewhere = question.instance_types.iter().filter_map(|name| {
        let everywhere = Question {
            instance_types: vec![name.clone()],
            regions: vec!["all".to_owned()],
            providers: BTreeSet::from([AWS.to_owned()]),
            ..question.clone()
        };
        let regions: BTreeSet<String> =
            compare(&everywhere, prices).into_iter().filter_map(|offer| offer.region).collect();
        let is_here = regions.iter().any(|region| question.asks_region(AWS, Some(region)));
        (!is_here && !regions.is_empty()).then(|| (name.clone(), regions.into_iter().collect()))
    });
    elsewhere.collect()
}

fn order(left: &Offer, right: &Offer, sort: SortBy) -> Ordering {
    let figures = match (left.sort_figure(sort), right.sort_figure(sort)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (left, right) => right.is_some().cmp(&left.is_some()),
    };
    let name =
        |offer: &Offer| (offer.provider.clone(), offer.region.clone(), offer.instance_type.clone());
    left.currency().cmp(&right.currency()).then(figures).then_with(|| name(left).cmp(&name(right)))
}

fn asks_for(question: &Question, offer: &Offer) -> bool {
    if !question.instance_types.is_empty() {
        return question.asks_type(&offer.instance_type);
    }
    offer.gpus.as_ref().is_some_and(|gpus| {
        question.gpu.as_ref().is_none_or(|wanted| wanted.matches(&gpus.model, gpus.vram_mib))
            && question.count.is_none_or(|count| count == gpus.count)
    })
}

fn aws_offers(question: &Question, prices: &Prices<'_>) -> Vec<Offer> {
    let names: BTreeSet<String> = if question.instance_types.is_empty() {
        shapes()
            .filter(|shape| question.asks_kind(shape.accelerator))
            .map(|shape| shape.instance_type.clone())
            .collect()
    } else {
        question.instance_types.iter().map(|name| name.to_ascii_lowercase()).collect()
    };
    let mut offers = Vec::new();
    for name in &names {
        let bare = of_type(name);
        if !asks_for(question, &bare) {
            continue;
        }
        let mut regions: BTreeSet<&str> = bundled_regions(Some(name)).into_iter().collect();
        regions.extend(prices.gathered_regions_of(name));
        regions.retain(|region| question.asks_region(AWS, Some(region)));
        offers.extend(regions.into_iter().map(|region| in_region(&bare, region, question, prices)));
    }
    offers
}

/// An AWS type without its prices.
fn of_type(name: &str) -> Offer {
    let shape = catalog::shape(name);
    Offer {
        provider: AWS.to_owned(),
        instance_type: name.to_owned(),
        gpus: shape.and_then(|shape| shape.gpu.as_ref()).map(offered_gpus),
        vcpu: shape.map(|shape| shape.vcpu),
        memory_mib: shape.map(|shape| shape.memory_mib),
        launchable: shape.and_then(|shape| family(shape.family())?.launchable),
        ..Offer::default()
    }
}

fn offered_gpus(offer: &GpuOffer) -> OfferedGpus {
    let count = offer.share.count();
    OfferedGpus {
        model: offer.model.name().to_owned(),
        count: count.normalize(),
        total_vram_mib: offer
            .vram_mib
            .map(|mib| Decimal::from(mib) * Decimal::from(offer.share.visible_devices())),
        vram_mib: offer.vram_mib,
        bf16_dense_tflops: bf16_dense_tflops(offer).map(|tflops| tflops * count),
    }
}

/// Of one whole device.
fn bf16_dense_tflops(offer: &GpuOffer) -> Option<Decimal> {
    Decimal::try_from(whole_device_spec(offer)?.bf16_dense_tflops?).ok()
}

fn in_region(bare: &Offer, region: &str, question: &Question, prices: &Prices<'_>) -> Offer {
    let key = PriceKey {
        operating_system: question.operating_system,
        ..PriceKey::linux_on_demand(region, &bare.instance_type)
    };
    let quote = |option: PriceOption| prices.get(&key.with_option(option)).ok();
    let terms = CommitmentTerm::ALL.into_iter();
    let reserved = |term| Some((term, quote(PriceOption::Reserved(term))?));
    let reserved: Vec<_> = terms.clone().filter_map(reserved).collect();
    let plans = terms.clone().map(PriceOption::Ec2InstanceSavingsPlan);
    let plans = plans.chain(terms.map(PriceOption::ComputeSavingsPlan));
    let without_upfront = |term: CommitmentTerm| {
        reserved.iter().find(|(sold, _)| *sold == term).map(|(_, quote)| quote.clone())
    };
    Offer {
        region: Some(region.to_owned()),
        on_demand: quote(PriceOption::OnDemand),
        spot: quote(PriceOption::Spot),
        savings_plans: plans.filter_map(|option| Some((option, quote(option)?))).collect(),
        commitment_1yr: without_upfront(CommitmentTerm::ONE_YEAR_NO_UPFRONT),
        commitment_3yr: without_upfront(CommitmentTerm::THREE_YEARS_NO_UPFRONT),
        capacity_block: quote(PriceOption::CapacityBlock),
        interruption: bundled_interruption_band(&key),
        reserved,
        ..bare.clone()
    }
}

fn of_other_cloud(listed: ListedOffer) -> Offer {
    let quote = |rate: HourlyRate| observed_quote(rate, listed.date, &listed.source);
    let whole = GpuOffer {
        model: listed.gpu_model.clone(),
        share: GpuShare::Whole(1),
        vram_mib: listed.vram_mib,
    };
    Offer {
        region: listed.region.clone(),
        instance_type: listed.instance_type.clone(),
        gpus: Some(OfferedGpus {
            model: listed.gpu_model.name().to_owned(),
            count: listed.gpu_count.normalize(),
            total_vram_mib: listed.vram_mib.map(|mib| Decimal::from(mib) * listed.gpu_count),
            vram_mib: listed.vram_mib,
            bf16_dense_tflops: bf16_dense_tflops(&whole).map(|tflops| tflops * listed.gpu_count),
        }),
        vcpu: listed.vcpu,
        memory_mib: listed.memory_mib,
        unit: listed.unit,
        on_demand: listed.on_demand.map(quote),
        spot: listed.spot.map(quote),
        commitment_1yr: listed.commitment_1yr.map(quote),
        commitment_3yr: listed.commitment_3yr.map(quote),
        provider: listed.provider,
        ..Offer::default()
    }
}
