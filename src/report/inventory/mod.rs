//! `gpucost inventory`: the instances with their shape, state, purchase option
//! and price, one row each.

mod csv;
mod jobs;
mod json;
mod managed;
mod nodes_json;
mod table;

pub use self::csv::inventory_csv;
pub use self::json::inventory_json;
pub use self::table::inventory_table;

use crate::analysis::{ListedInstance, Listing};
use crate::domain::{Currency, IdleStorageCosts, Instance, Money};
use crate::report::shared::view::{RowFacts, team_of};
use rust_decimal::Decimal;

/// What instances are chosen and sorted by, in their order.
pub fn inventory_rows(listing: &Listing<'_>) -> Vec<RowFacts> {
    let of = |listed: &ListedInstance<'_>| {
        let instance = listed.instance;
        let native = instance.id.native().to_owned();
        RowFacts {
            names: vec![
                instance.name().map_or(native.clone(), str::to_owned),
                native,
            ],
            instance_type: instance.instance_type.clone(),
            region: instance.region.clone(),
            team: team_of(&instance.tags).map(str::to_owned),
            cost: listed.hourly.map(|rate| rate.times_hours(Decimal::ONE)),
            ..RowFacts::default()
        }
    };
    listing.instances.iter().map(of).collect()
}

/// What a stopped instance costs each month; absent when nothing is priced.
fn idle_storage_monthly(idle_storage: Option<&IdleStorageCosts>) -> Option<Money> {
    idle_storage.and_then(|costs| costs.monthly)
}

/// The currency of what it costs; absent when nothing of it is priced.
fn currency(listed: &ListedInstance<'_>) -> Option<Currency> {
    let running = listed.hourly.map(|rate| rate.currency());
    running.or(idle_storage_monthly(listed.idle_storage.as_ref()).map(Money::currency))
}

/// Volumes or addresses of an instance; absent when they were not read: they
/// are read for stopped ones alone, where they are what still costs.
fn known<'a, T>(instance: &Instance, resources: &'a [T]) -> Option<&'a [T]> {
    let unread = instance.state.is_running() && resources.is_empty();
    (!unread).then_some(resources)
}

/// GiB of its volumes; absent when they were not read or one is unknown.
fn volume_gib(instance: &Instance) -> Option<u64> {
    let volumes = known(instance, &instance.volumes)?;
    volumes.iter().map(|volume| volume.size_gib).sum()
}

/// Its addresses, separated by blanks; absent when they were not read.
fn addresses(instance: &Instance) -> Option<String> {
    let ids: Vec<&str> = known(instance, &instance.addresses)?
        .iter()
        .map(|address| address.id.as_str())
        .collect();
    Some(ids.join(" "))
}
