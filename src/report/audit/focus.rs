//! `audit --format focus`: the columns of FOCUS 1.0 in their order, then columns of
//! our own. An estimate of what the hours of the window cost, and no bill.

use super::workloads::{caveats, of_plan, saved, target};
use crate::analysis::{Charge, ChargeKind, UnusedCharge};
use crate::domain::{Action, Provider, Window};
use crate::report::doc::{CsvRows, Doc, Table, columns, doc_csv};
use crate::report::shared::text::{json_account, json_escaped, rounded};
use crate::savings::CommitmentKind;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// What every row says that it is.
const ESTIMATE: &str = "estimate, not a bill";

columns! {
    /// The columns of the specification in its order, and ours after them.
    fn used<'a>(row: (&'a Charge<'a>, bool)) {
        opt text "AvailabilityZone", "", Flat, row.0.zone.clone(), "";
        money "BilledCost", "", Flat, row.0.billed, "";
        text "BillingAccountId", "", Flat, payer(json_account(&row.0.one.workload.key.account)), "";
        opt text "BillingAccountName", "", Flat, None::<String>, "";
        text "BillingCurrency", "", Flat, row.0.effective.currency().code().to_owned(), "";
        text "BillingPeriodEnd", "", Flat, billing_period(row.0.period).1, "";
        text "BillingPeriodStart", "", Flat, billing_period(row.0.period).0, "";
        text "ChargeCategory", "", Flat, "Usage".to_owned(), "";
        opt text "ChargeClass", "", Flat, None::<String>, "";
        text "ChargeDescription", "", Flat, format!("Estimate by gpucost: {} {}", words(row.0.kind).0[0], row.0.one.workload.key.instance_type), "";
        text "ChargeFrequency", "", Flat, "Usage-Based".to_owned(), "";
        text "ChargePeriodEnd", "", Flat, time(row.0.period.end), "";
        text "ChargePeriodStart", "", Flat, time(row.0.period.start), "";
        opt word[&[]] "CommitmentDiscountCategory", "", Flat, words(row.0.kind).1.map(|(category, _)| category), "";
        opt text "CommitmentDiscountId", "", Flat, row.0.commitment.clone(), "";
        opt text "CommitmentDiscountName", "", Flat, None::<String>, "";
        opt word[&[]] "CommitmentDiscountStatus", "", Flat, words(row.0.kind).1.map(|_| "Used"), "";
        opt word[&[]] "CommitmentDiscountType", "", Flat, words(row.0.kind).1.map(|(_, kind)| kind), "";
        text "ConsumedQuantity", "", Flat, plain(row.0.hours), "";
        text "ConsumedUnit", "", Flat, "Hours".to_owned(), "";
        money "ContractedCost", "", Flat, row.0.list, "";
        opt text "ContractedUnitPrice", "", Flat, row.0.unit_price.map(plain), "";
        money "EffectiveCost", "", Flat, row.0.effective, "";
        text "InvoiceIssuerName", "", Flat, cloud(row.0.one.workload.key.provider)[1].to_owned(), "";
        money "ListCost", "", Flat, row.0.list, "";
        opt text "ListUnitPrice", "", Flat, row.0.unit_price.map(plain), "";
        word[&[]] "PricingCategory", "", Flat, words(row.0.kind).0[2], "";
        text "PricingQuantity", "", Flat, plain(row.0.hours), "";
        text "PricingUnit", "", Flat, "Hours".to_owned(), "";
        text "ProviderName", "", Flat, cloud(row.0.one.workload.key.provider)[0].to_owned(), "";
        text "PublisherName", "", Flat, cloud(row.0.one.workload.key.provider)[1].to_owned(), "";
        text "RegionId", "", Flat, row.0.one.workload.key.region.clone(), "";
        text "RegionName", "", Flat, row.0.one.workload.key.region.clone(), "";
        text "ResourceId", "", Flat, row.0.instance.map_or_else(|| row.0.one.workload.id(), |id| id.native().to_owned()), "";
        text "ResourceName", "", Flat, row.0.one.workload.name.clone(), "";
        word[&[]] "ResourceType", "", Flat, if instances(row.0) == 1 { "instance" } else { "instances" }, "";
        word[&[]] "ServiceCategory", "", Flat, if is_idle_storage(row.0) { "Storage" } else { "Compute" }, "";
        word[&[]] "ServiceName", "", Flat, cloud(row.0.one.workload.key.provider)[2], "";
        text "SkuId", "", Flat, sku(row.0), "";
        text "SkuPriceId", "", Flat, format!("{}/{}/{}", row.0.one.workload.key.region, sku(row.0), words(row.0.kind).0[1]), "";
        text "SubAccountId", "", Flat, payer(json_account(&row.0.one.workload.key.account)), "";
        opt text "SubAccountName", "", Flat, None::<String>, "";
        opt text "Tags", "", Flat, tags(row.0), "";
        text "x_Estimate", "", Flat, ESTIMATE.to_owned(), "";
        text "x_WorkloadId", "", Flat, row.0.one.workload.id(), "";
        text "x_WorkloadKind", "", Flat, row.0.one.workload.kind.to_string(), "";
        text "x_InstanceType", "", Flat, row.0.one.workload.key.instance_type.clone(), "";
        count "x_InstanceCount", "", Flat, instances(row.0), "";
        opt text "x_GpuModel", "", Flat, row.0.one.workload.shape.as_ref().and_then(|shape| Some(shape.gpu.as_ref()?.model.name().to_owned())), "";
        opt text "x_GpuCount", "", Flat, gpus(row.0).map(plain), "";
        word[&[]] "x_Classification", "", Flat, row.0.one.verdict.classification.name(), "";
        opt word[&[]] "x_State", "", Flat, row.0.one.verdict.state.map(|state| state.name()), "";
        opt text "x_MeanUtilizationPercent", "", Flat, row.0.mean_percent.filter(|_| is_measured(row.0)).map(|mean| rounded(mean, 4)), "The mean that the split rests on.";
        opt money "x_UsefulCost", "", Flat, is_measured(row.0).then_some(row.0.split.useful), "";
        opt money "x_IdleCost", "", Flat, is_measured(row.0).then_some(row.0.split.idle), "";
        money "x_UnmeasuredCost", "", Flat, row.0.split.unmeasured, "";
        opt text "x_IdleCostShare", "", Flat, row.0.split.idle.amount().checked_div(measured(row.0)).map(|share| rounded(share, 4)), "";
        opt text "x_PlanAction", "", Flat, of_plan(&row.0.one.actions, |action| action.kind().to_string()), "";
        opt text "x_PlanTarget", "", Flat, target(&row.0.one.actions).map(|to| format!("{} × {}", to.count, to.instance_type)), "";
        opt text "x_PlanRisk", "", Flat, row.0.one.actions.iter().map(Action::risk).max().map(|risk| risk.to_string()), "";
        opt text "x_PlanCaveats", "", Flat, caveats(&row.0.one.actions), "";
        opt money "x_PlanMonthlySavings", "", Flat, saved(&row.0.one.actions).filter(|_| row.1), "Of the whole workload, in the first of its rows.";
    }

    /// What is paid for and does not run. Room of a capacity reservation is paid by the hour; the
    /// unused part of a commitment by its fee, has no list price, and is about no resource but
    /// the commitment.
    fn unused<'a>(row: (&'a UnusedCharge<'a>, bool)) {
        money "BilledCost", "", Flat, row.0.billed, "";
        text "BillingAccountId", "", Flat, payer(row.0.one.account.clone()), "";
        text "BillingCurrency", "", Flat, row.0.effective.currency().code().to_owned(), "";
        text "BillingPeriodEnd", "", Flat, billing_period(row.0.period).1, "";
        text "BillingPeriodStart", "", Flat, billing_period(row.0.period).0, "";
        text "ChargeCategory", "", Flat, "Usage".to_owned(), "";
        text "ChargeDescription", "", Flat, format!("Estimate by gpucost: unused, {}", row.0.one.name), "";
        text "ChargeFrequency", "", Flat, "Usage-Based".to_owned(), "";
        text "ChargePeriodEnd", "", Flat, time(row.0.period.end), "";
        text "ChargePeriodStart", "", Flat, time(row.0.period.start), "";
        opt word[&[]] "CommitmentDiscountCategory", "", Flat, discount(row.0).map(|(category, _)| category), "";
        opt text "CommitmentDiscountId", "", Flat, discount(row.0).map(|_| row.0.one.id.clone()), "";
        opt word[&[]] "CommitmentDiscountStatus", "", Flat, discount(row.0).map(|_| "Unused"), "";
        opt word[&[]] "CommitmentDiscountType", "", Flat, discount(row.0).map(|(_, kind)| kind), "";
        money "ContractedCost", "", Flat, row.0.billed, "";
        money "EffectiveCost", "", Flat, row.0.effective, "";
        text "InvoiceIssuerName", "", Flat, cloud(Provider::Aws)[1].to_owned(), "";
        money "ListCost", "", Flat, row.0.billed, "";
        word[&[]] "PricingCategory", "", Flat, if discount(row.0).is_some() { "Committed" } else { "Standard" }, "";
        opt text "PricingQuantity", "", Flat, row.0.hours.map(plain), "";
        opt word[&[]] "PricingUnit", "", Flat, row.0.hours.map(|_| "Hours"), "";
        text "ProviderName", "", Flat, cloud(Provider::Aws)[0].to_owned(), "";
        text "PublisherName", "", Flat, cloud(Provider::Aws)[1].to_owned(), "";
        opt text "RegionId", "", Flat, row.0.one.region.clone(), "";
        opt text "RegionName", "", Flat, row.0.one.region.clone(), "";
        text "ResourceId", "", Flat, row.0.one.id.clone(), "";
        text "ResourceName", "", Flat, row.0.one.name.clone(), "";
        word[&[]] "ResourceType", "", Flat, row.0.one.kind, "";
        text "ServiceCategory", "", Flat, "Compute".to_owned(), "";
        word[&[]] "ServiceName", "", Flat, cloud(Provider::Aws)[2], "";
        word[&[]] "SkuId", "", Flat, row.0.one.kind, "";
        text "SkuPriceId", "", Flat, format!("{}/unused", row.0.one.kind), "";
        text "SubAccountId", "", Flat, payer(row.0.one.account.clone()), "";
        text "x_Estimate", "", Flat, ESTIMATE.to_owned(), "";
        text "x_Classification", "", Flat, "unused".to_owned(), "";
        opt text "x_PlanAction", "", Flat, of_plan(&row.0.one.actions, |action| action.kind().to_string()), "";
        opt text "x_PlanRisk", "", Flat, row.0.one.actions.iter().map(Action::risk).max().map(|risk| risk.to_string()), "";
        opt text "x_PlanCaveats", "", Flat, caveats(&row.0.one.actions), "";
        opt money "x_PlanMonthlySavings", "", Flat, saved(&row.0.one.actions).filter(|_| row.1), "Of the whole commitment, in the first of its rows.";
    }
}

