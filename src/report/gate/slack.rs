//! `check --format slack`: Block Kit, as an incoming webhook takes it.

use super::brief::{GateBrief, settings_lines, since_baseline, verdict_words};
use crate::analysis::gate::{GateReport, MissingData, Violation};
use crate::report::shared::slack::{
    MOST_BLOCKS, MOST_IN_MESSAGE, Message, code, command, context, escape, header, mrkdwn, section,
    sentence,
};
use crate::report::shared::text::{ABSENT, counted, json_document, minute, money_or_absent};
use serde_json::{Value, json};

/// The gate's report as a message for Slack: the verdict, the totals, and as many
/// violations as a message holds, gravest first.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn gate_slack(report: &GateReport, brief: &GateBrief) -> Result<String, serde_json::Error> {
    let headline = brief.headline(report, &verdict_words(report, brief));
    let mut blocks = vec![header(&headline)];
    let settings = settings_lines(report);
    if !settings.is_empty() {
        let lines: Vec<String> = settings.iter().map(|line| sentence(line)).collect();
        blocks.push(context(&lines.join("\n")));
    }
    blocks.push(totals(report, brief));
    let rows: Vec<String> = report
        .violations
        .iter()
        .map(violation)
        .chain(report.missing_data.iter().map(missing_data))
        .collect();
    // The last two blocks say what is left out and what was judged.
    let room = MOST_BLOCKS - blocks.len() - 2;
    let mut used = 0;
    let fits = |row: &&String| {
        used += row.chars().count();
        used <= MOST_IN_MESSAGE
    };
    let shown = rows.iter().take(room).take_while(fits).count();
    blocks.extend(rows[..shown].iter().map(|row| section(row)));
    let hidden = rows.len() - shown;
    if hidden > 0 {
        let more = counted(hidden as u64, "more", "more");
        blocks.push(context(&format!(
            "… and {more}: run {}",
            command(&brief.again())
        )));
    }
    blocks.push(context(&judged(report, brief)));
    json_document(&Message {
        text: escape(&headline),
        blocks,
    })
}

fn totals(report: &GateReport, brief: &GateBrief) -> Value {
    let fields = [
        (
            "Cost",
            brief
                .cost_words(report)
                .unwrap_or_else(|| ABSENT.to_owned()),
        ),
        ("Checked", brief.subject.clone()),
        ("Monthly waste", money_or_absent(brief.monthly_waste)),
        (
            "Violations",
            format!(
                "{}, {} suppressed",
                report.violations.len(),
                report.suppressed.len()
            ),
        ),
    ];
    let fields: Vec<Value> = fields
        .iter()
        .map(|(title, value)| mrkdwn(&format!("*{title}*\n{}", escape(value))))
        .collect();
    json!({"type": "section", "fields": fields})
}

fn violation(violation: &Violation) -> String {
    let mut text = format!(
        "*{}* {} {}",
        violation.severity,
        code(&violation.rule),
        code(&violation.scope)
    );
    if let Some(monthly) = violation.monthly {
        text.push_str(&format!(" · {monthly} per month"));
    }
    text.push_str(&format!("\n{}", sentence(&violation.title)));
    if let Some(since) = since_baseline(violation) {
        text.push_str(&format!("\nbaseline: {}", sentence(&since)));
    }
    if let Some(step) = violation.steps.first() {
        text.push_str(&format!("\n→ {}", sentence(step)));
    }
    text
}

fn missing_data(missing_data: &MissingData) -> String {
    format!(
        "*not evaluated* {}\n{} of {}: {}\n→ {}",
        code(&missing_data.rules.join(", ")),
        sentence(&missing_data.what.name()),
        code(&missing_data.place),
        sentence(&missing_data.reason),
        sentence(&missing_data.hint)
    )
}

/// What was judged, by what, and what was not.
fn judged(report: &GateReport, brief: &GateBrief) -> String {
    let as_of = minute(brief.as_of);
    let first = match &report.policy_file {
        Some(policy) => format!("policy {} · as of {as_of}", code(policy)),
        None => format!("as of {as_of}"),
    };
    let unread = brief.unread(report).map(sentence);
    let unjudged = brief.unjudged_words();
    let lines = [Some(first), unread, unjudged].into_iter().flatten();
    lines.collect::<Vec<_>>().join("\n")
}
