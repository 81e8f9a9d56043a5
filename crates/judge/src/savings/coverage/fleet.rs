//! What commitments pay of a fleet: `cost(F)` is the list cost of its members less the hours that
//! commitments cover, plus fees that no action changes. Members that no commitment tells apart
//! are one class, so that no id moves a sum.

use super::Applied;
use super::hours::{Figures, UsedInstance};
use super::pool::{Pool, pools};
use crate::domain::{
    CommitmentPool, Commitments, HourlyRate, OfferingClass, PriceKey, PriceOption, ResourceId,
};
use crate::savings::pool_members::place_unseen;
use crate::savings::{INSTANCE, MemberHours, instances};
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// What commitments do not tell apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    /// Region, type, system and tenancy, and who buys for it.
    pub pool: CommitmentPool,
    pub account: String,
    /// The zone by name.
    pub zone: Option<String>,
    /// Whether it is unused room of a capacity reservation.
    pub is_room: bool,
}

impl Class {
    /// The same for another type.
    pub fn with_type(&self, instance_type: &str) -> Self {
        Self { pool: self.pool.with_type(instance_type), ..self.clone() }
    }
}

/// Hours of what a plan does not touch and commitments cover too.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherHours {
    pub class: Class,
    /// In each whole hour of the window, in billionths of an instance.
    pub hours: Vec<u64>,
    /// At list price per month, unrounded.
    pub monthly: Decimal,
}

/// The commitments that stand, and what they cover beside the members of workloads.
#[derive(Debug, Clone, Default)]
pub struct Existing {
    pub commitments: Commitments,
    pub as_of: Option<Timestamp>,
    /// Rates of on-demand prices, those of savings plans by plan and term.
    pub rates: BTreeMap<PriceKey, BTreeMap<PriceOption, Decimal>>,
    pub others: Vec<OtherHours>,
}

impl Existing {
    /// Whether a commitment of a term counts for what is paid now, or for what is bought.
    fn counts(&self, is_for_purchases: bool) -> impl Fn(Timestamp, Timestamp) -> bool {
        let as_of = self.as_of;
        move |start, end| {
            as_of.is_some_and(|as_of| as_of < end && (start <= as_of || is_for_purchases))
        }
    }
}

/// A standard reserved instance whose zone may be given up without a fee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::savings) struct ZonalReservation {
    pub id: String,
    pub zone: String,
    pub region: String,
    pub count: u32,
}

impl Existing {
    /// The active standard reserved instances of a zone, in an order that ids decide last.
    pub(in crate::savings) fn zonal(&self) -> Vec<ZonalReservation> {
        let counts = self.counts(false);
        let own = self.commitments.reserved_instances.iter();
        let own = own.filter(|reservation| reservation.class == OfferingClass::Standard);
        let own = own.filter(|reservation| counts(reservation.start, reservation.end));
        let mut own: Vec<_> =
            own.filter_map(|reservation| Some((reservation, reservation.zone.clone()?))).collect();
        own.sort_by_key(|(reservation, zone)| {
            (&reservation.instance_type, zone.clone(), reservation.count, &reservation.id)
        });
        own.into_iter()
            .map(|(reservation, zone)| ZonalReservation {
                id: reservation.id.clone(),
                region: reservation.region.clone(),
                count: reservation.count,
                zone,
            })
            .collect()
    }

    /// The same with a reserved instance of a zone for its whole region.
    pub(in crate::savings) fn for_region(&self, id: &str) -> Self {
        let mut changed = self.clone();
        let own = changed.commitments.reserved_instances.iter_mut();
        own.filter(|reservation| reservation.id == id)
            .for_each(|reservation| reservation.zone = None);
        changed
    }
}

/// A member of a fleet as it runs at some point of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    pub class: Class,
    pub hours: MemberHours,
    /// At list price per month, unrounded.
    pub monthly: Decimal,
    /// What share of the member's cost commitments leave open today, 0–1.
    pub open_share: Decimal,
    /// List price of an hour.
    pub hourly: HourlyRate,
    /// The hours that a purchase may be sized by; absent where none may be.
    pub sized: Option<MemberHours>,
    /// Those of them in which it worked; absent where that is all.
    pub working: Option<MemberHours>,
    /// Whole years that it goes on running, by its tag; absent without one.
    pub most_years: Option<u8>,
}

