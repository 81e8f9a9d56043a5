//! Requests on their way: TLS, certificates of clients, proxies, the time limit, and bodies
//! with an end.

use super::request::Address;
use crate::files::read_written_text;
use crate::tls;
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::{TlsContext, TrustStore};
use aws_smithy_runtime_api::client::http::HttpConnector as _;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use flate2::read::MultiGzDecoder;
use http::Uri;
use http_body_util::BodyExt;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioExecutor;
use rustls::client::WantsClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore};
use std::error::Error;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Bytes that are read of an answer without data: what went wrong fits into fewer.
const MOST_WORDS: usize = 64 << 10;

/// A connection to one server, with its pool.
pub(super) struct Transport {
    wire: Wire,
    /// For one request, to the last byte of its answer.
    timeout: Duration,
    /// Bytes of an answer, packed and unpacked.
    most_bytes: usize,
}

/// A client of one server, with its pool.
enum Wire {
    /// The connector of the SDK, which can present no certificate.
    Sdk(Connector),
    /// The client that it is made of, with a certificate of its own.
    Direct(Box<Client<HttpsConnector<HttpConnector>, SdkBody>>),
    /// The same through a proxy, which sees neither the certificate nor what is sent.
    Tunnel(Box<Client<HttpsConnector<Tunnel<HttpsConnector<HttpConnector>>>, SdkBody>>),
}

/// A file that a connection cannot be set up with, and why.
#[derive(Debug)]
pub(super) enum InvalidFile {
    Authorities(String),
    ClientCertificate(String),
}

/// What came back.
pub(super) struct Reply {
    pub status: u16,
    pub retry_after: Option<String>,
    pub location: Option<String>,
    pub body: Vec<u8>,
    /// Whether the body is all there, and not only its beginning.
    pub is_whole: bool,
}

impl Reply {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Why nothing came back.
pub(super) enum NotReceived {
    Late,
    Connection(ConnectorError),
    /// The answer ended too early, or cannot be unpacked.
    Broken(Box<dyn Error + Send + Sync>),
}

impl Transport {
    /// To a server whose certificate is one of the system's authorities, or of those in a
    /// file of PEM certificates, with a certificate of its own where one is given.
    ///
    /// # Errors
    /// Why a file cannot be used.
    pub fn new(
        address: &Address,
        (ca_file, own): (Option<&Path>, Option<&ClientCertificate>),
        timeout: Duration,
        most_bytes: usize,
    ) -> Result<Self, InvalidFile> {
        let authorities = ca_file.map(authorities).transpose().map_err(InvalidFile::Authorities)?;
        let wire = match own {
            Some(own) => Wire::mutual(address, authorities.map(|(roots, _)| roots), own)
                .map_err(InvalidFile::ClientCertificate)?,
            None => connector(address, authorities.map(|(_, pem)| pem))
                .map(Wire::Sdk)
                .map_err(InvalidFile::Authorities)?,
        };
        Ok(Self { wire, timeout, most_bytes })
    }

    /// Sends a request and receives the whole answer, whatever its status.
    pub async fn send(&self, request: HttpRequest) -> Result<Reply, NotReceived> {
        let exchange = tokio::time::timeout(self.timeout, self.exchange(request));
        exchange.await.unwrap_or(Err(NotReceived::Late))
    }

