//! What a Terraform plan does to the cost of GPU instances: before, after and the difference,
//! resource by resource, and what its instances cost.

use crate::catalog::{Prices, ec2_type, is_accelerated, shape};
use crate::domain::{
    Cause, CauseKind, Component, Currency, Gap, GapSubject, Missing, Money, PlanAction, Planned,
    PlannedInstances, PlannedResource, PriceKey, PriceOption, PriceQuote, Provider, RUNS_NOTHING,
    Tenancy, TerraformPlan,
};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// A resource that runs accelerated instances before or after, with what it runs at the
/// other end.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRow {
    pub address: String,
    /// Its type, such as `aws_instance`.
    pub resource_type: String,
    pub action: PlanAction,
    /// Today; absent for what is made.
    pub before: Option<PlannedSide>,
    /// When the plan has been applied; absent for what is destroyed.
    pub after: Option<PlannedSide>,
}

impl PlannedRow {
    /// Its accelerated instances today; `None` where it runs none.
    pub fn accelerated_before(&self) -> Option<&PlannedSide> {
        self.before.as_ref().filter(|side| side.is_accelerated)
    }

    /// The same when the plan has been applied.
    pub fn accelerated_after(&self) -> Option<&PlannedSide> {
        self.after.as_ref().filter(|side| side.is_accelerated)
    }

    /// What it costs today; nothing where it runs nothing, `None` where that is
    /// not known.
    pub fn monthly_before(&self, currency: Currency) -> Option<Money> {
        monthly(self.before.as_ref(), currency)
    }

    /// The same when the plan has been applied.
    pub fn monthly_after(&self, currency: Currency) -> Option<Money> {
        monthly(self.after.as_ref(), currency)
    }

    /// The difference; `None` unless both ends are known.
    pub fn monthly_delta(&self) -> Option<Money> {
        let currency = self.currency()?;
        let (before, after) = (self.monthly_before(currency)?, self.monthly_after(currency)?);
        after.checked_sub(before).ok()
    }

    /// The currency of what is known of it.
    pub fn currency(&self) -> Option<Currency> {
        let mut sides = [&self.before, &self.after].into_iter().flatten();
        sides.find_map(|side| Some(side.monthly.as_ref().ok()?.currency()))
    }

    /// Why it is not wholly priced.
    pub fn gaps(&self) -> impl Iterator<Item = &Gap> {
        let sides = [&self.before, &self.after].into_iter().flatten();
        sides.filter_map(|side| side.monthly.as_ref().err().or(side.fee.as_ref()))
    }

    /// What its cost rests on and the plan does not show.
    fn assumptions(&self) -> impl Iterator<Item = Gap> {
        let sides = [&self.before, &self.after].into_iter().flatten();
        sides.filter_map(|side| self.assumption(side))
    }

    /// The same of one of its sides.
    pub(in crate::analysis) fn assumption(&self, side: &PlannedSide) -> Option<Gap> {
        let missing = side.instances.assumed.as_ref()?;
        let cause = Cause::of(CauseKind::UsualAssumed, [&missing.to_string()]);
        let is_rest = side.monthly.is_ok() && side.count != Some(0);
        is_rest.then(|| Gap::of(GapSubject::MarketSystemAndTenancy, self.address.as_str(), cause))
    }
}

fn monthly(side: Option<&PlannedSide>, currency: Currency) -> Option<Money> {
    match side {
        None => Some(Money::zero(currency)),
        Some(side) => {
            let known = side.monthly.as_ref().ok()?;
            (known.currency() == currency).then_some(*known)
        }
    }
}

/// Sums in one currency over the rows that are known on both sides: half a row is in
/// none of them, so that `delta` is `after` less `before`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedTotals {
    /// Per month today.
    pub before: Money,
    /// Per month when the plan has been applied.
    pub after: Money,
    pub delta: Money,
}

/// What a plan comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedChange {
    /// The version of Terraform that made the plan.
    pub terraform_version: Option<String>,
    /// Resources of all sorts in the plan.
    pub resources: u64,
    /// Those of other providers than AWS among them, by provider.
    pub other_providers: BTreeMap<String, u64>,
    /// Resources that run accelerated instances: the largest rise first, what is
    /// not known before all, then by address.
    pub rows: Vec<PlannedRow>,
    /// Instances of the rows today, as far as they are counted.
    pub instances_before: u64,
    /// The same when the plan has been applied.
    pub instances_after: u64,
    pub totals: BTreeMap<Currency, PlannedTotals>,
    /// Rows that are not wholly priced.
    pub unpriced: u64,
    /// What the plan does not say, in order.
    pub gaps: Vec<Gap>,
    pub hours_per_month: Decimal,
}

impl PlannedChange {
    /// When the oldest of its prices was last stated.
    pub fn oldest_seen_on(&self) -> Option<Date> {
        let sides = self.rows.iter().flat_map(|row| [&row.before, &row.after]);
        sides.flatten().flat_map(|side| &side.quotes).map(|(_, _, quote)| quote.seen_on).min()
    }

