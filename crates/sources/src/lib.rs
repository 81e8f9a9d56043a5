//! The only I/O: each source reads one kind of place and hands over domain
//! types. Nothing here judges.
//!
//! What gathering asks of a place are the traits below, one question each. A place
//! implements those that it can answer, and says in gaps what it could not.

// Denied rather than forbidden: `nvml` makes the few calls of the driver's library that no safe
// wrapper has.
#![deny(unsafe_code)]

mod again;
pub mod aws;
mod credentials;
mod error;
pub mod files;
pub mod gather;
pub mod host;
pub mod kubernetes;
pub mod nvml;
pub mod price_files;
pub mod prometheus;
mod provider_id;
mod secrets;
pub mod store;
mod tls;
pub mod webhook;

pub use error::{CauseLine, Outcome, SourceError};

use gpucost_model::{catalog, domain, usage};

use crate::domain::{
    ApiUsage, AwsAdvice, Clusters, CommitmentTerm, Commitments, DeviceUse, EstateSource, Gap,
    Gathered, GpuIdentity, GpuSample, HourlyRate, Instalments, Instance, InstanceShape, Managed,
    OperatingSystem, PaymentOption, PriceBasis, PriceBook, PriceKey, PriceOrigin, PriceQuote,
    Provider, ResourceId, ScalingGroup, StorageResource, Tenancy, TrainingJob, Window,
};
use crate::usage::{Series, Usages};
use futures_util::future::LocalBoxFuture;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::Duration;

const HOUR_SECONDS: u32 = 3_600;
const DAY_SECONDS: u32 = 86_400;

/// An answer that is waited for.
pub type Answer<'a, T> = LocalBoxFuture<'a, T>;

/// Credentials with everything that they lead to.
pub struct Account {
    pub id: String,
    /// What an estate of it says where it is from.
    pub source: EstateSource,
    /// One for each region in scope, in order.
    pub connections: Vec<Connection>,
    /// What was committed to for all regions; absent where nothing can be.
    pub commitments: Option<Lookup<Commitments>>,
    /// What the provider itself advises, where it is asked.
    pub opinions: Option<Lookup<Vec<AwsAdvice>>>,
    pub meter: Meter,
}

/// Asks for everything of a kind that holds now.
pub type Lookup<T> = Box<dyn Fn() -> Answer<'static, Gathered<T>>>;

/// Reports what calls cost so far.
pub type Meter = Box<dyn Fn() -> ApiUsage>;

/// Counts a call of an action.
fn count_call(usage: &mut ApiUsage, action: &str) {
    usage.calls += 1;
    *usage.by_operation.entry(action.to_owned()).or_default() += 1;
}

/// A place that tells how machines of any account are used.
pub struct MetricServer {
    pub metrics: Box<dyn MetricSource>,
    pub meter: Meter,
}

/// One region of one account of one provider, or of a cluster.
pub struct Connection {
    /// Whose machines it shows; absent for a cluster, whose machines may be of several.
    pub provider: Option<Provider>,
    pub region: String,
    pub inventory: Inventory,
    /// Who tells how it is used; several may speak of the same machine.
    pub metrics: Vec<Box<dyn MetricSource>>,
    /// What ran and ended there; absent where nothing does by itself.
    pub jobs: Option<JobSource>,
    pub prices: Option<PriceSource>,
    /// What was committed to in the region.
    pub commitments: Option<Lookup<Commitments>>,
}

/// Instances with what their types offer, and with who holds their devices.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Instances with accelerators, in any order.
    pub instances: Vec<Instance>,
    /// Shapes by instance type, as far as the place knows them.
    pub shapes: BTreeMap<String, InstanceShape>,
    /// What schedulers know, where the place is a cluster.
    pub clusters: Clusters,
    /// The Auto Scaling groups that instances are in, in any order.
    pub scaling_groups: Vec<ScalingGroup>,
    /// What a managed service knows beside its machines.
    pub managed: Managed,
}

/// Asks for everything with accelerators, running or stopped; an error where nothing of the
/// region can be read.
pub type Inventory = Box<dyn Fn() -> Answer<'static, Outcome<Gathered<Found>>>>;

/// Asks for the jobs with accelerators that last changed in a window, in any order.
pub type JobSource = Box<dyn Fn(Window) -> Answer<'static, Gathered<Vec<TrainingJob>>>>;

