//! `gpucost pricing status`: what prices there are, and how old they are.

use super::doc::{Doc, Record, Table, columns, doc_schema, gap_columns};
use super::shared::gaps::tally;
use super::shared::text::{counted, minute};
use crate::catalog::bundled_origins;
use crate::usage::Estate;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::BTreeSet;
use std::path::Path;

/// The cache, if there is one, where it is, and the day.
struct Cache<'a>(Option<&'a Estate>, &'a Path, Date);

/// Prices of one list and day: from where, their list, when they were seen, how many, and today.
type List = (&'static str, String, Date, u64, Date);

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
        rows[gap_columns] "gaps", "", Data, row.0.gaps.iter(), "What the last refresh could not read.";
    }

    fn lists(list: List) {
        word[&["cache", "bundled"]] "origin", "origin", Narrow(0), list.0, "";
        count "prices", "prices", Narrow(0), list.3, "Number of prices.";
        date "date", "date", Narrow(0), list.2, "The day on which its prices were last seen.";
        opt count "age_days", "days", Narrow(0), age_days(list.2, list.4), "In days; null if it is from the future.";
        text "source", "list", Narrow(0), list.1.clone(), "";
    }
}

/// The prices of the bundled catalog and of a cache, as of now.
pub fn price_status_doc(path: &Path, estate: Option<&Estate>, now: Timestamp) -> Doc {
    let today = day(now);
    let cached = estate.into_iter().flat_map(|estate| estate.prices.iter());
    let cached = tally(cached.map(|(_, quote)| (quote.source.clone(), quote.seen_on)));
    let rows = [("cache", cached), ("bundled", bundled_origins(|_| true))];
    let rows = rows.into_iter().flat_map(|(origin, lists)| {
        let rows = lists.into_iter();
        rows.map(move |((source, date), prices)| (origin, source, date, prices, today))
    });
    let mut table = Table::of("lists", "LISTS", ("list", "lists"), lists(), rows);
    table.notes.push(format!("cache: {}", path.display()));
    table.notes.extend(estate.into_iter().flat_map(|estate| &estate.gaps).map(|gap| {
        format!("not read: {} of {}: {}; hint: {}", gap.what, gap.place, gap.reason, gap.hint)
    }));
    Doc {
        name: "pricing status",
        headline: headline(estate, today),
        record: Record::of(document(), &Cache(estate, path, today)),
        tables: vec![table],
        ..Doc::default()
    }
}

schema! {
    /// The JSON schema of [`price_status_doc`].
    price_status_schema: "pricing-status", [price_status_doc(Path::new(""), None, Timestamp::UNIX_EPOCH)],
    "The prices there are, and how old they are; docs/json.md has the promises of every document. Keys may be added within a schema version."
}

fn headline(estate: Option<&Estate>, today: Date) -> String {
    let Some(estate) = estate else {
        return "no cache; run `gpucost pricing refresh` to create one".to_owned();
    };
    let age = age_days(day(estate.as_of), today)
        .map_or_else(|| "from the future".to_owned(), |days| counted(days, "day old", "days old"));
    let types = counted(instance_types(estate), "type", "types");
    let regions = counted(regions(estate).len(), "region", "regions");
    format!("cache from {} ({age}): {types}, {regions}", minute(estate.as_of))
}

fn day(at: Timestamp) -> Date {
    at.to_zoned(TimeZone::UTC).date()
}

fn age_days(date: Date, today: Date) -> Option<u64> {
    u64::try_from(today.duration_since(date).as_hours() / 24).ok()
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
