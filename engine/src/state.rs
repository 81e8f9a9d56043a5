//! What a scheduler says of itself: `GET /api/state`.

use crate::failure::{Failure, Result};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A scheduler that is there answers at once.
const WITHIN: Duration = Duration::from_secs(5);
/// Bytes of the answer.
const MOST_BYTES: u64 = 1 << 16;

/// The versions of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    pub ballista: String,
    pub datafusion: String,
}

/// Asks a scheduler.
///
/// # Errors
/// When nothing answers there, or something else.
pub fn of(host: &str) -> Result<State> {
    let failed = |error: &dyn std::error::Error| {
        Failure::unexpected(format!("cannot reach a scheduler at {host}"))
            .caused_by(error)
            .with_hint("start one with `engine/tests/cluster start`, or use `--engine embedded`")
    };
    let answer = ask(host).map_err(|error| failed(&error))?;
    parsed(&answer).ok_or_else(|| {
        Failure::input(format!(
            "what answers at {host} is not a scheduler of Ballista"
        ))
        .with_hint("name the host and the port of a scheduler with `--engine`")
    })
}

/// In HTTP 1.0, whose answers end with the connection.
fn ask(host: &str) -> std::io::Result<String> {
    let mut last = std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
    for address in host.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, WITHIN) {
            Ok(mut stream) => {
                stream.set_read_timeout(Some(WITHIN))?;
                stream.set_write_timeout(Some(WITHIN))?;
                let request = format!(
                    "GET /api/state HTTP/1.0\r\nHost: {host}\r\nAccept: application/json\r\n\r\n"
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

fn parsed(answer: &str) -> Option<State> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    if head.split_whitespace().nth(1) != Some("200") {
        return None;
    }
    let state: serde_json::Value = serde_json::from_str(body.trim()).ok()?;
    let text = |name: &str| Some(state.get(name)?.as_str()?.to_owned());
    Some(State {
        ballista: text("version")?,
        datafusion: text("datafusion_version")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_answer() {
        let answer = |status: &str, body: &str| format!("HTTP/1.0 {status}\r\na: b\r\n\r\n{body}");
        let body = r#"{"started":1,"version":"55.0.0","datafusion_version":"55.1.0"}"#;
        let state = parsed(&answer("200 OK", body)).expect("a state");
        assert_eq!((&*state.ballista, &*state.datafusion), ("55.0.0", "55.1.0"));
        assert_eq!(parsed(&answer("404 Not Found", body)), None);
        assert_eq!(parsed(&answer("200 OK", "<html>")), None);
        assert_eq!(parsed(&answer("200 OK", r#"{"version":"55.0.0"}"#)), None);
        assert_eq!(parsed(""), None);
    }

    #[test]
    fn nothing_that_answers_is_an_error_with_a_hint() {
        // Port 1 of loopback is refused at once.
        let text = of("127.0.0.1:1").expect_err("nothing answers").text();
        assert!(
            text.starts_with("error: cannot reach a scheduler at 127.0.0.1:1\n"),
            "{text}"
        );
        assert!(text.contains("\nhint: "), "{text}");
    }
}
