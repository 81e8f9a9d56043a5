//! The CloudWatch client that the program uses, pointed at an endpoint of the tests. Other
//! services are called through [`super::sdk`].

use aws_config::{BehaviorVersion, Region};
use aws_sdk_cloudwatch::config::Credentials;
use aws_sdk_cloudwatch::{Client, Config};
use aws_smithy_http_client::Builder;

/// The access key that tests use unless they care.
pub const ACCESS_KEY: &str = "test";

/// A client with static credentials and nothing from the environment.
pub fn cloudwatch(url: &str, region: &str) -> Client {
    cloudwatch_as(url, region, ACCESS_KEY)
}

/// The same of another caller.
pub fn cloudwatch_as(url: &str, region: &str, access_key: &str) -> Client {
    Client::from_conf(
        Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(region.to_owned()))
            .credentials_provider(Credentials::new(access_key, "test", None, None, "tests"))
            .endpoint_url(url)
            .http_client(Builder::new().build_http())
            .build(),
    )
}
