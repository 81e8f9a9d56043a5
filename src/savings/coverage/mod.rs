//! What the commitments that an account has cover, hour by hour, in the order
//! in which AWS applies them: zonal reserved instances, regional ones, EC2
//! Instance Savings Plans, Compute Savings Plans; of one kind by id. Of one kind, each
//! covers its own account first, and what is left then covers the others.

mod hours;
mod pool;
mod room;

pub use hours::{UsedInstance, used_instances};
pub use pool::{CommitmentKind, normalization_factor};
pub use room::Room;

use crate::catalog::Prices;
use crate::domain::{
    Commitments, CommittedHours, CommittedPart, DAY_SECONDS, HOUR_SECONDS, Money, Policy,
    PurchaseOption, ResourceId, Window,
};
use crate::usage::Estate;
use jiff::Timestamp;
use pool::Pool;
use rust_decimal::Decimal;

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
    /// Hours of the window in which it ran.
    pub running_hours: Decimal,
    /// By whom, in the order of application.
    pub parts: Vec<CoveredPart>,
    /// Of every hour of the window the share that it ran and nothing covers,
    /// 0–1: what is left to buy for, and what stopping it would save.
    pub uncovered: Vec<Decimal>,
}

impl InstanceCoverage {
    pub fn covered_hours(&self) -> Decimal {
        self.parts.iter().map(|part| part.hours).sum()
    }

    /// Hours that it ran and nothing covers.
    pub fn uncovered_hours(&self) -> Decimal {
        self.uncovered.iter().sum()
    }

    /// Share of its running hours that is covered, 0–1; absent when it did not
    /// run.
    pub fn covered_share(&self) -> Option<Decimal> {
        (self.running_hours - self.uncovered_hours()).checked_div(self.running_hours)
    }

    /// What pays for its hours from an instant on: hours of the window under a
    /// commitment that has ended by then cost the on-demand price again. `None`
    /// when nothing pays for any.
    pub fn committed(&self, as_of: Timestamp) -> Option<CommittedHours> {
        let (live, ended): (Vec<_>, Vec<_>) = self.parts.iter().partition(|one| one.end > as_of);
        let open: Decimal = ended.iter().map(|part| part.hours).sum();
        let per_hour = |amount: Decimal| amount.checked_div(self.running_hours);
        let parts: Vec<CommittedPart> = live
            .into_iter()
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
        let uncovered_share = per_hour(self.uncovered_hours() + open)?;
        (!parts.is_empty()).then_some(CommittedHours {
            uncovered_share,
            parts,
        })
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
    /// Share of what was paid for in the window that was used, 0–1 (RI
    /// utilization); absent when its term does not overlap the window. Of a
    /// Compute Savings Plan a lower bound: what else it pays for is not seen.
    pub utilization: Option<Decimal>,
    /// Running hours in its term of the instances that it can cover.
    pub eligible_hours: Decimal,
    /// Of these, the hours that it covers.
    pub covered_hours: Decimal,
    /// Paid a month for what was not used, rounded to cents; absent without
    /// utilization and for Compute Savings Plans.
    pub unused_monthly: Option<Money>,
    /// Instances that it may cover whose rate under it is not known, ascending:
    /// whether it covers them is not known.
    pub unrated: Vec<ResourceId>,
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
}

impl Coverage {
    /// What is covered of an instance.
    pub fn of(&self, id: &ResourceId) -> Option<&InstanceCoverage> {
        self.instances.iter().find(|one| one.id == *id)
    }

    /// Share of the hours of a reservation's unused room that no commitment pays for,
    /// 0–1.
    pub fn uncovered_room(&self, room: &Room) -> Decimal {
        let prefix = format!("{}#", room.reservation.id);
        let slots = self.instances.iter();
        let (running, uncovered) = slots
            .filter(|slot| slot.id.as_str().starts_with(&prefix))
            .fold((Decimal::ZERO, Decimal::ZERO), |(all, open), slot| {
                (all + slot.running_hours, open + slot.uncovered_hours())
            });
        uncovered.checked_div(running).unwrap_or(Decimal::ONE)
    }

