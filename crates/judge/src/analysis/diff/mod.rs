//! What changed between two audits: workloads, money, findings, and what became of
//! the plan of the earlier one.

mod pairing;

use crate::domain::{
    Currency, Kpi, KpiValue, Money, PastAudit, PastFinding, PastUnitCost, PastUnused, PastWorkload,
    PurchaseOption, Unread, counted, named_enum,
};
use pairing::pair;
use rust_decimal::Decimal;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Two audits beside each other.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditDiff<'a> {
    pub old: &'a PastAudit,
    pub new: &'a PastAudit,
    /// What makes the two hard to compare, in words.
    pub caveats: Vec<String>,
    pub monthly_cost: Delta,
    /// Savings that were certain, per month.
    pub monthly_waste: Delta,
    pub monthly_savings: Delta,
    /// Every key figure, in order.
    pub kpis: Vec<KpiDelta>,
    /// What units of work cost, by name and unit.
    pub unit_costs: Vec<UnitCostDelta<'a>>,
    /// Workloads that are there now only, most expensive first.
    pub added: Vec<&'a PastWorkload>,
    /// Workloads that were there before only, most expensive first.
    pub removed: Vec<&'a PastWorkload>,
    /// Workloads that are not what they were, by how much their cost changed.
    pub changed: Vec<WorkloadChange<'a>>,
    /// How many workloads are what they were.
    pub unchanged: u64,
    /// What is paid for and does not run, where its cost changed, by how much.
    pub unused: Vec<UnusedChange<'a>>,
    /// Earlier findings that are gone, by what they promised.
    pub gone: Vec<GoneFinding<'a>>,
    /// Findings that are new, by what they promise.
    pub appeared: Vec<&'a PastFinding>,
    /// How many findings stay.
    pub kept: u64,
    /// What the workloads of findings that are gone cost less per month, each
    /// workload once; absent when a price or a common currency is.
    pub saved_by_gone: Option<Money>,
    /// What became of the earlier plan; absent when it planned nothing that can be
    /// compared.
    pub plan: Option<PlanOutcome>,
}

/// An amount before and now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delta {
    /// Before; absent when it was not known.
    pub old: Option<Money>,
    /// Now; absent when it is not known.
    pub new: Option<Money>,
}

impl Delta {
    /// Now less before; absent when either is unknown or the currencies differ.
    pub fn change(self) -> Option<Money> {
        self.new?.checked_sub(self.old?).ok()
    }
}

/// A workload that is not what it was.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadChange<'a> {
    pub old: &'a PastWorkload,
    pub new: &'a PastWorkload,
    /// What differs, at least one.
    pub fields: Vec<ChangedField>,
}

impl WorkloadChange<'_> {
    pub fn monthly_cost(&self) -> Delta {
        Delta { old: self.old.monthly_cost, new: self.new.monthly_cost }
    }
}

/// What is paid for and does not run, of one commitment; nothing is unused where it is
/// absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedChange<'a> {
    /// As it is called now, or was before.
    pub one: &'a PastUnused,
    pub monthly_cost: Delta,
}

/// Something of a workload, before and now, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedField {
    /// What, as the key of the audit's JSON is called.
    pub name: &'static str,
    pub old: String,
    pub new: String,
}

/// An earlier finding that is gone.
#[derive(Debug, Clone, PartialEq)]
pub struct GoneFinding<'a> {
    pub finding: &'a PastFinding,
    /// What became of its workload.
    pub because: Ending,
    /// What the workload costs less per month, a minus for more; absent when that
    /// is not known. Findings of one workload share it.
    pub workload_saved: Option<Money>,
}

named_enum! {
    /// What became of the workload of a finding.
    Ending {
        /// It is not there any more.
        Removed = "removed",
        /// It is not what it was.
        Changed = "changed",
        /// It is what it was; its use or what is known about it differs.
        NoLongerHolds = "no-longer-holds",
    }
}

