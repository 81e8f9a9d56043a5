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
        /// The address is not that of the service's API.
        WrongAddress = "wrong-address",
        /// The call asks for more than the service gives at once; less may succeed.
        TooLarge = "too-large",
        /// What the connection was set up with is invalid, so that nothing was sent.
        InvalidSettings = "invalid-settings",
        Other = "other",
    }
}

impl FailureKind {
    /// What to do about it; the action is the one that failed, empty before the
    /// first call.
    pub fn hint(self, action: &str) -> String {
        if action.starts_with("prometheus:") {
            return self.prometheus_hint().to_owned();
        }
        if action.starts_with("price-files:") {
            return self.price_files_hint().to_owned();
        }
        if let Some(resource) = action.strip_prefix("kubernetes:") {
            return self.kubernetes_hint(resource);
        }
        match self {
            Self::Denied if action == "sts:AssumeRole" => {
                "allow sts:AssumeRole to the caller, and let the role of the account trust it; \
                 `gpucost setup iam --org --account ID` prints both"
            }
            Self::Denied | Self::Other if action.starts_with("organizations:") => {
                "use credentials of the management account or of a delegated administrator, or \
                 name the accounts with `--account ID,ID` instead of `--org`"
            }
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
            Self::Denied if action.is_empty() => "`gpucost setup iam` prints the full policy",
            Self::Denied => {
                return format!("allow {action}; `gpucost setup iam` prints the full policy");
            }
            Self::Throttled => {
                "run again later, audit fewer regions at once, or raise `--deadline`"
            }
            Self::Unreachable => "check the network, the region name, and `--endpoint-url`",
            Self::WrongAddress => "check `--endpoint-url`",
            Self::TooLarge => "request fewer instances or a shorter `--lookback`",
            Self::InvalidSettings => "correct the setting",
            Self::Unsupported | Self::Other => "run again with -v for details",
        }
        .to_owned()
    }

    /// The same for a server of the Prometheus family.
    fn prometheus_hint(self) -> &'static str {
        match self {
            Self::NoCredentials => {
                "run the token command in a shell: it must print a bearer token and nothing else"
            }
            Self::ExpiredCredentials => "sign in again, then run again with the new token",
            Self::RejectedCredentials => {
                "check the user, the password, the token or the client certificate for the \
                 Prometheus server"
            }
            Self::Denied => {
                "check that the credentials may query the Prometheus server, and the tenant \
                 header if it has tenants"
            }
            Self::Throttled => "run again later, or raise the limits of the Prometheus server",
            Self::Unreachable => {
                "check the URL of the Prometheus server, the network, the proxy, and the CA file"
            }
            Self::WrongAddress => {
                "check the base URL of the Prometheus server: Mimir and Cortex need \
                 `/prometheus` at its end, a VictoriaMetrics cluster `/select/0/prometheus`; a \
                 redirect or a web page can mean that the server needs credentials"
            }
            Self::TooLarge => {
                "use a shorter `--lookback`, or raise the query limits of the Prometheus server"
            }
            Self::InvalidSettings => "correct the setting of the Prometheus server",
            Self::Unsupported | Self::Other => "run again with -v for details",
        }
    }

    /// The same for the price files that AWS publishes for everyone.
    fn price_files_hint(self) -> &'static str {
        match self {
            Self::Throttled => "run again later",
            Self::Unreachable => "check the network, the proxy, and `--endpoint-url`",
            Self::WrongAddress => {
                "check the name of the region and `--endpoint-url`; `gpucost pricing refresh` \
                 reads other regions with an AWS account"
            }
            Self::InvalidSettings => {
                "check `--endpoint-url`, and set GPUCOST_CACHE_DIR to a writable directory with \
                 free space"
            }
            _ => "read prices with an AWS account: `gpucost pricing refresh`",
        }
    }

    /// The same for an API server of Kubernetes that was asked for a list of a resource.
    fn kubernetes_hint(self, resource: &str) -> String {
        match self {
            Self::NoCredentials => {
                "run `kubectl get nodes` with the same context: it runs the same credential plugin"
            }
            Self::ExpiredCredentials | Self::RejectedCredentials => {
                "sign in to the cluster again, and check the user of the context: `kubectl get \
                 nodes` uses the same one"
            }
            Self::Denied => {
                return format!(
                    "allow the verb `list` on {resource}; `gpucost setup kubernetes` prints the \
                     full role"
                );
            }
            Self::Throttled => "run again later, when the API server has less to do",
            Self::Unreachable => {
                "check the server and the certificate authority of the context, the network, and \
                 the proxy"
            }
            Self::WrongAddress => {
                "check the server of the context: it must be the base URL of a Kubernetes API"
            }
            Self::TooLarge => {
                "record the cluster with kubectl and pass the files with `--from-kubectl`"
            }
            Self::InvalidSettings => "correct the cluster or the user of the context",
            Self::Unsupported | Self::Other => "run again with -v for details",
        }
        .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_a_hint_and_those_of_others_are_not_about_aws() {
        for kind in FailureKind::ALL {
            assert!(!kind.hint("").is_empty(), "{kind}");
            assert!(!kind.hint("ec2:DescribeInstances").is_empty(), "{kind}");
            for action in ["prometheus:query", "kubernetes:replicasets.apps"] {
                let hint = kind.hint(action);
                assert!(!hint.is_empty(), "{kind}: {action}");
                for word in ["AWS", "aws", "setup iam", "--endpoint-url", "region"] {
                    assert!(!hint.contains(word), "{kind}: {hint}");
                }
            }
        }
    }

    #[test]
    fn a_right_that_is_missing_in_a_cluster_is_named() {
        assert_eq!(
            FailureKind::Denied.hint("kubernetes:replicasets.apps"),
            "allow the verb `list` on replicasets.apps; `gpucost setup kubernetes` prints the full \
             role"
        );
    }
}
