//! What a client of AWS that is none of the SDK's takes from the usual places.

use super::partition::dns_suffix;
use super::session::{configured, home_region, provided};
use crate::sources::Outcome;
use aws_config::SdkConfig;
use aws_sdk_ec2::config::Credentials;

/// Configuration of the usual places, or of a profile.
#[derive(Debug, Clone)]
pub(in crate::sources) struct Access {
    config: SdkConfig,
    profile: Option<String>,
}

impl Access {
    /// Reads the configuration.
    ///
    /// # Errors
    /// When there are no credentials, or they cannot be loaded.
    pub(in crate::sources) async fn of(
        profile: Option<&str>,
        endpoint_url: Option<&str>,
    ) -> Outcome<Self> {
        let config = configured(profile, endpoint_url).await;
        provided(&config, profile).await?;
        Ok(Self { config, profile: profile.map(str::to_owned) })
    }

    /// The region that the configuration names.
    pub(in crate::sources) fn region(&self) -> &str {
        home_region(&self.config)
    }

    /// What hosts of that region end with.
    pub(in crate::sources) fn dns_suffix(&self) -> &'static str {
        dns_suffix(self.region())
    }

    /// The endpoint of every service, where one is configured.
    pub(in crate::sources) fn endpoint_url(&self) -> Option<&str> {
        self.config.endpoint_url()
    }

    /// What requests are signed with, read anew.
    ///
    /// # Errors
    /// When there are none, or they cannot be loaded.
    pub(in crate::sources) async fn credentials(&self) -> Outcome<Credentials> {
        provided(&self.config, self.profile.as_deref()).await
    }
}
