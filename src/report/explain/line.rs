//! Lines of a derivation, what they are worked out by, and those of a verdict: what was measured,
//! what AWS advises, and every lever with its result.

use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    ACTIVE_PERCENT, ActionKind, Classification, Commitments, GpuUsage, Policy, Risk, UsageState,
    Workload, counted, floored,
};
use crate::report::doc::{columns, rows};
use crate::report::shared::text::{count, money, percent};
use crate::savings::{Answer, Proposal, Refusal, Refused, ScheduledHours, SkipReason};
use rust_decimal::Decimal;

/// What figures were worked out by.
#[derive(Debug, Clone, Copy)]
pub struct Derivation<'a> {
    /// Of all workloads.
    pub audit: &'a Audit,
    pub policy: &'a Policy,
    /// What the account has bought.
    pub commitments: &'a Commitments,
    pub accepted: Risk,
}

/// What a line is about, and how it follows.
pub(super) type Line = (&'static str, String);

columns! {
    pub(super) fn lines(line: Line) {
        text "name", "what", Narrow(0), line.0.to_owned(), "What the line is about.";
        text "derivation", "derivation", Narrow(0), line.1.clone(), "How it follows, with its figures and their sources.";
    }
}

/// How a workload runs between two actions of the plan.
pub(super) struct PlanState<'a> {
    /// The workload with what was chosen from.
    pub audited: &'a AuditedWorkload,
    /// What is left per month, unrounded.
    pub monthly: Decimal,
    /// The hours that a schedule leaves on.
    pub hours: Option<&'a ScheduledHours>,
    pub instance_type: String,
}

/// Types that are reported beside the chosen one, of each sort.
pub(super) const SHOWN: usize = 3;

const RESULTS: [&str; 4] = ["planned", "offered, not planned", "refused", "not evaluated"];

/// A lever with its result and the reason.
pub(super) type LeverRow = (ActionKind, &'static str, Option<String>);

columns! {
    pub(super) fn levers(row: LeverRow) {
        text "lever", "lever", Narrow(0), row.0.name().to_owned(), "";
        word[&RESULTS] "result", "result", Narrow(0), row.1, "";
        opt text "reason", "reason", Narrow(0), row.2.clone(), "Where a planned lever leads; else why the plan does without it.";
    }
}

pub(super) fn lever(kind: ActionKind, audited: &AuditedWorkload, by: &Derivation<'_>) -> LeverRow {
    let [planned, offered, refused, unevaluated] = RESULTS;
    let Some(answer) = audited.proposals.answer(kind) else {
        return (kind, unevaluated, Some("excluded by tag".to_owned()));
    };
    if let Some(action) = audited.actions.iter().find(|action| action.kind() == kind) {
        let to = action.target();
        return (kind, planned, to.map(|to| to.to_string()));
    }
    // The caveats of a stop count for the findings even where it saves nothing.
    let stop = match answer.offered.as_deref() {
        Some(Proposal::Stop(stop)) if stop.action.is_none() => stop.caveats.as_slice(),
        Some(_) => return (kind, offered, skipped(kind, answer, audited, by)),
        None => &[],
    };
    let first = answer.refused.first().map(|refusal| &refusal.reason);
    let first = first.unwrap_or(&Refusal::SavesNothing);
    let (refused_count, mut rest) = (answer.refused_in_all(), answer.refused.iter());
    let is_one = answer.more_refused == 0 && rest.all(|refusal| refusal.reason == *first);
    let mut words = vec![first.to_string()];
    if !is_one {
        words = vec![format!("none of {refused_count} candidates is suitable")];
        words.extend(answer.refused.iter().take(SHOWN).map(candidate));
    }
    words.extend(stop.iter().map(|caveat| format!("caveat: {caveat}")));
    let result = match first {
        Refusal::Stopped | Refusal::Running | Refusal::Resting(_) if is_one => unevaluated,
        _ => refused,
    };
    (kind, result, Some(words.join("; ")))
}

/// Why the plan does without an offer; absent where it does not say.
fn skipped(
    kind: ActionKind,
    answer: &Answer,
    audited: &AuditedWorkload,
    by: &Derivation<'_>,
) -> Option<String> {
    Some(match audited.skipped.get(&kind) {
        Some(SkipReason::Risk(risk)) if *risk <= by.accepted => {
            format!("the {} plan costs less", by.audit.plan_risk)
        }
        Some(SkipReason::Risk(risk)) => format!("it needs `--risk {risk}`"),
        Some(SkipReason::Instead(cheaper)) => format!("{cheaper} costs less"),
        Some(SkipReason::SavesNothing) if kind == ActionKind::Commit => {
            "no commitment costs less for the remaining hours".to_owned()
        }
        Some(SkipReason::SavesNothing) => "it saves nothing after the other actions".to_owned(),
        Some(SkipReason::Rejected) => "the policy rejects it".to_owned(),
        Some(SkipReason::Target) => "less risky actions reach the target".to_owned(),
        // A type that the plan leads to may have no offer where others have one.
        None => {
            let last = audited.actions.iter().rev().find_map(|action| action.target());
            let today = &audited.workload.key.instance_type;
            let name = last.map_or(today, |target| &target.instance_type);
            candidate(answer.refused.iter().find(|refused: &&Refused| {
                let to = refused.candidate.as_ref();
                to.is_none_or(|to| to.instance_type == *name)
            })?)
        }
    })
}

/// A candidate with the reason against it.
pub(super) fn candidate(refused: &Refused) -> String {
    let reason = &refused.reason;
    let to = refused.candidate.as_ref();
    to.map_or_else(|| reason.to_string(), |to| format!("{to}: {reason}"))
}

columns! {
    pub(super) fn gpus<'a>(gpu: &'a GpuUsage) {
        text "instance", "instance", Narrow(0), gpu.instance.to_string(), "";
        count "index", "GPU", Narrow(0), gpu.index, "Index on the host.";
        opt percent "mean", "mean", Narrow(0), gpu.utilization.map(|used| used.mean), "Utilization, 0-100; null where it was not measured.";
        opt percent "p95", "p95", Narrow(0), gpu.utilization.map(|used| used.p95), "";
        opt count "vram_peak_mib", "VRAM peak MiB", Narrow(0), gpu.vram.map(|vram| vram.peak_mib.ceil() as u64), "";
    }
}

