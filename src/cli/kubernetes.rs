//! A cluster as its own tools printed it.

use super::exit::{ExitCode, Failure};
use crate::sources::Account;
use crate::sources::kubernetes::{KubectlError, account, read_kubectl};
use clap::Args;
use std::path::PathBuf;

/// Which cluster is read, and what beside it.
#[derive(Debug, Args)]
pub(super) struct KubernetesArgs {
    /// Analyze a Kubernetes cluster from the output of `kubectl get … -o json`
    #[arg(
        long,
        value_name = "FILE[,FILE…]",
        value_delimiter = ',',
        conflicts_with_all = ["from", "demo"],
        help_heading = "Kubernetes"
    )]
    pub from_kubectl: Vec<PathBuf>,
    /// Also read the AWS account of the nodes, with its metrics and prices
    #[arg(long, requires = "from_kubectl", help_heading = "Kubernetes")]
    pub with_aws: bool,
}

impl KubernetesArgs {
    /// Whether files of a cluster are all that is read.
    pub(super) fn is_offline(&self) -> bool {
        !self.from_kubectl.is_empty() && !self.with_aws
    }

    /// The cluster as an account of its own, if there is one.
    pub(super) fn account(&self) -> Result<Option<Account>, Failure> {
        if self.from_kubectl.is_empty() {
            return Ok(None);
        }
        let found = read_kubectl(&self.from_kubectl).map_err(|error| {
            let hint = match &error {
                KubectlError::Io { .. } => "check the paths passed to `--from-kubectl`",
                KubectlError::Malformed { .. }
                | KubectlError::Wrong { .. }
                | KubectlError::NoNodes { .. } => {
                    "record the cluster with `kubectl get nodes,pods --all-namespaces -o json`; \
                     see docs/kubernetes.md"
                }
            };
            Failure::new(ExitCode::Input, error).with_hint(hint)
        })?;
        Ok(Some(account(found)))
    }
}
