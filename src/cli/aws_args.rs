//! How AWS is reached, and which accounts of it.

use super::{Io, Outcome, flags, parsers, refusal};
use crate::config::SettingsFile;
use crate::sources::aws::{AwsOptions, AwsService, DEFAULT_ROLE, Notice, Organization, Role};
use crate::sources::store::BucketAccess;
use std::net::Ipv6Addr;
use std::time::Duration;

/// An address that AWS clients can be sent to: scheme, host, perhaps a port.
pub(super) fn endpoint(text: &str) -> Result<String, String> {
    let expected = || "expected a URL such as https://localhost:4566".to_owned();
    let rest = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let rest = rest.ok_or_else(expected)?;
    let place = rest.split('/').next().unwrap_or_default();
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => {
            address.parse::<Ipv6Addr>().map_err(|_| expected())?;
            let port = Some(port).filter(|port| !port.is_empty());
            (address, port.map(|port| port.strip_prefix(':').ok_or_else(expected)).transpose()?)
        }
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    let is_path = rest.chars().all(|c| c.is_ascii_graphic() && !"?#@".contains(c));
    if host.is_empty() || !host.chars().all(is_host) || !is_port || !is_path {
        return Err(expected());
    }
    Ok(text.to_owned())
}

parsers! {
    /// A service of AWS that rents out machines.
    pub(super) fn service(text) -> AwsService = AwsService::from_name(text), format!("valid values: {}", AwsService::NAMES.join(", "));
    fn deadline(text) -> Duration = [('s', 1), ('m', 60), ('h', 3_600)].into_iter().find_map(|(letter, seconds)| {
        let number: u64 = text.strip_suffix(letter)?.parse().ok()?;
        number.checked_mul(seconds).map(Duration::from_secs)
    }).filter(|deadline| *deadline <= LONGEST_DEADLINE), "expected a duration of at most 6h, such as 90s or 5m";
    fn account_id(text) -> String = Some(text.trim().to_owned()).filter(|id| id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_digit())), "expected an account ID of 12 digits";
    pub(super) fn role(text) -> String = Role::named(text).map(|_| text.to_owned()), format!("expected the name or the ARN of a role, such as {DEFAULT_ROLE}");
    /// What AWS takes: 2 to 1,224 characters of a few kinds.
    pub(super) fn external_id(text) -> String = ((2..=1_224).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || "+=,.@:/-_".contains(c))).then(|| text.to_owned()), "expected 2 to 1224 letters, digits and characters of `+=,.@:/-_`";
}

flags! {
    pub(super) struct AwsArgs {
        /// AWS named profile
        profile: Option<String> = arg(long, value_name = "NAME", help_heading = "AWS");
        /// Comma-separated regions, or `all` for every region enabled in the account
        region: Option<String> = arg(long, value_name = "R[,R…]|all", help_heading = "AWS");
        /// Custom endpoint for every AWS service
        endpoint_url: Option<String> = arg(long, value_name = "URL", value_parser = endpoint, help_heading = "AWS");
        /// Maximum time to wait while AWS throttles, and for a cluster, such as `90s` or `5m` [default: 5m]
        deadline: Option<Duration> = arg(long, value_name = "DURATION", value_parser = deadline, help_heading = "AWS");
    }

    /// How the bucket of a history is reached.
    pub(super) struct BucketArgs {
        /// AWS named profile
        profile: Option<String> = arg(long, value_name = "NAME", help_heading = "AWS");
        /// Custom endpoint for S3
        endpoint_url: Option<String> = arg(long, value_name = "URL", value_parser = endpoint, help_heading = "AWS");
    }

    /// Which accounts are read, and through which role.
    pub(super) struct OrgArgs {
        /// Read every active account of the AWS organization
        org: bool = arg(long, conflicts_with_all = ["from", "demo"], help_heading = "AWS organization");
        /// Comma-separated account IDs to read, or to select from a recorded estate
        account: Vec<String> = arg(long, value_name = "ID[,ID…]", value_delimiter = ',', value_parser = account_id, help_heading = "AWS organization");
        /// Role to assume in each account, by name or ARN [default: GpucostReadOnly]
        role: Option<String> = arg(long, value_name = "NAME|ARN", value_parser = role, conflicts_with_all = ["from", "demo"], help_heading = "AWS organization");
        /// External ID that the role requires
        external_id: Option<String> = arg(long, value_name = "ID", value_parser = external_id, conflicts_with_all = ["from", "demo"], help_heading = "AWS organization");
        /// Also ask AWS Cost Optimization Hub what it advises
        aws_opinion: bool = arg(long, conflicts_with_all = ["from", "demo"], help_heading = "AWS");
        /// Apply and recommend commitments for each account on its own
        no_commitment_sharing: bool = arg(long, help_heading = "AWS organization");
    }
}

