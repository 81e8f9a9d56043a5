//! The gate's report as a document: of an audit, and what it has in common with that of a
//! Terraform plan.

use super::brief::{GateBrief, settings_lines, since_baseline, verdict_words};
use crate::analysis::Audit;
use crate::analysis::gate::{
    BaselineState, BaselineUse, Check, CheckOutcome, GateOutcome, GateReport, MissingData, Place,
    SettingChange, Suppressed, Violation,
};
use crate::domain::Severity;
use crate::report::doc::{
    CsvRows, Doc, Given, Record, Table, Value, columns, doc_markdown, doc_schema, doc_slack, tables,
};
use crate::report::promises::promises_words;
use crate::report::reserved::CURRENCIES;
use crate::report::shared::gaps::groups_of;
use crate::report::shared::text::{counted, currency_code, joined, minute, some_of};
use std::collections::BTreeMap;

/// Places that a row on screens names of data that is missing in several.
const NAMED: usize = 3;

/// File, line and address of what is written somewhere.
type PlaceRow<'a> = (&'a str, Option<usize>, Option<&'a str>);

/// A violation with what would stop an engineer from its steps.
type ViolationRow<'a> = (&'a Violation, &'a [String]);

columns! {
    fn outcome(report: GateReport) {
        text "gpucost_version", "", Data, env!("CARGO_PKG_VERSION").to_owned(), "";
        word[GateOutcome::NAMES] "outcome", "", Data, report.outcome.name(), "";
        opt text "policy", "", Data, report.policy_file.clone(), "The policy file, as it was named.";
        opt text "settings.file", "", Data, report.settings.as_ref().map(|used| used.file.clone()), "The settings file; null where no setting changes amounts or findings.";
    }

    fn setting<'a>(change: &'a SettingChange) {
        text "key", "", Data, change.key.clone(), "";
        text "value", "", Data, change.value.clone(), "";
        opt text "default", "", Data, change.default.clone(), "";
    }

    fn audited(audit: Audit) {
        time "as_of", "", Data, audit.as_of, "";
        text "source", "", Data, audit.source.name().to_owned(), "";
        count "summary.instances", "", Data, audit.totals.instances, "";
        word[CURRENCIES] "summary.currency", "", Data, audit.totals.currency.code(), "";
        opt money "summary.monthly_cost", "", Data, audit.totals.monthly_cost, "";
        opt money "summary.monthly_waste", "", Data, audit.totals.monthly_waste, "";
    }

    fn compared(report: GateReport) {
        opt record[baseline] "baseline", "", Wide, report.baseline.as_ref(), "What an earlier audit changed; null without one.";
    }

    fn baseline<'a>(used: &'a BaselineUse) {
        text "file", "", Data, used.file.clone(), "";
        count "known", "", Data, used.known, "Violations that it knew and that are no worse.";
        count "worse", "", Data, used.worse, "Violations that it knew and that are worse.";
        count "new", "", Data, used.new, "Violations that it did not know.";
        count "gone", "", Data, used.gone, "Findings of it that the policy forbids and that are gone.";
        texts "cautions", "", Data, used.cautions.clone(), "What makes it hard to compare with.";
    }

    fn checks<'a>(check: &'a Check) {
        word[CheckOutcome::NAMES] "outcome", "result", Narrow(0), check.outcome.name(), "";
        text "rule", "rule", Narrow(0), check.rule.clone(), "";
        text "scope", "scope", Narrow(0), check.scope.clone(), "";
        opt text "observed", "observed", Narrow(0), check.observed.clone(), "";
        text "limit", "limit", Narrow(0), check.limit.clone(), "";
        opt record[place] "place", "", Data, place_row(&check.place), "Where the policy says so.";
    }

    fn place<'a>(place: PlaceRow<'a>) {
        text "file", "", Data, place.0.to_owned(), "";
        opt count "line", "", Data, place.1, "Counted from one.";
        opt text "address", "", Data, place.2.map(str::to_owned), "Of a resource in a Terraform plan.";
    }

    fn violations<'a>(row: ViolationRow<'a>) {
        opt money "monthly", "monthly", Narrow(0), row.0.monthly, "The money that it is about; these overlap and do not add up.";
        word[Severity::NAMES] "severity", "severity", Narrow(0), row.0.severity.name(), "";
        text "rule", "rule", Narrow(0), row.0.rule.clone(), "";
        text "scope", "scope", Narrow(0), row.0.scope.clone(), "A workload's id, `everything`, `account …`, `region …`, `tag key=value`, or an address in a Terraform plan.";
        text "title", "", Data, row.0.title.clone(), "";
        text "words", "what", Below, row.0.title.clone(), "";
        opt text "since", "baseline", Screen, since_baseline(row.0), "";
        opt text "at", "at", Screen, (row.0.place != Place::Nowhere).then(|| row.0.place.to_string()), "";
        opt text "fix", "how to fix", Titled, (!row.0.steps.is_empty()).then(|| row.0.steps.join(", then ")), "";
        opt text "doubts", "caveats", Titled, (!row.1.is_empty()).then(|| row.1.join(", ")), "";
        text "fingerprint", "", Data, row.0.fingerprint.clone(), "The same across runs for the same matter.";
        opt text "workload", "", Data, row.0.workload.clone(), "";
        text "observed", "", Data, row.0.observed.clone(), "With its unit.";
        text "limit", "", Data, row.0.limit.clone(), "With its unit.";
        opt word[CURRENCIES] "currency", "", Data, currency_code(row.0.monthly), "";
        opt record[place] "place", "", Data, place_row(&row.0.place), "Where it is written.";
        texts "steps", "", Data, row.0.steps.clone(), "";
        texts "caveats", "", Data, row.1.to_vec(), "What would stop an engineer from the steps, most serious first.";
        opt word[BaselineState::NAMES] "baseline_state", "", Data, row.0.baseline_state.map(BaselineState::name), "How it stands to the baseline; null without one, and for what is not compared.";
        opt text "before", "", Data, row.0.before.clone(), "What the baseline observed, with its unit.";
    }

    fn suppressed<'a>(row: (&'a Suppressed, &'a [String])) {
        record[violations] "violation", "", Narrow(0), (&row.0.violation, row.1), "";
        text "owner", "owner", Narrow(0), row.0.by.owner.clone(), "";
        text "reason", "reason", Narrow(0), row.0.by.reason.clone(), "";
        date "expires", "until", Narrow(0), row.0.by.expires, "The last day on which it is accepted, in UTC.";
    }

    fn missing<'a>(missing: &'a MissingData) {
        text "what", "what", Narrow(0), missing.what.to_string(), "";
        text "where", "where", Narrow(0), missing.place.clone(), "";
        text "reason", "", Data, missing.reason.clone(), "";
        texts "rules", "rules", Narrow(0), missing.rules.clone(), "The rules that lacked it.";
        text "hint", "", Data, missing.hint.clone(), "";
        text "words", "reason", Below, missing.reason.clone(), "";
        text "remedy", "how to fix", Titled, missing.hint.clone(), "";
    }
}

