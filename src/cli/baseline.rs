//! Reading an earlier `audit --format json`, as far as a gate compares with it.

use super::exit::{ExitCode, Failure};
use crate::analysis::gate::{Baseline, PastWorkload};
use crate::domain::{Classification, Currency, Signal};
use crate::report::SCHEMA_VERSION;
use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::Number;
use std::collections::BTreeMap;
use std::path::Path;

const HINT: &str = "a baseline is what `gpucost audit --format json --output FILE` writes";

#[derive(Deserialize)]
struct Version {
    schema_version: String,
}

#[derive(Deserialize)]
struct Report {
    prices: Prices,
    summary: Summary,
    workloads: Vec<Workload>,
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Prices {
    currency: String,
}

#[derive(Deserialize)]
struct Summary {
    monthly_cost: Option<Number>,
    monthly_waste: Option<Number>,
}

#[derive(Deserialize)]
struct Workload {
    id: String,
    account: String,
    region: String,
    running: bool,
    instances: Vec<String>,
    tags: BTreeMap<String, String>,
    monthly_cost: Option<Number>,
    classification: String,
    utilization: Option<Utilization>,
}

#[derive(Deserialize)]
struct Utilization {
    signal: String,
    mean: f64,
}

#[derive(Deserialize)]
struct Finding {
    id: String,
    monthly_savings: Option<Number>,
}

/// Reads an earlier audit.
///
/// # Errors
/// When it cannot be read, is of another version, or is no audit.
pub(super) fn read(path: &Path) -> Result<Baseline, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        let error = anyhow::Error::new(error).context(format!("cannot read the baseline {shown}"));
        Failure::new(ExitCode::Input, error).with_hint(HINT)
    })?;
    let unreadable = |error: serde_json::Error| {
        let error = anyhow::Error::new(error).context(format!("{shown} is no audit report"));
        Failure::new(ExitCode::Input, error).with_hint(HINT)
    };
    let version: Version = serde_json::from_str(&text).map_err(unreadable)?;
    if version.schema_version != SCHEMA_VERSION {
        return Err(Failure::input(format!(
            "{shown} has the schema version `{}`, and this program reads {SCHEMA_VERSION}",
            version.schema_version
        ))
        .with_hint("write the baseline anew with this version of gpucost"));
    }
    let report: Report = serde_json::from_str(&text).map_err(unreadable)?;
    Ok(baseline(shown.to_string(), report))
}

fn baseline(file: String, report: Report) -> Baseline {
    Baseline {
        file,
        currency: Currency::from_code(&report.prices.currency),
        findings: report
            .findings
            .into_iter()
            .map(|finding| (finding.id, decimal(finding.monthly_savings)))
            .collect(),
        workloads: report.workloads.into_iter().map(past).collect(),
        monthly_waste: decimal(report.summary.monthly_waste),
        monthly_cost: decimal(report.summary.monthly_cost),
    }
}

fn past(workload: Workload) -> (String, PastWorkload) {
    let judged_by_gpu = |one: &Utilization| one.signal == Signal::GpuUtilization.name();
    let past = PastWorkload {
        account: workload.account,
        region: workload.region,
        running: workload.running,
        instances: workload.instances.len() as u64,
        tags: workload.tags,
        monthly_cost: decimal(workload.monthly_cost),
        mean_percent: workload
            .utilization
            .filter(judged_by_gpu)
            .map(|one| one.mean),
        insufficient_data: workload.classification == Classification::InsufficientData.name(),
    };
    (workload.id, past)
}

/// More than anything costs; beyond it, sums would overflow exact decimals.
const MOST: Decimal = Decimal::from_parts(u32::MAX, u32::MAX >> 8, 0, false, 0);

/// A JSON number as the decimal that it was written from; absent when that can
/// be no amount.
fn decimal(number: Option<Number>) -> Option<Decimal> {
    let text = number?.to_string();
    text.parse()
        .ok()
        .or_else(|| Decimal::from_scientific(&text).ok())
        .filter(|amount| (Decimal::ZERO..=MOST).contains(amount))
}