/// Terms that are sold, in years.
const TERMS: [u8; 2] = [1, 3];

/// Whose hours count: what is paid now, or what purchases of a term may be sized by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::savings) enum Layer {
    Paid,
    /// The place among [`TERMS`].
    Term(usize),
    /// The same, and of them the hours at work.
    Work(usize),
}

/// Classes that share commitments, and the pools that purchases are made for.
#[derive(Debug)]
struct Component {
    classes: Vec<Class>,
    /// Commitments that are active, and those with what is queued.
    active: Vec<Pool>,
    ahead: Vec<Pool>,
    others: Vec<Vec<u64>>,
    others_monthly: Vec<Decimal>,
    all: Sums,
    /// Of the members that run for each of the [`TERMS`].
    sized: [Sums; 2],
    /// Of the same, the hours at work.
    working: [Sums; 2],
    /// Members among them that rested.
    resting: usize,
    /// Members that a tag ends before the longest of them.
    ending: usize,
}

/// Hours and cost of members, by class.
#[derive(Debug, Clone, Default)]
struct Sums {
    seen: Vec<Vec<u64>>,
    monthly: Vec<Decimal>,
    hourly: Vec<Option<HourlyRate>>,
    /// Members that were seen in a part of the window alone.
    young: Vec<(usize, MemberHours)>,
}

/// What is left of the hours of one pool.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::savings) struct OpenPool {
    pub pool: CommitmentPool,
    /// In each hour, in billionths of an instance.
    pub hours: Vec<u64>,
    /// The same of the hours in which its members worked; absent where that is all.
    pub working: Option<Vec<u64>>,
    /// At list price per month, unrounded.
    pub monthly: Decimal,
    /// List price of an hour.
    pub hourly: HourlyRate,
    /// The term that these are for; absent where all members run for every term.
    pub years: Option<u8>,
}

impl OpenPool {
    /// Whether a member runs for its term.
    pub fn holds(&self, slot: &Slot) -> bool {
        let (most, years) = (slot.most_years, self.years.unwrap_or(TERMS[0]));
        most.is_none_or(|most| most >= years)
    }

    /// What so many commitments of a longer term leave of it; these cover what ends before too.
    pub fn beyond(&self, count: u32) -> Self {
        let covered = u64::from(count) * INSTANCE;
        let left = |hours: &[u64]| -> Vec<u64> {
            hours.iter().map(|running| running.saturating_sub(covered)).collect()
        };
        let hours = left(&self.hours);
        let sum = |hours: &[u64]| Decimal::from(hours.iter().sum::<u64>());
        let share = sum(&hours).checked_div(sum(&self.hours)).unwrap_or_default();
        Self {
            pool: self.pool.clone(),
            hours,
            working: self.working.as_deref().map(left),
            monthly: self.monthly * share,
            ..*self
        }
    }
}

/// A fleet, in components that share nothing.
#[derive(Debug)]
pub(in crate::savings) struct Fleet {
    places: BTreeMap<Class, (usize, usize)>,
    components: Vec<Component>,
}

impl Sums {
    fn of(classes: usize, hours: usize) -> Self {
        Self {
            seen: vec![vec![0; hours]; classes],
            monthly: vec![Decimal::ZERO; classes],
            hourly: vec![None; classes],
            young: Vec::new(),
        }
    }

    fn add(&mut self, class: usize, slot: &Slot, own: &MemberHours) {
        let hours = self.seen[class].len();
        for (sum, ran) in self.seen[class].iter_mut().zip(own.seen_in(hours)) {
            *sum += ran;
        }
        self.monthly[class] += slot.monthly;
        self.hourly[class] = Some(slot.hourly);
        if own.is_young(hours) {
            self.young.push((class, own.clone()));
        }
    }