/// The gate's report on an audit.
pub fn gate_doc(report: &GateReport, audit: &Audit, brief: &GateBrief) -> Doc {
    let findings = audit.findings.iter();
    let caveats = findings.map(|finding| (finding.id(), finding.recommendation.caveats.as_slice()));
    let more = Record::of(audited(), audit).and(Record::of(compared(), report));
    report_doc(report, brief, &caveats.collect(), more, Vec::new())
}

/// The document as a comment on a pull request, below the mark by which it is found again.
pub fn gate_markdown(report: &GateReport, doc: Doc) -> String {
    format!("<!-- gpucost check -->\n{}", doc_markdown(&marked(report, doc)))
}

/// The document as a message for Slack, with what the plan promises to pay.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn gate_slack(
    report: &GateReport,
    brief: &GateBrief,
    doc: Doc,
) -> Result<String, serde_json::Error> {
    let given = promises_words(&brief.promises)
        .map(|words| Given::new("promises", "promises", Value::Text(words), "plan"));
    doc_slack(&Doc { given: given.into_iter().collect(), ..marked(report, doc) })
}

/// The document with its outcome at a glance.
fn marked(report: &GateReport, doc: Doc) -> Doc {
    let mark = match report.outcome {
        GateOutcome::Violated => "❌",
        GateOutcome::Incomplete => "⚠️",
        GateOutcome::Clean if report.policy_file.is_some() => "✅",
        GateOutcome::Clean | GateOutcome::Nothing => "ℹ️",
    };
    Doc { headline: format!("{mark} {}", doc.headline), ..doc }
}

schema! {
    /// The JSON schema of `gpucost check`.
    gate_schema: "check", [report_form(Record::heads(audited()).and(Record::heads(compared())), Vec::new())],
    "What the rules of a policy come to for an audit. Keys may be added within a schema version."
}

/// What would stop an engineer from what findings advise, by their ids.
pub(in crate::report) type Caveats<'a> = BTreeMap<String, &'a [String]>;

/// A report with further keys, and tables before its own.
pub(in crate::report) fn report_doc(
    report: &GateReport,
    brief: &GateBrief,
    caveats: &Caveats<'_>,
    more: Record,
    mut tables: Vec<Table>,
) -> Doc {
    let own = report_tables(Some(report), caveats);
    let screens = screens(report, brief, &tables, &own);
    tables.extend(own);
    tables.retain(|table| !table.is_optional || !table.rows.is_empty());
    let parts = [
        brief.delta.clone(),
        Some(verdict_words(report, brief)),
        brief.cost(report).map(str::to_owned),
        Some(format!("{}, as of {}", brief.subject, minute(brief.as_of))),
        report.policy_file.as_deref().map(|file| format!("policy {file}")),
    ];
    Doc {
        name: "check",
        headline: joined(parts.into_iter().flatten(), "; "),
        record: Record::of(outcome(), report).and(more),
        csv: CsvRows::Named,
        tables,
        screens,
        gaps: Some(brief.gaps.clone()),
        ..Doc::default()
    }
}

