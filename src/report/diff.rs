//! `gpucost diff` of two audits: money first, then workloads, then findings; and of two profiled
//! runs.

use crate::analysis::{
    AuditDiff, ChangedField, Delta, GoneFinding, KpiDelta, PlanOutcome, RunDiff, RunFigure,
    RunFigureKind, RunValue, RunVerdict, UnitCostDelta, UnusedChange, WorkloadChange,
};
use crate::domain::{GpuModel, Kpi, PastAudit, PastFinding, PastRun, PastWorkload};
use crate::report::doc::{
    CsvRows, Doc, Head, Kind, Record, Table, Value, column, columns, doc_schema, heads, rows,
    tables,
};
use crate::report::planners::kpi::{kpi_value, per, title};
use crate::report::reserved::CURRENCIES;
use crate::report::shared::text::{
    count, counted, currency_code, joined, json_account, less, minute,
};

const FIELDS: &[&str] =
    &["instance_type", "instances", "state", "purchase_option", "classification", "monthly_cost"];
const ENDINGS: &[&str] = &["removed", "changed", "no-longer-holds"];

/// A finding with the name of its workload; one that is gone with why.
type FindingRow<'a> = (&'a PastFinding, &'a str, Option<&'a GoneFinding<'a>>);

columns! {
    fn document<'a>(diff: AuditDiff<'a>) {
        text "gpucost_version", "", Data, env!("CARGO_PKG_VERSION").to_owned(), "";
        record[side] "old", "", Wide, diff.old, "The earlier audit.";
        record[side] "new", "", Wide, diff.new, "The later audit.";
        texts "caveats", "", Data, diff.caveats.clone(), "What limits the comparison.";
        record[amounts] "summary.monthly_cost", "", Wide, delta(diff.monthly_cost), "";
        record[amounts] "summary.monthly_waste", "", Wide, delta(diff.monthly_waste), "";
        record[amounts] "summary.monthly_savings", "", Wide, delta(diff.monthly_savings), "What the plan saves.";
        count "summary.workloads_added", "", Data, diff.added.len(), "";
        count "summary.workloads_removed", "", Data, diff.removed.len(), "";
        count "summary.workloads_changed", "", Data, diff.changed.len(), "";
        count "summary.workloads_unchanged", "", Data, diff.unchanged, "";
        count "summary.findings_gone", "", Data, diff.gone.len(), "";
        count "summary.findings_new", "", Data, diff.appeared.len(), "";
        count "summary.findings_kept", "", Data, diff.kept, "";
        opt money "summary.saved_by_findings_gone", "", Data, diff.saved_by_gone, "Per month, each workload once.";
        opt record[plan] "summary.plan", "", Wide, diff.plan, "What became of the earlier plan; null when nothing was planned.";
    }

    fn side<'a>(audit: &'a PastAudit) {
        time "as_of", "", Data, audit.as_of, "";
        time "window_start", "", Data, audit.window.start, "";
        time "window_end", "", Data, audit.window.end, "Exclusive.";
        text "source", "", Data, audit.source.clone(), "";
        opt text "gpucost_version", "", Data, audit.gpucost_version.clone(), "";
        word[CURRENCIES] "currency", "", Data, audit.totals.currency.code(), "Of all sums.";
        count "instances", "", Data, audit.totals.instances, "";
        count "gpus", "", Data, audit.totals.gpus, "";
        count "unpriced_instances", "", Data, audit.totals.unpriced_instances, "";
        count "gaps", "", Data, audit.gaps.len(), "Number of data gaps.";
        count "workloads_left_out", "", Data, audit.skipped_workloads, "Excluded because the other audit did not read where they are.";
    }

    /// Something before, now, and the difference.
    fn amounts(row: [Value; 3]) {
        opt cell "old", "before", Narrow(0), row[0].clone(), "";
        opt cell "new", "now", Narrow(0), row[1].clone(), "";
        opt cell "change", "change", Narrow(0), row[2].clone().signed(), "null where either is unknown, or they are in two currencies.";
    }

    fn plan(outcome: PlanOutcome) {
        opt money "planned_monthly_savings", "", Data, outcome.planned, "";
        opt money "monthly_saved", "", Data, outcome.saved, "Below zero when its workloads cost more.";
        opt money "storage_of_stopped", "", Data, outcome.storage_of_stopped, "Idle storage of what the plan stopped, which the saving is net of.";
        opt money "lost_work", "", Data, outcome.lost_work, "Budgeted for work that is lost on spot; the saving contains it.";
        opt money "snapshots", "", Data, outcome.snapshots, "Budgeted for snapshots of released volumes; the saving contains it.";
    }

    fn figures(row: (String, [Value; 3])) {
        text "figure", "figure", Screen, row.0.clone(), "";
        record[amounts] "amounts", "", Screen, row.1.clone(), "";
    }

    fn unit_costs<'a>(cost: &'a UnitCostDelta<'a>) {
        text "name", "", Data, cost.one.name.clone(), "";
        text "unit", "", Data, cost.one.unit.clone(), "";
        text "work", "work", Screen, format!("{}, per {}", cost.one.name, per(cost.one.per, &cost.one.unit)), "";
        count "per", "", Data, cost.one.per, "Units that the price is for.";
        opt word[CURRENCIES] "currency", "", Data, currency_code(cost.price.new.or(cost.price.old)), "";
        record[amounts] "cost_per_units", "", Narrow(0), [cost.price.old, cost.price.new, cost.price.change()].map(Value::make_price), "";
    }

    fn workloads<'a>(workload: &'a PastWorkload) {
        text "id", "", Data, workload.id.clone(), "";
        text "name", "name", Narrow(0), workload.name.clone(), "";
        opt text "account", "account", Wide, json_account(&workload.account), "";
        text "region", "region", Wide, workload.region.clone(), "";
        text "instance_type", "", Data, workload.instance_type.clone(), "";
        count "instances", "", Data, workload.instances.len(), "";
        flag "running", "", Data, workload.running, "";
        text "purchase_option", "", Data, workload.purchase_option.clone(), "";
        text "classification", "", Data, workload.classification.clone(), "";
        opt word[CURRENCIES] "currency", "", Data, currency_code(workload.monthly_cost), "";
        opt money "monthly_cost", "monthly", Narrow(0), workload.monthly_cost, "";
        text "description", "what", Screen, described(workload), "";
    }

    fn changed<'a>(change: &'a WorkloadChange<'a>) {
        text "old_id", "", Data, change.old.id.clone(), "";
        text "new_id", "", Data, change.new.id.clone(), "";
        text "name", "name", Narrow(0), change.new.name.clone(), "";
        opt word[CURRENCIES] "currency", "", Data, currency_code(change.new.monthly_cost.or(change.old.monthly_cost)), "";
        record[amounts] "monthly_cost", "", Narrow(0), delta(change.monthly_cost()), "";
        opt money "planned_monthly_cost", "planned", Wide, change.old.planned_monthly_cost, "Of the earlier plan.";
        rows[fields] "fields", "", Data, &change.fields, "";
        text "differences", "what", Screen, differences(change), "";
    }

    /// Something of a workload, in words.
    fn fields<'a>(field: &'a ChangedField) {
        word[FIELDS] "field", "", Data, field.name, "";
        text "old", "", Data, field.old.clone(), "";
        text "new", "", Data, field.new.clone(), "";
    }

    fn unused<'a>(change: &'a UnusedChange<'a>) {
        text "id", "commitment", Narrow(0), change.one.id.clone(), "";
        opt word[CURRENCIES] "currency", "", Data, currency_code(change.monthly_cost.new.or(change.monthly_cost.old)), "";
        record[amounts] "monthly_cost", "", Narrow(0), delta(change.monthly_cost), "";
        text "name", "what", Narrow(0), change.one.name.clone(), "";
    }

    fn findings<'a>(row: FindingRow<'a>) {
        text "about", "workload", Screen, row.1.to_owned(), "";
        text "id", "", Data, row.0.id.clone(), "";
        text "rule", "rule", Narrow(0), row.0.rule.clone(), "";
        text "workload", "", Data, row.0.workload.clone(), "";
        text "severity", "severity", Narrow(0), row.0.severity.clone(), "";
        opt word[CURRENCIES] "currency", "", Data, currency_code(row.0.monthly_savings.or(row.2.and_then(|gone| gone.workload_saved))), "";
        opt money "monthly_savings", "savings", Narrow(0), row.0.monthly_savings, "";
        text "title", "finding", Narrow(0), row.0.title.clone(), "";
    }

    fn endings<'a>(row: FindingRow<'a>) {
        word[ENDINGS] "because", "why", Narrow(0), row.2.map(|gone| gone.because.name()), "What became of its workload.";
        opt money "workload_monthly_saved", "saved now", Narrow(0), row.2.and_then(|gone| gone.workload_saved), "What its workload costs less per month; below zero for more. Findings of one workload share it.";
    }
}

