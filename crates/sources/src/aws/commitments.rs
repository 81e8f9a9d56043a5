//! What the account has committed to: reserved instances and capacity
//! reservations by region, savings plans once for all. Active ones only. Beside them the rates of
//! savings plans.

use super::access::DEFAULT_REGION;
use super::error::NO_RATES;
use super::inventory::{filter, is_accelerated, tags, tenancy, text};
use super::session::{RegionClients, Session, timestamp};
use crate::domain::{
    CapacityReservation, Cause, CauseKind, CommitmentTerm, Commitments, Currency, FailureKind, Gap,
    GapSubject, Gathered, HourlyRate, OfferingClass, OperatingSystem, PriceKey, PriceOption,
    ReservedInstances, SavingsPlan, SavingsPlanKind, partition,
};
use crate::{Outcome, Quoted, SourceError, observed, payment_option};
use aws_sdk_ec2::types::{
    CapacityReservation as Ec2Capacity, CapacityReservationType, RecurringChargeFrequency,
    ReservedInstances as Ec2Reserved,
};
use aws_sdk_savingsplans::types::{
    SavingsPlan as Plan, SavingsPlanOfferingRate,
    SavingsPlanOfferingRateFilterElement as RateFilter, SavingsPlanProductType,
    SavingsPlanRateFilterAttribute as Attribute, SavingsPlanRatePropertyKey as Property,
    SavingsPlanRateServiceCode, SavingsPlanRateUnit, SavingsPlanState, SavingsPlanType,
};
use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::Decimal;

const PAGE_SIZE: i32 = 1000;
const SECONDS_PER_YEAR: i64 = 365 * 86_400;
const RESERVED: &str = "ec2:DescribeReservedInstances";
const CAPACITY: &str = "ec2:DescribeCapacityReservations";
const PLANS: &str = "savingsplans:DescribeSavingsPlans";

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
    let states = || filter("state", &["active", "queued"]);
    let send = || clients.ec2.describe_reserved_instances().filters(states()).send();
    let answer = clients.patient(RESERVED, send).await?;
    let accelerated = answer.reserved_instances().iter().filter(|reservation| {
        reservation.instance_type().is_some_and(|name| is_accelerated(name.as_str()))
    });
    Ok(accelerated.map(|reservation| reserved_instances(reservation, &clients.region)).collect())
}

fn reserved_instances(reservation: &Ec2Reserved, region: &str) -> Result<ReservedInstances, Gap> {
    let id = reservation.reserved_instances_id().unwrap_or("unknown id");
    let platform = reservation.product_description().map(|product| product.as_str());
    let class = reservation.offering_class();
    let code = reservation.currency_code();
    let payment = reservation.offering_type().and_then(|kind| payment_option(kind.as_str()));
    let hourly: Option<Decimal> = reservation
        .recurring_charges()
        .iter()
        .filter(|charge| charge.frequency() == Some(&RecurringChargeFrequency::Hourly))
        .map(|charge| decimal(charge.amount()?))
        .sum();
    let usage = reservation.usage_price().map_or(Some(Decimal::ZERO), decimal);
    let upfront = reservation
        .fixed_price()
        .map_or(Ok(Decimal::ZERO), |price| stated(id, "fixed price", decimal(price)))?;
    let recurring_hourly = stated(id, "hourly price", hourly)? + stated(id, "hourly price", usage)?;
    // None is given away: a price that is absent is not zero.
    if upfront.is_zero() && recurring_hourly.is_zero() {
        return Err(unreadable(id, "price"));
    }
    Ok(ReservedInstances {
        id: id.to_owned(),
        account: None,
        region: region.to_owned(),
        zone: text(reservation.availability_zone()),
        instance_type: stated(id, "type", reservation.instance_type())?.as_str().to_owned(),
        operating_system: system(stated(id, "platform", platform)?),
        tenancy: tenancy(reservation.instance_tenancy().map(|tenancy| tenancy.as_str())),
        count: stated(id, "number of instances", number(reservation.instance_count()))?,
        class: class.map_or(Ok(OfferingClass::Standard), |class| {
            stated(id, "class", OfferingClass::from_name(class.as_str()))
        })?,
        payment: stated(id, "payment option", payment)?,
        start: stated(id, "start", reservation.start().and_then(timestamp))?,
        end: stated(id, "end", reservation.end().and_then(timestamp))?,
        currency: code.map_or(Ok(Currency::of_region(region)), |code| {
            stated(id, "currency", Currency::from_name(code.as_str()))
        })?,
        upfront,
        recurring_hourly,
    })
}

