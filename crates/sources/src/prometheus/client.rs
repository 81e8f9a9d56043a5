//! Calls of the HTTP API, tried again where that can help.

use super::answer::{
    Answer, Labels, MatrixData, Named, Row, SeriesData, TOO_MANY_POINTS, VectorData, VectorRow,
    read,
};
use super::ask::Ask;
use super::auth::{Prover, Server};
use super::error::{Failed, invalid, malformed, past_deadline};
use super::request::{
    Address, FORM, Form, INVALID_AUTH, INVALID_CA_FILE, INVALID_CLIENT_CERTIFICATE, INVALID_HEADER,
    INVALID_URL, Operation, QUERY, QUERY_RANGE, SERIES, seconds,
};
use super::transport::{ClientCertificate, InvalidFile, Transport};
use crate::again::RetryPolicy;
use crate::credentials::Header;
use crate::domain::{ApiUsage, Window};
use crate::{Outcome, count_call};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::http::HttpError;
use aws_smithy_types::body::SdkBody;
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::time::Instant;

/// Warnings that are kept of all calls.
const MOST_WARNINGS: usize = 20;
const USER_AGENT: &str = concat!("gpucost/", env!("CARGO_PKG_VERSION"));
/// Headers that say how a body is sent, which nobody else can know.
const OWN_HEADERS: [&str; 5] =
    ["accept-encoding", "connection", "content-length", "content-type", "transfer-encoding"];

/// How a server is asked.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// For one request, from the connection to the last byte of the answer. Nine tenths of
    /// it are what the server may take to evaluate a query.
    pub timeout: SignedDuration,
    /// For all requests together, from the first one, with pauses: a server that answers each
    /// just in time would hold a run for days. What is not read by then is a gap.
    pub deadline: SignedDuration,
    /// Before a request is sent again; each further pause is twice as long.
    pub first_pause: SignedDuration,
    /// The largest answer in bytes, packed and unpacked. Five-minute values of 1,000 GPUs
    /// for two weeks are 72 MB.
    pub most_bytes: usize,
    /// PEM certificates of the authorities that are trusted instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// What proves who asks to a server that wants a certificate.
    pub client_certificate: Option<ClientCertificate>,
    /// Whose credentials sign requests, where not those of the usual places.
    pub aws_profile: Option<String>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            timeout: SignedDuration::from_secs(120),
            deadline: SignedDuration::from_hours(1),
            first_pause: SignedDuration::from_millis(500),
            most_bytes: 128 << 20,
            ca_file: None,
            client_certificate: None,
            aws_profile: None,
        }
    }
}

/// One server of the Prometheus family. It is only read.
pub struct Client {
    base: String,
    /// Whether it takes parameters that it does not know.
    is_open: bool,
    headers: Vec<(String, String)>,
    prover: Prover,
    transport: Transport,
    options: ClientOptions,
    /// When the deadline passes; nothing before the first request.
    until: OnceLock<Instant>,
    noted: Mutex<Noted>,
}

/// What calls leave behind.
#[derive(Default)]
struct Noted {
    usage: ApiUsage,
    warnings: BTreeSet<String>,
}

impl Client {
    /// A client of a server. Nothing is sent yet, and no command is run.
    ///
    /// # Errors
    /// When the URL, a header or the credentials cannot be part of a request, or a file of
    /// certificates cannot be used.
    pub fn new(server: Server, options: ClientOptions) -> Outcome<Self> {
        let Server { url, auth, headers } = server;
        let address = Address::of(&url).map_err(|why| invalid(INVALID_URL, why))?;
        check_headers(&headers)?;
        let prover = Prover::new(auth, &headers, options.aws_profile.clone())
            .map_err(|why| invalid(INVALID_AUTH, why))?;
        let timeout = options.timeout.unsigned_abs();
        let files = (options.ca_file.as_deref(), options.client_certificate.as_ref());
        let transport = Transport::new(&address, files, timeout, options.most_bytes).map_err(
            |file| match file {
                InvalidFile::Authorities(why) => invalid(INVALID_CA_FILE, &why),
                InvalidFile::ClientCertificate(why) => invalid(INVALID_CLIENT_CERTIFICATE, &why),
            },
        )?;
        let client = Self {
            is_open: !prover.is_aws() && !address.is_of_google(),
            base: address.base,
            headers,
            prover,
            transport,
            options,
            until: OnceLock::new(),
            noted: Mutex::default(),
        };
        // Whatever else a URL cannot be.
        client
            .request(&client.url(QUERY), "", &[])
            .map_err(|_| invalid(INVALID_URL, "it cannot be read"))?;
        Ok(client)
    }

