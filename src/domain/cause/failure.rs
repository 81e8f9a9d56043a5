//! How calls to services fail.

use crate::domain::named_enum;

named_enum! {
    /// What kind of failure a call to a service met.
    FailureKind {
        /// There are no credentials, or they cannot be loaded.
        NoCredentials = "no-credentials",
        ExpiredCredentials = "expired-credentials",
        RejectedCredentials = "rejected-credentials",
        /// The action is not allowed.
        Denied = "denied",
        /// The service throttles even after retries.
        Throttled = "throttled",
        /// The endpoint cannot be reached or does not answer.
        Unreachable = "unreachable",
        /// The service or the endpoint does not know the call, or its answer is
        /// not in the service's format.
        Unsupported = "unsupported",
        Other = "other",
    }
}

impl FailureKind {
    /// What to do about it; the action is the one that failed, empty before the
    /// first call.
    pub fn hint(self, action: &str) -> String {
        match self {
            Self::NoCredentials => {
                "set AWS_PROFILE or pass `--profile NAME`; `gpucost audit --demo` needs no \
                 credentials"
            }
            Self::ExpiredCredentials => {
                "sign in again (`aws sso login`, or refresh the session token)"
            }
            Self::RejectedCredentials => {
                "check the access keys and whether the region is enabled for the account"
            }
            Self::Denied if action.is_empty() => "`gpucost iam-policy` prints the full policy",
            Self::Denied => {
                return format!("allow {action}; `gpucost iam-policy` prints the full policy");
            }
            Self::Throttled => {
                "run again later, audit fewer regions at once, or raise `--deadline`"
            }
            Self::Unreachable => "check the network, the region name, and `--endpoint-url`",
            Self::Unsupported | Self::Other => "run again with -v for details",
        }
        .to_owned()
    }
}
