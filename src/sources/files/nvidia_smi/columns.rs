//! The columns of `--query-gpu`, by the names in the header.

use super::super::samples::Told;
use super::figure::{Figure, throttle_bit};
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
    "accounting.",
    "addressing_mode",
    "c2c.",
    "clocks",
    "compute_",
    "display_",
    "dramencryption.",
    "driver_model.",
    "ecc.",
    "edpp_multiplier",
    "encoder.stats.",
    "fabric.",
    "fan.speed",
    "gom.",
    "gpu.power.",
    "gpu_operation_mode.",
    "gpu_recovery_action",
    "gsp.",
    "inforom.",
    "memory.",
    "mig.mode.pending",
    "module.",
    "pci.",
    "pcie.link.",
    "persistence_mode",
    "platform.",
    "power.",
    "power_smoothing.",
    "protected_memory.",
    "pstate",
    "remapped_rows.",
    "retired_pages.",
    "temperature.",
    "utilization.",
    "vbios_version",
    "vgpu_",
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
    let figure = match name {
        "timestamp" => return Field::Time,
        "index" => return Field::Index,
        "uuid" | "gpu_uuid" => return Field::Uuid,
        "pci.bus_id" | "gpu_bus_id" => return Field::BusId,
        "serial" | "gpu_serial" => return Field::Serial,
        "name" | "gpu_name" => return Field::Name,
        "driver_version" => return Field::DriverVersion,
        "hostname" => return Field::Hostname,
        "count" => return Field::Count,
        "mig.mode.current" => return Field::MigMode,
        "utilization.gpu" => Figure::Utilization,
        "utilization.memory" => Figure::MemoryUtilization,
        "utilization.encoder" => Figure::Encoder,
        "utilization.decoder" => Figure::Decoder,
        "memory.used" => Figure::VramUsed,
        "memory.total" => Figure::VramTotal,
        "power.draw" => Figure::PowerDraw,
        "power.draw.average" | "gpu.power.draw.average" => Figure::PowerDrawAverage,
        "power.draw.instant" | "gpu.power.draw.instant" => Figure::PowerDrawInstant,
        "power.limit" | "gpu.power.requested_limit" => Figure::PowerLimit,
        "enforced.power.limit" | "gpu.power.current_limit" => Figure::EnforcedPowerLimit,
        "power.default_limit" | "gpu.power.default_limit" => Figure::DefaultPowerLimit,
        "temperature.gpu" => Figure::Temperature,
        "clocks.current.sm" | "clocks.sm" => Figure::SmClock,
        "clocks.current.memory" | "clocks.mem" => Figure::MemoryClock,
        "pcie.link.gen.max" => Figure::MaxLinkGeneration,
        "pcie.link.width.max" => Figure::MaxLinkWidth,
        name if UNUSED.iter().any(|start| name.starts_with(start)) => return Field::Unused,
        _ => return Field::Unknown,
    };
    Field::Figure(figure)
}

impl Column {
    /// A column by its name, with or without the unit in brackets.
    pub(super) fn named(title: &str) -> Self {
        let title = title.trim();
        let (name, unit) = match title.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
            Some((name, unit)) => (name.trim(), unit.trim()),
            None => (title, ""),
        };
        Self {
            name: name.to_owned(),
            field: field(&name.to_ascii_lowercase()),
            unit: unit.to_owned(),
        }
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

/// Columns of power limits, of which one is enough.
const LIMITS: &[Figure] =
    &[Figure::PowerLimit, Figure::EnforcedPowerLimit, Figure::DefaultPowerLimit];
/// The same of power.
const POWER: &[Figure] = &[Figure::PowerDraw, Figure::PowerDrawAverage, Figure::PowerDrawInstant];

/// What a summary or its diagnosis rests on, as columns of which one is enough.
const EXPECTED: &[(LogColumn, &[Figure])] = &[
    (LogColumn::Utilization, &[Figure::Utilization]),
    (LogColumn::MemoryUtilization, &[Figure::MemoryUtilization]),
    (LogColumn::MemoryUsed, &[Figure::VramUsed]),
    (LogColumn::MemoryTotal, &[Figure::VramTotal]),
    (LogColumn::PowerDraw, POWER),
    (LogColumn::PowerLimit, LIMITS),
];

/// The columns that a reader of a summary would miss.
pub(super) fn missing(columns: &[Column]) -> Vec<LogColumn> {
    let missing_data = |of: &&(LogColumn, &[Figure])| !has_any(columns, of.1);
    EXPECTED.iter().filter(missing_data).map(|(column, _)| *column).collect()
}

fn has_any(columns: &[Column], figures: &[Figure]) -> bool {
    let of = |figure: &Figure| has(columns, Field::Figure(*figure));
    figures.iter().any(of)
}

/// Whether a log with such columns was asked for a figure.
pub(super) fn tells(columns: &[Column], figure: Told) -> bool {
    let figures: &[Figure] = match figure {
        Told::Utilization => &[Figure::Utilization],
        Told::MemoryUtilization => &[Figure::MemoryUtilization],
        Told::VramUsed => &[Figure::VramUsed],
        Told::VramTotal => &[Figure::VramTotal],
        Told::Power => POWER,
        Told::PowerLimit => LIMITS,
        Told::Temperature => &[Figure::Temperature],
        Told::SmClock => &[Figure::SmClock],
        Told::MemoryClock => &[Figure::MemoryClock],
        Told::Pcie => &[Figure::PcieSent],
        Told::Encoder => &[Figure::Encoder],
        Told::Decoder => &[Figure::Decoder],
        Told::Throttle => {
            let is_of = |column: &Column| {
                matches!(column.field, Field::ThrottleMask | Field::ThrottleBit(_))
            };
            return columns.iter().any(is_of);
        }
        Told::Energy | Told::Processes | Told::Activity => &[],
    };
    has_any(columns, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::files::samples::LOG_COLUMNS;

    #[test]
    fn the_recommended_columns_are_read_and_lack_nothing() {
        let columns: Vec<Column> = LOG_COLUMNS.split(',').map(Column::named).collect();
        for column in &columns {
            let is_read = !matches!(column.field, Field::Unknown | Field::Unused);
            assert!(is_read, "{}", column.name);
        }
        assert_eq!(missing(&columns), Vec::<LogColumn>::new());
        assert!(tells(&columns, Told::Throttle) && tells(&columns, Told::SmClock));
        let page = include_str!("../../../../docs/profile.md");
        assert!(page.contains(LOG_COLUMNS), "{LOG_COLUMNS}");
    }
}