    /// Calls and further tries so far.
    pub fn usage(&self) -> ApiUsage {
        self.noted().usage.clone()
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A query that the server gives up before this program does, and says so.
    fn evaluated(&self, query: &str) -> Form {
        Form::new(self.is_open)
            .with("query", query)
            .until(self.options.timeout.unsigned_abs().as_millis() * 9 / 10)
    }

    fn url(&self, operation: Operation) -> String {
        format!("{}{}", self.base, operation.path)
    }

    /// Asks until there is an answer, no further try can help, or the deadline passes.
    async fn asked<T: DeserializeOwned>(&self, operation: Operation, form: Form) -> Outcome<T> {
        let until =
            self.until.get_or_init(|| Instant::now() + self.options.deadline.unsigned_abs());
        let answer = tokio::time::timeout_at(*until, self.answered(operation, form)).await;
        answer.unwrap_or_else(|_| Err(past_deadline(operation.action)))
    }

    async fn answered<T: DeserializeOwned>(&self, operation: Operation, form: Form) -> Outcome<T> {
        let form = form.text();
        count_call(&mut self.noted().usage, operation.action);
        let (mut tries, mut is_renewed) = (1, false);
        loop {
            let Failed { error, again } = match self.tried(operation, &form).await {
                Ok(answer) => {
                    self.note(answer.warnings);
                    return Ok(answer.data);
                }
                Err(failed) => failed,
            };
            if again == RetryPolicy::Renewed && !is_renewed {
                is_renewed = true;
            } else {
                let Some(pause) = again.pause(tries, self.options.first_pause.unsigned_abs())
                else {
                    return Err(error);
                };
                tracing::debug!("{error}; again in {} ms", pause.as_millis());
                tokio::time::sleep(pause).await;
                tries += 1;
            }
            self.noted().usage.retries += 1;
        }
    }

    fn note(&self, warnings: Vec<String>) {
        for warning in warnings {
            let clean = self.prover.clean(&warning);
            let mut noted = self.noted();
            if noted.warnings.len() < MOST_WARNINGS && !clean.is_empty() {
                noted.warnings.insert(clean);
            }
        }
    }

    async fn tried<T: DeserializeOwned>(
        &self,
        operation: Operation,
        form: &str,
    ) -> Result<Answer<T>, Failed> {
        let (action, url) = (operation.action, self.url(operation));
        let proof = self.prover.headers(action, &url, form).await.map_err(Failed::for_good)?;
        let request = self
            .request(&url, form, &proof)
            .map_err(|_| Failed::for_good(invalid(INVALID_AUTH, "they cannot be sent")))?;
        let reply = self.transport.send(request).await;
        let reply = reply.map_err(|why| Failed::without_reply(action, &why, &self.prover))?;
        if reply.is_success() && !reply.is_whole {
            return Err(Failed::cut(action));
        }
        if reply.is_success() {
            let answer = read(&reply.body);
            return answer.map_err(|why| Failed::unread(action, why, &reply, &self.prover));
        }
        let mut failed = Failed::refused(action, &reply, &self.prover);
        if reply.status == 401 && self.prover.renew(&proof).await {
            failed.again = RetryPolicy::Renewed;
        }
        Err(failed)
    }

    /// A request of a form, with what proves who sends it.
    fn request(&self, url: &str, form: &str, proof: &[Header]) -> Result<HttpRequest, HttpError> {
        let mut request = HttpRequest::new(SdkBody::from(form));
        request.set_method("POST")?;
        request.set_uri(url)?;
        let headers = request.headers_mut();
        headers.try_insert("user-agent", USER_AGENT)?;
        headers.try_insert("accept", "application/json")?;
        for (name, value) in &self.headers {
            headers.try_insert(name.clone(), value.clone())?;
        }
        let (name, value) = FORM;
        headers.try_insert(name, value)?;
        headers.try_insert("accept-encoding", "gzip")?;
        for (name, value) in proof {
            headers.try_insert(*name, value.clone())?;
        }
        Ok(request)
    }
}

impl Ask for Client {
    async fn series(&self, matchers: &[String], window: Window) -> Outcome<Vec<Labels>> {
        let form = matchers
            .iter()
            .fold(Form::new(self.is_open), |form, matcher| form.with("match[]", matcher));
        let data: SeriesData = self.asked(SERIES, form.within(window)).await?;
        Ok(data.0.into_iter().map(|Named(labels)| labels).collect())
    }

    async fn query_range(
        &self,
        query: &str,
        start: Timestamp,
        end: Timestamp,
        step_seconds: u32,
    ) -> Outcome<Vec<Row>> {
        let form = self
            .evaluated(query)
            .within(Window { start, end })
            .with("step", &step_seconds.to_string());
        let data: MatrixData = self.asked(QUERY_RANGE, form).await?;
        let rows = data.rows();
        let steps = (end.as_second() - start.as_second()) / i64::from(step_seconds.max(1));
        // A server that moves the instants may answer one more.
        let most = usize::try_from(steps).map_or(2, |steps| steps + 2);
        if rows.iter().any(|row| row.points.len() > most) {
            return Err(malformed(QUERY_RANGE.action, TOO_MANY_POINTS));
        }
        Ok(rows)
    }

    async fn query(&self, query: &str, at: Timestamp) -> Outcome<Vec<(Labels, f64)>> {
        let form = self.evaluated(query).with("time", &seconds(at));
        let data: VectorData = self.asked(QUERY, form).await?;
        Ok(data.rows().into_iter().filter_map(VectorRow::labels_and_value).collect())
    }

    /// Each once, at most 20, in order.
    fn warnings(&self) -> Vec<String> {
        self.noted().warnings.iter().cloned().collect()
    }
}

/// # Errors
/// With the number of the header: its name may be a value that is in the wrong place.
fn check_headers(headers: &[(String, String)]) -> Outcome<()> {
    for (place, (name, value)) in headers.iter().enumerate() {
        let why = |why: &str| invalid(INVALID_HEADER, &format!("number {}: {why}", place + 1));
        let mut request = HttpRequest::empty();
        if request.headers_mut().try_insert(name.clone(), value.clone()).is_err() {
            return Err(why("its name or its value has a character that it cannot have"));
        }
        if OWN_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Err(why("gpucost sets it"));
        }
    }
    Ok(())
}
