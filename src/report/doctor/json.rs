//! `gpucost doctor` for programs: JSON.

use super::Check;
use crate::report::SCHEMA_VERSION;
use crate::report::shared::text::json_document;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: &'static str,
    /// Whether everything works that the audit rests on.
    ok: bool,
    checks: Vec<CheckView<'a>>,
}

#[derive(Serialize)]
struct CheckView<'a> {
    area: &'static str,
    name: &'a str,
    status: &'static str,
    needed: bool,
    detail: &'a str,
    fix: Option<&'a str>,
}

/// The checks as JSON, in their order.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn doctor_json(checks: &[Check]) -> Result<String, serde_json::Error> {
    let views = checks.iter().map(|one| CheckView {
        area: one.area.name(),
        name: &one.name,
        status: one.status.name(),
        needed: one.is_needed,
        detail: &one.detail,
        fix: one.fix.as_deref(),
    });
    json_document(&Document {
        schema_version: SCHEMA_VERSION,
        ok: checks.iter().all(|one| one.is_fine() || !one.is_needed),
        checks: views.collect(),
    })
}
