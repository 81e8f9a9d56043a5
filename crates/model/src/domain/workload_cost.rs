//! What a workload costs, or why that is not known, and the hours that a commitment pays for: they
//! cost the same whether anything runs.

use super::{
    Cause, Gap, GapSubject, HourlyRate, Money, PriceKey, PriceQuote, PurchaseOption, StorageQuote,
    StorageResource,
};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// What one commitment pays of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedPart {
    /// The commitment's id.
    pub commitment: String,
    /// [`PurchaseOption::Reserved`], [`PurchaseOption::SavingsPlan`] or
    /// [`PurchaseOption::CapacityBlock`].
    pub option: PurchaseOption,
    /// Share of the instance's running hours that it covers, 0–1.
    pub share: Decimal,
    /// What that costs, spread over every hour that the instance runs.
    pub hourly: Money,
    /// First instant after the term; absent for a Capacity Block whose reservation was not
    /// read.
    pub end: Option<Timestamp>,
}

/// The commitments that pay for hours of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedHours {
    /// Share of its running hours that nothing covers, 0–1.
    pub uncovered_share: Decimal,
    /// At least one, in the order of application.
    pub parts: Vec<CommittedPart>,
}

impl CommittedHours {
    /// How its hours are paid for: mixed unless one way pays for all of them.
    pub fn purchase_option(&self) -> PurchaseOption {
        let mut options = self.parts.iter().map(|part| part.option);
        match options.next() {
            Some(first)
                if self.uncovered_share.is_zero() && options.all(|option| option == first) =>
            {
                first
            }
            _ => PurchaseOption::Mixed,
        }
    }

    /// What an hour costs in the mean: covered hours at the rate of their
    /// commitment, the others at the on-demand rate. `None` when that is not
    /// a price, or one in two currencies.
    pub fn hourly(&self, on_demand: HourlyRate) -> Option<HourlyRate> {
        let uncovered = Money::new(on_demand.amount() * self.uncovered_share, on_demand.currency());
        let sum =
            self.parts.iter().try_fold(uncovered, |sum, part| sum.checked_add(part.hourly)).ok()?;
        HourlyRate::new(sum.amount(), sum.currency())
    }

    /// The part of an hour's cost that stopping does not end.
    pub fn committed_hourly(&self) -> Decimal {
        self.parts.iter().map(|part| part.hourly.amount()).sum()
    }
}

/// What of a workload's cost is paid whether it runs or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedCost {
    /// Per month, rounded to cents and part of the workload's cost.
    pub monthly: Money,
    /// The commitments that it is paid to, each with the first instant after it, as far as
    /// that is known.
    pub commitments: BTreeMap<String, Option<Timestamp>>,
}

impl CommittedCost {
    /// The day on which the last of it ends, in UTC; absent where an end is not known.
    pub fn until(&self) -> Option<Date> {
        let ends: Option<Vec<Timestamp>> = self.commitments.values().copied().collect();
        Some(ends?.into_iter().max()?.to_zoned(TimeZone::UTC).date())
    }

    /// The commitments in words, such as `ri-1 until 2027-02-01`.
    pub fn in_words(&self) -> String {
        let names = self.commitments.iter().map(|(id, end)| match end {
            Some(end) => format!("{id} until {}", end.to_zoned(TimeZone::UTC).date()),
            None => id.clone(),
        });
        names.collect::<Vec<_>>().join(", ")
    }
}

/// What one instance costs while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceCost {
    /// What its price is for: of its zone where spot was read by zone, else of
    /// the whole region.
    pub key: PriceKey,
    pub quote: PriceQuote,
    /// What pays for hours of it in place of that price; absent when nothing
    /// does.
    pub committed: Option<CommittedHours>,
    /// What an hour of it costs in the mean while it runs: its price, and the
    /// rates of the commitments in the hours that they cover.
    pub hourly: HourlyRate,
    /// Hours in a month at today's running time.
    pub monthly_hours: Decimal,
}

impl InstanceCost {
    /// What it costs a month at today's running time, unrounded.
    pub fn monthly_exact(&self) -> Money {
        self.hourly.times_hours(self.monthly_hours)
    }

    /// The same in whole cents: what sums add up.
    pub fn monthly(&self) -> Money {
        self.monthly_exact().rounded()
    }

