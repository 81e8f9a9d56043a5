//! What is kept of audits, night after night: what each workload cost on a day, what was
//! advised, which run says so, and what checking it finds. Several nights of it are a history.

use super::named::named_enum;
use super::{
    ActionKind, Currency, Fnv, HourlyRate, Money, PastGap, PastTotals, PriceOrigin, Provider,
    PurchaseOption, Risk, TagFilter, Target,
};
use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

named_enum! {
    /// What a row of a day pays for.
    CostKind {
        /// Hours of instances.
        Compute = "compute",
        /// A commitment or reserved room that nothing used.
        Unused = "unused",
        /// Volumes and addresses of what is stopped.
        IdleStorage = "idle-storage",
    }
}

named_enum! {
    /// How an amount is known; later ones are preferred.
    CostSource {
        /// Hours that were seen, at prices of a list.
        Estimate = "estimate",
        Bill = "bill",
    }
}

/// A price of an hour, with when it holds from: two of them tell a price cut from less use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatedPrice {
    pub hourly: HourlyRate,
    /// Since when it holds; absent for long-standing list prices.
    pub effective_date: Option<Date>,
    /// When it was read from its list.
    pub seen_on: Date,
    pub origin: PriceOrigin,
}

/// What one workload cost on one day of UTC, as far as it was paid for in one way: a workload
/// whose hours are partly reserved has two rows of a day. Only days that were over when they
/// were read have rows. What did not run has none: whether its place was read is in the run.
///
/// Names, tags and ids are those of the estate after `--redact`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadDay {
    /// The run that says so, [`RecordedRun::run_id`].
    pub run_id: String,
    pub day: Date,
    pub provider: Provider,
    pub account: String,
    /// Empty for what holds everywhere, such as a Compute Savings Plan.
    pub region: String,
    /// The id of the workload, [`super::WorkloadKey::id`]; of an unused commitment its own.
    pub workload: String,
    /// What stays the same when type, way of paying or state change,
    /// [`super::WorkloadKey::job`]; of an unused commitment its id.
    pub job: String,
    /// Name for people.
    pub name: String,
    /// Tags that all of its instances share.
    pub tags: BTreeMap<String, String>,
    pub kind: CostKind,
    /// Empty for what has none, such as a savings plan.
    pub instance_type: String,
    /// GPUs of one instance, 0.125 for an eighth of one; absent for an unknown type and for
    /// what is not compute.
    pub gpus_per_instance: Option<Decimal>,
    /// How these hours were paid for; never mixed.
    pub option: PurchaseOption,
    /// The commitment that paid; of an unused one its own id.
    pub commitment: Option<String>,
    /// The first day after that commitment.
    pub committed_until: Option<Date>,
    /// Hours of instances; of storage the hours of the day that it was there, of unused room
    /// the hours of instances that it had room for.
    pub hours: Decimal,
    /// Those hours times GPUs; absent for an unknown type and for what is not compute.
    pub gpu_hours: Option<Decimal>,
    /// On demand at the public price, before any discount; absent when that is unknown.
    pub list: Option<Money>,
    /// At negotiated prices, before commitments and spot; absent when that is unknown.
    pub contracted: Option<Money>,
    /// With commitments spread over the hours that they cover; absent when it is unpriced.
    /// The amounts of a workload's rows of a day add up to what it cost.
    pub effective: Option<Money>,
    /// GPU hours times mean utilization, of what was measured; absent when nothing was.
    pub useful_gpu_hours: Option<Decimal>,
    /// GPU hours without any work, of what was measured; absent when nothing was.
    pub idle_gpu_hours: Option<Decimal>,
    /// GPU hours whose use is unknown; absent where [`Self::gpu_hours`] is.
    pub unmeasured_gpu_hours: Option<Decimal>,
    pub source: CostSource,
    /// The public on-demand price of one instance that [`Self::list`] was made with; absent
    /// when it is unknown. The cloud changed its price if this changed.
    pub price: Option<DatedPrice>,
}

/// What an hour of an instance costs, as an audit priced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceRate {
    pub currency: Currency,
    /// Without commitments.
    pub price: Decimal,
    /// With commitments spread over the hours that it ran.
    pub effective: Decimal,
}

/// How an instance of EC2 ran in an hour of UTC, of those in which it ran at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceHour {
    pub account: String,
    pub region: String,
    /// Its own id, such as `i-0123456789abcdef0`.
    pub instance: String,
    pub instance_type: String,
    /// When the hour begins.
    pub hour: Timestamp,
    /// For how long it ran.
    pub ran_seconds: u16,
    /// Of these, those in which at least half of its GPUs reported their utilization.
    pub measured_seconds: u16,
    /// Of these, those in which every GPU stayed below 1%.
    pub idle_seconds: u16,
    /// The other measured seconds, each times the mean utilization of its GPUs, 0–1.
    pub useful_seconds: Decimal,
    /// Absent where the audit had no price.
    pub rate: Option<InstanceRate>,
}

/// How a workload ran when an action was first advised for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionBaseline {
    pub instance_type: String,
    /// Hours of instances on a mean day; of storage 24.
    pub hours_daily: Decimal,
    /// Those hours times GPUs; absent for an unknown type and for what is not compute.
    pub gpu_hours_daily: Option<Decimal>,
    /// What one of those hours cost, commitments included: not a price, because what is
    /// paid ahead may cost nothing by the hour.
    pub effective_hourly: Money,
    /// The public on-demand price of the type then; absent when it is unknown.
    pub price: Option<DatedPrice>,
}

