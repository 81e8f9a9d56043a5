//! Rules about workloads: floors of utilization and of metrics coverage, required tags, and which
//! types and regions may be used.

use super::baseline::{Baseline, mean_percent};
use super::evaluation::{Gate, RuleEvaluation, Words, called, explain, has_unread_tags, unseen};
use super::report::SAME_ESTATE;
use super::{Allowance, BaselineState, Refusal, RequiredTag, UtilizationFloor, policy_rule};
use crate::analysis::gaps::{QueriedSources, advise};
use crate::analysis::workloads::KIND_TAG;
use crate::analysis::{AuditedWorkload, Entry, entries_of};
use crate::domain::{
    AcceleratorKind, Cause, CauseKind, Gap, Hidden, KindBasis, Money, PastWorkload, Severity,
    Signal, WorkloadKind, counted, decimals_apart, floored, shell_word,
};
use crate::rules::{Need, no_verdict};
use crate::savings::UnusedCommitment;

/// A floor of utilization.
pub(super) fn utilization(
    Gate { audit, policy, baseline }: Gate<'_>,
    kind: WorkloadKind,
    floor: UtilizationFloor,
) -> RuleEvaluation {
    let least = floor.mean_percent;
    let (rule, limit) = (policy_rule::UTILIZATION, format!("mean of at least {least}%"));
    let mut judge = RuleEvaluation::new(policy, rule, format!("kind {kind}"), limit, floor.line);
    let mut means: Vec<f64> = Vec::new();
    for audited in &audit.workloads {
        let workload = &audited.workload;
        if workload.kind != kind || workload.ignored.is_some() || !runs_gpus(audited) {
            continue;
        }
        match judged_mean(audited) {
            Err(mut gap) => {
                let asked = QueriedSources::of(&audit.api, audit.source);
                advise(&mut gap, workload.key.provider, asked);
                judge.lacks(&gap);
            }
            Ok(mean) => {
                means.push(mean);
                if mean < least {
                    below(audited, mean, least, baseline, &mut judge);
                }
            }
        }
    }
    if let Some(lowest) = means.iter().copied().reduce(f64::min) {
        let decimals = decimals_apart(lowest, least);
        judge.observed(format!("lowest mean {lowest:.decimals$}%"));
    } else if audit.workloads.iter().all(|audited| audited.workload.kind != kind) {
        judge.observed(format!("no {kind} workload"));
    }
    // What declares a kind that cannot be read may be of this one.
    let is_of_kind = |cause: &Cause| cause.details().any(|(_, word)| word == KIND_TAG);
    let undeclared = audit.gaps.iter();
    let undeclared = undeclared.filter(|gap| gap.cause.as_deref().is_some_and(is_of_kind));
    unseen(audit, &[]).chain(undeclared).for_each(|gap| judge.lacks(gap));
    judge
}

fn below(
    audited: &AuditedWorkload,
    mean: f64,
    least: f64,
    baseline: Option<&Baseline>,
    judge: &mut RuleEvaluation,
) {
    let workload = &audited.workload;
    let decimals = decimals_apart(mean, least);
    let then = baseline.and_then(|baseline| mean_percent(baseline.workloads.get(&workload.id())?));
    let guessed = match workload.kind_basis {
        KindBasis::Guessed => ", a kind inferred from its name",
        _ => "",
    };
    let mut steps = vec![format!("{} shows the measurements and suitable types", explain(audited))];
    if workload.kind_basis == KindBasis::Guessed {
        steps.push("declare the workload kind with the tag `gpucost:kind`".to_owned());
    }
    let words = Words {
        title: format!(
            "{} has a mean GPU utilization of {mean:.decimals$}%, below {least}% for {} \
             workloads{guessed}",
            called(audited),
            workload.kind
        ),
        observed: format!("mean {mean:.decimals$}%"),
        limit: format!("at least {least}%"),
        monthly: workload.monthly_cost(),
        steps,
        before: then.map(|then| format!("mean {then:.0$}%", decimals_apart(then, least))),
        ..Words::default()
    };
    let below = then.filter(|then| *then < least);
    let past =
        below.map_or(BaselineState::New, |then| BaselineState::of_falling_percent(then, mean));
    judge.violated_by(&workload.id(), &workload.name, words, past);
}

/// Whether a workload runs on what drivers call GPUs, as far as that is known.
fn runs_gpus(audited: &AuditedWorkload) -> bool {
    let shape = audited.workload.shape.as_ref();
    audited.workload.key.running
        && shape.is_none_or(|shape| shape.accelerator == AcceleratorKind::Gpu)
}

/// The mean GPU utilization of a workload that was measured enough.
fn judged_mean(audited: &AuditedWorkload) -> Result<f64, Gap> {
    let workload = &audited.workload;
    let missing_data = |cause| Gap::of(Need::Utilization.subject(), workload.id(), cause);
    if audited.verdict.confidence.is_none() {
        return Err(missing_data(no_verdict(workload, &audited.verdict)));
    }
    match &workload.utilization {
        Some(summary) if summary.signal == Signal::GpuUtilization => Ok(summary.distribution.mean),
        _ => Err(missing_data(Cause::of(CauseKind::OnlyPower, []))),
    }
}

/// The floor of coverage.
pub(super) fn coverage(Gate { audit, policy, baseline }: Gate<'_>) -> Option<RuleEvaluation> {
    let floor = policy.coverage?;
    let least = floor.percent;
    let limit = format!("at least {least}%");
    let (rule, measured) = (policy_rule::COVERAGE, format!("{limit} measured"));
    let mut judge = RuleEvaluation::new(policy, rule, "everything", measured, floor.line);
    let running = || audit.workloads.iter().filter(|audited| runs_gpus(audited));
    let total: usize = running().map(|audited| audited.workload.instances.len()).sum();
    let measured: usize = running().map(measured_instances).sum();
    if total == 0 {
        judge.observed("no running GPU instance");
    } else {
        let percent = measured as f64 / total as f64 * 100.0;
        let shown = floored(percent, decimals_apart(percent, least));
        let instances = counted(total, "instance", "instances");
        judge.observed(format!("{measured} of {instances}, {shown}%"));
        if percent < least {
            let then = baseline.and_then(Baseline::coverage_percent);
            let words = Words {
                title: format!(
                    "{measured} of {total} running GPU instances have enough metrics for a \
                     verdict, {shown}%, below {least}%"
                ),
                limit,
                steps: vec![
                    format!("`gpucost metrics{SAME_ESTATE}` shows which instances report nothing"),
                    Need::Utilization.unreported().hint(),
                ],
                before: then.map(|then| format!("{}%", floored(then, decimals_apart(then, least)))),
                ..Words::default()
            };
            let past = then.filter(|then| *then < least).map_or(BaselineState::New, |then| {
                BaselineState::of_falling_percent(then, percent)
            });
            judge.violated(Severity::Warning, words, Some(past));
        }
    }
    unseen(audit, &[]).for_each(|gap| judge.lacks(gap));
    Some(judge)
}

/// Instances of a workload with a verdict that delivered a signal of their own.
fn measured_instances(audited: &AuditedWorkload) -> usize {
    if audited.verdict.confidence.is_none() {
        return 0;
    }
    let usage = &audited.workload.usage;
    usage.iter().filter(|usage| usage.signal.is_some()).count()
}

/// A required tag.
pub fn tag(Gate { audit, policy, baseline }: Gate<'_>, required: &RequiredTag) -> RuleEvaluation {
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
