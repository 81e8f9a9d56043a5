//! Why a live cluster cannot be read, in words that repeat no credentials; in a build without
//! the feature `kubernetes`, because it has no client.

#[cfg(not(feature = "kubernetes"))]
use super::{KubernetesOptions, Reading};
#[cfg(not(feature = "kubernetes"))]
use crate::Outcome;
use crate::domain::shown;
use crate::error::{is_status, own_words};
use std::io;
use std::path::PathBuf;

/// Why nothing can be asked at all: the user's own settings.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The program was built without the client of Kubernetes.
    #[error("this build cannot read clusters live: it was built without the feature `kubernetes`")]
    NotBuilt,
    /// There is neither a kubeconfig nor a service account.
    #[error("no kubeconfig was found{}", in_places(searched))]
    NoKubeconfig {
        /// The files that do not exist.
        searched: Vec<PathBuf>,
    },
    /// A file could not be opened or read.
    #[error("cannot read the kubeconfig {}", shown(path))]
    Io { path: PathBuf, source: io::Error },
    /// It is something else. What its parser says could repeat a token.
    #[error("{} is not a valid kubeconfig", shown(path))]
    Malformed { path: PathBuf },
    #[error("the kubeconfig has no current context")]
    NoContext {
        /// Those that it has, ascending.
        known: Vec<String>,
    },
    #[error("the kubeconfig has no context `{name}`")]
    UnknownContext {
        name: String,
        /// Those that it has, ascending.
        known: Vec<String>,
    },
    /// The cluster or the user of a context cannot be used.
    #[error("the context `{context}` of the kubeconfig cannot be used: {why}")]
    Unusable { context: String, why: String },
    /// The service account of the pod cannot be used.
    #[error("the service account of this pod cannot be used: {why}")]
    ServiceAccount { why: String },
}

fn in_places(searched: &[PathBuf]) -> String {
    let names: Vec<String> = searched.iter().map(|path| shown(path)).collect();
    if names.is_empty() { String::new() } else { format!(" at {}", names.join(", ")) }
}

// Own words for failures, without names from outside.
own_words! {
    pub(super) PLUGIN_NOT_RUN = "the credential plugin cannot be started";
    pub(super) PLUGIN_FAILED = "the credential plugin failed";
    pub(super) PLUGIN_UNREADABLE = "the output of the credential plugin is not an ExecCredential";
    pub(super) PLUGIN_LATE = "the credential plugin did not end within the time limit";
    pub(super) NO_TOKEN = "the token file cannot be read";
    pub(super) INVALID_USER = "the credentials of the context cannot be used";
    pub(super) INVALID_CLUSTER = "the cluster of the context cannot be used";
    pub(super) TIMED_OUT = "no response within the time limit";
    pub(super) NOT_CONNECTED = "the connection failed";
    pub(super) INCOMPLETE = "the response is incomplete";
    pub(super) TOO_LARGE = "the response is larger than what is read at once";
    pub(super) ENDLESS = "the list does not end";
    pub(super) FOREIGN = "the response is not from a Kubernetes API";
    pub(super) MALFORMED = "the response is not in the format of the Kubernetes API";
}

/// Whether a code has no names from outside: a status, or this program's own words.
pub fn is_known_code(code: &str) -> bool {
    OWN.contains(&code) || is_status(code)
}

/// A cluster that can be asked; cannot be had in a build without the feature `kubernetes`.
#[cfg(not(feature = "kubernetes"))]
#[derive(Debug)]
pub enum LiveCluster {}

#[cfg(not(feature = "kubernetes"))]
impl LiveCluster {
    /// Always [`OpenError::NotBuilt`].
    pub fn open(_options: KubernetesOptions) -> Result<Self, OpenError> {
        Err(OpenError::NotBuilt)
    }

    pub fn credentials_url(&self) -> Option<String> {
        match *self {}
    }

    pub async fn permissions(self) -> Outcome<Vec<(&'static str, Outcome<()>)>> {
        match self {}
    }

    pub async fn read(self, _progress: &dyn Fn(&str)) -> Outcome<Reading> {
        match self {}
    }
}
