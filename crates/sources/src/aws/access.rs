//! What every client of AWS takes from the usual places: its configuration and credentials.

use crate::domain::partition;
use crate::tls::aws_client;
use crate::{Outcome, SourceError};
use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use std::error::Error;
use std::time::Duration;

/// Tries of one call, the first included.
pub(super) const ATTEMPTS: u32 = 5;
/// For a connection.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// For one attempt.
pub(super) const ATTEMPT_WITHIN: Duration = Duration::from_secs(20);
/// For all attempts and the pauses between them. Then a call has failed, so that one silent
/// region holds nobody up.
pub(super) const CALL_WITHIN: Duration = Duration::from_secs(90);
/// A program that gives credentials may ask somebody for a code.
const CREDENTIALS_WITHIN: Duration = Duration::from_secs(60);

/// The region to ask when nothing else names one.
pub(super) const DEFAULT_REGION: &str = "us-east-1";

/// How long each call may take.
pub(super) fn time_limits() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_WITHIN)
        .operation_attempt_timeout(ATTEMPT_WITHIN)
        .operation_timeout(CALL_WITHIN)
        .build()
}

/// Configuration of the usual places, and where credentials come from.
pub(super) async fn configured(profile: Option<&str>, endpoint_url: Option<&str>) -> SdkConfig {
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .http_client(aws_client())
        .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
        .timeout_config(time_limits());
    if let Some(profile) = profile {
        loader = loader.profile_name(profile);
    }
    if let Some(url) = endpoint_url {
        loader = loader.endpoint_url(url);
    }
    let mut config = loader.load().await;
    if config.region().is_none() {
        config = config.to_builder().region(Region::from_static(DEFAULT_REGION)).build();
    }
    let Some(profile) = profile else { return config };
    // As with the AWS CLI, a profile that is asked for by name outranks credentials that
    // happen to be in the environment.
    let settings = ProviderConfig::default()
        .with_http_client(aws_client())
        .with_region(config.region().cloned())
        .with_timeout_config(time_limits());
    let provider = ProfileFileCredentialsProvider::builder()
        .configure(&settings)
        .profile_name(profile)
        .build();
    config.to_builder().credentials_provider(SharedCredentialsProvider::new(provider)).build()
}

/// The region that a configuration names.
pub(super) fn home_region(config: &SdkConfig) -> &str {
    config.region().map_or(DEFAULT_REGION, Region::as_ref)
}

/// The credentials of a configuration.
pub(super) async fn provided(config: &SdkConfig, profile: Option<&str>) -> Outcome<Credentials> {
    let provider =
        config.credentials_provider().ok_or_else(|| SourceError::no_credentials(profile, None))?;
    tokio::time::timeout(CREDENTIALS_WITHIN, provider.provide_credentials())
        .await
        .map_err(|_| SourceError::late_credentials(profile))?
        // The outermost error says only that there is a cause.
        .map_err(|error| SourceError::no_credentials(profile, error.source().or(Some(&error))))
}

/// Credentials of the usual places, or of a profile, for a source that signs its requests
/// by itself. They are read anew with each call.
///
/// # Errors
/// When there are none, or they cannot be loaded.
pub(crate) async fn credentials(profile: Option<&str>) -> Outcome<Credentials> {
    provided(&configured(profile, None).await, profile).await
}

/// What hosts of a region's partition end with.
pub(super) fn dns_suffix(region: &str) -> &'static str {
    match partition(region) {
        "aws-cn" => "amazonaws.com.cn",
        "aws-iso" => "c2s.ic.gov",
        "aws-iso-b" => "sc2s.sgov.gov",
        "aws-iso-e" => "cloud.adc-e.uk",
        "aws-iso-f" => "csp.hci.ic.gov",
        "aws-eusc" => "amazonaws.eu",
        _ => "amazonaws.com",
    }
}

/// Configuration of the usual places, or of a profile, for a client that is none of the SDK's.
#[cfg(feature = "s3")]
#[derive(Debug, Clone)]
pub(crate) struct Access {
    config: SdkConfig,
    profile: Option<String>,
}

#[cfg(feature = "s3")]
impl Access {
    /// Reads the configuration.
    ///
    /// # Errors
    /// When there are no credentials, or they cannot be loaded.
    pub(crate) async fn of(profile: Option<&str>, endpoint_url: Option<&str>) -> Outcome<Self> {
        let config = configured(profile, endpoint_url).await;
        provided(&config, profile).await?;
        Ok(Self { config, profile: profile.map(str::to_owned) })
    }

    /// The region that the configuration names.
    pub(crate) fn region(&self) -> &str {
        home_region(&self.config)
    }

    /// What hosts of that region end with.
    pub(crate) fn dns_suffix(&self) -> &'static str {
        dns_suffix(self.region())
    }

    /// The endpoint of every service, where one is configured.
    pub(crate) fn endpoint_url(&self) -> Option<&str> {
        self.config.endpoint_url()
    }

    /// What requests are signed with, read anew.
    ///
    /// # Errors
    /// When there are none, or they cannot be loaded.
    pub(crate) async fn credentials(&self) -> Outcome<Credentials> {
        provided(&self.config, self.profile.as_deref()).await
    }
}
