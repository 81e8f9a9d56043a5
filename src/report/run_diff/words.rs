//! Words that tables and Markdown have in common. Names are not escaped here.

use crate::analysis::{RunDiff, RunFigure, RunFigureKind, RunValue, RunVerdict};
use crate::domain::{GpuModel, PastRun};
use crate::report::shared::text::{ABSENT, count, money, unit_price};

/// A figure with what it was, is, and says.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) old: String,
    pub(super) new: String,
    pub(super) change: String,
    pub(super) verdict: &'static str,
}

pub(super) fn rows(diff: &RunDiff<'_>) -> Vec<Row> {
    let row = |one: &RunFigure| Row {
        name: name(one),
        old: value(one.kind, one.old),
        new: value(one.kind, one.new),
        change: one
            .change_percent
            .map_or_else(|| ABSENT.to_owned(), |change| format!("{change:+.1}%")),
        verdict: match one.verdict {
            Some(RunVerdict::WithinNoise) => "within noise",
            Some(verdict) => verdict.name(),
            None => ABSENT,
        },
    };
    diff.figures.iter().map(row).collect()
}

fn name(one: &RunFigure) -> String {
    let unit = one.unit.as_deref().unwrap_or("work");
    let units = match one.kind.per(one.unit.as_deref()) {
        1 => format!("one of {unit}"),
        per => format!("{} {unit}", count(u64::from(per))),
    };
    match one.kind {
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

fn value(kind: RunFigureKind, value: Option<RunValue>) -> String {
    match value {
        None => ABSENT.to_owned(),
        Some(RunValue::Money(amount)) if kind == RunFigureKind::CostOfUnit => unit_price(amount),
        Some(RunValue::Money(amount)) => money(amount.rounded()),
        Some(RunValue::Number(number)) => match kind {
            RunFigureKind::Mfu | RunFigureKind::Utilization => format!("{number:.1}%"),
            RunFigureKind::EnergyOfUnit | RunFigureKind::Energy => format!("{number:.4}"),
            _ => format!("{number:.1}"),
        },
    }
}

/// `g5.12xlarge, us-east-1, 4 × A10G`.
pub(super) fn place(run: &PastRun) -> String {
    let mut parts: Vec<String> = [&run.instance_type, &run.region]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    if parts.is_empty() {
        parts.extend(run.hostname.clone());
    }
    let models: Vec<Option<GpuModel>> = run
        .gpus
        .iter()
        .map(|name| name.as_deref().map(GpuModel::from_driver_name))
        .collect();
    if let Some(first) = models.first() {
        let is_one = models.iter().all(|model| model == first);
        let model = first.as_ref().filter(|_| is_one);
        let model = model.map_or("GPU", GpuModel::name);
        parts.push(format!("{} × {model}", models.len()));
    }
    parts.join(", ")
}

/// What a verdict rests on.
pub(super) fn footnote(diff: &RunDiff<'_>) -> String {
    format!(
        "one run of each: a change of at most {}% counts as noise (`--noise`)",
        diff.noise_percent
    )
}
