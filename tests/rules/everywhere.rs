//! Every rule over every situation: a rule that starts to fire elsewhere, or
//! whose dollars change, shows up as a changed line.

use crate::rules::fixtures::{SITUATIONS, audit_of, recorded_rule_ids};
use std::fmt::Write;

#[test]
fn every_rule_over_every_situation() {
    let mut lines = String::new();
    for id in recorded_rule_ids() {
        for situation in SITUATIONS {
            let audit = audit_of(id, situation);
            if audit.findings.is_empty() {
                writeln!(lines, "{id}/{situation}: nothing").expect("memory");
            }
            for finding in &audit.findings {
                let savings = finding.monthly_savings.map_or("-".to_owned(), |savings| {
                    format!("{} {}", savings.amount(), savings.currency())
                });
                writeln!(
                    lines,
                    "{id}/{situation}: {} {} {} {savings}",
                    finding.id(),
                    finding.severity,
                    finding.confidence,
                )
                .expect("memory");
            }
        }
    }
    insta::assert_snapshot!(lines);
}
