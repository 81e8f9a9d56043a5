//! The plan of an audit again, with other actions rejected, and the part of it that reaches a
//! target: the least risky actions that save enough.

use super::kpis::planned_utilization_percent;
use super::plan::{Choices, rejected_kinds};
use super::{Audit, AuditedWorkload, Totals};
use crate::domain::{ActionKind, Money, Risk};
use crate::savings::{RejectedKinds, SavingsTarget, SkipReason};
use rust_decimal::Decimal;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

impl Audit {
    /// Plans again without what is rejected, from what its plan was chosen from: actions,
    /// purchases and totals become those of an audit whose policy rejects the same. What each
    /// lever offers by itself, and the findings, stay as they are.
    pub fn replan(&mut self, choices: &Choices, rejected: &RejectedKinds) {
        self.replan_within(choices, rejected, self.accepted);
    }

    /// The same with no more risk than `most`.
    pub fn replan_within(&mut self, choices: &Choices, rejected: &RejectedKinds, most: Risk) {
        let Some((risk, offers, plan)) = choices.plan(rejected, most) else { return };
        let ids = offers.alternatives.iter().map(|alternatives| alternatives.id.as_str());
        let mut chosen: BTreeMap<&str, _> =
            ids.zip(plan.actions.into_iter().zip(plan.skipped)).collect();
        for audited in &mut self.workloads {
            if let Some(chosen) = chosen.remove(audited.workload.id().as_str()) {
                (audited.actions, audited.skipped) = chosen;
            }
        }
        (self.plan_risk, self.purchases, self.pools) = (risk, plan.purchases, plan.pools);
        self.scope_changes = plan.scope_changes;
        // The gaps of sums are among those of the audit already.
        self.totals = Totals::of(&self.workloads, &self.unused, &mut Vec::new());
        self.planned_utilization_percent =
            planned_utilization_percent(&self.workloads, &choices.policy);
    }
}

/// Actions on one workload that are taken together: each applies to what the one before it
/// leaves.
struct Unit {
    id: String,
    kinds: BTreeSet<ActionKind>,
    risk: Risk,
    /// In which stage of a plan its first action is.
    stage: u8,
    saved: Decimal,
}

impl Unit {
    /// What ends members, and what changes those that stay, are independent of each other.
    fn of(audited: &AuditedWorkload) -> impl Iterator<Item = Self> + '_ {
        [true, false].into_iter().filter_map(|ends| {
            let actions = || {
                audited.actions.iter().filter(move |action| (action.kind().stage() == 0) == ends)
            };
            Some(Self {
                id: audited.workload.id(),
                kinds: actions().map(|action| action.kind()).collect(),
                risk: actions().map(|action| action.risk()).max()?,
                stage: actions().map(|action| action.kind().stage()).min()?,
                saved: actions().map(|action| action.monthly_savings().amount()).sum(),
            })
        })
    }
}

fn kinds(audited: &AuditedWorkload) -> Vec<ActionKind> {
    audited.actions.iter().map(|action| action.kind()).collect()
}

/// What the whole plan does with a workload, and what it does without.
type Whole = (Vec<ActionKind>, BTreeMap<ActionKind, SkipReason>);

impl Audit {
    /// Leaves in the plan the least risky actions that save a percentage of today's cost, and
    /// notes how far it gets. Actions are taken by risk, then in the order in which to carry them
    /// out, until the plan of the taken ones saves enough; a lower level of risk that reaches it
    /// comes before a higher one. Without any priced workload nothing changes.
    pub fn aim(&mut self, choices: &Choices, percent: Decimal) {
        let Some(cost) = self.totals.monthly_cost else { return };
        let whole = self.workloads.iter().map(|audited| (kinds(audited), audited.skipped.clone()));
        let whole: Vec<Whole> = whole.collect();
        let wanted = cost.amount() * percent / Decimal::ONE_HUNDRED;
        let ids = self.workloads.iter();
        let ids = ids.map(|audited| (audited.workload.id(), audited.workload.name.as_str()));
        let given = rejected_kinds(&choices.policy.rejected, &ids.collect::<Vec<_>>());
        let accepted = self.accepted;
        let mut risk = accepted;
        for level in Risk::ALL.iter().filter(|level| **level <= accepted) {
            self.replan_within(choices, &given, *level);
            if self.saved() >= wanted {
                risk = *level;
                self.leave_fewest(choices, &given, (*level, wanted));
                self.note_skipped(&whole, &given);
                break;
            }
        }
        let missing = wanted - self.saved();
        let money = |amount| Money::new(amount, cost.currency());
        self.target = Some(SavingsTarget {
            percent,
            monthly_savings: money(wanted),
            risk,
            missing: (missing > Decimal::ZERO).then(|| money(missing)),
        });
    }

    fn saved(&self) -> Decimal {
        self.totals.monthly_savings().map_or(Decimal::ZERO, Money::amount)
    }

    /// Plans with the fewest first units that save enough; halving finds their number. Where the
    /// plan of a part chooses other targets and misses, all of the level is taken.
    fn leave_fewest(
        &mut self,
        choices: &Choices,
        given: &RejectedKinds,
        (level, wanted): (Risk, Decimal),
    ) {
        let mut units: Vec<Unit> = self.workloads.iter().flat_map(Unit::of).collect();
        units.sort_by(|left, right| {
            let key = |unit: &Unit| (unit.risk, unit.stage, Reverse(unit.saved));
            key(left).cmp(&key(right)).then(left.id.cmp(&right.id))
        });
        let (mut too_few, mut enough) = (0, units.len());
        while too_few < enough {
            let half = (too_few + enough) / 2;
            self.replan_within(choices, &self.all_but(&units[..half]), level);
            if self.saved() >= wanted {
                enough = half;
            } else {
                too_few = half + 1;
            }
        }
        self.replan_within(choices, &self.all_but(&units[..enough]), level);
        if self.saved() < wanted {
            self.replan_within(choices, given, level);
        }
    }

    /// Says of the actions of the whole plan that are not taken, and of what was rejected for the
    /// target, why they are not there.
    fn note_skipped(&mut self, whole: &[Whole], given: &RejectedKinds) {
        for (audited, (planned, skipped)) in self.workloads.iter_mut().zip(whole) {
            let taken = kinds(audited);
            let dropped = planned.iter().filter(|kind| !taken.contains(kind));
            audited.skipped.extend(dropped.map(|kind| (*kind, SkipReason::Target)));
            let of_policy = given.get(&audited.workload.id());
            for (kind, why) in &mut audited.skipped {
                let is_given = of_policy.is_some_and(|kinds| kinds.contains(kind));
                if *why == SkipReason::Rejected && !is_given {
                    // What the whole plan does without has its own reason.
                    let own = skipped.get(kind).copied();
                    let holds = |why: &SkipReason| match why {
                        SkipReason::Instead(other) => taken.contains(other),
                        _ => true,
                    };
                    *why = own.filter(holds).unwrap_or(SkipReason::Target);
                }
            }
        }
    }

    /// Every kind of action on every workload, without those of some units.
    fn all_but(&self, units: &[Unit]) -> RejectedKinds {
        let kinds: BTreeSet<ActionKind> = ActionKind::ALL.iter().copied().collect();
        let mut rejected: RejectedKinds =
            self.workloads.iter().map(|audited| (audited.workload.id(), kinds.clone())).collect();
        for unit in units {
            if let Some(own) = rejected.get_mut(&unit.id) {
                own.retain(|kind| !unit.kinds.contains(kind));
            }
        }
        rejected
    }
}
