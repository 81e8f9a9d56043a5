//! The gate for a Terraform plan: what it would leave behind, held against the
//! rules that need no measurement.

use super::evaluation::{Candidate, RuleEvaluation, Words};
use super::spending::run_rate_budgets;
use super::workload_rules::{refused, tag_words};
use super::{
    Allowance, BaselineState, Budget, GatePolicy, GateReport, Place, RequiredTag, Scope, Violation,
    line_of, policy_rule, spelling, suppress,
};
use crate::analysis::terraform::{PlannedChange, PlannedRow, PlannedSide};
use crate::catalog::shapes;
use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, Missing, Money, PlanAction, PlannedInstances, Severity,
    counted, shell_word,
};
use jiff::Timestamp;
use rust_decimal::Decimal;

/// Rules that a plan can be held against; the others need measurements.
const JUDGED: [&str; 5] = [
    policy_rule::BUDGET,
    policy_rule::REQUIRED_TAGS,
    policy_rule::TYPES,
    policy_rule::REGIONS,
    policy_rule::PRICE_AGE,
];

/// Holds what a plan would leave behind against a policy. What the plan leaves
/// as it is does not fail: it is shown as a notice. `file` is what the user calls
/// the plan.
pub fn gate_plan(
    plan: &PlannedChange,
    policy: &GatePolicy,
    file: &str,
    as_of: Timestamp,
) -> GateReport {
    let mut policy = policy.clone();
    policy.suppressions.retain(|suppression| JUDGED.contains(&suppression.rule.as_str()));
    let gate = PlanGate { plan, policy: &policy, file };
    let mut evaluations: Vec<RuleEvaluation> = Vec::new();
    evaluations.extend(run_rate_budgets(&policy).map(|budget| gate.budget(budget)));
    evaluations.extend(policy.required_tags.iter().map(|tag| gate.tag(tag)));
    evaluations.extend(gate.types());
    evaluations.extend(gate.regions());
    let (seen_on, is_unpriced) = (plan.oldest_seen_on(), plan.unpriced > 0);
    evaluations.extend(super::findings::age_of_prices(seen_on, is_unpriced, &policy, as_of));
    // What a plan as a whole does not show, and what launches from a template elsewhere, may be
    // about any rule.
    let of_all = [GapSubject::Plan, GapSubject::LaunchTemplate];
    for gap in plan.gaps.iter().filter(|gap| of_all.contains(&gap.what)) {
        evaluations.iter_mut().for_each(|evaluation| evaluation.lacks(gap));
    }
    evaluations.sort_by_key(|evaluation| line_of(&evaluation.check.place));

    let mut settled =
        suppress::settle(evaluations, &policy, None, as_of, std::collections::BTreeMap::new());
    // A suppression may be about another plan, or about what runs today.
    let is_needed = |violation: &Violation| violation.rule != policy_rule::UNMATCHED_SUPPRESSION;
    settled.violations.retain(is_needed);
    settled.notices.retain(is_needed);
    settled.notices.extend(gate.unlisted());
    settled.whole(plan.rows.is_empty())
}

/// Rules of a policy that a plan cannot be held against, because it measures
/// nothing; in order of id.
pub fn unjudged_by_plan(policy: &GatePolicy) -> Vec<&'static str> {
    let stated = [
        (policy_rule::BUDGET_FORECAST, policy.has_forecasts()),
        (policy_rule::COVERAGE, policy.coverage.is_some()),
        ("policy/forbid", !policy.forbidden.is_empty()),
        (policy_rule::UTILIZATION, !policy.utilization.is_empty()),
        (policy_rule::WASTE, policy.waste.is_some()),
    ];
    stated.into_iter().filter(|(_, is_stated)| *is_stated).map(|(rule, _)| rule).collect()
}

/// One sort of names.
struct NameRule<'a> {
    rule: &'static str,
    noun: &'static str,
    allowance: &'a Allowance,
    names: fn(&PlannedInstances) -> Names<'_>,
    step: fn(&str) -> String,
    /// What is missing where a name is not known, and why.
    unknown: (GapSubject, CauseKind),
}

