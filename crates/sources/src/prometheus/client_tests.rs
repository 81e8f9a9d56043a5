//! The client against a server on this host that answers what each test says.

use super::ask::Ask;
use super::lab::{ok, reply, serve};
use super::{Auth, Client, ClientOptions, Labels, Server, is_known_code, is_too_large};
use crate::SourceError;
use crate::domain::{FailureKind, Window};
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::{SignedDuration, Timestamp};
use std::io::Write;
use std::net::TcpListener;

const EMPTY: &str = r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#;

fn options() -> ClientOptions {
    ClientOptions {
        timeout: SignedDuration::from_secs(5),
        first_pause: SignedDuration::from_millis(1),
        ..ClientOptions::default()
    }
}

fn client_with(url: &str, auth: Auth, headers: &[(&str, &str)]) -> Client {
    let headers = headers.iter();
    let server = Server {
        url: url.to_owned(),
        auth,
        headers: headers.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    };
    Client::new(server, options()).expect("a client")
}

fn client(url: &str) -> Client {
    client_with(url, Auth::None, &[])
}

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time stamp")
}

fn window() -> Window {
    Window { start: at("2026-11-01T00:00:00Z"), end: at("2026-11-15T00:00:00Z") }
}

async fn ask(client: &Client) -> Result<Vec<(Labels, f64)>, SourceError> {
    client.query("up", window().end).await
}

/// The failure of a query whose only answer this is.
async fn failure(answer: Vec<u8>) -> SourceError {
    let (url, _requests) = serve([answer]);
    let error = ask(&client(&url)).await.expect_err("no success");
    assert!(is_known_code(&error.code), "{}", error.code);
    assert!(!error.hint().is_empty());
    error
}

#[tokio::test]
async fn a_range_is_asked_for_with_a_form_and_read_to_the_last_value() {
    let (url, requests) = serve([ok(r#"{"status":"success","data":{"resultType":"matrix",
        "result":[{"metric":{"gpu":"0"},
                   "values":[[1793491200,"NaN"],[1793491500.5,"+Inf"],[1793491800,"7.5"]]}]}}"#)]);
    let client = client_with(&url, Auth::None, &[("X-Scope-OrgID", "team-a")]);
    let Window { start, end } = window();
    let rows = client.query_range("max(up)", start, end, 300).await;
    let rows = rows.expect("rows");

    let request = requests.recv().expect("a request");
    assert!(request.head.starts_with("POST /api/v1/query_range HTTP/1.1\r\n"));
    assert_eq!(request.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(request.header("x-scope-orgid"), Some("team-a"));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(
        request.form(),
        [
            ("nocache", "1"),
            ("dedup", "true"),
            ("partial_response", "false"),
            ("query", "max(up)"),
            ("timeout", "4500ms"),
            ("start", "1793491200.000"),
            ("end", "1794700800.000"),
            ("step", "300"),
        ]
    );
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].labels.get("gpu").map(String::as_str), Some("0"));
    let points = &rows[0].points;
    assert!(points[0].1.is_nan());
    assert_eq!(points[1], (at("2026-11-01T00:05:00.5Z"), f64::INFINITY));
    assert_eq!(points[2], (at("2026-11-01T00:10:00Z"), 7.5));
    let usage = client.usage();
    assert_eq!((usage.calls, usage.retries), (1, 0));
    assert_eq!(usage.by_operation.get("prometheus:query_range"), Some(&1));
}

