//! What commitments are paid whether anything runs or not: the lines of a derivation.

use super::page::{Page, figure, price, share};
use crate::domain::{InstanceCost, Money, Workload};
use crate::report::shared::text::money;
use std::collections::BTreeMap;

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
            price(&one.key, &one.quote)
        ));
    }
    Some(lines)
}
