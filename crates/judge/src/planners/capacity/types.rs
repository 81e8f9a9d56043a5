//! The question and its answer: the same load on instance types, how many of each, and what they
//! cost.

use super::replay::Between;
use super::{CapacityError, Fleet, Need, RequestCounts, Service};
use crate::catalog::Prices;
use crate::domain::{GpuOffer, InstanceShape, Money, PriceKey, PriceQuote, counted};
use crate::planners::NoResult;
use crate::savings::{Bound, Ratio, RatioBasis, gpu_ratio, is_launchable, usable_vram_mib};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

const SECONDS_PER_HOUR: f64 = 3_600.0;
const MILLION: Decimal = Decimal::from_parts(1_000_000, 0, 0, false, 0);

/// GPUs that were seen serving.
#[derive(Debug, Clone, PartialEq)]
pub struct Utilized {
    /// The file of samples, or the workload.
    pub name: String,
    /// GPUs that ran, on average.
    pub gpus: f64,
    /// Mean utilization of them, 0–100.
    pub mean_percent: f64,
    pub samples: u64,
}

impl Utilized {
    /// What a GPU serves when it is busy all of the time, by the utilization law: requests a
    /// second over busy GPUs (P. J. Denning and J. P. Buzen, *The Operational Analysis of
    /// Queueing Network Models*, 1978). Work in larger batches may do more.
    ///
    /// # Errors
    /// When no GPU was busy.
    pub fn per_second(&self, served_per_second: f64) -> Result<f64, NoResult> {
        let (name, busy) = (&self.name, self.busy_gpus());
        refuse! {
            busy <= 0.0 || busy.is_nan() => "no GPU of {name} was busy, so that its throughput is not known"; "measure while requests are served";
        }
        Ok(served_per_second / busy)
    }

    /// GPUs that were busy, on average.
    pub fn busy_gpus(&self) -> f64 {
        self.gpus * self.mean_percent / 100.0
    }
}

/// Where the throughput of a GPU is from.
#[derive(Debug, Clone, PartialEq)]
pub enum ThroughputBasis {
    /// Requests a second, as stated.
    Stated,
    /// A batch over its latency, as stated.
    Latency,
    /// Tokens of a request over tokens a second, as stated.
    Tokens { per_second: f64, prompt_per_second: Option<f64> },
    /// Service times that were recorded.
    Recorded,
    /// Requests that were served at a measured utilization.
    Utilization { measured: Utilized, served_per_second: f64 },
}

/// The question, with all that its answer rests on.
#[derive(Debug, Clone)]
pub struct CapacityQuestion<'a> {
    pub service: Service<'a>,
    pub basis: ThroughputBasis,
    /// Whether how busy a GPU may be was stated, and not the policy's.
    pub is_target_stated: bool,
    /// The file of recorded arrivals; absent without.
    pub arrivals_file: Option<String>,
    /// The counts that the rate is from; absent without.
    pub counts: Option<&'a RequestCounts>,
    /// The types that it may run on; absent where none is named.
    pub types: Option<Types<'a>>,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct Capacity<'a> {
    pub question: CapacityQuestion<'a>,
    /// On the GPU whose throughput is known.
    pub need: Need,
    /// What is rented where an instance has one GPU.
    pub fleet: Fleet,
    /// Types that do: cheapest first by the month, those without a price last, then by
    /// name. After them those that do not, by name. Empty without types.
    pub candidates: Vec<Candidate>,
}

/// Answers a question.
///
/// # Errors
/// When its figures are invalid, or when no number of the GPUs whose throughput is known
/// holds the objective.
pub fn capacity(question: CapacityQuestion<'_>) -> Result<Capacity<'_>, CapacityError> {
    let service = question.service;
    service.zones.check()?;
    let need = service.load.need(1.0)?;
    let candidates = match &question.types {
        Some(types) => types.candidates(&service, need),
        None => Vec::new(),
    };
    Ok(Capacity { need, fleet: Fleet::of(need.gpus, service.zones, 1), candidates, question })
}

/// The types that a service may run on.
#[derive(Debug, Clone)]
pub struct Types<'a> {
    /// Where its throughput was measured; it has a GPU.
    pub measured: &'a InstanceShape,
    /// The others, on which the throughput is derived from the specifications of their
    /// GPUs; one like the measured one is skipped.
    pub others: Vec<&'a InstanceShape>,
    /// Most memory that the service holds on a GPU, in MiB, before headroom; absent where
    /// it is not known.
    pub vram_peak_mib: Option<f64>,
    /// What a peak of memory is multiplied by.
    pub vram_headroom: f64,
    /// Which figure of another GPU counts.
    pub bound: Bound,
    pub prices: &'a Prices<'a>,
    /// The key of the measured type under on-demand prices.
    pub key: &'a PriceKey,
}

/// One type, with what it takes or why it will not do.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub shape: InstanceShape,
    /// What it takes, or why it will not do.
    pub fits: Result<Fits, String>,
}

/// A load on a type.
#[derive(Debug, Clone, PartialEq)]
pub struct Fits {
    /// How many times as long a request takes as on the measured GPU.
    pub ratio: Ratio,
    /// Requests a second of one of its GPUs.
    pub per_gpu_per_second: f64,
    pub need: Need,
    pub fleet: Fleet,
    /// On-demand; absent where it is unpriced.
    pub quote: Option<PriceQuote>,
    pub cost: Option<FleetCost>,
}

impl Fits {
    /// Whether its throughput follows from specifications instead of a measurement.
    pub fn is_derived(&self) -> bool {
        self.ratio.basis != RatioBasis::SameGpu
    }
}

