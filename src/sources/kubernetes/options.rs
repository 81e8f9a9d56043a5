//! How a live cluster is reached.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct KubernetesOptions {
    /// The context; the current one of the kubeconfig where it is absent.
    pub context: Option<String>,
    /// Files of the kubeconfig. The first that states something wins, and one that does
    /// not exist is skipped. Without any, the service account of the pod is used.
    pub kubeconfig: Vec<PathBuf>,
    /// Whether a credential plugin may ask the user, and speak on stderr.
    pub is_interactive: bool,
    /// For one call, from the connection to the last byte of the answer.
    pub timeout: Duration,
    /// For all calls together, with credentials and pauses.
    pub deadline: Duration,
    /// Before a call is made again; each further pause is twice as long.
    pub first_pause: Duration,
}

impl Default for KubernetesOptions {
    fn default() -> Self {
        Self {
            context: None,
            kubeconfig: Vec::new(),
            is_interactive: false,
            timeout: Duration::from_secs(60),
            deadline: Duration::from_secs(300),
            first_pause: Duration::from_millis(500),
        }
    }
}
