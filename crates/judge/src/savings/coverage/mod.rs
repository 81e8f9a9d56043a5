//! What the commitments that an account has cover, hour by hour, in the order
//! in which AWS applies them: zonal reserved instances, regional ones, EC2
//! Instance Savings Plans, Compute Savings Plans. Each covers its own account first, and what is
//! left then covers the others.

mod fleet;
mod hours;
mod pool;

/// What one commitment covers of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredPart {
    /// The commitment's id.
    pub commitment: String,
    pub kind: CommitmentKind,
    /// Hours of the window that it covers, fractions of an hour included.
    pub hours: Decimal,
    /// What these hours cost under it: reserved instances at their effective
    /// rate, a plan at its own. Paid whether the instance runs or not.
    pub cost: Money,
    /// Until when that is paid for.
    pub end: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub struct InstanceCoverage {
    pub id: ResourceId,
    /// Hours of the window that it runs.
    pub running_hours: Decimal,
    /// By whom, in the order of application.
    pub parts: Vec<CoveredPart>,
    /// How much of each whole hour it runs and nothing covers, in billionths: what is left to
    /// buy for, and what stopping it would save.
    pub uncovered: Vec<u64>,
}

impl InstanceCoverage {
    pub fn covered_hours(&self) -> Decimal {
        self.parts.iter().map(|part| part.hours).sum()
    }

    /// Hours that it runs and nothing covers.
    pub fn uncovered_hours(&self) -> Decimal {
        (self.running_hours - self.covered_hours()).max(Decimal::ZERO)
    }

    /// Share of its running hours that is covered, 0–1; absent when it does not
    /// run.
    pub fn covered_share(&self) -> Option<Decimal> {
        self.covered_hours().checked_div(self.running_hours)
    }

    /// What pays for its hours. `None` when nothing does.
    pub fn committed(&self) -> Option<CommittedHours> {
        let per_hour = |amount: Decimal| amount.checked_div(self.running_hours);
        let parts: Vec<CommittedPart> = self
            .parts
            .iter()
            .filter_map(|part| {
                Some(CommittedPart {
                    commitment: part.commitment.clone(),
                    option: if part.kind.is_reserved() {
                        PurchaseOption::Reserved
                    } else {
                        PurchaseOption::SavingsPlan
                    },
                    share: per_hour(part.hours)?,
                    hourly: Money::new(per_hour(part.cost.amount())?, part.cost.currency()),
                    end: Some(part.end),
                })
            })
            .collect();
        let uncovered_share = per_hour(self.uncovered_hours())?;
        (!parts.is_empty()).then_some(CommittedHours { uncovered_share, parts })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct CommitmentUse {
    pub id: String,
    pub kind: CommitmentKind,
    /// In words, such as `2 × p4d.24xlarge in us-east-1`.
    pub name: String,
    /// What it costs a month, used or not.
    pub monthly_cost: Money,
    /// Share of what was paid for that is used, 0–1 (RI
    /// utilization); absent for what is queued. Of a
    /// Compute Savings Plan a lower bound: what else it pays for is not seen.
    pub utilization: Option<Decimal>,
    /// Running hours of the instances that it can cover.
    pub eligible_hours: Decimal,
    /// Of these, the hours that it covers.
    pub covered_hours: Decimal,
    /// Paid a month for what was not used, rounded to cents; absent without
    /// utilization and for Compute Savings Plans.
    pub unused_monthly: Option<Money>,
    /// Instances that it may cover whose rate under it is not known, ascending:
    /// whether it covers them is not known.
    pub unrated: Vec<ResourceId>,
    /// First instant of the term: what is queued begins later.
    pub start: Timestamp,
    /// First instant after the term.
    pub end: Timestamp,
    /// Whole days until then, zero when it has ended.
    pub days_to_expiry: i64,
}

impl CommitmentUse {
    /// Share of the eligible running hours that it covers, 0–1 (RI coverage);
    /// absent when nothing eligible ran. Of a pool, divide the sums.
    pub fn coverage(&self) -> Option<Decimal> {
        self.covered_hours.checked_div(self.eligible_hours)
    }
}

/// What the commitments cover, and how well they are used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Coverage {
    /// Each instance, in the order given.
    pub instances: Vec<InstanceCoverage>,
    /// Each commitment, in the order of application.
    pub commitments: Vec<CommitmentUse>,
    /// The unused room of each capacity reservation, by id.
    pub rooms: Vec<Room>,
    /// What commitments cover beside the instances in scope: those out of it, and unused room.
    pub others: Vec<UsedInstance>,
}

impl Coverage {
    /// What is covered of an instance.
    pub fn of(&self, id: &ResourceId) -> Option<&InstanceCoverage> {
        self.instances.iter().find(|instance| instance.id == *id)
    }

