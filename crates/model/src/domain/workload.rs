//! A workload: instances that do one job and are judged as one, and its members apart by how they
//! behave.

use super::named::named_enum;
use super::tags::{size_mib, tag_value};
use super::{
    AcceleratorKind, AwsOpinion, CommittedCost, ComponentHost, GpuUsage, Group, HourlyActivity,
    IdleStorageCosts, InstanceShape, InstanceUsage, Measured, Member, Money, NetworkUse, Policy,
    PriceKey, ProfileBasis, ResourceId, Samples, ScalingGroup, Unpriced, UsageState,
    UtilizationSummary, Verdict, VramSummary, WorkloadCost, WorkloadKey, opinion,
};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::collections::BTreeMap;
use std::sync::Arc;

named_enum! {
    /// What a workload does.
    WorkloadKind {
        /// Fits a model.
        Training = "training",
        /// Answers requests.
        Serving = "serving",
        /// Works through a queue.
        Batch = "batch",
        /// Measures models.
        Evaluation = "evaluation",
        /// Notebooks and experiments.
        Development = "development",
        /// Not declared, and the names do not say.
        Unknown = "unknown",
    }
}

named_enum! {
    /// How the kind is known.
    KindBasis {
        /// By an explicit tag.
        Declared = "declared",
        /// Guessed from names.
        Guessed = "guessed",
        /// Not at all.
        Unknown = "unknown",
    }
}

/// Tag that states how much memory work takes of a GPU, such as `8GiB`.
pub const VRAM_TAG: &str = "gpucost:vram";

/// Tag that declares how the GPUs of one machine work, with its two values: each by itself, or
/// several as one.
pub const GPUS_TAG: &str = "gpucost:gpus";
pub const INDEPENDENT: &str = "independent";
pub const LINKED: &str = "linked";

/// Traffic of the busiest hour from which jobs on a GPU each may work together, Gbit/s: more than
/// reading data takes.
const JOINT_WORK_GBPS: f64 = 1.0;

/// Mean correlation of the GPUs of a machine from which they may work as one. Shards of one
/// model are busy in the same seconds; replicas behind one balancer follow the same day, but
/// differ by their requests.
const TOGETHER_CORRELATION: f64 = 0.95;
/// The same of any two of them by the hour, in which replicas differ less.
const PAIR_CORRELATION: f64 = 0.997;

/// Tags that tell the environment, and its values that mean production.
const ENVIRONMENT_TAGS: [&str; 4] = ["env", "environment", "stage", "tier"];
const PRODUCTION: [&str; 4] = ["prod", "production", "prd", "live"];

fn is_among(names: &[&str], name: &str) -> bool {
    let name = name.trim();
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether a tag says that something is in production.
pub fn says_production(key: &str, value: &str) -> bool {
    is_among(&ENVIRONMENT_TAGS, key) && is_among(&PRODUCTION, value)
}

/// Instances that do one job, with everything that is known about them.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// What makes them one.
    pub key: WorkloadKey,
    /// Name for people.
    pub name: String,
    pub kind: WorkloadKind,
    pub kind_basis: KindBasis,
    /// Its instances, ascending by id.
    pub instances: Vec<ResourceId>,
    /// Each of them, in their order.
    pub members: Vec<Member>,
    /// The settings of the Auto Scaling group that they are in; absent where they are in none,
    /// and where it was not read.
    pub scaling_group: Option<Arc<ScalingGroup>>,
    /// What inference components reserve of them; absent where none are placed on them, and
    /// where that was not read.
    pub component_host: Option<Arc<ComponentHost>>,
    /// What AWS advises about them, sorted; empty unless it was asked.
    pub opinions: Vec<AwsOpinion>,
    /// Tags that all of them share.
    pub tags: BTreeMap<String, String>,
    /// Why all of it is taken out of advice.
    pub ignored: Option<String>,
    /// Whether tags name several owners of its instances, or an owner of some only.
    pub has_several_owners: bool,
    /// Whether a tag declares that it may be interrupted and restarted.
    pub restartable: bool,
    /// What its type offers; absent for an unknown type.
    pub shape: Option<InstanceShape>,
    /// The price key of one instance, whatever its zone.
    pub price_key: PriceKey,
    /// What it costs; absent when it is unpriced or not running.
    pub cost: Option<WorkloadCost>,
    /// Why it runs without a price; absent when it has one or does not run.
    pub unpriced: Option<Unpriced>,
    /// What it costs beside compute once it has ended.
    pub idle_storage: IdleStorageCosts,
    /// Mean over its instances of the share of the window that each ran, 0–1.
    pub running_share: Option<Decimal>,
    pub usage: Vec<InstanceUsage>,
    /// Over all its GPUs; absent when no GPU signal arrived.
    pub utilization: Option<UtilizationSummary>,
    /// What profiled runs are good for; absent without any, and where series of
    /// the whole window tell enough.
    pub profile: Option<ProfileBasis>,
    /// Hour by hour, since the first of its instances was seen.
    pub activity: HourlyActivity,
}

