//! `gpucost history digest`: what happened between two kept audits, printed and sent.

use crate::cli::pages::{assert_shows, blocks, page};
use crate::cli::world::{Outcome, World};
use crate::support::http::{Server, Unanswered};
use gpucost::sources::webhook::{Webhook, WebhookError, WebhookOptions};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a URL ends with, which no output has.
const SECRET: &str = "T0EXAMPLE/B0EXAMPLE/a-token-of-tests";

fn instance(id: &str, name: &str) -> Value {
    json!({
        "id": id, "account": "111122223333", "region": "us-east-1",
        "instance_type": "g5.xlarge", "state": "running",
        "launch_time": "2026-09-01T00:00:00Z", "tags": {"Name": name},
    })
}

/// Two audits a week apart. Each instance costs $1.006 an hour; a second one is new.
fn two_audits(second: &str) -> World {
    let world = World::new();
    for (as_of, start, end, instances) in [
        ("2026-11-01T07", "2026-10-18", "2026-11-01", vec![instance("i-0a", "captions")]),
        (
            "2026-11-08T07",
            "2026-10-25",
            "2026-11-08",
            vec![instance("i-0a", "captions"), instance("i-0b", second)],
        ),
    ] {
        let estate = json!({
            "estate_version": "1",
            "as_of": format!("{as_of}:00:00Z"),
            "window_start": format!("{start}T00:00:00Z"),
            "window_end": format!("{end}T00:00:00Z"),
            "accounts": ["111122223333"],
            "regions": ["us-east-1"],
            "instances": instances,
        });
        let estate = world.estate("estate.json", &estate);
        let place = world.path("nights");
        let outcome = world.run(&["history", "record", &place, "--from", &estate, "--offline"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    }
    world
}

fn report(world: &World, arguments: &[&str]) -> Outcome {
    let place = world.path("nights");
    let first = ["history", "digest", "--offline", "--history", &place];
    world.run(&[&first[..], arguments].concat())
}

fn row<'a>(rows: &'a Value, key: &str, name: &str) -> &'a Value {
    let rows = rows.as_array().expect("a list");
    let row = rows.iter().find(|row| row[key] == name);
    row.unwrap_or_else(|| panic!("no {name} in {rows:?}"))
}

