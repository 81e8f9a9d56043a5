//! Findings: those of a rule that advise the same for several workloads are one on a screen.

use crate::analysis::Audit;
use crate::domain::{
    Comparator, Confidence, Evidence, Finding, FindingKind, Money, Observation, SeriesSource,
    Severity, Window, decimals_apart, floored,
};
use crate::report::doc::{Table, columns};
use crate::report::reserved::CURRENCIES;
use crate::report::shared::gaps::{groups_of, tally};
use crate::report::shared::text::{counted, joined, some_of};
use std::collections::BTreeMap;

/// Findings from which on equal ones are one.
const MANY: u64 = 3;
/// Workloads that a group names.
const NAMED: usize = 3;

/// A finding with those that are like it, itself included, and what their workloads are called.
pub(super) struct Row<'a> {
    finding: &'a Finding,
    alike: Vec<&'a Finding>,
    names: Vec<&'a str>,
    /// The currency of the audit.
    currency: &'static str,
}

columns! {
    pub(super) fn findings<'a>(row: Row<'a>) {
        opt money "alone", "saves alone", Screen, row.finding.monthly_savings, "";
        text "id", "", Data, row.finding.id(), "Stable across runs.";
        text "rule", "rule", Narrow(0), row.finding.rule().to_owned(), "";
        text "workload", "", Data, row.finding.workload().to_owned(), "Its ID.";
        word[Severity::NAMES] "severity", "severity", Narrow(1), row.finding.severity.name(), "";
        word[Confidence::NAMES] "confidence", "", Data, row.finding.confidence.name(), "";
        word[FindingKind::NAMES] "kind", "", Data, row.finding.kind.name(), "";
        text "title", "", Data, row.finding.title.clone(), "";
        text "names", "workloads", Screen, some_of(row.names.iter().copied(), NAMED), "";
        opt word[CURRENCIES] "currency", "", Json, row.finding.monthly_savings.map(|saved| saved.currency().code()), "Of its savings; null where they are not known.";
        text "currency", "", Flat, row.finding.monthly_savings.map_or(row.currency, |saved| saved.currency().code()).to_owned(), "";
        opt money "monthly_savings", "", Data, row.finding.monthly_savings, "Of this finding alone: they overlap and do not add up.";
        rows[evidence_columns] "evidence", "", Json, row.finding.evidence(), "The decisive one first.";
        text "recommendation.action", "", Json, row.finding.recommendation.action.clone(), "";
        text "recommendation.to", "", Json, row.finding.recommendation.to.clone(), "";
        texts "recommendation.steps", "", Json, row.finding.recommendation.steps.clone(), "";
        texts "recommendation.caveats", "", Json, row.finding.recommendation.caveats.clone(), "";
        opt text "metric", "", Flat, row.decisive().map(|evidence| name(evidence).to_owned()), "";
        opt number "observed", "", Flat, row.decisive().map(|evidence| evidence.observed), "";
        opt text "comparator", "", Flat, row.decisive().map(|evidence| evidence.comparator.name().to_owned()), "";
        opt number "threshold", "", Flat, row.decisive().map(|evidence| evidence.threshold), "";
        opt text "unit", "", Flat, row.decisive().map(|evidence| evidence.unit.to_owned()), "";
        text "action", "", Flat, row.finding.recommendation.action.clone(), "";
        text "to", "", Flat, row.finding.recommendation.to.clone(), "";
        texts "steps", "", Flat, row.finding.recommendation.steps.clone(), "";
        texts "caveats", "", Flat, row.finding.recommendation.caveats.clone(), "";
        text "what", "what", Below, row.what(), "";
        opt text "why", "why", Below, row.decisive().map(|decisive| in_words(decisive, row.finding.confidence)), "";
        text "advice", "advice", Below, row.advice(), "";
    }

    fn evidence_columns<'a>(evidence: &'a Evidence) {
        text "metric", "", Json, name(evidence).to_owned(), "";
        opt text "statistic", "", Json, sampled(evidence).map(|(statistic, ..)| statistic.to_owned()), "";
        opt text "figure", "", Json, sampled(evidence).map(|(_, figure, ..)| figure.to_owned()), "";
        number "observed", "", Json, evidence.observed, "";
        word[Comparator::NAMES] "comparator", "", Json, evidence.comparator.name(), "";
        number "threshold", "", Json, evidence.threshold, "";
        text "unit", "", Json, evidence.unit.to_owned(), "Of both.";
        opt time "window_start", "", Json, sampled(evidence).map(|(_, _, window, ..)| window.start), "";
        opt time "window_end", "", Json, sampled(evidence).map(|(_, _, window, ..)| window.end), "Exclusive.";
        opt count "n_samples", "", Json, sampled(evidence).map(|(_, _, _, number, _)| number), "";
        opt number "coverage", "", Json, sampled(evidence).map(|(.., coverage)| coverage), "Samples of those that were due, 0-1.";
        text "origin", "", Json, origin(evidence), "";
    }
}

/// The findings that a view shows, as a table; `apart` leaves each on its own.
pub(super) fn findings_table(audit: &Audit, keeps: impl Fn(&str) -> bool, apart: bool) -> Table {
    let workloads = audit.workloads.iter();
    let names = workloads.map(|workload| (workload.workload.id(), workload.workload.name.as_str()));
    let names: BTreeMap<String, &str> = names.collect();
    let findings = audit.findings.iter();
    let kept: Vec<&Finding> = findings.filter(|finding| keeps(finding.workload())).collect();
    let currency = audit.totals.currency.code();
    let rows = alike(&kept, apart).into_iter().map(|alike| {
        let called = alike.iter().map(|finding| finding.workload());
        let names = called.map(|id| names.get(id).copied().unwrap_or(id)).collect();
        Row { finding: alike[0], names, alike, currency }
    });
    let title = "FINDINGS  savings are per finding; they overlap and do not add up";
    Table::of("findings", title, ("finding", "findings"), self::findings(), rows)
}

