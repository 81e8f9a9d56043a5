//! The credentials that requests to S3 are signed with: those of the usual places of AWS, or of
//! a profile.

use super::transport::Signed;
use crate::sources::aws::{Access, Credentials};
use async_trait::async_trait;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Credentials that end sooner are read anew.
const LEAST_LEFT: Duration = Duration::from_secs(300);

/// Credentials, which are read again when they end.
pub(super) struct Keys {
    access: Access,
    signed: Signed,
    held: Mutex<Option<Credentials>>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(..)")
    }
}

impl Keys {
    pub(super) fn new(access: Access, signed: Signed) -> Self {
        Self { access, signed, held: Mutex::default() }
    }

    fn lasting(&self) -> Option<Credentials> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.clone().filter(|credentials| lasts(credentials, SystemTime::now()))
    }
}

/// Whether credentials are still good for a while.
fn lasts(credentials: &Credentials, now: SystemTime) -> bool {
    let end = credentials.expiry();
    end.is_none_or(|end| end.duration_since(now).is_ok_and(|left| left > LEAST_LEFT))
}

#[async_trait]
impl CredentialProvider for Keys {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let credentials = match self.lasting() {
            Some(credentials) => credentials,
            None => {
                let read = self.access.credentials().await;
                let read = read.map_err(|error| object_store::Error::Generic {
                    store: "S3",
                    source: Box::new(error),
                })?;
                let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                *held = Some(read.clone());
                read
            }
        };
        let token = credentials.session_token();
        let mut secrets = self.signed.held();
        secrets.add(credentials.secret_access_key());
        secrets.add(token.unwrap_or_default());
        Ok(Arc::new(AwsCredential {
            key_id: credentials.access_key_id().to_owned(),
            secret_key: credentials.secret_access_key().to_owned(),
            token: token.map(str::to_owned),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_read_anew_before_they_end() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let of = |end: Option<SystemTime>| Credentials::new("a", "b", None, end, "tests");
        assert!(lasts(&of(None), now));
        for (seconds, expected) in [(3_600, true), (301, true), (300, false), (0, false)] {
            let end = now + Duration::from_secs(seconds);
            assert_eq!(lasts(&of(Some(end)), now), expected, "{seconds}");
        }
        assert!(!lasts(&of(Some(now - Duration::from_secs(1))), now));
    }
}
