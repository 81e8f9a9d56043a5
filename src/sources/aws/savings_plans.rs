//! Rates of savings plans.

use super::commitments::{SECONDS_PER_YEAR, has_savings_plans};
use super::error::NO_RATES;
use super::session::{DEFAULT_REGION, Session};
use crate::domain::{CommitmentTerm, Currency, FailureKind, HourlyRate, PriceKey, PriceOption};
use crate::sources::quoted::{observed, payment_option};
use crate::sources::{Outcome, Quoted, SourceError};
use aws_sdk_savingsplans::types::{
    SavingsPlanOfferingRate, SavingsPlanOfferingRateFilterElement, SavingsPlanProductType,
    SavingsPlanRateFilterAttribute, SavingsPlanRatePropertyKey, SavingsPlanRateServiceCode,
    SavingsPlanRateUnit, SavingsPlanType,
};
use jiff::civil::Date;
use rust_decimal::Decimal;

/// Rates on one page, the most that the interface gives.
const RATES_AT_ONCE: i32 = 1_000;
const ACTION: &str = "savingsplans:DescribeSavingsPlansOfferingRates";

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
        return Err(SourceError::own(ACTION, FailureKind::Unsupported, NO_RATES, region));
    }
    let client = session.savings_plans();
    let send = |token| {
        client
            .describe_savings_plans_offering_rates()
            .savings_plan_types(SavingsPlanType::Ec2Instance)
            .savings_plan_types(SavingsPlanType::Compute)
            .products(SavingsPlanProductType::Ec2)
            .service_codes(SavingsPlanRateServiceCode::Ec2)
            .filters(filter(SavingsPlanRateFilterAttribute::Region, [region]))
            .filters(filter(
                SavingsPlanRateFilterAttribute::InstanceType,
                instance_types.iter().map(String::as_str),
            ))
            .filters(filter(SavingsPlanRateFilterAttribute::ProductDescription, ["Linux/UNIX"]))
            .filters(filter(SavingsPlanRateFilterAttribute::Tenancy, ["shared"]))
            .max_results(RATES_AT_ONCE)
            .set_next_token(token)
            .send()
    };
    let clients = session.in_region(DEFAULT_REGION);
    let listed = clients.paged(ACTION, send, |page| {
        let rates = page.search_results().iter();
        (rates.filter_map(|rate| quote(rate, region, read_on)).collect(), page.next_token)
    });
    listed.await
}

fn filter<'a>(
    name: SavingsPlanRateFilterAttribute,
    values: impl IntoIterator<Item = &'a str>,
) -> SavingsPlanOfferingRateFilterElement {
    SavingsPlanOfferingRateFilterElement::builder()
        .name(name)
        .set_values(Some(values.into_iter().map(str::to_owned).collect()))
        .build()
}

/// `None` for a rate of another unit, term or currency than the catalog knows.
fn quote(rate: &SavingsPlanOfferingRate, region: &str, read_on: Date) -> Option<Quoted> {
    let plan = rate.savings_plan_offering()?;
    let term = CommitmentTerm {
        years: match plan.duration_seconds() / SECONDS_PER_YEAR {
            1 => 1,
            3 => 3,
            _ => return None,
        },
        payment: payment_option(plan.payment_option()?.as_str())?,
    };
    let option = match plan.plan_type()? {
        SavingsPlanType::Ec2Instance => PriceOption::Ec2InstanceSavingsPlan(term),
        SavingsPlanType::Compute => PriceOption::ComputeSavingsPlan(term),
        _ => return None,
    };
    let currency = Currency::from_code(plan.currency()?.as_str())?;
    let amount: Decimal = rate.rate()?.parse().ok()?;
    // Reservations that nobody uses are listed beside, under `UnusedBox`.
    if rate.unit()? != &SavingsPlanRateUnit::Hours || !rate.usage_type()?.contains("BoxUsage:") {
        return None;
    }
    let property = |wanted: SavingsPlanRatePropertyKey| {
        rate.properties()
            .iter()
            .find(|property| property.name() == Some(wanted.as_str()))
            .and_then(|property| property.value())
    };
    if property(SavingsPlanRatePropertyKey::Region) != Some(region) {
        return None;
    }
    let name = property(SavingsPlanRatePropertyKey::InstanceType)?;
    let key = PriceKey::linux_on_demand(region, name).with_option(option);
    let rate = HourlyRate::new(amount.round_dp(6).normalize(), currency)?;
    Some((key, observed(rate, None, (read_on, read_on), ACTION)))
}
