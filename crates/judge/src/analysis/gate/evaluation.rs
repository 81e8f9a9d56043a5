//! What judging one rule of a policy comes to, before suppressions.

use super::baseline::Baseline;
use super::report::SAME_ESTATE;
use super::{BaselineState, Check, CheckOutcome, GatePolicy, MissingData, Place, Violation};
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, Hidden, InstanceUsage, Money, Part, Provider, Severity,
    UsageState, WorkloadKey, region_of, shell_word,
};

/// What a gate judges, and by what.
#[derive(Clone, Copy)]
pub(super) struct Gate<'a> {
    pub(super) audit: &'a Audit,
    pub(super) policy: &'a GatePolicy,
    pub(super) baseline: Option<&'a Baseline>,
}

/// One rule with everything that speaks against it.
pub(super) struct RuleEvaluation {
    /// The rule; its outcome is settled when suppressions are applied.
    pub(super) check: Check,
    pub(super) violations: Vec<Candidate>,
    /// What it could not be evaluated for.
    pub(super) missing_data: Vec<MissingData>,
    /// Whether that counts only where what violates the rule is accepted: a violation that fails
    /// needs nothing else.
    pub(super) lacks_if_accepted: bool,
}

/// A violation, unless somebody answers for it or an earlier audit knew it.
pub(super) struct Candidate {
    pub(super) violation: Violation,
    /// The name of its workload, by which a suppression may call it.
    pub(super) name: Option<String>,
    /// How it stands to an earlier audit; absent for a rule that is not compared: it fails,
    /// whatever was before.
    pub(super) past: Option<BaselineState>,
}

impl RuleEvaluation {
    /// A rule by its id, what it is about and what it demands.
    pub(super) fn new(
        policy: &GatePolicy,
        rule: &str,
        scope: impl Into<String>,
        limit: impl Into<String>,
        line: usize,
    ) -> Self {
        Self {
            check: Check {
                rule: rule.to_owned(),
                scope: scope.into(),
                limit: limit.into(),
                observed: None,
                outcome: CheckOutcome::Passed,
                place: place(policy, line),
            },
            violations: Vec::new(),
            missing_data: Vec::new(),
            lacks_if_accepted: false,
        }
    }

    /// What was seen, in words.
    pub(super) fn observed(&mut self, observed: impl Into<String>) {
        self.check.observed = Some(observed.into());
    }

    /// Something that the rule lacked.
    pub(super) fn lacks(&mut self, gap: &Gap) {
        let rules = vec![self.check.rule.clone()];
        self.missing_data.push(MissingData::of(gap, rules));
    }

    /// The same for another rule's id than its own.
    pub(super) fn lacks_for(&mut self, gap: &Gap, rule: &str) {
        self.missing_data.push(MissingData::of(gap, vec![rule.to_owned()]));
    }

    /// A violation of the rule itself, by what it demands and what was observed, unless `words`
    /// say otherwise.
    pub fn violated(&mut self, severity: Severity, mut words: Words, past: Option<BaselineState>) {
        let Check { rule, scope, place, limit, observed, .. } = &self.check;
        if words.limit.is_empty() {
            words.limit.clone_from(limit);
        }
        if words.observed.is_empty() {
            words.observed = observed.clone().unwrap_or_default();
        }
        let violation = words.violation(rule, severity, scope, place.clone());
        self.violations.push(Candidate { violation, name: None, past });
    }

    /// A warning about one workload, or about anything else with an id and a name, such as a
    /// capacity reservation.
    pub fn violated_by(&mut self, id: &str, name: &str, words: Words, past: BaselineState) {
        let mut place = self.check.place.clone();
        if let (Place::PolicyLine { line, .. }, Some(own)) = (&mut place, words.line) {
            *line = own;
        }
        let mut violation = words.violation(&self.check.rule, Severity::Warning, id, place);
        violation.workload = Some(id.to_owned());
        self.violations.push(Candidate {
            violation,
            name: Some(name.to_owned()),
            past: Some(past),
        });
    }

    /// Lets missing data count only where the violations so far are accepted.
    pub(super) fn lacks_if_accepted(&mut self) {
        self.lacks_if_accepted = !self.violations.is_empty();
    }
}

/// What is said about a violation.
#[derive(Default)]
pub(super) struct Words {
    pub(super) title: String,
    pub(super) observed: String,
    pub(super) limit: String,
    pub(super) monthly: Option<Money>,
    pub(super) steps: Vec<String>,
    /// What tells it from others of the same rule and scope.
    pub(super) aspect: Option<String>,
    /// A line of its own; the rule's otherwise.
    pub(super) line: Option<usize>,
    /// What the baseline observed.
    pub(super) before: Option<String>,
}

impl Words {
    /// A violation of a rule in a scope, which is no workload.
    pub fn violation(self, rule: &str, severity: Severity, scope: &str, place: Place) -> Violation {
        let aspect = self.aspect.map_or_else(String::new, |aspect| format!(":{aspect}"));
        Violation {
            rule: rule.to_owned(),
            severity,
            scope: scope.to_owned(),
            workload: None,
            title: self.title,
            observed: self.observed,
            limit: self.limit,
            monthly: self.monthly,
            place,
            fingerprint: format!("{rule}:{scope}{aspect}"),
            steps: self.steps,
            baseline_state: None,
            before: self.before,
        }
    }
}

