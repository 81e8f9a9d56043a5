//! The columns of `--query-gpu`, by the names in the header; of a log without header from one of
//! its rows, only what cannot be anything else.

use super::super::samples::Told;
use super::figure::{Cell, Figure, cell, throttle_bit};
use super::time::LogTime;
use crate::domain::LogColumn;

/// What stands in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Time,
    Index,
    Uuid,
    BusId,
    Serial,
    Name,
    DriverVersion,
    Hostname,
    Count,
    MigMode,
    ThrottleMask,
    ThrottleBit(u64),
    Figure(Figure),
    /// Known to `nvidia-smi`, and not needed here.
    Unused,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    /// As the header has it, without unit.
    pub name: String,
    pub field: Field,
    /// The unit in the header; empty without.
    pub unit: String,
}

/// Beginnings of names that `nvidia-smi` knows and that are not needed here.
const UNUSED: &[&str] = &[
    "accounting.", "addressing_mode", "c2c.", "clocks", "compute_", "display_", "dramencryption.",
    "driver_model.", "ecc.", "edpp_multiplier", "encoder.stats.", "fabric.", "fan.speed", "gom.",
    "gpu.power.", "gpu_operation_mode.", "gpu_recovery_action", "gsp.", "inforom.", "memory.",
    "mig.mode.pending", "module.", "pci.", "pcie.link.", "persistence_mode", "platform.", "power.",
    "power_smoothing.", "protected_memory.", "pstate", "remapped_rows.", "retired_pages.",
    "temperature.", "utilization.", "vbios_version", "vgpu_",
];

fn field(name: &str) -> Field {
    let reasons = ["clocks_event_reasons.", "clocks_throttle_reasons."];
    if let Some(reason) = reasons.iter().find_map(|start| name.strip_prefix(start)) {
        return match (reason, throttle_bit(reason)) {
            ("active", _) => Field::ThrottleMask,
            (_, Some(bit)) => Field::ThrottleBit(bit),
            _ => Field::Unused,
        };
    }
    if let Some(figure) = Figure::of_column(name) {
        return Field::Figure(figure);
    }
    match name {
        "timestamp" => Field::Time,
        "index" => Field::Index,
        "uuid" | "gpu_uuid" => Field::Uuid,
        "pci.bus_id" | "gpu_bus_id" => Field::BusId,
        "serial" | "gpu_serial" => Field::Serial,
        "name" | "gpu_name" => Field::Name,
        "driver_version" => Field::DriverVersion,
        "hostname" => Field::Hostname,
        "count" => Field::Count,
        "mig.mode.current" => Field::MigMode,
        name if UNUSED.iter().any(|start| name.starts_with(start)) => Field::Unused,
        _ => Field::Unknown,
    }
}

impl Column {
    /// A column by its name, with or without the unit in brackets.
    pub(super) fn named(title: &str) -> Self {
        let title = title.trim();
        let (name, unit) = match title.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
            Some((name, unit)) => (name.trim(), unit.trim()),
            None => (title, ""),
        };
        let field = field(&name.to_ascii_lowercase());
        Self { unit: unit.to_owned(), ..Self::guessed(name, field) }
    }

    /// A column that a value tells.
    fn guessed(name: &str, field: Field) -> Self {
        Self { name: name.to_owned(), field, unit: String::new() }
    }
}

/// The columns, when a line is a header: most of its cells are names of columns,
/// and one of them is needed here.
pub(super) fn header(cells: &[String]) -> Option<Vec<Column>> {
    // No name begins with a digit, and nearly every row has a cell that does.
    let is_figure = |cell: &String| cell.trim_start().starts_with(|c: char| c.is_ascii_digit());
    if cells.iter().any(is_figure) {
        return None;
    }
    let columns: Vec<Column> = cells.iter().map(|cell| Column::named(cell)).collect();
    let known = columns.iter().filter(|column| column.field != Field::Unknown).count();
    let is_needed = |column: &Column| !matches!(column.field, Field::Unknown | Field::Unused);
    (known * 2 > columns.len() && columns.iter().any(is_needed)).then_some(columns)
}