    /// What a commitment pays a month for room that nothing runs in, by what these
    /// hours cost under it in the window, unrounded.
    pub fn room_monthly(&self, commitment: &str, window: Window, policy: &Policy) -> Decimal {
        let rooms = self
            .instances
            .iter()
            .filter(|one| one.id.as_str().contains('#'));
        let cost: Decimal = rooms
            .flat_map(|one| &one.parts)
            .filter(|part| part.commitment == commitment)
            .map(|part| part.cost.amount())
            .sum();
        let hours = Decimal::from(window.seconds()) / Decimal::from(HOUR_SECONDS);
        (cost * policy.hours_per_month)
            .checked_div(hours)
            .unwrap_or_default()
    }
}

/// What the commitments of an estate cover of its hours and of the room that its
/// capacity reservations hold; nothing is measured where there are none.
pub fn existing_coverage(estate: &Estate, prices: &Prices<'_>, policy: &Policy) -> Coverage {
    let owned = &estate.commitments;
    let rooms = Room::all_of(estate);
    if owned.reserved_instances.is_empty() && owned.savings_plans.is_empty() {
        return Coverage {
            rooms,
            ..Coverage::default()
        };
    }
    let mut instances = used_instances(estate, prices);
    let billed = rooms.iter().filter(|room| !room.reservation.capacity_block);
    instances.extend(billed.flat_map(|room| {
        let account = owned.owner(&room.reservation.id);
        hours::room_of(room, account, prices)
    }));
    Coverage {
        rooms,
        ..coverage(&instances, owned, estate.window, estate.as_of, policy)
    }
}

/// What the commitments cover of the hours that instances ran. Every hour of an
/// instance is covered at most once, and no commitment covers more than it has.
/// Among instances, size-flexible reserved instances cover the smallest first
/// and savings plans those that save the most, as AWS does; ties by id.
pub fn coverage(
    instances: &[UsedInstance],
    commitments: &Commitments,
    window: Window,
    as_of: Timestamp,
    policy: &Policy,
) -> Coverage {
    let hours = instances
        .iter()
        .map(|one| one.running.len())
        .max()
        .unwrap_or_default();
    let pools = pool::pools(commitments, instances);
    let mut uncovered: Vec<Vec<Decimal>> = instances
        .iter()
        .map(|one| {
            let running = one.running.iter().map(|ran| Decimal::from(u8::from(*ran)));
            running.collect()
        })
        .collect();
    let mut tallies: Vec<Tally> = pools.iter().map(|_| Tally::default()).collect();
    // With no instance at all the hours of the window are paid for still.
    let hours = hours.max((window.seconds() / HOUR_SECONDS).max(0) as usize);
    for hour in 0..hours {
        let begin = window.start.as_second() + hour as i64 * HOUR_SECONDS;
        for (pools, tallies) in kinds(&pools, &mut tallies) {
            for of_others in [false, true] {
                for (pool, tally) in pools.iter().zip(&mut *tallies) {
                    if pool.start.as_second() <= begin && begin < pool.end.as_second() {
                        tally.apply((pool, of_others), hour, instances, &mut uncovered);
                    }
                }
            }
        }
    }
    let mut covered: Vec<Vec<CoveredPart>> = vec![Vec::new(); instances.len()];
    for (pool, tally) in pools.iter().zip(&tallies) {
        for (index, hours, units) in tally.shares(pool) {
            covered[index].push(CoveredPart {
                commitment: pool.id.to_owned(),
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
            .map(|((one, parts), uncovered)| InstanceCoverage {
                id: one.id.clone(),
                running_hours: Decimal::from(one.running.iter().filter(|ran| **ran).count()),
                parts,
                uncovered,
            })
            .collect(),
        commitments: pools
            .into_iter()
            .zip(tallies)
            .map(|(pool, tally)| tally.used(pool, as_of, policy))
            .collect(),
        rooms: Vec::new(),
    }
}

/// Commitments of one kind at a time, with what they gave so far.
fn kinds<'a, 'b>(
    pools: &'b [Pool<'a>],
    tallies: &'b mut [Tally],
) -> Vec<(&'b [Pool<'a>], &'b mut [Tally])> {
    let mut rest = tallies;
    let mut all = Vec::new();
    for of_kind in pools.chunk_by(|left, right| left.kind == right.kind) {
        let (own, others) = std::mem::take(&mut rest).split_at_mut(of_kind.len());
        all.push((of_kind, own));
        rest = others;
    }
    all
}

/// What one commitment gave so far.
#[derive(Debug, Default)]
struct Tally {
    /// Hours and units by position in the pool's members.
    given: Vec<(Decimal, Decimal)>,
    /// What is left of the hour at hand.
    left: Decimal,
    available: Decimal,
    used: Decimal,
    eligible_hours: Decimal,
}

impl Tally {
    /// Gives one hour of a commitment to its members in their order: to those of its own
    /// account, and then what is left to those of others.
    fn apply(
        &mut self,
        (pool, of_others): (&Pool<'_>, bool),
        hour: usize,
        instances: &[UsedInstance],
        uncovered: &mut [Vec<Decimal>],
    ) {
        if !of_others {
            self.given.resize(pool.members.len(), Default::default());
            self.available += pool.units;
            self.left = pool.units;
        }
        let members = pool.members.iter().zip(&mut self.given);
        for (member, given) in members.filter(|(one, _)| one.is_of_other == of_others) {
            let ran = instances[member.instance].running.get(hour);
            if ran != Some(&true) {
                continue;
            }
            self.eligible_hours += Decimal::ONE;
            let open = &mut uncovered[member.instance][hour];
            let needed = *open * member.units_per_hour;
            if needed.is_zero() || self.left.is_zero() {
                continue;
            }
            let taken = needed.min(self.left);
            // What is needed in full leaves no rounding behind.
            let share = if taken == needed {
                *open
            } else {
                (taken / member.units_per_hour).min(*open)
            };
            *open -= share;
            self.left -= taken;
            self.used += taken;
            given.0 += share;
            given.1 += taken;
        }
    }

    /// Position among the instances, hours and units of everything given.
    fn shares<'a>(
        &'a self,
        pool: &'a Pool<'_>,
    ) -> impl Iterator<Item = (usize, Decimal, Decimal)> + 'a {
        pool.members
            .iter()
            .zip(&self.given)
            .filter(|(_, (hours, _))| !hours.is_zero())
            .map(|(member, (hours, units))| (member.instance, *hours, *units))
    }

    fn used(self, pool: Pool<'_>, as_of: Timestamp, policy: &Policy) -> CommitmentUse {
        let hourly = pool.units * pool.unit_cost;
        let monthly_cost = Money::new(hourly * policy.hours_per_month, pool.currency);
        let utilization = self.used.checked_div(self.available);
        // What a plan pays for instances whose rates are not known is not seen either.
        let sees_all = pool.kind != CommitmentKind::ComputeSavingsPlan && pool.unrated.is_empty();
        CommitmentUse {
            id: pool.id.to_owned(),
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