/// Two audits beside each other as a document.
pub fn diff_doc(diff: &AuditDiff<'_>) -> Doc {
    let change = diff.monthly_cost.change();
    let change = change.map_or("totals not comparable".to_owned(), |change| {
        format!("{} per month", change.signed())
    });
    let [new, old] = [diff.new, diff.old].map(|audit| minute(audit.as_of));
    let kpis_of = |kpi| Value::make_record(&amounts(), kpi_amounts(kpi));
    let record = Record::of(document(), diff)
        .and(Record { values: diff.kpis.iter().map(kpis_of).collect(), ..kpi_form() });
    let mut tables = vec![totals(diff), kpis(diff)];
    tables.extend(data_tables(Some(diff)));
    Doc {
        name: "diff",
        headline: format!("GPU cost: {change}, audit of {new} compared with {old}"),
        record,
        csv: CsvRows::Named,
        tables,
        ..Doc::default()
    }
}

schema! {
    /// The JSON schema of `gpucost diff`, of two audits and of two runs.
    diff_schema: "diff", [Doc::form(Record::heads(document()).and(kpi_form()), data_tables(None)), Doc::form(Record::heads(run_document()), [run_table(&[])])],
    "What changed between two audits, or between two profiled runs; docs/diff.md says how audits are compared. Amounts are per month and have cents; percentages are 0-100. Keys may be added within a schema version."
}

