//! A cluster: live, or as its own tools printed it.

use super::{Failure, Io, Outcome, flags, hinted};
use crate::domain::{Gathered, safe};
use crate::sources::kubernetes::{
    KubectlError, KubernetesOptions, LiveCluster, OpenError, Reading, account, read_kubectl,
};
use crate::sources::prometheus::Destination;
use crate::sources::{Account, Found, SourceError};
use std::path::{Path, PathBuf};
use std::time::Duration;

flags! {
    /// Which cluster is read, and what beside it.
    pub(super) struct KubernetesArgs {
        /// Analyze a Kubernetes cluster live, with the credentials of the kubeconfig (read-only)
        kubernetes: bool = arg(long, group = "cluster", conflicts_with_all = ["from", "demo"], help_heading = "Kubernetes");
        /// Context of the kubeconfig [default: the current context]
        context: Option<String> = arg(long, value_name = "NAME", requires = "kubernetes", help_heading = "Kubernetes");
        /// Analyze a Kubernetes cluster from the output of `kubectl get … -o json`
        from_kubectl: Vec<PathBuf> = arg(long, group = "cluster", value_name = "FILE[,FILE…]", value_delimiter = ',', conflicts_with_all = ["demo", "kubernetes"], help_heading = "Kubernetes");
        /// Also read the AWS account of the nodes, with its metrics and prices
        with_aws: bool = arg(long, requires = "cluster", conflicts_with = "from", help_heading = "Kubernetes");
    }
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

    /// What to be careful with: who else gets to see the credentials.
    pub(super) fn warning(&self) -> Option<String> {
        let Self::Live(cluster) = self else { return None };
        let way = Destination::of(&cluster.credentials_url()?)?;
        way.is_readable.then(|| {
            format!(
                "warning: credentials for Kubernetes are sent to {} without encryption\n\
                 hint: use a server in the kubeconfig whose URL begins with https://, or forward \
                 a port of this host",
                safe(&way.host)
            )
        })
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

    /// The cluster, if there is one, asked within a time.
    ///
    /// # Errors
    /// When its files or the kubeconfig cannot be used.
    pub(super) fn cluster(
        &self,
        deadline: Option<Duration>,
        io: &Io<'_>,
    ) -> Outcome<Option<Cluster>> {
        if self.kubernetes {
            let usual = KubernetesOptions::default();
            let times = KubernetesOptions { deadline: deadline.unwrap_or(usual.deadline), ..usual };
            return Ok(Some(Cluster::Live(Box::new(self.live(times, io)?))));
        }
        Ok(self.recorded()?.map(|records| {
            Cluster::Recorded(account(Reading { found: records, ..Reading::default() }))
        }))
    }

    /// The live cluster of the kubeconfig, asked within the times of some options.
    ///
    /// # Errors
    /// When the kubeconfig cannot be used.
    pub(super) fn live(&self, times: KubernetesOptions, io: &Io<'_>) -> Outcome<LiveCluster> {
        let options = KubernetesOptions {
            context: self.context.clone(),
            kubeconfig: kubeconfig(io),
            is_interactive: io.stderr_is_terminal,
            ..times
        };
        LiveCluster::open(options).map_err(unusable)
    }

    /// What kubectl printed of a cluster, if it did.
    ///
    /// # Errors
    /// When its files cannot be used.
    pub(super) fn recorded(&self) -> Outcome<Option<Gathered<Found>>> {
        if self.from_kubectl.is_empty() {
            return Ok(None);
        }
        let records = read_kubectl(&self.from_kubectl).map_err(|error| hinted! { error;
            KubectlError::Io { .. } => "check the paths passed to `--from-kubectl`";
            KubectlError::Invalid { .. } | KubectlError::NoNodes { .. } => "record the cluster with `kubectl get nodes,pods --all-namespaces -o json`; see docs/kubernetes.md";
        })?;
        Ok(Some(records))
    }
}

/// The files that kubectl reads too: those of a variable, else one in the home directory.
pub(super) fn kubeconfig(io: &Io<'_>) -> Vec<PathBuf> {
    if let Some(files) = io.variable("KUBECONFIG") {
        return std::env::split_paths(files).filter(|file| !file.as_os_str().is_empty()).collect();
    }
    let home = io.variable("HOME").or_else(|| io.variable("USERPROFILE"));
    home.map(|home| Path::new(home).join(".kube").join("config")).into_iter().collect()
}

fn unusable(error: OpenError) -> Failure {
    hinted! { error;
        OpenError::NotBuilt => "build gpucost with the feature, or record the cluster with kubectl and pass the files with `--from-kubectl`";
        OpenError::NoKubeconfig { .. } => "set KUBECONFIG to its path; `gpucost inventory --demo` needs no cluster";
        OpenError::Io { .. } | OpenError::Malformed { .. } => "check the files that KUBECONFIG names, with `kubectl config view`";
        OpenError::NoContext { known } | OpenError::UnknownContext { known, .. } if known.is_empty() => "check the files that KUBECONFIG names: none has a context";
        OpenError::NoContext { known } | OpenError::UnknownContext { known, .. } => "pass `--context NAME`, with one of: {}", known.join(", ");
        OpenError::Unusable { .. } => "correct the context in the kubeconfig, or pass another with `--context NAME`";
        OpenError::ServiceAccount { .. } => "mount the token of the service account, or set KUBECONFIG to a file";
    }
}

#[cfg(test)]
#[cfg(feature = "kubernetes")]
mod tests {
    use super::*;

    /// What is warned of for a server and a user, in the form of a kubeconfig.
    fn warning(server: &str, user: &str) -> Option<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("config");
        let text = format!(
            "apiVersion: v1\n\
             kind: Config\n\
             current-context: lab\n\
             clusters: [{{name: lab, cluster: {{server: '{server}'}}}}]\n\
             users: [{{name: me, user: {user}}}]\n\
             contexts: [{{name: lab, context: {{cluster: lab, user: me}}}}]\n"
        );
        std::fs::write(&file, text).expect("writable");
        let args = KubernetesArgs {
            kubernetes: true,
            context: None,
            from_kubectl: Vec::new(),
            with_aws: false,
        };
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let path = file.into_os_string().into_string().expect("UTF-8");
        let io = Io {
            stdout: &mut stdout,
            stderr: &mut stderr,
            env: [("KUBECONFIG".to_owned(), path)].into(),
            unreadable: Vec::new(),
            now: jiff::Timestamp::UNIX_EPOCH,
            folder: PathBuf::new(),
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            ends_at_signals: false,
        };
        let cluster = args.cluster(None, &io).ok().flatten().expect("a cluster");
        cluster.warning()
    }

    #[test]
    fn credentials_that_others_can_read_are_warned_of_without_them() {
        let token = "{token: hunter2}";
        let message = warning("http://lab.example:8080", token).expect("a warning");
        assert!(
            message.starts_with(
                "warning: credentials for Kubernetes are sent to lab.example without encryption"
            ),
            "{message}"
        );
        assert!(!message.contains("hunter2"), "{message}");
        for (server, user) in [
            ("https://lab.example", token),
            ("http://127.0.0.1:8080", token),
            ("http://localhost:8080", token),
            ("http://lab.example:8080", "{}"),
        ] {
            assert_eq!(warning(server, user), None, "{server} {user}");
        }
    }
}
