//! A bill against what an audit expects of it. Lines are folded in as they are read: memory
//! grows with the hours of the audit's instances.

use super::comparison::{
    ComparedInstance, Comparison, DECIMALS, DifferenceName, DifferencePart, DifferenceReason,
    Expected, ExpectedInstance, Share, UsedCost, shares,
};
use crate::domain::{
    BillLine, Currency, HOUR_SECONDS, InstanceRate, LineKind, PurchaseOption, Window,
};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Hours of instances that are kept apart: half a GB of them.
pub(super) const MOST_HOURS: usize = 30_000_000;

type Parts = BTreeMap<DifferenceReason, DifferencePart>;

/// Takes in the lines of a bill.
#[derive(Debug)]
pub(super) struct Comparer {
    expected: Expected,
    /// Instances by id.
    places: BTreeMap<String, usize>,
    /// The instances that volumes and addresses belong to, by the ids of these.
    owners: BTreeMap<String, usize>,
    /// Accounts that the bill has lines of.
    accounts: BTreeSet<String>,
    /// The end of the last line of an instance.
    last_end: Option<Timestamp>,
    hours_kept: usize,
    currencies: BTreeMap<Currency, Open>,
}

/// What is billed in one currency.
#[derive(Debug, Default)]
struct Open {
    bill: Decimal,
    /// Of lines that are for no instance of the audit.
    parts: Parts,
    instances: BTreeMap<usize, OpenInstance>,
    used: BTreeMap<Option<String>, UsedCost>,
}

/// What is billed for an instance of the audit.
#[derive(Debug, Default)]
struct OpenInstance {
    /// Hours that are billed in each hour of the audit.
    hours: Vec<Decimal>,
    /// Outside of them.
    elsewhere: DifferencePart,
    /// By the stretches of its rates.
    stretches: Vec<OpenStretch>,
    used: UsedCost,
}

/// The same in hours of one rate.
#[derive(Debug, Clone, Copy, Default)]
struct OpenStretch {
    /// Hours with an effective cost, and that cost.
    stated: DifferencePart,
    /// Hours without one.
    unstated: Decimal,
    /// Of the stated, hours with a cost without commitments, and that cost.
    priced: DifferencePart,
    is_committed: bool,
}

/// What a line is for.
#[derive(Debug)]
enum Place {
    Instance(usize, Window),
    Other(DifferenceReason),
}

/// A part of a line.
#[derive(Debug, Clone, Copy)]
struct Portion {
    hours: Option<Decimal>,
    effective: Option<Decimal>,
    /// Without commitments.
    contracted: Option<Decimal>,
}

impl Portion {
    fn of(line: &BillLine, is_committed: bool) -> Self {
        let costs = line.costs;
        Self {
            hours: line.hours,
            effective: costs.effective,
            contracted: costs.contracted.or(costs.effective.filter(|_| !is_committed)),
        }
    }

    fn each(self, other: Self, of: impl Fn(Decimal, Decimal) -> Decimal) -> Self {
        let both = |left: Option<Decimal>, right: Option<Decimal>| Some(of(left?, right?));
        Self {
            hours: both(self.hours, other.hours),
            effective: both(self.effective, other.effective),
            contracted: both(self.contracted, other.contracted),
        }
    }

    fn times(self, share: Decimal) -> Self {
        self.each(self, |amount, _| (amount * share).round_dp(DECIMALS))
    }

    fn less(self, other: Self) -> Self {
        self.each(other, |amount, part| amount - part)
    }
}

