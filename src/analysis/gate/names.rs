//! Required tags, and which types and regions may be used.

use super::baseline::Baseline;
use super::evaluation::{Gate, RuleEvaluation, Words, called, explain, has_unread_tags, unseen};
use super::report::SAME_ESTATE;
use super::{Allowance, BaselineState, Refusal, RequiredTag, policy_rule};
use crate::analysis::{AuditedWorkload, Entry, entries_of};
use crate::domain::{Hidden, Money, PastWorkload, counted, shell_word};
use crate::savings::UnusedCommitment;

/// Every required tag.
pub(super) fn tags(gate: Gate<'_>) -> Vec<RuleEvaluation> {
    gate.policy.required_tags.iter().map(|required| judge_tag(gate, required)).collect()
}

fn judge_tag(Gate { audit, policy, baseline }: Gate<'_>, required: &RequiredTag) -> RuleEvaluation {
    let key = &required.key;
    let (rule, limit) = (policy_rule::REQUIRED_TAGS, format!("the tag {key}"));
    let mut judge = RuleEvaluation::new(policy, rule, "everything", limit, required.line);
    let mut unknown = 0;
    for audited in &audit.workloads {
        let workload = &audited.workload;
        let entries: Vec<Entry<'_>> = entries_of(audited).collect();
        let lacking = || entries.iter().filter(|entry| !has_value(entry, key));
        let (entry_count, lacks) = (entries.len(), lacking().count());
        if lacks == 0 {
            continue;
        }
        if has_unread_tags(audit, &workload.key) {
            unknown += 1;
            continue;
        }
        let observed =
            if lacking().all(|entry| entry.tag(key).is_some()) { "empty" } else { "tag missing" };
        let title = match (entry_count, observed) {
            (1, "empty") => {
                format!("{} has an empty value for the required tag {key}", called(audited))
            }
            (1, _) => format!("{} is missing the required tag {key}", called(audited)),
            _ => format!(
                "{lacks} of {entry_count} instances of {} have no value for the required tag {key}",
                called(audited)
            ),
        };
        let had_value = |past: &PastWorkload| {
            let value = past.tags.get(key);
            value.is_some_and(|value| !value.trim().is_empty())
        };
        let known = baseline.and_then(|baseline| baseline.workloads.get(&workload.id()));
        let past = past(known.filter(|past| !had_value(past)), lacks, |past| {
            let tagged = past.tagged_instances.get(key).copied().unwrap_or_default();
            past.instances.len().saturating_sub(tagged as usize)
        });
        let words = tag_words(key, title, observed, sum(lacking()));
        judge.violated_by(&workload.id(), &workload.name, words, past);
    }
    let rooms = audit.unused.iter().filter(|row| row.mean_room.is_some());
    for room in rooms.clone() {
        let value = room.tags.get(key).map(|value| value.trim());
        if value.is_some_and(|value| !value.is_empty()) {
            continue;
        }
        let title = format!("{} is missing the required tag {key}", called_unused(room));
        let mut words = tag_words(key, title, "tag missing", room.monthly_cost);
        words.steps = vec![format!("set the tag {key} on the reservation")];
        let mut known = baseline.into_iter().flat_map(|baseline| &baseline.unused);
        let had_value = known.any(|past| {
            let value = past.tags.get(key).map(|value| value.trim());
            past.id == room.id && value.is_some_and(|value| !value.is_empty())
        });
        let past = if had_value { BaselineState::New } else { past_unused(baseline, room) };
        judge.violated_by(&room.id, &room.name, words, past);
    }
    let missing = judge.violations.len();
    let total = audit.workloads.len() + rooms.count();
    let workloads = counted(total, "workload", "workloads");
    judge.observed(format!("{} of {workloads} with it", total - missing - unknown));
    let rests_on = [Hidden::Tags, Hidden::Commitments];
    unseen(audit, &rests_on).for_each(|gap| judge.lacks(gap));
    judge
}

fn has_value(entry: &Entry<'_>, key: &str) -> bool {
    entry.tag(key).is_some_and(|value| !value.trim().is_empty())
}

/// What they cost per month; absent where nothing of it is priced.
fn sum<'a, 'b: 'a>(entries: impl Iterator<Item = &'a Entry<'b>>) -> Option<Money> {
    let amounts = entries.filter_map(|entry| entry.monthly);
    amounts.reduce(|sum, amount| sum.checked_add(amount).unwrap_or(sum))
}

pub(super) fn tag_words(key: &str, title: String, observed: &str, monthly: Option<Money>) -> Words {
    Words {
        title,
        observed: observed.to_owned(),
        limit: format!("the tag {key}"),
        monthly,
        steps: vec![format!("set the tag {key} on its instances")],
        aspect: Some(key.to_owned()),
        ..Words::default()
    }
}

