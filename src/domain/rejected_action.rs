//! Actions that a plan does without.

use super::{ActionKind, matches_pattern};

/// An action that a person decided against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedAction {
    /// The ID or name of a workload, in which `*` stands for anything.
    pub workload: String,
    pub action: ActionKind,
    pub reason: String,
}

impl RejectedAction {
    /// Whether it is about the workload of this ID and name.
    pub fn is_about(&self, id: &str, name: &str) -> bool {
        let mut names = [id, name].into_iter();
        names.any(|one| one == self.workload || matches_pattern(&self.workload, one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_is_about_an_id_a_name_or_a_pattern() {
        let of = |workload: &str| RejectedAction {
            workload: workload.to_owned(),
            action: ActionKind::Spot,
            reason: "the queue cannot wait".to_owned(),
        };
        assert!(of("i-1").is_about("i-1", "web"));
        assert!(of("web").is_about("i-1", "web"));
        assert!(of("w*").is_about("i-1", "web"));
        assert!(!of("we").is_about("i-1", "web"));
        // A name may have an asterisk of its own.
        assert!(of("a*b*").is_about("i-1", "a*b*"));
    }
}
