//! Credentials, clients and identity.

use super::access::{CONNECT_WITHIN, DEFAULT_REGION, configured, home_region, provided};
use super::meter::{Meter, RateLimiter};
use crate::Outcome;
use crate::domain::{ApiUsage, named_enum};
use crate::tls::aws_connector;
use aws_config::identity::IdentityCache;
use aws_config::{Region, SdkConfig};
use aws_sdk_ec2::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use jiff::Timestamp;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

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

/// Whether a service refused credentials as expired, so that others have to take their
/// place whatever the clock says. Whoever replaces them takes it back.
pub(super) type Renewal = Arc<AtomicBool>;

/// A set of credentials with everything that is shared between its clients.
#[derive(Debug, Clone)]
pub struct Session {
    config: SdkConfig,
    pub(super) meter: Meter,
    pub(super) limiter: Arc<RateLimiter>,
    pub(super) patience: Patience,
    /// Where its credentials can be renewed.
    renewal: Option<Renewal>,
    /// For services without a client; made when first used.
    connector: Arc<OnceLock<SharedHttpConnector>>,
}

#[derive(Debug, Clone)]
pub struct RegionClients {
    pub region: String,
    pub(super) ec2: aws_sdk_ec2::Client,
    pub(super) cloudwatch: aws_sdk_cloudwatch::Client,
    pub(super) session: Session,
}

/// A client of a service in a region, whose calls are counted.
macro_rules! client {
    ($sdk:ident, $session:expr, $region:expr) => {{
        let config = $sdk::config::Builder::from(&$session.config).region($region);
        $sdk::Client::from_conf(config.interceptor($session.meter.clone()).build())
    }};
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
        Ok(Self {
            config,
            meter: Meter::default(),
            limiter: Arc::default(),
            patience: Patience {
                until: Instant::now() + options.deadline,
                notice: options.notice.clone(),
            },
            renewal: None,
            connector: Arc::default(),
        })
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

    /// A client of STS in the region that the configuration names.
    pub(super) fn sts(&self) -> aws_sdk_sts::Client {
        client!(aws_sdk_sts, self, self.config.region().cloned())
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
        let (sts, home) = (self.sts(), self.home());
        let send = || sts.get_caller_identity().send();
        let answer = home.patient("sts:GetCallerIdentity", send).await?;
        Ok(answer.account().unwrap_or("unknown").to_owned())
    }

    /// The regions that the account has enabled, ascending.
    ///
    /// # Errors
    /// When EC2 refuses or does not answer.
    pub async fn enabled_regions(&self) -> Outcome<Vec<String>> {
        let home = self.home();
        let send = || home.ec2.describe_regions().send();
        let answer = home.patient("ec2:DescribeRegions", send).await?;
        let mut regions: Vec<String> = answer
            .regions()
            .iter()
            .filter(|region| region.opt_in_status() != Some("not-opted-in"))
            .filter_map(|region| region.region_name().map(str::to_owned))
            .collect();
        regions.sort();
        Ok(regions)
    }

    /// What is asked in the region that the configuration names.
    pub(super) fn home(&self) -> RegionClients {
        self.in_region(self.home_region())
    }

    pub fn in_region(&self, region: &str) -> RegionClients {
        let name = Region::new(region.to_owned());
        RegionClients {
            region: region.to_owned(),
            ec2: client!(aws_sdk_ec2, self, name.clone()),
            cloudwatch: client!(aws_sdk_cloudwatch, self, name),
            session: self.clone(),
        }
    }

    /// A client of the price list, which a few regions only serve.
    pub(super) fn pricing(&self, endpoint_region: &'static str) -> aws_sdk_pricing::Client {
        client!(aws_sdk_pricing, self, Region::from_static(endpoint_region))
    }

    /// A client of the savings plans, one endpoint for all regions.
    pub(super) fn savings_plans(&self) -> aws_sdk_savingsplans::Client {
        client!(aws_sdk_savingsplans, self, Region::from_static(DEFAULT_REGION))
    }

    /// The endpoint of every service, where one is configured.
    pub(super) fn endpoint_url(&self) -> Option<&str> {
        self.config.endpoint_url()
    }

    /// What requests without a client are signed with. They are read anew with each call.
    pub(super) async fn credentials(&self) -> Outcome<Credentials> {
        provided(&self.config, None).await
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
    use crate::aws::access::{ATTEMPTS, time_limits};
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
        Session {
            config: SdkConfig::builder()
                .http_client(aws_client())
                .behavior_version(BehaviorVersion::latest())
                .region(Region::from_static(DEFAULT_REGION))
                .credentials_provider(SharedCredentialsProvider::new(credentials))
                .endpoint_url(format!("http://{address}"))
                .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
                .timeout_config(limits)
                .build(),
            meter: Meter::default(),
            limiter: Arc::default(),
            patience: Patience { until, notice: Notice::default() },
            renewal: None,
            connector: Arc::default(),
        }
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
