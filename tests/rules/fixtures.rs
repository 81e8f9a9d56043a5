//! The recorded situations in `fixtures/rules/`.

use crate::rules::builder::audited;
use gpucost::analysis::{Audit, AuditDiff};
use gpucost::domain::{Comparator, Evidence, Finding, Gap, Money};
use gpucost::rules::{CLUSTER_RULES, RULES};
use gpucost::sources::files::{Keep, read_estate};
use rust_decimal::Decimal;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The situations that every rule has, by file name.
pub const SITUATIONS: [&str; 3] = ["fires", "quiet", "missing"];

/// The root of the package.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where a situation is recorded.
pub fn path(rule: &str, situation: &str) -> PathBuf {
    root().join("fixtures/rules").join(rule).join(situation).with_extension("json")
}

/// The audit of a situation.
pub fn audit_of(rule: &str, situation: &str) -> Audit {
    let path = path(rule, situation);
    let estate = read_estate(&path, Keep::Points).unwrap_or_else(|error| panic!("{error:?}"));
    audited(&estate)
}

/// Ids of all rules.
pub fn rule_ids() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.meta().id).collect()
}

/// Ids of all rules that have situations of their own.
pub fn recorded_rule_ids() -> Vec<&'static str> {
    rule_ids().into_iter().chain(CLUSTER_RULES).collect()
}

/// Names of the entries of a folder, without an extension when it is the given
/// one; others keep theirs and show up as strays.
pub fn names_in(folder: &str, extension: &str) -> BTreeSet<String> {
    std::fs::read_dir(root().join(folder))
        .unwrap_or_else(|error| panic!("{folder}: {error}"))
        .map(|entry| {
            let name = entry
                .expect("a readable entry")
                .file_name()
                .into_string()
                .expect("a name in UTF-8");
            name.strip_suffix(extension).unwrap_or(&name).to_owned()
        })
        .collect()
}

/// The only finding of a rule in an audit.
pub fn only<'a>(audit: &'a Audit, rule: &str) -> &'a Finding {
    let mut findings = of(audit, rule);
    assert_eq!(findings.len(), 1, "{rule} fires once: {findings:#?}");
    findings.remove(0)
}

/// The findings of a rule in an audit.
pub fn of<'a>(audit: &'a Audit, rule: &str) -> Vec<&'a Finding> {
    audit.findings.iter().filter(|finding| finding.rule() == rule).collect()
}

/// The gap that says what kept a rule silent.
pub fn silence<'a>(audit: &'a Audit, what: &str, rule: &str) -> &'a Gap {
    audit
        .gaps
        .iter()
        .find(|gap| gap.what.name() == what && is_named_silent(gap, rule))
        .unwrap_or_else(|| panic!("no gap `{what}` names {rule}: {:#?}", audit.gaps))
}

fn is_named_silent(gap: &Gap, rule: &str) -> bool {
    gap.reason
        .split_once("silent: ")
        .is_some_and(|(_, rules)| rules.split(", ").any(|name| name == rule))
}

/// A saving in dollars.
pub fn dollars(finding: &Finding) -> Option<Decimal> {
    finding.monthly_savings.map(|savings| {
        assert_eq!(savings.currency().code(), "USD");
        savings.amount()
    })
}

/// A decimal as written.
pub fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal")
}

/// Whether the observed value stands to the threshold as the evidence claims.
pub fn holds(evidence: &Evidence) -> bool {
    let (observed, threshold) = (evidence.observed, evidence.threshold);
    match evidence.comparator {
        Comparator::LessThan => observed < threshold,
        Comparator::AtMost => observed <= threshold,
        Comparator::GreaterThan => observed > threshold,
        Comparator::AtLeast => observed >= threshold,
        Comparator::Equal => observed == threshold,
    }
}

/// What all rows of a diff together change the cost by; it is the change of the sums wherever
/// everything is priced in one currency.
pub fn sum_of_rows(diff: &AuditDiff<'_>) -> Option<Money> {
    let zero = Money::zero(diff.new.totals.currency);
    let added = diff.added.iter().map(|workload| workload.monthly_cost);
    let changed = diff.changed.iter().map(|change| change.monthly_cost().change());
    let unused = diff.unused.iter().map(|change| change.monthly_cost.change());
    let mut gained = added.chain(changed).chain(unused);
    let gained = gained.try_fold(zero, |sum, part| sum.checked_add(part?).ok())?;
    let mut removed = diff.removed.iter();
    removed.try_fold(gained, |sum, workload| sum.checked_sub(workload.monthly_cost?).ok())
}
