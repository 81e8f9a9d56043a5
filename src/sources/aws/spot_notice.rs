//! Notices for a spot instance, from its instance metadata service (IMDSv2): that EC2 is
//! going to interrupt it.
//!
//! The document is that of the EC2 User Guide, "Spot Instance interruption notices"
//! (docs.aws.amazon.com, read 2026-11-23). Without a notice, the service answers 404.

use super::metadata::{innermost, metadata_client};
use crate::domain::{SpotAction, SpotNotice};
use aws_config::imds::Client;
use aws_config::imds::client::error::ImdsError;
use serde::Deserialize;

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