    /// Share of the hours of a reservation's unused room that no commitment pays for,
    /// 0–1.
    pub fn uncovered_room(&self, room: &Room) -> Decimal {
        let covered = self.of(&room.id()).and_then(InstanceCoverage::covered_share);
        Decimal::ONE - covered.unwrap_or_default()
    }

    /// What a commitment pays a month for room that nothing runs in, by what these
    /// hours cost under it in the window, unrounded.
    pub fn room_monthly(&self, commitment: &str, window: Window, policy: &Policy) -> Decimal {
        let rooms = self.instances.iter().filter(|instance| instance.id.as_str().contains('#'));
        let cost: Decimal = rooms
            .flat_map(|room| &room.parts)
            .filter(|part| part.commitment == commitment)
            .map(|part| part.cost.amount())
            .sum();
        let hours = Decimal::from(window.seconds()) / Decimal::from(HOUR_SECONDS);
        (cost * policy.hours_per_month).checked_div(hours).unwrap_or_default()
    }
}

/// What the commitments of an estate cover of its hours and of the room that its
/// capacity reservations hold; nothing is measured where there are none. A commitment counts as
/// it stands at the instant of the estate: over the whole window, however young it is, and not
/// at all where it has ended or has not begun.
pub fn existing_coverage(
    (estate, usage): (&Estate, &Usages),
    prices: &Prices<'_>,
    policy: &Policy,
    standing: &Standing,
) -> Coverage {
    let owned = &estate.commitments;
    let rooms = Room::all_of((estate, usage));
    if owned.reserved_instances.is_empty() && owned.savings_plans.is_empty() {
        return Coverage { rooms, ..Coverage::default() };
    }
    let mut instances = used_instances((estate, usage), prices, standing);
    let billed = rooms.iter().filter(|room| !room.reservation.capacity_block);
    instances.extend(billed.map(|room| {
        let account = room.reservation.account.as_deref();
        hours::room_of(room, account, prices)
    }));
    let hours = hours::hours_of_window(estate);
    let covered = coverage(&instances, owned, hours, estate.as_of, policy);
    let in_scope: BTreeSet<&ResourceId> =
        estate.instances.iter().map(|instance| &instance.id).collect();
    instances.retain(|instance| !in_scope.contains(&instance.id));
    Coverage { rooms, others: instances, ..covered }
}

/// What the commitments that are active at an instant cover of so many hours of instances. Every
/// hour of an instance is covered at most once, and no commitment covers more than it has.
/// Among instances, size-flexible reserved instances cover the smallest first
/// and savings plans those that save the most, as AWS does; of equals those that run longest.
pub fn coverage(
    instances: &[UsedInstance],
    commitments: &Commitments,
    hours: usize,
    as_of: Timestamp,
    policy: &Policy,
) -> Coverage {
    let lasting = pool::pools(commitments, instances, |_, end| as_of < end);
    let (pools, queued): (Vec<Pool>, Vec<Pool>) =
        lasting.into_iter().partition(|pool| pool.start <= as_of);
    let running: Vec<&[u64]> = instances.iter().map(|instance| instance.hours.as_slice()).collect();
    let Applied { tallies, uncovered, .. } = Applied::of(&pools, &running, hours);
    let mut covered: Vec<Vec<CoveredPart>> = vec![Vec::new(); instances.len()];
    for (pool, tally) in pools.iter().zip(&tallies) {
        for (index, hours, units) in tally.shares(pool) {
            covered[index].push(CoveredPart {
                commitment: pool.id.clone(),
                kind: pool.kind,
                hours,
                cost: Money::new(units * pool.unit_cost, pool.currency),
                end: pool.end,
            });
        }
    }
    Coverage {
        instances: instances
            .iter()
            .zip(covered)
            .zip(uncovered)
            .map(|((instance, parts), uncovered)| InstanceCoverage {
                id: instance.id.clone(),
                running_hours: pool_instances(instance.hours.iter().sum()),
                parts,
                uncovered,
            })
            .collect(),
        commitments: pools
            .into_iter()
            .zip(tallies)
            .map(|(pool, tally)| tally.used(pool, hours, as_of, policy))
            .chain(queued.into_iter().map(|pool| Tally::default().used(pool, 0, as_of, policy)))
            .collect(),
        rooms: Vec::new(),
        others: Vec::new(),
    }
}

/// Commitments applied to hours.
struct Applied {
    /// What each commitment gave, in their order.
    tallies: Vec<Tally>,
    /// How much of each hour of each instance nothing covers, in billionths.
    uncovered: Vec<Vec<u64>>,
    /// Hours of each instance that something covers.
    covered: Vec<Decimal>,
}

impl Applied {
    /// Hours that are alike are applied once.
    fn of(pools: &[Pool], running: &[&[u64]], hours: usize) -> Self {
        let mut tallies: Vec<Tally> = pools.iter().map(|_| Tally::default()).collect();
        let mut uncovered: Vec<Vec<u64>> =
            running.iter().map(|instance| instance.to_vec()).collect();
        let mut covered = vec![Decimal::ZERO; running.len()];
        for alike in alike_hours(running, hours) {
            let weight = Decimal::from(alike.len());
            let ran = |instance: &&[u64]| instance.get(alike[0]).copied().unwrap_or(0);
            let ran: Vec<Decimal> =
                running.iter().map(|instance| pool_instances(ran(instance))).collect();
            let mut open = ran.clone();
            for (pools, tallies) in kinds(pools, &mut tallies) {
                for of_others in [false, true] {
                    for (pool, tally) in pools.iter().zip(&mut *tallies) {
                        tally.apply((pool, of_others), weight, &ran, &mut open);
                    }
                }
            }
            for (place, (ran, open)) in ran.iter().zip(&open).enumerate() {
                if ran != open {
                    covered[place] += (ran - open) * weight;
                    let left = (open * Decimal::from(INSTANCE)).floor().to_u64();
                    for hour in &alike {
                        uncovered[place][*hour] = left.unwrap_or(0);
                    }
                }
            }
        }
        Self { tallies, uncovered, covered }
    }
}

/// The hours of a window in sets in which all instances run alike.
fn alike_hours(running: &[&[u64]], hours: usize) -> Vec<Vec<usize>> {
    let ran = |instance: &[u64], hour: usize| instance.get(hour).copied().unwrap_or(0);
    let mut sets: BTreeMap<u64, Vec<Vec<usize>>> = BTreeMap::new();
    for hour in 0..hours {
        let mut hasher = DefaultHasher::new();
        for instance in running {
            hasher.write_u64(ran(instance, hour));
        }
        let sets = sets.entry(hasher.finish()).or_default();
        let is_alike = |set: &&mut Vec<usize>| {
            let first = set[0];
            running.iter().all(|instance| ran(instance, first) == ran(instance, hour))
        };
        match sets.iter_mut().find(is_alike) {
            Some(set) => set.push(hour),
            None => sets.push(vec![hour]),
        }
    }
    sets.into_values().flatten().collect()
}

/// Commitments of one kind at a time, with what they gave so far.
fn kinds<'a>(pools: &'a [Pool], tallies: &'a mut [Tally]) -> Vec<(&'a [Pool], &'a mut [Tally])> {
    let mut rest = tallies;
    let mut groups = Vec::new();
    for of_kind in pools.chunk_by(|left, right| left.kind == right.kind) {
        let (own, others) = std::mem::take(&mut rest).split_at_mut(of_kind.len());
        groups.push((of_kind, own));
        rest = others;
    }
    groups
}

