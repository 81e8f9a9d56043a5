//! The role that is assumed in the accounts of an organization, and sessions by it. Its
//! credentials hold for an hour, and reading a large organization may take longer: they are
//! renewed while they still hold.

use super::answers::text;
use super::error::NO_CREDENTIALS_GIVEN;
use super::service::{STS, field};
use super::session::{Renewal, Session};
use crate::domain::FailureKind;
use crate::{Outcome, SourceError};
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};
use jiff::Timestamp;
use roxmltree::Node;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};
use tokio::sync::Mutex;

/// The role that is assumed where no other is named.
pub const DEFAULT_ROLE: &str = "GpucostReadOnly";

/// A role of the same name in every account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// Its path and name, such as `audit/GpucostReadOnly`.
    name: String,
}

impl Default for Role {
    fn default() -> Self {
        Self { name: DEFAULT_ROLE.to_owned() }
    }
}

impl Role {
    /// A name with or without a path, or an ARN, of which path and name are taken.
    pub fn named(text: &str) -> Option<Self> {
        let name = match text.strip_prefix("arn:") {
            None => text.trim_start_matches('/'),
            Some(rest) => {
                let (_, resource) = rest.split_once(":iam::")?;
                resource.split_once(":role/")?.1
            }
        };
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "+=,.@_-/".contains(c);
        let is_whole = !name.is_empty() && !name.ends_with('/') && name.len() <= 576;
        (is_whole && name.chars().all(is_of_name)).then(|| Self { name: name.to_owned() })
    }

    /// Its path, which begins and ends with a slash, and its name.
    pub(super) fn path_and_name(&self) -> (String, &str) {
        match self.name.rsplit_once('/') {
            Some((path, name)) => (format!("/{path}/"), name),
            None => ("/".to_owned(), &self.name),
        }
    }

    /// Its ARN in an account, or in all with `*`.
    pub fn arn(&self, partition: &str, account: &str) -> String {
        format!("arn:{partition}:iam::{account}:role/{}", self.name)
    }
}

/// What an account's trail calls a session in it.
const SESSION_NAME: &str = "gpucost";
/// Roles that are assumed by a role hold no longer.
const SESSION_SECONDS: u16 = 3_600;
const ASSUME: &str = "sts:AssumeRole";

impl Session {
    /// A session in another account, by a role there.
    ///
    /// # Errors
    /// When the role may not be assumed, or STS does not answer.
    pub(super) async fn assume(&self, role_arn: &str, external_id: Option<&str>) -> Outcome<Self> {
        let renewal = Renewal::default();
        let role = AssumedRole {
            caller: self.clone(),
            arn: role_arn.to_owned(),
            external_id: external_id.map(str::to_owned),
            renewal: renewal.clone(),
            lease: Mutex::new(None),
        };
        role.credentials().await?;
        Ok(self.in_role(SharedCredentialsProvider::new(role), renewal))
    }
}

/// A role, and what it was assumed with last.
#[derive(Debug)]
struct AssumedRole {
    caller: Session,
    arn: String,
    external_id: Option<String>,
    renewal: Renewal,
    lease: Mutex<Option<Lease>>,
}

impl AssumedRole {
    /// Credentials that hold for a while. One call renews them, and all others wait for it.
    async fn credentials(&self) -> Outcome<Credentials> {
        let mut held = self.lease.lock().await;
        let is_refused = self.renewal.swap(false, Ordering::Relaxed);
        let now = SystemTime::now();
        let current = held.as_ref().filter(|_| !is_refused);
        if let Some(lease) = current.filter(|lease| now < lease.renew_at) {
            return Ok(lease.credentials.clone());
        }
        let error = match self.assumed().await {
            Ok(lease) => return Ok(held.insert(lease).credentials.clone()),
            Err(error) => error,
        };
        let now = SystemTime::now();
        match held.as_mut().filter(|_| !is_refused) {
            // They are renewed early so that what fails now may succeed before they end.
            Some(lease) if now < lease.ends_at => {
                lease.renew_at = lease.ends_at;
                Ok(lease.credentials.clone())
            }
            _ => Err(error),
        }
    }

