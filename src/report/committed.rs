//! What commitments are paid whether anything runs or not: a section of the
//! audit, and the lines of a derivation.

use super::explain::{Page, figure, share};
use super::style::{TableStyle, left_out};
use super::text::{fit, money, safe};
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{CommittedCost, InstanceCost, Money, Workload};
use std::collections::BTreeMap;
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
    writeln!(out, "{}", style.heading(heading))?;
    let (shown, hidden) = rows.split_at(style.shown(rows.len(), SHOWN));
    for (name, committed_cost) in shown {
        let line = format!(
            "{:>14}  {}: {}",
            money(committed_cost.monthly),
            safe(name),
            safe(&committed_cost.in_words())
        );
        writeln!(out, "{}", fit(&line, style.width))?;
    }
    let worth = hidden
        .iter()
        .map(|(_, committed_cost)| Some(committed_cost.monthly))
        .reduce(|sum, part| sum?.checked_add(part?).ok())
        .flatten();
    left_out(hidden.len(), "workload", "workloads", worth, out)?;
    writeln!(out)
}

impl Page {
    /// Hours that commitments pay for: one block for all instances that are
    /// alike.
    pub(super) fn paid_hours(&mut self, workload: &Workload) {
        let Some(cost) = &workload.cost else {
            return;
        };
        let mut alike: BTreeMap<Vec<String>, u32> = BTreeMap::new();
        for one in &cost.instances {
            if let Some(lines) = derived(one) {
                *alike.entry(lines).or_default() += 1;
            }
        }
        for (lines, instances) in alike {
            for (index, line) in lines.iter().enumerate() {
                if index == 0 {
                    self.line(&format!("{instances} × {line}"));
                } else {
                    self.note(line);
                }
            }
        }
    }

    /// What of a workload's cost stopping does not end.
    pub(super) fn committed_cost(&mut self, workload: &Workload) {
        if let Some(committed_cost) = workload.committed_cost() {
            self.line(&format!(
                "{} of the cost is committed by {}: stopping saves none of it before then, \
                 but frees the hours for other instances",
                money(committed_cost.monthly),
                committed_cost.in_words()
            ));
        }
    }
}

/// The cost of one instance, then how its hourly rate comes about. `None` when
/// nothing is committed.
fn derived(one: &InstanceCost) -> Option<Vec<String>> {
    let paid = one.committed.as_ref()?;
    let currency = one.hourly.currency();
    let month = Money::new(one.monthly().amount(), currency);
    let mut lines = vec![format!(
        "{}/h × {} h = {} per month",
        figure(one.hourly.amount(), 10),
        figure(one.monthly_hours, 10),
        figure(month.amount(), 6)
    )];
    for part in &paid.parts {
        lines.push(format!(
            "{}/h by {} for {} of its hours",
            figure(part.hourly.amount(), 10),
            part.commitment,
            share(part.share)
        ));
    }
    if one.uses_price() {
        lines.push(format!(
            "{}/h on demand for {} of its hours: {}",
            figure(one.quote.rate.amount() * paid.uncovered_share, 10),
            share(paid.uncovered_share),
            super::explain::price(&one.key, &one.quote)
        ));
    }
    Some(lines)
}
