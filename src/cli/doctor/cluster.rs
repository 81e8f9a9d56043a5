//! A Kubernetes cluster: whether it answers, and what may be listed.

use super::failed::failed;
use crate::cli::Io;
use crate::cli::exit::Outcome;
use crate::cli::kubernetes::{KubernetesArgs, kubeconfig};
use crate::report::{Check, CheckArea};
use crate::sources::kubernetes::{KubernetesOptions, LiveCluster};
use std::time::Duration;

/// One list of one object.
const WITHIN: Duration = Duration::from_secs(10);
/// All of them, with the credentials, for which a person may have to sign in.
const ALL_WITHIN: Duration = Duration::from_secs(60);
const NAME: &str = "API server";
const NODES: &str = "kubernetes:nodes";

/// The cluster of `--kubernetes`.
pub(super) struct ClusterProbe(LiveCluster);

impl ClusterProbe {
    /// Of the flags of an audit; absent where it reads none.
    pub(super) fn of(args: &KubernetesArgs, io: &Io<'_>) -> Outcome<Option<Self>> {
        if !args.kubernetes {
            return Ok(None);
        }
        let times = KubernetesOptions {
            timeout: WITHIN,
            deadline: ALL_WITHIN,
            ..KubernetesOptions::default()
        };
        Ok(Some(Self(args.live(times, io)?)))
    }

    pub(super) async fn checks(self, progress: &dyn Fn(&str)) -> Vec<Check> {
        progress("Kubernetes cluster");
        let area = CheckArea::Kubernetes;
        let answers = match self.0.permissions().await {
            Ok(answers) => answers,
            Err(error) => return vec![failed(area, NAME, &error)],
        };
        let checks = answers.into_iter().map(|(action, answer)| {
            let name = action.trim_start_matches("kubernetes:");
            let check = match answer {
                Ok(()) => Check::ok(area, format!("list {name}"), ""),
                Err(error) => failed(area, &format!("list {name}"), &error),
            };
            // Without its nodes there is nothing to audit. What else is missing is a gap.
            match action {
                NODES => check,
                _ if check.is_fine() => check,
                _ => Check {
                    detail: format!("{}; the audit would have a gap", check.detail),
                    ..check
                },
            }
        });
        checks.collect()
    }
}

/// What is said where no cluster is asked.
pub(super) fn not_asked(io: &Io<'_>) -> Check {
    let detail = if kubeconfig(io).iter().any(|file| file.exists()) {
        "not asked; a kubeconfig is there: `gpucost doctor --kubernetes` asks its cluster"
    } else {
        "not asked; no kubeconfig"
    };
    Check::skipped(CheckArea::Kubernetes, NAME, detail)
}
