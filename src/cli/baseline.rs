//! The earlier audit that a gate compares with.

use super::diff::unreadable;
use super::exit::Failure;
use crate::analysis::Audit;
use crate::analysis::gate::Baseline;
use crate::domain::{PastAudit, shown};
use crate::sources::files::read_report;
use std::path::Path;

/// Reads an earlier audit.
///
/// # Errors
/// When it cannot be read, is of another version, or is not an audit.
pub(super) fn read(path: &Path) -> Result<PastAudit, Failure> {
    read_report(path).map_err(unreadable)
}

/// What an audit is compared with.
///
/// # Errors
/// When the earlier one has nothing in common with it.
pub(super) fn against(path: &Path, past: &PastAudit, audit: &Audit) -> Result<Baseline, Failure> {
    let name = shown(path);
    Baseline::of(name.clone(), past, audit).map_err(|reason| {
        Failure::input(format!("{name} cannot be used as a baseline for this audit: {reason}"))
            .with_hint(
                "create one with `gpucost audit --format json` for the accounts, regions and \
             tags of this check",
            )
    })
}
