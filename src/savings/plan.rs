//! One plan: at most one action of each kind a workload, each on what the one
//! before left, and commitments on what remains of all, so that no dollar counts
//! twice.
//!
//! Order: stop, else schedule, then right-size or share, then spot; then
//! commitments by pool. Stopped workloads release what stands.

use super::{ConcurrentUsage, PoolRates, SpotFigures, added_up, allocate};
use crate::domain::{Action, ActionKind, HourlyRate, Money, PriceKey, PriceOption, Risk, Target};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// How a workload runs at some point of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// The instance type.
    pub instance_type: String,
    /// How many instances.
    pub count: u32,
    /// Mean rate of one instance while it runs.
    pub hourly: HourlyRate,
    /// All of them per month, not rounded.
    pub monthly: Decimal,
}

/// Running only in the hours that are used.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleOffer {
    /// Share of today's hours that remain, 0–1.
    pub on_share: Decimal,
    /// Whether it runs in each of the hours that [`Committable::running`] counts.
    pub on: Vec<bool>,
    /// How much risk it carries.
    pub risk: Risk,
    /// In words, with its arithmetic.
    pub detail: String,
}

/// Another type or number of instances.
#[derive(Debug, Clone, PartialEq)]
pub struct ResizeOffer {
    /// [`ActionKind::Rightsize`] or [`ActionKind::Share`].
    pub kind: ActionKind,
    /// Where it leads.
    pub target: Target,
    /// Mean rate of one new instance.
    pub hourly: HourlyRate,
    /// All of them per month at today's running time, not rounded.
    pub monthly: Decimal,
    /// How much risk it carries.
    pub risk: Risk,
    /// In words, with its arithmetic.
    pub detail: String,
}

/// Buying one instance type on the spot market.
#[derive(Debug, Clone, PartialEq)]
pub struct SpotMarket {
    /// What an hour costs.
    pub hourly: HourlyRate,
    /// What an hour of work costs, interruptions included.
    pub effective_hourly: HourlyRate,
    /// The arithmetic behind it, for those who follow it; the plan does not.
    pub figures: Option<SpotFigures>,
    /// How much risk it carries.
    pub risk: Risk,
    /// In words, with its arithmetic.
    pub detail: String,
}

/// What could be done about one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Alternatives {
    /// What it costs per month today, in cents.
    pub cost: Money,
    /// How it runs today; absent when it does not.
    pub today: Option<Stage>,
    /// Stop it, or release what stands.
    pub end: Option<Action>,
    /// Run it only in the hours that are used.
    pub schedule: Option<ScheduleOffer>,
    /// Other types and numbers.
    pub resizes: Vec<ResizeOffer>,
    /// The spot market of today's type and of those it could move to.
    pub spot: BTreeMap<String, SpotMarket>,
    /// What a commitment would be sized by; absent when it may have none.
    pub committable: Option<Committable>,
}

/// Usage that a commitment may cover.
#[derive(Debug, Clone, PartialEq)]
pub struct Committable {
    /// The on-demand price of one instance of today's type.
    pub key: PriceKey,
    /// Instances that run in each hour until the end of the window, today; at least
    /// one hour.
    pub running: Vec<u32>,
}

/// A commitment that is sold for a type.
#[derive(Debug, Clone, PartialEq)]
pub struct TermOffer {
    /// What it is, such as `standard reserved instance, 1 year, no upfront`.
    pub name: String,
    /// What its price is of.
    pub option: PriceOption,
    /// Upfront spread over the term, per hour of the term.
    pub effective_hourly: HourlyRate,
    /// How much risk it carries.
    pub risk: Risk,
}

/// Commitments bought together for instances that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Purchase {
    /// The on-demand price that they replace.
    pub key: PriceKey,
    /// What is bought.
    pub term: TermOffer,
    /// How many.
    pub count: u32,
    /// The on-demand rate of one instance.
    pub on_demand_hourly: HourlyRate,
    /// The usage that it was sized by: what the pool runs after all other actions.
    pub usage: ConcurrentUsage,
    /// Saved per month, in cents; the sum of its parts.
    pub monthly_savings: Money,
}

/// What to do, by workload and by pool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The actions of each workload, in their order.
    pub actions: Vec<Vec<Action>>,
    /// Commitments, by what they cover.
    pub purchases: Vec<Purchase>,
}

