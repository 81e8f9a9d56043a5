//! Forbidden findings, and how old a price may be.

use super::baseline::Baseline;
use super::evaluation::{Candidate, Gate, RuleEvaluation, Words, open_silences, place, unseen};
use super::{BaselineState, Forbidden, GatePolicy, Violation, policy_rule};
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    ActionKind, Cause, CauseKind, Finding, Gap, GapSubject, Hidden, Money, Severity, counted,
};
use crate::rules::{CLUSTER_RULES, COMMITMENT_RULES, Need, RULES, keeps_silent};
use crate::savings::{NoSharing, Refusal};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, BTreeSet};

const STOPPED_WITH_STORAGE: &str = "stopped-with-storage";

/// A ban on findings.
pub fn forbidden(Gate { audit, policy, baseline }: Gate<'_>, ban: &Forbidden) -> RuleEvaluation {
    let limit = match ban.severity {
        Severity::Info => "no finding".to_owned(),
        Severity::Warning => "no warning or critical finding".to_owned(),
        Severity::Critical => "no critical finding".to_owned(),
    };
    let rule = ban.rule.as_deref().unwrap_or("*");
    let mut judge = RuleEvaluation::new(policy, rule, "everything", &limit, ban.line);
    let workloads = audit.workloads.iter().map(|audited| &audited.workload);
    let names: BTreeMap<String, &str> =
        workloads.map(|workload| (workload.id(), workload.name.as_str())).collect();
    for finding in &audit.findings {
        if ban.bans(finding.rule()) && finding.severity >= ban.severity {
            let name = names.get(finding.workload()).copied();
            let then = baseline.and_then(|baseline| baseline.findings.get(&finding.id()));
            let mut violation = banned(policy, ban, finding, name, &limit);
            violation.before = then.and_then(|then| Some(format!("{} per month", (*then)?)));
            let has_grown =
                baseline.is_some_and(|baseline| baseline.growth.contains(finding.workload()));
            let past = match then.copied() {
                // Without an amount, more instances are more of it.
                Some(None) if has_grown => BaselineState::Worse,
                then => past(finding, then),
            };
            if matches!(then, Some(Some(_))) && finding.monthly_savings.is_none() {
                // Without its price, it may be worse than it was.
                let cause = Need::Price.unreported();
                judge.lacks(&Gap::of(Need::Price.subject(), finding.workload(), cause));
            }
            let name = name.map(str::to_owned);
            judge.violations.push(Candidate { violation, name, past: Some(past) });
        }
    }
    judge.observed(match judge.violations.len() {
        0 => "none".to_owned(),
        many => counted(many, "finding", "findings"),
    });
    silences(audit, ban, &mut judge);
    judge
}

impl Forbidden {
    /// Whether it is about a rule.
    fn bans(&self, rule: &str) -> bool {
        self.rule.as_deref().is_none_or(|banned| banned == rule)
    }

    /// Whether a rule, if it spoke, could come up with something banned.
    fn awaits(&self, rule: &str) -> bool {
        let usual = RULES.iter().find(|known| known.meta().id == rule);
        self.bans(rule)
            && (self.rule.is_some()
                || usual.is_none_or(|known| known.meta().severity >= self.severity))
    }
}

/// A forbidden finding; `name` is that of its workload, where it is about one.
fn banned(
    policy: &GatePolicy,
    ban: &Forbidden,
    finding: &Finding,
    name: Option<&str>,
    limit: &str,
) -> Violation {
    let called = name.unwrap_or(finding.workload());
    let recommendation = &finding.recommendation;
    let to = if recommendation.to.is_empty() {
        String::new()
    } else {
        format!(": {}", recommendation.to)
    };
    let mut steps = vec![format!("{}{to}", recommendation.action)];
    steps.extend(recommendation.steps.iter().cloned());
    let words = Words {
        title: format!("{called}: {}", finding.title),
        observed: format!("{} finding, {}", finding.severity, finding.confidence),
        limit: limit.to_owned(),
        monthly: finding.monthly_savings,
        steps,
        ..Words::default()
    };
    let place = place(policy, ban.line);
    Violation {
        workload: name.map(|_| finding.workload().to_owned()),
        ..words.violation(finding.rule(), finding.severity, finding.workload(), place)
    }
}

/// How a finding stands to what it promised then, where it was there.
fn past(finding: &Finding, then: Option<Option<Money>>) -> BaselineState {
    then.map_or(BaselineState::New, |then| {
        let now = finding.monthly_savings;
        BaselineState::of_amounts(then.map(Money::amount), now.map(Money::amount))
    })
}

/// How many findings of an earlier audit, of rules that are banned, are gone.
pub(super) fn gone(audit: &Audit, policy: &GatePolicy, baseline: &Baseline) -> u64 {
    let now: BTreeSet<String> = audit.findings.iter().map(Finding::id).collect();
    let is_banned = |id: &str| {
        let rule = id.split(':').next().unwrap_or_default();
        policy.forbidden.iter().any(|ban| ban.bans(rule))
    };
    let gone = |id: &&String| is_banned(id) && !now.contains(*id);
    baseline.findings.keys().filter(gone).count() as u64
}

