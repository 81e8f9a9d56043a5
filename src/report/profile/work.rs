//! What a run did: a table for people, and the same for programs.

use super::words::elapsed_words;
use crate::analysis::{Mfu, RunWork, UnitWork};
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{
    ABSENT, count, currency_code, json_figure, percent, rounded, safe, unit_price, wrap,
};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;
use std::fmt::{Result, Write};

const JOULES_PER_WH: f64 = 3_600.0;

/// A row of the table.
pub(super) struct WorkRow {
    pub(super) unit: String,
    pub(super) count: String,
    pub(super) per_hour: String,
    /// With the number of units that it is for, where that is not one.
    pub(super) cost: String,
    /// The same.
    pub(super) energy_wh: String,
}

/// In watt-hours, of as many units as the price is for.
fn energy_wh(one: &UnitWork) -> Option<f64> {
    let joules = one.energy_j? * f64::from(one.cost.per());
    Some(joules / JOULES_PER_WH)
}

pub(super) fn rows(work: &RunWork) -> Vec<WorkRow> {
    let row = |one: &UnitWork| {
        let of = |figure: Option<String>| match (figure, one.cost.per()) {
            (None, _) => ABSENT.to_owned(),
            (Some(figure), 1) => figure,
            (Some(figure), per) => format!("{figure} per {}", count(u64::from(per))),
        };
        WorkRow {
            unit: safe(&one.cost.unit),
            count: number(one.cost.count),
            per_hour: one
                .per_second
                .and_then(|rate| Decimal::from_f64_retain(rate * 3_600.0))
                .map_or_else(|| ABSENT.to_owned(), rounded_number),
            cost: of(one.cost.price().map(unit_price)),
            energy_wh: of(energy_wh(one).map(|wh| format!("{wh:.4}"))),
        }
    };
    work.units.iter().map(row).collect()
}

fn number(count: Decimal) -> String {
    crate::domain::separated(&count.to_string())
}

fn rounded_number(rate: Decimal) -> String {
    let decimals = u32::from(rate < Decimal::ONE_HUNDRED);
    let text = rounded(rate, decimals);
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let whole = crate::domain::separated(whole);
    if rest.is_empty() {
        whole
    } else {
        format!("{whole}.{rest}")
    }
}

/// MFU with what it is made from, or why it is not known.
pub(super) fn mfu_words(work: &RunWork) -> Option<String> {
    Some(match work.mfu.as_ref()? {
        Ok(found) => format!(
            "MFU {}: {} steps × {:.3e} FLOP in {}, of the {:.0} TFLOPS ({}, dense) of {}",
            percent(found.percent),
            count(found.steps),
            found.flops_per_step,
            elapsed_words(found.seconds),
            found.peak_tflops,
            found.dtype,
            match found.gpus {
                1 => "the GPU in use".to_owned(),
                gpus => format!("{gpus} GPUs in use"),
            }
        ),
        Err(reason) => format!("MFU unknown: {}", safe(reason)),
    })
}

pub(super) fn draw(work: &RunWork, style: TableStyle, out: &mut String) -> Result {
    writeln!(out, "{}", style.heading("WORK"))?;
    let mut table = PlainTable::new(
        &["  UNIT", "COUNT", "PER HOUR", "COST OF ONE", "WH OF ONE"],
        1..5,
    );
    let rows = rows(work);
    for row in &rows {
        table.row(vec![
            format!("  {}", row.unit),
            row.count.clone(),
            row.per_hour.clone(),
            row.cost.clone(),
            row.energy_wh.clone(),
        ]);
    }
    if !rows.is_empty() {
        out.push_str(table.text(style).trim_end_matches('\n'));
        writeln!(out)?;
    }
    for line in mfu_words(work)
        .iter()
        .flat_map(|words| wrap(words, style.width.saturating_sub(2)))
    {
        writeln!(out, "  {line}")?;
    }
    writeln!(out)
}

#[derive(Serialize)]
pub(super) struct WorkView {
    units: Vec<UnitView>,
    mfu: Option<MfuView>,
    mfu_unknown: Option<String>,
}

#[derive(Serialize)]
struct UnitView {
    unit: String,
    count: Option<f64>,
    per_second: Option<f64>,
    currency: Option<&'static str>,
    per: u32,
    cost: Option<f64>,
    energy_wh: Option<f64>,
}

#[derive(Serialize)]
struct MfuView {
    mfu_pct: f64,
    steps: u64,
    flops_per_step: f64,
    elapsed_seconds: f64,
    gpus: usize,
    dtype: &'static str,
    peak_dense_tflops: f64,
}

pub(super) fn work_view(work: &RunWork) -> WorkView {
    let found = work.mfu.as_ref();
    WorkView {
        units: work.units.iter().map(unit).collect(),
        mfu: found.and_then(|found| found.as_ref().ok()).map(mfu),
        mfu_unknown: found.and_then(|found| found.as_ref().err().cloned()),
    }
}

fn unit(one: &UnitWork) -> UnitView {
    let price = one.cost.price();
    UnitView {
        unit: one.cost.unit.clone(),
        count: one.cost.count.to_f64(),
        per_second: one.per_second.map(six_decimals),
        currency: currency_code(price),
        per: one.cost.per(),
        cost: price.and_then(|price| price.amount().to_f64()),
        energy_wh: energy_wh(one).map(six_decimals),
    }
}

fn six_decimals(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn mfu(found: &Mfu) -> MfuView {
    MfuView {
        mfu_pct: json_figure(found.percent),
        steps: found.steps,
        flops_per_step: found.flops_per_step,
        elapsed_seconds: json_figure(found.seconds),
        gpus: found.gpus,
        dtype: found.dtype.name(),
        peak_dense_tflops: found.peak_tflops,
    }
}
