//! Which types hold a model, and what it costs to serve it on each.

mod card;
mod layout;
mod refusal;

pub use card::{Card, Computes};
pub use layout::{FitTerms, Layout, Load, Nearest, ServedModel};
pub use refusal::FitRefusal;

use self::layout::{Layouts, smaller_than};
use super::model::{Dtype, Model};
use super::roofline::Pace;
use crate::catalog::{Prices, bundled_regions_of, family, shape, shapes};
use crate::domain::{AcceleratorKind, InstanceShape, Money, OperatingSystem, PriceKey, PriceQuote};
use rust_decimal::Decimal;
use std::collections::BTreeSet;

const SECONDS_OF_HOUR: f64 = 3_600.0;

#[derive(Debug, Clone, PartialEq)]
pub struct FitAsk {
    pub model: Model,
    /// Side by side, at least one, each once.
    pub dtypes: Vec<Dtype>,
    pub load: Load,
    pub terms: FitTerms,
    pub region: String,
    pub operating_system: OperatingSystem,
    /// Types in lower case; empty for every type with GPUs.
    pub instance_types: Vec<String>,
    /// The flags that were passed, without dashes: what else is said is a default.
    pub flags: BTreeSet<&'static str>,
}

impl FitAsk {
    /// The model in one type of numbers.
    fn served_in(&self, dtype: Dtype) -> ServedModel {
        ServedModel {
            model: self.model.clone(),
            dtype,
            load: self.load,
            terms: self.terms.clone(),
        }
    }
}

/// A type that holds the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub dtype: Dtype,
    pub instance_type: String,
    pub card: Card,
    /// GPUs that hold one copy.
    pub gpus_each: u16,
    pub copies: u32,
    /// Memory that each GPU needs, with headroom.
    pub needed_mib: f64,
    /// Sequences that fit at most.
    pub holds: u64,
    /// Of the copy with the most sequences.
    pub pace: Pace,
    /// Output tokens of all copies.
    pub tokens_per_second: f64,
    /// On-demand; absent where no price is known.
    pub price: Option<PriceQuote>,
    /// Whether a commitment to it has a price.
    pub has_commitment: bool,
}

impl Candidate {
    pub fn hourly(&self) -> Option<Money> {
        let rate = self.price.as_ref()?.rate;
        Some(Money::new(rate.amount(), rate.currency()))
    }

    /// Of an hour in which so many sequences are in flight: it pays for the others as well.
    pub fn hourly_of_use(&self, terms: &FitTerms) -> Option<Money> {
        let rate = self.price.as_ref()?.rate;
        let share = Decimal::try_from(terms.utilization).ok()?;
        let cost = rate.amount().checked_div(share)?;
        Some(Money::new(cost.round_dp(6), rate.currency()))
    }

    /// Of every hour of a month.
    pub fn monthly(&self, terms: &FitTerms) -> Option<Money> {
        let rate = self.price.as_ref()?.rate;
        Some(rate.times_hours(terms.hours_per_month).rounded())
    }

    /// Of a million output tokens, with the prompts before them.
    pub fn per_million(&self, terms: &FitTerms) -> Option<Money> {
        let rate = self.price.as_ref()?.rate;
        let an_hour = self.tokens_per_second * SECONDS_OF_HOUR * terms.utilization;
        let millions = Decimal::try_from(an_hour / 1e6).ok()?;
        let cost = rate.amount().checked_div(millions)?;
        Some(Money::new(cost.round_dp(4), rate.currency()))
    }
}

/// A type that does not hold it.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    pub dtype: Dtype,
    pub instance_type: String,
    pub reason: FitRefusal,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    pub ask: FitAsk,
    /// By type of numbers as asked, then cheapest first; those without a price last.
    pub candidates: Vec<Candidate>,
    /// By type of numbers as asked, then by name.
    pub refused: Vec<Refused>,
}

impl Fit {
    /// The candidates in a type of numbers, cheapest first.
    pub fn of(&self, dtype: Dtype) -> impl Iterator<Item = &Candidate> {
        let candidates = self.candidates.iter();
        candidates.filter(move |one| one.dtype == dtype)
    }

    /// The candidate whose tokens cost least.
    pub fn least_per_million(&self, dtype: Dtype) -> Option<&Candidate> {
        let cost = |one: &Candidate| one.per_million(&self.ask.terms).map(Money::amount);
        let priced = self.of(dtype).filter(|one| cost(one).is_some());
        priced.min_by_key(|one| cost(one))
    }
}

/// No type holds the model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "no instance type in {region} holds the model with a cache of {sequences} × {context_tokens} \
     tokens"
)]
pub struct NothingFits {
    pub region: String,
    pub sequences: u32,
    pub context_tokens: u64,
    /// The reason of the only type that was named.
    #[source]
    pub reason: Option<Box<FitRefusal>>,
    pub nearest: Option<Nearest>,
}

/// Every type that holds a model, with what it costs.
///
/// # Errors
/// [`NothingFits`], with what comes nearest.
pub fn fit(ask: FitAsk, prices: &Prices<'_>) -> Result<Fit, NothingFits> {
    let (mut candidates, mut refused) = (Vec::new(), Vec::new());
    for &dtype in &ask.dtypes {
        let (mut held, rest) = in_dtype(&ask, dtype, prices);
        held.sort_by(|left, right| {
            let price = |one: &Candidate| one.hourly().map(Money::amount);
            let unpriced = |one: &Candidate| one.price.is_none();
            unpriced(left)
                .cmp(&unpriced(right))
                .then(price(left).cmp(&price(right)))
                .then_with(|| left.instance_type.cmp(&right.instance_type))
        });
        candidates.extend(held);
        refused.extend(rest);
    }
    if candidates.is_empty() {
        return Err(nothing(&ask, refused, prices));
    }
    Ok(Fit {
        ask,
        candidates,
        refused,
    })
}

