//! The earlier audit that a gate compares with.

use super::diff::unreadable;
use super::exit::Failure;
use crate::analysis::gate::Baseline;
use crate::sources::files::read_report;
use std::path::Path;

/// Reads an earlier audit.
///
/// # Errors
/// When it cannot be read, is of another version, or is no audit.
pub(super) fn read(path: &Path) -> Result<Baseline, Failure> {
    let past = read_report(path).map_err(unreadable)?;
    Ok(Baseline::of(path.display().to_string(), &past))
}
