//! The real SDK clients, pointed at an endpoint of the tests.

use aws_config::{BehaviorVersion, Region};
use aws_sdk_ec2::config::Credentials;
use aws_smithy_http_client::Builder;

/// The access key that tests use unless they care.
pub const ACCESS_KEY: &str = "test";

/// One client per service, for one region.
pub struct Clients {
    pub cloudwatch: aws_sdk_cloudwatch::Client,
    pub ec2: aws_sdk_ec2::Client,
    pub pricing: aws_sdk_pricing::Client,
    pub savings_plans: aws_sdk_savingsplans::Client,
    pub sts: aws_sdk_sts::Client,
}

impl Clients {
    /// Clients with static credentials and nothing from the environment.
    pub fn new(url: &str, region: &str) -> Self {
        Self::with_access_key(url, region, ACCESS_KEY)
    }

    pub fn with_access_key(url: &str, region: &str, access_key: &str) -> Self {
        macro_rules! client {
            ($sdk:ident) => {
                $sdk::Client::from_conf(
                    $sdk::Config::builder()
                        .behavior_version(BehaviorVersion::latest())
                        .region(Region::new(region.to_owned()))
                        .credentials_provider(Credentials::new(
                            access_key, "test", None, None, "tests",
                        ))
                        .endpoint_url(url)
                        .http_client(Builder::new().build_http())
                        .build(),
                )
            };
        }
        Self {
            cloudwatch: client!(aws_sdk_cloudwatch),
            ec2: client!(aws_sdk_ec2),
            pricing: client!(aws_sdk_pricing),
            savings_plans: client!(aws_sdk_savingsplans),
            sts: client!(aws_sdk_sts),
        }
    }
}
