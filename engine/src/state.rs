//! What a scheduler says of itself and of its executors: `GET /api/state` and
//! `GET /api/executors`.

use crate::failure::{Failure, Result};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A scheduler that is there answers at once.
const WITHIN: Duration = Duration::from_secs(5);
/// Bytes of an answer: about a kilobyte for each executor.
const MOST_BYTES: u64 = 16 << 20;

/// The versions of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    pub ballista: String,
    pub datafusion: String,
}

/// Asks a scheduler for its versions.
///
/// # Errors
/// When nothing answers there, or something else.
pub fn of(host: &str) -> Result<State> {
    asked(host, "state", state)
}

/// Asks a scheduler for the cores of its executors.
///
/// # Errors
/// When nothing answers there, or something else.
pub fn cores(host: &str) -> Result<usize> {
    asked(host, "executors", vcores)
}

fn asked<T>(host: &str, what: &str, read: impl Fn(&Value) -> Option<T>) -> Result<T> {
    let failed = |error: &dyn std::error::Error| {
        Failure::unexpected(format!("cannot reach a scheduler at {host}"))
            .caused_by(error)
            .with_hint("start one with `engine/tests/cluster start`, or use `--engine embedded`")
    };
    let answer = ask(host, what).map_err(|error| failed(&error))?;
    body(&answer).as_ref().and_then(read).ok_or_else(|| {
        Failure::input(format!("what answers at {host} is not a scheduler of Ballista"))
            .with_hint("name the host and the port of a scheduler with `--engine`")
    })
}

/// In HTTP 1.0, whose answers end with the connection.
fn ask(host: &str, what: &str) -> std::io::Result<String> {
    let mut last = std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
    for address in host.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, WITHIN) {
            Ok(mut stream) => {
                stream.set_read_timeout(Some(WITHIN))?;
                stream.set_write_timeout(Some(WITHIN))?;
                let request = format!(
                    "GET /api/{what} HTTP/1.0\r\nHost: {host}\r\nAccept: application/json\r\n\r\n"
                );
                stream.write_all(request.as_bytes())?;
                let mut answer = Vec::new();
                stream.take(MOST_BYTES).read_to_end(&mut answer)?;
                return Ok(String::from_utf8_lossy(&answer).into_owned());
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn body(answer: &str) -> Option<Value> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    if head.split_whitespace().nth(1) != Some("200") {
        return None;
    }
    serde_json::from_str(body.trim()).ok()
}

fn state(body: &Value) -> Option<State> {
    let text = |name: &str| Some(body.get(name)?.as_str()?.to_owned());
    Some(State { ballista: text("version")?, datafusion: text("datafusion_version")? })
}

fn vcores(body: &Value) -> Option<usize> {
    let of_executor = |executor: &Value| {
        let vcores = executor.get("specification")?.get("vcores")?.as_u64()?;
        usize::try_from(vcores).ok()
    };
    body.as_array()?.iter().map(of_executor).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_answer() {
        let answer = |status: &str, body: &str| format!("HTTP/1.0 {status}\r\na: b\r\n\r\n{body}");
        let text = r#"{"started":1,"version":"55.0.0","datafusion_version":"55.1.0"}"#;
        let parsed = |answer: &str| body(answer).as_ref().and_then(state);
        let known = parsed(&answer("200 OK", text)).expect("a state");
        assert_eq!((&*known.ballista, &*known.datafusion), ("55.0.0", "55.1.0"));
        assert_eq!(parsed(&answer("404 Not Found", text)), None);
        assert_eq!(parsed(&answer("200 OK", "<html>")), None);
        assert_eq!(parsed(&answer("200 OK", r#"{"version":"55.0.0"}"#)), None);
        assert_eq!(parsed(""), None);
    }

    #[test]
    fn cores_of_executors_add_up() {
        let of = |text: &str| vcores(&serde_json::from_str(text).expect("JSON"));
        let two = r#"[{"id":"a","specification":{"vcores":8}},{"specification":{"vcores":4}}]"#;
        assert_eq!(of(two), Some(12));
        assert_eq!(of("[]"), Some(0));
        assert_eq!(of(r#"[{"id":"a","specification":{}}]"#), None);
        assert_eq!(of(r#"{"error":"none"}"#), None);
    }

    #[test]
    fn nothing_that_answers_is_an_error_with_a_hint() {
        // Port 1 of loopback is refused at once.
        let text = of("127.0.0.1:1").expect_err("nothing answers").text();
        assert!(text.starts_with("error: cannot reach a scheduler at 127.0.0.1:1\n"), "{text}");
        assert!(text.contains("\nhint: "), "{text}");
    }
}
