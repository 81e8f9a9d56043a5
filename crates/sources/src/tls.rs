//! HTTPS for every client: rustls with a small provider of its ciphers. The client of
//! Kubernetes is set up by its own crate, with the same provider: rustls is built with no
//! other.

use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext};
use aws_smithy_http_client::{Builder, Connector, ConnectorBuilder};
use aws_smithy_runtime_api::client::http::{HttpConnectorSettings, SharedHttpClient};
use std::net::IpAddr;
use std::time::Duration;

pub(super) const PROVIDER: Provider = Provider::Rustls(CryptoMode::Ring);

/// The client of every AWS service, with the proxies that the environment names.
pub(super) fn aws_client() -> SharedHttpClient {
    Builder::new().build_with_connector_fn(|settings, components| {
        let mut connector = ConnectorBuilder::default().tls_provider(PROVIDER);
        connector.set_connector_settings(settings.cloned());
        connector.set_sleep_impl(components.and_then(|all| all.sleep_impl()));
        connector.set_proxy_config(Some(ProxyConfig::from_env()));
        connector.build()
    })
}

/// A connection to AWS outside of its SDK, likewise.
pub(super) fn aws_connector(connect_within: Duration) -> Connector {
    connector(connect_within, ProxyConfig::from_env(), TlsContext::default())
}

/// A connection to any server that a context trusts. It follows no redirect, so that nothing secret goes to another
/// one.
pub(super) fn connector(
    connect_within: Duration,
    proxy: ProxyConfig,
    context: TlsContext,
) -> Connector {
    let settings = HttpConnectorSettings::builder().connect_timeout(connect_within).build();
    Connector::builder()
        .connector_settings(settings)
        .proxy_config(proxy)
        .tls_provider(PROVIDER)
        .tls_context(context)
        .build()
}

/// Whether a host is this one, so that nothing goes over a network.
pub(super) fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