fn called_unused(row: &UnusedCommitment) -> String {
    format!("{} ({})", row.name, row.id)
}

/// How it stands to an earlier audit that paid for it too.
fn past_unused(baseline: Option<&Baseline>, row: &UnusedCommitment) -> BaselineState {
    let mut known = baseline.into_iter().flat_map(|baseline| &baseline.unused);
    let amount = |cost: Option<Money>| cost.map(Money::amount);
    match known.find(|past| past.id == row.id) {
        Some(_) if baseline.is_some_and(|baseline| baseline.growth.contains(&row.id)) => {
            BaselineState::Worse
        }
        Some(past) => {
            BaselineState::of_amounts(amount(past.monthly_cost), amount(row.monthly_cost))
        }
        None => BaselineState::New,
    }
}

/// Which types and regions may be used.
pub(super) fn places(gate: Gate<'_>) -> Vec<RuleEvaluation> {
    let types = NameRule {
        rule: policy_rule::TYPES,
        noun: "instance type",
        allowance: &gate.policy.types,
        name: |audited| &audited.workload.key.instance_type,
        of_unused: |row| row.instance_type.as_ref(),
        step: |audited| format!("{} shows suitable types", explain(audited)),
    };
    let regions = NameRule {
        rule: policy_rule::REGIONS,
        noun: "region",
        allowance: &gate.policy.regions,
        name: |audited| &audited.workload.key.region,
        of_unused: |row| row.region.as_ref(),
        step: |_| "move it to an allowed region, or allow this region".to_owned(),
    };
    [types, regions].iter().filter_map(|names| judge_names(gate, names)).collect()
}

/// One sort of names.
struct NameRule<'a> {
    rule: &'static str,
    noun: &'static str,
    allowance: &'a Allowance,
    name: fn(&AuditedWorkload) -> &String,
    of_unused: fn(&UnusedCommitment) -> Option<&String>,
    step: fn(&AuditedWorkload) -> String,
}

fn judge_names(gate: Gate<'_>, asked: &NameRule<'_>) -> Option<RuleEvaluation> {
    let Gate { audit, policy, baseline } = gate;
    let line = asked.allowance.line()?;
    let mut judge =
        RuleEvaluation::new(policy, asked.rule, "everything", asked.allowance.limit(), line);
    for audited in &audit.workloads {
        let name = (asked.name)(audited);
        let Some(refusal) = asked.allowance.refusal(name) else { continue };
        let title = format!("{} uses the {} {name}", called(audited), asked.noun);
        let monthly = audited.workload.monthly_cost();
        let words = refused(refusal, name, title, monthly, (asked.step)(audited));
        // A stopped instance may get another type.
        let id = audited.workload.id();
        let known = baseline.and_then(|baseline| baseline.workloads.get(&id));
        let past = match baseline.filter(|baseline| baseline.growth.contains(&id)) {
            Some(_) => BaselineState::Worse,
            None => past(known, audited.workload.instances.len(), |past| past.instances.len()),
        };
        judge.violated_by(&id, &audited.workload.name, words, past);
    }
    let unused = audit.unused.iter();
    let unused = unused.filter_map(|row| Some((row, (asked.of_unused)(row)?)));
    for (row, name) in unused.clone() {
        let Some(refusal) = asked.allowance.refusal(name) else { continue };
        let called = called_unused(row);
        let title = format!("{called} pays for unused capacity of the {} {name}", asked.noun);
        let step = format!("`gpucost explain {}{SAME_ESTATE}`", shell_word(&row.id));
        let words = refused(refusal, name, title, row.monthly_cost, step);
        judge.violated_by(&row.id, &row.name, words, past_unused(baseline, row));
    }
    let refused = judge.violations.len();
    let total = audit.workloads.len() + unused.count();
    let workloads = counted(total, "workload", "workloads");
    judge.observed(format!("{} of {workloads} allowed", total - refused));
    unseen(audit, &[Hidden::Commitments]).for_each(|gap| judge.lacks(gap));
    Some(judge)
}

pub(super) fn refused(
    refusal: Refusal,
    name: &str,
    title: String,
    monthly: Option<Money>,
    step: String,
) -> Words {
    Words {
        title: format!("{title}, {}", refusal.reason),
        observed: name.to_owned(),
        limit: refusal.limit,
        monthly,
        steps: vec![step],
        aspect: Some(name.to_owned()),
        line: Some(refusal.line),
        before: None,
    }
}

/// How so many instances stand to a workload that violated the same before: whoever moves the
/// baseline on every night accepts no more of them.
fn past(
    known: Option<&PastWorkload>,
    instances: usize,
    then: impl FnOnce(&PastWorkload) -> usize,
) -> BaselineState {
    match known {
        None => BaselineState::New,
        Some(past) if instances > then(past) => BaselineState::Worse,
        Some(_) => BaselineState::Known,
    }
}
