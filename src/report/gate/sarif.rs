//! `check --format sarif`: SARIF 2.1.0, for code scanning.

use super::brief::{GateBrief, Remark, accepted_words, file_of, level, verdict_words};
use crate::analysis::gate::{
    BaselineState, GateOutcome, GateReport, Place, Violation, policy_rule,
};
use crate::report::shared::text::{json_document, json_money, safe};
use crate::rules::RULES;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The folder that relative files are in: the checkout.
const ROOT: &str = "%SRCROOT%";

macro_rules! words {
    ($($rule:ident: $demand:literal, $help:literal;)*) => { &[$((policy_rule::$rule, $demand, $help)),*] };
}

/// What a rule of a policy demands, and what to do when it is violated.
const WORDS: &[(&str, &str, &str)] = words! {
    BUDGET: "The cost of a scope is within its budget.", "Apply the plan of `gpucost audit`, or raise the budget.";
    BUDGET_FORECAST: "The forecast of the month is within its budget.", "Apply the plan of `gpucost audit`, or raise the budget.";
    WASTE: "Waste is within the limit of the policy.", "Stop or release what `gpucost audit` reports as waste.";
    UTILIZATION: "GPU utilization meets the minimum of the policy.", "`gpucost rightsize` lists suitable types at lower cost.";
    REQUIRED_TAGS: "Every workload has the tags required by the policy.", "Tag every instance of the workload with the same value.";
    TYPES: "Only instance types allowed by the policy are used.", "Move to an allowed type, or allow this one.";
    REGIONS: "Only regions allowed by the policy are used.", "Move to an allowed region, or allow this one.";
    PRICE_AGE: "No price is older than the policy allows.", "Run `gpucost pricing refresh` to fetch current prices.";
    COVERAGE: "Enough instances report GPU metrics.", "`gpucost setup metrics` prints the configuration for the others.";
    EXPIRED_SUPPRESSION: "No suppression has expired.", "Fix what it covered, or set a new expiry date.";
    UNMATCHED_SUPPRESSION: "Every suppression matches something.", "Remove it from the policy.";
    EMPTY_SCOPE: "No scope with a budget is empty.", "Check the spelling of the scope, and the scope of the audit.";
    UNLISTED_NAME: "Every name denied by the policy is known.", "Check the spelling of the name; a name newer than this program is also denied.";
    IGNORED_WORKLOAD: "No tag excludes a workload from the policy.", "Suppress the intended rules instead, with owner and expiry date.";
};

/// The gate's report as a SARIF log with one run: violations are errors, notices warnings or
/// notes, and what is suppressed says by whom.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn gate_sarif(report: &GateReport, brief: &GateBrief) -> Result<String, serde_json::Error> {
    let violations = report.violations.iter().map(|violation| (violation, "error", None));
    let notices = report.notices.iter().map(|notice| (notice, level(notice.severity), None));
    let suppressed = report.suppressed.iter();
    let suppressed = suppressed.map(|entry| (&entry.violation, "error", Some(&entry.by)));
    let entries: Vec<_> = violations.chain(notices).chain(suppressed).collect();
    let rules = entries.iter().map(|(violation, ..)| violation.rule.as_str());
    let rules: Vec<&str> = rules.collect::<BTreeSet<_>>().into_iter().collect();
    let results = entries.into_iter().map(|(violation, level, by)| {
        let mut result = result(violation, level, report);
        result["ruleIndex"] = json!(rules.binary_search(&violation.rule.as_str()).ok());
        if let Some(by) = by {
            let accepted = safe(&accepted_words(by));
            result["suppressions"] =
                json!([{"kind": "external", "status": "accepted", "justification": accepted}]);
        }
        result
    });
    json_document(&json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "gpucost",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|id| descriptor(id)).collect::<Vec<_>>(),
            }},
            "automationDetails": {"id": "gpucost/check/"},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": report.outcome != GateOutcome::Incomplete,
                "endTimeUtc": brief.as_of.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
                "toolExecutionNotifications": brief.remarks(report).iter().map(notification).collect::<Vec<_>>(),
            }],
            "results": results.collect::<Vec<_>>(),
            "properties": {
                "outcome": report.outcome.name(),
                "verdict": verdict_words(report, brief),
                "subject": brief.subject,
                "monthlyCost": brief.monthly_cost.and_then(json_money),
                "currency": brief.monthly_cost.map(|cost| cost.currency().code()),
            },
        }],
    }))
}

