//! A purchase of a plan as JSON: what it promises, and what it saves.

use crate::report::shared::text::{json_money, json_rate};
use crate::savings::Purchase;
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;

#[derive(Serialize)]
pub(in crate::report) struct PurchaseView {
    kind: Option<&'static str>,
    option: String,
    account: Option<String>,
    count: u32,
    instance_type: String,
    region: String,
    operating_system: &'static str,
    tenancy: &'static str,
    term_years: Option<u8>,
    payment: Option<&'static str>,
    currency: &'static str,
    on_demand_hourly: Option<f64>,
    effective_hourly: Option<f64>,
    upfront: Option<f64>,
    monthly: Option<f64>,
    term_total: Option<f64>,
    break_even_utilization: Option<f64>,
    evidence_days: Option<f64>,
    monthly_savings: Option<f64>,
    risk: &'static str,
    caveats: Vec<String>,
    steps: Vec<String>,
}

pub(in crate::report) fn purchase(purchase: &Purchase) -> PurchaseView {
    let key = &purchase.key;
    let promise = purchase.promise();
    let promise = promise.as_ref();
    PurchaseView {
        kind: promise.map(|promise| promise.kind),
        option: purchase.term.option.to_string(),
        account: purchase.account.clone(),
        count: purchase.count,
        instance_type: key.instance_type.clone(),
        region: key.region.clone(),
        operating_system: key.operating_system.name(),
        tenancy: key.tenancy.name(),
        term_years: promise.map(|promise| promise.term.years),
        payment: promise.map(|promise| promise.term.payment.name()),
        currency: purchase.monthly_savings.currency().code(),
        on_demand_hourly: json_rate(purchase.on_demand_hourly.amount()),
        effective_hourly: json_rate(purchase.term.effective_hourly.amount()),
        upfront: promise.and_then(|promise| json_money(promise.upfront)),
        monthly: promise.and_then(|promise| json_money(promise.monthly)),
        term_total: promise.and_then(|promise| json_money(promise.term_total)),
        break_even_utilization: promise
            .and_then(|promise| promise.break_even_percent.round_dp(4).to_f64()),
        evidence_days: promise.and_then(|promise| promise.evidence_days.round_dp(1).to_f64()),
        monthly_savings: json_money(purchase.monthly_savings),
        risk: purchase.term.risk.name(),
        caveats: purchase.caveats.clone(),
        steps: purchase.steps.clone(),
    }
}
