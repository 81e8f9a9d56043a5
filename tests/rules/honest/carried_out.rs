//! A plan carried out costs what it said, and leaves no waste but the storage of what
//! it stopped.

use super::config;
use super::draft::{estate_of, fleet};
use crate::rules::fixtures::sum_of_rows;
use crate::rules::plan::apply::{apply, origin};
use gpucost::analysis::{Audit, AuditDiff, AuditedWorkload, audit};
use gpucost::domain::{Action, ActionKind, Currency, Money, Policy, ResourceId, Risk};
use gpucost::usage::Estate;
use proptest::prelude::*;
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::collections::BTreeSet;

/// Hours of the window, of which a month has 730 / 336.
const WINDOW_HOURS: i64 = 336;

/// The place of serving among the kinds that a box declares.
const SERVING: usize = 2;

struct Twice {
    today: Estate,
    before: Audit,
    estate: Estate,
    after: Audit,
}

fn takes(workload: &AuditedWorkload, kind: ActionKind) -> bool {
    workload.actions.iter().any(|action| action.kind() == kind)
}

fn amount(money: Option<Money>) -> Decimal {
    money.map_or(Decimal::ZERO, Money::amount)
}

impl Twice {
    fn of(today: &Estate, accepted: Risk) -> Self {
        let policy = Policy::default();
        let before = audit(today, &policy, accepted);
        let estate = apply(&before, today);
        let after = audit(&estate, &policy, before.plan_risk);
        Self { today: today.clone(), before, estate, after }
    }

    /// What is left of a workload at on-demand or spot prices, commitments left out, and
    /// whether any of it is paid for ahead.
    fn left_of(&self, workload: &AuditedWorkload) -> (Decimal, bool) {
        let was: BTreeSet<&ResourceId> = workload.workload.instances.iter().collect();
        let mut sum = Decimal::ZERO;
        let mut is_paid_ahead = false;
        for left in &self.after.workloads {
            let Some(cost) = &left.workload.cost else { continue };
            for (id, cost) in left.workload.instances.iter().zip(&cost.instances) {
                if was.contains(&origin(id)) {
                    sum += cost.quote.rate.amount() * cost.monthly_hours;
                    is_paid_ahead |= cost.committed.is_some();
                }
            }
        }
        (sum, is_paid_ahead)
    }

    /// What one hour of the window is worth in a month on the types of a row.
    fn hour(&self, workload: &AuditedWorkload) -> Decimal {
        let cost = workload.workload.cost.as_ref();
        let rates = cost.iter().flat_map(|cost| &cost.instances);
        let most = rates.map(|rate| rate.quote.rate.amount()).max();
        most.unwrap_or_default() * Decimal::from(730) / Decimal::from(WINDOW_HOURS)
    }

    /// What a row may differ by because hours are whole: slower work goes on for a part of
    /// one.
    fn slack(&self, workload: &AuditedWorkload) -> Decimal {
        let moved = workload.proposals.rightsize();
        let slowdown = moved.and_then(|rightsizing| Some(rightsizing.projection?.slowdown));
        let is_slower =
            takes(workload, ActionKind::Rightsize) && slowdown.is_some_and(|by| by > 1.0);
        // A schedule is computed by the hours every week, of which one may lack.
        let mut members = workload.workload.members.iter();
        let is_part_of_a_week = takes(workload, ActionKind::Schedule)
            && members.any(|member| member.activity.len() % 168 != 0);
        let hours = if is_slower {
            // And the last stretch of a day may end with the window.
            let longer = slowdown.and_then(Decimal::from_f64).unwrap_or_default() - Decimal::ONE;
            Decimal::ONE + longer * Decimal::from(24)
        } else {
            Decimal::from(u8::from(is_part_of_a_week))
        };
        hours * self.hour(workload) * Decimal::from(workload.workload.instances.len())
    }

    fn check_row(&self, workload: &AuditedWorkload) {
        let Some(cost) = &workload.workload.cost else { return };
        if cost.instances.iter().any(|instance| instance.committed.is_some()) {
            return;
        }
        let mut planned = amount(workload.workload.monthly_cost());
        for action in &workload.actions {
            if action.kind() != ActionKind::Commit {
                planned -= action.monthly_savings().amount();
            }
            planned -= amount(action.lost_work());
        }
        let (left, is_paid_ahead) = self.left_of(workload);
        // Commitments that were there pay for where it moves to, and what several stops free of
        // them is shared by all of these: the sums say how much.
        let is_shared = is_paid_ahead || takes(workload, ActionKind::Stop);
        if is_shared && !self.today.commitments.is_empty() {
            return;
        }
        let cents = workload.actions.len() + workload.workload.instances.len();
        let tolerance = Decimal::new(cents as i64, 2);
        let tolerance = tolerance + self.slack(workload);
        assert!(
            (planned - left).abs() <= tolerance,
            "{}: {planned} planned, {left} found: {:?}",
            workload.workload.name,
            workload.actions
        );
    }