impl ActionBaseline {
    /// What a mean day cost, unrounded.
    pub fn effective_daily(&self) -> Money {
        let hourly = self.effective_hourly;
        Money::new(hourly.amount() * self.hours_daily, hourly.currency())
    }
}

/// An action of a plan, as one run or several runs advised it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedAction {
    /// [`action_id`] of its workload, kind and target.
    pub action_id: String,
    pub account: String,
    pub region: String,
    /// The id of the workload.
    pub workload: String,
    /// [`WorkloadDay::job`].
    pub job: String,
    /// Name of the workload for people.
    pub name: String,
    pub kind: ActionKind,
    pub target: Option<Target>,
    /// What the plan said that it saves per month.
    pub expected_monthly: Money,
    pub baseline: ActionBaseline,
    pub risk: Risk,
    /// The first run that advised it, whose baseline and expectation these are.
    pub first_seen: Timestamp,
    /// The last run that advised it; of a single run the same.
    pub last_seen: Timestamp,
}

/// The id of an action on a workload, the same in every run and version.
pub fn action_id(workload: &str, kind: ActionKind, target: Option<&Target>) -> String {
    let mut number = Fnv::default();
    number.add(workload);
    number.add(kind.name());
    if let Some(Target { instance_type, count }) = target {
        number.add(instance_type);
        number.add(&count.to_string());
    }
    number.hex()
}

/// A run that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRun {
    /// When it was and what it read: runs of the same instant and scope have one id.
    pub run_id: String,
    /// The instant that it describes.
    pub as_of: Timestamp,
    /// A number for what it was asked to read: accounts, regions, tags. Runs of one number
    /// can be compared.
    pub scope: String,
    /// Where its estate was gathered: `aws`, `estate` or `demo`.
    pub source: String,
    /// Accounts in its scope.
    pub accounts: Vec<String>,
    /// Regions in its scope.
    pub regions: Vec<String>,
    /// The tags by which its instances were selected; empty for all.
    pub tag_filters: Vec<TagFilter>,
    /// The days that it has rows for, ascending: a day in here without a row of a workload
    /// is one on which that did not run.
    pub days: Vec<Date>,
    /// Sums per month, as its report had them.
    pub totals: PastTotals,
    /// What each purchase of its plan is paid until its term ends, in cents and in the order of
    /// the plan; absent in runs that did not record it.
    pub promises: Option<Vec<Money>>,
    /// Everything that it could not see.
    pub gaps_count: u64,
    /// Those gaps that may hide instances, so that what is missing did not end.
    pub unread: Vec<PastGap>,
    /// The version of the program.
    pub gpucost_version: String,
    /// When the oldest price that it used was read; absent when it used none.
    pub prices_seen_on: Option<Date>,
}

named_enum! {
    /// What is wrong with a file of a history, the gravest first.
    FileTrouble {
        /// It is not as it was written.
        Damaged = "damaged",
        /// A list names it, and it is not there.
        Missing = "missing",
        /// No list names it: whoever wrote it did not end.
        HalfWritten = "half-written",
        /// It is a table of a bill that no list names.
        Unlisted = "unlisted",
        /// It is not of gpucost.
        Foreign = "foreign",
    }
}

/// A file with which something is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundFile {
    pub trouble: FileTrouble,
    /// Its path or address, as it may be shown.
    pub place: String,
    /// What is wrong with it, in words.
    pub why: String,
}

/// The files of a history, checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifiedHistory {
    pub files: u64,
    pub bytes: u64,
    /// By what is wrong, and then by place.
    pub found: Vec<FoundFile>,
    /// Whether bills are not checked, for want of a permission.
    pub are_bills_unread: bool,
}

impl VerifiedHistory {
    /// Whether data is lost.
    pub fn has_lost(&self) -> bool {
        let lost = [FileTrouble::Damaged, FileTrouble::Missing];
        self.found.iter().any(|file| lost.contains(&file.trouble))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(count: u32) -> Target {
        Target { instance_type: "g5.xlarge".to_owned(), count }
    }

    #[test]
    fn actions_are_told_apart_by_workload_kind_and_target() {
        let ids = [
            action_id("i-1", ActionKind::Stop, None),
            action_id("i-2", ActionKind::Stop, None),
            action_id("i-1", ActionKind::Spot, None),
            action_id("i-1", ActionKind::Rightsize, Some(&target(1))),
            action_id("i-1", ActionKind::Rightsize, Some(&target(11))),
        ];
        for (place, id) in ids.iter().enumerate() {
            assert_eq!(id.len(), 16);
            assert!(!ids[..place].contains(id), "{id} is twice");
        }
        // FNV-1a of 64 bits over `i-1`, 0xff, `stop`, 0xff, by another program: an id must
        // not change between versions.
        assert_eq!(ids[0], "9fe32031a5cd48fc");
    }

    #[test]
    fn a_mean_day_costs_its_hours() {
        let baseline = ActionBaseline {
            instance_type: "g5.xlarge".to_owned(),
            hours_daily: Decimal::from(12),
            gpu_hours_daily: Some(Decimal::from(12)),
            effective_hourly: Money::new(Decimal::new(1_006, 3), Currency::Usd),
            price: None,
        };
        // 12 × 1.006.
        let daily = Money::new(Decimal::new(12_072, 3), Currency::Usd);
        assert_eq!(baseline.effective_daily(), daily);
    }
}
