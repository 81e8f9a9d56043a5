//! One plan: at most one action of each kind a workload, each on what the one
//! before left, and commitments on what remains of all, so that no dollar counts
//! twice.
//!
//! Order: stop, else schedule, then right-size or share, then spot; then
//! commitments by pool. Stopped workloads release what stands.

use super::offers::{Alternatives, Terms};
use super::pool_members::{MemberHours, pooled_hours};
use super::purchase::{PoolMember, Pooled, Purchase, committed_rate, pooled, purchase};
use crate::domain::{Action, ActionKind, CommitmentPool, Money, Risk, Target};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Why a plan leaves out what a lever offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// It carries more risk than the plan accepts.
    Risk(Risk),
    /// Another action takes its place and leaves less to pay.
    Instead(ActionKind),
    /// It saves nothing of what the actions before it leave.
    SavesNothing,
    /// A person decided against it.
    Rejected,
}

/// What to do, by workload and by pool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The actions of each workload, in their order.
    pub actions: Vec<Vec<Action>>,
    /// What each workload is offered and the plan does without.
    pub left_out: Vec<BTreeMap<ActionKind, LeftOut>>,
    /// Commitments, by what they cover.
    pub purchases: Vec<Purchase>,
    /// What all other actions leave to commit to: how many instances of each pool run at
    /// once in each hour of the window, in billionths.
    pub pools: BTreeMap<CommitmentPool, Vec<u64>>,
}

pub fn plan(workloads: &[Alternatives], terms: &Terms<'_>) -> Plan {
    let paths = workloads.iter().map(|one| Path::wanted(one, terms));
    let paths: Vec<Path> = paths.collect();
    let mut pools: BTreeMap<CommitmentPool, Vec<PoolMember<'_>>> = BTreeMap::new();
    for (workload, path) in paths.iter().enumerate() {
        for member in &path.committable {
            let own = PoolMember {
                workload,
                id: &path.id,
                left: path.left.amount(),
                member,
            };
            pools.entry(member.pool.clone()).or_default().push(own);
        }
    }
    let mut committed: Vec<Vec<(Money, String, Risk)>> = vec![Vec::new(); paths.len()];
    let mut purchases = Vec::new();
    let mut left_to_commit = BTreeMap::new();
    for (pool, mut members) in pools {
        members.sort_by(|left, right| left.member.id.cmp(&right.member.id));
        let hours: Vec<MemberHours> = members.iter().map(|one| one.member.hours.clone()).collect();
        left_to_commit.insert(pool.clone(), pooled_hours(&hours, terms.window_hours));
        let Some(purchase) = purchase(&pool, &members, terms) else {
            continue;
        };
        for share in &purchase.shares {
            let detail = format!(
                "{} × {}, {}, at {}/h instead of {}/h in every hour: {} of the {} saved",
                purchase.count,
                pool.key.instance_type,
                purchase.what(),
                purchase.term.effective_hourly.amount().normalize(),
                purchase.on_demand_hourly.amount().normalize(),
                share.monthly_savings.amount(),
                purchase.monthly_savings.amount(),
            );
            committed[share.workload].push((share.monthly_savings, detail, purchase.term.risk));
        }
        purchases.push(purchase);
    }
    let (actions, left_out) = paths
        .into_iter()
        .zip(committed)
        .map(|(path, committed)| path.with_commitments(committed))
        .unzip();
    Plan {
        actions,
        left_out,
        purchases,
        pools: left_to_commit,
    }
}

/// One workload on its way through the plan.
struct Path {
    id: String,
    actions: Vec<Action>,
    /// What is offered and not taken.
    left_out: BTreeMap<ActionKind, LeftOut>,
    /// What is left of its cost, in cents.
    left: Money,
    /// The instances that are parts of pools.
    committable: Vec<Pooled>,
}

