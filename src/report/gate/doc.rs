//! The gate's report as a document: of an audit, and what it has in common with that of a
//! Terraform plan.

use super::brief::{GateBrief, settings_lines, verdict_words};
use super::caveats::Caveats;
use crate::analysis::Audit;
use crate::analysis::gate::{
    BaselineState, BaselineUse, Check, GateReport, MissingData, Place, SettingChange, SettingsUse,
    Suppressed, Violation,
};
use crate::report::doc::{CsvRows, Doc, Record, Table, columns, doc_schema};
use crate::report::reserved::CURRENCIES;
use crate::report::shared::text::{currency_code, minute};

const OUTCOMES: &[&str] = &["clean", "nothing", "incomplete", "violated"];
const RESULTS: &[&str] = &["passed", "accepted", "incomplete", "violated"];
const SEVERITIES: &[&str] = &["info", "warning", "critical"];
const STATES: &[&str] = &["new", "worse", "known"];

columns! {
    fn outcome(report: GateReport) {
        text "gpucost_version", "", Data, env!("CARGO_PKG_VERSION").to_owned(), "";
        word[OUTCOMES] "outcome", "", Data, report.outcome.name(), "";
        opt text "policy", "", Data, report.policy_file.clone(), "The policy file, as it was named.";
        opt record[settings] "settings", "", Wide, report.settings.as_ref(), "Settings beside the policy that change amounts or findings and differ from the defaults; null without any.";
    }
}

columns! {
    fn settings<'a>(used: &'a SettingsUse) {
        text "file", "", Data, used.file.clone(), "";
        rows[setting] "changes", "", Data, &used.changes, "";
    }
}

columns! {
    fn setting<'a>(change: &'a SettingChange) {
        text "key", "", Data, change.key.clone(), "";
        text "value", "", Data, change.value.clone(), "";
        opt text "default", "", Data, change.default.clone(), "";
    }
}

columns! {
    fn audited(audit: Audit) {
        time "as_of", "", Data, audit.as_of, "";
        text "source", "", Data, audit.source.name().to_owned(), "";
        count "summary.instances", "", Data, audit.totals.instances, "";
        word[CURRENCIES] "summary.currency", "", Data, audit.totals.currency.code(), "";
        opt money "summary.monthly_cost", "", Data, audit.totals.monthly_cost, "";
        opt money "summary.monthly_waste", "", Data, audit.totals.monthly_waste, "";
    }
}

columns! {
    fn compared(report: GateReport) {
        opt record[baseline] "baseline", "", Wide, report.baseline.as_ref(), "What an earlier audit changed; null without one.";
    }
}

columns! {
    fn baseline<'a>(used: &'a BaselineUse) {
        text "file", "", Data, used.file.clone(), "";
        count "known", "", Data, used.known, "Violations that it knew and that are no worse.";
        count "worse", "", Data, used.worse, "Violations that it knew and that are worse.";
        count "new", "", Data, used.new, "Violations that it did not know.";
        count "gone", "", Data, used.gone, "Findings of it that the policy forbids and that are gone.";
        texts "cautions", "", Data, used.cautions.clone(), "What makes it hard to compare with.";
    }
}

columns! {
    fn checks<'a>(check: &'a Check) {
        word[RESULTS] "outcome", "result", Narrow(0), check.outcome.name(), "";
        text "rule", "rule", Narrow(0), check.rule.clone(), "";
        text "scope", "scope", Narrow(0), check.scope.clone(), "";
        opt text "observed", "observed", Narrow(0), check.observed.clone(), "";
        text "limit", "limit", Narrow(0), check.limit.clone(), "";
        opt record[place] "place", "", Data, place_row(&check.place), "Where the policy says so.";
    }
}

/// File, line and address of what is written somewhere.
type PlaceRow<'a> = (&'a str, Option<usize>, Option<&'a str>);

columns! {
    fn place<'a>(place: PlaceRow<'a>) {
        text "file", "", Data, place.0.to_owned(), "";
        opt count "line", "", Data, place.1, "Counted from one.";
        opt text "address", "", Data, place.2.map(str::to_owned), "Of a resource in a Terraform plan.";
    }
}

/// A violation with what would stop an engineer from its steps.
type ViolationRow<'a> = (&'a Violation, &'a [String]);

columns! {
    fn violations<'a>(row: ViolationRow<'a>) {
        opt money "monthly", "monthly", Narrow(0), row.0.monthly, "The money that it is about; these overlap and do not add up.";
        word[SEVERITIES] "severity", "severity", Narrow(0), row.0.severity.name(), "";
        text "rule", "rule", Narrow(0), row.0.rule.clone(), "";
        text "scope", "scope", Narrow(0), row.0.scope.clone(), "A workload's id, `everything`, `account …`, `region …`, `tag key=value`, or an address in a Terraform plan.";
        text "title", "what", Narrow(0), row.0.title.clone(), "";
        opt text "at", "at", Screen, (row.0.place != Place::Nowhere).then(|| row.0.place.to_string()), "";
        opt text "step", "first step", Screen, row.0.steps.first().cloned(), "";
        text "fingerprint", "", Data, row.0.fingerprint.clone(), "The same across runs for the same matter.";
        opt text "workload", "", Data, row.0.workload.clone(), "";
        text "observed", "", Data, row.0.observed.clone(), "With its unit.";
        text "limit", "", Data, row.0.limit.clone(), "With its unit.";
        opt word[CURRENCIES] "currency", "", Data, currency_code(row.0.monthly), "";
        opt record[place] "place", "", Data, place_row(&row.0.place), "Where it is written.";
        texts "steps", "", Data, row.0.steps.clone(), "";
        texts "caveats", "caveats", Wide, row.1.to_vec(), "What would stop an engineer from the steps, most serious first.";
        opt word[STATES] "baseline_state", "baseline", Wide, row.0.baseline_state.map(BaselineState::name), "How it stands to the baseline; null without one, and for what is not compared.";
        opt text "before", "before", Wide, row.0.before.clone(), "What the baseline observed, with its unit.";
    }
}

