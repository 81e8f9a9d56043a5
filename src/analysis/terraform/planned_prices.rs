//! What the instances of a planned resource cost, and which of them matter.

use crate::catalog::{Prices, family_names, shape};
use crate::domain::{
    AcceleratorKind, Cause, CauseKind, Currency, Gap, GapSubject, Missing, Money, Planned,
    PlannedInstances, PriceKey, PriceOption, PriceQuote, Tenancy,
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
    /// The prices that it rests on, with how many instances run at each.
    pub quotes: Vec<(PriceKey, u64, PriceQuote)>,
}

/// Whether any of the types of some instances carries an accelerator; of unknown
/// ones one may.
pub(super) fn may_be_accelerated(instances: &PlannedInstances) -> bool {
    instances.more_types.is_some() || instances.types.iter().any(|name| is_accelerated(name))
}

/// Whether a type carries an accelerator: by the catalog, else by its name, as far
/// as AWS has named families so far.
pub(super) fn is_accelerated(instance_type: &str) -> bool {
    if let Some(shape) = shape(instance_type) {
        return shape.accelerator != AcceleratorKind::Cpu;
    }
    let (family, _) = instance_type.split_once('.').unwrap_or((instance_type, ""));
    if family_names().any(|known| known == family) {
        return true;
    }
    let series = family.trim_end_matches(|c: char| c != '-' && !c.is_ascii_digit());
    let letters: String = family
        .chars()
        .take_while(char::is_ascii_lowercase)
        .collect();
    let is_numbered = series.len() > letters.len();
    let known = ["p", "g", "gr", "trn", "inf", "dl", "vt", "f"];
    is_numbered && known.contains(&letters.as_str())
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
        Some(shape(name)?.gpu.as_ref()?.share.count() * Decimal::from(count))
    });
    let mut quotes = Vec::new();
    let monthly = cost(address, instances, prices, hours_per_month, &mut quotes);
    PlannedSide {
        instances: instances.clone(),
        is_accelerated: may_be_accelerated(instances),
        count,
        gpus,
        monthly,
        quotes,
    }
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
    let count = instances
        .count
        .clone()
        .map_err(unsaid(GapSubject::InstanceCount))?;
    let region = instances.region.clone();
    let region = region.map_err(missing(GapSubject::Region, CauseKind::RegionNotPlanned));
    if count == 0 {
        return Ok(Money::zero(Currency::of_region(&region?)));
    }
    let instance_type = only_type(instances).map_err(unsaid(GapSubject::InstanceType))?;
    let region = &region?;
    let operating_system = instances
        .operating_system
        .clone()
        .map_err(unsaid(GapSubject::OperatingSystem))?;
    let tenancy = instances
        .tenancy
        .clone()
        .map_err(unsaid(GapSubject::Tenancy))?;
    let payment = instances
        .payment
        .clone()
        .map_err(unsaid(GapSubject::Market))?;
    let unpriced = |cause| Gap::of(GapSubject::Price, address, cause);
    if tenancy == Tenancy::Host {
        return Err(unpriced(Cause::of(CauseKind::HostBilled, [])));
    }
    if payment.capacity_block > 0 {
        return Err(unpriced(Cause::of(CauseKind::BlockBilled, [])));
    }
    let key = PriceKey {
        operating_system,
        tenancy,
        ..PriceKey::linux_on_demand(
            &price_region(region, instances.zone.as_deref()),
            instance_type,
        )
    };
    let mut hourly = Decimal::ZERO;
    let mut currency = None;
    for (option, number) in [
        (PriceOption::OnDemand, payment.on_demand),
        (PriceOption::Spot, payment.spot),
    ] {
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
    fn types_are_accelerated_by_the_catalog_or_by_their_name() {
        for name in [
            "g5.xlarge",
            "p4d.24xlarge",
            "trn1.2xlarge",
            "p9.metal",
            "g7e.48xlarge",
        ] {
            assert!(is_accelerated(name), "{name}");
        }
        for name in [
            "m5.large",
            "t3.nano",
            "c7g.xlarge",
            "",
            "p",
            "gold.large",
            "x1e.32xlarge",
        ] {
            assert!(!is_accelerated(name), "{name}");
        }
    }

    #[test]
    fn local_zones_are_priced_apart() {
        assert_eq!(price_region("us-east-1", Some("us-east-1a")), "us-east-1");
        assert_eq!(
            price_region("us-east-1", Some("us-east-1-atl-1a")),
            "us-east-1-atl-1"
        );
        assert_eq!(price_region("eu-west-1", Some("us-east-1a")), "eu-west-1");
        assert_eq!(price_region("eu-west-1", None), "eu-west-1");
    }
}
