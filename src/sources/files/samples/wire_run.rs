//! The written form of what a run was taken on, and of its end.

use super::wire::time;
use super::wire_spot::SpotWire;
use crate::domain::{GpuIdentity, MOST_GPUS, MigSlot, RunEnd, RunFacts, UnitsDone};
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

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MigWire {
    index: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gpu_instance: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compute_instance: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
}

/// What does not change about a GPU.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IdentityWire {
    index: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mig: Option<MigWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uuid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vram_total_mib: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    power_limit_w: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    power_default_limit_w: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pcie_max_bytes_per_second: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    is_mig_enabled: Option<bool>,
}

impl IdentityWire {
    fn of(gpu: &GpuIdentity) -> Self {
        Self {
            index: gpu.index,
            mig: gpu.mig.as_ref().map(|slot| MigWire {
                index: slot.index,
                gpu_instance: slot.gpu_instance,
                compute_instance: slot.compute_instance,
                profile: slot.profile.clone(),
            }),
            uuid: gpu.uuid.clone(),
            name: gpu.name.clone(),
            vram_total_mib: gpu.vram_total_mib,
            power_limit_w: gpu.power_limit_w,
            power_default_limit_w: gpu.power_default_limit_w,
            pcie_max_bytes_per_second: gpu.pcie_max_bytes_per_second,
            is_mig_enabled: gpu.is_mig_enabled,
        }
    }

    fn into_identity(self) -> GpuIdentity {
        GpuIdentity {
            index: self.index,
            mig: self.mig.map(|wire| MigSlot {
                index: wire.index,
                gpu_instance: wire.gpu_instance,
                compute_instance: wire.compute_instance,
                profile: wire.profile,
            }),
            uuid: self.uuid,
            name: self.name,
            vram_total_mib: self.vram_total_mib,
            power_limit_w: self.power_limit_w,
            power_default_limit_w: self.power_default_limit_w,
            pcie_max_bytes_per_second: self.pcie_max_bytes_per_second,
            is_mig_enabled: self.is_mig_enabled,
        }
    }
}

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
    gpus: Vec<IdentityWire>,
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
            gpus: facts.gpus.iter().map(IdentityWire::of).collect(),
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
            gpus: self
                .gpus
                .into_iter()
                .map(IdentityWire::into_identity)
                .collect(),
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
    units: Vec<UnitsWire>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UnitsWire {
    unit: String,
    count: u64,
}

impl UnitsWire {
    fn of(done: &UnitsDone) -> Self {
        Self {
            unit: done.unit.clone(),
            count: done.count,
        }
    }

    fn into_units(self) -> Result<UnitsDone, String> {
        if self.unit.trim().is_empty() {
            return Err("a unit has an empty name".to_owned());
        }
        if self.count > MOST_COUNTED {
            return Err(format!("`count` is above {MOST_COUNTED}"));
        }
        Ok(UnitsDone {
            unit: self.unit,
            count: self.count,
        })
    }
}

impl EndWire {
    pub(super) fn of(end: &RunEnd) -> Self {
        Self {
            end: EndOfRun {
                elapsed_seconds: end.elapsed_seconds,
                exit_code: end.exit_code,
                spot: end.spot.as_ref().map(SpotWire::of),
                units: end.units.iter().map(UnitsWire::of).collect(),
            },
        }
    }

    pub(super) fn into_end(self) -> Result<RunEnd, String> {
        let units = self.end.units.into_iter().map(UnitsWire::into_units);
        Ok(RunEnd {
            elapsed_seconds: self.end.elapsed_seconds,
            exit_code: self.end.exit_code,
            spot: self.end.spot.map(SpotWire::into_spot).transpose()?,
            units: units.collect::<Result<_, String>>()?,
        })
    }
}
