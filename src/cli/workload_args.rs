//! A workload of a recorded estate, for planners that read no cloud.

use super::demo::DemoChoice;
use super::estate;
use super::exit::{ExitCode, Failure, hint};
use crate::analysis::{NotMeasured, RunningWorkload, audit, running_workload};
use crate::config::SettingsFile;
use crate::domain::{PriceBook, Risk, shell_word};
use clap::Args;
use std::path::PathBuf;

/// Which workload.
#[derive(Debug, Args)]
pub(super) struct WorkloadArgs {
    /// Recorded estate that `--workload` is one of
    #[arg(long, value_name = "FILE", conflicts_with = "demo", help_heading = "Measured")]
    pub from: Option<PathBuf>,
    /// The same with a built-in demo estate; `starter` if no name is given
    #[arg(
        long,
        value_enum,
        value_name = "NAME",
        num_args = 0..=1,
        default_missing_value = "starter",
        help_heading = "Measured"
    )]
    pub demo: Option<DemoChoice>,
    /// Workload of that estate, by name or ID
    #[arg(long, value_name = "NAME", help_heading = "Measured")]
    pub workload: Option<String>,
}

impl WorkloadArgs {
    /// What the workload runs on and is paid, with the prices of its estate; `None` where no flag
    /// names any.
    pub(super) fn running(
        &self,
        settings: &SettingsFile,
    ) -> Result<Option<(RunningWorkload, PriceBook)>, Failure> {
        let estate = estate::recorded(self.from.as_deref(), self.demo, settings)?;
        let (estate, name) = match (estate, &self.workload) {
            (None, None) => return Ok(None),
            (None, Some(_)) => {
                return Err(Failure::input("`--workload` is one of an estate")
                    .with_hint("pass `--from FILE` or `--demo` with it"));
            }
            (Some(_), None) => {
                return Err(Failure::input("an estate needs `--workload`")
                    .with_hint(format!("{} lists the workloads", self.audit_command())));
            }
            (Some(estate), Some(name)) => (estate, name),
        };
        let audit = audit(&estate, &settings.policy, Risk::Low);
        let running = running_workload(&audit, name, &settings.policy);
        let running = running.map_err(|error| self.unmeasured(error))?;
        Ok(Some((running, estate.prices)))
    }

    /// The failure where a workload does not say what is asked.
    fn unmeasured(&self, error: NotMeasured) -> Failure {
        let hint = hint! { &error;
            NotMeasured::Unknown { nearest, .. } if !nearest.is_empty() => "did you mean {}?", nearest.join(", ");
            NotMeasured::Several { first, .. } => "pass an ID of `gpucost audit --format json`, such as {first}";
            NotMeasured::Unknown { .. } | NotMeasured::NoGpu(_) | NotMeasured::Unmeasured(_) => "{} lists workloads and what is missing", self.audit_command();
        };
        Failure::new(ExitCode::Input, error).with_hint(hint)
    }

    /// The command that shows the same estate.
    fn audit_command(&self) -> String {
        match (&self.from, self.demo) {
            (Some(path), _) => {
                format!("`gpucost audit --from {}`", shell_word(&path.to_string_lossy()))
            }
            (None, Some(choice)) => format!("`gpucost audit --demo {}`", choice.demo().name()),
            (None, None) => "`gpucost audit`".to_owned(),
        }
    }
}
