//! Lines of a bill, folded into sums as they are read: memory grows with what is kept apart
//! (instances, commitments, pods), and not with lines.

use super::amounts::{CostSums, Tally};
use super::bill::{
    Bill, BillKey, CommitmentUse, CurrencyBill, Divided, GroupCost, InstanceCost, KindCost, Part,
    Parts, PodCost, RoundedCosts, Savings, TypeCost,
};
use super::comparer::{Comparer, MOST_HOURS};
use super::comparison::{Comparison, Expected};
use super::rates::Rates;
use crate::catalog::{PricedUnit, family, other_clouds, shape};
use crate::domain::{
    AcceleratorKind, BillLine, Currency, LineKind, PodShare, Provider, PurchaseOption, SharedPart,
    Window, family_of,
};
use rust_decimal::Decimal;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Things that are kept apart: instances, pods and so on of a bill of 100,000 GPUs over a
/// year are fewer.
const MOST_KEPT: usize = 4_000_000;
/// Lines from which on it shows that amounts are rounded.
const LEAST_ROUNDED: u64 = 10;

/// More is kept apart than is held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    #[error(
        "the bill has more than {most} instances, commitments, pods and values of its key",
        most = MOST_KEPT
    )]
    Bill,
    #[error(
        "the instances of the audit have more than {most} hours in its window",
        most = MOST_HOURS
    )]
    Audit,
}

/// Takes in the lines of a bill.
#[derive(Debug, Default)]
pub struct Ledger {
    accelerators: Accelerators,
    grouped_by: Option<BillKey>,
    lines: u64,
    period: Option<Window>,
    currencies: BTreeMap<Currency, Sums>,
    comparer: Option<Comparer>,
}

impl Ledger {
    /// With the key that costs are grouped by.
    pub fn new(grouped_by: Option<BillKey>) -> Self {
        Self { grouped_by, ..Self::default() }
    }

    /// With an audit that the bill is compared with.
    pub fn beside(self, expected: Expected) -> Self {
        Self { comparer: Some(Comparer::new(expected)), ..self }
    }

    /// Takes in a line. Breaks when more is kept apart than is held in memory.
    pub fn add(&mut self, mut line: BillLine) -> ControlFlow<()> {
        self.lines += 1;
        let is_usage = line.kind.is_usage();
        if let Some(period) = line.period.filter(|_| is_usage) {
            let (start, end) = match self.period {
                Some(whole) => (whole.start.min(period.start), whole.end.max(period.end)),
                None => (period.start, period.end),
            };
            self.period = Some(Window { start, end });
        }
        // List prices of fees and taxes compare with nothing.
        if !is_usage {
            (line.costs.list, line.costs.contracted) = (None, None);
        }
        let machine = line.instance_type.as_deref().and_then(|name| self.accelerators.of(name));
        let value = self.grouped_by.as_ref().map(|key| key.value(&line));
        if let Some(comparer) = &mut self.comparer {
            let of_type = line.instance_type.as_deref();
            let group = value.as_ref().map_or(of_type, |value| value.as_deref());
            comparer.add(&line, machine.is_some(), group);
        }
        let owner = self.comparer.as_ref().and_then(|all| all.owner(&line));
        self.currencies.entry(line.costs.currency).or_default().add(&line, machine, value, owner);
        if self.too_large().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn too_large(&self) -> Option<TooLarge> {
        if self.currencies.values().any(|sums| sums.kept() > MOST_KEPT) {
            return Some(TooLarge::Bill);
        }
        self.comparer.as_ref().is_some_and(Comparer::is_full).then_some(TooLarge::Audit)
    }

    /// What the bill amounts to.
    ///
    /// # Errors
    /// When more was to be kept apart than is held in memory.
    pub fn finish(self) -> Result<Bill, TooLarge> {
        if let Some(error) = self.too_large() {
            return Err(error);
        }
        let begin = self.period.map(|period| period.start);
        let comparer = self.comparer;
        let finished = |(currency, sums): (Currency, Sums)| {
            sums.finish(currency, comparer.as_ref().map(|all| all.comparison(currency, begin)))
        };
        Ok(Bill {
            lines: self.lines,
            period: self.period,
            grouped_by: self.grouped_by,
            currencies: self.currencies.into_iter().map(finished).collect(),
        })
    }
}

/// An instance by what a bill names: account, id, region and type. An instance that changed
/// its type is two of them.
type InstanceKey = (Option<String>, Option<String>, Option<String>, String);
/// A resource by account and id.
type ResourceKey = (Option<String>, String);
/// A pod by cluster, namespace and name.
type PodKey = [Option<String>; 3];

/// Sums in one currency.
#[derive(Debug, Default)]
struct Sums {
    kinds: BTreeMap<LineKind, (u64, CostSums)>,
    instances: BTreeMap<InstanceKey, (Accelerated, Parts)>,
    unused_reservations: BTreeMap<InstanceKey, (Accelerated, Parts)>,
    beside: BTreeMap<ResourceKey, Beside>,
    commitments: BTreeMap<String, CommitmentUse>,
    pods: BTreeMap<PodKey, PodCost>,
    /// What is divided up of each instance.
    parents: BTreeMap<String, Tally>,
    groups: BTreeMap<Option<String>, GroupCost>,
    rates: Rates,
    savings: Savings,
    rounding: BTreeMap<Option<Provider>, Rounding>,
    uninvoiced: u64,
}

/// Effective costs beside the hours of an instance.
#[derive(Debug, Default)]
struct Beside {
    transfer: Tally,
    volumes: Tally,
    addresses: Tally,
}

/// What shows whether effective costs are rounded to whole units.
#[derive(Debug, Default)]
struct Rounding {
    lines: u64,
    whole: u64,
    /// Lines whose billed cost is not whole.
    billed_in_parts: u64,
    billed: Decimal,
    effective: Decimal,
}

impl Sums {
    fn kept(&self) -> usize {
        self.instances.len()
            + self.unused_reservations.len()
            + self.beside.len()
            + self.commitments.len()
            + self.pods.len()
            + self.parents.len()
            + self.groups.len()
            + self.rates.len()
    }

