//! `gpucost reserved` for programs: JSON.

use crate::domain::{Money, PriceOption, PriceQuote};
use crate::report::SCHEMA_VERSION;
use crate::report::shared::text::{json_document, json_money, json_rate};
use crate::savings::{PricedCommitment, ReservedReport};
use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::Serialize;

/// Origin of a price that the user stated, on the command line too.
const GIVEN: &str = "user";

#[derive(Serialize)]
struct Document {
    schema_version: &'static str,
    #[serde(flatten)]
    calculator: Calculator,
    commitments: Vec<CommitmentView>,
    capacity_block_hourly: Option<f64>,
    capacity_block_date: Option<String>,
    capacity_block_origin: Option<&'static str>,
}

/// The figures of the calculator, in JSON and as the one row of the CSV.
#[derive(Serialize)]
pub(super) struct Calculator {
    pub(super) instance_type: String,
    pub(super) region: String,
    operating_system: &'static str,
    count: u32,
    hours_per_month: Option<f64>,
    currency: &'static str,
    on_demand_hourly: Option<f64>,
    on_demand_date: Option<String>,
    on_demand_origin: &'static str,
    reserved_1yr_payment: Option<&'static str>,
    reserved_1yr_upfront: Option<f64>,
    reserved_1yr_hourly: Option<f64>,
    reserved_1yr_date: Option<String>,
    reserved_1yr_origin: Option<&'static str>,
    reserved_3yr_payment: Option<&'static str>,
    reserved_3yr_upfront: Option<f64>,
    reserved_3yr_hourly: Option<f64>,
    reserved_3yr_date: Option<String>,
    reserved_3yr_origin: Option<&'static str>,
    on_demand_monthly: Option<f64>,
    on_demand_1yr_total: Option<f64>,
    reserved_1yr_total: Option<f64>,
    reserved_1yr_savings: Option<f64>,
    reserved_1yr_savings_pct: Option<f64>,
    reserved_1yr_billed_total: Option<f64>,
    reserved_3yr_total_annualized: Option<f64>,
    reserved_3yr_savings_vs_ondemand_pct: Option<f64>,
    reserved_3yr_billed_total: Option<f64>,
    break_even_utilization_1yr: Option<f64>,
    break_even_utilization_3yr: Option<f64>,
    break_even_month_1yr: Option<u32>,
    break_even_month_3yr: Option<u32>,
    balance_when_halved_1yr: Option<f64>,
    balance_when_halved_3yr: Option<f64>,
}

#[derive(Serialize)]
struct CommitmentView {
    offer: &'static str,
    term_years: u8,
    payment: &'static str,
    /// Of one instance.
    upfront: Option<f64>,
    hourly: Option<f64>,
    effective_hourly: Option<f64>,
    /// Of all instances.
    upfront_total: Option<f64>,
    annual_total: Option<f64>,
    annual_savings: Option<f64>,
    annual_savings_pct: Option<f64>,
    billed_total: Option<f64>,
    billed_annual: Option<f64>,
    billed_savings_pct: Option<f64>,
    break_even_utilization: Option<f64>,
    break_even_month: Option<u32>,
    balance_when_halved: Option<f64>,
    basis: Option<&'static str>,
    date: Option<String>,
    origin: &'static str,
}

/// A comparison as JSON.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn reserved_json(report: &ReservedReport) -> Result<String, serde_json::Error> {
    let block = report.capacity_block.as_ref();
    json_document(&Document {
        schema_version: SCHEMA_VERSION,
        calculator: calculator(report),
        commitments: report.commitments.iter().map(commitment).collect(),
        capacity_block_hourly: block.and_then(|quote| json_rate(quote.rate.amount())),
        capacity_block_date: block.map(|quote| quote.seen_on.to_string()),
        capacity_block_origin: block.map(|quote| quote.origin.name()),
    })
}

/// Percentages have one decimal.
fn percent(value: Decimal) -> Option<f64> {
    rounded(value, 1)
}

/// Shares have four.
fn share(value: Decimal) -> Option<f64> {
    rounded(value, 4)
}

/// Half away from zero, as in tables.
fn rounded(value: Decimal, decimals: u32) -> Option<f64> {
    let strategy = RoundingStrategy::MidpointAwayFromZero;
    value.round_dp_with_strategy(decimals, strategy).to_f64()
}

fn date(quote: Option<&PriceQuote>) -> Option<String> {
    quote.map(|quote| quote.seen_on.to_string())
}

fn origin(quote: Option<&PriceQuote>) -> &'static str {
    quote.map_or(GIVEN, |quote| quote.origin.name())
}

