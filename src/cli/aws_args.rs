//! How AWS is reached.

use super::choices::flags;
use super::io::Io;
use crate::config::SettingsFile;
use crate::sources::aws::{AwsOptions, AwsService};
use std::net::Ipv6Addr;
use std::time::Duration;

/// An address that AWS clients can be sent to: scheme, host, perhaps a port.
pub(super) fn endpoint(text: &str) -> Result<String, String> {
    let expected = || "expected a URL such as https://localhost:4566".to_owned();
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"))
        .ok_or_else(expected)?;
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

/// A service of AWS that rents out machines.
pub(super) fn service(text: &str) -> Result<AwsService, String> {
    AwsService::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = AwsService::ALL.iter().map(|service| service.name()).collect();
        format!("valid values: {}", names.join(", "))
    })
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
}

impl BucketArgs {
    /// How AWS is reached for it. The profile is by precedence: flag, environment, file.
    pub(super) fn options(&self, settings: &SettingsFile, io: &Io<'_>) -> AwsOptions {
        let own = io.variable("GPUCOST_PROFILE");
        let profile = self.profile.as_ref().or(own).or(settings.profile.as_ref());
        AwsOptions {
            profile: profile.cloned(),
            endpoint_url: self.endpoint_url.clone(),
            ..AwsOptions::default()
        }
    }
}

/// The longest deadline: what a job of a code host may take.
const LONGEST_DEADLINE: Duration = Duration::from_secs(6 * 3600);

fn deadline(text: &str) -> Result<Duration, String> {
    let unit = |letter: char, seconds: u64| {
        let number: u64 = text.strip_suffix(letter)?.parse().ok()?;
        Some(Duration::from_secs(number.checked_mul(seconds)?))
    };
    unit('s', 1)
        .or_else(|| unit('m', 60))
        .or_else(|| unit('h', 3600))
        .filter(|deadline| *deadline <= LONGEST_DEADLINE)
        .ok_or_else(|| "expected a duration of at most 6h, such as 90s or 5m".to_owned())
}

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
}
