//! `gpucost doctor`: what works, what does not, and what to do about it.

mod json;
mod table;

pub use self::json::doctor_json;
pub use self::table::doctor_table;

use crate::domain::named_enum;

named_enum! {
    /// What a check is about.
    CheckArea {
        Credentials = "credentials",
        Accounts = "accounts",
        Regions = "regions",
        Permissions = "permissions",
        Metrics = "metrics",
        Kubernetes = "kubernetes",
        Host = "host",
        Prices = "prices",
        History = "history",
    }
}

named_enum! {
    /// What a check came to.
    CheckStatus {
        Ok = "ok",
        /// It is not there.
        Missing = "missing",
        /// It is there, and refused.
        Denied = "denied",
        /// It could not be found out.
        Failed = "failed",
        /// Nothing asked for it.
        Skipped = "skipped",
    }
}

/// One thing that an audit rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub area: CheckArea,
    /// What is checked, such as an action or a region.
    pub name: String,
    pub status: CheckStatus,
    /// What was found; empty where the status says it all.
    pub detail: String,
    /// What to do; absent where nothing is to be done.
    pub fix: Option<String>,
    /// Whether the audit with the same flags rests on it.
    pub is_needed: bool,
}

impl Check {
    /// Something that works.
    pub fn ok(area: CheckArea, name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            area,
            name: name.into(),
            status: CheckStatus::Ok,
            detail: detail.into(),
            fix: None,
            is_needed: true,
        }
    }

    /// Something that does not work, and what to do.
    pub fn not(
        area: CheckArea,
        name: impl Into<String>,
        status: CheckStatus,
        detail: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            status,
            fix: Some(fix.into()),
            ..Self::ok(area, name, detail)
        }
    }

    /// The same, without which an audit with the same flags is complete.
    pub fn unneeded(self) -> Self {
        Self {
            is_needed: false,
            ..self
        }
    }

    /// Whether it works, or nothing asked for it.
    pub fn is_fine(&self) -> bool {
        matches!(self.status, CheckStatus::Ok | CheckStatus::Skipped)
    }
}