pub(super) fn calculator(report: &ReservedReport) -> Calculator {
    let found = &report.comparison;
    let money = |money: Option<Money>| money.and_then(json_money);
    let one = report.one_year.as_ref();
    let three = report.three_years.as_ref();
    let payment =
        |sold: Option<&PricedCommitment>| sold.map(|sold| sold.figures.term.payment.name());
    let upfront = |sold: Option<&PricedCommitment>| {
        sold.and_then(|sold| json_rate(sold.figures.instalments.upfront))
    };
    let hourly = |sold: Option<&PricedCommitment>| {
        sold.and_then(|sold| json_rate(sold.figures.instalments.hourly))
    };
    let dated = |sold: Option<&PricedCommitment>| date(sold?.quote.as_ref());
    let from = |sold: Option<&PricedCommitment>| sold.map(|sold| origin(sold.quote.as_ref()));
    let halved =
        |sold: Option<&PricedCommitment>| money(sold.map(|sold| sold.figures.balance_when_halved));
    Calculator {
        instance_type: report.instance_type.clone(),
        region: report.region.clone(),
        operating_system: report.operating_system.name(),
        count: report.used.count,
        hours_per_month: json_rate(report.used.hours_per_month),
        currency: report.used.on_demand.currency().code(),
        on_demand_hourly: json_rate(report.used.on_demand.amount()),
        on_demand_date: date(report.on_demand.as_ref()),
        on_demand_origin: origin(report.on_demand.as_ref()),
        reserved_1yr_payment: payment(one),
        reserved_1yr_upfront: upfront(one),
        reserved_1yr_hourly: hourly(one),
        reserved_1yr_date: dated(one),
        reserved_1yr_origin: from(one),
        reserved_3yr_payment: payment(three),
        reserved_3yr_upfront: upfront(three),
        reserved_3yr_hourly: hourly(three),
        reserved_3yr_date: dated(three),
        reserved_3yr_origin: from(three),
        on_demand_monthly: json_money(found.on_demand_monthly),
        on_demand_1yr_total: json_money(found.on_demand_1yr_total),
        reserved_1yr_total: money(found.reserved_1yr_total),
        reserved_1yr_savings: money(found.reserved_1yr_savings),
        reserved_1yr_savings_pct: found.reserved_1yr_savings_pct.and_then(percent),
        reserved_1yr_billed_total: money(found.reserved_1yr_billed_total),
        reserved_3yr_total_annualized: money(found.reserved_3yr_total_annualized),
        reserved_3yr_savings_vs_ondemand_pct: found
            .reserved_3yr_savings_vs_ondemand_pct
            .and_then(percent),
        reserved_3yr_billed_total: money(found.reserved_3yr_billed_total),
        break_even_utilization_1yr: found.break_even_utilization_1yr.and_then(share),
        break_even_utilization_3yr: found.break_even_utilization_3yr.and_then(share),
        break_even_month_1yr: found.break_even_month_1yr,
        break_even_month_3yr: found.break_even_month_3yr,
        balance_when_halved_1yr: halved(one),
        balance_when_halved_3yr: halved(three),
    }
}

fn commitment(sold: &PricedCommitment) -> CommitmentView {
    let figures = &sold.figures;
    CommitmentView {
        offer: match sold.option {
            PriceOption::Ec2InstanceSavingsPlan(_) => "ec2-instance-savings-plan",
            PriceOption::ComputeSavingsPlan(_) => "compute-savings-plan",
            _ => "reserved",
        },
        term_years: figures.term.years,
        payment: figures.term.payment.name(),
        upfront: json_rate(figures.instalments.upfront),
        hourly: json_rate(figures.instalments.hourly),
        effective_hourly: json_rate(figures.effective_hourly),
        upfront_total: json_money(figures.upfront_total),
        annual_total: json_money(figures.annual_total),
        annual_savings: json_money(figures.annual_savings),
        annual_savings_pct: percent(figures.annual_savings_pct),
        billed_total: json_money(figures.billed_total),
        billed_annual: json_money(figures.billed_annual),
        billed_savings_pct: percent(figures.billed_savings_pct),
        break_even_utilization: share(figures.break_even_utilization),
        break_even_month: figures.break_even_month,
        balance_when_halved: json_money(figures.balance_when_halved),
        basis: sold.quote.as_ref().map(|quote| quote.basis.name()),
        date: date(sold.quote.as_ref()),
        origin: origin(sold.quote.as_ref()),
    }
}
