//! Instances by what others call them.

use super::Instance;
use std::collections::{BTreeMap, BTreeSet};

/// What a host name stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HostMatch<'a> {
    One(&'a Instance),
    /// Several: two networks may use the same address, and then the name tells
    /// nothing.
    Several,
    /// None that is known.
    None,
}

/// Instances by id and by host name.
#[derive(Debug)]
pub struct Directory<'a> {
    by_id: BTreeMap<&'a str, Option<&'a Instance>>,
    by_host: BTreeMap<String, Option<&'a Instance>>,
}

impl<'a> Directory<'a> {
    pub fn of(instances: impl IntoIterator<Item = &'a Instance>) -> Self {
        let mut directory = Self { by_id: BTreeMap::new(), by_host: BTreeMap::new() };
        for instance in instances {
            let own = &instance.id;
            let id = own.hyperpod_node().unwrap_or_else(|| own.native());
            directory.by_id.entry(id).and_modify(|known| *known = None).or_insert(Some(instance));
            let full = instance.private_dns_name.as_deref();
            let label = full.and_then(|name| name.split('.').next());
            let names: BTreeSet<&str> = [full, label, Some(id)].into_iter().flatten().collect();
            for name in names {
                directory
                    .by_host
                    .entry(name.to_ascii_lowercase())
                    .and_modify(|known| *known = None)
                    .or_insert(Some(instance));
            }
        }
        directory
    }

    /// The one instance of a provider's own id.
    pub fn by_id(&self, id: &str) -> Option<&'a Instance> {
        *self.by_id.get(id)?
    }

    /// The instance that a host name stands for: its private DNS name, with or
    /// without the domain, or its id, in any case of letters.
    pub fn by_host(&self, host: &str) -> HostMatch<'a> {
        let host = host.to_ascii_lowercase();
        let label = host.split('.').next().unwrap_or(&host);
        matched(self.by_host.get(&host).or_else(|| self.by_host.get(label)))
    }

    /// The same where the instances are of several regions: a name that AWS made of an
    /// address with the domain of a region is of no other region's instance, though that
    /// has the same address.
    pub fn by_host_of_any_region(&self, host: &str) -> HostMatch<'a> {
        let full = host.to_ascii_lowercase();
        match full.split_once('.') {
            Some((label, domain)) if label.starts_with("ip-") && is_of_aws(domain) => {
                matched(self.by_host.get(&full))
            }
            _ => self.by_host(host),
        }
    }

    /// The instance whose private DNS name AWS made of an IPv4 address: `10.0.1.2` is
    /// `ip-10-0-1-2`.
    pub fn by_address(&self, address: &str) -> HostMatch<'a> {
        let octets: Vec<&str> = address.split('.').collect();
        let is_octet = |text: &&str| text.parse::<u8>().is_ok();
        if octets.len() != 4 || !octets.iter().all(is_octet) {
            return HostMatch::None;
        }
        matched(self.by_host.get(&format!("ip-{}", octets.join("-"))))
    }
}

/// Whether AWS gives the names of private addresses this domain.
fn is_of_aws(domain: &str) -> bool {
    domain == "ec2.internal" || domain.ends_with(".compute.internal")
}

fn matched<'a>(entry: Option<&Option<&'a Instance>>) -> HostMatch<'a> {
    match entry {
        Some(Some(instance)) => HostMatch::One(instance),
        Some(None) => HostMatch::Several,
        None => HostMatch::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn instance(id: &str, region: &str, dns: &str) -> Instance {
        Instance {
            region: region.to_owned(),
            private_dns_name: Some(dns.to_owned()),
            ..Instance::sample(id, "g5.xlarge", Timestamp::UNIX_EPOCH)
        }
    }

    #[test]
    fn a_name_of_a_region_is_of_no_other_regions_instance() {
        let instances = [
            instance("i-1", "us-east-1", "ip-10-0-1-2.ec2.internal"),
            instance("i-2", "eu-west-1", "ip-10-0-1-3.eu-west-1.compute.internal"),
            instance("i-3", "us-east-1", "ip-10-0-1-3.ec2.internal"),
        ];
        let directory = Directory::of(&instances);
        let id = |host_match: HostMatch<'_>| match host_match {
            HostMatch::One(instance) => instance.id.to_string(),
            HostMatch::Several => "several".to_owned(),
            HostMatch::None => "none".to_owned(),
        };
        for (host, expected) in [
            ("IP-10-0-1-2.ec2.internal", "i-1"),
            ("ip-10-0-1-2", "i-1"),
            ("ip-10-0-1-2.corp.example.com", "i-1"),
            ("ip-10-0-1-2.eu-west-1.compute.internal", "none"),
            ("ip-10-0-1-3.eu-west-1.compute.internal", "i-2"),
            ("ip-10-0-1-3.ec2.internal", "i-3"),
            ("ip-10-0-1-3", "several"),
            ("i-3.us-west-2.compute.internal", "i-3"),
            ("", "none"),
        ] {
            assert_eq!(id(directory.by_host_of_any_region(host)), expected, "{host}");
        }
        // Within a region the domain is not compared.
        let host = "ip-10-0-1-2.eu-west-1.compute.internal";
        assert_eq!(id(directory.by_host(host)), "i-1");
        for (address, expected) in [
            ("10.0.1.2", "i-1"),
            ("10.0.1.3", "several"),
            ("10.0.1.4", "none"),
            ("10.0.1", "none"),
            ("10.0.1.2.3", "none"),
            ("10.0.1.256", "none"),
            ("ip-10-0-1-2", "none"),
        ] {
            assert_eq!(id(directory.by_address(address)), expected, "{address}");
        }
    }
}
