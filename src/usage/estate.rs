//! An estate: everything one audit knows.

use super::{Series, UsageBuilder, Usages};
use crate::domain::{
    Commitments, Gap, Instance, InstanceShape, PriceBook, ProfiledRun, SeriesSource, Window,
    named_enum,
};
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

named_enum! {
    /// Where an estate was gathered.
    EstateSource {
        /// From an AWS account.
        Aws = "aws",
        /// Made or recorded by hand.
        Estate = "estate",
        /// The estate that ships inside the binary.
        Demo = "demo",
    }
}

/// What the gathering cost, as reported by the tool itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiUsage {
    /// Calls to the cloud, retries not counted.
    pub calls: u64,
    /// Further attempts after throttling or a passing fault.
    pub retries: u64,
    /// Estimated price of the calls in USD.
    pub estimated_cost_usd: Decimal,
    /// Calls by service and operation, such as `ec2:DescribeInstances`.
    pub by_operation: BTreeMap<String, u64>,
}

/// A tag by which instances were selected.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TagFilter {
    /// The key; case counts, as on AWS.
    pub key: String,
    /// The value.
    pub value: String,
    /// Whether instances with the tag were left out, instead of those without it.
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
        let flag = if self.is_excluded {
            "--exclude-tag"
        } else {
            "--tag"
        };
        write!(f, "{flag} {}={}", self.key, self.value)
    }
}

/// Everything one audit knows.
#[derive(Debug, Clone, PartialEq)]
pub struct Estate {
    /// The instant it describes.
    pub as_of: Timestamp,
    /// The window that metrics were asked for.
    pub window: Window,
    /// Where it was gathered.
    pub source: EstateSource,
    /// Accounts in scope, ascending.
    pub accounts: Vec<String>,
    /// Regions in scope, ascending.
    pub regions: Vec<String>,
    /// The tags by which its instances were selected, ascending; empty for all.
    pub tag_filters: Vec<TagFilter>,
    /// Grid of utilization, power and CPU series.
    pub period_seconds: u32,
    /// The instances.
    pub instances: Vec<Instance>,
    /// Instances that nobody asked about and that the commitments of the estate
    /// may pay for: what these cover is known only with all of them.
    pub out_of_scope: Vec<Instance>,
    /// Shapes by instance type.
    pub shapes: BTreeMap<String, InstanceShape>,
    /// What the series amounted to whose points are not kept.
    pub usage: Usages,
    /// Series with their points: those of profiled runs, which are cut by run, and
    /// those of every source where the estate is to be written.
    pub metrics: Vec<Series>,
    /// Runs of the sampler on instances, by instance and start.
    pub profiles: Vec<ProfiledRun>,
    /// The prices that were gathered.
    pub prices: PriceBook,
    /// What is already committed to.
    pub commitments: Commitments,
    /// What could not be read.
    pub gaps: Vec<Gap>,
    /// What the gathering cost.
    pub api: ApiUsage,
}

impl Estate {
    /// How each instance was used, by every source but profiled runs: of the series
    /// whose points are kept, and of those that were reduced before.
    pub fn measured(&self) -> Cow<'_, Usages> {
        let kept = |one: &&Series| one.source != SeriesSource::Profile;
        if !self.metrics.iter().any(|one| kept(&one)) {
            return Cow::Borrowed(&self.usage);
        }
        let mut builder = UsageBuilder::of(self.usage.clone(), self.window, self.period_seconds);
        for series in self.metrics.iter().filter(kept) {
            builder.add(series);
        }
        Cow::Owned(builder.finish())
    }

    /// Reduces the series whose points are not needed any more.
    pub fn reduce(&mut self) {
        if let Cow::Owned(usage) = self.measured() {
            self.usage = usage;
            self.metrics
                .retain(|one| one.source == SeriesSource::Profile);
        }
    }
}