impl Comparer {
    pub(super) fn new(expected: Expected) -> Self {
        let instances = || expected.instances.iter().enumerate();
        let attached = |(place, instance): (usize, &ExpectedInstance)| {
            let ids = instance.volumes.iter().chain(&instance.addresses);
            ids.map(|id| (id.clone(), place)).collect::<Vec<_>>()
        };
        Self {
            places: instances().map(|(place, instance)| (instance.id.clone(), place)).collect(),
            owners: instances().flat_map(attached).collect(),
            accounts: BTreeSet::new(),
            last_end: None,
            hours_kept: 0,
            currencies: BTreeMap::new(),
            expected,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.hours_kept > MOST_HOURS
    }

    /// The instance that a volume or an address belongs to.
    pub(super) fn owner(&self, line: &BillLine) -> Option<&str> {
        let place = *self.owners.get(line.resource.as_deref()?)?;
        let owner = self.expected.instances.get(place)?;
        Some(&owner.id)
    }

    /// Takes in a line, with whether it is of a machine with accelerators, and with the group
    /// that it belongs to.
    pub(super) fn add(&mut self, line: &BillLine, is_accelerated: bool, group: Option<&str>) {
        if !line.kind.counts() {
            return;
        }
        if let Some(account) = line.account.as_ref()
            && !self.accounts.contains(account)
        {
            self.accounts.insert(account.clone());
        }
        if line.kind == LineKind::Instance {
            self.last_end = self.last_end.max(line.period.map(|period| period.end));
        }
        let place = self.place(line, is_accelerated);
        let open = self.currencies.entry(line.costs.currency).or_default();
        let cost = line.costs.effective.unwrap_or_default();
        open.bill += cost;
        match place {
            Place::Instance(place, period) => self.add_hours(place, period, line, group),
            Place::Other(reason) => {
                let is_about_hours = !matches!(reason, DifferenceReason::Line(_));
                let hours = line.hours.filter(|_| is_about_hours).unwrap_or_default();
                *open.parts.entry(reason).or_default() += DifferencePart { hours, cost };
                if line.kind == LineKind::Instance && is_accelerated {
                    open.used_by(group).add(cost, None);
                }
            }
        }
    }

    fn place(&self, line: &BillLine, is_accelerated: bool) -> Place {
        let expected = &self.expected;
        if line.kind != LineKind::Instance {
            return Place::Other(DifferenceReason::Line(line.kind));
        }
        let known = line.resource.as_ref().and_then(|id| self.places.get(id));
        let is_own = |place: usize| {
            let owner = expected.instances.get(place).map(|instance| &instance.account);
            line.account.is_none() || line.account.as_ref() == owner
        };
        if let Some(place) = known.copied().filter(|place| is_own(*place)) {
            let unnamed = Place::Other(DifferenceReason::Unnamed);
            return line.period.map_or(unnamed, |period| Place::Instance(place, period));
        }
        let is_read = |read: &BTreeSet<String>, name: Option<&String>| {
            name.is_none_or(|name| read.contains(name))
        };
        // SageMaker bills jobs and endpoints, and does not name their instances.
        let name = line.instance_type.as_deref().unwrap_or_default();
        let is_unnamed = line.resource.is_none() || name.starts_with("ml.");
        let is_inside = |period: Window| {
            let since = period.start.as_second() - expected.hours.start.as_second();
            let hour = usize::try_from(since.div_euclid(HOUR_SECONDS)).ok();
            let (account, region) = (line.account.as_deref(), line.region.as_deref());
            period.start < expected.hours.end
                && period.end > expected.hours.start
                && hour.is_none_or(|hour| !expected.is_unread(account, region, hour))
        };
        Place::Other(if !is_accelerated {
            DifferenceReason::Line(LineKind::Instance)
        } else if !is_read(&expected.accounts, line.account.as_ref()) {
            DifferenceReason::OtherAccount
        } else if !is_read(&expected.regions, line.region.as_ref()) {
            DifferenceReason::OtherRegion
        } else if is_unnamed {
            DifferenceReason::Unnamed
        } else {
            match line.period.map(is_inside) {
                None => DifferenceReason::Unnamed,
                Some(false) => DifferenceReason::OtherTime,
                Some(true) if expected.is_selection => DifferenceReason::NotSelected,
                Some(true) => DifferenceReason::UnknownInstance,
            }
        })
    }

    /// Divides a line up among the hours of its period.
    fn add_hours(&mut self, place: usize, period: Window, line: &BillLine, group: Option<&str>) {
        let (Some(instance), Some(open)) =
            (self.expected.instances.get(place), self.currencies.get_mut(&line.costs.currency))
        else {
            return;
        };
        let is_new = !open.instances.contains_key(&place);
        let one = open.instances.entry(place).or_default();
        if is_new {
            one.hours = vec![Decimal::ZERO; instance.hours.len()];
            one.stretches = vec![OpenStretch::default(); instance.rates.len()];
            self.hours_kept += one.hours.len();
        }
        let is_committed = line.commitment.is_some()
            || matches!(
                line.purchase_option,
                Some(PurchaseOption::Reserved | PurchaseOption::SavingsPlan)
            );
        let whole = Portion::of(line, is_committed);
        let shares = shares(period, self.expected.hours, &instance.hours);
        let mut rest = whole;
        let mut used = UsedCost::default();
        for (index, Share { hour, share }) in shares.iter().enumerate() {
            // What rounding leaves is the last one's.
            let part = if index + 1 == shares.len() { rest } else { whole.times(*share) };
            rest = rest.less(part);
            let hour = hour.filter(|hour| {
                let (account, region) = (instance.account.as_str(), instance.region.as_str());
                !self.expected.is_unread(Some(account), Some(region), *hour)
            });
            let seen = hour.and_then(|hour| instance.hours.get(hour)).copied();
            let hours = part.hours.or(seen.map(|hour| self.expected.ran(hour))).unwrap_or_default();
            used.add(part.effective.unwrap_or_default(), seen);
            if let Some(hour) = hour {
                one.add((hour, instance.stretch_of(hour)), hours, part, is_committed);
            } else {
                let cost = part.effective.unwrap_or_default();
                one.elsewhere += DifferencePart { hours, cost };
            }
        }
        one.used += used;
        *open.used_by(group) += used;
    }

    /// What was found, in one currency. `begin` is when the first usage of the bill begins.
    pub(super) fn comparison(&self, currency: Currency, begin: Option<Timestamp>) -> Comparison {
        let nothing = Open::default();
        let open = self.currencies.get(&currency).unwrap_or(&nothing);
        let mut differences = open.parts.clone();
        let mut audit = Decimal::ZERO;
        let mut instances = Vec::new();
        for (place, instance) in self.expected.instances.iter().enumerate() {
            let rates = instance.rates.iter().filter_map(|since| since.rate);
            let is_priced = rates.map(|rate| rate.currency).any(|own| own == currency);
            let billed = open.instances.get(&place);
            if billed.is_none() && !(is_priced && instance.has_run()) {
                continue;
            }
            let nothing = OpenInstance::default();
            let billed = billed.unwrap_or(&nothing);
            let (compared, parts) = self.compared(instance, currency, billed, begin);
            audit += compared.audit.unwrap_or_default();
            for (reason, part) in parts {
                *differences.entry(reason).or_default() += part;
            }
            instances.push(compared);
        }
        differences.retain(|_, part| *part != DifferencePart::default());
        instances.sort_by_key(|instance| Reverse(instance.difference().abs()));
        Comparison {
            hours: self.expected.hours,
            bill: open.bill,
            audit,
            differences,
            instances,
            used: open.used.clone(),
        }
    }

    /// An instance, and what differs: hours that only one of both has, at the audit's rate;
    /// what the billed hours cost without commitments, less what they would at the audit's
    /// price; and as the commitment what is left.
    fn compared(
        &self,
        instance: &ExpectedInstance,
        currency: Currency,
        billed: &OpenInstance,
        begin: Option<Timestamp>,
    ) -> (ComparedInstance, Parts) {
        let mut parts: Parts = BTreeMap::new();
        let mut seen = Decimal::ZERO;
        let mut audit: Option<Decimal> = None;
        for (index, (places, rate)) in instance.stretches().enumerate() {
            let mut own: Parts = BTreeMap::new();
            let mut ran = Decimal::ZERO;
            for place in places {
                let hour = instance.hours.get(place).copied().unwrap_or_default();
                let hour = self.expected.ran(hour);
                let paid = billed.hours.get(place).copied().unwrap_or_default();
                ran += hour;
                if paid != hour {
                    let reason = if paid > hour {
                        DifferenceReason::NotSeen
                    } else if paid.is_zero() {
                        self.unbilled(instance, place, begin)
                    } else {
                        DifferenceReason::NotBilled
                    };
                    own.entry(reason).or_default().hours += paid - hour;
                }
            }
            seen += ran;
            let open = billed.stretches.get(index).copied().unwrap_or_default();
            match rate.filter(|rate| rate.currency == currency) {
                Some(rate) => {
                    audit = Some(audit.unwrap_or_default() + divide(rate, ran, &open, &mut own));
                }
                None => own = BTreeMap::from([(DifferenceReason::Unpriced, open.stated)]),
            }
            for (reason, part) in own {
                *parts.entry(reason).or_default() += part;
            }
        }
        *parts.entry(DifferenceReason::OtherTime).or_default() += billed.elsewhere;
        let mut differences: BTreeMap<DifferenceName, Decimal> = BTreeMap::new();
        for (reason, part) in &parts {
            *differences.entry(reason.name()).or_default() += part.cost;
        }
        let stated: Decimal = billed.stretches.iter().map(|open| open.stated.cost).sum();
        let compared = ComparedInstance {
            account: instance.account.clone(),
            id: instance.id.clone(),
            region: instance.region.clone(),
            instance_type: instance.instance_type.clone(),
            billed_hours: billed.hours.iter().sum(),
            seen_hours: seen,
            bill: stated + billed.elsewhere.cost,
            audit,
            differences,
            used: billed.used,
        };
        (compared, parts)
    }

    /// Why an hour that an instance was seen running is not on the bill.
    fn unbilled(
        &self,
        instance: &ExpectedInstance,
        place: usize,
        begin: Option<Timestamp>,
    ) -> DifferenceReason {
        let after = SignedDuration::from_secs(place as i64 * HOUR_SECONDS);
        let start = self.expected.hours.start + after;
        if !self.accounts.is_empty() && !self.accounts.contains(&instance.account) {
            DifferenceReason::NoLines
        } else if begin.is_none_or(|begin| start < begin) {
            DifferenceReason::BeforeBill
        } else if self.last_end.is_none_or(|end| start >= end) {
            DifferenceReason::AfterBill
        } else {
            DifferenceReason::NotBilled
        }
    }
}

impl Open {
    fn used_by(&mut self, group: Option<&str>) -> &mut UsedCost {
        self.used.entry(group.map(str::to_owned)).or_default()
    }
}

impl OpenInstance {
    /// Adds a part of a line to an hour, and to the stretch that it is in.
    fn add(
        &mut self,
        (hour, stretch): (usize, usize),
        hours: Decimal,
        part: Portion,
        is_committed: bool,
    ) {
        if let Some(billed) = self.hours.get_mut(hour) {
            *billed += hours;
        }
        if let Some(open) = self.stretches.get_mut(stretch) {
            open.is_committed |= is_committed;
            open.add(hours, part);
        }
    }
}

impl OpenStretch {
    fn add(&mut self, hours: Decimal, part: Portion) {
        let Some(cost) = part.effective else {
            self.unstated += hours;
            return;
        };
        self.stated += DifferencePart { hours, cost };
        if let Some(cost) = part.contracted {
            self.priced += DifferencePart { hours, cost };
        }
    }
}

/// Puts a cost to each part of a difference that has hours, adds those that are about
/// rates, and gives what the audit expects. The parts add up exactly.
fn divide(rate: InstanceRate, seen: Decimal, billed: &OpenStretch, parts: &mut Parts) -> Decimal {
    let cost = |hours: Decimal| (hours * rate.effective).round_dp(DECIMALS);
    let audit = cost(seen);
    for part in parts.values_mut() {
        part.cost = cost(part.hours);
    }
    let unstated = DifferencePart { hours: billed.unstated, cost: -cost(billed.unstated) };
    parts.insert(DifferenceReason::NoCost, unstated);
    let named: Decimal = parts.values().map(|part| part.cost).sum();
    let rest = billed.stated.cost - audit - named;
    let price = if billed.is_committed || rate.price != rate.effective {
        billed.priced.cost - (billed.priced.hours * rate.price).round_dp(DECIMALS)
    } else {
        rest
    };
    for (reason, cost) in
        [(DifferenceReason::OtherPrice, price), (DifferenceReason::Commitment, rest - price)]
    {
        parts.insert(reason, DifferencePart { hours: Decimal::ZERO, cost });
    }
    audit
}
