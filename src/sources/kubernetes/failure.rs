//! Why a live cluster cannot be read, in words that repeat no credentials.

use crate::domain::shown;
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

/// Own words for failures, without names from outside.
pub(super) const PLUGIN_NOT_RUN: &str = "the credential plugin cannot be started";
pub(super) const PLUGIN_FAILED: &str = "the credential plugin failed";
pub(super) const PLUGIN_UNREADABLE: &str =
    "the output of the credential plugin is not an ExecCredential";
pub(super) const PLUGIN_LATE: &str = "the credential plugin did not end within the time limit";
pub(super) const NO_TOKEN: &str = "the token file cannot be read";
pub(super) const INVALID_USER: &str = "the credentials of the context cannot be used";
pub(super) const INVALID_CLUSTER: &str = "the cluster of the context cannot be used";
pub(super) const TIMED_OUT: &str = "no response within the time limit";
pub(super) const NOT_CONNECTED: &str = "the connection failed";
pub(super) const INCOMPLETE: &str = "the response is incomplete";
pub(super) const TOO_LARGE: &str = "the response is larger than what is read at once";
pub(super) const ENDLESS: &str = "the list does not end";
pub(super) const FOREIGN: &str = "the response is not from a Kubernetes API";
pub(super) const MALFORMED: &str = "the response is not in the format of the Kubernetes API";
/// Before the number of a status.
pub(super) const STATUS: &str = "HTTP ";

/// Whether a code has no names from outside: a status, or this program's own words.
pub fn is_known_code(code: &str) -> bool {
    const OWN: &[&str] = &[
        PLUGIN_NOT_RUN,
        PLUGIN_FAILED,
        PLUGIN_UNREADABLE,
        PLUGIN_LATE,
        NO_TOKEN,
        INVALID_USER,
        INVALID_CLUSTER,
        TIMED_OUT,
        NOT_CONNECTED,
        INCOMPLETE,
        TOO_LARGE,
        ENDLESS,
        FOREIGN,
        MALFORMED,
    ];
    let status = code.strip_prefix(STATUS);
    OWN.contains(&code) || status.is_some_and(|number| number.parse::<u16>().is_ok())
}