impl Path {
    /// Without what is rejected.
    fn wanted(workload: &Alternatives, terms: &Terms<'_>) -> Self {
        let Some(kinds) = terms.rejected.get(&workload.id) else {
            return Self::of(workload, terms);
        };
        let (kept, rejected) = workload.without(kinds);
        let mut path = Self::of(&kept, terms);
        let rejected = rejected.into_iter();
        path.left_out
            .extend(rejected.map(|kind| (kind, LeftOut::Rejected)));
        path
    }

    fn of(workload: &Alternatives, terms: &Terms<'_>) -> Self {
        let mut path = Self {
            id: workload.id.clone(),
            actions: Vec::new(),
            left_out: BTreeMap::new(),
            left: workload.cost,
            committable: Vec::new(),
        };
        match &workload.end {
            Some(end) if terms.allows(end.risk()) => {
                let left = path.left.amount() - end.monthly_savings().amount();
                path.left = Money::new(left, path.left.currency());
                path.actions.push(end.clone());
            }
            Some(end) => path.leave(end.kind(), end.risk(), terms),
            None => {}
        }
        let Some(today) = workload.today.clone() else {
            return path;
        };
        // What is left beside those that stay without a lever of their own.
        let others = path.left.amount() - cents(today.monthly());
        let mut stage = today;
        let schedule = workload
            .schedule
            .as_ref()
            .filter(|offer| terms.allows(offer.risk))
            .filter(|offer| {
                let less = stage.in_share(offer.hours.on_share);
                path.take(
                    Step {
                        kind: ActionKind::Schedule,
                        target: None,
                        detail: &offer.detail,
                        risk: offer.risk,
                        caveats: &offer.caveats,
                    },
                    others + less.monthly(),
                )
            });
        if let (None, Some(offer)) = (schedule, &workload.schedule) {
            path.leave(ActionKind::Schedule, offer.risk, terms);
        }
        let hours = schedule.map(|offer| &offer.hours);
        if let Some(hours) = hours {
            stage = stage.in_share(hours.on_share);
        }
        let mut slowdown = 1.0;
        let mut fewer = None;
        let mut on = hours;
        let mut resized = None;
        let resize = workload
            .resizes
            .iter()
            .filter(|offer| terms.allows(offer.risk))
            .map(|offer| (offer, offer.stage(hours)))
            .min_by_key(|(offer, to)| (to.monthly(), offer.kind, to.instance_type.clone()));
        if let Some((offer, to)) = resize {
            let step = Step {
                kind: offer.kind,
                target: Some(offer.target()),
                detail: &offer.detail,
                risk: offer.risk,
                caveats: &offer.caveats,
            };
            if path.take(step, others + to.monthly()) {
                stage = to;
                slowdown = offer.slowdown;
                fewer = offer.fewer.as_ref();
                on = hours.map(|hours| offer.scheduled.as_ref().unwrap_or(hours));
                resized = Some(offer.kind);
            }
        }
        path.leave_resizes(workload, resized, terms);
        let pooled = pooled(workload, &stage, on, slowdown, fewer);
        let market = workload.spot.get(&stage.instance_type);
        if let Some(market) = market.filter(|market| terms.allows(market.risk)) {
            let committed = pooled.first().and_then(|first| {
                committed_rate(terms.best_commitment(&first.pool)?, &pooled, &stage, terms)
            });
            let rate = market.effective_hourly.amount();
            let beats = committed.is_none_or(|committed| rate < committed);
            let monthly_at = |rate: Decimal| {
                let monthly = (stage.monthly() * rate).checked_div(stage.per_instance());
                others + monthly.unwrap_or(stage.monthly())
            };
            let step = Step {
                kind: ActionKind::Spot,
                target: None,
                detail: &market.detail,
                risk: market.risk,
                caveats: &market.caveats,
            };
            if beats && path.take(step, monthly_at(rate)) {
                path.set_aside(monthly_at(market.hourly.amount()));
                if !pooled.is_empty() {
                    let instead = LeftOut::Instead(ActionKind::Spot);
                    path.left_out.insert(ActionKind::Commit, instead);
                }
                return path;
            }
            let why = if beats {
                LeftOut::SavesNothing
            } else {
                LeftOut::Instead(ActionKind::Commit)
            };
            path.left_out.insert(ActionKind::Spot, why);
        } else if let Some(market) = market {
            path.leave(ActionKind::Spot, market.risk, terms);
        }
        path.committable = pooled;
        path.leave_commitments(terms);
        path
    }

