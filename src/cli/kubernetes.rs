//! A cluster: live, or as its own tools printed it.

use super::Io;
use super::exit::{ExitCode, Failure};
use crate::sources::kubernetes::{
    KubectlError, KubernetesOptions, LiveCluster, OpenError, Reading, account, read_kubectl,
};
use crate::sources::{Account, SourceError};
use clap::Args;
use std::path::{Path, PathBuf};

/// Which cluster is read, and what beside it.
#[derive(Debug, Args)]
pub(super) struct KubernetesArgs {
    /// Analyze a Kubernetes cluster live, with the credentials of the kubeconfig (read-only)
    #[arg(
        long,
        group = "cluster",
        conflicts_with_all = ["from", "demo"],
        help_heading = "Kubernetes"
    )]
    pub kubernetes: bool,
    /// Context of the kubeconfig [default: the current context]
    #[arg(
        long,
        value_name = "NAME",
        requires = "kubernetes",
        help_heading = "Kubernetes"
    )]
    pub context: Option<String>,
    /// Analyze a Kubernetes cluster from the output of `kubectl get … -o json`
    #[arg(
        long,
        group = "cluster",
        value_name = "FILE[,FILE…]",
        value_delimiter = ',',
        conflicts_with_all = ["from", "demo", "kubernetes"],
        help_heading = "Kubernetes"
    )]
    pub from_kubectl: Vec<PathBuf>,
    /// Also read the AWS account of the nodes, with its metrics and prices
    #[arg(long, requires = "cluster", help_heading = "Kubernetes")]
    pub with_aws: bool,
}

/// A cluster that is read, or was.
pub(super) enum Cluster {
    Recorded(Account),
    Live(Box<LiveCluster>),
}

impl Cluster {
    /// The cluster as an account of its own.
    ///
    /// # Errors
    /// When it cannot be read now.
    pub(super) async fn account(self, progress: &dyn Fn(&str)) -> Result<Account, SourceError> {
        match self {
            Self::Recorded(account) => Ok(account),
            Self::Live(cluster) => cluster.read(progress).await.map(account),
        }
    }
}

impl KubernetesArgs {
    /// Whether a cluster is read at all.
    pub(super) fn is_given(&self) -> bool {
        self.kubernetes || !self.from_kubectl.is_empty()
    }

    /// Whether a cluster is all that is read: no cloud is asked, and none needs to know
    /// the user.
    pub(super) fn is_alone(&self) -> bool {
        self.is_given() && !self.with_aws
    }

    /// The cluster, if there is one.
    ///
    /// # Errors
    /// When its files or the kubeconfig cannot be used.
    pub(super) fn cluster(&self, io: &Io<'_>) -> Result<Option<Cluster>, Failure> {
        if self.kubernetes {
            let options = KubernetesOptions {
                context: self.context.clone(),
                kubeconfig: kubeconfig(io),
                is_interactive: io.stderr_is_terminal,
                ..KubernetesOptions::default()
            };
            let cluster = LiveCluster::open(options).map_err(unusable)?;
            return Ok(Some(Cluster::Live(Box::new(cluster))));
        }
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
        let reading = Reading {
            found,
            ..Reading::default()
        };
        Ok(Some(Cluster::Recorded(account(reading))))
    }
}

/// The files that kubectl reads too: those of a variable, else one in the home directory.
fn kubeconfig(io: &Io<'_>) -> Vec<PathBuf> {
    if let Some(files) = io.variable("KUBECONFIG") {
        let files = std::env::split_paths(files);
        return files.filter(|file| !file.as_os_str().is_empty()).collect();
    }
    let home = io.variable("HOME").or_else(|| io.variable("USERPROFILE"));
    let usual = home.map(|home| Path::new(home).join(".kube").join("config"));
    usual.into_iter().collect()
}

fn unusable(error: OpenError) -> Failure {
    let hint = match &error {
        OpenError::NotBuilt => {
            "build gpucost with the feature, or record the cluster with kubectl and pass the files \
             with `--from-kubectl`"
                .to_owned()
        }
        OpenError::NoKubeconfig { .. } => {
            "set KUBECONFIG to its path; `gpucost inventory --demo` needs no cluster".to_owned()
        }
        OpenError::Io { .. } | OpenError::Malformed { .. } => {
            "check the files that KUBECONFIG names, with `kubectl config view`".to_owned()
        }
        OpenError::NoContext { known } | OpenError::UnknownContext { known, .. } => {
            match known.as_slice() {
                [] => "check the files that KUBECONFIG names: none has a context".to_owned(),
                all => format!("pass `--context NAME`, with one of: {}", all.join(", ")),
            }
        }
        OpenError::Unusable { .. } => {
            "correct the context in the kubeconfig, or pass another with `--context NAME`"
                .to_owned()
        }
        OpenError::ServiceAccount { .. } => {
            "mount the token of the service account, or set KUBECONFIG to a file".to_owned()
        }
    };
    Failure::new(ExitCode::Input, error).with_hint(hint)
}
