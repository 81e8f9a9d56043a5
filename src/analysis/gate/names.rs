//! Required tags, and which types and regions may be used.

use super::baseline::{Baseline, Past};
use super::judged::{
    Judge, Judged, Words, called, explain, has_unread_tags, unseen, unseen_instances,
};
use super::{Allowance, GatePolicy, RequiredTag, policy_rule};
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{Severity, counted};

/// Every required tag.
pub(super) fn tags(audit: &Audit, policy: &GatePolicy, baseline: Option<&Baseline>) -> Vec<Judged> {
    let judge_one = |required| judge_tag(audit, policy, required, baseline);
    policy.required_tags.iter().map(judge_one).collect()
}

fn judge_tag(
    audit: &Audit,
    policy: &GatePolicy,
    required: &RequiredTag,
    baseline: Option<&Baseline>,
) -> Judged {
    let key = &required.key;
    let mut judge = Judge::new(
        policy,
        policy_rule::REQUIRED_TAGS,
        "everything",
        format!("the tag {key}"),
        required.line,
    );
    let mut unknown = 0;
    for audited in &audit.workloads {
        let workload = &audited.workload;
        let value = workload.tags.get(key).map(|value| value.trim());
        if value.is_some_and(|value| !value.is_empty()) {
            continue;
        }
        if has_unread_tags(audit, &workload.key) {
            unknown += 1;
            continue;
        }
        let name = called(audited);
        // Only what all instances share is known: the others may have it or not.
        let several = workload.instances.len() > 1;
        let (title, observed) = match (value, several) {
            (Some(_), _) => (
                format!("{name} has an empty value for the required tag {key}"),
                "empty",
            ),
            (None, true) => (
                format!("the instances of {name} have no common value for the required tag {key}"),
                "no common value",
            ),
            (None, false) => (
                format!("{name} is missing the required tag {key}"),
                "tag missing",
            ),
        };
        let words = Words {
            title,
            observed: observed.to_owned(),
            limit: format!("the tag {key}"),
            monthly: workload.monthly_cost(),
            steps: vec![format!("set the tag {key} on its instances")],
            aspect: Some(key.clone()),
            ..Words::default()
        };
        let known = baseline
            .and_then(|baseline| baseline.workloads.get(&workload.id()))
            .is_some_and(|past| {
                past.tags
                    .get(key)
                    .is_none_or(|value| value.trim().is_empty())
            });
        judge.violated_by(audited, Severity::Warning, words, past(known));
    }
    let missing = judge.count();
    let total = audit.workloads.len();
    let all = counted(total, "workload", "workloads");
    judge.observed(format!("{} of {all} with it", total - missing - unknown));
    unseen(audit, true).for_each(|gap| judge.missing_data(gap));
    judge.done()
}

/// Which types and regions may be used.
pub(super) fn places(
    audit: &Audit,
    policy: &GatePolicy,
    baseline: Option<&Baseline>,
) -> Vec<Judged> {
    let types = judge_names(
        audit,
        policy,
        baseline,
        &Asked {
            rule: policy_rule::TYPES,
            noun: "instance type",
            allowance: &policy.types,
            name: |audited| &audited.workload.key.instance_type,
            step: |audited| format!("{} shows suitable types", explain(audited)),
        },
    );
    let regions = judge_names(
        audit,
        policy,
        baseline,
        &Asked {
            rule: policy_rule::REGIONS,
            noun: "region",
            allowance: &policy.regions,
            name: |audited| &audited.workload.key.region,
            step: |_| "move it to an allowed region, or allow this region".to_owned(),
        },
    );
    types.into_iter().chain(regions).collect()
}

/// One sort of names.
struct Asked<'a> {
    rule: &'static str,
    noun: &'static str,
    allowance: &'a Allowance,
    name: fn(&AuditedWorkload) -> &String,
    step: fn(&AuditedWorkload) -> String,
}

fn judge_names(
    audit: &Audit,
    policy: &GatePolicy,
    baseline: Option<&Baseline>,
    asked: &Asked<'_>,
) -> Option<Judged> {
    let line = asked.allowance.line()?;
    let mut judge = Judge::new(
        policy,
        asked.rule,
        "everything",
        asked.allowance.limit(),
        line,
    );
    for audited in &audit.workloads {
        let name = (asked.name)(audited);
        let Some(refusal) = asked.allowance.refusal(name) else {
            continue;
        };
        let words = Words {
            title: format!(
                "{} uses the {} {name}, {}",
                called(audited),
                asked.noun,
                refusal.reason
            ),
            observed: name.clone(),
            limit: refusal.limit,
            monthly: audited.workload.monthly_cost(),
            steps: vec![(asked.step)(audited)],
            aspect: Some(name.clone()),
            line: Some(refusal.line),
            before: None,
        };
        // Type and region belong to an instance for life.
        let known = baseline
            .is_some_and(|baseline| baseline.workloads.contains_key(&audited.workload.id()));
        judge.violated_by(audited, Severity::Warning, words, past(known));
    }
    let refused = judge.count();
    let total = audit.workloads.len();
    let all = counted(total, "workload", "workloads");
    judge.observed(format!("{} of {all} allowed", total - refused));
    unseen_instances(audit).for_each(|gap| judge.missing_data(gap));
    Some(judge.done())
}

fn past(known: bool) -> Past {
    if known { Past::Known } else { Past::New }
}