/// What decides between alternatives.
pub struct Terms<'a> {
    /// The risk that the user accepts.
    pub accepted: Risk,
    /// Hours in a month.
    pub hours_per_month: Decimal,
    /// The commitments that are sold for an on-demand price, in order of
    /// preference among equals.
    pub commitments: &'a dyn Fn(&PriceKey) -> Vec<TermOffer>,
}

impl Terms<'_> {
    fn allows(&self, risk: Risk) -> bool {
        risk <= self.accepted
    }

    /// The cheapest commitment allowed.
    fn best_commitment(&self, key: &PriceKey) -> Option<TermOffer> {
        (self.commitments)(key)
            .into_iter()
            .filter(|offer| self.allows(offer.risk))
            .min_by_key(|offer| offer.effective_hourly.amount())
    }
}

/// Composes the plan.
pub fn plan(workloads: &[Alternatives], terms: &Terms<'_>) -> Plan {
    let paths: Vec<Path> = workloads.iter().map(|one| Path::of(one, terms)).collect();
    let mut actions: Vec<Vec<Action>> = paths.iter().map(|path| path.actions.clone()).collect();
    let mut pools: BTreeMap<PriceKey, Vec<usize>> = BTreeMap::new();
    for (index, path) in paths.iter().enumerate() {
        if let Some((key, _)) = &path.committable {
            pools.entry(key.clone()).or_default().push(index);
        }
    }
    let mut purchases = Vec::new();
    for (key, members) in pools {
        let Some(purchase) = purchase(&key, &members, &paths, terms) else {
            continue;
        };
        let weights: Vec<Decimal> = members
            .iter()
            .map(|index| paths[*index].left.amount())
            .collect();
        let parts = allocate(purchase.monthly_savings, &weights);
        for (index, part) in members.iter().zip(parts) {
            let detail = format!(
                "{} × {}, {}, at {}/h instead of {}/h in every hour: {} of the {} that they save",
                purchase.count,
                key.instance_type,
                purchase.term.name,
                purchase.term.effective_hourly.amount().normalize(),
                purchase.on_demand_hourly.amount().normalize(),
                part.amount(),
                purchase.monthly_savings.amount(),
            );
            actions[*index].extend(Action::saving(
                ActionKind::Commit,
                None,
                detail,
                part,
                paths[*index].left,
                purchase.term.risk,
            ));
        }
        purchases.push(purchase);
    }
    Plan { actions, purchases }
}

/// One workload on its way through the plan.
struct Path {
    actions: Vec<Action>,
    /// What is left of its cost, in cents.
    left: Money,
    /// The pool that it is part of, and instances by hour.
    committable: Option<(PriceKey, Vec<u32>)>,
    /// The rate of one instance at the end; absent when it does not run.
    hourly: Option<HourlyRate>,
}

impl Path {
    fn of(workload: &Alternatives, terms: &Terms<'_>) -> Self {
        let mut path = Self {
            actions: Vec::new(),
            left: workload.cost,
            committable: None,
            hourly: None,
        };
        if let Some(end) = workload.end.as_ref().filter(|end| terms.allows(end.risk())) {
            path.actions.push(end.clone());
            return path;
        }
        let Some(mut stage) = workload.today.clone() else {
            return path;
        };
        let schedule = workload
            .schedule
            .as_ref()
            .filter(|offer| terms.allows(offer.risk));
        let mut scheduled = false;
        if let Some(offer) = schedule {
            let monthly = stage.monthly * offer.on_share;
            scheduled = path.take(
                ActionKind::Schedule,
                None,
                &offer.detail,
                monthly,
                offer.risk,
            );
            if scheduled {
                stage.monthly = monthly;
            }
        }
        let remaining_share = schedule
            .filter(|_| scheduled)
            .map_or(Decimal::ONE, |offer| offer.on_share);
        let resize = workload
            .resizes
            .iter()
            .filter(|offer| terms.allows(offer.risk))
            .min_by(|left, right| {
                (left.monthly, left.kind, &left.target.instance_type).cmp(&(
                    right.monthly,
                    right.kind,
                    &right.target.instance_type,
                ))
            });
        let today_count = stage.count;
        if let Some(offer) = resize {
            let monthly = offer.monthly * remaining_share;
            let target = Some(offer.target.clone());
            if path.take(offer.kind, target, &offer.detail, monthly, offer.risk) {
                stage = Stage {
                    instance_type: offer.target.instance_type.clone(),
                    count: offer.target.count,
                    hourly: offer.hourly,
                    monthly,
                };
            }
        }
        let running = workload.committable.as_ref().map(|usage| {
            let key = usage.key.with_type(&stage.instance_type);
            let on = schedule.filter(|_| scheduled).map(|offer| &offer.on);
            let running: Vec<u32> = usage
                .running
                .iter()
                .enumerate()
                .map(|(hour, running)| {
                    let is_on = on.is_none_or(|on| on.get(hour).copied().unwrap_or(true));
                    if is_on {
                        (running * stage.count).div_ceil(today_count.max(1))
                    } else {
                        0
                    }
                })
                .collect();
            (key, running)
        });
        let market = workload
            .spot
            .get(&stage.instance_type)
            .filter(|market| terms.allows(market.risk));
        if let Some(market) = market {
            let committed = running.as_ref().and_then(|(key, running)| {
                committed_rate(&terms.best_commitment(key)?, running, stage.count)
            });
            let rate = market.effective_hourly.amount();
            let beats = committed.is_none_or(|committed| rate < committed);
            let monthly_at = |rate| stage.monthly * rate / stage.hourly.amount();
            let monthly = monthly_at(rate);
            if beats && path.take(ActionKind::Spot, None, &market.detail, monthly, market.risk) {
                path.set_aside(monthly_at(market.hourly.amount()));
                return path;
            }
        }
        path.hourly = Some(stage.hourly);
        path.committable = running;
        path
    }