impl<'a> AuditDiff<'a> {
    pub fn of(old: &'a PastAudit, new: &'a PastAudit) -> Self {
        let pairs = pair(&old.workloads, &new.workloads).into_iter();
        let pairs: Vec<(&PastWorkload, &PastWorkload)> =
            pairs.map(|(left, right)| (&old.workloads[left], &new.workloads[right])).collect();
        let before: BTreeMap<&str, &PastWorkload> =
            pairs.iter().map(|(left, right)| (left.id.as_str(), *right)).collect();
        let now: BTreeSet<&str> = pairs.iter().map(|(_, right)| right.id.as_str()).collect();
        let mut added: Vec<&PastWorkload> = new.workloads.iter().collect();
        added.retain(|workload| !now.contains(workload.id.as_str()));
        let mut removed: Vec<&PastWorkload> = old.workloads.iter().collect();
        removed.retain(|workload| !before.contains_key(workload.id.as_str()));
        for list in [&mut added, &mut removed] {
            list.sort_by_key(|workload| {
                (Reverse(workload.monthly_cost.map(Money::amount)), &workload.id)
            });
        }
        let mut changed: Vec<WorkloadChange<'_>> =
            pairs.iter().filter_map(|(left, right)| change(left, right)).collect();
        changed.sort_by_key(|change| {
            let cost = change.monthly_cost().change();
            (Reverse(cost.map(|cost| cost.amount().abs())), &change.old.id)
        });
        let (gone, appeared, saved_by_gone) = finding_changes(old, new, &before);
        let delta = |of: fn(&PastAudit) -> Option<Money>| Delta { old: of(old), new: of(new) };
        Self {
            old,
            new,
            caveats: caveats(old, new),
            monthly_cost: delta(|audit| audit.totals.monthly_cost),
            monthly_waste: delta(|audit| audit.totals.monthly_waste),
            monthly_savings: delta(|audit| audit.totals.monthly_savings),
            kpis: kpi_deltas(old, new),
            unit_costs: unit_deltas(old, new),
            unchanged: (pairs.len() - changed.len()) as u64,
            saved_by_gone,
            plan: PlanOutcome::of(old, new, &before),
            unused: unused(old, new),
            added,
            removed,
            changed,
            kept: (old.findings.len() - gone.len()) as u64,
            gone,
            appeared,
        }
    }
}

/// What is unused before and now, by id; of what is the same on both sides nothing is reported.
fn unused<'a>(old: &'a PastAudit, new: &'a PastAudit) -> Vec<UnusedChange<'a>> {
    let by_id = |audit: &'a PastAudit| -> BTreeMap<&'a str, &'a PastUnused> {
        audit.unused.iter().map(|row| (row.id.as_str(), row)).collect()
    };
    let (before, now) = (by_id(old), by_id(new));
    let ids: BTreeSet<&str> = before.keys().chain(now.keys()).copied().collect();
    let cost = |side: Option<&&PastUnused>, other: Option<&&PastUnused>| match side {
        Some(row) => row.monthly_cost,
        None => Some(Money::zero(other?.monthly_cost?.currency())),
    };
    let mut changes: Vec<UnusedChange<'_>> = ids
        .into_iter()
        .filter_map(|id| {
            let (left, right) = (before.get(id), now.get(id));
            let monthly_cost = Delta { old: cost(left, right), new: cost(right, left) };
            let row = right.or(left)?;
            (monthly_cost.old != monthly_cost.new)
                .then_some(UnusedChange { one: row, monthly_cost })
        })
        .collect();
    changes.sort_by_key(|changed| {
        let change = changed.monthly_cost.change();
        (Reverse(change.map(|change| change.amount().abs())), &changed.one.id)
    });
    changes
}

