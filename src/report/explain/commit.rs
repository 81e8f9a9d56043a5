//! How many of a pool pay to be bought ahead, and whose the saving is.

use super::Derivation;
use super::page::{Page, figure, price, share};
use super::plan::Standing;
use crate::analysis::AuditedWorkload;
use crate::domain::{Action, ActionKind, PriceOption, Target};
use crate::report::text::money;
use crate::savings::Purchase;
use rust_decimal::Decimal;

impl Page {
    pub(super) fn commit(&mut self, action: &Action, standing: &Standing<'_>, by: &Derivation<'_>) {
        let mut purchases = by.audit.purchases.iter();
        let Some(bought) = purchases.find(|bought| covers(bought, standing.audited)) else {
            return;
        };
        let (on_demand, effective) = (
            bought.on_demand_hourly.amount(),
            bought.term.effective_hourly.amount(),
        );
        self.note(&format!("pool: {}", bought.key));
        let term = bought.key.with_option(bought.term.option);
        if let Some(quote) = by.audit.prices.quote(&term) {
            self.note(&format!(
                "{}/h {}",
                figure(effective, 6),
                price(&term, quote)
            ));
            if let Some(instalments) = quote.instalments {
                self.note(&format!(
                    "of which {} upfront and {}/h",
                    instalments.upfront.normalize(),
                    instalments.hourly.normalize()
                ));
            }
        }
        let usage = &bought.usage;
        let break_even = effective / on_demand;
        self.note(&format!(
            "break-even {} / {} = {}: a unit pays that is used in more of the hours",
            figure(effective, 6),
            figure(on_demand, 6),
            share(break_even)
        ));
        let hours = usage.hours();
        for k in [1, bought.count, bought.count + 1] {
            if k == bought.count && k == 1 {
                continue;
            }
            let with = usage.hours_with_at_least(k);
            let part = Decimal::from(with) / Decimal::from(hours.max(1));
            let verdict = if part > break_even {
                "pays"
            } else {
                "does not pay"
            };
            self.note(&format!(
                "N(t) ≥ {k} in {with} of {hours} hours, {}: {verdict}",
                share(part)
            ));
        }
        self.note(&format!("K* = {}", bought.count));
        let covered = usage.covered_hours(bought.count);
        let month = by.policy.hours_per_month;
        let paid = u64::from(bought.count) * hours;
        let replaced = on_demand * Decimal::from(covered);
        let committed = effective * Decimal::from(paid);
        self.note(&format!(
            "{month} / {hours} × ({} × {covered} instance-hours covered − {} × {paid} paid) = {} a \
             month",
            figure(on_demand, 6),
            figure(effective, 6),
            figure(
                month * (replaced - committed) / Decimal::from(hours.max(1)),
                6
            )
        ));
        self.split(action, standing, bought, by);
    }

    /// The saving goes to the members of the pool by what each has left.
    fn split(
        &mut self,
        action: &Action,
        standing: &Standing<'_>,
        bought: &Purchase,
        by: &Derivation<'_>,
    ) {
        let members = by.audit.workloads.iter().filter(|one| covers(bought, one));
        let left: Decimal = members.clone().filter_map(left_before).sum();
        let count = members.count();
        if count < 2 {
            self.note("nobody else is in the pool: all of it is saved here");
            return;
        }
        self.note(&format!(
            "{} × {} of the {} left of its {count} workloads = {}, in whole cents, the last one \
             takes the rest",
            money(bought.monthly_savings),
            standing.left.amount(),
            left,
            money(action.monthly_savings())
        ));
    }
}

/// Whether a workload is of the pool of a purchase: it has a part in a commitment
/// for the type that it runs on by then.
fn covers(bought: &Purchase, audited: &AuditedWorkload) -> bool {
    let is_part = audited
        .actions
        .iter()
        .any(|action| action.kind() == ActionKind::Commit);
    let mut targets = audited.actions.iter().rev().filter_map(Action::target);
    let instance_type = targets.next().map_or_else(
        || audited.workload.key.instance_type.as_str(),
        |target: &Target| target.instance_type.as_str(),
    );
    let key = audited.workload.price_key.with_type(instance_type);
    is_part && key.with_option(PriceOption::OnDemand) == bought.key
}

/// What is left of a workload's cost before the commitment.
fn left_before(audited: &AuditedWorkload) -> Option<Decimal> {
    let cost = audited.workload.monthly_cost()?.amount();
    let others = audited
        .actions
        .iter()
        .filter(|action| action.kind() != ActionKind::Commit);
    Some(
        cost - others
            .map(|action| action.monthly_savings().amount())
            .sum::<Decimal>(),
    )
}
