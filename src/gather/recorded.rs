//! A cluster beside an estate of its account, both recorded.

use super::machines::{Region, join};
use super::prices::add_known_prices;
use crate::domain::{Gathered, PriceBook, Provider};
use crate::sources::Found;
use crate::usage::Estate;
use std::collections::BTreeSet;

/// Adds a cluster to an estate of AWS that has none of Kubernetes, as if both had been read
/// together: a machine that both have is one instance, and one that only the cluster has is
/// priced by the bundled catalog, or is a gap where the estate has its region.
pub fn add_cluster(estate: &mut Estate, cluster: Gathered<Found>) {
    let Gathered { value: mut nodes, gaps } = cluster;
    let mut own = Found {
        instances: std::mem::take(&mut estate.instances),
        shapes: std::mem::take(&mut estate.shapes),
        ..Found::default()
    };
    let mut regions: Vec<(&str, Found)> =
        estate.regions.iter().map(|name| (name.as_str(), Found::default())).collect();
    let mut places: Vec<(Region<'_>, &mut Found)> =
        regions.iter_mut().map(|(name, found)| ((Some(Provider::Aws), *name), found)).collect();
    places.push(((Some(Provider::Aws), ""), &mut own));
    places.push(((None, ""), &mut nodes));
    let missing = join(&mut places);

    let only = &nodes.instances;
    add_known_prices(&mut estate.prices, &PriceBook::default(), only);
    let names = only.iter().map(|instance| &instance.account);
    estate.accounts = with(&estate.accounts, names.filter(|id| !id.is_empty()));
    estate.regions = with(&estate.regions, only.iter().map(|instance| &instance.region));
    estate.instances = own.instances;
    estate.instances.extend(nodes.instances);
    estate.instances.sort_by(|left, right| left.id.cmp(&right.id));
    estate.shapes = own.shapes;
    estate.shapes.extend(nodes.shapes);
    estate.clusters.add(nodes.clusters);
    estate.clusters.sort();
    estate.gaps.extend(gaps);
    estate.gaps.extend(missing);
    estate.gaps.sort();
    estate.gaps.dedup();
}

/// Names with some more, ascending.
fn with<'a>(names: &'a [String], more: impl Iterator<Item = &'a String>) -> Vec<String> {
    names.iter().chain(more).collect::<BTreeSet<&String>>().into_iter().cloned().collect()
}
