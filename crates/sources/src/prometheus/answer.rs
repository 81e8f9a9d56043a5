//! What servers answer, read from JSON straight into rows.

use crate::files::TextOrNumber;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// Names and values of a series.
pub type Labels = BTreeMap<String, String>;

/// One series of a matrix.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Row {
    #[serde(rename = "metric", default, deserialize_with = "labels")]
    pub labels: Labels,
    /// Ascending in time; none where a series has histograms alone. NaN and the infinities are
    /// values like others.
    #[serde(rename = "values", default, deserialize_with = "points")]
    pub points: Vec<(Timestamp, f64)>,
}

/// Series in one answer: ten metrics of each of 25,000 GPUs. The labels of one take up to
/// a KiB, so that more of them do not fit into the memory that an audit needs.
const MOST_SERIES: usize = 250_000;
/// What the series of one answer may take in memory. Packed text can become a hundred
/// times as much.
const MOST_BYTES: usize = 512 << 20;
/// Labels of a series; Mimir takes 30, and those of a pod may be added.
const MOST_LABELS: usize = 200;
/// Bytes of the names and values of a series.
const MOST_LABEL_BYTES: usize = 16 << 10;
/// What a label takes in memory beside its text.
const LABEL_BYTES: usize = 96;
/// Points of a series: one more than this program asks for.
const MOST_POINTS: usize = 11_001;
/// Warnings that are kept of one answer.
const MOST_WARNINGS: usize = 20;
const TOO_MANY_SERIES: &str = "more series than are read at once";
const TOO_MANY_LABELS: &str = "a series has more labels than are read";
pub(super) const TOO_MANY_POINTS: &str = "a series has more points than were requested";
const PARTIAL: &str = "the server marked its response as partial";

/// What is read of an answer.
#[derive(Debug, PartialEq)]
pub(super) struct Answer<T> {
    pub data: T,
    /// In the server's words.
    pub warnings: Vec<String>,
}

/// Why an answer is not read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is not from this API: no JSON object, or one without a status.
    Foreign,
    /// It is not in the format of the API, in the words of the parser.
    Malformed(String),
    TooManySeries,
    /// The server says in it that the call failed.
    Refused,
}

/// Reads the body of an answer.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<Answer<T>, Unread> {
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(Unread::Foreign);
    }
    let envelope: Envelope<T> = serde_json::from_slice(body).map_err(|error| {
        let words = error.to_string();
        if words.starts_with(TOO_MANY_SERIES) {
            Unread::TooManySeries
        } else {
            Unread::Malformed(words)
        }
    })?;
    match envelope.status.as_str() {
        "success" => {}
        "error" => return Err(Unread::Refused),
        _ => return Err(Unread::Foreign),
    }
    let Some(data) = envelope.data else {
        return Err(Unread::Malformed("it has no data".to_owned()));
    };
    let mut warnings = envelope.warnings.map_or_else(Vec::new, |Few(kept)| kept);
    if envelope.is_partial {
        warnings.push(PARTIAL.to_owned());
    }
    Ok(Answer { data, warnings })
}

/// What is around the data of every call.
#[derive(Deserialize)]
struct Envelope<T> {
    #[serde(default)]
    status: String,
    data: Option<T>,
    warnings: Option<Few>,
    /// A VictoriaMetrics cluster says so where a node is missing.
    #[serde(default, rename = "isPartial")]
    is_partial: bool,
}

/// What `/api/v1/series` answers.
pub(super) type SeriesData = Many<Named>;

/// What `/api/v1/query_range` answers.
pub(super) type MatrixData = ResultData<OfMatrix, Row>;

/// What `/api/v1/query` answers to a query for a vector.
pub(super) type VectorData = ResultData<OfVector, VectorRow>;

/// What a query answers.
#[derive(Deserialize)]
#[serde(bound(deserialize = "K: Deserialize<'de>, R: Deserialize<'de> + Heavy"))]
pub(super) struct ResultData<K, R> {
    /// Only so that another type is refused by its name.
    #[serde(rename = "resultType")]
    _of: Option<K>,
    result: Option<Many<R>>,
}

impl<K, R> ResultData<K, R> {
    pub fn rows(self) -> Vec<R> {
        self.result.map_or_else(Vec::new, |Many(rows)| rows)
    }
}

#[derive(Deserialize)]
pub(super) enum OfMatrix {
    #[serde(rename = "matrix")]
    Matrix,
}

#[derive(Deserialize)]
pub(super) enum OfVector {
    #[serde(rename = "vector")]
    Vector,
}

#[derive(Deserialize)]
pub(super) struct VectorRow {
    #[serde(default)]
    metric: Named,
    /// Absent where a series is a histogram.
    value: Option<Point>,
}

