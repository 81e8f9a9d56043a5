//! `audit --format focus`: the columns of FOCUS 1.0 in their order, then columns of
//! our own. An estimate of what the hours of the window cost, and no bill.

use super::workloads::{caveats, of_plan, saved, target};
use crate::analysis::{Charge, ChargeKind, UnusedCharge};
use crate::domain::{Action, Money, Provider, Window};
use crate::report::doc::{Doc, Table, columns, doc_csv};
use crate::report::shared::text::{json_account, json_escaped, rounded};
use crate::savings::CommitmentKind;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// What every row says that it is.
const ESTIMATE: &str = "estimate, not a bill";

/// What ran, or else what is paid for and does not run; and whether it has the saving of its
/// workload or commitment, which stands once so that its column sums to those of the plan.
type Row<'a> = (Result<&'a Charge<'a>, &'a UnusedCharge<'a>>, bool);

columns! {
    /// The columns of the specification in its order, and ours after them. Of what does not run,
    /// room of a capacity reservation is paid by the hour; the unused part of a commitment by its
    /// fee, has no list price, and is about no resource but the commitment.
    fn rows<'a>(row: Row<'a>) {
        opt text "AvailabilityZone", "", Flat, row.0.ok().and_then(|charge| charge.part.zone.clone()), "";
        money "BilledCost", "", Flat, row.0.map_or_else(|unused| unused.billed, |charge| charge.billed), "";
        text "BillingAccountId", "", Flat, payer(row), "";
        opt text "BillingAccountName", "", Flat, None::<String>, "";
        text "BillingCurrency", "", Flat, effective(row).currency().code().to_owned(), "";
        text "BillingPeriodEnd", "", Flat, billing_period(period(row)).1, "";
        text "BillingPeriodStart", "", Flat, billing_period(period(row)).0, "";
        text "ChargeCategory", "", Flat, "Usage".to_owned(), "";
        opt text "ChargeClass", "", Flat, None::<String>, "";
        text "ChargeDescription", "", Flat, row.0.map_or_else(|unused| format!("Estimate by gpucost: unused, {}", unused.one.name), |charge| format!("Estimate by gpucost: {} {}", words(charge.part.kind).0[0], charge.one.workload.key.instance_type)), "";
        text "ChargeFrequency", "", Flat, "Usage-Based".to_owned(), "";
        text "ChargePeriodEnd", "", Flat, time(period(row).end), "";
        text "ChargePeriodStart", "", Flat, time(period(row).start), "";
        opt word[&[]] "CommitmentDiscountCategory", "", Flat, paid_by(row).map(|(category, _)| category), "";
        opt text "CommitmentDiscountId", "", Flat, row.0.map_or_else(|unused| discount(unused).map(|_| unused.one.id.clone()), |charge| charge.part.commitment.clone()), "";
        opt text "CommitmentDiscountName", "", Flat, None::<String>, "";
        opt word[&[]] "CommitmentDiscountStatus", "", Flat, paid_by(row).map(|_| if row.0.is_ok() { "Used" } else { "Unused" }), "";
        opt word[&[]] "CommitmentDiscountType", "", Flat, paid_by(row).map(|(_, kind)| kind), "";
        opt text "ConsumedQuantity", "", Flat, row.0.ok().map(|charge| plain(charge.hours)), "";
        opt word[&[]] "ConsumedUnit", "", Flat, row.0.ok().map(|_| "Hours"), "";
        money "ContractedCost", "", Flat, row.0.map_or_else(|unused| unused.billed, |charge| charge.list), "";
        opt text "ContractedUnitPrice", "", Flat, row.0.ok().and_then(|charge| charge.part.unit_price).map(plain), "";
        money "EffectiveCost", "", Flat, effective(row), "";
        text "InvoiceIssuerName", "", Flat, seller(row)[1].to_owned(), "";
        money "ListCost", "", Flat, row.0.map_or_else(|unused| unused.billed, |charge| charge.list), "";
        opt text "ListUnitPrice", "", Flat, row.0.ok().and_then(|charge| charge.part.unit_price).map(plain), "";
        word[&[]] "PricingCategory", "", Flat, row.0.map_or_else(|unused| if discount(unused).is_some() { "Committed" } else { "Standard" }, |charge| words(charge.part.kind).0[2]), "";
        opt text "PricingQuantity", "", Flat, row.0.map_or_else(|unused| unused.hours, |charge| Some(charge.hours)).map(plain), "";
        opt word[&[]] "PricingUnit", "", Flat, row.0.map_or_else(|unused| unused.hours, |charge| Some(charge.hours)).map(|_| "Hours"), "";
        text "ProviderName", "", Flat, seller(row)[0].to_owned(), "";
        text "PublisherName", "", Flat, seller(row)[1].to_owned(), "";
        opt text "RegionId", "", Flat, row.0.map_or_else(|unused| unused.one.region.clone(), |charge| Some(charge.one.workload.key.region.clone())), "";
        opt text "RegionName", "", Flat, row.0.map_or_else(|unused| unused.one.region.clone(), |charge| Some(charge.one.workload.key.region.clone())), "";
        text "ResourceId", "", Flat, row.0.map_or_else(|unused| unused.one.id.clone(), |charge| charge.instance.map_or_else(|| charge.one.workload.id(), |id| id.native().to_owned())), "";
        text "ResourceName", "", Flat, row.0.map_or_else(|unused| unused.one.name.clone(), |charge| charge.one.workload.name.clone()), "";
        word[&[]] "ResourceType", "", Flat, row.0.map_or_else(|unused| unused.one.kind, |charge| if instances(charge) == 1 { "instance" } else { "instances" }), "";
        word[&[]] "ServiceCategory", "", Flat, if row.0.is_ok_and(is_idle_storage) { "Storage" } else { "Compute" }, "";
        word[&[]] "ServiceName", "", Flat, seller(row)[2], "";
        text "SkuId", "", Flat, row.0.map_or_else(|unused| unused.one.kind.to_owned(), sku), "";
        text "SkuPriceId", "", Flat, row.0.map_or_else(|unused| format!("{}/unused", unused.one.kind), |charge| format!("{}/{}/{}", charge.one.workload.key.region, sku(charge), words(charge.part.kind).0[1])), "";
        text "SubAccountId", "", Flat, payer(row), "";
        opt text "SubAccountName", "", Flat, None::<String>, "";
        opt text "Tags", "", Flat, row.0.ok().and_then(tags), "";
        text "x_Estimate", "", Flat, ESTIMATE.to_owned(), "";
        opt text "x_WorkloadId", "", Flat, row.0.ok().map(|charge| charge.one.workload.id()), "";
        opt text "x_WorkloadKind", "", Flat, row.0.ok().map(|charge| charge.one.workload.kind.to_string()), "";
        opt text "x_InstanceType", "", Flat, row.0.ok().map(|charge| charge.one.workload.key.instance_type.clone()), "";
        opt count "x_InstanceCount", "", Flat, row.0.ok().map(instances), "";
        opt text "x_GpuModel", "", Flat, row.0.ok().and_then(|charge| Some(charge.one.workload.shape.as_ref()?.gpu.as_ref()?.model.name().to_owned())), "";
        opt text "x_GpuCount", "", Flat, row.0.ok().and_then(gpus).map(plain), "";
        word[&[]] "x_Classification", "", Flat, row.0.map_or("unused", |charge| charge.one.verdict.classification.name()), "";
        opt word[&[]] "x_State", "", Flat, row.0.ok().and_then(|charge| Some(charge.one.verdict.state?.name())), "";
        opt text "x_MeanUtilizationPercent", "", Flat, row.0.ok().filter(is_measured).and_then(|charge| charge.mean_percent).map(|mean| rounded(mean, 4)), "The mean that the split rests on.";
        opt money "x_UsefulCost", "", Flat, row.0.ok().filter(is_measured).map(|charge| charge.split.useful), "";
        opt money "x_IdleCost", "", Flat, row.0.ok().filter(is_measured).map(|charge| charge.split.idle), "";
        opt money "x_UnmeasuredCost", "", Flat, row.0.ok().map(|charge| charge.split.unmeasured), "";
        opt text "x_IdleCostShare", "", Flat, row.0.ok().and_then(|charge| charge.split.idle.amount().checked_div(measured(charge))).map(|share| rounded(share, 4)), "";
        opt text "x_PlanAction", "", Flat, of_plan(actions(row), |action| action.kind().to_string()), "";
        opt text "x_PlanTarget", "", Flat, row.0.ok().and_then(|charge| target(&charge.one.actions)).map(|to| format!("{} × {}", to.count, to.instance_type)), "";
        opt text "x_PlanRisk", "", Flat, actions(row).iter().map(Action::risk).max().map(|risk| risk.to_string()), "";
        opt text "x_PlanCaveats", "", Flat, caveats(actions(row)), "";
        opt money "x_PlanMonthlySavings", "", Flat, saved(actions(row)).filter(|_| row.1), "Of the whole workload or commitment, in the first of its rows.";
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
    let (mut workloads, mut commitments) = (BTreeSet::new(), BTreeSet::new());
    let charges =
        charges.iter().map(|charge| (Ok(charge), workloads.insert(charge.one.workload.id())));
    let unused = unused.iter().map(|charge| (Err(charge), commitments.insert(&charge.one.id)));
    let table = Table::of("charges", "", ("charge", "charges"), rows(), charges.chain(unused));
    doc_csv(&Doc { tables: vec![table], ..Doc::default() })
}

