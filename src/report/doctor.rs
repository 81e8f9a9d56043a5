//! `gpucost doctor`: what works, what does not, and what to do about it.

use super::doc::{Doc, Record, Table, columns, doc_schema};
use super::shared::text::{counted, joined};
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
        let (name, detail) = (name.into(), detail.into());
        Self { area, name, status: CheckStatus::Ok, detail, fix: None, is_needed: true }
    }

    /// Something that does not work, and what to do.
    pub fn not(
        area: CheckArea,
        name: impl Into<String>,
        status: CheckStatus,
        detail: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { status, fix: Some(fix.into()), ..Self::ok(area, name, detail) }
    }

    /// Something that nothing asked for.
    pub fn skipped(area: CheckArea, name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { status: CheckStatus::Skipped, is_needed: false, ..Self::ok(area, name, detail) }
    }

    /// The same, without which an audit with the same flags is complete.
    pub fn unneeded(self) -> Self {
        Self { is_needed: false, ..self }
    }

    /// Whether it works, or nothing asked for it.
    pub fn is_fine(&self) -> bool {
        matches!(self.status, CheckStatus::Ok | CheckStatus::Skipped)
    }
}

columns! {
    fn document<'a>(checks: &'a [Check]) {
        flag "ok", "", Data, checks.iter().all(|check| check.is_fine() || !check.is_needed), "Whether everything works that the audit rests on.";
    }

    fn table<'a>(check: &'a Check) {
        word[CheckArea::NAMES] "area", "area", Narrow(0), check.area.name(), "";
        text "name", "", Data, check.name.clone(), "What is checked, such as an action or a region.";
        word[CheckStatus::NAMES] "status", "status", Narrow(0), check.status.name(), "";
        flag "needed", "needed", Wide, check.is_needed, "Whether the audit with these flags rests on it.";
        text "check", "check", Screen, if check.is_fine() { described(check) } else { check.name.clone() }, "";
        text "detail", "", Data, check.detail.clone(), "What was found; empty where the status says it all.";
        opt text "fix", "", Data, check.fix.clone(), "What to do; a string unless the status is ok or skipped.";
    }
}

/// The checks, in their order; screens have the fixes below them.
pub fn doctor_doc(checks: &[Check]) -> Doc {
    let mut rows = Table::of("checks", "CHECKS", ("check", "checks"), table(), checks);
    rows.notes.extend(checks.iter().filter(|check| !check.is_fine()).flat_map(|check| {
        std::iter::once(described(check)).chain(check.fix.as_ref().map(|fix| format!("fix: {fix}")))
    }));
    Doc {
        name: "doctor",
        headline: headline(checks),
        record: Record::of(document(), &checks),
        tables: vec![rows],
        ..Doc::default()
    }
}

schema! {
    /// The JSON schema of [`doctor_doc`].
    doctor_schema: "doctor", [doctor_doc(&[])],
    "What an audit with the same flags rests on, each check with its fix; docs/doctor.md says what is checked. Keys may be added within a schema version."
}

/// How many checks came to what.
fn headline(checks: &[Check]) -> String {
    let statuses = CheckStatus::ALL.iter().filter_map(|status| {
        let number = checks.iter().filter(|check| check.status == *status).count();
        (number > 0).then(|| format!("{number} {status}"))
    });
    format!("{}: {}", counted(checks.len(), "check", "checks"), joined(statuses, ", "))
}

fn described(check: &Check) -> String {
    let between = if check.detail.is_empty() { "" } else { ": " };
    format!("{}{between}{}", check.name, check.detail)
}
