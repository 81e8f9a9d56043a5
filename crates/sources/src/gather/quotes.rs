//! Prices of every region, asked for once however many accounts are in it. A price list is
//! the same for all of them. The zones of a region are named by account, so that spot
//! prices are read in each.

use super::Place;
use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, Gathered, Instance, Lifecycle, PriceBook, Provider,
};
use crate::{Connection, PriceQuery, PriceSource};
use futures_util::{StreamExt, stream};
use std::collections::BTreeMap;

/// Regions, and accounts of a region, that are asked side by side.
const AT_ONCE: usize = 8;

/// What an account is asked in a region.
pub(super) struct QuoteQuery<'a> {
    place: &'a Place<'a>,
    source: &'a PriceSource,
    ask: PriceQuery,
    /// Whether anything there is paid for at a spot price.
    runs_spot: bool,
}

impl<'a> QuoteQuery<'a> {
    /// What is asked about training jobs or some instances; `None` without a source of prices.
    pub(super) fn of(place: &'a Place<'a>, ask: PriceQuery, own: &[Instance]) -> Option<Self> {
        let source = place.connection.prices.as_ref()?;
        let runs_spot = |instance: &Instance| {
            instance.lifecycle == Lifecycle::Spot && instance.state.is_running()
        };
        Some(Self { place, source, ask, runs_spot: own.iter().any(runs_spot) })
    }
}

/// The prices of all regions; what could not be read becomes gaps.
pub(super) async fn quotes(all: Vec<QuoteQuery<'_>>) -> Gathered<PriceBook> {
    let mut by_region: BTreeMap<(Option<Provider>, &str), Vec<QuoteQuery<'_>>> = BTreeMap::new();
    for query in all {
        let Connection { provider, region, .. } = query.place.connection;
        by_region.entry((*provider, region.as_str())).or_default().push(query);
    }
    let mut answers = stream::iter(by_region.into_values()).map(of_region).buffered(AT_ONCE);
    let mut gathered = Gathered::<PriceBook>::default();
    while let Some(answer) = answers.next().await {
        gathered.value.add(&answer.leave_gaps(&mut gathered.gaps));
    }
    gathered
}

/// The prices of one region for all accounts in it.
async fn of_region(asks: Vec<QuoteQuery<'_>>) -> Gathered<PriceBook> {
    if let [query] = asks.as_slice() {
        let answer = (query.source)(query.ask.clone()).await;
        return Gathered { value: answer.value, gaps: query.place.named(answer.gaps) };
    }
    let mut gathered = listed(&asks).await;
    let of_spot = asks.iter().filter(|query| !query.ask.spot.is_empty());
    let mut answers = stream::iter(of_spot).map(spot).buffered(AT_ONCE);
    while let Some((query, answer)) = answers.next().await {
        if query.runs_spot && differ(&gathered.value, &answer.value) {
            let cause = Cause::of(CauseKind::ZonesDiffer, []);
            let name = query.place.name.as_str();
            gathered.gaps.push(Gap::of(GapSubject::SpotPrices, name, cause));
        }
        gathered.value.add_missing(answer.value);
        gathered.gaps.extend(query.place.named(answer.gaps));
    }
    gathered
}

/// List prices, from the first account that may read them.
async fn listed(asks: &[QuoteQuery<'_>]) -> Gathered<PriceBook> {
    let mut gathered = Gathered::<PriceBook>::default();
    let Some(first) = asks.first() else { return gathered };
    let mut merged = PriceQuery {
        on_demand: Vec::new(),
        spot: BTreeMap::new(),
        storage: Vec::new(),
        ..first.ask.clone()
    };
    for query in asks {
        add(&mut merged, &query.ask);
    }
    for query in asks {
        let answer = (query.source)(merged.clone()).await;
        gathered.value.add_missing(answer.value);
        gathered.gaps = query.place.named(answer.gaps);
        let is_unread =
            |gap: &Gap| matches!(gap.what, GapSubject::LivePrices | GapSubject::StoragePrices);
        if !gathered.gaps.iter().any(is_unread) {
            break;
        }
    }
    gathered
}

/// Adds the list prices that another ask wants.
fn add(merged: &mut PriceQuery, other: &PriceQuery) {
    for wanted in &other.on_demand {
        let key = (wanted.operating_system, wanted.tenancy);
        let mut known = merged.on_demand.iter_mut();
        match known.find(|listed| (listed.operating_system, listed.tenancy) == key) {
            Some(one) => {
                one.in_use.extend(wanted.in_use.iter().cloned());
                one.instance_types.extend(wanted.instance_types.iter().cloned());
                one.instance_types.sort();
                one.instance_types.dedup();
            }
            None => merged.on_demand.push(wanted.clone()),
        }
    }
    merged.storage.extend_from_slice(&other.storage);
    merged.storage.sort();
    merged.storage.dedup();
}

/// Spot prices as an account sees them.
async fn spot<'a, 'b>(query: &'b QuoteQuery<'a>) -> (&'b QuoteQuery<'a>, Gathered<PriceBook>) {
    let ask = PriceQuery { on_demand: Vec::new(), storage: Vec::new(), ..query.ask.clone() };
    (query, (query.source)(ask).await)
}

/// Whether the same zone has two prices.
fn differ(known: &PriceBook, other: &PriceBook) -> bool {
    let of_zones = other.iter().filter(|(key, _)| key.zone.is_some());
    let mut other_rates =
        of_zones.filter_map(|(key, quote)| Some(known.get(key).ok()?.rate != quote.rate));
    other_rates.any(|differs| differs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WantedPrices;
    use crate::domain::{OperatingSystem, StorageResource, Tenancy, Window};
    use jiff::Timestamp;
    use std::collections::BTreeSet;

    fn ask(types: &[&str], in_use: &[&str], storage: &[StorageResource]) -> PriceQuery {
        let wanted = WantedPrices {
            region: "us-east-1".to_owned(),
            operating_system: OperatingSystem::Linux,
            tenancy: Tenancy::Shared,
            instance_types: types.iter().map(|name| (*name).to_owned()).collect(),
            in_use: in_use.iter().map(|name| (*name).to_owned()).collect(),
        };
        PriceQuery {
            on_demand: vec![wanted],
            spot: BTreeMap::new(),
            storage: storage.to_vec(),
            window: Window { start: Timestamp::UNIX_EPOCH, end: Timestamp::UNIX_EPOCH },
            read_on: jiff::civil::date(2026, 11, 15),
        }
    }

    #[test]
    fn accounts_of_a_region_ask_for_each_price_once() {
        let mut merged = ask(&["a", "c"], &["c"], &[StorageResource::Gp3]);
        let other = ask(&["b", "c"], &["b"], &[StorageResource::Gp2, StorageResource::Gp3]);
        add(&mut merged, &other);
        let [wanted] = merged.on_demand.as_slice() else {
            panic!("{merged:?}");
        };
        assert_eq!(wanted.instance_types, ["a", "b", "c"]);
        let in_use: BTreeSet<String> = ["b", "c"].map(str::to_owned).into();
        assert_eq!(wanted.in_use, in_use);
        assert_eq!(merged.storage, [StorageResource::Gp2, StorageResource::Gp3]);
        let windows = WantedPrices { operating_system: OperatingSystem::Windows, ..wanted.clone() };
        let mut of_windows = other;
        of_windows.on_demand = vec![windows];
        add(&mut merged, &of_windows);
        assert_eq!(merged.on_demand.len(), 2);
    }
}
