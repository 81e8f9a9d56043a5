//! `check --format markdown`.

use super::brief::{CostChange, GateBrief, settings_lines, since_baseline, verdict_words};
use crate::analysis::PlannedTotals;
use crate::analysis::gate::{
    BaselineUse, Check, CheckOutcome, GateOutcome, GateReport, MissingData, Place, Suppressed,
    Violation,
};
use crate::domain::Money;
use crate::report::shared::markdown::escape::{SENTENCE_WIDTH, bounded, code, text};
use crate::report::shared::markdown::gaps::{OF_GAPS, gap_row};
use crate::report::shared::markdown::page::{Column, Page, Row, Section, figures, words};
use crate::report::shared::text::{ABSENT, count, counted, minute, money, money_or_absent};
use std::fmt::Write;

const OF_CHANGES: &[Column] = &[
    words("action"),
    words("resource"),
    words("runs"),
    figures("before"),
    figures("after"),
    figures("per month"),
];
const OF_VIOLATIONS: &[Column] = &[
    words("severity"),
    words("rule"),
    words("where"),
    words("what"),
    figures("per month"),
    words("defined at"),
];
const OF_SUPPRESSED: &[Column] = &[
    words("rule"),
    words("where"),
    words("what"),
    words("accepted by"),
    words("why"),
    words("until"),
];
const OF_LACKS: &[Column] = &[
    words("missing"),
    words("where"),
    words("why"),
    words("how to fix"),
    words("for"),
];
const OF_CHECKS: &[Column] = &[
    words("result"),
    words("rule"),
    words("scope"),
    words("observed"),
    words("limit"),
];

/// The gate's report as a comment on a pull request.
pub fn gate_markdown(report: &GateReport, brief: &GateBrief) -> String {
    let is_incomplete = report.outcome == GateOutcome::Incomplete;
    // The totals come first: they are never among what does not fit.
    let sums = brief.totals.iter().filter(|_| !brief.changes.is_empty());
    let totals = sums.map(total_row);
    let changes = section(
        counted(brief.changes.len() as u64, "change", "changes"),
        false,
        OF_CHANGES,
        totals.chain(brief.changes.iter().map(change_row)),
        ("change", "changes"),
    );
    let violations = section(
        counted(report.violations.len() as u64, "violation", "violations"),
        false,
        OF_VIOLATIONS,
        report.violations.iter().map(violation_row),
        ("violation", "violations"),
    );
    let missing_data = section(
        format!(
            "Not evaluated: {}",
            counted(
                report.missing_data.len() as u64,
                "missing input",
                "missing inputs"
            )
        ),
        !is_incomplete,
        OF_LACKS,
        report.missing_data.iter().map(missing_data_row),
        ("thing", "things"),
    );
    let steps = section(
        "How to fix".to_owned(),
        true,
        &[],
        report.violations.iter().filter_map(steps_row),
        ("violation", "violations"),
    );
    // What the baseline knew is counted beside its name.
    let notices = || report.notices.iter().filter(|one| !one.is_known());
    let notices = section(
        counted(notices().count() as u64, "notice", "notices"),
        true,
        OF_VIOLATIONS,
        notices().map(violation_row),
        ("notice", "notices"),
    );
    let suppressed = section(
        format!("{} suppressed", count(report.suppressed.len() as u64)),
        true,
        OF_SUPPRESSED,
        report.suppressed.iter().map(suppressed_row),
        ("suppressed violation", "suppressed violations"),
    );
    let checks = section(
        rules_words(&report.checks),
        true,
        OF_CHECKS,
        report.checks.iter().map(check_row),
        ("rule", "rules"),
    );
    let gaps = section(
        counted(brief.gaps.len() as u64, "data gap", "data gaps"),
        true,
        OF_GAPS,
        brief.gaps.iter().map(|gap| gap_row(&[gap])),
        ("gap", "gaps"),
    );
    let page = Page {
        head: head(report, brief),
        sections: vec![
            violations,
            changes,
            missing_data,
            steps,
            notices,
            suppressed,
            checks,
            gaps,
        ],
        foot: brief
            .notes
            .iter()
            .map(|note| format!("- {note}\n"))
            .collect(),
        again: brief.again(),
    };
    page.text()
}

fn section(
    title: String,
    folded: bool,
    columns: &'static [Column],
    rows: impl Iterator<Item = Row>,
    noun: (&'static str, &'static str),
) -> Section {
    Section {
        title,
        folded,
        columns: columns.into(),
        rows: rows.collect(),
        noun,
    }
}