/// Names that instances have, and why they may have others.
type Names<'a> = (&'a [String], Option<&'a Missing>);

/// How many resources keep a rule and how many could not be evaluated, among all.
#[derive(Default)]
struct Kept {
    of: usize,
    kept: usize,
    open: usize,
}

impl Kept {
    fn words(&self, verb: &str) -> String {
        let Self { of, kept, open } = self;
        match open {
            0 => format!("{kept} of {} {verb}", counted(of, "resource", "resources")),
            _ => format!("{kept} of {of} {verb}, {open} unknown"),
        }
    }
}

struct PlanGate<'a> {
    plan: &'a PlannedChange,
    policy: &'a GatePolicy,
    file: &'a str,
}

impl PlanGate<'_> {
    /// What accelerated instances there would be: a CPU type that a resource changes to
    /// is not what the policy is about.
    fn left(&self) -> impl Iterator<Item = (&PlannedRow, &PlannedSide)> {
        self.plan.rows.iter().filter_map(|row| Some((row, row.accelerated_after()?)))
    }

    fn budget(&self, budget: &Budget) -> RuleEvaluation {
        let limit = budget.monthly_limit;
        let zero = Money::zero(limit.currency());
        let (rule, words) = (policy_rule::BUDGET, format!("{limit} per month"));
        let scope = budget.scope.to_string();
        let mut judge = RuleEvaluation::new(self.policy, rule, &scope, words, budget.line);
        let (mut after, mut delta, mut perhaps) = (zero, zero, Decimal::ZERO);
        let mut open: Vec<Gap> = Vec::new();
        // What is not known of today matters only to whether the plan costs more.
        let mut open_before: Vec<Gap> = Vec::new();
        let holds_before = |side: &&PlannedSide| holds(&budget.scope, side) == Ok(true);
        for row in &self.plan.rows {
            let was = match row.before.as_ref().filter(holds_before) {
                None => Some(zero),
                Some(side) => {
                    let cost = row.monthly_before(limit.currency());
                    open_before.extend(side.fee.clone());
                    if cost.is_none() {
                        open_before.push(unpriced(row, side, limit));
                    }
                    cost
                }
            };
            let is = match &row.after {
                None => Some(zero),
                Some(side) => {
                    let cost = row.monthly_after(limit.currency());
                    let belongs = holds(&budget.scope, side);
                    if belongs != Ok(false) {
                        open.extend(side.fee.clone());
                        open.extend(row.assumption(side));
                    }
                    match (belongs, cost) {
                        (Ok(false), _) => Some(zero),
                        (Ok(true), Some(cost)) => {
                            after = plus(after, cost);
                            Some(cost)
                        }
                        (Err(cause), Some(cost)) => {
                            perhaps += cost.amount();
                            open.push(Gap::of(GapSubject::Scope, row.address.as_str(), cause));
                            None
                        }
                        (_, None) => {
                            open.push(unpriced(row, side, limit));
                            None
                        }
                    }
                }
            };
            // Half a row would read as though it came or went.
            if let (Some(was), Some(is)) = (was, is) {
                delta = Money::new(delta.amount() + is.amount() - was.amount(), limit.currency());
            }
        }
        judge.observed(format!("{after} per month after the plan"));
        if after.amount() > limit.amount() {
            let over = Money::new(after.amount() - limit.amount(), limit.currency());
            let is_new = delta.amount() > Decimal::ZERO;
            let past = if is_new { BaselineState::New } else { BaselineState::Known };
            let words = Words {
                title: format!(
                    "{scope} would cost {after} per month, {over} over its budget of \
                     {limit}; the plan changes it by {}",
                    delta.signed()
                ),
                monthly: Some(over),
                steps: STEPS.map(str::to_owned).to_vec(),
                aspect: Some(limit.currency().code().to_owned()),
                ..Words::default()
            };
            judge.violated(Severity::Critical, words, Some(past));
            if is_new {
                judge.lacks_if_accepted();
            }
            open_before.iter().for_each(|gap| judge.lacks(gap));
        }
        // What may belong to the scope does no harm where there is room for all of it.
        let has_room = after.amount() + perhaps <= limit.amount();
        let matters = |gap: &&Gap| gap.what != GapSubject::Scope || !has_room;
        open.iter().filter(matters).for_each(|gap| judge.lacks(gap));
        judge
    }

    fn tag(&self, required: &RequiredTag) -> RuleEvaluation {
        let key = &required.key;
        let limit = format!("the tag {key}");
        let mut judge = self.judge(policy_rule::REQUIRED_TAGS, &limit, required.line);
        let mut kept = Kept::default();
        for (row, side) in self.left() {
            kept.of += 1;
            let instances = &side.instances;
            let (lacking, observed) = match instances.tags.get(key) {
                Some(Some(value)) if !value.trim().is_empty() => {
                    kept.kept += 1;
                    continue;
                }
                Some(Some(_)) => ("has an empty value for", "empty"),
                None if !instances.more_tags => ("is missing", "tag missing"),
                Some(None) | None => {
                    kept.open += 1;
                    let cause = Cause::of(CauseKind::TagNotPlanned, [key]);
                    judge.lacks(&Gap::of(GapSubject::Tags, row.address.as_str(), cause));
                    continue;
                }
            };
            let title = format!("{} {lacking} the required tag {key}", row.address);
            let words = tag_words(key, title, observed, side.monthly.as_ref().ok().copied());
            let was_so = |side: &PlannedSide| {
                let value = side.instances.tags.get(key).cloned().flatten();
                value.is_none_or(|value| value.trim().is_empty())
            };
            let was_so = row.accelerated_before().is_some_and(was_so);
            self.add(&mut judge, row, words, was_so);
        }
        judge.observed(kept.words("with it"));
        judge
    }

    fn types(&self) -> Option<RuleEvaluation> {
        self.names(&NameRule {
            rule: policy_rule::TYPES,
            noun: "instance type",
            allowance: &self.policy.types,
            names: |instances| (&instances.types, instances.more_types.as_ref()),
            step: types_that_would_do,
            unknown: (GapSubject::InstanceType, CauseKind::NotPlanned),
        })
    }

    fn regions(&self) -> Option<RuleEvaluation> {
        self.names(&NameRule {
            rule: policy_rule::REGIONS,
            noun: "region",
            allowance: &self.policy.regions,
            names: |instances| match &instances.region {
                Ok(region) => (std::slice::from_ref(region), None),
                Err(missing) => (&[], Some(missing)),
            },
            step: |_| "use an allowed region, or allow this region".to_owned(),
            unknown: (GapSubject::Region, CauseKind::RegionNotPlanned),
        })
    }

    fn names(&self, asked: &NameRule<'_>) -> Option<RuleEvaluation> {
        let line = asked.allowance.line()?;
        let mut judge = self.judge(asked.rule, &asked.allowance.limit(), line);
        let mut kept = Kept::default();
        for (row, side) in self.left() {
            kept.of += 1;
            let (names, missing) = (asked.names)(&side.instances);
            if let Some(missing) = missing {
                let (subject, kind) = &asked.unknown;
                let cause = Cause::of(*kind, [&missing.to_string()]);
                judge.lacks(&Gap::of(subject.clone(), row.address.as_str(), cause));
            }
            let mut is_refused = false;
            for name in names {
                let Some(refusal) = asked.allowance.refusal(name) else { continue };
                is_refused = true;
                let had = |side: &PlannedSide| (asked.names)(&side.instances).0.contains(name);
                let known = row.accelerated_before().is_some_and(had);
                let title = format!("{} would use the {} {name}", row.address, asked.noun);
                let monthly = side.monthly.as_ref().ok().copied();
                let words = refused(refusal, name, title, monthly, (asked.step)(name));
                self.add(&mut judge, row, words, known);
            }
            kept.open += usize::from(missing.is_some() && !is_refused);
            kept.kept += usize::from(missing.is_none() && !is_refused);
        }
        judge.observed(kept.words("allowed"));
        Some(judge)
    }

    /// Denied names that nothing has.
    fn unlisted(&self) -> Vec<Violation> {
        let instances = || self.left().map(|(_, side)| &side.instances);
        let types = instances().flat_map(|planned| &planned.types);
        let regions = instances().filter_map(|planned| planned.region.as_ref().ok());
        let types = types.map(String::as_str).collect();
        spelling::unlisted(self.policy, &types, &regions.map(String::as_str).collect())
    }

    fn judge(&self, rule: &str, limit: &str, line: usize) -> RuleEvaluation {
        RuleEvaluation::new(self.policy, rule, "everything", limit, line)
    }

    /// A violation by one resource. What it was before, it may stay, unless there
    /// would be more of it.
    fn add(&self, judge: &mut RuleEvaluation, row: &PlannedRow, words: Words, was_so: bool) {
        let count = |side: Option<&PlannedSide>| side.and_then(|side| side.count);
        let grows = count(row.accelerated_after()) > count(row.accelerated_before());
        let is_kept = row.action != PlanAction::Create && was_so && !grows;
        let after = row.accelerated_after().map(|side| &side.instances.count);
        if let Some(Err(missing)) = after.filter(|_| is_kept) {
            // Whether there would be more of it is not known.
            let cause = Cause::of(CauseKind::NotPlanned, [&missing.to_string()]);
            judge.lacks(&Gap::of(GapSubject::InstanceCount, row.address.as_str(), cause));
        }
        let place = Place::PlanResource {
            file: self.file.to_owned(),
            address: row.address.clone(),
            line: None,
        };
        let rule = &judge.check.rule;
        let violation = words.violation(rule, Severity::Warning, &row.address, place);
        let past = if is_kept { BaselineState::Known } else { BaselineState::New };
        judge.violations.push(Candidate { violation, name: None, past: Some(past) });
    }
}

