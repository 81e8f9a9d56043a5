//! A workload's part of the plan: each action on what the one before left.

use super::Derivation;
use super::page::{Page, figure, price, share};
use crate::analysis::AuditedWorkload;
use crate::domain::{ACTIVE_PERCENT, Action, ActionKind, InstanceCost, Money, counted};
use crate::report::shared::text::money;
use crate::savings::{Proposal, ScheduledHours, Scheduling, Stage, WEEK_HOURS};
use rust_decimal::Decimal;

/// Members that are listed before the rest is counted.
const MOST_MEMBERS: usize = 20;

/// How a workload runs between two actions of the plan.
pub(super) struct PlanState<'a> {
    /// The workload with what was chosen from.
    pub audited: &'a AuditedWorkload,
    /// What is left per month, unrounded.
    pub monthly: Decimal,
    /// The hours that a schedule leaves on.
    pub hours: Option<&'a ScheduledHours>,
    pub instance_type: String,
    /// What is left per month, rounded to cents.
    pub left: Money,
}

impl Page {
    /// One action of a plan with its risk and caveats.
    pub(super) fn step(&mut self, action: &Action) {
        let to = action.target().map_or(String::new(), |target| {
            format!(" to {} × {}", target.count, target.instance_type)
        });
        self.line(&format!(
            "− {} {}{to}, risk {}: {}",
            money(action.monthly_savings()),
            action.kind(),
            action.risk(),
            action.detail()
        ));
        for caveat in action.caveats() {
            self.note(&format!("caveat: {caveat}"));
        }
    }

    pub(super) fn plan(&mut self, audited: &AuditedWorkload, by: &Derivation<'_>) {
        let cheapest = if by.audit.plan_risk == by.accepted {
            String::new()
        } else {
            format!(", using the {} plan: it costs less", by.audit.plan_risk)
        };
        self.heading(&format!("plan at --risk {}{cheapest}", by.accepted));
        let Some(cost) = audited.workload.monthly_cost() else {
            self.line("none: price not available");
            return;
        };
        if audited.actions.is_empty() {
            self.line(&format!("no actions; {} per month unchanged", money(cost)));
        } else {
            self.line(&format!("{} today", money(cost)));
            let list = audited.alternatives.list;
            if list != cost {
                self.note(&format!(
                    "{} at list price: savings are what the cost of the fleet drops by when \
                     commitments cover what the plan leaves",
                    money(list)
                ));
            }
        }
        let today = audited.alternatives.today.as_ref();
        let mut state = PlanState {
            audited,
            monthly: today.map_or(cost.amount(), Stage::monthly),
            hours: None,
            instance_type: audited.workload.key.instance_type.clone(),
            left: cost,
        };
        for action in &audited.actions {
            self.step(action);
            self.derive(action, &mut state, by);
            state.left = Money::new(
                state.left.amount() - action.monthly_savings().amount(),
                state.left.currency(),
            );
            if let Some(target) = action.target() {
                state.instance_type.clone_from(&target.instance_type);
            }
            self.line(&format!("= {}", money(state.left)));
        }
        self.alternatives(audited, by);
    }

    /// The arithmetic of one action, on what the ones before it left.
    fn derive(&mut self, action: &Action, state: &mut PlanState<'_>, by: &Derivation<'_>) {
        let audited = state.audited;
        match action.kind() {
            ActionKind::Schedule => {
                self.basis(action, audited, by);
                if let Some(offered) = &audited.alternatives.schedule {
                    let before = state.monthly;
                    state.hours = Some(&offered.hours);
                    state.monthly = before * offered.hours.on_share;
                    self.note(&format!(
                        "{} × (1 − {}) = {} per month",
                        figure(before, 6),
                        figure(Decimal::ONE - offered.hours.on_share, 10),
                        figure(state.monthly, 6)
                    ));
                }
            }
            ActionKind::Rightsize | ActionKind::Share => {
                self.basis(action, audited, by);
                self.resized(action, state);
            }
            ActionKind::Spot => self.spot(state),
            ActionKind::Commit => self.commit(action, state, by),
            ActionKind::Stop => self.stopped(action, audited),
            ActionKind::Release => self.released(action, state),
        }
    }

    /// What an offer rests on by itself, whatever the plan does before it.
    fn basis(&mut self, action: &Action, audited: &AuditedWorkload, by: &Derivation<'_>) {
        match audited.proposals.offered(action.kind()) {
            Some(Proposal::Schedule(found)) => self.schedule(found),
            Some(Proposal::Rightsize(found)) => self.rightsize(audited, found, by),
            Some(Proposal::Share(found)) => {
                if let Some(part) = audited.working() {
                    self.sharing(&part.workload, found);
                }
            }
            Some(Proposal::Commit(found)) => {
                if let Some(one) = &found.alone {
                    self.note(&price(&one.key, &one.quote));
                }
            }
            _ => {}
        }
    }

