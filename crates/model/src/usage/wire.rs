//! The form of series in estate files: each is checked and placed on its grid as it is read.
//! It stands beside the arithmetic, because files have as many values as memory has points.

use super::{Points, Series};
use crate::domain::{
    AtMost, JoinedBy, MOST_GPUS, Maybe, Metric, Rejected, ResourceId, SeriesSource, Statistic,
    Time, Window,
};
use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Values of one series: 500 days of minutes, more than any source keeps. More
/// is an error that would fill the memory.
pub const MOST_PERIODS: u64 = 1_000_000;

const HOUR_SECONDS: u32 = 3_600;

/// One metric of one instance, or of one of its GPUs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = [
    {"properties": {"start": {"type": "string"}, "timestamps": {"type": "null"}}, "allOf": [{"required": ["start"]}]},
    {"properties": {"start": {"type": "null"}, "timestamps": {"type": "array"}}, "allOf": [{"required": ["timestamps"]}]},
]))]
#[schemars(rename = "Series")]
#[serde(deny_unknown_fields, expecting = "a series object")]
pub struct SeriesWire<V = Vec<Cell>> {
    /// ID of one of the instances, including those out of scope.
    pub instance: ResourceId,
    /// Index on the host; absent for metrics of the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = MOST_GPUS - 1))]
    pub gpu: Option<u16>,
    /// Utilization is 0-100, memory in MiB, power in watts.
    pub metric: Metric,
    pub statistic: Statistic,
    pub source: SeriesSource,
    #[serde(default = "by_instance_id")]
    pub joined_by: JoinedBy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Rejected>,
    /// Period of this series.
    #[schemars(range(min = 1))]
    pub period_seconds: u32,
    /// Time of the first value; one value per period follows.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    pub start: Option<Timestamp>,
    /// Instead of `start`: seconds since the epoch, one per value, in any order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<AtMost<i64, MOST_CELLS>>,
    #[schemars(length(max = MOST_CELLS))]
    pub values: V,
}

impl<V> SeriesWire<V> {
    /// The same with its cells.
    pub fn with(self, cells: impl FnOnce(V) -> Vec<Cell>) -> SeriesWire {
        SeriesWire {
            instance: self.instance,
            gpu: self.gpu,
            metric: self.metric,
            statistic: self.statistic,
            source: self.source,
            joined_by: self.joined_by,
            rejected: self.rejected,
            period_seconds: self.period_seconds,
            start: self.start,
            timestamps: self.timestamps,
            values: cells(self.values),
        }
    }
}

/// Cells as they stand in a file.
pub type Cells = AtMost<Cell, MOST_CELLS>;

/// A window holds at most some hundred thousand periods; more is an error that would otherwise
/// fill the memory.
const MOST_TIMES: u32 = 1_000_000;
/// Cells that one series may have.
const MOST_CELLS: usize = 1_000_000;

fn by_instance_id() -> JoinedBy {
    JoinedBy::InstanceId
}

/// A value, `null` where there is none, or `[value, times]` for a repetition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    pub value: Option<f64>,
    pub times: u32,
}

impl JsonSchema for Cell {
    fn schema_name() -> Cow<'static, str> {
        "Cell".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let number = "^(NaN|-?Infinity)$";
        json_schema!({
            "description": "A value, null for none, or [value, times] for a repetition; NaN as text is an invalid point.",
            "type": ["number", "null", "array", "string"],
            "pattern": number,
            "prefixItems": [
                { "type": ["number", "null", "string"], "pattern": number },
                { "type": "integer", "minimum": 1, "maximum": MOST_TIMES },
            ],
            "minItems": 2,
            "maxItems": 2,
        })
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.times == 1 {
            return Number(self.value).serialize(serializer);
        }
        let mut pair = serializer.serialize_tuple(2)?;
        pair.serialize_element(&Number(self.value))?;
        pair.serialize_element(&self.times)?;
        pair.end()
    }
}