    /// Notes an offer that is not taken: it carries too much risk, or saves nothing.
    fn leave(&mut self, kind: ActionKind, risk: Risk, terms: &Terms<'_>) {
        let why = if terms.allows(risk) {
            LeftOut::SavesNothing
        } else {
            LeftOut::Risk(risk)
        };
        self.left_out.insert(kind, why);
    }

    /// Notes the types and numbers that are not taken, beside the kind that is.
    fn leave_resizes(
        &mut self,
        workload: &Alternatives,
        taken: Option<ActionKind>,
        terms: &Terms<'_>,
    ) {
        let others = workload.resizes.iter();
        for offer in others.filter(|offer| Some(offer.kind) != taken) {
            match taken {
                Some(kind) if terms.allows(offer.risk) => {
                    self.left_out.insert(offer.kind, LeftOut::Instead(kind));
                }
                _ => self.leave(offer.kind, offer.risk, terms),
            }
        }
    }

    /// Notes that nothing is bought ahead, until something is.
    fn leave_commitments(&mut self, terms: &Terms<'_>) {
        if self.committable.is_empty() {
            return;
        }
        let pooled = self.committable.iter();
        let sold = pooled.filter_map(|one| terms.sold.get(&one.pool)).flatten();
        let why = match sold.map(|offer| offer.risk).min() {
            Some(least) if !terms.allows(least) => LeftOut::Risk(least),
            _ => LeftOut::SavesNothing,
        };
        self.left_out.insert(ActionKind::Commit, why);
    }

    /// Takes an action that leaves a monthly cost, if it saves a cent.
    fn take(&mut self, step: Step<'_>, monthly: Decimal) -> bool {
        let after = Money::new(monthly, self.left.currency()).rounded();
        let action = self.left.checked_sub(after).ok().and_then(|saving| {
            Action::saving(
                step.kind,
                step.target,
                step.detail.to_owned(),
                saving,
                self.left,
                step.risk,
            )
        });
        let Some(action) = action else {
            return false;
        };
        self.actions
            .push(action.with_caveats(step.caveats.to_vec()));
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

    /// One action for its parts in all pools, and what is left out of all that is offered.
    fn with_commitments(
        mut self,
        parts: Vec<(Money, String, Risk)>,
    ) -> (Vec<Action>, BTreeMap<ActionKind, LeftOut>) {
        let saved: Decimal = parts.iter().map(|(saving, _, _)| saving.amount()).sum();
        let details: Vec<String> = parts.iter().map(|(_, detail, _)| detail.clone()).collect();
        let risk = parts.iter().map(|(_, _, risk)| *risk).max();
        let action = risk.and_then(|risk| {
            Action::saving(
                ActionKind::Commit,
                None,
                details.join("; "),
                Money::new(saved, self.left.currency()),
                self.left,
                risk,
            )
        });
        if action.is_some() {
            self.left_out.remove(&ActionKind::Commit);
        }
        self.actions.extend(action);
        (self.actions, self.left_out)
    }
}

/// An action before its saving is known.
struct Step<'a> {
    kind: ActionKind,
    target: Option<Target>,
    detail: &'a str,
    risk: Risk,
    caveats: &'a [String],
}

fn cents(amount: Decimal) -> Decimal {
    amount.round_dp_with_strategy(2, rust_decimal::RoundingStrategy::MidpointAwayFromZero)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
