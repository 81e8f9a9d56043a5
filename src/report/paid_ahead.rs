//! What commitments are paid whether anything runs or not: a section of the
//! audit, and the lines of a derivation.

use super::explain::{Page, figure, share};
use super::style::{TableStyle, left_out};
use super::text::{fit, money, safe};
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{InstanceCost, Money, Sunk, Workload};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Rows shown before the rest is announced.
const SHOWN: usize = 8;

/// Workloads with hours that commitments pay for, dearest first.
pub(super) fn paid_ahead_section(
    audit: &Audit,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    let sunk = |one: &AuditedWorkload| Some((one.workload.name.clone(), one.workload.sunk()?));
    let mut rows: Vec<(String, Sunk)> = audit.workloads.iter().filter_map(sunk).collect();
    if rows.is_empty() {
        return Ok(());
    }
    // Workloads are in a total order, which a stable sort keeps among equals.
    rows.sort_by_key(|(_, sunk)| std::cmp::Reverse(sunk.monthly.amount()));
    let heading = "PAID AHEAD  part of the cost; stopping saves none of it before the day";
    writeln!(out, "{}", style.heading(heading))?;
    let (shown, hidden) = rows.split_at(style.shown(rows.len(), SHOWN));
    for (name, sunk) in shown {
        let line = format!(
            "{:>14}  {}: {}",
            money(sunk.monthly),
            safe(name),
            safe(&sunk.in_words())
        );
        writeln!(out, "{}", fit(&line, style.width))?;
    }
    let worth = hidden
        .iter()
        .map(|(_, sunk)| Some(sunk.monthly))
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
    pub(super) fn sunk(&mut self, workload: &Workload) {
        if let Some(sunk) = workload.sunk() {
            self.line(&format!(
                "{} of it is paid ahead by {}: stopping saves none of that before, and frees its \
                 hours for other instances",
                money(sunk.monthly),
                sunk.in_words()
            ));
        }
    }
}

/// The cost of one instance, then how its hourly rate comes about. `None` when
/// nothing is paid ahead.
fn derived(one: &InstanceCost) -> Option<Vec<String>> {
    let paid = one.paid_ahead.as_ref()?;
    let currency = one.hourly.currency();
    let month = Money::new(one.monthly().amount(), currency);
    let mut lines = vec![format!(
        "{}/h × {} h = {} a month",
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
