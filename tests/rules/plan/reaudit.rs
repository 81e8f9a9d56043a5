//! What a plan leaves has nothing more to find, and costs what the plan said.

use super::apply::{apply, origin};
use crate::rules::builder::estate;
use crate::rules::committed::{by_day, machine, owned};
use crate::rules::fixtures::{SITUATIONS, path, root, rule_ids};
use crate::rules::properties::{fleet, machines};
use gpucost::analysis::{Audit, AuditedWorkload, audit};
use gpucost::domain::{
    Action, ActionKind, Classification, Finding, FindingKind, InstanceUsage, Money, Policy,
    ResourceId, Risk,
};
use gpucost::savings::{Purchase, Refusal, Rejection};
use gpucost::sources::files::{Keep, read_estate};
use gpucost::usage::Estate;
use proptest::prelude::*;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const RISKS: [Risk; 3] = [Risk::Low, Risk::Medium, Risk::High];

/// Work on spot is planned at what an hour of work costs, lost and repeated work
/// included; the audit of what then runs sees the spot price alone. With
/// checkpoints at their best interval the difference is under a tenth.
const MOST_SPOT_OVERHEAD: Decimal = Decimal::from_parts(10, 0, 0, false, 2);

/// An audit, its plan carried out, and another audit.
struct Twice {
    accepted: Risk,
    before: Audit,
    estate: Estate,
    after: Audit,
}

impl Twice {
    fn of(estate: &Estate, accepted: Risk) -> Self {
        let policy = Policy::default();
        let before = audit(estate, &policy, accepted);
        // A lower risk may have the cheaper plan.
        let accepted = before.plan_risk;
        let estate = apply(&before, estate);
        let after = audit(&estate, &policy, accepted);
        Self { accepted, before, estate, after }
    }

    /// The workloads that hold what is left of one.
    fn left_of(&self, workload: &AuditedWorkload) -> Vec<&AuditedWorkload> {
        let was: BTreeSet<&ResourceId> = workload.workload.instances.iter().collect();
        let workloads = self.after.workloads.iter();
        workloads
            .filter(|left| left.workload.instances.iter().any(|id| was.contains(&origin(id))))
            .collect()
    }

    /// Compute per month of what is left of a workload, unrounded; a group may
    /// have grown into another.
    fn compute_left(&self, workload: &AuditedWorkload) -> Decimal {
        let was: BTreeSet<&ResourceId> = workload.workload.instances.iter().collect();
        let mut sum = Decimal::ZERO;
        for left in self.left_of(workload) {
            let Some(cost) = &left.workload.cost else { continue };
            sum += left
                .workload
                .instances
                .iter()
                .zip(&cost.instances)
                .filter(|(id, _)| was.contains(&origin(id)))
                .map(|(_, cost)| cost.quote.rate.amount() * cost.monthly_hours)
                .sum::<Decimal>();
        }
        sum
    }

    /// What a workload may no longer show, and what it may not show now.
    fn check_findings(&self, name: &str, workload: &AuditedWorkload) {
        let was = advice(&self.before, [workload].into_iter());
        let is = advice(&self.after, self.left_of(workload).into_iter());
        for (rule, finding) in &is {
            let what = format!("{name} at {}: {} {rule}", self.accepted, workload.workload.name);
            match *rule {
                // The storage of what was stopped.
                "stopped-with-storage" => {
                    assert!(takes(workload, ActionKind::Stop), "{what}");
                    continue;
                }
                // At low risk none is bought, and only what shrank is due one.
                "steady-on-demand" if self.accepted == Risk::Low => continue,
                "steady-on-demand" if self.is_displaced(workload) => continue,
                // More risk than was accepted, or more data, may still find less.
                "overprovisioned-gpu" | "underutilized-gpu" => {
                    let saves = finding.monthly_savings.is_some();
                    let may_find_more = was_held_back(workload) || lost_unmeasured_hours(workload);
                    assert!(!saves || may_find_more, "{what} still saves");
                    continue;
                }
                "unused-gpus" if was_held_back(workload) => continue,
                _ => assert!(was.contains_key(rule), "{what} is new"),
            }
            for action in &workload.actions {
                let answered = answered(action.kind());
                assert!(!answered.contains(rule), "{what} is there again");
            }
        }
    }