/// The same without a value, for its schema.
pub(in crate::report) fn report_form(more: Record, mut tables: Vec<Table>) -> Doc {
    tables.extend(report_tables(None, &Caveats::new()));
    Doc::form_with_gaps(Record::heads(outcome()).and(more), tables)
}

/// What screens show: settings and what fails first, then what a plan changes and what passes.
fn screens(
    report: &GateReport,
    brief: &GateBrief,
    before: &[Table],
    own: &[Table; 6],
) -> Vec<Table> {
    let words = |key, title: String, notes| Table { key, title, notes, ..Table::default() };
    let mut settings = settings_lines(report).into_iter();
    let title = settings.next().unwrap_or_default();
    let settings = words("settings", title, settings.collect());
    let baseline = report.baseline.as_ref().map(|used| {
        let (file, known, worse, new, gone) =
            (&used.file, used.known, used.worse, used.new, used.gone);
        let counts = format!("{known} known, {worse} worse, {new} new, {gone} gone since {file}");
        let cautions = used.cautions.iter().map(|caution| format!("caution: {caution}"));
        words("baseline", "BASELINE".to_owned(), std::iter::once(counts).chain(cautions).collect())
    });
    let not_checked = brief.not_checked(report).into_iter().map(|(_, sentence)| sentence).collect();
    let not_checked = words("not_checked", "NOT CHECKED".to_owned(), not_checked);
    let [_, mut checks, violations, mut notices, mut suppressed, missing_data] = own.clone();
    let outcomes = CheckOutcome::ALL.iter().rev().filter_map(|outcome| {
        let number = report.checks.iter().filter(|check| check.outcome == *outcome).count();
        (number > 0).then(|| format!("{number} {outcome}"))
    });
    checks.title = format!("RULES  {}", joined(outcomes, ", "));
    // The baseline counts what it knew.
    let mut is_known = report.notices.iter().map(Violation::is_known);
    notices.rows.retain(|_| is_known.next() != Some(true));
    let noun = missing_data.noun;
    let number = counted(report.missing_data.len(), noun.0, noun.1);
    let title = format!("NOT EVALUATED  {number}");
    let missing = Table::of("missing_data", title, noun, missing(), &alike(&report.missing_data));
    for table in [&mut checks, &mut notices, &mut suppressed] {
        table.is_folded = true;
    }
    let first = [settings].into_iter().chain(baseline).chain([violations]);
    let tables = first.chain(before.iter().cloned()).chain([missing, not_checked]);
    tables.chain([checks, notices, suppressed]).collect()
}

/// Data that is missing in several places for one reason, as one row.
fn alike(missing: &[MissingData]) -> Vec<MissingData> {
    let cause = |missing: &MissingData| {
        let MissingData { what, reason, hint, rules, .. } = missing.clone();
        Some((what.to_string(), reason, hint, rules))
    };
    let row = |group: Vec<&MissingData>| MissingData {
        place: some_of(group.iter().map(|gap| gap.place.as_str()), NAMED),
        ..group[0].clone()
    };
    groups_of(missing, cause).into_iter().map(row).collect()
}

/// Settings first: whoever may change them may open the gate.
fn report_tables(report: Option<&GateReport>, caveats: &Caveats<'_>) -> [Table; 6] {
    let reports = || report.into_iter();
    let caveats =
        |violation: &Violation| caveats.get(&violation.fingerprint).copied().unwrap_or_default();
    let settings = reports().filter_map(|report| report.settings.as_ref());
    let settings = settings.flat_map(|used| &used.changes);
    let mut settings = Table::of(
        "settings.changes",
        "Settings beside the policy that change amounts or findings and differ from the defaults.",
        ("setting", "settings"),
        setting(),
        settings,
    );
    settings.is_optional = true;
    let [checks, violations, notices, suppressed, missing_data] = tables! {
        "checks", "RULES", ("rule", "rules"), checks(), reports().flat_map(|report| &report.checks);
        "violations", "VIOLATIONS  most severe first", ("violation", "violations"), violations(), reports().flat_map(|report| &report.violations).map(|row| (row, caveats(row)));
        "notices", "NOTICES  which do not fail the check", ("notice", "notices"), violations(), reports().flat_map(|report| &report.notices).map(|row| (row, caveats(row)));
        "suppressed", "SUPPRESSED", ("suppressed violation", "suppressed violations"), suppressed(), reports().flat_map(|report| &report.suppressed).map(|row| (row, caveats(&row.violation)));
        "missing_data", "NOT EVALUATED  for want of data", ("missing input", "missing inputs"), missing(), reports().flat_map(|report| &report.missing_data);
    };
    [settings, checks, violations, notices, suppressed, missing_data]
}

/// Sentences below a row, whole: none of them is cut off where a line ends.
fn place_row(place: &Place) -> Option<PlaceRow<'_>> {
    match place {
        Place::PolicyLine { file, line } => Some((file, Some(*line), None)),
        Place::PlanResource { file, address, line } => Some((file, *line, Some(address))),
        Place::Nowhere => None,
    }
}