/// What is known from before of how machines were used.
pub trait Known: Debug {
    /// The stretches of the window of which it is not known how a machine was used, ascending.
    /// `asked` names what would be asked of it: what was asked otherwise does not count.
    fn missing(&self, machine: &Instance, asked: &str) -> Vec<Window>;
}

/// Which machines to measure, and when.
#[derive(Debug, Clone, Copy)]
pub struct MetricRequest<'a> {
    /// Every machine that a name can be of, so that one that two have is of neither.
    pub fleet: &'a [Instance],
    /// Those among them that are measured.
    pub instances: &'a [Instance],
    /// Shapes by instance type, as far as inventories know them.
    pub shapes: &'a BTreeMap<String, InstanceShape>,
    /// MIG instances that the nodes of machines offer, as far as a cluster tells.
    pub mig_instances: &'a BTreeMap<ResourceId, u32>,
    pub window: Window,
    /// The grid of utilization, power and CPU.
    pub period_seconds: u32,
    pub detail: Detail,
    /// What need not be asked, of [`Detail::Full`] alone. A source may ignore it; one that
    /// does not answers with [`Readings::Stretches`].
    pub known: Option<&'a dyn Known>,
}

/// How much to ask of each machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything, with utilization, power and CPU on the grid.
    Full,
    /// Everything by the hour at the finest, and of which machines the hours are not whole.
    Hours,
    /// Utilization, power and CPU on the grid, and nothing else.
    Grid,
}

/// When a source answers [`Detail::Hours`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ByTheHour {
    /// Not at all.
    Never,
    /// Where it is asked to, which pays where every data point counts against a quota.
    Possible,
    /// First, because the grid of so many GPUs is more than it should be asked for.
    Needed,
}

/// How machines were used. How a metric is named and joined to a machine is the
/// source's own business.
pub trait MetricSource {
    /// The finest grid that it keeps for a lookback, in seconds.
    fn period_seconds(&self, lookback: SignedDuration) -> u32;

    /// When it answers [`Detail::Hours`] about a fleet of so many GPUs.
    fn by_the_hour(&self, _gpus: u64) -> ByTheHour {
        ByTheHour::Never
    }

    /// Finds out what can be asked, and what that costs. Nothing that costs is asked
    /// before a call is awaited.
    fn plan<'a>(&'a self, ask: MetricRequest<'a>) -> Answer<'a, Gathered<MetricCalls<'a>>>;
}

/// Calls that answer how machines were used.
#[derive(Default)]
pub struct MetricCalls<'a> {
    /// Series that are asked for.
    pub series: usize,
    /// What the calls cost together.
    pub cost_usd: Decimal,
    /// The calls, which may be made side by side.
    pub calls: Vec<Answer<'a, Gathered<Readings>>>,
}

/// What a call answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Readings {
    /// Series with their points.
    Series(Vec<Series>),
    /// The answer to [`Detail::Hours`].
    Hours {
        series: Vec<Series>,
        /// Machines of which an hour may have a period without a sample, so that hours do
        /// not tell what the grid would.
        partial: BTreeSet<ResourceId>,
    },
    /// The answer of a source that leaves out what is known. It has no points that could be
    /// saved.
    Stretches {
        /// Series of each missing stretch, on a grid that begins with it.
        stretches: Vec<(Window, Vec<Series>)>,
        /// Machines of which some series could not be read.
        unread: BTreeSet<ResourceId>,
    },
    /// What series amounted to, from a place that adds up by itself. It is added to what
    /// other calls answer, so no two may speak of the same series at the same time; and
    /// it has no points that could be saved.
    Usage(Usages),
    /// How pods used devices.
    Uses(Vec<DeviceUse>),
}

/// Types whose on-demand price is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedPrices {
    pub region: String,
    pub operating_system: OperatingSystem,
    pub tenancy: Tenancy,
    /// The types, ascending.
    pub instance_types: Vec<String>,
    /// Those among them that run at this price: each that has none is a gap.
    pub in_use: BTreeSet<String>,
}

/// Which prices of a region are wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceQuery {
    /// On demand, by operating system and tenancy.
    pub on_demand: Vec<WantedPrices>,
    /// On the spot market.
    pub spot: BTreeMap<OperatingSystem, Vec<String>>,
    /// Storage and addresses.
    pub storage: Vec<StorageResource>,
    /// The window of spot prices.
    pub window: Window,
    /// The day of the prices.
    pub read_on: Date,
}

