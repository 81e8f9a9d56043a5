use super::*;
use crate::files::parse_estate;
use flate2::read::GzDecoder;
use std::io;

/// Hands over a few bytes at a time, so that every byte is once the last of a buffer.
struct Slow<'a>(&'a [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.1.min(self.0.len()).min(into.len());
        let (now, later) = self.0.split_at(length);
        into[..length].copy_from_slice(now);
        self.0 = later;
        Ok(length)
    }
}

fn stream(text: &[u8], length: usize) -> Result<String, Error> {
    let read = read_stream(Slow(text, length), &mut Parts::new(Keep::Points));
    read.map(|estate| format!("{estate:?}"))
}

fn by_the_parser(text: &[u8]) -> Option<String> {
    parse_estate(text).ok().map(|estate| format!("{estate:?}"))
}

#[test]
fn an_estate_is_what_the_parser_reads() {
    let mut text = Vec::new();
    GzDecoder::new(&include_bytes!("../../../../../fixtures/demo/mixed-fleet.json.gz")[..])
        .read_to_end(&mut text)
        .expect("a demo");
    assert_eq!(stream(&text, 4_096).ok(), by_the_parser(&text));
}

#[test]
fn texts_brackets_and_spaces_are_those_of_json_wherever_a_buffer_ends() {
    let whole = br#" { "estate_version" :"1", "gpucost_version": ["}]\\\"{[", {"a": [1e3, null]}],
        "as_of":"2026-11-01T00:00:00Z", "period_seconds": 300,
        "window_start": "2026-10-31T00:00:00Z", "window_end": "2026-11-01T00:00:00Z",
        "accounts": ["\u007d\\", "b"], "commitment_sharing": false, "instances": [
          {"id": "i-1", "account": "111122223333", "region": "us-east-1", "state": "running",
           "instance_type": "g5.xlarge", "launch_time": "2026-01-01T00:00:00Z",
           "tags": {"Name": "a \"b\" ]}{["}}],
        "metrics" : [ {"instance": "i-1", "gpu": 0, "metric": "gpu_utilization",
           "statistic": "average", "source": "cloudwatch-agent", "period_seconds": 300,
           "start": "2026-10-31T00:00:00Z", "values": [1, 2.5 ,[3,4], null, "NaN"]} ]
        } "#;
    let expected = by_the_parser(whole);
    assert!(expected.is_some(), "{:?}", parse_estate(&whole[..]).err());
    for length in 1..9 {
        assert_eq!(stream(whole, length).ok(), expected, "{length} bytes at a time");
    }
    for end in 0..whole.len() - 1 {
        assert!(stream(&whole[..end], 64).is_err(), "{end} bytes are complete");
    }
}

#[test]
fn what_the_parser_refuses_is_refused() {
    let rest = r#""estate_version": "1", "as_of": "2026-11-01T00:00:00Z""#;
    let long = "x".repeat(LONGEST_TEXT + 1);
    for text in [
        format!("{{{rest},}}"),
        format!("{{,{rest}}}"),
        format!("{{{rest}}} 1"),
        format!("{{{rest} \"regions\": []}}"),
        format!("{{{rest}, \"regions\": [}}"),
        format!("{{{rest}, \"regions\": [[}}]}}"),
        format!("{{{rest}, \"regions\" []}}"),
        format!("{{{rest}, \"metrics\": {{}}}}"),
        format!("{{{rest}, \"metrics\": [,]}}"),
        format!("{{{rest}, \"metrics\": [1]}}"),
        format!("{{{rest}, \"metrics\": null}}"),
        format!("{{{rest}, {rest}}}"),
        format!("{{{rest}, \"period_seconds\": 3\u{c}}}"),
        format!("{{{rest}, \"regions\": [\"{long}\"]}}"),
        format!("[{{{rest}}}]"),
        "{\"estate_version\": \"1\"}".to_owned(),
        String::new(),
    ] {
        assert!(stream(text.as_bytes(), 1_000).is_err(), "{text:.200}");
        assert_eq!(by_the_parser(text.as_bytes()), None, "{text:.200}");
    }
    assert!(stream(format!("{{{rest}}}").as_bytes(), 1_000).is_ok());
}
