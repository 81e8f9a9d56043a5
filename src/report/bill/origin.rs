//! Where a bill is from.

use crate::domain::{Currency, Window};
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
    /// Rows that are estimates of gpucost's own.
    pub estimates: u64,
    /// Payers that files of more than one format have lines of.
    pub in_two_forms: BTreeSet<String>,
    /// The currency of rows without one, where it was given by hand.
    pub stated_currency: Option<Currency>,
    /// What it is compared with.
    pub audit: Option<BillAudit>,
}

/// An audit that a bill is compared with.
#[derive(Debug, Clone)]
pub struct BillAudit {
    /// Flags that lead to the same estate, each with a blank before it.
    pub flags: String,
    /// The whole hours of UTC that it has read.
    pub hours: Window,
    /// Instances that a bill does not name as an estate does.
    pub left_out: u64,
    /// Days between the first and the last whose hours no run has kept.
    pub days_missing: u64,
}

/// A file of a bill.
#[derive(Debug, Clone)]
pub struct BillSource {
    pub name: String,
    /// Its format, such as `FOCUS 1.2`.
    pub form: &'static str,
    pub rows: u64,
}