    /// Where less would do at no risk and everything is known, nothing is said about
    /// how little is used.
    fn check_silence(&self, name: &str, workload: &AuditedWorkload) {
        let is = advice(&self.after, self.left_of(workload).into_iter());
        let reported =
            ["overprovisioned-gpu", "underutilized-gpu"].iter().any(|rule| is.contains_key(rule));
        assert!(
            !reported || self.may_shrink_further(workload),
            "{name} at {}: {} has nothing to do",
            self.accepted,
            workload.workload.name
        );
    }

    /// Whether less would do at a higher risk for what is left of a workload, or
    /// nobody can know.
    fn may_shrink_further(&self, workload: &AuditedWorkload) -> bool {
        // What a commitment covers is given no other advice until it ends.
        if takes(workload, ActionKind::Commit) {
            return true;
        }
        let policy = Policy::default();
        let boldest = audit(&self.estate, &policy, Risk::High);
        let left = self.left_of(workload);
        let ids: BTreeSet<String> = left.iter().map(|left| left.workload.id()).collect();
        let mut workloads = boldest.workloads.iter();
        workloads.any(|left| {
            let proposals = &left.proposals;
            let saves = proposals.rightsize().is_some() || proposals.share().is_some();
            let activity = &left.workload.activity;
            let weeks_are_known = activity.is_measured() && activity.len() + 1 >= 336;
            let is_known = left.workload.vram().is_some() && weeks_are_known;
            ids.contains(&left.workload.id()) && (saves || !is_known)
        })
    }

    /// Whether what was bought for a workload covers one that nothing was bought
    /// for, because its id comes first.
    fn is_displaced(&self, workload: &AuditedWorkload) -> bool {
        let workloads = self.before.workloads.iter();
        takes(workload, ActionKind::Commit)
            && workloads
                .filter(|neighbor| !takes(neighbor, ActionKind::Commit))
                .flat_map(|neighbor| self.left_of(neighbor))
                .any(|left| left.workload.committed_cost().is_some())
    }

    /// Whether a group is judged by other members than before: a commitment that
    /// covers some of them parts it in two, and one that moves to the type of another
    /// of its tag joins that. Either may show what was hidden.
    fn is_regrouped(&self, workload: &AuditedWorkload) -> bool {
        let left = self.left_of(workload);
        let mut members = left.iter().flat_map(|left| &left.workload.instances);
        left.len() > 1 || members.any(|id| !workload.workload.instances.contains(&origin(id)))
    }

    /// Nobody is reported to do more.
    fn check_actions(&self, name: &str, workload: &AuditedWorkload) {
        let what = format!("{name} at {}: {}", self.accepted, workload.workload.name);
        let left = self.left_of(workload);
        let mut actions = left.iter().flat_map(|left| &left.actions);
        // The stop names the volumes that stay.
        let is_storage = |action: &Action| {
            action.kind() == ActionKind::Release && takes(workload, ActionKind::Stop)
        };
        // Two steps, each below the limit of latency, lead further than one.
        let is_second_step =
            |action: &Action| action.kind() == ActionKind::Rightsize && was_held_back(workload);
        let due = |action: &&Action| {
            if is_second_step(action) {
                return false;
            }
            let is_commit = action.kind() == ActionKind::Commit;
            !is_storage(action) && (!is_commit || !self.is_displaced(workload))
        };
        if let Some(action) = actions.find(due) {
            panic!("{what} has more to do: {action:?}");
        }
    }

    /// Nothing is used less than before, as it would be on a card that is cheaper
    /// and faster too.
    fn check_use(&self, name: &str, workload: &AuditedWorkload) {
        for left in self.left_of(workload) {
            let judged = [workload, left].map(|workload| workload.verdict.classification);
            if !judged.contains(&Classification::InsufficientData) {
                let [was, is] = judged.map(used);
                let what = format!("{name} at {}: {}", self.accepted, workload.workload.name);
                assert!(is >= was, "{what} is used less than before");
            }
        }
    }

