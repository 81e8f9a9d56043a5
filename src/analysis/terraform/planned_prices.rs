//! What the instances of a planned resource cost, and which of them matter.

use crate::catalog::{Prices, ec2_type, is_accelerated, shape};
use crate::domain::{
    Cause, CauseKind, Component, Currency, Gap, GapSubject, Missing, Money, Planned,
    PlannedInstances, PriceKey, PriceOption, PriceQuote, Provider, Tenancy,
};
use rust_decimal::Decimal;

/// The instances of a resource at one end of a plan, priced.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedSide {
    pub instances: PlannedInstances,
    /// Whether they may carry accelerators. Those of the other end do where they do not:
    /// an update came from a CPU type or leads to one.
    pub is_accelerated: bool,
    /// How many run; absent where the plan does not say.
    pub count: Option<u64>,
    /// Their accelerators; absent where that is not known.
    pub gpus: Option<Decimal>,
    /// Per month, rounded to cents, or what keeps it from being known.
    pub monthly: Result<Money, Gap>,
    /// What a service bills in addition to `monthly`, at prices that are not in the catalog.
    pub fee: Option<Gap>,
    /// The prices that it rests on, with how many instances run at each.
    pub quotes: Vec<(PriceKey, u64, PriceQuote)>,
}

/// Whether any of the types of some instances carries an accelerator; of unknown
/// ones one may.
pub(super) fn may_be_accelerated(instances: &PlannedInstances) -> bool {
    instances.more_types.is_some() || instances.types.iter().any(|name| is_accelerated(name))
}

/// The type of all of some instances, or why there is no such one.
fn only_type(instances: &PlannedInstances) -> Planned<&str> {
    match (instances.types.as_slice(), &instances.more_types) {
        (_, Some(missing)) => Err(missing.clone()),
        ([only], None) => Ok(only),
        (several, None) => Err(Missing::Elsewhere(format!(
            "the provider selects from {} at launch",
            several.join(", ")
        ))),
    }
}

/// The instances of a resource at one end of a plan, with what they cost.
pub(super) fn price(
    address: &str,
    instances: &PlannedInstances,
    prices: &Prices<'_>,
    hours_per_month: Decimal,
) -> PlannedSide {
    let count = instances.count.as_ref().ok().copied();
    let gpus = count.and_then(|count| {
        let name = only_type(instances).ok()?;
        if !is_accelerated(name) {
            return Some(Decimal::ZERO);
        }
        Some(shape(ec2_type(name))?.gpu.as_ref()?.share.count() * Decimal::from(count))
    });
    let mut quotes = Vec::new();
    let monthly = cost(address, instances, prices, hours_per_month, &mut quotes);
    let is_billed = monthly.is_ok() && count != Some(0);
    let fee = service_gap(address, instances).filter(|_| is_billed);
    PlannedSide {
        instances: instances.clone(),
        is_accelerated: may_be_accelerated(instances),
        count,
        gpus,
        monthly,
        fee,
        quotes,
    }
}

/// What a service bills at prices of its own; absent for what only EC2 bills.
fn service_gap(address: &str, instances: &PlannedInstances) -> Option<Gap> {
    let service = instances.service.as_deref()?;
    let cause = Cause::of(CauseKind::ServiceBilled, [service]);
    Some(Gap::of(GapSubject::Price, address, cause))
}

fn cost(
    address: &str,
    instances: &PlannedInstances,
    prices: &Prices<'_>,
    hours_per_month: Decimal,
    quotes: &mut Vec<(PriceKey, u64, PriceQuote)>,
) -> Result<Money, Gap> {
    let missing = |what: GapSubject, kind: CauseKind| {
        move |why: Missing| Gap::of(what, address, Cause::of(kind, [&why.to_string()]))
    };
    let unsaid = |what: GapSubject| missing(what, CauseKind::NotPlanned);
    // Where the service bills in place of EC2, nothing else that is missing gives a price.
    if instances.payment.is_err()
        && instances.count != Ok(0)
        && let Some(gap) = service_gap(address, instances)
    {
        return Err(gap);
    }
    let count = instances.count.clone().map_err(unsaid(GapSubject::InstanceCount))?;
    let region = instances.region.clone();
    let region = region.map_err(missing(GapSubject::Region, CauseKind::RegionNotPlanned));
    if count == 0 {
        return Ok(Money::zero(Currency::of_region(&region?)));
    }
    let instance_type = only_type(instances).map_err(unsaid(GapSubject::InstanceType))?;
    let region = &region?;
    let operating_system =
        instances.operating_system.clone().map_err(unsaid(GapSubject::OperatingSystem))?;
    let tenancy = instances.tenancy.clone().map_err(unsaid(GapSubject::Tenancy))?;
    let payment = instances.payment.clone().map_err(unsaid(GapSubject::Market))?;
    let unpriced = |cause| Gap::of(GapSubject::Price, address, cause);
    if tenancy == Tenancy::Host {
        return Err(unpriced(Cause::of(CauseKind::HostBilled, [])));
    }
    if payment.capacity_block > 0 {
        return Err(unpriced(Cause::of(CauseKind::BlockBilled, [])));
    }
    let is_managed = Component::of_type(instance_type).is_some();
    let key = PriceKey {
        provider: if is_managed { Provider::SageMaker } else { Provider::Aws },
        operating_system,
        tenancy,
        ..PriceKey::linux_on_demand(&price_region(region, instances.zone.as_deref()), instance_type)
    };
    let mut hourly = Decimal::ZERO;
    let mut currency = None;
    for (option, number) in
        [(PriceOption::OnDemand, payment.on_demand), (PriceOption::Spot, payment.spot)]
    {
        if number == 0 {
            continue;
        }
        let mut key = key.with_option(option);
        if option == PriceOption::Spot {
            key = key.in_zone(instances.zone.as_deref());
        }
        let (key, quote) = prices.find(&key).map_err(|none| {
            unpriced(if shape(instance_type).is_some() {
                Cause::of(CauseKind::NoPlannedPrice, [&none.0.to_string()])
            } else if is_accelerated(instance_type) {
                Cause::of(CauseKind::AcceleratedNotBundled, [instance_type])
            } else {
                Cause::of(CauseKind::TypeNotBundled, [instance_type])
            })
        })?;
        hourly += quote.rate.amount() * Decimal::from(number);
        currency = Some(quote.rate.currency());
        quotes.push((key, number, quote));
    }
    let currency = currency.unwrap_or(Currency::of_region(region));
    Ok(Money::new(hourly * hours_per_month, currency).rounded())
}

/// Local zones have prices of their own, under a name such as `us-east-1-atl-1`.
fn price_region(region: &str, zone: Option<&str>) -> String {
    let place = zone.map(|zone| zone.trim_end_matches(|c: char| c.is_ascii_lowercase()));
    match place {
        Some(place) if place.starts_with(region) => place.to_owned(),
        _ => region.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_zones_are_priced_apart() {
        assert_eq!(price_region("us-east-1", Some("us-east-1a")), "us-east-1");
        assert_eq!(price_region("us-east-1", Some("us-east-1-atl-1a")), "us-east-1-atl-1");
        assert_eq!(price_region("eu-west-1", Some("us-east-1a")), "eu-west-1");
        assert_eq!(price_region("eu-west-1", None), "eu-west-1");
    }
}
