//! One workload on its way through a plan: at most one action of each kind, each on what the one
//! before left.

use super::coverage::Slot;
use super::offers::{Alternatives, ResizeOffer, ScheduledHours, SkipReason, Stage, Step, Terms};
use super::pool::{allocate, cents};
use super::purchase::{Course, committed_rate, slots};
use crate::domain::{Action, ActionKind, Money, Risk};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Which of the offers a path takes, as far as each saves at list price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    pub ends: bool,
    pub schedules: bool,
    /// The place among the resizes.
    pub resize: Option<usize>,
    pub spot: bool,
}

/// The places of the stages of a path: of today, and after each of its steps.
pub(super) const TODAY: usize = 0;
pub(super) const ENDED: usize = 1;
pub(super) const SCHEDULED: usize = 2;
pub(super) const RESIZED: usize = 3;
pub(super) const LAST: usize = 4;

/// One workload on its way through the plan, at list price.
#[derive(Debug, Clone)]
pub(super) struct Path {
    pub id: String,
    pub choice: Choice,
    pub actions: Vec<Action>,
    /// What is offered and not taken.
    pub skipped: BTreeMap<ActionKind, SkipReason>,
    /// What is left of its list price, in cents.
    pub left: Money,
    /// The members that commitments may cover, after each step.
    pub stages: [Vec<Slot>; LAST + 1],
}

impl Choice {
    /// Everything stays as it is.
    pub const NOTHING: Self = Self { ends: false, schedules: false, resize: None, spot: false };

    /// Everything that is worth trying about a workload: each of the types and numbers, and
    /// none. A stop or a schedule is done without only where commitments
    /// are there, which are paid whatever ends.
    pub fn variants(workload: &Alternatives, terms: &Terms<'_>, is_touched: bool) -> Vec<Self> {
        let either = |is_offered: bool| match (is_offered, is_touched) {
            (true, true) => vec![true, false],
            (is_offered, _) => vec![is_offered],
        };
        let end = workload.end.as_ref();
        let end = end.filter(|end| terms.allows(end.risk()));
        let ends = match end.map(Action::kind) {
            Some(ActionKind::Stop) => either(true),
            other => vec![other.is_some()],
        };
        let schedule = workload.schedule.as_ref().filter(|offer| terms.allows(offer.step.risk));
        let hours = schedule.map(|offer| &offer.hours);
        let mut resizes: Vec<Option<usize>> =
            ranked(workload, hours, terms).into_iter().map(Some).collect();
        resizes.push(None);
        let has_spot = workload.spot.values().any(|market| terms.allows(market.step.risk));
        let spots = if has_spot { vec![true, false] } else { vec![false] };
        let mut variants = Vec::new();
        for ends in ends {
            for schedules in either(schedule.is_some()) {
                for resize in &resizes {
                    variants.extend(spots.iter().map(|spot| Self {
                        ends,
                        schedules,
                        resize: *resize,
                        spot: *spot,
                    }));
                }
            }
        }
        variants
    }
}

/// The places of the resizes that are allowed, cheapest first.
fn ranked(
    workload: &Alternatives,
    hours: Option<&ScheduledHours>,
    terms: &Terms<'_>,
) -> Vec<usize> {
    let offers = workload.resizes.iter().enumerate();
    let mut ranked: Vec<(usize, &ResizeOffer)> =
        offers.filter(|(_, offer)| terms.allows(offer.step.risk)).collect();
    ranked.sort_by_cached_key(|(_, offer)| {
        let to = offer.stage(hours);
        (to.monthly(), offer.step.kind, to.instance_type)
    });
    ranked.into_iter().map(|(place, _)| place).collect()
}

