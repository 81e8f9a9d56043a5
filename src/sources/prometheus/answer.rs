//! What servers answer, read from JSON straight into rows.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer, IgnoredAny, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// Names and values of a series.
pub type Labels = BTreeMap<String, String>;

/// One series of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub labels: Labels,
    /// Ascending in time. NaN and the infinities are values like others.
    pub points: Vec<(Timestamp, f64)>,
}

/// Series in one answer: ten metrics of each of 25,000 GPUs. The labels of one take up to
/// a KiB, so that more of them do not fit into the memory that an audit needs.
const MOST_SERIES: usize = 250_000;
/// Warnings that are kept of one answer.
const MOST_WARNINGS: usize = 20;
const TOO_MANY_SERIES: &str = "more series than are read at once";
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
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct SeriesData(Many<Labels>);

impl SeriesData {
    pub fn labels(self) -> Vec<Labels> {
        self.0.0
    }
}

/// What `/api/v1/query_range` answers.
#[derive(Deserialize)]
pub(super) struct MatrixData {
    /// Only so that another type is refused by its name.
    #[serde(rename = "resultType")]
    _of: Option<OfMatrix>,
    result: Option<Many<MatrixRow>>,
}

#[derive(Deserialize)]
enum OfMatrix {
    #[serde(rename = "matrix")]
    Matrix,
}

#[derive(Deserialize)]
struct MatrixRow {
    #[serde(default)]
    metric: Labels,
    /// Absent where a series has histograms alone.
    #[serde(default)]
    values: Points,
}

impl MatrixData {
    pub fn rows(self) -> Vec<Row> {
        let rows = self.result.map_or_else(Vec::new, |Many(rows)| rows);
        let rows = rows.into_iter().map(|row| Row {
            labels: row.metric,
            points: row.values.0,
        });
        rows.collect()
    }
}

/// What `/api/v1/query` answers to a query for a vector.
#[derive(Deserialize)]
pub(super) struct VectorData {
    /// Only so that another type is refused by its name.
    #[serde(rename = "resultType")]
    _of: Option<OfVector>,
    result: Option<Many<VectorRow>>,
}

#[derive(Deserialize)]
enum OfVector {
    #[serde(rename = "vector")]
    Vector,
}

#[derive(Deserialize)]
struct VectorRow {
    #[serde(default)]
    metric: Labels,
    /// Absent where a series is a histogram.
    value: Option<Point>,
}

impl VectorData {
    pub fn values(self) -> Vec<(Labels, f64)> {
        let rows = self.result.map_or_else(Vec::new, |Many(rows)| rows);
        let values = rows
            .into_iter()
            .filter_map(|row| row.value.map(|Point(_, value)| (row.metric, value)));
        values.collect()
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
        let instant = instant.map_err(|_| de::Error::custom("a time stamp is out of range"))?;
        Ok(Self(instant, value))
    }
}

/// A value, which is text because JSON has no NaN.
struct Figure(f64);

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FigureVisitor).map(Self)
    }
}

struct FigureVisitor;

impl Visitor<'_> for FigureVisitor {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number as text")
    }

    // `NaN`, `+Inf` and `1e-05` are numbers for Rust as they are for Go.
    fn visit_str<E: de::Error>(self, text: &str) -> Result<f64, E> {
        text.parse()
            .map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }
}

/// The points of a series, ascending.
#[derive(Default)]
struct Points(Vec<(Timestamp, f64)>);

impl<'de> Deserialize<'de> for Points {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(PointsVisitor).map(Self)
    }
}

struct PointsVisitor;

impl<'de> Visitor<'de> for PointsVisitor {
    type Value = Vec<(Timestamp, f64)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of points")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut points: Self::Value = Vec::new();
        while let Some(Point(instant, value)) = list.next_element()? {
            points.push((instant, value));
        }
        if !points.is_sorted_by_key(|(instant, _)| *instant) {
            points.sort_by_key(|(instant, _)| *instant);
        }
        Ok(points)
    }
}

/// A list that is refused where it is longer than any that fits into memory.
struct Many<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_seq(ManyVisitor(PhantomData))
            .map(Self)
    }
}

