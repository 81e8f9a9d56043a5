//! API servers with TLS: client certificates, and what a pod has of its service account.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::{Value, json};

use super::fleet::objects;
use super::run::Lab;
use super::server::{ApiServer, TOKEN, kubeconfig};
use crate::support::source::root;

/// A file among the keys that `NOTE.md` there describes.
fn file(name: &str) -> PathBuf {
    root().join("tests/kubernetes/tls").join(name)
}

fn certificates(name: &str) -> Vec<CertificateDer<'static>> {
    let chain = CertificateDer::pem_file_iter(file(name)).expect("a file of certificates");
    chain.map(|certificate| certificate.expect("a certificate")).collect()
}

/// A server for 127.0.0.1; `asks` is whether a client must have a certificate.
fn config(asks: bool) -> ServerConfig {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().expect("the provider knows them");
    let builder = if asks {
        let mut roots = RootCertStore::empty();
        for authority in certificates("ca.pem") {
            roots.add(authority).expect("an authority");
        }
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        builder.with_client_cert_verifier(verifier.expect("an authority is known"))
    } else {
        builder.with_no_client_auth()
    };
    let key = PrivateKeyDer::from_pem_file(file("server.key")).expect("a key");
    let server = builder.with_single_cert(certificates("server.pem"), key);
    server.expect("the key is that of the certificate")
}

/// A folder with a kubeconfig of a user, which trusts an authority.
fn lab(server: &ApiServer, user: &Value, authority: &str) -> Lab {
    let mut config = kubeconfig(&server.url(), user);
    config["clusters"][0]["cluster"]["certificate-authority"] = json!(file(authority));
    Lab::with(&config)
}

#[test]
fn a_client_certificate_is_enough_to_read_a_cluster() {
    let server = ApiServer::with_tls(&objects(), None, config(true));
    let user = json!({"client-certificate": file("client.pem"), "client-key": file("client.key")});
    let run = lab(&server, &user, "ca.pem").read("inventory", &["-vv"]);
    let document = run.json();
    assert_eq!(document["nodes"].as_array().map(Vec::len), Some(230));
    assert!(!run.stderr.contains("warning: credentials"), "{}", run.stderr);
    let key = std::fs::read_to_string(file("client.key")).expect("a key");
    let secret = key.lines().nth(1).expect("its first line");
    for text in [&run.stdout, &run.stderr] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn without_the_certificate_that_a_server_asks_for_the_connection_fails() {
    let server = ApiServer::with_tls(&objects(), None, config(true));
    let run = lab(&server, &json!({}), "ca.pem").read("inventory", &[]);
    let said = run.error(1);
    assert!(said.starts_with("error: kubernetes:nodes: "), "{said}");
    assert!(server.listed().is_empty());
}

#[test]
fn a_server_of_another_authority_is_not_sent_the_token() {
    let server = ApiServer::with_tls(&objects(), Some(TOKEN), config(false));
    let user = json!({"token": TOKEN});
    let run = lab(&server, &user, "other-ca.pem").read("inventory", &[]);
    let said = run.error(1);
    assert!(said.starts_with("error: kubernetes:nodes: the connection failed: "), "{said}");
    assert!(server.listed().is_empty());
}

/// kube reads the files of a service account at fixed paths, which a test cannot write. A
/// kubeconfig with the same parts, a file with the token and one with the authority, leads
/// to the same client.
#[test]
fn a_token_file_and_an_authority_are_what_a_pod_has() {
    let server = ApiServer::with_tls(&objects(), Some(TOKEN), config(false));
    let folder = tempfile::tempdir().expect("a scratch folder");
    let token = folder.path().join("token");
    std::fs::write(&token, TOKEN).expect("a writable folder");
    let run = lab(&server, &json!({"tokenFile": token}), "ca.pem").read("inventory", &["-vv"]);
    let document = run.json();
    assert_eq!(document["nodes"].as_array().map(Vec::len), Some(230));
}

#[test]
fn a_pod_without_the_files_of_its_service_account_is_told_what_to_mount() {
    let folder = "/var/run/secrets/kubernetes.io/serviceaccount";
    if std::path::Path::new(folder).exists() {
        crate::support::skip::skip(&format!("{folder} exists here"));
        return;
    }
    let lab = Lab::with(&json!({}));
    std::fs::remove_file(lab.kubeconfig()).expect("our own file");
    let host = ("KUBERNETES_SERVICE_HOST", "127.0.0.1");
    for (port, words) in [
        ("6443", "failed to read the default namespace: "),
        ("none", "failed to parse cluster port: "),
    ] {
        let run = lab
            .run_with(&[host, ("KUBERNETES_SERVICE_PORT", port)], &["inventory", "--kubernetes"]);
        let said = run.error(2);
        let start = format!("error: the service account of this pod cannot be used: {words}");
        assert!(said.starts_with(&start), "{said}");
        assert!(said.contains("\nhint: mount the token of the service account"), "{said}");
    }
}
