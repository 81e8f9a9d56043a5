//! Lines of bills in FOCUS, versions 1.0 to 1.3, of any provider.

use super::fields::{Field, Fields};
use super::values::{is_hours, is_type, kind_of, system_in, tenancy_of, type_in, type_of};
use crate::domain::{
    BillCosts, BillLine, LineKind, OperatingSystem, PriceOption, Provider, PurchaseOption, Tenancy,
    bare_id,
};
use rust_decimal::Decimal;
use serde_json::Value;

/// Columns without which a table is not FOCUS.
pub(super) const REQUIRED: [&str; 3] = ["ChargeCategory", "BilledCost", "EffectiveCost"];

/// Keys of the details of a price that name the type of a machine. Since 1.2, keys of a
/// provider's own begin with `x_`.
const TYPE_KEYS: [&str; 6] =
    ["InstanceType", "x_InstanceType", "ServiceType", "x_ServiceType", "VMSize", "x_VMSize"];

/// What is known of the machine of a line, if it is about one.
#[derive(Default)]
struct Machine {
    instance_type: Option<String>,
    operating_system: Option<OperatingSystem>,
    tenancy: Option<Tenancy>,
}

/// A line of a bill with what is not the same in all forms.
///
/// # Errors
/// In words, when an amount is none.
pub(super) fn line(row: &Fields<'_>, shared: BillLine) -> Result<BillLine, String> {
    let provider = row.text(Field::Provider)?.as_deref().and_then(provider_of);
    let purchase_option = purchase_option(row)?;
    let hours = hours(row)?;
    let machine = machine(row, provider)?;
    let kind = kind(row, machine.instance_type.is_some() && hours.is_some())?;
    let is_machine =
        matches!(kind, LineKind::Instance | LineKind::UnusedReservation | LineKind::Commitment);
    let machine = if is_machine { machine } else { Machine::default() };
    let is_instance = kind == LineKind::Instance;
    Ok(BillLine {
        provider,
        instance_type: machine.instance_type,
        operating_system: machine.operating_system,
        tenancy: machine.tenancy.filter(|_| is_instance),
        kind,
        purchase_option,
        offer: purchase_option.filter(|_| is_instance).and_then(offer),
        hours: hours.filter(|_| is_instance || kind == LineKind::UnusedReservation),
        costs: BillCosts {
            list: row.number(Field::List)?,
            contracted: row.number(Field::Contracted)?,
            effective: row.number(Field::Effective)?,
            ..shared.costs
        },
        commitment: row.text(Field::Discount)?.map(|id| bare_id(&id).to_owned()),
        ..shared
    })
}

fn provider_of(name: &str) -> Option<Provider> {
    let known: [(&[&str], Provider); 3] = [
        (&["AWS", "Amazon Web Services"], Provider::Aws),
        (&["Microsoft", "Azure", "Microsoft Azure"], Provider::Azure),
        (&["Google Cloud", "Google", "GCP", "Google Cloud Platform"], Provider::Gcp),
    ];
    let is_of = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    known.into_iter().find(|(names, _)| is_of(names)).map(|(_, provider)| provider)
}

/// The offer of an option that needs no term to be named.
fn offer(option: PurchaseOption) -> Option<PriceOption> {
    match option {
        PurchaseOption::OnDemand => Some(PriceOption::OnDemand),
        PurchaseOption::Spot => Some(PriceOption::Spot),
        _ => None,
    }
}

fn purchase_option(row: &Fields<'_>) -> Result<Option<PurchaseOption>, String> {
    let of_type = row.owned(Field::DiscountType)?.unwrap_or_default().to_lowercase();
    let is_plan = of_type.contains("savings") || row.is(Field::DiscountCategory, "Spend")?;
    let is_reserved = of_type.contains("reserv") || row.is(Field::DiscountCategory, "Usage")?;
    Ok(if is_plan {
        Some(PurchaseOption::SavingsPlan)
    } else if is_reserved {
        Some(PurchaseOption::Reserved)
    } else if row.is(Field::Pricing, "Dynamic")? {
        Some(PurchaseOption::Spot)
    } else if row.is(Field::Pricing, "Standard")? {
        Some(PurchaseOption::OnDemand)
    } else {
        None
    })
}

/// The quantity that is priced, where it is in hours, else that which was consumed.
fn hours(row: &Fields<'_>) -> Result<Option<Decimal>, String> {
    for (unit, quantity) in [(Field::Unit, Field::Quantity), (Field::ConsumedUnit, Field::Consumed)]
    {
        let unit = row.text(unit)?;
        if unit.is_some_and(|unit| is_hours(&unit)) {
            return row.number(quantity);
        }
    }
    Ok(None)
}