    /// Takes an action that leaves a monthly cost, if it saves a cent.
    fn take(
        &mut self,
        kind: ActionKind,
        target: Option<Target>,
        detail: &str,
        monthly: Decimal,
        risk: Risk,
    ) -> bool {
        let after = Money::new(monthly, self.left.currency()).rounded();
        let action = self.left.checked_sub(after).ok().and_then(|saving| {
            Action::saving(kind, target, detail.to_owned(), saving, self.left, risk)
        });
        let Some(action) = action else {
            return false;
        };
        self.actions.push(action);
        self.left = after;
        true
    }

    /// Tells of the last action how much of what it leaves is for work that is lost
    /// and done again: all above what the hours by themselves cost.
    fn set_aside(&mut self, monthly_billed: Decimal) {
        let billed = Money::new(monthly_billed, self.left.currency()).rounded();
        if let (Some(action), Ok(lost_work)) =
            (self.actions.last_mut(), self.left.checked_sub(billed))
        {
            action.set_aside(lost_work);
        }
    }
}

/// What an hour of work would cost under a commitment for every instance, which
/// is paid in the hours in which it rests too. `None` when it never runs.
fn committed_rate(term: &TermOffer, running: &[u32], count: u32) -> Option<Decimal> {
    let worked: u64 = running.iter().map(|instances| u64::from(*instances)).sum();
    let paid = Decimal::from(running.len()) * Decimal::from(count);
    (term.effective_hourly.amount() * paid).checked_div(Decimal::from(worked))
}

/// The commitment that saves most on what a pool's workloads still run on demand.
fn purchase(
    key: &PriceKey,
    members: &[usize],
    paths: &[Path],
    terms: &Terms<'_>,
) -> Option<Purchase> {
    let first = &paths[*members.first()?];
    let on_demand = first.hourly?;
    let running: Vec<&[u32]> = members
        .iter()
        .filter_map(|index| Some(paths[*index].committable.as_ref()?.1.as_slice()))
        .collect();
    let usage = ConcurrentUsage::of(&added_up(&running));
    let (term, count, saving) = (terms.commitments)(key)
        .into_iter()
        .filter(|term| terms.allows(term.risk))
        .filter_map(|term| {
            let rates = PoolRates::new(on_demand, term.effective_hourly).ok()?;
            let count = rates.best_count(&usage);
            let saving = rates.monthly_savings(&usage, count, terms.hours_per_month);
            Some((term, count, saving.amount()))
        })
        // Of equals the first, in the order of preference.
        .reduce(|best, next| if next.2 > best.2 { next } else { best })?;
    let left: Decimal = members
        .iter()
        .map(|index| paths[*index].left.amount())
        .sum();
    let monthly_savings = Money::new(saving.min(left), first.left.currency()).rounded();
    (count > 0 && monthly_savings.amount() > Decimal::ZERO).then(|| Purchase {
        key: key.clone(),
        term,
        count,
        on_demand_hourly: on_demand,
        usage,
        monthly_savings,
    })
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