impl Workload {
    /// Its id, stable across runs.
    pub fn id(&self) -> String {
        self.key.id()
    }

    /// One of its instances.
    pub fn member(&self, id: &ResourceId) -> Option<&Member> {
        let place = self.members.binary_search_by(|member| member.id.cmp(id)).ok()?;
        self.members.get(place)
    }

    /// What AWS advises about it, in words; absent where it advises nothing.
    pub fn aws_opinion(&self) -> Option<String> {
        opinion::in_words(&self.opinions, &self.instances)
    }

    /// What AWS estimates that this saves per month; absent where that is not in the currency
    /// of what it costs.
    pub fn aws_savings(&self) -> Option<Money> {
        let currency = self.monthly_cost()?.currency();
        let savings = opinion::savings(&self.opinions, &self.instances)?;
        (savings.currency() == currency).then_some(savings)
    }

    /// Whether its type has an instance store, whose data a stop destroys.
    pub fn has_instance_store(&self) -> bool {
        self.shape.as_ref().is_some_and(|shape| shape.local_storage_gb.is_some())
    }

    /// Whether any of its instances is known to have stopped less than a while
    /// ago: it may be started again any day.
    pub fn stopped_within(&self, while_ago: SignedDuration, as_of: Timestamp) -> bool {
        self.members
            .iter()
            .filter_map(|member| member.stopped_at)
            .any(|stopped| as_of.duration_since(stopped) < while_ago)
    }

    /// How many of its instances do not run now.
    pub fn stopped_now(&self) -> u64 {
        self.members.iter().filter(|member| !member.is_running).count() as u64
    }

    /// How many of its instances have a value of each tag that not all share.
    pub fn tagged_instances(&self) -> BTreeMap<String, u64> {
        let mut tagged = BTreeMap::new();
        let own = self.members.iter().flat_map(|member| &member.own_tags);
        for (key, _) in own.filter(|(_, value)| !value.trim().is_empty()) {
            *tagged.entry(key.clone()).or_default() += 1;
        }
        tagged
    }