/// The charges of an audit as FOCUS 1.0 in comma-separated values: those of workloads,
/// then what is paid for and does not run. A null is an empty cell; no text is ever empty.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn focus_csv(
    charges: &[Charge<'_>],
    unused: &[UnusedCharge<'_>],
) -> Result<String, csv::Error> {
    let noun = ("charge", "charges");
    // The saving of a workload stands once, so that its column sums to those of the plan.
    let (mut workloads, mut commitments) = (BTreeSet::new(), BTreeSet::new());
    let charges = charges.iter().map(|charge| (charge, workloads.insert(charge.one.workload.id())));
    let paid = unused.iter().map(|charge| (charge, commitments.insert(&charge.one.id)));
    doc_csv(&Doc {
        csv: CsvRows::Tables(2),
        tables: vec![
            Table::of("used", "", noun, used(), charges),
            Table::of("unused", "", noun, self::unused(), paid),
        ],
        ..Doc::default()
    })
}

/// A row for each cloud: who makes a resource available, who sends the invoice, and the service.
macro_rules! clouds {
    ($($provider:ident: $name:literal, $issuer:literal, $service:literal;)*) => {
        fn cloud(provider: Provider) -> [&'static str; 3] {
            match provider { $(Provider::$provider => [$name, $issuer, $service],)* }
        }
    };
}
clouds! {
    Aws: "AWS", "Amazon Web Services, Inc.", "Amazon Elastic Compute Cloud";
    SageMaker: "AWS", "Amazon Web Services, Inc.", "Amazon SageMaker";
    Azure: "Microsoft", "Microsoft Corporation", "Virtual Machines";
    Gcp: "Google Cloud", "Google LLC", "Compute Engine";
    OnPremises: "On-premises", "On-premises", "On-premises";
}

/// Category and type of the commitment that pays.
type Discount = Option<(&'static str, &'static str)>;

/// A row for each kind of charge: what it is for in words, its price, its category, and the
/// commitment that pays.
macro_rules! charges {
    ($($kind:ident: $what:literal, $price:literal, $pricing:literal, $commitment:expr;)*) => {
        fn words(kind: ChargeKind) -> ([&'static str; 3], Discount) {
            match kind { $(ChargeKind::$kind => ([$what, $price, $pricing], $commitment),)* }
        }
    };
}
charges! {
    OnDemand: "on-demand hours of", "on-demand", "Standard", None;
    Spot: "spot hours of", "spot", "Dynamic", None;
    Reserved: "hours covered by reserved instances for", "on-demand", "Committed", Some(("Usage", "Reserved Instance"));
    SavingsPlan: "hours covered by a savings plan for", "on-demand", "Committed", Some(("Spend", "Savings Plan"));
    CapacityBlock: "hours in a Capacity Block of", "capacity-block", "Committed", Some(("Usage", "Capacity Block"));
    IdleStorage: "volumes and addresses of stopped", "idle-storage", "Standard", None;
}

/// How many instances it is about.
fn instances(charge: &Charge<'_>) -> usize {
    if charge.instance.is_some() { 1 } else { charge.one.workload.instances.len() }
}

/// The commitment of which a part is unused.
fn discount(charge: &UnusedCharge<'_>) -> Discount {
    let kind = CommitmentKind::from_name(charge.one.kind)?;
    words(if kind.is_reserved() { ChargeKind::Reserved } else { ChargeKind::SavingsPlan }).1
}

/// An account, also where it is not known.
fn payer(account: Option<String>) -> String {
    account.unwrap_or_else(|| "unknown".to_owned())
}

fn is_idle_storage(charge: &Charge<'_>) -> bool {
    charge.kind == ChargeKind::IdleStorage
}

fn sku(charge: &Charge<'_>) -> String {
    let workload = &charge.one.workload;
    let (name, price) = (&workload.key.instance_type, &workload.price_key);
    if is_idle_storage(charge) {
        "storage".to_owned()
    } else {
        format!("{name}/{}/{}", price.operating_system, price.tenancy)
    }
}

fn gpus(charge: &Charge<'_>) -> Option<Decimal> {
    let workload = &charge.one.workload;
    match charge.instance {
        Some(_) => Some(workload.shape.as_ref()?.gpu.as_ref()?.share.count()),
        None => workload.gpu_count(),
    }
}

/// What of the cost was for measured hours.
fn measured(charge: &Charge<'_>) -> Decimal {
    charge.split.useful.amount() + charge.split.idle.amount()
}

fn is_measured(charge: &Charge<'_>) -> bool {
    !measured(charge).is_zero()
}

/// A quantity or a rate with as many decimals as it has, ten at most and two at
/// least: readers without a schema take a column of whole numbers for counts.
fn plain(value: Decimal) -> String {
    let value = value.round_dp(10).normalize();
    rounded(value, value.scale().max(2))
}

/// The months that a period touches: from the first day of its first month to
/// the first day after its last one.
fn billing_period(period: Window) -> (String, String) {
    let first =
        |instant: Timestamp| -> Date { instant.to_zoned(TimeZone::UTC).date().first_of_month() };
    let start = first(period.start);
    // The end is not part of it.
    let last = Timestamp::from_second(period.end.as_second() - 1);
    let end = first(last.unwrap_or(period.end)).saturating_add(1.month());
    (format!("{start}T00:00:00Z"), format!("{end}T00:00:00Z"))
}

fn time(instant: Timestamp) -> String {
    instant.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Tags as a JSON object, absent without any. It begins with a brace, so that no spreadsheet
/// runs it, and what could drive a terminal is escaped as JSON escapes it.
fn tags(charge: &Charge<'_>) -> Option<String> {
    let tags = &charge.one.workload.tags;
    if tags.is_empty() {
        return None;
    }
    serde_json::to_string(tags).ok().map(json_escaped)
}
