//! Series of an estate: each is checked and placed on its grid as it is read.

use crate::domain::{
    AtMost, JoinedBy, MOST_GPUS, Maybe, Metric, Rejected, ResourceId, SeriesSource, Statistic,
    Time, Window,
};
use crate::files::shared::json::{InvalidJson, JsonError, read_json};
use crate::files::shared::same_fields;
use crate::usage::{Points, Series};
use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// Values of one series: 500 days of minutes, more than any source keeps. More
/// is an error that would fill the memory.
pub(super) const MOST_PERIODS: u64 = 1_000_000;

const HOUR_SECONDS: u32 = 3_600;

/// One metric of one instance, or of one of its GPUs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = [
    {"properties": {"start": {"type": "string"}, "timestamps": {"type": "null"}}, "allOf": [{"required": ["start"]}]},
    {"properties": {"start": {"type": "null"}, "timestamps": {"type": "array"}}, "allOf": [{"required": ["timestamps"]}]},
]))]
#[serde(deny_unknown_fields, expecting = "a series object")]
pub(super) struct SeriesWire {
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
    #[serde(deserialize_with = "cells")]
    #[schemars(length(max = MOST_CELLS))]
    pub values: Vec<Cell>,
}

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
pub(super) struct Cell {
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

/// The cells of a list of values, with the place of what is wrong in it.
fn cells<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Cell>, D::Error> {
    let list = Box::<RawValue>::deserialize(deserializer)?;
    read_cells(list.get()).map_err(|JsonError { place, source }| {
        let words = match source {
            InvalidJson::Value(invalid) => invalid.words,
            // It was read as JSON before, which numbers out of range and halves of surrogate
            // pairs pass.
            InvalidJson::Text(_) => "invalid number or string".to_owned(),
        };
        de::Error::custom(format_args!("{words}, at `values{place}`"))
    })
}

/// What names the place of an error takes several times as long, and reads only what is not such
/// a list.
fn read_cells(text: &str) -> Result<Vec<Cell>, JsonError> {
    type List = AtMost<Cell, MOST_CELLS>;
    let list = serde_json::from_str::<List>(text)
        .or_else(|_| read_json(text.as_bytes(), text.len(), PhantomData::<List>));
    list.map(|list| list.0)
}

/// A series on the grid of its estate.
pub(super) fn series(wire: SeriesWire, window: Window, grid_period: u32) -> Result<Series, String> {
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
    Ok(same_fields!(wire => Series {
        instance, gpu, statistic, source, joined_by;
        metric,
        points,
        rejected: rejected.plus(wire.rejected.unwrap_or_default()),
    }))
}

fn expand(cells: &[Cell]) -> impl Iterator<Item = Option<f64>> + '_ {
    cells.iter().flat_map(|cell| std::iter::repeat_n(cell.value, cell.times as usize))
}

/// A series as an estate states it.
pub(super) fn series_wire(series: &Series) -> SeriesWire {
    same_fields!(series => SeriesWire {
        gpu, metric, statistic, source, joined_by;
        instance: series.instance.clone(),
        rejected: (series.rejected.total() > 0).then_some(series.rejected),
        period_seconds: series.points.period_seconds(),
        start: Some(series.points.start()),
        timestamps: None,
        values: cells_of(&series.points),
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn by_the_parser(text: &str) -> Option<Vec<Cell>> {
        serde_json::from_str(text).ok()
    }

    #[test]
    fn numbers_absent_values_and_repetitions_are_read() {
        for text in [
            "[]", " [ 1 , null,\n[2.5, 3] ] ", "[1e3, -1, 0.1, 123456789012345678]",
            "[\"NaN\", [null, 7]]",
        ] {
            let cells = read_cells(text.trim()).expect("a list of values");
            let expected = by_the_parser(text).expect("a list of values");
            assert_eq!(format!("{cells:?}"), format!("{expected:?}"), "{text}");
        }
    }

    #[test]
    fn an_error_has_its_place_in_the_list() {
        for (text, place) in [
            ("[1, \"much\"]", "[1]"),
            ("[[1, 0]]", "[0]"),
            ("[[1, 1.5]]", "[0][1]"),
            ("{\"a\": 1}", ""),
        ] {
            let error = read_cells(text).expect_err("it is wrong");
            assert_eq!(error.place, place, "{text}: {}", error.source);
        }
    }
}