/// A line of the policy file.
pub(super) fn place(policy: &GatePolicy, line: usize) -> Place {
    let file = policy.file.clone();
    file.map_or(Place::Nowhere, |file| Place::PolicyLine { file, line })
}

/// What a report calls a workload in a sentence.
pub(super) fn called(audited: &AuditedWorkload) -> String {
    let (id, name) = (audited.workload.id(), &audited.workload.name);
    if *name == id { id } else { format!("{name} ({id})") }
}

/// The command that explains a workload.
pub(super) fn explain(audited: &AuditedWorkload) -> String {
    let id = shell_word(&audited.workload.id());
    format!("`gpucost explain {id}{SAME_ESTATE}`")
}

/// The gaps that a rule is incomplete by: those about what it rests on, and those of which nobody
/// knows what they are about. Instances are a part of everything. A filter by tag, or a rule about
/// tags, rests on tags too: what has none that were read may belong to it.
pub fn unseen<'a>(audit: &'a Audit, rests_on: &'a [Hidden]) -> impl Iterator<Item = &'a Gap> {
    let is_by_tag = !audit.tag_filters.is_empty();
    audit.gaps.iter().filter(move |gap| {
        let hidden = gap.hides();
        matches!(hidden, Hidden::Instances | Hidden::Anything)
            || rests_on.contains(&hidden)
            || (is_by_tag && hidden == Hidden::Tags)
    })
}

/// Whether the tags of a workload were not read.
pub(super) fn has_unread_tags(audit: &Audit, key: &WorkloadKey) -> bool {
    // Those of EC2 come with its instances.
    key.provider == Provider::SageMaker
        && audit.gaps.iter().any(|gap| {
            let before = gap.place.strip_suffix(key.region.as_str());
            let is_here = before.is_some_and(|before| {
                before.is_empty() || before.strip_suffix('/') == Some(key.account.as_str())
            });
            gap.what == GapSubject::Tags && is_here
        })
}

/// Whether a gap of the inventory may concern a region. Nodes of a cluster may be in any.
pub(super) fn concerns_region(gap: &Gap, region: &str) -> bool {
    let of_one_region =
        gap.what == GapSubject::Region || matches!(gap.hides(), Hidden::Tags | Hidden::Storage);
    !of_one_region || region_of(&gap.place) == region
}

/// Rules about idleness: what is seen to work is not idle, whatever else they lack.
const IDLE_RULES: &[&str] = &["idle-gpu", "idle-held-gpu"];

/// Rules that apply only to what was measured, so that they are not silent about the rest.
const RULES_OF_MEASURED: &[&str] = &[
    "growing-vram", "hot-gpu", "power-near-limit", "shareable-gpu", "stalled-gpu",
    "vram-nearly-full",
];

/// Rules that lacked data about a workload and might have spoken with it, each
/// with what it lacked.
pub(super) fn open_silences<'a>(
    audit: &'a Audit,
    audited: &'a AuditedWorkload,
) -> impl Iterator<Item = (&'static str, &'a Gap)> {
    // One member that works says nothing of the others.
    let is_open = audited.parts.iter().any(|part| part.verdict.state.is_none());
    let seems_idle = audited.parts.iter().any(seems_idle);
    let id = audited.workload.id();
    let gaps = if audited.workload.instances.len() > 1 { audit.gaps.as_slice() } else { &[] };
    let unmeasured = gaps.iter().filter(move |gap| {
        let cause = gap.cause.as_deref().map(Cause::kind);
        cause == Some(CauseKind::GpuMetricsPartial) && gap.place == id
    });
    let of_members = unmeasured
        .flat_map(|gap| IDLE_RULES.iter().chain(RULES_OF_MEASURED).map(move |rule| (*rule, gap)));
    let silences = audited.silent.iter().flat_map(move |silence| {
        let missing = &silence.missing_data;
        let own = silence.rules.iter().copied();
        let own = own.filter(move |rule| is_open || !IDLE_RULES.contains(rule));
        let others: &'static [&'static str] = match missing.what {
            GapSubject::GpuUtilization => RULES_OF_MEASURED,
            GapSubject::UtilizationPerGpu if seems_idle => IDLE_RULES,
            _ => &[],
        };
        own.chain(others.iter().copied()).map(move |rule| (rule, missing))
    });
    silences.chain(of_members)
}

/// Whether nothing works on the GPUs of an instance that were measured, where that is not
/// reported as rest.
fn seems_idle(part: &Part) -> bool {
    let rests = part.verdict.state.is_some_and(UsageState::rests);
    let is_quiet =
        |usage: &InstanceUsage| usage.gpus.iter().all(|gpu| gpu.is_active() != Some(true));
    !rests && part.workload.usage.iter().any(is_quiet)
}

/// Whether a rule is about idleness.
pub(super) fn is_about_idleness(rule: &str) -> bool {
    IDLE_RULES.contains(&rule)
}