struct ManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ManyVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of series")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut series = Vec::new();
        while let Some(one) = list.next_element()? {
            if series.len() == MOST_SERIES {
                return Err(de::Error::custom(TOO_MANY_SERIES));
            }
            series.push(one);
        }
        Ok(series)
    }
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
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time stamp")
    }

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn success(data: &str) -> Vec<u8> {
        format!("{{\"status\":\"success\",\"data\":{data}}}").into_bytes()
    }

    fn matrix(data: &str) -> Result<Vec<Row>, Unread> {
        read::<MatrixData>(&success(data)).map(|answer| answer.data.rows())
    }

    fn points(values: &str) -> Result<Vec<(Timestamp, f64)>, Unread> {
        let data = format!("{{\"result\":[{{\"metric\":{{}},\"values\":{values}}}]}}");
        matrix(&data).map(|rows| rows.into_iter().flat_map(|row| row.points).collect())
    }

    #[test]
    fn a_matrix_keeps_its_labels_and_values() {
        let rows = matrix(
            r#"{"resultType":"matrix","result":[
                {"metric":{"__name__":"up","gpu":"0"},
                 "values":[[1435781430.781,"1"],[1435781445,"0.5"]]},
                {"metric":{},"histograms":[[1435781430,{"count":"1"}]]}]}"#,
        );
        let expected = [
            Row {
                labels: labels(&[("__name__", "up"), ("gpu", "0")]),
                points: vec![
                    (at("2015-07-01T20:10:30.781Z"), 1.0),
                    (at("2015-07-01T20:10:45Z"), 0.5),
                ],
            },
            Row {
                labels: Labels::new(),
                points: Vec::new(),
            },
        ];
        assert_eq!(rows.expect("a matrix"), expected);
        assert_eq!(
            matrix("{\"resultType\":\"matrix\",\"result\":null}"),
            Ok(Vec::new())
        );
    }

    #[test]
    fn every_number_of_go_is_read() {
        let read = points(
            r#"[[1,"NaN"],[2,"+Inf"],[3,"-Inf"],[4,"1e-05"],[5,"1.7976931348623157e+308"],
                [6.5e0,"-0"],[7,3],[8,0.25],[9,-4]]"#,
        );
        let read: Vec<f64> = read
            .expect("points")
            .into_iter()
            .map(|(_, value)| value)
            .collect();
        assert!(read[0].is_nan());
        let expected = [
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e-5,
            f64::MAX,
            -0.0,
            3.0,
            0.25,
            -4.0,
        ];
        assert_eq!(read[1..], expected);
    }

    #[test]
    fn points_are_ascending_whatever_their_order_was() {
        let read = points(r#"[[3,"3"],[1,"1"],[2,"2"],[1,"4"]]"#).expect("points");
        let values: Vec<f64> = read.into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, [1.0, 4.0, 2.0, 3.0]);
    }

    #[test]
    fn what_is_no_point_is_refused() {
        for values in [
            r#"[[1,"one"]]"#,
            r#"[[1,""]]"#,
            r#"[[1]]"#,
            r#"[[1,"1","1"]]"#,
            r#"[["1","1"]]"#,
            r#"[[1e300,"1"]]"#,
            r#"[[1,null]]"#,
            r#"{"1":"1"}"#,
        ] {
            assert!(
                matches!(points(values), Err(Unread::Malformed(_))),
                "{values}"
            );
        }
    }

    #[test]
    fn a_vector_has_a_value_for_each_series() {
        let answer = read::<VectorData>(&success(
            r#"{"result":[{"metric":{"a":"b"},"value":[1,"2"]},
                          {"metric":{"a":"c"},"histogram":[1,{}]}],
                "resultType":"vector"}"#,
        ));
        let values = answer.expect("a vector").data.values();
        assert_eq!(values, [(labels(&[("a", "b")]), 2.0)]);
        let scalar = read::<VectorData>(&success(r#"{"resultType":"scalar","result":[1,"2"]}"#));
        let Some(Unread::Malformed(words)) = scalar.err() else {
            panic!("a scalar is not a vector");
        };
        assert!(words.starts_with("unknown variant `scalar`"), "{words}");
    }

    #[test]
    fn series_are_labels() {
        let answer = read::<SeriesData>(&success(r#"[{"a":"b"},{}]"#)).expect("series");
        assert_eq!(answer.data.labels(), [labels(&[("a", "b")]), Labels::new()]);
    }

    #[test]
    fn more_series_than_fit_are_told_from_what_is_malformed() {
        let list = |length: usize| success(&format!("[{}{{}}]", "{},".repeat(length - 1)));
        let read = |length| read::<SeriesData>(&list(length)).map(|answer| answer.data.labels());
        assert_eq!(read(MOST_SERIES).expect("series").len(), MOST_SERIES);
        assert_eq!(read(MOST_SERIES + 1), Err(Unread::TooManySeries));
    }

    #[test]
    fn warnings_are_kept_up_to_a_number() {
        let warnings = vec!["\"w\""; MOST_WARNINGS + 5].join(",");
        let body = format!(
            "{{\"warnings\":[{warnings}],\"isPartial\":true,\"status\":\"success\",\"data\":[]}}"
        );
        let answer = read::<SeriesData>(body.as_bytes()).expect("series");
        assert_eq!(answer.warnings.len(), MOST_WARNINGS + 1);
        assert_eq!(answer.warnings.last().map(String::as_str), Some(PARTIAL));
        let none = br#"{"status":"success","data":[],"warnings":null}"#;
        assert_eq!(read::<SeriesData>(none).expect("series").warnings.len(), 0);
    }

    #[test]
    fn what_is_no_answer_of_this_api_is_told_from_what_is_malformed() {
        let why = |body: &str| read::<SeriesData>(body.as_bytes()).err();
        for foreign in [
            "",
            " <!DOCTYPE html>",
            "null",
            "[]",
            "{}",
            r#"{"message":"no"}"#,
        ] {
            assert_eq!(why(foreign), Some(Unread::Foreign), "{foreign}");
        }
        let refused = r#"{"status":"error","errorType":"bad_data","error":"no"}"#;
        assert_eq!(why(refused), Some(Unread::Refused));
        for malformed in [
            "{",
            r#"{"status":"success"}"#,
            r#"{"status":"success","data":{}}"#,
        ] {
            assert!(
                matches!(why(malformed), Some(Unread::Malformed(_))),
                "{malformed}"
            );
        }
        let nested = format!("{{\"x\":{}", "[".repeat(100_000));
        assert!(matches!(why(&nested), Some(Unread::Malformed(_))));
    }
}
