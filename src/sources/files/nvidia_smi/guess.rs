//! The columns of a log without header, from one of its rows: only what cannot
//! be anything else.

use super::columns::{Column, Field};
use super::figure::{Cell, Figure, cell};
use super::time::LogTime;

/// The columns of a row.
///
/// # Errors
/// With what cannot be told, when a figure may be one of several.
pub(super) fn columns(cells: &[String]) -> Result<Vec<Column>, String> {
    let mut columns: Vec<Column> = cells.iter().map(|text| guess(text)).collect();
    for unit in ["%", "W", "MHz"] {
        let count = of_unit(cells, unit).len();
        if count > 1 {
            return Err(format!("{count} columns are in {unit}"));
        }
    }
    let mib = of_unit(cells, "MiB");
    match mib.as_slice() {
        [] => {}
        [(used, _)] => columns[*used] = named("memory.used", Figure::VramUsed),
        // What is in use is never more than there is.
        [(one, few), (other, many)] if few != many => {
            let (used, total) = if few < many { (one, other) } else { (other, one) };
            columns[*used] = named("memory.used", Figure::VramUsed);
            columns[*total] = named("memory.total", Figure::VramTotal);
        }
        several => return Err(format!("{} columns are in MiB", several.len())),
    }
    let has_figure = |column: &Column| matches!(column.field, Field::Figure(_));
    if columns.iter().any(has_figure) {
        Ok(columns)
    } else {
        Err("no cell has a unit such as % or MiB".to_owned())
    }
}

fn of_unit(cells: &[String], unit: &str) -> Vec<(usize, f64)> {
    let of = |(place, text): (usize, &String)| match cell(text) {
        Cell::Number(value, found) if found == unit => Some((place, value)),
        _ => None,
    };
    cells.iter().enumerate().filter_map(of).collect()
}

fn named(name: &str, figure: Figure) -> Column {
    Column { name: name.to_owned(), field: Field::Figure(figure), unit: String::new() }
}

fn guess(text: &str) -> Column {
    let text = text.trim();
    let plain = |name: &str, field| Column { name: name.to_owned(), field, unit: String::new() };
    // A bare number may be anything.
    if text.contains(':') && LogTime::read(text).is_some() {
        return plain("timestamp", Field::Time);
    }
    if text.starts_with("GPU-") || text.starts_with("MIG-") {
        return plain("uuid", Field::Uuid);
    }
    if is_bus_id(text) {
        return plain("pci.bus_id", Field::BusId);
    }
    match cell(text) {
        Cell::Number(_, "%") => named("utilization.gpu", Figure::Utilization),
        Cell::Number(_, "W") => named("power.draw", Figure::PowerDraw),
        Cell::Number(_, "MHz") => named("clocks.sm", Figure::SmClock),
        Cell::Text(words) if is_product(words) => plain("name", Field::Name),
        _ => plain(text, Field::Unused),
    }
}

/// The names of columns that were guessed, for a gap that tells.
pub(super) fn reported(columns: &[Column]) -> String {
    let names: Vec<String> = columns
        .iter()
        .map(|column| match column.field {
            Field::Unused => "?".to_owned(),
            _ => column.name.clone(),
        })
        .collect();
    names.join(",")
}

/// `00000000:3B:00.0`.
fn is_bus_id(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '.']).collect();
    let is_hex = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_hexdigit());
    parts.len() == 4 && text.matches(':').count() == 2 && parts.iter().all(is_hex)
}

fn is_product(words: &str) -> bool {
    ["NVIDIA", "Tesla", "Quadro", "GeForce", "GRID", "TITAN"]
        .iter()
        .any(|brand| words.starts_with(brand))
}
