//! What a plan chooses from, and what decides between it.

use super::pool::cents;
use super::{Class, Existing, Fewer};
use crate::domain::{
    Action, ActionKind, CommitmentPool, HourlyRate, Instalments, Money, Policy, PriceOption,
    ResourceId, Risk, Target,
};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One instance at some point of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct StageMember {
    /// Its rate while it runs.
    pub hourly: HourlyRate,
    /// What it costs per month, not rounded.
    pub monthly: Decimal,
}

/// How a workload runs at some point of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    pub instance_type: String,
    pub count: u32,
    /// What takes the place of each instance of today, in their order; of a group
    /// that moves to another number each is a share of one.
    pub members: Vec<StageMember>,
}

impl Stage {
    /// Mean rate of one instance while it runs; zero without any.
    pub fn per_instance(&self) -> Decimal {
        let rates = self.members.iter().map(|member| member.hourly.amount());
        rates.sum::<Decimal>().checked_div(Decimal::from(self.members.len())).unwrap_or_default()
    }

    /// All of them per month, not rounded.
    pub fn monthly(&self) -> Decimal {
        self.members.iter().map(|member| member.monthly).sum()
    }

    pub(super) fn in_share(&self, share: Decimal) -> Self {
        let mut less = self.clone();
        less.members.iter_mut().for_each(|member| member.monthly *= share);
        less
    }
}

/// An action before it is known what it saves.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub kind: ActionKind,
    /// Where it leads, when it changes type or number.
    pub target: Option<Target>,
    /// In words, with its arithmetic.
    pub detail: String,
    pub risk: Risk,
    /// What would stop an engineer, the gravest first.
    pub caveats: Vec<String>,
}

impl Step {
    /// That of an action, whatever it saves alone.
    pub(super) fn of(action: &Action) -> Self {
        Self {
            kind: action.kind(),
            target: action.target().cloned(),
            detail: action.detail().to_owned(),
            risk: action.risk(),
            caveats: action.caveats().to_vec(),
        }
    }
}

/// Running only in the hours that are used.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleOffer {
    pub step: Step,
    pub hours: ScheduledHours,
}

/// The hours that a schedule leaves on.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduledHours {
    /// Share of today's hours that remain, 0–1.
    pub on_share: Decimal,
    /// Whether it runs in each hour until the end of the window.
    pub on: Vec<bool>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ResizeOffer {
    /// Of [`ActionKind::Rightsize`] or [`ActionKind::Share`].
    pub step: Step,
    /// Where it leads, in today's hours and those that slower work takes more.
    pub to: Stage,
    /// What fewer instances run of today's hours; absent where their number stays.
    pub fewer: Option<Fewer>,
    /// How many times as long the work takes, at least 1.
    pub slowdown: f64,
    /// The hours that a schedule must leave on there, which slower work makes longer;
    /// absent where they are those of today.
    pub scheduled: Option<ScheduledHours>,
    /// What each costs per month around the clock's share of today, without those
    /// longer hours, not rounded: what a schedule takes its share of.
    pub monthly_at_todays_hours: Decimal,
    /// What comes before a commitment there.
    pub commit_after: CommitAfter,
}

impl ResizeOffer {
    /// Whether an action of a plan takes it.
    pub fn leads_to(&self, action: &Action) -> bool {
        self.step.kind == action.kind() && self.step.target.as_ref() == action.target()
    }

    /// Where it leads under a schedule, or without one.
    pub fn stage(&self, schedule: Option<&ScheduledHours>) -> Stage {
        let Some(schedule) = schedule else { return self.to.clone() };
        let hours = self.scheduled.as_ref().unwrap_or(schedule);
        let total = self.to.monthly();
        let share = (self.monthly_at_todays_hours * hours.on_share).checked_div(total);
        self.to.in_share(share.unwrap_or(Decimal::ONE))
    }
}

/// Buying one instance type on the spot market.
#[derive(Debug, Clone, PartialEq)]
pub struct SpotMarket {
    pub step: Step,
    pub hourly: HourlyRate,
    /// What an hour of work costs, interruptions included.
    pub effective_hourly: HourlyRate,
}

