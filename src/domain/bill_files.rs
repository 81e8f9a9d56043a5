//! Where the lines of a bill are from.

use super::named::named_enum;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

named_enum! {
    /// A format that bills come in.
    BillForm {
        /// Cost and Usage Report 2.0 of AWS.
        Cur2 = "CUR 2.0",
        /// The Cost and Usage Report before it.
        LegacyCur = "legacy CUR",
        Focus10 = "FOCUS 1.0",
        Focus11 = "FOCUS 1.1",
        Focus12 = "FOCUS 1.2",
        Focus13 = "FOCUS 1.3",
    }
}

impl BillForm {
    pub fn is_focus(self) -> bool {
        !matches!(self, Self::Cur2 | Self::LegacyCur)
    }
}

/// A file of a bill that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillFile {
    pub path: PathBuf,
    pub form: BillForm,
    pub rows: u64,
}

/// What was read of a bill beside its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BillFiles {
    /// In order of reading.
    pub files: Vec<BillFile>,
    /// Files of earlier readings of a billing period, which were skipped.
    pub superseded: u64,
    /// Rows in currencies that gpucost has no amounts in, by code; skipped.
    pub other_currencies: BTreeMap<String, u64>,
    /// Rows whose times are no times. Their amounts count, and no hour has them.
    pub untimed: u64,
    /// Rows that gpucost itself has estimated, in an export of an audit.
    pub estimates: u64,
    /// Payers that files of more than one format have lines of.
    pub in_two_forms: BTreeSet<String>,
}
