//! Which types hold a model, and what it costs to serve it on each.

mod card;
mod refusal;

pub use card::{Card, Computes};
pub use refusal::FitRefusal;

use super::model::{Dtype, Model};
use super::roofline::{EFFICIENCY, LINKED_EFFICIENCY, Pace, Peak, Work};
use crate::catalog::{Prices, bundled_regions_of, family, shape, shapes};
use crate::domain::{
    AcceleratorKind, InstanceShape, MIB, Money, OperatingSystem, PriceKey, PriceQuote,
};
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// GPUs that hold one copy together.
const GROUPS: [u16; 4] = [1, 2, 4, 8];
/// By how much a larger group must be faster to be worth it.
const FASTER: f64 = 1.0 + 1e-9;
const SECONDS_OF_HOUR: f64 = 3_600.0;

/// What is served at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Tokens that the cache holds for each sequence, at least prompt and answer.
    pub context_tokens: u64,
    /// Tokens of a prompt, at least one.
    pub input_tokens: u64,
    /// Tokens of an answer, at least one.
    pub output_tokens: u64,
    /// Sequences in flight, at least one.
    pub sequences: u32,
}

/// What the figures assume.
#[derive(Debug, Clone, PartialEq)]
pub struct FitTerms {
    pub kv_dtype: Dtype,
    /// Memory of each GPU for the CUDA context, activations and buffers.
    pub runtime_mib: f64,
    /// Factor on all memory, at least 1.
    pub headroom: f64,
    /// Share of the peak that is reached; absent for the defaults.
    pub efficiency: Option<f64>,
    /// Share of the hours in which so many sequences are in flight, above 0 and at most 1.
    pub utilization: f64,
    pub hours_per_month: Decimal,
}

impl FitTerms {
    /// Share of the peak that so many GPUs reach together.
    pub fn efficiency_of(&self, gpus: u16) -> f64 {
        let usual = if gpus == 1 {
            EFFICIENCY
        } else {
            LINKED_EFFICIENCY
        };
        self.efficiency.unwrap_or(usual)
    }
}

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

