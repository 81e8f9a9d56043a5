//! What an audit expects of a bill.

use crate::domain::{Currency, Window};
use crate::usage::HourUse;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Decimals that amounts and hours keep.
pub(super) const DECIMALS: u32 = 18;

/// The instances of an audit, with when they ran and what an hour costs.
#[derive(Debug, Clone)]
pub struct Expected {
    /// The whole hours of UTC that it has read.
    pub hours: Window,
    pub periods_per_hour: u16,
    pub accounts: BTreeSet<String>,
    pub regions: BTreeSet<String>,
    /// Those of these hours that were not read, by account and region.
    pub unread: BTreeMap<String, BTreeMap<String, BTreeSet<usize>>>,
    /// Whether it was asked about instances with some tags alone.
    pub is_selection: bool,
    pub instances: Vec<ExpectedInstance>,
}

#[derive(Debug, Clone)]
pub struct ExpectedInstance {
    pub account: String,
    /// Its own id, such as `i-0123456789abcdef0`.
    pub id: String,
    pub region: String,
    pub instance_type: String,
    /// What its hours cost, from the first one on.
    pub rates: Vec<RateSince>,
    /// Each of the hours that were read.
    pub hours: Vec<HourUse>,
    /// Ids of its volumes.
    pub volumes: Vec<String>,
    /// Ids of its addresses.
    pub addresses: Vec<String>,
}

/// What hours of an instance cost from one of them on, until the next one says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSince {
    /// The first of these hours.
    pub hour: usize,
    /// Absent where the audit has no price of it.
    pub rate: Option<ExpectedRate>,
}

/// What an hour of an instance costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedRate {
    pub currency: Currency,
    /// Without commitments.
    pub price: Decimal,
    /// With commitments spread over the hours that it ran.
    pub effective: Decimal,
}

impl Expected {
    /// Whether an hour of an account and a region was not read. Where one of them is not
    /// known, it may have been read.
    pub(super) fn is_unread(
        &self,
        account: Option<&str>,
        region: Option<&str>,
        hour: usize,
    ) -> bool {
        let of_account = account.and_then(|account| self.unread.get(account));
        let hours = of_account.and_then(|regions| regions.get(region?));
        hours.is_some_and(|hours| hours.contains(&hour))
    }

    /// For how much of an hour an instance ran, 0–1.
    pub(super) fn ran(&self, hour: HourUse) -> Decimal {
        let share = Decimal::from(hour.ran).checked_div(Decimal::from(self.periods_per_hour));
        share.unwrap_or_default().round_dp(DECIMALS)
    }
}

impl ExpectedInstance {
    /// Its hours in order, in stretches of one rate.
    pub fn stretches(&self) -> impl Iterator<Item = (Range<usize>, Option<ExpectedRate>)> {
        let ends = self.rates.iter().skip(1).map(|next| next.hour);
        let ends = ends.chain([self.hours.len()]);
        let rates = self.rates.iter().zip(ends);
        rates.map(|(since, end)| (since.hour..end, since.rate))
    }

    /// The stretch that an hour is in.
    pub(super) fn stretch_of(&self, hour: usize) -> usize {
        let begun = self.rates.partition_point(|since| since.hour <= hour);
        begun.saturating_sub(1)
    }

    pub(super) fn has_run(&self) -> bool {
        self.hours.iter().any(|hour| hour.ran > 0)
    }
}