    fn remove(&mut self, class: usize, slot: &Slot, own: &MemberHours) {
        let hours = self.seen[class].len();
        for (sum, ran) in self.seen[class].iter_mut().zip(own.seen_in(hours)) {
            *sum -= ran;
        }
        self.monthly[class] -= slot.monthly;
        let is_it = |(place, young): &(usize, MemberHours)| *place == class && young == own;
        if let Some(place) = self.young.iter().position(is_it) {
            self.young.swap_remove(place);
        }
    }

    /// The hours of each class over the whole window.
    fn whole(&self, classes: &[Class]) -> Vec<Vec<u64>> {
        let mut whole = self.seen.clone();
        if self.young.is_empty() {
            return whole;
        }
        let mut pools: BTreeMap<&CommitmentPool, Vec<u64>> = BTreeMap::new();
        for (class, seen) in classes.iter().zip(&self.seen) {
            match pools.get_mut(&class.pool) {
                Some(sum) => add_to(sum, seen),
                None => {
                    pools.insert(&class.pool, seen.clone());
                }
            }
        }
        let mut young: Vec<&(usize, MemberHours)> = self.young.iter().collect();
        young.sort_by(|left, right| {
            let key = |entry: &(usize, MemberHours)| classes[entry.0].clone();
            (left.1.place_key(), key(left)).cmp(&(right.1.place_key(), key(right)))
        });
        for (class, member) in young {
            let Some(pool) = pools.get_mut(&classes[*class].pool) else { continue };
            let unseen = pool.len().saturating_sub(member.seen.len());
            let placed = place_unseen(member, pool);
            add_to(&mut whole[*class][..unseen], &placed[..unseen]);
        }
        whole
    }
}

fn add_to(sum: &mut [u64], hours: &[u64]) {
    for (sum, ran) in sum.iter_mut().zip(hours) {
        *sum += ran;
    }
}

impl Component {
    fn sums(&self, layer: Layer) -> (&Sums, &[Pool]) {
        match layer {
            Layer::Paid => (&self.all, &self.active),
            Layer::Term(term) => (&self.sized[term], &self.ahead),
            Layer::Work(term) => (&self.working[term], &self.ahead),
        }
    }

    /// Of each class, how much of each hour nothing covers and the share of its cost that this
    /// is.
    fn open(&self, layer: Layer) -> Vec<(Vec<u64>, Decimal)> {
        let (sums, pools) = self.sums(layer);
        let own = sums.whole(&self.classes);
        if pools.is_empty() {
            return own.into_iter().map(|hours| (hours, Decimal::ONE)).collect();
        }
        let mut running = own.clone();
        for (running, others) in running.iter_mut().zip(&self.others) {
            add_to(running, others);
        }
        let hours = running.first().map_or(0, Vec::len);
        let refs: Vec<&[u64]> = running.iter().map(Vec::as_slice).collect();
        let applied = Applied::of(pools, &refs, hours);
        let rows = own.into_iter().zip(running).zip(applied.uncovered);
        rows.zip(applied.covered)
            .map(|(((own, running), uncovered), covered)| {
                let ran = instances(running.iter().sum());
                let share = covered.checked_div(ran).unwrap_or_default();
                let open = own.iter().zip(&running).zip(uncovered);
                let open = open.map(|((own, running), uncovered)| {
                    // What others of the class run takes its part of the cover.
                    let part = u128::from(uncovered) * u128::from(*own);
                    part.checked_div(u128::from(*running)).unwrap_or(0) as u64
                });
                (open.collect(), (Decimal::ONE - share).max(Decimal::ZERO))
            })
            .collect()
    }