    fn add(
        &mut self,
        line: &BillLine,
        machine: Option<Accelerated>,
        value: Option<Option<String>>,
        owner: Option<&str>,
    ) {
        let (lines, costs) = self.kinds.entry(line.kind).or_default();
        *lines += 1;
        costs.add(&line.costs);
        if !line.kind.counts() {
            self.add_share(line.share.as_ref());
            return;
        }
        self.uninvoiced += u64::from(line.invoice.is_none());
        self.add_savings(line);
        self.add_rounding(line);
        self.add_commitment(line, machine.is_some());
        if let Some(value) = value {
            self.add_to_group(line, machine, value);
        }
        match line.kind {
            LineKind::Instance => {
                add_machine(&mut self.instances, line, machine);
                if machine.is_some() {
                    self.rates.add(line);
                }
            }
            LineKind::UnusedReservation => {
                add_machine(&mut self.unused_reservations, line, machine)
            }
            LineKind::Transfer => self.add_beside(line, line.resource.as_deref()),
            LineKind::Volume | LineKind::Address => self.add_beside(line, owner),
            _ => {}
        }
    }

    /// Adds what an instance costs beside its hours.
    fn add_beside(&mut self, line: &BillLine, owner: Option<&str>) {
        let Some(owner) = owner else { return };
        let beside = self.beside.entry((line.account.clone(), owner.to_owned())).or_default();
        let costs = match line.kind {
            LineKind::Volume => &mut beside.volumes,
            LineKind::Address => &mut beside.addresses,
            _ => &mut beside.transfer,
        };
        costs.add(line.costs.effective);
    }

    fn add_savings(&mut self, line: &BillLine) {
        if line.kind == LineKind::Commitment {
            self.savings.unused += line.costs.effective.unwrap_or_default();
            self.savings.unstated += u64::from(line.costs.effective.is_none());
        }
        // What was paid for it in advance is in another line.
        let is_prepaid = line.purchase_option == Some(PurchaseOption::CapacityBlock);
        let stated = line.costs.list.zip(line.costs.effective);
        if let Some((list, effective)) = stated.filter(|_| !is_prepaid) {
            self.savings.list += list;
            self.savings.effective += effective;
        }
    }

    fn add_rounding(&mut self, line: &BillLine) {
        let Some((billed, effective)) = line.costs.billed.zip(line.costs.effective) else { return };
        let sums = self.rounding.entry(line.provider).or_default();
        sums.lines += 1;
        sums.whole += u64::from(effective.fract().is_zero());
        sums.billed_in_parts += u64::from(!billed.fract().is_zero());
        sums.billed += billed;
        sums.effective += effective;
    }

    fn add_commitment(&mut self, line: &BillLine, is_accelerated: bool) {
        let Some(id) = line.commitment.as_ref() else { return };
        // Credits, discounts and taxes name the commitment that they are about, and use nothing
        // of it. A negation takes back what the covered usage has.
        if line.kind != LineKind::Commitment && !line.kind.is_usage() {
            return;
        }
        let new = || CommitmentUse { id: id.clone(), ..CommitmentUse::default() };
        let one = self.commitments.entry(id.clone()).or_insert_with(new);
        let is_committed = |option: &PurchaseOption| {
            matches!(option, PurchaseOption::Reserved | PurchaseOption::SavingsPlan)
        };
        one.option = one.option.or(line.purchase_option.filter(is_committed));
        if let Some(name) = line.instance_type.as_ref().filter(|_| is_accelerated)
            && !one.types.contains(name)
        {
            one.types.insert(name.clone());
        }
        if line.kind == LineKind::Commitment {
            one.unused.add(line.costs.effective);
            one.fees.add(line.costs.billed);
        } else {
            one.used.add(line.costs.effective);
            if is_accelerated && line.kind == LineKind::Instance {
                one.used_by_instances.add(line.costs.effective);
            }
        }
    }

