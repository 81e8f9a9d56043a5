//! The server that is asked, and how requests prove who asks. What they prove it with
//! shows in no message.

use super::request::{
    COMMAND_FAILED, COMMAND_LATE, COMMAND_NOT_RUN, FORM, NO_TOKEN, NOT_SIGNED, shown,
};
use crate::aws::{self, Credentials};
use crate::credentials::{Header, Post, output};
use crate::domain::FailureKind;
use crate::secrets::Secrets;
use crate::{Outcome, SourceError};
use aws_smithy_types::base64;
use std::fmt;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::process::Command;

/// A command that gives a token may ask somebody for a code.
const TOKEN_WITHIN: Duration = Duration::from_secs(60);
/// Bytes of the longest output with a token; the tokens of clouds have 2 KiB.
const LONGEST_TOKEN: usize = 16 << 10;
/// How long before their end AWS credentials are no longer used.
const EXPIRY_MARGIN: Duration = Duration::from_secs(300);

/// How to reach one server of the Prometheus family.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    /// The base URL, without `/api/v1`: `http://host:9090`, `https://host/prometheus`,
    /// `https://aps-workspaces.us-east-1.amazonaws.com/workspaces/ws-…`. It has no user, no
    /// password and no query.
    pub url: String,
    pub auth: Auth,
    /// Further headers, such as `X-Scope-OrgID`.
    pub headers: Vec<(String, String)>,
}

/// Without what may be secret: values of headers, and a user and a query in the URL.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("url", &shown(&self.url))
            .field("auth", &self.auth)
            .field("headers", &self.headers.len())
            .finish()
    }
}

/// How a server knows who asks.
#[derive(Clone, PartialEq, Eq)]
pub enum Auth {
    None,
    Basic {
        user: String,
        password: String,
    },
    /// A token that does not change.
    Bearer(String),
    /// A command for `sh -c` that prints a bearer token. It runs before the first request,
    /// and again after a token was refused.
    TokenCommand(String),
    /// AWS credentials of the usual places.
    SigV4 {
        /// `aps` or `monitoring`.
        service: &'static str,
        region: String,
    },
}

/// The kind alone: a command may hold a secret too.
impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Basic { .. } => f.write_str("Basic { .. }"),
            Self::Bearer(_) => f.write_str("Bearer(..)"),
            Self::TokenCommand(_) => f.write_str("TokenCommand(..)"),
            Self::SigV4 { service, region } => {
                f.debug_struct("SigV4").field("service", service).field("region", region).finish()
            }
        }
    }
}

/// Whether a text can be a token: one that a header can hold, without spaces.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Proves who asks, and keeps what it proves that with out of messages.
pub(super) struct Prover {
    auth: Auth,
    aws_profile: Option<String>,
    /// What the token command printed last.
    token: tokio::sync::Mutex<Option<String>>,
    credentials: tokio::sync::Mutex<Option<Credentials>>,
    secrets: Mutex<Secrets>,
}

