//! An audit as far as a later one is compared with it: what its JSON keeps, read
//! back from a file or taken from the audit itself.

use super::{
    CauseKind, Currency, GapSubject, Hidden, Kpi, KpiValue, Money, TagFilter, Window, hidden,
    region_of,
};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// An audit that was made before, or the one of now in the same form. Words such
/// as classes are kept as its report calls them, because a program of another
/// version may know more of them.
#[derive(Debug, Clone, PartialEq)]
pub struct PastAudit {
    /// The version of the program that made it; absent when it does not say.
    pub gpucost_version: Option<String>,
    /// The instant that it describes.
    pub as_of: Timestamp,
    /// The window of its metrics.
    pub window: Window,
    /// Where its estate was gathered: `aws`, `estate` or `demo`.
    pub source: String,
    /// Accounts in its scope.
    pub accounts: Vec<String>,
    /// Regions in its scope.
    pub regions: Vec<String>,
    /// The tags by which its instances were selected; empty for all, and in reports that
    /// do not say it yet.
    pub tag_filters: Vec<TagFilter>,
    pub totals: PastTotals,
    /// Its key figures; those that were not known are absent, and all of them in reports
    /// that do not have them yet.
    pub kpis: BTreeMap<Kpi, KpiValue>,
    /// What units of work cost, in its order; empty where none were counted.
    pub unit_costs: Vec<PastUnitCost>,
    /// Its workloads, in its order.
    pub workloads: Vec<PastWorkload>,
    /// What was paid for and did not run, in its order.
    pub unused: Vec<PastUnused>,
    /// Its findings, in its order.
    pub findings: Vec<PastFinding>,
    /// What it could not see, in its order.
    pub gaps: Vec<PastGap>,
    /// Workloads that a comparison left out, because the other audit did not read where
    /// they are; none of a whole audit.
    pub skipped_workloads: u64,
}

impl PastAudit {
    /// The names of its workloads for people, by id.
    pub fn names(&self) -> BTreeMap<&str, &str> {
        let workloads = self.workloads.iter();
        workloads.map(|workload| (workload.id.as_str(), workload.name.as_str())).collect()
    }
}

/// The sums of an audit. Money is absent when nothing was priced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PastTotals {
    /// The currency of every sum.
    pub currency: Currency,
    /// Instances, stopped ones included.
    pub instances: u64,
    /// GPUs of running instances.
    pub gpus: u64,
    /// Instances without a price, which the sums leave out.
    pub unpriced_instances: u64,
    pub monthly_cost: Option<Money>,
    pub planned_monthly_cost: Option<Money>,
    /// What its plan would save per month.
    pub monthly_savings: Option<Money>,
    /// The part of that which was certain.
    pub monthly_waste: Option<Money>,
}

/// What units of the work of a workload or training job cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastUnitCost {
    pub name: String,
    pub unit: String,
    /// How many units the price is for.
    pub per: u32,
    /// Absent where it was not known.
    pub price: Option<Money>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PastWorkload {
    pub id: String,
    /// Name for people.
    pub name: String,
    pub account: String,
    pub region: String,
    /// What it does.
    pub kind: String,
    /// Ids of its instances.
    pub instances: Vec<String>,
    pub instance_type: String,
    pub running: bool,
    pub purchase_option: String,
    /// Tags that all of its instances shared.
    pub tags: BTreeMap<String, String>,
    /// How many of them had a value of each tag that not all shared; empty in reports that do not
    /// have it yet.
    pub tagged_instances: BTreeMap<String, u64>,
    /// Its instances whose tags are not those of all; empty in reports that do not have them yet.
    pub tagged_members: Vec<PastMember>,
    /// Cost per month; absent when it was unpriced.
    pub monthly_cost: Option<Money>,
    /// Cost per month after the plan; absent when it was unpriced.
    pub planned_monthly_cost: Option<Money>,
    /// What of that the plan set aside per month for work that spot interruptions
    /// lose; absent when it planned no spot.
    pub lost_work: Option<Money>,
    /// What of that the plan set aside per month for snapshots of released volumes; absent
    /// when it released none.
    pub snapshots: Option<Money>,
    pub classification: String,
    /// The signal that it was judged by; absent when nothing was measured.
    pub signal: Option<String>,
    /// Mean of that signal, percent; absent when nothing was measured.
    pub mean_percent: Option<f64>,
}

/// An instance whose tags are not those of all of its workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastMember {
    /// Those that are not.
    pub tags: BTreeMap<String, String>,
    /// Cost per month; absent when it was unpriced.
    pub monthly_cost: Option<Money>,
}

/// Unused room of a capacity reservation, or the unused part of a commitment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastUnused {
    /// The id of the reservation or commitment.
    pub id: String,
    /// What it was, in words.
    pub name: String,
    /// The account that it belongs to; absent where that is not known, and in reports that
    /// do not have it yet.
    pub account: Option<String>,
    /// The region; absent for what holds everywhere.
    pub region: Option<String>,
    /// Tags of a capacity reservation; empty in reports that do not have them yet.
    pub tags: BTreeMap<String, String>,
    /// Cost per month; absent when it was unpriced.
    pub monthly_cost: Option<Money>,
    /// Cost per month after the plan; absent when it was unpriced.
    pub planned_monthly_cost: Option<Money>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastGap {
    pub what: GapSubject,
    /// Where: a region, an instance, a workload. Reports call it so.
    #[serde(alias = "where")]
    pub place: String,
    /// Its cause; absent when it has none that this program knows, and in reports that do
    /// not say it yet.
    #[serde(default, deserialize_with = "known_cause")]
    pub cause: Option<CauseKind>,
    /// Why, in words; empty in histories and in reports that do not have it.
    #[serde(default, skip_serializing)]
    pub reason: String,
}

fn known_cause<'de, D: Deserializer<'de>>(cause: D) -> Result<Option<CauseKind>, D::Error> {
    let name = Option::<String>::deserialize(cause)?;
    Ok(name.as_deref().and_then(CauseKind::from_name))
}

impl PastGap {
    pub fn unread(&self) -> Option<Unread<'_>> {
        match &self.what {
            what if hidden(what, self.cause) != Hidden::Instances => None,
            GapSubject::Region => Some(Unread::Region(region_of(&self.place))),
            // A place that no workload is in: what one audit did not read is not only there.
            GapSubject::Nodes => Some(Unread::Region(&self.place)),
            GapSubject::Instance => Some(Unread::Instance(&self.place)),
            _ => None,
        }
    }
}

/// A part of an inventory that could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unread<'a> {
    /// All of a region, or of a cluster.
    Region(&'a str),
    /// One instance, by its id.
    Instance(&'a str),
}

impl<'a> Unread<'a> {
    /// The region's name, or the instance's id.
    pub fn name(self) -> &'a str {
        match self {
            Self::Region(name) | Self::Instance(name) => name,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastFinding {
    /// Its id, stable across runs.
    pub id: String,
    pub rule: String,
    /// The id of the workload or commitment that it is about.
    pub workload: String,
    pub severity: String,
    /// What it said.
    pub title: String,
    /// What acting on it alone would have saved per month; absent when that was
    /// not known.
    pub monthly_savings: Option<Money>,
}

impl PastFinding {
    /// What it is about, for people: the name of the workload among `names`, else its
    /// id, which that of a commitment is.
    pub fn about<'a>(&'a self, names: &BTreeMap<&str, &'a str>) -> &'a str {
        names.get(self.workload.as_str()).copied().unwrap_or(&self.workload)
    }
}
