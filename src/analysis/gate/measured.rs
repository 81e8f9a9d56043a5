//! Floors of utilization and of metrics coverage.

use super::baseline::{Baseline, mean_percent};
use super::evaluation::{Gate, RuleEvaluation, Words, called, explain, unseen};
use super::report::SAME_ESTATE;
use super::{BaselineState, UtilizationFloor, policy_rule};
use crate::analysis::AuditedWorkload;
use crate::analysis::remedy::{QueriedSources, advise};
use crate::analysis::workloads::KIND_TAG;
use crate::domain::{
    AcceleratorKind, Cause, CauseKind, Gap, KindBasis, Severity, Signal, WorkloadKind, counted,
    decimals_apart, floored,
};
use crate::rules::{Need, no_verdict};

/// Every floor of utilization.
pub(super) fn utilization(gate: Gate<'_>) -> Vec<RuleEvaluation> {
    gate.policy.utilization.iter().map(|(kind, floor)| judge_kind(gate, *kind, *floor)).collect()
}

fn judge_kind(gate: Gate<'_>, kind: WorkloadKind, floor: UtilizationFloor) -> RuleEvaluation {
    let Gate { audit, policy, baseline } = gate;
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
        let observed =
            format!("{measured} of {}, {shown}%", counted(total, "instance", "instances"));
        judge.observed(&observed);
        if percent < least {
            let then = baseline.and_then(Baseline::coverage_percent);
            let words = Words {
                title: format!(
                    "{measured} of {total} running GPU instances have enough metrics for a \
                     verdict, {shown}%, below {least}%"
                ),
                observed,
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
