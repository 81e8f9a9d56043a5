//! Sums over workloads. Rounded parts are added, so rows sum to the cent.

use crate::analysis::AuditedWorkload;
use crate::domain::{
    Action, ActionKind, Cause, CauseKind, Classification, Currency, Gap, GapSubject, Money,
    PriceKey, PriceOrigin, PriceQuote, StorageQuote, StorageResource, Workload,
};
use crate::savings::{Proposals, UnusedCommitment};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassTotals {
    pub workloads: u64,
    pub instances: u64,
    /// GPUs of running instances.
    pub gpus: u64,
    /// Per month, unpriced ones left out; absent when none is priced.
    pub monthly_cost: Option<Money>,
}

impl ClassTotals {
    fn add(&mut self, workload: &Workload, cost: Option<Money>) {
        self.workloads += 1;
        self.instances += workload.instances.len() as u64;
        self.gpus += workload.running_gpus();
        self.monthly_cost = plus(self.monthly_cost, cost);
    }
}

/// A sum and its next part; absent when neither is known.
pub(super) fn plus(sum: Option<Money>, part: Option<Money>) -> Option<Money> {
    match (sum, part) {
        // Only parts in the currency of the sums get here.
        (Some(sum), Some(part)) => Some(Money::new(sum.amount() + part.amount(), sum.currency())),
        (known, None) | (None, known) => known,
    }
}

/// Sums over all workloads, in one currency. Money is absent when there are
/// workloads and none of them is priced: what they cost is unknown, not zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    /// The currency of every sum.
    pub currency: Currency,
    /// Instances, stopped ones included.
    pub instances: u64,
    pub stopped_instances: u64,
    /// GPUs of running instances.
    pub gpus: u64,
    /// Today's cost per month.
    pub monthly_cost: Option<Money>,
    pub planned_monthly_cost: Option<Money>,
    /// Savings that are certain: measured stops and orphaned things.
    pub monthly_waste: Option<Money>,
    /// The other savings.
    pub monthly_optimization: Option<Money>,
    /// What of today's cost commitments are paid, whether anything runs or not;
    /// absent when nothing is committed.
    pub committed_monthly_cost: Option<Money>,
    /// What of today's cost is paid for and does not run: unused room of capacity
    /// reservations, unused parts of commitments; absent when there is none.
    pub unused_monthly_cost: Option<Money>,
    /// What each kind of action saves, in the order of the plan: from today's
    /// cost, one after the other, they lead to the planned one.
    pub by_action: BTreeMap<ActionKind, Money>,
    /// By class, in its order; stopped workloads have too little data by
    /// definition.
    pub by_classification: BTreeMap<Classification, ClassTotals>,
    /// The running workloads among them.
    pub running_by_classification: BTreeMap<Classification, ClassTotals>,
    /// The stopped workloads, which are part of a class above.
    pub stopped: ClassTotals,
    /// Running instances without a price, and stopped ones with unpriced parts;
    /// the priced parts of the latter are in the sums.
    pub unpriced_instances: u64,
    /// Workloads that a tag takes out of advice.
    pub ignored_workloads: u64,
}

impl Totals {
    /// Waste and optimization together; absent when nothing is priced.
    pub fn monthly_savings(&self) -> Option<Money> {
        plus(self.monthly_waste, self.monthly_optimization)
    }

    /// Twelve months of the savings; absent when nothing is priced.
    pub fn annual_savings(&self) -> Option<Money> {
        let monthly = self.monthly_savings()?;
        let months = Decimal::from(12);
        Some(Money::new(monthly.amount() * months, monthly.currency()))
    }

    /// Savings as a percentage of today's cost; absent when nothing is priced.
    pub fn savings_percent(&self) -> Option<Decimal> {
        let (savings, cost) = (self.monthly_savings()?.amount(), self.monthly_cost?.amount());
        (savings * Decimal::ONE_HUNDRED).checked_div(cost)
    }