fn descriptor(id: &str) -> Value {
    let (demand, help, page) = match WORDS.iter().find(|(rule, ..)| *rule == id) {
        Some((_, demand, help)) => ((*demand).to_owned(), *help, "docs/check.md".to_owned()),
        None => {
            let known = RULES.iter().find(|rule| rule.meta().id == id);
            let title = known.map_or("A finding forbidden by the policy", |rule| rule.meta().title);
            (
                format!("{}.", title.trim_end_matches('.')),
                "`gpucost explain ID` with the finding ID shows the reasons.",
                format!("docs/rules/{id}.md"),
            )
        }
    };
    let text = format!("{demand} {help} See {page}.");
    json!({
        "id": id,
        "shortDescription": {"text": demand},
        "fullDescription": {"text": format!("{demand} {help}")},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["cost", "gpu"]},
    })
}

/// What is said about the whole, or about what could not be evaluated and where.
fn notification(remark: &Remark<'_>) -> Value {
    let text = remark.text(safe);
    let Some(name) = remark.resource else {
        return json!({"level": remark.level, "message": {"text": text}});
    };
    json!({
        "level": remark.level,
        "message": {"text": format!("{}: {text}", safe(&remark.title))},
        "locations": [{"logicalLocations": [resource(name)]}],
    })
}

/// What is in no file, by its name.
fn resource(name: &str) -> Value {
    json!({"fullyQualifiedName": safe(name), "kind": "resource"})
}

fn result(violation: &Violation, level: &'static str, report: &GateReport) -> Value {
    let monthly = violation.monthly;
    let mut result = json!({
        "ruleId": violation.rule,
        "level": level,
        "message": {"text": Remark::of(violation, level).text(safe)},
        "locations": [location(violation, report)],
        "partialFingerprints": {
            "gpucostFingerprint/v1": violation.fingerprint,
            "primaryLocationLineHash": format!("{:016x}:1", hash(&violation.fingerprint)),
        },
        "properties": {
            "severity": violation.severity.name(),
            "observed": violation.observed,
            "limit": violation.limit,
            "workload": violation.workload,
            "monthly": monthly.and_then(json_money),
            "currency": monthly.map(|monthly| monthly.currency().code()),
            "before": violation.before,
        },
    });
    if let Some(state) = violation.baseline_state {
        result["baselineState"] = json!(match state {
            BaselineState::New => "new",
            BaselineState::Worse => "updated",
            BaselineState::Known => "unchanged",
        });
    }
    result
}

/// Where a violation is shown. One that is written nowhere is shown at the top of the policy,
/// because code scanning refuses a result without a file. Of a file of which no line is known,
/// it is about the whole: a region would need one.
fn location(violation: &Violation, report: &GateReport) -> Value {
    let name = match &violation.place {
        Place::PlanResource { address, .. } => address,
        _ => &violation.scope,
    };
    let mut location = json!({"logicalLocations": [resource(name)]});
    let policy = report.policy_file.as_deref();
    if let Some((file, line)) = file_of(&violation.place).or(policy.map(|file| (file, Some(1)))) {
        let mut physical = json!({"artifactLocation": artifact(file)});
        if let Some(line) = line {
            physical["region"] = json!({"startLine": line.max(1)});
        }
        location["physicalLocation"] = physical;
    }
    location
}

/// A file as a URI: relative ones belong to the checkout.
fn artifact(file: &str) -> Value {
    let file = file.replace('\\', "/");
    let file = file.strip_prefix("./").unwrap_or(&file);
    if file.starts_with('/') {
        json!({"uri": format!("file://{}", percent_encoded(file))})
    } else {
        json!({"uri": percent_encoded(file), "uriBaseId": ROOT})
    }
}

/// A path of a URI: everything but unreserved characters and slashes is encoded.
fn percent_encoded(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let encoded = path.bytes().map(|byte| match byte {
        plain if is_plain(plain) => char::from(plain).to_string(),
        other => format!("%{other:02X}"),
    });
    encoded.collect()
}

/// FNV-1a with 64 bits: the same on every machine and in every version.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris() {
        assert_eq!(percent_encoded("a b/ü%:c"), "a%20b/%C3%BC%25%3Ac");
        assert_eq!(artifact("./p.toml"), json!({"uri": "p.toml", "uriBaseId": ROOT}));
        assert_eq!(artifact("/etc/p.toml"), json!({"uri": "file:///etc/p.toml"}));
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // Test vectors of FNV-1a by Noll.
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }
}
