//! What the costs of a bill are grouped by.

use crate::domain::{BillLine, named_key};

named_key! {
    /// What the costs of a bill are grouped by.
    BillKey {
        Account = "account",
        Region = "region",
        Service = "service",
        /// The instance type.
        Type = "type",
    }
    /// The value of a tag.
    Tag = "tag"
}

impl BillKey {
    /// Its value for a line; absent where it has none.
    pub(super) fn value(&self, line: &BillLine) -> Option<String> {
        match self {
            Self::Account => line.account.clone(),
            Self::Region => line.region.clone(),
            Self::Service => line.service.clone(),
            Self::Type => line.instance_type.clone(),
            Self::Tag(_) => line.tag.clone(),
        }
    }
}