const STEPS: [&str; 2] = [
    "`gpucost rightsize --type g5.xlarge --util-p95 50 --vram-peak 4GiB` and `gpucost spot \
     --type g5.xlarge`, with your type and values, find cheaper options",
    "raise the limit in the policy if the spending is intended",
];

/// What to do about a type that may not be used.
fn types_that_would_do(instance_type: &str) -> String {
    if !shapes().any(|shape| shape.instance_type == instance_type) {
        return "`gpucost pricing` lists the priced types".to_owned();
    }
    let named = shell_word(instance_type);
    format!(
        "`gpucost rightsize --type {named} --util-p95 50 --vram-peak 4GiB`, with the values \
         of your job, finds suitable types"
    )
}

/// Whether a scope holds the instances, or why that is not known.
fn holds(scope: &Scope, side: &PlannedSide) -> Result<bool, Cause> {
    let instances = &side.instances;
    match scope {
        Scope::Everything => Ok(true),
        Scope::Account(account) => match &instances.account {
            Some(own) => Ok(own == account),
            None => Err(Cause::of(CauseKind::AccountNotPlanned, [])),
        },
        Scope::Region(region) => match &instances.region {
            Ok(own) => Ok(own == region),
            Err(missing) => {
                Err(Cause::of(CauseKind::ScopeRegionNotPlanned, [&missing.to_string()]))
            }
        },
        Scope::Tag { key, value } => match instances.tags.get(key) {
            Some(Some(own)) => Ok(own == value),
            None if !instances.more_tags => Ok(false),
            Some(None) | None => Err(Cause::of(CauseKind::ScopeTagNotPlanned, [key])),
        },
    }
}

fn unpriced(row: &PlannedRow, side: &PlannedSide, limit: Money) -> Gap {
    match &side.monthly {
        Err(gap) => gap.clone(),
        Ok(cost) => {
            let currencies = [cost.currency().code(), limit.currency().code()];
            let cause = Cause::of(CauseKind::PlannedNotInBudget, currencies);
            Gap::of(GapSubject::Budget, row.address.as_str(), cause)
        }
    }
}

fn plus(sum: Money, part: Money) -> Money {
    Money::new(sum.amount() + part.amount(), sum.currency())
}