    /// Adds up. Where currencies meet, the sums are in dollars, and workloads in
    /// another currency are left out and become a gap: yuan are not dollars.
    pub(in crate::analysis) fn of(
        audited: &[AuditedWorkload],
        unused: &[UnusedCommitment],
        gaps: &mut Vec<Gap>,
    ) -> Self {
        let of_workloads = audited.iter().filter_map(|workload| workload.workload.monthly_cost());
        let of_unused = unused.iter().filter_map(|row| row.monthly_cost);
        let mut currencies = of_workloads.chain(of_unused).map(Money::currency);
        let currency = match currencies.next() {
            Some(first) if currencies.all(|other| other == first) => first,
            _ => Currency::Usd,
        };
        let is_empty = audited.is_empty() && unused.is_empty();
        let nothing = is_empty.then_some(Money::zero(currency));
        let mut totals = Self {
            currency,
            instances: 0,
            stopped_instances: 0,
            gpus: 0,
            monthly_cost: nothing,
            planned_monthly_cost: nothing,
            monthly_waste: nothing,
            monthly_optimization: nothing,
            committed_monthly_cost: None,
            unused_monthly_cost: None,
            by_action: BTreeMap::new(),
            by_classification: BTreeMap::new(),
            running_by_classification: BTreeMap::new(),
            stopped: ClassTotals::default(),
            unpriced_instances: 0,
            ignored_workloads: 0,
        };
        for workload in audited {
            totals.add(workload, gaps);
        }
        for row in unused {
            totals.add_unused(row, gaps);
        }
        totals
    }

    fn add_unused(&mut self, row: &UnusedCommitment, gaps: &mut Vec<Gap>) {
        let Some(cost) = row.monthly_cost else {
            let cause = Cause::of(CauseKind::UnusedUnpriced, [&row.name, &row.detail]);
            gaps.push(Gap::of(GapSubject::Price, &row.id, cause));
            return;
        };
        if !self.is_in_currency(&row.id, cost, gaps) {
            return;
        }
        self.unused_monthly_cost = plus(self.unused_monthly_cost, Some(cost));
        if row.committed_until.is_some() {
            self.committed_monthly_cost = plus(self.committed_monthly_cost, Some(cost));
        }
        self.add_money(cost, row.planned_monthly_cost(), &row.actions);
    }

    /// Adds a cost with what the plan does about it.
    fn add_money(&mut self, cost: Money, planned: Option<Money>, actions: &[Action]) {
        let zero = Money::zero(self.currency);
        let (mut waste, mut optimization) = (zero.amount(), zero.amount());
        for action in actions {
            let saved = action.monthly_savings().amount();
            let certain = action.certain().amount();
            waste += certain;
            optimization += saved - certain;
            let step = self.by_action.entry(action.kind()).or_insert(zero);
            *step = Money::new(step.amount() + saved, self.currency);
        }
        let money = |amount| Some(Money::new(amount, self.currency));
        self.monthly_cost = plus(self.monthly_cost, Some(cost));
        self.planned_monthly_cost = plus(self.planned_monthly_cost, planned.or(Some(cost)));
        self.monthly_waste = plus(self.monthly_waste, money(waste));
        self.monthly_optimization = plus(self.monthly_optimization, money(optimization));
    }

    fn add(&mut self, audited: &AuditedWorkload, gaps: &mut Vec<Gap>) {
        let workload = &audited.workload;
        let cost = workload.monthly_cost();
        let cost = cost.filter(|cost| self.is_in_currency(&workload.id(), *cost, gaps));
        self.count(audited, cost);
        let Some(cost) = cost else { return };
        let committed_cost = workload.committed_cost().map(|cost| cost.monthly);
        self.committed_monthly_cost = plus(self.committed_monthly_cost, committed_cost);
        self.add_money(cost, audited.planned_monthly_cost(), &audited.actions);
    }

    fn is_in_currency(&self, id: &str, cost: Money, gaps: &mut Vec<Gap>) -> bool {
        if cost.currency() == self.currency {
            return true;
        }
        let currencies = [cost.currency().code(), self.currency.code()];
        gaps.push(Gap::of(GapSubject::Sum, id, Cause::of(CauseKind::NotInSum, currencies)));
        false
    }

    fn count(&mut self, audited: &AuditedWorkload, cost: Option<Money>) {
        let workload = &audited.workload;
        let instances = workload.instances.len() as u64;
        let class = audited.verdict.classification;
        self.instances += instances;
        self.stopped_instances += workload.stopped_now();
        self.gpus += workload.running_gpus();
        self.ignored_workloads += u64::from(workload.ignored.is_some());
        self.by_classification.entry(class).or_default().add(workload, cost);
        let is_unpriced = if workload.key.running {
            self.running_by_classification.entry(class).or_default().add(workload, cost);
            workload.cost.is_none()
        } else {
            self.stopped.add(workload, cost);
            !workload.idle_storage.unpriced.is_empty()
        };
        if is_unpriced {
            self.unpriced_instances += instances;
        }
    }
}