    fn open_pools(&self, term: usize, years: Option<u8>) -> Vec<OpenPool> {
        let mut open: Vec<OpenPool> = Vec::new();
        let sized = &self.sized[term];
        let rows = self.classes.iter().zip(self.open(Layer::Term(term)));
        let costs = sized.monthly.iter().zip(&sized.hourly);
        let work = (self.resting > 0).then(|| self.open(Layer::Work(term)));
        let mut work = work.into_iter().flatten().map(|(hours, _)| hours);
        for ((class, (hours, share)), (monthly, hourly)) in rows.zip(costs) {
            let working = work.next();
            let Some(hourly) = hourly.filter(|_| !monthly.is_zero()) else { continue };
            let monthly = monthly * share;
            match open.last_mut().filter(|last| last.pool == class.pool) {
                Some(last) => {
                    add_to(&mut last.hours, &hours);
                    if let (Some(sum), Some(working)) = (&mut last.working, &working) {
                        add_to(sum, working);
                    }
                    last.monthly += monthly;
                }
                None => open.push(OpenPool {
                    pool: class.pool.clone(),
                    hours,
                    working,
                    monthly,
                    hourly,
                    years,
                }),
            }
        }
        open
    }

    /// What commitments pay of the members, and of the hours that no plan touches, per month at
    /// list price, unrounded.
    fn credit(&self) -> Decimal {
        if self.active.is_empty() {
            return Decimal::ZERO;
        }
        let open = self.open(Layer::Paid);
        let monthly = self.all.monthly.iter().zip(&self.others_monthly);
        open.iter()
            .zip(monthly)
            .map(|((_, open), (own, others))| (own + others) * (Decimal::ONE - open))
            .sum()
    }
}

impl Fleet {
    /// A fleet without members, of all classes that may have some.
    pub fn of(existing: &Existing, mut classes: BTreeSet<Class>, hours: usize) -> Self {
        classes.extend(existing.others.iter().map(|other| other.class.clone()));
        let classes: Vec<Class> = classes.into_iter().collect();
        let lasting = existing.commitments.lasting(existing.as_of);
        let used: Vec<UsedInstance> =
            classes.iter().enumerate().map(|(place, class)| used(class, place, existing)).collect();
        let mut joined = Joined::of(classes.len());
        for pool in pools(&existing.commitments, &used, existing.counts(true)) {
            let mut members = pool.members.iter().map(|member| member.instance);
            if let Some(first) = members.next() {
                members.for_each(|member| joined.join(first, member));
            }
        }
        for (place, pair) in classes.windows(2).enumerate() {
            if pair[0].pool == pair[1].pool {
                joined.join(place, place + 1);
            }
        }
        let mut sets: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for place in 0..classes.len() {
            sets.entry(joined.root(place)).or_default().push(place);
        }
        let mut fleet = Self { places: BTreeMap::new(), components: Vec::new() };
        for set in sets.into_values() {
            let own: Vec<UsedInstance> = set.iter().map(|place| used[*place].clone()).collect();
            for (place, class) in set.iter().enumerate() {
                let at = (fleet.components.len(), place);
                fleet.places.insert(classes[*class].clone(), at);
            }
            let with_members = |is_for_purchases: bool| {
                let counts = existing.counts(is_for_purchases);
                let commitments = if is_for_purchases { &lasting } else { &existing.commitments };
                let candidates = pools(commitments, &own, counts).into_iter();
                candidates.filter(|pool| !pool.members.is_empty()).collect()
            };
            let mut others = vec![vec![0; hours]; set.len()];
            let mut others_monthly = vec![Decimal::ZERO; set.len()];
            for other in &existing.others {
                let place = set.iter().position(|place| classes[*place] == other.class);
                if let Some(place) = place {
                    add_to(&mut others[place], &other.hours);
                    others_monthly[place] += other.monthly;
                }
            }
            fleet.components.push(Component {
                active: with_members(false),
                ahead: with_members(true),
                others,
                others_monthly,
                all: Sums::of(set.len(), hours),
                sized: TERMS.map(|_| Sums::of(set.len(), hours)),
                working: TERMS.map(|_| Sums::of(set.len(), hours)),
                resting: 0,
                ending: 0,
                classes: set.iter().map(|place| classes[*place].clone()).collect(),
            });
        }
        fleet
    }

    /// The component of a class.
    pub fn component(&self, class: &Class) -> Option<usize> {
        self.places.get(class).map(|(component, _)| *component)
    }

