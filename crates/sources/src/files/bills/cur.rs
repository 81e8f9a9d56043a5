//! Lines of AWS's own bills: the Cost and Usage Report, version 2 and the one before.
//!
//! Amortized costs are as AWS's Cloud Intelligence Dashboards define them
//! (`cid/builtin/core/data/queries/cid/summary_view.sql` of 2026-08-14).

use super::fields::{Field, Fields};
use super::values::{is_hours, is_spot, kind_of, system_in, tenancy_of, type_in, type_of};
use crate::domain::{
    BillCosts, BillLine, CommitmentTerm, LineKind, OperatingSystem, PodShare, PriceOption,
    Provider, PurchaseOption, SharedPart, bare_id,
};
use rust_decimal::Decimal;

/// Columns without which a table is none of these bills.
pub(super) const REQUIRED: [&str; 2] = ["line_item_line_item_type", "line_item_unblended_cost"];

/// Operations of lines that divide an instance among its pods or tasks.
const SPLIT_OPERATIONS: [&str; 2] = ["EKSPod-EC2", "ECSTask-EC2"];

/// What is known of a line before its amounts.
struct Known {
    line_type: String,
    usage_type: String,
    kind: LineKind,
    purchase_option: PurchaseOption,
    plan: Option<String>,
    reservation: Option<String>,
}

/// A line of a bill with what is not the same in all forms.
///
/// # Errors
/// In words, when an amount is none.
pub(super) fn line(row: &Fields<'_>, shared: BillLine) -> Result<BillLine, String> {
    let known = known(row)?;
    let share = match known.kind {
        LineKind::SplitCopy => Some(share(row, &known, shared.resource.as_deref())?),
        _ => None,
    };
    let description = row.text(Field::Description)?;
    let instance_type = row.owned(Field::InstanceType)?.or_else(|| {
        type_of(&known.usage_type).or_else(|| type_in(description.as_deref()?)).map(str::to_owned)
    });
    let is_machine = matches!(
        known.kind,
        LineKind::Instance | LineKind::UnusedReservation | LineKind::Commitment
    );
    let operation = row.text(Field::Operation)?;
    let commitment = known.plan.as_deref().or(known.reservation.as_deref());
    Ok(BillLine {
        provider: Some(Provider::Aws),
        instance_type: instance_type.filter(|_| is_machine),
        operating_system: system(operation.as_deref(), description.as_deref()),
        tenancy: (known.kind == LineKind::Instance).then(|| tenancy_of(&known.usage_type)),
        kind: known.kind,
        purchase_option: Some(known.purchase_option),
        offer: offer(row, &known)?,
        hours: hours(row, known.kind)?,
        costs: costs(row, &known, shared.costs)?,
        commitment: commitment.map(|id| bare_id(id).to_owned()),
        share,
        ..shared
    })
}

fn known(row: &Fields<'_>) -> Result<Known, String> {
    let line_type = row.owned(Field::Category)?.unwrap_or_default();
    let usage_type = row.owned(Field::UsageType)?.unwrap_or_default();
    let (plan, reservation) = (row.owned(Field::Plan)?, row.owned(Field::Reservation)?);
    // The order of the dashboards.
    let purchase_option = if plan.is_some() || line_type.starts_with("SavingsPlan") {
        PurchaseOption::SavingsPlan
    } else if reservation.is_some() || line_type == "DiscountedUsage" {
        PurchaseOption::Reserved
    } else if is_spot(&usage_type) {
        PurchaseOption::Spot
    } else {
        PurchaseOption::OnDemand
    };
    let operation = row.text(Field::Operation)?;
    let is_split =
        operation.is_some_and(|name| SPLIT_OPERATIONS.iter().any(|split| *split == name));
    let product = row.text(Field::Service)?;
    let status = row.text(Field::CapacityStatus)?;
    let kind = match line_type.as_str() {
        _ if is_split => LineKind::SplitCopy,
        "SavingsPlanNegation" => LineKind::Negation,
        "SavingsPlanRecurringFee" | "SavingsPlanUpfrontFee" | "RIFee" => LineKind::Commitment,
        "Fee" if reservation.is_some() => LineKind::Commitment,
        "Refund" => LineKind::Refund,
        "Credit" => LineKind::Credit,
        "Tax" => LineKind::Tax,
        name if name.ends_with("Discount") => LineKind::Discount,
        _ => usage_kind(&usage_type, product.as_deref(), status.as_deref()),
    };
    Ok(Known { line_type, usage_type, kind, purchase_option, plan, reservation })
}

