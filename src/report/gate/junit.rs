//! `check --format junit`: the XML that build servers show as tests. A suite for every part of
//! the policy; a case for every rule that holds, and for everything that violates one or kept it
//! from being evaluated.

use super::brief::{
    GateBrief, UNJUDGED, accepted_words, missing_words, previously, settings_lines, since_baseline,
    verdict_words,
};
use crate::analysis::gate::{CheckOutcome, GateOutcome, GateReport, Violation, policy_rule};
use crate::report::doc::rows;
use crate::report::shared::text::{joined, safe};
use std::collections::BTreeMap;

/// How a case that did not pass ends.
enum Ending {
    /// What is wrong, and the details.
    Failed(String, String),
    /// Why it is accepted.
    Skipped(String),
    /// What is missing, and what to do about it.
    Unknown(String, String),
}
use Ending::{Failed, Skipped, Unknown};

/// The rule, the name and how it ends; absent where it passed.
type Case<'a> = (&'a str, String, Option<Ending>);

pub fn gate_junit(report: &GateReport, brief: &GateBrief) -> String {
    let mut suites: BTreeMap<&str, Vec<Case<'_>>> = BTreeMap::new();
    for case in cases(report, brief) {
        suites.entry(suite_of(case.0)).or_default().push(case);
    }
    let time = brief.as_of.strftime("%Y-%m-%dT%H:%M:%S");
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gpucost check\" {} \
         time=\"0\">\n",
        counts(suites.values().flatten())
    );
    for (suite, cases) in &suites {
        xml.push_str(&format!(
            "  <testsuite name=\"{}\" {} skipped=\"{}\" timestamp=\"{time}\" time=\"0\">\n",
            attribute(suite),
            counts(cases.iter()),
            cases.iter().filter(|(_, _, ending)| matches!(ending, Some(Skipped(_)))).count(),
        ));
        xml.extend(cases.iter().map(element));
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// The part of a policy that states a rule: rules about findings are stated by what is
/// forbidden.
fn suite_of(rule: &str) -> &str {
    match rule {
        policy_rule::EXPIRED_SUPPRESSION | policy_rule::UNMATCHED_SUPPRESSION => "suppressions",
        "plan" | "settings" => rule,
        _ => rule.strip_prefix("policy/").unwrap_or("forbid"),
    }
}

fn counts<'a>(cases: impl Iterator<Item = &'a Case<'a>>) -> String {
    let (mut tests, mut failures, mut errors) = (0, 0, 0);
    for (_, _, ending) in cases {
        tests += 1;
        failures += u64::from(matches!(ending, Some(Failed(..))));
        errors += u64::from(matches!(ending, Some(Unknown(..))));
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"")
}

fn cases<'a>(report: &'a GateReport, brief: &GateBrief) -> Vec<Case<'a>> {
    let case = |violation: &'a Violation, ending: Ending| {
        (violation.rule.as_str(), format!("{}: {}", violation.scope, violation.limit), Some(ending))
    };
    let is_nothing = report.outcome == GateOutcome::Nothing;
    let passed = report.checks.iter().filter(|check| check.outcome == CheckOutcome::Passed);
    let passed = passed.map(|check| {
        let ending = is_nothing.then(|| Skipped(verdict_words(report, brief)));
        (check.rule.as_str(), format!("{}: {}", check.scope, check.limit), ending)
    });
    let skipped = |rule, name: &str, why| (rule, name.to_owned(), Some(Skipped(why)));
    let known = |notice: &Violation| {
        let known = notice.is_known().then(|| previously(notice));
        known.map_or(String::new(), |before| format!("known in the baseline{before}: "))
    };
    let missing = report.missing_data.iter();
    let missing = missing.flat_map(|missing| missing.rules.iter().map(move |rule| (missing, rule)));
    let settings = settings_lines(report).join(" ");
    rows! {
        ..passed;
        for rule in &brief.unjudged => skipped(*rule, "everything", UNJUDGED.to_owned());
        for violation in &report.violations => case(violation, Failed(violation.title.clone(), details(violation)));
        for suppressed in &report.suppressed => case(&suppressed.violation, Skipped(accepted_words(&suppressed.by)));
        for notice in &report.notices => case(notice, Skipped(format!("{}{}", known(notice), notice.title)));
        for (missing, rule) in missing => (rule.as_str(), format!("{}: {}", missing.place, missing.what), Some(Unknown(missing_words(missing), missing.hint.clone())));
        for unread in brief.unread(report) => skipped("plan", "parts not read", unread.to_owned());
        if !settings.is_empty() => skipped("settings", "changed settings", settings);
    }
}

fn details(violation: &Violation) -> String {
    let place = violation.place.to_string();
    let lines: Vec<String> = rows! {
        format!("observed: {}", violation.observed);
        format!("limit: {}", violation.limit);
        for amount in violation.monthly => format!("per month: {amount}");
        for since in since_baseline(violation) => format!("baseline: {since}");
        if !place.is_empty() => format!("defined at: {place}");
        for step in &violation.steps => format!("- {step}");
        format!("fingerprint: {}", violation.fingerprint);
    };
    joined(lines.iter().map(|line| safe(line)), "\n")
}

fn element((rule, name, ending): &Case<'_>) -> String {
    let (rule, name) = (attribute(rule), attribute(name));
    let ending = match ending {
        None => {
            return format!("    <testcase classname=\"{rule}\" name=\"{name}\" time=\"0\"/>\n");
        }
        Some(Failed(message, details)) => {
            let (message, details) = (attribute(message), content(details));
            format!("<failure type=\"{rule}\" message=\"{message}\">{details}</failure>")
        }
        Some(Skipped(why)) => format!("<skipped message=\"{}\"/>", attribute(why)),
        Some(Unknown(what, hint)) => {
            let (what, hint) = (attribute(what), content(&safe(hint)));
            format!("<error type=\"missing-data\" message=\"{what}\">{hint}</error>")
        }
    };
    format!("    <testcase classname=\"{rule}\" name=\"{name}\" time=\"0\">{ending}</testcase>\n")
}

/// A value of an attribute, without the quotes.
fn attribute(text: &str) -> String {
    content(&safe(text)).replace('"', "&quot;").replace('\'', "&apos;")
}

/// Text between tags. `safe` keeps two characters that XML cannot hold.
fn content(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('\u{fffe}', "\\u{fffe}")
        .replace('\u{ffff}', "\\u{ffff}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_spelled_out() {
        let every_char: String = (0..=0x11_0000_u32).filter_map(char::from_u32).collect();
        let xml = format!("<a b=\"{}\"/>", attribute(&every_char));
        let options = roxmltree::ParsingOptions::default();
        let parsed = roxmltree::Document::parse_with_options(&xml, options).expect("XML");
        let back = parsed.root_element().attribute("b").expect("an attribute");
        assert_eq!(
            back,
            safe(&every_char).replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
        );
    }
}