pub(super) fn measurements(workload: &Workload) -> Vec<Line> {
    let Some(summary) = &workload.utilization else { return Vec::new() };
    let (start, end) = (summary.window.start, summary.window.end);
    let of = &summary.distribution;
    let [mean, p50, p95, p99, max] = [of.mean, of.p50, of.p95, of.p99, summary.max].map(percent);
    let share = |part: f64| floored(part * 100.0, 1);
    let samples = counted(count(summary.expected_samples), "sample", "samples");
    rows! {
        for runs in workload.rests_on_runs() => ("runs", format!("over {runs}, because the window has too little data; time without a run counts neither as idle nor as busy"));
        ("metric", format!("{} from {}, {start} to {end}, one value every {} s", summary.signal, summary.source, summary.period_seconds));
        ("samples", format!("{} of {samples}: coverage {}%", count(summary.n_samples), share(summary.coverage())));
        ("utilization", format!("mean {mean}, p50 {p50}, p95 {p95}, p99 {p99} of the mean across GPUs; maximum {max}"));
        for idle in summary.idle_share => ("idle", format!("in {}% of the periods: no GPU reached {ACTIVE_PERCENT}%", share(idle)));
    }
}

pub(super) fn verdict(audited: &AuditedWorkload, policy: &Policy) -> Vec<Line> {
    let verdict = &audited.verdict;
    let class = verdict.classification;
    let low = policy.overprovisioned_below_percent;
    let high = policy.underutilized_below_percent;
    let days = counted(policy.idle_min_days, "day", "days");
    let held = policy.idle_held_vram_percent;
    let is = |state| verdict.state == Some(state);
    rows! {
        ("verdict", format!("{class}: {}", verdict.reason));
        if class == Classification::Overprovisioned => ("threshold", format!("{class} means a mean below {low}% (policy)"));
        if class == Classification::Underutilized => ("threshold", format!("{class} means a mean from {low} to below {high}% (policy)"));
        if class == Classification::WellUtilized => ("threshold", format!("{class} means a mean of {high}% or more (policy)"));
        for state in verdict.state => ("state", state.to_string());
        if is(UsageState::Idle) || is(UsageState::IdleHeld) => ("threshold", format!("busiest GPU below {ACTIVE_PERCENT}% in 99% of the periods, at most one period per week at 5% or more, {days} observed (policy)"));
        if is(UsageState::Idle) => ("threshold", format!("VRAM below {held}% (policy)"));
        if is(UsageState::IdleHeld) => ("threshold", format!("VRAM of {held}% or more (policy)"));
        if is(UsageState::IdleSoFar) => ("threshold", format!("no GPU reached {ACTIVE_PERCENT}% in the observed time, which is less than {days} (policy)"));
        if is(UsageState::Stalled) => ("threshold", "mean of 60% or more, while no GPU draws more than its idle draw and 15% of the way from there to its limit (p95), or has an SM activity of 5% or more (p95)".to_owned());
        if is(UsageState::MostlyIdle) => ("threshold", format!("a GPU reached {ACTIVE_PERCENT}% in fewer than a tenth of the hours"));
        if is(UsageState::Saturated) => ("threshold", format!("mean above {}%, or 95% in a tenth of the hours (policy)", policy.saturated_above_percent));
        if is(UsageState::Bursty) => ("threshold", format!("mean below {low}%, p95 of {}% or more (policy)", policy.bursty_p95_percent));
        for confidence in verdict.confidence => ("confidence", confidence.to_string());
    }
}

/// What AWS advises, and why it may differ from the plan; nothing where AWS was not asked, or
/// advises nothing.
pub(super) fn opinion(audited: &AuditedWorkload) -> Vec<Line> {
    let workload = &audited.workload;
    let word = match audited.actions.as_slice() {
        [only] if only.kind() == ActionKind::Stop => "Stop",
        [only] if only.kind() == ActionKind::Rightsize => "Rightsize",
        _ => "",
    };
    let why = if workload.committed_cost().is_some() {
        "gpucost plans nothing for hours that a commitment has paid for"
    } else if audited.verdict.confidence.is_none() {
        "without GPU metrics, gpucost gives no verdict, and AWS uses CPU, memory and network"
    } else if workload.opinions.iter().all(|opinion| opinion.action == word) {
        "gpucost plans the same kind of action"
    } else {
        "AWS uses CPU, memory and network where no GPU metric is enabled"
    };
    let estimate = workload.aws_savings().map(money);
    let estimate = estimate.map_or(String::new(), |saved| format!(", {saved} per month"));
    rows! {
        for opinion in workload.aws_opinion() => ("AWS", format!("{opinion}{estimate}: {why}"));
    }
}