/// Cost, waste and what the plan saves; below them what was counted, what became of the plan,
/// and what limits the comparison.
fn totals(diff: &AuditDiff<'_>) -> Table {
    let sums = [diff.monthly_cost, diff.monthly_waste, diff.monthly_savings].map(delta);
    let sums = ["cost", "waste", "planned savings"].map(str::to_owned).into_iter().zip(sums);
    let mut totals = Table::of("totals", "TOTALS  per month", ("sum", "sums"), figures(), sums);
    let workloads = [diff.added.len(), diff.removed.len(), diff.changed.len()];
    let [added, removed, changed] = workloads.map(|number| count(number as u64));
    let [gone, new] = [diff.gone.len(), diff.appeared.len()].map(|number| count(number as u64));
    let [unchanged, kept] = [diff.unchanged, diff.kept].map(count);
    totals.notes.push(format!(
        "workloads: {added} added, {removed} removed, {changed} changed, {unchanged} unchanged; \
         findings: {gone} gone, {new} new, {kept} unchanged"
    ));
    totals.notes.extend(diff.plan.as_ref().map(outcome));
    totals.notes.extend(diff.caveats.iter().map(|caveat| format!("caution: {caveat}")));
    totals
}

/// The key figures that changed.
fn kpis(diff: &AuditDiff<'_>) -> Table {
    let changed = diff.kpis.iter().filter(|kpi| kpi.old != kpi.new);
    let changed = changed.map(|kpi| (title(kpi.kpi).to_owned(), kpi_amounts(kpi)));
    let noun = ("key figure", "key figures");
    Table::of("kpis", "KEY FIGURES  that changed", noun, figures(), changed)
}

fn data_tables<'a>(diff: Option<&'a AuditDiff<'a>>) -> [Table; 7] {
    let diffs = || diff.into_iter();
    let (workload, finding) = (("workload", "workloads"), ("finding", "findings"));
    let gone = diff.map_or("GONE  findings".to_owned(), gone_title);
    let mut endings_last = findings();
    let sentence = endings_last.pop();
    endings_last.extend(endings());
    endings_last.extend(sentence);
    tables! {
        "unit_costs", "COSTS OF WORK", ("unit of work", "units of work"), unit_costs(), diffs().flat_map(|diff| &diff.unit_costs);
        "added", "ADDED  most expensive first", workload, workloads(), diffs().flat_map(|diff| diff.added.iter().copied());
        "removed", "REMOVED  most expensive first", workload, workloads(), diffs().flat_map(|diff| diff.removed.iter().copied());
        "changed", "CHANGED  largest change of the cost first", workload, changed(), diffs().flat_map(|diff| &diff.changed);
        "unused_commitments", "PAID FOR BUT NOT RUNNING  where its cost changed", ("commitment", "commitments"), unused(), diffs().flat_map(|diff| &diff.unused);
        "findings_gone", gone, finding, endings_last, diffs().flat_map(|diff| { let names = diff.old.names(); diff.gone.iter().map(move |gone| (gone.finding, gone.finding.about(&names), Some(gone))) });
        "findings_new", "NEW  findings", finding, findings(), diffs().flat_map(|diff| { let names = diff.new.names(); diff.appeared.iter().map(move |finding| (*finding, finding.about(&names), None)) });
    }
}