    /// Why there is nothing to price; absent when there is something.
    pub fn nothing(&self) -> Option<String> {
        if !self.rows.is_empty() {
            return None;
        }
        let others: u64 = self.other_providers.values().sum();
        let names: Vec<&str> = self.other_providers.keys().map(String::as_str).collect();
        Some(if self.resources == 0 {
            "the plan contains no resources".to_owned()
        } else if others == self.resources {
            format!(
                "the plan contains only resources of {}; gpucost reads only AWS resources",
                names.join(", ")
            )
        } else {
            match self.unread() {
                Some(unread) => format!("the plan contains no AWS GPU instances, and {unread}"),
                None => "the plan contains no GPU instances".to_owned(),
            }
        })
    }

    /// What of the plan is not read, because it is of another provider that may
    /// run something; absent where nothing is.
    pub fn unread(&self) -> Option<String> {
        let runs = |name: &&String| !RUNS_NOTHING.contains(&name.as_str());
        let others = self.other_providers.iter().filter(|(name, _)| runs(name));
        let (names, counts): (Vec<&str>, Vec<u64>) =
            others.map(|(name, count)| (name.as_str(), *count)).unzip();
        let (resources, are) = match counts.iter().sum::<u64>() {
            0 => return None,
            1 => ("1 resource".to_owned(), "is"),
            several => (format!("{several} resources"), "are"),
        };
        Some(format!(
            "{resources} of {} {are} not read: gpucost reads only AWS resources",
            names.join(", ")
        ))
    }
}

/// Prices the resources of a plan that run accelerated instances at either end, by the
/// hour around the clock: a plan does not say for how long they run.
pub fn price_plan(
    plan: &TerraformPlan,
    prices: &Prices<'_>,
    hours_per_month: Decimal,
) -> PlannedChange {
    let resources = plan.instances.iter();
    let mut rows: Vec<PlannedRow> =
        resources.filter_map(|resource| row(resource, prices, hours_per_month)).collect();
    rows.sort_by_cached_key(|row| {
        (row.monthly_delta().map(|delta| -delta.amount()), row.address.clone())
    });
    let mut totals: BTreeMap<Currency, PlannedTotals> = BTreeMap::new();
    for row in &rows {
        add(row, &mut totals);
    }
    let counted = |side: fn(&PlannedRow) -> &Option<PlannedSide>| {
        rows.iter().filter_map(|row| side(row).as_ref()?.count).fold(0, u64::saturating_add)
    };
    let mut gaps = plan.gaps.clone();
    gaps.extend(rows.iter().flat_map(|row| row.gaps().cloned()));
    gaps.extend(rows.iter().flat_map(PlannedRow::assumptions));
    gaps.extend(plan.unused_templates.iter().filter_map(|(address, name)| {
        let name = match name {
            Ok(name) => is_accelerated(name).then(|| name.clone())?,
            Err(missing) => format!("instances of an unknown type ({missing})"),
        };
        let cause = Cause::of(CauseKind::TemplateUnused, [&name]);
        Some(Gap::of(GapSubject::LaunchTemplate, address.as_str(), cause))
    }));
    gaps.sort();
    gaps.dedup();
    PlannedChange {
        terraform_version: plan.terraform_version.clone(),
        resources: plan.resources,
        other_providers: plan.other_providers.clone(),
        instances_before: counted(|row| &row.before),
        instances_after: counted(|row| &row.after),
        unpriced: rows.iter().filter(|row| row.gaps().next().is_some()).count() as u64,
        totals,
        rows,
        gaps,
        hours_per_month,
    }
}

fn add(row: &PlannedRow, totals: &mut BTreeMap<Currency, PlannedTotals>) {
    let Some(currency) = row.currency() else { return };
    // Half a row would read as though the other half were free.
    let (Some(before), Some(after), Some(delta)) =
        (row.monthly_before(currency), row.monthly_after(currency), row.monthly_delta())
    else {
        return;
    };
    let zero = Money::zero(currency);
    let sums =
        totals.entry(currency).or_insert(PlannedTotals { before: zero, after: zero, delta: zero });
    let plus = |sum: &mut Money, part: Money| {
        *sum = Money::new(sum.amount() + part.amount(), currency);
    };
    plus(&mut sums.before, before);
    plus(&mut sums.after, after);
    plus(&mut sums.delta, delta);
}

/// A resource, unless it surely runs no accelerator at either end.
fn row(
    resource: &PlannedResource,
    prices: &Prices<'_>,
    hours_per_month: Decimal,
) -> Option<PlannedRow> {
    if ![&resource.before, &resource.after].into_iter().flatten().any(may_be_accelerated) {
        return None;
    }
    // A CPU type at the other end is priced too: what goes or comes with an update belongs
    // to the difference.
    let side = |end: &Option<PlannedInstances>| {
        let instances = end.as_ref()?;
        Some(price(&resource.address, instances, prices, hours_per_month))
    };
    Some(PlannedRow {
        address: resource.address.clone(),
        resource_type: resource.resource_type.clone(),
        action: resource.action,
        before: side(&resource.before),
        after: side(&resource.after),
    })
}

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
    Some(Gap::of(GapSubject::Price, address, Cause::of(CauseKind::ServiceBilled, [service])))
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
