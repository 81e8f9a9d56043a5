//! A workload: instances that do one job and are judged as one.

use super::instance::named_enum;
use super::{
    Gap, GpuUsage, HourlyActivity, HourlyRate, InstanceId, InstanceShape, InstanceUsage, Money,
    PaidAhead, PriceKey, PriceQuote, ProfileBasis, PurchaseOption, StorageQuote, StorageResource,
    Sunk, UtilizationSummary, VramSummary,
};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::collections::BTreeMap;

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
        /// Nobody said and the names do not tell.
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

/// What makes instances one workload.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkloadKey {
    /// The account.
    pub account: String,
    /// The region.
    pub region: String,
    /// The instance type.
    pub instance_type: String,
    /// How its hours are paid for.
    pub purchase_option: PurchaseOption,
    /// Whether its instances run.
    pub running: bool,
    /// What groups them.
    pub group: Group,
}

/// What groups instances into a workload.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// An Auto Scaling group.
    AutoScaling(String),
    /// The value of the workload tag.
    Tag(String),
    /// Nothing: the instance alone.
    Alone(InstanceId),
}

impl WorkloadKey {
    /// The id: of a lone instance its own, of a group the whole key.
    pub fn id(&self) -> String {
        let (prefix, name) = match &self.group {
            Group::Alone(instance) => return instance.to_string(),
            Group::AutoScaling(name) => ("asg", name),
            Group::Tag(name) => ("tag", name),
        };
        let state = if self.running { "" } else { "/stopped" };
        format!(
            "{}/{}/{}/{}/{prefix}:{name}{state}",
            self.account, self.region, self.instance_type, self.purchase_option
        )
    }
}

/// What one instance costs while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceCost {
    /// What its price is for: of its zone where spot was read by zone, else of
    /// the whole region.
    pub key: PriceKey,
    /// The price with its evidence.
    pub quote: PriceQuote,
    /// What pays for hours of it in place of that price; absent when nothing
    /// does.
    pub paid_ahead: Option<PaidAhead>,
    /// What an hour of it costs in the mean while it runs: its price, and the
    /// rates of the commitments in the hours that they cover.
    pub hourly: HourlyRate,
    /// Hours in a month at today's running time.
    pub monthly_hours: Decimal,
}

impl InstanceCost {
    /// What it costs a month at today's running time, unrounded.
    pub fn monthly(&self) -> Money {
        self.hourly.times_hours(self.monthly_hours)
    }

    /// Whether any of its hours costs the price.
    pub fn uses_price(&self) -> bool {
        let paid = self.paid_ahead.as_ref();
        paid.is_none_or(|paid| !paid.uncovered_share.is_zero())
    }
}

impl WorkloadCost {
    /// What of it stopping does not end; absent when nothing is paid ahead.
    pub fn sunk(&self) -> Option<Sunk> {
        let mut commitments = BTreeMap::new();
        let mut monthly = Decimal::ZERO;
        for one in &self.instances {
            let Some(paid) = &one.paid_ahead else {
                continue;
            };
            monthly += paid.sunk_hourly() * one.monthly_hours;
            let parts = paid.parts.iter();
            commitments.extend(parts.map(|part| (part.commitment.clone(), part.end)));
        }
        (!commitments.is_empty()).then(|| Sunk {
            monthly: Money::new(monthly, self.hourly.currency()).rounded(),
            commitments,
        })
    }

    /// Mean hourly rate of one instance.
    pub fn per_instance(&self) -> Decimal {
        self.hourly.amount() / Decimal::from(self.instances.len().max(1))
    }
}

/// What a workload costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadCost {
    /// Each of its instances, in their order.
    pub instances: Vec<InstanceCost>,
    /// All its instances together while they run.
    pub hourly: HourlyRate,
    /// Compute per month at today's running time, rounded to cents.
    pub compute_monthly: Money,
}

/// Why a running workload has no price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpriced {
    /// What is missing, such as `no price for …: unpriced`.
    pub reason: String,
    /// What to do about it.
    pub hint: &'static str,
}

impl Unpriced {
    /// What to do where no price list has a price: whether they were asked
    /// cannot be seen here, and more asking may not help.
    pub const NO_SOURCE: &str =
        "record the price in the estate file (`--save`), with the origin `user`";

    /// The gap of a workload.
    pub fn gap(&self, workload: &str) -> Gap {
        Gap::new("price", workload, &self.reason, self.hint)
    }
}

