//! A workload's part of the plan: each action on what the one before left.

use super::page::{Page, figure, share};
use super::{Derivation, actions};
use crate::analysis::AuditedWorkload;
use crate::domain::{Action, ActionKind, Money};
use crate::report::text::money;
use crate::savings::{Scheduling, WEEK_HOURS};
use rust_decimal::Decimal;

/// How a workload runs between two actions of the plan.
pub(super) struct Standing<'a> {
    /// The workload with what was chosen from.
    pub audited: &'a AuditedWorkload,
    /// What is left per month, unrounded.
    pub monthly: Decimal,
    /// Share of today's running time that is left.
    pub on_share: Decimal,
    /// The instance type.
    pub instance_type: String,
    /// What is left per month, rounded to cents.
    pub left: Money,
}

impl Page {
    pub(super) fn plan(&mut self, audited: &AuditedWorkload, by: &Derivation<'_>) {
        self.heading(&format!("plan at --risk {}", by.accepted));
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
            monthly: today.map_or(cost.amount(), |stage| stage.monthly),
            on_share: Decimal::ONE,
            instance_type: audited.workload.key.instance_type.clone(),
            left: cost,
        };
        for action in &audited.actions {
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
                if let Some(found) = &offers.schedule {
                    self.schedule(found);
                    let before = standing.monthly;
                    standing.on_share = Decimal::ONE - found.schedule.saved_share;
                    standing.monthly = before * standing.on_share;
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
                    self.sharing(&standing.audited.workload, found);
                    self.resized(action, standing);
                }
            }
            ActionKind::Spot => self.spot(standing),
            ActionKind::Commit => self.commit(action, standing, by),
            ActionKind::Stop => match standing.audited.workload.sunk() {
                None => self.note(&format!(
                    "compute ends as a whole: {}",
                    money(action.monthly_savings())
                )),
                Some(sunk) => self.note(&format!(
                    "{} − {} that is paid ahead = {}",
                    money(standing.left),
                    money(sunk.monthly),
                    money(action.monthly_savings())
                )),
            },
            ActionKind::Release => {}
        }
    }

    /// What a new type or number costs in the hours that are left.
    fn resized(&mut self, action: &Action, standing: &mut Standing<'_>) {
        let alternatives = &standing.audited.alternatives;
        let mut resizes = alternatives.resizes.iter();
        let Some(offer) = resizes
            .find(|offer| offer.kind == action.kind() && Some(&offer.target) == action.target())
        else {
            return;
        };
        standing.monthly = offer.monthly * standing.on_share;
        if standing.on_share != Decimal::ONE {
            self.note(&format!(
                "{} × {} of the hours = {} a month",
                figure(offer.monthly, 6),
                figure(standing.on_share, 10),
                figure(standing.monthly, 6)
            ));
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
                    let found = offers.share.iter();
                    found.for_each(|one| self.sharing(&audited.workload, one));
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
