//! The address of a server: what is accepted, and what of it is shown.

use crate::sources::tls::is_loopback;

/// The API below a base URL, for those who name both.
const API: &str = "/api/v1";

/// A base URL that requests can be sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// Without a slash at its end, and without anything that is secret.
    pub base: String,
    /// The host, without its port.
    pub host: String,
    pub is_https: bool,
}

impl Address {
    /// The address of a URL.
    ///
    /// # Errors
    /// Why it is none; the words do not repeat it.
    pub fn of(url: &str) -> Result<Self, &'static str> {
        let (scheme, rest) =
            url.trim().split_once("://").ok_or("it does not begin with http:// or https://")?;
        let is_https = scheme.eq_ignore_ascii_case("https");
        if !is_https && !scheme.eq_ignore_ascii_case("http") {
            return Err("it does not begin with http:// or https://");
        }
        if rest.contains('@') {
            return Err("it has a user name or a password: pass them separately");
        }
        if rest.contains(['?', '#']) {
            return Err("it has a query or a fragment");
        }
        let is_plain = |c: char| c.is_ascii_graphic() && c != '\\';
        if !rest.chars().all(is_plain) {
            return Err("it has a space or another character that a URL cannot have");
        }
        let rest = rest.trim_end_matches('/');
        let rest = rest.strip_suffix(API).unwrap_or(rest).trim_end_matches('/');
        let host = host_of(rest.split('/').next().unwrap_or_default());
        if host.is_empty() {
            return Err("it has no host");
        }
        Ok(Self {
            base: format!("{}://{rest}", scheme.to_ascii_lowercase()),
            host: host.to_owned(),
            is_https,
        })
    }

    /// Whether the server is on this host, where no proxy is between.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    /// Whether the service may refuse parameters that it does not know, because it is
    /// not one of the servers that they are for.
    pub fn is_of_google(&self) -> bool {
        self.host.ends_with(".googleapis.com")
    }
}

/// Where a URL leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The host, without its port.
    pub host: String,
    /// Whether others can read on the way what is sent there.
    pub is_readable: bool,
}

impl Destination {
    /// Where a URL leads; `None` where no request can be sent to it.
    pub fn of(url: &str) -> Option<Self> {
        let address = Address::of(url).ok()?;
        Some(Self { is_readable: !address.is_https && !address.is_loopback(), host: address.host })
    }
}

/// An authority without its port.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        // The colons of an IPv6 address are in brackets.
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    }
}

/// Instead of what is not shown.
const HIDDEN: &str = "(not shown)";

/// A URL without what may be secret: a user, a password, a query.
pub(super) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return HIDDEN.to_owned() };
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return HIDDEN.to_owned();
    }
    // A password may have any character, a slash and a second `@` too.
    let (user, rest) = rest.rsplit_once('@').map_or(("", rest), |(_, rest)| ("(not shown)@", rest));
    let plain = rest.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{user}{plain}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_accepted_as_people_write_it() {
        for (url, base, host) in [
            ("http://prom:9090", "http://prom:9090", "prom"),
            ("HTTPS://prom/prometheus/", "https://prom/prometheus", "prom"),
            (" http://prom/api/v1/ ", "http://prom", "prom"),
            (
                "http://vm:8481/select/0/prometheus/api/v1", "http://vm:8481/select/0/prometheus",
                "vm",
            ),
            ("http://[::1]:9090", "http://[::1]:9090", "[::1]"),
            ("http://[::1]", "http://[::1]", "[::1]"),
        ] {
            let address = Address::of(url).expect("an address");
            assert_eq!((address.base.as_str(), address.host.as_str()), (base, host));
            assert_eq!(address.is_https, base.starts_with("https"));
        }
    }

    #[test]
    fn what_is_no_base_url_is_refused_without_being_repeated() {
        for url in [
            "", "prom:9090", "ftp://prom", "http://", "http://:9090", "http:///path",
            "http://jane:hunter2@prom", "http://prom?token=hunter2", "http://prom#hunter2",
            "http://prom/a b", "http://prom/\u{202e}",
        ] {
            let why = Address::of(url).expect_err("it is none");
            assert!(!why.contains("hunter2"), "{url}: {why}");
        }
    }

    #[test]
    fn what_is_shown_has_no_user_and_no_query() {
        for (url, expected) in [
            ("http://prom:9090/x?y=z#f", "http://prom:9090/x"),
            ("http://jane:hun/ter@2@prom/x", "http://(not shown)@prom/x"),
            ("http://jane:?hunter2@prom", "http://(not shown)@prom"),
            ("https://prom", "https://prom"),
            ("jane:hunter2@prom", "(not shown)"),
            ("jane:hunter2://prom", "(not shown)"),
            ("", "(not shown)"),
        ] {
            assert_eq!(shown(url), expected);
        }
    }

    #[test]
    fn what_is_sent_without_tls_can_be_read_beyond_this_host() {
        let way = |url| Destination::of(url).map(|way| (way.host, way.is_readable));
        let expected = |host: &str, is_readable| Some((host.to_owned(), is_readable));
        assert_eq!(way("http://prom:9090/x"), expected("prom", true));
        assert_eq!(way("https://prom:9090"), expected("prom", false));
        assert_eq!(way("http://127.0.0.1:9090"), expected("127.0.0.1", false));
        assert_eq!(way("http://jane:hunter2@prom"), None);
    }

    #[test]
    fn a_server_of_this_host_is_known() {
        let is_loopback = |url| Address::of(url).expect("an address").is_loopback();
        assert!(is_loopback("http://localhost:9090") && is_loopback("http://127.0.0.1"));
        assert!(is_loopback("http://[::1]:9090/x") && !is_loopback("http://prom"));
        assert!(!is_loopback("http://127.evil.example"));
    }
}