impl VectorRow {
    pub fn labels_and_value(self) -> Option<(Labels, f64)> {
        Some((self.metric.0, self.value?.1))
    }
}

/// An instant and a value: `[1435781451.781, "0.5"]`.
struct Point(Timestamp, f64);

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (seconds, Figure(value)) = <(f64, Figure)>::deserialize(deserializer)?;
        // Servers write milliseconds at most. What is out of range saturates, and is
        // out of range.
        let instant = Timestamp::from_millisecond((seconds * 1e3).round() as i64);
        Ok(Self(instant.map_err(|_| de::Error::custom("a time stamp is out of range"))?, value))
    }
}

/// A value, which is text because JSON has no NaN.
struct Figure(f64);

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = TextOrNumber {
            expected: "a number as text",
            // `NaN`, `+Inf` and `1e-05` are numbers for Rust as they are for Go.
            of_text: |text| text.parse().ok(),
            of_number: Some,
        };
        deserializer.deserialize_any(number).map(Self)
    }
}

/// The points of a series, ascending.
fn points<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(Timestamp, f64)>, D::Error> {
    let mut points = Vec::new();
    let take = |Point(instant, value)| {
        points.push((instant, value));
        if points.len() > MOST_POINTS { Err(TOO_MANY_POINTS) } else { Ok(()) }
    };
    deserializer.deserialize_seq(Each { expecting: "a list of points", take, of: PhantomData })?;
    if !points.is_sorted_by_key(|(instant, _)| *instant) {
        points.sort_by_key(|(instant, _)| *instant);
    }
    Ok(points)
}

/// A list whose values are taken one by one, until one is refused.
struct Each<T, F> {
    expecting: &'static str,
    take: F,
    of: PhantomData<T>,
}

impl<'de, T, F> Visitor<'de> for Each<T, F>
where
    T: Deserialize<'de>,
    F: FnMut(T) -> Result<(), &'static str>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(value) = list.next_element()? {
            (self.take)(value).map_err(de::Error::custom)?;
        }
        Ok(())
    }
}

/// What tells a series from others, with an end.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Named(#[serde(deserialize_with = "labels")] pub(super) Labels);

fn labels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Labels, D::Error> {
    deserializer.deserialize_map(LabelsVisitor)
}

struct LabelsVisitor;

impl<'de> Visitor<'de> for LabelsVisitor {
    type Value = Labels;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of labels")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
        let mut labels = Labels::new();
        let (mut count, mut bytes) = (0, 0);
        while let Some((name, value)) = map.next_entry::<String, String>()? {
            count += 1;
            bytes += name.len() + value.len();
            if count > MOST_LABELS || bytes > MOST_LABEL_BYTES {
                return Err(de::Error::custom(TOO_MANY_LABELS));
            }
            labels.insert(name, value);
        }
        Ok(labels)
    }
}

/// What takes memory.
pub(super) trait Heavy {
    fn bytes(&self) -> usize;
}

impl Heavy for Labels {
    fn bytes(&self) -> usize {
        self.iter().map(|(name, value)| name.len() + value.len() + LABEL_BYTES).sum()
    }
}

impl Heavy for Named {
    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

impl Heavy for Row {
    fn bytes(&self) -> usize {
        self.labels.bytes() + size_of_val(self.points.as_slice())
    }
}

impl Heavy for VectorRow {
    fn bytes(&self) -> usize {
        self.metric.bytes()
    }
}

/// A list that is refused where it is longer than any that fits into memory.
pub(super) struct Many<T>(pub(super) Vec<T>);

impl<'de, T: Deserialize<'de> + Heavy> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        many(deserializer, MOST_BYTES).map(Self)
    }
}

fn many<'de, D, T>(deserializer: D, most_bytes: usize) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Heavy,
{
    let (mut series, mut bytes) = (Vec::new(), 0_usize);
    let take = |row: T| {
        bytes = bytes.saturating_add(row.bytes());
        series.push(row);
        let is_within = series.len() <= MOST_SERIES && bytes <= most_bytes;
        if is_within { Ok(()) } else { Err(TOO_MANY_SERIES) }
    };
    deserializer.deserialize_seq(Each { expecting: "a list of series", take, of: PhantomData })?;
    Ok(series)
}

/// The beginning of a list of texts, however long it is.
struct Few(Vec<String>);

impl<'de> Deserialize<'de> for Few {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FewVisitor).map(Self)
    }
}

struct FewVisitor;

impl<'de> Visitor<'de> for FewVisitor {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of texts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<String>, A::Error> {
        let mut kept = Vec::new();
        while kept.len() < MOST_WARNINGS {
            match list.next_element()? {
                Some(text) => kept.push(text),
                None => return Ok(kept),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(kept)
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