    fn add_to_group(
        &mut self,
        line: &BillLine,
        machine: Option<Accelerated>,
        value: Option<String>,
    ) {
        let new = || GroupCost { value: value.clone(), ..GroupCost::default() };
        let group = self.groups.entry(value.clone()).or_insert_with(new);
        group.all.add(line.costs.effective);
        if let Some(machine) = machine.filter(|_| line.kind == LineKind::Instance) {
            group.instances.add(line.costs.effective);
            let hours = machine.count.zip(line.hours);
            group.gpu_hours += hours.map_or(Decimal::ZERO, |(count, hours)| count * hours);
        }
    }

    fn add_share(&mut self, share: Option<&PodShare>) {
        let Some(share) = share else { return };
        if let Some(parent) = &share.parent {
            let divided = self.parents.entry(parent.clone()).or_default();
            divided.add(share.cost);
            divided.add(share.unused_cost);
        }
        let key = [&share.cluster, &share.namespace, &share.name].map(Clone::clone);
        let new = || PodCost {
            cluster: share.cluster.clone(),
            namespace: share.namespace.clone(),
            name: share.name.clone(),
            ..PodCost::default()
        };
        let pod = self.pods.entry(key).or_insert_with(new);
        pod.unused.add(share.unused_cost);
        if share.part == SharedPart::Accelerator {
            pod.accelerators.add(share.cost);
            let hours = pod.accelerator_hours.unwrap_or_default();
            pod.accelerator_hours = share.hours.map(|more| hours + more).or(pod.accelerator_hours);
        } else {
            pod.others.add(share.cost);
        }
    }

    fn finish(self, currency: Currency, comparison: Option<Comparison>) -> CurrencyBill {
        let instances = instances(self.instances, &self.beside);
        let divided = divided(&instances, &self.parents);
        let unused_reservations = instances_of(self.unused_reservations);
        let kinds = self.kinds.into_iter();
        let mut commitments: Vec<CommitmentUse> = self.commitments.into_values().collect();
        commitments.sort_by_key(|commitment| Reverse(commitment.unused.sum()));
        let mut pods: Vec<PodCost> = self.pods.into_values().collect();
        pods.retain(PodCost::has_accelerators);
        pods.sort_by_key(|pod| Reverse(pod.total()));
        let mut groups: Vec<GroupCost> = self.groups.into_values().collect();
        groups.sort_by_key(|group| Reverse(group.all.sum()));
        CurrencyBill {
            currency,
            kinds: kinds.map(|(kind, (lines, costs))| KindCost { kind, lines, costs }).collect(),
            types: types(&instances),
            instances,
            unused_reservations,
            commitments,
            pods,
            divided,
            groups,
            rates: self.rates.derived(currency),
            savings: self.savings,
            rounded: rounded(self.rounding),
            uninvoiced: self.uninvoiced,
            comparison,
        }
    }
}

/// Adds hours of a machine with accelerators.
fn add_machine(
    machines: &mut BTreeMap<InstanceKey, (Accelerated, Parts)>,
    line: &BillLine,
    machine: Option<Accelerated>,
) {
    let Some((machine, name)) = machine.zip(line.instance_type.clone()) else { return };
    let key = (line.account.clone(), line.resource.clone(), line.region.clone(), name);
    let (_, parts) = machines.entry(key).or_insert_with(|| (machine, Parts::default()));
    let part: &mut Part = parts.0.entry(line.purchase_option).or_default();
    part.hours.add(line.hours);
    part.costs.add(&line.costs);
}

/// The most expensive first.
fn instances_of(machines: BTreeMap<InstanceKey, (Accelerated, Parts)>) -> Vec<InstanceCost> {
    let one = |(key, (machine, parts)): (InstanceKey, (Accelerated, Parts))| {
        let (account, id, region, instance_type) = key;
        InstanceCost {
            account,
            id,
            region,
            instance_type,
            gpus: machine.count,
            parts,
            ..InstanceCost::default()
        }
    };
    let mut instances: Vec<InstanceCost> = machines.into_iter().map(one).collect();
    instances.sort_by_key(|instance| Reverse(instance.parts.total().effective.sum()));
    instances
}

/// With the data transfer, volumes and addresses of each. Those of an instance that changed its
/// type are with the most expensive of both.
fn instances(
    machines: BTreeMap<InstanceKey, (Accelerated, Parts)>,
    beside: &BTreeMap<ResourceKey, Beside>,
) -> Vec<InstanceCost> {
    let mut instances = instances_of(machines);
    let mut seen = BTreeSet::new();
    for instance in &mut instances {
        let Some(id) = instance.id.clone() else { continue };
        let key = (instance.account.clone(), id);
        if let Some(costs) = beside.get(&key)
            && seen.insert(key)
        {
            instance.transfer = costs.transfer.sum();
            instance.volumes = costs.volumes.sum();
            instance.addresses = costs.addresses.sum();
        }
    }
    instances
}

/// What instances cost that pods have parts of, and what of that is divided up.
fn divided(instances: &[InstanceCost], parents: &BTreeMap<String, Tally>) -> Divided {
    let mut divided = Divided::default();
    let mut seen = BTreeSet::new();
    for instance in instances {
        let Some((id, parts)) = instance.id.as_ref().and_then(|id| parents.get_key_value(id))
        else {
            continue;
        };
        divided.cost += instance.parts.total().effective;
        if seen.insert(id) {
            divided.allocated += *parts;
        }
    }
    divided
}

/// Sums by region and type, in that order.
fn types(instances: &[InstanceCost]) -> Vec<TypeCost> {
    let mut types: BTreeMap<(Option<&str>, &str), TypeCost> = BTreeMap::new();
    for instance in instances {
        let key = (instance.region.as_deref(), instance.instance_type.as_str());
        let new = || TypeCost {
            region: instance.region.clone(),
            instance_type: instance.instance_type.clone(),
            gpus: instance.gpus,
            ..TypeCost::default()
        };
        let sums = types.entry(key).or_insert_with(new);
        sums.instances += 1;
        sums.parts.merge(&instance.parts);
    }
    types.into_values().collect()
}

/// Providers whose effective costs are all whole, and whose billed costs mostly are not.
fn rounded(rounding: BTreeMap<Option<Provider>, Rounding>) -> Vec<RoundedCosts> {
    let is_rounded = |sums: &Rounding| {
        sums.lines >= LEAST_ROUNDED
            && sums.whole == sums.lines
            && sums.billed_in_parts * 2 > sums.lines
    };
    let rounded = rounding.into_iter().filter(|(_, sums)| is_rounded(sums));
    let rounded = rounded.map(|(provider, Rounding { lines, billed, effective, .. })| {
        RoundedCosts { provider, lines, billed, effective }
    });
    rounded.collect()
}

/// Accelerators of machines by their type, of every provider.
#[derive(Debug)]
pub(super) struct Accelerators {
    /// GPUs of machines of other clouds, by their names in lower case.
    others: BTreeMap<String, Decimal>,
}

/// A machine with accelerators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accelerated {
    /// How many it has; absent of a type that is newer than the catalog.
    pub(super) count: Option<Decimal>,
}

