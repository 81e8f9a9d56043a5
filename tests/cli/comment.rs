//! `ci/comment.sh` against a server with the comments of a pull request.

use crate::support::http::{Server, Unanswered};
use crate::support::skip::skip;
use crate::support::source::root;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response};
use serde_json::{Value, json};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const TOKEN: &str = "a-token-of-tests";
const BOT: &str = "github-actions[bot]";

/// The comments of a pull request: id, author and text.
type Comments = Vec<(u64, String, String)>;

struct CodeHost {
    server: Server,
    comments: Arc<Mutex<Comments>>,
}

impl CodeHost {
    fn with(comments: Comments) -> Self {
        let comments = Arc::new(Mutex::new(comments));
        let shared = Arc::clone(&comments);
        let server = Server::start(None, move |request: Request<Incoming>| {
            let shared = Arc::clone(&shared);
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.map_err(|_| Unanswered)?.to_bytes();
                let authorization = parts.headers.get("authorization");
                let is_known =
                    authorization.is_some_and(|header| header == "Bearer a-token-of-tests");
                let (status, answer) = if is_known {
                    answer(&mut held(&shared), &parts.method, &parts.uri.to_string(), &body)
                } else {
                    (401, Value::Null)
                };
                let body = Full::new(Bytes::from(answer.to_string())).boxed();
                let response = Response::builder().status(status).body(body);
                Ok::<_, Unanswered>(response.expect("a response"))
            }
        });
        Self { server, comments }
    }

    fn comments(&self) -> Comments {
        held(&self.comments).clone()
    }

    /// Runs the script with a report.
    fn comment(&self, report: &str, more: &[&str], token: &str) -> Output {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("report.md");
        std::fs::write(&path, report).expect("writable");
        Command::new("bash")
            .arg(root().join("ci/comment.sh"))
            .arg(&path)
            .args(more)
            .env("GH_TOKEN", token)
            .env("GITHUB_API_URL", format!("http://{}", self.server.address()))
            .env("GITHUB_REPOSITORY", "owner/project")
            .env_remove("COMMENT_AUTHOR")
            .env("no_proxy", "127.0.0.1")
            .output()
            .expect("bash starts")
    }
}

fn held(comments: &Mutex<Comments>) -> MutexGuard<'_, Comments> {
    comments.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(comments: &mut Comments, method: &Method, uri: &str, body: &[u8]) -> (u16, Value) {
    let text = || {
        let body: Value = serde_json::from_slice(body).expect("JSON");
        body["body"].as_str().expect("a text").to_owned()
    };
    let base = "/repos/owner/project/issues/";
    let Some(rest) = uri.strip_prefix(base) else { return (404, Value::Null) };
    if *method == Method::GET {
        let Some(page) = rest.strip_prefix("7/comments?per_page=100&page=") else {
            return (404, Value::Null);
        };
        let page: usize = page.parse().expect("a page");
        let shown = comments.iter().skip((page - 1) * 100).take(100);
        let shown = shown
            .map(|(id, author, text)| json!({"id": id, "user": {"login": author}, "body": text}));
        return (200, shown.collect());
    }
    if *method == Method::POST && rest == "7/comments" {
        let id = comments.len() as u64 + 1;
        comments.push((id, BOT.to_owned(), text()));
        return (201, json!({"id": id}));
    }
    let id = rest.strip_prefix("comments/").and_then(|id| id.parse().ok());
    let comment = comments.iter_mut().find(|(own, _, _)| Some(*own) == id);
    match comment {
        Some((_, _, old)) if *method == Method::PATCH => {
            *old = text();
            (200, json!({}))
        }
        _ => (404, Value::Null),
    }
}

fn has_tools() -> bool {
    ["curl", "jq"].iter().all(|name| Command::new(name).arg("--version").output().is_ok())
}

fn assert_done(output: &Output) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
}

#[test]
fn a_comment_is_written_once_and_then_over() {
    if !has_tools() {
        return skip("curl or jq is missing");
    }
    // More than a page of other people, one of whom has copied the first line.
    let mut others: Comments =
        (1..=120).map(|id| (id, "somebody".to_owned(), format!("comment {id}"))).collect();
    others[3].2 = "<!-- comment of gpucost -->\nmine".to_owned();
    let host = CodeHost::with(others.clone());
    assert_done(&host.comment("first \"report\"\n$1 `x`\n", &["7"], TOKEN));
    let written = host.comments();
    assert_eq!(written.len(), 121);
    assert_eq!(written[..120], others);
    assert_eq!(written[120].2, "<!-- comment of gpucost -->\nfirst \"report\"\n$1 `x`\n");

    assert_done(&host.comment("second\n", &["7"], TOKEN));
    let updated = host.comments();
    assert_eq!(updated.len(), 121);
    assert_eq!(updated[..120], others);
    assert_eq!(updated[120].2, "<!-- comment of gpucost -->\nsecond\n");

    // Another name has a comment of its own.
    assert_done(&host.comment("plan\n", &["7", "gpucost-plan"], TOKEN));
    assert_eq!(host.comments().len(), 122);
    assert_done(&host.comment("third\n", &["7"], TOKEN));
    let comments = host.comments();
    assert_eq!(comments.len(), 122);
    assert_eq!(comments[120].2, "<!-- comment of gpucost -->\nthird\n");
    assert_eq!(comments[121].2, "<!-- comment of gpucost-plan -->\nplan\n");
}

/// 5,000 lines of 21 characters are 105,000; of a comment, 65,536 are taken.
#[test]
fn a_report_is_cut_at_a_line_where_a_comment_has_no_room() {
    if !has_tools() {
        return skip("curl or jq is missing");
    }
    let host = CodeHost::with(Vec::new());
    let line = "| a row of a table é\n";
    assert_done(&host.comment(&line.repeat(5_000), &["7"], TOKEN));
    let written = host.comments()[0].2.clone();
    assert!(written.chars().count() <= 65_536);
    let marker = "<!-- comment of gpucost -->\n";
    let rest = "\n… the rest does not fit in a comment: see the summary of the job\n";
    let rows = written.strip_prefix(marker).expect("the marker");
    let rows = rows.strip_suffix(rest).expect("what is left out");
    // 60,000 / 21 = 2,857.1.
    assert_eq!(rows, line.repeat(2_857));
}

#[test]
fn a_refusal_fails_and_keeps_the_token() {
    if !has_tools() {
        return skip("curl or jq is missing");
    }
    let host = CodeHost::with(Vec::new());
    for (more, token) in [(&["7"][..], "another-token"), (&["7/../8"], TOKEN), (&["7"], "")] {
        let output = host.comment("report\n", more, token);
        assert_ne!(output.status.code(), Some(0), "{more:?}");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(token.is_empty() || !said.contains(token), "{said}");
        assert!(host.comments().is_empty());
    }
}
