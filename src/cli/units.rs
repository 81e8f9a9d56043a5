//! `--units`: how much work workloads and training jobs did, and what each unit costs.

use super::args::OutputArgs;
use super::{Failure, Outcome, hinted, output};
use crate::analysis::{Audit, UnitError, unit_costs};
use crate::domain::{Policy, WorkUnits};
use crate::sources::files::read_units;
use std::path::Path;

/// The units of a file, which is not replaced; none without one.
pub(super) fn counted(path: Option<&Path>, out: &OutputArgs) -> Outcome<Vec<WorkUnits>> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let output = out.output.as_deref();
    output::check_distinct([("--units", Some(path)), ("--output", output)])?;
    read_units(path).map_err(Failure::hinted("see docs/kpis.md for the columns"))
}

/// Prices units of work of an audit.
pub(super) fn price(audit: &mut Audit, units: &[WorkUnits], policy: &Policy) -> Outcome<()> {
    let costs = unit_costs(units, &audit.workloads, &audit.kpis.jobs, audit.window, policy);
    audit.kpis.unit_costs = costs.map_err(|error| hinted! { error;
        UnitError::Unknown { nearest, .. } if !nearest.is_empty() => "did you mean {}?", nearest.join(", ");
        UnitError::Unknown { .. } => "names and IDs are those of the audit's JSON report";
        UnitError::WindowOfJob { .. } => "leave its window empty";
    })?;
    Ok(())
}