fn head(report: &GateReport, brief: &GateBrief) -> String {
    let headline = brief.headline(report, &text(&verdict_words(report, brief)));
    let mut head = String::new();
    // Writing to a string cannot fail.
    let _ = write!(head, "<!-- gpucost check -->\n### {headline}\n\n");
    let waste = brief
        .monthly_waste
        .filter(|waste| !waste.amount().is_zero())
        .map_or(String::new(), |waste| format!(", including {waste} waste"));
    if let Some(cost) = brief.cost_words(report) {
        let _ = write!(head, "**{cost}{waste}** · ");
    }
    head.push_str(&brief.subject);
    if let Some(policy) = &report.policy_file {
        let _ = write!(head, " · policy {}", code(policy));
    }
    let as_of = minute(brief.as_of);
    let _ = write!(head, " · as of {as_of}\n\n");
    head.push_str(&settings_list(report));
    if let Some(used) = &report.baseline {
        head.push_str(&baseline_line(used));
    }
    let unread = brief.unread(report).map(str::to_owned);
    for line in [unread, brief.unjudged_words()].into_iter().flatten() {
        let _ = write!(head, "{}\n\n", text(&line));
    }
    head
}

/// Settings that decide amounts or findings, as a list below what they are.
fn settings_list(report: &GateReport) -> String {
    let mut lines = settings_lines(report).into_iter();
    let Some(title) = lines.next() else {
        return String::new();
    };
    let rows: String = lines.map(|line| format!("- {}\n", text(&line))).collect();
    format!("⚠️ {}\n\n{rows}\n", text(&title))
}

fn baseline_line(used: &BaselineUse) -> String {
    let mut line = format!(
        "Compared with baseline {}: {} new, {} worse, {} known, {} gone.\n\n",
        code(&used.file),
        count(used.new),
        count(used.worse),
        count(used.known),
        count(used.gone),
    );
    for caution in &used.cautions {
        line.push_str(&format!(
            "⚠️ {}\n\n",
            text(&bounded(caution, SENTENCE_WIDTH))
        ));
    }
    line
}

fn rules_words(checks: &[Check]) -> String {
    let passed = |outcome: CheckOutcome| {
        let of_it = checks.iter().filter(|one| one.outcome == outcome);
        (outcome, of_it.count())
    };
    let counts: Vec<String> = CheckOutcome::ALL
        .iter()
        .rev()
        .map(|outcome| passed(*outcome))
        .filter(|(_, number)| *number > 0)
        .map(|(outcome, number)| format!("{number} {outcome}"))
        .collect();
    let rules = counted(checks.len() as u64, "rule", "rules");
    format!("{rules}: {}", counts.join(", "))
}

fn change_row(change: &CostChange) -> Row {
    let delta = change.delta();
    Row::of_cells(&[
        text(&change.action),
        code(&change.address),
        text(&change.runs),
        money_or_absent(change.before),
        money_or_absent(change.after),
        delta.map_or_else(|| ABSENT.to_owned(), Money::signed),
    ])
}

fn total_row(sums: &PlannedTotals) -> Row {
    Row::of_cells(&[
        "total".to_owned(),
        ABSENT.to_owned(),
        "per month".to_owned(),
        money(sums.before),
        money(sums.after),
        sums.delta.signed(),
    ])
}

fn violation_row(violation: &Violation) -> Row {
    let since = since_baseline(violation);
    let since = since.map_or(String::new(), |since| format!(" ({})", text(&since)));
    Row::of_cells(&[
        violation.severity.to_string(),
        code(&violation.rule),
        code(&violation.scope),
        format!("{}{since}", text(&violation.title)),
        money_or_absent(violation.monthly),
        place(&violation.place),
    ])
}

fn place(place: &Place) -> String {
    match place {
        Place::Nowhere => ABSENT.to_owned(),
        _ => code(&place.to_string()),
    }
}

/// What to do about a violation, where something is known.
fn steps_row(violation: &Violation) -> Option<Row> {
    if violation.steps.is_empty() {
        return None;
    }
    let steps: Vec<String> = violation.steps.iter().map(|step| text(step)).collect();
    let line = format!(
        "{} {}: {}",
        code(&violation.rule),
        code(&violation.scope),
        steps.join("; ")
    );
    Some(Row::of_list(&line))
}

fn suppressed_row(suppressed: &Suppressed) -> Row {
    let (violation, by) = (&suppressed.violation, &suppressed.by);
    Row::of_cells(&[
        code(&violation.rule),
        code(&violation.scope),
        text(&violation.title),
        code(&by.owner),
        text(&by.reason),
        by.expires.to_string(),
    ])
}

fn missing_data_row(missing_data: &MissingData) -> Row {
    let rules: Vec<String> = missing_data.rules.iter().map(|rule| code(rule)).collect();
    Row::of_cells(&[
        text(&missing_data.what.name()),
        code(&missing_data.place),
        text(&missing_data.reason),
        text(&missing_data.hint),
        rules.join(", "),
    ])
}

fn check_row(check: &Check) -> Row {
    let observed = check.observed.as_deref();
    Row::of_cells(&[
        check.outcome.to_string(),
        code(&check.rule),
        code(&check.scope),
        observed.map_or_else(|| ABSENT.to_owned(), text),
        text(&check.limit),
    ])
}
