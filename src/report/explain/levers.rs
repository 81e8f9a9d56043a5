//! Every lever with its result: planned, offered and left out, or refused, and why.

use super::Derivation;
use super::page::Page;
use crate::analysis::AuditedWorkload;
use crate::domain::ActionKind;
use crate::savings::{Answer, LEVERS, LeftOut, Proposal, Refusal, Refused};

/// Types that are reported beside the chosen one, of each sort.
pub(super) const SHOWN: usize = 3;

impl Page {
    pub(super) fn levers(&mut self, audited: &AuditedWorkload, by: &Derivation<'_>) {
        self.heading("levers");
        for lever in LEVERS {
            let kind = lever.kind();
            let Some(answer) = audited.proposals.answer(kind) else {
                self.lever(kind, "not evaluated", "excluded by tag");
                continue;
            };
            let mut actions = audited.actions.iter();
            let planned = actions.find(|action| action.kind() == kind);
            if let Some(action) = planned {
                let to = action.target().map_or(String::new(), |target| {
                    format!("{} × {}", target.count, target.instance_type)
                });
                self.lever(kind, "planned", &to);
            } else if answer.offered.as_deref().is_some_and(is_saving) {
                let why = left_out(kind, answer, audited, by);
                self.lever(kind, "offered, not planned", &why);
            } else {
                self.refused(kind, answer);
            }
        }
    }

    fn lever(&mut self, kind: ActionKind, result: &str, reason: &str) {
        self.row(&format!("{:<9}  {result:<20}  ", kind.name()), reason);
    }

    /// The reason against a lever, or the reasons against each type that it evaluated.
    fn refused(&mut self, kind: ActionKind, answer: &Answer) {
        let first = answer.refused.first().map(|one| &one.reason);
        let reason = first.unwrap_or(&Refusal::SavesNothing);
        if answer.more_refused == 0 && answer.refused.iter().all(|one| one.reason == *reason) {
            let result = if is_evaluated(reason) {
                "refused"
            } else {
                "not evaluated"
            };
            self.lever(kind, result, &words(reason));
        } else {
            let all = answer.refused_in_all();
            let reason = format!("none of {all} candidates is suitable");
            self.lever(kind, "refused", &reason);
            for one in answer.refused.iter().take(SHOWN) {
                self.note(&candidate(one));
            }
        }
        if let Some(Proposal::Stop(stop)) = answer.offered.as_deref() {
            for caveat in &stop.caveats {
                self.note(&format!("caveat: {caveat}"));
            }
        }
    }
}

/// Whether an offer is one. The caveats of a stop count for the findings even where it
/// saves nothing.
fn is_saving(proposal: &Proposal) -> bool {
    match proposal {
        Proposal::Stop(stop) => stop.action.is_some(),
        _ => true,
    }
}

/// Why the plan does without an offer; empty where it does not say.
fn left_out(
    kind: ActionKind,
    answer: &Answer,
    audited: &AuditedWorkload,
    by: &Derivation<'_>,
) -> String {
    match audited.left_out.get(&kind) {
        Some(LeftOut::Risk(risk)) if *risk <= by.accepted => {
            format!("the {} plan costs less", by.audit.plan_risk)
        }
        Some(LeftOut::Risk(risk)) => format!("it needs `--risk {risk}`"),
        Some(LeftOut::Instead(other)) => format!("{other} costs less"),
        Some(LeftOut::SavesNothing) if kind == ActionKind::Commit => {
            "no commitment costs less for the remaining hours".to_owned()
        }
        Some(LeftOut::SavesNothing) => "it saves nothing after the other actions".to_owned(),
        Some(LeftOut::Rejected) => "the policy rejects it".to_owned(),
        // A type that the plan leads to may have no offer where others have one.
        None => {
            let mut targets = audited.actions.iter().rev();
            let last = targets.find_map(|action| action.target());
            let today = &audited.workload.key.instance_type;
            let name = last.map_or(today, |target| &target.instance_type);
            let is_of = |one: &&Refused| {
                let to = one.candidate.as_ref();
                to.is_none_or(|to| to.instance_type == *name)
            };
            let reason = answer.refused.iter().find(is_of);
            reason.map_or(String::new(), candidate)
        }
    }
}

/// A candidate with the reason against it.
pub(super) fn candidate(one: &Refused) -> String {
    let reason = words(&one.reason);
    match &one.candidate {
        Some(to) => format!("{} × {}: {reason}", to.count, to.instance_type),
        None => reason,
    }
}

/// Whether a lever was asked at all.
fn is_evaluated(reason: &Refusal) -> bool {
    !matches!(
        reason,
        Refusal::Stopped | Refusal::Running | Refusal::Resting(_)
    )
}

fn words(reason: &Refusal) -> String {
    let text = match reason {
        Refusal::Resting(state) => return state.to_string(),
        Refusal::Billed(option) => return format!("billed as {option}"),
        Refusal::RateUnknown {
            plan,
            instance_type,
        } => {
            return format!(
                "the savings plan {plan} may cover it, and its rate for {instance_type} is unknown"
            );
        }
        Refusal::Ends(day) => return format!("it ends on {day} by its tag, before any term does"),
        Refusal::CpuWorks { p95_percent } => {
            return format!("its CPU works on something else (p95 {p95_percent:.1}%)");
        }
        Refusal::Missing(missing) => return missing.to_string(),
        Refusal::Schedule(reason) => return reason.to_string(),
        Refusal::Type(reason) => return reason.to_string(),
        Refusal::Share(reason) => return reason.to_string(),
        Refusal::Spot(reason) => return reason.to_string(),
        Refusal::OwnHardware => "own hardware costs the same whether it is used or not",
        Refusal::NoPause => "it cannot be stopped and started, only deleted",
        Refusal::TypesNotCompared => "other instance types of SageMaker are not compared",
        Refusal::ManagedHost => "SageMaker runs the host, so its GPUs cannot be divided",
        Refusal::NoSpotMarket => "SageMaker sells no spot capacity for it",
        Refusal::OtherCommitments => {
            "only SageMaker savings plans cover it, and gpucost does not evaluate them"
        }
        Refusal::Stopped => "stopped",
        Refusal::Running => "running",
        Refusal::SeenBriefly => "no GPU was active, but the observed time is too short",
        Refusal::InUse => "its GPUs are in use",
        Refusal::IdlenessUnknown => "the data does not show whether its GPUs are idle",
        Refusal::NoVerdict => "the data is not sufficient for a verdict",
        Refusal::PowerOnly => "power data alone does not justify a stop",
        Refusal::TakenLately => {
            "its GPUs were taken too recently for the idle time before to justify a stop"
        }
        Refusal::Unpriced => "price not available",
        Refusal::StoppedLately => "it stopped recently and may be started again",
        Refusal::NothingStands => "no billed storage or addresses remain",
        Refusal::OnlySnapshots => "snapshots that keep the data may cost as much as the volumes",
        Refusal::Committed => "its hours are committed",
        Refusal::Held => "it runs in a capacity reservation that this account cannot lower",
        Refusal::HeldHours => {
            "it runs in a capacity reservation, which is also billed during off hours"
        }
        Refusal::StaysOversized => {
            "its GPUs are used too little, and no other lever right-sizes or schedules it"
        }
        Refusal::SeveralMarkets => "its instances differ in operating system or tenancy",
        Refusal::TooShort => "no instance was measured for long enough",
        Refusal::SavesNothing => "it saves nothing",
    };
    text.to_owned()
}