async fn capacity(clients: &RegionClients, account: &str) -> Found<CapacityReservation> {
    let RegionClients { ec2, region, .. } = clients;
    let send = |token| {
        ec2.describe_capacity_reservations()
            .filters(filter("state", &["active"]))
            .max_results(PAGE_SIZE)
            .set_next_token(token)
            .send()
    };
    let listed = clients.paged(CAPACITY, send, |page| {
        let reservations = page
            .capacity_reservations()
            .iter()
            // One that is shared with this account is billed to its owner.
            .filter(|reservation| reservation.owner_id().is_none_or(|owner| owner == account))
            .filter(|reservation| reservation.instance_type().is_some_and(is_accelerated))
            .map(|reservation| capacity_of(reservation, region));
        (reservations.collect(), page.next_token)
    });
    listed.await
}

fn capacity_of(reservation: &Ec2Capacity, region: &str) -> Result<CapacityReservation, Gap> {
    let id = reservation.capacity_reservation_id().unwrap_or("unknown id");
    let total = stated(id, "total", number(reservation.total_instance_count()))?;
    let available = number(reservation.available_instance_count());
    let platform = reservation.instance_platform().map(|platform| platform.as_str());
    Ok(CapacityReservation {
        id: id.to_owned(),
        account: None,
        region: region.to_owned(),
        zone: stated(id, "zone", text(reservation.availability_zone()))?,
        instance_type: stated(id, "type", text(reservation.instance_type()))?,
        operating_system: system(stated(id, "platform", platform)?),
        tenancy: tenancy(reservation.tenancy().map(|tenancy| tenancy.as_str())),
        total,
        available: stated(id, "available count", available.filter(|count| *count <= total))?,
        capacity_block: reservation.reservation_type()
            == Some(&CapacityReservationType::CapacityBlock),
        start: reservation.start_date().and_then(timestamp),
        committed_until: reservation
            .commitment_info()
            .and_then(|info| info.commitment_end_date())
            .and_then(timestamp),
        end: reservation.end_date().and_then(timestamp),
        tags: tags(reservation.tags()),
    })
}

async fn plans(session: &Session) -> Found<SavingsPlan> {
    let client = session.savings_plans();
    let send = |token| {
        client
            .describe_savings_plans()
            .states(SavingsPlanState::Active)
            .states(SavingsPlanState::Queued)
            .max_results(PAGE_SIZE)
            .set_next_token(token)
            .send()
    };
    let clients = session.in_region(DEFAULT_REGION);
    let listed = clients.paged(PLANS, send, |page| {
        (page.savings_plans().iter().map(savings_plan).collect(), page.next_token)
    });
    listed.await
}

fn savings_plan(plan: &Plan) -> Result<SavingsPlan, Gap> {
    let id = plan.savings_plan_id().unwrap_or("unknown id");
    let time = |text: Option<&str>| text?.parse::<Timestamp>().ok();
    let kind = match stated(id, "type", plan.savings_plan_type())? {
        SavingsPlanType::Ec2Instance => SavingsPlanKind::Ec2Instance,
        SavingsPlanType::Compute => SavingsPlanKind::Compute,
        _ => SavingsPlanKind::Other,
    };
    let years = stated(id, "term", years_in(plan.term_duration_in_seconds()))?;
    // A plan for one family names it and the region; others hold everywhere.
    let of_family = |field: Option<&str>, name| match kind {
        SavingsPlanKind::Ec2Instance => stated(id, name, text(field)).map(Some),
        _ => Ok(None),
    };
    let currency = plan.currency().and_then(|code| Currency::from_name(code.as_str()));
    let payment = plan.payment_option().and_then(|payment| payment_option(payment.as_str()));
    let hourly = plan.commitment().and_then(|amount| amount.parse().ok());
    Ok(SavingsPlan {
        id: id.to_owned(),
        account: None,
        kind,
        region: of_family(plan.region(), "region")?,
        family: of_family(plan.ec2_instance_family(), "family")?,
        currency: stated(id, "currency", currency)?,
        commitment_hourly: stated(id, "commitment", hourly)?,
        term: CommitmentTerm { years, payment: stated(id, "payment option", payment)? },
        start: stated(id, "start", time(plan.start()))?,
        end: stated(id, "end", time(plan.end()))?,
    })
}

