//! `audit --format focus`: the columns of FOCUS 1.0 in their order, then columns of
//! our own. An estimate of what the hours of the window cost, and no bill.

use crate::analysis::{Charge, ChargeKind, UnusedCharge};
use crate::domain::{Money, Provider, Window};
use crate::report::shared::csv::document;
use crate::report::shared::text::{json_escaped, rounded, spreadsheet_safe as text};
use crate::savings::CommitmentKind;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rust_decimal::Decimal;

/// The columns of the specification, in its order.
const COLUMNS: &[&str] = &[
    "AvailabilityZone",
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargeFrequency",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "CommitmentDiscountCategory",
    "CommitmentDiscountId",
    "CommitmentDiscountName",
    "CommitmentDiscountStatus",
    "CommitmentDiscountType",
    "ConsumedQuantity",
    "ConsumedUnit",
    "ContractedCost",
    "ContractedUnitPrice",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "ListUnitPrice",
    "PricingCategory",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "RegionId",
    "RegionName",
    "ResourceId",
    "ResourceName",
    "ResourceType",
    "ServiceCategory",
    "ServiceName",
    "SkuId",
    "SkuPriceId",
    "SubAccountId",
    "SubAccountName",
    "Tags",
];

/// Ours, after them.
const OWN_COLUMNS: &[&str] = &[
    "x_Estimate",
    "x_WorkloadId",
    "x_WorkloadKind",
    "x_InstanceType",
    "x_InstanceCount",
    "x_GpuModel",
    "x_GpuCount",
    "x_Classification",
    "x_State",
    "x_MeanUtilizationPercent",
    "x_UsefulCost",
    "x_IdleCost",
    "x_UnmeasuredCost",
    "x_IdleCostShare",
];

/// What every row says that it is.
const ESTIMATE: &str = "estimate, not a bill";

/// The charges of an audit as FOCUS 1.0 in comma-separated values: those of workloads,
/// then what is paid for and does not run. A null is an empty cell; no text is ever empty.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn focus_csv(
    charges: &[Charge<'_>],
    unused: &[UnusedCharge<'_>],
) -> Result<String, csv::Error> {
    let columns = || COLUMNS.iter().chain(OWN_COLUMNS);
    let of_workloads = charges.iter().map(|charge| {
        let mut row = standard(charge);
        row.extend(own(charge));
        row
    });
    let of_unused = unused.iter().map(|charge| {
        let cells = columns().map(|name| unused_cell(charge, name));
        cells.collect::<Vec<String>>()
    });
    document(columns(), of_workloads.chain(of_unused))
}

/// Who makes a resource available, and who sends the invoice.
fn provider_and_issuer(provider: Provider) -> (&'static str, &'static str) {
    match provider {
        Provider::Aws | Provider::SageMaker => ("AWS", "Amazon Web Services, Inc."),
        Provider::Azure => ("Microsoft", "Microsoft Corporation"),
        Provider::Gcp => ("Google Cloud", "Google LLC"),
        Provider::OnPremises => ("On-premises", "On-premises"),
    }
}

fn service(provider: Provider) -> &'static str {
    match provider {
        Provider::Aws => "Amazon Elastic Compute Cloud",
        Provider::Azure => "Virtual Machines",
        Provider::Gcp => "Compute Engine",
        Provider::OnPremises => "On-premises",
        Provider::SageMaker => "Amazon SageMaker",
    }
}

