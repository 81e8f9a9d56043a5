//! Every lever with its result: planned, offered and not planned, or refused, and why.

use super::line::Derivation;
use crate::analysis::AuditedWorkload;
use crate::domain::ActionKind;
use crate::report::doc::columns;
use crate::savings::{Answer, Proposal, Refusal, Refused, SkipReason};

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