    /// Before commitments: whose hours they cover is not decided by the plan, see
    /// `check_sum`.
    fn check_cost(&self, name: &str, workload: &AuditedWorkload) {
        if workload.workload.cost.is_none() {
            return;
        }
        let planned = planned_before_commitments(workload).expect("it has a cost");
        // What goes on being paid for a stopped one is an unused part of what is
        // owned then, which `check_sum` adds.
        let committed_cost =
            workload.workload.committed_cost().filter(|_| takes(workload, ActionKind::Stop));
        let planned = planned
            - committed_cost
                .map_or(Decimal::ZERO, |committed_cost| committed_cost.monthly.amount());
        let cost = self.compute_left(workload).round_dp(2);
        let what = format!("{name} at {}: {}", self.accepted, workload.workload.name);
        if takes(workload, ActionKind::Spot) {
            let least = planned * (Decimal::ONE - MOST_SPOT_OVERHEAD);
            assert!(cost <= planned && cost >= least, "{what}: {planned} planned, {cost} found");
        } else {
            // A cent for each time that the plan rounds.
            let tolerance = Decimal::new(workload.actions.len() as i64, 2);
            assert!((planned - cost).abs() <= tolerance, "{what}: {planned} planned, {cost} found");
        }
    }

    /// What was bought is used in more hours than it takes to pay.
    fn check_purchase(&self, name: &str, index: usize, purchase: &Purchase) {
        let id = format!("planned-{index}");
        let mut commitments = self.after.commitments.iter();
        let bought = commitments.find(|commitment| commitment.id == id).expect("it was bought");
        let break_even =
            purchase.term.effective_hourly.amount() / purchase.on_demand_hourly.amount();
        let used = bought.utilization.expect("it holds for the window");
        assert!(
            used > break_even && used <= Decimal::ONE,
            "{name} at {}: {} is used to {used}, {break_even} are needed",
            self.accepted,
            bought.name
        );
    }

    fn check(&self, name: &str) {
        for workload in &self.before.workloads {
            if workload.actions.is_empty() {
                self.check_untouched(name, workload);
                continue;
            }
            self.check_findings(name, workload);
            self.check_silence(name, workload);
            self.check_actions(name, workload);
            self.check_use(name, workload);
            self.check_cost(name, workload);
        }
        for (index, purchase) in self.before.purchases.iter().enumerate() {
            self.check_purchase(name, index, purchase);
        }
        self.check_sum(name);
    }

    /// Nothing is done with it. What was bought for others may cover it in their
    /// place, which changes its cost alone.
    fn check_untouched(&self, name: &str, workload: &AuditedWorkload) {
        let was = advice(&self.before, [workload].into_iter());
        for left in self.left_of(workload) {
            let what = format!("{name} at {}: {}", self.accepted, workload.workload.name);
            assert_eq!(left.actions, [], "{what}");
            let is = advice(&self.after, [left].into_iter());
            assert!(is.keys().all(|rule| was.contains_key(rule)), "{what}");
            if left.workload.committed_cost().is_none() {
                assert_eq!(left.workload, workload.workload, "{what}");
                assert_eq!(left.verdict, workload.verdict, "{what}");
            }
        }
    }