/// Cells of the columns of the specification.
fn standard(charge: &Charge<'_>) -> Vec<String> {
    let workload = &charge.one.workload;
    let key = &workload.key;
    let (provider, issuer) = provider_and_issuer(key.provider);
    let is_idle_storage = charge.kind == ChargeKind::IdleStorage;
    let (start, end) = billing_period(charge.period);
    let commitment = commitment(charge.kind);
    let of_commitment = |value: &str| commitment.map_or(String::new(), |_| value.to_owned());
    let quantity = plain(charge.hours);
    let unit_price = charge.unit_price.map_or(String::new(), plain);
    let account = text(if key.account.is_empty() {
        "unknown"
    } else {
        &key.account
    });
    let sku = format!(
        "{}/{}/{}",
        key.instance_type, workload.price_key.operating_system, workload.price_key.tenancy
    );
    let sku = if is_idle_storage { "storage" } else { &sku };
    vec![
        charge.zone.as_deref().map_or(String::new(), text),
        money(charge.billed),
        account.clone(),
        String::new(),
        charge.effective.currency().code().to_owned(),
        end,
        start,
        "Usage".to_owned(),
        String::new(),
        description(charge),
        "Usage-Based".to_owned(),
        time(charge.period.end),
        time(charge.period.start),
        commitment.map_or(String::new(), |(category, _)| category.to_owned()),
        charge.commitment.as_deref().map_or(String::new(), text),
        String::new(),
        of_commitment("Used"),
        commitment.map_or(String::new(), |(_, kind)| kind.to_owned()),
        quantity.clone(),
        "Hours".to_owned(),
        money(charge.list),
        unit_price.clone(),
        money(charge.effective),
        issuer.to_owned(),
        money(charge.list),
        unit_price,
        match charge.kind {
            ChargeKind::OnDemand | ChargeKind::IdleStorage => "Standard",
            ChargeKind::Spot => "Dynamic",
            ChargeKind::Reserved | ChargeKind::SavingsPlan | ChargeKind::CapacityBlock => {
                "Committed"
            }
        }
        .to_owned(),
        quantity,
        "Hours".to_owned(),
        provider.to_owned(),
        issuer.to_owned(),
        text(&key.region),
        text(&key.region),
        match charge.instance {
            Some(id) => text(id.native()),
            None => text(&workload.id()),
        },
        text(&workload.name),
        match instances(charge) {
            1 => "instance",
            _ => "instances",
        }
        .to_owned(),
        if is_idle_storage {
            "Storage"
        } else {
            "Compute"
        }
        .to_owned(),
        service(key.provider).to_owned(),
        text(sku),
        text(&format!("{}/{sku}/{}", key.region, price_name(charge.kind))),
        account,
        String::new(),
        tags(charge),
    ]
}

/// How many instances it is about.
fn instances(charge: &Charge<'_>) -> usize {
    match charge.instance {
        Some(_) => 1,
        None => charge.one.workload.instances.len(),
    }
}

/// Category and type of a commitment that pays.
fn commitment(kind: ChargeKind) -> Option<(&'static str, &'static str)> {
    match kind {
        ChargeKind::Reserved => Some(("Usage", "Reserved Instance")),
        ChargeKind::SavingsPlan => Some(("Spend", "Savings Plan")),
        ChargeKind::CapacityBlock => Some(("Usage", "Capacity Block")),
        ChargeKind::OnDemand | ChargeKind::Spot | ChargeKind::IdleStorage => None,
    }
}

fn price_name(kind: ChargeKind) -> &'static str {
    match kind {
        ChargeKind::Spot => "spot",
        ChargeKind::IdleStorage => "idle-storage",
        ChargeKind::CapacityBlock => "capacity-block",
        ChargeKind::OnDemand | ChargeKind::Reserved | ChargeKind::SavingsPlan => "on-demand",
    }
}

fn description(charge: &Charge<'_>) -> String {
    let key = &charge.one.workload.key;
    let what = match charge.kind {
        ChargeKind::OnDemand => "on-demand hours of",
        ChargeKind::Spot => "spot hours of",
        ChargeKind::Reserved => "hours covered by reserved instances for",
        ChargeKind::SavingsPlan => "hours covered by a savings plan for",
        ChargeKind::CapacityBlock => "hours in a Capacity Block of",
        ChargeKind::IdleStorage => "volumes and addresses of stopped",
    };
    text(&format!(
        "Estimate by gpucost: {what} {}",
        key.instance_type
    ))
}

