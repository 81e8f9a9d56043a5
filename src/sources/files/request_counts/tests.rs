use super::*;

/// What is read of a text: milliseconds and requests, or what is wrong.
fn read(text: &str) -> Result<Vec<(i64, f64)>, String> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("counts");
    std::fs::write(&path, text).expect("writable");
    let counts = read_request_counts(&path).map_err(|error| {
        let mut text = error.to_string();
        if let Some(source) = std::error::Error::source(&error) {
            text.push_str(&format!(" / {source}"));
        }
        text.replace(&path.display().to_string(), "FILE")
    })?;
    let pairs = counts.iter();
    Ok(pairs.map(|count| (count.at_milliseconds, count.requests)).collect())
}

const FIRST: i64 = 1_793_491_200_000;

#[test]
fn answers_of_cloudwatch_are_read_in_any_order() {
    // As `aws cloudwatch get-metric-data` prints them: the latest first, in two pages.
    let text = r#"{
        "MetricDataResults": [
            {"Id": "requests", "Label": "RequestCount", "StatusCode": "PartialData",
             "Timestamps": ["2026-11-01T00:02:00+00:00", "2026-11-01T00:01:00+00:00"],
             "Values": [30.0, 20]},
            {"Id": "requests", "Label": "RequestCount", "StatusCode": "Complete",
             "Timestamps": ["2026-11-01T00:00:00Z"], "Values": [10.5]}
        ],
        "Messages": [], "NextToken": null
    }"#;
    let expected = [(0, 10.5), (60_000, 20.0), (120_000, 30.0)];
    let expected = expected.map(|(after, requests)| (FIRST + after, requests));
    assert_eq!(read(text), Ok(expected.to_vec()));
    // Version 1 of the program may print seconds.
    let text = r#"{"MetricDataResults": [
        {"Id": "m", "Timestamps": [1793491200.0, 1793491260], "Values": [1, 2]}]}"#;
    let expected = vec![(FIRST, 1.0), (FIRST + 60_000, 2.0)];
    assert_eq!(read(text), Ok(expected));
}

#[test]
fn series_of_prometheus_are_added_up() {
    let text = r#"{"status": "success", "data": {"resultType": "matrix", "result": [
        {"metric": {"pod": "a"}, "values": [[1793491200, "1"], [1793491260.5, "2.5"]]},
        {"metric": {"pod": "b"}, "values": [[1793491260.5, "4"]]}]}, "warnings": ["x"]}"#;
    let expected = vec![(FIRST, 1.0), (FIRST + 60_500, 6.5)];
    assert_eq!(read(text), Ok(expected));
}

#[test]
fn rows_are_read_in_the_forms_of_exports() {
    let text = "\u{feff}Time,target,Request Count\r\n2026-11-01T00:00:00Z,a,5\r\n\
                2026-11-01 00:05:00,a,0\r\n";
    let expected = vec![(FIRST, 5.0), (FIRST + 300_000, 0.0)];
    assert_eq!(read(text), Ok(expected));
    let text = "timestamp,sum\n1793491200,5\n1793491200.25,7e3\n";
    let expected = vec![(FIRST, 5.0), (FIRST + 250, 7_000.0)];
    assert_eq!(read(text), Ok(expected));
}

#[test]
fn what_is_no_result_says_why() {
    let metric = |rest: &str| format!("{{\"MetricDataResults\": [{{\"Id\": \"m\", {rest}}}]}}");
    let matrix = |kind: &str, result: &str| {
        format!(
            "{{\"status\": \"success\", \"data\": {{\"resultType\": \"{kind}\", \"result\": \
             {result}}}}}"
        )
    };
    let one = "{\"Id\": \"a\", \"Timestamps\": [1], \"Values\": [1]}";
    let time = "expected a time such as 2026-11-01T00:00:00Z, or Unix seconds";
    let number = "expected a number of requests from 0 to 10^15";
    let place = format!(
        "invalid request counts in FILE at `MetricDataResults[0].Timestamps[0]` / invalid value: string \
         \"soon\", {time}"
    );
    for (text, says) in [
        ("{}".to_owned(), "FILE: expected `MetricDataResults`"),
        ("{\"MetricDataResults\": []}".to_owned(), "FILE: it has no counts"),
        (metric("\"Timestamps\": [], \"Values\": []"), "FILE: it has no counts"),
        (metric("\"Timestamps\": [1, 2], \"Values\": [1]"), "FILE: 2 timestamps and 1 values"),
        (
            metric("\"Timestamps\": [60, 60], \"Values\": [1, 1]"),
            "FILE: two counts at 1970-01-01T00:01:00Z",
        ),
        (
            metric("\"Timestamps\": [1], \"Values\": [1], \"StatusCode\": \"Forbidden\""),
            "FILE: the status of the metric is `Forbidden`",
        ),
        (
            format!("{{\"MetricDataResults\": [{one}, {}]}}", one.replace("\"a\"", "\"b\"")),
            "FILE: it has 2 metrics, such as `a`, `b`: add them up",
        ),
        (metric("\"Timestamps\": [\"soon\"], \"Values\": [1]"), place.as_str()),
        (metric("\"Timestamps\": [1e12], \"Values\": [1]"), time),
        (metric("\"Timestamps\": [null], \"Values\": [1]"), "invalid type: null"),
        (metric("\"Timestamps\": [1], \"Values\": [-1]"), number),
        (metric("\"Timestamps\": [1], \"Values\": [1e16]"), number),
        (metric("\"Timestamps\": [1], \"Values\": [\"NaN\"]"), number),
        (metric("\"Timestamps\": [1], \"Values\": [1e999]"), "FILE is not complete JSON"),
        (metric("\"Values\": [1]"), "missing field `Timestamps`"),
        ("{\"MetricDataResults\": [".to_owned(), "FILE is not complete JSON"),
        (
            "{\"status\": \"error\", \"errorType\": \"bad_data\", \"error\": \"parse\"}".to_owned(),
            "FILE: Prometheus answered with an error: `bad_data` `parse`",
        ),
        (
            matrix("vector", "[{\"metric\": {}, \"value\": [1, \"2\"]}]"),
            "FILE: the answer is a `vector`: ask `query_range`",
        ),
        (matrix("matrix", "[]"), "FILE: it has no counts"),
        (matrix("matrix", "[{\"values\": [[1, \"NaN\"]]}]"), number),
        (matrix("matrix", "[{\"values\": [[1, \"+Inf\"]]}]"), number),
        (
            matrix("matrix", "[{\"values\": [[2, \"1\"], [1, \"1\"]]}]"),
            "FILE: 1970-01-01T00:00:01Z is not after the time before it",
        ),
        (String::new(), "FILE:1: no column `time`"),
        ("time,requests\n".to_owned(), "FILE:1: it has no counts"),
        ("time,count,sum\n1,1,1\n".to_owned(), "FILE:1: the columns `count` and `sum` mean"),
        ("time,requests\n1,-1\n".to_owned(), "FILE:2: `-1` is not a number of requests"),
        ("time,requests\n1,NaN\n".to_owned(), "FILE:2: `NaN` is not a number of requests"),
        ("time,requests\nNaN,1\n".to_owned(), "FILE:2: `NaN` is not a time"),
        ("time,requests\n2,1\n1,1\n".to_owned(), "FILE:3: the time `1` is not after"),
        ("[1]".to_owned(), "FILE:1: no column `time`"),
    ] {
        let message = read(&text).expect_err(&text);
        assert!(message.contains(says), "{text}: {message}");
    }
}