    /// All that runs costs what the plan said, commitments included: the hours
    /// that they cover at their price, and what nobody uses of them.
    fn check_sum(&self, name: &str) {
        let running = self.before.workloads.iter();
        let running: Vec<_> = running.filter(|workload| workload.workload.cost.is_some()).collect();
        let planned: Decimal = running
            .iter()
            .filter_map(|workload| Some(workload.planned_monthly_cost()?.amount()))
            .sum();
        let costs = self.after.workloads.iter();
        let costs = costs.filter_map(|workload| workload.workload.cost.as_ref());
        let used: Decimal =
            costs.flat_map(|cost| &cost.instances).map(|cost| cost.monthly().amount()).sum();
        let unused = self.after.commitments.iter().map(|commitment| {
            let share = commitment.utilization.expect("it is active");
            commitment.monthly_cost.amount() * (Decimal::ONE - share)
        });
        let cost = used + unused.sum::<Decimal>();
        let what = format!("{name} at {}: {planned} planned, {cost} found", self.accepted);
        let actions = running.iter().flat_map(|workload| &workload.actions);
        // A cent for each time that the plan rounds, and for each machine that is new; and a commitment covers whole hours, of
        // which a box that just stopped ran a part.
        let is_part = |usage: &InstanceUsage| usage.running.running_seconds % 3_600 != 0;
        let parts = running.iter().flat_map(|workload| &workload.workload.usage);
        let parts = parts.filter(|usage| is_part(usage)).count() as i64;
        let moved = actions.clone().filter_map(Action::target);
        let moved: i64 = moved.map(|to| i64::from(to.count)).sum();
        let tolerance = Decimal::new(1 + actions.count() as i64 + moved + 100 * parts, 2);
        assert!(cost <= planned + tolerance, "{what}");
        let least = if running.iter().any(|workload| takes(workload, ActionKind::Spot)) {
            planned * (Decimal::ONE - MOST_SPOT_OVERHEAD)
        } else {
            planned - tolerance
        };
        assert!(cost >= least, "{what}");
    }
}

/// Whether a type was refused for what another card changes: one that answers too late is
/// within the limit from the type that was chosen instead, and what holds 5% of a small
/// card holds less of a large one.
fn was_held_back(workload: &AuditedWorkload) -> bool {
    let answer = workload.proposals.answer(ActionKind::Rightsize);
    let moved = answer.filter(|answer| answer.offered.is_some());
    let mut refused = moved.iter().flat_map(|answer| &answer.refused);
    refused.any(|refusal| {
        matches!(refusal.reason, Refusal::Type(Rejection::Risk(_) | Rejection::Gpus { .. }))
    })
}

/// Whether a schedule ends hours in which nobody measured: of what is left of them enough
/// is known to say that a GPU is never used.
fn lost_unmeasured_hours(workload: &AuditedWorkload) -> bool {
    let mut gpus = workload.workload.gpus();
    takes(workload, ActionKind::Schedule)
        && gpus.any(|gpu| {
            let maxima = gpu.maxima.map(|maxima| maxima.samples.coverage());
            maxima.is_none_or(|coverage| coverage < 0.9)
        })
}

/// Rules about waste and optimization that fire for any of some workloads.
fn advice<'a>(
    audit: &'a Audit,
    workloads: impl Iterator<Item = &'a AuditedWorkload>,
) -> BTreeMap<&'a str, &'a Finding> {
    let ids: BTreeSet<String> = workloads.map(|workload| workload.workload.id()).collect();
    let findings = audit.findings.iter();
    findings
        .filter(|finding| finding.kind != FindingKind::Risk && ids.contains(finding.workload()))
        .map(|finding| (finding.rule(), finding))
        .collect()
}

fn takes(workload: &AuditedWorkload, kind: ActionKind) -> bool {
    workload.actions.iter().any(|action| action.kind() == kind)
}

/// The rules that an action answers, beside the two of the classification.
fn answered(kind: ActionKind) -> &'static [&'static str] {
    match kind {
        ActionKind::Stop => &["idle-gpu", "idle-held-gpu"],
        ActionKind::Release => &["stopped-with-storage"],
        ActionKind::Schedule => &["off-hours"],
        ActionKind::Rightsize | ActionKind::Share => &["unused-gpus", "shareable-gpu"],
        ActionKind::Spot | ActionKind::Commit => &["steady-on-demand"],
    }
}

fn used(classification: Classification) -> u8 {
    match classification {
        Classification::InsufficientData => 0,
        Classification::Overprovisioned => 1,
        Classification::Underutilized => 2,
        Classification::WellUtilized => 3,
    }
}

fn planned_before_commitments(workload: &AuditedWorkload) -> Option<Decimal> {
    let cost = workload.workload.monthly_cost()?.amount();
    let taken = workload.actions.iter();
    let saved: Decimal = taken
        .filter(|action| action.kind() != ActionKind::Commit)
        .map(|action| action.monthly_savings().amount())
        .sum();
    Some(cost - saved)
}