/// What could be done about one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Alternatives {
    /// The workload's id.
    pub id: String,
    /// What it costs per month today, in cents: with what commitments pay of it, and at list
    /// price.
    pub cost: Money,
    pub list: Money,
    /// How those of its instances run that nothing ends; absent when none does.
    pub today: Option<Stage>,
    /// Stop the idle ones, or release the storage of what has ended.
    pub end: Option<Action>,
    /// Run it only in the hours that are used.
    pub schedule: Option<ScheduleOffer>,
    /// Other types and numbers.
    pub resizes: Vec<ResizeOffer>,
    /// The spot market of today's type and of those it could move to.
    pub spot: BTreeMap<String, SpotMarket>,
    /// The members that commitments may cover.
    pub billed: Vec<BilledMember>,
    pub commit_after: CommitAfter,
}

/// What comes before a commitment of more than a year: on GPUs that are used too little it would
/// keep them for its term.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CommitAfter {
    /// Nothing: they are used enough.
    #[default]
    Nothing,
    /// They are off in their idle hours, or move.
    Schedule,
    /// They move to a smaller type, fewer instances or shared cards.
    Move,
}

impl CommitAfter {
    /// What makes GPUs of a mean utilization in percent used enough, where a schedule may leave
    /// a share of their hours.
    pub fn of(mean: f64, on_share: Option<Decimal>, policy: &Policy) -> Self {
        let is_used = |mean: f64| mean >= policy.overprovisioned_below_percent;
        let on_share = on_share.and_then(|share| share.to_f64());
        match on_share.map(|share| mean / share) {
            _ if is_used(mean) => Self::Nothing,
            Some(mean_when_on) if is_used(mean_when_on) => Self::Schedule,
            _ => Self::Move,
        }
    }
}

impl Alternatives {
    /// The longest term that may be bought for what stays, or moves by an offer, years: one where
    /// its GPUs are used too little; any where it is absent.
    pub fn most_years(&self, offer: Option<&ResizeOffer>, is_scheduled: bool) -> Option<u8> {
        match offer.map_or(self.commit_after, |offer| offer.commit_after) {
            CommitAfter::Nothing => None,
            CommitAfter::Schedule => (!is_scheduled).then_some(1),
            CommitAfter::Move => Some(1),
        }
    }

    /// The same of what stays: none where an offer that is allowed costs less than its stage.
    pub(super) fn most_years_here(
        &self,
        stage: &Stage,
        hours: Option<&ScheduledHours>,
        terms: &Terms<'_>,
    ) -> Option<u8> {
        let most = self.most_years(None, hours.is_some())?;
        let costs_less = self.resizes.iter().any(|offer| {
            let saved = stage.monthly() - offer.stage(hours).monthly();
            terms.allows(offer.step.risk) && cents(saved) > Decimal::ZERO
        });
        Some(if costs_less { 0 } else { most })
    }

    /// The same without some kinds of actions, and those of them that were offered.
    pub(super) fn without(&self, kinds: &BTreeSet<ActionKind>) -> (Self, BTreeSet<ActionKind>) {
        let mut kept = self.clone();
        let mut offered = BTreeSet::new();
        let mut rejects = |kind: ActionKind| {
            kinds.contains(&kind) && {
                offered.insert(kind);
                true
            }
        };
        kept.end = kept.end.filter(|end| !rejects(end.kind()));
        kept.schedule = kept.schedule.filter(|_| !rejects(ActionKind::Schedule));
        kept.resizes.retain(|offer| !rejects(offer.step.kind));
        kept.spot.retain(|_, _| !rejects(ActionKind::Spot));
        for member in kept.billed.iter_mut().filter(|member| member.is_sized) {
            member.is_sized = !rejects(ActionKind::Commit);
        }
        (kept, offered)
    }
}

