//! What the instance metadata service (IMDSv2) says about the host that the
//! program runs on. It is asked for nothing but names: never for credentials.

use crate::sources::tls::aws_client;
use aws_config::imds::Client;
use aws_config::provider_config::ProviderConfig;
use std::time::Duration;

/// Off EC2 nobody answers; nobody should wait long for that.
const CONNECT_LIMIT: Duration = Duration::from_millis(500);
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// The instance that a program runs on. What the service did not say is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstancePlace {
    pub instance_id: Option<String>,
    pub instance_type: Option<String>,
    pub region: Option<String>,
    /// Whether it was bought on the spot market.
    pub is_spot: Option<bool>,
}

/// Asks the metadata service; `endpoint` takes the place of its usual address.
///
/// # Errors
/// Why there is no answer, in words.
pub async fn instance_place(endpoint: Option<&str>) -> Result<InstancePlace, String> {
    let settings = ProviderConfig::default().with_http_client(aws_client());
    let mut builder = Client::builder()
        .configure(&settings)
        .max_attempts(1)
        .connect_timeout(CONNECT_LIMIT)
        .read_timeout(ANSWER_LIMIT)
        .operation_timeout(ANSWER_LIMIT);
    if let Some(endpoint) = endpoint {
        builder = builder
            .endpoint(endpoint)
            .map_err(|error| error.to_string())?;
    }
    let client = builder.build();
    // The first question tells whether there is a service at all.
    let instance_id = client
        .get("/latest/meta-data/instance-id")
        .await
        .map_err(|error| innermost(&error))?;
    let ask = async |path: &str| {
        let answer = client.get(format!("/latest/meta-data/{path}")).await.ok()?;
        plain(answer.as_ref())
    };
    let life_cycle = ask("instance-life-cycle").await;
    Ok(InstancePlace {
        instance_id: plain(instance_id.as_ref()),
        instance_type: ask("instance-type").await,
        region: ask("placement/region").await,
        is_spot: life_cycle.map(|name| name == "spot"),
    })
}

/// An answer that can be one of the names asked for: something else answers on
/// that address in places that have no metadata service.
fn plain(answer: &str) -> Option<String> {
    let answer = answer.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let fits = !answer.is_empty() && answer.len() <= 64 && answer.chars().all(is_name);
    fits.then(|| answer.to_owned())
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn only_names_are_taken() {
        assert_eq!(plain("g5.12xlarge\n"), Some("g5.12xlarge".to_owned()));
        for answer in ["", "<html>", "a b", "x\u{1b}[31m", &"a".repeat(65)] {
            assert_eq!(plain(answer), None, "{answer:?}");
        }
    }
}
