//! The program of a kubeconfig that gives credentials: an end to what it prints and to how long
//! it runs, and nothing that it prints in a message.

use super::super::failure::{PLUGIN_FAILED, PLUGIN_LATE, PLUGIN_NOT_RUN, PLUGIN_UNREADABLE};
use super::super::rbac::CONNECT;
use crate::credentials::output;
use crate::domain::FailureKind;
use crate::{Outcome, SourceError};
use aws_smithy_types::base64;
use http::HeaderValue;
use kube::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::json;
use std::io;
use std::process::{ExitStatus, Stdio};
use tokio::process::Command;
use tokio::time::Instant;

/// Bytes of what a plugin prints; a certificate with its chain has some ten thousand.
const MOST_BYTES: u64 = 1 << 20;

#[derive(Deserialize)]
struct ExecCredential {
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// Whether a token can be sent. The client of kube ends the process over one that cannot.
pub(super) fn is_sendable(token: &str) -> bool {
    HeaderValue::try_from(format!("Bearer {token}")).is_ok()
}

/// Runs the plugin of a user until a time, and gives the user what it prints. A user who is
/// stated in another way too keeps that, as with kubectl.
///
/// # Errors
/// When it cannot be started, does not end in time, fails, or prints no credentials.
pub(super) async fn run(user: &mut AuthInfo, until: Instant) -> Outcome<()> {
    let has_other = user.auth_provider.is_some()
        || user.token.is_some()
        || user.token_file.is_some()
        || user.username.is_some() && user.password.is_some();
    let Some(plugin) = user.exec.take().filter(|_| !has_other) else { return Ok(()) };
    let failed = |words: &str, said: String| {
        let name = plugin.command.as_deref().unwrap_or_default();
        SourceError::own(CONNECT, FailureKind::NoCredentials, words, format!("{name}{said}"))
    };
    let (text, status) = tokio::time::timeout_at(until, output_of(&plugin))
        .await
        .map_err(|_| failed(PLUGIN_LATE, String::new()))?
        .map_err(|error| failed(PLUGIN_NOT_RUN, format!(": {error}")))?;
    let unreadable = || failed(PLUGIN_UNREADABLE, String::new());
    // A program whose output is no longer read may fail for that reason alone.
    if text.len() as u64 > MOST_BYTES {
        return Err(unreadable());
    }
    if !status.success() {
        return Err(failed(PLUGIN_FAILED, format!(": {status}")));
    }
    let credential: ExecCredential = serde_json::from_slice(&text).map_err(|_| unreadable())?;
    let given = credential.status.ok_or_else(unreadable)?;
    if let (Some(certificate), Some(key)) = (given.client_certificate_data, given.client_key_data) {
        user.client_certificate_data = Some(base64::encode(certificate));
        user.client_key_data = Some(base64::encode(key).into());
    } else if let Some(token) = given.token {
        if !is_sendable(&token) {
            return Err(unreadable());
        }
        user.token = Some(token.into());
    }
    Ok(())
}

/// How the output of a plugin begins, and how the plugin ends.
async fn output_of(plugin: &ExecConfig) -> io::Result<(Vec<u8>, ExitStatus)> {
    let is_interactive = plugin.interactive_mode != Some(ExecInteractiveMode::Never);
    let mut spec = json!({ "interactive": is_interactive });
    if plugin.provide_cluster_info {
        spec["cluster"] = serde_json::to_value(&plugin.cluster)?;
    }
    let asked = json!({
        "apiVersion": plugin.api_version,
        "kind": "ExecCredential",
        "spec": spec,
    });
    let stdio = || if is_interactive { Stdio::inherit() } else { Stdio::null() };
    let named = plugin.env.iter().flatten();
    let mut program = Command::new(plugin.command.as_deref().unwrap_or_default());
    program
        .args(plugin.args.iter().flatten())
        .envs(named.filter_map(|entry| Some((entry.get("name")?, entry.get("value")?))))
        .env("KUBERNETES_EXEC_INFO", asked.to_string())
        .stdin(stdio())
        .stderr(stdio());
    output(&mut program, MOST_BYTES + 1).await
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A user whose credentials a line of the shell gives.
    fn user(line: &str) -> AuthInfo {
        let user = json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "/bin/sh",
            "args": ["-c", line],
            "interactiveMode": "Never",
        }});
        serde_json::from_value(user).expect("a user")
    }

    async fn refused(line: &str, within: Duration) -> String {
        let until = Instant::now() + within;
        let error = run(&mut user(line), until).await.expect_err(line);
        error.to_string()
    }

    #[tokio::test]
    async fn what_a_plugin_prints_and_how_long_it_runs_is_bounded() {
        let minute = Duration::from_secs(60);
        for (line, within, words) in [
            // 2 MB of spaces and an object would be valid JSON.
            (
                "head -c 2000000 /dev/zero | tr '\\0' ' '; echo '{\"status\": {}}'",
                minute,
                "the output of the credential plugin is not an ExecCredential",
            ),
            ("yes hunter2", minute, "the output of the credential plugin is not an ExecCredential"),
            (
                "exec sleep 60",
                Duration::from_millis(300),
                "the credential plugin did not end within the time limit",
            ),
            ("echo hunter2; exit 3", minute, "the credential plugin failed"),
            (
                "printf '%s' '{\"status\": {\"token\": \"hunter2\\nX: y\"}}'",
                minute,
                "the output of the credential plugin is not an ExecCredential",
            ),
        ] {
            let said = refused(line, within).await;
            let start = format!("kubernetes:connect: {words}: /bin/sh");
            assert!(said.starts_with(&start), "{line}: {said}");
            assert!(!said.contains("hunter2"), "{line}: {said}");
        }
    }

    #[tokio::test]
    async fn a_user_gets_what_the_plugin_prints() {
        let until = Instant::now() + Duration::from_secs(60);
        let mut given = user(
            "echo '{\"status\": {\"clientCertificateData\": \"Man\", \"clientKeyData\": \"Ma\"}}'",
        );
        run(&mut given, until).await.expect("credentials");
        let written = serde_json::to_value(&given).expect("JSON");
        // The standard's own examples of Base64.
        assert_eq!(written["client-certificate-data"], "TWFu");
        assert_eq!(written["client-key-data"], "TWE=");
        let mut given = user("echo '{\"status\": {\"token\": \"a-token\"}}'");
        run(&mut given, until).await.expect("credentials");
        assert_eq!(serde_json::to_value(&given).expect("JSON")["token"], "a-token");
        let mut stated = user("exit 1");
        stated.token = Some("stated".to_owned().into());
        run(&mut stated, until).await.expect("it is not run");
    }
}