fn machine(row: &Fields<'_>, provider: Option<Provider>) -> Result<Machine, String> {
    let service = row.text(Field::Service)?;
    let service = service.as_deref().unwrap_or("EC2");
    // Azure bills the licenses of a machine apart, by the same hours: `Virtual Machines
    // Licenses`. They are not another machine.
    let meter = row.text(Field::MeterCategory)?;
    let is_license = |name: &str| name.to_lowercase().contains("license");
    if !rents_out(service) || is_license(service) || meter.is_some_and(|name| is_license(&name)) {
        return Ok(Machine::default());
    }
    let description = row.owned(Field::Description)?.unwrap_or_default();
    let usage_type = row.owned(Field::UsageType)?;
    let details: Option<Value> =
        row.text(Field::Details)?.and_then(|text| serde_json::from_str(&text).ok());
    let detail = |key: &str| -> Option<String> {
        let value = details.as_ref()?.get(key)?.as_str()?;
        (!value.is_empty()).then(|| value.to_owned())
    };
    let named = || TYPE_KEYS.iter().find_map(|key| detail(key));
    let typed = || Some(type_of(usage_type.as_deref()?)?.to_owned());
    let instance_type = row
        .owned(Field::InstanceType)?
        .or_else(named)
        .or_else(typed)
        .or_else(|| type_in(&description).map(str::to_owned))
        .or_else(|| gpu_of_google(&description, provider));
    // Other providers name machines in their own way.
    let is_named = |name: &String| provider != Some(Provider::Aws) || is_type(name);
    let operation = row.text(Field::Operation)?.filter(|name| name.starts_with("RunInstances"));
    let by_code = operation.filter(|name| !name.contains(":SV"));
    let by_code = by_code.map(|name| OperatingSystem::from_ec2(Some(&name), None, None));
    let by_detail = || system_in(&detail("OperatingSystem")?);
    Ok(Machine {
        instance_type: instance_type.filter(is_named),
        operating_system: by_code.or_else(by_detail).or_else(|| system_in(&description)),
        tenancy: Some(match usage_type {
            Some(usage_type) => tenancy_of(&usage_type),
            None if description.contains("Dedicated") => Tenancy::Dedicated,
            None => Tenancy::Shared,
        }),
    })
}

/// Whether hours of a service are hours of machines.
fn rents_out(service: &str) -> bool {
    let known = [
        "EC2", "Elastic Compute Cloud", "SageMaker", "Virtual Machines", "Compute Engine",
        "On-premises",
    ];
    known.iter().any(|name| service.contains(name))
}

/// The GPU of a line of Google, which bills GPUs apart from machines: `Nvidia Tesla A100 GPU
/// running in Americas`.
fn gpu_of_google(description: &str, provider: Option<Provider>) -> Option<String> {
    if provider != Some(Provider::Gcp) || !description.starts_with("Nvidia ") {
        return None;
    }
    let (model, _) = description.split_once(" GPU")?;
    Some(format!("{model} GPU"))
}

fn kind(row: &Fields<'_>, is_machine_hour: bool) -> Result<LineKind, String> {
    let category = row.owned(Field::Category)?.unwrap_or_default();
    let is_support = row.text(Field::Service)?.is_some_and(|name| name.contains("Support"));
    Ok(match category.to_lowercase().as_str() {
        "tax" => LineKind::Tax,
        "credit" => LineKind::Credit,
        "adjustment" => LineKind::Discount,
        "purchase" if row.owned(Field::Discount)?.is_some() => LineKind::Commitment,
        _ if is_support => LineKind::Support,
        "purchase" => LineKind::Other,
        _ if row.is(Field::DiscountStatus, "Unused")? => LineKind::Commitment,
        _ if row.is(Field::CapacityStatus, "Unused")? => LineKind::UnusedReservation,
        _ => usage_kind(row, is_machine_hour)?,
    })
}

fn usage_kind(row: &Fields<'_>, is_machine_hour: bool) -> Result<LineKind, String> {
    if let Some(usage_type) = row.text(Field::UsageType)? {
        let kind = kind_of(&usage_type);
        // Other services charge a fee for each hour of an instance under its usage type.
        let is_fee = kind == LineKind::Instance && !is_machine_hour;
        return Ok(if is_fee { LineKind::Other } else { kind });
    }
    if is_machine_hour {
        return Ok(LineKind::Instance);
    }
    let resource = row.owned(Field::Resource)?.unwrap_or_default();
    let resource_type = row.owned(Field::ResourceType)?.unwrap_or_default().to_lowercase();
    let description = row.owned(Field::Description)?.unwrap_or_default().to_lowercase();
    Ok(
        if bare_id(&resource).starts_with("vol-")
            || ["volume", "disk"].iter().any(|word| resource_type.contains(word))
        {
            LineKind::Volume
        } else if description.contains("ipv4") || description.contains("elastic ip") {
            LineKind::Address
        } else if description.contains("data transfer") {
            LineKind::Transfer
        } else {
            LineKind::Other
        },
    )
}
