//! The written form of what a run was taken on, and of its end.

use super::wire::time;
use super::wire_spot::SpotWire;
use crate::domain::{GpuIdentity, MOST_GPUS, RunEnd, RunFacts, UnitsDone};
use crate::sources::files::shared::bounded::at_most;
use serde::{Deserialize, Serialize};

/// The version of the sample files that this program reads and writes.
pub const SAMPLES_VERSION: &str = "1";

/// GPUs and slices of one host: each GPU has up to seven, and is one itself.
const MOST_DEVICES: usize = 8 * MOST_GPUS as usize;

/// Kinds of units that one run counts.
const MOST_UNITS: usize = 100;
/// More than any run does.
const MOST_COUNTED: u64 = 1_000_000_000_000_000_000;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeaderWire {
    samples_version: String,
    gpucost_version: String,
    started: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interval_seconds: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    driver_version: Option<String>,
    is_command: bool,
    #[serde(deserialize_with = "at_most::<_, _, MOST_DEVICES>")]
    gpus: Vec<GpuIdentity>,
}

/// What tells the first line of a newer file from an error.
#[derive(Debug, Deserialize)]
pub(super) struct VersionWire {
    pub samples_version: String,
}

impl HeaderWire {
    pub(super) fn of(facts: &RunFacts) -> Self {
        Self {
            samples_version: SAMPLES_VERSION.to_owned(),
            gpucost_version: env!("CARGO_PKG_VERSION").to_owned(),
            started: facts.started.to_string(),
            interval_seconds: facts.interval_seconds,
            hostname: facts.hostname.clone(),
            instance_id: facts.instance_id.clone(),
            instance_type: facts.instance_type.clone(),
            region: facts.region.clone(),
            driver_version: facts.driver_version.clone(),
            is_command: facts.is_command,
            gpus: facts.gpus.clone(),
        }
    }

    pub(super) fn into_facts(self) -> Result<RunFacts, String> {
        Ok(RunFacts {
            started: time("started", &self.started)?,
            interval_seconds: self.interval_seconds,
            hostname: self.hostname,
            instance_id: self.instance_id,
            instance_type: self.instance_type,
            region: self.region,
            driver_version: self.driver_version,
            is_command: self.is_command,
            gpus: self.gpus,
        })
    }
}

/// The last line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndWire {
    end: EndOfRun,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndOfRun {
    elapsed_seconds: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spot: Option<SpotWire>,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most::<_, _, MOST_UNITS>"
    )]
    units: Vec<UnitsDone>,
}

fn check(done: &UnitsDone) -> Result<(), String> {
    if done.unit.trim().is_empty() {
        return Err("a unit has an empty name".to_owned());
    }
    if done.count > MOST_COUNTED {
        return Err(format!("`count` is above {MOST_COUNTED}"));
    }
    Ok(())
}

impl EndWire {
    pub(super) fn of(end: &RunEnd) -> Self {
        Self {
            end: EndOfRun {
                elapsed_seconds: end.elapsed_seconds,
                exit_code: end.exit_code,
                spot: end.spot.as_ref().map(SpotWire::of),
                units: end.units.clone(),
            },
        }
    }

    pub(super) fn into_end(self) -> Result<RunEnd, String> {
        self.end.units.iter().try_for_each(check)?;
        Ok(RunEnd {
            elapsed_seconds: self.end.elapsed_seconds,
            exit_code: self.end.exit_code,
            spot: self.end.spot.map(SpotWire::into_spot).transpose()?,
            units: self.end.units,
        })
    }
}
