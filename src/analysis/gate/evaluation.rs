//! What judging one rule of a policy comes to, before suppressions.

use super::baseline::Past;
use super::report::SAME_ESTATE;
use super::{Check, CheckOutcome, GatePolicy, MissingData, Place, Violation};
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, Hidden, InstanceUsage, Money, Part, Provider, Severity,
    UsageState, WorkloadKey, region_of, shell_word,
};

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

impl RuleEvaluation {
    /// Something that the rule lacked.
    pub(super) fn lacks(&mut self, gap: &Gap) {
        let rule = self.check.rule.clone();
        self.lacks_for(gap, &rule);
    }

    /// The same for another rule's id than its own.
    fn lacks_for(&mut self, gap: &Gap, rule: &str) {
        self.missing_data.push(MissingData {
            place: gap.place.clone(),
            what: gap.what.clone(),
            reason: gap.reason.clone(),
            hint: gap.hint.clone(),
            rules: vec![rule.to_owned()],
        });
    }
}

/// A violation, unless somebody answers for it or an earlier audit knew it.
pub(super) struct Candidate {
    pub(super) violation: Violation,
    /// The name of its workload, by which a suppression may call it.
    pub(super) name: Option<String>,
    pub(super) past: Past,
}

/// One rule while it is evaluated.
pub(super) struct Judge<'a> {
    policy: &'a GatePolicy,
    evaluation: RuleEvaluation,
}

impl<'a> Judge<'a> {
    /// A rule by its id, what it is about and what it demands.
    pub(super) fn new(
        policy: &'a GatePolicy,
        rule: &str,
        scope: impl Into<String>,
        limit: impl Into<String>,
        line: usize,
    ) -> Self {
        Self {
            policy,
            evaluation: RuleEvaluation {
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
            },
        }
    }

    /// What was seen, in words.
    pub(super) fn observed(&mut self, observed: impl Into<String>) {
        self.evaluation.check.observed = Some(observed.into());
    }

    /// Something missing. `workload` is by which a suppression may call it.
    pub(super) fn missing_data(&mut self, gap: &Gap) {
        self.evaluation.lacks(gap);
    }

    /// The same for another rule's id than its own.
    pub(super) fn missing_data_for(&mut self, gap: &Gap, rule: &str) {
        self.evaluation.lacks_for(gap, rule);
    }

    /// A violation of the rule itself.
    pub(super) fn violated(&mut self, severity: Severity, words: Words, past: Past) {
        let check = &self.evaluation.check;
        let mut fingerprint = format!("{}:{}", check.rule, check.scope);
        if let Some(aspect) = words.aspect {
            fingerprint.push_str(&format!(":{aspect}"));
        }
        let violation = Violation {
            rule: check.rule.clone(),
            severity,
            scope: check.scope.clone(),
            workload: None,
            title: words.title,
            observed: words.observed,
            limit: words.limit,
            monthly: words.monthly,
            place: check.place.clone(),
            fingerprint,
            steps: words.steps,
            baseline_state: None,
            before: words.before,
        };
        self.add(violation, None, past);
    }

    /// A violation by one workload.
    pub(super) fn violated_by(
        &mut self,
        audited: &AuditedWorkload,
        severity: Severity,
        words: Words,
        past: Past,
    ) {
        let id = audited.workload.id();
        self.violated_by_id(id, &audited.workload.name, severity, words, past);
    }

    /// The same by anything with an id and a name, such as a capacity reservation.
    pub(super) fn violated_by_id(
        &mut self,
        id: String,
        name: &str,
        severity: Severity,
        words: Words,
        past: Past,
    ) {
        let check = &self.evaluation.check;
        let mut fingerprint = format!("{}:{id}", check.rule);
        if let Some(aspect) = words.aspect {
            fingerprint.push_str(&format!(":{aspect}"));
        }
        let violation = Violation {
            rule: check.rule.clone(),
            severity,
            scope: id.clone(),
            workload: Some(id),
            title: words.title,
            observed: words.observed,
            limit: words.limit,
            monthly: words.monthly,
            place: words.line.map_or_else(|| check.place.clone(), |line| place(self.policy, line)),
            fingerprint,
            steps: words.steps,
            baseline_state: None,
            before: words.before,
        };
        self.add(violation, Some(name.to_owned()), past);
    }

    /// A violation that is whole already.
    pub(super) fn add(&mut self, violation: Violation, name: Option<String>, past: Past) {
        self.evaluation.violations.push(Candidate { violation, name, past });
    }

    /// Lets missing data count only where the violations so far are accepted.
    pub(super) fn lacks_if_accepted(&mut self) {
        self.evaluation.lacks_if_accepted = self.count() > 0;
    }

    /// How many violations there are so far.
    pub(super) fn count(&self) -> usize {
        self.evaluation.violations.len()
    }

    pub(super) fn done(self) -> RuleEvaluation {
        self.evaluation
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

/// A line of the policy file.
pub(super) fn place(policy: &GatePolicy, line: usize) -> Place {
    policy
        .file
        .as_ref()
        .map_or(Place::Nowhere, |file| Place::PolicyLine { file: file.clone(), line })
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
pub(super) fn unseen<'a>(
    audit: &'a Audit,
    rests_on: &'a [Hidden],
) -> impl Iterator<Item = &'a Gap> {
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
    "growing-vram",
    "hot-gpu",
    "power-near-limit",
    "shareable-gpu",
    "stalled-gpu",
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
    let is_group = audited.workload.instances.len() > 1;
    let gaps = if is_group { audit.gaps.as_slice() } else { &[] };
    let unmeasured = gaps.iter().filter(move |gap| {
        let cause = gap.cause.as_deref().map(Cause::kind);
        cause == Some(CauseKind::GpuMetricsPartial) && gap.place == id
    });
    let of_members = unmeasured.flat_map(|gap| {
        let rules = IDLE_RULES.iter().chain(RULES_OF_MEASURED);
        rules.map(move |rule| (*rule, gap))
    });
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
    let is_quiet = |usage: &InstanceUsage| {
        let mut gpus = usage.gpus.iter();
        gpus.all(|gpu| gpu.is_active() != Some(true))
    };
    !rests && part.workload.usage.iter().any(is_quiet)
}

/// Whether a rule is about idleness.
pub(super) fn is_about_idleness(rule: &str) -> bool {
    IDLE_RULES.contains(&rule)
}
