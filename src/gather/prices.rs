//! Which prices of what was found are asked for, with the bundled catalog behind them.

use crate::catalog::{bundled_quote, family, known_shape, shapes, smaller_types};
use crate::domain::{
    AcceleratorKind, Cause, CauseKind, CommitmentTerm, Gap, GapSubject, Instance, InstanceShape,
    OperatingSystem, PriceBook, PriceKey, PriceOption, Provider, PurchaseOption, StorageResource,
    Tenancy, TrainingJob, Window, is_restartable,
};
use crate::sources::{PriceQuery, WantedPrices};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// The prices that figures about what was found in a region may rest on.
pub(super) fn price_ask(
    region: &str,
    instances: &[Instance],
    shapes: &BTreeMap<String, InstanceShape>,
    (window, read_on): (Window, Date),
) -> PriceQuery {
    PriceQuery {
        on_demand: wanted_prices(region, instances),
        spot: spot_types(instances, shapes),
        storage: idle_storage_resources(instances),
        window,
        read_on,
    }
}

/// The prices of the types of jobs; `None` where none is wanted.
pub(super) fn job_price_ask(
    region: &str,
    jobs: &[TrainingJob],
    (window, read_on): (Window, Date),
) -> Option<PriceQuery> {
    let keys = jobs.iter().flat_map(TrainingJob::price_keys);
    let types: BTreeSet<String> = keys.map(|key| key.instance_type).collect();
    let wanted = WantedPrices {
        region: region.to_owned(),
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        instance_types: types.iter().cloned().collect(),
        in_use: types,
    };
    (!wanted.in_use.is_empty()).then(|| PriceQuery {
        on_demand: vec![wanted],
        spot: BTreeMap::new(),
        storage: Vec::new(),
        window,
        read_on,
    })
}

pub(super) fn accelerated_types() -> impl Iterator<Item = String> {
    shapes()
        .filter(|shape| shape.accelerator != AcceleratorKind::Cpu)
        .map(|shape| shape.instance_type.clone())
}

/// Types in use, and where any of them runs every accelerated one of its provider, because
/// each could take its place; by system and tenancy. The catalog knows the types of AWS.
fn wanted_prices(region: &str, instances: &[Instance]) -> Vec<WantedPrices> {
    let mut wanted: BTreeMap<_, (BTreeSet<String>, bool, BTreeSet<String>)> = BTreeMap::new();
    for instance in instances {
        let (types, runs, in_use) =
            wanted.entry((instance.operating_system, instance.tenancy)).or_default();
        types.insert(instance.instance_type.clone());
        let is_running = instance.state.is_running();
        *runs |= is_running && instance.id.provider() == Provider::Aws;
        if is_running && instance.purchase_option() == PurchaseOption::OnDemand {
            in_use.insert(instance.instance_type.clone());
        }
    }
    wanted
        .into_iter()
        .map(|((operating_system, tenancy), (mut types, runs, in_use))| {
            if runs {
                types.extend(accelerated_types());
            }
            WantedPrices {
                in_use,
                region: region.to_owned(),
                operating_system,
                tenancy,
                instance_types: types.into_iter().collect(),
            }
        })
        .collect()
}

/// Types that run on the spot market or could go there, and the smaller ones of
/// the same GPU, whose prices compare only when both are read at once. The history
/// of every type would be read page by page for minutes.
fn spot_types(
    instances: &[Instance],
    shapes: &BTreeMap<String, InstanceShape>,
) -> BTreeMap<OperatingSystem, Vec<String>> {
    let mut types: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for instance in instances {
        let goes = match instance.purchase_option() {
            PurchaseOption::Spot => true,
            PurchaseOption::OnDemand => is_restartable(&instance.tags),
            _ => false,
        };
        if instance.state.is_running() && goes {
            let types = types.entry(instance.operating_system).or_default();
            types.insert(instance.instance_type.clone());
            let smaller =
                known_shape(shapes, &instance.instance_type).into_iter().flat_map(smaller_types);
            types.extend(smaller.map(|shape| shape.instance_type.clone()));
        }
    }
    types.into_iter().map(|(key, types)| (key, types.into_iter().collect())).collect()
}

/// What stopped instances still pay for in the region.
fn idle_storage_resources(instances: &[Instance]) -> Vec<StorageResource> {
    let stopped = || instances.iter().filter(|i| !i.state.is_running());
    let mut resources: BTreeSet<StorageResource> = stopped()
        .flat_map(|instance| &instance.volumes)
        .filter_map(|volume| StorageResource::from_name(volume.volume_type.as_deref()?))
        .collect();
    if stopped().any(|instance| !instance.addresses.is_empty()) {
        resources.insert(StorageResource::PublicIpv4);
    }
    resources.into_iter().collect()
}

/// Copies the prices of the user's cache and of the bundled catalog that figures may
/// rest on into the estate, so that a recorded one gives the same answer later.
pub(super) fn add_known_prices(book: &mut PriceBook, cache: &PriceBook, instances: &[Instance]) {
    let mut running: BTreeMap<PriceKey, usize> = BTreeMap::new();
    for instance in instances {
        if let Some(key) = instance.price_key() {
            *running.entry(key.in_zone(None)).or_default() +=
                usize::from(instance.state.is_running());
        }
    }
    let mut add = |key: PriceKey| {
        if let Some(quote) = cache.get(&key).ok().cloned().or_else(|| bundled_quote(&key)) {
            book.insert(key.clone(), quote);
        }
        book.get(&key).ok().map(|quote| quote.rate)
    };
    for (key, running) in running {
        let own = add(key.clone());
        for option in [PriceOption::OnDemand, PriceOption::Spot].into_iter().chain(commitments()) {
            add(key.with_option(option));
        }
        if running == 0 || key.provider != Provider::Aws {
            continue;
        }
        // One instance of another type can take the place of all.
        let most = own.map(|rate| rate.amount() * Decimal::from(running));
        for shape in shapes() {
            let other = key.with_type(&shape.instance_type);
            let rate = add(other.clone());
            let may_be_bought = key.option == PriceOption::OnDemand
                && rate.zip(most).is_some_and(|(rate, most)| rate.amount() < most)
                && family(shape.family()).is_none_or(|facts| facts.launchable != Some(false));
            if may_be_bought {
                for option in commitments().chain([PriceOption::Spot]) {
                    add(other.with_option(option));
                }
            }
        }
    }
}

/// What can be bought ahead for years.
fn commitments() -> impl Iterator<Item = PriceOption> {
    CommitmentTerm::ALL.into_iter().flat_map(|term| {
        [
            PriceOption::Reserved(term),
            PriceOption::Ec2InstanceSavingsPlan(term),
            PriceOption::ComputeSavingsPlan(term),
        ]
    })
}

/// A gap for each region in which something runs that the catalog has no price of,
/// when nothing but the catalog was to be asked.
pub(super) fn prices_not_asked_for(book: &PriceBook, instances: &[Instance]) -> Vec<Gap> {
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for instance in instances.iter().filter(|instance| instance.state.is_running()) {
        let key = instance.price_key().map(|key| key.in_zone(None));
        if key.is_some_and(|key| book.get(&key).is_err()) {
            missing.entry(&instance.region).or_default().insert(&instance.instance_type);
        }
    }
    missing
        .into_iter()
        .map(|(region, types)| {
            let types: Vec<&str> = types.into_iter().collect();
            let cause = Cause::of(CauseKind::PricesNotAsked, [&types.join(", ")]);
            Gap::of(GapSubject::LivePrices, region, cause)
        })
        .collect()
}

#[cfg(test)]
#[path = "prices_tests.rs"]
mod tests;