fn in_dtype(ask: &FitAsk, dtype: Dtype, prices: &Prices<'_>) -> (Vec<Candidate>, Vec<Refused>) {
    let (mut held, mut refused) = (Vec::new(), Vec::new());
    let named = &ask.instance_types;
    let asked = shapes().filter(|shape| {
        if named.is_empty() {
            shape.accelerator == AcceleratorKind::Gpu
        } else {
            named.contains(&shape.instance_type)
        }
    });
    let served = ask.served_in(dtype);
    for shape in asked {
        match on_type(ask, &served, shape, prices) {
            Ok(candidate) => held.push(candidate),
            Err(reason) => refused.push(Refused {
                dtype,
                instance_type: shape.instance_type.clone(),
                reason,
            }),
        }
    }
    (held, refused)
}

fn on_type(
    ask: &FitAsk,
    served: &ServedModel,
    shape: &InstanceShape,
    prices: &Prices<'_>,
) -> Result<Candidate, FitRefusal> {
    let name = &shape.instance_type;
    if family(shape.family()).and_then(|facts| facts.launchable) == Some(false) {
        return Err(FitRefusal::NotLaunchable);
    }
    let key = PriceKey {
        operating_system: ask.operating_system,
        ..PriceKey::linux_on_demand(&ask.region, name)
    };
    let price = prices.get(&key).ok();
    if price.is_none() && !bundled_regions_of(name).contains(&ask.region.as_str()) {
        return Err(FitRefusal::NotSold);
    }
    let card = Card::of(shape, served.dtype)?;
    let layout = served.on_card(&card)?;
    Ok(Candidate {
        dtype: served.dtype,
        instance_type: name.clone(),
        gpus_each: layout.gpus_each,
        copies: layout.copies,
        needed_mib: layout.needed_mib,
        holds: layout.holds,
        pace: layout.pace,
        tokens_per_second: layout.tokens_per_second,
        price,
        has_commitment: prices.has_commitment(&key),
        card,
    })
}

/// Memory that GPUs were seen to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredMemory {
    /// The workload, or the file of samples.
    pub name: String,
    /// In lower case.
    pub instance_type: String,
    pub region: Option<String>,
    /// Largest use of one GPU.
    pub peak_mib: f64,
}

/// Memory that one GPU takes by the formula: weights, cache and runtime, without headroom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComputedMemory {
    pub dtype: Dtype,
    /// GPUs that hold one copy.
    pub gpus_each: u16,
    pub mib: f64,
}

/// What each GPU of a type takes in each type of numbers, by how many GPUs may hold a copy,
/// whether it fits or not. Empty for a type without NVIDIA GPUs.
pub fn computed_memory(ask: &FitAsk, instance_type: &str) -> Vec<ComputedMemory> {
    let mut computed = Vec::new();
    let Some(found) = shape(instance_type) else {
        return computed;
    };
    for &dtype in &ask.dtypes {
        let Ok(card) = Card::of(found, dtype) else {
            continue;
        };
        let served = ask.served_in(dtype);
        let layouts = Layouts {
            served: &served,
            card: &card,
        };
        for gpus_each in layouts.groups() {
            if layouts.obstacle(gpus_each).is_none() {
                let (_, most) = layouts.shares(gpus_each);
                let mib = layouts.needed_mib(gpus_each, most) / ask.terms.headroom;
                computed.push(ComputedMemory {
                    dtype,
                    gpus_each,
                    mib,
                });
            }
        }
    }
    computed
}

fn nothing(ask: &FitAsk, refused: Vec<Refused>, prices: &Prices<'_>) -> NothingFits {
    let nearest = fewer(&refused).or_else(|| smaller(ask, prices));
    let mut reasons = refused.into_iter().map(|one| one.reason);
    let reason = reasons.next().filter(|_| reasons.next().is_none());
    NothingFits {
        region: ask.region.clone(),
        sequences: ask.load.sequences,
        context_tokens: ask.load.context_tokens,
        reason: reason.map(Box::new),
        nearest,
    }
}

/// The type that holds the most sequences; the first of equal ones.
fn fewer(refused: &[Refused]) -> Option<Nearest> {
    let mut best: Option<(u64, &Refused)> = None;
    for one in refused {
        if let FitRefusal::Memory { holds, .. } = one.reason
            && holds > best.map_or(0, |(most, _)| most)
        {
            best = Some((holds, one));
        }
    }
    best.map(|(sequences, one)| Nearest::Fewer {
        dtype: one.dtype,
        instance_type: one.instance_type.clone(),
        sequences,
    })
}

/// The largest smaller type of numbers in which any type holds the model.
fn smaller(ask: &FitAsk, prices: &Prices<'_>) -> Option<Nearest> {
    let least = ask.dtypes.iter().map(|dtype| dtype.bytes());
    let least = least.fold(f64::INFINITY, f64::min);
    smaller_than(least).find_map(|dtype| {
        let (held, _) = in_dtype(ask, dtype, prices);
        held.into_iter().next().map(|one| Nearest::Smaller {
            dtype,
            instance_type: one.instance_type,
        })
    })
}

#[cfg(test)]
mod tests;
