//! Servers of the Prometheus family that an audit asks. What decides where credentials
//! go comes from flags and environment alone: a settings file may belong to a repository
//! of somebody else.

use super::{ExitCode, Failure, Io, Outcome, flags, refusal, refused};
use crate::catalog::leading_region;
use crate::domain::{safe, shell_word};
use crate::sources::prometheus::{
    Auth, ClientCertificate, ClientOptions, Destination, MappedMetric, MetricMap, Server, connect,
};
use crate::sources::{MetricServer, SourceError};
use std::collections::BTreeSet;
use std::path::PathBuf;

const URL: &str = "GPUCOST_PROMETHEUS_URL";
const TOKEN: &str = "GPUCOST_PROMETHEUS_TOKEN";
const USER: &str = "GPUCOST_PROMETHEUS_USER";
const PASSWORD: &str = "GPUCOST_PROMETHEUS_PASSWORD";

flags! {
    #[derive(Clone, Default)]
    pub(super) struct PrometheusArgs {
        /// Prometheus, Thanos, Mimir, VictoriaMetrics or a managed service with GPU metrics (can
        /// be repeated)
        prometheus_url: Vec<String> = arg(long, value_name = "URL", conflicts_with_all = ["from", "demo"], help_heading = "Prometheus");
        /// HTTP header for these servers, such as `X-Scope-OrgID: tenant` (can be repeated)
        prometheus_header: Vec<String> = arg(long, value_name = "HEADER", conflicts_with_all = ["from", "demo"], help_heading = "Prometheus");
        /// Command that prints a bearer token for these servers
        prometheus_token_command: Option<String> = arg(long, value_name = "COMMAND", conflicts_with_all = ["from", "demo"], help_heading = "Prometheus");
        /// PEM file of certificate authorities for these servers
        prometheus_ca_file: Option<PathBuf> = arg(long, value_name = "FILE", conflicts_with_all = ["from", "demo"], help_heading = "Prometheus");
        /// PEM file of a client certificate for these servers
        prometheus_client_cert: Option<PathBuf> = arg(long, value_name = "FILE", requires = "prometheus_client_key", conflicts_with_all = ["from", "demo"], help_heading = "Prometheus");
        /// PEM file of the private key of this certificate
        prometheus_client_key: Option<PathBuf> = arg(long, value_name = "FILE", requires = "prometheus_client_cert", conflicts_with_all = ["from", "demo"], help_heading = "Prometheus");
    }
}

/// A server whose URL, header or files cannot be used.
fn unusable(error: SourceError) -> Failure {
    Failure::new(ExitCode::Input, error).with_hint(format!(
        "check `--prometheus-url` (such as http://prometheus:9090, with the user and the \
         password in {USER} and {PASSWORD}), `--prometheus-header`, `--prometheus-ca-file`, \
         `--prometheus-client-cert` and `--prometheus-client-key`"
    ))
}

impl PrometheusArgs {
    /// The servers, in the order in which they are named.
    ///
    /// # Errors
    /// When a URL or a header is invalid, or two kinds of credentials are given.
    pub(super) fn servers(
        &self,
        aws_profile: Option<&String>,
        own_metrics: &[MappedMetric],
        io: &Io<'_>,
    ) -> Outcome<Vec<MetricServer>> {
        let map = MetricMap::extended(own_metrics.to_vec());
        let named = self.named(aws_profile, io)?.into_iter();
        let connected =
            named.map(|(server, options)| connect(server, options, map.clone()).map_err(unusable));
        connected.collect()
    }

    /// The same servers, each with how it is asked.
    ///
    /// # Errors
    /// When a header is invalid, or two kinds of credentials are given.
    pub(super) fn named(
        &self,
        aws_profile: Option<&String>,
        io: &Io<'_>,
    ) -> Outcome<Vec<(Server, ClientOptions)>> {
        let headers = self.prometheus_header.iter();
        let headers: Vec<(String, String)> =
            headers.map(|header| header_of(header)).collect::<Result<_, _>>()?;
        let named = self.urls(io).into_iter().map(|url| {
            let auth = aws_auth(&url).map_or_else(|| self.auth(io), Ok)?;
            let server = Server { url, auth, headers: headers.clone() };
            let options = ClientOptions {
                ca_file: self.prometheus_ca_file.clone(),
                client_certificate: self.client_certificate(),
                aws_profile: aws_profile.cloned(),
                ..ClientOptions::default()
            };
            Ok::<_, Failure>((server, options))
        });
        named.collect()
    }