/// A member that is billed by the hour unless a commitment covers it.
#[derive(Debug, Clone, PartialEq)]
pub struct BilledMember {
    pub id: ResourceId,
    /// Its place among the members of the stage; absent for one that no lever but a stop moves.
    pub place: Option<usize>,
    /// Whether the stop ends it.
    pub is_ended: bool,
    /// Whether a purchase may be sized by it.
    pub is_sized: bool,
    /// What commitments see of it with today's type, in its own system and tenancy.
    pub class: Class,
    /// How much of each hour it ran until the end of the window, in billionths, since
    /// it was first seen; at least one hour.
    pub seen: Arc<[u64]>,
    /// In which of these hours its GPUs are known to have rested.
    pub rested: Arc<[bool]>,
    /// At list price per month, unrounded.
    pub monthly: Decimal,
    /// What of that commitments leave open today.
    pub open_monthly: Decimal,
    pub hourly: HourlyRate,
    /// Whole years that it goes on running, by its tag; absent without one.
    pub most_years: Option<u8>,
}

impl BilledMember {
    /// What share of its cost commitments leave open today, 0–1.
    pub(super) fn open_share(&self) -> Decimal {
        self.open_monthly.checked_div(self.monthly).unwrap_or(Decimal::ONE)
    }
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
    /// How one of it is paid.
    pub instalments: Instalments,
    pub risk: Risk,
}

impl TermOffer {
    /// Years that it binds for; absent for what has no term.
    pub(super) fn years(&self) -> Option<u8> {
        match self.option {
            PriceOption::Reserved(term)
            | PriceOption::Ec2InstanceSavingsPlan(term)
            | PriceOption::ComputeSavingsPlan(term) => Some(term.years),
            PriceOption::OnDemand | PriceOption::Spot | PriceOption::CapacityBlock => None,
        }
    }
}

/// Why a plan leaves out what a lever offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// It carries more risk than the plan accepts.
    Risk(Risk),
    /// Another action takes its place and leaves less to pay.
    Instead(ActionKind),
    /// It saves nothing of what the actions before it leave.
    SavesNothing,
    /// A person decided against it.
    Rejected,
    /// Less risky actions reach the target of the plan.
    Target,
}

/// A share of today's cost that a plan is to save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavingsTarget {
    /// Of today's cost, above 0 and at most 100.
    pub percent: Decimal,
    /// The same per month, not rounded.
    pub monthly_savings: Money,
    /// The lowest risk whose plan reaches it, or the accepted one where none does.
    pub risk: Risk,
    /// How much less the plan saves per month; absent where it reaches the target.
    pub missing: Option<Money>,
}

/// Kinds of actions that a plan does without, by the ID of the workload.
pub type RejectedKinds = BTreeMap<String, BTreeSet<ActionKind>>;

/// What decides between alternatives.
pub struct Terms<'a> {
    pub accepted: Risk,
    pub hours_per_month: Decimal,
    /// Whole hours of the window, on which every pool is sized.
    pub window_hours: usize,
    /// The commitments that are sold for each of the [`commitment_pools`], in order of
    /// preference among equals.
    pub sold: &'a BTreeMap<CommitmentPool, Vec<TermOffer>>,
    pub rejected: &'a RejectedKinds,
    /// The commitments that stand.
    pub existing: &'a Existing,
}

/// The pools that a plan may buy commitments for, or that one that is there may cover: of every
/// instance on its type of today, and of those that may move on the types that they may move to.
pub fn commitment_pools(workloads: &[Alternatives]) -> BTreeSet<CommitmentPool> {
    let mut pools = BTreeSet::new();
    for workload in workloads {
        pools.extend(workload.billed.iter().map(|member| member.class.pool.clone()));
        let moves = workload.resizes.iter().map(|offer| &offer.to);
        for to in workload.today.iter().chain(moves) {
            let own = workload.billed.iter().filter(|member| member.place.is_some());
            pools.extend(own.map(|member| member.class.pool.with_type(&to.instance_type)));
        }
    }
    pools
}

impl Terms<'_> {
    pub(super) fn allows(&self, risk: Risk) -> bool {
        risk <= self.accepted
    }

    /// The commitments that are sold for a pool and allowed.
    pub(super) fn sold(&self, pool: &CommitmentPool) -> impl Iterator<Item = &TermOffer> {
        self.sold.get(pool).into_iter().flatten().filter(move |offer| self.allows(offer.risk))
    }

    /// The cheapest commitment allowed.
    pub(super) fn best_commitment(&self, pool: &CommitmentPool) -> Option<&TermOffer> {
        self.sold(pool).min_by_key(|offer| offer.effective_hourly.amount())
    }
}