    /// What a verdict on it rests on.
    pub fn measured(&self) -> Measured<'_> {
        Measured {
            shape: self.shape.as_ref(),
            usage: &self.usage,
            utilization: self.utilization.as_ref(),
            first_seen: self.first_seen(),
            profile: self.profile.as_ref(),
        }
    }

    /// When the last of its instances was first seen.
    pub fn first_seen(&self) -> Timestamp {
        self.members.iter().map(|member| member.first_seen).max().unwrap_or(Timestamp::MIN)
    }

    /// The kind that a tag declares; unknown where it is guessed. A guess may make
    /// advice stricter, never more permissive.
    pub fn declared_kind(&self) -> WorkloadKind {
        match self.kind_basis {
            KindBasis::Declared => self.kind,
            KindBasis::Guessed | KindBasis::Unknown => WorkloadKind::Unknown,
        }
    }

    /// Whether requests may wait for it: a service, or one that no tag declares as something else.
    pub fn may_serve(&self) -> bool {
        matches!(self.declared_kind(), WorkloadKind::Serving | WorkloadKind::Unknown)
    }

    /// Whether GPUs of one machine work as one, so that they need what links them: what the tag
    /// `gpucost:gpus` declares; else training does, and a service does not whose GPUs are not busy
    /// together. Absent of everything else.
    pub fn gpus_linked(&self) -> Option<bool> {
        self.declared_link().unwrap_or_else(|| match self.declared_kind() {
            WorkloadKind::Training => Some(true),
            WorkloadKind::Serving if !self.gpus_move_together() => Some(false),
            _ => None,
        })
    }

    /// Whether its GPUs work as one by the tag `gpucost:gpus`, where it has that tag: nothing,
    /// where the value cannot be read.
    pub fn declared_link(&self) -> Option<Option<bool>> {
        let declared = tag_value(&self.tags, &[GPUS_TAG])?.trim();
        let says = |value: &str| declared.eq_ignore_ascii_case(value);
        Some(says(LINKED).then_some(true).or(says(INDEPENDENT).then_some(false)))
    }

    /// Whether the GPUs of any of its machines are busy together, or two of them.
    pub fn gpus_move_together(&self) -> bool {
        let reaches = |correlation: Option<f64>, least: f64| correlation >= Some(least);
        self.usage.iter().any(|usage| {
            reaches(usage.gpus_correlation, TOGETHER_CORRELATION)
                || reaches(usage.pairs_correlation, PAIR_CORRELATION)
        })
    }

    /// Whether every GPU of it may hold a tenant of its own: GPUs that are not linked, or an Auto
    /// Scaling group of single-GPU instances that is declared not to train.
    pub fn holds_tenants(&self) -> bool {
        let are_alone = matches!(self.key.group, Group::AutoScaling(_))
            && self.visible_gpus() == Some(self.instances.len() as u64);
        let may_be_jobs = matches!(
            self.declared_kind(),
            WorkloadKind::Batch | WorkloadKind::Evaluation | WorkloadKind::Development
        );
        self.gpus_linked() == Some(false) || (are_alone && may_be_jobs)
    }

    /// Whether a tag or a word of its name says production.
    pub fn is_production(&self) -> bool {
        let by_tag = self.tags.iter().any(|(key, value)| says_production(key, value));
        let mut words = self.name.split(|c: char| !c.is_ascii_alphanumeric());
        by_tag || words.any(|word| is_among(&PRODUCTION, word))
    }

    /// The zones that its instances are in, each with how many; those of unknown
    /// zone are left out.
    pub fn zones(&self) -> BTreeMap<&str, u32> {
        let mut zones = BTreeMap::new();
        for zone in self.members.iter().filter_map(|member| member.zone.as_deref()) {
            *zones.entry(zone).or_insert(0) += 1;
        }
        zones
    }

    /// The same with some of its instances alone, which were measured together:
    /// `None` for none of them.
    pub fn part(
        &self,
        keep: impl Fn(&Member) -> bool,
        utilization: Option<UtilizationSummary>,
        activity: HourlyActivity,
    ) -> Option<Self> {
        fn kept<T: Clone>(items: &[T], is_kept: &[bool]) -> Vec<T> {
            let pairs = items.iter().zip(is_kept);
            pairs.filter(|(_, kept)| **kept).map(|(item, _)| item.clone()).collect()
        }
        let is_kept: Vec<bool> = self.members.iter().map(keep).collect();
        if !is_kept.contains(&true) {
            return None;
        }
        let members = kept(&self.members, &is_kept);
        Some(Self {
            instances: kept(&self.instances, &is_kept),
            cost: self
                .cost
                .as_ref()
                .and_then(|cost| WorkloadCost::of(kept(&cost.instances, &is_kept))),
            usage: kept(&self.usage, &is_kept),
            price_key: members.first()?.price_key.clone(),
            opinions: self
                .opinions
                .iter()
                .filter(|opinion| members.iter().any(|member| opinion.is_about(&member.id)))
                .cloned()
                .collect(),
            members,
            utilization,
            activity,
            ..self.clone()
        })
    }

    /// GPUs in all its instances as a number (0.125 for an eighth); absent for
    /// an unknown type.
    pub fn gpu_count(&self) -> Option<Decimal> {
        Some(self.shape.as_ref()?.gpu.as_ref()?.share.count() * Decimal::from(self.instances.len()))
    }

    /// GPUs that the guests of all its instances see.
    pub fn visible_gpus(&self) -> Option<u64> {
        let offer = self.shape.as_ref()?.gpu.as_ref()?;
        Some(u64::from(offer.share.visible_devices()) * self.instances.len() as u64)
    }

    /// GPUs that run: what drivers call GPUs, so neither Neuron devices nor gate arrays.
    pub fn running_gpus(&self) -> u64 {
        let is_gpu = |shape: &InstanceShape| shape.accelerator == AcceleratorKind::Gpu;
        if self.key.running && self.shape.as_ref().is_some_and(is_gpu) {
            self.visible_gpus().unwrap_or(0)
        } else {
            0
        }
    }

    /// Every measured GPU, by instance and index.
    pub fn gpus(&self) -> impl Iterator<Item = &GpuUsage> {
        self.usage.iter().flat_map(|usage| &usage.gpus)
    }

    /// The runs that everything measured about it rests on, in words; absent where
    /// that is the whole window.
    pub fn rests_on_runs(&self) -> Option<String> {
        self.profile.as_ref()?.in_words()
    }

    /// Whether a commitment may be sized by one of its instances: on demand, not idle,
    /// there for as many days as the policy asks, with its hours proved and its GPUs
    /// measured by themselves. A run of so many hours says nothing about the others.
    pub fn is_committable(&self, place: usize, policy: &Policy) -> bool {
        let (Some(member), Some(usage)) = (self.members.get(place), self.usage.get(place)) else {
            return false;
        };
        let summary = usage.summary.as_ref();
        self.rests_on_runs().is_none()
            && member.ignored.is_none()
            && !member.is_idle()
            && !member.activity.is_empty()
            && usage.running.observed_days() >= policy.commit_min_days
            && usage.running.proved
            && usage.cpu_samples.is_some_and(|samples| samples.suffice(policy))
            && summary.is_some_and(|summary| summary.suffices(policy))
    }

    /// Whether what it runs does not span GPUs, and so no instances either: what the tag
    /// `gpucost:gpus` declares; else each instance has several GPUs of which all but one are
    /// never used, and no traffic of jobs that work together.
    pub fn runs_on_one_gpu(&self, policy: &Policy) -> bool {
        if let Some(link) = self.declared_link() {
            return link == Some(false);
        }
        let Some(visible) = self.measured().visible_gpus() else { return false };
        let is_quiet =
            |network: NetworkUse| network.received_gbps.max(network.sent_gbps) < JOINT_WORK_GBPS;
        let is_alone = self.instances.len() < 2;
        visible > 1
            && (self.usage.iter()).all(|usage| is_alone || usage.network.is_some_and(is_quiet))
            && self.usage.iter().all(|usage| {
                let unused = usage.gpus.iter().filter(|gpu| gpu.is_never_used(policy));
                usage.gpus.len() == visible && unused.count() + 1 >= visible
            })
    }

    /// Whether one of its GPUs is known not to be used: never over the window, or not by
    /// the runs of complete commands that are all that was measured.
    pub fn never_uses(&self, gpu: &GpuUsage, policy: &Policy) -> bool {
        match self.rests_on_runs() {
            Some(_) => gpu.works() == Some(false),
            None => gpu.is_never_used(policy),
        }
    }

    /// Whether a lever may rest on a fact that was seen so much: of profiled runs
    /// their share counts, because they are as long as they are.
    pub fn suffices(&self, samples: Samples, policy: &Policy) -> bool {
        match self.rests_on_runs() {
            Some(_) => samples.coverage() >= policy.min_coverage,
            None => samples.suffice(policy),
        }
    }

    /// Whether every instance delivered a GPU signal.
    pub fn is_fully_measured(&self) -> bool {
        !self.usage.is_empty() && self.usage.iter().all(|usage| usage.signal.is_some())
    }

    /// The fullest card: largest peak and p95 of any GPU; absent unless every
    /// measured GPU reports its memory.
    pub fn vram(&self) -> Option<VramSummary> {
        self.measured().vram()
    }

    /// The most memory that its work takes of a GPU, MiB: what its tag states, else the peak.
    /// Absent where an engine took it ahead: what it needs of that is not known.
    pub fn vram_use_mib(&self, vram: &VramSummary) -> Option<f64> {
        let stated = tag_value(&self.tags, &[VRAM_TAG]).and_then(size_mib).filter(|mib| *mib > 0.0);
        stated.or((!vram.is_reserved).then_some(vram.peak_mib))
    }

    /// Hourly cost over the GPUs and their mean utilization: what an hour of a
    /// fully used GPU costs here. Absent when nothing was measured or used.
    pub fn cost_per_useful_gpu_hour(&self) -> Option<Decimal> {
        let mean = self.utilization.as_ref()?.distribution.mean;
        let useful_gpus = self.gpu_count()? * Decimal::from_f64(mean / 100.0)?;
        let hourly = self.cost.as_ref()?.hourly.amount();
        (useful_gpus > Decimal::ZERO).then(|| hourly.checked_div(useful_gpus)).flatten()
    }

    /// What of its cost stopping does not end; absent when nothing is committed.
    pub fn committed_cost(&self) -> Option<CommittedCost> {
        self.cost.as_ref()?.committed_cost()
    }

    /// Per month: compute of a running workload, what stands while a stopped one
    /// does not run. Absent when it is unpriced; the priced part of what stands
    /// counts, because every dollar of it is certain, and a gap names the rest.
    pub fn monthly_cost(&self) -> Option<Money> {
        if self.key.running {
            self.cost.as_ref().map(|cost| cost.compute_monthly)
        } else {
            self.idle_storage.monthly
        }
    }
}

/// Members of a workload that behave alike, as a workload of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What keeps all of them from work; absent for those that work, or may, on their GPUs or
    /// on something else.
    pub idle: Option<UsageState>,
    /// The members with their cost and what was measured of them; shared with the whole
    /// where that has no other part.
    pub workload: Arc<Workload>,
    pub verdict: Verdict,
}