/// What a fleet costs around the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FleetCost {
    pub hourly: Money,
    pub monthly: Money,
    /// At the mean rate of requests without headroom; absent where it is out of range.
    pub per_million_requests: Option<Money>,
    /// The same, where the tokens of a request are known.
    pub per_million_tokens: Option<Money>,
}

impl Types<'_> {
    /// The measured type and the others, in the order of their answer.
    pub(super) fn candidates(&self, service: &Service<'_>, need: Need) -> Vec<Candidate> {
        // The measured GPU is as fast as itself.
        let mut needs = Needs { service, known: BTreeMap::from([(1.0_f64.to_bits(), Ok(need))]) };
        let named = &self.measured.instance_type;
        let others = self.others.iter().copied();
        let others = others.filter(|shape| shape.instance_type != *named);
        let mut candidates: Vec<Candidate> = std::iter::once(self.measured)
            .chain(others)
            .map(|shape| Candidate { shape: shape.clone(), fits: self.fits(shape, &mut needs) })
            .collect();
        candidates.sort_by_cached_key(|candidate| {
            let fits = candidate.fits.as_ref().ok();
            let cost = fits.and_then(|fits| fits.cost);
            let monthly = cost.map(|cost| (cost.monthly.currency(), cost.monthly.amount()));
            (fits.is_none(), monthly.is_none(), monthly, candidate.shape.instance_type.clone())
        });
        candidates
    }

    fn fits(&self, shape: &InstanceShape, needs: &mut Needs<'_, '_>) -> Result<Fits, String> {
        let gpus = self.measured.gpu.as_ref().zip(shape.gpu.as_ref());
        let (today, offer) = gpus.ok_or("it has no GPU")?;
        let key = self.key.with_type(&shape.instance_type);
        if offer.model.vendor() != today.model.vendor() {
            return Err("another maker's drivers and libraries".to_owned());
        }
        let architectures = self.measured.architecture.zip(shape.architecture);
        if architectures.is_some_and(|(today, architecture)| today != architecture) {
            return Err("different CPU architecture".to_owned());
        }
        if !is_launchable(&key) {
            return Err("it can no longer be launched".to_owned());
        }
        self.holds_memory(today, offer)?;
        let ratio = gpu_ratio(today, offer, self.bound).map_err(|why| why.to_string())?;
        let need = needs.at(ratio.value).map_err(|error| match error {
            CapacityError::BelowFloor { percentile, floor_seconds, .. } => {
                format!("p{percentile} is {floor_seconds:.3} s without any wait")
            }
            error => error.to_string(),
        })?;
        let service = needs.service;
        let gpus = u64::from(offer.share.visible_devices());
        let fleet = Fleet::of(need.gpus, service.zones, gpus);
        let quote = self.prices.get(&key).ok();
        Ok(Fits {
            ratio,
            per_gpu_per_second: service.load.gpu.per_second() / ratio.value,
            need,
            fleet,
            cost: quote.as_ref().map(|quote| cost(quote, fleet, service)),
            quote,
        })
    }

    fn holds_memory(&self, today: &GpuOffer, offer: &GpuOffer) -> Result<(), String> {
        let Some(peak_mib) = self.vram_peak_mib else { return Ok(()) };
        let usable_mib = usable_vram_mib(today, offer).map_err(|why| why.to_string())?;
        let needed_mib = peak_mib * self.vram_headroom;
        if needed_mib <= usable_mib as f64 {
            return Ok(());
        }
        let needed = counted(needed_mib.ceil() as u64, "MiB", "MiB");
        let usable = counted(usable_mib, "MiB", "MiB");
        Err(format!("{needed} of VRAM needed with headroom, {usable} usable"))
    }
}

/// What a load needs by the slowdown of a GPU: many types have the same one.
struct Needs<'a, 'q> {
    service: &'a Service<'q>,
    known: BTreeMap<u64, Result<Need, CapacityError>>,
}

impl Needs<'_, '_> {
    /// Requests that take longer need no fewer GPUs, so that the needs at other slowdowns
    /// bound this one. The bits of numbers above zero are in the order of the numbers.
    fn at(&mut self, slowdown: f64) -> Result<Need, CapacityError> {
        let bits = slowdown.to_bits();
        if let Some(known) = self.known.get(&bits) {
            return known.clone();
        }
        let gpus_of =
            |(_, need): (&u64, &Result<Need, CapacityError>)| Some(need.as_ref().ok()?.gpus);
        let within = Between {
            least: self.known.range(..bits).rev().find_map(gpus_of).unwrap_or(1),
            most: self.known.range(bits..).find_map(gpus_of),
        };
        let need = self.service.load.need_within(slowdown, within);
        self.known.insert(bits, need.clone());
        need
    }
}

fn cost(quote: &PriceQuote, fleet: Fleet, service: &Service<'_>) -> FleetCost {
    let rate = quote.rate;
    let instances = Decimal::from(fleet.instances);
    let hourly = rate.times_hours(instances);
    let per_million = |per_second: f64| {
        let an_hour = Decimal::try_from(per_second * SECONDS_PER_HOUR).ok()?;
        Some(Money::new((hourly.amount() * MILLION).checked_div(an_hour)?, rate.currency()))
    };
    let requests = service.mean_per_second.unwrap_or(service.load.per_second);
    let tokens = service.tokens_per_request;
    let per_million_tokens = tokens.and_then(|tokens| per_million(requests * tokens));
    FleetCost {
        hourly,
        monthly: rate.times_hours(instances * service.hours_per_month).rounded(),
        per_million_requests: per_million(requests),
        per_million_tokens,
    }
}