fn change<'a>(old: &'a PastWorkload, new: &'a PastWorkload) -> Option<WorkloadChange<'a>> {
    let mut fields = Vec::new();
    let mut field = |name, before: String, now: String| {
        if before != now {
            fields.push(ChangedField { name, old: before, new: now });
        }
    };
    let state =
        |workload: &PastWorkload| if workload.running { "running" } else { "stopped" }.to_owned();
    let count = |workload: &PastWorkload| workload.instances.len().to_string();
    let cost = |workload: &PastWorkload| {
        workload.monthly_cost.map_or("unpriced".to_owned(), |cost| {
            format!("{:.2} {}", cost.rounded().amount(), cost.currency())
        })
    };
    field("instance_type", old.instance_type.clone(), new.instance_type.clone());
    field("instances", count(old), count(new));
    field("state", state(old), state(new));
    field("purchase_option", old.purchase_option.clone(), new.purchase_option.clone());
    field("classification", old.classification.clone(), new.classification.clone());
    field("monthly_cost", cost(old), cost(new));
    (!fields.is_empty()).then_some(WorkloadChange { old, new, fields })
}

/// The findings that are gone and those that are new, and what the workloads of those that are
/// gone cost less.
type FindingChanges<'a> = (Vec<GoneFinding<'a>>, Vec<&'a PastFinding>, Option<Money>);

/// A finding stays when its rule still fires for what its workload became.
fn finding_changes<'a>(
    old: &'a PastAudit,
    new: &'a PastAudit,
    now_of: &BTreeMap<&str, &'a PastWorkload>,
) -> FindingChanges<'a> {
    let workloads: BTreeMap<&str, &PastWorkload> =
        old.workloads.iter().map(|workload| (workload.id.as_str(), workload)).collect();
    let key_now = |finding: &'a PastFinding| {
        let now = now_of.get(finding.workload.as_str());
        let workload = now.map_or(finding.workload.as_str(), |workload| workload.id.as_str());
        (finding.rule.as_str(), workload)
    };
    let key = |finding: &'a PastFinding| (finding.rule.as_str(), finding.workload.as_str());
    let stands: BTreeSet<(&str, &str)> = new.findings.iter().map(key).collect();
    let stood: BTreeSet<(&str, &str)> = old.findings.iter().map(key_now).collect();
    let mut gone: Vec<GoneFinding<'_>> = old
        .findings
        .iter()
        .filter(|finding| !stands.contains(&key_now(finding)))
        .map(|finding| {
            let before = workloads.get(finding.workload.as_str()).copied();
            let now = now_of.get(finding.workload.as_str()).copied();
            let because = match (before, now) {
                (Some(_), None) => Ending::Removed,
                (Some(before), Some(now)) if change(before, now).is_some() => Ending::Changed,
                _ => Ending::NoLongerHolds,
            };
            GoneFinding {
                finding,
                because,
                workload_saved: before.and_then(|before| saved(before, now)),
            }
        })
        .collect();
    // Stable: of equal savings, the order of their audit.
    let order = |finding: &PastFinding| Reverse(finding.monthly_savings.map(Money::amount));
    gone.sort_by_key(|row| order(row.finding));
    let mut appeared: Vec<&PastFinding> = new.findings.iter().collect();
    appeared.retain(|finding| !stood.contains(&key(finding)));
    appeared.sort_by_key(|finding| order(finding));
    // Each workload once.
    let ids: BTreeSet<&str> = gone.iter().map(|row| row.finding.workload.as_str()).collect();
    let mut known = ids.iter().filter_map(|id| workloads.get_key_value(id));
    let saved_by_gone = known.try_fold(Money::zero(old.totals.currency), |sum, (id, before)| {
        sum.checked_add(saved(before, now_of.get(id).copied())?).ok()
    });
    (gone, appeared, saved_by_gone)
}

/// A key figure before and now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KpiDelta {
    pub kpi: Kpi,
    /// Before; absent when it was not known.
    pub old: Option<KpiValue>,
    /// Now; absent when it is not known.
    pub new: Option<KpiValue>,
}

impl KpiDelta {
    /// Now less before; absent when either is unknown, and in two currencies.
    pub fn change(&self) -> Option<KpiValue> {
        self.new?.minus(self.old?)
    }
}

/// What units of work cost before and now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitCostDelta<'a> {
    /// As it is named now, or was before.
    pub one: &'a PastUnitCost,
    pub price: Delta,
}

