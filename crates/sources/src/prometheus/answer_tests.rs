use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time stamp")
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    let pairs = pairs.iter();
    pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
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

fn labels_of(series: SeriesData) -> Vec<Labels> {
    series.0.into_iter().map(|Named(labels)| labels).collect()
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
            points: vec![(at("2015-07-01T20:10:30.781Z"), 1.0), (at("2015-07-01T20:10:45Z"), 0.5)],
        },
        Row { labels: Labels::new(), points: Vec::new() },
    ];
    assert_eq!(rows.expect("a matrix"), expected);
    assert_eq!(matrix("{\"resultType\":\"matrix\",\"result\":null}"), Ok(Vec::new()));
}

#[test]
fn every_number_of_go_is_read() {
    let read = points(
        r#"[[1,"NaN"],[2,"+Inf"],[3,"-Inf"],[4,"1e-05"],[5,"1.7976931348623157e+308"],
            [6.5e0,"-0"],[7,3],[8,0.25],[9,-4]]"#,
    );
    let read: Vec<f64> = read.expect("points").into_iter().map(|(_, value)| value).collect();
    assert!(read[0].is_nan());
    let expected = [f64::INFINITY, f64::NEG_INFINITY, 1e-5, f64::MAX, -0.0, 3.0, 0.25, -4.0];
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
        r#"[[1,"one"]]"#, r#"[[1,""]]"#, r#"[[1]]"#, r#"[[1,"1","1"]]"#, r#"[["1","1"]]"#,
        r#"[[1e300,"1"]]"#, r#"[[1,null]]"#, r#"{"1":"1"}"#,
    ] {
        assert!(matches!(points(values), Err(Unread::Malformed(_))), "{values}");
    }
}

#[test]
fn a_vector_has_a_value_for_each_series() {
    let answer = read::<VectorData>(&success(
        r#"{"result":[{"metric":{"a":"b"},"value":[1,"2"]},
                      {"metric":{"a":"c"},"histogram":[1,{}]}],
            "resultType":"vector"}"#,
    ));
    let values = answer.expect("a vector").data.rows();
    let values: Vec<_> = values.into_iter().filter_map(VectorRow::labels_and_value).collect();
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
    assert_eq!(labels_of(answer.data), [labels(&[("a", "b")]), Labels::new()]);
}

#[test]
fn more_series_than_fit_are_told_from_what_is_malformed() {
    let list = |length: usize| success(&format!("[{}{{}}]", "{},".repeat(length - 1)));
    let read = |length| read::<SeriesData>(&list(length)).map(|answer| labels_of(answer.data));
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
fn what_is_no_result_of_this_api_is_told_from_what_is_malformed() {
    let why = |body: &str| read::<SeriesData>(body.as_bytes()).err();
    for foreign in ["", " <!DOCTYPE html>", "null", "[]", "{}", r#"{"message":"no"}"#] {
        assert_eq!(why(foreign), Some(Unread::Foreign), "{foreign}");
    }
    let refused = r#"{"status":"error","errorType":"bad_data","error":"no"}"#;
    assert_eq!(why(refused), Some(Unread::Refused));
    for malformed in ["{", r#"{"status":"success"}"#, r#"{"status":"success","data":{}}"#] {
        assert!(matches!(why(malformed), Some(Unread::Malformed(_))), "{malformed}");
    }
    let nested = format!("{{\"x\":{}", "[".repeat(100_000));
    assert!(matches!(why(&nested), Some(Unread::Malformed(_))));
}

#[test]
fn the_labels_of_a_series_have_an_end() {
    let series = |count: usize, value: &str| {
        let labels: Vec<String> =
            (0..count).map(|number| format!("\"l{number}\":\"{value}\"")).collect();
        let data = success(&format!("[{{{}}}]", labels.join(",")));
        read::<SeriesData>(&data).map(|answer| labels_of(answer.data)[0].len())
    };
    assert_eq!(series(MOST_LABELS, "v"), Ok(MOST_LABELS));
    // Names of two bytes: 16,384 bytes are the most.
    assert_eq!(series(1, &"v".repeat(MOST_LABEL_BYTES - 2)), Ok(1));
    for (count, value) in [(MOST_LABELS + 1, "v".to_owned()), (1, "v".repeat(MOST_LABEL_BYTES - 1))]
    {
        let Err(Unread::Malformed(words)) = series(count, &value) else {
            panic!("{count} labels are read");
        };
        assert!(words.starts_with(TOO_MANY_LABELS), "{words}");
    }
    // The same name again does not make room.
    let twice = vec!["\"l\":\"v\""; MOST_LABELS + 1].join(",");
    let read = matrix(&format!("{{\"result\":[{{\"metric\":{{{twice}}}}}]}}"));
    assert!(matches!(read, Err(Unread::Malformed(_))));
}

#[test]
fn the_points_of_a_series_have_an_end() {
    let list = |count: usize| format!("[{}]", vec!["[1,\"1\"]"; count].join(","));
    assert_eq!(points(&list(MOST_POINTS)).map(|all| all.len()), Ok(MOST_POINTS));
    let Err(Unread::Malformed(words)) = points(&list(MOST_POINTS + 1)) else {
        panic!("more than are requested are read");
    };
    assert!(words.starts_with(TOO_MANY_POINTS), "{words}");
}

#[test]
fn the_series_of_an_answer_take_a_bounded_amount_of_memory() {
    let read = |text: &str, most_bytes: usize| {
        let mut json = serde_json::Deserializer::from_str(text);
        let rows = many::<_, Row>(&mut json, most_bytes);
        rows.map(|rows| rows.len()).map_err(|error| error.to_string())
    };
    // A label of three bytes beside its 96, and two points of 24.
    let row = r#"{"metric":{"gpu":""},"values":[[1,"1"],[2,"1"]]}"#;
    let text = format!("[{row},{row}]");
    assert_eq!(read(&text, 2 * (3 + 96 + 48)), Ok(2));
    let refused = read(&text, 2 * (3 + 96 + 48) - 1).expect_err("one byte too many");
    assert!(refused.starts_with(TOO_MANY_SERIES), "{refused}");
}
