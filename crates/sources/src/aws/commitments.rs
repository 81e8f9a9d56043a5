//! What the account has committed to: reserved instances and capacity
//! reservations by region, savings plans once for all. Active ones only. Beside them the rates of
//! savings plans.

use super::access::DEFAULT_REGION;
use super::answers::{CAMEL_CASE, Paging, members, owned, text, value};
use super::error::NO_RATES;
use super::inventory::{PAGE_SIZE, filter, is_accelerated, tags, tenancy};
use super::service::{EC2, Protocol, Service, field};
use super::session::{RegionClients, Session};
use crate::domain::{
    CapacityReservation, Cause, CauseKind, CommitmentTerm, Commitments, Currency, FailureKind, Gap,
    GapSubject, Gathered, HourlyRate, OfferingClass, OperatingSystem, PriceKey, PriceOption,
    ReservedInstances, SavingsPlan, SavingsPlanKind, partition,
};
use crate::{Outcome, Quoted, SourceError, observed, payment_option};
use jiff::Timestamp;
use jiff::civil::Date;
use roxmltree::Node;
use rust_decimal::Decimal;
use serde_json::{Value, json};

const SECONDS_PER_YEAR: i64 = 365 * 86_400;

/// Whether savings plans have an endpoint in a region's partition.
pub fn has_savings_plans(region: &str) -> bool {
    partition(region) == "aws"
}

/// Active reserved instances and capacity reservations of accelerated types;
/// what is refused or cannot be read becomes a gap.
pub async fn region_commitments(clients: RegionClients, account: String) -> Gathered<Commitments> {
    let (reserved, capacity) = tokio::join!(reserved(&clients), capacity(&clients, &account));
    let reserved = or_none(reserved, GapSubject::ReservedInstances, &clients.region);
    let capacity = or_none(capacity, GapSubject::CapacityReservations, &clients.region);
    let mut gaps = Vec::new();
    let mut commitments = Commitments {
        reserved_instances: reserved.leave_gaps(&mut gaps),
        capacity_reservations: capacity.leave_gaps(&mut gaps),
        ..Commitments::default()
    };
    commitments.set_owner(&account);
    Gathered { value: commitments, gaps }
}

/// Active savings plans of the account, wherever they hold.
pub async fn savings_plans(session: Session, account: String) -> Gathered<Commitments> {
    let plans = or_none(plans(&session).await, GapSubject::SavingsPlans, "account");
    let mut commitments = Commitments { savings_plans: plans.value, ..Commitments::default() };
    commitments.set_owner(&account);
    Gathered { value: commitments, gaps: plans.gaps }
}

/// What a call lists, each item as far as it can be read.
type Found<T> = Outcome<Vec<Result<T, Gap>>>;

/// What could be read. The rest is gaps, and so is a call that failed.
fn or_none<T>(found: Found<T>, what: GapSubject, place: &str) -> Gathered<Vec<T>> {
    let failed = |error: SourceError| vec![Err(error.gap(what, place, "none are assumed"))];
    let mut sorted = Gathered { value: Vec::new(), gaps: Vec::new() };
    for result in found.unwrap_or_else(failed) {
        match result {
            Ok(item) => sorted.value.push(item),
            Err(gap) => sorted.gaps.push(gap),
        }
    }
    sorted
}

fn unreadable(id: &str, field: &str) -> Gap {
    Gap::of(GapSubject::Commitment, id, Cause::of(CauseKind::CommitmentNotReadable, [field]))
}

/// What a field of a commitment says, by the commitment's id and the name of the field.
///
/// # Errors
/// When the answer does not have it.
fn stated<T>(id: &str, name: &str, field: Option<T>) -> Result<T, Gap> {
    field.ok_or_else(|| unreadable(id, name))
}