/// Whether a list of columns has one.
pub(super) fn has(columns: &[Column], field: Field) -> bool {
    columns.iter().any(|column| column.field == field)
}

/// What a summary or its diagnosis rests on, and what has to tell it.
const EXPECTED: [(LogColumn, Told); 6] = [
    (LogColumn::Utilization, Told::Utilization),
    (LogColumn::MemoryUtilization, Told::MemoryUtilization),
    (LogColumn::MemoryUsed, Told::VramUsed),
    (LogColumn::MemoryTotal, Told::VramTotal),
    (LogColumn::PowerDraw, Told::Power),
    (LogColumn::PowerLimit, Told::PowerLimit),
];

/// The columns that a reader of a summary would miss.
pub(super) fn missing(columns: &[Column]) -> Vec<LogColumn> {
    let missing = EXPECTED.into_iter().filter(|(_, told)| !tells(columns, *told));
    missing.map(|(column, _)| column).collect()
}

/// Whether a log with such columns was asked for a figure.
pub(super) fn tells(columns: &[Column], told: Told) -> bool {
    columns.iter().any(|column| match column.field {
        Field::Figure(figure) => figure.told() == Some(told),
        Field::ThrottleMask | Field::ThrottleBit(_) => told == Told::Throttle,
        _ => false,
    })
}

/// The columns of a row.
///
/// # Errors
/// With what cannot be told, when a figure may be one of several.
pub(super) fn guess_columns(cells: &[String]) -> Result<Vec<Column>, String> {
    let mut columns: Vec<Column> = cells.iter().map(|text| guess(text)).collect();
    for unit in ["%", "W", "MHz"] {
        let count = of_unit(cells, unit).len();
        if count > 1 {
            return Err(format!("{count} columns are in {unit}"));
        }
    }
    let used = Column::guessed("memory.used", Field::Figure(Figure::VramUsed));
    let total = Column::guessed("memory.total", Field::Figure(Figure::VramTotal));
    match of_unit(cells, "MiB").as_slice() {
        [] => {}
        [(place, _)] => columns[*place] = used,
        // What is in use is never more than there is.
        [(one, few), (other, many)] if few != many => {
            let (less, more) = if few < many { (one, other) } else { (other, one) };
            columns[*less] = used;
            columns[*more] = total;
        }
        several => return Err(format!("{} columns are in MiB", several.len())),
    }
    if columns.iter().any(|column: &Column| matches!(column.field, Field::Figure(_))) {
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

fn guess(text: &str) -> Column {
    let text = text.trim();
    // A bare number may be anything.
    let (name, field) = if text.contains(':') && LogTime::read(text).is_some() {
        ("timestamp", Field::Time)
    } else if text.starts_with("GPU-") || text.starts_with("MIG-") {
        ("uuid", Field::Uuid)
    } else if is_bus_id(text) {
        ("pci.bus_id", Field::BusId)
    } else {
        match cell(text) {
            Cell::Number(_, "%") => ("utilization.gpu", Field::Figure(Figure::Utilization)),
            Cell::Number(_, "W") => ("power.draw", Field::Figure(Figure::PowerDraw)),
            Cell::Number(_, "MHz") => ("clocks.sm", Field::Figure(Figure::SmClock)),
            Cell::Text(words) if is_product(words) => ("name", Field::Name),
            _ => (text, Field::Unused),
        }
    };
    Column::guessed(name, field)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::samples::LOG_COLUMNS;

    #[test]
    fn the_recommended_columns_are_read_and_lack_nothing() {
        let columns: Vec<Column> = LOG_COLUMNS.split(',').map(Column::named).collect();
        for column in &columns {
            let is_read = !matches!(column.field, Field::Unknown | Field::Unused);
            assert!(is_read, "{}", column.name);
        }
        assert_eq!(missing(&columns), Vec::<LogColumn>::new());
        assert!(tells(&columns, Told::Throttle) && tells(&columns, Told::SmClock));
        let page = include_str!("../../../../../docs/profile.md");
        assert!(page.contains(LOG_COLUMNS), "{LOG_COLUMNS}");
    }
}
