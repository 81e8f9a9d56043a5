//! Where a bill is from.

use std::collections::{BTreeMap, BTreeSet};

/// Where a bill is from.
#[derive(Debug, Clone, Default)]
pub struct BillOrigin {
    /// What was given on the command line.
    pub paths: Vec<String>,
    pub files: Vec<BillSource>,
    /// Files of earlier readings of a billing period, which were left out.
    pub superseded: u64,
    /// Rows that were left out, by the code of their currency.
    pub other_currencies: BTreeMap<String, u64>,
    /// Rows whose times are no times.
    pub untimed: u64,
    /// Payers that more than one export has lines of.
    pub in_two_forms: BTreeSet<String>,
    /// Whether the currency of rows without one was given by hand.
    pub has_stated_currency: bool,
}

/// A file of a bill.
#[derive(Debug, Clone)]
pub struct BillSource {
    pub name: String,
    /// Its format, such as `FOCUS 1.2`.
    pub form: &'static str,
    pub rows: u64,
}