/// What one commitment gave so far.
#[derive(Debug, Default)]
struct Tally {
    /// Hours and units by position in the pool's members.
    given: Vec<(Decimal, Decimal)>,
    /// What is left of the hour at hand.
    left: Decimal,
    used: Decimal,
    eligible_hours: Decimal,
}

impl Tally {
    /// Gives hours that are alike, so many of them, of a commitment to its members in their
    /// order: to those of its own account, and then what is left to those of others.
    fn apply(
        &mut self,
        (pool, of_others): (&Pool, bool),
        weight: Decimal,
        ran: &[Decimal],
        open: &mut [Decimal],
    ) {
        if !of_others {
            self.given.resize(pool.members.len(), Default::default());
            self.left = pool.units;
        }
        let members = pool.members.iter().zip(&mut self.given);
        for (member, given) in members.filter(|(member, _)| member.is_of_other == of_others) {
            self.eligible_hours += ran[member.instance] * weight;
            let open = &mut open[member.instance];
            if open.is_zero() || self.left.is_zero() {
                continue;
            }
            let needed = *open * member.units_per_hour;
            let taken = needed.min(self.left);
            // What is needed in full leaves no rounding behind.
            let share =
                if taken == needed { *open } else { (taken / member.units_per_hour).min(*open) };
            *open -= share;
            self.left -= taken;
            self.used += taken * weight;
            given.0 += share * weight;
            given.1 += taken * weight;
        }
    }

