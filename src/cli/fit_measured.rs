//! The memory that GPUs were seen to hold, beside what `gpucost fit` computes: of a workload of a
//! recorded estate, or of a run that was sampled.

use super::exit::Failure;
use super::sampled;
use super::workload_args::WorkloadArgs;
use crate::analysis::measured_memory;
use crate::config::SettingsFile;
use crate::domain::{PriceBook, shown};
use crate::planners::fit::MeasuredMemory;
use clap::Args;
use std::path::{Path, PathBuf};

/// Where memory was measured.
#[derive(Debug, Args)]
pub(super) struct MeasuredArgs {
    #[command(flatten)]
    pub of: WorkloadArgs,
    /// Samples written by `gpucost profile --samples`, to compare with their memory
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["from", "demo", "workload"],
        help_heading = "Measured"
    )]
    pub profile_data: Option<PathBuf>,
}

/// What was measured, with the prices of the estate.
pub(super) struct Seen {
    pub memory: MeasuredMemory,
    pub prices: Option<PriceBook>,
}

impl MeasuredArgs {
    /// What was measured; `None` where no flag names any. `types` are those of `--type`.
    pub(super) fn seen(
        &self,
        types: &[String],
        settings: &SettingsFile,
    ) -> Result<Option<Seen>, Failure> {
        if let Some(path) = &self.profile_data {
            let memory = of_run(path, types, settings)?;
            let prices = None;
            return Ok(Some(Seen { memory, prices }));
        }
        let Some(named) = self.of.named(settings)? else {
            return Ok(None);
        };
        let memory = measured_memory(&named.audit, named.workload);
        let memory = memory.map_err(|error| self.of.unmeasured(error))?;
        let prices = Some(named.prices);
        Ok(Some(Seen { memory, prices }))
    }
}

/// The fullest whole GPU of a run.
fn of_run(
    path: &Path,
    types: &[String],
    settings: &SettingsFile,
) -> Result<MeasuredMemory, Failure> {
    let run = sampled::profile_of(path, settings)?;
    let name = shown(path);
    let held = run.whole().filter_map(|gpu| Some(gpu.vram_used_mib?.max));
    let peak_mib = held.max_by(f64::total_cmp).ok_or_else(|| {
        Failure::input(format!("{name} does not show the memory of a whole GPU"))
            .with_hint("sample with `gpucost profile --samples FILE.jsonl` on the host")
    })?;
    let stated = match types {
        [one] => Some(one.trim()),
        _ => None,
    };
    let ran_on = run.facts.instance_type.as_deref().or(stated);
    let ran_on = ran_on.ok_or_else(|| {
        Failure::input(format!("{name} does not name its instance type"))
            .with_hint("pass the type that it was sampled on with `--type`")
    })?;
    Ok(MeasuredMemory {
        name,
        instance_type: ran_on.to_ascii_lowercase(),
        region: run.facts.region.clone(),
        peak_mib,
    })
}
