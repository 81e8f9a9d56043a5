//! `check --format junit`: the XML that build servers show as tests. A suite for
//! every part of the policy; a case for every rule that holds, and for everything
//! that violates one or kept it from being judged.

use super::brief::{GateBrief, UNJUDGED, settings_lines, since_baseline, verdict_words};
use super::rules::section_of;
use crate::analysis::gate::{CheckOutcome, GateOutcome, GateReport, Violation};
use crate::report::shared::text::safe;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How a case ends.
enum Ending {
    Passed,
    /// What is wrong, and the details.
    Failed(String, String),
    /// Why it is accepted.
    Skipped(String),
    /// What is missing, and what to do about it.
    Unknown(String, String),
}

struct Case {
    rule: String,
    name: String,
    ending: Ending,
}

pub fn gate_junit(report: &GateReport, brief: &GateBrief) -> String {
    let mut suites: BTreeMap<&str, Vec<Case>> = BTreeMap::new();
    for (rule, case) in cases(report, brief) {
        suites.entry(section_of(rule)).or_default().push(case);
    }
    if let Some(unread) = brief.unread(report) {
        suites.entry("plan").or_default().push(Case {
            rule: "plan".to_owned(),
            name: "parts not read".to_owned(),
            ending: Ending::Skipped(unread.to_owned()),
        });
    }
    let settings = settings_lines(report);
    if !settings.is_empty() {
        suites.entry("settings").or_default().push(Case {
            rule: "settings".to_owned(),
            name: "changed settings".to_owned(),
            ending: Ending::Skipped(settings.join(" ")),
        });
    }
    let all: Vec<&Case> = suites.values().flatten().collect();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        xml,
        "<testsuites name=\"gpucost check\" {} time=\"0\">",
        counts(all.iter().copied())
    );
    let time = brief.as_of.strftime("%Y-%m-%dT%H:%M:%S");
    for (section, cases) in &suites {
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" {} skipped=\"{}\" timestamp=\"{time}\" time=\"0\">",
            attribute(section),
            counts(cases.iter()),
            cases.iter().filter(|case| case.is_skipped()).count(),
        );
        for case in cases {
            case.write(&mut xml);
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn counts<'a>(cases: impl Iterator<Item = &'a Case>) -> String {
    let (mut tests, mut failures, mut errors) = (0, 0, 0);
    for case in cases {
        tests += 1;
        match case.ending {
            Ending::Failed(..) => failures += 1,
            Ending::Unknown(..) => errors += 1,
            Ending::Passed | Ending::Skipped(_) => {}
        }
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"")
}

/// Every case with the rule that puts it into a suite.
fn cases<'a>(report: &'a GateReport, brief: &GateBrief) -> Vec<(&'a str, Case)> {
    let mut cases = Vec::new();
    let is_judged = report.outcome != GateOutcome::Nothing;
    for check in &report.checks {
        if check.outcome == CheckOutcome::Passed {
            let case = Case {
                rule: check.rule.clone(),
                name: format!("{}: {}", check.scope, check.limit),
                ending: if is_judged {
                    Ending::Passed
                } else {
                    Ending::Skipped(verdict_words(report, brief))
                },
            };
            cases.push((check.rule.as_str(), case));
        }
    }
    cases.extend(brief.unjudged.iter().map(|rule| {
        let case = Case {
            rule: (*rule).to_owned(),
            name: "everything".to_owned(),
            ending: Ending::Skipped(UNJUDGED.to_owned()),
        };
        (*rule, case)
    }));
    for one in &report.violations {
        let ending = Ending::Failed(one.title.clone(), details(one));
        cases.push((one.rule.as_str(), case_of(one, ending)));
    }
    for one in &report.suppressed {
        let by = &one.by;
        let why = format!("until {} by {}: {}", by.expires, by.owner, by.reason);
        let case = case_of(&one.violation, Ending::Skipped(why));
        cases.push((one.violation.rule.as_str(), case));
    }
    for one in &report.notices {
        let known = match &one.before {
            _ if !one.is_known() => String::new(),
            Some(before) => format!("known in the baseline, previously {before}: "),
            None => "known in the baseline: ".to_owned(),
        };
        let case = case_of(one, Ending::Skipped(format!("{known}{}", one.title)));
        cases.push((one.rule.as_str(), case));
    }
    for missing_data in &report.missing_data {
        for rule in &missing_data.rules {
            let what = format!(
                "{} of {}: {}",
                missing_data.what, missing_data.place, missing_data.reason
            );
            let case = Case {
                rule: rule.clone(),
                name: format!("{}: {}", missing_data.place, missing_data.what),
                ending: Ending::Unknown(what, missing_data.hint.clone()),
            };
            cases.push((rule.as_str(), case));
        }
    }
    cases
}

fn case_of(violation: &Violation, ending: Ending) -> Case {
    Case {
        rule: violation.rule.clone(),
        name: format!("{}: {}", violation.scope, violation.limit),
        ending,
    }
}

fn details(violation: &Violation) -> String {
    let mut lines = vec![
        format!("observed: {}", violation.observed),
        format!("limit: {}", violation.limit),
    ];
    let monthly = violation.monthly;
    lines.extend(monthly.map(|monthly| format!("per month: {monthly}")));
    lines.extend(since_baseline(violation).map(|since| format!("baseline: {since}")));
    let place = violation.place.to_string();
    if !place.is_empty() {
        lines.push(format!("defined at: {place}"));
    }
    lines.extend(violation.steps.iter().map(|step| format!("- {step}")));
    lines.push(format!("fingerprint: {}", violation.fingerprint));
    let lines: Vec<String> = lines.iter().map(|line| safe(line)).collect();
    lines.join("\n")
}

impl Case {
    fn is_skipped(&self) -> bool {
        matches!(self.ending, Ending::Skipped(_))
    }

    fn write(&self, xml: &mut String) {
        let rule = attribute(&self.rule);
        let _ = write!(
            xml,
            "    <testcase classname=\"{rule}\" name=\"{}\" time=\"0\"",
            attribute(&self.name)
        );
        let _ = match &self.ending {
            Ending::Passed => {
                xml.push_str("/>\n");
                return;
            }
            Ending::Failed(message, details) => write!(
                xml,
                "><failure type=\"{rule}\" message=\"{}\">{}</failure>",
                attribute(message),
                content(details)
            ),
            Ending::Skipped(why) => write!(xml, "><skipped message=\"{}\"/>", attribute(why)),
            Ending::Unknown(what, hint) => write!(
                xml,
                "><error type=\"missing-data\" message=\"{}\">{}</error>",
                attribute(what),
                content(&safe(hint))
            ),
        };
        xml.push_str("</testcase>\n");
    }
}

/// A value of an attribute, without the quotes.
fn attribute(text: &str) -> String {
    content(&safe(text))
        .replace('"', "&quot;")
        .replace('\'', "&apos;")
}

/// Text between tags. Of what XML cannot hold, `safe` has left two characters.
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
        let all: String = (0..=0x11_0000_u32).filter_map(char::from_u32).collect();
        let xml = format!("<a b=\"{}\"/>", attribute(&all));
        let options = roxmltree::ParsingOptions::default();
        let parsed = roxmltree::Document::parse_with_options(&xml, options).expect("XML");
        let back = parsed.root_element().attribute("b").expect("an attribute");
        assert_eq!(
            back,
            safe(&all)
                .replace('\u{fffe}', "\\u{fffe}")
                .replace('\u{ffff}', "\\u{ffff}")
        );
    }
}