impl Default for Accelerators {
    fn default() -> Self {
        let machines = other_clouds().filter(|offer| offer.unit == PricedUnit::Machine);
        Self {
            others: machines
                .map(|offer| (offer.instance_type.to_lowercase(), offer.gpu_count))
                .collect(),
        }
    }
}

impl Accelerators {
    /// What a machine of a type has; `None` for one without accelerators.
    pub(super) fn of(&self, instance_type: &str) -> Option<Accelerated> {
        // SageMaker puts its own name before those of EC2.
        let name = instance_type.strip_prefix("ml.").unwrap_or(instance_type);
        if let Some(known) = shape(name) {
            let count = known.gpu.as_ref().map(|offer| offer.share.count());
            let is_accelerated = known.accelerator != AcceleratorKind::Cpu;
            return is_accelerated.then_some(Accelerated { count });
        }
        if family(family_of(name)).is_some() {
            return Some(Accelerated { count: None });
        }
        // Google bills each GPU apart from its machine.
        if name.starts_with("Nvidia ") {
            return Some(Accelerated { count: Some(Decimal::ONE) });
        }
        let count = self.others.get(&name.to_lowercase()).copied();
        count.map(|count| Accelerated { count: Some(count) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_of_every_provider_are_known() {
        let accelerators = Accelerators::default();
        let count = |name: &str| Some(accelerators.of(name)?.count.map(|count| count.to_string()));
        let some = |count: &str| Some(Some(count.to_owned()));
        assert_eq!(count("p5.48xlarge"), some("8"));
        assert_eq!(count("ml.g5.12xlarge"), some("4"));
        assert_eq!(count("g6f.large"), some("0.125"));
        assert_eq!(count("p5.999xlarge"), Some(None));
        assert_eq!(count("Standard_NC24ads_A100_v4"), some("1"));
        assert_eq!(count("Nvidia Tesla A100 GPU"), some("1"));
        for other in ["m6i.large", "t3.micro", "Standard_D2s_v3", "", "x"] {
            assert_eq!(count(other), None, "{other}");
        }
    }
}