/// Asks a place for the prices that it knows of those that are wanted.
pub type PriceSource = Box<dyn Fn(PriceQuery) -> Answer<'static, Gathered<PriceBook>>>;

/// A price of a key.
pub type Quoted = (PriceKey, PriceQuote);

/// A price that AWS states, with when it began to hold and when it was read.
fn observed(
    rate: HourlyRate,
    instalments: Option<Instalments>,
    (effective_date, seen_on): (Date, Date),
    source: &str,
) -> PriceQuote {
    PriceQuote {
        rate,
        instalments,
        origin: PriceOrigin::Api,
        basis: PriceBasis::Observed,
        effective_date,
        seen_on,
        source: source.to_owned(),
    }
}

/// A term by its length, such as `3yr`, and how it is paid.
fn commitment_term(length: &str, payment: &str) -> Option<CommitmentTerm> {
    let years = match length {
        "1yr" => 1,
        "3yr" => 3,
        _ => return None,
    };
    Some(CommitmentTerm { years, payment: payment_option(payment)? })
}

fn payment_option(name: &str) -> Option<PaymentOption> {
    match name {
        "No Upfront" => Some(PaymentOption::NoUpfront),
        "Partial Upfront" => Some(PaymentOption::PartialUpfront),
        "All Upfront" => Some(PaymentOption::AllUpfront),
        _ => None,
    }
}

/// The GPUs of this host, sample by sample.
pub trait GpuSource {
    /// The GPUs, by index, each followed by its MIG instances.
    fn identities(&self) -> &[GpuIdentity];

    /// Version of the driver, where it tells.
    fn driver_version(&self) -> Option<&str>;

    /// One sample of all of them, in the order of [`Self::identities`]. It never
    /// fails: a GPU that no longer answers is lost, with the reason. `at` is
    /// the time since the run began, on a clock that no one can set.
    fn read(&mut self, at: Duration) -> Vec<GpuSample>;

    /// What could not be read so far, by name, once for a GPU model.
    fn gaps(&self) -> Vec<Gap>;
}

/// Readings of a whole hour, at least: one in each of its periods of five minutes.
const LEAST_READINGS_OF_AN_HOUR: f64 = 12.0;
/// Share of the readings of the fullest hour from which an hour is whole. Where they are
/// spread evenly, a period without any would take a twelfth of them.
const WHOLE_SHARE: f64 = 0.98;
/// The same for the newest hour, whose last quarter may be delivered later.
const NEWEST_WHOLE_SHARE: f64 = 0.75;

/// Whether each hour with readings has some in each of its periods, by how many there are.
fn are_whole(counts: &[(Timestamp, f64)], window: Window) -> bool {
    let fullest = counts.iter().map(|(_, count)| *count).fold(0.0, f64::max);
    let is_whole = |(start, count): &(Timestamp, f64)| {
        let is_newest = start.as_second() + i64::from(HOUR_SECONDS) >= window.end.as_second();
        let share = if is_newest { NEWEST_WHOLE_SHARE } else { WHOLE_SHARE };
        *count >= fullest * share
    };
    counts.is_empty() || fullest >= LEAST_READINGS_OF_AN_HOUR && counts.iter().all(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_with_a_hole_make_a_machine_partial() {
        let window = Window {
            start: Timestamp::from_second(0).expect("in range"),
            end: Timestamp::from_second(4 * 3_600).expect("in range"),
        };
        let at = |hour: i64| Timestamp::from_second(hour * 3_600).expect("in range");
        // 60 readings an hour: a period of five minutes without any would leave 55. The
        // newest hour may have 45.
        let counts = |found: [f64; 4]| (0..).map(at).zip(found).collect::<Vec<_>>();
        assert!(are_whole(&counts([60.0, 59.0, 60.0, 45.0]), window));
        assert!(!are_whole(&counts([60.0, 55.0, 60.0, 60.0]), window));
        assert!(!are_whole(&counts([60.0, 60.0, 60.0, 44.0]), window));
        // Four readings an hour cannot be in twelve periods.
        assert!(!are_whole(&counts([4.0; 4]), window));
        assert!(are_whole(&[], window));
    }
}
