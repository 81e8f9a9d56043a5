//! Two runs for programs.

use crate::analysis::{RunDiff, RunFigure, RunValue, RunVerdict};
use crate::domain::PastRun;
use crate::report::SCHEMA_VERSION;
use crate::report::shared::text::{json_document, json_figure};
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: &'static str,
    gpucost_version: &'static str,
    old: SideView<'a>,
    new: SideView<'a>,
    noise_pct: f64,
    caveats: &'a [String],
    figures: Vec<FigureView<'a>>,
}

#[derive(Serialize)]
struct SideView<'a> {
    gpucost_version: Option<&'a str>,
    hostname: Option<&'a str>,
    instance_type: Option<&'a str>,
    region: Option<&'a str>,
    gpus: &'a [Option<String>],
    exit_code: Option<i32>,
    elapsed_seconds: f64,
}

#[derive(Serialize)]
struct FigureView<'a> {
    figure: &'static str,
    unit: Option<&'a str>,
    /// Units that the figure is of.
    per: u32,
    currency: Option<&'static str>,
    old: Option<f64>,
    new: Option<f64>,
    change_pct: Option<f64>,
    verdict: Option<&'static str>,
}

/// Two runs beside each other as a JSON document.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn run_diff_json(diff: &RunDiff<'_>) -> Result<String, serde_json::Error> {
    json_document(&Document {
        schema_version: SCHEMA_VERSION,
        gpucost_version: env!("CARGO_PKG_VERSION"),
        old: side(diff.old),
        new: side(diff.new),
        noise_pct: diff.noise_percent,
        caveats: &diff.caveats,
        figures: diff.figures.iter().map(figure).collect(),
    })
}

fn side(run: &PastRun) -> SideView<'_> {
    SideView {
        gpucost_version: run.gpucost_version.as_deref(),
        hostname: run.hostname.as_deref(),
        instance_type: run.instance_type.as_deref(),
        region: run.region.as_deref(),
        gpus: &run.gpus,
        exit_code: run.exit_code,
        elapsed_seconds: json_figure(run.elapsed_seconds),
    }
}

fn figure(one: &RunFigure) -> FigureView<'_> {
    let currency = [one.old, one.new]
        .into_iter()
        .flatten()
        .find_map(|value| match value {
            RunValue::Money(amount) => Some(amount.currency().code()),
            RunValue::Number(_) => None,
        });
    FigureView {
        figure: one.kind.name(),
        unit: one.unit.as_deref(),
        per: one.kind.per(one.unit.as_deref()),
        currency,
        old: one.old.and_then(number),
        new: one.new.and_then(number),
        change_pct: one.change_percent.map(json_figure),
        verdict: one.verdict.map(RunVerdict::name),
    }
}

/// With six decimals: a step may cost little.
fn number(value: RunValue) -> Option<f64> {
    match value {
        RunValue::Money(amount) => amount.amount().round_dp(6).to_f64(),
        RunValue::Number(number) => Some((number * 1e6).round() / 1e6),
    }
}
