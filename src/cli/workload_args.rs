//! A workload of a recorded estate, for planners that read no cloud.

use super::demo::DemoChoice;
use super::estate;
use super::exit::{ExitCode, Failure};
use crate::analysis::{Audit, NotMeasured, RunningWorkload, audit, running_workload};
use crate::config::SettingsFile;
use crate::domain::{PriceBook, Risk, shell_word};
use clap::Args;
use std::path::PathBuf;

/// Which workload.
#[derive(Debug, Args)]
pub(super) struct WorkloadArgs {
    /// Recorded estate that `--workload` is one of
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "demo",
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
        help_heading = "Measured"
    )]
    pub demo: Option<DemoChoice>,
    /// Workload of that estate, by name or ID
    #[arg(long, value_name = "NAME", help_heading = "Measured")]
    pub workload: Option<String>,
}

/// An estate with what an audit says of it, and the workload that was named.
pub(super) struct Named<'a> {
    pub audit: Audit,
    pub workload: &'a str,
    pub prices: PriceBook,
}

impl WorkloadArgs {
    /// What was named; `None` where no flag names any.
    pub(super) fn named(&self, settings: &SettingsFile) -> Result<Option<Named<'_>>, Failure> {
        let estate = estate::recorded(self.from.as_deref(), self.demo, settings)?;
        match (estate, &self.workload) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(Failure::input("`--workload` is one of an estate")
                .with_hint("pass `--from FILE` or `--demo` with it")),
            (Some(_), None) => Err(Failure::input("an estate needs `--workload`")
                .with_hint(format!("{} lists the workloads", self.audit_command()))),
            (Some(estate), Some(workload)) => Ok(Some(Named {
                audit: audit(&estate, &settings.policy, Risk::Low),
                workload,
                prices: estate.prices,
            })),
        }
    }

    /// What the workload runs on and is paid, with the prices of its estate.
    pub(super) fn running(
        &self,
        settings: &SettingsFile,
    ) -> Result<Option<(RunningWorkload, PriceBook)>, Failure> {
        let Some(named) = self.named(settings)? else {
            return Ok(None);
        };
        let found = running_workload(&named.audit, named.workload, &settings.policy);
        let found = found.map_err(|error| self.unmeasured(error))?;
        Ok(Some((found, named.prices)))
    }

    /// The failure where a workload does not say what is asked.
    pub(super) fn unmeasured(&self, error: NotMeasured) -> Failure {
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