/// Rates on one page, the most that the interface gives.
const RATES_AT_ONCE: i32 = 1_000;
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
    let client = session.savings_plans();
    let send = |token| {
        client
            .describe_savings_plans_offering_rates()
            .savings_plan_types(SavingsPlanType::Ec2Instance)
            .savings_plan_types(SavingsPlanType::Compute)
            .products(SavingsPlanProductType::Ec2)
            .service_codes(SavingsPlanRateServiceCode::Ec2)
            .filters(rate_filter(Attribute::Region, [region]))
            .filters(rate_filter(Attribute::InstanceType, instance_types))
            .filters(rate_filter(Attribute::ProductDescription, ["Linux/UNIX"]))
            .filters(rate_filter(Attribute::Tenancy, ["shared"]))
            .max_results(RATES_AT_ONCE)
            .set_next_token(token)
            .send()
    };
    let clients = session.in_region(DEFAULT_REGION);
    let listed = clients.paged(RATES, send, |page| {
        let rates = page.search_results().iter();
        (rates.filter_map(|rate| quote(rate, region, read_on)).collect(), page.next_token)
    });
    listed.await
}

fn rate_filter(name: Attribute, values: impl IntoIterator<Item: Into<String>>) -> RateFilter {
    let values = values.into_iter().map(Into::into).collect();
    RateFilter::builder().name(name).set_values(Some(values)).build()
}

/// `None` for a rate of another unit, term or currency than the catalog knows.
fn quote(rate: &SavingsPlanOfferingRate, region: &str, read_on: Date) -> Option<Quoted> {
    let plan = rate.savings_plan_offering()?;
    let term = CommitmentTerm {
        years: years_in(plan.duration_seconds())?,
        payment: payment_option(plan.payment_option()?.as_str())?,
    };
    let option = match plan.plan_type()? {
        SavingsPlanType::Ec2Instance => PriceOption::Ec2InstanceSavingsPlan(term),
        SavingsPlanType::Compute => PriceOption::ComputeSavingsPlan(term),
        _ => return None,
    };
    let currency = Currency::from_name(plan.currency()?.as_str())?;
    let amount: Decimal = rate.rate()?.parse().ok()?;
    // Reservations that nobody uses are listed beside, under `UnusedBox`.
    if rate.unit()? != &SavingsPlanRateUnit::Hours || !rate.usage_type()?.contains("BoxUsage:") {
        return None;
    }
    let property = |wanted: Property| {
        rate.properties()
            .iter()
            .find(|property| property.name() == Some(wanted.as_str()))
            .and_then(|property| property.value())
    };
    if property(Property::Region) != Some(region) {
        return None;
    }
    let name = property(Property::InstanceType)?;
    let key = PriceKey::linux_on_demand(region, name).with_option(option);
    let rate = HourlyRate::new(amount.round_dp(6).normalize(), currency)?;
    Some((key, observed(rate, None, (read_on, read_on), RATES)))
}

/// The years of a term; `None` of one that is not sold.
fn years_in(seconds: i64) -> Option<u8> {
    u8::try_from(seconds / SECONDS_PER_YEAR).ok().filter(|years| [1, 3].contains(years))
}

fn number(count: Option<i32>) -> Option<u32> {
    count.and_then(|count| u32::try_from(count).ok())
}

/// The shortest decimal that reads back as the same float: what was sent.
fn decimal(amount: impl std::fmt::Display) -> Option<Decimal> {
    let amount: Decimal = amount.to_string().parse().ok()?;
    (!amount.is_sign_negative()).then_some(amount)
}

fn system(platform: &str) -> OperatingSystem {
    OperatingSystem::from_ec2(None, Some(platform.trim_end_matches(" (Amazon VPC)")), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_what_was_sent() {
        assert_eq!(decimal(101_250.5_f32), Some(Decimal::new(1_012_505, 1)));
        assert_eq!(decimal(13.921_094_f64), Some(Decimal::new(13_921_094, 6)));
        assert_eq!(decimal(0.1_f32), Some(Decimal::new(1, 1)));
        assert_eq!(decimal(-1.0_f64), None);
        assert_eq!(decimal(f64::NAN), None);
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
