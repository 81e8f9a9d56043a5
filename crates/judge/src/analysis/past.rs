//! An audit of now in the form in which earlier ones are kept, and what two audits are both
//! about. What only one of them read is neither new nor removed, and saves nothing.

use super::inventory::sum;
use crate::analysis::sums::{Entry, EntrySubject, entries_of};
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    Action, Finding, Gap, Money, PastAudit, PastFinding, PastGap, PastMember, PastTotals,
    PastUnitCost, PastUnused, PastWorkload, TagFilter, UnitCost, Unread,
};
use crate::savings::UnusedCommitment;
use std::collections::BTreeSet;

impl Audit {
    /// What a later audit can be compared with, of an audit of now.
    pub fn past(&self) -> PastAudit {
        let totals = &self.totals;
        PastAudit {
            gpucost_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            as_of: self.as_of,
            window: self.window,
            source: self.source.name().to_owned(),
            accounts: self.accounts.clone(),
            regions: self.regions.clone(),
            tag_filters: self.tag_filters.clone(),
            totals: PastTotals {
                currency: totals.currency,
                instances: totals.instances,
                gpus: totals.gpus,
                unpriced_instances: totals.unpriced_instances,
                monthly_cost: totals.monthly_cost,
                planned_monthly_cost: totals.planned_monthly_cost,
                monthly_savings: totals.monthly_savings(),
                monthly_waste: totals.monthly_waste,
            },
            kpis: self.kpis.values.clone(),
            unit_costs: self.kpis.unit_costs.iter().map(unit_cost).collect(),
            workloads: self.workloads.iter().map(workload).collect(),
            unused: self.unused.iter().map(unused).collect(),
            findings: self.findings.iter().map(finding).collect(),
            gaps: self.gaps.iter().map(gap).collect(),
            skipped_workloads: 0,
        }
    }
}

fn workload(audited: &AuditedWorkload) -> PastWorkload {
    let workload = &audited.workload;
    let key = &workload.key;
    let measured = workload.utilization.as_ref();
    PastWorkload {
        id: workload.id(),
        name: workload.name.clone(),
        account: key.account.clone(),
        region: key.region.clone(),
        kind: workload.kind.name().to_owned(),
        instances: workload.instances.iter().map(ToString::to_string).collect(),
        instance_type: key.instance_type.clone(),
        running: key.running,
        purchase_option: key.purchase_option.name().to_owned(),
        tags: workload.tags.clone(),
        tagged_instances: workload.tagged_instances(),
        tagged_members: entries_of(audited).filter_map(|entry| tagged_member(&entry)).collect(),
        monthly_cost: workload.monthly_cost(),
        planned_monthly_cost: audited.planned_monthly_cost(),
        lost_work: audited.actions.iter().find_map(Action::lost_work),
        snapshots: audited.actions.iter().find_map(Action::snapshots),
        classification: audited.verdict.classification.name().to_owned(),
        signal: measured.map(|summary| summary.signal.name().to_owned()),
        mean_percent: measured.map(|summary| summary.distribution.mean),
    }
}

fn tagged_member(entry: &Entry<'_>) -> Option<PastMember> {
    let EntrySubject::Member(_, member) = entry.subject else { return None };
    let tags = member.own_tags.clone();
    (!tags.is_empty()).then_some(PastMember { tags, monthly_cost: entry.monthly })
}

fn unit_cost(unit_cost: &UnitCost) -> PastUnitCost {
    PastUnitCost {
        name: unit_cost.name.clone(),
        unit: unit_cost.unit.clone(),
        per: unit_cost.per(),
        price: unit_cost.price(),
    }
}

fn unused(row: &UnusedCommitment) -> PastUnused {
    PastUnused {
        id: row.id.clone(),
        name: row.name.clone(),
        account: row.account.clone(),
        region: row.region.clone(),
        tags: row.tags.clone(),
        monthly_cost: row.monthly_cost,
        planned_monthly_cost: row.planned_monthly_cost(),
    }
}

fn gap(gap: &Gap) -> PastGap {
    PastGap {
        what: gap.what.clone(),
        place: gap.place.clone(),
        cause: gap.cause.as_ref().map(|cause| cause.kind()),
        reason: gap.reason.clone(),
    }
}

