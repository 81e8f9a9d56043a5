//! What commitments are paid whether anything runs or not: a section of the
//! audit's table.

use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::CommittedCost;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{hanging, money, safe};
use std::fmt::Write;

/// Rows shown before the rest is announced.
const SHOWN: usize = 8;

/// Workloads with hours that commitments pay for, most expensive first.
pub(super) fn committed_section(
    audit: &Audit,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    let committed_cost =
        |one: &AuditedWorkload| Some((one.workload.name.clone(), one.workload.committed_cost()?));
    let mut rows: Vec<(String, CommittedCost)> =
        audit.workloads.iter().filter_map(committed_cost).collect();
    if rows.is_empty() {
        return Ok(());
    }
    // Workloads are in a total order, which a stable sort keeps among equals.
    rows.sort_by_key(|(_, committed_cost)| std::cmp::Reverse(committed_cost.monthly.amount()));
    let heading = "COMMITTED  part of the cost; stopping saves none of it before the end date";
    style.title(heading, out)?;
    let (shown, hidden) = rows.split_at(style.shown(rows.len(), SHOWN));
    for (name, committed_cost) in shown {
        let first = format!("{:>14}  ", money(committed_cost.monthly));
        let line = format!("{}: {}", safe(name), safe(&committed_cost.in_words()));
        hanging(&first, 16, &line, style.width, out)?;
    }
    let worth = hidden
        .iter()
        .map(|(_, committed_cost)| Some(committed_cost.monthly))
        .reduce(|sum, part| sum?.checked_add(part?).ok())
        .flatten();
    style.left_out(hidden.len(), "workload", "workloads", worth, out)?;
    writeln!(out)
}