impl Path {
    /// Takes what a choice says, and without one what is cheapest at list price.
    pub fn of(workload: &Alternatives, terms: &Terms<'_>, choice: Option<Choice>) -> Self {
        let course = Course {
            stage: workload.today.as_ref(),
            schedule: None,
            slowdown: 1.0,
            fewer: None,
            most_years: workload
                .today
                .as_ref()
                .and_then(|today| workload.most_years_here(today, None, terms)),
        };
        let today = slots(workload, &course, true);
        let mut path = Self {
            id: workload.id.clone(),
            choice: Choice::NOTHING,
            actions: Vec::new(),
            skipped: BTreeMap::new(),
            left: workload.list,
            stages: std::array::from_fn(|_| today.clone()),
        };
        let wants_end = choice.is_none_or(|choice| choice.ends);
        match &workload.end {
            Some(end) if terms.allows(end.risk()) && wants_end => {
                let left = path.left.amount() - end.monthly_savings().amount();
                path.left = Money::new(left, path.left.currency());
                path.actions.push(end.clone());
                path.choice.ends = true;
            }
            Some(end) => path.leave(end.kind(), end.risk(), terms),
            None => {}
        }
        let with_ended = !path.choice.ends;
        path.stages[ENDED..].fill(slots(workload, &course, with_ended));
        let Some(today) = workload.today.clone() else { return path };
        // What is left beside those that stay without a lever of their own.
        let others = path.left.amount() - cents(today.monthly());
        let mut stage = today;
        let schedule = workload
            .schedule
            .as_ref()
            .filter(|offer| terms.allows(offer.step.risk))
            .filter(|_| choice.is_none_or(|choice| choice.schedules))
            .filter(|offer| {
                let less = stage.in_share(offer.hours.on_share);
                path.take(&offer.step, others + less.monthly())
            });
        if let (None, Some(offer)) = (schedule, &workload.schedule) {
            path.leave(ActionKind::Schedule, offer.step.risk, terms);
        }
        let hours = schedule.map(|offer| &offer.hours);
        path.choice.schedules = hours.is_some();
        if let Some(hours) = hours {
            stage = stage.in_share(hours.on_share);
        }
        let scheduled = Course {
            stage: Some(&stage),
            schedule: hours,
            most_years: workload.most_years_here(&stage, hours, terms),
            ..course
        };
        path.stages[SCHEDULED] = slots(workload, &scheduled, with_ended);
        let resize = match choice {
            Some(choice) => choice.resize,
            None => ranked(workload, hours, terms).first().copied(),
        };
        let mut to = None;
        if let Some(place) = resize
            && let Some(offer) = workload.resizes.get(place)
        {
            let there = offer.stage(hours);
            if path.take(&offer.step, others + there.monthly()) {
                path.choice.resize = Some(place);
                to = Some((offer, there));
            }
        }
        path.leave_resizes(workload, to.as_ref().map(|(offer, _)| offer.step.kind), terms);
        let (stage, resized) = match &to {
            None => (&stage, scheduled),
            Some((offer, there)) => {
                let resized = Course {
                    stage: Some(there),
                    schedule: hours.map(|hours| offer.scheduled.as_ref().unwrap_or(hours)),
                    slowdown: offer.slowdown,
                    fewer: offer.fewer.as_ref(),
                    most_years: workload.most_years(Some(offer), hours.is_some()),
                };
                (there, resized)
            }
        };
        path.stages[RESIZED] = slots(workload, &resized, with_ended);
        path.spot(workload, stage, others, choice, terms);
        path
    }