    /// What to be careful with: who else gets to see the credentials.
    pub(super) fn warnings(&self, io: &Io<'_>) -> Vec<String> {
        let has_header = self.prometheus_header.iter().any(|text| is_secret(text));
        let has_own = self.prometheus_token_command.is_some()
            || [TOKEN, USER].iter().any(|name| io.variable(name).is_some());
        // AWS's own servers get signatures, which prove nothing to another one.
        let gets_any = |url: &String| has_header || (has_own && aws_auth(url).is_none());
        let urls = self.urls(io);
        let ways = urls.iter().filter(|url| gets_any(url));
        let ways: Vec<Destination> = ways.filter_map(|url| Destination::of(url)).collect();
        let readable = ways.iter().filter(|way| way.is_readable);
        let readable = listed(readable.map(|way| way.host.as_str()).collect());
        let hosts: BTreeSet<&str> = ways.iter().map(|way| way.host.as_str()).collect();
        let mut warnings = Vec::new();
        if !readable.is_empty() {
            warnings.push(format!(
                "warning: credentials for Prometheus are sent to {readable} without encryption\n\
                 hint: use a URL that begins with https://, or forward a port of this host"
            ));
        }
        if hosts.len() > 1 {
            warnings.push(format!(
                "warning: the same credentials are sent to several Prometheus servers: {}\n\
                 hint: audit them one by one if each has its own",
                listed(hosts)
            ));
        }
        warnings
    }

    /// The URLs of the flag, or else of the environment.
    pub(super) fn urls(&self, io: &Io<'_>) -> Vec<String> {
        if !self.prometheus_url.is_empty() {
            return self.prometheus_url.clone();
        }
        let usual = io.variable(URL).into_iter().flat_map(|urls| urls.split(','));
        usual.map(|url| url.trim().to_owned()).collect()
    }

    fn client_certificate(&self) -> Option<ClientCertificate> {
        Some(ClientCertificate {
            certificate: self.prometheus_client_cert.clone()?,
            key: self.prometheus_client_key.clone()?,
        })
    }

    /// The flags whose values may be secret, as a shell reads them: variables stand for
    /// the values. Without names where a report leaves the house.
    pub(super) fn secret_words(&self, is_redacted: bool) -> Vec<String> {
        let headers = self.prometheus_header.iter().map(|header| {
            let name = header.split(':').next().unwrap_or_default().trim();
            if is_redacted {
                return "--prometheus-header \"$HEADER\"".to_owned();
            }
            let start = shell_word(&format!("{name}: "));
            let variable = variable_of(name);
            format!("--prometheus-header {start}\"${variable}\"")
        });
        let command = self.prometheus_token_command.as_ref();
        let command = command.map(|_| "--prometheus-token-command \"$TOKEN_COMMAND\"".to_owned());
        headers.chain(command).collect()
    }

    fn auth(&self, io: &Io<'_>) -> Outcome<Auth> {
        let command = self.prometheus_token_command.clone().map(Auth::TokenCommand);
        let token = io.variable(TOKEN).cloned().map(Auth::Bearer);
        let basic = match (io.variable(USER), io.variable(PASSWORD)) {
            (Some(user), Some(password)) => {
                Some(Auth::Basic { user: user.clone(), password: password.clone() })
            }
            (None, None) => None,
            _ => {
                return Err(refusal!("only one of {USER} and {PASSWORD} is set";
                "set both, or neither with {TOKEN}"));
            }
        };
        let mut ways = [command, token, basic].into_iter().flatten();
        match (ways.next(), ways.next()) {
            (auth, None) => Ok(auth.unwrap_or(Auth::None)),
            _ => Err(refusal!("several credentials for Prometheus are given";
                "keep one of `--prometheus-token-command`, {TOKEN}, and {USER} with {PASSWORD}")),
        }
    }
}

/// Whether a header may prove who asks. The tenant of Mimir is only a name.
fn is_secret(header: &str) -> bool {
    !header.split(':').next().unwrap_or_default().trim().eq_ignore_ascii_case("X-Scope-OrgID")
}

fn listed(hosts: BTreeSet<&str>) -> String {
    let hosts: Vec<String> = hosts.into_iter().map(safe).collect();
    hosts.join(", ")
}

/// The variable of a shell that stands for the value of a header.
fn variable_of(header: &str) -> String {
    let word = |c: char| match c.to_ascii_uppercase() {
        c if c.is_ascii_alphanumeric() => c,
        _ => '_',
    };
    format!("HEADER_{}", header.chars().map(word).collect::<String>())
}

/// AWS's own servers are asked with AWS credentials.
fn aws_auth(url: &str) -> Option<Auth> {
    let url = url.trim().to_ascii_lowercase();
    let host = url.strip_prefix("https://")?.split(['/', ':']).next()?;
    let (service, rest) = host.split_once('.')?;
    let region =
        rest.strip_suffix(".amazonaws.com").or_else(|| rest.strip_suffix(".amazonaws.com.cn"))?;
    // The host of a bucket that is called `monitoring` has no region.
    if leading_region(region) != Some(region) {
        return None;
    }
    let service = match service {
        "aps-workspaces" => "aps",
        "monitoring" => "monitoring",
        _ => return None,
    };
    Some(Auth::SigV4 { service, region: region.to_owned() })
}