/// Storage and addresses that cost while nothing runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StandingCosts {
    /// What is priced, in words with its arithmetic.
    pub priced: Vec<String>,
    /// Per month, rounded to cents: the sum of what is priced, zero where
    /// nothing stands; absent when something stands and nothing is priced.
    pub monthly: Option<Money>,
    /// The prices behind it, each once.
    pub quotes: BTreeMap<StorageResource, StorageQuote>,
    /// What has no price, in words.
    pub unpriced: Vec<String>,
    /// Number of volumes.
    pub volumes: u64,
    /// Those among them whose size is not known.
    pub volumes_of_unknown_size: u64,
    /// GiB in all the others.
    pub volume_gib: u64,
    /// Number of addresses.
    pub addresses: u64,
}

/// Instances that do one job, with everything that is known about them.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// What makes them one.
    pub key: WorkloadKey,
    /// Name for people.
    pub name: String,
    /// What it does.
    pub kind: WorkloadKind,
    /// How the kind is known.
    pub kind_basis: KindBasis,
    /// Its instances, ascending by id.
    pub instances: Vec<InstanceId>,
    /// Tags that all of them share.
    pub tags: BTreeMap<String, String>,
    /// Why it is taken out of advice.
    pub ignored: Option<String>,
    /// Whether a tag declares that it may be interrupted and restarted.
    pub restartable: bool,
    /// What its type offers; absent for a type that nobody knows.
    pub shape: Option<InstanceShape>,
    /// The price key of one instance, whatever its zone.
    pub price_key: PriceKey,
    /// What it costs; absent when it is unpriced or not running.
    pub cost: Option<WorkloadCost>,
    /// Why it runs without a price; absent when it has one or does not run.
    pub unpriced: Option<Unpriced>,
    /// When each of its instances stopped, in their order, as far as that is
    /// known; empty while they run.
    pub stopped_at: Vec<Option<Timestamp>>,
    /// What it costs beside compute while stopped.
    pub standing: StandingCosts,
    /// Mean over its instances of the share of the window that each ran, 0–1.
    pub running_share: Option<Decimal>,
    /// When the youngest of its instances was launched.
    pub youngest_launch: Timestamp,
    /// Per instance.
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

    /// Whether its type has an instance store, whose data a stop destroys.
    pub fn has_instance_store(&self) -> bool {
        self.shape
            .as_ref()
            .is_some_and(|shape| shape.local_storage_gb.is_some())
    }

    /// Whether any of its instances is known to have stopped less than a while
    /// ago: it may be started again any day.
    pub fn stopped_within(&self, while_ago: SignedDuration, as_of: Timestamp) -> bool {
        self.stopped_at
            .iter()
            .flatten()
            .any(|stopped| as_of.duration_since(*stopped) < while_ago)
    }

    /// GPUs in all its instances as a number (0.125 for an eighth); absent for
    /// a type that nobody knows.
    pub fn gpu_count(&self) -> Option<Decimal> {
        let offer = self.shape.as_ref()?.gpu.as_ref()?;
        Some(offer.share.count() * Decimal::from(self.instances.len()))
    }

    /// GPUs that the guests of all its instances see.
    pub fn visible_gpus(&self) -> Option<u64> {
        let offer = self.shape.as_ref()?.gpu.as_ref()?;
        Some(u64::from(offer.share.visible_devices()) * self.instances.len() as u64)
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

    /// Whether it was there, and measured, for so many hours. A run of so many
    /// hours says nothing about the others.
    pub fn is_known_for_hours(&self, hours: f64) -> bool {
        let measured = self.utilization.as_ref();
        // A window that begins inside an hour lacks one whole hour.
        self.rests_on_runs().is_none()
            && measured.is_some_and(|summary| summary.sampled_hours() >= hours)
            && self.activity.len() as f64 + 1.0 >= hours
    }

    /// Whether each instance has several GPUs and never used more than one: what
    /// it runs does not span GPUs, and so no instances either.
    pub fn runs_on_one_gpu(&self) -> bool {
        self.measures_every_gpu()
            && self.usage.iter().all(|usage| {
                let active = usage
                    .gpus
                    .iter()
                    .filter(|gpu| gpu.is_active() != Some(false));
                usage.gpus.len() > 1 && active.count() <= 1
            })
    }

    /// Whether every GPU of every instance was measured by itself. Half of the
    /// GPUs are enough for a mean, never for calling all of them idle.
    pub fn measures_every_gpu(&self) -> bool {
        let (Some(summary), Some(total)) = (&self.utilization, self.visible_gpus()) else {
            return false;
        };
        let visible = total as usize / self.instances.len().max(1);
        !self.usage.is_empty()
            && self
                .usage
                .iter()
                .all(|usage| usage.measures_every_gpu(visible, summary.period_seconds))
    }

    /// Whether every instance delivered a GPU signal.
    pub fn is_fully_measured(&self) -> bool {
        !self.usage.is_empty() && self.usage.iter().all(|usage| usage.signal.is_some())
    }

    /// The fullest card: largest peak and p95 of any GPU; absent unless every
    /// measured GPU reports its memory.
    pub fn vram(&self) -> Option<VramSummary> {
        let mut all = self.gpus().map(|gpu| gpu.vram);
        let first = all.next()??;
        all.try_fold(first, |fullest, vram| {
            let vram = vram?;
            Some(VramSummary {
                peak_mib: fullest.peak_mib.max(vram.peak_mib),
                p95_mib: match (fullest.p95_mib, vram.p95_mib) {
                    (Some(left), Some(right)) => Some(left.max(right)),
                    _ => None,
                },
                n_samples: fullest.n_samples.min(vram.n_samples),
                total_mib: match (fullest.total_mib, vram.total_mib) {
                    (Some(left), Some(right)) => Some(left.min(right)),
                    _ => None,
                },
            })
        })
    }

    /// Hourly cost over the GPUs and their mean utilization: what an hour of a
    /// fully used GPU costs here. Absent when nothing was measured or used.
    pub fn cost_per_useful_gpu_hour(&self) -> Option<Decimal> {
        let mean = self.utilization.as_ref()?.distribution.mean;
        let useful_gpus = self.gpu_count()? * Decimal::from_f64(mean / 100.0)?;
        let hourly = self.cost.as_ref()?.hourly.amount();
        (useful_gpus > Decimal::ZERO)
            .then(|| hourly.checked_div(useful_gpus))
            .flatten()
    }

    /// What of its cost stopping does not end; absent when nothing is paid ahead.
    pub fn sunk(&self) -> Option<Sunk> {
        self.cost.as_ref()?.sunk()
    }

    /// The same with every hour at its price, as it will be when the commitments
    /// that pay for it have ended. `None` when that is no price.
    pub fn without_commitments(&self) -> Option<Self> {
        let mut instances = self.cost.as_ref()?.instances.clone();
        for one in &mut instances {
            one.paid_ahead = None;
            one.hourly = one.quote.rate;
        }
        let currency = instances.first()?.hourly.currency();
        let hourly: Decimal = instances.iter().map(|one| one.hourly.amount()).sum();
        let monthly: Decimal = instances.iter().map(|one| one.monthly().amount()).sum();
        let mut open = self.clone();
        open.key.purchase_option = PurchaseOption::OnDemand;
        open.cost = Some(WorkloadCost {
            instances,
            hourly: HourlyRate::new(hourly, currency)?,
            compute_monthly: Money::new(monthly, currency).rounded(),
        });
        Some(open)
    }

    /// Per month: compute of a running workload, what stands while a stopped one
    /// does not run. Absent when it is unpriced; the priced part of what stands
    /// counts, because every dollar of it is certain, and a gap names the rest.
    pub fn monthly_cost(&self) -> Option<Money> {
        if self.key.running {
            self.cost.as_ref().map(|cost| cost.compute_monthly)
        } else {
            self.standing.monthly
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_readable_and_unique_per_key() {
        let key = |group, running| WorkloadKey {
            account: "111122223333".to_owned(),
            region: "us-east-1".to_owned(),
            instance_type: "p3.8xlarge".to_owned(),
            purchase_option: PurchaseOption::OnDemand,
            running,
            group,
        };
        assert_eq!(key(Group::Alone(InstanceId::new("i-7")), true).id(), "i-7");
        assert_eq!(
            key(Group::Tag("train".to_owned()), true).id(),
            "111122223333/us-east-1/p3.8xlarge/on-demand/tag:train"
        );
        assert_ne!(
            key(Group::Tag("train".to_owned()), true).id(),
            key(Group::Tag("train".to_owned()), false).id()
        );
    }
}