/// EC2 gives all of them at once.
async fn reserved(clients: &RegionClients) -> Found<ReservedInstances> {
    let list = (filter(1, "state", &["active", "queued"]), "reservedInstancesSet");
    let read = |node: Node<'_, '_>| {
        let is_own = text(node, &["instanceType"]).is_some_and(is_accelerated);
        Ok(is_own.then(|| reserved_instances(node, &clients.region)))
    };
    let listed = clients.ask_members(&EC2, "DescribeReservedInstances", list, read).await?;
    Ok(listed.into_iter().flatten().collect())
}

fn reserved_instances(node: Node<'_, '_>, region: &str) -> Result<ReservedInstances, Gap> {
    let id = text(node, &["reservedInstancesId"]).unwrap_or("unknown id");
    let part = |name| text(node, &[name]);
    let amount = |name| part(name).map_or(Some(Decimal::ZERO), decimal);
    let charges = members(node, &["recurringCharges"]);
    let hourly = charges.filter(|charge| text(*charge, &["frequency"]) == Some("Hourly"));
    let hourly: Option<Decimal> = hourly.map(|charge| decimal(text(charge, &["amount"])?)).sum();
    let upfront = stated(id, "fixed price", amount("fixedPrice"))?;
    let recurring_hourly =
        stated(id, "hourly price", hourly)? + stated(id, "hourly price", amount("usagePrice"))?;
    // None is given away: a price that is absent is not zero.
    if upfront.is_zero() && recurring_hourly.is_zero() {
        return Err(unreadable(id, "price"));
    }
    Ok(ReservedInstances {
        id: id.to_owned(),
        account: None,
        region: region.to_owned(),
        zone: owned(node, &["availabilityZone"]),
        instance_type: stated(id, "type", owned(node, &["instanceType"]))?,
        operating_system: system(stated(id, "platform", part("productDescription"))?),
        tenancy: tenancy(part("instanceTenancy")),
        count: stated(id, "number of instances", value(node, &["instanceCount"]))?,
        class: part("offeringClass").map_or(Ok(OfferingClass::Standard), |class| {
            stated(id, "class", OfferingClass::from_name(class))
        })?,
        payment: stated(id, "payment option", part("offeringType").and_then(payment_option))?,
        start: stated(id, "start", value(node, &["start"]))?,
        end: stated(id, "end", value(node, &["end"]))?,
        currency: part("currencyCode").map_or(Ok(Currency::of_region(region)), |code| {
            stated(id, "currency", Currency::from_name(code))
        })?,
        upfront,
        recurring_hourly,
    })
}

async fn capacity(clients: &RegionClients, account: &str) -> Found<CapacityReservation> {
    let fields = [filter(1, "state", &["active"]), field("MaxResults", PAGE_SIZE)].concat();
    let read = |node: Node<'_, '_>| {
        // One that is shared with this account is billed to its owner.
        let is_own = text(node, &["ownerId"]).is_none_or(|owner| owner == account)
            && text(node, &["instanceType"]).is_some_and(is_accelerated);
        Ok(is_own.then(|| capacity_of(node, &clients.region)))
    };
    let list = (fields, "capacityReservationSet");
    let listed = clients.ask_members(&EC2, "DescribeCapacityReservations", list, read).await?;
    Ok(listed.into_iter().flatten().collect())
}

fn capacity_of(node: Node<'_, '_>, region: &str) -> Result<CapacityReservation, Gap> {
    let id = text(node, &["capacityReservationId"]).unwrap_or("unknown id");
    let total = stated(id, "total", value(node, &["totalInstanceCount"]))?;
    let available = value(node, &["availableInstanceCount"]);
    let platform = text(node, &["instancePlatform"]);
    Ok(CapacityReservation {
        id: id.to_owned(),
        account: None,
        region: region.to_owned(),
        zone: stated(id, "zone", owned(node, &["availabilityZone"]))?,
        instance_type: stated(id, "type", owned(node, &["instanceType"]))?,
        operating_system: system(stated(id, "platform", platform)?),
        tenancy: tenancy(text(node, &["tenancy"])),
        total,
        available: stated(id, "available count", available.filter(|count| *count <= total))?,
        capacity_block: text(node, &["reservationType"]) == Some("capacity-block"),
        start: value(node, &["startDate"]),
        committed_until: value(node, &["commitmentInfo", "commitmentEndDate"]),
        end: value(node, &["endDate"]),
        tags: tags(node),
    })
}