fn usage_kind(usage_type: &str, product: Option<&str>, status: Option<&str>) -> LineKind {
    let product = product.unwrap_or("AmazonEC2");
    if product.contains("Support") {
        return LineKind::Support;
    }
    let kind = kind_of(usage_type);
    // Other services charge a fee for each hour of an instance under its usage type.
    let rents_out = ["AmazonEC2", "AmazonSageMaker"].contains(&product);
    match kind {
        LineKind::Instance | LineKind::UnusedReservation if !rents_out => LineKind::Other,
        LineKind::Instance if status.is_some_and(|state| state.eq_ignore_ascii_case("unused")) => {
            LineKind::UnusedReservation
        }
        kind => kind,
    }
}

/// The operating system by the code of the operation; spot has codes of its own.
fn system(operation: Option<&str>, description: Option<&str>) -> Option<OperatingSystem> {
    let operation = operation.filter(|name| name.starts_with("RunInstances"))?;
    if operation.contains(":SV") {
        return system_in(description?);
    }
    Some(OperatingSystem::from_ec2(Some(operation), None, None))
}

fn hours(row: &Fields<'_>, kind: LineKind) -> Result<Option<Decimal>, String> {
    if !matches!(kind, LineKind::Instance | LineKind::UnusedReservation) {
        return Ok(None);
    }
    let unit = row.text(Field::Unit)?;
    Ok(row.number(Field::Quantity)?.filter(|_| unit.is_none_or(|unit| is_hours(&unit))))
}

/// The amounts of a line, and of those the amortized cost by the type of the line.
fn costs(row: &Fields<'_>, known: &Known, shared: BillCosts) -> Result<BillCosts, String> {
    let billed = shared.billed;
    let is_usage =
        matches!(known.line_type.as_str(), "Usage" | "DiscountedUsage" | "SavingsPlanCoveredUsage");
    let effective = match known.line_type.as_str() {
        "SavingsPlanCoveredUsage" => row.number(Field::PlanCost)?,
        "SavingsPlanRecurringFee" => {
            let committed = row.number(Field::PlanCommitted)?;
            let used = row.number(Field::PlanUsed)?;
            committed.zip(used).map(|(committed, used)| committed - used)
        }
        "SavingsPlanNegation" | "SavingsPlanUpfrontFee" => Some(Decimal::ZERO),
        "DiscountedUsage" => row.number(Field::ReservedCost)?,
        "RIFee" => {
            let upfront = row.number(Field::UnusedUpfront)?;
            let recurring = row.number(Field::UnusedRecurring)?;
            upfront.zip(recurring).map(|(paid_ahead, paid_hourly)| paid_ahead + paid_hourly)
        }
        "Fee" if known.reservation.is_some() => Some(Decimal::ZERO),
        "Refund" if is_of_upfront_fee(row)? => Some(Decimal::ZERO),
        _ => billed,
    };
    let contracted = match known.line_type.as_str() {
        "Usage" => row.number(Field::NetBilled)?.or(billed),
        "SavingsPlanCoveredUsage" => billed,
        _ => None,
    };
    Ok(BillCosts {
        // A generator of bills writes words here.
        list: row.number(Field::List).ok().flatten().filter(|_| is_usage),
        contracted,
        effective,
        ..shared
    })
}

