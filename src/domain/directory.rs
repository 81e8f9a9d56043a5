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
        let mut directory = Self {
            by_id: BTreeMap::new(),
            by_host: BTreeMap::new(),
        };
        for instance in instances {
            let id = instance.id.native();
            directory
                .by_id
                .entry(id)
                .and_modify(|known| *known = None)
                .or_insert(Some(instance));
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
        let found = self.by_host.get(&host).or_else(|| self.by_host.get(label));
        match found {
            Some(Some(instance)) => HostMatch::One(instance),
            Some(None) => HostMatch::Several,
            None => HostMatch::None,
        }
    }
}