impl AwsArgs {
    /// How AWS is reached.
    pub(super) fn options(&self, settings: &SettingsFile, io: &Io<'_>) -> AwsOptions {
        AwsOptions {
            profile: profile(self.profile.as_ref(), settings, io),
            services: Vec::new(),
            asks_opinions: false,
            as_of: io.now,
            endpoint_url: self.endpoint_url.clone(),
            deadline: self.deadline.unwrap_or(DEFAULT_DEADLINE),
            notice: Notice::default(),
        }
    }

    /// How a bucket is reached.
    pub(super) fn access(&self, settings: &SettingsFile, io: &Io<'_>) -> BucketAccess {
        bucket_access((self.profile.as_ref(), self.endpoint_url.as_ref()), settings, io)
    }
}

impl BucketArgs {
    /// How it is reached.
    pub(super) fn access(&self, settings: &SettingsFile, io: &Io<'_>) -> BucketAccess {
        bucket_access((self.profile.as_ref(), self.endpoint_url.as_ref()), settings, io)
    }
}

/// How AWS is reached for a bucket: as for everything else, unless S3 has an endpoint of its
/// own.
fn bucket_access(
    (named, endpoint_url): (Option<&String>, Option<&String>),
    settings: &SettingsFile,
    io: &Io<'_>,
) -> BucketAccess {
    let own = io.variable("AWS_ENDPOINT_URL_S3");
    BucketAccess {
        profile: profile(named, settings, io),
        endpoint_url: endpoint_url.or(own).cloned(),
    }
}

/// The profile by precedence: flag, environment, file.
fn profile(flag: Option<&String>, settings: &SettingsFile, io: &Io<'_>) -> Option<String> {
    flag.or(io.variable("GPUCOST_PROFILE")).or(settings.profile.as_ref()).cloned()
}

impl OrgArgs {
    /// The accounts to read; absent where only the caller's own is.
    pub(super) fn organization(&self) -> Outcome<Option<Organization>> {
        if !self.org && self.account.is_empty() {
            let lone =
                [("--role", self.role.is_some()), ("--external-id", self.external_id.is_some())];
            return match lone.into_iter().find(|(_, is_given)| *is_given) {
                Some((flag, _)) => Err(refusal!("`{flag}` needs accounts to read";
                    "add `--org`, or `--account ID,ID`")),
                None => Ok(None),
            };
        }
        Ok(Some(Organization {
            is_listed: self.org,
            accounts: self.account.clone(),
            role: named_role(self.role.as_deref()),
            external_id: self.external_id.clone(),
        }))
    }
}

/// The role of a flag, which was checked when it was read.
pub(super) fn named_role(text: Option<&str>) -> Role {
    text.and_then(Role::named).unwrap_or_default()
}

/// Throttling passes, as a rule within a minute.
const DEFAULT_DEADLINE: Duration = Duration::from_secs(300);

/// The longest deadline: what a job of a code host may take.
const LONGEST_DEADLINE: Duration = Duration::from_secs(6 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_urls_with_a_host() {
        for good in [
            "http://localhost", "https://vpce-1.ec2.us-east-1.vpce.amazonaws.com",
            "http://127.0.0.1:4566/path", "https://[::1]:4566",
        ] {
            assert_eq!(endpoint(good).as_deref(), Ok(good));
        }
        for bad in [
            "", "nonsense", "localhost:4566", "ftp://localhost", "http://", "http://:4566",
            "https:///path", "http://host:port", "http://host:0", "http://host:70000",
            "http://a b", "http://[::g]", "http://[::1]4566x", "http://user@host", "http://host?x",
            "http://host/\u{1b}",
        ] {
            assert!(endpoint(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ids_and_external_ids_are_those_that_aws_takes() {
        assert_eq!(account_id(" 111122223333"), Ok("111122223333".to_owned()));
        for bad in ["", "11112222333", "1111222233334", "11112222333x"] {
            assert!(account_id(bad).is_err(), "{bad}");
        }
        assert_eq!(external_id("a-1:b/c"), Ok("a-1:b/c".to_owned()));
        for bad in ["", "a", "a b", "ä1"] {
            assert!(external_id(bad).is_err(), "{bad}");
        }
        assert!(external_id(&"x".repeat(1_224)).is_ok());
        assert!(external_id(&"x".repeat(1_225)).is_err());
    }
}