    /// Whether a commitment that is there may cover anything of a component.
    pub fn is_touched(&self, component: usize) -> bool {
        !self.components[component].ahead.is_empty()
    }

    pub fn add(&mut self, slots: &[Slot]) {
        self.change(slots, Sums::add, 1);
    }

    pub fn remove(&mut self, slots: &[Slot]) {
        self.change(slots, Sums::remove, -1);
    }

    /// Lets members run in another way.
    pub fn swap(&mut self, from: &[Slot], to: &[Slot]) {
        self.remove(from);
        self.add(to);
    }

    fn change(
        &mut self,
        slots: &[Slot],
        change: impl Fn(&mut Sums, usize, &Slot, &MemberHours),
        number: isize,
    ) {
        for slot in slots {
            let Some((component, class)) = self.places.get(&slot.class) else { continue };
            let component = &mut self.components[*component];
            change(&mut component.all, *class, slot, &slot.hours);
            let Some(sized) = &slot.sized else { continue };
            let resting = isize::from(slot.working.is_some()) * number;
            component.resting = component.resting.saturating_add_signed(resting);
            let working = slot.working.as_ref().unwrap_or(sized);
            let sums = component.sized.iter_mut().zip(&mut component.working);
            for (years, (sums, work)) in TERMS.into_iter().zip(sums) {
                if slot.most_years.is_none_or(|most| most >= years) {
                    change(sums, *class, slot, sized);
                    change(work, *class, slot, working);
                } else {
                    component.ending = component.ending.saturating_add_signed(number);
                }
            }
        }
    }

    /// What commitments pay of the members of a component per month at list price, unrounded.
    pub fn credit(&self, component: usize) -> Decimal {
        self.components[component].credit()
    }

    /// The same of some components.
    pub fn credits(&self, components: impl IntoIterator<Item = usize>) -> Decimal {
        components.into_iter().map(|component| self.credit(component)).sum()
    }

    /// The hours of members that purchases may be sized by and that nothing covers, neither now
    /// nor when what is queued begins, by pool; by term too, where members end before one does.
    pub fn open_pools(&self, component: usize) -> Vec<OpenPool> {
        let own = &self.components[component];
        let terms = if own.ending == 0 { 1 } else { TERMS.len() };
        let years = |term: usize| (own.ending > 0).then_some(TERMS[term]);
        (0..terms).flat_map(|term| own.open_pools(term, years(term))).collect()
    }

    /// The share of the cost of each class that commitments leave open.
    pub fn open_shares(&self, component: usize, layer: Layer) -> BTreeMap<Class, Decimal> {
        let own = &self.components[component];
        let open = own.open(layer).into_iter();
        own.classes.iter().cloned().zip(open.map(|(_, share)| share)).collect()
    }

    /// The components, those that no commitment touches too.
    pub fn components(&self) -> std::ops::Range<usize> {
        0..self.components.len()
    }
}

/// A class as commitments see it.
fn used(class: &Class, place: usize, existing: &Existing) -> UsedInstance {
    let key = &class.pool.key;
    let rates = existing.rates.get(key).cloned().unwrap_or_default();
    UsedInstance {
        id: ResourceId::named(format!("{place:08}")),
        account: class.account.clone(),
        key: key.clone(),
        zone: class.zone.clone(),
        hours: Vec::new(),
        on_demand_hourly: rates.get(&PriceOption::OnDemand).copied(),
        plan_rates: rates,
        is_room: class.is_room,
        rests: false,
        figures: Figures::default(),
    }
}

/// Sets that are joined step by step.
pub(in crate::savings) struct Joined(Vec<usize>);

impl Joined {
    pub fn of(count: usize) -> Self {
        Self((0..count).collect())
    }

    pub fn root(&self, mut place: usize) -> usize {
        while self.0[place] != place {
            place = self.0[place];
        }
        place
    }

    pub fn join(&mut self, left: usize, right: usize) {
        let (left, right) = (self.root(left), self.root(right));
        self.0[left.max(right)] = left.min(right);
    }
}