/// Whole numbers without a decimal point: most readings are.
struct Number(Option<f64>);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            None => serializer.serialize_unit(),
            Some(value) if value.fract() == 0.0 && (0.0..1e9).contains(&value) => {
                serializer.serialize_u32(value as u32)
            }
            Some(value) => serializer.serialize_f64(value),
        }
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, null, or [number, times]")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Cell, E> {
        Ok(Cell { value: None, times: 1 })
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Cell, E> {
        Ok(Cell { value: Some(value), times: 1 })
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Cell, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Cell, E> {
        self.visit_f64(value as f64)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Cell, E> {
        // JSON has no NaN; some exporters write it as text.
        match text {
            "NaN" | "Infinity" | "-Infinity" => self.visit_f64(f64::NAN),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<Cell, A::Error> {
        let Cell { value, .. } =
            pair.next_element()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
        let times: u32 = pair.next_element()?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
        if times == 0 || times > MOST_TIMES {
            return Err(de::Error::custom(format!(
                "a repetition count must be between 1 and {MOST_TIMES}"
            )));
        }
        Ok(Cell { value, times })
    }
}

/// A series of an estate, read from its text without the place of what is wrong in it.
///
/// # Errors
/// When it is not a series.
pub fn read_series(text: &[u8]) -> serde_json::Result<SeriesWire> {
    let wire: SeriesWire<Cells> = serde_json::from_slice(text)?;
    Ok(wire.with(|cells| cells.0))
}

/// The values of a series, read in the same way.
///
/// # Errors
/// When they are not a list of values.
pub fn read_cells(text: &str) -> serde_json::Result<Vec<Cell>> {
    serde_json::from_str::<Cells>(text).map(|cells| cells.0)
}

/// A series on the grid of its estate.
///
/// # Errors
/// When it has another grid, or more than a series may have, with the reason.
pub fn placed_series(wire: SeriesWire, window: Window, grid_period: u32) -> Result<Series, String> {
    let metric = wire.metric;
    let name = format!("series {metric} of {}", wire.instance);
    if wire.gpu.is_some_and(|gpu| gpu >= MOST_GPUS) {
        return Err(format!("{name}: an instance has at most {MOST_GPUS} GPUs"));
    }
    // Whole hours may stand on a finer grid.
    let is_on_grid = wire.period_seconds == grid_period
        || (wire.period_seconds == HOUR_SECONDS
            && wire.source != SeriesSource::Profile
            && HOUR_SECONDS.is_multiple_of(grid_period)
            && window.start.as_second() % i64::from(HOUR_SECONDS) == 0);
    if wire.period_seconds == 0 || (metric.is_on_grid() && !is_on_grid) {
        return Err(format!(
            "{name} has a period of {} s; the estate has {grid_period} s",
            wire.period_seconds
        ));
    }
    let periods: u64 = wire.values.iter().map(|cell| u64::from(cell.times)).sum();
    if periods > MOST_PERIODS {
        return Err(format!("{name} has {periods} values; the maximum is {MOST_PERIODS}"));
    }
    let what = (metric, wire.statistic);
    let (points, rejected) = match (wire.start, &wire.timestamps) {
        (Some(start), None) => {
            let cells = wire.values.iter().map(|cell| (cell.value, cell.times));
            Points::regular(start, cells, what, window, wire.period_seconds)
        }
        (None, Some(AtMost(stamps))) => {
            let values: Vec<Option<f64>> = expand(&wire.values).collect();
            if values.len() != stamps.len() {
                return Err(format!(
                    "{name} has {} timestamps and {} values",
                    stamps.len(),
                    values.len()
                ));
            }
            let mut raw = Vec::with_capacity(values.len());
            for (second, value) in stamps.iter().zip(values) {
                let instant =
                    Timestamp::from_second(*second).map_err(|error| format!("{name}: {error}"))?;
                raw.extend(value.map(|value| (instant, value)));
            }
            Points::clean(raw, what, window, wire.period_seconds)
        }
        _ => {
            return Err(format!("{name} needs either `start` or `timestamps`"));
        }
    };
    Ok(Series {
        instance: wire.instance,
        gpu: wire.gpu,
        metric,
        statistic: wire.statistic,
        source: wire.source,
        joined_by: wire.joined_by,
        points,
        rejected: rejected.plus(wire.rejected.unwrap_or_default()),
    })
}

fn expand(cells: &[Cell]) -> impl Iterator<Item = Option<f64>> + '_ {
    cells.iter().flat_map(|cell| std::iter::repeat_n(cell.value, cell.times as usize))
}

/// A series as an estate states it.
pub fn series_wire(series: &Series) -> SeriesWire {
    SeriesWire {
        instance: series.instance.clone(),
        gpu: series.gpu,
        metric: series.metric,
        statistic: series.statistic,
        source: series.source,
        joined_by: series.joined_by,
        rejected: (series.rejected.total() > 0).then_some(series.rejected),
        period_seconds: series.points.period_seconds(),
        start: Some(series.points.start()),
        timestamps: None,
        values: cells_of(&series.points),
    }
}

/// Repetitions shorter than this are written out: `[0,2]` is longer than `0,0`.
const SHORTEST_REPETITION: u32 = 3;

fn cells_of(points: &Points) -> Vec<Cell> {
    let mut runs: Vec<Cell> = Vec::new();
    let mut push = |value: Option<f64>, times: u32| match runs.last_mut() {
        Some(last) if last.value == value => last.times += times,
        _ if times > 0 => runs.push(Cell { value, times }),
        _ => {}
    };
    let mut next = 0;
    for (index, value) in points.iter() {
        push(None, index - next);
        push(Some(value), 1);
        next = index + 1;
    }
    runs.into_iter()
        .flat_map(|run| {
            let (times, copies) =
                if run.times < SHORTEST_REPETITION { (1, run.times) } else { (run.times, 1) };
            std::iter::repeat_n(Cell { value: run.value, times }, copies as usize)
        })
        .collect()
}
