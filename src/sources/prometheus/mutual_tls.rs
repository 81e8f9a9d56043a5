//! Connections to a server that knows its clients by a certificate. The connector of the AWS
//! SDK can present none, so this is the client that it is made of.

use super::address::Address;
use crate::sources::files::read_written_text;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use http::Uri;
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
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Files of what proves who a client is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// PEM certificates: its own, and after it those that lead to an authority.
    pub certificate: PathBuf,
    /// Its private key in PEM, without a password.
    pub key: PathBuf,
}

/// A client of one server, with its pool.
pub(super) enum MutualTls {
    Direct(Box<Client<HttpsConnector<HttpConnector>, SdkBody>>),
    /// Through a proxy, which sees neither the certificate nor what is sent.
    Tunnel(Box<Client<HttpsConnector<Tunnel<HttpsConnector<HttpConnector>>>, SdkBody>>),
}

impl MutualTls {
    /// To a server whose certificate is of one of these authorities, or of those of the
    /// system, with the proxies that the environment names. It follows no redirect.
    ///
    /// # Errors
    /// Why the files, or the authorities of the system, cannot be used. The words repeat
    /// nothing of what is in the files.
    pub(super) fn new(
        address: &Address,
        authorities: Option<RootCertStore>,
        own: &ClientCertificate,
        connect_within: Duration,
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
        http.set_connect_timeout(Some(connect_within));
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
    pub(super) async fn call(&self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let request =
            request.try_into_http1x().map_err(|error| ConnectorError::other(error.into(), None))?;
        let response = match self {
            Self::Direct(client) => client.request(request),
            Self::Tunnel(client) => client.request(request),
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
pub(super) fn certificates(
    (file, pem): (&Path, &str),
) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let certificates = certificates.map_err(|_| named(file, INVALID_CERTIFICATE))?;
    if certificates.is_empty() {
        return Err(named(file, "it has no PEM certificates"));
    }
    Ok(certificates)
}

pub(super) const INVALID_CERTIFICATE: &str = "a certificate in it is invalid";

fn private_key((file, pem): (&Path, &str)) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(pem.as_bytes())
        .map_err(|_| named(file, "it has no PEM private key without a password"))
}

/// The text of a file, which may be a pipe and can be read once.
pub(super) fn read(file: &Path) -> Result<String, String> {
    read_written_text(file).map_err(|error| named(file, &error.to_string()))
}

/// What is wrong with a file.
pub(super) fn named(file: &Path, why: &str) -> String {
    format!("{}: {why}", file.display())
}

#[cfg(test)]
#[path = "mutual_tls_tests.rs"]
mod tests;
