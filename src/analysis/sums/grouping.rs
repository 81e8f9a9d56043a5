//! What `--group-by` groups: workloads, or what pods hold of nodes.

use super::groups::{GroupKey, Groups};
use super::showback::{ClaimKey, Showback};
use crate::analysis::Audit;
use crate::domain::Clusters;

/// Keys of one sort: a node may be shared by pods of many namespaces, and a workload may
/// have several nodes, so the two do not combine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupingKeys {
    Workloads(Vec<GroupKey>),
    Claims(Vec<ClaimKey>),
}

impl GroupingKeys {
    /// Tags and labels that they name.
    pub fn tags(&self) -> Vec<&String> {
        match self {
            Self::Workloads(keys) => keys
                .iter()
                .filter_map(|key| match key {
                    GroupKey::Tag(name) => Some(name),
                    _ => None,
                })
                .collect(),
            Self::Claims(keys) => keys
                .iter()
                .filter_map(|key| match key {
                    ClaimKey::Label(name) => Some(name),
                    _ => None,
                })
                .collect(),
        }
    }
}

/// An audit by some keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grouping {
    Workloads(Groups),
    Claims(Showback),
}

impl Grouping {
    pub fn of(audit: &Audit, clusters: &Clusters, keys: &GroupingKeys) -> Self {
        match keys {
            GroupingKeys::Workloads(keys) => Self::Workloads(Groups::of(audit, keys)),
            GroupingKeys::Claims(keys) => Self::Claims(Showback::of(audit, clusters, keys)),
        }
    }
}