    async fn assumed(&self) -> Outcome<Lease> {
        let mut fields = [
            field("RoleArn", &self.arn),
            field("RoleSessionName", SESSION_NAME),
            field("DurationSeconds", &SESSION_SECONDS.to_string()),
        ]
        .concat();
        fields.extend(self.external_id.iter().flat_map(|id| field("ExternalId", id)));
        let given = |node: Node<'_, '_>| {
            let part = |name| text(node, &["Credentials", name]);
            let token = part("SessionToken").map(str::to_owned);
            let keys = part("AccessKeyId").zip(part("SecretAccessKey")).zip(token);
            let expires = part("Expiration").and_then(|text| text.parse::<Timestamp>().ok());
            let credentials = keys.map(|((id, secret), token)| {
                Credentials::new(id, secret, Some(token), None, SESSION_NAME)
            });
            Ok(credentials.map(|credentials| (credentials, expires.map(SystemTime::from))))
        };
        let given = self.caller.home().ask_form(&STS, "AssumeRole", &fields, given).await?;
        let (credentials, expires) = given.ok_or_else(|| {
            SourceError::own(ASSUME, FailureKind::Unsupported, NO_CREDENTIALS_GIVEN, String::new())
        })?;
        Ok(Lease::of(credentials, expires, SystemTime::now()))
    }
}

impl ProvideCredentials for AssumedRole {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async move {
            self.credentials().await.map_err(CredentialsError::provider_error)
        })
    }
}

/// Credentials with the time until which they are used.
#[derive(Debug)]
struct Lease {
    credentials: Credentials,
    renew_at: SystemTime,
    ends_at: SystemTime,
}

impl Lease {
    /// Renewed after three quarters of its time. That is the time that was asked for, unless
    /// it expires earlier: a clock that goes wrong may say anything else.
    fn of(credentials: Credentials, expires: Option<SystemTime>, received: SystemTime) -> Self {
        let asked = Duration::from_secs(u64::from(SESSION_SECONDS));
        let left = expires.and_then(|at| at.duration_since(received).ok());
        let holds = left.filter(|left| !left.is_zero()).unwrap_or(asked).min(asked);
        Self { credentials, renew_at: received + holds * 3 / 4, ends_at: received + holds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_renewed_after_three_quarters_of_it() {
        let received = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let after = |seconds: u64| received + Duration::from_secs(seconds);
        let before = received - Duration::from_secs(60);
        for (expires, renew_at, ends_at) in [
            (Some(after(3_600)), 2_700, 3_600),
            (Some(after(40)), 30, 40),
            // Clocks that are an hour behind and a minute ahead, and no time at all.
            (Some(after(7_200)), 2_700, 3_600),
            (Some(before), 2_700, 3_600),
            (Some(received), 2_700, 3_600),
            (None, 2_700, 3_600),
        ] {
            let credentials = Credentials::new("key", "secret", None, None, "tests");
            let lease = Lease::of(credentials, expires, received);
            let times = (lease.renew_at, lease.ends_at);
            assert_eq!(times, (after(renew_at), after(ends_at)), "{expires:?}");
        }
    }

    #[test]
    fn a_role_is_of_every_account_however_it_is_named() {
        let arn = |text| Role::named(text).map(|role| role.arn("aws-cn", "111122223333"));
        for text in ["audit/Reader", "/audit/Reader", "arn:aws:iam::444455556666:role/audit/Reader"]
        {
            let expected = "arn:aws-cn:iam::111122223333:role/audit/Reader";
            assert_eq!(arn(text).as_deref(), Some(expected), "{text}");
        }
        let role = Role::named("audit/Reader").expect("a role");
        assert_eq!(role.path_and_name(), ("/audit/".to_owned(), "Reader"));
        assert_eq!(Role::default().path_and_name().0, "/");
        for bad in ["", "/", "a/", "a b", "arn:aws:iam::1:user/a", "arn:x", "ä"] {
            assert_eq!(arn(bad), None, "{bad}");
        }
    }
}