    async fn exchange(&self, request: HttpRequest) -> Result<Reply, NotReceived> {
        let response = self.wire.call(request).await.map_err(|error| {
            if error.is_timeout() { NotReceived::Late } else { NotReceived::Connection(error) }
        })?;
        let header = |name: &str| response.headers().get(name).map(str::to_owned);
        let is_packed = header("content-encoding")
            .is_some_and(|encoding| encoding.eq_ignore_ascii_case("gzip"));
        let mut reply = Reply {
            status: response.status().as_u16(),
            retry_after: header("retry-after"),
            location: header("location"),
            body: Vec::new(),
            is_whole: true,
        };
        let most = if reply.is_success() { self.most_bytes } else { MOST_WORDS };
        let body = response.into_body();
        (reply.body, reply.is_whole) = received(body, most).await.map_err(NotReceived::Broken)?;
        if is_packed && reply.is_whole {
            (reply.body, reply.is_whole) =
                unpacked(&reply.body, most).map_err(|error| NotReceived::Broken(error.into()))?;
        }
        Ok(reply)
    }
}

/// The connector of the SDK, to a server whose certificate is of the authorities in a PEM
/// text, or of those of the system.
///
/// # Errors
/// Why the authorities cannot be used.
fn connector(address: &Address, authorities: Option<String>) -> Result<Connector, String> {
    let authorities = match authorities {
        Some(pem) => TrustStore::empty().with_pem_certificate(pem.into_bytes()),
        None if address.is_https => TrustStore::default(),
        // Without TLS nothing is verified, and reading them takes time.
        None => TrustStore::empty(),
    };
    let context = TlsContext::builder()
        .with_trust_store(authorities)
        .build()
        .map_err(|error| error.to_string())?;
    let proxy =
        if address.is_loopback() { ProxyConfig::disabled() } else { ProxyConfig::from_env() };
    Ok(tls::connector(CONNECT_WITHIN, proxy, context))
}

/// The authorities of a file of PEM certificates, with its text. The connector of the SDK
/// panics where it cannot read one.
fn authorities(file: &Path) -> Result<(RootCertStore, String), String> {
    let pem = read(file)?;
    let mut store = RootCertStore::empty();
    for certificate in certificates((file, &pem))? {
        store.add(certificate).map_err(|_| named(file, INVALID_CERTIFICATE))?;
    }
    Ok((store, pem))
}

/// The first bytes of a body, and whether they are all.
async fn received(
    body: SdkBody,
    most: usize,
) -> Result<(Vec<u8>, bool), Box<dyn Error + Send + Sync>> {
    let mut body = pin!(body);
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        // The other kind of frame is a trailer.
        let Ok(data) = frame?.into_data() else { continue };
        let room = most - bytes.len();
        if data.len() > room {
            bytes.extend_from_slice(&data[..room]);
            return Ok((bytes, false));
        }
        bytes.extend_from_slice(&data);
    }
    Ok((bytes, true))
}

/// The first bytes of what was packed with gzip, and whether they are all.
fn unpacked(packed: &[u8], most: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut plain = Vec::new();
    MultiGzDecoder::new(packed).take(most as u64 + 1).read_to_end(&mut plain)?;
    let is_whole = plain.len() <= most;
    plain.truncate(most);
    Ok((plain, is_whole))
}

/// Files of what proves who a client is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// PEM certificates: its own, and after it those that lead to an authority.
    pub certificate: PathBuf,
    /// Its private key in PEM, without a password.
    pub key: PathBuf,
}

impl Wire {
    /// With a certificate of its own, to a server whose certificate is of one of these
    /// authorities, or of those of the system, with the proxies that the environment names. It
    /// follows no redirect.
    ///
    /// # Errors
    /// Why the files, or the authorities of the system, cannot be used. The words repeat
    /// nothing of what is in the files.
    fn mutual(
        address: &Address,
        authorities: Option<RootCertStore>,
        own: &ClientCertificate,
    ) -> Result<Self, String> {
        if !address.is_https {
            return Err("the URL must begin with https://".to_owned());
        }
        let url: Uri = address.base.parse().map_err(|_| "the URL cannot be read".to_owned())?;
        let chain = certificates((&own.certificate, &read(&own.certificate)?))?;
        let key = private_key((&own.key, &read(&own.key)?))?;
        let config = verifying(authorities.clone())?
            .with_client_auth_cert(chain, key)
            .map_err(|_| named(&own.key, "it is not the key of the certificate"))?;
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_connect_timeout(Some(CONNECT_WITHIN));
        let builder = Client::builder(TokioExecutor::new());
        let proxy = Matcher::from_env().intercept(&url);
        let Some(proxy) = proxy.filter(|_| !address.is_loopback()) else {
            return Ok(Self::Direct(Box::new(builder.build(HttpsConnector::from((http, config))))));
        };
        let to_proxy = HttpsConnector::from((http, verifying(authorities)?.with_no_client_auth()));
        let mut tunnel = Tunnel::new(proxy.uri().clone(), to_proxy);
        if let Some(auth) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(auth.clone());
        }
        Ok(Self::Tunnel(Box::new(builder.build(HttpsConnector::from((tunnel, config))))))
    }

    /// Sends a request, and answers as soon as there is a status.
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let plain = |request: HttpRequest| {
            request.try_into_http1x().map_err(|error| ConnectorError::other(error.into(), None))
        };
        let response = match self {
            Self::Sdk(connector) => return connector.call(request).await,
            Self::Direct(client) => client.request(plain(request)?),
            Self::Tunnel(client) => client.request(plain(request)?),
        };
        let response = response.await.map_err(|error| ConnectorError::io(error.into()))?;
        HttpResponse::try_from(response.map(SdkBody::from_body_1_x))
            .map_err(|error| ConnectorError::other(error.into(), None))
    }
}

