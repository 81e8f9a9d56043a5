//! A server on this host that knows its clients by a certificate, over real TLS.

use super::super::ask::Ask;
use super::{ClientCertificate, certificates, private_key, read};
use crate::SourceError;
use crate::domain::FailureKind;
use crate::prometheus::lab::{Received, ok, serve_over};
use crate::prometheus::{Auth, Client, ClientOptions, Server, is_known_code};
use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

const EMPTY: &str = r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#;

fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/tls");
    folder.join(name)
}

fn chain(name: &str) -> Vec<CertificateDer<'static>> {
    let file = file(name);
    let pem = read(&file).expect("a fixture");
    certificates((&file, &pem)).expect("PEM")
}

fn own() -> ClientCertificate {
    ClientCertificate { certificate: file("client.pem"), key: file("client.key") }
}

/// A connection that is read to its end when it is let go: a client that is reset does not see
/// the alert.
struct Tls(StreamOwned<ServerConnection, TcpStream>);

impl Read for Tls {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Tls {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        let socket = &mut self.0.sock;
        let _ = socket.shutdown(Shutdown::Write);
        let _ = socket.set_read_timeout(Some(Duration::from_secs(5)));
        let _ = io::copy(socket, &mut io::sink());
    }
}

/// A server that accepts clients with a certificate of the test authority, and no others.
fn serve() -> (String, Receiver<Received>) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut authorities = RootCertStore::empty();
    for certificate in chain("ca.pem") {
        authorities.add(certificate).expect("an authority");
    }
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), Arc::clone(&provider));
    let key = file("server.key");
    let key = private_key((&key, &read(&key).expect("a fixture"))).expect("a key");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(verifier.build().expect("an authority"))
        .with_single_cert(chain("server.pem"), key)
        .expect("a certificate with its key");
    let config = Arc::new(config);
    let (address, requests) = serve_over([ok(EMPTY)], move |stream| {
        let connection = ServerConnection::new(Arc::clone(&config)).expect("a configuration");
        Tls(StreamOwned::new(connection, stream))
    });
    (format!("https://{address}"), requests)
}

fn client(url: &str, client_certificate: Option<ClientCertificate>) -> Result<Client, SourceError> {
    let server = Server { url: url.to_owned(), auth: Auth::None, headers: Vec::new() };
    let options = ClientOptions {
        timeout: SignedDuration::from_secs(5),
        first_pause: SignedDuration::from_millis(1),
        ca_file: Some(file("ca.pem")),
        client_certificate,
        ..ClientOptions::default()
    };
    Client::new(server, options)
}

#[tokio::test]
async fn a_certificate_is_presented_to_a_server_that_wants_one() {
    let (url, requests) = serve();
    let client = client(&url, Some(own())).expect("valid files");
    let answer = client.query("up", Timestamp::UNIX_EPOCH).await;
    assert_eq!(answer.expect("an answer"), []);
    let request = requests.recv().expect("a request");
    assert!(request.head.starts_with("POST /api/v1/query HTTP/1.1\r\n"));
    let host = url.trim_start_matches("https://");
    assert_eq!(request.header("host"), Some(host));
    assert!(request.form().contains(&("query", "up")));
}

#[tokio::test]
async fn the_error_of_a_server_that_wants_a_certificate_names_the_flag() {
    let (url, requests) = serve();
    let client = client(&url, None).expect("a valid file");
    let answer = client.query("up", Timestamp::UNIX_EPOCH).await;
    let error = answer.expect_err("no certificate");
    assert_eq!(error.kind, FailureKind::RejectedCredentials, "{error}");
    assert!(is_known_code(&error.code), "{error}");
    assert!(error.to_string().contains("`--prometheus-client-cert`"));
    assert_eq!(client.usage().retries, 0, "{error}");
    assert_eq!(requests.try_iter().count(), 0);
}

#[test]
fn files_that_do_not_fit_are_refused_without_being_repeated() {
    let url = "https://127.0.0.1:9";
    let refused = |url: &str, certificate: PathBuf, key: PathBuf| {
        let own = ClientCertificate { certificate, key };
        let error = client(url, Some(own)).err().expect("invalid");
        assert_eq!(error.kind, FailureKind::InvalidSettings);
        error.to_string()
    };
    let of_server = refused(url, file("client.pem"), file("server.key"));
    assert!(of_server.ends_with("server.key: it is not the key of the certificate"));
    let swapped = refused(url, file("client.key"), file("client.pem"));
    assert!(swapped.ends_with("client.key: it has no PEM certificates"));
    let no_key = refused(url, file("client.pem"), file("client.pem"));
    assert!(no_key.ends_with("client.pem: it has no PEM private key without a password"));
    let missing = refused(url, file("missing.pem"), file("client.key"));
    assert!(missing.contains("missing.pem: "), "{missing}");
    let open = refused("http://127.0.0.1:9", file("client.pem"), file("client.key"));
    assert!(open.ends_with("the URL must begin with https://"), "{open}");
    for said in [of_server, swapped, no_key, missing, open] {
        let start = "prometheus:connect: the client certificate cannot be used: ";
        assert!(said.starts_with(start), "{said}");
        assert!(!said.contains("PRIVATE KEY") && !said.contains("MIG"), "{said}");
    }
}