#[tokio::test]
async fn series_and_instants_are_asked_for_below_the_base_url() {
    let (url, requests) = serve([
        ok(r#"{"status":"success","data":[{"__name__":"up","gpu":"0"}]}"#),
        ok(r#"{"status":"success","data":{"result":[{"metric":{},"value":[1,"2"]}]}}"#),
    ]);
    let client = client(&format!("{url}/prometheus/"));
    let matchers = ["up{a=\"b\"}".to_owned(), "down".to_owned()];
    let series = client.series(&matchers, window()).await.expect("series");
    assert_eq!(series[0].get("__name__").map(String::as_str), Some("up"));
    let values = ask(&client).await.expect("values");
    assert_eq!(values, [(Labels::new(), 2.0)]);

    let request = requests.recv().expect("a request");
    let path = "POST /prometheus/api/v1/series HTTP/1.1\r\n";
    assert!(request.head.starts_with(path));
    assert_eq!(
        request.form()[3..],
        [
            ("match[]", "up{a=\"b\"}"),
            ("match[]", "down"),
            ("start", "1793491200.000"),
            ("end", "1794700800.000"),
        ]
    );
    let request = requests.recv().expect("a request");
    let path = "POST /prometheus/api/v1/query HTTP/1.1\r\n";
    assert!(request.head.starts_with(path));
    assert_eq!(request.form().last(), Some(&("time", "1794700800.000")));
    assert_eq!(client.usage().calls, 2);
}

#[tokio::test]
async fn who_asks_is_proved_in_a_header() {
    let basic = Auth::Basic { user: "jane".to_owned(), password: "hunter2".to_owned() };
    for (auth, expected) in
        [(basic, "Basic amFuZTpodW50ZXIy"), (Auth::Bearer("a.b.c".to_owned()), "Bearer a.b.c")]
    {
        let (url, requests) = serve([ok(EMPTY)]);
        let client = client_with(&url, auth, &[]);
        assert!(ask(&client).await.expect("values").is_empty());
        let request = requests.recv().expect("a request");
        assert_eq!(request.header("authorization"), Some(expected));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_token_that_is_refused_is_replaced_once() {
    let refusal = || reply("401 Unauthorized", "", "");
    let folder = tempfile::tempdir().expect("a folder");
    let command = |name: &str| {
        let log = folder.path().join(name);
        let command = "echo >> 'LOG'; echo token-$(($(wc -l < 'LOG')))";
        Auth::TokenCommand(command.replace("LOG", &log.display().to_string()))
    };

    let (url, requests) = serve([refusal(), ok(EMPTY), ok(EMPTY)]);
    let client = client_with(&url, command("a"), &[]);
    for _ in 0..2 {
        ask(&client).await.expect("values");
    }
    let sent: Vec<String> = requests
        .iter()
        .map(|request| request.header("authorization").unwrap_or_default().to_owned())
        .collect();
    assert_eq!(sent, ["Bearer token-1", "Bearer token-2", "Bearer token-2"]);
    assert_eq!((client.usage().calls, client.usage().retries), (2, 1));

    let (url, requests) = serve([refusal(), refusal()]);
    let client = client_with(&url, command("b"), &[]);
    let error = ask(&client).await.expect_err("refused twice");
    assert_eq!(error.kind, FailureKind::RejectedCredentials);
    assert_eq!(error.to_string(), "prometheus:query: HTTP 401");
    assert_eq!(requests.iter().count(), 2);
}

#[tokio::test]
async fn throttling_is_waited_out_for_a_while() {
    let throttled = |headers: &str| reply("429 Too Many Requests", headers, "slow down");
    let (url, _requests) = serve([throttled("Retry-After: 0\r\n"), throttled(""), ok(EMPTY)]);
    let patient = client(&url);
    assert!(ask(&patient).await.expect("values").is_empty());
    assert_eq!((patient.usage().calls, patient.usage().retries), (1, 2));

    let (url, requests) = serve([(); 5].map(|()| throttled("")));
    let patient = client(&url);
    let error = ask(&patient).await.expect_err("throttled for ever");
    assert_eq!(error.kind, FailureKind::Throttled);
    assert_eq!(error.to_string(), "prometheus:query: HTTP 429: begins with `slow down`");
    assert_eq!(requests.iter().count(), 5);
    assert_eq!(patient.usage().retries, 4);

    // Nobody waits for an hour.
    let error = failure(throttled("Retry-After: 3600\r\n")).await;
    assert_eq!(error.kind, FailureKind::Throttled);
}

#[tokio::test]
async fn a_server_that_is_busy_is_asked_again() {
    let busy = r#"{"status":"error","errorType":"503","error":"couldn't start executing the
        request, since -search.maxConcurrentRequests=8 concurrent requests are executed"}"#;
    let busy = reply("503 Service Unavailable", "", busy.replace('\n', " "));
    let (url, _requests) = serve([busy.clone(), busy.clone(), busy.clone(), busy, ok(EMPTY)]);
    assert!(ask(&client(&url)).await.expect("values").is_empty());
}

#[tokio::test]
async fn faults_that_may_pass_are_tried_again_twice() {
    let down = || reply("502 Bad Gateway", "", "<html>502</html>");
    let (url, _requests) = serve([down(), Vec::new(), ok(EMPTY)]);
    let patient = client(&url);
    assert!(ask(&patient).await.expect("values").is_empty());
    assert_eq!(patient.usage().retries, 2);

    let (url, requests) = serve([down(), down(), down(), ok(EMPTY)]);
    let error = ask(&client(&url)).await.expect_err("down for good");
    assert_eq!(error.kind, FailureKind::Unreachable);
    assert_eq!(error.to_string(), "prometheus:query: HTTP 502: begins with `<html>502</html>`");
    assert_eq!(requests.try_iter().count(), 3);
}

#[tokio::test]
async fn a_query_that_is_too_large_is_told_from_others() {
    let error_of = |kind: &str, said: &str| {
        format!("{{\"status\":\"error\",\"errorType\":\"{kind}\",\"error\":\"{said}\"}}")
    };
    for (status, kind, said) in [
        (
            "422 Unprocessable Entity",
            "execution",
            "query processing would load too many samples into memory in query execution",
        ),
        (
            "422 Unprocessable Entity",
            "422",
            "too many points for the given step=30000, start=1 and end=2: 40333; cannot exceed \
             -search.maxPointsPerTimeseries=30000",
        ),
        (
            "422 Unprocessable Entity",
            "422",
            "cannot select more than -search.maxSamplesPerQuery=1000 samples",
        ),
        (
            "422 Unprocessable Entity",
            "execution",
            "the query exceeded the maximum number of chunks (err-mimir-max-chunks-per-query)",
        ),
        // As Cortex words the quotas that Amazon's page lists.
        (
            "422 Unprocessable Entity",
            "execution",
            "expanding series: the query hit the aggregated data size limit (limit: 5368709120 \
             bytes)",
        ),
        (
            "422 Unprocessable Entity",
            "execution",
            "expanding series: the query hit the aggregated chunks size limit (limit: 7 bytes)",
        ),
        (
            "422 Unprocessable Entity",
            "execution",
            "expanding series: the query hit the max number of chunks limit (limit: 7 chunks)",
        ),
        (
            "400 Bad Request",
            "bad_data",
            "query rejected: Query Samples Processed are above the threshold of 1000000",
        ),
        (
            "400 Bad Request",
            "bad_data",
            "exceeded maximum resolution of 11,000 points per timeseries",
        ),
        ("503 Service Unavailable", "timeout", "query timed out in query execution"),
        ("503 Service Unavailable", "timeout", ""),
        ("413 Content Too Large", "", ""),
        ("200 OK", "execution", "too many samples"),
    ] {
        let error = failure(reply(status, "", error_of(kind, said))).await;
        assert!(is_too_large(&error), "{status}: {said}: {error}");
    }
    let error = failure(reply("413 Content Too Large", "", "<html>413</html>")).await;
    assert!(is_too_large(&error), "{error}");

    let error = error_of("bad_data", "parse error: unexpected end of input");
    let error = failure(reply("400 Bad Request", "", error)).await;
    assert!(!is_too_large(&error) && error.kind == FailureKind::Other);
    assert_eq!(
        error.to_string(),
        "prometheus:query: HTTP 400: parse error: unexpected end of input"
    );
}

#[tokio::test]
async fn an_address_without_the_api_is_told_from_other_failures() {
    for (answer, expected) in [
        (
            reply("404 Not Found", "", "404 page not found\n"),
            "HTTP 404: begins with `404 page not found`",
        ),
        (
            ok("<!DOCTYPE html>\n<title>Sign in</title>"),
            "the response is not from a Prometheus API: begins with `<!DOCTYPE html> \
             <title>Sign in</title>`",
        ),
        (
            reply("302 Found", "location: http://jane:hunter2@sso/login?token=hunter2\r\n", ""),
            "HTTP 302: redirects to http://(not shown)@sso/login",
        ),
        (reply("307 Temporary Redirect", "", ""), "HTTP 307"),
        (
            reply("400 Bad Request", "", "unsupported path requested: \"/api/v1/query\""),
            "HTTP 400: begins with `unsupported path requested: \"/api/v1/query\"`",
        ),
    ] {
        let error = failure(answer).await;
        assert_eq!(error.kind, FailureKind::WrongAddress, "{error}");
        assert_eq!(error.to_string(), format!("prometheus:query: {expected}"));
        assert!(error.hint().contains("`/select/0/prometheus`"));
    }
}

#[tokio::test]
async fn denials_and_unreadable_answers_have_their_own_kinds() {
    let denied = r#"{"message":"User: arn:aws:iam::111122223333:user/jane is not authorized"}"#;
    let expired = r#"{"message":"The security token included in the request is expired"}"#;
    for (answer, kind, said) in [
        (
            reply("403 Forbidden", "", denied),
            FailureKind::Denied,
            "HTTP 403: User: arn:aws:iam::111122223333:user/jane is not authorized",
        ),
        (
            reply("403 Forbidden", "", expired),
            FailureKind::ExpiredCredentials,
            "HTTP 403: The security token included in the request is expired",
        ),
        (
            reply("401 Unauthorized", "", "no org id"),
            FailureKind::RejectedCredentials,
            "HTTP 401: begins with `no org id`",
        ),
        (
            ok(r#"{"status":"success"}"#),
            FailureKind::Unsupported,
            "the response is not in the format of the Prometheus API: it has no data",
        ),
    ] {
        let error = failure(answer).await;
        assert_eq!(error.kind, kind, "{error}");
        assert_eq!(error.to_string(), format!("prometheus:query: {said}"));
    }
}

#[tokio::test]
async fn a_response_that_is_too_large_is_not_read_to_its_end() {
    let huge = format!("{{\"status\":\"success\",\"x\":\"{}\"", " ".repeat(100_000));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(huge.as_bytes()).expect("room");
    let packed = encoder.finish().expect("room");
    assert!(packed.len() < 1_000);
    for answer in [ok(&huge), reply("200 OK", "content-encoding: gzip\r\n", packed)] {
        let (url, _requests) = serve([answer]);
        let server = Server { url, auth: Auth::None, headers: Vec::new() };
        let options = ClientOptions { most_bytes: 1_000, ..options() };
        let client = Client::new(server, options).expect("a client");
        let error = ask(&client).await.expect_err("too large");
        assert!(is_too_large(&error), "{error}");
        assert_eq!(
            error.to_string(),
            "prometheus:query: the response is larger than what is read at once"
        );
    }
}

#[tokio::test]
async fn a_packed_response_is_read() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(EMPTY.as_bytes()).expect("room");
    let packed = encoder.finish().expect("room");
    let (url, requests) = serve([reply("200 OK", "content-encoding: gzip\r\n", packed)]);
    assert!(ask(&client(&url)).await.expect("values").is_empty());
    let request = requests.recv().expect("a request");
    assert_eq!(request.header("accept-encoding"), Some("gzip"));
}

/// Connections are taken by the system and never read.
fn silent() -> (TcpListener, Server) {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = silent.local_addr().expect("a bound socket has an address");
    let server = Server { url: format!("http://{address}"), auth: Auth::None, headers: Vec::new() };
    (silent, server)
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up() {
    let (_silent, server) = silent();
    let options = ClientOptions { timeout: SignedDuration::from_millis(100), ..options() };
    let client = Client::new(server, options).expect("a client");
    let error = ask(&client).await.expect_err("nobody answers");
    assert_eq!(error.kind, FailureKind::Unreachable);
    assert_eq!(error.to_string(), "prometheus:query: no response within the time limit");

    let (url, _requests) = serve([]);
    // The thread that listens may not have ended yet.
    let error = ask(&client_with(&url, Auth::None, &[])).await;
    let error = error.expect_err("nobody listens");
    assert_eq!(error.kind, FailureKind::Unreachable);
    assert_eq!(error.code, "the connection failed");
}

#[tokio::test]
async fn all_queries_together_have_a_deadline() {
    let (_silent, server) = silent();
    let options = ClientOptions { deadline: SignedDuration::from_millis(100), ..options() };
    let client = Client::new(server, options).expect("a client");
    // The second has no time of its own.
    for _ in 0..2 {
        let error = ask(&client).await.expect_err("nobody answers");
        assert_eq!(
            error.to_string(),
            "prometheus:query: all queries together took longer than their time limit"
        );
        assert!(is_known_code(&error.code) && !is_too_large(&error));
    }
}

#[tokio::test]
async fn no_secret_is_in_what_is_said() {
    let said = "bad header 'Authorization: Basic amFuZTpodW50ZXIy' for jane:hunter2 of team-77";
    let plain = "hunter2 amFuZTpodW50ZXIy team-77";
    let error = format!("{{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"{said}\"}}");
    let warning =
        format!("{{\"status\":\"success\",\"data\":{{\"result\":[]}},\"warnings\":[\"{plain}\"]}}");
    for answer in [
        reply("400 Bad Request", "", &error),
        reply("400 Bad Request", "", plain),
        ok(plain),
        ok(&format!("{{\"status\":\"{plain}\"}}")),
        ok(&format!("{{\"status\":\"success\",\"data\":\"{plain}\"}}")),
        ok(&warning),
    ] {
        let (url, _requests) = serve([answer]);
        let auth = Auth::Basic { user: "jane".to_owned(), password: "hunter2".to_owned() };
        let client = client_with(&url, auth, &[("X-Scope-OrgID", "team-77")]);
        let outcome = ask(&client).await;
        let shown = format!("{outcome:?} {:?}", client.warnings());
        let shown = match outcome {
            Ok(_) => shown,
            Err(error) => format!("{shown} {error} {error:#}"),
        };
        for secret in ["hunter2", "amFuZTpodW50ZXIy", "team-77"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(shown.contains("(not shown)"), "{shown}");
    }
}

#[tokio::test]
async fn warnings_are_kept_once_in_one_line_and_not_without_end() {
    let warn = |from: usize| {
        let warnings: Vec<String> = (from..from + 15).map(|n| format!("\"w{n:02}\"")).collect();
        let warnings = warnings.join(",");
        ok(&format!(
            "{{\"status\":\"success\",\"data\":{{\"result\":[]}},\
             \"warnings\":[\"\\u001b[31mred\\nline\",{warnings}]}}"
        ))
    };
    let (url, _requests) = serve([warn(0), warn(0), warn(10)]);
    let client = client(&url);
    assert_eq!(client.warnings().len(), 0);
    for expected in [16, 16, 20] {
        ask(&client).await.expect("values");
        assert_eq!(client.warnings().len(), expected);
    }
    assert_eq!(client.warnings()[0], "[31mred line");
}

#[test]
fn settings_that_cannot_be_sent_are_refused_without_being_repeated() {
    let refused = |url: &str, header: (&str, &str), auth: Auth| {
        let server = Server {
            url: url.to_owned(),
            auth,
            headers: vec![(header.0.to_owned(), header.1.to_owned())],
        };
        let error = Client::new(server, options()).err().expect("invalid");
        assert_eq!(error.kind, FailureKind::InvalidSettings);
        assert!(is_known_code(&error.code), "{}", error.code);
        assert!(!format!("{error:?} {error}").contains("hunter2"), "{error}");
        error.to_string()
    };
    let tenant = ("X-Scope-OrgID", "1");
    let url = "http://prom";
    assert_eq!(
        refused("http://jane:hunter2@prom", tenant, Auth::None),
        "prometheus:connect: the URL of the Prometheus server is invalid: it has a user name or a \
         password: pass them separately"
    );
    for header in
        [("Authorization hunter2", "x"), ("X", "hunter2\r\nY: z"), ("Content-Length", "7")]
    {
        let said = refused(url, header, Auth::None);
        assert!(said.contains("number 1: "), "{said}");
    }
    let said = refused(url, tenant, Auth::Bearer("hunter2 x".to_owned()));
    assert!(said.contains("the credentials for the Prometheus server are invalid"));
}

#[tokio::test]
async fn more_points_than_were_asked_for_are_refused() {
    let answer = r#"{"status":"success","data":{"result":[{"metric":{},
        "values":[[1793491200,"1"],[1793491500,"1"],[1793491800,"1"]]}]}}"#;
    let (url, _requests) = serve([ok(answer), ok(answer)]);
    let client = client(&url);
    let start = window().start;
    let end = start + SignedDuration::from_secs(300);
    let rows = client.query_range("up", start, end, 300).await;
    assert_eq!(rows.expect("one more than two")[0].points.len(), 3);
    let error = client.query_range("up", start, start, 300).await;
    let error = error.expect_err("two more than one");
    assert_eq!(error.kind, FailureKind::Unsupported);
    assert_eq!(error.said, "a series has more points than were requested");
}
