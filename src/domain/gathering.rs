//! How an estate was gathered: from where, by which tags, and with how many calls.

use super::named::named_enum;
use super::wire::Change;
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
