//! Actions that a plan does without.

use super::{ActionKind, matches_pattern};
use std::collections::BTreeSet;

/// An action that a person decided against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedAction {
    /// The ID or name of a workload, in which `*` stands for anything.
    pub workload: String,
    pub action: ActionKind,
    pub reason: String,
}

impl RejectedAction {
    /// Whether it is about the workload of this ID and name; `ids` are those of all workloads in
    /// scope. What is the ID of one of them is about that one alone: whoever may tag an instance
    /// chooses its name, and names of groups, which IDs end with, may have a `*`.
    pub fn is_about(&self, id: &str, name: &str, ids: &BTreeSet<String>) -> bool {
        if ids.contains(&self.workload) {
            return id == self.workload;
        }
        let mut names = [id, name].into_iter();
        names.any(|called| called == self.workload || matches_pattern(&self.workload, called))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(workload: &str) -> RejectedAction {
        RejectedAction {
            workload: workload.to_owned(),
            action: ActionKind::Spot,
            reason: "the queue cannot wait".to_owned(),
        }
    }

    #[test]
    fn a_rejection_is_about_an_id_a_name_or_a_pattern() {
        let ids = BTreeSet::from(["i-1".to_owned()]);
        assert!(of("i-1").is_about("i-1", "web", &ids));
        assert!(of("web").is_about("i-1", "web", &ids));
        assert!(of("w*").is_about("i-1", "web", &ids));
        assert!(!of("we").is_about("i-1", "web", &ids));
        // A name may have an asterisk of its own.
        assert!(of("a*b*").is_about("i-1", "a*b*", &ids));
    }

    #[test]
    fn an_id_is_about_its_workload_alone() {
        let ids = ["i-1", "i-2", "a/tag:*", "a/tag:x"].map(str::to_owned);
        let ids = BTreeSet::from(ids);
        // Another instance bears it as its name.
        assert!(!of("i-1").is_about("i-2", "i-1", &ids));
        assert!(of("i-1").is_about("i-1", "web", &ids));
        // A group is called `*`.
        assert!(of("a/tag:*").is_about("a/tag:*", "*", &ids));
        assert!(!of("a/tag:*").is_about("a/tag:x", "x", &ids));
        // No ID is that, so that it is a pattern.
        assert!(of("a/*").is_about("a/tag:x", "x", &ids));
    }
}