columns! {
    fn suppressed<'a>(row: (&'a Suppressed, &'a [String])) {
        record[violations] "violation", "", Narrow(0), (&row.0.violation, row.1), "";
        text "owner", "owner", Narrow(0), row.0.by.owner.clone(), "";
        text "reason", "reason", Narrow(0), row.0.by.reason.clone(), "";
        date "expires", "until", Narrow(0), row.0.by.expires, "The last day on which it is accepted, in UTC.";
    }
}

columns! {
    fn missing<'a>(missing: &'a MissingData) {
        text "what", "what", Narrow(0), missing.what.to_string(), "";
        text "where", "where", Narrow(0), missing.place.clone(), "";
        text "reason", "reason", Narrow(0), missing.reason.clone(), "";
        texts "rules", "rules", Narrow(0), missing.rules.clone(), "The rules that lacked it.";
        text "hint", "hint", Narrow(0), missing.hint.clone(), "";
    }
}

/// The gate's report on an audit.
pub fn gate_doc(report: &GateReport, audit: &Audit, brief: &GateBrief) -> Doc {
    let compared = Record::of(compared(), report);
    report_doc(
        report,
        brief,
        Record::of(audited(), audit).and(compared),
        &Caveats::of(audit),
        Vec::new(),
    )
}

/// The JSON schema of `gpucost check`.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn gate_schema() -> Result<String, serde_json::Error> {
    let about = "What the rules of a policy come to for an audit. Keys may be added within a \
                 schema version.";
    let record = Record::heads(audited()).and(Record::heads(compared()));
    doc_schema("check", about, &[report_form(record, Vec::new())])
}

/// A report with further keys, and tables before its own.
pub(in crate::report) fn report_doc(
    report: &GateReport,
    brief: &GateBrief,
    more: Record,
    caveats: &Caveats<'_>,
    tables: Vec<Table>,
) -> Doc {
    let settings = settings_table(report).into_iter();
    let mut tables: Vec<Table> = settings.chain(tables).collect();
    tables.extend(report_tables(Some(report), caveats));
    if let (Some(last), Some(words)) = (tables.last_mut(), brief.unjudged_words()) {
        last.notes.push(words);
    }
    let policy = report.policy_file.as_deref();
    let parts = [
        brief.delta_words(),
        Some(verdict_words(report, brief)),
        brief.cost_words(report),
        Some(format!("{}, as of {}", brief.subject, minute(brief.as_of))),
        policy.map(|file| format!("policy {file}")),
    ];
    Doc {
        name: "check",
        headline: parts.into_iter().flatten().collect::<Vec<_>>().join("; "),
        record: Record::of(outcome(), report).and(more),
        csv: CsvRows::Named,
        tables,
        gaps: Some(brief.gaps.clone()),
        ..Doc::default()
    }
}

/// The same without a value, for its schema.
pub(in crate::report) fn report_form(more: Record, mut tables: Vec<Table>) -> Doc {
    tables.extend(report_tables(None, &Caveats::default()));
    Doc {
        record: Record::heads(outcome()).and(more),
        tables,
        gaps: Some(Vec::new()),
        ..Doc::default()
    }
}

/// Settings that change amounts, before everything else on screens.
fn settings_table(report: &GateReport) -> Option<Table> {
    let mut lines = settings_lines(report).into_iter();
    Some(Table {
        key: "settings",
        title: lines.next()?,
        notes: lines.collect(),
        ..Table::default()
    })
}

fn report_tables(report: Option<&GateReport>, caveats: &Caveats<'_>) -> [Table; 5] {
    let reports = || report.into_iter();
    let row = |violation| (violation, caveats.about(violation));
    [
        Table::of(
            "checks",
            "RULES",
            ("rule", "rules"),
            checks(),
            reports().flat_map(|report| &report.checks),
        ),
        Table::of(
            "violations",
            "VIOLATIONS  most severe first",
            ("violation", "violations"),
            violations(),
            reports().flat_map(|report| &report.violations).map(row),
        ),
        Table::of(
            "notices",
            "NOTICES  which do not fail the check",
            ("notice", "notices"),
            violations(),
            reports().flat_map(|report| &report.notices).map(row),
        ),
        Table::of(
            "suppressed",
            "SUPPRESSED",
            ("suppressed violation", "suppressed violations"),
            suppressed(),
            reports()
                .flat_map(|report| &report.suppressed)
                .map(|suppressed| (suppressed, caveats.about(&suppressed.violation))),
        ),
        Table::of(
            "missing_data",
            "NOT EVALUATED  for want of data",
            ("missing input", "missing inputs"),
            missing(),
            reports().flat_map(|report| &report.missing_data),
        ),
    ]
}

fn place_row(place: &Place) -> Option<PlaceRow<'_>> {
    match place {
        Place::PolicyLine { file, line } => Some((file, Some(*line), None)),
        Place::PlanResource {
            file,
            address,
            line,
        } => Some((file, *line, Some(address))),
        Place::Nowhere => None,
    }
}
