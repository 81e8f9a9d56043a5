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

/// How a case that did not pass ends: its element, what is the case, and the details.
type Ending = (&'static str, String, String);

const FAILED: &str = "failure";
const SKIPPED: &str = "skipped";
const UNKNOWN: &str = "error";

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
            number(cases.iter(), SKIPPED),
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

/// How many cases end so.
fn number<'a>(cases: impl Iterator<Item = &'a Case<'a>>, element: &str) -> usize {
    cases.filter(|case| case.2.as_ref().is_some_and(|ending| ending.0 == element)).count()
}

fn counts<'a>(cases: impl Iterator<Item = &'a Case<'a>> + Clone) -> String {
    let (failures, errors) = (number(cases.clone(), FAILED), number(cases.clone(), UNKNOWN));
    format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", cases.count())
}

fn cases<'a>(report: &'a GateReport, brief: &GateBrief) -> Vec<Case<'a>> {
    let case = |violation: &'a Violation, ending: Ending| {
        (violation.rule.as_str(), format!("{}: {}", violation.scope, violation.limit), Some(ending))
    };
    let skip = |why| (SKIPPED, why, String::new());
    let is_nothing = report.outcome == GateOutcome::Nothing;
    let passed = report.checks.iter().filter(|check| check.outcome == CheckOutcome::Passed);
    let passed = passed.map(|check| {
        let ending = is_nothing.then(|| skip(verdict_words(report, brief)));
        (check.rule.as_str(), format!("{}: {}", check.scope, check.limit), ending)
    });
    let skipped = |rule, name: &str, why| (rule, name.to_owned(), Some(skip(why)));
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
        for violation in &report.violations => case(violation, (FAILED, violation.title.clone(), details(violation)));
        for suppressed in &report.suppressed => case(&suppressed.violation, skip(accepted_words(&suppressed.by)));
        for notice in &report.notices => case(notice, skip(format!("{}{}", known(notice), notice.title)));
        for (missing, rule) in missing => (rule.as_str(), format!("{}: {}", missing.place, missing.what), Some((UNKNOWN, missing_words(missing), safe(&missing.hint))));
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
    let case = format!("    <testcase classname=\"{rule}\" name=\"{name}\" time=\"0\"");
    let Some((element, message, details)) = ending else { return case + "/>\n" };
    let (message, details) = (attribute(message), content(details));
    let ending = match *element {
        SKIPPED => format!("<skipped message=\"{message}\"/>"),
        element => {
            let kind = if element == FAILED { rule.as_str() } else { "missing-data" };
            format!("<{element} type=\"{kind}\" message=\"{message}\">{details}</{element}>")
        }
    };
    format!("{case}>{ending}</testcase>\n")
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
