//! Credentials, clients and identity.

use super::access::{CONNECT_WITHIN, configured, home_region, provided};
use super::answers::{owned, text};
use super::meter::{Meter, RateLimiter};
use super::service::{EC2, Fields, STS};
use crate::Outcome;
use crate::domain::{ApiUsage, named_enum};
use crate::tls::aws_connector;
use aws_config::identity::IdentityCache;
use aws_config::{Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use jiff::Timestamp;
use roxmltree::Node;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// What is being waited for, for whoever shows progress.
#[derive(Debug, Clone, Default)]
pub struct Notice(Arc<Mutex<Option<String>>>);

impl Notice {
    /// What it says now; `None` while nothing is waited for.
    pub fn text(&self) -> Option<String> {
        self.held().clone()
    }

    fn held(&self) -> MutexGuard<'_, Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, text: Option<String>) {
        *self.held() = text;
    }
}

/// How long throttling is waited out.
#[derive(Debug, Clone)]
pub(super) struct Patience {
    pub until: Instant,
    pub notice: Notice,
}

named_enum! {
    /// What rents out machines, or gives them away.
    AwsService {
        Ec2 = "ec2",
        /// Who holds GPUs of instances of EC2.
        Ecs = "ecs",
        /// What keeps instances of EC2 up for jobs.
        Batch = "batch",
        SageMaker = "sagemaker",
    }
}

#[derive(Debug, Clone, Default)]
pub struct AwsOptions {
    pub profile: Option<String>,
    /// What is read; EC2 alone where none is named.
    pub services: Vec<AwsService>,
    /// Whether AWS is asked what it advises.
    pub asks_opinions: bool,
    /// The instant that is audited.
    pub as_of: Timestamp,
    /// Another endpoint for every service.
    pub endpoint_url: Option<String>,
    /// How long throttling is waited out, from the connection on.
    pub deadline: Duration,
    /// What is waited for.
    pub notice: Notice,
}

impl AwsOptions {
    pub(super) fn reads(&self, service: AwsService) -> bool {
        match self.services.as_slice() {
            [] => service == AwsService::Ec2,
            named => named.contains(&service),
        }
    }
}

/// How early credentials that expire are replaced.
const BEFORE_EXPIRY: Duration = Duration::from_secs(60);
/// How long credentials are used that do not say when they expire.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(15 * 60);

/// Whether a service refused credentials as expired, so that others have to take their
/// place whatever the clock says. Whoever replaces them takes it back.
pub(super) type Renewal = Arc<AtomicBool>;

/// A set of credentials with everything that is shared between its clients.
#[derive(Debug, Clone)]
pub struct Session {
    pub(super) config: SdkConfig,
    pub(super) meter: Meter,
    pub(super) limiter: Arc<RateLimiter>,
    pub(super) patience: Patience,
    /// Where its credentials can be renewed.
    renewal: Option<Renewal>,
    /// For services without a client; made when first used.
    connector: Arc<OnceLock<SharedHttpConnector>>,
    /// What their requests are signed with, and until when.
    signed_with: Arc<tokio::sync::Mutex<Option<(Credentials, SystemTime)>>>,
}

#[derive(Debug, Clone)]
pub struct RegionClients {
    pub region: String,
    pub(super) cloudwatch: aws_sdk_cloudwatch::Client,
    pub(super) session: Session,
}

impl Session {
    /// Loads configuration and credentials.
    ///
    /// # Errors
    /// When there are no credentials, or they cannot be loaded.
    pub async fn connect(options: &AwsOptions) -> Outcome<Self> {
        let profile = options.profile.as_deref();
        let config = configured(profile, options.endpoint_url.as_deref()).await;
        provided(&config, profile).await?;
        let until = Instant::now() + options.deadline;
        Ok(Self::of(config, Patience { until, notice: options.notice.clone() }))
    }

    /// A session by a configuration.
    pub(super) fn of(config: SdkConfig, patience: Patience) -> Self {
        Self {
            config,
            meter: Meter::default(),
            limiter: Arc::default(),
            patience,
            renewal: None,
            connector: Arc::default(),
            signed_with: Arc::default(),
        }
    }