#[test]
fn a_week_is_compared_with_the_one_before() {
    let world = two_audits("search");
    for since in ["last", "7d", "2026-11-01"] {
        let outcome = report(&world, &["--since", since, "--format", "json"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let digest = outcome.json();
        assert_eq!(digest["planner"], "history digest");
        assert_eq!(digest["currency"], "USD");
        // 7 days × 24 hours × 2 × 1.006 = 338.016.
        let headline = digest["headline"].as_str().expect("a sentence");
        assert!(
            headline.starts_with("$338.02 was spent on GPUs from 2026-11-01 to 2026-11-07, "),
            "{headline}"
        );
        // 730 × 1.006 = 734.38 for each.
        let cost = row(&digest["totals"], "figure", "monthly cost");
        assert_eq!(cost["before"], 734.38);
        assert_eq!(cost["now"], 1468.76);
        assert_eq!(cost["change"], 734.38);
        let gpus = row(&digest["totals"], "figure", "GPUs");
        assert_eq!((&gpus["before"], &gpus["now"]), (&json!(1), &json!(2)));
        // 24 × 1.006 = 24.144 a day, and twice that.
        let daily = |part| &row(&digest["change"], "part", part)["amount_daily"];
        assert_eq!(daily("before"), &json!(24.14));
        assert_eq!(daily("after"), &json!(48.29));
        assert!(headline.ends_with("$24.15 more than from 2026-10-25 to 2026-10-31"));
    }
}

#[test]
fn every_format_is_printed() {
    let world = two_audits("search");
    for (format, says) in [
        ("table", "$338.02 was spent on GPUs"),
        ("wide", "$338.02 was spent on GPUs"),
        ("markdown", "### \\$338.02 was spent on GPUs"),
        ("slack", "*$338.02 was spent on GPUs"),
        ("csv", "\nmonthly cost,734.38,1468.76,734.38\n"),
        ("html", "<h1>gpucost history digest</h1>"),
    ] {
        let outcome = report(&world, &["--format", format]);
        assert_eq!(outcome.code, 0, "{format}: {}", outcome.stderr);
        assert!(outcome.stdout.contains(says), "{format}: {}", outcome.stdout);
    }
}

#[test]
fn the_page_shows_what_is_printed() {
    let world = two_audits("search");
    let outcome = report(&world, &["--since", "last"]);
    let printed = outcome.stdout.replace(&world.path("nights"), "nights");
    let examples = blocks(&page("digest.md"), "text");
    assert_eq!(examples.len(), 1);
    let (command, shown) = examples[0].split_once('\n').expect("a command line");
    assert_eq!(command, "$ gpucost history digest --history nights --since last");
    assert_shows("docs/digest.md", shown, &printed);
}

/// A g5.xlarge that is busy in every hour is reserved for a year at 0.63378 an hour, which is
/// 5,551.91.
#[test]
fn promises_are_in_every_form_of_the_message() {
    let busy = || {
        let mut estate = crate::cli::estates::one();
        for series in estate["metrics"].as_array_mut().expect("a list") {
            // At the power of an idle card it would be stalled.
            match series["metric"].as_str() {
                Some("gpu_utilization") => series["values"][0][0] = json!(90.0),
                Some("gpu_power_draw") => series["values"][0][0] = json!(200.0),
                _ => {}
            }
        }
        estate
    };
    let world = World::new();
    for week in [0, 7] {
        let mut estate = busy();
        let shifted = |day: u32| format!("2026-11-{:02}T00:00:00Z", day + week);
        if week > 0 {
            estate["as_of"] = json!(shifted(1));
            for series in estate["metrics"].as_array_mut().expect("a list") {
                series["start"] = json!("2026-10-25T00:00:00Z");
            }
        }
        let estate = world.estate("estate.json", &estate);
        let place = world.path("nights");
        let outcome = world.run(&["history", "record", &place, "--from", &estate, "--offline"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let words = "promises: 1 purchase, $5,551.91 over the term";
        let listed = format!("{words}; `--csv-table purchases` lists them\n");
        let csv = world.run(&["audit", "--from", &estate, "--offline", "--format", "csv"]);
        assert!(csv.stderr.contains(&listed), "{}", csv.stderr);
        let policy = world.file("gpucost-policy.toml", "[[budget]]\nmonthly_limit = 10_000\n");
        let check = ["check", "--policy", &policy, "--from", &estate, "--offline"];
        let check = world.run(&[&check[..], &["--format", "slack"]].concat());
        assert!(check.stdout.contains(words), "{}", check.stdout);
    }
    let slack = report(&world, &["--format", "slack"]).stdout;
    assert!(slack.contains("promises: 1 purchase, $5,551.91 over the term"), "{slack}");
}

#[test]
fn hostile_names_are_data() {
    let hostile = "<!channel> `x` |y| @all [a](http://b) \u{1b}[2J";
    let world = two_audits(hostile);
    let outcome = report(&world, &["--format", "slack"]);
    let text = outcome.json().to_string();
    assert!(!text.contains("<!channel>"), "{text}");
    assert!(!text.contains("\\u001b"), "{text}");
    let outcome = report(&world, &["--format", "markdown"]);
    assert!(!outcome.stdout.contains("<!channel>"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("[a](http"), "{}", outcome.stdout);
}

#[test]
fn without_two_audits_there_is_no_report() {
    let world = World::new();
    let outcome = report(&world, &[]);
    assert_eq!(outcome.code, 2);
    let place = world.path("nights");
    world.run(&["history", "record", &place, "--demo"]);
    let outcome = report(&world, &[]);
    assert_eq!(outcome.code, 2, "{}", outcome.stdout);
    assert!(outcome.stderr.contains("no two audits"), "{}", outcome.stderr);
    for since in ["soon", "0d", "-7d", "12h"] {
        let outcome = report(&world, &["--since", since]);
        assert_eq!(outcome.code, 2, "{since}");
    }
}

/// What a receiver answers: a status, a header and a body.
type Answered = (u16, Option<(&'static str, &'static str)>, &'static str);

/// A status that stands for no answer at all.
const SILENT: u16 = 0;

#[derive(Default)]
struct State {
    answers: VecDeque<Answered>,
    /// Path, type and body of each request.
    received: Vec<(String, String, String)>,
}

struct Receiver {
    server: Server,
    state: Arc<Mutex<State>>,
}

impl Receiver {
    fn answering(answers: &[Answered]) -> Self {
        let state = Arc::new(Mutex::new(State {
            answers: answers.iter().copied().collect(),
            received: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        let server = Server::start(None, move |request: Request<Incoming>| {
            let shared = Arc::clone(&shared);
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.map_err(|_| Unanswered)?.to_bytes();
                let kind = parts.headers.get("content-type");
                let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
                let received = (
                    format!("{} {}", parts.method, parts.uri.path()),
                    kind.to_owned(),
                    String::from_utf8_lossy(&body).into_owned(),
                );
                let answer = {
                    let mut state = held(&shared);
                    state.received.push(received);
                    state.answers.pop_front()
                };
                let (status, header, words) = answer.ok_or(Unanswered)?;
                if status == SILENT {
                    tokio::time::sleep(Duration::from_secs(30)).await;
                    return Err(Unanswered);
                }
                let mut response = Response::builder().status(status);
                if let Some((name, value)) = header {
                    response = response.header(name, value);
                }
                let body = Full::new(Bytes::from(words)).boxed();
                Ok(response.body(body).expect("a response"))
            }
        });
        Self { server, state }
    }

    fn url(&self) -> String {
        format!("http://{}/{SECRET}", self.server.address())
    }

    fn received(&self) -> Vec<(String, String, String)> {
        held(&self.state).received.clone()
    }
}

fn held(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

const OK: Answered = (200, None, "ok");

#[test]
fn what_a_dry_run_prints_is_what_is_sent() {
    for (kind, variable) in
        [("slack", "GPUCOST_SLACK_WEBHOOK_URL"), ("webhook", "GPUCOST_WEBHOOK_URL")]
    {
        let receiver = Receiver::answering(&[OK]);
        let mut world = two_audits("search");
        // A dry run needs no URL.
        let dry = report(&world, &["--send", kind, "--dry-run"]);
        assert_eq!(dry.code, 0, "{}", dry.stderr);
        assert!(receiver.received().is_empty());
        world.set(variable, &receiver.url());
        let outcome = report(&world, &["--send", kind]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (0, ""));
        assert!(outcome.stderr.starts_with("sent to 127.0.0.1: "), "{}", outcome.stderr);
        assert!(!outcome.all().contains("a-token-of-tests"));
        let expected = (format!("POST /{SECRET}"), "application/json".to_owned(), dry.stdout);
        assert_eq!(receiver.received(), [expected]);
    }
}

#[test]
fn what_may_pass_is_tried_again() {
    let busy = (429, Some(("retry-after", "1")), "slow down");
    for answers in [[(500, None, "oops"), OK], [busy, OK]] {
        let receiver = Receiver::answering(&answers);
        let mut world = two_audits("search");
        world.set("GPUCOST_WEBHOOK_URL", &receiver.url());
        let outcome = report(&world, &["--send", "webhook"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(", 2 tries"), "{}", outcome.stderr);
        let received = receiver.received();
        assert_eq!(received.len(), 2);
        assert_eq!(received[0], received[1]);
    }
}

#[test]
fn what_is_refused_is_said_without_the_url() {
    let echo: Answered = (403, None, "a-token-of-tests of T0EXAMPLE is not active");
    let elsewhere = (302, Some(("location", "http://127.0.0.1:1/other")), "");
    let long_pause = (429, Some(("retry-after", "3600")), "");
    for (answer, says) in [
        (echo, "127.0.0.1 refused the message: HTTP 403: "),
        (elsewhere, "HTTP 302: it redirects, which is not followed"),
        (long_pause, "HTTP 429"),
        ((404, None, "no_service"), "HTTP 404: no_service"),
    ] {
        let receiver = Receiver::answering(&[answer, OK]);
        let mut world = two_audits("search");
        world.set("GPUCOST_SLACK_WEBHOOK_URL", &receiver.url());
        let outcome = report(&world, &["--send", "slack", "-v"]);
        assert_eq!(outcome.code, 1, "{}", outcome.stderr);
        assert_eq!(outcome.stdout, "");
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
        for part in SECRET.split('/') {
            assert!(!outcome.stderr.contains(part), "{}", outcome.stderr);
        }
        assert_eq!(receiver.received().len(), 1, "{says}");
    }
}

#[test]
fn messages_go_over_tls_or_stay_on_this_host() {
    for (url, says) in [
        ("http://hooks.example.com/a-token-of-tests", "use https://"),
        ("https://user:a-token-of-tests@example.com/", "a password"),
        ("ftp://example.com/a-token-of-tests", "begin with https://"),
        ("a-token-of-tests", "https://"),
        ("", "GPUCOST_WEBHOOK_URL has no URL"),
    ] {
        let mut world = two_audits("search");
        world.set("GPUCOST_WEBHOOK_URL", url);
        let outcome = report(&world, &["--send", "webhook"]);
        assert_eq!(outcome.code, 2, "{url}");
        assert!(outcome.stderr.contains(says), "{url}: {}", outcome.stderr);
        assert!(!outcome.all().contains("a-token-of-tests"), "{url}");
    }
    let outcome = report(&World::new(), &["--dry-run"]);
    assert_eq!(outcome.code, 2, "it requires --send");
}

#[tokio::test]
async fn what_may_have_arrived_is_not_sent_again() {
    let receiver = Receiver::answering(&[(SILENT, None, ""), OK]);
    let options = WebhookOptions {
        timeout: Duration::from_millis(300),
        first_pause: Duration::from_millis(1),
    };
    let webhook = Webhook::new(&receiver.url(), options).ok();
    let sent = webhook.expect("a URL").post("{}").await;
    assert!(matches!(sent, Err(WebhookError::Late { .. })), "{sent:?}");
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn a_server_that_stays_broken_is_given_up() {
    let receiver = Receiver::answering(&[(503, None, ""); 9]);
    let options =
        WebhookOptions { first_pause: Duration::from_millis(1), ..WebhookOptions::default() };
    let webhook = Webhook::new(&receiver.url(), options).ok();
    let sent = webhook.expect("a URL").post("{}").await;
    assert!(matches!(sent, Err(WebhookError::Refused { status: 503, .. })), "{sent:?}");
    assert_eq!(receiver.received().len(), 3);
}