/// One endpoint for all regions.
pub(super) const SAVINGS_PLANS: Service = Service {
    signing_name: "savingsplans",
    sdk_id: "savingsplans",
    host: "savingsplans",
    protocol: Protocol::Rest(str::to_owned),
    id: "savingsplans",
    paging: Paging { size: 1000, may_omit_list: true, ..CAMEL_CASE },
};

async fn plans(session: &Session) -> Found<SavingsPlan> {
    let clients = session.in_region(DEFAULT_REGION);
    let body = json!({ "states": ["active", "queued"] });
    let key = "savingsPlans";
    let listed: Vec<Value> =
        clients.ask_list(&SAVINGS_PLANS, "DescribeSavingsPlans", key, body).await?;
    Ok(listed.iter().map(savings_plan).collect())
}

fn savings_plan(plan: &Value) -> Result<SavingsPlan, Gap> {
    let part = |name: &str| plan[name].as_str().filter(|text| !text.is_empty());
    let id = part("savingsPlanId").unwrap_or("unknown id");
    let time = |name| part(name)?.parse::<Timestamp>().ok();
    let kind = match stated(id, "type", part("savingsPlanType"))? {
        "EC2Instance" => SavingsPlanKind::Ec2Instance,
        "Compute" => SavingsPlanKind::Compute,
        _ => SavingsPlanKind::Other,
    };
    let years = plan["termDurationInSeconds"].as_i64().and_then(years_in);
    let years = stated(id, "term", years)?;
    // A plan for one family names it and the region; others hold everywhere.
    let of_family = |field: Option<&str>, name| match kind {
        SavingsPlanKind::Ec2Instance => stated(id, name, field.map(str::to_owned)).map(Some),
        _ => Ok(None),
    };
    let payment = part("paymentOption").and_then(payment_option);
    let hourly = part("commitment").and_then(|amount| amount.parse().ok());
    Ok(SavingsPlan {
        id: id.to_owned(),
        account: None,
        kind,
        region: of_family(part("region"), "region")?,
        family: of_family(part("ec2InstanceFamily"), "family")?,
        currency: stated(id, "currency", part("currency").and_then(Currency::from_name))?,
        commitment_hourly: stated(id, "commitment", hourly)?,
        term: CommitmentTerm { years, payment: stated(id, "payment option", payment)? },
        start: stated(id, "start", time("start"))?,
        end: stated(id, "end", time("end"))?,
    })
}

const RATES: &str = "savingsplans:DescribeSavingsPlansOfferingRates";

/// Linux rates of EC2 Instance and Compute Savings Plans for types in a region.
///
/// # Errors
/// When the interface refuses or does not answer, or the partition has none.
pub async fn savings_plan_rates(
    session: &Session,
    region: &str,
    instance_types: &[String],
    read_on: Date,
) -> Outcome<Vec<Quoted>> {
    if !has_savings_plans(region) {
        let region = region.to_owned();
        return Err(SourceError::own(RATES, FailureKind::Unsupported, NO_RATES, region));
    }
    let body = json!({
        "savingsPlanTypes": ["EC2Instance", "Compute"],
        "products": ["EC2"],
        "serviceCodes": ["AmazonEC2"],
        "filters": [
            { "name": "region", "values": [region] },
            { "name": "instanceType", "values": instance_types },
            { "name": "productDescription", "values": ["Linux/UNIX"] },
            { "name": "tenancy", "values": ["shared"] },
        ],
    });
    let clients = session.in_region(DEFAULT_REGION);
    let listed: Vec<Value> = clients
        .ask_list(&SAVINGS_PLANS, "DescribeSavingsPlansOfferingRates", "searchResults", body)
        .await?;
    Ok(listed.iter().filter_map(|rate| quote(rate, region, read_on)).collect())
}

