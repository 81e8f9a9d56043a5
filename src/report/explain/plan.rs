//! A workload's part of the plan: each action on what the one before left.

use super::page::{Page, figure, share};
use super::{Derivation, actions};
use crate::analysis::AuditedWorkload;
use crate::domain::{Action, ActionKind, Money};
use crate::report::text::money;
use crate::savings::{ScheduledHours, Scheduling, Stage, WEEK_HOURS};
use rust_decimal::Decimal;

/// Members that are listed before the rest is counted.
const MOST_MEMBERS: usize = 20;

/// How a workload runs between two actions of the plan.
pub(super) struct Standing<'a> {
    /// The workload with what was chosen from.
    pub audited: &'a AuditedWorkload,
    /// What is left per month, unrounded.
    pub monthly: Decimal,
    /// The hours that a schedule leaves on.
    pub hours: Option<&'a ScheduledHours>,
    /// The instance type.
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
            format!(
                ", which is the plan of {}: it costs less",
                by.audit.plan_risk
            )
        };
        self.heading(&format!("plan at --risk {}{cheapest}", by.accepted));
        let Some(cost) = audited.workload.monthly_cost() else {
            self.line("none: there is no price");
            return;
        };
        if audited.actions.is_empty() {
            self.line(&format!("nothing to do; {} a month stay", money(cost)));
        } else {
            self.line(&format!("{} today", money(cost)));
        }
        let today = audited.alternatives.today.as_ref();
        let mut standing = Standing {
            audited,
            monthly: today.map_or(cost.amount(), Stage::monthly),
            hours: None,
            instance_type: audited.workload.key.instance_type.clone(),
            left: cost,
        };
        for action in &audited.actions {
            self.step(action);
            self.derive(action, &mut standing, by);
            standing.left = Money::new(
                standing.left.amount() - action.monthly_savings().amount(),
                standing.left.currency(),
            );
            if let Some(target) = action.target() {
                standing.instance_type.clone_from(&target.instance_type);
            }
            self.line(&format!("= {}", money(standing.left)));
        }
        self.alternatives(audited, by);
    }

    /// The arithmetic of one action, on what the ones before it left.
    fn derive(&mut self, action: &Action, standing: &mut Standing<'_>, by: &Derivation<'_>) {
        let offers = &standing.audited.offers;
        match action.kind() {
            ActionKind::Schedule => {
                let offered = standing.audited.alternatives.schedule.as_ref();
                if let (Some(found), Some(offered)) = (&offers.schedule, offered) {
                    self.schedule(found);
                    let before = standing.monthly;
                    standing.hours = Some(&offered.hours);
                    standing.monthly = before * offered.hours.on_share;
                    self.note(&format!(
                        "{} × (1 − {}) = {} a month",
                        figure(before, 6),
                        figure(found.schedule.saved_share, 10),
                        figure(standing.monthly, 6)
                    ));
                }
            }
            ActionKind::Rightsize => {
                if let Some(found) = &offers.rightsize {
                    self.rightsize(standing.audited, found, by);
                    self.resized(action, standing);
                }
            }
            ActionKind::Share => {
                if let Some(found) = &offers.share {
                    if let Some(part) = standing.audited.working() {
                        self.sharing(&part.workload, found);
                    }
                    self.resized(action, standing);
                }
            }
            ActionKind::Spot => self.spot(standing),
            ActionKind::Commit => self.commit(action, standing, by),
            ActionKind::Stop => self.stopped(action, standing.audited),
            ActionKind::Release => {}
        }
    }

    /// The members that a stop ends, each with what that saves.
    fn stopped(&mut self, action: &Action, audited: &AuditedWorkload) {
        let (Some(stop), Some(cost)) = (&audited.offers.stop, &audited.workload.cost) else {
            return;
        };
        let members = audited.workload.instances.iter().zip(&cost.instances);
        let ended = members.filter(|(id, _)| stop.members.contains(id));
        let mut shown = 0;
        for (id, one) in ended {
            shown += 1;
            if shown > MOST_MEMBERS {
                continue;
            }
            let (monthly, sunk) = (one.monthly(), one.sunk_monthly());
            let line = if sunk.amount().is_zero() {
                format!("{id}: {}", money(monthly))
            } else {
                let saved = Money::new(monthly.amount() - sunk.amount(), monthly.currency());
                format!(
                    "{id}: {} − {} that is committed = {}",
                    money(monthly),
                    money(sunk),
                    money(saved)
                )
            };
            self.note(&line);
        }
        if shown > MOST_MEMBERS {
            self.note(&format!("and {} more", shown - MOST_MEMBERS));
        }
        self.note(&format!(
            "their compute ends: {}, of which {} is certain",
            money(action.monthly_savings()),
            money(action.certain())
        ));
    }

    /// What a new type or number costs in the hours that are left.
    fn resized(&mut self, action: &Action, standing: &mut Standing<'_>) {
        let alternatives = &standing.audited.alternatives;
        let mut resizes = alternatives.resizes.iter();
        let Some(offer) = resizes.find(|offer| offer.leads_to(action)) else {
            return;
        };
        let stage = offer.stage(standing.hours);
        standing.monthly = stage.monthly();
        match standing.hours {
            Some(today) => {
                let hours = offer.scheduled.as_ref().unwrap_or(today);
                if offer.slowdown > 1.0 {
                    self.note(&format!(
                        "the work takes {:.4} times as long, so that its windows grow to whole \
                         hours: {} of the running time instead of {}",
                        offer.slowdown,
                        share(hours.on_share),
                        share(today.on_share)
                    ));
                }
                self.note(&format!(
                    "{} × {} of the hours = {} a month",
                    figure(offer.monthly_at_todays_hours, 6),
                    figure(hours.on_share, 10),
                    figure(standing.monthly, 6)
                ));
            }
            None if standing.monthly != offer.monthly_at_todays_hours => self.note(&format!(
                "the work takes {:.4} times as long, and where it does not run around the clock so \
                 do its hours: {} a month instead of {}",
                offer.slowdown,
                figure(standing.monthly, 6),
                figure(offer.monthly_at_todays_hours, 6)
            )),
            None => {}
        }
    }

    /// The hours that are off, and what speaks against it.
    fn schedule(&mut self, found: &Scheduling) {
        let hours = &found.schedule;
        self.note(&format!("week in {}", found.zone));
        self.note(&format!(
            "off in {} of {WEEK_HOURS} hours of a week: each occurrence of them, at least two, had \
             every GPU below 1 %",
            hours.off_hours_per_week
        ));
        if let Some(maximum) = hours.largest_maximum {
            self.note(&format!("highest reading in them {maximum:.1} %"));
        }
        if hours.unknown_hours_per_week > 0 {
            self.note(&format!(
                "{} hours of a week stay on because data is missing",
                hours.unknown_hours_per_week
            ));
        }
        for week in &hours.counter_evidence {
            self.note(&format!(
                "counter-evidence: a schedule from the other weeks would have cut {} active hours \
                 of the week from {}",
                week.active_hours_cut, week.start
            ));
        }
        self.note(&format!(
            "{} of the running time falls into the hours off",
            share(hours.saved_share)
        ));
        for warning in &found.warnings {
            self.note(&format!("warning: {warning}"));
        }
    }

    /// What the plan leaves aside, with what it rests on.
    fn alternatives(&mut self, audited: &AuditedWorkload, by: &Derivation<'_>) {
        let taken = |kind: ActionKind| audited.actions.iter().any(|action| action.kind() == kind);
        let aside: Vec<&Action> = actions(&audited.offers)
            .into_iter()
            .filter(|action| !taken(action.kind()))
            .collect();
        if aside.is_empty() {
            return;
        }
        self.heading("possible alone, and not in the plan");
        for action in aside {
            self.line(&format!(
                "{} a month by {}, risk {}: {}",
                money(action.monthly_savings()),
                action.kind(),
                action.risk(),
                action.detail()
            ));
            let offers = &audited.offers;
            match action.kind() {
                ActionKind::Schedule => offers.schedule.iter().for_each(|one| self.schedule(one)),
                ActionKind::Rightsize => {
                    let found = offers.rightsize.iter();
                    found.for_each(|one| self.rightsize(audited, one, by));
                }
                ActionKind::Share => {
                    if let (Some(found), Some(part)) = (&offers.share, audited.working()) {
                        self.sharing(&part.workload, found);
                    }
                }
                ActionKind::Commit => {
                    let found = offers.commit.iter();
                    found.for_each(|one| self.note(&super::page::price(&one.key, &one.quote)));
                }
                _ => {}
            }
        }
    }
}