fn finding(finding: &Finding) -> PastFinding {
    PastFinding {
        id: finding.id(),
        rule: finding.rule().to_owned(),
        workload: finding.workload().to_owned(),
        severity: finding.severity.name().to_owned(),
        title: finding.title.clone(),
        monthly_savings: finding.monthly_savings,
    }
}

/// What two audits have both read.
#[derive(Debug)]
pub struct CommonScope<'a> {
    accounts: Names<'a>,
    regions: Names<'a>,
    /// Regions that one of the two could not read.
    unread_regions: BTreeSet<&'a str>,
    /// Account, region and name of workloads of which one of the two could not read an
    /// instance.
    partly_read: BTreeSet<[&'a str; 3]>,
}

impl<'a> CommonScope<'a> {
    /// The common scope of an earlier and a later audit.
    ///
    /// # Errors
    /// In words, when they have no account or no region in common, or selected their
    /// instances by different tags.
    pub fn of(old: &'a PastAudit, new: &'a PastAudit) -> Result<Self, String> {
        let (mut unread_regions, mut instances) = (BTreeSet::new(), BTreeSet::new());
        for place in old.gaps.iter().chain(&new.gaps).filter_map(|gap| gap.unread()) {
            match place {
                Unread::Region(region) => unread_regions.insert(region),
                Unread::Instance(id) => instances.insert(id),
            };
        }
        let is_unread = |id: &String| instances.contains(id.as_str());
        let workloads = old.workloads.iter().chain(&new.workloads);
        let partly_read = workloads.filter(|workload| workload.instances.iter().any(is_unread));
        let common = Self {
            accounts: Names::of(old, new, |audit| &audit.accounts, |workload| &workload.account),
            regions: Names::of(old, new, |audit| &audit.regions, |workload| &workload.region),
            unread_regions,
            partly_read: partly_read.map(key).collect(),
        };
        let apart = common.accounts.apart("account");
        match apart.or_else(|| common.regions.apart("region")) {
            Some(apart) => Err(apart),
            None if old.tag_filters != new.tag_filters => Err(format!(
                "they use different tag filters: {} before, {} now",
                listed(&old.tag_filters),
                listed(&new.tag_filters)
            )),
            None => Ok(common),
        }
    }

    /// Whether both read the same.
    pub(in crate::analysis) fn is_same(&self) -> bool {
        self.has_same_regions() && self.accounts.are_same() && self.partly_read.is_empty()
    }

    fn has_same_regions(&self) -> bool {
        self.regions.are_same() && self.unread_regions.is_empty()
    }

    fn has_region(&self, region: &str) -> bool {
        self.regions.both(region) && !self.unread_regions.contains(region)
    }

    fn has_workload(&self, workload: &PastWorkload) -> bool {
        self.accounts.both(&workload.account)
            && self.has_region(&workload.region)
            && !self.partly_read.contains(&key(workload))
    }

    /// What holds everywhere pays for instances of every region, so that how much of it is
    /// unused depends on all of them.
    fn has_unused(&self, row: &PastUnused) -> bool {
        let in_accounts =
            if let Some(account) = &row.account { self.accounts.both(account) } else { true };
        in_accounts
            && match &row.region {
                Some(region) => self.has_region(region),
                None => self.has_same_regions(),
            }
    }

    /// The part of one of the audits that is in the common scope. Its sums are those of its
    /// rows where anything is left out; what was certain waste is not known then.
    pub fn part_of(&self, audit: &PastAudit) -> PastAudit {
        let mut part = audit.clone();
        part.workloads.retain(|workload| self.has_workload(workload));
        part.unused.retain(|row| self.has_unused(row));
        let workloads = audit.workloads.len() - part.workloads.len();
        if workloads == 0 && part.unused.len() == audit.unused.len() {
            return part;
        }
        let workload_ids = part.workloads.iter().map(|workload| &workload.id);
        let kept: BTreeSet<&String> =
            workload_ids.chain(part.unused.iter().map(|row| &row.id)).collect();
        let ids = audit.workloads.iter().map(|workload| &workload.id);
        let ids = ids.chain(audit.unused.iter().map(|row| &row.id));
        let skipped: BTreeSet<&String> = ids.filter(|id| !kept.contains(id)).collect();
        part.findings.retain(|finding| !skipped.contains(&finding.workload));
        part.skipped_workloads = workloads as u64;
        // They are those of the whole fleet.
        part.kpis.clear();
        part.totals = totals(&part);
        part
    }
}