/// What kept banned rules silent.
fn silences(audit: &Audit, ban: &Forbidden, judge: &mut RuleEvaluation) {
    let silences = audit.workloads.iter().flat_map(|audited| open_silences(audit, audited));
    for (rule, gap) in silences.chain(unevaluated(audit)).filter(|(rule, _)| ban.awaits(rule)) {
        judge.lacks_for(gap, rule);
    }
    let of_kind = |hidden: Hidden| audit.gaps.iter().filter(move |gap| gap.hides() == hidden);
    if ban.awaits(STOPPED_WITH_STORAGE) {
        of_kind(Hidden::Storage).for_each(|gap| judge.lacks_for(gap, STOPPED_WITH_STORAGE));
    }
    if COMMITMENT_RULES.iter().any(|rule| ban.awaits(rule)) {
        let rule = ban.rule.as_deref().unwrap_or("*");
        of_kind(Hidden::Commitments).for_each(|gap| judge.lacks_for(gap, rule));
    }
    for rule in CLUSTER_RULES.iter().filter(|rule| ban.awaits(rule)) {
        let is_silent = |gap: &&Gap| {
            let cause = gap.cause.as_deref();
            hides_claims(gap) || cause.is_some_and(|cause| keeps_silent(cause.kind(), rule))
        };
        audit.gaps.iter().filter(is_silent).for_each(|gap| judge.lacks_for(gap, rule));
    }
    unseen(audit, &[]).for_each(|gap| judge.lacks(gap));
}

/// Rules that speak of what a lever offers, with that lever.
const RULES_OF_LEVERS: [(&str, ActionKind); 2] =
    [("shareable-gpu", ActionKind::Share), ("steady-on-demand", ActionKind::Commit)];

/// Rules whose lever was not evaluated for want of a measurement, each with its gap.
fn unevaluated(audit: &Audit) -> impl Iterator<Item = (&'static str, &Gap)> {
    let by_id: BTreeMap<String, &AuditedWorkload> =
        audit.workloads.iter().map(|audited| (audited.workload.id(), audited)).collect();
    audit.gaps.iter().flat_map(move |gap| {
        let cause = gap.cause.as_deref().map(Cause::kind);
        let is_lever = cause == Some(CauseKind::NotMeasured);
        let audited = by_id.get(&gap.place).copied().filter(|_| is_lever);
        let open = RULES_OF_LEVERS.into_iter().filter(move |(_, lever)| {
            audited.is_some_and(|audited| rests_on_measurement(audited, *lever))
        });
        open.map(move |(rule, _)| (rule, gap))
    })
}

/// Whether more data may turn what a lever refuses into an offer. What is paid for ahead needs no
/// other commitment.
fn rests_on_measurement(audited: &AuditedWorkload, lever: ActionKind) -> bool {
    if lever == ActionKind::Commit && !audited.workload.key.is_on_demand() {
        return false;
    }
    let answer = audited.proposals.answer(lever);
    answer.is_some_and(|answer| {
        answer.offered.is_none()
            && answer.refused.iter().any(|refused| {
                matches!(
                    refused.reason,
                    Refusal::Missing(_)
                        | Refusal::TooShort
                        | Refusal::StaysOversized
                        | Refusal::Share(NoSharing::DataMissing { .. })
                )
            })
    })
}

/// Whether a gap keeps claims of a cluster away, and with them findings of any rule about
/// clusters. Without a cause, which earlier recordings do not state, it does.
fn hides_claims(gap: &Gap) -> bool {
    let kind = gap.cause.as_deref().map(Cause::kind);
    gap.hides() == Hidden::Claims
        && kind.is_none_or(|kind| {
            matches!(
                kind,
                CauseKind::CallFailed
                    | CauseKind::ClaimsNotRead
                    | CauseKind::DevicesNotListed
                    | CauseKind::PodsNotRecorded
                    | CauseKind::ResourcesForeign
            )
        })
}

pub fn price_age(audit: &Audit, policy: &GatePolicy, as_of: Timestamp) -> Option<RuleEvaluation> {
    let workloads = &audit.workloads;
    let is_unpriced = workloads.iter().any(|audited| audited.workload.unpriced.is_some());
    let mut evaluation = age_of_prices(audit.prices.oldest_seen_on(), is_unpriced, policy, as_of)?;
    // What was not read may rest on an older one.
    unseen(audit, &[Hidden::Commitments]).for_each(|gap| evaluation.lacks(gap));
    Some(evaluation)
}

/// The same of prices of which the oldest was last stated on a day.
pub(super) fn age_of_prices(
    oldest: Option<Date>,
    is_unpriced: bool,
    policy: &GatePolicy,
    as_of: Timestamp,
) -> Option<RuleEvaluation> {
    let limit = policy.price_age?;
    let most = span(limit.max_age.as_hours());
    let (rule, words) = (policy_rule::PRICE_AGE, format!("at most {most}"));
    let mut judge = RuleEvaluation::new(policy, rule, "everything", words, limit.line);
    match oldest {
        Some(oldest) => {
            let age = as_of.to_zoned(TimeZone::UTC).date().duration_since(oldest);
            let observed = format!("{} old, dated {oldest}", span(age.as_hours()));
            judge.observed(&observed);
            if age > limit.max_age {
                let words = Words {
                    title: format!("the oldest price is {observed}; the policy allows {most}"),
                    steps: vec!["`gpucost pricing refresh` reads new prices".to_owned()],
                    ..Words::default()
                };
                // A price is older than it was in any earlier audit.
                judge.violated(Severity::Warning, words, None);
            }
        }
        None if is_unpriced => {
            let cause = Cause::of(CauseKind::NothingPriced, []);
            judge.lacks(&Gap::of(GapSubject::Price, "everything", cause));
        }
        None => judge.observed("no instance price was used"),
    }
    Some(judge)
}

/// Hours in words, whole days where they are.
fn span(hours: i64) -> String {
    if hours % 24 == 0 {
        counted(hours / 24, "day", "days")
    } else {
        counted(hours, "hour", "hours")
    }
}
