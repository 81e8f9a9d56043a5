//! What a plan promises, in words: purchases until their terms end, and the savings that it was to
//! reach.

use crate::domain::{Currency, Money, Risk};
use crate::report::doc::{Table, columns};
use crate::report::reserved::{CURRENCIES, PAYMENTS, TERMS};
use crate::report::shared::text::{counted, joined, money, percent};
use crate::savings::{Promise, Purchase, SavingsTarget};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeMap;

/// What a purchase asks for and gives, after its count, type and term.
pub(super) fn promise_words(purchase: &Purchase, promise: &Promise) -> String {
    format!("{}; {}", paid(purchase, promise), worth(promise))
}

fn paid(purchase: &Purchase, promise: &Promise) -> String {
    let (upfront, monthly) = (money(promise.upfront), money(promise.monthly));
    let saved = money(purchase.monthly_savings);
    format!("{upfront} at once and {monthly} per month, used or not; saves {saved} per month")
}

/// From which share of the hours on it pays, and by what evidence.
fn worth(promise: &Promise) -> String {
    let share = percent(promise.break_even_percent.to_f64().unwrap_or_default());
    let evidence = counted(promise.evidence_days.round_dp(1).normalize(), "day", "days");
    format!("pays from {share} of the hours on; {evidence} of evidence")
}

/// All that a purchase is paid, and for what; absent for one without a term.
pub(super) fn promised(purchase: &Purchase) -> Option<String> {
    let promise = purchase.promise()?;
    let (total, words) = (money(promise.term_total), promise_words(purchase, &promise));
    Some(format!("{total} until the term ends: {words}"))
}

/// What so many purchases are paid until their terms end, such as `4 purchases, $150,572.42
/// over the term`; absent without any.
pub fn promises_words(term_totals: &[Money]) -> Option<String> {
    let mut sums: BTreeMap<Currency, Decimal> = BTreeMap::new();
    for total in term_totals {
        *sums.entry(total.currency()).or_default() += total.amount();
    }
    let sums = sums.into_iter().map(|(currency, sum)| money(Money::new(sum, currency)));
    let sums = joined(sums, " and ");
    let number = counted(term_totals.len(), "purchase", "purchases");
    (!term_totals.is_empty()).then(|| format!("{number}, {sums} over the term"))
}

pub(super) const RISKS: &[&str] = Risk::NAMES;

columns! {
    /// A purchase of a plan: what it promises, and what it saves.
    pub(super) fn purchase<'a>(row: &'a Purchase) {
        opt money "total", "total", Screen, row.promise().map(|promise| promise.term_total), "";
        text "units", "what", Screen, format!("{} × {} in {}", row.count, row.key.instance_type, row.key.region), "";
        opt word[&["standard-reserved-instance", "ec2-instance-savings-plan"]] "kind", "", Data, row.promise().map(|promise| promise.kind), "";
        text "option", "", Data, row.term.option.to_string(), "";
        opt text "account", "", Data, row.account.clone(), "The account to buy in; null where accounts share commitments.";
        text "region", "", Data, row.key.region.clone(), "";
        text "instance_type", "", Data, row.key.instance_type.clone(), "";
        text "operating_system", "", Data, row.key.operating_system.name().to_owned(), "";
        text "tenancy", "", Data, row.key.tenancy.name().to_owned(), "";
        count "count", "", Data, row.count, "";
        opt count[TERMS] "term_years", "", Data, row.promise().map(|promise| promise.term.years), "";
        opt word[PAYMENTS] "payment", "", Data, row.promise().map(|promise| promise.term.payment.name()), "";
        word[CURRENCIES] "currency", "", Data, row.monthly_savings.currency().code(), "Of all its amounts.";
        price "on_demand_hourly", "", Json, row.on_demand_hourly.an_hour(), "";
        price "effective_hourly", "", Json, row.term.effective_hourly.an_hour(), "";
        opt money "upfront", "", Data, row.promise().map(|promise| promise.upfront), "Paid at once for all of them.";
        opt money "monthly", "", Data, row.promise().map(|promise| promise.monthly), "Paid per month beside that, used or not.";
        opt money "term_total", "", Data, row.promise().map(|promise| promise.term_total), "Everything that is paid until the term ends.";
        opt percent "break_even_utilization", "", Data, row.promise().and_then(|promise| promise.break_even_percent.to_f64()), "Percentage of the hours from which on it pays.";
        opt number "evidence_days", "", Data, row.promise().map(|promise| promise.evidence_days.round_dp(1)), "Days for which every instance was observed that it was sized by.";
        money "monthly_savings", "", Data, row.monthly_savings, "";
        word[RISKS] "risk", "", Data, row.term.risk.name(), "";
        texts "caveats", "", Data, row.caveats.clone(), "";
        texts "steps", "", Data, row.steps.clone(), "What is to be done before it is bought.";
        opt text "terms", "terms", Below, row.promise().map(|promise| format!("{}; {}", row.what(), worth(&promise))), "";
        opt text "paid", "paid", Below, row.promise().map(|promise| paid(row, &promise)), "";
        opt text "before", "before", Below, Some(joined(row.steps.iter().chain(&row.caveats).map(String::as_str), "; ")).filter(|words| !words.is_empty()), "";
    }
}

/// The commitments that a plan buys, each for a pool of workloads.
pub(super) fn purchases_table<'a>(purchases: impl IntoIterator<Item = &'a Purchase>) -> Table {
    let title = "PROMISES  paid until the term ends, used or not, after all actions above";
    Table {
        summed: &["term_total", "monthly_savings", "upfront", "monthly"],
        ..Table::of("purchases", title, ("purchase", "purchases"), purchase(), purchases)
    }
}

columns! {
    pub(in crate::report) fn target(of: SavingsTarget) {
        quantity "percent", "", Json, of.percent, "Of the cost today.";
        money "monthly_savings", "", Json, of.monthly_savings.rounded(), "The same per month.";
        word[Risk::NAMES] "risk", "", Json, of.risk.name(), "The lowest risk whose plan reaches it, or the accepted one.";
        flag "reached", "", Json, of.missing.is_none(), "";
        opt money "missing_monthly_savings", "", Json, of.missing.map(|missing| missing.rounded()), "How much less the plan saves; null where it reaches the target.";
    }
}

/// Whether a plan reaches its target, in words.
pub(in crate::report) fn target_in_words(of: &SavingsTarget) -> String {
    let (percent, wanted, risk) = (of.percent.normalize(), of.monthly_savings, of.risk);
    let more = match risk {
        Risk::High => "",
        Risk::Low => "; `--risk medium` allows more",
        Risk::Medium => "; `--risk high` allows more",
    };
    let how = of.missing.map_or_else(
        || format!("the least risky actions that reach it, at risk {risk}"),
        |missing| format!("the whole plan at risk {risk} saves {missing} less{more}"),
    );
    format!("Target {percent}%, {wanted} per month: {how}")
}
