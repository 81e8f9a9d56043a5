//! Credentials, clients and identity.

use super::error::{AwsError, ErrorKind};
use super::limit::{self, RateLimiter};
use super::meter::Meter;
use crate::domain::ApiUsage;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_ec2::config::ProvideCredentials;
use std::sync::Arc;
use std::time::Duration;

/// Tries of one call, the first included.
const ATTEMPTS: u32 = 5;
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(20);
const CALL_TIMEOUT: Duration = Duration::from_secs(90);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The region to ask when nothing else names one.
const DEFAULT_REGION: &str = "us-east-1";

/// How to reach AWS.
#[derive(Debug, Clone, Default)]
pub struct AwsOptions {
    /// Named profile.
    pub profile: Option<String>,
    /// Another endpoint for every service.
    pub endpoint_url: Option<String>,
}

/// Who is asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The account.
    pub account: String,
}

/// A set of credentials with everything that is shared between its clients.
#[derive(Debug, Clone)]
pub struct Session {
    config: SdkConfig,
    meter: Meter,
    limiter: Arc<RateLimiter>,
}

/// Clients of one region.
#[derive(Debug, Clone)]
pub struct RegionClients {
    /// The region.
    pub region: String,
    pub(super) ec2: aws_sdk_ec2::Client,
    pub(super) cloudwatch: aws_sdk_cloudwatch::Client,
    session: Session,
}

impl Session {
    /// Loads configuration and credentials.
    ///
    /// # Errors
    /// When there are no credentials, or they cannot be loaded.
    pub async fn connect(options: &AwsOptions) -> Result<Self, AwsError> {
        let retries = RetryConfig::standard().with_max_attempts(ATTEMPTS);
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .operation_timeout(CALL_TIMEOUT)
            .build();
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .retry_config(retries)
            .timeout_config(timeouts);
        if let Some(profile) = &options.profile {
            loader = loader.profile_name(profile);
        }
        if let Some(url) = &options.endpoint_url {
            loader = loader.endpoint_url(url);
        }
        let mut config = loader.load().await;
        if config.region().is_none() {
            config = config
                .to_builder()
                .region(Region::from_static(DEFAULT_REGION))
                .build();
        }
        let no_credentials = |message: String| AwsError {
            action: "credentials",
            kind: ErrorKind::NoCredentials,
            message,
        };
        let provider = config
            .credentials_provider()
            .ok_or_else(|| no_credentials("no source of credentials is configured".to_owned()))?;
        provider
            .provide_credentials()
            .await
            .map_err(|error| no_credentials(error.to_string()))?;
        Ok(Self {
            config,
            meter: Meter::default(),
            limiter: Arc::default(),
        })
    }

    /// The region that the configuration names.
    pub fn home_region(&self) -> &str {
        self.config.region().map_or(DEFAULT_REGION, Region::as_ref)
    }

    /// Who is asking.
    ///
    /// # Errors
    /// When STS does not answer or refuses the credentials.
    pub async fn identity(&self) -> Result<Identity, AwsError> {
        let config = aws_sdk_sts::config::Builder::from(&self.config)
            .interceptor(self.meter.clone())
            .build();
        let answer = aws_sdk_sts::Client::from_conf(config)
            .get_caller_identity()
            .send()
            .await
            .map_err(|error| AwsError::of("sts:GetCallerIdentity", &error))?;
        Ok(Identity {
            account: answer.account().unwrap_or("unknown").to_owned(),
        })
    }

    /// The regions that the account has enabled, ascending.
    ///
    /// # Errors
    /// When EC2 refuses or does not answer.
    pub async fn enabled_regions(&self) -> Result<Vec<String>, AwsError> {
        let clients = self.in_region(self.home_region());
        clients.ec2_turn().await;
        let answer = clients
            .ec2
            .describe_regions()
            .send()
            .await
            .map_err(|error| AwsError::of("ec2:DescribeRegions", &error))?;
        let mut regions: Vec<String> = answer
            .regions()
            .iter()
            .filter(|region| region.opt_in_status() != Some("not-opted-in"))
            .filter_map(|region| region.region_name().map(str::to_owned))
            .collect();
        regions.sort();
        Ok(regions)
    }

    /// Clients of one region.
    pub fn in_region(&self, region: &str) -> RegionClients {
        let region_name = Region::new(region.to_owned());
        let ec2 = aws_sdk_ec2::config::Builder::from(&self.config)
            .region(region_name.clone())
            .interceptor(self.meter.clone())
            .build();
        let cloudwatch = aws_sdk_cloudwatch::config::Builder::from(&self.config)
            .region(region_name)
            .interceptor(self.meter.clone())
            .build();
        RegionClients {
            region: region.to_owned(),
            ec2: aws_sdk_ec2::Client::from_conf(ec2),
            cloudwatch: aws_sdk_cloudwatch::Client::from_conf(cloudwatch),
            session: self.clone(),
        }
    }

    /// A client of the price list, which a few regions only serve.
    pub(super) fn pricing(&self, endpoint_region: &'static str) -> aws_sdk_pricing::Client {
        let config = aws_sdk_pricing::config::Builder::from(&self.config)
            .region(Region::from_static(endpoint_region))
            .interceptor(self.meter.clone())
            .build();
        aws_sdk_pricing::Client::from_conf(config)
    }

    pub(super) async fn pricing_turn(&self, endpoint_region: &str) {
        self.limiter
            .acquire("pricing", endpoint_region, limit::PRICING)
            .await;
    }

    /// What has been used so far.
    pub fn usage(&self) -> ApiUsage {
        self.meter.usage()
    }
}

impl RegionClients {
    pub(super) async fn ec2_turn(&self) {
        self.session
            .limiter
            .acquire("ec2", &self.region, limit::EC2)
            .await;
    }

    pub(super) async fn cloudwatch_turn(&self) {
        self.session
            .limiter
            .acquire("cloudwatch", &self.region, limit::CLOUDWATCH)
            .await;
    }

    pub(super) fn metrics_asked(&self, metrics: usize) {
        self.session.meter.metrics_asked(metrics);
    }
}

/// Domain time of an SDK time; `None` out of range.
pub(super) fn timestamp(time: &aws_smithy_types::DateTime) -> Option<jiff::Timestamp> {
    jiff::Timestamp::new(time.secs(), i32::try_from(time.subsec_nanos()).ok()?).ok()
}
