//! What an audit expects of a bill.

use crate::domain::{Currency, Window};
use crate::usage::HourUse;
use rust_decimal::Decimal;
use std::collections::BTreeSet;

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
    /// Absent where the audit has no price of it.
    pub rate: Option<ExpectedRate>,
    /// Each of the hours that were read.
    pub hours: Vec<HourUse>,
    /// Ids of its volumes.
    pub volumes: Vec<String>,
    /// Ids of its addresses.
    pub addresses: Vec<String>,
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
    /// For how much of an hour an instance ran, 0–1.
    pub(super) fn ran(&self, hour: HourUse) -> Decimal {
        let share = Decimal::from(hour.ran).checked_div(Decimal::from(self.periods_per_hour));
        share.unwrap_or_default().round_dp(DECIMALS)
    }
}

impl ExpectedInstance {
    pub(super) fn has_run(&self) -> bool {
        self.hours.iter().any(|hour| hour.ran > 0)
    }
}