/// Whether a refund gives the up-front fee of a savings plan back, which no line has spread.
/// Other refunds of a plan are of what was spread, and count.
fn is_of_upfront_fee(row: &Fields<'_>) -> Result<bool, String> {
    const FEE: &str = "Refund for one-time fee for Savings Plan ID";
    let product = row.text(Field::Service)?;
    let description = row.text(Field::Description)?;
    Ok(product.is_some_and(|name| name.contains("SavingsPlans"))
        && description.is_some_and(|text| text.starts_with(FEE)))
}

/// The offer that the price of an hour belongs to; absent where the bill does not name the
/// term of a commitment.
fn offer(row: &Fields<'_>, known: &Known) -> Result<Option<PriceOption>, String> {
    if known.kind != LineKind::Instance {
        return Ok(None);
    }
    Ok(match known.purchase_option {
        PurchaseOption::OnDemand => Some(PriceOption::OnDemand),
        PurchaseOption::Spot => Some(PriceOption::Spot),
        PurchaseOption::Reserved => {
            let class = row.text(Field::LeaseClass)?;
            let term = term(row, Field::LeaseTerm, Field::LeasePayment)?;
            let is_standard = class.is_some_and(|name| name.eq_ignore_ascii_case("standard"));
            term.filter(|_| is_standard).map(PriceOption::Reserved)
        }
        PurchaseOption::SavingsPlan => {
            let term = term(row, Field::PlanTerm, Field::PlanPayment)?;
            let offer = row.text(Field::PlanOffer)?;
            match offer.as_deref() {
                Some("ComputeSavingsPlans") => term.map(PriceOption::ComputeSavingsPlan),
                Some("EC2InstanceSavingsPlans") => term.map(PriceOption::Ec2InstanceSavingsPlan),
                _ => None,
            }
        }
        PurchaseOption::CapacityBlock | PurchaseOption::Mixed => None,
    })
}

/// A term such as `1yr` with `No Upfront`.
fn term(row: &Fields<'_>, years: Field, payment: Field) -> Result<Option<CommitmentTerm>, String> {
    let years = row.text(years)?;
    let payment = row.text(payment)?;
    Ok(years.zip(payment).and_then(|(years, payment)| {
        let payment = payment.to_lowercase().replace(' ', "-");
        CommitmentTerm::from_name(&format!("{years}-{payment}"))
    }))
}

/// A pod's part, whose ARN ends with `pod/CLUSTER/NAMESPACE/POD/UID`, or a task's, with
/// `task/CLUSTER/TASK`.
fn share(row: &Fields<'_>, known: &Known, resource: Option<&str>) -> Result<PodShare, String> {
    let parts: Vec<&str> = resource.unwrap_or_default().split('/').collect();
    let (cluster, namespace, name) = match parts.as_slice() {
        ["pod", cluster, namespace, name, ..] => (Some(cluster), Some(namespace), Some(name)),
        ["task", cluster, name, ..] => (Some(cluster), None, Some(name)),
        _ => (None, None, None),
    };
    let owned = |part: Option<&&str>| part.map(|part| (*part).to_owned());
    let is_part = |name: &str| known.usage_type.contains(name);
    Ok(PodShare {
        parent: row.owned(Field::SplitParent)?.map(|id| bare_id(&id).to_owned()),
        cluster: owned(cluster),
        namespace: owned(namespace),
        name: owned(name),
        part: if is_part("Accelerator") {
            SharedPart::Accelerator
        } else if is_part("vCPU") {
            SharedPart::Vcpu
        } else if is_part("GB") {
            SharedPart::Memory
        } else {
            SharedPart::Other
        },
        hours: row.number(Field::SplitUsage)?,
        cost: row.number(Field::SplitCost)?,
        unused_cost: row.number(Field::SplitUnused)?,
    })
}