    /// Position among the instances, hours and units of everything given.
    fn shares<'a>(
        &'a self,
        pool: &'a Pool,
    ) -> impl Iterator<Item = (usize, Decimal, Decimal)> + 'a {
        pool.members
            .iter()
            .zip(&self.given)
            .filter(|(_, (hours, _))| !hours.is_zero())
            .map(|(member, (hours, units))| (member.instance, *hours, *units))
    }

    fn used(self, pool: Pool, hours: usize, as_of: Timestamp, policy: &Policy) -> CommitmentUse {
        let hourly = pool.units * pool.unit_cost;
        let monthly_cost = Money::new(hourly * policy.hours_per_month, pool.currency);
        let available = pool.units * Decimal::from(hours);
        let utilization = self.used.checked_div(available);
        // What a plan pays for instances whose rates are not known is not seen either.
        let sees_all = pool.kind != CommitmentKind::ComputeSavingsPlan && pool.unrated.is_empty();
        CommitmentUse {
            id: pool.id,
            kind: pool.kind,
            unused_monthly: utilization.filter(|_| sees_all).map(|used| {
                let unused = monthly_cost.amount() * (Decimal::ONE - used);
                Money::new(unused, pool.currency).rounded()
            }),
            monthly_cost: monthly_cost.rounded(),
            utilization,
            eligible_hours: self.eligible_hours,
            covered_hours: self.given.iter().map(|(hours, _)| *hours).sum(),
            unrated: pool.unrated,
            start: pool.start,
            end: pool.end,
            days_to_expiry: ((pool.end.as_second() - as_of.as_second()) / DAY_SECONDS).max(0),
            name: pool.name,
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use super::pool::{INSTANCE, instances as pool_instances};
use crate::catalog::Prices;
use crate::domain::{
    Commitments, CommittedHours, CommittedPart, DAY_SECONDS, HOUR_SECONDS, Money, Policy,
    PurchaseOption, ResourceId, Window,
};
use crate::usage::{Estate, Usages};
pub use fleet::{Class, Existing, OtherHours, Slot};
pub(super) use fleet::{Fleet, Joined, Layer, OpenPool, ZonalReservation};
use hours::used_instances;
pub use hours::{Figures, Room, Standing, UsedInstance, commitment_rates};
use jiff::Timestamp;
use pool::Pool;
pub use pool::{CommitmentKind, covers_other_sizes, normalization_factor};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};