    /// Per month in a currency: what was planned, and what is found but for the storage
    /// of what the plan stopped.
    fn sums(&self, currency: Currency) -> (Decimal, Decimal) {
        let of = |money: Option<Money>| amount(money.filter(|sum| sum.currency() == currency));
        let mut planned = Decimal::ZERO;
        for workload in &self.before.workloads {
            planned += of(workload.planned_monthly_cost());
            let lost = workload.actions.iter().map(|action| of(action.lost_work()));
            planned -= lost.sum::<Decimal>();
            let snapshots = workload.actions.iter().map(|action| of(action.snapshots()));
            planned -= snapshots.sum::<Decimal>();
        }
        let unused = self.before.unused.iter();
        planned += unused.map(|commitment| of(commitment.planned_monthly_cost())).sum::<Decimal>();
        let stopped = self.stopped();
        let rows = self.after.workloads.iter();
        let rows = rows
            .filter(|workload| !workload.workload.instances.iter().all(|id| stopped.contains(id)));
        let mut left: Decimal = rows.map(|workload| of(workload.workload.monthly_cost())).sum();
        let unused = self.after.unused.iter();
        left += unused.map(|commitment| of(commitment.monthly_cost)).sum::<Decimal>();
        (planned, left)
    }

    /// What the plan stops.
    fn stopped(&self) -> BTreeSet<&ResourceId> {
        let stops =
            self.before.workloads.iter().filter(|workload| takes(workload, ActionKind::Stop));
        stops
            .flat_map(|workload| &workload.proposals.stop().expect("the plan stops").members)
            .collect()
    }

    /// Whether what the plan buys, or what it changes the scope of, may pay for more than it
    /// counts on: for one that is as good and that nothing was bought for, for room, or for the
    /// hours of rest of what could be scheduled and is not.
    fn may_cover_others(&self) -> bool {
        let committed: BTreeSet<&ResourceId> = self
            .before
            .workloads
            .iter()
            .filter(|workload| takes(workload, ActionKind::Commit))
            .flat_map(|workload| {
                workload
                    .alternatives
                    .billed
                    .iter()
                    .filter(|member| member.is_sized)
                    .map(|member| &member.id)
            })
            .collect();
        let runs = self.after.workloads.iter().filter(|workload| workload.workload.cost.is_some());
        let mut others = runs
            .flat_map(|workload| &workload.workload.members)
            .filter(|member| !committed.contains(&member.id));
        let is_as_good = others.any(|member| {
            let mut bought = self.before.purchases.iter();
            bought.any(|purchase| {
                purchase.key.with_option(member.price_key.option) == member.price_key
            })
        });
        let mut rooms = self.estate.commitments.capacity_reservations.iter();
        let pays_for_room = rooms.any(|room| {
            let mut bought = self.before.purchases.iter();
            bought.any(|purchase| purchase.key.instance_type == room.instance_type)
        });
        let rests = self.before.workloads.iter().any(|workload| {
            workload.alternatives.schedule.is_some()
                && takes(workload, ActionKind::Commit)
                && !takes(workload, ActionKind::Schedule)
        });
        // Which of several replicas stay is open, those that end or those that do not.
        let ends = self.before.workloads.iter().any(|workload| {
            takes(workload, ActionKind::Commit)
                && takes(workload, ActionKind::Rightsize)
                && workload.workload.members.iter().any(|member| member.until.is_some())
        });
        // What was reserved before may pay for room once its machines are gone.
        let bought = &self.today.commitments;
        let is_wider =
            !bought.reserved_instances.is_empty() && !bought.capacity_reservations.is_empty();
        // A reservation comes first: a plan that was there then pays for others.
        let frees = !self.before.purchases.is_empty() && !bought.savings_plans.is_empty();
        is_as_good || pays_for_room || rests || ends || is_wider || frees
    }

    /// Whether a savings plan of unknown rate may pay for something: what it pays for is
    /// not known before, and after the plan it may be known to be nothing.
    fn has_unrated(&self) -> bool {
        let audits = [&self.before, &self.after];
        let mut commitments = audits.iter().flat_map(|audit| &audit.commitments);
        commitments.any(|commitment| !commitment.unrated.is_empty())
    }