    /// The members that a stop ends, each with what that saves.
    fn stopped(&mut self, action: &Action, audited: &AuditedWorkload) {
        let (Some(stop), Some(cost)) = (audited.proposals.stop(), &audited.workload.cost) else {
            return;
        };
        let members = audited.workload.instances.iter().zip(&cost.instances);
        let ended: Vec<_> = members
            .filter(|(id, _)| stop.members.contains(id))
            .collect();
        let open = |one: &InstanceCost| one.monthly().amount() - one.committed_monthly().amount();
        let uncovered: Decimal = ended.iter().map(|(_, one)| open(one)).sum();
        let is_passed_on = uncovered != action.monthly_savings().amount();
        let mut shown = 0;
        for (id, one) in ended {
            shown += 1;
            if shown > MOST_MEMBERS {
                continue;
            }
            let (monthly, committed_cost) = (one.monthly(), one.committed_monthly());
            let line = if committed_cost.amount().is_zero() || is_passed_on {
                format!("{id}: {}", money(monthly))
            } else {
                let saved = Money::new(open(one), monthly.currency());
                format!(
                    "{id}: {} − {} committed = {}",
                    money(monthly),
                    money(committed_cost),
                    money(saved)
                )
            };
            self.note(&line);
        }
        if shown > MOST_MEMBERS {
            self.note(&format!("and {} more", shown - MOST_MEMBERS));
        }
        if is_passed_on {
            self.note("commitments that covered it cover other instances then");
        }
        self.note(&format!(
            "compute savings: {}, of which {} is certain",
            money(action.monthly_savings()),
            money(action.certain())
        ));
    }

    /// What ends with the storage, and what snapshots may cost of it.
    fn released(&mut self, action: &Action, state: &PlanState<'_>) {
        if let Some(snapshots) = action.snapshots() {
            self.note(&format!(
                "{} − {} for snapshots = {}, of which {} is certain",
                money(state.left),
                money(snapshots),
                money(action.monthly_savings()),
                money(action.certain())
            ));
        }
    }

    /// What a new type or number costs in the hours that are left.
    fn resized(&mut self, action: &Action, state: &mut PlanState<'_>) {
        let alternatives = &state.audited.alternatives;
        let mut resizes = alternatives.resizes.iter();
        let Some(offer) = resizes.find(|offer| offer.leads_to(action)) else {
            return;
        };
        let stage = offer.stage(state.hours);
        state.monthly = stage.monthly();
        match state.hours {
            Some(today) => {
                let hours = offer.scheduled.as_ref().unwrap_or(today);
                if offer.slowdown > 1.0 {
                    self.note(&format!(
                        "the work takes {:.4} times as long, so its windows are extended to \
                         whole hours: {} of the running time instead of {}",
                        offer.slowdown,
                        share(hours.on_share),
                        share(today.on_share)
                    ));
                }
                self.note(&format!(
                    "{} × {} of the hours = {} per month",
                    figure(offer.monthly_at_todays_hours, 6),
                    figure(hours.on_share, 10),
                    figure(state.monthly, 6)
                ));
            }
            None if state.monthly != offer.monthly_at_todays_hours => self.note(&format!(
                "the work takes {:.4} times as long; its hours increase accordingly unless \
                 it runs 24/7: {} per month instead of {}",
                offer.slowdown,
                figure(state.monthly, 6),
                figure(offer.monthly_at_todays_hours, 6)
            )),
            None => {}
        }
    }

    /// The hours that are off, and what speaks against it.
    fn schedule(&mut self, found: &Scheduling) {
        let hours = &found.schedule;
        self.note(&format!("time zone {}", found.zone));
        self.note(&format!(
            "off in {} of {WEEK_HOURS} hours per week: every GPU was below {ACTIVE_PERCENT}% in \
             each occurrence, at least two",
            hours.off_hours_per_week
        ));
        if let Some(maximum) = hours.largest_maximum {
            self.note(&format!("highest sample in these hours {maximum:.1}%"));
        }
        if hours.unknown_hours_per_week > 0 {
            self.note(&format!(
                "on because data is missing: {} per week",
                counted(hours.unknown_hours_per_week, "hour", "hours")
            ));
        }
        for week in &hours.counter_evidence {
            self.note(&format!(
                "counter-evidence: a schedule based on the other weeks would have cut {} in the \
                 week from {}",
                counted(week.active_hours_cut, "active hour", "active hours"),
                week.start
            ));
        }
        self.note(&format!(
            "{} of the running time falls in the off hours",
            share(hours.saved_share)
        ));
        for warning in &found.warnings {
            self.note(&format!("warning: {warning}"));
        }
    }

    /// What the plan leaves aside, with what it rests on.
    fn alternatives(&mut self, audited: &AuditedWorkload, by: &Derivation<'_>) {
        let taken = |kind: ActionKind| audited.actions.iter().any(|action| action.kind() == kind);
        let alone = audited.proposals.actions();
        let aside: Vec<&Action> = alone.filter(|action| !taken(action.kind())).collect();
        if aside.is_empty() {
            return;
        }
        self.heading("possible individually, not in the plan");
        for action in aside {
            self.line(&format!(
                "{} per month with {}, risk {}: {}",
                money(action.monthly_savings()),
                action.kind(),
                action.risk(),
                action.detail()
            ));
            self.basis(action, audited, by);
        }
    }
}
