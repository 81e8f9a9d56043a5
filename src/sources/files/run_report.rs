//! Reading an earlier `profile --format json`. What it does not say stays absent.

use super::report::{ReportError, whole_text};
use crate::domain::{Currency, HourlyRate, PastRun};
use crate::sources::files::shared::same_fields;
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use serde::Deserialize;
use std::path::Path;

/// A century: what is longer is an error.
const LONGEST_SECONDS: f64 = 876_000.0 * 3_600.0;
/// What a figure may be at most; the counts of a log end below.
const MOST: f64 = 1e18;
const INSUFFICIENT_DATA: &str = "insufficient-data";

/// Reads the summary of a run, plain or gzip-compressed; `None` where the file is something
/// else.
///
/// # Errors
/// When it cannot be read, holds the samples of a run in place of its summary, or has a value
/// that cannot be.
pub fn read_run_report(path: &Path) -> Result<Option<PastRun>, ReportError> {
    let text = whole_text(path)?;
    if text.trim_ascii_start().starts_with(b"{\"samples_version\"") {
        return Err(ReportError::Samples { path: path.to_owned() });
    }
    let Ok(report) = serde_json::from_slice::<Report>(&text) else { return Ok(None) };
    report.past().map(Some).map_err(|(place, found)| ReportError::Wrong {
        path: path.to_owned(),
        place: place.to_owned(),
        found,
    })
}

#[derive(Deserialize)]
struct Report {
    gpucost_version: Option<String>,
    elapsed_seconds: f64,
    exit_code: Option<i32>,
    hostname: Option<String>,
    instance_type: Option<String>,
    region: Option<String>,
    classification: String,
    gpu_utilization_mean_pct: Option<f64>,
    vram_peak_gb: Option<f64>,
    energy_kwh: Option<f64>,
    gpus: Vec<Gpu>,
    cost: Option<Cost>,
    work: Option<Work>,
}

#[derive(Deserialize)]
struct Gpu {
    mig_index: Option<u16>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Cost {
    currency: String,
    hourly_cost: Option<f64>,
}

#[derive(Deserialize)]
struct Work {
    units: Vec<Unit>,
    mfu: Option<Mfu>,
}

#[derive(Deserialize)]
struct Unit {
    unit: String,
    count: Option<f64>,
}

#[derive(Deserialize)]
struct Mfu {
    mfu_pct: f64,
}

/// Where an invalid value is, and what was found and expected.
type Wrong = (&'static str, String);

impl Report {
    fn past(self) -> Result<PastRun, Wrong> {
        let hourly = self.cost.map(|cost| cost.rate()).transpose()?.flatten();
        let (units, mfu) = match self.work {
            Some(work) => (work.units, work.mfu.map(|mfu| mfu.mfu_pct)),
            None => (Vec::new(), None),
        };
        let units = units.into_iter().filter_map(|unit| Some((unit.unit, unit.count?)));
        let units: Vec<(String, f64)> = units.collect();
        for (_, count) in &units {
            bounded("work.units", Some(*count), MOST)?;
        }
        let whole = self.gpus.into_iter().filter(|gpu| gpu.mig_index.is_none());
        bounded("elapsed_seconds", Some(self.elapsed_seconds), LONGEST_SECONDS)?;
        Ok(same_fields!(self => PastRun {
            gpucost_version, hostname, instance_type, region, exit_code, elapsed_seconds;
            gpus: whole.map(|gpu| gpu.name).collect(),
            is_judged: self.classification != INSUFFICIENT_DATA,
            utilization_mean_percent: bounded(
                "gpu_utilization_mean_pct",
                self.gpu_utilization_mean_pct,
                100.0,
            )?,
            vram_peak_gib: bounded("vram_peak_gb", self.vram_peak_gb, MOST)?,
            energy_kwh: bounded("energy_kwh", self.energy_kwh, MOST)?,
            mfu_percent: bounded("work.mfu.mfu_pct", mfu, 100.0)?,
            hourly,
            units,
        }))
    }
}

impl Cost {
    fn rate(&self) -> Result<Option<HourlyRate>, Wrong> {
        let Some(amount) = self.hourly_cost else { return Ok(None) };
        let wrong = |expected: &str| ("cost", format!("expected {expected}"));
        let currency = Currency::from_name(&self.currency)
            .ok_or_else(|| wrong("`currency` to be a known code"))?;
        // Rates are written with six decimals.
        let amount = Decimal::from_f64(amount).map(|amount| amount.round_dp(6));
        let rate = amount.and_then(|amount| HourlyRate::new(amount, currency));
        rate.map(Some).ok_or_else(|| wrong("`hourly_cost` to be a price"))
    }
}

fn bounded(place: &'static str, value: Option<f64>, most: f64) -> Result<Option<f64>, Wrong> {
    match value {
        Some(found) if !(0.0..=most).contains(&found) => {
            Err((place, format!("{found}; expected a number from 0 to {most}")))
        }
        value => Ok(value),
    }
}
