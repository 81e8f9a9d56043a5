//! What the instance metadata service (IMDSv2) says about the host that the
//! program runs on. It is asked for nothing but names and notices: never for
//! credentials. A notice says that EC2 is going to interrupt a spot instance: the document is that
//! of the EC2 User Guide, "Spot Instance interruption notices" (docs.aws.amazon.com, read
//! 2026-11-23). Without a notice, the service answers 404.

use crate::domain::{SpotAction, SpotNotice};
use crate::tls::PROVIDER;
use aws_config::imds::Client;
use aws_config::imds::client::error::ImdsError;
use aws_config::provider_config::ProviderConfig;
use aws_smithy_http_client::Connector;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use http_body_util::Limited;
use serde::Deserialize;
use std::time::Duration;

/// Off EC2 nobody answers; nobody should wait long for that.
const CONNECT_LIMIT: Duration = Duration::from_millis(500);
const ANSWER_LIMIT: Duration = Duration::from_secs(1);
/// Tokens and answers have less than a tenth of it.
const MOST_BYTES_OF_AN_ANSWER: usize = 4 << 10;

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
    let client = metadata_client(endpoint)?;
    // The first question tells whether there is a service at all.
    let instance_id =
        client.get("/latest/meta-data/instance-id").await.map_err(|error| innermost(&error))?;
    let ask = async |path: &str| {
        plain(client.get(format!("/latest/meta-data/{path}")).await.ok()?.as_ref())
    };
    let life_cycle = ask("instance-life-cycle").await;
    Ok(InstancePlace {
        instance_id: plain(instance_id.as_ref()),
        instance_type: ask("instance-type").await,
        region: ask("placement/region").await,
        is_spot: life_cycle.map(|name| name == "spot"),
    })
}

/// A client of the service that asks once and does not wait long.
///
/// # Errors
/// When the endpoint is not a URL.
fn metadata_client(endpoint: Option<&str>) -> Result<Client, String> {
    let mut builder = Client::builder()
        .configure(&ProviderConfig::default().with_http_client(local_client()))
        .max_attempts(1)
        .connect_timeout(CONNECT_LIMIT)
        .read_timeout(ANSWER_LIMIT)
        .operation_timeout(ANSWER_LIMIT);
    if let Some(endpoint) = endpoint {
        builder = builder.endpoint(endpoint).map_err(|error| error.to_string())?;
    }
    Ok(builder.build())
}

/// Without the proxies of the environment: a proxy would answer for its own instance.
fn local_client() -> SharedHttpClient {
    let settings = HttpConnectorSettings::builder()
        .connect_timeout(CONNECT_LIMIT)
        .read_timeout(ANSWER_LIMIT)
        .build();
    let connector =
        Connector::builder().connector_settings(settings).tls_provider(PROVIDER).build();
    let bounded = SharedHttpConnector::new(Bounded(connector));
    http_client_fn(move |_, _| bounded.clone())
}

/// A connector whose answers have an end.
#[derive(Debug)]
struct Bounded(Connector);

impl HttpConnector for Bounded {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let answer = self.0.call(request);
        HttpConnectorFuture::new(async move {
            let mut response = answer.await?;
            let body = std::mem::replace(response.body_mut(), SdkBody::taken());
            *response.body_mut() =
                SdkBody::from_body_1_x(Limited::new(body, MOST_BYTES_OF_AN_ANSWER));
            Ok::<_, ConnectorError>(response)
        })
    }
}

/// An answer that can be one of the names asked for: something else answers on
/// that address in places that have no metadata service.
fn plain(answer: &str) -> Option<String> {
    let answer = answer.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let fits = !answer.is_empty() && answer.len() <= 64 && answer.chars().all(is_name);
    fits.then(|| answer.to_owned())
}

/// What went wrong in the end.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    anyhow::Chain::new(error).last().map(ToString::to_string).unwrap_or_default()
}

const INTERRUPTION: &str = "/latest/meta-data/spot/instance-action";

/// A connection to the service.
#[derive(Debug)]
pub struct SpotNotices {
    client: Client,
}

#[derive(Debug, Deserialize)]
struct ActionWire {
    action: String,
    time: String,
}

impl SpotNotices {
    /// `endpoint` takes the place of the service's usual address. Nothing is asked yet.
    ///
    /// # Errors
    /// When the endpoint is not a URL.
    pub fn new(endpoint: Option<&str>) -> Result<Self, String> {
        Ok(Self { client: metadata_client(endpoint)? })
    }

    /// Asks for the notice, within a second or two; `None` where none is announced.
    ///
    /// # Errors
    /// Why an answer is missing or unreadable, in words.
    pub async fn ask(&self) -> Result<Option<SpotNotice>, String> {
        match self.client.get(INTERRUPTION).await {
            Ok(answer) => notice(answer.as_ref()).map(Some),
            Err(ImdsError::ErrorResponse(refused)) => match refused.response().status().as_u16() {
                404 => Ok(None),
                status => Err(format!("{INTERRUPTION} answers with status {status}")),
            },
            Err(error) => Err(innermost(&error)),
        }
    }
}

/// An interruption. An action that is not known counts as the hardest: the notice is real,
/// and the command is to be warned.
fn notice(answer: &str) -> Result<SpotNotice, String> {
    let unreadable = || format!("{INTERRUPTION} answers with an unreadable notice");
    let wire: ActionWire = serde_json::from_str(answer).map_err(|_| unreadable())?;
    Ok(SpotNotice {
        action: SpotAction::from_name(&wire.action).unwrap_or(SpotAction::Terminate),
        time: wire.time.parse().map_err(|_| unreadable())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_are_taken() {
        assert_eq!(plain("g5.12xlarge\n"), Some("g5.12xlarge".to_owned()));
        for answer in ["", "<html>", "a b", "x\u{1b}[31m", &"a".repeat(65)] {
            assert_eq!(plain(answer), None, "{answer:?}");
        }
    }

    #[test]
    fn notices_of_the_user_guide_are_read() {
        let time = "2017-09-18T08:22:00Z".parse().expect("a time");
        for (name, action) in [
            ("terminate", SpotAction::Terminate),
            ("stop", SpotAction::Stop),
            ("hibernate", SpotAction::Hibernate),
            // One that EC2 may add.
            ("evict", SpotAction::Terminate),
        ] {
            let answer = format!(r#"{{"action": "{name}", "time": "2017-09-18T08:22:00Z"}}"#);
            assert_eq!(notice(&answer), Ok(SpotNotice { action, time }));
        }
    }

    #[test]
    fn whatever_else_answers_is_no_notice() {
        for answer in [
            "", "<html>sign in</html>", "null", "[]", "{}", r#"{"action": "terminate"}"#,
            r#"{"action": "terminate", "time": "soon"}"#,
            r#"{"action": "terminate", "time": "2017-09-18T08:22:00Z""#, r#"{"noticeTime": 7}"#,
        ] {
            assert!(notice(answer).is_err(), "{answer}");
        }
    }
}
