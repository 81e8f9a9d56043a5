//! What a workload costs, or why that is not known.

use super::{
    Cause, CommittedCost, CommittedHours, Gap, GapSubject, HourlyRate, Money, PriceKey, PriceQuote,
    StorageQuote, StorageResource,
};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

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
        let instances = self.instances.iter().zip(paid);
        let instances = instances.map(|(instance, paid)| {
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
        let instances = self.instances.iter();
        instances.map(|instance| instance.monthly_exact().amount()).sum()
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
