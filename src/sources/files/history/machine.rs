//! What is kept is kept of a machine, and of what was asked of it.

use crate::domain::{Fnv, ResourceId};

/// A machine, and what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredMachine {
    pub account: String,
    pub region: String,
    pub instance: ResourceId,
    /// Names the series that were asked for: other series are another name.
    pub asked: String,
    /// The grid of utilization, power and CPU.
    pub period_seconds: u32,
}

impl StoredMachine {
    /// A number for the account and region, which runs are named by.
    pub(super) fn place(&self) -> String {
        place_of(&self.account, &self.region)
    }

    /// About how many bytes of memory it takes beside its name, which it is found by.
    pub(super) fn bytes(&self) -> usize {
        let texts = [&*self.account, &*self.region, &*self.asked];
        let texts: usize = texts.iter().map(|text| text.len()).sum();
        size_of::<(ResourceId, Self)>() + texts + 2 * self.instance.as_str().len()
    }
}

/// A number for an account and region.
pub(super) fn place_of(account: &str, region: &str) -> String {
    let mut number = Fnv::default();
    number.add(account);
    number.add(region);
    number.hex()
}