/// How far the GPUs of running instances are used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Funnel {
    /// GPUs of running instances; a fraction of a device counts as one.
    pub total_gpus: u64,
    /// With VRAM at or above 5%, or ever active.
    pub allocated_gpus: u64,
    /// Measured and never active, while their VRAM was not measured: they may
    /// be allocated or not.
    pub unknown_allocation_gpus: u64,
    /// Ever active: p99 at or above 1%.
    pub active_gpus: u64,
    /// Sum of mean utilization.
    pub effective_gpus: f64,
    /// Without a utilization series.
    pub unmeasured_gpus: u64,
}

impl Funnel {
    pub(in crate::analysis) fn of(audited: &[AuditedWorkload]) -> Self {
        let mut funnel = Self::default();
        for workload in audited {
            let total = workload.workload.running_gpus();
            if total == 0 {
                continue;
            }
            funnel.total_gpus += total;
            let mut measured = 0;
            for gpu in workload.workload.gpus() {
                // Of a card with MIG, memory may be all that is reported.
                let is_allocated = gpu.is_allocated();
                funnel.allocated_gpus += u64::from(is_allocated == Some(true));
                if let Some(utilization) = gpu.utilization {
                    measured += 1;
                    funnel.effective_gpus += utilization.mean / 100.0;
                    funnel.active_gpus += u64::from(gpu.is_active() == Some(true));
                    funnel.unknown_allocation_gpus += u64::from(is_allocated.is_none());
                }
            }
            funnel.unmeasured_gpus += total.saturating_sub(measured);
        }
        funnel
    }
}

/// The prices that figures rest on, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriceUse {
    quotes: BTreeMap<PriceKey, PriceQuote>,
    storage: BTreeMap<(String, StorageResource), StorageQuote>,
}

impl PriceUse {
    pub(in crate::analysis) fn record(&mut self, workload: &Workload, proposals: &Proposals) {
        let costs = workload.cost.iter().flat_map(|cost| &cost.instances);
        for instance in costs.filter(|instance| instance.uses_price()) {
            self.quotes.insert(instance.key.clone(), instance.quote.clone());
        }
        for (resource, quote) in &workload.idle_storage.quotes {
            self.storage.insert((workload.key.region.clone(), *resource), quote.clone());
        }
        let moved = proposals.rightsize().into_iter();
        let markets = proposals.spot().into_iter().flatten();
        let moved = moved.flat_map(|rightsizing| &rightsizing.quotes);
        for (key, quote) in moved.chain(markets.flat_map(|(_, offer)| &offer.figures.spot.quotes)) {
            self.quotes.insert(key.clone(), quote.clone());
        }
        if let Some(commitment) = proposals.commit() {
            self.quotes.insert(commitment.key.clone(), commitment.quote.clone());
        }
    }

    /// Notes a price that a figure of the plan rests on.
    pub(in crate::analysis) fn insert(&mut self, (key, quote): (PriceKey, PriceQuote)) {
        self.quotes.insert(key, quote);
    }

    /// The quote of a price that a figure rests on.
    pub fn quote(&self, key: &PriceKey) -> Option<&PriceQuote> {
        self.quotes.get(key)
    }

    /// The prices of instances, by what they are for.
    pub fn quotes(&self) -> impl Iterator<Item = (&PriceKey, &PriceQuote)> {
        self.quotes.iter()
    }

    /// The prices of volumes and addresses, by region and resource.
    pub fn storage(&self) -> impl Iterator<Item = (&str, StorageResource, &StorageQuote)> {
        self.storage.iter().map(|((region, resource), quote)| (region.as_str(), *resource, quote))
    }

    /// How many prices came from each origin.
    pub fn by_origin(&self) -> BTreeMap<PriceOrigin, u64> {
        let compute = self.quotes.values().map(|quote| quote.origin);
        let mut counts = BTreeMap::new();
        for origin in compute.chain(self.storage.values().map(|quote| quote.origin)) {
            *counts.entry(origin).or_insert(0) += 1;
        }
        counts
    }

    /// The day of the oldest list that a price was read from; absent when no
    /// price of an instance was used.
    pub fn oldest_seen_on(&self) -> Option<Date> {
        self.quotes.values().map(|quote| quote.seen_on).min()
    }

    /// The oldest effective date; long-standing list prices of storage have
    /// none. Absent when nothing dated was used.
    pub fn oldest_effective_date(&self) -> Option<Date> {
        let compute = self.quotes.values().map(|quote| quote.effective_date);
        compute.chain(self.storage.values().filter_map(|quote| quote.effective_date)).min()
    }
}