/// Every key figure, in order.
pub(super) fn kpi_deltas(old: &PastAudit, new: &PastAudit) -> Vec<KpiDelta> {
    let of_one = |kpi: &Kpi| KpiDelta {
        kpi: *kpi,
        old: old.kpis.get(kpi).copied(),
        new: new.kpis.get(kpi).copied(),
    };
    Kpi::ALL.iter().map(of_one).collect()
}

/// What was counted on either side, by name and unit.
pub(super) fn unit_deltas<'a>(old: &'a PastAudit, new: &'a PastAudit) -> Vec<UnitCostDelta<'a>> {
    let mut deltas: BTreeMap<(&str, &str), UnitCostDelta<'a>> = BTreeMap::new();
    for (audit, is_new) in [(old, false), (new, true)] {
        for unit_cost in &audit.unit_costs {
            let key = (unit_cost.name.as_str(), unit_cost.unit.as_str());
            let price = Delta { old: None, new: None };
            let delta = deltas.entry(key).or_insert(UnitCostDelta { one: unit_cost, price });
            if is_new {
                (delta.one, delta.price.new) = (unit_cost, unit_cost.price);
            } else {
                delta.price.old = unit_cost.price;
            }
        }
    }
    deltas.into_values().collect()
}

/// What became of the plan of the earlier audit, over the workloads that it
/// wanted to change and the unused room that it wanted to release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanOutcome {
    /// What the plan saved per month.
    pub planned: Money,
    /// What these cost less per month; a minus for more.
    pub saved: Money,
    /// What of them stopped since costs per month while stopped, which the plan
    /// leaves out: saved is net of it.
    pub storage_of_stopped: Money,
    /// What the plan set aside per month for work that is lost on spot, of what
    /// runs there now: no bill of the same hours shows it, so saved contains it.
    pub lost_work: Money,
    /// What the plan set aside per month for snapshots of volumes that were released since:
    /// no inventory shows them, so saved contains it.
    pub snapshots: Money,
}

impl PlanOutcome {
    /// What became of it; `now_of` has what each workload is now. Absent when nothing
    /// was planned that can be compared.
    pub(super) fn of(
        old: &PastAudit,
        new: &PastAudit,
        now_of: &BTreeMap<&str, &PastWorkload>,
    ) -> Option<Self> {
        let zero = Money::zero(old.totals.currency);
        let mut outcome = Self {
            planned: zero,
            saved: zero,
            storage_of_stopped: zero,
            lost_work: zero,
            snapshots: zero,
        };
        for before in &old.workloads {
            let sides = (before.monthly_cost, before.planned_monthly_cost);
            let Some((_, planned)) = promised(sides, old.totals.currency) else { continue };
            let now = now_of.get(before.id.as_str()).copied();
            outcome.planned = outcome.planned.checked_add(planned).ok()?;
            let less = saved(before, now)?;
            outcome.saved = outcome.saved.checked_add(less).ok()?;
            let is_released = !less.amount().is_zero() && now.is_none_or(|now| !now.running);
            if let Some(snapshots) = before.snapshots.filter(|_| is_released) {
                outcome.snapshots = outcome.snapshots.checked_add(snapshots).ok()?;
            }
            if let Some(now) = now.filter(|now| before.running && !now.running) {
                outcome.storage_of_stopped =
                    outcome.storage_of_stopped.checked_add(now.monthly_cost?).ok()?;
            }
            let is_on_spot =
                now.is_some_and(|now| now.purchase_option == PurchaseOption::Spot.name());
            if let Some(lost_work) = before.lost_work.filter(|_| is_on_spot) {
                outcome.lost_work = outcome.lost_work.checked_add(lost_work).ok()?;
            }
        }
        for before in &old.unused {
            let sides = (before.monthly_cost, before.planned_monthly_cost);
            let Some((cost, planned)) = promised(sides, old.totals.currency) else { continue };
            let now = new.unused.iter().find(|row| row.id == before.id);
            let left = now.map_or(Some(zero), |row| row.monthly_cost)?;
            outcome.planned = outcome.planned.checked_add(planned).ok()?;
            outcome.saved = outcome.saved.checked_add(cost.checked_sub(left).ok()?).ok()?;
        }
        (outcome.planned.amount() > Decimal::ZERO).then_some(outcome)
    }
}