/// A cell of what is paid for and does not run. Room of a capacity reservation is paid
/// by the hour; the unused part of a commitment by its fee, has no list price, and is
/// about no resource but the commitment.
fn unused_cell(charge: &UnusedCharge<'_>, column: &str) -> String {
    let one = charge.one;
    let (provider, issuer) = provider_and_issuer(Provider::Aws);
    let commitment = CommitmentKind::from_name(one.kind).and_then(|kind| {
        commitment(if kind.is_reserved() {
            ChargeKind::Reserved
        } else {
            ChargeKind::SavingsPlan
        })
    });
    let of_commitment = |value: &str| commitment.map_or(String::new(), |_| value.to_owned());
    match column {
        "BilledCost" | "ContractedCost" | "ListCost" => money(charge.billed),
        "BillingAccountId" | "SubAccountId" => text(one.account.as_deref().unwrap_or("unknown")),
        "BillingCurrency" => charge.effective.currency().code().to_owned(),
        "BillingPeriodEnd" => billing_period(charge.period).1,
        "BillingPeriodStart" => billing_period(charge.period).0,
        "ChargeCategory" => "Usage".to_owned(),
        "ChargeDescription" => text(&format!("Estimate by gpucost: unused, {}", one.name)),
        "ChargeFrequency" => "Usage-Based".to_owned(),
        "ChargePeriodEnd" => time(charge.period.end),
        "ChargePeriodStart" => time(charge.period.start),
        "CommitmentDiscountCategory" => {
            commitment.map_or(String::new(), |(category, _)| category.to_owned())
        }
        "CommitmentDiscountId" => of_commitment(&text(&one.id)),
        "CommitmentDiscountStatus" => of_commitment("Unused"),
        "CommitmentDiscountType" => commitment.map_or(String::new(), |(_, kind)| kind.to_owned()),
        "EffectiveCost" => money(charge.effective),
        "InvoiceIssuerName" | "PublisherName" => issuer.to_owned(),
        "PricingCategory" if commitment.is_some() => "Committed".to_owned(),
        "PricingCategory" => "Standard".to_owned(),
        "PricingQuantity" => charge.hours.map_or(String::new(), plain),
        "PricingUnit" => charge.hours.map_or(String::new(), |_| "Hours".to_owned()),
        "ProviderName" => provider.to_owned(),
        "RegionId" | "RegionName" => one.region.as_deref().map_or(String::new(), text),
        "ResourceId" => text(&one.id),
        "ResourceName" => text(&one.name),
        "ResourceType" | "SkuId" => one.kind.to_owned(),
        "ServiceCategory" => "Compute".to_owned(),
        "ServiceName" => service(Provider::Aws).to_owned(),
        "SkuPriceId" => format!("{}/unused", one.kind),
        "x_Classification" => "unused".to_owned(),
        "x_Estimate" => ESTIMATE.to_owned(),
        _ => String::new(),
    }
}

/// Cells of our own columns.
fn own(charge: &Charge<'_>) -> Vec<String> {
    let one = charge.one;
    let workload = &one.workload;
    let offer = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
    let split = &charge.split;
    let measured = split.useful.amount() + split.idle.amount();
    let is_measured = !measured.is_zero();
    let of_measured = |part: Money| {
        if is_measured {
            money(part)
        } else {
            String::new()
        }
    };
    // The mean that the split rests on, and none that it does not.
    let mean = charge.mean_percent.filter(|_| is_measured);
    let gpus = match charge.instance {
        Some(_) => offer.map(|offer| offer.share.count()),
        None => workload.gpu_count(),
    };
    vec![
        ESTIMATE.to_owned(),
        text(&workload.id()),
        workload.kind.to_string(),
        text(&workload.key.instance_type),
        instances(charge).to_string(),
        offer.map_or(String::new(), |offer| text(offer.model.name())),
        gpus.map_or(String::new(), plain),
        if workload.key.running {
            one.verdict.classification.to_string()
        } else {
            "stopped".to_owned()
        },
        one.verdict
            .state
            .map_or(String::new(), |state| state.to_string()),
        mean.map_or(String::new(), |mean| rounded(mean, 4)),
        of_measured(split.useful),
        of_measured(split.idle),
        money(split.unmeasured),
        split
            .idle
            .amount()
            .checked_div(measured)
            .map_or(String::new(), |share| rounded(share, 4)),
    ]
}

fn money(amount: Money) -> String {
    rounded(amount.amount(), 2)
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
    let first = |instant: Timestamp| -> Date {
        let date = instant.to_zoned(TimeZone::UTC).date();
        date.first_of_month()
    };
    let start = first(period.start);
    // The end is not part of it.
    let last = Timestamp::from_second(period.end.as_second() - 1);
    let last = first(last.unwrap_or(period.end));
    let end = last.saturating_add(1.month());
    (format!("{start}T00:00:00Z"), format!("{end}T00:00:00Z"))
}

fn time(instant: Timestamp) -> String {
    instant.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Tags as a JSON object. It begins with a brace, so that no spreadsheet runs it,
/// and what could drive a terminal is escaped as JSON escapes it.
fn tags(charge: &Charge<'_>) -> String {
    let tags = &charge.one.workload.tags;
    if tags.is_empty() {
        return String::new();
    }
    serde_json::to_string(tags).map_or(String::new(), json_escaped)
}