    /// The same with credentials of a role in another account, which their provider keeps
    /// and renews. Its calls are counted and limited apart, because quotas are an account's.
    pub(super) fn in_role(&self, provider: SharedCredentialsProvider, renewal: Renewal) -> Self {
        Self {
            config: self
                .config
                .to_builder()
                .credentials_provider(provider)
                .identity_cache(IdentityCache::no_cache())
                .build(),
            meter: Meter::default(),
            limiter: Arc::default(),
            renewal: Some(renewal),
            ..self.clone()
        }
    }

    /// Has the next call use other credentials; whether there can be others.
    pub(super) fn renew(&self) -> bool {
        self.renewal.as_ref().map(|is_due| is_due.store(true, Ordering::Relaxed)).is_some()
    }

    /// The region that the configuration names.
    pub fn home_region(&self) -> &str {
        home_region(&self.config)
    }

    /// The account of whoever asks.
    ///
    /// # Errors
    /// When STS does not answer or refuses the credentials.
    pub async fn account(&self) -> Outcome<String> {
        let account = |node: Node<'_, '_>| Ok(owned(node, &["Account"]));
        let (home, none) = (self.home(), Fields::new());
        let account = home.ask_form(&STS, "GetCallerIdentity", &none, account).await?;
        Ok(account.unwrap_or_else(|| "unknown".to_owned()))
    }

    /// The regions that the account has enabled, ascending.
    ///
    /// # Errors
    /// When EC2 refuses or does not answer.
    pub async fn enabled_regions(&self) -> Outcome<Vec<String>> {
        let enabled = |node: Node<'_, '_>| {
            let is_enabled = text(node, &["optInStatus"]) != Some("not-opted-in");
            Ok(owned(node, &["regionName"]).filter(|_| is_enabled))
        };
        let list = (Fields::new(), "regionInfo");
        let regions = self.home().ask_members(&EC2, "DescribeRegions", list, enabled).await?;
        let mut regions: Vec<String> = regions.into_iter().flatten().collect();
        regions.sort();
        Ok(regions)
    }

    /// What is asked in the region that the configuration names.
    pub(super) fn home(&self) -> RegionClients {
        self.in_region(self.home_region())
    }

    pub fn in_region(&self, region: &str) -> RegionClients {
        let config = aws_sdk_cloudwatch::config::Builder::from(&self.config)
            .region(Region::new(region.to_owned()))
            .interceptor(self.meter.clone());
        RegionClients {
            region: region.to_owned(),
            cloudwatch: aws_sdk_cloudwatch::Client::from_conf(config.build()),
            session: self.clone(),
        }
    }

    /// What requests without a client are signed with. A role renews its own; all others are
    /// asked for again shortly before they expire, or now and then.
    pub(super) async fn credentials(&self) -> Outcome<Credentials> {
        if self.renewal.is_some() {
            return provided(&self.config, None).await;
        }
        let mut held = self.signed_with.lock().await;
        let now = SystemTime::now();
        if let Some((credentials, _)) = held.as_ref().filter(|(_, until)| now < *until) {
            return Ok(credentials.clone());
        }
        let credentials = provided(&self.config, None).await?;
        let until = credentials.expiry().map_or(now + ASKED_AGAIN_AFTER, |at| at - BEFORE_EXPIRY);
        Ok(held.insert((credentials, until)).0.clone())
    }

    /// Where requests without a client go.
    pub(super) fn connector(&self) -> SharedHttpConnector {
        let make = || SharedHttpConnector::new(aws_connector(CONNECT_WITHIN));
        self.connector.get_or_init(make).clone()
    }

    pub fn usage(&self) -> ApiUsage {
        self.meter.usage()
    }
}