    fn check_sum(&self) {
        if self.has_unrated() {
            return;
        }
        for currency in [Currency::Usd, Currency::Cny] {
            let (planned, left) = self.sums(currency);
            let workloads = &self.before.workloads;
            let actions: usize = workloads.iter().map(|workload| workload.actions.len()).sum();
            let slower = workloads.iter().map(|workload| self.slack(workload)).sum::<Decimal>();
            // A machine of another number is rounded by itself.
            let targets = workloads.iter().flat_map(|workload| &workload.actions);
            let moved: u32 = targets.filter_map(Action::target).map(|to| to.count).sum();
            let roundings = 2 + actions + workloads.len() + moved as usize;
            let tolerance = slower + Decimal::new(roundings as i64, 2);
            let actions: Vec<_> = workloads.iter().map(|workload| &workload.actions).collect();
            let bought = &self.before.purchases;
            let what =
                format!("{currency:?}: {planned} planned, {left} found: {actions:?} {bought:?}");
            assert!(left <= planned + tolerance, "{what}");
            let is_exact = !self.may_cover_others();
            assert!(!is_exact || left >= planned - tolerance, "{what}");
        }
    }

    /// The rows of a diff are all of the difference, commitments that nobody uses included,
    /// where everything has a price.
    fn check_diff(&self) {
        let is_priced = |audit: &Audit| {
            audit.totals.unpriced_instances == 0 && audit.totals.monthly_cost.is_some()
        };
        if !is_priced(&self.before) || !is_priced(&self.after) {
            return;
        }
        let (old, new) = (self.before.past(), self.after.past());
        let diff = AuditDiff::of(&old, &new);
        assert_eq!(sum_of_rows(&diff), diff.monthly_cost.change());
    }

    /// No waste is new but the storage of what was stopped.
    fn check_waste(&self) {
        let stopped = self.stopped();
        // A stop in doubt may be certain in the model, which has a CPU point wherever it ran.
        let doubtful = |workload: &&AuditedWorkload| {
            let stop = workload.proposals.stopping();
            stop.is_some_and(|stop| stop.risk() > self.before.plan_risk)
        };
        let doubtful = self.before.workloads.iter().filter(doubtful);
        let doubtful: BTreeSet<&ResourceId> =
            doubtful.flat_map(|workload| &workload.workload.instances).collect();
        for workload in &self.after.workloads {
            if workload.workload.instances.iter().any(|id| doubtful.contains(&origin(id))) {
                continue;
            }
            for action in &workload.actions {
                let is_storage = action.kind() == ActionKind::Release
                    && workload.workload.instances.iter().all(|id| stopped.contains(id));
                let waste = action.certain().amount();
                assert!(is_storage || waste.is_zero(), "{}: {action:?}", workload.workload.name);
            }
        }
        for commitment in &self.after.unused {
            assert_eq!(commitment.actions, [], "{}", commitment.name);
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_carried_out_costs_what_was_planned((mut boxes, bought) in fleet(), risk in 0..3_usize) {
        let risk = [Risk::Low, Risk::Medium, Risk::High][risk];
        // The faintest work would not show at all on a faster card.
        for level in boxes.iter_mut().flat_map(|drawn| &mut drawn.levels) {
            *level = if *level > 0 { (*level).max(10) } else { 0 };
        }
        // A move to another type brings members of a group together: what they do is said
        // of all of them alike.
        let declared: Vec<usize> = boxes.iter().map(|drawn| drawn.declared).collect();
        for drawn in boxes.iter_mut().filter(|drawn| drawn.group.is_some()) {
            drawn.declared = declared[0];
        }
        let today = estate_of(&boxes, &bought);
        let twice = Twice::of(&today, risk);
        for workload in &twice.before.workloads {
            twice.check_row(workload);
        }
        twice.check_sum();
        twice.check_waste();
        // Yuan are in no sum of dollars.
        if boxes.iter().all(|drawn| !drawn.is_in_china) {
            twice.check_diff();
        }
    }
    /// Replicas of one service, of which fewer would often do, whenever each of them is up.
    #[test]
    fn fewer_replicas_cost_what_was_planned((mut boxes, bought) in fleet()) {
        let first = boxes[0].clone();
        for drawn in &mut boxes {
            drawn.group = Some(0);
            drawn.declared = SERVING;
            drawn.kind = first.kind;
            drawn.zone = first.zone;
            drawn.is_windows = first.is_windows;
            drawn.is_dedicated = first.is_dedicated;
            drawn.is_second_account = first.is_second_account;
            drawn.is_in_china = first.is_in_china;
            drawn.is_spot = first.is_spot;
            drawn.is_ignored = false;
            drawn.is_auto_scaling = first.is_auto_scaling;
            drawn.is_in_reservation = false;
            drawn.holes = [1; 3];
            drawn.age = 2_000;
            drawn.busy = 24;
            drawn.vram_percent = 10;
            drawn.network_mbps = None;
            drawn.levels = drawn.levels.map(|level| level.clamp(10, 20));
        }
        let today = estate_of(&boxes, &bought);
        let twice = Twice::of(&today, Risk::Medium);
        for workload in &twice.before.workloads {
            twice.check_row(workload);
        }
        twice.check_sum();
    }
}