/// A cost and what a plan promised of it; `None` where it promised nothing, where that was
/// not known, and where it is in another currency, which is in no sum of the audit either.
fn promised(
    (cost, planned): (Option<Money>, Option<Money>),
    currency: Currency,
) -> Option<(Money, Money)> {
    let cost = cost.filter(|cost| cost.currency() == currency)?;
    let promised = cost.checked_sub(planned?).ok()?;
    (promised.amount() > Decimal::ZERO).then_some((cost, promised))
}

/// What a workload costs less than before; nothing is left of one that is gone.
pub(super) fn saved(before: &PastWorkload, now: Option<&PastWorkload>) -> Option<Money> {
    let cost = before.monthly_cost?;
    if let Some(now) = now { cost.checked_sub(now.monthly_cost?).ok() } else { Some(cost) }
}

/// What makes two audits hard to compare, in words.
fn caveats(old: &PastAudit, new: &PastAudit) -> Vec<String> {
    let mut caveats = Vec::new();
    let (then, now) = (old.totals.currency, new.totals.currency);
    if then != now {
        caveats.push(format!(
            "sums are in {then} before and in {now} now: no difference can be computed"
        ));
    }
    caveats.extend(differences_of_scope(old, new));
    let unpriced = [old, new].map(|audit| audit.totals.unpriced_instances);
    if unpriced != [0, 0] {
        caveats.push(format!(
            "instances without a price, excluded from the sums: {} before, {} now",
            unpriced[0], unpriced[1]
        ));
    }
    caveats
}

/// What two audits do not have in common besides what they found, in words:
/// accounts, regions, windows, their order and the programs that made them.
pub(in crate::analysis) fn differences_of_scope(old: &PastAudit, new: &PastAudit) -> Vec<String> {
    let mut caveats = Vec::new();
    for (what, before, after) in
        [("accounts", &old.accounts, &new.accounts), ("regions", &old.regions, &new.regions)]
    {
        let before: BTreeSet<&String> = before.iter().collect();
        let after: BTreeSet<&String> = after.iter().collect();
        let only = |left: &BTreeSet<&String>, right: &BTreeSet<&String>| {
            let names: Vec<&str> = left.difference(right).map(|name| name.as_str()).collect();
            names.join(", ")
        };
        for (when, names) in [("before", only(&before, &after)), ("now", only(&after, &before))] {
            if !names.is_empty() {
                caveats.push(format!("{what} in scope only {when}: {names}"));
            }
        }
    }
    for (when, audit) in [("before", old), ("now", new)] {
        let unread: Vec<&str> =
            audit.gaps.iter().filter_map(|gap| gap.unread()).map(Unread::name).collect();
        if !unread.is_empty() {
            caveats.push(format!("could not be read {when}: {}", unread.join(", ")));
        }
    }
    let skipped = [old, new].map(|audit| audit.skipped_workloads);
    if skipped != [0, 0] {
        let [before, now] = skipped.map(|number| counted(number, "workload", "workloads"));
        caveats.push(format!(
            "only data read by both audits is compared, which excludes {before} before and {now} \
             now"
        ));
    }
    let (before, after) = (old.window.seconds(), new.window.seconds());
    if before != after {
        let [before, after] = [before, after].map(length);
        caveats.push(format!("the audit windows are {before} and {after} long"));
    }
    if new.as_of < old.as_of {
        caveats.push("the second audit covers an earlier time than the first".to_owned());
    }
    if let (Some(then), Some(now)) = (&old.gpucost_version, &new.gpucost_version)
        && then != now
    {
        caveats.push(format!(
            "gpucost {then} created the first audit and {now} the second: rules may differ"
        ));
    }
    caveats
}

/// A length of time in days, or in hours where these are not whole.
fn length(seconds: i64) -> String {
    if seconds % 86_400 == 0 {
        format!("{} d", seconds / 86_400)
    } else {
        format!("{:.1} h", seconds as f64 / 3_600.0)
    }
}