impl Row<'_> {
    fn decisive(&self) -> Option<&Evidence> {
        self.finding.evidence().first()
    }

    /// The title, of many that of the largest.
    fn what(&self) -> String {
        let title = &self.finding.title;
        let number = match self.alike.len() {
            1 => return title.clone(),
            number => counted(number, "workload", "workloads"),
        };
        match span(&self.alike) {
            Some((least, most)) => {
                format!("{number}, from {least} to {most} each; the largest: {title}")
            }
            None => format!("{number}; the first: {title}"),
        }
    }

    fn advice(&self) -> String {
        let advice = &self.finding.recommendation;
        let to = if advice.to.is_empty() { "" } else { ": " };
        let caveats: String = advice.caveats.iter().map(|caveat| format!("; {caveat}")).collect();
        format!("→ {}{to}{}{caveats}", advice.action, advice.to)
    }
}

/// Findings of one rule that advise the same, as one group where they are many, in the order
/// of the first of each; `apart` leaves each on its own.
fn alike<'a>(findings: &[&'a Finding], apart: bool) -> Vec<Vec<&'a Finding>> {
    let key = |finding: &Finding| {
        let action = finding.recommendation.action.clone();
        // Amounts of one currency compare, and none of them with what has no estimate.
        let currency = finding.monthly_savings.map(|saved| saved.currency().code());
        (finding.rule(), finding.severity, finding.confidence, action, currency)
    };
    let numbers = tally(findings.iter().map(|finding| key(finding)));
    groups_of(findings.iter().copied(), |finding| {
        Some(key(finding)).filter(|key| !apart && numbers[key] >= MANY)
    })
}

/// The least and the most that a member of a group saves by itself; absent where that is the
/// same for all.
fn span(group: &[&Finding]) -> Option<(Money, Money)> {
    let savings = || group.iter().filter_map(|finding| finding.monthly_savings);
    let least = savings().min_by_key(|saved| saved.amount())?;
    let most = savings().max_by_key(|saved| saved.amount())?;
    (least != most).then_some((least, most))
}

fn name(evidence: &Evidence) -> &'static str {
    match &evidence.observation {
        Observation::Sampled { metric, .. } => metric.name(),
        Observation::Fact { name, .. } => name,
    }
}

/// Statistic, figure, window, number and coverage of samples; absent for a fact.
fn sampled(evidence: &Evidence) -> Option<(&'static str, &'static str, Window, u64, f64)> {
    match &evidence.observation {
        Observation::Sampled { statistic, figure, window, n_samples, coverage, .. } => {
            Some((statistic.name(), figure, *window, *n_samples, *coverage))
        }
        Observation::Fact { .. } => None,
    }
}

fn origin(evidence: &Evidence) -> String {
    match &evidence.observation {
        Observation::Sampled { source, .. } => SeriesSource::name(*source).to_owned(),
        Observation::Fact { origin, .. } => origin.clone(),
    }
}

/// One piece of evidence as it is recorded, with its figures.
pub(in crate::report) fn evidence(evidence: &Evidence) -> String {
    of(evidence, name(evidence), &compared(evidence, &format!(" {}", evidence.comparator.sign())))
}

/// The same for people: metrics and comparisons by their words, and how sure it is.
fn in_words(evidence: &Evidence, confidence: Confidence) -> String {
    let words = name(evidence).split('_').map(|word| match word {
        "gpu" | "vram" | "cpu" | "sm" => word.to_uppercase(),
        _ => word.to_owned(),
    });
    let comparison = match evidence.comparator {
        Comparator::LessThan => ", below",
        Comparator::AtMost => ", at most",
        Comparator::GreaterThan => ", above",
        Comparator::AtLeast => ", at least",
        Comparator::Equal => ", exactly",
    };
    let sure = match confidence {
        Confidence::Measured => "measured",
        Confidence::Derived => "estimated",
        Confidence::Heuristic => "guessed",
    };
    format!("{}; {sure}", of(evidence, &joined(words, " "), &compared(evidence, comparison)))
}

fn of(evidence: &Evidence, name: &str, compared: &str) -> String {
    match sampled(evidence) {
        Some((_, figure, _, n_samples, coverage)) => {
            let samples = counted(n_samples, "sample", "samples");
            let coverage = floored(coverage * 100.0, 0);
            format!("{figure} of {name} {compared}; {samples}, coverage {coverage}%")
        }
        None => format!("{name}: {compared}"),
    }
}

/// What was observed, how it compares, and its threshold.
fn compared(evidence: &Evidence, comparison: &str) -> String {
    let decimals = decimals_apart(evidence.observed, evidence.threshold);
    // Parts of GPUs are rounded as in titles.
    let decimals = if evidence.unit == "GPUs" { decimals.max(2) } else { decimals };
    let number = |value: f64| {
        if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.decimals$}") }
    };
    // The unit of a count is in its name.
    let unit = if evidence.unit == "%" { "%" } else { "" };
    format!("{}{unit}{comparison} {}{unit}", number(evidence.observed), number(evidence.threshold),)
}