impl Prover {
    /// For requests with further headers.
    ///
    /// # Errors
    /// Why nothing can be proved with it; the words do not repeat it.
    pub fn new(
        mut auth: Auth,
        headers: &[(String, String)],
        aws_profile: Option<String>,
    ) -> Result<Self, &'static str> {
        if let Auth::Bearer(token) = &mut auth {
            // A token that is read from a file ends with a line break.
            *token = token.trim().to_owned();
        }
        let mut secrets = Secrets::default();
        for (_, value) in headers {
            hide(&mut secrets, value);
            // The value of `Authorization` begins with its scheme.
            hide(&mut secrets, value.rsplit(' ').next().unwrap_or_default());
        }
        match &auth {
            Auth::Basic { user, .. } if user.contains(':') => return Err("the user has a colon"),
            Auth::Bearer(token) if !is_token(token) => {
                return Err("the bearer token is empty or has a space or a line break");
            }
            Auth::TokenCommand(command) if command.trim().is_empty() => {
                return Err("the token command is empty");
            }
            Auth::Basic { user, password } => {
                hide(&mut secrets, password);
                hide(&mut secrets, &pair(user, password));
            }
            Auth::Bearer(token) => hide(&mut secrets, token),
            Auth::None | Auth::TokenCommand(_) | Auth::SigV4 { .. } => {}
        }
        Ok(Self {
            auth,
            aws_profile,
            token: tokio::sync::Mutex::default(),
            credentials: tokio::sync::Mutex::default(),
            secrets: Mutex::new(secrets),
        })
    }

    /// Whether requests are signed for a service of AWS.
    pub fn is_aws(&self) -> bool {
        matches!(self.auth, Auth::SigV4 { .. })
    }

    /// The headers that prove who sends a form to a URL.
    ///
    /// # Errors
    /// When there is no token or there are no credentials.
    pub async fn headers(
        &self,
        action: &'static str,
        url: &str,
        form: &str,
    ) -> Outcome<Vec<Header>> {
        match &self.auth {
            Auth::None => Ok(Vec::new()),
            Auth::Basic { user, password } => {
                Ok(vec![("authorization", format!("Basic {}", pair(user, password)))])
            }
            Auth::Bearer(token) => Ok(vec![bearer(token)]),
            Auth::TokenCommand(command) => Ok(vec![bearer(&self.token(action, command).await?)]),
            Auth::SigV4 { service, region } => {
                let credentials = self.credentials().await?;
                let post = Post { service, region, url, headers: &[FORM], body: form };
                post.signature(&credentials, SystemTime::now()).map_err(|error| {
                    let why = self.clean(&error.to_string());
                    SourceError::own(action, FailureKind::InvalidSettings, NOT_SIGNED, why)
                })
            }
        }
    }

    /// Forgets what a server refused. Whether the next request may prove more.
    pub async fn renew(&self, refused: &[Header]) -> bool {
        if !matches!(self.auth, Auth::TokenCommand(_)) {
            return false;
        }
        let mut token = self.token.lock().await;
        // Another call may have been refused with the same token, and have a new one.
        if token.as_deref().is_some_and(|token| refused.contains(&bearer(token))) {
            *token = None;
        }
        true
    }

    /// What others say, in one line, at most 500 characters long, and without secrets.
    pub fn clean(&self, text: &str) -> String {
        let text = self.secrets().blank(text);
        let is_gap = |c: char| c.is_whitespace() || c.is_control();
        text.split(is_gap).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn secrets(&self) -> MutexGuard<'_, Secrets> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn token(&self, action: &'static str, command: &str) -> Outcome<String> {
        // Held while the command runs, so that it runs once for calls side by side.
        let mut held = self.token.lock().await;
        if let Some(token) = held.as_ref() {
            return Ok(token.clone());
        }
        let token = printed_by(command).await.map_err(|(words, why)| {
            SourceError::own(action, FailureKind::NoCredentials, words, why)
        })?;
        hide(&mut self.secrets(), &token);
        *held = Some(token.clone());
        Ok(token)
    }

    async fn credentials(&self) -> Outcome<Credentials> {
        let mut held = self.credentials.lock().await;
        let until = SystemTime::now() + EXPIRY_MARGIN;
        let is_valid =
            |credentials: &&Credentials| credentials.expiry().is_none_or(|expiry| expiry > until);
        if let Some(credentials) = held.as_ref().filter(is_valid) {
            return Ok(credentials.clone());
        }
        let credentials = aws::credentials(self.aws_profile.as_deref()).await?;
        if let Some(token) = credentials.session_token() {
            hide(&mut self.secrets(), token);
        }
        hide(&mut self.secrets(), credentials.secret_access_key());
        *held = Some(credentials.clone());
        Ok(credentials)
    }
}

fn bearer(token: &str) -> Header {
    ("authorization", format!("Bearer {token}"))
}

/// A user and a password as basic authentication sends them.
fn pair(user: &str, password: &str) -> String {
    base64::encode(format!("{user}:{password}"))
}

/// Keeps a value out of messages, also as a part of a form.
fn hide(secrets: &mut Secrets, value: &str) {
    secrets.add(value);
    secrets.add(&form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>());
}

