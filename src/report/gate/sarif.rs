//! `check --format sarif`: SARIF 2.1.0, for code scanning.

use super::brief::{GateBrief, file_of, settings_lines, verdict_words};
use super::rules::rule_words;
use crate::analysis::gate::{
    BaselineState, GateOutcome, GateReport, MissingData, Place, Suppressed, Violation,
};
use crate::domain::Severity;
use crate::report::shared::text::{json_document, json_money, safe};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The folder that relative files are in: the checkout.
const ROOT: &str = "%SRCROOT%";

/// The gate's report as a SARIF log with one run: violations are errors, notices
/// warnings or notes, and what is suppressed says by whom.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn gate_sarif(report: &GateReport, brief: &GateBrief) -> Result<String, serde_json::Error> {
    let rules = rules(report);
    let writer = Writer { report, rules };
    let mut results: Vec<Value> = Vec::new();
    let failing = |one| writer.result(one, "error");
    results.extend(report.violations.iter().map(failing));
    let shown = |one: &Violation| writer.result(one, below(one.severity));
    results.extend(report.notices.iter().map(shown));
    results.extend(report.suppressed.iter().map(|one| writer.suppressed(one)));
    json_document(&json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "gpucost",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": writer.rules.keys().map(|id| descriptor(id)).collect::<Vec<_>>(),
            }},
            "automationDetails": {"id": "gpucost/check/"},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": report.outcome != GateOutcome::Incomplete,
                "endTimeUtc": brief.as_of.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
                "toolExecutionNotifications": notifications(report, brief),
            }],
            "results": results,
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

/// Every rule that has something to say, with its place in the list.
fn rules(report: &GateReport) -> BTreeMap<&str, usize> {
    let suppressed = report.suppressed.iter().map(|one| &one.violation);
    let violations = report.violations.iter().chain(&report.notices);
    let mut rules: BTreeMap<&str, usize> = violations
        .chain(suppressed)
        .map(|one| (one.rule.as_str(), 0))
        .collect();
    for (index, place) in rules.values_mut().enumerate() {
        *place = index;
    }
    rules
}

fn descriptor(id: &str) -> Value {
    let words = rule_words(id);
    let help = format!("{} {} See {}.", words.summary, words.help, words.page);
    json!({
        "id": id,
        "shortDescription": {"text": words.summary},
        "fullDescription": {"text": format!("{} {}", words.summary, words.help)},
        "help": {"text": help, "markdown": help},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["cost", "gpu"]},
    })
}

/// What does not fail the gate is not an error.
fn below(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// Settings that decide amounts or findings, then what is not known.
fn notifications(report: &GateReport, brief: &GateBrief) -> Vec<Value> {
    let unread = brief.unread(report).map(str::to_owned);
    let notes = [unread, brief.unjudged_words()].into_iter().flatten();
    let notes = notes.map(|text| json!({"level": "note", "message": {"text": text}}));
    let missing_data = report
        .missing_data
        .iter()
        .map(|missing_data| notification(missing_data, report));
    let settings = settings_lines(report);
    let settings = (!settings.is_empty())
        .then(|| json!({"level": "warning", "message": {"text": settings.join("\n")}}));
    settings
        .into_iter()
        .chain(missing_data)
        .chain(notes)
        .collect()
}

/// What could not be evaluated, where, and what to do about it.
fn notification(missing_data: &MissingData, report: &GateReport) -> Value {
    let level = match report.outcome {
        GateOutcome::Incomplete => "error",
        _ => "warning",
    };
    let text = format!(
        "{} could not be evaluated: {} of {}: {}; {}",
        missing_data.rules.join(", "),
        missing_data.what,
        missing_data.place,
        missing_data.reason,
        missing_data.hint
    );
    json!({
        "level": level,
        "message": {"text": safe(&text)},
        "locations": [{"logicalLocations": [resource(&missing_data.place)]}],
    })
}

/// What is in no file, by its name.
fn resource(name: &str) -> Value {
    json!({"fullyQualifiedName": safe(name), "kind": "resource"})
}

struct Writer<'a> {
    report: &'a GateReport,
    rules: BTreeMap<&'a str, usize>,
}

impl Writer<'_> {
    fn result(&self, violation: &Violation, level: &str) -> Value {
        let monthly = violation.monthly;
        let mut result = json!({
            "ruleId": violation.rule,
            "ruleIndex": self.rules.get(violation.rule.as_str()),
            "level": level,
            "message": {"text": message(violation)},
            "locations": [self.location(violation)],
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
            result["baselineState"] = json!(baseline_state(state));
        }
        result
    }

    fn suppressed(&self, suppressed: &Suppressed) -> Value {
        let by = &suppressed.by;
        let mut result = self.result(&suppressed.violation, "error");
        let until = format!("until {} by {}: {}", by.expires, by.owner, by.reason);
        result["suppressions"] = json!([{
            "kind": "external",
            "status": "accepted",
            "justification": safe(&until),
        }]);
        result
    }

    /// Where a violation is shown. One that is written nowhere is shown at the top
    /// of the policy, because code scanning refuses a result without a file. Of a
    /// file of which no line is known, it is about the whole: a region would need one.
    fn location(&self, violation: &Violation) -> Value {
        let name = match &violation.place {
            Place::PlanResource { address, .. } => address,
            _ => &violation.scope,
        };
        let mut location = Map::new();
        location.insert("logicalLocations".to_owned(), json!([resource(name)]));
        let top = self
            .report
            .policy_file
            .as_deref()
            .map(|file| (file, Some(1)));
        if let Some((file, line)) = file_of(&violation.place).or(top) {
            let mut physical = json!({"artifactLocation": artifact(file)});
            if let Some(line) = line {
                physical["region"] = json!({"startLine": line.max(1)});
            }
            location.insert("physicalLocation".to_owned(), physical);
        }
        Value::Object(location)
    }
}

/// The state as SARIF calls it.
fn baseline_state(state: BaselineState) -> &'static str {
    match state {
        BaselineState::New => "new",
        BaselineState::Worse => "updated",
        BaselineState::Known => "unchanged",
    }
}

/// The sentence, and what to do about it.
fn message(violation: &Violation) -> String {
    let mut text = safe(&violation.title);
    for step in &violation.steps {
        text.push_str(&format!("\n- {}", safe(step)));
    }
    text
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
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
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
        assert_eq!(
            artifact("./p.toml"),
            json!({"uri": "p.toml", "uriBaseId": ROOT})
        );
        assert_eq!(
            artifact("/etc/p.toml"),
            json!({"uri": "file:///etc/p.toml"})
        );
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // Test vectors of FNV-1a by Noll.
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }
}
