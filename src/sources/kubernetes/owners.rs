//! Who made a pod: the last one of the chain of controllers that is known.

use super::objects::{Metadata, OwnerReference};
use super::values::Parts;
use crate::domain::Owner;
use std::collections::BTreeMap;

/// Links of a chain that are followed; the longest that Kubernetes itself makes has two.
const MOST_LINKS: usize = 4;

/// What makes pods and is itself made by something, by kind, namespace and name.
#[derive(Debug, Default)]
pub(super) struct Makers(BTreeMap<(String, String, String), Owner>);

impl Makers {
    pub(super) fn add(&mut self, kind: &str, metadata: &Metadata) {
        if let Some(owner) = controller(&metadata.owner_references) {
            let (namespace, name) = (metadata.namespace.clone(), metadata.name.clone());
            self.0.insert((kind.to_owned(), namespace, name), owner);
        }
    }

    /// Who made an object of a namespace. A controller of a kind that is not known, such
    /// as a RayCluster, is the last one.
    pub(super) fn owner_of(&self, metadata: &Metadata) -> Option<Owner> {
        let mut owner = controller(&metadata.owner_references)?;
        for _ in 0..MOST_LINKS {
            let key = (owner.kind.clone(), metadata.namespace.clone(), owner.name.clone());
            match self.0.get(&key) {
                Some(next) => owner = next.clone(),
                None => break,
            }
        }
        Some(owner)
    }
}

fn controller(references: &Parts<OwnerReference>) -> Option<Owner> {
    let mut owners = references.0.iter();
    let one = owners.find(|owner| owner.controller)?;
    Some(Owner { kind: one.kind.clone(), name: one.name.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str, by: &[(&str, &str, bool)]) -> Metadata {
        let reference = |(kind, name, controller): &(&str, &str, bool)| OwnerReference {
            kind: (*kind).to_owned(),
            name: (*name).to_owned(),
            controller: *controller,
        };
        let mut metadata = Metadata {
            name: name.to_owned(),
            namespace: "search".to_owned(),
            ..Metadata::default()
        };
        metadata.owner_references.0 = by.iter().map(reference).collect();
        metadata
    }

    fn owner(makers: &Makers, by: &[(&str, &str, bool)]) -> Option<String> {
        let owner = makers.owner_of(&made("pod", by))?;
        Some(format!("{} {}", owner.kind, owner.name))
    }

    #[test]
    fn a_chain_ends_with_the_last_one_that_is_known() {
        let mut makers = Makers::default();
        makers.add("ReplicaSet", &made("ranker-7d9", &[("Deployment", "ranker", true)]));
        makers.add("Job", &made("nightly-28", &[("CronJob", "nightly", true)]));
        makers.add("ReplicaSet", &made("circle", &[("ReplicaSet", "circle", true)]));
        let of = |kind, name| owner(&makers, &[("Note", "x", false), (kind, name, true)]);
        for (kind, name, expected) in [
            ("ReplicaSet", "ranker-7d9", "Deployment ranker"),
            ("Job", "nightly-28", "CronJob nightly"),
            // Not in the files, and of a kind that makes pods itself.
            ("ReplicaSet", "other-1", "ReplicaSet other-1"),
            ("RayCluster", "ray", "RayCluster ray"),
            ("ReplicaSet", "circle", "ReplicaSet circle"),
        ] {
            assert_eq!(of(kind, name).as_deref(), Some(expected));
        }
        assert_eq!(owner(&makers, &[]), None);
        assert_eq!(owner(&makers, &[("Note", "x", false)]), None);
    }
}
