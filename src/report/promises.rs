//! Purchases as the promises that they are, in words.

use crate::domain::{HourlyRate, Money};
use crate::report::doc::columns;
use crate::report::reserved::{CURRENCIES, PAYMENTS, TERMS};
use crate::report::shared::text::{counted_figure, money, percent};
use crate::savings::{Promise, Purchase};
use rust_decimal::prelude::ToPrimitive;

/// What a purchase asks for and gives, after its count, type and term.
pub(in crate::report) fn promise_words(purchase: &Purchase, promise: &Promise) -> String {
    format!(
        "{} at once and {} per month, used or not; saves {} per month; pays from {} of the \
         hours on; {} of evidence",
        money(promise.upfront),
        money(promise.monthly),
        money(purchase.monthly_savings),
        break_even(promise),
        evidence(promise),
    )
}

/// All that a purchase is paid, and for what; absent for one without a term.
pub(in crate::report) fn promised(purchase: &Purchase) -> Option<String> {
    let promise = purchase.promise()?;
    let (total, words) = (money(promise.term_total), promise_words(purchase, &promise));
    Some(format!("{total} until the term ends: {words}"))
}

/// The share of the hours from which on it pays.
pub(in crate::report) fn break_even(promise: &Promise) -> String {
    percent(promise.break_even_percent.to_f64().unwrap_or_default())
}

pub(in crate::report) fn evidence(promise: &Promise) -> String {
    counted_figure(promise.evidence_days, "day", "days")
}

const KINDS: &[&str] = &["standard-reserved-instance", "ec2-instance-savings-plan"];
pub(in crate::report) const RISKS: &[&str] = &["low", "medium", "high"];

/// A purchase with what it promises.
pub(in crate::report) struct PurchaseRow<'a>(&'a Purchase, Option<Promise>);

pub(in crate::report) fn purchase_row(purchase: &Purchase) -> PurchaseRow<'_> {
    PurchaseRow(purchase, purchase.promise())
}

columns! {
    /// A purchase of a plan: what it promises, and what it saves.
    pub(in crate::report) fn purchase<'a>(row: PurchaseRow<'a>) {
        opt word[KINDS] "kind", "", Data, row.1.as_ref().map(|promise| promise.kind), "";
        text "option", "", Data, row.0.term.option.to_string(), "";
        opt text "account", "", Data, row.0.account.clone(), "The account to buy in; null where accounts share commitments.";
        count "count", "", Data, row.0.count, "";
        text "instance_type", "", Data, row.0.key.instance_type.clone(), "";
        text "region", "", Data, row.0.key.region.clone(), "";
        text "operating_system", "", Data, row.0.key.operating_system.name().to_owned(), "";
        text "tenancy", "", Data, row.0.key.tenancy.name().to_owned(), "";
        opt count[TERMS] "term_years", "", Data, row.1.as_ref().map(|promise| promise.term.years), "";
        opt word[PAYMENTS] "payment", "", Data, row.1.as_ref().map(|promise| promise.term.payment.name()), "";
        word[CURRENCIES] "currency", "", Data, row.0.monthly_savings.currency().code(), "Of all its amounts.";
        price "on_demand_hourly", "", Data, an_hour(row.0.on_demand_hourly), "";
        price "effective_hourly", "", Data, an_hour(row.0.term.effective_hourly), "";
        opt money "upfront", "", Data, row.1.as_ref().map(|promise| promise.upfront), "Paid at once for all of them.";
        opt money "monthly", "", Data, row.1.as_ref().map(|promise| promise.monthly), "Paid per month beside that, used or not.";
        opt money "term_total", "", Data, row.1.as_ref().map(|promise| promise.term_total), "Everything that is paid until the term ends.";
        opt percent "break_even_utilization", "", Data, row.1.as_ref().and_then(|promise| promise.break_even_percent.to_f64()), "Percentage of the hours from which on it pays.";
        opt number "evidence_days", "", Data, row.1.as_ref().map(|promise| promise.evidence_days.round_dp(1)), "Days for which every instance was observed that it was sized by.";
        money "monthly_savings", "", Data, row.0.monthly_savings, "";
        word[RISKS] "risk", "", Data, row.0.term.risk.name(), "";
        texts "caveats", "", Data, row.0.caveats.clone(), "";
        texts "steps", "", Data, row.0.steps.clone(), "What is to be done before it is bought.";
    }
}

pub(in crate::report) fn an_hour(rate: HourlyRate) -> Money {
    Money::new(rate.amount(), rate.currency())
}
