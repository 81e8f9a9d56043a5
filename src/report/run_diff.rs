//! `gpucost diff` of two profiled runs.

use super::doc::{Doc, Record, Table, Value, columns, rows};
use super::reserved::CURRENCIES;
use super::shared::text::count;
use crate::analysis::{RunDiff, RunFigure, RunFigureKind, RunValue, RunVerdict};
use crate::domain::{GpuModel, PastRun};

columns! {
    fn document<'a>(diff: RunDiff<'a>) {
        text "gpucost_version", "", Data, env!("CARGO_PKG_VERSION").to_owned(), "";
        record[side] "old", "", Wide, diff.old, "The earlier run.";
        record[side] "new", "", Wide, diff.new, "The later run.";
        percent "noise_pct", "", Data, diff.noise_percent, "The change in percent that counts as noise.";
        texts "caveats", "", Data, diff.caveats.clone(), "What limits the comparison.";
    }

    fn side<'a>(run: &'a PastRun) {
        opt text "gpucost_version", "", Data, run.gpucost_version.clone(), "";
        opt text "hostname", "", Data, run.hostname.clone(), "";
        opt text "instance_type", "", Data, run.instance_type.clone(), "";
        opt text "region", "", Data, run.region.clone(), "";
        list "gpus", "", Data, run.gpus.iter().map(|gpu| Value::make_text(gpu.clone())).collect(), "Models, as the driver names them; null where it does not.";
        opt count "exit_code", "", Data, run.exit_code, "";
        cell "elapsed_seconds", "", Data, Value::Number(run.elapsed_seconds, 1), "";
    }

    fn figures<'a>(figure: &'a RunFigure) {
        word[&["units_per_hour", "cost_of_unit", "energy_of_unit_wh", "mfu_pct", "elapsed_seconds", "run_cost", "energy_kwh", "gpu_utilization_mean_pct", "vram_peak_gb"]] "figure", "", Data, figure.kind.name(), "With its unit last; vram_peak_gb is in GiB.";
        text "name", "figure", Screen, name(figure), "";
        opt text "unit", "", Data, figure.unit.clone(), "The unit of work.";
        count "per", "", Data, figure.kind.per(figure.unit.as_deref()), "Units that the figure is of.";
        opt word[CURRENCIES] "currency", "", Data, currency(figure), "";
        opt cell "old", "old", Narrow(0), value(figure.kind, figure.old), "";
        opt cell "new", "new", Narrow(0), value(figure.kind, figure.new), "";
        opt cell "change_pct", "change", Narrow(0), Value::make_percent(figure.change_percent).signed(), "Percentage of the old figure.";
        opt word[&["better", "worse", "higher", "lower", "within-noise"]] "verdict", "verdict", Narrow(0), figure.verdict.map(RunVerdict::name), "null where it is not compared.";
    }
}

/// Two runs beside each other as a document.
pub fn run_diff_doc(diff: &RunDiff<'_>) -> Doc {
    let mut table = table(&diff.figures);
    table.notes = rows! {
        for caveat in &diff.caveats => format!("caution: {caveat}");
        format!("one run of each: a change of at most {}% counts as noise (`--noise`)", diff.noise_percent);
    };
    let [old, new] = [diff.old, diff.new].map(place);
    Doc {
        name: "diff",
        headline: format!("Two runs compared: old {old}; new {new}"),
        record: Record::of(document(), diff),
        tables: vec![table],
        ..Doc::default()
    }
}

/// The document without a value, for its schema.
pub(super) fn run_diff_form() -> Doc {
    Doc::form(Record::heads(document()), [table(&[])])
}

fn table(rows: &[RunFigure]) -> Table {
    let title = "FIGURES  per unit of work first, then of the whole runs";
    Table::of("figures", title, ("figure", "figures"), figures(), rows)
}

fn currency(figure: &RunFigure) -> Option<&'static str> {
    [figure.old, figure.new].into_iter().flatten().find_map(|value| match value {
        RunValue::Money(amount) => Some(amount.currency().code()),
        RunValue::Number(_) => None,
    })
}

fn value(kind: RunFigureKind, value: Option<RunValue>) -> Value {
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

fn name(figure: &RunFigure) -> String {
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
fn place(run: &PastRun) -> String {
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
