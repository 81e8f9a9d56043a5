//! The rules of a gate in words, for formats that describe them.

use crate::analysis::gate::policy_rule;
use crate::rules::RULES;

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
        "The cost of a scope is within its budget.",
        "Apply the plan of `gpucost audit`, or raise the budget.",
    ),
    (
        policy_rule::WASTE,
        "Waste is within the limit of the policy.",
        "Stop or release what `gpucost audit` reports as waste.",
    ),
    (
        policy_rule::UTILIZATION,
        "GPU utilization meets the minimum of the policy.",
        "`gpucost rightsize` lists suitable types at lower cost.",
    ),
    (
        policy_rule::REQUIRED_TAGS,
        "Every workload has the tags required by the policy.",
        "Tag every instance of the workload with the same value.",
    ),
    (
        policy_rule::TYPES,
        "Only instance types allowed by the policy are used.",
        "Move to an allowed type, or allow this one.",
    ),
    (
        policy_rule::REGIONS,
        "Only regions allowed by the policy are used.",
        "Move to an allowed region, or allow this one.",
    ),
    (
        policy_rule::PRICE_AGE,
        "No price is older than the policy allows.",
        "Run `gpucost pricing refresh` to fetch current prices.",
    ),
    (
        policy_rule::COVERAGE,
        "Enough instances report GPU metrics.",
        "`gpucost metrics setup` prints the configuration for the others.",
    ),
    (
        policy_rule::EXPIRED_SUPPRESSION,
        "No suppression has expired.",
        "Fix what it covered, or set a new expiry date.",
    ),
    (
        policy_rule::UNMATCHED_SUPPRESSION,
        "Every suppression matches something.",
        "Remove it from the policy.",
    ),
    (
        policy_rule::EMPTY_SCOPE,
        "No scope with a budget is empty.",
        "Check the spelling of the scope, and the scope of the audit.",
    ),
    (
        policy_rule::UNLISTED_NAME,
        "Every name denied by the policy is known.",
        "Check the spelling of the name; a name newer than this program is also denied.",
    ),
    (
        policy_rule::IGNORED_WORKLOAD,
        "No tag excludes a workload from the policy.",
        "Suppress the intended rules instead, with owner and expiry date.",
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
    let title = known.map_or("A finding forbidden by the policy", |rule| {
        rule.meta().title
    });
    RuleWords {
        summary: format!("{}.", title.trim_end_matches('.')),
        help: "`gpucost explain ID` with the finding ID shows the reasons.".to_owned(),
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
