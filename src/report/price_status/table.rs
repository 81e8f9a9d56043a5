//! `gpucost pricing status` for people.

use super::PriceStatus;
use crate::report::shared::gaps::gap_section;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{count, counted, fit};

const PATH_WIDTH: usize = 90;

/// The status as a table, with what the last refresh could not read.
pub fn price_status_table(status: &PriceStatus, style: TableStyle) -> String {
    let mut text = String::new();
    let gaps = status.cache.as_ref().map_or(&[][..], |cache| &cache.gaps);
    // Writing into a string does not fail.
    let _ = gap_section(gaps, style, &mut text);
    text + &lists_table(status)
}

fn lists_table(status: &PriceStatus) -> String {
    let mut lines = vec![match &status.cache {
        Some(cache) => format!(
            "cache from {} ({}): {}, {}",
            cache.refreshed_at,
            counted(cache.age_days.unsigned_abs(), "day old", "days old"),
            counted(cache.instance_types, "type", "types"),
            counted(cache.regions.len() as u64, "region", "regions"),
        ),
        None => "no cache; run `gpucost pricing refresh` to create one".to_owned(),
    }];
    lines.push(format!("  {}", fit(&status.cache_path, PATH_WIDTH)));
    lines.push(String::new());
    let mut table = PlainTable::new(&["ORIGIN", "PRICES", "DATE", "DAYS", "LIST"], [1, 3]);
    for list in &status.lists {
        table.row(vec![
            list.origin.to_owned(),
            count(list.prices),
            list.date.clone(),
            list.age_days.to_string(),
            fit(&list.source, PATH_WIDTH),
        ]);
    }
    lines.extend(table.lines());
    lines.join("\n") + "\n"
}