/// `None` for a rate of another unit, term or currency than the catalog knows.
fn quote(rate: &Value, region: &str, read_on: Date) -> Option<Quoted> {
    let plan = &rate["savingsPlanOffering"];
    let term = CommitmentTerm {
        years: years_in(plan["durationSeconds"].as_i64()?)?,
        payment: payment_option(plan["paymentOption"].as_str()?)?,
    };
    let option = match plan["planType"].as_str()? {
        "EC2Instance" => PriceOption::Ec2InstanceSavingsPlan(term),
        "Compute" => PriceOption::ComputeSavingsPlan(term),
        _ => return None,
    };
    let currency = Currency::from_name(plan["currency"].as_str()?)?;
    let amount: Decimal = rate["rate"].as_str()?.parse().ok()?;
    // Reservations that nobody uses are listed beside, under `UnusedBox`.
    if rate["unit"] != "Hrs" || !rate["usageType"].as_str()?.contains("BoxUsage:") {
        return None;
    }
    let property = |name: &str| {
        let mut properties = rate["properties"].as_array()?.iter();
        properties.find(|property| property["name"] == name)?["value"].as_str()
    };
    if property("region") != Some(region) {
        return None;
    }
    let key = PriceKey::linux_on_demand(region, property("instanceType")?).with_option(option);
    let rate = HourlyRate::new(amount.round_dp(6).normalize(), currency)?;
    Some((key, observed(rate, None, (read_on, read_on), RATES)))
}

/// The years of a term; `None` of one that is not sold.
fn years_in(seconds: i64) -> Option<u8> {
    u8::try_from(seconds / SECONDS_PER_YEAR).ok().filter(|years| [1, 3].contains(years))
}

/// An amount as it was sent, with an exponent where it has one.
fn decimal(text: &str) -> Option<Decimal> {
    let amount: Decimal = text.parse().or_else(|_| Decimal::from_scientific(text)).ok()?;
    (!amount.is_sign_negative()).then(|| amount.normalize())
}

fn system(platform: &str) -> OperatingSystem {
    OperatingSystem::from_ec2(None, Some(platform.trim_end_matches(" (Amazon VPC)")), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_what_was_sent() {
        assert_eq!(decimal("101250.5"), Some(Decimal::new(1_012_505, 1)));
        assert_eq!(decimal("13.921094"), Some(Decimal::new(13_921_094, 6)));
        assert_eq!(decimal("3.48144E7"), Some(Decimal::from(34_814_400)));
        assert_eq!(decimal("1.0E-4"), Some(Decimal::new(1, 4)));
        for bad in ["-1.0", "NaN", "free", ""] {
            assert_eq!(decimal(bad), None, "{bad}");
        }
    }

    #[test]
    fn platforms_lose_the_network_that_they_were_bought_for() {
        assert_eq!(system("Linux/UNIX (Amazon VPC)"), OperatingSystem::Linux);
        assert_eq!(system("SUSE Linux (Amazon VPC)"), OperatingSystem::Sles);
        assert_eq!(system("Windows with SQL Server Standard"), OperatingSystem::OtherLicensed);
    }

    #[test]
    fn partitions_without_savings_plans_are_known() {
        for region in [
            "cn-north-1", "us-gov-west-1", "us-iso-east-1", "us-isob-east-1", "eu-isoe-west-1",
            "eusc-de-east-1",
        ] {
            assert!(!has_savings_plans(region), "{region}");
        }
        assert!(has_savings_plans("us-east-1") && has_savings_plans("eu-west-1"));
    }

    #[test]
    fn types_without_accelerators_are_left_out() {
        assert!(is_accelerated("g5.xlarge") && is_accelerated("inf2.xlarge"));
        assert!(!is_accelerated("m5.large") && !is_accelerated("c7g.large"));
    }
}
