//! A workload of a recorded estate, for planners that read no cloud.

use super::demo::DemoChoice;
use super::{Failure, Outcome, estate, flags, hinted, refusal};
use crate::analysis::{NotMeasured, RunningWorkload, audit, running_workload};
use crate::config::SettingsFile;
use crate::domain::{PriceBook, Risk, shell_word};
use std::path::PathBuf;

flags! {
    /// Which workload.
    pub(super) struct WorkloadArgs {
        /// Recorded estate that `--workload` is one of
        from: Option<PathBuf> = arg(long, value_name = "FILE", conflicts_with = "demo", help_heading = "Measured");
        /// The same with a built-in demo estate; `starter` if no name is given
        demo: Option<DemoChoice> = arg(long, value_enum, value_name = "NAME", num_args = 0..=1, default_missing_value = "starter", help_heading = "Measured");
        /// Workload of that estate, by name or ID
        workload: Option<String> = arg(long, value_name = "NAME", help_heading = "Measured");
    }
}

impl WorkloadArgs {
    /// What the workload runs on and is paid, with the prices of its estate; `None` where no flag
    /// names any.
    pub(super) fn running(
        &self,
        settings: &SettingsFile,
    ) -> Outcome<Option<(RunningWorkload, PriceBook)>> {
        let estate = estate::recorded(self.from.as_deref(), self.demo, settings)?;
        let (estate, name) = match (estate, &self.workload) {
            (None, None) => return Ok(None),
            (None, Some(_)) => {
                return Err(refusal!("`--workload` is one of an estate";
                    "pass `--from FILE` or `--demo` with it"));
            }
            (Some(_), None) => {
                return Err(refusal!("an estate needs `--workload`";
                    "{} lists the workloads", self.audit_command()));
            }
            (Some(estate), Some(name)) => (estate, name),
        };
        let audit = audit(&estate, &settings.policy, Risk::Low);
        let running = running_workload(&audit, name, &settings.policy);
        Ok(Some((running.map_err(|error| self.unmeasured(error))?, estate.prices)))
    }

    /// The failure where a workload does not say what is asked.
    fn unmeasured(&self, error: NotMeasured) -> Failure {
        hinted! { error;
            NotMeasured::Unknown { nearest, .. } if !nearest.is_empty() => "did you mean {}?", nearest.join(", ");
            NotMeasured::Several { first, .. } => "pass an ID of `gpucost audit --format json`, such as {first}";
            NotMeasured::Unknown { .. } | NotMeasured::NoGpu(_) | NotMeasured::Unmeasured(_) => "{} lists workloads and what is missing", self.audit_command();
        }
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