fn delta(delta: Delta) -> [Value; 3] {
    [delta.old, delta.new, delta.change()].map(Value::make_money)
}

/// The key figures, which have no values yet.
fn kpi_form() -> Record {
    let heads = Kpi::ALL.iter().map(|kpi| Head {
        path: format!("kpis.{}", kpi.name()).into(),
        kind: Kind::Record(heads(amounts())),
        is_optional: false,
        meaning: title(*kpi),
        ..column("", "")
    });
    Record { heads: heads.collect(), values: Vec::new() }
}

fn kpi_amounts(delta: &KpiDelta) -> [Value; 3] {
    [delta.old, delta.new, delta.change()].map(|value| kpi_value(delta.kpi, value))
}

/// What became of the plan of the earlier audit, in a sentence.
fn outcome(plan: &PlanOutcome) -> String {
    let (planned, saved) = (plan.planned, less(plan.saved));
    let mut words = format!(
        "the earlier plan projected savings of {planned} per month; the same scope now costs \
         {saved} per month"
    );
    for (amount, before, after) in [
        (plan.storage_of_stopped, "net of", "for idle storage while stopped"),
        (plan.lost_work, "with", "that the plan budgeted for work lost on spot"),
        (plan.snapshots, "with", "that the plan budgeted for snapshots of released volumes"),
    ] {
        if !amount.amount().is_zero() {
            words.push_str(&format!(", {before} {amount} {after}"));
        }
    }
    words
}

/// What findings that are gone were worth in the end.
fn gone_title(diff: &AuditDiff<'_>) -> String {
    let number = counted(diff.gone.len(), "finding", "findings");
    let saved = diff.saved_by_gone.map_or(String::new(), |saved| {
        let about = if diff.gone.len() == 1 { "it covered" } else { "they covered" };
        format!(", and the resources {about} cost {} per month", less(saved))
    });
    format!("GONE  {number}{saved}")
}

/// What differs of a workload but its cost, which has a column.
fn differences(change: &WorkloadChange<'_>) -> String {
    let parts = change.fields.iter().filter(|field| field.name != "monthly_cost").map(|field| {
        let name = match field.name {
            "instance_type" => "type",
            "purchase_option" => "option",
            "classification" => "class",
            other => other,
        };
        format!("{name} {} → {}", field.old, field.new)
    });
    Some(joined(parts, ", ")).filter(|parts| !parts.is_empty()).unwrap_or("cost only".to_owned())
}

/// Type, count, option and class of a workload.
fn described(workload: &PastWorkload) -> String {
    let class = if workload.running { workload.classification.as_str() } else { "stopped" };
    let (number, name) = (workload.instances.len(), &workload.instance_type);
    format!("{number} × {name}, {}, {class}", workload.purchase_option)
}

columns! {
    fn run_document<'a>(diff: RunDiff<'a>) {
        text "gpucost_version", "", Data, env!("CARGO_PKG_VERSION").to_owned(), "";
        record[run_side] "old", "", Wide, diff.old, "The earlier run.";
        record[run_side] "new", "", Wide, diff.new, "The later run.";
        percent "noise_pct", "", Data, diff.noise_percent, "The change in percent that counts as noise.";
        texts "caveats", "", Data, diff.caveats.clone(), "What limits the comparison.";
    }

    fn run_side<'a>(run: &'a PastRun) {
        opt text "gpucost_version", "", Data, run.gpucost_version.clone(), "";
        opt text "hostname", "", Data, run.hostname.clone(), "";
        opt text "instance_type", "", Data, run.instance_type.clone(), "";
        opt text "region", "", Data, run.region.clone(), "";
        list "gpus", "", Data, run.gpus.iter().map(|gpu| Value::make_text(gpu.clone())).collect(), "Models, as the driver names them; null where it does not.";
        opt count "exit_code", "", Data, run.exit_code, "";
        cell "elapsed_seconds", "", Data, Value::Number(run.elapsed_seconds, 1), "";
    }

    fn run_figures<'a>(figure: &'a RunFigure) {
        word[&["units_per_hour", "cost_of_unit", "energy_of_unit_wh", "mfu_pct", "elapsed_seconds", "run_cost", "energy_kwh", "gpu_utilization_mean_pct", "vram_peak_gb"]] "figure", "", Data, figure.kind.name(), "With its unit last; vram_peak_gb is in GiB.";
        text "name", "figure", Screen, run_name(figure), "";
        opt text "unit", "", Data, figure.unit.clone(), "The unit of work.";
        count "per", "", Data, figure.kind.per(figure.unit.as_deref()), "Units that the figure is of.";
        opt word[CURRENCIES] "currency", "", Data, run_currency(figure), "";
        opt cell "old", "old", Narrow(0), run_value(figure.kind, figure.old), "";
        opt cell "new", "new", Narrow(0), run_value(figure.kind, figure.new), "";
        opt cell "change_pct", "change", Narrow(0), Value::make_percent(figure.change_percent).signed(), "Percentage of the old figure.";
        opt word[&["better", "worse", "higher", "lower", "within-noise"]] "verdict", "verdict", Narrow(0), figure.verdict.map(RunVerdict::name), "null where it is not compared.";
    }
}

