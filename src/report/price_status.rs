//! `gpucost pricing status`: what prices there are, and how old they are.

use super::doc::{Doc, Record, Table, columns, doc_schema};
use super::shared::text::{counted, minute};
use crate::catalog::bundled_origins;
use crate::domain::Gap;
use crate::usage::Estate;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The cache, if there is one, where it is, and the day.
struct Cache<'a>(Option<&'a Estate>, &'a Path, Date);

columns! {
    fn document<'a>(row: Cache<'a>) {
        opt record[cache] "cache", "", Wide, row.0.map(|estate| (estate, row.2)), "null without refreshed prices.";
        text "cache_path", "", Data, row.1.display().to_string(), "";
    }

    fn cache<'a>(row: (&'a Estate, Date)) {
        time "refreshed_at", "", Data, row.0.as_of, "";
        opt count "age_days", "", Data, age_days(day(row.0.as_of), row.1), "In days; null if it is from the future.";
        texts "regions", "", Data, regions(row.0), "Those that it has prices for.";
        count "instance_types", "", Data, instance_types(row.0), "Number of types.";
        rows[gap] "gaps", "", Data, row.0.gaps.iter(), "What the last refresh could not read.";
    }

    fn gap<'a>(gap: &'a Gap) {
        text "what", "", Data, gap.what.to_string(), "";
        text "where", "", Data, gap.place.clone(), "";
        text "reason", "", Data, gap.reason.clone(), "";
        text "hint", "", Data, gap.hint.clone(), "";
        opt text "cause", "", Data, gap.cause.as_ref().map(|cause| cause.kind().name().to_owned()), "The name of its cause; null where an estate states its reason in its own words.";
    }
}

/// Prices of one list and day.
struct List {
    origin: &'static str,
    source: String,
    date: Date,
    prices: u64,
    today: Date,
}

columns! {
    fn lists(list: List) {
        word[&["cache", "bundled"]] "origin", "origin", Narrow(0), list.origin, "";
        count "prices", "prices", Narrow(0), list.prices, "Number of prices.";
        date "date", "date", Narrow(0), list.date, "The day on which its prices were last seen.";
        opt count "age_days", "days", Narrow(0), age_days(list.date, list.today), "In days; null if it is from the future.";
        text "source", "list", Narrow(0), list.source.clone(), "";
    }
}

/// The prices of the bundled catalog and of a cache, as of now.
pub fn price_status_doc(path: &Path, estate: Option<&Estate>, now: Timestamp) -> Doc {
    let today = day(now);
    let cached = ("cache", estate.map(cached_lists).unwrap_or_default());
    let rows = [cached, ("bundled", bundled_origins(|_| true))];
    let rows = rows.into_iter().flat_map(|(origin, lists)| {
        lists.into_iter().map(move |((source, date), prices)| List {
            origin,
            source,
            date,
            prices,
            today,
        })
    });
    let mut table = Table::of("lists", "LISTS", ("list", "lists"), lists(), rows);
    table.notes.push(format!("cache: {}", path.display()));
    let gaps = estate.into_iter().flat_map(|estate| &estate.gaps);
    table.notes.extend(gaps.map(|gap| {
        let read = format!("{} of {}: {}", gap.what, gap.place, gap.reason);
        format!("not read: {read}; hint: {}", gap.hint)
    }));
    Doc {
        name: "pricing status",
        headline: headline(estate, today),
        record: Record::of(document(), &Cache(estate, path, today)),
        tables: vec![table],
        ..Doc::default()
    }
}

/// The JSON schema of [`price_status_doc`].
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn price_status_schema() -> Result<String, serde_json::Error> {
    let about = "The prices there are, and how old they are; docs/json.md has the promises of \
                 every document. Keys may be added within a schema version.";
    let form = price_status_doc(Path::new(""), None, Timestamp::UNIX_EPOCH);
    doc_schema("pricing-status", about, &[form])
}

fn headline(estate: Option<&Estate>, today: Date) -> String {
    let Some(estate) = estate else {
        return "no cache; run `gpucost pricing refresh` to create one".to_owned();
    };
    let age = age_days(day(estate.as_of), today);
    let age = age
        .map_or_else(|| "from the future".to_owned(), |days| counted(days, "day old", "days old"));
    format!(
        "cache from {} ({age}): {}, {}",
        minute(estate.as_of),
        counted(instance_types(estate), "type", "types"),
        counted(regions(estate).len() as u64, "region", "regions"),
    )
}

fn day(at: Timestamp) -> Date {
    at.to_zoned(TimeZone::UTC).date()
}

fn age_days(date: Date, today: Date) -> Option<u64> {
    u64::try_from(today.duration_since(date).as_hours() / 24).ok()
}

fn cached_lists(estate: &Estate) -> BTreeMap<(String, Date), u64> {
    let mut lists = BTreeMap::new();
    for (_, quote) in estate.prices.iter() {
        let list = (quote.source.clone(), quote.seen_on);
        *lists.entry(list).or_insert(0) += 1;
    }
    lists
}

/// Those that it has a price of, of the last refresh or of an earlier one.
fn regions(estate: &Estate) -> Vec<String> {
    let regions = estate.prices.iter().map(|(key, _)| key.region.clone());
    regions.collect::<BTreeSet<_>>().into_iter().collect()
}

fn instance_types(estate: &Estate) -> u64 {
    let types = estate.prices.iter().map(|(key, _)| key.instance_type.as_str());
    types.collect::<BTreeSet<_>>().len() as u64
}
