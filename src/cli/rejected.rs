//! The actions that a policy rejects.

use super::args::AuditArgs;
use super::exit::{ExitCode, Failure};
use super::output::check_distinct;
use crate::analysis::Audit;
use crate::config::{ConfigError, SettingsFile, read_rejected};
use crate::domain::{RejectedAction, shown};
use crate::report::text::{counted, safe};
use crate::savings::SkipReason;
use std::collections::BTreeSet;

/// The rejected actions of the policy that a flag names; none without it.
pub(super) fn read(
    args: &AuditArgs,
    settings: &SettingsFile,
) -> Result<Vec<RejectedAction>, Failure> {
    let Some(path) = &args.policy else {
        return Ok(Vec::new());
    };
    // An interactive audit may take the place of the policy that it began with.
    let output = args.estate.out.output.as_ref();
    let named = [
        ("--policy", Some(path)),
        ("--config", settings.path.as_ref()),
        ("--from", args.estate.from.as_ref()),
        ("--save", args.estate.save.as_ref()),
        ("--output", output.filter(|_| !args.interactive)),
    ];
    check_distinct(named)?;
    read_rejected(path, &shown(path)).map_err(|error| {
        let hint = match &error {
            ConfigError::Io { .. } => "check the path passed to `--policy`",
            ConfigError::Invalid { .. } => "see docs/check.md for the meaning of each key",
        };
        Failure::new(ExitCode::Input, error).with_hint(hint)
    })
}

/// How many actions the plan does without, and which rejections fit no workload; absent without
/// any rejection.
pub(super) fn in_words(audit: &Audit, rejected: &[RejectedAction]) -> Option<String> {
    if rejected.is_empty() {
        return None;
    }
    let left_out = audit.workloads.iter().flat_map(|workload| workload.left_out.values());
    let number = left_out.filter(|why| **why == SkipReason::Rejected).count();
    let mut text =
        format!("{} by the policy", counted(number as u64, "action rejected", "actions rejected"));
    let ids: BTreeSet<String> =
        audit.workloads.iter().map(|workload| workload.workload.id()).collect();
    let is_unmatched = |rejection: &&RejectedAction| {
        let mut workloads = audit.workloads.iter().map(|workload| &workload.workload);
        !workloads.any(|workload| rejection.is_about(&workload.id(), &workload.name, &ids))
    };
    for rejection in rejected.iter().filter(is_unmatched) {
        text.push_str(&format!(
            "\nwarning: [[reject]] of {} matches no workload in scope: {}",
            rejection.action,
            safe(&rejection.workload)
        ));
    }
    Some(text)
}
