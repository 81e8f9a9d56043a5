//! The memory that GPUs were seen to hold, beside what `gpucost fit` computes: of a workload of a
//! recorded estate, or of a run that was sampled.

use super::demo::DemoChoice;
use super::exit::{ExitCode, Failure};
use super::{estate, sampled};
use crate::analysis::{NotMeasured, audit, measured_memory};
use crate::config::SettingsFile;
use crate::domain::{PriceBook, Risk, shell_word, shown};
use crate::planners::fit::MeasuredMemory;
use crate::usage::Estate;
use clap::Args;
use std::path::{Path, PathBuf};

/// Where memory was measured.
#[derive(Debug, Args)]
pub(super) struct MeasuredArgs {
    /// Recorded estate with `--workload`, to compare with its measured memory
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["demo", "profile_data"],
        help_heading = "Measured"
    )]
    pub from: Option<PathBuf>,
    /// The same with a built-in demo estate; `starter` if no name is given
    #[arg(
        long,
        value_enum,
        value_name = "NAME",
        num_args = 0..=1,
        default_missing_value = "starter",
        conflicts_with = "profile_data",
        help_heading = "Measured"
    )]
    pub demo: Option<DemoChoice>,
    /// Workload of that estate, by name or ID
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "profile_data",
        help_heading = "Measured"
    )]
    pub workload: Option<String>,
    /// Samples written by `gpucost profile --samples`, to compare with their memory
    #[arg(long, value_name = "FILE", help_heading = "Measured")]
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
        let estate = estate::recorded(self.from.as_deref(), self.demo, settings)?;
        match (estate, &self.workload) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(Failure::input("`--workload` is one of an estate")
                .with_hint("pass `--from FILE` or `--demo` with it")),
            (Some(_), None) => Err(Failure::input("an estate needs `--workload`")
                .with_hint(format!("{} lists the workloads", self.audit_command()))),
            (Some(estate), Some(name)) => {
                let memory = self.of_workload(&estate, name, settings)?;
                let prices = Some(estate.prices);
                Ok(Some(Seen { memory, prices }))
            }
        }
    }

    fn of_workload(
        &self,
        estate: &Estate,
        name: &str,
        settings: &SettingsFile,
    ) -> Result<MeasuredMemory, Failure> {
        let audited = audit(estate, &settings.policy, Risk::Low);
        measured_memory(&audited, name).map_err(|error| {
            let hint = match &error {
                NotMeasured::Unknown { nearest, .. } if !nearest.is_empty() => {
                    format!("did you mean {}?", nearest.join(", "))
                }
                NotMeasured::Several { first, .. } => {
                    format!("pass an ID of `gpucost audit --format json`, such as {first}")
                }
                NotMeasured::Unknown { .. }
                | NotMeasured::NoGpu(_)
                | NotMeasured::Unmeasured(_)
                | NotMeasured::NoMemory(_) => {
                    format!(
                        "{} lists workloads and what is missing",
                        self.audit_command()
                    )
                }
            };
            Failure::new(ExitCode::Input, error).with_hint(hint)
        })
    }

    /// The command that shows the same estate.
    fn audit_command(&self) -> String {
        match (&self.from, self.demo) {
            (Some(path), _) => {
                format!(
                    "`gpucost audit --from {}`",
                    shell_word(&path.to_string_lossy())
                )
            }
            (None, Some(choice)) => format!("`gpucost audit --demo {}`", choice.demo().name()),
            (None, None) => "`gpucost audit`".to_owned(),
        }
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
