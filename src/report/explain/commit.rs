//! How many of a pool pay to be bought ahead, and whose the saving is.

use super::Derivation;
use super::page::{Page, figure, price, share};
use super::plan::PlanState;
use crate::domain::Action;
use crate::report::promises::promise_words;
use crate::report::shared::text::money;
use crate::savings::{Purchase, PurchaseShare};
use rust_decimal::Decimal;

impl Page {
    pub(super) fn commit(&mut self, action: &Action, state: &PlanState<'_>, by: &Derivation<'_>) {
        let own = by.audit.purchases.iter().filter_map(|bought| {
            let mut shares = bought.shares.iter();
            let share = shares.find(|share| share.id == state.audited.workload.id())?;
            Some((bought, share))
        });
        for (bought, share) in own {
            self.purchase(bought, by);
            self.split(bought, share);
        }
        self.note(&format!("saved here: {}", money(action.monthly_savings())));
    }

    /// A pool with the fees that it pays and the hours that these replace.
    fn purchase(&mut self, bought: &Purchase, by: &Derivation<'_>) {
        let (on_demand, effective) = (
            bought.on_demand_hourly.amount(),
            bought.term.effective_hourly.amount(),
        );
        self.note(&format!("pool: {}", bought.key));
        if let Some(account) = &bought.account {
            self.note(&format!(
                "bought in account {account}, without commitment sharing: the usage is its own"
            ));
        }
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
            "break-even {} / {} = {}: a unit pays if used in a larger share of the hours",
            figure(effective, 6),
            figure(on_demand, 6),
            share(break_even)
        ));
        let hours = usage.hours();
        let young: u32 = bought.shares.iter().map(|share| share.young).sum();
        if young > 0 {
            self.note(&format!(
                "first seen within the window: {young} of its instances; before that, each \
                 is assumed to have run for its own share of the hours, where the rest of \
                 the pool is largest"
            ));
        }
        let all = Decimal::from(hours.max(1));
        let mut units = vec![1, bought.count, bought.count + 1];
        units.dedup();
        for k in units {
            let with = usage.hours_with_at_least(k);
            let part = with / all;
            let verdict = if part > break_even {
                "pays"
            } else {
                "does not pay"
            };
            self.note(&format!(
                "unit {k} is used in {} of {hours} hours, {}: {verdict}",
                figure(with, 4),
                share(part)
            ));
        }
        self.note(&format!("K* = {}", bought.count));
        let month = by.policy.hours_per_month;
        let covered = usage.covered_hours(bought.count);
        let above = usage.total_hours() - covered;
        let fees = effective * Decimal::from(bought.count) * month;
        let rest = on_demand * above * month / all;
        let before = on_demand * usage.total_hours() * month / all;
        self.note(&format!(
            "today {} instance-hours × {} × {month} / {hours} = {} per month",
            figure(usage.total_hours(), 4),
            figure(on_demand, 6),
            figure(before, 6)
        ));
        self.note(&format!(
            "planned: fees {} × {} × {month} h = {}, plus {} uncovered hours × {} × {month} \
             / {hours} = {}",
            bought.count,
            figure(effective, 6),
            figure(fees, 6),
            figure(above, 4),
            figure(on_demand, 6),
            figure(rest, 6)
        ));
        self.note(&format!(
            "{} − {} − {} = {} per month",
            figure(before, 6),
            figure(fees, 6),
            figure(rest, 6),
            figure(before - fees - rest, 6)
        ));
        if let Some(promise) = bought.promise() {
            self.note(&format!(
                "promise until the term ends: {}, of it {}",
                money(promise.term_total),
                promise_words(bought, &promise)
            ));
        }
        for step in bought.steps.iter().chain(&bought.caveats) {
            self.note(step);
        }
    }

    /// The saving goes to the workloads of the pool by what their instances in it cost.
    fn split(&mut self, bought: &Purchase, own: &PurchaseShare) {
        if bought.shares.len() < 2 {
            self.note("only workload in the pool: all savings are assigned here");
            return;
        }
        let left: Decimal = bought.shares.iter().map(|share| share.monthly).sum();
        self.note(&format!(
            "{} × {} of the {} cost of its {} workloads = {}, in whole cents, remainder to \
             the last one",
            money(bought.monthly_savings),
            figure(own.monthly, 6),
            figure(left, 6),
            bought.shares.len(),
            money(own.monthly_savings)
        ));
    }
}
