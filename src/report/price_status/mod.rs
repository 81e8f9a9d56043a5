//! `gpucost pricing status`: what prices there are, and how old they are.

mod json;
mod table;

pub use self::json::price_status_json;
pub use self::table::price_status_table;

use crate::catalog::bundled_origins;
use crate::domain::{Gap, PriceBook};
use crate::report::SCHEMA_VERSION;
use crate::report::shared::gaps::GapView;
use crate::usage::Estate;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Prices of one list and offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ListStatus {
    origin: &'static str,
    source: String,
    date: String,
    age_days: i64,
    prices: u64,
}

/// What prices there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PriceStatus {
    schema_version: &'static str,
    cache: Option<CacheStatus>,
    cache_path: String,
    lists: Vec<ListStatus>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct CacheStatus {
    refreshed_at: String,
    age_days: i64,
    /// Those that it has a price of, of this refresh or of an earlier one.
    regions: BTreeSet<String>,
    instance_types: u64,
    /// What the last refresh could not read.
    #[serde(serialize_with = "as_views")]
    gaps: Vec<Gap>,
}

fn as_views<S: Serializer>(gaps: &[Gap], serializer: S) -> Result<S::Ok, S::Error> {
    GapView::list(gaps).serialize(serializer)
}

impl PriceStatus {
    /// Of the bundled catalog and of a cache, as of now.
    pub fn of(path: &Path, cache: Option<&Estate>, now: Timestamp) -> Self {
        let today = now.to_zoned(TimeZone::UTC).date();
        let mut lists: Vec<ListStatus> = cache
            .map(|estate| lists_of(&estate.prices))
            .unwrap_or_default()
            .into_iter()
            .map(|((source, date), prices)| list("cache", source, date, prices, today))
            .collect();
        lists.extend(
            bundled_origins(|_| true)
                .into_iter()
                .map(|((source, date), prices)| list("bundled", source, date, prices, today)),
        );
        Self {
            schema_version: SCHEMA_VERSION,
            cache: cache.map(|estate| CacheStatus {
                refreshed_at: estate.as_of.to_string(),
                age_days: age_days(estate.as_of.to_zoned(TimeZone::UTC).date(), today),
                regions: estate
                    .prices
                    .iter()
                    .map(|(key, _)| key.region.clone())
                    .collect(),
                instance_types: types(&estate.prices),
                gaps: estate.gaps.clone(),
            }),
            cache_path: path.display().to_string(),
            lists,
        }
    }
}

fn list(origin: &'static str, source: String, date: Date, prices: u64, today: Date) -> ListStatus {
    ListStatus {
        origin,
        source,
        date: date.to_string(),
        age_days: age_days(date, today),
        prices,
    }
}

fn age_days(date: Date, today: Date) -> i64 {
    today.duration_since(date).as_hours() / 24
}

fn lists_of(book: &PriceBook) -> BTreeMap<(String, Date), u64> {
    let mut lists = BTreeMap::new();
    for (_, quote) in book.iter() {
        *lists
            .entry((quote.source.clone(), quote.seen_on))
            .or_insert(0) += 1;
    }
    lists
}

fn types(book: &PriceBook) -> u64 {
    let names: BTreeSet<&str> = book
        .iter()
        .map(|(key, _)| key.instance_type.as_str())
        .collect();
    names.len() as u64
}