/// By which the two name a workload whose instances they read in part.
fn key(workload: &PastWorkload) -> [&str; 3] {
    [&workload.account, &workload.region, &workload.name]
}

fn listed(filters: &[TagFilter]) -> String {
    if filters.is_empty() {
        return "none".to_owned();
    }
    let filters: Vec<String> = filters.iter().map(|filter| format!("`{filter}`")).collect();
    filters.join(" ")
}

/// Sums of the rows of an audit.
fn totals(part: &PastAudit) -> PastTotals {
    let currency = part.totals.currency;
    let rows = part.workloads.iter();
    let rows = rows.map(|workload| (workload.monthly_cost, workload.planned_monthly_cost));
    let unused = part.unused.iter();
    let rows = rows.chain(unused.map(|row| (row.monthly_cost, row.planned_monthly_cost)));
    let in_currency = |amount: &Money| amount.currency() == currency;
    let rows: Vec<(Option<Money>, Option<Money>)> = rows
        .map(|(cost, planned)| (cost.filter(in_currency), planned.filter(in_currency)))
        .collect();
    // What holds nothing costs nothing; what holds nothing priced is unknown.
    let of_nothing = rows.is_empty().then(|| Money::zero(currency));
    let costs = rows.iter().filter_map(|(cost, _)| *cost);
    let monthly_cost = sum(costs.map(Some)).or(of_nothing);
    let planned = rows.iter().filter_map(|(cost, planned)| planned.or(*cost));
    let planned_monthly_cost = sum(planned.map(Some)).or(of_nothing);
    let unpriced = part.workloads.iter().filter(|workload| workload.monthly_cost.is_none());
    PastTotals {
        monthly_cost,
        planned_monthly_cost,
        monthly_savings: monthly_cost
            .zip(planned_monthly_cost)
            .and_then(|(cost, planned)| cost.checked_sub(planned).ok()),
        monthly_waste: None,
        unpriced_instances: unpriced.map(|workload| workload.instances.len() as u64).sum(),
        ..part.totals
    }
}

/// Accounts or regions of two audits; an audit that names none may have any.
#[derive(Debug)]
struct Names<'a> {
    then: BTreeSet<&'a str>,
    now: BTreeSet<&'a str>,
}

impl<'a> Names<'a> {
    /// Those that the scopes name, and of the later audit those that something runs in.
    fn of(
        old: &'a PastAudit,
        new: &'a PastAudit,
        scope: impl Fn(&'a PastAudit) -> &'a Vec<String>,
        of_workload: impl Fn(&'a PastWorkload) -> &'a String,
    ) -> Self {
        let now = scope(new);
        let of_workloads = new.workloads.iter().map(of_workload);
        let of_workloads = of_workloads.filter(|_| !now.is_empty());
        Self {
            then: scope(old).iter().map(String::as_str).collect(),
            now: now.iter().chain(of_workloads).map(String::as_str).collect(),
        }
    }

    /// Why nothing can be compared; `None` where the two overlap.
    fn apart(&self, noun: &str) -> Option<String> {
        let is_named = !self.then.is_empty() && !self.now.is_empty();
        let [then, now] = [&self.then, &self.now].map(|names| {
            let names: Vec<&str> = names.iter().copied().collect();
            names.join(", ")
        });
        (is_named && self.then.is_disjoint(&self.now))
            .then(|| format!("they have no {noun} in common: {then} before, {now} now"))
    }

    /// Whether both audits are about a name.
    fn both(&self, name: &str) -> bool {
        [&self.then, &self.now].iter().all(|names| names.is_empty() || names.contains(name))
    }

    fn are_same(&self) -> bool {
        self.then == self.now
    }
}
