//! An estate: everything one audit knows.

use super::{Series, UsageBuilder, Usages};
use crate::domain::{
    ApiUsage, AwsOpinion, Clusters, Commitments, EstateSource, Gap, Instance, InstanceShape,
    Managed, PriceBook, ProfiledRun, ScalingGroup, SeriesSource, TagFilter, TrainingJob, Window,
};
use jiff::Timestamp;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Everything one audit knows; nothing by default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Estate {
    /// The instant it describes.
    pub as_of: Timestamp,
    /// The window that metrics were asked for.
    pub window: Window,
    pub source: EstateSource,
    /// Accounts in scope, ascending.
    pub accounts: Vec<String>,
    /// Regions in scope, ascending.
    pub regions: Vec<String>,
    /// The tags by which its instances were selected, ascending; empty for all.
    pub tag_filters: Vec<TagFilter>,
    /// Grid of utilization, power and CPU series.
    pub period_seconds: u32,
    pub instances: Vec<Instance>,
    /// Instances that nobody asked about and that the commitments of the estate
    /// may pay for: what these cover is known only with all of them.
    pub out_of_scope: Vec<Instance>,
    /// The Auto Scaling groups that its instances are in, each once.
    pub scaling_groups: Vec<ScalingGroup>,
    /// Shapes by instance type.
    pub shapes: BTreeMap<String, InstanceShape>,
    /// What the series amounted to whose points are not kept.
    pub usage: Usages,
    /// Series with their points: those of profiled runs, which are cut by run, and
    /// those of every source where the estate is to be written.
    pub metrics: Vec<Series>,
    /// Runs of the sampler on instances, by instance and start.
    pub profiles: Vec<ProfiledRun>,
    /// Machines as the schedulers of their clusters see them, and who holds their devices.
    pub clusters: Clusters,
    /// What managed services know beside their machines, sorted.
    pub managed: Managed,
    /// Training jobs that last changed in the window, in order of account, region and name.
    pub jobs: Vec<TrainingJob>,
    pub prices: PriceBook,
    pub commitments: Commitments,
    /// What AWS advises about its instances, sorted; empty unless it was asked.
    pub opinions: Vec<AwsOpinion>,
    pub gaps: Vec<Gap>,
    /// What the gathering cost.
    pub api: ApiUsage,
}

impl Estate {
    /// How each instance was used, by every source but profiled runs: of the series
    /// whose points are kept, and of those that were reduced before.
    pub fn measured(&self) -> Cow<'_, Usages> {
        let kept = |series: &&Series| series.source != SeriesSource::Profile;
        if !self.metrics.iter().any(|series| kept(&series)) {
            return Cow::Borrowed(&self.usage);
        }
        let mut builder = UsageBuilder::of(self.usage.clone(), self.window, self.period_seconds);
        let mut metrics: Vec<&Series> = self.metrics.iter().filter(kept).collect();
        // Records of one series are one only side by side.
        metrics.sort_by(|left, right| left.instance.cmp(&right.instance));
        for series in metrics {
            builder.add(series);
        }
        Cow::Owned(builder.finish())
    }

    /// Reduces the series whose points are not needed any more.
    pub fn reduce(&mut self) {
        if let Cow::Owned(usage) = self.measured() {
            self.usage = usage;
            self.metrics.retain(|series| series.source == SeriesSource::Profile);
        }
    }
}
