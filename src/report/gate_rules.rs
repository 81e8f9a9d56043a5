//! The rules of a gate in words, for formats that describe them.

use crate::analysis::gate::policy_rule;
use crate::rules::RULES;

/// A rule in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RuleWords {
    /// What it demands, in a sentence.
    pub(super) summary: String,
    /// What to do when it is violated.
    pub(super) help: String,
    /// The page that describes it, from the root of this program's repository.
    pub(super) page: String,
}

const OF_POLICY: [(&str, &str, &str); 13] = [
    (
        policy_rule::BUDGET,
        "A scope costs no more than its budget.",
        "Act on the plan of `gpucost audit`, or raise the budget.",
    ),
    (
        policy_rule::WASTE,
        "No more is wasted than the policy allows.",
        "Stop or release what `gpucost audit` names as waste.",
    ),
    (
        policy_rule::UTILIZATION,
        "GPUs are used at least as much as the policy demands.",
        "`gpucost rightsize` names types that would do for less.",
    ),
    (
        policy_rule::REQUIRED_TAGS,
        "Every workload carries the tags that the policy requires.",
        "Tag every instance of the workload with the same value.",
    ),
    (
        policy_rule::TYPES,
        "Only instance types that the policy allows are used.",
        "Move to a type that is allowed, or allow this one.",
    ),
    (
        policy_rule::REGIONS,
        "Only regions that the policy allows are used.",
        "Move to a region that is allowed, or allow this one.",
    ),
    (
        policy_rule::PRICE_AGE,
        "No price is older than the policy allows.",
        "`gpucost pricing refresh` reads today's prices.",
    ),
    (
        policy_rule::COVERAGE,
        "Enough instances report GPU metrics.",
        "`gpucost metrics setup` prints what makes the others report.",
    ),
    (
        policy_rule::EXPIRED_SUPPRESSION,
        "No suppression has ended.",
        "Mend what it covered, or give it a new day.",
    ),
    (
        policy_rule::UNMATCHED_SUPPRESSION,
        "Every suppression covers something.",
        "Remove it from the policy.",
    ),
    (
        policy_rule::EMPTY_SCOPE,
        "Something belongs to every scope that has a budget.",
        "Check how the scope is spelled, and the scope of the audit.",
    ),
    (
        policy_rule::UNLISTED_NAME,
        "Every name that the policy denies is known.",
        "Check how the name is spelled; one that is newer than this program is denied too.",
    ),
    (
        policy_rule::IGNORED_WORKLOAD,
        "No tag takes a workload out of what the policy judges.",
        "Suppress the rules that are meant instead, with an owner and a day.",
    ),
];

/// What a rule of the gate demands.
pub(super) fn rule_words(id: &str) -> RuleWords {
    if let Some((_, summary, help)) = OF_POLICY.iter().find(|(known, _, _)| *known == id) {
        return RuleWords {
            summary: (*summary).to_owned(),
            help: (*help).to_owned(),
            page: "docs/check.md".to_owned(),
        };
    }
    let known = RULES.iter().find(|rule| rule.meta().id == id);
    let title = known.map_or("A finding that the policy forbids", |rule| {
        rule.meta().title
    });
    RuleWords {
        summary: format!("{}.", title.trim_end_matches('.')),
        help: "`gpucost explain ID`, with the id of the finding, says why it is there.".to_owned(),
        page: format!("docs/rules/{id}.md"),
    }
}

/// The part of a policy that states a rule: rules about findings are stated by
/// what is forbidden.
pub(super) fn section_of(rule: &str) -> &str {
    match rule {
        policy_rule::EXPIRED_SUPPRESSION | policy_rule::UNMATCHED_SUPPRESSION => "suppressions",
        _ => rule.strip_prefix("policy/").unwrap_or("forbid"),
    }
}