    /// What each of its actions saves per month, in cents.
    pub fn savings(&self) -> impl Iterator<Item = Decimal> + '_ {
        self.actions.iter().map(|action| action.monthly_savings().amount())
    }

    pub fn saved(&self) -> Decimal {
        self.savings().sum()
    }

    /// Divides what its actions save together among them.
    pub fn save(&mut self, together: Money, weights: &[Decimal]) {
        let shares = allocate(together, weights);
        for (action, saving) in self.actions.iter_mut().zip(shares) {
            *action = action.clone().saving_instead(saving);
        }
    }

    /// Divides what its actions save together among them as before; by what each saves at list
    /// price where one of them saves nothing by itself and leads to another.
    pub fn divide(&mut self, saved: Decimal, at_list: &[Decimal]) {
        let own: Vec<Decimal> = self.savings().collect();
        let weights = if own.iter().any(Decimal::is_zero) { at_list } else { &own };
        self.save(Money::new(saved, self.left.currency()), weights);
    }

    /// Its actions rest on another change: with its risk, and with that caveat before all others.
    pub fn wait_for(&mut self, risk: Risk, caveat: &str) {
        for action in &mut self.actions {
            let mut caveats = vec![caveat.to_owned()];
            caveats.extend_from_slice(action.caveats());
            let risk = risk.max(action.risk());
            *action = action.clone().at(risk).with_caveats(caveats);
        }
    }

    /// Does nothing instead.
    pub fn undo(&mut self) {
        for action in std::mem::take(&mut self.actions) {
            self.skipped.insert(action.kind(), SkipReason::SavesNothing);
        }
        let today = self.stages[TODAY].clone();
        self.stages.fill(today);
    }

    fn spot(
        &mut self,
        workload: &Alternatives,
        stage: &Stage,
        others: Decimal,
        choice: Option<Choice>,
        terms: &Terms<'_>,
    ) {
        self.stages[LAST] = self.stages[RESIZED].clone();
        let sized = self.stages[RESIZED].iter().find(|slot| slot.sized.is_some());
        let is_sized = sized.is_some();
        let market = workload.spot.get(&stage.instance_type);
        if let Some(market) = market.filter(|market| terms.allows(market.step.risk)) {
            let committed = sized.and_then(|slot| {
                let term = terms.best_commitment(&slot.class.pool)?;
                committed_rate(term, &self.stages[RESIZED], stage, terms)
            });
            let rate = market.effective_hourly.amount();
            let beats = match choice {
                Some(choice) => choice.spot,
                None => committed.is_none_or(|committed| rate < committed),
            };
            let monthly_at = |rate: Decimal| {
                let monthly = (stage.monthly() * rate).checked_div(stage.per_instance());
                others + monthly.unwrap_or(stage.monthly())
            };
            if beats && self.take(&market.step, monthly_at(rate)) {
                self.set_aside(monthly_at(market.hourly.amount()));
                if is_sized {
                    let instead = SkipReason::Instead(ActionKind::Spot);
                    self.skipped.insert(ActionKind::Commit, instead);
                }
                self.choice.spot = true;
                let gone = Course {
                    stage: None,
                    schedule: None,
                    slowdown: 1.0,
                    fewer: None,
                    most_years: None,
                };
                self.stages[LAST] = slots(workload, &gone, !self.choice.ends);
                return;
            }
            let why = if beats {
                SkipReason::SavesNothing
            } else {
                SkipReason::Instead(ActionKind::Commit)
            };
            self.skipped.insert(ActionKind::Spot, why);
        } else if let Some(market) = market {
            self.leave(ActionKind::Spot, market.step.risk, terms);
        }
        self.leave_commitments(terms);
    }

    /// Notes an offer that is not taken: it carries too much risk, or saves nothing.
    fn leave(&mut self, kind: ActionKind, risk: Risk, terms: &Terms<'_>) {
        let why =
            if terms.allows(risk) { SkipReason::SavesNothing } else { SkipReason::Risk(risk) };
        self.skipped.insert(kind, why);
    }

    /// Notes the types and numbers that are not taken, beside the kind that is.
    fn leave_resizes(
        &mut self,
        workload: &Alternatives,
        taken: Option<ActionKind>,
        terms: &Terms<'_>,
    ) {
        let others = workload.resizes.iter();
        for Step { kind: left, risk, .. } in others.map(|offer| &offer.step) {
            match taken {
                Some(kind) if kind == *left => {}
                Some(kind) if terms.allows(*risk) => {
                    self.skipped.insert(*left, SkipReason::Instead(kind));
                }
                _ => self.leave(*left, *risk, terms),
            }
        }
    }

    /// Notes that nothing is bought ahead, until something is.
    fn leave_commitments(&mut self, terms: &Terms<'_>) {
        let mut sized = self.stages[LAST].iter().filter(|slot| slot.sized.is_some()).peekable();
        if sized.peek().is_none() {
            return;
        }
        let sold = sized.filter_map(|slot| terms.sold.get(&slot.class.pool)).flatten();
        let why = match sold.map(|offer| offer.risk).min() {
            Some(least) if !terms.allows(least) => SkipReason::Risk(least),
            _ => SkipReason::SavesNothing,
        };
        self.skipped.insert(ActionKind::Commit, why);
    }

    /// Takes an action that leaves a monthly cost, if it saves a cent.
    fn take(&mut self, step: &Step, monthly: Decimal) -> bool {
        let after = Money::new(monthly, self.left.currency()).rounded();
        let action = self.left.checked_sub(after).ok().and_then(|saving| {
            let (target, detail) = (step.target.clone(), step.detail.as_str());
            Action::saving(step.kind, target, detail, saving, self.left, step.risk)
        });
        let Some(action) = action else { return false };
        self.actions.push(action.with_caveats(step.caveats.clone()));
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
