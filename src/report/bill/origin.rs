//! Where a bill is from.

use crate::domain::{BillFiles, Currency, Window};

/// Where a bill is from.
#[derive(Debug, Clone, Default)]
pub struct BillOrigin {
    /// What was given on the command line.
    pub paths: Vec<String>,
    pub read: BillFiles,
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