/// Domain time of an SDK time; `None` out of range.
pub(super) fn timestamp(time: &aws_smithy_types::DateTime) -> Option<jiff::Timestamp> {
    jiff::Timestamp::new(time.secs(), i32::try_from(time.subsec_nanos()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::access::{ATTEMPTS, DEFAULT_REGION, time_limits};
    use crate::aws::organization::ORGANIZATIONS;
    use crate::domain::FailureKind;
    use crate::tls::aws_client;
    use aws_config::BehaviorVersion;
    use aws_config::retry::RetryConfig;
    use aws_config::timeout::TimeoutConfig;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// A session that asks a host and waits out throttling until an instant.
    fn session(listener: &TcpListener, limits: TimeoutConfig, until: Instant) -> Session {
        let address = listener.local_addr().expect("a bound socket has an address");
        let credentials = Credentials::new("key", "secret", None, None, "tests");
        let config = SdkConfig::builder()
            .http_client(aws_client())
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static(DEFAULT_REGION))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .endpoint_url(format!("http://{address}"))
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
            .timeout_config(limits);
        Session::of(config.build(), Patience { until, notice: Notice::default() })
    }

    fn listener() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").expect("a port is free")
    }

    #[tokio::test]
    async fn a_call_without_an_answer_ends() {
        // Connections are taken by the system and never read.
        let silent = listener();
        let limits = time_limits()
            .to_builder()
            .operation_attempt_timeout(Duration::from_millis(50))
            .operation_timeout(Duration::from_millis(200))
            .build();
        let begin = Instant::now();
        let session = session(&silent, limits, begin);
        let error = crate::aws::inventory::inventory(&session.in_region("eu-west-1"))
            .await
            .expect_err("nobody answers");
        assert!(begin.elapsed() < Duration::from_secs(10));
        assert_eq!(error.kind, FailureKind::Unreachable);
        assert_eq!(error.to_string(), "ec2:DescribeInstances: no response within the time limit");
        assert_eq!(session.usage().calls, 1);
    }

    /// Refuses every request as one too many.
    fn throttle(listener: TcpListener) {
        const BODY: &str = r#"{"__type":"TooManyRequestsException","message":"slow down"}"#;
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut request = Vec::new();
                let mut part = [0; 4_096];
                while !request.ends_with(b"{}") {
                    match stream.read(&mut part) {
                        Ok(read) if read > 0 => request.extend_from_slice(&part[..read]),
                        _ => break,
                    }
                }
                let length = BODY.len();
                let answer = format!(
                    "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\
                     content-length: {length}\r\n\r\n{BODY}"
                );
                let _ = stream.write_all(answer.as_bytes());
            }
        });
    }

    /// The pauses of five attempts are 7.5 seconds.
    #[tokio::test]
    async fn a_signed_call_is_not_made_again_after_the_deadline() {
        let server = listener();
        let begin = Instant::now();
        let session = session(&server, time_limits(), begin);
        throttle(server);
        let body = serde_json::json!({});
        let answer = session
            .in_region("us-east-1")
            .ask::<serde_json::Value>(&ORGANIZATIONS, "ListAccounts", &body)
            .await;
        let error = answer.expect_err("it is throttled");
        assert_eq!(
            error.to_string(),
            "organizations:ListAccounts: TooManyRequestsException: slow down"
        );
        let usage = session.usage();
        assert_eq!((usage.calls, usage.retries), (1, 0));
        assert!(begin.elapsed() < Duration::from_secs(5));
    }

    #[tokio::test]
    async fn a_pause_ends_with_the_deadline_where_a_service_throttles() {
        let begin = Instant::now();
        let unused = listener();
        let (long, short) = (Duration::from_secs(60), Duration::from_millis(1));
        let passed = session(&unused, time_limits(), begin);
        assert!(!passed.paused(long, FailureKind::Throttled).await);
        assert!(passed.paused(short, FailureKind::Other).await);
        let until = begin + Duration::from_millis(200);
        let open = session(&unused, time_limits(), until);
        assert!(open.paused(long, FailureKind::Throttled).await);
        assert!((until..begin + Duration::from_secs(30)).contains(&Instant::now()));
    }
}