/// Two runs beside each other as a document.
pub fn run_diff_doc(diff: &RunDiff<'_>) -> Doc {
    let mut table = run_table(&diff.figures);
    table.notes = rows! {
        for caveat in &diff.caveats => format!("caution: {caveat}");
        format!("one run of each: a change of at most {}% counts as noise (`--noise`)", diff.noise_percent);
    };
    let [old, new] = [diff.old, diff.new].map(described_run);
    Doc {
        name: "diff",
        headline: format!("Two runs compared: old {old}; new {new}"),
        record: Record::of(run_document(), diff),
        tables: vec![table],
        ..Doc::default()
    }
}

fn run_table(rows: &[RunFigure]) -> Table {
    let title = "FIGURES  per unit of work first, then of the whole runs";
    Table::of("figures", title, ("figure", "figures"), run_figures(), rows)
}

fn run_currency(figure: &RunFigure) -> Option<&'static str> {
    [figure.old, figure.new].into_iter().flatten().find_map(|value| match value {
        RunValue::Money(amount) => Some(amount.currency().code()),
        RunValue::Number(_) => None,
    })
}

fn run_value(kind: RunFigureKind, value: Option<RunValue>) -> Value {
    Value::of(value, |value| match (kind, value) {
        // A step may cost little.
        (_, RunValue::Money(amount)) => Value::Price(amount),
        (RunFigureKind::Mfu | RunFigureKind::Utilization, RunValue::Number(number)) => {
            Value::Percent(number)
        }
        (RunFigureKind::EnergyOfUnit, RunValue::Number(number)) => Value::Number(number, 6),
        (RunFigureKind::Energy, RunValue::Number(number)) => Value::Number(number, 4),
        (_, RunValue::Number(number)) => Value::Number(number, 1),
    })
}

fn run_name(figure: &RunFigure) -> String {
    let unit = figure.unit.as_deref().unwrap_or("work");
    let units = match figure.kind.per(figure.unit.as_deref()) {
        1 => format!("one of {unit}"),
        per => format!("{} {unit}", count(u64::from(per))),
    };
    match figure.kind {
        RunFigureKind::UnitsPerHour => format!("{unit} per hour"),
        RunFigureKind::CostOfUnit => format!("cost of {units}"),
        RunFigureKind::EnergyOfUnit => format!("energy of {units}, Wh"),
        RunFigureKind::Mfu => "model FLOPs utilization".to_owned(),
        RunFigureKind::Duration => "time, s".to_owned(),
        RunFigureKind::Cost => "cost".to_owned(),
        RunFigureKind::Energy => "energy, kWh".to_owned(),
        RunFigureKind::Utilization => "mean GPU utilization".to_owned(),
        RunFigureKind::VramPeak => "peak VRAM, GiB".to_owned(),
    }
}

/// `g5.12xlarge, us-east-1, 4 × A10G`.
fn described_run(run: &PastRun) -> String {
    let parts = [&run.instance_type, &run.region].into_iter().flatten();
    let mut parts: Vec<String> = parts.cloned().collect();
    if parts.is_empty() {
        parts.extend(run.hostname.clone());
    }
    let model = |name: &Option<String>| name.as_deref().map(GpuModel::from_driver_name);
    let models: Vec<Option<GpuModel>> = run.gpus.iter().map(model).collect();
    if let Some(first) = models.first() {
        let is_one = models.iter().all(|model| model == first);
        let model = first.as_ref().filter(|_| is_one).map_or("GPU", GpuModel::name);
        parts.push(format!("{} × {model}", models.len()));
    }
    if parts.is_empty() { "unknown host".to_owned() } else { parts.join(", ") }
}
