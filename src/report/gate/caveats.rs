//! What would stop an engineer from what a banned finding advises.

use crate::analysis::Audit;
use crate::analysis::gate::Violation;
use std::collections::BTreeMap;

/// The caveats of findings, by their ids; empty where no audit was made.
#[derive(Default)]
pub(in crate::report) struct Caveats<'a>(BTreeMap<String, &'a [String]>);

impl<'a> Caveats<'a> {
    pub(super) fn of(audit: &'a Audit) -> Self {
        let all = audit.findings.iter();
        let all = all.map(|one| (one.id(), one.recommendation.caveats.as_slice()));
        Self(all.collect())
    }

    /// Those of the finding that a violation is about.
    pub(super) fn about(&self, violation: &Violation) -> &'a [String] {
        let found = self.0.get(&violation.fingerprint);
        found.copied().unwrap_or_default()
    }
}