fn header_of(text: &str) -> Outcome<(String, String)> {
    let parts = text.split_once(':');
    let parts = parts.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    parts.filter(|(name, value)| !name.is_empty() && !value.is_empty()).ok_or_else(refused!(
        "a value of `--prometheus-header` is not `NAME: VALUE`";
        "write it such as `--prometheus-header 'X-Scope-OrgID: tenant'`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// URLs, a header, and variables.
    type Case<'c> = (&'c [&'c str], &'c str, &'c [(&'c str, &'c str)]);

    #[test]
    fn who_sees_credentials_is_said_without_them() {
        let warnings = |urls: &[&str], header: &str, variables: &[(&str, &str)]| {
            let args = PrometheusArgs {
                prometheus_url: urls.iter().map(|url| (*url).to_owned()).collect(),
                prometheus_header: vec![header.to_owned()],
                ..PrometheusArgs::default()
            };
            let pairs = variables.iter();
            let env = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
            let io = Io {
                stdout: &mut stdout,
                stderr: &mut stderr,
                env: env.collect(),
                unreadable: Vec::new(),
                now: jiff::Timestamp::UNIX_EPOCH,
                folder: PathBuf::new(),
                stdout_is_terminal: false,
                stderr_is_terminal: false,
                ends_at_signals: false,
            };
            args.warnings(&io)
        };
        let tenant = "X-Scope-OrgID: blue";
        let token = [(TOKEN, "hunter2")];
        let aws = "https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/ws-1";
        let quiet: [Case<'_>; 4] = [
            (&["http://prom:9090"], tenant, &[]),
            (&["https://prom"], tenant, &token),
            (&["http://127.0.0.1:9090"], "Authorization: hunter2", &[]),
            // Only one of them gets the token.
            (&["https://prom", aws], tenant, &token),
        ];
        for (urls, header, variables) in quiet {
            let messages = warnings(urls, header, variables);
            assert!(messages.is_empty(), "{urls:?}: {messages:?}");
        }
        let open = warnings(&["http://prom:9090/x"], tenant, &token);
        let [open] = &open[..] else {
            panic!("{open:?}");
        };
        assert!(open.starts_with("warning: credentials for Prometheus are sent to prom without"));
        let both = warnings(&["https://b", "https://a", aws], "Authorization: hunter2", &[]);
        let [both] = &both[..] else {
            panic!("{both:?}");
        };
        assert!(both.contains("several Prometheus servers: a, aps-workspaces.eu-west-1"));
        assert!(!open.contains("hunter2") && !both.contains("hunter2"));
    }

    #[test]
    fn secrets_are_repeated_as_variables() {
        let header = |text: &str| text.to_owned();
        let args = PrometheusArgs {
            prometheus_header: vec![header("X-Scope-OrgID: hunter2"), header("$(x)`'y: hunter2")],
            prometheus_token_command: Some("echo hunter2".to_owned()),
            ..PrometheusArgs::default()
        };
        let words = args.secret_words(false);
        assert_eq!(
            words,
            [
                r#"--prometheus-header 'X-Scope-OrgID: '"$HEADER_X_SCOPE_ORGID""#,
                r#"--prometheus-header '$(x)`'\''y: '"$HEADER___X___Y""#,
                r#"--prometheus-token-command "$TOKEN_COMMAND""#,
            ]
        );
        // A shell reads the name back, and puts the value behind it.
        let read = shlex::split(&words.join(" ")).expect("whole quotes");
        assert_eq!(read[1], "X-Scope-OrgID: $HEADER_X_SCOPE_ORGID");
        let redacted = args.secret_words(true);
        assert_eq!(redacted[0], r#"--prometheus-header "$HEADER""#);
    }

    #[test]
    fn credentials_of_aws_go_to_aws_alone() {
        let service = |url: &str| match aws_auth(url) {
            Some(Auth::SigV4 { service, region }) => Some((service, region)),
            _ => None,
        };
        let workspace = "https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/ws-1";
        assert_eq!(service(workspace), Some(("aps", "eu-west-1".to_owned())));
        let shouted = workspace.replace("https", "HTTPS");
        assert_eq!(service(&shouted), Some(("aps", "eu-west-1".to_owned())));
        assert_eq!(
            service("https://monitoring.us-east-1.amazonaws.com"),
            Some(("monitoring", "us-east-1".to_owned()))
        );
        for other in [
            "http://aps-workspaces.eu-west-1.amazonaws.com/workspaces/ws-1",
            "https://aps-workspaces.eu-west-1.amazonaws.com.evil.example",
            "https://evil.example/aps-workspaces.eu-west-1.amazonaws.com",
            "https://prometheus:9090",
            "https://monitoring.s3.amazonaws.com",
        ] {
            assert_eq!(service(other), None, "{other}");
        }
    }
}