    /// What of it stopping does not end, in whole cents.
    pub fn committed_monthly(&self) -> Money {
        let paid = self.committed.as_ref();
        let hourly = paid.map_or(Decimal::ZERO, CommittedHours::committed_hourly);
        Money::new(hourly * self.monthly_hours, self.hourly.currency()).rounded()
    }

    /// Whether any of its hours costs the price.
    pub fn uses_price(&self) -> bool {
        let paid = self.committed.as_ref();
        paid.is_none_or(|paid| !paid.uncovered_share.is_zero())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadCost {
    /// Each of its instances, in their order.
    pub instances: Vec<InstanceCost>,
    /// All its instances together while they run.
    pub hourly: HourlyRate,
    /// Compute per month at today's running time: the sum of its instances, each
    /// rounded to cents.
    pub compute_monthly: Money,
}

impl WorkloadCost {
    /// The cost of some instances, each rounded to cents. `None` without any, and
    /// when their rates do not add up to one.
    pub fn of(instances: Vec<InstanceCost>) -> Option<Self> {
        let currency = instances.first()?.hourly.currency();
        let nothing = Money::zero(currency);
        let monthly = instances
            .iter()
            .try_fold(nothing, |sum, instance| sum.checked_add(instance.monthly()))
            .ok()?;
        let hourly: Decimal = instances.iter().map(|instance| instance.hourly.amount()).sum();
        Some(Self {
            hourly: HourlyRate::new(hourly, currency)?,
            compute_monthly: monthly,
            instances,
        })
    }

    /// The same with what commitments pay of each instance, in their order. `None` where their
    /// rates do not add up.
    pub fn with_committed(
        &self,
        paid: impl Iterator<Item = Option<CommittedHours>>,
    ) -> Option<Self> {
        let instances = self.instances.iter().zip(paid).map(|(instance, paid)| {
            let on_demand = instance.quote.rate;
            Some(InstanceCost {
                hourly: paid.as_ref().map_or(Some(on_demand), |paid| paid.hourly(on_demand))?,
                committed: paid,
                ..instance.clone()
            })
        });
        Self::of(instances.collect::<Option<Vec<_>>>()?)
    }

    /// What of it stopping does not end; absent when nothing is committed.
    pub fn committed_cost(&self) -> Option<CommittedCost> {
        let mut commitments = BTreeMap::new();
        let mut monthly = Decimal::ZERO;
        for instance in &self.instances {
            let Some(paid) = &instance.committed else { continue };
            monthly += instance.committed_monthly().amount();
            let parts = paid.parts.iter();
            commitments.extend(parts.map(|part| (part.commitment.clone(), part.end)));
        }
        (!commitments.is_empty()).then(|| CommittedCost {
            monthly: Money::new(monthly, self.hourly.currency()),
            commitments,
        })
    }

    /// All of it per month, unrounded.
    pub fn monthly_exact(&self) -> Decimal {
        self.instances.iter().map(|instance| instance.monthly_exact().amount()).sum()
    }

    /// Mean hourly rate of one instance.
    pub fn per_instance(&self) -> Decimal {
        self.hourly.amount() / Decimal::from(self.instances.len().max(1))
    }
}

/// Why a running workload has no price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpriced {
    /// The reason, such as `no price for …: unpriced`.
    pub cause: Cause,
}

impl Unpriced {
    pub fn gap(&self, workload: &str) -> Gap {
        Gap::of(GapSubject::Price, workload, self.cause.clone())
    }
}

/// Storage and addresses that cost while nothing runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdleStorageCosts {
    /// What is priced, in words with its arithmetic.
    pub priced: Vec<String>,
    /// Per month, rounded to cents: the sum of what is priced, zero where
    /// nothing stands; absent when something stands and nothing is priced.
    pub monthly: Option<Money>,
    /// The same of each instance in the order of the workload, not rounded.
    pub by_instance: Vec<Decimal>,
    /// The prices behind it, each once.
    pub quotes: BTreeMap<StorageResource, StorageQuote>,
    /// What has no price, in words.
    pub unpriced: Vec<String>,
    pub volumes: u64,
    /// Those among them whose size is not known.
    pub volumes_of_unknown_size: u64,
    /// GiB in all the others.
    pub volume_gib: u64,
    /// Volumes that have a price.
    pub priced_volumes: u64,
    /// GiB in those.
    pub priced_volume_gib: u64,
    pub addresses: u64,
}
