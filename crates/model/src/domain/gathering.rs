//! How an estate was gathered: from where, by which tags, with how many calls, and what could not
//! be seen. A gap is a value that travels with the result, not an error.

use super::named::named_enum;
use super::wire::Change;
use super::{Cause, CauseKind, GapSubject, Hidden};
use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

named_enum! {
    /// Where an estate was gathered.
    #[derive(Default)]
    EstateSource {
        /// From an AWS account.
        Aws = "aws",
        /// From what the scheduler of a cluster knows of its machines.
        Kubernetes = "kubernetes",
        /// Made or recorded by hand.
        #[default]
        Estate = "estate",
        /// The estate that ships inside the binary.
        Demo = "demo",
    }
}

/// What the gathering cost, as reported by the tool itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with `calls`, `retries` and `estimated_cost_usd`"
)]
pub struct ApiUsage {
    /// Calls to the cloud, retries not counted.
    pub calls: u64,
    /// Further attempts after throttling or a passing fault.
    pub retries: u64,
    /// Of the calls, in USD.
    #[serde(with = "Change")]
    pub estimated_cost_usd: Decimal,
    /// Calls by service and operation, such as `ec2:DescribeInstances`.
    #[serde(default)]
    pub by_operation: BTreeMap<String, u64>,
}

impl ApiUsage {
    /// Adds what other calls cost.
    pub fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.retries += other.retries;
        self.estimated_cost_usd += other.estimated_cost_usd;
        for (operation, calls) in other.by_operation {
            *self.by_operation.entry(operation).or_default() += calls;
        }
    }
}

/// A tag by which instances were selected.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a tag filter with `key`, `value` and `excluded`")]
pub struct TagFilter {
    /// The key; case counts, as on AWS.
    pub key: String,
    pub value: String,
    /// Whether instances with the tag were excluded, instead of those without it.
    #[serde(default, rename = "excluded")]
    pub is_excluded: bool,
}

impl TagFilter {
    /// Whether an instance with some tags is in scope.
    pub fn keeps(&self, tags: &BTreeMap<String, String>) -> bool {
        (tags.get(&self.key) == Some(&self.value)) != self.is_excluded
    }
}

/// As the flag that states it.
impl fmt::Display for TagFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flag = if self.is_excluded { "--exclude-tag" } else { "--tag" };
        write!(f, "{flag} {}={}", self.key, self.value)
    }
}

/// Something that could not be read, why, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a gap with `what`, `where`, `reason` and `hint`")]
pub struct Gap {
    pub what: GapSubject,
    /// Where: a region, an instance, a workload.
    #[serde(rename = "where")]
    pub place: String,
    /// Used as it is without a cause.
    pub reason: String,
    /// Used as it is without a cause.
    pub hint: String,
    /// What the reason and the hint are derived from; absent only where a file has text of
    /// its own instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<Cause>>,
}

impl Gap {
    /// A gap with a cause.
    pub fn of(what: impl Into<GapSubject>, place: impl Into<String>, cause: Cause) -> Self {
        Self {
            what: what.into(),
            place: place.into(),
            reason: cause.to_string(),
            hint: cause.hint(),
            cause: Some(Box::new(cause)),
        }
    }

    /// A gap of a file that has words instead of a cause, as earlier recordings do.
    pub fn in_words(
        what: GapSubject,
        place: impl Into<String>,
        reason: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { what, place: place.into(), reason: reason.into(), hint: hint.into(), cause: None }
    }

    /// What it keeps from view.
    pub fn hides(&self) -> Hidden {
        hidden(&self.what, self.cause.as_ref().map(|cause| cause.kind()))
    }
}

/// What a gap of a subject keeps from view. Without a cause, which earlier recordings do not
/// state, an instance counts as not read; one on its way out, or read twice, is known.
pub fn hidden(what: &GapSubject, cause: Option<CauseKind>) -> Hidden {
    match (what, cause) {
        (GapSubject::Instance, Some(CauseKind::InstanceEnding | CauseKind::NodeRepeated)) => {
            Hidden::Figures
        }
        _ => what.hides(),
    }
}

/// The region of a gap's place, which has its account before it where there are several;
/// any other place as it is.
pub fn region_of(place: &str) -> &str {
    match place.split_once('/') {
        Some((account, region))
            if !account.is_empty()
                && account.bytes().all(|byte| byte.is_ascii_digit())
                && !region.contains('/') =>
        {
            region
        }
        _ => place,
    }
}

/// What was found, with what could not be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gathered<T> {
    pub value: T,
    pub gaps: Vec<Gap>,
}

impl<T> Gathered<T> {
    pub fn whole(value: T) -> Self {
        Self { value, gaps: Vec::new() }
    }

    /// The value, whose gaps are added to others.
    pub fn leave_gaps(self, gaps: &mut Vec<Gap>) -> T {
        gaps.extend(self.gaps);
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_found_behind_its_account() {
        assert_eq!(region_of("111122223333/us-east-1"), "us-east-1");
        for place in ["us-east-1", "account", "gcp/project/us-central1/vm", "a/b"] {
            assert_eq!(region_of(place), place);
        }
    }
}
