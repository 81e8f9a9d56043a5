//! Files on their way: kept on disk without a name until they are whole, because a price list
//! of a region is larger than what is held in memory.

use crate::again::{Failed, RetryPolicy, seconds_of, tried};
use crate::domain::FailureKind;
use crate::error::chain;
use crate::tls::aws_connector;
use crate::{Outcome, SourceError};
use aws_smithy_http_client::Connector;
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::http::HttpError;
use flate2::read::MultiGzDecoder;
use http_body_util::BodyExt;
use jiff::civil::Date;
use jiff::fmt::rfc2822;
use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Up to the head of an answer, and from some bytes of it to the next.
const BYTES_WITHIN: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Bytes from one count to the next.
const COUNTED_EVERY: u64 = 1 << 20;
const USER_AGENT: &str = concat!("gpucost/", env!("CARGO_PKG_VERSION"));

const TIMED_OUT: &str = "no response within the time limit";
const NOT_CONNECTED: &str = "the connection failed";
const INCOMPLETE: &str = "the response is incomplete";
const TOO_LARGE: &str = "the response is larger than any such file";
const INVALID_URL: &str = "the URL is invalid";
const NOT_KEPT: &str = "the file cannot be kept on disk";

/// A file that is there to its last byte.
pub(super) struct Download {
    file: File,
    is_packed: bool,
    /// When the server says that it changed, where it says so.
    pub(super) changed_on: Option<Date>,
}

impl Download {
    /// What is in it, unpacked.
    pub(super) fn text(self) -> Box<dyn Read> {
        let file = BufReader::new(self.file);
        if self.is_packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) }
    }
}

/// What is asked for, in the words of failures, and where it is.
pub(super) type DownloadTarget<'a> = (&'static str, &'a str);

pub(super) struct Downloads {
    connector: Connector,
    folder: PathBuf,
}

impl Downloads {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { connector: aws_connector(CONNECT_WITHIN), folder }
    }

    /// A file of at most so many bytes; `count` gets how many are there so far.
    ///
    /// # Errors
    /// When it is not there, or does not arrive to its end in any of three tries.
    pub(super) async fn get(
        &self,
        asked: DownloadTarget<'_>,
        most_bytes: u64,
        count: &dyn Fn(u64),
    ) -> Outcome<Download> {
        let attempt = async || self.tried(asked, most_bytes, count).await;
        tried(FIRST_PAUSE, attempt).await.map(|(file, _)| file)
    }

    async fn tried(
        &self,
        (action, url): DownloadTarget<'_>,
        most_bytes: u64,
        count: &dyn Fn(u64),
    ) -> Result<Download, Failed<SourceError>> {
        let failed = |kind, words: &str, said: String, again| Failed {
            error: SourceError::own(action, kind, words, said),
            again,
        };
        let unreachable =
            |words: &str, said| failed(FailureKind::Unreachable, words, said, RetryPolicy::Soon);
        let late = |_| unreachable(TIMED_OUT, String::new());
        let local = |words: &str, said| {
            failed(FailureKind::InvalidSettings, words, said, RetryPolicy::Never)
        };
        let kept = |error: std::io::Error| local(NOT_KEPT, error.to_string());
        let request = request(url).map_err(|_| local(INVALID_URL, url.to_owned()))?;
        let response = tokio::time::timeout(BYTES_WITHIN, self.connector.call(request))
            .await
            .map_err(late)?
            .map_err(|error| unreachable(NOT_CONNECTED, chain(&error)))?;
        // The body of a refusal is not read: it is a page for browsers.
        let status = response.status().as_u16();
        let refusal = match status {
            200 => None,
            429 | 503 => {
                let wait = response.headers().get("retry-after").and_then(seconds_of);
                Some((FailureKind::Throttled, RetryPolicy::Later(wait)))
            }
            500.. => Some((FailureKind::Unreachable, RetryPolicy::Soon)),
            _ => Some((FailureKind::WrongAddress, RetryPolicy::Never)),
        };
        if let Some((kind, again)) = refusal {
            return Err(failed(kind, &format!("HTTP {status}"), url.to_owned(), again));
        }
        let header = |name: &str| response.headers().get(name);
        let is_packed = header("content-encoding")
            .is_some_and(|encoding| encoding.eq_ignore_ascii_case("gzip"));
        let changed_on = header("last-modified").and_then(day_of);
        let mut file = tempfile::tempfile_in(&self.folder).map_err(kept)?;
        let mut body = pin!(response.into_body());
        let (mut bytes, mut counted) = (0_u64, 0_u64);
        while let Some(frame) =
            tokio::time::timeout(BYTES_WITHIN, body.frame()).await.map_err(late)?
        {
            let frame = frame.map_err(|error| unreachable(INCOMPLETE, chain(&*error)))?;
            // The other kind of frame is a trailer.
            let Ok(data) = frame.into_data() else { continue };
            bytes += data.len() as u64;
            if bytes > most_bytes {
                let kind = FailureKind::Unsupported;
                return Err(failed(kind, TOO_LARGE, url.to_owned(), RetryPolicy::Never));
            }
            file.write_all(&data).map_err(kept)?;
            if bytes >= counted + COUNTED_EVERY {
                counted = bytes;
                count(bytes);
            }
        }
        file.rewind().map_err(kept)?;
        Ok(Download { file, is_packed, changed_on })
    }
}

fn request(url: &str) -> Result<HttpRequest, HttpError> {
    let mut request = HttpRequest::empty();
    request.set_method("GET")?;
    request.set_uri(url)?;
    let headers = request.headers_mut();
    headers.try_insert("user-agent", USER_AGENT)?;
    headers.try_insert("accept-encoding", "gzip")?;
    Ok(request)
}

/// The day of a date of HTTP, such as `Wed, 18 Nov 2026 07:28:00 GMT`.
fn day_of(header: &str) -> Option<Date> {
    rfc2822::parse(header).ok().map(|at| at.date())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn dates_of_http_are_days_in_utc() {
        assert_eq!(day_of("Wed, 18 Nov 2026 07:28:00 GMT"), Some(date(2026, 11, 18)));
        for invalid in ["", "yesterday", "2026-11-18", "Wed, 32 Nov 2026 07:28:00 GMT"] {
            assert_eq!(day_of(invalid), None, "{invalid}");
        }
    }
}
