//! `check --format junit`: the XML that build servers show as tests. A suite for every part of
//! the policy; a case for every rule that holds, and for everything that violates one or kept it
//! from being evaluated.

use super::brief::{
    GateBrief, UNJUDGED, accepted_words, missing_words, settings_lines, since_baseline,
    verdict_words,
};
use crate::analysis::gate::{CheckOutcome, GateOutcome, GateReport, Violation, policy_rule};
use crate::report::shared::text::safe;
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
        let skipped = cases.iter();
        let skipped = skipped.filter(|(_, _, ending)| matches!(ending, Some(Skipped(_))));
        xml.push_str(&format!(
            "  <testsuite name=\"{}\" {} skipped=\"{}\" timestamp=\"{time}\" time=\"0\">\n",
            attribute(suite),
            counts(cases.iter()),
            skipped.count(),
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
        let name = format!("{}: {}", violation.scope, violation.limit);
        (violation.rule.as_str(), name, Some(ending))
    };
    let is_nothing = report.outcome == GateOutcome::Nothing;
    let passed = report.checks.iter();
    let passed = passed.filter(|check| check.outcome == CheckOutcome::Passed);
    let passed = passed.map(|check| {
        let name = format!("{}: {}", check.scope, check.limit);
        let ending = is_nothing.then(|| Skipped(verdict_words(report, brief)));
        (check.rule.as_str(), name, ending)
    });
    let mut cases: Vec<Case<'a>> = passed.collect();
    let skipped = |rule, name: &str, why| (rule, name.to_owned(), Some(Skipped(why)));
    let unjudged = brief.unjudged.iter().copied();
    cases.extend(unjudged.map(|rule| skipped(rule, "everything", UNJUDGED.to_owned())));
    let violations = report.violations.iter();
    cases.extend(violations.map(|violation| {
        let ending = Failed(violation.title.clone(), details(violation));
        case(violation, ending)
    }));
    let suppressed = report.suppressed.iter();
    cases.extend(suppressed.map(|suppressed| {
        let why = accepted_words(&suppressed.by);
        case(&suppressed.violation, Skipped(why))
    }));
    cases.extend(report.notices.iter().map(|notice| {
        let before = notice.before.as_ref();
        let known = match before.map_or(String::new(), |before| format!(", previously {before}")) {
            before if notice.is_known() => format!("known in the baseline{before}: "),
            _ => String::new(),
        };
        case(notice, Skipped(format!("{known}{}", notice.title)))
    }));
    for missing in &report.missing_data {
        cases.extend(missing.rules.iter().map(|rule| {
            let name = format!("{}: {}", missing.place, missing.what);
            let ending = Unknown(missing_words(missing), missing.hint.clone());
            (rule.as_str(), name, Some(ending))
        }));
    }
    let unread = brief.unread(report);
    cases.extend(unread.map(|unread| skipped("plan", "parts not read", unread.to_owned())));
    let settings = settings_lines(report).join(" ");
    if !settings.is_empty() {
        cases.push(skipped("settings", "changed settings", settings));
    }
    cases
}

fn details(violation: &Violation) -> String {
    let place = violation.place.to_string();
    let line = |name: &str, value: Option<String>| Some(format!("{name}: {}", value?));
    let facts = [
        line("observed", Some(violation.observed.clone())),
        line("limit", Some(violation.limit.clone())),
        line("per month", violation.monthly.map(|amount| amount.to_string())),
        line("baseline", since_baseline(violation)),
        line("defined at", Some(place).filter(|place| !place.is_empty())),
    ];
    let steps = violation.steps.iter().map(|step| format!("- {step}"));
    let last = format!("fingerprint: {}", violation.fingerprint);
    let lines = facts.into_iter().flatten().chain(steps).chain([last]);
    lines.map(|line| safe(&line)).collect::<Vec<_>>().join("\n")
}

fn element((rule, name, ending): &Case<'_>) -> String {
    let (rule, name) = (attribute(rule), attribute(name));
    let ending = match ending {
        None => {
            return format!("    <testcase classname=\"{rule}\" name=\"{name}\" time=\"0\"/>\n");
        }
        Some(Failed(message, details)) => format!(
            "<failure type=\"{rule}\" message=\"{}\">{}</failure>",
            attribute(message),
            content(details)
        ),
        Some(Skipped(why)) => format!("<skipped message=\"{}\"/>", attribute(why)),
        Some(Unknown(what, hint)) => format!(
            "<error type=\"missing-data\" message=\"{}\">{}</error>",
            attribute(what),
            content(&safe(hint))
        ),
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