fn effective(row: &Row<'_>) -> Money {
    row.0.map_or_else(|unused| unused.effective, |charge| charge.effective)
}

fn period(row: &Row<'_>) -> Window {
    row.0.map_or_else(|unused| unused.period, |charge| charge.period)
}

fn actions<'a>(row: &Row<'a>) -> &'a [Action] {
    row.0
        .map_or_else(|unused| unused.one.actions.as_slice(), |charge| charge.one.actions.as_slice())
}

/// Who makes a resource available, who sends the invoice, and the service.
fn seller(row: &Row<'_>) -> [&'static str; 3] {
    cloud(row.0.map_or(Provider::Aws, |charge| charge.one.workload.key.provider))
}

/// The commitment that pays, or of which a part is unused.
fn paid_by(row: &Row<'_>) -> Discount {
    row.0.map_or_else(discount, |charge| words(charge.part.kind).1)
}

/// An account, also where it is not known.
fn payer(row: &Row<'_>) -> String {
    let account = row.0.map_or_else(
        |unused| unused.one.account.clone(),
        |charge| json_account(&charge.one.workload.key.account),
    );
    account.unwrap_or_else(|| "unknown".to_owned())
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

fn is_idle_storage(charge: &Charge<'_>) -> bool {
    charge.part.kind == ChargeKind::IdleStorage
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

fn is_measured(charge: &&Charge<'_>) -> bool {
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