/// What comes nearest where nothing fits.
#[derive(Debug, Clone, PartialEq)]
pub enum Nearest {
    /// A type holds the model with fewer sequences.
    Fewer {
        dtype: Dtype,
        instance_type: String,
        sequences: u64,
    },
    /// A type holds it in smaller numbers.
    Smaller { dtype: Dtype, instance_type: String },
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
    for shape in asked {
        match on_type(ask, dtype, shape, prices) {
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
    dtype: Dtype,
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
    let card = Card::of(shape, dtype)?;
    let layout = Layouts {
        ask,
        dtype,
        card: &card,
    }
    .fastest()?;
    Ok(Candidate {
        dtype,
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

/// The ways to spread copies of a model over the GPUs of a type.
struct Layouts<'a> {
    ask: &'a FitAsk,
    dtype: Dtype,
    card: &'a Card,
}

struct Layout {
    gpus_each: u16,
    copies: u32,
    needed_mib: f64,
    holds: u64,
    pace: Pace,
    tokens_per_second: f64,
}

impl Layouts<'_> {
    /// The way with the most tokens a second; of equal ones, that with the fewest GPUs for
    /// a copy.
    fn fastest(&self) -> Result<Layout, FitRefusal> {
        let mut best: Option<Layout> = None;
        let allowed = self.groups().filter(|gpus| self.obstacle(*gpus).is_none());
        for layout in allowed.filter_map(|gpus| self.layout(gpus)) {
            let least = best.as_ref().map_or(0.0, |best| best.tokens_per_second);
            if layout.tokens_per_second > least * FASTER {
                best = Some(layout);
            }
        }
        best.ok_or_else(|| self.refusal())
    }

    /// Sizes of groups that the type has GPUs for.
    fn groups(&self) -> impl Iterator<Item = u16> {
        let gpus = self.card.gpus;
        GROUPS.into_iter().filter(move |group| *group <= gpus)
    }

    /// What keeps GPUs from holding a copy together. Each takes whole heads of keys and
    /// values, and every layer waits for all of them.
    fn obstacle(&self, gpus: u16) -> Option<FitRefusal> {
        let kv_heads = self.ask.model.kv_heads;
        if gpus > 1 && !self.card.has_nvlink {
            let model = self.card.model.clone();
            return Some(FitRefusal::NotLinked { gpus, model });
        }
        let divides = kv_heads.is_multiple_of(u32::from(gpus));
        (!divides).then_some(FitRefusal::Heads { gpus, kv_heads })
    }

    /// Copies, and the sequences of the fullest of them.
    fn shares(&self, gpus_each: u16) -> (u32, u32) {
        let sequences = self.ask.load.sequences;
        let copies = u32::from(self.card.gpus / gpus_each).min(sequences);
        (copies, sequences.div_ceil(copies))
    }

    fn layout(&self, gpus_each: u16) -> Option<Layout> {
        let (copies, most) = self.shares(gpus_each);
        let needed_mib = self.needed_mib(gpus_each, most);
        if needed_mib > self.card.usable_mib as f64 {
            return None;
        }
        let (load, terms) = (&self.ask.load, &self.ask.terms);
        let work = Work {
            model: &self.ask.model,
            dtype: self.dtype,
            kv_dtype: terms.kv_dtype,
            input_tokens: load.input_tokens,
            output_tokens: load.output_tokens,
        };
        let gpus = f64::from(gpus_each);
        let peak = Peak {
            bytes_per_second: self.card.bytes_per_second * gpus,
            flops: self.card.flops * gpus,
            efficiency: terms.efficiency_of(gpus_each),
        };
        let pace = work.pace(peak, f64::from(most));
        // Sequences that do not divide evenly leave some copies with one fewer.
        let full = load.sequences - (most - 1) * copies;
        let mut tokens_per_second = f64::from(full) * pace.tokens_per_second();
        if full < copies {
            let rest = work.pace(peak, f64::from(most - 1));
            tokens_per_second += f64::from(copies - full) * rest.tokens_per_second();
        }
        Some(Layout {
            gpus_each,
            copies,
            needed_mib,
            holds: self.holds(gpus_each),
            pace,
            tokens_per_second,
        })
    }

    /// Memory that each GPU needs: its part of the weights and of the cache, what the
    /// runtime takes, and headroom on all of it.
    fn needed_mib(&self, gpus_each: u16, sequences: u32) -> f64 {
        let bytes = self.weights() + f64::from(sequences) * self.cache_of_one();
        let terms = &self.ask.terms;
        (bytes / f64::from(gpus_each) / MIB + terms.runtime_mib) * terms.headroom
    }

    /// Sequences that fit on all copies that fit.
    fn holds(&self, gpus_each: u16) -> u64 {
        let terms = &self.ask.terms;
        let free_mib = self.card.usable_mib as f64 / terms.headroom - terms.runtime_mib;
        let bytes = free_mib * MIB * f64::from(gpus_each) - self.weights();
        let each = (bytes / self.cache_of_one()).floor().max(0.0);
        // A cast cuts at the largest number.
        (each as u64).saturating_mul(u64::from(self.card.gpus / gpus_each))
    }

    fn weights(&self) -> f64 {
        self.ask.model.weight_bytes(self.dtype)
    }

    /// Bytes of the cache of one sequence.
    fn cache_of_one(&self) -> f64 {
        let of_token = self.ask.model.kv_bytes_per_token(self.ask.terms.kv_dtype);
        self.ask.load.context_tokens as f64 * of_token
    }

    /// What is in the way where no group holds the model.
    fn refusal(&self) -> FitRefusal {
        let mut would_hold = self.groups().filter(|gpus| self.layout(*gpus).is_some());
        if let Some(reason) = would_hold.find_map(|gpus| self.obstacle(gpus)) {
            return reason;
        }
        let allowed = self.groups().filter(|gpus| self.obstacle(*gpus).is_none());
        // One GPU alone is always allowed.
        let gpus = allowed.last().unwrap_or(1);
        let (_, most) = self.shares(gpus);
        FitRefusal::Memory {
            needed_mib: self.needed_mib(gpus, most),
            usable_mib: self.card.usable_mib,
            gpus,
            holds: self.holds(gpus),
            weights_fit: self.needed_mib(gpus, 0) <= self.card.usable_mib as f64,
        }
    }
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
        let layouts = Layouts {
            ask,
            dtype,
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
    let smaller = [Dtype::Fp16, Dtype::Fp8, Dtype::Int4].into_iter();
    let mut smaller = smaller.filter(|dtype| dtype.bytes() < least);
    smaller.find_map(|dtype| {
        let (held, _) = in_dtype(ask, dtype, prices);
        held.into_iter().next().map(|one| Nearest::Smaller {
            dtype,
            instance_type: one.instance_type,
        })
    })
}

#[cfg(test)]
mod tests;
