//! Reading an earlier `profile --format json`. What it does not say stays absent.

use super::report::{ReportError, whole_text};
use crate::domain::{Currency, HourlyRate, PastRun};
use crate::files::shared::same_fields;
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
    #[serde(rename = "gpu_utilization_mean_pct")]
    utilization_mean_percent: Option<f64>,
    #[serde(rename = "vram_peak_gb")]
    vram_peak_gib: Option<f64>,
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
        let (units, mfu) = self.work.map(|work| (work.units, work.mfu)).unwrap_or_default();
        let units = units.into_iter().filter_map(|unit| Some((unit.unit, unit.count?)));
        let units: Vec<(String, f64)> = units.collect();
        let mfu_percent = mfu.map(|mfu| mfu.mfu_pct);
        let counts = units.iter().map(|(_, count)| ("work.units", Some(*count), MOST));
        let figures = [
            ("elapsed_seconds", Some(self.elapsed_seconds), LONGEST_SECONDS),
            ("gpu_utilization_mean_pct", self.utilization_mean_percent, 100.0),
            ("vram_peak_gb", self.vram_peak_gib, MOST),
            ("energy_kwh", self.energy_kwh, MOST),
            ("work.mfu.mfu_pct", mfu_percent, 100.0),
        ];
        for (place, figure, most) in counts.chain(figures) {
            if let Some(found) = figure.filter(|figure| !(0.0..=most).contains(figure)) {
                return Err((place, format!("{found}; expected a number from 0 to {most}")));
            }
        }
        let whole = self.gpus.into_iter().filter(|gpu| gpu.mig_index.is_none());
        Ok(same_fields!(self => PastRun {
            gpucost_version, hostname, instance_type, region, exit_code, elapsed_seconds,
            utilization_mean_percent, vram_peak_gib, energy_kwh;
            gpus: whole.map(|gpu| gpu.name).collect(),
            is_judged: self.classification != INSUFFICIENT_DATA,
            hourly,
            mfu_percent,
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
