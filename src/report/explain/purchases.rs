//! How many of a pool pay to be bought ahead, and whose the saving is.

use super::cost::{figure, price, share};
use super::line::{Derivation, Line, PlanState};
use crate::domain::Action;
use crate::report::promises::promised;
use crate::report::shared::text::money;
use crate::savings::{Purchase, PurchaseShare};
use rust_decimal::Decimal;

pub(super) fn commit(
    action: &Action,
    state: &PlanState<'_>,
    by: &Derivation<'_>,
    lines: &mut Vec<Line>,
) {
    let id = state.audited.workload.id();
    for bought in &by.audit.purchases {
        if let Some(own) = bought.shares.iter().find(|share| share.id == id) {
            purchase(bought, by, lines);
            split(bought, own, lines);
        }
    }
    steps! { lines;
        "saved" => "{} here", money(action.monthly_savings());
    }
}

/// A pool with the fees that it pays and the hours that these replace.
fn purchase(bought: &Purchase, by: &Derivation<'_>, lines: &mut Vec<Line>) {
    let (usage, count, month) = (&bought.usage, bought.count, by.policy.hours_per_month);
    let (on_demand, effective) =
        (bought.on_demand_hourly.amount(), bought.term.effective_hourly.amount());
    let [listed, fee] = [on_demand, effective].map(|rate| figure(rate, 6));
    let term = bought.key.with_option(bought.term.option);
    let quote = by.audit.prices.quote(&term);
    let paid = quote.as_ref().and_then(|quote| quote.instalments);
    let break_even = effective / on_demand;
    let young: u32 = bought.shares.iter().map(|share| share.young).sum();
    let (hours, total) = (usage.hours(), usage.total_hours());
    let all_hours = Decimal::from(hours.max(1));
    let mut units = vec![1, count, count + 1];
    units.dedup();
    let units = units.into_iter().map(|k| {
        let with = usage.hours_with_at_least(k);
        let pays = match (with / all_hours > break_even, k <= count) {
            (true, true) => "pays",
            (true, false) => "does not pay: the GPUs rest in too many of them",
            (false, _) => "does not pay",
        };
        (k, figure(with, 4), share(with / all_hours), pays)
    });
    let above = total - usage.covered_hours(count);
    let fees = effective * Decimal::from(count) * month;
    let (before, rest) =
        (on_demand * total * month / all_hours, on_demand * above * month / all_hours);
    let saved = figure(before - fees - rest, 6);
    let [before, fees, rest] = [before, fees, rest].map(|amount| figure(amount, 6));
    let [total, above] = [total, above].map(|hours| figure(hours, 4));
    steps! { lines;
        "pool" => "{}", bought.key;
        "account" for account in &bought.account => "bought in {account}, without commitment sharing: the usage is its own";
        "price" for quote in quote => "{fee}/h {}", price(&term, quote);
        "price" for paid in paid => "of which {} upfront and {}/h", paid.upfront.normalize(), paid.hourly.normalize();
        "break-even" => "{fee} / {listed} = {}: a unit pays if used in a larger share of the hours", share(break_even);
        "pool" if young > 0 => "first seen within the window: {young} of its instances; before that, each is assumed to have run for its own share of the hours, where the rest of the pool is largest";
        "use" for (k, used, part, pays) in units => "unit {k} is used in {used} of {hours} hours, {part}: {pays}";
        "today" => "{total} instance-hours × {listed} × {month} / {hours} = {before} per month";
        "planned" => "fees {count} × {fee} × {month} h = {fees}, plus {above} uncovered hours × {listed} × {month} / {hours} = {rest}";
        "savings" => "{before} − {fees} − {rest} = {saved} per month";
        "promise" for promise in promised(bought) => "{promise}";
        "step" for step in &bought.steps => "{step}";
        "caveat" for caveat in &bought.caveats => "{caveat}";
    }
}

/// The saving goes to the workloads of the pool by what their instances in it cost.
fn split(bought: &Purchase, own: &PurchaseShare, lines: &mut Vec<Line>) {
    let workloads = bought.shares.len();
    let pool_cost: Decimal = bought.shares.iter().map(|share| share.monthly).sum();
    let (saved, pool_cost, cost) =
        (money(bought.monthly_savings), figure(pool_cost, 6), figure(own.monthly, 6));
    steps! { lines;
        "share" if workloads < 2 => "the pool has no other workload: all savings are assigned to it";
        "share" if workloads > 1 => "{saved} × {cost} of the {pool_cost} cost of its {workloads} workloads = {}, in whole cents, remainder to the last one", money(own.monthly_savings);
    }
}
