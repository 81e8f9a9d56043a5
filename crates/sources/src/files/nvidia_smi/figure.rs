//! Figures as `nvidia-smi` writes them: with a unit or without, or in words why
//! there is none.

use super::super::samples::Told;
use crate::domain::{GpuIdentity, GpuReading, MIB, ThrottleReasons, pcie_bytes_per_second};
use std::ops::RangeInclusive;

/// What a figure measures.
struct Dimension {
    possible: RangeInclusive<f64>,
    /// What one of each unit is in the unit that figures are kept in.
    units: &'static [(&'static str, f64)],
}

const PERCENT: Dimension = Dimension { possible: 0.0..=100.0, units: &[("%", 1.0)] };
/// No card has a tebibyte of memory or draws ten kilowatts.
const MEMORY: Dimension = Dimension {
    possible: 0.0..=1_048_576.0,
    units: &[
        ("MiB", 1.0),
        ("B", 1.0 / MIB),
        ("bytes", 1.0 / MIB),
        ("KiB", 1.0 / 1_024.0),
        ("GiB", 1_024.0),
        ("MB", 1e6 / MIB),
        ("GB", 1e9 / MIB),
    ],
};
const POWER: Dimension = Dimension { possible: 0.0..=10_000.0, units: &[("W", 1.0), ("mW", 1e-3)] };
const TEMPERATURE: Dimension = Dimension { possible: -100.0..=500.0, units: &[("C", 1.0)] };
const CLOCK: Dimension =
    Dimension { possible: 0.0..=f64::INFINITY, units: &[("MHz", 1.0), ("GHz", 1e3)] };