fn read(path: &Path) -> Estate {
    read_estate(path, Keep::Points).unwrap_or_else(|error| panic!("{error:?}"))
}

#[test]
fn the_demo_has_nothing_left_to_find() {
    let demo = read(&root().join("fixtures/demo/estate.json.gz"));
    let mut taken = BTreeSet::new();
    for accepted in RISKS {
        let twice = Twice::of(&demo, accepted);
        twice.check("demo");
        let actions = twice.before.workloads.iter().flat_map(|workload| &workload.actions);
        taken.extend(actions.map(|action| action.kind()));
    }
    let kinds: BTreeSet<ActionKind> = ActionKind::ALL.iter().copied().collect();
    assert_eq!(taken, kinds, "the demo tries every lever");
}

/// What is committed goes on being paid: a plan beside it leaves nothing to find
/// either. (Where a third box could take the hours that a stopped one frees, more is
/// saved than planned.)
#[test]
fn what_is_reserved_leaves_nothing_to_find() {
    let estate = owned(vec![by_day("i-1", 90.0), machine("i-2", 0.0)], 1);
    for accepted in RISKS {
        let twice = Twice::of(&estate, accepted);
        twice.check("one reserved");
        let workloads = twice.before.workloads.iter();
        let planned = workloads.filter(|workload| !workload.actions.is_empty()).count();
        assert!(planned >= 1, "the idle box is stopped");
    }
}

#[test]
fn no_recorded_situation_has_anything_left_to_find() {
    let mut planned = 0;
    for rule in rule_ids() {
        for situation in SITUATIONS {
            let estate = read(&path(rule, situation));
            for accepted in RISKS {
                let twice = Twice::of(&estate, accepted);
                twice.check(&format!("{rule}/{situation}"));
                let workloads = twice.before.workloads.iter();
                planned += workloads.filter(|workload| !workload.actions.is_empty()).count();
            }
        }
    }
    assert!(planned > 40, "most situations have a plan: {planned}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::rules::honest::cases(96)))]

    #[test]
    fn no_plan_carried_out_costs_more_or_leaves_more_to_save(mut drafts in fleet(), risk in 0..RISKS.len()) {
        // Without a point of the CPU nobody sees that a schedule is kept.
        drafts.iter_mut().for_each(|draft| draft.has_cpu = true);
        // The faintest work would not show at all on a faster card.
        for level in drafts.iter_mut().flat_map(|draft| &mut draft.levels) {
            *level = if *level > 0 { (*level).max(10) } else { 0 };
        }
        let twice = Twice::of(&estate(machines(&drafts)), RISKS[risk]);
        for workload in &twice.before.workloads {
            let compute = workload.workload.cost.as_ref().map(|cost| cost.compute_monthly);
            let today = compute.map_or(Decimal::ZERO, Money::amount);
            // A cent for each instance that is rounded.
            let cents = Decimal::new(workload.workload.instances.len() as i64, 2);
            prop_assert!(twice.compute_left(workload).round_dp(2) <= today + cents);
            // What is bought for one may cover another that nothing is known of, by its id.
            let is_other = twice.is_regrouped(workload) || twice.is_displaced(workload);
            if !workload.actions.is_empty() && !is_other {
                twice.check_findings("random", workload);
                twice.check_actions("random", workload);
            }
        }
    }
}

#[test]
fn no_finding_is_left_on_what_the_demo_plans() {
    let demo = read(&root().join("fixtures/demo/estate.json.gz"));
    for accepted in [Risk::Medium, Risk::High] {
        let twice = Twice::of(&demo, accepted);
        let planned = twice.before.workloads.iter();
        for workload in planned.filter(|workload| !workload.actions.is_empty()) {
            let left = advice(&twice.after, twice.left_of(workload).into_iter());
            let rules: Vec<&str> = left.keys().copied().collect();
            assert!(rules.is_empty(), "{} at {accepted}: {rules:?}", workload.workload.name);
        }
    }
}