/// A configuration that verifies servers, with the ciphers of every other client.
fn verifying(
    authorities: Option<RootCertStore>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    match authorities {
        Some(authorities) => Ok(builder.with_root_certificates(authorities)),
        None => builder.with_native_roots().map_err(|error| error.to_string()),
    }
}

/// The certificates of a PEM file by its text, at least one.
///
/// # Errors
/// Why it cannot be used; what the parser says could repeat a private key.
fn certificates((file, pem): (&Path, &str)) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let certificates = certificates.map_err(|_| named(file, INVALID_CERTIFICATE))?;
    if certificates.is_empty() {
        return Err(named(file, "it has no PEM certificates"));
    }
    Ok(certificates)
}

const INVALID_CERTIFICATE: &str = "a certificate in it is invalid";

fn private_key((file, pem): (&Path, &str)) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(pem.as_bytes())
        .map_err(|_| named(file, "it has no PEM private key without a password"))
}

/// The text of a file, which may be a pipe and can be read once.
fn read(file: &Path) -> Result<String, String> {
    read_written_text(file).map_err(|error| named(file, &error.to_string()))
}

/// What is wrong with a file.
fn named(file: &Path, why: &str) -> String {
    format!("{}: {why}", file.display())
}

#[cfg(test)]
#[path = "mutual_tls_tests.rs"]
mod mutual_tls_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn refusal(text: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, text).expect("writable");
        let address = Address::of("https://prom").expect("an address");
        let files = (Some(file.as_path()), None);
        let made = Transport::new(&address, files, Duration::from_secs(1), 1);
        let Some(InvalidFile::Authorities(why)) = made.err() else {
            panic!("it has no certificates");
        };
        let start = file.display().to_string();
        why.strip_prefix(&start).expect("the file").to_owned()
    }

    #[test]
    fn a_file_without_certificates_is_refused_and_not_repeated() {
        let key = "-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----\n";
        for text in ["", "hunter2", key] {
            assert_eq!(refusal(text), ": it has no PEM certificates");
        }
        let bad = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";
        let cut = "-----BEGIN CERTIFICATE-----\nhunter2\n";
        for text in [bad, cut] {
            assert_eq!(refusal(text), ": a certificate in it is invalid");
        }
        let address = Address::of("https://prom").expect("an address");
        let none = Path::new("/nonexistent/ca.pem");
        let made = Transport::new(&address, (Some(none), None), Duration::from_secs(1), 1);
        let Some(InvalidFile::Authorities(why)) = made.err() else {
            panic!("there is a file");
        };
        assert!(why.starts_with("/nonexistent/ca.pem: "), "{why}");
    }

    #[tokio::test]
    async fn a_body_ends_where_it_is_larger_than_it_may_be() {
        for (most, expected) in [(4, (b"abc".to_vec(), true)), (2, (b"ab".to_vec(), false))] {
            let read = received(SdkBody::from("abc"), most).await;
            assert_eq!(read.expect("a body"), expected);
        }
    }

    #[test]
    fn an_answer_that_unpacks_to_more_than_it_may_is_cut() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&[b' '; 100_000]).expect("room");
        let packed = encoder.finish().expect("room");
        let (plain, is_whole) = unpacked(&packed, 1_000).expect("gzip");
        assert_eq!((plain.len(), is_whole), (1_000, false));
        let (plain, is_whole) = unpacked(&packed, 100_000).expect("gzip");
        assert_eq!((plain.len(), is_whole), (100_000, true));
        assert!(unpacked(&packed[..10], 1_000).is_err());
        assert!(unpacked(b"plain", 1_000).is_err());
    }
}