const THROUGHPUT: Dimension = Dimension {
    possible: 0.0..=f64::INFINITY,
    units: &[("B/s", 1.0), ("KB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9)],
};
const COUNT: Dimension = Dimension { possible: 0.0..=f64::INFINITY, units: &[("x", 1.0)] };

/// The field of a reading.
type Field = fn(&mut GpuReading) -> &mut Option<f64>;

/// A figure, what it measures and tells, the field of a reading that it is, its columns in a CSV,
/// and its elements in a document. The first of several that has one counts: newer drivers renamed
/// some. Those of power are below another element, and the rest below the GPU.
struct Row {
    figure: Figure,
    dimension: Dimension,
    told: Option<Told>,
    field: Option<Field>,
    columns: &'static [&'static str],
    paths: &'static [&'static [&'static str]],
}

macro_rules! figures {
    ($($figure:ident: $dimension:ident, $told:expr, $field:expr, [$($column:literal),*], [$($path:expr),*];)*) => {
        /// A figure that is read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Figure { $($figure,)* }

        /// In order of the figures.
        const FIGURES: &[Row] = &[$(Row {
            figure: Figure::$figure,
            dimension: $dimension,
            told: $told,
            field: $field,
            columns: &[$($column),*],
            paths: &[$(&$path),*],
        },)*];
    };
}
figures! {
    Utilization: PERCENT, Some(Told::Utilization), Some(|gpu| &mut gpu.utilization_percent), ["utilization.gpu"], [["utilization", "gpu_util"]];
    MemoryUtilization: PERCENT, Some(Told::MemoryUtilization), Some(|gpu| &mut gpu.memory_utilization_percent), ["utilization.memory"], [["utilization", "memory_util"]];
    Encoder: PERCENT, Some(Told::Encoder), Some(|gpu| &mut gpu.encoder_percent), ["utilization.encoder"], [["utilization", "encoder_util"]];
    Decoder: PERCENT, Some(Told::Decoder), Some(|gpu| &mut gpu.decoder_percent), ["utilization.decoder"], [["utilization", "decoder_util"]];
    VramUsed: MEMORY, Some(Told::VramUsed), Some(|gpu| &mut gpu.vram_used_mib), ["memory.used"], [["fb_memory_usage", "used"]];
    VramTotal: MEMORY, Some(Told::VramTotal), Some(|gpu| &mut gpu.vram_total_mib), ["memory.total"], [["fb_memory_usage", "total"]];
    PowerDraw: POWER, Some(Told::Power), Some(|gpu| &mut gpu.power_w), ["power.draw"], [["power_draw"]];
    PowerDrawAverage: POWER, Some(Told::Power), Some(|gpu| &mut gpu.power_w), ["power.draw.average", "gpu.power.draw.average"], [["average_power_draw"]];
    PowerDrawInstant: POWER, Some(Told::Power), Some(|gpu| &mut gpu.power_w), ["power.draw.instant", "gpu.power.draw.instant"], [["instant_power_draw"]];
    EnforcedPowerLimit: POWER, Some(Told::PowerLimit), None, ["enforced.power.limit", "gpu.power.current_limit"], [["enforced_power_limit"], ["current_power_limit"]];
    PowerLimit: POWER, Some(Told::PowerLimit), None, ["power.limit", "gpu.power.requested_limit"], [["power_limit"], ["requested_power_limit"]];
    DefaultPowerLimit: POWER, Some(Told::PowerLimit), None, ["power.default_limit", "gpu.power.default_limit"], [["default_power_limit"]];
    Temperature: TEMPERATURE, Some(Told::Temperature), Some(|gpu| &mut gpu.temperature_c), ["temperature.gpu"], [["temperature", "gpu_temp"]];
    SmClock: CLOCK, Some(Told::SmClock), Some(|gpu| &mut gpu.sm_clock_mhz), ["clocks.current.sm", "clocks.sm"], [["clocks", "sm_clock"]];
    MemoryClock: CLOCK, Some(Told::MemoryClock), Some(|gpu| &mut gpu.memory_clock_mhz), ["clocks.current.memory", "clocks.mem"], [["clocks", "mem_clock"]];
    PcieSent: THROUGHPUT, Some(Told::Pcie), Some(|gpu| &mut gpu.pcie_sent_bytes_per_second), [], [["pci", "tx_util"]];
    PcieReceived: THROUGHPUT, Some(Told::Pcie), Some(|gpu| &mut gpu.pcie_received_bytes_per_second), [], [["pci", "rx_util"]];
    MaxLinkGeneration: COUNT, None, None, ["pcie.link.gen.max"], [["pci", "pci_gpu_link_info", "pcie_gen", "max_link_gen"]];
    MaxLinkWidth: COUNT, None, None, ["pcie.link.width.max"], [["pci", "pci_gpu_link_info", "link_widths", "max_link_width"]];
}

impl Figure {
    /// The figure in a column of a CSV.
    pub(super) fn of_column(name: &str) -> Option<Self> {
        FIGURES.iter().find(|row| row.columns.contains(&name)).map(|row| row.figure)
    }

    /// The paths of elements with their figures, of power or of everything else.
    pub(super) fn elements(
        is_power: bool,
    ) -> impl Iterator<Item = (&'static [&'static str], Self)> {
        let is_of_power = |row: &Row| matches!(row.told, Some(Told::Power | Told::PowerLimit));
        let rows = FIGURES.iter().filter(move |row| is_of_power(row) == is_power);
        rows.flat_map(|row| row.paths.iter().map(|path| (*path, row.figure)))
    }

    /// What it tells a summary by itself; `None` of what others are made from.
    pub(super) fn told(self) -> Option<Told> {
        FIGURES[self as usize].told
    }
}

impl Dimension {
    /// What one of a unit is in the unit that figures are kept in; `None` for a
    /// unit of something else.
    fn scale(&self, unit: &str) -> Option<f64> {
        let known = self.units.iter().find(|(name, _)| *name == unit);
        known.map(|(_, scale)| *scale).or(unit.is_empty().then_some(1.0))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell<'a> {
    /// A number and its unit, which may be empty.
    Number(f64, &'a str),
    /// That there is no such figure.
    Absent,
    /// That the GPU could not be asked just now.
    Failed,
    /// That the GPU is gone, and in which words.
    Lost(&'a str),
    /// Something else.
    Text(&'a str),
}

pub(super) fn cell(text: &str) -> Cell<'_> {
    let text = text.trim();
    let words = text.trim_start_matches('[').trim_end_matches(']').trim();
    let lower = words.to_ascii_lowercase();
    if lower.contains("gpu is lost") || lower.contains("gpu requires reset") {
        return Cell::Lost(words);
    }
    match lower.as_str() {
        "" | "n/a" | "not supported" | "unsupported" | "not available" | "none" => Cell::Absent,
        "requested functionality has been deprecated" | "insufficient permissions" => Cell::Absent,
        "unknown error" | "err!" | "timeout" => Cell::Failed,
        _ => number(text).unwrap_or(Cell::Text(words)),
    }
}

fn number(text: &str) -> Option<Cell<'_>> {
    let is_figure = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let end = text.find(|c: char| !is_figure(c)).unwrap_or(text.len());
    let value: f64 = text[..end].parse().ok()?;
    let unit = text[end..].trim();
    let is_unit = unit.len() <= 5 && !unit.contains(|c: char| c.is_ascii_digit());
    (value.is_finite() && is_unit).then_some(Cell::Number(value, unit))
}

/// Text of a cell, unless it says that there is none.
pub(super) fn words(text: &str) -> Option<&str> {
    match cell(text) {
        Cell::Number(..) | Cell::Text(_) => Some(text.trim()),
        Cell::Absent | Cell::Failed | Cell::Lost(_) => None,
    }
}

/// An id of a GPU, unless it is blank.
pub(super) fn uuid(text: &str) -> Option<String> {
    let uuid = words(text)?;
    let digits = uuid.trim_start_matches("GPU-").trim_start_matches("MIG-");
    (!is_blank(digits)).then(|| uuid.to_owned())
}

/// The serial number of a board, unless it is blank.
pub(super) fn serial(text: &str) -> Option<String> {
    let serial = words(text)?;
    (!is_blank(serial)).then(|| serial.to_owned())
}

/// Characters from which a text of one repeated character is not an id.
const FEWEST_OF_AN_ID: usize = 8;

/// Whether this is what is left of an id in a log that was made anonymous, and so
/// the same for every GPU: zeros alone, or one character over and over.
fn is_blank(id: &str) -> bool {
    let digits: Vec<char> = id.chars().filter(|c| *c != '-').collect();
    let is_one = digits.windows(2).all(|pair| pair[0] == pair[1]);
    digits.iter().all(|c| *c == '0') || (is_one && digits.len() >= FEWEST_OF_AN_ID)
}

/// What one sample of one GPU found, cell by cell.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    values: [Option<f64>; FIGURES.len()],
    throttle: Option<u64>,
    lost: Option<String>,
    asked: usize,
    failed: usize,
    /// Cells that are not the figure that stands above them.
    pub unreadable: u64,
    /// Figures that cannot be, such as 120 %.
    pub impossible: u64,
}

impl Figures {
    /// Reads a figure. `unit` is that of the header, for cells without one. The
    /// first of several sources of one figure counts.
    pub(super) fn put(&mut self, figure: Figure, unit: &str, text: &str) {
        self.asked += 1;
        let (value, own) = match cell(text) {
            Cell::Number(value, own) => (value, own),
            Cell::Absent => return,
            Cell::Failed => return self.failed += 1,
            Cell::Lost(reason) => return self.lose(reason),
            Cell::Text(_) => return self.unreadable += 1,
        };
        let unit = if own.is_empty() { unit } else { own };
        let dimension = &FIGURES[figure as usize].dimension;
        let Some(scale) = dimension.scale(unit) else {
            return self.unreadable += 1;
        };
        let value = value * scale;
        if dimension.possible.contains(&value) {
            self.values[figure as usize].get_or_insert(value);
        } else {
            self.impossible += 1;
        }
    }

    /// The first reason counts.
    fn lose(&mut self, reason: &str) {
        self.lost.get_or_insert_with(|| crate::domain::safe(reason));
    }

    /// Reads the mask of what holds the clocks back, in hexadecimal.
    pub(super) fn put_throttle_mask(&mut self, text: &str) {
        if let Cell::Lost(reason) = cell(text) {
            self.lose(reason);
        }
        let digits = text.trim().strip_prefix("0x");
        if let Some(mask) = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
            *self.throttle.get_or_insert(0) |= mask;
        }
    }

    /// Reads whether one reason holds the clocks back.
    pub(super) fn put_throttle_bit(&mut self, bit: u64, text: &str) {
        match text.trim() {
            "Active" => *self.throttle.get_or_insert(0) |= bit,
            "Not Active" => {
                self.throttle.get_or_insert(0);
            }
            _ => {}
        }
    }

    pub(super) fn get(&self, figure: Figure) -> Option<f64> {
        self.values[figure as usize]
    }

    /// Whether there is anything to go by.
    pub(super) fn has_any(&self) -> bool {
        self.throttle.is_some() || self.values.iter().any(Option::is_some)
    }

    /// Why the GPU did not answer, if it did not.
    pub(super) fn lost(&self) -> Option<String> {
        let is_failed = self.failed > 0 && !self.has_any();
        self.lost.clone().or_else(|| is_failed.then(|| "Unknown Error".to_owned()))
    }

    /// Whether every cell was something else than a figure.
    pub(super) fn is_junk(&self) -> bool {
        self.asked > 0 && self.unreadable as usize == self.asked
    }

    /// What they say of a GPU that does not change.
    pub(super) fn put_limits(&self, gpu: &mut GpuIdentity) {
        gpu.vram_total_mib = self.get(Figure::VramTotal);
        // The limit in force.
        gpu.power_limit_w = self.get(Figure::EnforcedPowerLimit).or(self.get(Figure::PowerLimit));
        gpu.power_default_limit_w = self.get(Figure::DefaultPowerLimit);
        gpu.pcie_max_bytes_per_second =
            self.get(Figure::MaxLinkGeneration).and_then(|generation| {
                pcie_bytes_per_second(generation as u32, self.get(Figure::MaxLinkWidth)?)
            });
    }

    /// The reading, without processes.
    pub(super) fn reading(&self) -> GpuReading {
        let throttle = self.throttle.map(ThrottleReasons);
        let mut reading = GpuReading { throttle, ..GpuReading::default() };
        for (row, value) in FIGURES.iter().zip(self.values) {
            if let Some(field) = row.field {
                let field = field(&mut reading);
                *field = field.or(value);
            }
        }
        reading
    }
}

/// Reasons that hold the clocks back by the ends of their names, in order of their bits.
const REASONS: [&str; 9] = [
    "gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost",
    "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown",
    "display_clocks_setting",
];

/// The bit of a reason that holds the clocks back, by the end of its name.
pub(super) fn throttle_bit(name: &str) -> Option<u64> {
    REASONS.iter().position(|reason| *reason == name).map(|bit| 1 << bit)
}

/// Whether a GPU is divided, in the words of the mode.
pub(super) fn is_enabled(text: &str) -> Option<bool> {
    match text.trim() {
        "Enabled" => Some(true),
        "Disabled" => Some(false),
        _ => None,
    }
}