/// The token that a command prints. What it says on stderr goes where this program's goes.
///
/// # Errors
/// In this program's words, with those of the system. Neither has the command or what it
/// printed.
async fn printed_by(command: &str) -> Result<String, (&'static str, String)> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null());
    let printed = output(&mut shell, LONGEST_TOKEN as u64 + 1);
    let (text, status) = tokio::time::timeout(TOKEN_WITHIN, printed)
        .await
        .map_err(|_| (COMMAND_LATE, String::new()))?
        .map_err(|error| (COMMAND_NOT_RUN, error.to_string()))?;
    // A command whose output is no longer read may fail for that reason alone.
    if text.len() > LONGEST_TOKEN {
        return Err((NO_TOKEN, String::new()));
    }
    if !status.success() {
        return Err((COMMAND_FAILED, status.to_string()));
    }
    let text = String::from_utf8_lossy(&text);
    let token = text.trim();
    if !is_token(token) {
        return Err((NO_TOKEN, String::new()));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prover(auth: Auth, headers: &[(&str, &str)]) -> Prover {
        let owned = headers.iter();
        let headers: Vec<(String, String)> =
            owned.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Prover::new(auth, &headers, None).expect("valid")
    }

    fn basic(user: &str, password: &str) -> Auth {
        Auth::Basic { user: user.to_owned(), password: password.to_owned() }
    }

    async fn authorization(prover: &Prover) -> Result<String, SourceError> {
        let headers = prover.headers("prometheus:query", "http://prom", "").await?;
        Ok(headers.into_iter().map(|(_, value)| value).collect())
    }

    #[test]
    fn debug_output_has_no_secrets() {
        let server = |auth| Server {
            url: "http://jane:hunter2@prom/x?token=hunter2".to_owned(),
            auth,
            headers: vec![("X-Scope-OrgID".to_owned(), "hunter2".to_owned())],
        };
        for (auth, expected) in [
            (Auth::None, "None"),
            (basic("jane", "hunter2"), "Basic { .. }"),
            (Auth::Bearer("hunter2".to_owned()), "Bearer(..)"),
            (Auth::TokenCommand("echo hunter2".to_owned()), "TokenCommand(..)"),
        ] {
            assert_eq!(
                format!("{:?}", server(auth)),
                format!(
                    "Server {{ url: \"http://(not shown)@prom/x\", auth: {expected}, headers: 1 }}"
                )
            );
        }
    }

    #[tokio::test]
    async fn a_user_and_a_password_are_sent_as_the_standard_says() {
        let prover = prover(basic("Aladdin", "open sesame"), &[]);
        assert_eq!(
            authorization(&prover).await.expect("a header"),
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        );
        assert!(!prover.renew(&[]).await);
        for said in [
            "bad password open sesame", "bad password open+sesame",
            "bad header QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        ] {
            let clean = prover.clean(said);
            assert!(clean.ends_with("(not shown)"), "{clean}");
        }
    }

    #[test]
    fn values_of_headers_are_hidden_whole_and_without_their_scheme() {
        let prover =
            prover(Auth::None, &[("Authorization", "Token hunter2"), ("X-Scope-OrgID", "7")]);
        assert_eq!(
            prover.clean("no hunter2\n\tof\u{7} 7, 17"),
            "no (not shown) of (not shown), 17"
        );
    }

    #[test]
    fn what_cannot_be_sent_is_refused_without_being_repeated() {
        for auth in [
            basic("ja:ne", "hunter2"),
            Auth::Bearer(" \n".to_owned()),
            Auth::Bearer("hunter2\r\nX: y".to_owned()),
            Auth::TokenCommand(" ".to_owned()),
        ] {
            let problem = Prover::new(auth, &[], None).err().expect("invalid");
            assert!(!problem.contains("hunter2"), "{problem}");
        }
        assert!(Prover::new(Auth::Bearer("a.b-c_d\n".to_owned()), &[], None).is_ok());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_token_command_runs_once_until_its_token_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let command = format!("echo >> '{0}'; echo token-$(($(wc -l < '{0}')))", log.display());
        let prover = prover(Auth::TokenCommand(command), &[]);
        assert_eq!(authorization(&prover).await.ok().as_deref(), Some("Bearer token-1"));
        assert_eq!(authorization(&prover).await.ok().as_deref(), Some("Bearer token-1"));
        assert_eq!(prover.clean("token-1 is unknown"), "(not shown) is unknown");
        assert!(prover.renew(&[bearer("token-1")]).await);
        assert_eq!(authorization(&prover).await.ok().as_deref(), Some("Bearer token-2"));
        // A late refusal of the first one does not cost the second.
        assert!(prover.renew(&[bearer("token-1")]).await);
        assert_eq!(authorization(&prover).await.ok().as_deref(), Some("Bearer token-2"));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_token_command_without_a_token_is_reported_without_its_text() {
        for (command, expected) in [
            ("exit 3 # hunter2", "the token command failed: exit status: 3"),
            ("true # hunter2", NO_TOKEN),
            ("echo hunter2 and more", NO_TOKEN),
            ("yes hunter2 | tr -d '\\n' | head -c 20000", NO_TOKEN),
        ] {
            let prover = prover(Auth::TokenCommand(command.to_owned()), &[]);
            let error = authorization(&prover).await.expect_err("no token");
            assert_eq!(error.kind, FailureKind::NoCredentials);
            assert_eq!(error.to_string(), format!("prometheus:query: {expected}"));
        }
    }
}
