//! Hours that a commitment pays for: they cost the same whether anything runs.

use super::{HourlyRate, Money, PurchaseOption};
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
